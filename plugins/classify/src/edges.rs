//! Edges by number: where tables send packets of routes, and frames.
//!
//! The first numbers are those that clients know; others were returned by `add_node_next`.
#![forbid(unsafe_code)]

use graph::Edge;
use graph::arc::Along;
use net::prelude::*;

use super::NONE;

/// Words for the numbers that packets of routes know, and those of `EDGES`.
pub(super) const ROUTED_WORDS: [(&str, u32); 3] = [("drop", 0), ("local", 2), ("rewrite", 5)];
/// The same for frames.
pub(super) const FRAME_WORDS: [(&str, u32); 4] =
    [("drop", 0), ("ethernet", 1), ("ip4", 2), ("ip6", 3)];

/// A version whose packets have a route that leads to a table.
pub trait Numbered: Version {
    /// The edges that clients know by number.
    const EDGES: &'static [Edge];
}

const fn to(node: &'static str) -> Edge {
    Edge { to: node, payload: "" }
}

impl Numbered for V4 {
    const EDGES: &'static [Edge] = &[
        to("ip4-drop"),
        to("ip4-punt"),
        to("ip4-receive"),
        to("ip4-arp"),
        to("ip4-glean"),
        to("ip4-rewrite"),
        to("ip4-midchain"),
        to("ip4-rewrite-mcast"),
    ];
}

impl Numbered for V6 {
    const EDGES: &'static [Edge] = &[
        to("ip6-drop"),
        to("ip6-punt"),
        to("ip6-receive"),
        to("ip6-discover-neighbor"),
        to("ip6-glean"),
        to("ip6-rewrite"),
        to("ip6-midchain"),
        to("ip6-rewrite-mcast"),
    ];
}

/// The edge that a table names for a packet of a route.
#[derive(Clone, Copy)]
pub struct RoutedNext<V>(u32, PhantomData<V>);

impl<V> RoutedNext<V> {
    /// Without a next node packets are dropped.
    #[inline(always)]
    pub(super) fn numbered(number: u32) -> Option<Self> {
        (number != 0 && number != NONE).then_some(Self(number, PhantomData))
    }
}

impl<V: Numbered> graph::Next for RoutedNext<V> {
    const EDGES: &'static [Edge] = V::EDGES;
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        self.0
    }
}

/// Edges of `l2-input-classify`.
#[derive(Clone, Copy, graph::Next)]
pub enum ReceivedNext {
    /// Dropped.
    #[to("error-drop")]
    Drop,
    /// As if the interface were not bridged.
    #[to("ethernet-input-not-l2")]
    Ethernet,
    /// To IPv4.
    #[to("ip4-input")]
    Ip4,
    /// To IPv6.
    #[to("ip6-input")]
    Ip6,
    /// To what a client has connected.
    #[dynamic]
    To(Slot),
    /// On along the features.
    #[along]
    On,
}

impl ReceivedNext {
    #[inline(always)]
    pub(super) fn numbered(number: u32) -> Option<Self> {
        match number {
            0 => None,
            NONE => Some(Self::On),
            _ => Some(Self::To(Slot(number))),
        }
    }
}

/// Edges of `l2-output-classify`.
#[derive(Clone, Copy, graph::Next)]
pub enum SentNext {
    /// Dropped.
    #[to("error-drop")]
    Drop,
    /// To what a client has connected.
    #[dynamic]
    To(Slot),
    /// On along the features.
    #[along]
    On,
}

impl SentNext {
    #[inline(always)]
    pub(super) fn numbered(number: u32) -> Option<Self> {
        match number {
            0 => None,
            NONE => Some(Self::On),
            _ => Some(Self::To(Slot(number))),
        }
    }
}
