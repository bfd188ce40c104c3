//! A packet's ends exchanged for others: addresses, ports and checksums (RFC 3022), also those of
//! the packet that an ICMP error quotes (RFC 5508 section 4).

use net::prelude::*;
use sessions::{Address, Direction, Flow, ICMP_HEADER, Kind, Seen};
use wire::checksum;
use zerocopy::byteorder::network_endian::U16;

/// Bytes of a quoted packet that may change: its IP headers, and what follows up to a checksum of
/// TCP.
const QUOTED: usize = 160;

/// Addresses of a version, as they stand in its header.
pub trait Ends: Address {
    /// Whether checksums of ICMP include a pseudo header.
    const ICMP_HAS_PSEUDO: bool;
    /// Ports of a packet; `None` when its header is not whole.
    fn of(packet: &[u8]) -> Option<[Self; 2]>;
    /// Sets those of a packet and the checksum of its header; those it had.
    fn set(packet: &mut [u8], new: [Self; 2]) -> Option<[Self; 2]>;
    /// The protocol of a packet's upper layer, and where that is.
    fn upper(packet: &[u8]) -> Option<(Protocol, usize)>;
}

impl Ends for [u8; 4] {
    const ICMP_HAS_PSEUDO: bool = false;
    #[inline(always)]
    fn of(packet: &[u8]) -> Option<[Self; 2]> {
        ip4::Header::ref_from_prefix(packet).ok().map(|(header, _)| [header.src, header.dst])
    }
    #[inline(always)]
    fn set(packet: &mut [u8], new: [Self; 2]) -> Option<[Self; 2]> {
        let (header, _) = ip4::Header::mut_from_prefix(packet).ok()?;
        let old = [header.src, header.dst];
        header.checksum =
            checksum::update_bytes(header.checksum, old.as_flattened(), new.as_flattened());
        [header.src, header.dst] = new;
        Some(old)
    }
    fn upper(packet: &[u8]) -> Option<(Protocol, usize)> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        Some((header.protocol, header.header_len()))
    }
}

impl Ends for [u8; 16] {
    const ICMP_HAS_PSEUDO: bool = true;
    #[inline(always)]
    fn of(packet: &[u8]) -> Option<[Self; 2]> {
        ip6::Header::ref_from_prefix(packet).ok().map(|(header, _)| [header.src, header.dst])
    }
    #[inline(always)]
    fn set(packet: &mut [u8], new: [Self; 2]) -> Option<[Self; 2]> {
        let (header, _) = ip6::Header::mut_from_prefix(packet).ok()?;
        let old = [header.src, header.dst];
        [header.src, header.dst] = new;
        Some(old)
    }
    fn upper(packet: &[u8]) -> Option<(Protocol, usize)> {
        ip6::upper_layer(packet).map(|upper| (upper.protocol, upper.offset))
    }
}

/// Gives a packet, whose IP header is `l3` bytes from its start, the ends of the flow `new`.
#[inline(always)]
pub fn rewrite<A: Ends>(
    p: &mut Buffer<'_>,
    l3: usize,
    seen: &Seen<A>,
    new: &Flow<A>,
    direction: Direction,
) -> Option<()> {
    if let Kind::Error(at) = seen.kind {
        return rewrite_error(p, l3, at, seen, new, direction);
    }
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let packet = p.bytes_mut().get_mut(l3..)?;
    let ends = [new.src, new.dst];
    let old = A::set(packet, ends)?;
    if seen.has_upper {
        let ports = [new.src_port, new.dst_port];
        let addresses = (old.as_bytes(), ends.as_bytes());
        let upper = packet.get_mut(seen.upper..)?;
        set_ports(upper, seen.flow.protocol(), addresses, ports, is_summed);
    }
    Some(())
}

/// Sets the ports of an upper layer, or the identifier of a query, which is the first of `ports`,
/// and brings its checksum up to date; with the addresses too, where those of its pseudo header
/// change from `old` to `new`. A checksum that is not complete yet (`is_summed`) is the sum of the
/// pseudo header alone, which has no ports. Of a quoted packet not all need be there.
pub fn set_ports(
    upper: &mut [u8],
    protocol: Protocol,
    (old, new): (&[u8], &[u8]),
    ports: [u16; 2],
    is_summed: bool,
) {
    let (at, sum_at, count) = match protocol {
        Protocol::TCP => (0, 16, 2),
        Protocol::UDP => (0, 6, 2),
        Protocol::ICMP | Protocol::ICMP6 if is_query(protocol, upper) => (4, 2, 1),
        _ => return,
    };
    let field = upper.get(sum_at..sum_at + 2).map(|f| U16::from_bytes([f[0], f[1]]));
    let sum = field.filter(|sum| !is_summed || protocol != Protocol::UDP || sum.get() != 0);
    let has_sum = sum.is_some();
    let inverted = |sum: U16| if is_summed { sum } else { U16::new(!sum.get()) };
    let mut sum = inverted(sum.unwrap_or_default());
    if protocol != Protocol::ICMP {
        sum = checksum::update_bytes(sum, old, new);
    }
    for (n, port) in ports.into_iter().enumerate().take(count) {
        let Some(place) = upper.get_mut(at + n * 2..at + n * 2 + 2) else { return };
        let was = U16::from_bytes([place[0], place[1]]);
        if is_summed {
            sum = checksum::update(sum, was, U16::new(port));
        }
        place.copy_from_slice(&port.to_be_bytes());
    }
    if has_sum {
        // 0 would say that there is none.
        let is_none = is_summed && protocol == Protocol::UDP && sum.get() == 0;
        let sum = if is_none { U16::new(0xffff) } else { inverted(sum) };
        upper[sum_at..sum_at + 2].copy_from_slice(&sum.to_bytes());
    }
}

fn is_query(protocol: Protocol, upper: &[u8]) -> bool {
    use {icmp4::Type as T4, icmp6::Type as T6};
    let Some(&kind) = upper.first() else { return false };
    match protocol {
        Protocol::ICMP => T4(kind).query().is_some(),
        _ => matches!(T6(kind), T6::ECHO_REQUEST | T6::ECHO_REPLY),
    }
}

/// An ICMP error: the quoted packet, which went the other way, and the ends outside. The sender
/// need not be the far end, but a router on the way; one inside is hidden.
#[cold]
fn rewrite_error<A: Ends>(
    p: &mut Buffer<'_>,
    l3: usize,
    quoted: usize,
    seen: &Seen<A>,
    new: &Flow<A>,
    direction: Direction,
) -> Option<()> {
    let packet = p.bytes_mut().get_mut(l3..)?;
    let inner = packet.get_mut(quoted..)?;
    let mut before = [0; QUOTED];
    let len = inner.len().min(QUOTED) & !1;
    before[..len].copy_from_slice(inner.get(..len)?);
    let (protocol, upper) = A::upper(inner)?;
    let ends = [new.dst, new.src];
    let old = A::set(inner, ends)?;
    let ports = [new.dst_port, new.src_port];
    let addresses = (old.as_bytes(), ends.as_bytes());
    set_ports(inner.get_mut(upper..)?, protocol, addresses, ports, true);
    let mut after = [0; QUOTED];
    after[..len].copy_from_slice(inner.get(..len)?);
    let [sender, _] = A::of(packet)?;
    let is_far_end = sender == seen.flow.src;
    let src = if is_far_end || direction == Direction::Forward { new.src } else { sender };
    let ends = [src, new.dst];
    let old = A::set(packet, ends)?;
    let icmp = packet.get_mut(seen.upper..seen.upper + ICMP_HEADER)?;
    let mut sum = U16::from_bytes([icmp[2], icmp[3]]);
    sum = checksum::update_bytes(sum, &before[..len], &after[..len]);
    if A::ICMP_HAS_PSEUDO {
        sum = checksum::update_bytes(sum, old.as_bytes(), ends.as_bytes());
    }
    icmp[2..4].copy_from_slice(&sum.to_bytes());
    Some(())
}
