//! Transmit offloads in software, for devices without them: layer 4 checksums
//! ([`Flags::CHECKSUM_TODO`]) and segmentation ([`Flags::GSO`]).
//!
//! Both are found by [`Flags::L3`] and [`Flags::L4`]: code that sets one of the two flags above
//! sets these and their offsets too, and GSO only together with CHECKSUM_TODO. The checksum field
//! then holds the sum of the pseudo header, not complemented. The headers lie in the first segment
//! of the packet.

mod checksum;
mod segment;
mod tunnel;

use graph::{Buffer, Flags, Inner, NewPacket, Node, Packet, Passes};
use serde::Serialize;

pub use checksum::{Unfit, bytes_from, complete, field_offset};
pub use segment::{Layout, Segment, Segments};
pub use tunnel::{can_wait, disclose, enclose, longest_segment, outer_checksum};

/// Flags of pending offloads.
pub const UNDONE: Flags = Flags::CHECKSUM_TODO.with(Flags::GSO);
/// Whether any packet of a frame has an offload pending.
#[inline(always)]
pub fn is_any_undone<N: Node>(packets: &mut Passes<'_, N>) -> bool {
    let mut flags = Flags::default();
    packets.look(packets.all(), |_, p| flags = flags.with(p.flags()));
    flags.has(UNDONE)
}

/// Bytes of a GSO packet at most, headers included.
pub const MAX_PACKET: usize = graph::ROOM;

/// Offloads of an interface's transmit node, which packet metadata may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offloads {
    /// Completes TCP and UDP checksums.
    pub checksum: bool,
    /// Cuts big TCP packets into segments.
    pub gso: bool,
    /// Does so in a tunnel as well.
    pub tunnels: bool,
}

/// Reasons why a packet cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It contradicts its metadata.
    Unfit,
    /// There are no buffers for its segments.
    NoBuffers,
}

impl From<Unfit> for Failure {
    fn from(_: Unfit) -> Self {
        Self::Unfit
    }
}

/// Pending offloads of an interface that does `offloads` by itself: packets with any of these flags
/// need [`apply`].
pub fn left_by(offloads: Offloads) -> Flags {
    let mut todo = Flags::default();
    if !offloads.checksum {
        todo = todo.with(Flags::CHECKSUM_TODO);
    }
    if !offloads.gso {
        todo = todo.with(Flags::GSO);
    }
    if !offloads.tunnels {
        todo = todo.with(Flags::TUNNEL);
    }
    todo
}

/// Places of the headers, of layers 3 and 4, of a packet with pending offloads, in the current
/// bytes.
fn places(p: &Buffer<'_>) -> Result<(usize, usize), Unfit> {
    let flags = p.flags();
    if !flags.has(Flags::L3) || !flags.has(Flags::L4) {
        return Err(Unfit);
    }
    let Inner { l3, l4 } = p.inner().unwrap_or(Inner { l3: p.l3_offset(), l4: p.l4_offset() });
    let at = |offset: i16| usize::try_from(offset.wrapping_sub(p.offset())).map_err(|_| Unfit);
    Ok((at(l3)?, at(l4)?))
}

/// Completes a packet as `todo` says; further segments follow it. Returns packets and bytes
/// that are to be sent.
///
/// # Errors
/// The packet is to be dropped; segments made so far go with it.
#[cold]
pub fn apply<N: Node>(todo: Flags, p: &mut Packet<'_, N>) -> Result<(u64, u64), Failure> {
    let in_tunnel = if p.flags().has(Flags::TUNNEL) { Flags::TUNNEL } else { Flags::default() };
    if p.flags().has(Flags::GSO) && todo.has(Flags::GSO.with(in_tunnel)) {
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
    let segments = Segments::new(packet, layout, usize::from(p.gso_size()))?;
    // Each fits into a buffer, whatever the sender would have liked.
    let mut segments = segments.within(graph::data_size());
    let first = segments.next().ok_or(Unfit)?;
    let headers = first.headers();
    p.bytes_mut().get_mut(..headers.len()).ok_or(Unfit)?.copy_from_slice(headers);
    p.truncate_chain(first.len());
    p.set_gso_size(0);
    p.clear_flags(UNDONE.with(Flags::TUNNEL));
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

/// The metadata that a packet passes on to packets made of it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    flags: Flags,
    /// Of the layers, from the start of the packet.
    offsets: [i16; 3],
    /// Of the layers in a tunnel, likewise.
    inner: Option<Inner>,
    gso_size: u16,
    flow_hash: u32,
}

impl Description {
    /// Facts about a packet, as bits.
    pub fn of(p: &Buffer<'_>) -> Self {
        let offsets = [p.l2_offset(), p.l3_offset(), p.l4_offset()];
        let of_buffer = Flags::CHAINED.with(Flags::TRACED).with(Flags::PORTS).with(Flags::TUNNEL);
        let from_start = |offset: i16| offset.wrapping_sub(p.offset());
        let inner = p.inner().map(|i| Inner { l3: from_start(i.l3), l4: from_start(i.l4) });
        Self {
            flags: p.flags().without(of_buffer),
            offsets: offsets.map(from_start),
            inner,
            gso_size: p.gso_size(),
            flow_hash: p.flow_hash(),
        }
    }
    /// Says so of a packet with the same headers from its start on.
    pub fn give(&self, p: &mut Buffer<'_>) {
        let start = p.offset();
        let from_data = |offset: i16| start.wrapping_add(offset);
        let [l2, l3, l4] = self.offsets.map(from_data);
        p.set_inner(self.inner.map(|i| Inner { l3: from_data(i.l3), l4: from_data(i.l4) }));
        p.set_l2_offset(l2);
        p.set_l3_offset(l3);
        p.set_l4_offset(l4);
        p.set_gso_size(self.gso_size);
        p.set_flow_hash(self.flow_hash);
        p.add_flags(self.flags);
    }
}

/// Lets `work` at a packet with all its bytes in one piece; `None` when there are too many.
pub fn with_bytes<N: Node, R>(
    p: &mut Packet<'_, N>,
    work: impl FnOnce(&mut Packet<'_, N>, &[u8]) -> R,
) -> Option<R> {
    p.with_room(|p, room| linear(room, p).map(|bytes| work(p, bytes)))
}

/// A packet that is described like another one, with these bytes; `None` without buffers.
pub fn copy<'a, N: Node>(p: &'a mut Packet<'_, N>, bytes: &[u8]) -> Option<NewPacket<'a, N>> {
    let description = Description::of(p);
    let mut new = p.fresh()?;
    new.extend(bytes)?;
    description.give(&mut new);
    Some(new)
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
