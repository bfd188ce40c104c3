//! Feature arcs of IPv6. The orders are those that configurations rely on.
#![forbid(unsafe_code)]

use graph::arc::{FeatureArc, Side};

/// All arcs of IPv6.
pub(super) const ALL: [&FeatureArc; 6] =
    [&IP6_DROP, &IP6_PUNT, &IP6_LOCAL, &IP6_OUTPUT, &IP6_MULTICAST, &IP6_UNICAST];

/// Features on received unicast packets, before the lookup.
pub static IP6_UNICAST: FeatureArc = FeatureArc {
    name: "ip6-unicast",
    starts: &["ip6-input"],
    order: &[
        "ip6-vxlan-gpe-bypass",
        "ip6-rx-urpf-loose",
        "ip6-rx-urpf-strict",
        "ip6-sv-reassembly-feature",
        "ip6-full-reassembly-feature",
        "ip6-punt-test",
        "pcap-filtering",
        "trace-filtering",
        "svs-ip6",
        "srv6-end-m-gtp6-dt",
        "srv6-end-m-gtp6-d-di",
        "srv6-end-m-gtp6-d",
        "srv6-end-m-gtp6-e",
        "srv6-end-m-gtp4-e",
        "srv6-as6-rewrite",
        "srv6-am-rewrite",
        "srv6-ad6-flow-rewrite",
        "srv6-ad6-rewrite",
        "sfdp-interface-input-ip6",
        "ip6-pvti-bypass",
        "policer-input",
        "nat66-out2in",
        "nat66-in2out",
        "nat64-in2out-handoff",
        "nat64-in2out",
        "ip6-map-t",
        "ip6-map",
        "flowprobe-input-ip6",
        "cnat-lookup-ip6",
        "cnat-input-ip6",
        "acl-plugin-in-ip6-fa",
        "ip6-flow-classify",
        "ip6-inacl",
        "ip6-policer-classify",
        "tcp-mss-clamping-ip6-in",
        "lb-nat6-in2out",
        "l3xc-input-ip6",
        "sir-to-ila",
        "hsi6-in",
        "ip6-gtpu-bypass",
        "ct6-out2in",
        "cnat-snat-ip6-return",
        "cnat-snat-ip6",
        "abf-input-ip6",
        "ip6-unicast-nd-proxy",
        "ip6-qos-store",
        "vlan-ip6-qos-record",
        "ip6-qos-record",
        "ip6-not-enabled",
        "ipsec6-input-feature",
        "l2tp-decap",
        "vpath-input-ip6",
        "ip6-vxlan-bypass",
    ],
    end: "ip6-lookup",
    side: Side::Receive,
};

/// Features on received multicast packets, before the lookup.
pub static IP6_MULTICAST: FeatureArc = FeatureArc {
    name: "ip6-multicast",
    starts: &["ip6-input"],
    order: &[
        "vrrp6-accept-owner-input",
        "flowprobe-input-ip6",
        "ip6-multicast-nd-proxy",
        "ip6-qos-store",
        "vlan-ip6-qos-record",
        "ip6-qos-record",
        "ip6-sv-reassembly-mcast-feature",
        "ip6-not-enabled",
        "vpath-input-ip6",
    ],
    end: "ip6-mfib-forward-lookup",
    side: Side::Receive,
};

/// Features on packets that are sent, the layer 2 header in front.
pub static IP6_OUTPUT: FeatureArc = FeatureArc {
    name: "ip6-output",
    starts: &["ip6-rewrite", "ip6-rewrite-mcast", "ip6-midchain", "ip6-dvr-dpo"],
    order: &[
        "acl-plugin-out-ip6-fa",
        "cnat-output-ip6",
        "cnat-writeback-ip6",
        "gso-ip6",
        "wg6-output-tun",
        "ip6-tx-urpf-strict",
        "ip6-tx-urpf-loose",
        "policer-output",
        "tcp-mss-clamping-ip6-out",
        "hsi6-out",
        "flowprobe-output-ip6",
        "ip6-qos-mark",
        "vlan-ip6-qos-mark",
        "ip6-dvr-reinject",
        "pt",
        "ip6-sv-reassembly-output-feature",
        "ip6-outacl",
        "ipsec6-output-feature",
    ],
    end: "interface-output",
    side: Side::Transmit,
};

/// Features on packets for this router.
pub static IP6_LOCAL: FeatureArc = FeatureArc {
    name: "ip6-local",
    starts: &["ip6-receive"],
    order: &["vrrp6-nd-input", "arping6-input"],
    end: "ip6-local-end-of-arc",
    side: Side::Receive,
};

/// Features on packets that are dropped.
pub static IP6_DROP: FeatureArc = FeatureArc {
    name: "ip6-drop",
    starts: &["ip6-drop"],
    order: &[],
    end: "error-drop",
    side: Side::Receive,
};

/// Features on packets that are given to control. It begins at `ip6-punt`; `ip6-local` looks only
/// whether there are any.
pub static IP6_PUNT: FeatureArc = FeatureArc {
    name: "ip6-punt",
    starts: &["ip6-punt", "ip6-local", "ip6-icmp-input"],
    order: &[
        "ip6-session-icmp-error",
        "stn-ip6-punt",
        "ip6-punt-acl",
        "ip6-punt-policer",
        "ip6-punt-redirect",
    ],
    end: "error-punt",
    side: Side::Receive,
};
