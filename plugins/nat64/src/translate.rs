//! Packets of sessions made ones of the other version (RFC 7915), with their ports.

use graph::Ports;
use net::prelude::*;
use sessions::{Flow4, Flow6, ICMP_HEADER, Kind, Seen};
use translation::rewrite::set_ports;
use wire::checksum;
use wire::siit::{self, Front, Pair};
use zerocopy::byteorder::network_endian::U16;

/// Bytes that an IPv6 header is longer than one of IPv4.
const GROWTH: u16 = (size_of::<ip6::Header>() - size_of::<ip4::Header>()) as u16;
/// Bytes of a quoted packet's upper layer that may change.
const QUOTED: usize = 20;

/// Makes a packet of a host one of IPv4 between the ends of the session's answers, exchanged. The
/// destination of an error need not be the far end.
#[inline(always)]
pub fn outward(
    p: &mut Buffer<'_>,
    seen: &Seen<[u8; 16]>,
    answers: &Flow4,
    dst: Ipv4Addr,
) -> Option<()> {
    let (ports, quoted) = both(answers.dst_port, answers.src_port);
    let upper_of = |inner: &[u8]| ip6::upper_layer(inner).map(|at| (at.protocol, at.offset));
    renumber(p, seen, ports, quoted, upper_of)?;
    let (is_partial, len) = (p.flags().has(Flags::CHECKSUM_TODO), p.total_len());
    let pair = Pair { src: answers.dst.into(), dst };
    let inner = |_: &[u8], _: Pair<Ipv6Addr>| {
        Some(Pair { src: answers.src.into(), dst: answers.dst.into() })
    };
    let front = siit::to_ip4(p.bytes_mut(), len, pair, is_partial, inner).ok()?;
    replace(p, &front, ports)?;
    p.set_gso_size(p.gso_size().saturating_add(if is_gso(p) { GROWTH } else { 0 }));
    Some(())
}

/// Makes a packet from outside one of IPv6 between the ends of the host's flow, exchanged. The
/// source of an error need not be the far end.
#[inline(always)]
pub fn inward(p: &mut Buffer<'_>, seen: &Seen<[u8; 4]>, host: &Flow6, src: Ipv6Addr) -> Option<()> {
    let (quoted, ports) = both(host.src_port, host.dst_port);
    let upper_of = |inner: &[u8]| {
        let (header, _) = ip4::Header::ref_from_prefix(inner).ok()?;
        Some((header.protocol, header.header_len()))
    };
    renumber(p, seen, ports, quoted, upper_of)?;
    let (is_partial, len) = (p.flags().has(Flags::CHECKSUM_TODO), p.total_len());
    let pair = Pair { src, dst: host.src.into() };
    let inner =
        |_: &[u8], _: Pair<Ipv4Addr>| Some(Pair { src: host.src.into(), dst: host.dst.into() });
    let front = siit::to_ip6(p.bytes_mut(), len, pair, is_partial, inner).ok()?;
    replace(p, &front, ports)?;
    p.set_gso_size(p.gso_size().saturating_sub(if is_gso(p) { GROWTH } else { 0 }));
    Some(())
}

fn is_gso(p: &Buffer<'_>) -> bool {
    p.flags().has(Flags::GSO)
}

/// Ports in the order of a packet, and of one that went the other way.
fn both(src: u16, dst: u16) -> ([u16; 2], [u16; 2]) {
    ([src, dst], [dst, src])
}

/// Sets the ports of a packet, or of the packet that an error quotes.
#[inline(always)]
fn renumber<A>(
    p: &mut Buffer<'_>,
    seen: &Seen<A>,
    ports: [u16; 2],
    quoted: [u16; 2],
    upper_of: impl Fn(&[u8]) -> Option<(wire::Protocol, usize)>,
) -> Option<()>
where
    A: sessions::Address,
{
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let packet = p.bytes_mut();
    let Kind::Error(at) = seen.kind else {
        if seen.has_upper {
            let upper = packet.get_mut(seen.upper..)?;
            set_ports(upper, seen.flow.protocol(), (&[], &[]), ports, is_summed);
        }
        return Some(());
    };
    let inner = packet.get_mut(at..)?;
    let (protocol, offset) = upper_of(inner)?;
    let upper = inner.get_mut(offset..)?;
    let mut before = [0; QUOTED];
    let len = upper.len().min(QUOTED) & !1;
    before[..len].copy_from_slice(upper.get(..len)?);
    set_ports(upper, protocol, (&[], &[]), quoted, true);
    let mut after = [0; QUOTED];
    after[..len].copy_from_slice(upper.get(..len)?);
    let icmp = packet.get_mut(seen.upper..seen.upper + ICMP_HEADER)?;
    let sum = U16::from_bytes([icmp[2], icmp[3]]);
    let sum = checksum::update_bytes(sum, &before[..len], &after[..len]);
    icmp[2..4].copy_from_slice(&sum.to_bytes());
    Some(())
}

/// Puts a new front on a packet.
#[inline(always)]
fn replace(p: &mut Buffer<'_>, front: &Front, [src, dst]: [u16; 2]) -> Option<()> {
    p.advance(front.taken)?;
    let bytes = front.bytes();
    p.make_room(bytes.len())?.copy_from_slice(bytes);
    p.clear_flags(Flags::L2);
    let at = p.offset();
    p.set_l3_offset(at);
    if p.ports().is_some() {
        p.set_ports(Some(Ports { src, dst }));
    }
    Some(())
}
