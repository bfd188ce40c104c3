//! `arp-proxy`: answers for addresses that are reached through this router (RFC 1027): ranges of
//! addresses by table, on the interfaces the operator chose.
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;

use graph::{Frame, Node};
use infra::counter::{Counter, Rows};
use infra::rcu::{Reader, Shared, SlabReader};
use wire::arp::{self, Operation};

use super::input::Seen;
use super::reason::{Count, Error};
use super::reply::answer;
use super::set;
use crate::fib::Ip4;
use crate::interface::{InterfaceIndex, Port};
use crate::neighbor::count;
use crate::router::Router;

/// Most ranges there may be: a request is compared with each.
pub const MAX_RANGES: usize = 1024;

/// Addresses that are answered for, first and last, of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Number of the table that interfaces look up in (`fib_index`).
    pub table: u16,
    /// First address.
    pub first: Ipv4Addr,
    /// Last address.
    pub last: Ipv4Addr,
}

/// Reasons why a range is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The last address is less than the first.
    Backwards,
    /// There is no such table.
    NoTable(u32),
    /// There is no such range.
    NoRange,
    /// There is no such interface.
    NoInterface,
    /// There are as many as there may be.
    Full,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Backwards => f.write_str("the last address is less than the first"),
            Self::NoTable(id) => write!(f, "no IPv4 table {id}"),
            Self::NoRange => f.write_str("no such range"),
            Self::NoInterface => f.write_str("no such interface"),
            Self::Full => write!(f, "no more than {MAX_RANGES} ranges"),
        }
    }
}
impl std::error::Error for Refusal {}

/// Proxied addresses and interfaces.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// The addresses, sorted.
    pub ranges: Vec<Range>,
    /// The interfaces, by number.
    pub interfaces: Vec<InterfaceIndex>,
}

impl Answered {
    /// Whether others are answered for on an interface.
    pub fn is_on(&self, interface: u32) -> bool {
        self.interfaces.binary_search(&InterfaceIndex(interface)).is_ok()
    }
}

/// The same, to be changed.
pub(super) struct Proxies(pub Shared<Answered>);

impl Router {
    /// Ranges of addresses that ARP requests for others are answered from.
    pub fn arp_proxies(&self) -> &Answered {
        let proxies: &Proxies = self.own();
        proxies.0.current()
    }
    fn publish_arp_proxies(&mut self, new: Answered) {
        let proxies: &mut Proxies = self.own_mut();
        proxies.0.publish(new);
    }
    /// Answers for a range of addresses of table `id` from now on, or no longer.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then. Adding what is there is none.
    pub fn set_proxy_arp(
        &mut self,
        id: u32,
        (first, last): (Ipv4Addr, Ipv4Addr),
        on: bool,
    ) -> Result<(), Refusal> {
        let table = self.fib.table::<Ip4>(id).ok_or(Refusal::NoTable(id))?.0;
        if last < first {
            return Err(Refusal::Backwards);
        }
        let range = Range { table, first, last };
        let mut new = self.arp_proxies().clone();
        let ranges = &mut new.ranges;
        match (ranges.binary_search(&range), on) {
            (Ok(_), true) => return Ok(()),
            (Ok(at), false) => drop(ranges.remove(at)),
            (Err(_), false) => return Err(Refusal::NoRange),
            (Err(_), true) if ranges.len() == MAX_RANGES => return Err(Refusal::Full),
            (Err(at), true) => ranges.insert(at, range),
        }
        self.publish_arp_proxies(new);
        Ok(())
    }
    /// Answers for others on an interface from now on, or no longer.
    ///
    /// # Errors
    /// [`Refusal::NoInterface`].
    pub fn set_interface_proxy_arp(
        &mut self,
        interface: InterfaceIndex,
        on: bool,
    ) -> Result<(), Refusal> {
        self.interfaces.at(interface).ok_or(Refusal::NoInterface)?;
        let place = self.arp_proxies().interfaces.binary_search(&interface);
        if place.is_ok() == on {
            return Ok(());
        }
        set(self, interface, ArpProxy::NAME, on);
        let mut new = self.arp_proxies().clone();
        match place {
            Ok(at) => drop(new.interfaces.remove(at)),
            Err(at) => new.interfaces.insert(at, interface),
        }
        self.publish_arp_proxies(new);
        Ok(())
    }
}

/// Answers for others.
#[derive(Clone)]
pub struct ArpProxy {
    pub(super) ports: SlabReader<Port>,
    pub(super) answered: Reader<Answered>,
    pub(super) replies: Rows<Counter>,
}

/// Edges of [`ArpProxy`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An answer, to the output of the interface.
    #[to("interface-output")]
    Output,
}

impl Node for ArpProxy {
    const NAME: &'static str = "arp-proxy";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let ranges = &self.answered.read(epoch).ranges;
        let mut sent = 0;
        frame.each(|p| {
            p.trace(Seen::of);
            let arp = *p.header::<arp::Header>().ok_or(Error::OpcodeNotRequest)?;
            let port = self.ports.read(p.rx(), epoch).ok_or(Error::InterfaceNoTable)?;
            let (table, asked) = (port.ip4, arp.target.addr());
            let holds = |r: &Range| Some(r.table) == table && (r.first..=r.last).contains(&asked);
            if arp.operation != Operation::REQUEST || !ranges.iter().any(holds) {
                return Err(Error::L3DstAddressNotLocal);
            }
            answer(p, &arp, port.mac).ok_or(Error::InterfaceNotIpEnabled)?;
            count(&self.replies, thread, p.rx());
            sent += 1;
            Ok(Next::Output)
        });
        frame.count(Count::ProxyArpRepliesSent, sent);
    }
}
