//! Packets to objects of features on the fast path: they pass `ethernet-input`, the input and the
//! lookup of their version in one go, and wait for the node of the object's kind.

use std::ops::Range;

use graph::{BLOCK, Node, Passes, Slot};
use infra::counter::Volume;

use super::entry::enter;
use super::few::Few;
use super::through::{ETHERNET, Pass};
use crate::fib::{Object, count};
use crate::ip::Version;

/// Kinds of objects at most that packets of one frame wait for; others go node by node.
const MOST_KINDS: usize = 4;

/// Edges of the lookup to the nodes of objects, and packets that took them.
#[derive(Clone, Copy)]
pub(super) struct ToObjects(Few<(Slot, u64), MOST_KINDS>);

impl ToObjects {
    /// None taken yet.
    pub const NONE: Self = Self(Few::new((Slot(0), 0)));

    /// Counts for the lookup as if it had been called; the number of packets passed.
    pub fn end<N: Node>(&self, packets: &mut Passes<'_, N>, lookup: u32) -> u64 {
        self.0.iter().for_each(|(edge, n)| packets.sent(lookup, *edge, *n));
        self.0.iter().map(|(_, n)| n).sum()
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
        let place = edge.and_then(|edge| self.objects.0.place(|taken| taken.0 == edge, (edge, 0)));
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
        self.objects.0.at(place).into_iter().for_each(|taken| taken.1 += run.packets);
        count(self.routes, leaf, run);
    }
}
