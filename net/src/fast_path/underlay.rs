//! Packets after the headers of a tunnel on a fast path: they pass the rewrite node of the outer
//! header's version and the output of an interface in the hands of the node that put the headers in
//! front.

use graph::{Ahead, Buffer, Flags, Node, Passes, Slot};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};

use super::few::Few;
use super::outputs::{Egress, Outputs};
use crate::adjacency::{Adjacency, Link};
use crate::ip::{Onward, V4, V6, Version, fits_made, send_over};
use crate::router::Router;

/// Edges at most that packets of one frame take after their headers; others go node by node.
const MOST_EDGES: usize = 4;

/// The tables of neighbours, on one thread.
#[derive(Clone)]
pub struct Neighbors {
    adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    counters: Rows<VolumeCounter>,
}

impl Neighbors {
    /// Those of a router.
    pub fn new(router: &Router) -> Self {
        let all = &router.adjacencies;
        Self { adjacencies: all.reader(), counters: all.counters() }
    }
}

/// The path of packets after the headers of one tunnel.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    edge: usize,
    /// The node at the end of the edge.
    node: u32,
    /// The neighbour and the exit; `None` when packets wait for the node.
    end: Option<Egress<'a>>,
}

/// An edge that packets took after their headers.
#[derive(Clone, Copy)]
struct Taken {
    from: u32,
    edge: Slot,
    node: u32,
    packets: u64,
    /// Those that passed the node too.
    passed: u64,
}

/// The paths of packets of a frame after the headers of tunnels.
pub struct Underlay<'a> {
    neighbors: &'a Neighbors,
    epoch: Epoch<'a>,
    by_adjacency: &'a [VolumeCounter],
    /// Whether packets wait for each node.
    is_watched: bool,
    edges: Few<Taken, MOST_EDGES>,
}

impl<'a> Underlay<'a> {
    /// None taken yet.
    #[inline(always)]
    pub fn new(
        neighbors: &'a Neighbors,
        is_watched: bool,
        (epoch, thread): (Epoch<'a>, usize),
    ) -> Self {
        let none = Taken { from: 0, edge: Slot(0), node: 0, packets: 0, passed: 0 };
        let by_adjacency = neighbors.counters.row(thread);
        Self { neighbors, epoch, by_adjacency, is_watched, edges: Few::new(none) }
    }
    /// The path from a node after its headers; `None` where packets have to take it one by one.
    #[inline(never)]
    pub fn lane(
        &mut self,
        ahead: Ahead<'_>,
        from: u32,
        onward: &Onward,
        outputs: &mut Outputs<'a>,
    ) -> Option<Lane<'a>> {
        let node = ahead.target(from, onward.edge())?;
        let end = self.end_of(ahead, node, onward, outputs);
        let new = Taken { from, edge: onward.edge(), node, packets: 0, passed: 0 };
        let is_it = |t: &Taken| (t.from, t.edge) == (from, new.edge);
        let edge = self.edges.place(is_it, new)?;
        Some(Lane { edge, node, end })
    }
    /// The neighbour at the end, and the exit to it, if nothing else is on the path.
    fn end_of(
        &self,
        ahead: Ahead<'_>,
        node: u32,
        onward: &Onward,
        outputs: &mut Outputs<'a>,
    ) -> Option<Egress<'a>> {
        let index = onward.neighbor().filter(|_| !self.is_watched)?;
        let a = self.neighbors.adjacencies.read(index.0, self.epoch)?;
        let arc = match a.link {
            Link::Ip4 => V4::OUTPUT_ARC,
            Link::Ip6 => V6::OUTPUT_ARC,
            Link::Mpls | Link::Ethernet => return None,
        };
        outputs.egress(ahead, (node, arc), Some(a))
    }
    /// Sends a packet on that has its headers in front: the node that it waits for.
    #[inline(always)]
    pub fn send(&mut self, lane: &Lane<'a>, p: &mut Buffer<'_>, outputs: &mut Outputs<'a>) -> u32 {
        let Some(taken) = self.edges.at(lane.edge) else { return lane.node };
        taken.packets += 1;
        let Some(Egress { adjacency: a, exit }) = &lane.end else { return lane.node };
        if p.flags().has(exit.todo.with(Flags::ONE_LINK)) || !fits_made(p, a) {
            return lane.node;
        }
        taken.passed += 1;
        send_over(p, a, self.by_adjacency);
        outputs.count(exit, p.len());
        exit.tx
    }
    /// Counts packets for the adjacency of a tunnel.
    #[inline(always)]
    pub fn count(&self, index: u32, bytes: usize) {
        if let Some(counter) = self.by_adjacency.get(index as usize) {
            counter.add(1, bytes as u64);
        }
    }
    /// Counts for each node as if it had been called, with its share of the clocks in thousandths;
    /// the number of packets passed.
    #[inline(never)]
    pub fn end<N: Node>(self, packets: &mut Passes<'_, N>, share: u64) -> u64 {
        for taken in self.edges.iter() {
            packets.sent(taken.from, taken.edge, taken.packets);
            packets.passed(taken.node, taken.passed, share);
        }
        self.edges.iter().map(|taken| taken.passed).sum()
    }
}
