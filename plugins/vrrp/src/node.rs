//! The nodes: `vrrp4-input` and `vrrp6-input` check advertisements and hand them to control;
//! `vrrp4-arp-input` and `vrrp6-nd-input` answer for the addresses of masters.

use infra::counter::{Counter, Rows};
use net::prelude::*;
use wire::arp::{self, Operation};
use wire::nd;
use wire::vrrp::{HOPS, Header, Malformed, parse};

use super::table::{Key, Table};

/// Names of [`Input`] for IPv4 and IPv6.
pub const INPUT: [&str; 2] = ["vrrp4-input", "vrrp6-input"];
/// Names of [`Answer4`] and [`Answer6`].
pub const ANSWER: [&str; 2] = ["vrrp4-arp-input", "vrrp6-nd-input"];

/// An advertisement of another router.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Virtual router.
    pub key: Key,
    /// The sender.
    pub from: IpAddr,
    /// Priority.
    pub priority: u8,
    /// Its interval, in hundredths of a second.
    pub interval: u16,
}

impl Event for Heard {}

/// Drops of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// VRRP checksum is invalid.
    #[name("VRRP checksum is invalid")]
    Checksum,
    /// VRRP version is not 3.
    #[name("VRRP version is not 3")]
    Version,
    /// VRRP packet has wrong size.
    #[name("VRRP packet has wrong size")]
    Length,
    /// VRRP advertisement TTL is not 255.
    #[name("VRRP advertisement TTL is not 255")]
    Hops,
    /// VRRP message does not match known VRs.
    #[name("VRRP message does not match known VRs")]
    Unknown,
    /// VR addrs do not match configuration.
    #[name("VR addrs do not match configuration")]
    Addresses,
}

impl From<Malformed> for Error {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::Version => Self::Version,
            Malformed::Length => Self::Length,
            Malformed::Checksum => Self::Checksum,
        }
    }
}

/// Counters of the nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// VRRP packets processed.
    #[name("VRRP packets processed")]
    Processed,
}

/// Counters of bad advertisements, for all virtual routers together.
#[derive(Clone)]
pub(super) struct ErrorCounters {
    pub addresses: Rows<Counter>,
    pub checksum: Rows<Counter>,
    pub length: Rows<Counter>,
    pub hops: Rows<Counter>,
    pub version: Rows<Counter>,
    pub id: Rows<Counter>,
}

impl ErrorCounters {
    fn count(&self, why: Error, thread: usize) {
        let rows = match why {
            Error::Addresses => &self.addresses,
            Error::Checksum => &self.checksum,
            Error::Length => &self.length,
            Error::Hops => &self.hops,
            Error::Version => &self.version,
            Error::Unknown => &self.id,
        };
        rows.row(thread).first().into_iter().for_each(|counter| counter.add(1));
    }
}

/// Takes advertisements.
#[derive(Clone)]
pub struct Input<const IS_IP6: bool> {
    pub(super) table: Reader<Table>,
    pub(super) counters: ErrorCounters,
    pub(super) events: EventSender<Heard>,
}

/// Source, destination and hops left of a packet whose current bytes begin at its IP header.
fn ends<const IS_IP6: bool>(p: &Buffer<'_>) -> Option<(IpAddr, IpAddr, u8)> {
    if IS_IP6 {
        let header = p.header::<ip6::Header>()?;
        return Some((header.src_addr().into(), header.dst_addr().into(), header.hop_limit));
    }
    let header = p.header::<ip4::Header>()?;
    let (src, dst) = (std::net::Ipv4Addr::from(header.src), std::net::Ipv4Addr::from(header.dst));
    Some((src.into(), dst.into(), header.ttl))
}

/// Whether an advertisement names the addresses of its virtual router, in whatever order.
fn has_same(addrs: &[u8], ours: &[IpAddr]) -> bool {
    let one = if ours.first().is_some_and(IpAddr::is_ipv4) { 4 } else { 16 };
    let is_one = |addr: &IpAddr, bytes: &[u8]| match addr {
        IpAddr::V4(addr) => addr.octets() == bytes,
        IpAddr::V6(addr) => addr.octets() == bytes,
    };
    addrs.len() == one * ours.len()
        && addrs.chunks(one).all(|bytes| ours.iter().any(|addr| is_one(addr, bytes)))
}

fn read<const IS_IP6: bool>(p: &Buffer<'_>, table: &Table) -> Result<Heard, Error> {
    let (from, to, hops) = ends::<IS_IP6>(p).ok_or(Error::Length)?;
    if hops != HOPS {
        return Err(Error::Hops);
    }
    let (header, addrs) = parse(p.bytes_from(p.l4_offset()), from, to)?;
    let key = Key { on: InterfaceIndex(p.rx()), id: header.id, version: IpVersion::six(IS_IP6) };
    let ours = table.heard.get(&key).ok_or(Error::Unknown)?;
    if !has_same(addrs, ours) {
        return Err(Error::Addresses);
    }
    // Without an interval there would be no time to wait for.
    let interval = (header.interval.get() & 0xfff).max(1);
    Ok(Heard { key, from, priority: header.priority, interval })
}

impl<const IS_IP6: bool> Node for Input<IS_IP6> {
    const NAME: &'static str = INPUT[IS_IP6 as usize];
    type Next = std::convert::Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = if IS_IP6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (table, thread) = (self.table.read(frame.epoch()), frame.thread());
        let mut taken = 0;
        frame.consume(|p| {
            p.trace(Seen::of);
            let heard = read::<IS_IP6>(p, table);
            let heard = heard.inspect_err(|why| self.counters.count(*why, thread))?;
            self.events.send(heard);
            taken += 1;
            Ok(())
        });
        frame.count(Count::Processed, taken);
    }
}

/// Edges of [`Answer4`] and [`Answer6`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The next feature, for what asks for other addresses.
    #[along]
    Along,
    /// An answer, to the output of the interface.
    #[to("interface-output")]
    Output,
}

/// Answers ARP requests for addresses of masters.
#[derive(Clone)]
pub struct Answer4(pub(super) Reader<Table>);

impl Node for Answer4 {
    const NAME: &'static str = ANSWER[0];
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let table = self.0.read(frame.epoch());
        let mut answered = 0;
        frame.each(|p| {
            let asked = p.header::<arp::Header>().filter(|a| a.operation == Operation::REQUEST);
            let Some(asked) = asked.copied() else { return Ok(Next::Along) };
            let owned = (InterfaceIndex(p.rx()), asked.target.addr().into());
            // Who says that an address is its own gets no answer (RFC 5227 section 2.4).
            let is_announced = asked.sender.addr() == asked.target.addr();
            let mac = table.owned.get(&owned).filter(|_| !is_announced);
            let Some(mac) = mac else { return Ok(Next::Along) };
            net::arp::answer(p, &asked, *mac).ok_or(Error::Length)?;
            answered += 1;
            Ok(Next::Output)
        });
        frame.count(Count::Processed, answered);
    }
}

/// Answers neighbour solicitations for addresses of masters.
#[derive(Clone)]
pub struct Answer6(pub(super) Reader<Table>);

/// The address that a solicitation asks for, and the place of the message.
fn solicited(p: &Buffer<'_>) -> Option<(std::net::Ipv6Addr, usize)> {
    let upper = ip6::upper_layer(p.bytes()).filter(|u| u.protocol == Protocol::ICMP6)?;
    let message = p.bytes().get(upper.offset..)?;
    let (message, _) = nd::NeighborAdvertisement::ref_from_prefix(message).ok()?;
    let is_one = message.icmp.kind == icmp6::Type::NEIGHBOR_SOLICITATION
        && p.header::<ip6::Header>()?.hop_limit == HOPS;
    is_one.then(|| (message.target_addr(), upper.offset))
}

impl Node for Answer6 {
    const NAME: &'static str = ANSWER[1];
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let table = self.0.read(frame.epoch());
        let mut answered = 0;
        frame.each(|p| {
            let Some((target, place)) = solicited(p) else { return Ok(Next::Along) };
            let mac = table.owned.get(&(InterfaceIndex(p.rx()), target.into()));
            let Some(mac) = mac else { return Ok(Next::Along) };
            let l4 = p.offset() + place as i16;
            net::nd::answer_for(p, l4, *mac).map_err(|_| Error::Length)?;
            answered += 1;
            Ok(Next::Output)
        });
        frame.count(Count::Processed, answered);
    }
}

/// Trace of an advertisement.
struct Seen(Option<Header>);

impl Seen {
    fn of(p: &Buffer<'_>) -> Self {
        let header = Header::ref_from_prefix(p.bytes_from(p.l4_offset()));
        Self(header.ok().map(|(header, _)| *header))
    }
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Header { id, priority, count, interval, .. }) = self.0 else {
            return f.write_str("  VRRP: too short");
        };
        write!(f, "  VRRP: VR {id} priority {priority} addresses {count} interval {interval}")
    }
}
