//! Edges of nodes whose packets leave by a load balance of their feature's.

use crate::adjacency::Link;

/// A kind of packets, which has a link.
pub trait Linked: Copy + Send + Sync + 'static {
    /// The link.
    const LINK: Link;
}

/// The next node of a packet, whose adjacency is the load balance where it takes that.
#[derive(Clone, Copy, graph::Next)]
pub enum Balanced<K: Linked> {
    /// The node that follows a load balance.
    #[to(K::LINK.load_balance_node())]
    Onward(K),
    /// To the next feature.
    #[along]
    Continue,
}
