//! Completing a layer 4 checksum over a chain of segments (RFC 1071).

use graph::{Buffer, Flags};
use wire::checksum::{Sum, upper_layer};
use wire::zerocopy::{FromBytes, IntoBytes};
use wire::{Protocol, ip4, ip6};

/// A packet is not what its metadata says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

/// Where the checksum is in a layer 4 header, in bytes; `None` for protocols whose checksum is not
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
    let mut skip = l4;
    let rest = p.segments().map(|s| {
        let from = skip.min(s.len());
        skip -= from;
        &s[from..]
    });
    let sum = upper_layer(Sum::ZERO, rest);
    let checksum = if protocol == Protocol::UDP { sum.udp_checksum() } else { sum.checksum() };
    p.bytes_mut().get_mut(field..field + 2).ok_or(Unfit)?.copy_from_slice(checksum.as_bytes());
    p.clear_flags(Flags::CHECKSUM_TODO);
    Ok(())
}

/// The upper-layer protocol, and where its header is in the current bytes.
pub(super) fn protocol_of(p: &Buffer<'_>) -> Result<(Protocol, usize), Unfit> {
    let flags = p.flags();
    if !flags.has(Flags::L3) || !flags.has(Flags::L4) {
        return Err(Unfit);
    }
    let at = |offset: i16| usize::try_from(offset - p.offset()).map_err(|_| Unfit);
    let (l3, l4) = (at(p.l3_offset())?, at(p.l4_offset())?);
    let packet = p.bytes().get(l3..).ok_or(Unfit)?;
    let found = match packet.first().ok_or(Unfit)? >> 4 {
        4 => {
            let (header, _) = ip4::Header::ref_from_prefix(packet).map_err(|_| Unfit)?;
            (header.protocol, l3 + header.header_len())
        }
        6 => {
            let upper = ip6::upper_layer(packet).ok_or(Unfit)?;
            (upper.protocol, l3 + upper.offset)
        }
        _ => return Err(Unfit),
    };
    if found.1 == l4 { Ok(found) } else { Err(Unfit) }
}
