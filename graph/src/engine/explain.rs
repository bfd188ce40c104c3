//! One packet on its way through the graph, on a thread of its own that control lends: what
//! happens to it at each node, and nothing to anybody else.
//!
//! Safety contract: as of the engine. The core is control's, its rows of counters are in no sum,
//! and its nodes are new clones, made as packets get to them. Buffers come from the pool that all
//! share and go back to it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use infra::rcu::Epoch;

use super::core::{Batch, Core, NodeRuntime, NodeStats};
use crate::buffer::{Buffer, FRAME, Flags};
use crate::control::NodeIndex;
use crate::explain::{Counted, End, ExplainedPacket, MadeAt, Snapshot, Step};
use crate::node::InputState;

/// Visits of nodes at most, by all packets together.
const MOST_STEPS: usize = 1000;

/// The packets under way.
pub(crate) struct Walk<'w> {
    core: Core,
    /// Makes the node of a number, if it may be run.
    make: &'w dyn Fn(u32) -> Option<NodeRuntime>,
    packets: Vec<ExplainedPacket>,
    /// The buffer of each.
    buffers: Vec<u32>,
    /// Counters of nodes there are.
    counters: usize,
    steps: usize,
}

impl<'w> Walk<'w> {
    /// Over a graph of so many `nodes` and `counters`, for a core that has neither.
    pub fn new(
        mut core: Core,
        nodes: usize,
        counters: usize,
        make: &'w dyn Fn(u32) -> Option<NodeRuntime>,
    ) -> Self {
        core.explains = true;
        core.nodes.extend((0..nodes).map(|_| NodeRuntime::empty()));
        Self { core, make, packets: Vec::new(), buffers: Vec::new(), counters, steps: 0 }
    }
    /// Injects a packet at a node and follows it, and packets created from it, to the end. No
    /// packets if there is no buffer.
    pub fn run(
        mut self,
        entrance: NodeIndex,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Buffer<'_>),
        epoch: Epoch<'_>,
    ) -> Vec<ExplainedPacket> {
        self.core.inject(entrance.0, bytes, prepare);
        self.adopt(None);
        while let Some(node) = self.core.pending.pop_front() {
            let n = &mut self.core.nodes[node as usize];
            let Some(batch) = n.full.pop_front().or_else(|| n.open.take()) else { continue };
            for index in &batch.indices[..batch.len] {
                self.visit(node, *index, epoch);
            }
        }
        std::mem::take(&mut self.packets)
    }
    fn visit(&mut self, node: u32, index: u32, epoch: Epoch<'_>) {
        // SAFETY: the packet was in a frame of this core's, which was taken off its node.
        let number = usize::from(unsafe { Buffer::new(self.core.base, index) }.trace_handle());
        if self.buffers.get(number) != Some(&index) {
            return self.core.free_chain(index); // one of more packets than there are numbers
        }
        if matches!(self.packets[number].end, End::Unknown(_)) {
            return self.core.free_chain(index);
        }
        let is_explainable = self.make_node(node);
        self.steps += 1;
        let end = match self.steps <= MOST_STEPS {
            false => Some(End::TooLong),
            true if is_explainable => None,
            true => Some(End::Stopped),
        };
        let before = self.snapshot(index);
        self.packets[number].steps.push(Step::new(NodeIndex(node), before));
        if let Some(end) = end {
            self.packets[number].end = end;
            return self.core.free_chain(index);
        }
        let counted: Vec<_> = self.row().collect();
        let said = self.core.trace.steps();
        let mut alone = Box::new(Batch { len: 1, indices: [0; FRAME] });
        alone.indices[0] = index;
        self.core.call(node, Some(alone), epoch);
        let halted = self.core.halted.take().or(crate::explain::lack());
        let raised = self.row().zip(counted).zip(0..).filter(|((now, before), _)| now > before);
        let counted = raised.map(|((now, before), index)| Counted { index, by: now - before });
        let counted = counted.collect();
        let records = self.core.trace.records_since(said);
        let next = self.adopt(Some((number, NodeIndex(node))));
        let after = next.map(|_| self.snapshot(index));
        let packet = &mut self.packets[number];
        packet.end = halted.map_or(End::Ended, End::Unknown);
        if let Some(step) = packet.steps.last_mut() {
            (step.counted, step.next, step.after) = (counted, next, after);
            step.records = records.into_iter().map(|(_, record)| record).collect();
        }
    }
    /// Sees to it that a node is there; false for one that may not be run.
    fn make_node(&mut self, node: u32) -> bool {
        let n = &mut self.core.nodes[node as usize];
        if n.dispatch.is_none()
            && let Some(new) = (self.make)(node)
        {
            let (open, full) = (n.open.take(), std::mem::take(&mut n.full));
            *n = NodeRuntime { open, full, ..new };
        }
        n.dispatch.is_some()
    }
    fn row(&self) -> impl Iterator<Item = u64> {
        let row = self.core.errors.row(self.core.thread);
        row.iter().take(self.counters).map(infra::counter::Counter::value)
    }
    /// Gives new packets, made at a node of a packet, their numbers. Returns the node that this
    /// packet itself goes on to.
    fn adopt(&mut self, made: Option<(usize, NodeIndex)>) -> Option<NodeIndex> {
        let mut next = None;
        for to in &self.core.pending {
            let n = &self.core.nodes[*to as usize];
            for batch in n.full.iter().chain(&n.open) {
                for index in &batch.indices[..batch.len] {
                    // SAFETY: a packet in a frame of this core's, which nothing looks at.
                    let mut p = unsafe { Buffer::new(self.core.base, *index) };
                    let number = usize::from(p.trace_handle());
                    let is_known =
                        p.flags().has(Flags::TRACED) && self.buffers.get(number) == Some(index);
                    if is_known {
                        if made.is_some_and(|(of, _)| of == number) {
                            next = Some(NodeIndex(*to));
                        }
                        continue;
                    }
                    // The recorder numbers packets in the same order.
                    let Some(handle) = self.core.trace.begin() else { continue };
                    p.set_trace_handle(handle);
                    p.add_flags(Flags::TRACED);
                    self.buffers.push(*index);
                    let made = made.map(|(packet, node)| MadeAt { packet, node });
                    self.packets.push(ExplainedPacket::new(made));
                }
            }
        }
        next
    }
    fn snapshot(&self, index: u32) -> Snapshot {
        // SAFETY: the packet is in a frame of this core's, which nothing looks at.
        Snapshot::of(&unsafe { Buffer::new(self.core.base, index) })
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // What nodes still hold goes with them; what waits for nodes is given back here.
        let left = self.core.nodes.iter_mut().flat_map(|n| n.full.drain(..).chain(n.open.take()));
        let left: Vec<_> = left.collect();
        for batch in left {
            batch.indices[..batch.len].iter().for_each(|index| self.core.free_chain(*index));
        }
        let nodes = std::mem::take(&mut self.core.nodes);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(nodes)));
    }
}

impl NodeRuntime {
    /// A place for a node.
    pub(super) fn empty() -> Self {
        Self {
            dispatch: None,
            edges: Vec::new(),
            drop_slot: 0,
            error_base: 0,
            error_count: 1,
            count_base: 0,
            arcs: Vec::new(),
            open: None,
            full: VecDeque::new(),
            state: InputState::Disabled,
            interrupt: false,
            to_trace: 0,
            filters_trace: false,
            fragments_only: false,
            stats: NodeStats::default(),
        }
    }
}
