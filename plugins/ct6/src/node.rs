//! `ct6-in2out` remembers what an interface sends, `ct6-out2in` lets in what answers it.

use graph::{HandOff, HandsOff};
use net::ethernet::Tagged;
use net::interface::INTERFACE_OUTPUT;
use net::prelude::*;
use sessions::{Kind, Look, Seen};
use translation::handoff::Threads;

use super::state::{self, All};

/// The nodes: for outbound and for inbound packets.
pub(super) const NAMES: [&str; 2] = ["ct6-in2out", "ct6-out2in"];
const HANDOFF: [&str; 2] = ["ct6-in2out-handoff", "ct6-out2in-handoff"];
/// Packets to the outside.
const OUT: usize = 0;

/// Types of neighbour discovery (RFC 4861).
const DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;

/// A node that tracks packets one way.
#[derive(Clone)]
pub struct Track<const SIDE: usize>(All);

/// Edges of [`Track`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const SIDE: usize> {
    /// On along the arc.
    #[along]
    On,
    /// To the thread that has the connection.
    #[to(HANDOFF[SIDE])]
    Elsewhere,
}

/// Counters of outbound packets.
#[derive(Clone, Copy, graph::Count)]
pub enum CountOut {
    /// ct6 packets processed.
    #[name("ct6 packets processed")]
    Processed,
    /// ct6 sessions created.
    #[name("ct6 sessions created")]
    Created,
    /// ct6 sessions recycled.
    #[name("ct6 sessions recycled")]
    Recycled,
}

/// Counters of inbound packets.
#[derive(Clone, Copy, graph::Count)]
pub enum CountIn {
    /// ct6 packets processed.
    #[name("ct6 packets processed")]
    Processed,
}

/// Drops of inbound packets.
#[derive(Clone, Copy, graph::Reason)]
pub enum ErrorIn {
    /// ct6 no session drops.
    #[name("ct6 no session drops")]
    NoSession,
}

/// The IPv6 packet of a buffer; `None` when it is none.
#[inline(always)]
fn packet<'p, const SIDE: usize>(p: &'p Buffer<'_>) -> Option<&'p [u8]> {
    if SIDE != OUT {
        return Some(p.bytes());
    }
    match Tagged::read(p.bytes()) {
        Some(tagged) if tagged.ethertype == EtherType::IP6 => p.bytes().get(tagged.header_len()..),
        _ => None,
    }
}

/// A packet as connections see it.
#[inline(always)]
fn seen<const SIDE: usize>(p: &Buffer<'_>) -> Option<Seen<[u8; 16]>> {
    <[u8; 16]>::look(packet::<SIDE>(p)?, p.ports(), 0)
}

/// Whether a packet is for this link only: multicast, link-local or neighbour discovery.
#[inline(always)]
fn is_for_link(packet: &[u8]) -> bool {
    let Some((header, _)) = ip6::Header::ref_from_prefix(packet).ok() else { return false };
    let dst = header.dst_addr();
    let is_discovery = || {
        ip6::upper_layer(packet).is_some_and(|upper| {
            upper.protocol == wire::Protocol::ICMP6
                && packet.get(upper.offset).is_some_and(|kind| DISCOVERY.contains(kind))
        })
    };
    dst.is_multicast() || dst.is_unicast_link_local() || is_discovery()
}

impl Node for Track<OUT> {
    const NAME: &'static str = NAMES[OUT];
    const EXPLAINABLE: bool = true;
    type Next = Next<OUT>;
    type Error = Infallible;
    type Count = CountOut;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, thread, threads) = (frame.now(), frame.thread(), Threads::of(frame));
        let mut table = self.0.lend(thread);
        let (mut processed, mut created, mut recycled) = (0, 0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let (Some(table), Some(seen)) = (&mut table, seen::<OUT>(p)) else {
                    return Ok(Next::On);
                };
                if threads.at(seen.flow.meeting(table.seed())) != thread {
                    return Ok(Next::Elsewhere);
                }
                processed += 1;
                let found = state::find(table, &seen.flow, now);
                p.trace(|_| Tracked { is_known: found.is_some() });
                match (found, seen.kind) {
                    (Some(found), _) => state::pass(table, found, &seen, p.total_len(), now),
                    (None, Kind::Error(_) | Kind::Icmp) => (),
                    (None, _) => {
                        let new = table.insert(state::begun(seen.flow), now, |_, _| recycled += 1);
                        // Without room a connection leaves untracked, and has no replies.
                        if let Ok(at) = new {
                            created += 1;
                            let begun = (at, sessions::Direction::Forward);
                            state::pass(table, begun, &seen, p.total_len(), now);
                        }
                    }
                }
                Ok(Next::On)
            },
        );
        frame.count(CountOut::Processed, processed);
        frame.count(CountOut::Created, created);
        frame.count(CountOut::Recycled, recycled);
    }
}

impl Node for Track<1> {
    const NAME: &'static str = NAMES[1];
    const EXPLAINABLE: bool = true;
    type Next = Next<1>;
    type Error = ErrorIn;
    type Count = CountIn;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, thread, threads) = (frame.now(), frame.thread(), Threads::of(frame));
        let mut table = self.0.lend(thread);
        let mut processed = 0;
        frame.each(
            #[inline(always)]
            |p| {
                if is_for_link(p.bytes()) {
                    processed += 1;
                    return Ok(Next::On);
                }
                let seen = seen::<1>(p);
                if let (Some(table), Some(seen)) = (&mut table, &seen)
                    && threads.at(seen.flow.meeting(table.seed())) != thread
                {
                    return Ok(Next::Elsewhere);
                }
                processed += 1;
                let found = match (&mut table, &seen) {
                    (Some(table), Some(seen)) => state::find(table, &seen.flow, now),
                    _ => None,
                };
                p.trace(|_| Tracked { is_known: found.is_some() });
                let found = found.ok_or(ErrorIn::NoSession)?;
                if let (Some(table), Some(seen)) = (&mut table, &seen) {
                    state::pass(table, found, seen, p.total_len(), now);
                }
                Ok(Next::On)
            },
        );
        frame.count(CountIn::Processed, processed);
    }
}

/// Hands packets to the thread of their connection.
#[derive(Clone)]
struct ByConnection<const SIDE: usize>(All);

impl<const SIDE: usize> HandsOff for ByConnection<SIDE> {
    const NAME: &'static str = HANDOFF[SIDE];
    const TO: &'static str = NAMES[SIDE];
    const DROP: &'static str = if SIDE == OUT { "error-drop" } else { "ip6-drop" };

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, SIDE> {
        let (thread, threads, seed) = (frame.thread(), Threads::of(frame), self.0.seed());
        move |p| seen::<SIDE>(p).map_or(thread, |seen| threads.at(seen.flow.meeting(seed)))
    }
}

/// The trace record of the nodes.
struct Tracked {
    is_known: bool,
}

impl Record for Tracked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_known { "  ct6: connection known" } else { "  ct6: no connection" })
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, all: &All) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.add(Track::<OUT>(all.clone()))?;
    engine.add(HandOff(ByConnection::<OUT>(all.clone())))?;
    engine.add(Track::<1>(all.clone()))?;
    engine.add(HandOff(ByConnection::<1>(all.clone())))?;
    engine.place(&INTERFACE_OUTPUT, NAMES[OUT])?;
    engine.place(&IP6_UNICAST, NAMES[1])
}
