//! Packets that outlive a loop: a node takes them out of its frame and keeps them.
//!
//! Safety contract: a [`Held`] owns its packet as a frame would. It comes from a frame that gave
//! its packets up ([`Frame::take`] marks it as done, so neither scatter nor the net for panics
//! touches them), and its index goes to exactly one place: back into a frame, or to the pool. What
//! is kept with the packet is its metadata: interface, table, adjacency. What these numbers name
//! may have changed when the packet goes on, so it goes to a node that looks them up again.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use infra::rcu::Participant;

use super::core::Core;
use super::{Frame, NewPacket, Packet};
use crate::buffer::{Buffer, Pool};
use crate::node::{Next, Node};

/// A packet that a node keeps. Dropped, it goes back to its pool.
#[derive(Debug)]
pub struct Held {
    index: u32,
    pool: Pool,
}

impl Held {
    /// The packet's buffer.
    pub fn buffer(&mut self) -> Buffer<'_> {
        // SAFETY: the packet is this value's alone, which is borrowed for as long as the buffer.
        unsafe { Buffer::new(self.pool.base(), self.index) }
    }
    /// Gives the index up to who goes on with it.
    fn into_index(self) -> u32 {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the handle is dropped here once, and not used after.
        unsafe { std::ptr::drop_in_place(&raw mut this.pool) };
        this.index
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the packet was this value's alone, and nobody has it any more.
        unsafe { self.pool.give_back(self.index) };
    }
}

/// The packets of a frame, one after the other. Those nobody took go back to the pool.
#[derive(Debug)]
pub struct Taken<'f> {
    indices: &'f [u32],
    pool: Pool,
}

impl Iterator for Taken<'_> {
    type Item = Held;
    fn next(&mut self) -> Option<Held> {
        let (&index, rest) = self.indices.split_first()?;
        self.indices = rest;
        Some(Held { index, pool: self.pool.clone() })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<'f, N: Node, On> Frame<'f, N, On> {
    /// Takes all packets out of the frame, each to be kept, or passed to [`Frame::send`] or
    /// [`Frame::discard`]. A second call finds none.
    pub fn take(&mut self) -> Taken<'f> {
        let indices = if std::mem::replace(&mut self.done, true) { &[] } else { self.indices };
        Taken { indices, pool: self.core.cache.pool().clone() }
    }
    /// A held packet as nodes work on packets.
    pub fn packet_of<'a>(&'a mut self, held: &'a mut Held) -> Packet<'a, N> {
        self.check(held);
        // SAFETY: the packet belongs to `held`, which is borrowed for as long as the packet lives.
        let buffer = unsafe { Buffer::new(self.core.base, held.index) };
        Packet { buffer, core: self.core, node: self.node, of: PhantomData }
    }
    /// Sends a held packet along an edge. The edge must not be the arc's next.
    pub fn send(&mut self, mut held: Held, next: N::Next) {
        self.check(&held);
        let slot = next.slot(&self.along(), &mut held.buffer());
        self.core.send(self.node, slot, &[held.into_index()]);
    }
    /// Drops a held packet and counts the reason.
    pub fn discard(&mut self, mut held: Held, reason: N::Error) {
        self.packet_of(&mut held).error(reason);
        let slot = self.core.nodes[usize::from(self.node)].drop_slot;
        self.core.send(self.node, slot, &[held.into_index()]);
    }
    /// A new packet of this router, empty; `None` when there are no buffers. Send it on with
    /// [`NewPacket::send`], or it is given back.
    pub fn fresh(&mut self) -> Option<NewPacket<'_, N>> {
        let buffer = self.core.fresh()?;
        Some(NewPacket::alone(buffer, self.core, self.node))
    }
    fn check(&self, held: &Held) {
        assert_eq!(held.pool.base(), self.core.base, "a packet goes on where it came from");
    }
}

impl Core {
    /// Lets `work` at a node as if it had been given a frame without packets. For control, between
    /// loops.
    pub(crate) fn visit<N: Node>(
        &mut self,
        node: u16,
        work: impl FnOnce(&mut N, &mut Frame<'_, N>),
    ) {
        self.with_node(node, |n: &mut N, core| {
            let me = Participant::join();
            let mut frame =
                Frame { core, node, indices: &[], epoch: me.epoch(), of: PhantomData, done: false };
            if catch_unwind(AssertUnwindSafe(|| work(n, &mut frame))).is_err() {
                super::dispatch::lost(core, node, &[]);
            }
            core.free_followers();
        });
    }
}
