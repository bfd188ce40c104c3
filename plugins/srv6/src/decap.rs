//! `sr-localsid-d`: the outer headers come off, what is inside goes on (RFC 8986 sections 4.4 to
//! 4.9).

use infra::counter::Rows;
use net::prelude::*;
use wire::srh;

use super::end::Error;
use super::sid::{Next as Then, Sid, Sids};

/// Node.
pub const NAME: &str = "sr-localsid-d";

/// Next node of the inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decap {
    /// A frame, out by an interface.
    Frame(u32),
    /// A frame, out by a sub-interface: with the tags it has, as that rewrites them.
    Tagged(u32),
    /// A packet, along a load balance.
    Neighbor(Link, u32),
    /// A packet, looked up in a table.
    Table(Link, u16),
}

/// Edges of [`Decapsulate`].
#[derive(Clone, Copy, graph::Next)]
enum Next {
    /// A frame.
    #[to("interface-output")]
    Output,
    /// A frame, to a sub-interface.
    #[to("l2-output")]
    Layer2,
    /// IPv4, looked up.
    #[to("ip4-lookup")]
    Lookup4,
    /// IPv6, looked up.
    #[to("ip6-lookup")]
    Lookup6,
    /// IPv4, to a neighbour.
    #[to("ip4-load-balance")]
    Balance4,
    /// IPv6, to a neighbour.
    #[to("ip6-load-balance")]
    Balance6,
}

/// Takes outer headers off.
#[derive(Clone)]
struct Decapsulate {
    sids: SlabReader<Sid>,
    counters: Rows<VolumeCounter>,
}

/// Takes the outer headers off a packet if what is inside is of this protocol.
pub fn open(p: &mut Buffer<'_>, wanted: impl Fn(Protocol) -> bool) -> Result<usize, Error> {
    let bytes = p.bytes();
    if srh::find(bytes).is_some_and(|place| place.segments_left > 0) {
        return Err(Error::NoDecap);
    }
    let outer = p.header::<ip6::Header>().ok_or(Error::NoInner)?;
    let end = size_of::<ip6::Header>() + usize::from(outer.payload_len.get());
    let upper = ip6::upper_layer(bytes).filter(|u| u.fragment.is_none()).ok_or(Error::NoInner)?;
    if !wanted(upper.protocol) || end > p.total_len() {
        return Err(Error::NoInner);
    }
    let len = end.checked_sub(upper.offset).ok_or(Error::NoInner)?;
    p.advance(upper.offset).ok_or(Error::NoInner)?;
    p.clear_flags(Flags::L3.with(Flags::L4).with(Flags::HASH));
    Ok(len)
}

/// The length of an IP packet of a version inside `len` bytes.
pub fn inner_len(p: &Buffer<'_>, link: Link, len: usize) -> Option<usize> {
    let inner = match link {
        Link::Ip4 => {
            let header = p.header::<ip4::Header>().filter(|h| h.version() == 4)?;
            let (own, total) = (header.header_len(), usize::from(header.total_len.get()));
            (size_of::<ip4::Header>()..=total).contains(&own).then_some(total)?
        }
        _ => {
            let header = p.header::<ip6::Header>().filter(|h| h.version() == 6)?;
            size_of::<ip6::Header>() + usize::from(header.payload_len.get())
        }
    };
    (inner <= len).then_some(inner)
}

/// The protocol number of packets of a link.
pub fn protocol(link: Link) -> Protocol {
    if link == Link::Ip4 { Protocol::IP4 } else { Protocol::IP6 }
}

fn decapsulate(p: &mut Buffer<'_>, to: Decap) -> Result<(Next, usize), Error> {
    let done = match to {
        Decap::Frame(interface) | Decap::Tagged(interface) => {
            let is_frame = |protocol| protocol == super::ETHERNET || protocol == Protocol(59);
            let len = open(p, is_frame)?;
            if len < size_of::<ethernet::Header>() {
                return Err(Error::NoOutput);
            }
            p.set_tx(interface);
            if let Decap::Frame(_) = to {
                return Ok((Next::Output, len));
            }
            l2::packet::enter(p).ok_or(Error::NoOutput)?;
            return Ok((Next::Layer2, len));
        }
        Decap::Neighbor(link, balance) => {
            let len = open(p, |inner| inner == protocol(link))?;
            let len = inner_len(p, link, len).ok_or(Error::NoInner)?;
            p.set_adjacency(balance);
            let next = if link == Link::Ip4 { Next::Balance4 } else { Next::Balance6 };
            (next, len)
        }
        Decap::Table(link, table) => {
            let len = open(p, |inner| inner == protocol(link))?;
            let len = inner_len(p, link, len).ok_or(Error::NoInner)?;
            p.set_fib(table);
            let next = if link == Link::Ip4 { Next::Lookup4 } else { Next::Lookup6 };
            (next, len)
        }
    };
    let at = p.offset();
    p.set_l3_offset(at);
    p.add_flags(Flags::L3);
    Ok(done)
}

impl Node for Decapsulate {
    const NAME: &'static str = NAME;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let counters = self.counters.row(frame.thread());
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                let sid = self.sids.read(index, epoch).ok_or(Error::NoInner)?;
                let Then::Decap(to) = sid.next else { return Err(Error::NoInner) };
                let len = p.total_len() as u64;
                let done = decapsulate(p, to);
                let place = 2 * index as usize + usize::from(done.is_err());
                if let Some(counter) = counters.get(place) {
                    counter.add(1, len);
                }
                p.trace(|_| Opened { index, to });
                let (next, len) = done?;
                p.truncate_chain(len);
                Ok(next)
            },
        );
    }
}

struct Opened {
    index: u32,
    to: Decap,
}

impl Record for Opened {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  SR-LOCALSID: localsid {} decapsulated ", self.index)?;
        match self.to {
            Decap::Frame(interface) | Decap::Tagged(interface) => {
                write!(f, "frame to {}", names.name("interface", interface))
            }
            Decap::Neighbor(link, balance) => write!(f, "{link:?} to load-balance {balance}"),
            Decap::Table(link, table) => write!(f, "{link:?} to fib {table}"),
        }
    }
}

/// Adds the node.
pub(super) fn add(router: &mut Router, sids: &Sids) -> Result<(), BuildError> {
    router.engine.add(Decapsulate { sids: sids.reader(), counters: sids.counters() })?;
    Ok(())
}
