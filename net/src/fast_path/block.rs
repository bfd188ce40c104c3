//! Blocks of packets that a fast path sends to the neighbours that their lookup found.

use std::ops::Range;

use graph::{Ahead, BLOCK, Buffer, Node, Passes, Slot};
use infra::counter::{Volume, VolumeCounter};

use crate::fib::{Family, Forwarding, count};

/// A block of packets after their lookup.
pub(super) struct Block<'a> {
    pub places: Range<usize>,
    /// A bit for each packet that may go on.
    pub ready: u64,
    /// The edge that packets are to take otherwise; `None` where they are left.
    pub edge: Option<Slot>,
    /// Counters by leaf.
    pub routes: &'a [VolumeCounter],
}

impl Block<'_> {
    /// Makes `send` send the packets that may continue over the adjacency of their common leaf: the
    /// node that each waits for, and the length to count. The caller counts the sent ones once for
    /// all, except for the leaf.
    #[inline(always)]
    pub fn send_alike<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        (leaf, adjacency): (u32, u32),
        mut send: impl FnMut(Ahead<'_>, &mut Buffer<'_>, u32) -> Option<(u32, u64)>,
    ) -> Volume {
        let (routes, mut run) = (self.routes, Volume::default());
        self.go_over(
            packets,
            #[inline(always)]
            |ahead, _, p| {
                let (to, bytes) = send(ahead, p, adjacency)?;
                run += Volume { packets: 1, bytes };
                Some(to)
            },
        );
        count(routes, leaf, run);
        run
    }
    /// The same, over the adjacencies that each leaf leads to.
    #[inline(always)]
    pub fn send_each<N: Node, F: Family>(
        self,
        packets: &mut Passes<'_, N>,
        (leaves, forwarding): (&[u32], &Forwarding<F>),
        mut send: impl FnMut(Ahead<'_>, &mut Buffer<'_>, u32) -> Option<(u32, u64)>,
    ) {
        let routes = self.routes;
        self.go_over(
            packets,
            #[inline(always)]
            |ahead, at, p| {
                let leaf = leaves[at];
                let neighbor = forwarding.only_neighbor(leaf)?;
                let (to, bytes) = send(ahead, p, neighbor.0)?;
                count(routes, leaf, Volume { packets: 1, bytes });
                Some(to)
            },
        );
    }
    /// Over the packets that may go on, each with its place in the block.
    #[inline(always)]
    fn go_over<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        mut go: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        let ready = self.ready;
        over(
            packets,
            (self.places, self.edge),
            #[inline(always)]
            |ahead, place, p| {
                let at = place % BLOCK;
                if ready >> at & 1 == 0 { None } else { go(ahead, at, p) }
            },
        );
    }
}

/// Over all packets, or over those that are to take an edge.
#[inline(always)]
fn over<N: Node>(
    packets: &mut Passes<'_, N>,
    (places, edge): (Range<usize>, Option<Slot>),
    verdict: impl FnMut(Ahead<'_>, usize, &mut Buffer<'_>) -> Option<u32>,
) {
    match edge {
        None => packets.usual_beyond(places, verdict),
        Some(edge) => packets.behind(places, edge, verdict),
    }
}
