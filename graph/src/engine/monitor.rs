//! Effects of nodes on buffers: packets in and out, buffers allocated and freed, and fields of
//! metadata that they change. When disabled it costs one test per frame.

use std::collections::HashSet;

use infra::rcu::Epoch;
use serde::Serialize;

use super::core::{Batch, Core};
use crate::buffer::{Buffer, Snapshot};

/// A subject of monitoring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitored {
    /// Packets and buffers.
    Buffers,
    /// Fields of metadata.
    Fields,
}

/// Packets and buffers of a node while it was monitored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Handled {
    /// Packets it was given.
    pub received: u64,
    /// Packets that went on over its edges.
    pub sent: u64,
    /// Buffers it took from the pool, less those it gave back, by calls that took more.
    pub taken: u64,
    /// Buffers it gave back, less those it took, by calls that gave back more.
    pub returned: u64,
    /// Packets whose metadata was compared before and after.
    pub compared: u64,
    /// Fields that it changed in any packet: a bit for each place in
    /// [`FIELDS`](crate::FIELDS).
    pub changed: u32,
}

impl Handled {
    /// Adds what the same node did on another thread.
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.taken += other.taken;
        self.returned += other.returned;
        self.compared += other.compared;
        self.changed |= other.changed;
    }
    /// Resets a subject.
    fn clear(&mut self, what: Monitored) {
        *self = match what {
            Monitored::Buffers => {
                Self { compared: self.compared, changed: self.changed, ..Self::default() }
            }
            Monitored::Fields => Self { compared: 0, changed: 0, ..*self },
        };
    }
}

/// The monitor of a thread.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    /// Subjects that are monitored, as [`Monitored`] numbers them.
    is_on: [bool; 2],
    /// By the number of the node.
    nodes: Vec<Handled>,
    /// Metadata of the packets of a frame, before the node gets them.
    before: Vec<(u32, Snapshot)>,
    /// Packets that wait for other nodes.
    waiting: HashSet<u32>,
}

impl Core {
    /// Begins or ends to monitor a subject; what was found stays.
    pub(crate) fn monitor(&mut self, what: Monitored, on: bool) {
        let monitor = self.monitor.get_or_insert_default();
        monitor.is_on[what as usize] = on;
        self.is_monitored = monitor.is_on.contains(&true);
    }
    /// Packets and buffers of nodes, by their number.
    pub(crate) fn handled(&self) -> Vec<Handled> {
        self.monitor.as_ref().map(|monitor| monitor.nodes.clone()).unwrap_or_default()
    }
    /// Forgets what was found.
    pub(crate) fn clear_handled(&mut self, what: Monitored) {
        let nodes = self.monitor.iter_mut().flat_map(|monitor| &mut monitor.nodes);
        nodes.for_each(|handled| handled.clear(what));
    }
    /// As [`Core::call`], monitored.
    #[cold]
    #[inline(never)]
    pub(super) fn call_monitored(
        &mut self,
        node: u32,
        batch: Option<Box<Batch>>,
        epoch: Epoch<'_>,
    ) {
        let Some(mut monitor) = self.monitor.take() else { return };
        let [counts, compares] = monitor.is_on;
        let received = batch.as_ref().map_or(0, |batch| batch.len as u64);
        monitor.before.clear();
        for &index in batch.iter().flat_map(|b| &b.indices[..b.len]).filter(|_| compares) {
            // SAFETY: the frame was taken off the node's queue: its packets are this thread's.
            let p = unsafe { Buffer::new(self.base, index) };
            monitor.before.push((index, p.snapshot()));
        }
        let (sent, out) = (self.sent_by(node), self.cache.out());
        self.call_now(node, batch, epoch);
        let (sent, out) = (self.sent_by(node) - sent, self.cache.out() - out);
        if monitor.nodes.len() < self.nodes.len() {
            monitor.nodes.resize(self.nodes.len(), Handled::default());
        }
        let handled = &mut monitor.nodes[node as usize];
        if counts {
            handled.received += received;
            handled.sent += sent;
            handled.taken += u64::try_from(out).unwrap_or(0);
            handled.returned += u64::try_from(-out).unwrap_or(0);
        }
        if compares {
            handled.compared += received;
            monitor.waiting.clear();
            self.find_waiting(node, &mut monitor.waiting);
            for (index, before) in &monitor.before {
                // A packet outside the frames of this thread may have another owner by now.
                if monitor.waiting.contains(index) {
                    // SAFETY: the packet waits for a node of this thread.
                    let p = unsafe { Buffer::new(self.base, *index) };
                    handled.changed |= before.changed(&p.snapshot());
                }
            }
        }
        self.monitor = Some(monitor);
    }
    /// Packets that went on over the edges of a node.
    fn sent_by(&self, node: u32) -> u64 {
        self.nodes[node as usize].edges.iter().map(|edge| edge.1).sum()
    }
    /// Packets that wait for the nodes after a node.
    fn find_waiting(&self, node: u32, waiting: &mut HashSet<u32>) {
        let targets: HashSet<u32> =
            self.nodes[node as usize].edges.iter().filter(|edge| edge.1 > 0).map(|e| e.0).collect();
        for target in targets {
            let n = &self.nodes[target as usize];
            let batches = n.open.iter().chain(&n.full);
            batches.for_each(|batch| waiting.extend(&batch.indices[..batch.len]));
        }
    }
}
