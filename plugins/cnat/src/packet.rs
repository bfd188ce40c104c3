//! Packets of sessions, and their rewriting: as for other kinds of NAT, and SCTP (RFC 9260), whose
//! CRC covers all of the packet.

use net::prelude::*;
use sessions::{Address, Direction, Flow, ICMP_HEADER, Kind, Look, Seen};
use translation::rewrite::{Ends, rewrite};
use wire::checksum;
use zerocopy::byteorder::network_endian::U16;

use crate::version::Translated;

/// Offset of the CRC of SCTP from the start of its header.
const CRC: usize = 8;

/// A packet whose IP header comes first; `None` when it cannot be translated.
#[inline(always)]
pub fn look<V: Translated>(p: &Buffer<'_>) -> Option<Seen<V::Address>> {
    let seen = V::Address::look(p.bytes(), p.ports(), p.fib().into())?;
    if seen.flow.protocol() == Protocol::SCTP { sctp::<V>(p, seen) } else { Some(seen) }
}

fn ports_at(bytes: &[u8], at: usize) -> Option<(u16, u16)> {
    let number = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    Some((number(at)?, number(at + 2)?))
}

/// Position of the ports of the packet that counts: that of an error is the quoted one.
fn ports_of<A: Ends>(bytes: &[u8], seen: &Seen<A>) -> Option<usize> {
    match seen.kind {
        Kind::Error(at) => A::upper(bytes.get(at..)?).map(|(_, upper)| at + upper),
        _ => Some(seen.upper),
    }
}

/// A packet of SCTP with its ports. The CRC of fragments cannot be brought up to date.
#[cold]
fn sctp<V: Version + Translated>(
    p: &Buffer<'_>,
    seen: Seen<V::Address>,
) -> Option<Seen<V::Address>> {
    if V::is_fragment(p) {
        return None;
    }
    let (src, dst) = ports_at(p.bytes(), ports_of(p.bytes(), &seen)?)?;
    let is_error = matches!(seen.kind, Kind::Error(_));
    let (src, dst) = if is_error { (dst, src) } else { (src, dst) };
    let Flow { src: from, dst: to, scope, .. } = seen.flow;
    Some(Seen { flow: Flow::new((from, src), (to, dst), Protocol::SCTP, scope), ..seen })
}

/// Gives a packet the ends of the flow `new`.
#[inline(always)]
pub fn translate<A: Ends>(
    p: &mut Buffer<'_>,
    seen: &Seen<A>,
    new: &Flow<A>,
    direction: Direction,
) -> Option<()> {
    rewrite(p, 0, seen, new, direction)?;
    if seen.flow.protocol() == Protocol::SCTP { rewrite_sctp(p, seen, new) } else { Some(()) }
}

#[cold]
fn rewrite_sctp<A: Address + Ends>(
    p: &mut Buffer<'_>,
    seen: &Seen<A>,
    new: &Flow<A>,
) -> Option<()> {
    let at = ports_of(p.bytes(), seen)?;
    let is_error = matches!(seen.kind, Kind::Error(_));
    let (src, dst) =
        if is_error { (new.dst_port, new.src_port) } else { (new.src_port, new.dst_port) };
    let mut ports = [0; 4];
    ports[..2].copy_from_slice(&src.to_be_bytes());
    ports[2..].copy_from_slice(&dst.to_be_bytes());
    let place = p.bytes_mut().get_mut(at..at + 4)?;
    let old: [u8; 4] = (*place).try_into().ok()?;
    if old == ports {
        return Some(());
    }
    place.copy_from_slice(&ports);
    if is_error {
        let icmp = p.bytes_mut().get_mut(seen.upper..seen.upper + ICMP_HEADER)?;
        let sum = checksum::update_bytes(U16::from_bytes([icmp[2], icmp[3]]), &old, &ports);
        icmp[2..4].copy_from_slice(&sum.to_bytes());
        return Some(());
    }
    p.bytes_mut().get_mut(at + CRC..at + CRC + 4)?.fill(0);
    let (mut skip, mut crc) = (at, !0);
    for segment in p.segments() {
        let bytes = segment.get(skip..).unwrap_or(&[]);
        skip = skip.saturating_sub(segment.len());
        crc =
            bytes.iter().fold(crc, |crc, byte| crc >> 8 ^ CRC32C[usize::from((crc as u8) ^ byte)]);
    }
    p.bytes_mut().get_mut(at + CRC..at + CRC + 4)?.copy_from_slice(&(!crc).to_le_bytes());
    Some(())
}

/// CRC32c of each byte (RFC 9260 appendix A).
const CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};
