//! Packets that outlive a loop: a node takes them out of its frame and keeps them.
//!
//! Safety contract: a [`Held`] owns its packet as a frame would. It comes from a frame that gave
//! its packets up ([`Frame::take`] marks it as done, so neither scatter nor the net for panics
//! touches them), and its index goes to exactly one place: back into a frame, or to the pool. What
//! is kept with the packet is its metadata: interface, table, adjacency. What these numbers name
//! may have changed when the packet goes on, so it goes to a node that looks them up again.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use infra::rcu::Participant;

use super::core::Core;
use super::frame::scatter;
use super::{Frame, NewPacket, Packet};
use crate::buffer::{Buffer, FRAME, Pool};
use crate::node::{Next, Node};

/// A packet that a node keeps. Dropped, it goes back to its pool.
#[derive(Debug)]
pub struct Held {
    pub(super) index: u32,
    pub(super) pool: Pool,
}

impl Held {
    /// The packet's buffer.
    pub fn buffer(&mut self) -> Buffer<'_> {
        // SAFETY: the packet is this value's alone, which is borrowed for as long as the buffer.
        unsafe { Buffer::new(self.pool.base(), self.index) }
    }
    /// Releases the index to the caller.
    pub(super) fn into_index(self) -> u32 {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the handle is dropped here once, and not used after.
        unsafe { std::ptr::drop_in_place(&raw mut this.pool) };
        this.index
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the packet was this value's alone, and has no other user.
        unsafe { self.pool.give_back(self.index) };
    }
}

/// The packets of a frame, one after the other. Unclaimed ones return to the pool.
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
    /// As [`Frame::each`], but a packet for which `verdict` says `Ok(None)` stays with the node: it
    /// is put after what `kept` has when the others have gone on.
    #[inline(always)]
    pub fn each_or_keep(
        &mut self,
        kept: &mut Vec<Held>,
        mut verdict: impl FnMut(&mut Packet<'_, N>) -> Result<Option<N::Next>, N::Error>,
    ) {
        let mut stays = [false; FRAME];
        let indices = if self.done { &[] } else { self.indices };
        let drop_slot = self.core.nodes[self.node as usize].drop_slot;
        let along = self.along();
        let (mut going, mut slots, mut count) = ([0; FRAME], [0; FRAME], 0);
        for (&index, stays) in indices.iter().zip(&mut stays) {
            // SAFETY: the packet lies in this frame and nothing else refers to it.
            let buffer = unsafe { Buffer::new(self.core.base, index) };
            let mut p = Packet { buffer, core: self.core, node: self.node, of: PhantomData };
            let slot = match verdict(&mut p) {
                Ok(Some(next)) => Some(next.slot(&along, &mut p)),
                Ok(None) => None,
                Err(reason) => {
                    p.error(reason);
                    Some(drop_slot)
                }
            };
            *stays = slot.is_none();
            if let Some(slot) = slot {
                (going[count], slots[count]) = (index, slot);
                count += 1;
            }
        }
        self.done = true;
        scatter(self.core, self.node, &going[..count], &slots);
        let staying = indices.iter().zip(&stays).filter(|(_, stays)| **stays);
        let pool = self.core.cache.pool();
        kept.extend(staying.map(|(&index, _)| Held { index, pool: pool.clone() }));
    }
    /// A held packet as nodes work on packets.
    pub fn packet_of<'a>(&'a mut self, held: &'a mut Held) -> Packet<'a, N> {
        self.check(held);
        // SAFETY: the packet belongs to `held`, which is borrowed for as long as the packet lives.
        let buffer = unsafe { Buffer::new(self.core.base, held.index) };
        Packet { buffer, core: self.core, node: self.node, of: PhantomData }
    }
    /// Sends a held packet along an edge. The edge may be the arc's next only when the packet is
    /// one of this frame, or has the interface and the place on the arc of one.
    pub fn send(&mut self, mut held: Held, next: N::Next) {
        self.check(&held);
        let slot = next.slot(&self.along(), &mut held.buffer());
        self.core.send(self.node, slot, &[held.into_index()]);
    }
    /// Drops a held packet and counts the reason.
    pub fn discard(&mut self, mut held: Held, reason: N::Error) {
        self.packet_of(&mut held).error(reason);
        let slot = self.core.nodes[self.node as usize].drop_slot;
        self.core.send(self.node, slot, &[held.into_index()]);
    }
    /// Counts a reason and notes it on a held packet, as [`Packet::error`]; returns its number, for
    /// packets that are dropped for the same reason without being counted ([`Buffer::set_error`]).
    pub fn count_reason(&mut self, held: &mut Held, reason: N::Error) -> u32 {
        let mut p = self.packet_of(held);
        p.error(reason);
        Buffer::error(&p)
    }
    /// Gives a held packet back to the pool, uncounted: something else was made of it.
    pub fn release(&mut self, held: Held) {
        self.check(&held);
        self.core.free(&[held.into_index()]);
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
    /// Puts a packet made by control at the entrance of a node. One that finds no buffers is not
    /// sent.
    pub(crate) fn inject(
        &mut self,
        node: u32,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Buffer<'_>),
    ) {
        let Some(index) = self.fresh().map(|p| p.index()) else { return };
        // SAFETY: the packet was created here, and has no other user.
        if unsafe { self.extend_chain(index, &mut None, bytes) }.is_none() {
            return self.free_chain(index);
        }
        // SAFETY: it is still ours alone.
        prepare(&mut unsafe { Buffer::new(self.base, index) });
        self.enqueue(node, &[index]);
    }
    /// Lets `work` at a node as if it had been given a frame without packets. For control, between
    /// loops.
    pub(crate) fn visit<N: Node>(
        &mut self,
        node: u32,
        work: impl FnOnce(&mut N, &mut Frame<'_, N>),
    ) {
        self.with_node(node, |n: &mut N, core| {
            let me = Participant::join();
            super::dispatch::empty(n, core, node, me.epoch(), work);
        });
    }
    /// Makes all nodes release the packets they hold, and drops these. For control, before the
    /// thread ends.
    pub(crate) fn end(&mut self) {
        let all: Vec<_> = (0..self.nodes.len() as u32).collect();
        self.end_nodes(&all);
    }
    /// Makes some nodes release the packets they hold, and drops these. For control, between loops.
    pub(crate) fn end_nodes(&mut self, nodes: &[u32]) {
        let me = Participant::join();
        for &node in nodes {
            let at = node as usize;
            let Some(mut dispatch) = self.nodes[at].dispatch.take() else { continue };
            dispatch.end(self, node, me.epoch());
            self.nodes[at].dispatch = Some(dispatch);
        }
        self.drain(me.epoch());
    }
}
