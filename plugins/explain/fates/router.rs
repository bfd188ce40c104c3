//! Routed packets, ARP and neighbour discovery, tunnels and labels.

use super::packets::{THROUGH4, THROUGH6, inner4, inner6, layer2, received, tunnelled};
use super::{TO_US, hex, lab, meet, packet};

#[test]
fn packets_of_all_kinds_meet_what_is_explained() {
    let mut bench = lab("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\n\
         ip route add 17.0.0.0/8 drop\n\
         ip route add 18.0.0.0/8 unreachable\n\
         ip route add 19.0.0.0/8 prohibit\n\
         ip route add 20.0.0.0/8 via 10.0.0.2 pg0\n\
         ip6 route add 2001:db8:20::/48 via 2001:db8::2 pg0\n\
         ip6 route add 2001:db8:f::/48 via 2001:db8:1::2 pg1\n\
         ip6 route add 2001:db8:e::/48 drop\n\
         ip6 route add 2001:db8:d::/48 unreachable\n\
         ip route add 21.0.0.0/8 via rx-ip4 pg1\n\
         ip6 route add 2001:db8:c::/48 via rx-ip6 pg1\n\
         ip mroute add 232.0.0.1 via pg0 Accept Forward\n\
         ip6 mroute add ff3e::1/128 via pg0 Accept Forward\n\
         ip mroute add 224.0.0.77 via pg0 Accept via pg1 Forward\n\
         ip6 mroute add ff02::77/128 via pg0 Accept via pg1 Forward\n\
         set interface mtu packet 1300 pg1");
    let ip4: &[&str] = &[
        "bad_checksum",
        "bad_length",
        "too_short",
        "version",
        "time_expired",
        "mtu_exceeded",
        "hdr_too_short",
        "fragment_offset_one",
        "src_lookup_miss",
    ];
    meet(
        &mut bench,
        "pg0",
        &received(),
        &[
            ("ip4-input", ip4),
            ("ethernet-input", &["l3 mac mismatch", "unknown vlan", "unknown ethernet type"]),
        ],
    );
}

#[test]
fn links_without_addresses_refuse_what_is_explained() {
    let mut bench = lab("set interface proxy-arp pg3 enable");
    let all: Vec<_> = layer2().into_iter().chain([packet(THROUGH4), packet(THROUGH6)]).collect();
    let reasons: &[(&str, &[&str])] = &[
        ("arp-input", &["l2_type_not_ethernet", "l3_type_not_ip4", "l3_dst_address_unset"]),
        ("arp-disabled", &["disabled"]),
        ("ip4-not-enabled", &["not_enabled"]),
        ("ip6-not-enabled", &["not_enabled"]),
        ("llc-input", &["control != 0x3", "unknown llc ssap/dsap"]),
        ("snap-input", &["unknown oui/snap protocol"]),
        ("ethernet-input", &["unknown vlan", "unknown ethernet type", "too short"]),
    ];
    let to = |packets: &[Vec<u8>], mac: u8| -> Vec<_> {
        let mut all = packets.to_vec();
        all.iter_mut().filter(|p| p[0] & 1 == 0).for_each(|p| p[5] = mac);
        all
    };
    meet(&mut bench, "pg2", &to(&all, 0xac), reasons);
    let proxied: &[&str] = &["l3_dst_address_not_local"];
    meet(&mut bench, "pg3", &to(&all[..7], 0xad), &[("arp-proxy", proxied)]);
}

#[test]
fn tunnels_meet_what_is_explained() {
    let mut bench = lab("ip route add 20.0.0.0/8 via 10.0.0.2 pg0\n\
         ip6 route add 2001:db8:20::/48 via 2001:db8::2 pg0\n\
         create gre tunnel src 10.0.0.1 dst 20.0.0.1\n\
         create gre tunnel src 2001:db8::1 dst 2001:db8:20::1\n\
         create gre tunnel src 10.0.0.1 dst 20.0.0.2 teb\n\
         create ipip tunnel src 10.0.0.1 dst 20.0.0.1\n\
         create ipip tunnel src 2001:db8::1 dst 2001:db8:20::1\n\
         create vxlan tunnel src 10.0.0.1 dst 20.0.0.1 vni 7\n\
         create vxlan tunnel src 2001:db8::1 dst 2001:db8:20::1 vni 7\n\
         set interface state gre0 up\n\
         set interface state gre1 up\n\
         set interface state ipip0 up\n\
         set interface state ipip1 up\n\
         enable ip4 interface gre0\n\
         enable ip4 interface ipip0\n\
         enable ip6 interface gre1\n\
         mpls table add 0\n\
         set interface mpls pg0 enable\n\
         set interface mpls pg1 enable\n\
         mpls local-label add 100 eos via 10.0.1.2 pg1 out-labels 200\n\
         mpls local-label add 101 eos via ip4-lookup-in-table 0\n\
         mpls local-label add 102 eos via ip6-lookup-in-table 0\n\
         mpls local-label add 103 eos via 10.0.1.2 pg1 out-labels implicit-null uniform\n\
         mpls local-label add 104 non-eos via 10.0.1.2 pg1 out-labels 200\n\
         mpls local-label add 105 eos via 2001:db8:1::2 pg1 out-labels implicit-null uniform\n\
         mpls local-label add 108 eos via ip4-lookup-in-table 0 rpf-id 55\n\
         mpls local-label add 107 non-eos via mpls-lookup-in-table 0\n\
         mpls local-label add 106 eos via 10.0.1.77 pg1 out-labels 200\n\
         set interface mtu packet 1300 pg1\n\
         ip route add 30.0.0.0/8 via 10.0.1.2 pg1 out-labels 300\n\
         ip6 route add 3000::/16 via 2001:db8:1::2 pg1 out-labels 300");
    let mut all = tunnelled();
    let (ip4, ip6) = (inner4(), inner6());
    let labelled = |label: u32, rest: &str| {
        let entry = label << 12 | 0x140;
        packet(&format!("hex 0x0200000000aa0200000000018847{entry:08x}{rest}"))
    };
    for label in [100, 101, 103, 106, 199] {
        all.push(labelled(label, &ip4));
    }
    all.extend([102, 105].map(|label| labelled(label, &ip6)));
    all.push(labelled(100, &"11".repeat(1400)));
    // At the end of their life, and no label where one more is announced.
    let late4 = hex(&format!("IP4: {TO_US} UDP: 10.0.9.2 -> 10.0.1.2 ttl 1 UDP: 1 -> 2"), 14);
    let dead4 = hex(&format!("IP4: {TO_US} UDP: 10.0.9.2 -> 10.0.1.2 ttl 0 UDP: 1 -> 2"), 14);
    let late6 = format!("{}01{}", &ip6[..14], &ip6[16..]);
    let dead6 = format!("{}00{}", &ip6[..14], &ip6[16..]);
    for label in [101, 103, 108] {
        all.extend([&late4, &dead4].map(|rest| labelled(label, rest)));
    }
    for label in [102, 105] {
        all.extend([&late6, &dead6].map(|rest| labelled(label, rest)));
    }
    all.push(packet("hex 0x0200000000aa02000000000188470006b040"));
    meet(
        &mut bench,
        "pg0",
        &all,
        &[
            ("gre4-input", &["unsupported version", "unknown protocol"]),
            ("gre6-input", &["unsupported version", "unknown protocol"]),
            ("mpls-input", &["no_label", "ttl_expired"]),
            ("mpls-lookup", &["drop"]),
            ("mpls-frag", &["malformed"]),
            ("mpls-adj-incomplete", &["drop"]),
        ],
    );
}
