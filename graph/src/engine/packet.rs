//! A packet in the hands of a node.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use infra::rcu::Epoch;

use super::core::{Core, MOST_FOLLOWERS};
use crate::buffer::{Buffer, Flags};
use crate::node::{Next, Node, Reason, Slot};
use crate::trace::{Names, Record, Said};

/// A packet in a frame of node `N`: its buffer, and what the node may do with it.
pub struct Packet<'p, N> {
    pub(super) buffer: Buffer<'p>,
    pub(super) core: &'p mut Core,
    pub(super) node: u32,
    pub(super) of: PhantomData<N>,
}

impl<'p, N> Deref for Packet<'p, N> {
    type Target = Buffer<'p>;
    #[inline(always)]
    fn deref(&self) -> &Buffer<'p> {
        &self.buffer
    }
}

impl<N> DerefMut for Packet<'_, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.buffer
    }
}

impl<'p, N> Packet<'p, N> {
    /// Adds a record to the packet's trace; the closure runs only for traced packets.
    #[inline(always)]
    pub fn trace<R: Record>(&mut self, what: impl FnOnce(&Buffer<'p>) -> R) {
        if self.buffer.flags().has(Flags::TRACED) {
            // SAFETY: the packet is this node's, and `self` is not used while the other handle
            // lives.
            let buffer = unsafe { Buffer::new(self.core.base, self.buffer.index()) };
            trace_now(self.core, self.node, buffer, what);
        }
    }
    /// Whether the packet is only explained: what would change anything but it is left.
    #[inline(always)]
    pub fn is_explained(&self) -> bool {
        self.core.explains
    }
    /// Says in words what was found out about an explained packet, or what would be done for it;
    /// other packets, also traced ones, say nothing.
    #[inline]
    pub fn say<W: Fn(&dyn Names) -> String + Send + Sync + 'static>(
        &mut self,
        what: impl FnOnce(&Buffer<'p>) -> W,
    ) {
        if self.core.explains {
            self.trace(|p| Said(what(p)));
        }
    }
    /// Ends the explanation of the packet here, as the result depends on something unavailable:
    /// `why`, a sentence without its full stop.
    pub fn stop_explaining(&mut self, why: &'static str) {
        self.core.halted = Some(why);
    }
    /// Starts a trace, if packets of this node are still to be traced and this one is not yet. For
    /// nodes with [`Node::STARTS_TRACES`].
    #[inline(always)]
    pub fn start_trace(&mut self, epoch: Epoch<'_>) {
        let is_wanted = self.core.nodes[self.node as usize].to_trace > 0;
        if is_wanted && !self.buffer.flags().has(Flags::TRACED) {
            let now = self.core.clock.now();
            self.core.start_trace((self.node, self.node), &mut self.buffer, now, epoch);
        }
    }
    /// As [`Packet::start_trace`]; a packet that the filter chooses is also one of those that
    /// another node, where packets are not yet what the filter is about, was last to trace.
    #[inline(always)]
    pub fn start_trace_inside(&mut self, epoch: Epoch<'_>) {
        let (node, at) = (self.node, self.core.filtered_at);
        let is_left = |n: u32| self.core.nodes.get(n as usize).is_some_and(|n| n.to_trace > 0);
        if is_left(node) {
            self.start_trace(epoch);
        } else if is_left(at) && !self.buffer.flags().has(Flags::TRACED) {
            let now = self.core.clock.now();
            self.core.start_trace((node, at), &mut self.buffer, now, epoch);
        }
    }
    /// A new packet of this router that inherits interfaces and tables of this one, empty. `None`
    /// when there are no buffers. Send it on with [`NewPacket::send`], or it is given back.
    pub fn fresh(&mut self) -> Option<NewPacket<'_, N>> {
        let index = self.core.cache.take()?;
        // SAFETY: the index just came from the free list: it is ours alone.
        let mut buffer = unsafe { Buffer::new(self.core.base, index) };
        buffer.reset(self.buffer.rx());
        buffer.inherit(&self.buffer);
        let (leader, node) = (self.buffer.index(), self.node);
        Some(NewPacket { buffer, core: self.core, node, leader, last: None, of: PhantomData })
    }
    /// Lets `work` at the packet with [`ROOM`](super::ROOM) bytes, enough for any packet in one
    /// piece. The thread lends them to all its nodes; what is in them is unspecified.
    pub fn with_room<R>(&mut self, work: impl FnOnce(&mut Self, &mut [u8]) -> R) -> R {
        let mut room = std::mem::take(&mut self.core.room);
        let done = work(self, &mut room);
        self.core.room = room;
        done
    }
    /// Puts bytes behind what is there, in as many further segments as it takes; `None` when
    /// buffers ran out. For a packet of one segment.
    pub fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        debug_assert!(self.buffer.next_segment().is_none(), "a packet of one segment");
        let (core, first) = (&mut *self.core, self.buffer.index());
        // SAFETY: the packet is this node's; `self.buffer` is not touched meanwhile.
        unsafe { core.extend_chain(first, &mut None, bytes) }
    }
    /// Cuts the packet to `n` bytes, giving back segments it no longer needs.
    pub fn truncate_chain(&mut self, n: usize) {
        self.core.truncate_chain(&mut self.buffer, n);
    }
}

/// Out of line, so that a node's loop stays small; and by value, so that its packet stays in
/// registers.
#[cold]
#[inline(never)]
fn trace_now<'p, R: Record>(
    core: &mut Core,
    node: u32,
    buffer: Buffer<'p>,
    what: impl FnOnce(&Buffer<'p>) -> R,
) {
    let record = what(&buffer);
    let now = core.clock.now();
    core.trace.record(buffer.trace_handle(), node, now, record);
}

impl<N: Node> Packet<'_, N> {
    /// Counts a reason and notes it on the packet, without dropping it (an ICMP error answers it,
    /// say).
    #[inline(always)]
    pub fn error(&mut self, reason: N::Error) {
        let error = self.core.nodes[self.node as usize].error_base + reason.index() as u32;
        self.buffer.set_error(error);
        self.core.counter(error as usize).add(1);
    }
}

/// A packet that did not arrive but is being made.
pub struct NewPacket<'p, N> {
    pub(super) buffer: Buffer<'p>,
    pub(super) core: &'p mut Core,
    pub(super) node: u32,
    /// The packet it was made from.
    leader: u32,
    /// Index of the last segment, when there are several.
    last: Option<u32>,
    pub(super) of: PhantomData<N>,
}

impl<'p, N> Deref for NewPacket<'p, N> {
    type Target = Buffer<'p>;
    fn deref(&self) -> &Buffer<'p> {
        &self.buffer
    }
}

impl<N> DerefMut for NewPacket<'_, N> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.buffer
    }
}

impl<N: Node> NewPacket<'_, N> {
    /// Sends it along an edge of the node that made it. The edge must not be the arc's next.
    pub fn send(self, next: N::Next) {
        let mut this = std::mem::ManuallyDrop::new(self);
        let slot = next.slot(&crate::arc::Along::NONE, &mut this.buffer);
        let (node, index) = (this.node, this.buffer.index());
        this.core.send(node, slot, &[index]);
    }
    /// Sends it along an edge given by number.
    pub fn send_to(self, slot: Slot) {
        let mut this = std::mem::ManuallyDrop::new(self);
        let (node, index) = (this.node, this.buffer.index());
        this.core.send(node, slot.0, &[index]);
    }
}

impl<'p, N> NewPacket<'p, N> {
    /// One that no other packet led to.
    pub(super) fn alone(buffer: Buffer<'p>, core: &'p mut Core, node: u32) -> Self {
        Self { buffer, core, node, leader: crate::NONE, last: None, of: PhantomData }
    }
    /// Puts bytes behind what is there, in as many further segments as it takes; `None` when
    /// buffers ran out.
    pub fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        let (core, first) = (&mut *self.core, self.buffer.index());
        // SAFETY: the chain is being made here; `self.buffer` is not touched meanwhile.
        unsafe { core.extend_chain(first, &mut self.last, bytes) }
    }
    /// Sends it right after the packet it was made from, along the edge that one takes (or to its
    /// drop). In closures of [`Frame::each`](super::Frame::each) and `lookup`. `None` when too many
    /// follow already.
    pub fn follow(self) -> Option<()> {
        if self.core.followers.len() == MOST_FOLLOWERS {
            return None;
        }
        let mut this = std::mem::ManuallyDrop::new(self);
        let pair = (this.leader, this.buffer.index());
        this.core.followers.push(pair);
        Some(())
    }
}

impl<N> Drop for NewPacket<'_, N> {
    fn drop(&mut self) {
        self.core.free(&[self.buffer.index()]);
    }
}
