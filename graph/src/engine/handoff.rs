//! Packets that go on at another thread.
//!
//! There is a bounded ring from each thread to each other one. Packets for another thread are put
//! in when their frame is done, and taken out at the top of that thread's loop, in order; so what
//! one thread hands to another keeps its order. A packet that finds the ring full is dropped and
//! counted by the node that handed it over.
//!
//! Safety contract: a packet in a ring belongs to the ring: it left its frame before it was put in
//! (so the net for panics does not touch it) and goes to exactly one frame when it is taken out.
//! When a thread ends, its rings are read to their end, or give the packets back to the pool.
//!
//! A packet carries metadata only. Between two threads an interface's features may change: a
//! feature knows its own place on the arc, and the next one is that after it at this time.

use std::sync::Arc;

use infra::ring::{Receiver, Sender};

use super::Frame;
use super::core::Core;
use super::frame::scatter;
use crate::buffer::{Buffer, FRAME, Flags};
use crate::node::{Next, Node};
use crate::trace::HandedOver;
use crate::worker::Doorbell;

/// Packets that may be on their way from one thread to another.
pub(crate) const CAPACITY: usize = 8192;

/// A packet on its way to node `to`.
pub(crate) struct HandoffEntry {
    index: u32,
    to: u32,
}

/// The ring to one thread.
pub(crate) struct Outbound {
    pub ring: Sender<HandoffEntry>,
    pub bell: Arc<Doorbell>,
    /// Whether something was put in since the bell was rung.
    pub has_new: bool,
}

/// One thread's ends of the rings.
pub(crate) struct Handoffs {
    /// Numbers of the threads that packets can go on at, this one included, in order.
    reachable: Vec<usize>,
    /// Rings to other threads, by number of the thread.
    pub out: Vec<Option<Outbound>>,
    /// Rings from other threads, and the number of the thread at the other end.
    pub incoming: Vec<(usize, Receiver<HandoffEntry>)>,
    /// Packets put in since start.
    pub sent: u64,
}

impl Handoffs {
    /// Of a thread, with no ring to another.
    pub fn new(thread: usize) -> Self {
        Self { reachable: vec![thread], out: Vec::new(), incoming: Vec::new(), sent: 0 }
    }
    /// Adds a ring to `thread`.
    pub fn open(&mut self, thread: usize, ring: Outbound) {
        if self.out.len() <= thread {
            self.out.resize_with(thread + 1, || None);
        }
        self.out[thread] = Some(ring);
        if let Err(at) = self.reachable.binary_search(&thread) {
            self.reachable.insert(at, thread);
        }
    }
    /// Closes the ring to a thread; what is in it stays until it is taken out.
    pub fn close(&mut self, thread: usize) {
        if self.out.get_mut(thread).and_then(Option::take).is_some() {
            self.reachable.retain(|t| *t != thread);
        }
    }
    fn is_open(&self, thread: usize) -> bool {
        self.out.get(thread).is_some_and(Option::is_some)
    }
    /// Whether nothing waits to be taken out.
    pub fn is_empty(&self) -> bool {
        self.incoming.iter().all(|(_, ring)| ring.is_empty())
    }
    /// Rings at every thread that was given something.
    #[inline]
    pub fn announce(&mut self) {
        for out in self.out.iter_mut().flatten().filter(|out| out.has_new) {
            out.has_new = false;
            out.bell.ring();
        }
    }
}

impl<N: Node, On> Frame<'_, N, On> {
    /// The thread, of all that packets can be handed to and this one, that has what goes by `hash`:
    /// the same on each of them.
    pub fn thread_of(&self, hash: u64) -> usize {
        let reachable = &self.core.handoffs.reachable;
        reachable[(hash % reachable.len() as u64) as usize]
    }
    /// As [`Frame::each`], but the verdict also says on which thread the packet goes on, at the
    /// node at the end of the edge. What is for this thread, or for one that does not exist, takes
    /// the edge here. A packet for which there is no room on the way is dropped and counted as
    /// `full`.
    ///
    /// A packet is handed over before its route is looked up: numbers of adjacencies and load
    /// balances may name others by the time it goes on.
    pub fn hand_off(
        &mut self,
        full: N::Error,
        mut verdict: impl FnMut(&mut crate::Packet<'_, N>) -> Result<(usize, N::Next), N::Error>,
    ) {
        let along = self.along();
        let drop_slot = self.core.nodes[self.node as usize].drop_slot;
        let mut threads = [usize::MAX; FRAME];
        let mut slots = [0u32; FRAME];
        let (base, indices) = (self.core.base, self.waiting());
        for (i, &index) in indices.iter().enumerate().take(FRAME) {
            // SAFETY: the packet lies in this frame and nothing else refers to it.
            let mut p = unsafe { self.packet(base, index) };
            (threads[i], slots[i]) = match verdict(&mut p) {
                Ok((thread, next)) => (thread, next.slot(&along, &mut p)),
                Err(reason) => {
                    p.error(reason);
                    (usize::MAX, drop_slot)
                }
            };
        }
        // From here on no code of the node runs, so each packet goes to its assigned node.
        self.done = true;
        self.core.free_followers();
        let (refused, count) = self.core.pass_all(self.node, indices, &mut threads, &slots);
        for &i in &refused[..count] {
            let i = usize::from(i);
            // SAFETY: the packet was in this frame and is in no other.
            unsafe { self.packet(base, indices[i]) }.error(full);
            slots[i] = drop_slot;
        }
        self.core.keep(self.node, indices, &threads, slots);
    }
}

/// The thread of a packet that has gone on there.
const GONE: usize = usize::MAX - 1;

impl Core {
    /// Whether packets can be handed to a thread.
    pub(super) fn has_way_to(&self, thread: usize) -> bool {
        self.handoffs.is_open(thread)
    }
    /// Puts the packets for other threads into the rings to them; their threads are
    /// [`GONE`] then. Returns the places of those for which there was no room.
    fn pass_all(
        &mut self,
        node: u32,
        indices: &[u32],
        threads: &mut [usize; FRAME],
        slots: &[u32; FRAME],
    ) -> ([u8; FRAME], usize) {
        let (mut refused, mut count) = ([0; FRAME], 0);
        for (i, &index) in indices.iter().enumerate().take(FRAME) {
            if threads[i] == self.thread || !self.handoffs.is_open(threads[i]) {
                continue;
            }
            if self.pass(threads[i], node, slots[i], index) {
                threads[i] = GONE;
            } else {
                (refused[count], count) = (i as u8, count + 1);
            }
        }
        (refused, count)
    }
    /// Sends the packets that go on here along their edges.
    fn keep(
        &mut self,
        node: u32,
        indices: &[u32],
        threads: &[usize; FRAME],
        mut slots: [u32; FRAME],
    ) {
        let (mut kept, mut count) = ([0; FRAME], 0);
        for (i, &index) in indices.iter().enumerate().take(FRAME) {
            if threads[i] != GONE {
                (kept[count], slots[count]) = (index, slots[i]);
                count += 1;
            }
        }
        scatter(self, node, &kept[..count], &slots);
    }
    /// Puts a packet that left its frame into the ring to `thread`; false if it is full.
    pub(super) fn pass(&mut self, thread: usize, from: u32, slot: u32, index: u32) -> bool {
        let n = &mut self.nodes[from as usize];
        let Some(edge) = n.edges.get_mut(slot as usize) else { return false };
        let Some(Some(out)) = self.handoffs.out.get_mut(thread) else { return false };
        if out.ring.len() == out.ring.capacity() {
            return false;
        }
        // SAFETY: the caller gives the packet up.
        let is_traced = unsafe { Buffer::new(self.base, index) }.flags().has(Flags::TRACED);
        if out.ring.try_send(HandoffEntry { index, to: edge.0 }).is_err() {
            return false;
        }
        edge.1 += 1;
        out.has_new = true;
        self.handoffs.sent += 1;
        if is_traced {
            self.trace.end();
        }
        true
    }
    /// Takes what other threads handed over to the frames of its nodes; returns how many packets.
    pub(crate) fn take_handed(&mut self) -> u64 {
        if self.handoffs.is_empty() {
            return 0;
        }
        let mut incoming = std::mem::take(&mut self.handoffs.incoming);
        let mut count = 0;
        for (thread, ring) in &mut incoming {
            // What comes meanwhile is for the next loop.
            for _ in 0..ring.len() {
                let Some(passed) = ring.try_recv() else { break };
                count += 1;
                self.arrive(*thread, &passed);
            }
        }
        self.handoffs.incoming = incoming;
        count
    }
    fn arrive(&mut self, thread: usize, passed: &HandoffEntry) {
        // SAFETY: the packet was taken out of a ring: it is this thread's alone.
        let mut p = unsafe { Buffer::new(self.base, passed.index) };
        if p.flags().has(Flags::TRACED) {
            self.trace_on(thread, &mut p);
        }
        if (passed.to as usize) < self.nodes.len() {
            self.enqueue(passed.to, &[passed.index]);
        } else {
            // The node is so new that this thread does not have it yet.
            self.counter(crate::control::DELETED as usize).add(1);
            self.vectors_drop += 1;
            self.free(&[passed.index]);
        }
    }
    /// Goes on with the trace of a packet as one of this thread's.
    #[cold]
    fn trace_on(&mut self, thread: usize, p: &mut Buffer<'_>) {
        let packet = p.trace_handle();
        match (self.trace.begin(), self.handoff_trace) {
            (Some(handle), Some(node)) => {
                p.set_trace_handle(handle);
                let now = self.clock.now();
                self.trace.visit(handle, node, now);
                self.trace.record(handle, node, now, HandedOver { thread, packet });
            }
            (Some(handle), None) => p.set_trace_handle(handle),
            (None, _) => p.set_flags(p.flags().without(Flags::TRACED)),
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        for (_, mut ring) in std::mem::take(&mut self.handoffs.incoming) {
            while let Some(passed) = ring.try_recv() {
                self.free_chain(passed.index);
            }
        }
    }
}
