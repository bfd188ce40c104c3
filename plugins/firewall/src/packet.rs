//! Packets as the firewall sees them: their zones, and what rules compare.

use graph::Ports;
use net::adjacency::Adjacency;
use net::prelude::*;
use sessions::{Address, Flow, Kind, Look, Seen};
use wire::tcp::Flags as TcpFlags;
use wire::upper::Upper;

use super::node::Sight;
use super::place::OUTPUT;
use super::zone::{Pair, REPLIES, Zone};

/// Types of neighbour discovery (RFC 4861).
const DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;
/// Their hop limit: they come from the same link.
const NOT_FORWARDED: u8 = 255;

/// The zones of a packet, and where its IP header is.
#[inline(always)]
pub(super) fn place<const AT: usize>(
    sight: &Sight,
    p: &Buffer<'_>,
    epoch: Epoch<'_>,
) -> (Pair, usize) {
    let zone = |interface| sight.zones.read(interface, epoch).map_or(Zone::NONE, |m| m.zone);
    if AT != OUTPUT {
        let is_own = p.flags().has(Flags::LOCAL);
        let from = if is_own { Zone::LOCAL } else { zone(p.rx()) };
        return (Pair { from, to: Zone::LOCAL }, 0);
    }
    let adjacency = sight.adjacencies.read(p.adjacency(), epoch);
    let is_own = adjacency.map_or(p.flags().has(Flags::LOCAL), |a| a.sends_own(p));
    let offset = adjacency.map_or(0, Adjacency::front);
    let from = if is_own { Zone::LOCAL } else { zone(p.rx()) };
    (Pair { from, to: zone(p.tx()) }, offset)
}

/// Whether a packet is neighbour discovery: it passes, as without it nothing does (RFC 4890).
#[inline(always)]
pub(super) fn is_discovery(packet: &[u8]) -> bool {
    const VERSION: u8 = 6 << 4;
    const ICMP6: u8 = Protocol::ICMP6.0;
    match packet {
        // Next header and hop limit are bytes 6 and 7.
        [version, _, _, _, _, _, ICMP6, NOT_FORWARDED, ..] if version & 0xf0 == VERSION => {
            packet.get(size_of::<ip6::Header>()).is_some_and(|kind| DISCOVERY.contains(kind))
        }
        _ => false,
    }
}

/// A packet as sessions see it, with the ports of all protocols that have some.
#[inline(always)]
pub(super) fn look<A: Look>(packet: &[u8], ports: Option<Ports>, scope: u32) -> Option<Seen<A>> {
    let mut seen = A::look(packet, ports, scope)?;
    let is_reply = match seen.kind {
        Kind::Other if seen.flow.protocol().has_ports() => {
            return with_ports(packet, ports, seen);
        }
        Kind::Echo(is_reply) => is_reply,
        // It goes as the reply to the request that it quotes would.
        Kind::Error(at) => packet.get(at..).is_some_and(is_request),
        _ => false,
    };
    if is_reply {
        seen.flow.scope |= REPLIES;
    }
    Some(seen)
}

/// Whether a packet is an echo request.
#[cold]
fn is_request(packet: &[u8]) -> bool {
    let upper = Upper::of(packet);
    upper.is_some_and(|upper| match (upper.protocol, packet.get(upper.offset)) {
        (Protocol::ICMP, Some(kind)) => icmp4::Type(*kind) == icmp4::Type::ECHO_REQUEST,
        (Protocol::ICMP6, Some(kind)) => icmp6::Type(*kind) == icmp6::Type::ECHO_REQUEST,
        _ => false,
    })
}

#[cold]
fn with_ports<A: Address>(packet: &[u8], ports: Option<Ports>, seen: Seen<A>) -> Option<Seen<A>> {
    let ports = match packet.get(seen.upper..).and_then(|bytes| bytes.first_chunk()) {
        Some([a, b, c, d]) if seen.has_upper => {
            Ports { src: u16::from_be_bytes([*a, *b]), dst: u16::from_be_bytes([*c, *d]) }
        }
        _ => ports.filter(|_| !seen.has_upper)?,
    };
    let Flow { src, dst, scope, .. } = seen.flow;
    let flow = Flow::new((src, ports.src), (dst, ports.dst), seen.flow.protocol(), scope);
    Some(Seen { flow, ..seen })
}

/// Fields of the upper layer that rules compare: ports, or type and code of ICMP. `None` for ICMP
/// in an earlier fragment.
#[inline(always)]
pub(super) fn compared<A>(packet: &[u8], seen: &Seen<A>) -> Option<(u16, u16)> {
    match seen.kind {
        Kind::Tcp(_) | Kind::Udp | Kind::Other => Some((seen.flow.src_port, seen.flow.dst_port)),
        Kind::Echo(_) | Kind::Icmp | Kind::Error(_) => {
            let [kind, code] = *packet.get(seen.upper..)?.first_chunk()?;
            seen.has_upper.then_some((kind.into(), code.into()))
        }
    }
}

/// Whether a packet may be the first of its session: of TCP, only a SYN.
#[inline(always)]
pub(super) fn begins(kind: Kind) -> bool {
    const COUNT: u8 = TcpFlags::SYN.0 | TcpFlags::ACK.0 | TcpFlags::RST.0 | TcpFlags::FIN.0;
    match kind {
        Kind::Tcp(flags) => flags.0 & COUNT == TcpFlags::SYN.0,
        _ => true,
    }
}
