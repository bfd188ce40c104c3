//! Edges of nodes whose packets leave by a load balance of their feature's.

use graph::arc::Along;
use graph::{Buffer, Edge, Next};

use crate::adjacency::Link;

/// A kind of packets, which has a link.
pub trait Linked: Copy + Send + Sync + 'static {
    /// The link.
    const LINK: Link;
}

/// The next node of a packet, whose adjacency is the load balance where it takes that.
#[derive(Clone, Copy)]
pub enum Balanced<K> {
    /// As the load balance says.
    Onward(K),
    /// To the next feature.
    Continue,
}

impl<K: Linked> Next for Balanced<K> {
    const EDGES: &'static [Edge] = &[Edge { to: K::LINK.load_balance_node(), payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Onward(_) => 0,
            Self::Continue => along.next(p),
        }
    }
}
