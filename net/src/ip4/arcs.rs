//! Feature arcs of IPv4. The orders are those that configurations rely on.
#![forbid(unsafe_code)]

use graph::arc::{FeatureArc, Side};

/// All arcs of IPv4.
pub(super) const ALL: [&FeatureArc; 6] =
    [&IP4_DROP, &IP4_PUNT, &IP4_LOCAL, &IP4_OUTPUT, &IP4_MULTICAST, &IP4_UNICAST];

/// Features on received unicast packets, before the lookup.
pub static IP4_UNICAST: FeatureArc = FeatureArc {
    name: "ip4-unicast",
    starts: &["ip4-input", "ip4-input-no-checksum"],
    order: &[
        "ip4-vxlan-gpe-bypass",
        "ip4-rx-urpf-loose",
        "ip4-rx-urpf-strict",
        "ip4-full-reassembly-feature",
        "ip4-sv-reassembly-feature",
        "ip4-punt-test",
        "pcap-filtering",
        "trace-filtering",
        "svs-ip4",
        "srv6-t-m-gtp4-dt",
        "srv6-t-m-gtp4-d",
        "srv6-as4-rewrite",
        "srv6-ad4-flow-rewrite",
        "srv6-ad4-rewrite",
        "sfdp-geneve-input",
        "sfdp-interface-input-ip4",
        "nat-external-input",
        "ip4-pvti-bypass",
        "policer-input",
        "pnat-input",
        "ip4-dhcp-client-detect",
        "cnat-lookup-ip4",
        "cnat-input-ip4",
        "acl-plugin-in-ip4-fa",
        "nat44-ed-out2in",
        "nat44-ed-in2out",
        "nat44-out2in-worker-handoff",
        "nat44-in2out-worker-handoff",
        "nat44-handoff-classify",
        "nat44-ed-classify",
        "nat-pre-out2in",
        "nat-pre-in2out",
        "nat64-out2in-handoff",
        "nat64-out2in",
        "nat44-ei-out2in-worker-handoff",
        "nat44-ei-in2out-worker-handoff",
        "nat44-ei-out2in",
        "nat44-ei-in2out",
        "nat44-ei-handoff-classify",
        "nat44-ei-classify",
        "ip4-map-t",
        "ip4-map",
        "flowprobe-input-ip4",
        "ip4-source-and-port-range-check-rx",
        "ip4-flow-classify",
        "ip4-inacl",
        "ip4-policer-classify",
        "tcp-mss-clamping-ip4-in",
        "lb-nat4-in2out",
        "l3xc-input-ip4",
        "hsi4-in",
        "ip4-gtpu-bypass",
        "det44-out2in",
        "det44-in2out",
        "cnat-snat-ip4-return",
        "cnat-snat-ip4",
        "abf-input-ip4",
        "ip4-qos-store",
        "vlan-ip4-qos-record",
        "ip4-qos-record",
        "ip4-not-enabled",
        "ipsec4-input-feature",
        "vpath-input-ip4",
        "ip4-vxlan-bypass",
    ],
    end: "ip4-lookup",
    side: Side::Receive,
};

/// Features on received multicast packets, before the lookup.
pub static IP4_MULTICAST: FeatureArc = FeatureArc {
    name: "ip4-multicast",
    starts: &["ip4-input", "ip4-input-no-checksum"],
    order: &[
        "vrrp4-accept-owner-input",
        "flowprobe-input-ip4",
        "ip4-qos-store",
        "vlan-ip4-qos-record",
        "ip4-qos-record",
        "ip4-sv-reassembly-mcast-feature",
        "ip4-not-enabled",
        "vpath-input-ip4",
    ],
    end: "ip4-mfib-forward-lookup",
    side: Side::Receive,
};

/// Features on packets that are sent, the layer 2 header in front.
pub static IP4_OUTPUT: FeatureArc = FeatureArc {
    name: "ip4-output",
    starts: &["ip4-rewrite", "ip4-rewrite-mcast", "ip4-midchain", "ip4-dvr-dpo"],
    order: &[
        "ip4-sv-reassembly-output-feature",
        "nat44-ed-in2out-output",
        "nat44-in2out-output-worker-handoff",
        "nat-pre-in2out-output",
        "acl-plugin-out-ip4-fa",
        "cnat-output-ip4",
        "cnat-writeback-ip4",
        "gso-ip4",
        "wg4-output-tun",
        "ip4-tx-urpf-strict",
        "ip4-tx-urpf-loose",
        "policer-output",
        "pnat-output",
        "nsh-md2-ioam-encap-transit",
        "nat44-ei-in2out-output-worker-handoff",
        "nat44-ei-in2out-output",
        "tcp-mss-clamping-ip4-out",
        "vxlan-gpe-transit-ioam",
        "hsi4-out",
        "flowprobe-output-ip4",
        "ip4-qos-mark",
        "vlan-ip4-qos-mark",
        "ip4-dvr-reinject",
        "ip4-source-and-port-range-check-tx",
        "ip4-outacl",
        "ipsec4-output-feature",
    ],
    end: "interface-output",
    side: Side::Transmit,
};

/// Features on packets for this router.
pub static IP4_LOCAL: FeatureArc = FeatureArc {
    name: "ip4-local",
    starts: &["ip4-receive"],
    order: &["nat44-ei-hairpinning", "syn-filter-4"],
    end: "ip4-local-end-of-arc",
    side: Side::Receive,
};

/// Features on packets that are dropped.
pub static IP4_DROP: FeatureArc = FeatureArc {
    name: "ip4-drop",
    starts: &["ip4-drop"],
    order: &[],
    end: "error-drop",
    side: Side::Receive,
};

/// Features on packets that are given to control. It begins at `ip4-punt`; `ip4-local` and
/// `ip4-icmp-input` look only whether there are any.
pub static IP4_PUNT: FeatureArc = FeatureArc {
    name: "ip4-punt",
    starts: &["ip4-punt", "ip4-local", "ip4-icmp-input"],
    order: &[
        "ip4-session-icmp-error",
        "stn-ip4-punt",
        "ip4-punt-acl",
        "ip4-punt-policer",
        "ip4-punt-redirect",
    ],
    end: "error-punt",
    side: Side::Receive,
};
