//! Packets to objects of features on the fast path: they pass `ethernet-input`, the input and the
//! lookup of their version in one go, and wait for the node of the object's kind.

use std::ops::Range;

use graph::{BLOCK, Node, Passes, Slot};
use infra::counter::Volume;

use super::entry::enter;
use super::through::{ETHERNET, Pass};
use crate::fib::{Object, count};
use crate::ip::Version;

/// Kinds of objects at most that packets of one frame wait for; others go node by node.
const MOST_KINDS: usize = 4;

/// Edges of the lookup to the nodes of objects, and packets that took them.
#[derive(Clone, Copy)]
pub(super) struct ToObjects {
    edges: [(Slot, u64); MOST_KINDS],
    len: usize,
}

impl ToObjects {
    /// None taken yet.
    pub const NONE: Self = Self { edges: [(Slot(0), 0); MOST_KINDS], len: 0 };

    /// The place of an edge; `None` where there is no room for it.
    fn place(&mut self, edge: Slot) -> Option<usize> {
        let known = self.edges[..self.len].iter().position(|e| e.0 == edge);
        if known.is_some() {
            return known;
        }
        *self.edges.get_mut(self.len)? = (edge, 0);
        self.len += 1;
        Some(self.len - 1)
    }
    /// Counts for the lookup as if it had been called; the number of packets passed.
    pub fn end<N: Node>(&self, packets: &mut Passes<'_, N>, lookup: u32) -> u64 {
        let taken = &self.edges[..self.len];
        taken.iter().for_each(|(edge, n)| packets.sent(lookup, *edge, *n));
        taken.iter().map(|(_, n)| n).sum()
    }
}

impl<V: Version> Pass<'_, V> {
    /// Sends the packets of a block to the object that the leaf of all leads to.
    #[inline(never)]
    pub(super) fn send_to<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        block: Range<usize>,
        plain: u64,
        (leaf, object): (u32, Object),
    ) {
        let edge = self.through.objects.slot(object.kind, self.epoch);
        let place = edge.and_then(|edge| self.objects.place(edge));
        let node = edge.and_then(|edge| packets.ahead().1.target(self.nodes.lookup, edge));
        let (Some(place), Some(node)) = (place, node) else { return packets.leave(block) };
        let mut run = Volume::default();
        packets.usual_beyond(
            block,
            #[inline(always)]
            |ahead, i, p| {
                if plain >> (i % BLOCK) & 1 == 0 {
                    return None;
                }
                if p.rx() != self.ingress.rx {
                    self.enter_by(ahead, p.rx());
                }
                let len = p.len() - ETHERNET;
                enter(p, self.ingress.fib?)?;
                p.set_adjacency(object.index);
                self.ingress.packets += 1;
                run += Volume { packets: 1, bytes: len as u64 };
                Some(node)
            },
        );
        self.objects.edges[place].1 += run.packets;
        count(self.routes, leaf, run);
    }
}
