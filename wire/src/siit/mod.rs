//! Translation between IPv4 and IPv6 (RFC 7915), without state: which addresses a packet gets its
//! caller knows.
//!
//! A translation replaces the front of a packet, its headers up to what stays: [`Front`] has the
//! new bytes and how many old ones they stand for. Checksums of what stays are brought up to date
//! in place. Of an ICMP error the front includes the header of the packet that it quotes.

pub mod embedded;
mod icmp;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, IntoBytes};

use crate::checksum::{Sum, ip6_pseudo};
use crate::{Protocol, icmp4, icmp6, ip4, ip6, tcp, udp};

pub use icmp::{icmp4_to_6, icmp6_to_4};

/// Bytes of an ICMP message before the packet that an error quotes.
const ICMP: usize = 8;
/// Longest new front: two headers with fragment headers, and that of ICMP.
const MOST: usize = 2 * (40 + 8) + ICMP;
/// Longest IPv4 packet that may be fragmented on its way when it came as one of IPv6 (section 5.1).
const MAY_FRAGMENT: usize = 1260;

/// Source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<A> {
    /// Source.
    pub src: A,
    /// The destination.
    pub dst: A,
}

/// Reasons why a packet is not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Truncated, or with inconsistent fields.
    Malformed,
    /// The standard has it dropped silently.
    Dropped,
    /// A packet that it quotes has no addresses on the other side.
    NoAddresses,
}

/// The new front of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    bytes: [u8; MOST],
    len: usize,
    /// Bytes that it stands for.
    pub taken: usize,
}

impl Front {
    fn new() -> Self {
        Self { bytes: [0; MOST], len: 0, taken: 0 }
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }
}

/// A sum from which words can be subtracted.
#[derive(Clone, Copy)]
struct Change(Sum);

impl Change {
    /// From a checksum, or a sum that is not inverted yet.
    fn of(checksum: U16, is_partial: bool) -> Self {
        let sum = if is_partial { checksum.get() } else { !checksum.get() };
        Self(Sum::ZERO.add_word(sum))
    }
    fn plus(self, bytes: &[u8]) -> Self {
        Self(self.0.add_word(Sum::ZERO.add_bytes(bytes).fold()))
    }
    fn minus(self, bytes: &[u8]) -> Self {
        Self(self.0.add_word(!Sum::ZERO.add_bytes(bytes).fold()))
    }
    fn checksum(self, is_partial: bool) -> U16 {
        if is_partial { U16::new(self.0.fold()) } else { self.0.checksum() }
    }
}

/// Source and destination port of an IPv4 packet, if its first segment has them: of ICMP echoes the
/// number of the run is both, and an error has those of the packet that it quotes, exchanged.
pub fn ports4(packet: &[u8]) -> Option<(u16, u16)> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    if header.fragment_offset() != 0 {
        return None;
    }
    let upper = packet.get(header.header_len()..)?;
    if header.protocol != Protocol::ICMP {
        return ports(header.protocol, upper);
    }
    let (icmp, _) = icmp4::Header::ref_from_prefix(upper).ok()?;
    if !icmp.kind.is_error() {
        let (echo, _) = icmp4::Echo::ref_from_prefix(upper).ok()?;
        return Some((echo.id.get(), echo.id.get()));
    }
    let quoted = upper.get(ICMP..)?;
    let (header, _) = ip4::Header::ref_from_prefix(quoted).ok()?;
    let rest = quoted.get(header.header_len()..)?;
    let (src, dst) = match header.protocol {
        Protocol::ICMP => echo_of(rest)?,
        protocol => ports(protocol, rest)?,
    };
    Some((dst, src))
}

/// As [`ports4`], of an IPv6 packet.
pub fn ports6(packet: &[u8]) -> Option<(u16, u16)> {
    let at = ip6::upper_layer(packet)?;
    if at.fragment.is_some_and(|f| f.offset() != 0) {
        return None;
    }
    let upper = packet.get(at.offset..)?;
    if at.protocol != Protocol::ICMP6 {
        return ports(at.protocol, upper);
    }
    let (icmp, _) = icmp6::Header::ref_from_prefix(upper).ok()?;
    if !icmp.kind.is_error() {
        return echo_of(upper);
    }
    let quoted = upper.get(ICMP..)?;
    let at = ip6::upper_layer(quoted)?;
    let rest = quoted.get(at.offset..)?;
    let (src, dst) = match at.protocol {
        Protocol::ICMP6 => echo_of(rest)?,
        protocol => ports(protocol, rest)?,
    };
    Some((dst, src))
}

fn ports(protocol: Protocol, upper: &[u8]) -> Option<(u16, u16)> {
    if !protocol.has_ports() {
        return None;
    }
    let [a, b, c, d] = *upper.first_chunk()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// The number of the run of an echo, for both ports.
fn echo_of(upper: &[u8]) -> Option<(u16, u16)> {
    let (echo, _) = icmp4::Echo::ref_from_prefix(upper).ok()?;
    Some((echo.id.get(), echo.id.get()))
}

/// Translates a packet that starts with its IPv4 header and has `len` bytes in all, of which
/// `packet` has the first ones. `quoted` knows the addresses of a packet that it quotes. The
/// checksum of one with `is_partial` is that of the pseudo header so far.
///
/// # Errors
/// [`Error`]; the packet is to be dropped.
pub fn to_ip6(
    packet: &mut [u8],
    len: usize,
    pair: Pair<Ipv6Addr>,
    is_partial: bool,
    quoted: impl FnOnce(&[u8], Pair<Ipv4Addr>) -> Option<Pair<Ipv6Addr>>,
) -> Result<Front, Error> {
    let (header, _) = ip4::Header::read_from_prefix(packet).map_err(|_| Error::Malformed)?;
    let header_len = header.header_len();
    let upper_len = len.checked_sub(header_len).ok_or(Error::Malformed)?;
    let upper = packet.get_mut(header_len..).ok_or(Error::Malformed)?;
    let mut front = Front::new();
    front.taken = header_len;
    let is_icmp = header.protocol == Protocol::ICMP && header.fragment_offset() == 0;
    if !is_icmp {
        push_ip6(&mut front, &header, pair, upper_len)?;
        if header.fragment_offset() == 0 {
            let old = [header.src, header.dst];
            let new = [pair.src.octets(), pair.dst.octets()];
            let (old, new) = (old.as_flattened(), new.as_flattened());
            if header.protocol == Protocol::UDP && is_unsummed(upper) && !is_partial {
                sum_udp(upper, &header, upper_len, pair)?;
            } else {
                update(header.protocol, upper, old, new, is_partial);
            }
        }
        return Ok(front);
    }
    let (icmp, _) = icmp4::Error::read_from_prefix(upper).map_err(|_| Error::Malformed)?;
    let value = u32::from_be_bytes(*upper[4..].first_chunk().ok_or(Error::Malformed)?);
    let (kind, code, value) = icmp4_to_6(icmp.icmp.kind, icmp.icmp.code, value)?;
    let mut change = Change::of(icmp.icmp.checksum, false).minus(&head_of(upper));
    let mut inner = Front::new();
    if icmp.icmp.kind.is_error() {
        let rest = upper.get_mut(ICMP..).ok_or(Error::Malformed)?;
        (inner, change) = quote_as_6(rest, change, quoted)?;
    }
    let new_len = upper_len + inner.len - inner.taken;
    push_ip6(&mut front, &header, pair, new_len)?;
    let mut head = icmp6::Error { icmp: icmp6::Header::new(kind, code), value: U32::new(value) };
    let (src, dst) = (pair.src.octets(), pair.dst.octets());
    let pseudo = ip6_pseudo(src, dst, Protocol::ICMP6, new_len as u32).fold();
    change = change.plus(head.as_bytes()).plus(inner.bytes()).plus(&pseudo.to_be_bytes());
    head.icmp.checksum = change.checksum(false);
    front.push(head.as_bytes());
    front.push(inner.bytes());
    front.taken += ICMP + inner.taken;
    Ok(front)
}

/// Translates a packet that starts with its IPv6 header; as [`to_ip6`].
///
/// # Errors
/// [`Error`]; the packet is to be dropped.
pub fn to_ip4(
    packet: &mut [u8],
    len: usize,
    pair: Pair<Ipv4Addr>,
    is_partial: bool,
    quoted: impl FnOnce(&[u8], Pair<Ipv6Addr>) -> Option<Pair<Ipv4Addr>>,
) -> Result<Front, Error> {
    let (header, _) = ip6::Header::read_from_prefix(packet).map_err(|_| Error::Malformed)?;
    let at = ip6::upper_layer(packet).ok_or(Error::Malformed)?;
    let upper_len = len.checked_sub(at.offset).ok_or(Error::Malformed)?;
    let is_first = at.fragment.is_none_or(|f| f.offset() == 0);
    let upper = packet.get_mut(at.offset..).ok_or(Error::Malformed)?;
    let mut front = Front::new();
    front.taken = at.offset;
    if at.protocol != Protocol::ICMP6 || !is_first {
        push_ip4(&mut front, &header, &at, pair, upper_len)?;
        if is_first {
            let old = [header.src, header.dst];
            let new = [pair.src.octets(), pair.dst.octets()];
            update(at.protocol, upper, old.as_flattened(), new.as_flattened(), is_partial);
        }
        return Ok(front);
    }
    let (icmp, _) = icmp6::Error::read_from_prefix(upper).map_err(|_| Error::Malformed)?;
    let (kind, code, value) = icmp6_to_4(icmp.icmp.kind, icmp.icmp.code, icmp.value.get())?;
    let old_pseudo = ip6_pseudo(header.src, header.dst, Protocol::ICMP6, upper_len as u32).fold();
    let change = Change::of(icmp.icmp.checksum, false).minus(&head_of(upper));
    let mut change = change.minus(&old_pseudo.to_be_bytes());
    let mut inner = Front::new();
    if icmp.icmp.kind.is_error() {
        let rest = upper.get_mut(ICMP..).ok_or(Error::Malformed)?;
        (inner, change) = quote_as_4(rest, change, quoted)?;
    }
    let new_len = (upper_len + inner.len).saturating_sub(inner.taken);
    push_ip4(&mut front, &header, &at, pair, new_len)?;
    let mut head = [0; ICMP];
    (head[0], head[1]) = (kind.0, code);
    head[4..].copy_from_slice(&value.to_be_bytes());
    let sum = change.plus(&head).plus(inner.bytes()).checksum(false);
    head[2..4].copy_from_slice(sum.as_bytes());
    front.push(&head);
    front.push(inner.bytes());
    front.taken += ICMP + inner.taken;
    Ok(front)
}

/// The start of an ICMP message without its checksum; it has eight bytes.
fn head_of(message: &[u8]) -> [u8; 6] {
    let mut head = [0; 6];
    head[..2].copy_from_slice(&message[..2]);
    head[2..].copy_from_slice(&message[4..ICMP]);
    head
}

/// The quoted packet's header for the other side, and the sum with what it changed.
fn quote_as_6(
    rest: &mut [u8],
    change: Change,
    quoted: impl FnOnce(&[u8], Pair<Ipv4Addr>) -> Option<Pair<Ipv6Addr>>,
) -> Result<(Front, Change), Error> {
    let (header, _) = ip4::Header::read_from_prefix(rest).map_err(|_| Error::Malformed)?;
    let header_len = header.header_len();
    let old = Pair { src: header.src_addr(), dst: header.dst_addr() };
    let pair = quoted(rest, old).ok_or(Error::NoAddresses)?;
    let total = usize::from(header.total_len.get());
    let upper_len = total.checked_sub(header_len).ok_or(Error::Malformed)?;
    let (before, upper) = rest.split_at_mut_checked(header_len).ok_or(Error::Malformed)?;
    let mut change = change.minus(before);
    let mut front = Front::new();
    front.taken = header_len;
    push_ip6(&mut front, &header, pair, upper_len)?;
    if header.fragment_offset() == 0 {
        let new = [pair.src.octets(), pair.dst.octets()];
        let old = [header.src, header.dst];
        let echo = |kind| match kind {
            icmp4::Type::ECHO_REQUEST => Some(icmp6::Type::ECHO_REQUEST.0),
            icmp4::Type::ECHO_REPLY => Some(icmp6::Type::ECHO_REPLY.0),
            _ => None,
        };
        let pseudo =
            ip6_pseudo(new[0], new[1], Protocol::ICMP6, upper_len as u32).fold().to_be_bytes();
        let kind = upper.first().and_then(|kind| echo(icmp4::Type(*kind)));
        change = change_quoted(upper, change, |upper| match header.protocol {
            Protocol::ICMP => change_echo(upper, kind, &[], &pseudo),
            protocol => update(protocol, upper, old.as_flattened(), new.as_flattened(), false),
        });
    }
    Ok((front, change))
}

/// As [`quote_as_6`], the other way round.
fn quote_as_4(
    rest: &mut [u8],
    change: Change,
    quoted: impl FnOnce(&[u8], Pair<Ipv6Addr>) -> Option<Pair<Ipv4Addr>>,
) -> Result<(Front, Change), Error> {
    let (header, _) = ip6::Header::read_from_prefix(rest).map_err(|_| Error::Malformed)?;
    let at = ip6::upper_layer(rest).ok_or(Error::Malformed)?;
    let old = Pair { src: header.src_addr(), dst: header.dst_addr() };
    let pair = quoted(rest, old).ok_or(Error::NoAddresses)?;
    let total = size_of::<ip6::Header>() + usize::from(header.payload_len.get());
    let upper_len = total.checked_sub(at.offset).ok_or(Error::Malformed)?;
    let (before, upper) = rest.split_at_mut_checked(at.offset).ok_or(Error::Malformed)?;
    let mut change = change.minus(before);
    let mut front = Front::new();
    front.taken = at.offset;
    push_ip4(&mut front, &header, &at, pair, upper_len)?;
    if at.fragment.is_none_or(|f| f.offset() == 0) {
        let new = [pair.src.octets(), pair.dst.octets()];
        let old = [header.src, header.dst];
        let echo = |kind| match kind {
            icmp6::Type::ECHO_REQUEST => Some(icmp4::Type::ECHO_REQUEST.0),
            icmp6::Type::ECHO_REPLY => Some(icmp4::Type::ECHO_REPLY.0),
            _ => None,
        };
        let pseudo =
            ip6_pseudo(old[0], old[1], Protocol::ICMP6, upper_len as u32).fold().to_be_bytes();
        let kind = upper.first().and_then(|kind| echo(icmp6::Type(*kind)));
        change = change_quoted(upper, change, |upper| match at.protocol {
            Protocol::ICMP6 => change_echo(upper, kind, &pseudo, &[]),
            protocol => update(protocol, upper, old.as_flattened(), new.as_flattened(), false),
        });
    }
    Ok((front, change))
}

/// Changes the start of a quoted packet's upper layer; the sum with what that changed.
fn change_quoted(upper: &mut [u8], change: Change, with: impl FnOnce(&mut [u8])) -> Change {
    let mut before = [0; size_of::<tcp::Header>()];
    let len = upper.len().min(before.len()) & !1;
    before[..len].copy_from_slice(&upper[..len]);
    with(upper);
    change.minus(&before[..len]).plus(&upper[..len])
}

/// Gives an echo its type of the other side, with what its checksum is over besides before and
/// afterwards.
fn change_echo(upper: &mut [u8], kind: Option<u8>, before: &[u8], after: &[u8]) {
    let (Some(kind), Some([old_kind, code, high, low])) = (kind, upper.first_chunk_mut()) else {
        return;
    };
    let change = Change::of(U16::from_bytes([*high, *low]), false);
    let change = change.minus(&[*old_kind, *code]).minus(before).plus(&[kind, *code]).plus(after);
    *old_kind = kind;
    [*high, *low] = change.checksum(false).to_bytes();
}

/// Brings the checksum of TCP or UDP up to date with other addresses.
fn update(protocol: Protocol, upper: &mut [u8], old: &[u8], new: &[u8], is_partial: bool) {
    let sum = match protocol {
        Protocol::TCP => upper.get_mut(16..18),
        Protocol::UDP if is_partial || !is_unsummed(upper) => upper.get_mut(6..8),
        _ => None,
    };
    if let Some(sum) = sum.and_then(|sum| sum.first_chunk_mut::<2>()) {
        let change = Change::of(U16::from_bytes(*sum), is_partial).minus(old).plus(new);
        let mut new = change.checksum(is_partial);
        if protocol == Protocol::UDP && new.get() == 0 && !is_partial {
            new = U16::new(0xffff);
        }
        *sum = new.to_bytes();
    }
}

fn is_unsummed(upper: &[u8]) -> bool {
    upper.get(6..8) == Some(&[0; 2])
}

/// Gives a datagram of IPv4 that has no checksum the one it needs (section 4.5).
fn sum_udp(
    upper: &mut [u8],
    header: &ip4::Header,
    len: usize,
    pair: Pair<Ipv6Addr>,
) -> Result<(), Error> {
    if header.is_fragment() {
        return Err(Error::Dropped);
    }
    let data = upper.get(..len).ok_or(Error::Dropped)?;
    let (src, dst) = (pair.src.octets(), pair.dst.octets());
    let sum = ip6_pseudo(src, dst, Protocol::UDP, len as u32).add_bytes(data).udp_checksum();
    let (datagram, _) = udp::Header::mut_from_prefix(upper).map_err(|_| Error::Malformed)?;
    datagram.checksum = sum;
    Ok(())
}

/// The IPv6 header for one of IPv4, with `len` bytes after both (section 4.1).
fn push_ip6(
    front: &mut Front,
    header: &ip4::Header,
    pair: Pair<Ipv6Addr>,
    len: usize,
) -> Result<(), Error> {
    let protocol = match header.protocol {
        Protocol::ICMP => Protocol::ICMP6,
        protocol => protocol,
    };
    let is_fragment = header.is_fragment();
    let fragment = ip6::FragmentHeader {
        next_header: protocol,
        reserved: 0,
        offset_more: (header.fragment_offset() as u16 | u16::from(header.more_fragments())).into(),
        id: u32::from(header.id.get()).into(),
    };
    let len = len + if is_fragment { size_of_val(&fragment) } else { 0 };
    let len = u16::try_from(len).map_err(|_| Error::Malformed)?;
    let next = if is_fragment { Protocol::FRAGMENT } else { protocol };
    let mut new = ip6::Header::new(pair.src, pair.dst, next, len);
    new.set_traffic_class(header.tos);
    new.hop_limit = header.ttl;
    front.push(new.as_bytes());
    if is_fragment {
        front.push(fragment.as_bytes());
    }
    Ok(())
}

/// The IPv4 header for one of IPv6, with `len` bytes after both (section 5.1).
fn push_ip4(
    front: &mut Front,
    header: &ip6::Header,
    upper: &ip6::UpperLayer,
    pair: Pair<Ipv4Addr>,
    len: usize,
) -> Result<(), Error> {
    let total = len + size_of::<ip4::Header>();
    let total_len = u16::try_from(total).map_err(|_| Error::Malformed)?;
    let protocol = match upper.protocol {
        Protocol::ICMP6 => Protocol::ICMP,
        protocol => protocol,
    };
    let mut new = ip4::Header::new(pair.src, pair.dst, protocol, total_len);
    (new.tos, new.ttl) = (header.traffic_class(), header.hop_limit);
    match upper.fragment {
        Some(f) => {
            let more = if f.more_fragments() { ip4::MORE_FRAGMENTS } else { 0 };
            new.fragment = ((f.offset() / 8) as u16 | more).into();
            new.id = (f.id.get() as u16).into();
        }
        None => {
            let is_big = total > MAY_FRAGMENT;
            new.fragment = if is_big { ip4::DONT_FRAGMENT } else { 0 }.into();
            new.id = 0.into();
        }
    }
    new.update_checksum();
    front.push(new.as_bytes());
    Ok(())
}
