//! Encryption of single packets: kept headers, added headers and trailers, and the MTU check.

use net::drops::Problem;
use net::prelude::*;

use super::ah;
use super::decrypt::MPLS;
use super::encrypt::Error;
use super::esp::HEADER;
use super::outside::Inside;
use super::sa::Sa;

/// Length up to which IPv4 packets are never fragmented (RFC 791 section 3.1).
const NEVER_CUT: usize = 576;
/// Longest IPv4 packet, and longest IPv6 payload.
pub const LONGEST: usize = 65_535;
/// Headroom reserved for link headers.
pub const KEPT: usize = 32;

/// Whether a packet fits the link after encryption.
pub enum Fit {
    /// It fits.
    Whole,
    /// It has to be fragmented after encryption, into fragments of this many bytes.
    Cut(u16),
    /// It does not fit, and must not be fragmented.
    Not(Problem),
}

/// Layout of an encrypted packet.
pub struct Plan {
    /// Number of bytes in front that are kept: layer 2 and IP header in transport mode.
    keep: usize,
    /// Number of bytes in front that are removed: layer 2 in tunnel mode.
    skip: usize,
    /// Offset of the protocol field.
    announced_at: usize,
    /// Protocol of the payload.
    next_header: u8,
    /// Whether the IP header in front of AH is IPv6.
    pub is_6: bool,
    /// Fields of the unencrypted packet.
    pub inside: Inside,
}

impl Plan {
    pub fn of(sa: &Sa, p: &Buffer<'_>, front: usize, is_labelled: bool) -> Option<Self> {
        let packet = p.bytes().get(front..)?;
        let version = packet.first()? >> 4;
        if sa.outside.is_tunnel() {
            let next_header = match version {
                _ if is_labelled => MPLS,
                4 => Protocol::IP4,
                6 => Protocol::IP6,
                _ => return None,
            };
            let inside = if is_labelled { Inside::default() } else { Inside::of(packet) };
            let skip = front;
            let next_header = next_header.0;
            let is_6 = sa.outside.is_6();
            return Some(Self { keep: 0, skip, announced_at: 0, next_header, is_6, inside });
        }
        let (announced_at, len) = match version {
            4 => (9, ip4::Header::ref_from_prefix(packet).ok()?.0.header_len()),
            6 => ip6::fragment_place(packet),
            _ => return None,
        };
        let next_header = *packet.get(announced_at)?;
        packet.get(..len)?;
        let inside = Inside::default();
        let (keep, announced_at, is_6) = (front + len, announced_at + front, version == 6);
        Some(Self { keep, skip: 0, announced_at, next_header, is_6, inside })
    }
    /// Length of an IP packet of `len` bytes after encryption.
    pub fn sealed(&self, sa: &Sa, front: usize, len: usize) -> usize {
        let payload = len.saturating_sub(self.keep.saturating_sub(front));
        let (header, behind) = self.around(sa, payload);
        len + sa.outside.len() + header + behind
    }
    /// Number of bytes that an SA adds before and after a payload.
    #[inline(always)]
    fn around(&self, sa: &Sa, payload: usize) -> (usize, usize) {
        match sa.is_ah() {
            true => (ah::header_len(&sa.keys, self.is_6), 0),
            false => (HEADER + sa.keys.iv(), sa.keys.behind(payload)),
        }
    }
    /// The ICMP error for an IP packet that exceeds `mtu` after encryption.
    fn too_long(&self, sa: &Sa, front: usize, mtu: usize, is_6: bool) -> Problem {
        let mut fits = mtu;
        while fits > 0 && self.sealed(sa, front, fits) > mtu {
            fits -= 1;
        }
        if is_6 { Problem::too_big6(fits) } else { Problem::too_big4(fits) }
    }
    /// Updates the IP header in front for its new payload.
    fn patch(&self, bytes: &mut [u8], front: usize, protocol: Protocol) -> Option<()> {
        let total = bytes.len() - front;
        *bytes.get_mut(self.announced_at)? = protocol.0;
        let packet = bytes.get_mut(front..self.keep)?;
        if packet.first()? >> 4 == 6 {
            let (ip, _) = ip6::Header::mut_from_prefix(packet).ok()?;
            ip.payload_len = ((total - size_of::<ip6::Header>()) as u16).into();
            return Some(());
        }
        let (ip, options) = ip4::Header::mut_from_prefix(packet).ok()?;
        ip.total_len = (total as u16).into();
        ip.update_checksum_with(options);
        Some(())
    }
}

/// Writes headers and trailer around a payload that is in place.
fn fill(
    sa: &Sa,
    plan: &Plan,
    front: usize,
    (bytes, payload_len): (&mut [u8], usize),
    (number, unique): (u64, u64),
) -> Option<()> {
    let esp = plan.keep + sa.outside.len();
    sa.outside.write(bytes, plan.keep, &plan.inside)?;
    if !sa.outside.is_tunnel() {
        let has_udp = sa.outside.has_udp();
        plan.patch(bytes, front, if has_udp { Protocol::UDP } else { sa.config.protocol })?;
    }
    if sa.is_ah() {
        let start = if sa.outside.is_tunnel() { 0 } else { front };
        let packet = bytes.get_mut(start..)?;
        identify(packet, number)?;
        let header = (plan.next_header, sa.config.spi);
        return ah::sign(&sa.keys, packet, esp - start, header, number);
    }
    let header = bytes.get_mut(esp..esp + HEADER)?;
    let (spi, low) = header.split_at_mut(4);
    spi.copy_from_slice(&sa.config.spi.to_be_bytes());
    low.copy_from_slice(&(number as u32).to_be_bytes());
    let end = esp + HEADER + sa.keys.iv() + payload_len;
    sa.keys.seal(bytes, (esp, end), plan.next_header, (number, unique))
}

/// Sets the identification of an IPv4 packet that may be fragmented after encryption; AH
/// authenticates it.
fn identify(packet: &mut [u8], number: u64) -> Option<()> {
    if packet.len() <= NEVER_CUT || packet.first()? >> 4 != 4 {
        return Some(());
    }
    let (ip, rest) = ip4::Header::mut_from_prefix(packet).ok()?;
    if ip.id.get() == 0 && !ip.dont_fragment() {
        let options = ip.header_len().checked_sub(size_of::<ip4::Header>())?;
        ip.id = (number as u16).max(1).into();
        ip.update_checksum_with(rest.get(..options)?);
    }
    Some(())
}

/// Copies the segments of a packet into one buffer.
pub fn gather(p: &Buffer<'_>, room: &mut [u8]) -> Option<usize> {
    let mut len = 0;
    for segment in p.segments() {
        room.get_mut(len..len + segment.len())?.copy_from_slice(segment);
        len += segment.len();
    }
    Some(len)
}

/// Replaces the packet's bytes, in as many segments as necessary.
pub fn replace<N: Node>(p: &mut Packet<'_, N>, bytes: &[u8]) -> Option<()> {
    p.truncate_chain(0);
    p.extend(bytes)
}

/// Seals a packet.
pub fn seal<N: Node>(
    p: &mut Packet<'_, N>,
    sa: &Sa,
    plan: &Plan,
    front: usize,
) -> Result<u64, Error> {
    if plan.sealed(sa, front, p.total_len() - front) > LONGEST {
        return Err(Error::NoBuffers);
    }
    let number = sa.state.sent.take(sa.most()).ok_or(Error::Cycled)?;
    let unique = sa.state.unique.take(u64::MAX).ok_or(Error::Cycled)?;
    let numbers = (number, unique);
    let payload_len = p.total_len() - plan.keep - plan.skip;
    let (header, behind) = plan.around(sa, payload_len);
    let grows = sa.outside.len() + header;
    let is_one = p.next_segment().is_none();
    if is_one && p.tailroom() >= behind && p.headroom() + plan.skip >= grows + KEPT {
        p.advance(plan.skip).ok_or(Error::Engine)?;
        p.append_with(behind).ok_or(Error::NoBuffers)?;
        p.prepend(grows).ok_or(Error::NoBuffers)?;
        let bytes = p.bytes_mut();
        bytes.copy_within(grows..grows + plan.keep, 0);
        fill(sa, plan, front, (bytes, payload_len), numbers).ok_or(Error::Engine)?;
        return Ok(number);
    }
    p.with_room(|p, room| {
        let at = grows.checked_sub(plan.skip).ok_or(Error::Engine)?;
        gather(p, room.get_mut(at..).ok_or(Error::NoBuffers)?).ok_or(Error::NoBuffers)?;
        let end = plan.keep + grows + payload_len + behind;
        let new = room.get_mut(..end).ok_or(Error::NoBuffers)?;
        new.copy_within(grows..grows + plan.keep, 0);
        fill(sa, plan, front, (new, payload_len), numbers).ok_or(Error::Engine)?;
        replace(p, new).ok_or(Error::NoBuffers)
    })?;
    Ok(number)
}

/// Handling of a packet that is too long for the link after encryption.
#[cold]
#[inline(never)]
pub fn too_long(
    p: &Buffer<'_>,
    sa: &Sa,
    plan: &Plan,
    (front, len, mtu): (usize, usize, u16),
) -> Fit {
    let packet = p.bytes().get(front..).unwrap_or(&[]);
    let is_6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let is_bound = match is_6 {
        true => !p.flags().has(Flags::LOCAL) && len > icmp6::LEAST_MTU,
        false => {
            ip4::Header::ref_from_prefix(packet).is_ok_and(|(header, _)| header.dont_fragment())
        }
    };
    match is_bound {
        true => Fit::Not(plan.too_long(sa, front, mtu.into(), is_6)),
        false if sa.outside.is_tunnel() => Fit::Whole,
        false => Fit::Cut(mtu),
    }
}
