//! `srv6-end-m-gtp4-e` and its siblings: packets are translated.

use graph::CounterText;
use net::fib::flow;
use net::gso;
use net::icmp::Problem;
use net::prelude::*;

use super::gtp::{self, Taken};
use super::session::{Sessions, Translation};
use super::words::Kind;

/// Offloads that are completed before other headers are in front.
const UNDONE: Flags = Flags::CHECKSUM_TODO.with(Flags::GSO);

const GTP4_E: u8 = Kind::Gtp4E as u8;
const GTP6_E: u8 = Kind::Gtp6E as u8;
const GTP6_D: u8 = Kind::Gtp6D as u8;
const GTP6_DI: u8 = Kind::Gtp6Di as u8;
const GTP6_DT: u8 = Kind::Gtp6Dt as u8;
const GTP4_D: u8 = Kind::Gtp4D as u8;
const GTP4_DT: u8 = Kind::Gtp4Dt as u8;

/// The node of a kind.
pub const fn name(kind: u8) -> &'static str {
    match kind {
        GTP4_E => "srv6-end-m-gtp4-e",
        GTP6_E => "srv6-end-m-gtp6-e",
        GTP6_D => "srv6-end-m-gtp6-d",
        GTP6_DI => "srv6-end-m-gtp6-d-di",
        GTP6_DT => "srv6-end-m-gtp6-dt",
        GTP4_D => "srv6-t-m-gtp4-d",
        _ => "srv6-t-m-gtp4-dt",
    }
}

/// Counters of a kind: bad packets and all.
const fn texts(kind: u8) -> [&'static str; 2] {
    match kind {
        GTP4_E => ["srv6 End.M.GTP4.E bad packets", "srv6 End.M.GTP4.E packets"],
        GTP6_E => ["srv6 End.M.GTP6.E bad packets", "srv6 End.M.GTP6.E packets"],
        GTP6_D => ["srv6 End.M.GTP6.D bad packets", "srv6 End.M.GTP6.D packets"],
        GTP6_DI => ["srv6 End.M.GTP6.D.DI bad packets", "srv6 End.M.GTP6.D.DI packets"],
        GTP6_DT => ["srv6 End.M.GTP6.DT bad packets", "srv6 End.M.GTP6.DT packets"],
        GTP4_D => ["srv6 T.M.GTP4.D bad packets", "srv6 T.M.GTP4.D packets"],
        _ => ["srv6 T.M.GTP4.DT bad packets", "srv6 T.M.GTP4.DT packets"],
    }
}

/// Whether packets of a kind come over IPv4.
const fn is_ip4(kind: u8) -> bool {
    kind == GTP4_D || kind == GTP4_DT
}

/// A packet is not what the node translates.
#[derive(Clone, Copy)]
struct Bad<const KIND: u8>;

impl<const KIND: u8> graph::Reason for Bad<KIND> {
    const TEXTS: &'static [CounterText] = &[CounterText {
        name: texts(KIND)[0],
        text: "packets of another protocol",
        severity: "error",
    }];
    fn index(self) -> usize {
        0
    }
}

/// Packets that were translated.
#[derive(Clone, Copy)]
struct Good<const KIND: u8>;

impl<const KIND: u8> graph::Count for Good<KIND> {
    const TEXTS: &'static [CounterText] =
        &[CounterText { name: texts(KIND)[1], text: "packets translated", severity: "info" }];
    fn index(self) -> usize {
        0
    }
}

/// Edges of [`Translate`].
#[derive(Clone, Copy, graph::Next)]
enum Next<const KIND: u8> {
    /// IPv4, looked up.
    #[to("ip4-lookup")]
    Lookup4,
    /// IPv6, looked up.
    #[to("ip6-lookup")]
    Lookup6,
    /// To an ICMP error for the sender.
    #[to(if is_ip4(KIND) { V4::NODES.icmp_error } else { V6::NODES.icmp_error }, payload = Problem)]
    Problem,
    /// Was cut into segments, which come one by one, or follows such a packet.
    #[to(name(KIND))]
    Again,
}

/// Translates packets.
#[derive(Clone)]
struct Translate<const KIND: u8>(SlabReader<Translation>);

/// Whether a packet is for its link only.
fn is_local(p: &Buffer<'_>, inside: Protocol) -> bool {
    match inside {
        Protocol::IP4 => p.header::<ip4::Header>().is_some_and(|ip| {
            let dst = ip.dst_addr();
            dst.is_link_local() || dst.is_multicast() || dst.is_broadcast()
        }),
        _ => p.header::<ip6::Header>().is_some_and(|ip| {
            let dst = ip.dst_addr();
            dst.is_unicast_link_local() || dst.is_multicast()
        }),
    }
}

/// Leads what was inside GTP-U to its table.
fn look_up<const KIND: u8>(
    p: &mut Buffer<'_>,
    to: &Translation,
    inside: Protocol,
) -> Option<Next<KIND>> {
    let (next, place) = match inside {
        Protocol::IP4 => (Next::Lookup4, 0),
        Protocol::IP6 => (Next::Lookup6, 1),
        _ => return None,
    };
    let tables = if is_local(p, inside) { &to.local } else { &to.tables };
    p.set_fib(Some(tables[place]).filter(|table| *table != u16::MAX)?);
    gtp::finish(p);
    Some(next)
}

/// Puts the new headers on.
fn close<const KIND: u8>(
    p: &mut Buffer<'_>,
    to: &Translation,
    taken: &Taken,
) -> Option<Next<KIND>> {
    Some(match KIND {
        GTP4_E => {
            gtp::put_gtp4(p, to, taken)?;
            p.set_fib(to.tables[0]);
            Next::Lookup4
        }
        GTP6_E => {
            gtp::put_gtp6(p, taken)?;
            Next::Lookup6
        }
        GTP6_DT | GTP4_DT => look_up(p, to, taken.inside)?,
        _ => {
            let hash = flow(p.bytes());
            gtp::put_segments(p, to, taken, is_ip4(KIND), hash)?;
            if KIND == GTP4_D {
                p.set_fib(to.tables[1]);
            }
            Next::Lookup6
        }
    })
}

/// Translates one packet.
#[inline(always)]
fn translate<const KIND: u8>(
    p: &mut Packet<'_, Translate<KIND>>,
    to: &Translation,
) -> Option<Next<KIND>> {
    let hops = if is_ip4(KIND) { V4::hops(p) } else { V6::hops(p) };
    let is_looked_up = matches!(KIND, GTP6_DT | GTP4_DT);
    if !is_looked_up && hops.is_none_or(|hops| hops <= 1) {
        p.set_payload(if is_ip4(KIND) { V4::EXPIRED_PROBLEM } else { V6::EXPIRED_PROBLEM });
        return Some(Next::Problem);
    }
    let mut taken = match KIND {
        GTP4_E => gtp::open_segments(p, 0, to.len + super::session::IP4_BITS)?,
        GTP6_E => gtp::open_segments(p, 1, to.len)?,
        _ => gtp::open_gtp(p, is_ip4(KIND))?,
    };
    taken.hops = taken.hops.saturating_sub(1);
    p.truncate_chain(taken.len);
    p.clear_flags(Flags::L4.with(Flags::HASH));
    close(p, to, &taken)
}

impl<const KIND: u8> Node for Translate<KIND> {
    const NAME: &'static str = name(KIND);
    const EXPLAINABLE: bool = true;
    type Next = Next<KIND>;
    type Error = Bad<KIND>;
    type Count = Good<KIND>;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut count = 0;
        // What comes behind a packet that was cut stays behind its segments.
        let mut is_behind = false;
        frame.each(
            #[inline(always)]
            |p| {
                if p.flags().has(UNDONE) {
                    gso::apply(UNDONE, p).map_err(|_| Bad)?;
                    is_behind = true;
                }
                if is_behind {
                    return Ok(Next::Again);
                }
                let index = p.adjacency();
                let to = self.0.read(index, epoch).ok_or(Bad)?;
                let next = translate(p, to);
                p.trace(|_| Shown { index, is_good: next.is_some() });
                let next = next.ok_or(Bad)?;
                count += u64::from(!matches!(next, Next::Problem));
                Ok(next)
            },
        );
        frame.count(Good, count);
    }
}

struct Shown {
    index: u32,
    is_good: bool,
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_good { "translated" } else { "not what is translated" };
        write!(f, "  SRv6 mobile {}: {end}", self.index)
    }
}

/// Adds the nodes.
pub fn add(router: &mut Router, sessions: &Sessions) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.add(Translate::<GTP4_E>(sessions.reader()))?;
    engine.add(Translate::<GTP6_E>(sessions.reader()))?;
    engine.add(Translate::<GTP6_D>(sessions.reader()))?;
    engine.add(Translate::<GTP6_DI>(sessions.reader()))?;
    engine.add(Translate::<GTP6_DT>(sessions.reader()))?;
    engine.add(Translate::<GTP4_D>(sessions.reader()))?;
    engine.add(Translate::<GTP4_DT>(sessions.reader()))?;
    Ok(())
}
