//! `arp-proxy`: answers for addresses that are reached through this router (RFC 1027): ranges of
//! addresses by table, on the interfaces the operator chose.
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;

use control::feature::Refusal;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum ProxyError {
    /// the last address is before the first
    #[retval(INVALID_VALUE)]
    Backwards,
    /// no IPv4 table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// no such range
    #[retval(NO_SUCH_ENTRY)]
    NoRange,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// at most {MAX_RANGES} ranges
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

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

/// The writable side of [`Answered`].
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
    /// Adds or deletes a proxy ARP range of table `id`.
    ///
    /// # Errors
    /// [`ProxyError`]; nothing has changed then. Adding what is there is none.
    pub fn set_proxy_arp(
        &mut self,
        id: u32,
        (first, last): (Ipv4Addr, Ipv4Addr),
        on: bool,
    ) -> Result<(), ProxyError> {
        let table = self.fib.table::<Ip4>(id).ok_or(ProxyError::NoTable(id))?.0;
        if last < first {
            return Err(ProxyError::Backwards);
        }
        let range = Range { table, first, last };
        let mut new = self.arp_proxies().clone();
        let ranges = &mut new.ranges;
        match (ranges.binary_search(&range), on) {
            (Ok(_), true) => return Ok(()),
            (Ok(at), false) => drop(ranges.remove(at)),
            (Err(_), false) => return Err(ProxyError::NoRange),
            (Err(_), true) if ranges.len() == MAX_RANGES => return Err(ProxyError::Full),
            (Err(at), true) => ranges.insert(at, range),
        }
        self.publish_arp_proxies(new);
        Ok(())
    }
    /// Enables or disables proxy ARP on an interface.
    ///
    /// # Errors
    /// [`ProxyError::NoInterface`].
    pub fn set_interface_proxy_arp(
        &mut self,
        interface: InterfaceIndex,
        on: bool,
    ) -> Result<(), ProxyError> {
        self.interfaces.at(interface).ok_or(ProxyError::NoInterface)?;
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
            // A host that is about to use an address hears nothing (RFC 5227 section 2.1.1).
            let is_probe = arp.sender.addr().is_unspecified();
            if arp.operation != Operation::REQUEST || is_probe || !ranges.iter().any(holds) {
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
