//! Features of layer 2: nodes that the frames of an interface meet while they are bridged or
//! cross-connected ([`Mode`](crate::interface::Mode)), on input and on output. Any feature may put
//! a node on these arcs: it passes frames on with [`graph::Continue`], and is switched on for an
//! interface as on any arc. Frames have their whole header; its length with tags is the distance of
//! the offsets of layers 2 and 3.

use graph::arc::{FeatureArc, Side};

/// Features of received frames. Which of them a frame meets is decided in `l2-input`.
pub static L2_INPUT: FeatureArc = FeatureArc {
    name: "l2-input",
    starts: &["l2-input"],
    order: &[
        "span-l2-input",
        "l2-input-classify",
        "l2-input-feat-arc",
        "l2-policer-classify",
        "l2-policer-input",
        "l2-input-acl",
        "vpath-input-l2",
        "l2-ip-qos-record",
        "l2-input-vtr",
        "sr-pl-rewrite-encaps-l2",
        "l2-learn",
        "l2-rw",
        "l2-fwd",
        "arp-term-l2bd",
        "l2-uu-fwd",
        "l2-flood",
        "l2-output",
    ],
    end: "feature-bitmap-drop",
    side: Side::Carried,
};

/// Features of frames to be sent, whose tags are rewritten already.
pub static L2_OUTPUT: FeatureArc = FeatureArc {
    name: "l2-output",
    starts: &["l2-output"],
    order: &[
        "l2-xcrw",
        "l2-output-feat-arc",
        "l2-output-classify",
        "l2-policer-output",
        "l2-efp-filter",
        "l2-output-acl",
        "span-l2-output",
    ],
    end: "interface-output",
    side: Side::Transmit,
};

macro_rules! by_protocol {
    ($($(#[$about:meta])* $arc:ident, $name:literal, $start:literal, $side:ident, $end:literal,
        [$($feature:literal),*];)*) => {$(
        $(#[$about])*
        pub static $arc: FeatureArc = FeatureArc {
            name: $name,
            starts: &[$start],
            order: &[$($feature),*],
            end: $end,
            side: Side::$side,
        };
    )*};
}

by_protocol! {
    /// Features of received frames with IPv4, where `l2-input-feat-arc` is on.
    L2_INPUT_IP4, "l2-input-ip4", "l2-input-feat-arc", Receive, "l2-input-feat-arc-end",
        ["acl-plugin-in-ip4-l2"];
    /// Features of received frames with IPv6.
    L2_INPUT_IP6, "l2-input-ip6", "l2-input-feat-arc", Receive, "l2-input-feat-arc-end",
        ["acl-plugin-in-ip6-l2"];
    /// Features of other received frames.
    L2_INPUT_NONIP, "l2-input-nonip", "l2-input-feat-arc", Receive, "l2-input-feat-arc-end",
        ["acl-plugin-in-nonip-l2"];
    /// Features of frames with IPv4 to be sent, where `l2-output-feat-arc` is on.
    L2_OUTPUT_IP4, "l2-output-ip4", "l2-output-feat-arc", Transmit, "l2-output-feat-arc-end",
        ["acl-plugin-out-ip4-l2", "gso-l2-ip4"];
    /// Features of frames with IPv6 to be sent.
    L2_OUTPUT_IP6, "l2-output-ip6", "l2-output-feat-arc", Transmit, "l2-output-feat-arc-end",
        ["acl-plugin-out-ip6-l2", "gso-l2-ip6"];
    /// Features of other frames to be sent.
    L2_OUTPUT_NONIP, "l2-output-nonip", "l2-output-feat-arc", Transmit, "l2-output-feat-arc-end",
        ["acl-plugin-out-nonip-l2"];
}
