//! Watching packets as nodes are given them, for captures.
//!
//! Nodes are not involved: the engine shows a frame to the watchers before the node gets it, and
//! without watchers it costs one test per frame.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;

use infra::rcu::Epoch;

use crate::buffer::Buffer;
use crate::control::{Engine, NodeIndex};

/// The place and time of a packet.
#[derive(Clone, Copy)]
pub struct PacketContext<'e> {
    /// Number of the data-plane thread.
    pub thread: usize,
    /// Seconds on the router's clock.
    pub now: f64,
    /// The right to read shared state meanwhile.
    pub epoch: Epoch<'e>,
}

/// Sees packets on data-plane threads. It may take its time, as what traces packets may.
pub trait Watcher: Send + Sync + 'static {
    /// A packet that `node` is about to be given.
    fn see(&self, node: NodeIndex, packet: &Buffer<'_>, context: PacketContext<'_>);
}

/// Chooses packets to be traced or captured, on data-plane threads.
pub trait Filter: Send + Sync + 'static {
    /// Whether a packet of an interface is chosen, by its `bytes` up to the end of its first
    /// segment.
    fn chooses(&self, interface: u32, bytes: &[u8], context: PacketContext<'_>) -> bool;
}

/// A watcher and the nodes whose packets it sees.
#[derive(Clone)]
pub struct Watch {
    /// By node; `None` for all nodes.
    nodes: Option<Arc<[bool]>>,
    watcher: Arc<dyn Watcher>,
}

impl Watch {
    /// Shows `watcher` the packets of these nodes; of all if `None`.
    pub fn new(nodes: Option<&[NodeIndex]>, watcher: Arc<dyn Watcher>) -> Self {
        let set = |nodes: &[NodeIndex]| {
            let end = nodes.iter().map(|n| n.0 as usize + 1).max().unwrap_or(0);
            let mut set = vec![false; end];
            nodes.iter().for_each(|n| set[n.0 as usize] = true);
            set.into()
        };
        Self { nodes: nodes.map(set), watcher }
    }
    /// Whether it sees the packets of a node.
    pub(crate) fn is_at(&self, node: u32) -> bool {
        let is_chosen = |nodes: &Arc<[bool]>| nodes.get(node as usize) == Some(&true);
        self.nodes.as_ref().is_none_or(is_chosen)
    }
    pub(crate) fn show(&self, node: u32, packet: &Buffer<'_>, context: PacketContext<'_>) {
        if self.is_at(node) {
            self.watcher.see(NodeIndex(node), packet, context);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Engine {
    /// Replaces the watchers of packets on all threads, from the next loop on; [`Engine::fence`]
    /// waits for that.
    pub fn set_watches(&mut self, watches: Vec<Watch>) {
        self.watches = watches;
        self.post_all(|this| {
            let watches = this.watches.clone();
            Box::new(move |core| core.watches = watches)
        });
    }
    /// Whether a filter chooses packets of traces.
    pub fn has_trace_filter(&self) -> bool {
        self.trace_filter.is_some()
    }
    /// Sets the filter of traces that want one; without a filter they trace nothing.
    pub fn set_trace_filter(&mut self, filter: Option<Arc<dyn Filter>>) {
        self.trace_filter = filter;
        self.post_all(|this| {
            let filter = this.trace_filter.clone();
            Box::new(move |core| core.trace_filter = filter)
        });
    }
}
