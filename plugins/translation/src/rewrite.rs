//! A packet's ends exchanged for others: addresses, ports and checksums (RFC 3022), also those of
//! the packet that an ICMP error quotes (RFC 5508 section 4).

use graph::{Buffer, Flags};
use sessions::{Direction, Flow4, ICMP_HEADER, Kind, Seen};
use wire::{Protocol, checksum, icmp4, ip4};
use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

/// Bytes of a quoted packet that may change: its IP header with options, and what follows up to a
/// checksum of TCP.
const QUOTED: usize = 60 + 20;

/// Gives a packet, whose IP header is `l3` bytes from its start, the ends of the flow `new`.
#[inline(always)]
pub fn rewrite(
    p: &mut Buffer<'_>,
    l3: usize,
    seen: &Seen<[u8; 4]>,
    new: &Flow4,
    direction: Direction,
) -> Option<()> {
    if let Kind::Error(at) = seen.kind {
        return rewrite_error(p, l3, at, seen, new, direction);
    }
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let packet = p.bytes_mut().get_mut(l3..)?;
    let (src, dst) = (new.src, new.dst);
    let ends = [src, dst];
    let old = set_addresses(packet, ends)?;
    if seen.has_upper {
        let ports = [new.src_port, new.dst_port];
        set_upper(packet.get_mut(seen.upper..)?, seen.flow.protocol(), old, ends, ports, is_summed);
    }
    Some(())
}

/// Sets the addresses in an IP header and its checksum; those it had.
#[inline(always)]
fn set_addresses(packet: &mut [u8], new: [[u8; 4]; 2]) -> Option<[[u8; 4]; 2]> {
    let (header, _) = ip4::Header::mut_from_prefix(packet).ok()?;
    let old = [header.src, header.dst];
    header.checksum = swap_all(header.checksum, old, new);
    [header.src, header.dst] = new;
    Some(old)
}

#[inline(always)]
fn swap_all(sum: U16, old: [[u8; 4]; 2], new: [[u8; 4]; 2]) -> U16 {
    let word = |ends: &[[u8; 4]; 2], n: usize| {
        U16::from_bytes([ends[n / 2][n % 2 * 2], ends[n / 2][n % 2 * 2 + 1]])
    };
    (0..4).fold(sum, |sum, n| checksum::update(sum, word(&old, n), word(&new, n)))
}

/// Sets the ports of an upper layer, or the identifier of an echo, and the checksum. Of a quoted
/// packet not all need be there.
fn set_upper(
    upper: &mut [u8],
    protocol: Protocol,
    old: [[u8; 4]; 2],
    new: [[u8; 4]; 2],
    ports: [u16; 2],
    is_summed: bool,
) {
    let (at, sum_at) = match protocol {
        Protocol::TCP => (0, 16),
        Protocol::UDP => (0, 6),
        Protocol::ICMP => match upper.first().map(|kind| icmp4::Type(*kind)) {
            Some(icmp4::Type::ECHO_REQUEST | icmp4::Type::ECHO_REPLY) => (4, 2),
            _ => return,
        },
        _ => return,
    };
    let count = if protocol == Protocol::ICMP { 1 } else { 2 };
    let has_sum = is_summed
        && upper
            .get(sum_at..sum_at + 2)
            .is_some_and(|sum| protocol != Protocol::UDP || sum != [0, 0]);
    let mut sum =
        if has_sum { U16::from_bytes([upper[sum_at], upper[sum_at + 1]]) } else { U16::ZERO };
    if protocol != Protocol::ICMP {
        sum = swap_all(sum, old, new);
    }
    for (n, port) in ports.into_iter().enumerate().take(count) {
        let Some(place) = upper.get_mut(at + n * 2..at + n * 2 + 2) else { return };
        let was = U16::from_bytes([place[0], place[1]]);
        sum = checksum::update(sum, was, U16::new(port));
        place.copy_from_slice(&port.to_be_bytes());
    }
    if has_sum {
        // 0 would say that there is none.
        let sum = if protocol == Protocol::UDP && sum.get() == 0 { U16::new(0xffff) } else { sum };
        upper[sum_at..sum_at + 2].copy_from_slice(&sum.to_bytes());
    }
}

/// An ICMP error: the quoted packet, which went the other way, and the ends outside. The sender
/// need not be the far end, but a router on the way; one inside is hidden.
#[cold]
fn rewrite_error(
    p: &mut Buffer<'_>,
    l3: usize,
    quoted: usize,
    seen: &Seen<[u8; 4]>,
    new: &Flow4,
    direction: Direction,
) -> Option<()> {
    let packet = p.bytes_mut().get_mut(l3..)?;
    let inner = packet.get_mut(quoted..)?;
    let mut before = [0; QUOTED];
    let len = inner.len().min(QUOTED) & !1;
    before[..len].copy_from_slice(inner.get(..len)?);
    let (header, _) = ip4::Header::ref_from_prefix(inner).ok()?;
    let (header_len, protocol) = (header.header_len(), header.protocol);
    let ends = [new.dst, new.src];
    let old = set_addresses(inner, ends)?;
    let ports = [new.dst_port, new.src_port];
    set_upper(inner.get_mut(header_len..)?, protocol, old, ends, ports, true);
    let mut after = [0; QUOTED];
    after[..len].copy_from_slice(inner.get(..len)?);
    let icmp = packet.get_mut(seen.upper..seen.upper + ICMP_HEADER)?;
    let sum = U16::from_bytes([icmp[2], icmp[3]]);
    let sum = checksum::update_bytes(sum, &before[..len], &after[..len]);
    icmp[2..4].copy_from_slice(&sum.to_bytes());
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    let is_far_end = header.src == seen.flow.src;
    let src = if is_far_end || direction == Direction::Forward { new.src } else { header.src };
    set_addresses(packet, [src, new.dst])?;
    Some(())
}
