//! What packet metadata asks for and the transmitting side cannot do, done in software: layer 4
//! checksums ([`Flags::CHECKSUM_TODO`]) and segmentation ([`Flags::GSO`]).
//!
//! Both are found by [`Flags::L3`] and [`Flags::L4`]: whoever sets one of the two flags above sets
//! these and their offsets too, and GSO only together with CHECKSUM_TODO. The checksum field then
//! holds the sum of the pseudo header, not complemented. The headers lie in the first segment of
//! the packet.

mod checksum;
mod control;
mod segment;

use graph::{Buffer, Flags, Node, Packet};

use crate::interface::Offloads;

pub use checksum::{Unfit, bytes_from, complete, field_offset};
pub use control::FEATURE;
pub use segment::{Layout, Segment, Segments};

/// Bytes of a GSO packet at most, headers included.
pub const MAX_PACKET: usize = graph::ROOM;

/// Why a packet cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is not what its metadata says.
    Unfit,
    /// There are no buffers for its segments.
    NoBuffers,
}

impl From<Unfit> for Failure {
    fn from(_: Unfit) -> Self {
        Self::Unfit
    }
}

/// What is left to do for an interface that does `offloads` by itself: packets with any of these
/// flags need [`apply`].
pub fn left_by(offloads: Offloads) -> Flags {
    let mut todo = Flags::default();
    if !offloads.checksum {
        todo = todo.with(Flags::CHECKSUM_TODO);
    }
    if !offloads.gso {
        todo = todo.with(Flags::GSO);
    }
    todo
}

/// Completes a packet as `todo` says; further segments follow it. Returns packets and bytes
/// that are to be sent.
///
/// # Errors
/// The packet is to be dropped; segments made so far go with it.
#[cold]
pub fn apply<N: Node>(todo: Flags, p: &mut Packet<'_, N>) -> Result<(u64, u64), Failure> {
    if p.flags().has(Flags::GSO) && todo.has(Flags::GSO) {
        return p.with_room(segment);
    }
    if p.flags().has(Flags::CHECKSUM_TODO) && todo.has(Flags::CHECKSUM_TODO) {
        complete(p)?;
    }
    Ok((1, p.total_len() as u64))
}

/// The packet becomes its first segment.
fn segment<N: Node>(p: &mut Packet<'_, N>, room: &mut [u8]) -> Result<(u64, u64), Failure> {
    let packet = linear(room, p).ok_or(Unfit)?;
    let layout = Layout::of(p)?;
    let mut segments = Segments::new(packet, layout, usize::from(p.gso_size()))?;
    let first = segments.next().ok_or(Unfit)?;
    let headers = first.headers();
    p.bytes_mut().get_mut(..headers.len()).ok_or(Unfit)?.copy_from_slice(headers);
    p.truncate_chain(first.len());
    p.set_gso_size(0);
    p.clear_flags(Flags::GSO.with(Flags::CHECKSUM_TODO));
    let description = Description::of(p);
    let (mut packets, mut bytes) = (1, first.len() as u64);
    for segment in segments {
        let mut new = p.fresh().ok_or(Failure::NoBuffers)?;
        new.extend(segment.headers()).ok_or(Failure::NoBuffers)?;
        new.extend(segment.payload).ok_or(Failure::NoBuffers)?;
        description.give(&mut new);
        new.follow().ok_or(Failure::NoBuffers)?;
        packets += 1;
        bytes += segment.len() as u64;
    }
    Ok((packets, bytes))
}

/// What is known about a packet, for packets that are made of it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    flags: Flags,
    /// Of the layers, from the start of the packet.
    offsets: [i16; 3],
    gso_size: u16,
    flow_hash: u32,
}

impl Description {
    /// What is known about a packet.
    pub fn of(p: &Buffer<'_>) -> Self {
        let offsets = [p.l2_offset(), p.l3_offset(), p.l4_offset()];
        Self {
            flags: p.flags().without(Flags::CHAINED.with(Flags::TRACED).with(Flags::PORTS)),
            offsets: offsets.map(|offset| offset.wrapping_sub(p.offset())),
            gso_size: p.gso_size(),
            flow_hash: p.flow_hash(),
        }
    }
    /// Says so of a packet with the same headers from its start on.
    pub fn give(&self, p: &mut Buffer<'_>) {
        let [l2, l3, l4] = self.offsets.map(|offset| p.offset().wrapping_add(offset));
        p.set_l2_offset(l2);
        p.set_l3_offset(l3);
        p.set_l4_offset(l4);
        p.set_gso_size(self.gso_size);
        p.set_flow_hash(self.flow_hash);
        p.add_flags(self.flags);
    }
}

/// The bytes of all segments in one piece; `None` when there are too many.
fn linear<'a>(room: &'a mut [u8], p: &Buffer<'_>) -> Option<&'a [u8]> {
    let mut len = 0;
    for segment in p.segments() {
        room.get_mut(len..len + segment.len())?.copy_from_slice(segment);
        len += segment.len();
    }
    room.get(..len)
}

#[cfg(test)]
mod tests;
