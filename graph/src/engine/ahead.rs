//! Several nodes in one go: packets that a node takes through nodes ahead of it while it has them
//! in its hands. These are counted as if they had been called: calls, packets, edges, and their
//! share of the clocks.

use super::Passes;
use super::core::{ArcEdges, Core, NodeRuntime};
use crate::arc::{ArcPart, FeatureArc, Start};
use crate::buffer::Buffer;
use crate::node::{Count, Node, Slot};

/// Nodes at most that packets of one frame pass.
pub(super) const MOST_PASSED: usize = 64;
/// Mark of a place whose packet waits for a node, not an edge.
pub(super) const BEYOND: u32 = 1 << 31;

/// A node that packets have passed without a call of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedNode {
    node: u32,
    packets: u64,
    /// Its share of what the call takes a packet, in thousandths.
    share: u64,
}

/// The nodes of the thread.
#[derive(Clone, Copy)]
pub struct Ahead<'a>(&'a [NodeRuntime]);

impl<'a> Ahead<'a> {
    pub(super) fn of(nodes: &'a [NodeRuntime]) -> Self {
        Self(nodes)
    }
    /// The node at the end of an edge.
    #[inline(always)]
    pub fn target(&self, node: u32, edge: Slot) -> Option<u32> {
        Some(self.0.get(node as usize)?.edges.get(edge.0 as usize)?.0)
    }
    /// The features on an arc that starts at a node; `None` where it does not start there.
    #[inline(always)]
    pub fn start(&self, node: u32, arc: &'static FeatureArc) -> Option<Start<'a>> {
        let arcs: &'a [ArcEdges] = &self.0.get(node as usize)?.arcs;
        arcs.iter().find(|edges| std::ptr::eq(edges.arc, arc)).map(Start::of)
    }
    /// The edge of a node to the first feature of an interface on an arc that starts there; `None`
    /// where no feature awaits its packets.
    #[inline(always)]
    pub fn feature(&self, node: u32, arc: &'static FeatureArc, interface: u32) -> Option<Slot> {
        self.start(node, arc)?.first(interface)
    }
    /// The edge of a feature node along its arc, for packets of an interface; `None` where it is
    /// not on the arc.
    #[inline(always)]
    pub fn along(&self, node: u32, arc: &'static FeatureArc, interface: u32) -> Option<Slot> {
        let arcs: &'a [ArcEdges] = &self.0.get(node as usize)?.arcs;
        let edges = arcs.iter().find(|edges| std::ptr::eq(edges.arc, arc))?;
        Some(Slot(ArcPart::of(edges).next_of(interface)))
    }
    /// Whether packets that are no fragments pass a node untouched.
    #[inline(always)]
    pub fn is_for_fragments(&self, node: u32) -> bool {
        self.0.get(node as usize).is_some_and(|node| node.fragments_only)
    }
}

impl<'p, N: Node> Passes<'p, N> {
    /// The node itself, and all nodes.
    #[inline(always)]
    pub fn ahead(&self) -> (u32, Ahead<'_>) {
        (self.node, Ahead(&self.core.nodes))
    }
    /// The features on an arc that starts at a node, as [`Ahead::start`] says, for as long as the
    /// frame lasts.
    pub fn start(&self, node: u32, arc: &'static FeatureArc) -> Option<Start<'p>> {
        let arcs: *const [ArcEdges] = self.core.nodes.get(node as usize)?.arcs.as_slice();
        // SAFETY: the list belongs to the node's entry in the core, which 'p borrows, and is
        // replaced only between loops.
        let arcs: &'p [ArcEdges] = unsafe { &*arcs };
        arcs.iter().find(|edges| std::ptr::eq(edges.arc, arc)).map(Start::of)
    }
    /// Whether each node has to be called by itself: packets are watched in front of nodes, or
    /// measured one by one.
    #[inline(always)]
    pub fn are_watched(&self) -> bool {
        !self.core.watches.is_empty() | self.core.is_monitored | self.core.explains
    }
    /// As [`Passes::usual`], for packets that pass several nodes: `verdict` does what all of them
    /// do and says the node that the packet waits for then.
    #[inline(always)]
    pub fn usual_beyond(
        &mut self,
        places: std::ops::Range<usize>,
        mut verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_with::<true, true, false>(
            places,
            #[inline(always)]
            |nodes, place, p| Some(verdict(Ahead(nodes), place, p)? | BEYOND),
        );
    }
    /// As [`Passes::usual_beyond`], with packets of several segments and traced ones among them.
    #[inline(always)]
    pub fn all_beyond(
        &mut self,
        places: std::ops::Range<usize>,
        mut verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_with::<true, true, true>(
            places,
            #[inline(always)]
            |nodes, place, p| Some(verdict(Ahead(nodes), place, p)? | BEYOND),
        );
    }
    /// As [`Passes::all_beyond`], for packets that were looked at.
    #[inline(always)]
    pub fn seen_beyond(
        &mut self,
        places: std::ops::Range<usize>,
        mut verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_with::<true, false, true>(
            places,
            #[inline(always)]
            |nodes, place, p| Some(verdict(Ahead(nodes), place, p)? | BEYOND),
        );
    }
    /// Shows `each` the packets, which were looked at and are usual for all nodes that they pass,
    /// and has all of them wait for one node.
    #[inline(always)]
    pub fn all_to(
        &mut self,
        places: std::ops::Range<usize>,
        node: u32,
        mut each: impl FnMut(&mut Buffer<'_>),
    ) {
        self.show::<false>(
            places.clone(),
            #[inline(always)]
            |_, p| each(p),
        );
        self.slots[places].fill(node | BEYOND);
    }
    /// As [`Passes::usual_beyond`], for packets that are left.
    #[inline(always)]
    pub fn rest_beyond(
        &mut self,
        places: std::ops::Range<usize>,
        mut verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_with::<false, true, false>(
            places,
            #[inline(always)]
            |nodes, place, p| Some(verdict(Ahead(nodes), place, p)? | BEYOND),
        );
    }
    /// As [`Passes::usual_beyond`], for packets that are to take `edge`, as they do where `verdict`
    /// says `None`.
    #[inline(always)]
    pub fn behind(
        &mut self,
        places: std::ops::Range<usize>,
        edge: Slot,
        mut verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_those(
            places,
            edge.0,
            #[inline(always)]
            |nodes, place, p| Some(verdict(Ahead(nodes), place, p)? | BEYOND),
        );
    }
    /// Adds to a counter of a node of another type that packets passed.
    #[inline(always)]
    pub fn count_at<Of: Node>(&mut self, node: u32, what: Of::Count, n: u64) {
        if let Some(of) = self.core.nodes.get(node as usize).filter(|_| n > 0) {
            self.core.counter(of.count_base as usize + what.index()).add(n);
        }
    }
    /// Counts packets as if `node` had been called for them; `share` is what it takes of a packet's
    /// clocks, in thousandths.
    #[inline(always)]
    pub fn passed(&mut self, node: u32, packets: u64, share: u64) {
        let passed = &mut self.core.passed;
        if packets == 0 {
            return;
        }
        if let Some(other) = passed.iter_mut().find(|passed| passed.node == node) {
            // On another path, with another share: the mean of both.
            let both = other.share * other.packets + share * packets;
            other.packets += packets;
            other.share = both / other.packets;
        } else if passed.len() < MOST_PASSED {
            passed.push(PassedNode { node, packets, share });
        }
    }
    /// Counts packets that went along an edge.
    #[inline(always)]
    pub fn sent(&mut self, node: u32, edge: Slot, packets: u64) {
        let edges = self.core.nodes.get_mut(node as usize).map(|n| &mut n.edges);
        if let Some(edge) = edges.and_then(|edges| edges.get_mut(edge.0 as usize)) {
            edge.1 += packets;
        }
    }
}

impl Core {
    /// Counts the nodes that packets of a call passed, and gives them their share of its clocks.
    #[inline(never)]
    pub(super) fn share(&mut self, node: u32, vectors: u64, clocks: u64) {
        let mut left = clocks;
        for passed in self.passed.drain(..) {
            let part = clocks * passed.share * passed.packets / (1000 * vectors.max(1));
            let part = part.min(left);
            left -= part;
            if let Some(n) = self.nodes.get_mut(passed.node as usize) {
                n.stats.add(passed.packets, part);
                n.stats.passed += passed.packets;
            }
        }
        if let Some(n) = self.nodes.get_mut(node as usize) {
            n.stats.clocks -= clocks - left;
        }
    }
}
