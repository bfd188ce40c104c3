//! A held packet that others' bytes are hung after.
//!
//! Safety contract: as of [`Held`]: the chain belongs to one value. Nothing else changes it while
//! it grows, so its last segment stays the one that was found or put there.

use super::Held;
use crate::buffer::Buffer;

/// A packet that a node keeps while it grows.
#[derive(Debug)]
pub struct Growing {
    packet: Held,
    /// Index of its last segment.
    last: u32,
    segments: usize,
}

impl Growing {
    /// A packet as it is.
    pub fn new(packet: Held) -> Self {
        let (mut last, mut segments) = (packet.index, 1);
        // SAFETY: the packet, and so each segment after its first, is this function's alone.
        while let Some(next) = unsafe { Buffer::new(packet.pool.base(), last) }.next_segment() {
            (last, segments) = (next, segments + 1);
        }
        Self { packet, last, segments }
    }
    /// Its first buffer, through which its chain cannot be changed.
    pub fn buffer(&mut self) -> Buffer<'_> {
        self.packet.buffer()
    }
    /// Segments it has.
    pub fn segments(&self) -> usize {
        self.segments
    }
    /// Hangs all bytes of `other` after it.
    pub fn append(&mut self, other: Held) {
        assert_eq!(self.packet.pool.base(), other.pool.base(), "both are of one pool");
        let base = self.packet.pool.base();
        let mut other = Self::new(other);
        let len = other.buffer().total_len() as u32;
        self.segments += other.segments;
        let last = std::mem::replace(&mut self.last, other.last);
        let first = other.packet.into_index();
        let mut head = self.packet.buffer();
        if last == head.index() {
            head.set_next(first, len);
        } else {
            head.add_rest(len);
            // SAFETY: the last segment belongs to this packet, and is not its first.
            unsafe { Buffer::new(base, last) }.set_next(first, 0);
        }
    }
    /// The packet, whole.
    pub fn into_packet(self) -> Held {
        self.packet
    }
}
