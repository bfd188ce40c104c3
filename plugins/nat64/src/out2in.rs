//! `nat64-out2in`: translates packets from outside. One from a far end that the host has not sent
//! to begins a session, if its port has a binding (RFC 6146 section 3.5.1.2).

use nat_log::Log;
use net::drops::Problem;
use net::ip::{FrameMtus, room_in_ip6};
use net::prelude::*;
use sessions::{Direction, Flow6, Kind, Lent, Look, Seen, SessionIndex, Usage};

use crate::config::Config;
use crate::core::{Core, DROPS, Data, NatTable, OUTSIDE, counter_of, note, outside_end};
use crate::in2out::Translated;
use crate::tables::Tables;
use crate::translate::inward;

/// Translates packets from outside.
#[derive(Clone)]
pub struct Out2In(pub Core, pub Log);

/// Edges of [`Out2In`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// Translated.
    #[to("ip6-lookup")]
    Lookup,
    /// An ICMP error to the sender: it has been on its way too long, or is too long.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
    /// For no inside host.
    #[along]
    Along,
}

/// Drops of [`Out2In`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// unknown.
    #[name("unknown")]
    Unknown,
    /// no room for sessions from outside.
    #[name("no room for sessions from outside")]
    NoRoom,
}

impl Node for Out2In {
    const NAME: &'static str = "nat64-out2in";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let Self(core, log) = self;
        let config = core.config.read(epoch);
        let mut mtus = core.inside.in_frame(epoch);
        let all = core.all.read(epoch).as_ref();
        let Some((all, mut table)) = all.and_then(|all| Some((all, all.sessions.lend(thread)?)))
        else {
            return frame.forward_all(Next::Along);
        };
        let mut bindings: Option<Lent<'_, _, _, _>> = None;
        frame.each(
            #[inline(always)]
            |p| {
                let dst = p.header::<ip4::Header>().map(ip4::Header::dst_addr);
                if !dst.is_some_and(|dst| config.is_outside(dst)) {
                    return Ok(Next::Along);
                }
                let mut one = |p: &mut Buffer<'_>| {
                    let seen = check(p)?;
                    if p.header::<ip4::Header>().is_some_and(|h| h.ttl <= 1) {
                        let code = icmp4::code::TTL_EXCEEDED;
                        p.set_payload(Problem::ip4(icmp4::Type::TIME_EXCEEDED, code, 0));
                        return Ok(Next::Icmp);
                    }
                    let found =
                        table.find_reverse(&seen.flow).filter(|at| !table.is_over(*at, now));
                    let at = match found {
                        Some(at) => at,
                        None => {
                            if bindings.is_none() {
                                bindings = all.bindings.lend(thread);
                            }
                            let bindings = bindings.as_mut().ok_or(Error::NoTranslation)?;
                            let table = &mut table;
                            begin(config, &mut Tables { table, bindings, log, epoch, now }, &seen)?
                        }
                    };
                    if let Some(problem) = too_long(p, &table, at, &mut mtus) {
                        p.set_payload(problem);
                        return Ok(Next::Icmp);
                    }
                    translate(config, p, &mut table, at, &seen, now)?;
                    core.count(1, counter_of(&seen), thread, p.rx());
                    Ok(Next::Lookup)
                };
                let rx = p.rx();
                let next = one(p).inspect_err(|_| core.count(1, DROPS, thread, rx))?;
                p.trace(|_| Translated { direction: "out2in", next });
                Ok(next)
            },
        );
        if let Some(bindings) = &bindings {
            core.show_totals(thread, &table, bindings, config.statics_of(thread));
        }
    }
}

/// A packet as sessions see it, if it may be translated. The checksum of a fragmented ICMP message
/// cannot be.
fn check(p: &Buffer<'_>) -> Result<Seen<[u8; 4]>, Error> {
    let seen = <[u8; 4]>::look(p.bytes(), p.ports(), OUTSIDE).ok_or(Error::Unknown)?;
    let is_icmp = matches!(seen.kind, Kind::Echo(_) | Kind::Error(_));
    let kind = p.bytes().get(seen.upper).copied().map(icmp4::Type);
    let is_echo = |kind| matches!(kind, icmp4::Type::ECHO_REQUEST | icmp4::Type::ECHO_REPLY);
    match seen.kind {
        Kind::Icmp => Err(Error::Protocol),
        // Other queries have no counterpart in ICMPv6 (RFC 7915 section 4.2).
        Kind::Echo(_) if seen.has_upper && !kind.is_some_and(is_echo) => Err(Error::Protocol),
        _ if is_icmp && p.header::<ip4::Header>().is_some_and(ip4::Header::is_fragment) => {
            Err(Error::Protocol)
        }
        _ => Ok(seen),
    }
}

/// Bytes that a packet, or a fragment, becomes longer.
const GROWTH: usize = size_of::<ip6::Header>() - size_of::<ip4::Header>();
const GROWTH_OF_PIECES: usize = GROWTH + size_of::<ip6::FragmentHeader>();

/// The ICMP error about a packet that must not be cut and does not fit inside.
#[inline(always)]
fn too_long(
    p: &Buffer<'_>,
    table: &NatTable,
    at: SessionIndex,
    mtus: &mut FrameMtus<'_, Ip6>,
) -> Option<Problem> {
    let header = p.header::<ip4::Header>()?;
    if !header.dont_fragment() {
        return None;
    }
    let growth = if header.is_fragment() { GROWTH_OF_PIECES } else { GROWTH };
    let session = table.at(at)?;
    let (host, fib) = (u128::from_be_bytes(session.forward.src), session.data.in_fib);
    let room = room_in_ip6(p, (growth, 0), usize::MAX, || mtus.find(fib, host, None))?;
    Some(Problem::too_big4(room))
}

/// Permits this router to fragment a translated packet without DF that exceeds the smallest link's
/// MTU where it leaves, as if it were its own (RFC 7915 section 4).
#[inline(always)]
fn allow_cutting(p: &mut Buffer<'_>, may_cut: bool) {
    if may_cut && p.total_len() > icmp6::LEAST_MTU && !p.flags().has(Flags::GSO) {
        V6::spend_hop(p);
        p.add_flags(Flags::LOCAL);
    }
}

/// Translates a packet of a session.
#[inline(always)]
fn translate(
    config: &Config,
    p: &mut Buffer<'_>,
    table: &mut NatTable,
    at: SessionIndex,
    seen: &Seen<[u8; 4]>,
    now: f64,
) -> Result<(), Error> {
    let session = table.at(at).ok_or(Error::NoTranslation)?;
    let (host, fib) = (session.forward, session.data.in_fib);
    let src = match seen.kind {
        Kind::Error(_) => {
            let header = p.header::<ip4::Header>().ok_or(Error::Unknown)?;
            config.embed(fib, header.src_addr()).ok_or(Error::NoTranslation)?
        }
        _ => Ipv6Addr::from(host.dst),
    };
    note(table, at, Direction::Reverse, seen, p.total_len(), now);
    let may_cut = p.header::<ip4::Header>().is_some_and(|h| !h.dont_fragment());
    inward(p, seen, &host, src).ok_or(Error::Unknown)?;
    allow_cutting(p, may_cut);
    p.set_fib(fib);
    Ok(())
}

/// Whether packets from outside may begin sessions. A quarter of the table is for sessions that
/// hosts begin: anyone can send packets to the ports that hosts use.
pub fn has_room(usage: &Usage) -> bool {
    usage.sessions < usage.limit - usage.limit / 4
}

/// A session that a packet from outside begins.
#[cold]
#[inline(never)]
fn begin(
    config: &Config,
    tables: &mut Tables<'_>,
    seen: &Seen<[u8; 4]>,
) -> Result<SessionIndex, Error> {
    tables.remove(tables.table.find_reverse(&seen.flow));
    let bindings = &tables.bindings;
    if matches!(seen.kind, Kind::Error(_)) {
        return Err(Error::NoTranslation);
    }
    let (flow, protocol) = (seen.flow, seen.flow.protocol());
    let end = outside_end((flow.dst, flow.dst_port), protocol);
    let dynamic = || {
        let known = bindings.at(bindings.find_reverse(&end)?)?.forward;
        Some(((known.src, known.src_port), known.scope as u16))
    };
    let of_static = config.of_outside(flow.dst, flow.dst_port, protocol);
    let of_static = of_static.map(|(s, fib)| ((s.host.octets(), s.port), fib));
    let (host, fib) = of_static.or_else(dynamic).ok_or(Error::NoTranslation)?;
    if !has_room(&tables.table.usage()) {
        return Err(Error::NoRoom);
    }
    let far = config.embed(fib, flow.src.into()).ok_or(Error::NoTranslation)?;
    let (protocol6, far_port) = match protocol {
        Protocol::ICMP => (Protocol::ICMP6, host.1),
        other => (other, flow.src_port),
    };
    let forward = Flow6::new(host, (far.octets(), far_port), protocol6, fib.into());
    // Answers go by the route that they would have if the host had begun.
    let out_fib = config.fibs.first().copied().unwrap_or(0);
    tables.insert(forward, flow, Data::new(fib, out_fib)).ok_or(Error::NoTranslation)
}
