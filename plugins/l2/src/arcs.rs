//! The bitmaps in which clients name the features of layer 2, and the arcs behind them.

use graph::arc::FeatureArc;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::{InterfaceIndex, Router};

/// Features by their bit in the bitmaps of clients; bits without a node of ours are empty.
const INPUT_BITS: [&str; 20] = [
    "",
    "l2-output",
    "l2-flood",
    "",
    "arp-term-l2bd",
    "",
    "l2-uu-fwd",
    "l2-fwd",
    "l2-rw",
    "l2-learn",
    "sr-pl-rewrite-encaps-l2",
    "l2-input-vtr",
    "l2-ip-qos-record",
    "vpath-input-l2",
    "l2-input-acl",
    "l2-policer-input",
    "l2-policer-classify",
    "l2-input-feat-arc",
    "l2-input-classify",
    "span-l2-input",
];
const OUTPUT_BITS: [&str; 14] = [
    "",
    "span-l2-output",
    "",
    "",
    "l2-output-acl",
    "",
    "l2-efp-filter",
    "",
    "",
    "",
    "l2-output-classify",
    "l2-output-feat-arc",
    "l2-xcrw",
    "l2-policer-output",
];

/// Bits of the bitmap of input features that domains and interfaces switch.
pub mod input {
    /// Drops all.
    pub const DROP: u32 = 1;
    /// Cross-connected.
    pub const XCONNECT: u32 = 1 << 1;
    /// Broadcasts and multicasts are flooded.
    pub const FLOOD: u32 = 1 << 2;
    /// ARP requests that nothing answers go to the interface for unknown addresses.
    pub const ARP_UFWD: u32 = 1 << 3;
    /// ARP requests are answered.
    pub const ARP_TERM: u32 = 1 << 4;
    /// Frames for unknown addresses are flooded.
    pub const UU_FLOOD: u32 = 1 << 5;
    /// Frames for unknown addresses go to one interface.
    pub const UU_FWD: u32 = 1 << 6;
    /// Frames for known addresses are forwarded.
    pub const FWD: u32 = 1 << 7;
    /// Addresses are learned.
    pub const LEARN: u32 = 1 << 9;
    /// All that are the port's or the domain's.
    pub const OWN: u32 = FLOOD | ARP_UFWD | ARP_TERM | UU_FLOOD | UU_FWD | FWD | LEARN;
}

/// Bits of the bitmap of output features that keep an interface from sending.
pub const BLOCKING: u32 = 1 << 8 | 1 << 9;

/// The bits of a bitmap whose features are on for an interface.
pub fn bits_on(router: &Router, arc: &FeatureArc, interface: InterfaceIndex) -> u32 {
    let all = router.engine.features_of(interface.0);
    let on = all.into_iter().find(|(name, _)| *name == arc.name).map(|(_, on)| on);
    let on = on.unwrap_or_default();
    let bits = names(arc).iter().enumerate().filter(|(_, name)| on.contains(name));
    bits.fold(0, |bits, (bit, _)| bits | 1 << bit)
}

/// Enables or disables the existing features of some bits on an interface.
pub fn switch(
    router: &mut Router,
    arc: &'static FeatureArc,
    interface: InterfaceIndex,
    bits: u32,
    on: bool,
) {
    let is_named = |(bit, name): &(usize, &&str)| bits >> bit & 1 == 1 && !name.is_empty();
    for (_, name) in names(arc).iter().enumerate().filter(is_named) {
        // Many a feature has a bit and no node here.
        let _ = router.engine.set_feature(arc, name, interface.0, on);
    }
}

/// Names of input features by bit, as listings have them.
const INPUT_NAMES: [&str; INPUT_BITS.len()] = [
    "DROP",
    "XCONNECT",
    "FLOOD",
    "ARP_UFWD",
    "ARP_TERM",
    "UU_FLOOD",
    "UU_FWD",
    "FWD",
    "RW",
    "LEARN",
    "SRV6",
    "VTR",
    "L2_IP_QOS_RECORD",
    "VPATH",
    "ACL",
    "POLICER",
    "POLICER_CLAS",
    "INPUT_FEAT_ARC",
    "INPUT_CLASSIFY",
    "SPAN",
];

/// Input features in a bitmap and their nodes, as they are met.
pub fn input_features(bits: u32) -> Vec<(&'static str, &'static str)> {
    let node = |bit| match (bit, INPUT_BITS[bit]) {
        (3, "") => "l2-uu-fwd",
        (5, "") => "l2-flood",
        (_, name) => name,
    };
    let all = (0..INPUT_BITS.len()).rev().filter(|bit| bits >> bit & 1 == 1);
    all.map(|bit| (INPUT_NAMES[bit], node(bit))).filter(|(_, node)| !node.is_empty()).collect()
}

fn names(arc: &FeatureArc) -> &'static [&'static str] {
    debug_assert!([L2_INPUT.name, L2_OUTPUT.name].contains(&arc.name));
    if arc.name == L2_INPUT.name { &INPUT_BITS } else { &OUTPUT_BITS }
}
