//! Places of reassembly: arcs, kinds and node names.
#![forbid(unsafe_code)]

use graph::arc::FeatureArc;

use super::Kind;
use crate::ip4::{IP4_MULTICAST, IP4_OUTPUT, IP4_UNICAST};
use crate::ip6::{IP6_MULTICAST, IP6_OUTPUT, IP6_UNICAST};

/// Fragments that an interface receives are put together.
pub(super) const RECEIVED: usize = 0;
/// Fragments for this router are put together.
pub(super) const LOCAL: usize = 1;
/// Fragments that an interface receives follow the first one.
pub(super) const UNICAST: usize = 2;
/// So do those to groups.
pub(super) const GROUP: usize = 3;
/// So do those that an interface sends.
pub(super) const SENT: usize = 4;
/// Fragments that a feature sends are put together, those inside IPv6 packets too.
pub(super) const CUSTOM: usize = 5;
/// As there, but the packet is received again.
pub(super) const AGAIN: usize = 6;

/// One place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The kind of reassembly there.
    pub(super) kind: Kind,
    /// The arc its nodes are features of, of IPv4 and IPv6; `None` for fragments for this router
    /// and those of features.
    pub(super) arcs: Option<[&'static FeatureArc; 2]>,
    /// The nodes of IPv4 and IPv6.
    pub(super) nodes: [&'static str; 2],
    /// The nodes that hand fragments to the thread where the others of their packet are.
    pub(super) handoffs: [&'static str; 2],
}

/// All places; the constants above are positions.
pub(super) const PLACES: [Place; 7] = [
    Place {
        kind: Kind::Full,
        arcs: Some([&IP4_UNICAST, &IP6_UNICAST]),
        nodes: ["ip4-full-reassembly-feature", "ip6-full-reassembly-feature"],
        handoffs: ["ip4-full-reass-feature-hoff", "ip6-full-reass-feature-hoff"],
    },
    Place {
        kind: Kind::Full,
        arcs: None,
        nodes: ["ip4-local-full-reassembly", "ip6-local-full-reassembly"],
        handoffs: ["ip4-local-full-reassembly-handoff", "ip6-local-full-reassembly-handoff"],
    },
    Place {
        kind: Kind::Shallow,
        arcs: Some([&IP4_UNICAST, &IP6_UNICAST]),
        nodes: ["ip4-sv-reassembly-feature", "ip6-sv-reassembly-feature"],
        handoffs: ["ip4-sv-reass-feature-hoff", "ip6-sv-reass-feature-hoff"],
    },
    Place {
        kind: Kind::Shallow,
        arcs: Some([&IP4_MULTICAST, &IP6_MULTICAST]),
        nodes: ["ip4-sv-reassembly-mcast-feature", "ip6-sv-reassembly-mcast-feature"],
        handoffs: ["ip4-sv-reass-mcast-feature-hoff", "ip6-sv-reass-mcast-feature-hoff"],
    },
    Place {
        kind: Kind::Shallow,
        arcs: Some([&IP4_OUTPUT, &IP6_OUTPUT]),
        nodes: ["ip4-sv-reassembly-output-feature", "ip6-sv-reassembly-output-feature"],
        handoffs: ["ip4-sv-reass-output-feature-hoff", "ip6-sv-reass-output-feature-hoff"],
    },
    Place {
        kind: Kind::Full,
        arcs: None,
        nodes: ["ip4-full-reassembly-custom", "ip6-full-reassembly-custom"],
        handoffs: ["ip4-full-reass-custom-hoff", "ip6-full-reass-custom-hoff"],
    },
    Place {
        kind: Kind::Full,
        arcs: None,
        nodes: ["ip4-full-reassembly-again", "ip6-full-reassembly-again"],
        handoffs: ["ip4-full-reass-again-hoff", "ip6-full-reass-again-hoff"],
    },
];

/// Names beside those of the nodes under which clients look up the counters of IPv4: of the
/// processes that give up, and of reassembly that other features send packets to.
pub(super) const COUNTED4: [&str; 6] = [
    "ip4-full-reassembly",
    "ip4-full-reassembly-expire-walk",
    "ip4-sv-reassembly",
    "ip4-sv-reassembly-custom-context",
    "ip4-sv-reassembly-custom-next",
    "ip4-sv-reassembly-expire-walk",
];
/// Names of the counters of IPv6.
pub(super) const COUNTED6: [&str; 5] = [
    "ip6-full-reassembly",
    "ip6-full-reassembly-expire-walk",
    "ip6-sv-reassembly",
    "ip6-sv-reassembly-custom-context",
    "ip6-sv-reassembly-expire-walk",
];
