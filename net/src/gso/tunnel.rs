//! Pending offloads stay with a packet when the headers of a tunnel are put in front: it is cut, or
//! its checksum completed, with these headers (inner and outer, as devices call them), so a big
//! packet crosses the router in one piece.
//!
//! [`Buffer::inner`] has where the headers of the packet are then. One tunnel is remembered;
//! before a second one, everything is done first.

use graph::{Buffer, Flags, Inner};
use wire::checksum::Sum;
use wire::zerocopy::byteorder::network_endian::U16;
use wire::{Protocol, ip4, ip6, udp};

use super::checksum::{Unfit, field_offset};
use super::segment::{Layout, at, at_mut, finish_ip};
use super::{UNDONE, places};

/// Longest IP packet in bytes.
const LONGEST: usize = 0xffff;

/// Whether what is to be done for a packet, if anything is, can wait after `len` bytes of headers.
#[cold]
pub fn can_wait(p: &Buffer<'_>, len: usize) -> bool {
    let is_too_long = p.flags().has(Flags::GSO) && p.total_len() + len > LONGEST;
    !(is_too_long || p.flags().has(Flags::TUNNEL))
}

/// Remembers where the headers of a packet are, before `len` bytes of headers are put in front.
#[inline(always)]
pub fn enclose(p: &mut Buffer<'_>, len: usize) {
    if p.flags().has(UNDONE) {
        let inner = Inner { l3: p.l3_offset(), l4: p.l4_offset() };
        p.set_inner(Some(inner));
        let l3 = p.offset().wrapping_sub(len as i16);
        p.set_l3_offset(l3);
    } else {
        p.clear_flags(Flags::L3.with(Flags::L4));
    }
}

/// Says of a packet that was taken out of a tunnel what was said of it before.
#[inline(always)]
pub fn disclose(p: &mut Buffer<'_>) {
    if let Some(inner) = p.inner() {
        p.set_l3_offset(inner.l3);
        p.set_l4_offset(inner.l4);
        p.set_inner(None);
    }
}

/// The checksum of the UDP header at `udp` in the current bytes, given the sum of its pseudo
/// header, over a packet with only its own checksum pending. That one makes the sum of the bytes it
/// covers known, so these bytes are not read.
pub fn outer_checksum(p: &Buffer<'_>, udp: usize, pseudo: Sum) -> Option<U16> {
    let (protocol, l4) = super::checksum::protocol_of(p).ok()?;
    let field = l4 + field_offset(protocol)?;
    let inner = U16::from_bytes(*p.bytes().get(field..)?.first_chunk()?);
    let sum = pseudo.add_bytes(p.bytes().get(udp..l4)?);
    Some(sum.add_word(!inner.get()).udp_checksum())
}

/// Finishes the headers of the tunnel in front of a segment, whose own are finished: `len` bytes,
/// `pseudo` the sum of its pseudo header.
pub(super) fn finish(
    headers: &mut [u8],
    (layout, outer): (Layout, usize),
    (len, index): (usize, usize),
    pseudo: Sum,
) -> Result<(), Unfit> {
    let front = headers.get_mut(outer..).ok_or(Unfit)?;
    let (protocol, header_len) = match front.first().ok_or(Unfit)? >> 4 {
        4 => {
            let header = at::<ip4::Header>(front)?;
            (header.protocol, header.header_len())
        }
        _ => (at::<ip6::Header>(front)?.next_header, size_of::<ip6::Header>()),
    };
    let (ip, rest) = front.split_at_mut_checked(header_len).ok_or(Unfit)?;
    let upper_len = len.checked_sub(outer + header_len).ok_or(Unfit)?;
    let is_6 = ip.first().ok_or(Unfit)? >> 4 == 6;
    let own = finish_ip(ip, len - outer, upper_len, index, protocol)?;
    if protocol != Protocol::UDP {
        return Ok(());
    }
    let header = at_mut::<udp::Header>(rest)?;
    header.len = u16::try_from(upper_len).map_err(|_| Unfit)?.into();
    if header.checksum.get() == 0 && !is_6 {
        return Ok(());
    }
    header.checksum = U16::ZERO;
    let between = layout.l4.checked_sub(outer + header_len).ok_or(Unfit)?;
    let sum = own.add_bytes(rest.get(..between).ok_or(Unfit)?);
    at_mut::<udp::Header>(rest)?.checksum = sum.add_word(!pseudo.fold()).udp_checksum();
    Ok(())
}

/// Bytes of the longest packet that a packet is cut into, from its current bytes on; `None` for one
/// that is not cut.
#[cold]
pub fn longest_segment(p: &Buffer<'_>) -> Option<usize> {
    if !p.flags().has(Flags::GSO) {
        return None;
    }
    let (_, l4) = places(p).ok()?;
    let layout = Layout::of(p).ok()?;
    let headers = l4 + layout.l4_len(p.bytes()).ok()?;
    Some(headers + usize::from(p.gso_size()))
}
