//! The state of one data-plane thread: its nodes, their waiting frames, its free buffers.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

use infra::counter::{Counter, Rows};
use infra::rcu::Epoch;
use infra::time::Clock;
use serde::Serialize;

use super::ahead::{MOST_PASSED, PassedNode};
use super::dispatch::Dispatch;
use super::handoff::Handoffs;
use super::monitor::Monitor;
use super::recall::Recalls;
use crate::arc::{EnabledReader, FeatureArc};
use crate::buffer::{Buffer, Cache, FRAME, Flags, Pool};
use crate::control::{IN_CIRCLES, MOST_NODES};
use crate::node::InputState;
use crate::trace::Recorder;
use crate::watch::{Filter, Watch};

/// New packets at most that wait to follow others out of one frame.
pub(super) const MOST_FOLLOWERS: usize = 16384;

/// Calls of nodes at most for what one turn brought in: a frame that is flooded to all the
/// interfaces there may be takes a few for each of them.
const MOST_CALLS: u32 = 1 << 18;

/// Indices of packets on their way to one node.
#[derive(Debug)]
pub(crate) struct Batch {
    pub len: usize,
    pub indices: [u32; FRAME],
}

/// State of a node on a thread.
pub(crate) struct NodeRuntime {
    /// Taken out while it runs.
    pub dispatch: Option<Box<dyn Dispatch>>,
    /// Node at the end of each edge, and packets that went there. The last static edge is the drop.
    pub edges: Vec<(u32, u64)>,
    /// Edge that dropped packets take.
    pub drop_slot: u32,
    /// Number of its first counter.
    pub error_base: u32,
    /// Counters it has (reasons, counts, and the panic counter last).
    pub error_count: u32,
    /// Of what it counts besides reasons.
    pub count_base: u32,
    /// First edges of the arcs that start here or that it is on.
    pub arcs: Vec<ArcEdges>,
    /// The frame that is being filled for it.
    pub open: Option<Box<Batch>>,
    /// Frames that are full already.
    pub full: VecDeque<Box<Batch>>,
    pub state: InputState,
    /// A file descriptor of this input node is ready.
    pub interrupt: bool,
    /// Packets still to be traced here.
    pub to_trace: u32,
    /// Whether only those that the filter chooses.
    pub filters_trace: bool,
    /// Whether packets that are no fragments pass it untouched.
    pub fragments_only: bool,
    pub stats: NodeStats,
}

/// One arc as a node on it or at its start sees it.
#[derive(Clone, Debug)]
pub(crate) struct ArcEdges {
    pub arc: &'static FeatureArc,
    pub features: EnabledReader,
    /// The first of the edges to all features, and after these to the arc's end.
    pub base: u32,
    pub end: u32,
    /// Edges from `base` on that are the arc's own: as many as it ever had features, and its end.
    pub room: u32,
    /// The position after the node's own; the first where it is no feature.
    pub after: u32,
}

/// Counters of one node on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeStats {
    /// Number of calls.
    pub calls: u64,
    /// Packets it was given, or brought in.
    pub vectors: u64,
    /// Clocks of the time-stamp counter it used.
    pub clocks: u64,
    /// Largest number of packets in one call.
    pub most: u64,
    /// Packets that passed it in the hands of another node, on a fast path.
    pub passed: u64,
}

impl NodeStats {
    /// One more call.
    #[inline(always)]
    pub(super) fn add(&mut self, vectors: u64, clocks: u64) {
        self.calls += 1;
        self.vectors += vectors;
        self.clocks += clocks;
        self.most = self.most.max(vectors);
    }
}

/// State of a thread when it was sampled last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampled {
    pub stamp: u64,
    pub loops: u64,
    /// Packets that input nodes brought in.
    pub input: u64,
    /// Calls of other nodes, and packets they were given.
    pub calls: u64,
    pub vectors: u64,
}

/// The state of one data-plane thread.
pub struct Core {
    pub(crate) thread: usize,
    pub(crate) base: NonNull<u8>,
    pub(crate) cache: Cache,
    pub(crate) nodes: Vec<NodeRuntime>,
    /// Nodes with frames waiting, one entry for each frame.
    pub(crate) pending: VecDeque<u32>,
    /// Boxed, so that frames move between nodes without being copied.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Batch>>,
    /// New packets that go right after the one they were made from: its index, theirs.
    pub(super) followers: Vec<(u32, u32)>,
    pub(crate) inputs: Vec<u32>,
    /// Whether no input node is called, so that nothing new is received.
    pub(crate) is_held: bool,
    pub(crate) errors: Rows<Counter>,
    pub(crate) trace: Recorder,
    /// Observers of packets in front of nodes.
    pub(crate) watches: Vec<Watch>,
    pub(crate) trace_filter: Option<Arc<dyn Filter>>,
    /// Node most recently set to trace packets by the filter; `u32::MAX` for none.
    pub(crate) filtered_at: u32,
    /// Packets to and from other threads.
    pub(crate) handoffs: Handoffs,
    /// The node under whose name traces continue after a handoff, if it exists.
    pub(crate) handoff_trace: Option<u32>,
    /// Scratch bytes that [`Packet::with_room`](super::Packet::with_room) lends.
    pub(super) room: Box<[u8]>,
    pub(crate) clock: Clock,
    /// Earliest time-stamp at which an input wants to be called although nothing arrives.
    pub(crate) wake_at: u64,
    /// Nodes to be called although nothing arrives.
    pub(super) recalls: Recalls,
    /// Clocks that the thread sleeps after each loop, unless woken.
    pub(crate) poll_sleep: u64,
    pub(crate) loops: u64,
    pub(crate) vectors_in: u64,
    pub(crate) vectors_out: u64,
    pub(crate) vectors_drop: u64,
    pub(crate) vectors_punt: u64,
    pub(crate) sampled: Sampled,
    /// Nodes that packets of the running node have passed already.
    pub(super) passed: Vec<PassedNode>,
    /// Whether anything is monitored.
    pub(super) is_monitored: bool,
    pub(super) monitor: Option<Box<Monitor>>,
    /// Whether its packets are only explained.
    pub(super) explains: bool,
    /// Reason why a node cannot say what would become of the packet it explains.
    pub(super) halted: Option<&'static str>,
    last_stamp: u64,
    cleared_at: f64,
    loops_at_clear: u64,
}

// SAFETY: the pointer is the start of the pool, which `cache` keeps alive; a core moves to its
// thread whole, with every index it owns.
unsafe impl Send for Core {}

impl Core {
    pub(crate) fn new(thread: usize, pool: &Pool, errors: Rows<Counter>, clock: Clock) -> Self {
        Self {
            thread,
            base: pool.base(),
            cache: Cache::new(pool),
            // Room for all there may be, so that they never move while packets flow; it is used as
            // they come.
            nodes: Vec::with_capacity(MOST_NODES),
            pending: VecDeque::with_capacity(1024),
            spare: Vec::with_capacity(256),
            followers: Vec::with_capacity(MOST_FOLLOWERS),
            inputs: Vec::new(),
            is_held: false,
            errors,
            trace: Recorder::default(),
            watches: Vec::new(),
            trace_filter: None,
            filtered_at: u32::MAX,
            handoffs: Handoffs::new(thread),
            handoff_trace: None,
            room: new_room(),
            clock,
            wake_at: u64::MAX,
            recalls: Recalls::new(),
            poll_sleep: 0,
            loops: 0,
            vectors_in: 0,
            vectors_out: 0,
            vectors_drop: 0,
            vectors_punt: 0,
            sampled: Sampled::default(),
            passed: Vec::with_capacity(MOST_PASSED),
            is_monitored: false,
            monitor: None,
            explains: false,
            halted: None,
            last_stamp: 0,
            cleared_at: 0.0,
            loops_at_clear: 0,
        }
    }
    /// Resets all statistics.
    pub(crate) fn clear_stats(&mut self) {
        for n in &mut self.nodes {
            n.stats = NodeStats::default();
            n.edges.iter_mut().for_each(|e| e.1 = 0);
        }
        (self.vectors_in, self.vectors_out) = (0, 0);
        (self.vectors_drop, self.vectors_punt) = (0, 0);
        self.cleared_at = self.clock.now();
        self.loops_at_clear = self.loops;
    }
    /// Edges that packets took: the nodes at both ends, and the packets.
    pub(crate) fn edges_taken(&self) -> Vec<(u32, u32, u64)> {
        let of = |(from, node): (u32, &NodeRuntime)| {
            let taken = node.edges.iter().filter(|(_, packets)| *packets > 0);
            taken.map(move |(to, packets)| (from, *to, *packets)).collect::<Vec<_>>()
        };
        (0u32..).zip(&self.nodes).flat_map(of).collect()
    }
    pub(crate) fn seconds_since_clear(&self) -> f64 {
        self.clock.now() - self.cleared_at
    }
    pub(crate) fn loops_since_clear(&self) -> u64 {
        self.loops - self.loops_at_clear
    }
    /// An empty packet without an owner.
    pub(crate) fn fresh<'p>(&mut self) -> Option<Buffer<'p>> {
        let index = self.cache.take()?;
        // SAFETY: the index just came from the free list: it is the caller's alone.
        let mut p = unsafe { Buffer::new(self.base, index) };
        p.reset(0);
        Some(p)
    }
    /// Number of the thread, from 0.
    pub fn thread(&self) -> usize {
        self.thread
    }
    /// The router's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
    /// Takes what other threads handed over, calls the input nodes once and then every node until
    /// nothing waits; returns packets brought in or taken.
    pub(crate) fn run_once(&mut self, epoch: Epoch<'_>) -> u64 {
        self.last_stamp = stamp();
        self.loops += 1;
        let before = self.vectors_in;
        let handed = self.take_handed();
        let inputs = if self.is_held { 0 } else { self.inputs.len() };
        for i in 0..inputs {
            let node = self.inputs[i];
            let n = &mut self.nodes[node as usize];
            let call = match n.state {
                InputState::Polling | InputState::Adaptive => true,
                InputState::Interrupt => n.interrupt,
                InputState::Disabled => false,
            };
            if call {
                n.interrupt = false;
                self.call(node, None, epoch);
            }
        }
        self.drain(epoch);
        if !self.recalls.is_empty() {
            self.recall(epoch);
        }
        self.handoffs.announce();
        self.vectors_in - before + handed
    }
    /// Dispatches waiting frames until there are none. What then still waits after
    /// [`MOST_CALLS`] runs in circles (two pipes that are bridged at both ends, say), and is
    /// dropped: the thread has other work, and control waits for it.
    pub(crate) fn drain(&mut self, epoch: Epoch<'_>) {
        let mut calls = 0;
        while let Some(node) = self.pending.pop_front() {
            if let Some(batch) = self.next_batch(node) {
                self.call(node, Some(batch), epoch);
                calls += 1;
                if calls == MOST_CALLS {
                    return self.end_circles();
                }
            }
        }
    }
    #[inline(always)]
    fn next_batch(&mut self, node: u32) -> Option<Box<Batch>> {
        let n = &mut self.nodes[node as usize];
        n.full.pop_front().or_else(|| n.open.take())
    }
    #[cold]
    fn end_circles(&mut self) {
        let mut packets = 0;
        while let Some(node) = self.pending.pop_front() {
            let Some(batch) = self.next_batch(node) else { continue };
            self.free(&batch.indices[..batch.len]);
            packets += batch.len as u64;
            self.spare.push(batch);
        }
        self.counter(IN_CIRCLES as usize).add(packets);
        self.vectors_drop += packets;
    }
    /// Runs one node: on a frame, or, an input node, on nothing.
    #[inline(always)]
    pub(super) fn call(&mut self, node: u32, batch: Option<Box<Batch>>, epoch: Epoch<'_>) {
        if self.is_monitored {
            return self.call_monitored(node, batch, epoch);
        }
        self.call_now(node, batch, epoch);
    }
    #[inline(always)]
    pub(super) fn call_now(&mut self, node: u32, batch: Option<Box<Batch>>, epoch: Epoch<'_>) {
        let at = node as usize;
        let Some(mut dispatch) = self.nodes[at].dispatch.take() else { return };
        if (self.trace.is_live() || !self.watches.is_empty())
            && let Some(batch) = &batch
        {
            self.show(node, &batch.indices[..batch.len], epoch);
        }
        let vectors = dispatch.run(self, node, batch.as_deref(), epoch);
        let n = &mut self.nodes[at];
        n.dispatch = Some(dispatch);
        let now = stamp();
        let clocks = now.wrapping_sub(self.last_stamp);
        n.stats.add(vectors, clocks);
        self.last_stamp = now;
        if !self.passed.is_empty() {
            self.share(node, vectors, clocks);
        }
        self.spare.extend(batch);
    }
    /// Runs a node on a frame without packets.
    pub(super) fn call_empty(&mut self, node: u32, epoch: Epoch<'_>) {
        let mut batch = self.spare.pop().unwrap_or_else(new_batch);
        batch.len = 0;
        self.call(node, Some(batch), epoch);
    }
    /// Appends packets to the frames of the node at the end of an edge.
    #[inline(always)]
    pub(crate) fn send(&mut self, from: u32, slot: u32, indices: &[u32]) {
        match self.nodes[from as usize].edges.get_mut(slot as usize) {
            Some(edge) => {
                edge.1 += indices.len() as u64;
                let to = edge.0;
                self.enqueue(to, indices);
            }
            // Control published something that leads over a new edge, which comes with the next
            // loop.
            None => super::dispatch::lost(self, from, indices),
        }
    }
    /// Appends packets to the frames of a node.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, to: u32, mut indices: &[u32]) {
        while !indices.is_empty() {
            let n = &mut self.nodes[to as usize];
            let batch = match &mut n.open {
                Some(batch) => batch,
                None => {
                    self.pending.push_back(to);
                    let new = self.spare.pop().unwrap_or_else(new_batch);
                    let batch = n.open.insert(new);
                    batch.len = 0;
                    batch
                }
            };
            let room = &mut batch.indices[batch.len..];
            let k = indices.len().min(room.len());
            room[..k].copy_from_slice(&indices[..k]);
            batch.len += k;
            indices = &indices[k..];
            if batch.len == FRAME {
                n.full.extend(n.open.take());
            }
        }
    }
    /// Gives packets back to the pool, whole chains.
    #[inline(always)]
    pub(crate) fn free(&mut self, indices: &[u32]) {
        let mut flags = Flags::default();
        for &index in indices {
            // SAFETY: the caller gives up packets it owns.
            flags = flags.with(unsafe { Buffer::new(self.base, index) }.flags());
        }
        self.free_with(indices, flags);
    }
    /// The same of packets that have no flags but `flags`.
    #[inline(always)]
    pub(super) fn free_with(&mut self, indices: &[u32], flags: Flags) {
        if flags.has(Flags::CHAINED.with(Flags::TRACED)) {
            for &index in indices {
                self.free_chain(index);
            }
        } else {
            self.cache.put_all(indices);
        }
    }
    #[cold]
    pub(super) fn free_chain(&mut self, index: u32) {
        let mut at = Some(index);
        while let Some(index) = at {
            // SAFETY: a packet's buffers belong to the packet's owner, and it is given up here.
            let mut p = unsafe { Buffer::new(self.base, index) };
            if p.flags().has(Flags::TRACED) {
                self.trace.end();
                p.set_flags(p.flags().without(Flags::TRACED));
            }
            at = p.take_next();
            self.cache.put(index);
        }
    }
    #[inline(always)]
    pub(crate) fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }
    /// Gives back followers whose leader did not go on.
    #[cold]
    pub(crate) fn free_followers(&mut self) {
        while let Some((_, index)) = self.followers.pop() {
            self.free_chain(index);
        }
    }
    /// The counters of this thread.
    #[inline(always)]
    pub(crate) fn counter(&self, index: usize) -> &Counter {
        &self.errors.row(self.thread)[index]
    }
    /// Lets `change` at the node's own state on this thread. For control, between loops.
    pub(crate) fn with_node<N: 'static, R>(
        &mut self,
        node: u32,
        change: impl FnOnce(&mut N, &mut Self) -> R,
    ) -> Option<R> {
        let mut dispatch = self.nodes.get_mut(node as usize)?.dispatch.take()?;
        let done = dispatch.node().downcast_mut::<N>().map(|n| change(n, self));
        self.nodes[node as usize].dispatch = Some(dispatch);
        done
    }
    /// Sets when an input node is called.
    pub(crate) fn set_state(&mut self, node: u32, state: InputState) {
        self.nodes[node as usize].state = state;
    }
}

/// Bytes of the room that a thread has for a packet in one piece.
pub const ROOM: usize = 65_536 + 256;

pub(super) fn new_room() -> Box<[u8]> {
    vec![0; ROOM].into()
}

fn new_batch() -> Box<Batch> {
    Box::new(Batch { len: 0, indices: [0; FRAME] })
}

/// The time-stamp counter, or nanoseconds where there is none.
#[inline(always)]
pub(crate) fn stamp() -> u64 {
    infra::cpu::time_stamp().unwrap_or_else(|| {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
    })
}
