//! The mark of a packet: remembered beside it, read from and written into its headers.

use net::interface::{MARK, PacketMark};
use net::prelude::*;

use super::Source;

/// Bytes of the addresses at the start of a frame.
const ADDRESSES: usize = 12;

/// The mark of a packet and its source, if one was recorded or stored.
#[inline(always)]
pub fn mark_of(p: &Buffer<'_>) -> Option<(Source, u8)> {
    let PacketMark { source, mark } = p.metadata(&MARK)?;
    Some((*Source::ALL.get(usize::from(source))?, mark))
}

/// Priority and drop eligibility of the outer tag of a frame; `None` without one.
#[inline(always)]
pub fn of_vlan(frame: &[u8]) -> Option<u8> {
    let [high, low, control, _] = *frame.get(ADDRESSES..)?.first_chunk()?;
    let kind = EtherType::new(u16::from_be_bytes([high, low]));
    kind.is_vlan().then_some(control >> 4)
}

/// The traffic class of the outer label.
#[inline(always)]
pub fn of_mpls(packet: &[u8]) -> Option<u8> {
    Some(packet.get(2)? >> 1 & 7)
}

/// Writes the traffic class of all labels of a packet.
#[inline(always)]
pub fn set_mpls(packet: &mut [u8], mark: u8) {
    for entry in packet.chunks_exact_mut(4) {
        entry[2] = entry[2] & 0xf1 | (mark & 7) << 1;
        if entry[2] & 1 != 0 {
            return;
        }
    }
}

/// The header of layer 2 that a received packet came with; nothing when it came without.
#[inline(always)]
pub fn frame<'b>(p: &'b Buffer<'_>) -> &'b [u8] {
    if p.flags().has(Flags::L2) { p.bytes_from(p.l2_offset()) } else { &[] }
}
