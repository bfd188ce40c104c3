//! Packets of a frame that a node holds together: for work that is done on several at a time, such
//! as ciphers in lanes.
//!
//! # Safety
//! As of [`Frame`](super::Frame): a place of a frame has a packet of its own, so handles to
//! packets at different places are handles to different packets.

use std::ops::Range;
use std::ptr::NonNull;
use std::slice::{Iter, IterMut};

use super::Passes;
use super::ahead::{Ahead, BEYOND};
use crate::buffer::Buffer;
use crate::node::{Node, Slot};

/// A packet held beside others, and the edge it takes.
pub struct Apart<'a> {
    /// The packet.
    pub packet: Buffer<'a>,
    slot: &'a mut u32,
}

impl<'a> Apart<'a> {
    /// Sends it to a node ahead, after those it passed.
    #[inline(always)]
    pub fn wait_for(&mut self, node: u32) {
        *self.slot = node | BEYOND;
    }
    /// Sends it along an edge.
    #[inline(always)]
    pub fn take(&mut self, edge: Slot) {
        *self.slot = edge.0;
    }
    /// Its bytes.
    #[inline(always)]
    pub fn into_bytes(self) -> &'a mut [u8] {
        self.packet.into_bytes()
    }
}

/// The packets at some places, with these.
pub struct Together<'a> {
    base: NonNull<u8>,
    places: Range<usize>,
    indices: Iter<'a, u32>,
    slots: IterMut<'a, u32>,
}

impl<'a> Iterator for Together<'a> {
    type Item = (usize, Apart<'a>);
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let place = self.places.next()?;
        let (index, slot) = (*self.indices.next()?, self.slots.next()?);
        // SAFETY: the packet lies in the frame that is borrowed for 'a, and each place is shown
        // once, so this is the only handle to it.
        Some((place, Apart { packet: unsafe { Buffer::new(self.base, index) }, slot }))
    }
}

impl<N: Node> Passes<'_, N> {
    /// The packets at some places, all at once and in order, with the nodes ahead. Each takes the
    /// edge that it took before unless another is named.
    #[inline(always)]
    pub fn apart(&mut self, places: Range<usize>) -> (Ahead<'_>, Together<'_>) {
        let indices = self.indices[places.clone()].iter();
        let slots = self.slots[places.clone()].iter_mut();
        let together = Together { base: self.base, places, indices, slots };
        (Ahead::of(&self.core.nodes), together)
    }
}
