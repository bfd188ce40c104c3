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
