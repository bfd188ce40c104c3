//! Completing a layer 4 checksum over a chain of segments (RFC 1071).

use graph::{Buffer, Flags};
use wire::Protocol;
use wire::checksum::{Sum, upper_layer};
use wire::upper::Upper;
use wire::zerocopy::IntoBytes;

/// A packet is not what its metadata says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

/// Place of the checksum in a layer 4 header, in bytes; `None` for protocols whose checksum is not
/// completed here.
pub fn field_offset(protocol: Protocol) -> Option<usize> {
    match protocol {
        Protocol::TCP => Some(16),
        Protocol::UDP => Some(6),
        _ => None,
    }
}

/// Completes the checksum of a packet with [`Flags::CHECKSUM_TODO`], whose field holds the sum of
/// the pseudo header, and clears the flag.
///
/// # Errors
/// No TCP or UDP header where the metadata says; the packet is unchanged.
pub fn complete(p: &mut Buffer<'_>) -> Result<(), Unfit> {
    let (protocol, l4) = protocol_of(p)?;
    let field = l4 + field_offset(protocol).ok_or(Unfit)?;
    if p.len() < field + 2 {
        return Err(Unfit);
    }
    let sum = upper_layer(Sum::ZERO, bytes_from(p, l4));
    let checksum = if protocol == Protocol::UDP { sum.udp_checksum() } else { sum.checksum() };
    p.bytes_mut().get_mut(field..field + 2).ok_or(Unfit)?.copy_from_slice(checksum.as_bytes());
    p.clear_flags(Flags::CHECKSUM_TODO.with(Flags::TUNNEL));
    Ok(())
}

/// The bytes of a packet from `skip` on, segment by segment.
pub fn bytes_from<'p>(p: &'p Buffer<'_>, mut skip: usize) -> impl Iterator<Item = &'p [u8]> {
    p.segments().map(move |s| {
        let from = skip.min(s.len());
        skip -= from;
        &s[from..]
    })
}

/// The upper-layer protocol, and where its header is in the current bytes.
pub(super) fn protocol_of(p: &Buffer<'_>) -> Result<(Protocol, usize), Unfit> {
    let (l3, l4) = super::places(p)?;
    let packet = p.bytes().get(l3..).ok_or(Unfit)?;
    let upper = Upper::of(packet).ok_or(Unfit)?;
    if l3 + upper.offset == l4 { Ok((upper.protocol, l4)) } else { Err(Unfit) }
}
