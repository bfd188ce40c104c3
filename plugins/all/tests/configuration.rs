//! The configuration of all features, printed and replayed.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use net::Feature;
use net::testing::Rig;

/// A router with all features and nothing else.
fn rig() -> Rig {
    let features: Vec<Feature> = plugins::features().copied().collect();
    Rig::new(&features)
}

/// Configures a router with `told`, and another one with its printed configuration, which must be
/// `printed`.
#[track_caller]
fn replays(told: &str, printed: &str) {
    let (mut first, mut second) = (rig(), rig());
    first.attempt(told).unwrap();
    let configuration = first.run("show configuration");
    assert_eq!(configuration, printed);
    if !printed.is_empty() {
        second.attempt(&configuration).unwrap();
    }
    assert_eq!(second.run("show configuration"), printed);
    is_replaced(&mut second, printed);
}

/// Replaces this configuration by an empty one and back.
#[track_caller]
fn is_replaced(rig: &mut Rig, printed: &str) {
    let (empty, file) = (temporary(""), temporary(printed));
    assert_eq!(rig.run(&format!("configure replace {}", empty.display())), "");
    assert_eq!(rig.run("show configuration"), "");
    assert_eq!(rig.run(&format!("configure replace {}", file.display())), "");
    // Interfaces may have other numbers, and another order then.
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(lines(&rig.run("show configuration")), lines(printed));
    for path in [empty, file] {
        std::fs::remove_file(path).unwrap();
    }
}

/// A file of a test's own.
fn temporary(text: &str) -> PathBuf {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let name = format!("ferrovia-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_router_that_was_told_nothing_prints_nothing() {
    replays("comment nothing", "");
}

/// Interfaces and tables that commands of the next test name.
const AROUND: &str = "loopback create-interface
loopback create-interface
ip table add 7
enable ip6 interface loop0
";

/// Commands that do the same with words in another order, or with other words; `; ` separates them.
const ALIKE: &[&[&str]] = &[
    &["igmp enable host loop0", "igmp host enable loop0", "igmp loop0 host enable"],
    &["set igmp group-prefix 239.1.0.0/16 ssm", "set igmp group-prefix ssm 239.1.0.0/16"],
    &[
        "qos record ip loop0",
        "qos record enable loop0 ip",
        "qos record ip loop0; qos record disable ip loop0; qos record loop0 enable ip",
    ],
    &[
        "svs table add ip4 table-id 3; svs route add 3 10.0.0.0/8 7",
        "svs table table-id 3 ip4 add; svs route src-table-id 7 10.0.0.0/8 table-id 3 add",
    ],
    &["set urpf ip6 loop0 loose", "set urpf loose loop0 ipv6"],
    &["set interface proxy-arp loop0", "set interface proxy-arp on loop0"],
    &[
        "set interface tcp-mss-clamp loop0 ip4 enable ip4-mss 1400",
        "set interface tcp-mss-clamp ip4-mss 1400 ip4 enable loop0",
    ],
    &[
        "set interface span loop0 destination loop1 both",
        "set interface span destination loop1 loop0 both",
        "set interface span both loop0 destination loop1",
    ],
    &[
        "set interface lldp loop0 port-desc x",
        "set interface lldp port-desc x loop0",
        "set interface lldp port-desc x sw_if_index 1",
    ],
    &[
        "ip punt redirect add rx all via 192.0.2.2 loop0",
        "ip punt redirect via 192.0.2.2 loop0 rx all add",
    ],
    &["vrrp vr add loop0 vr_id 3 192.0.2.9", "vrrp vr add vr_id 3 sw_if_index 1 192.0.2.9"],
    &["mactime enable-disable loop0", "mactime enable-disable sw_if_index 1"],
    &["set ct6 inside loop0", "set ct6 loop0 in"],
    &[
        "cnat translation add proto tcp vip 192.0.2.80 80 to -> 192.0.2.81 81",
        "cnat translation vip 192.0.2.80 80 proto TCP add to ->192.0.2.81 81",
    ],
    &["create pppoe cp cp-if-index loop0", "create pppoe cp add cp-if-index loop0"],
    &["adl allowlist loop0 ip4 fib-id 7", "adl allowlist fib-id 7 ip4 loop0"],
    &["lb conf buckets 2048", "lb conf buckets-log2 11"],
    &[
        "ip route add 10.0.0.0/8 via source-lookup-in-table 7",
        "ip route add 10.0.0.0/8 via src-lookup ip4-lookup-in-table 7",
    ],
    &["ip route add 10.0.0.0/8 via drop", "ip route add 10.0.0.0/8 via null"],
    &["set ip neighbor-config ip6 limit 9", "set ip neighbor-config limit 9 IPv6"],
    &[
        "create packet-generator interface pg0; packet-generator mac-filter pg0 on",
        "create packet-generator interface 0; packet-generator mac-filter enable pg0",
    ],
];
/// Commands after which everything is as before.
const TAKEN_BACK: &[&str] = &[
    "ip syn filter loop0; ip syn filter disable loop0",
    "adl interface loop0; adl interface disable loop0",
    "set arp proxy start 192.0.2.1 end 192.0.2.9; \
     set arp proxy delete end 192.0.2.9 start 192.0.2.1",
    "set interface proxy-arp loop0; set interface proxy-arp off loop0",
    "set ip6 nd proxy loop0 2001:db8::1; set ip6 nd proxy delete loop0 2001:db8::1",
    "vrrp vr add loop0 vr_id 3 192.0.2.9; vrrp vr del vr_id 3 192.0.2.9 priority 100 loop0",
    "create pppoe cp cp-if-index loop0; create pppoe cp del cp-if-index loop0",
];

#[test]
fn words_of_commands_stand_in_any_order() {
    let after = |lines: &str| {
        let mut rig = rig();
        let commands = format!("{AROUND}{}", lines.replace("; ", "\n"));
        rig.attempt(&commands).unwrap_or_else(|e| panic!("{lines}: {e}"));
        rig.run("show configuration")
    };
    let before = after("comment nothing");
    for alike in ALIKE {
        let first = after(alike[0]);
        assert_ne!(first, before, "{}", alike[0]);
        for other in &alike[1..] {
            assert_eq!(after(other), first, "{other}");
        }
    }
    for lines in TAKEN_BACK {
        assert_eq!(after(lines), before, "{lines}");
    }
}

#[test]
fn sub_interfaces_of_hosts_are_made_again() {
    let made = "create loopback interface instance 0
p2p_ethernet loop0 02:00:00:00:00:12 sub-id 9
p2p_ethernet loop0 02:00:00:00:00:11 sub-id 3
set interface state loop0.3 up
";
    replays(made, made);
}

#[test]
fn interfaces_are_made_before_they_are_named_and_named_before_they_are_used() {
    replays(
        "set interface state local0 up
loopback create-interface
loopback create-interface mac 02:00:00:00:00:07 instance 7
create sub-interfaces loop7 5 dot1ad 100 inner-dot1q any
create sub-interfaces loop7 6 untagged
set interface state loop7.5 up
set interface mtu 1500 loop0
set interface mtu ip6 1400 loop0
set interface mtu packet 9100 loop7
set interface name loop0 loop1
set interface name loop7 loop0
set interface name loop0.6 native
set interface tag loop1 the first one
set interface mac address loop1 02:00:00:00:00:09
set interface secondary-mac-address loop1 02:00:00:00:00:0a
set interface promiscuous on loop0
set interface state loop0 punt",
        "create loopback interface instance 0
set interface name loop0 loop1
create loopback interface mac 02:00:00:00:00:07 instance 7
set interface name loop7 renamed-loop7
set interface name renamed-loop7 loop0
create sub-interfaces loop0 5 dot1ad 100 inner-dot1q any
create sub-interfaces loop0 6 untagged
set interface name loop0.6 native
set interface mtu 1500 loop1
set interface mtu ip6 1400 loop1
set interface tag loop1 the first one
set interface secondary-mac-address loop1 02:00:00:00:00:0a
set interface mtu packet 9100 loop0
set interface promiscuous on loop0
set interface mac address loop1 02:00:00:00:00:09
set interface state local0 up
set interface state loop0 punt
set interface state loop0.5 up
",
    );
}

#[test]
fn udp_headers_and_sessions_are_made_before_routes_lead_there() {
    let made = "ip6 table add 8 no-mfib
create l2tpv3 tunnel client 2a01::1 our 2001:db8::1 local-cookie 0x5 local-session 7 \
remote-session 8 l2-sublayer-present
pvti interface create peer 20.0.0.1 700 701 local-ip 10.0.1.1 underlay-mtu 600
set l2tpv3 tunnel cookie l2tpv3_tunnel0 local 0x6 remote 0x9
set interface ip6 l2tpv3 local0
set interface ip pvti-bypass local0
udp encap add id 3 10.0.1.1 20.0.0.1 330 8138
udp encap add id 5 2001:db8::1 2a01::1 8138 src-port-is-entropy table-id 8
udp decap add ipv4 1000 next-proto mpls
udp decap add ipv6 1000 next-proto ip6
ip route add 30.0.0.0/8 via udp-encap 3 via udp-encap 5 weight 2
ip route add 2a30::/16 via udp-encap 5 out-labels 77
";
    let mut first = rig();
    first.attempt(made).unwrap();
    let configuration = first.run("show configuration secrets");
    let mut second = rig();
    second.attempt(&configuration).unwrap();
    assert_eq!(second.run("show configuration secrets"), configuration);
    for line in made.lines().filter(|line| !line.contains("l2tpv3 tunnel c")) {
        assert!(configuration.contains(line), "{line}: {configuration}");
    }
    for words in ["local-cookie 0x5", "cookie l2tpv3_tunnel0 local 0x6 remote 0x9"] {
        assert!(configuration.contains(words), "{words}: {configuration}");
    }
}

#[test]
fn addresses_come_behind_tables_and_before_routes() {
    replays(
        "loopback create-interface
loopback create-interface
loopback create-interface
ip table add 7 name the blue one
ip6 table 8 no-mfib
set ip flow-hash table 7 src symmetric
set interface ip table loop1 7
set interface ip6 table loop1 8
enable ip4 interface loop2
set interface unnumbered loop2 use loop0
set interface ip address loop0 10.0.0.1/24
set interface ip address loop0 10.0.0.2/24
set interface ip address loop1 10.0.0.1/24
set interface ip address loop1 2001:db8::1/64
set interface ip address loop1 fe80::7/128
set interface ip directed-broadcast loop0 enable
set interface unnumbered loop2 use loop0
set fib source bgp priority 60
ip route add 16.0.0.0/8 via 10.0.0.9 loop0 weight 3 via 10.0.0.8 loop0 preference 2
ip route add 16.0.0.0/8 source bgp via 2001:db8::9 loop1 out-labels 100,ttl=7,uniform 200
ip route add 16.0.0.0/8 source API via loop0
ip route add 17.0.0.0/8 table 7 via 10.0.0.99 next-hop-table 7 resolve-via-host
ip route add 18.0.0.0/8 table 7 via lookup in table 0
ip route add 18.1.0.0/16 via source-lookup-in-table 7
ip route add 18.2.0.0/16 via local loop1 address 10.0.0.1
ip route add 18.3.0.0/16 via rx-ip4 loop1
ip route add 18.4.0.0/16 via prohibit via unreachable
ip route add 2001:db8:9::/48 table 8 via 10.0.0.9 next-hop-table 0
set interface state loop0 up",
        "set fib source bgp priority 60
ip table add 7 name the blue one
ip6 table add 8 no-mfib
create loopback interface instance 0
create loopback interface instance 1
create loopback interface instance 2
set ip flow-hash table 7 src symmetric
set interface ip directed-broadcast loop0 enable
set interface ip table loop1 7
set interface ip6 table loop1 8
enable ip4 interface loop2
set interface unnumbered loop2 use loop0
set interface ip address loop0 10.0.0.1/24
set interface ip address loop0 10.0.0.2/24
set interface ip address loop1 10.0.0.1/24
set interface ip address loop1 2001:db8::1/64
set interface ip address loop1 fe80::7/128
ip route add 16.0.0.0/8 source bgp via 2001:db8::9 loop1 out-labels 100,ttl=7,uniform 200
ip route add 16.0.0.0/8 source API via loop0
ip route add 16.0.0.0/8 via 10.0.0.9 loop0 weight 3 via 10.0.0.8 loop0 preference 2
ip route add 18.1.0.0/16 via source-lookup-in-table 7
ip route add 18.2.0.0/16 via local loop1 address 10.0.0.1
ip route add 18.3.0.0/16 via rx-ip4 loop1
ip route add 18.4.0.0/16 via prohibit via unreachable
ip route add 17.0.0.0/8 table 7 via 10.0.0.99 next-hop-table 7 resolve-via-host
ip route add 18.0.0.0/8 table 7 via lookup in table 0
ip route add 2001:db8:9::/48 table 8 via 10.0.0.9 next-hop-table 0
set interface state loop0 up
",
    );
}

#[test]
fn multicast_reassembly_and_punting_come_whole() {
    replays(
        "create packet-generator interface pg0
create packet-generator interface pg1 hw-addr 02:00:00:00:00:01 gso-enabled gso-size 1400 coalesce-enabled
create packet-generator interface pg2 csum-offload-enabled mode ip4
packet-generator coalesce pg2 on
packet-generator mac-filter pg0 on
ip mroute add 232.1.1.1 via pg0 Accept
ip mroute add 10.0.0.9 232.1.1.1 via pg1 Forward via local Forward via 10.0.0.2 pg0 Forward
ip mroute add 232.1.1.0/24 source API Signal rpf-id 7
ip6 mroute add ff05::1 via pg1 Accept Negate-Signal
set interface reassembly pg0 on
set interface reassembly pg1 ip6 shallow
set ip reassembly limits ip6 shallow timeout-ms 300 reassemblies 10 fragments 5 walk-ms 50
set ip reassembly local ip6
set ip reassembly extended ip6
set punt ipv4 udp 1234
set punt ipv6 tcp all
set punt protocol 89
stn rule address 10.0.0.3 interface pg0
ip punt redirect add rx pg0 via 10.0.0.2 pg1
ip6 punt redirect add rx all via pg1
ip punt redirect rx all nowhere",
        "set punt ipv4 udp 1234
set punt ipv6 tcp all
set punt ipv4 protocol 89
create packet-generator interface pg0
create packet-generator interface pg1 hw-addr 02:00:00:00:00:01 gso-enabled gso-size 1400 coalesce-enabled
create packet-generator interface pg2 coalesce-enabled csum-offload-enabled mode ip4
set ip reassembly limits ip6 shallow timeout-ms 300 reassemblies 10 fragments 5 walk-ms 50
set ip reassembly local ip6
set ip reassembly extended ip6 on
packet-generator mac-filter pg0 on
set interface reassembly pg0 on
set interface reassembly pg1 ip6 shallow
stn rule address 10.0.0.3 interface pg0
ip mroute add 232.1.1.0/24 source API rpf-id 7 Signal
ip mroute add 232.1.1.1/32 via pg0 Accept
ip mroute add 10.0.0.9 232.1.1.1/32 via pg1 Forward via local Forward via 10.0.0.2 pg0 Forward
ip mroute add ff05::1/128 via pg1 Negate-Signal Accept
ip punt redirect add rx all nowhere
ip punt redirect add rx pg0 via 10.0.0.2 pg1
ip6 punt redirect add rx all via pg1
",
    );
}

#[test]
fn policers_checks_and_advertisers_come_whole() {
    replays(
        "loopback create-interface
loopback create-interface
set interface state loop0 up
policer add name gone cir 80 cb 1000
policer add name slow type 2r3c-2698 cir 80 cb 1000 eir 90 eb 2000 color-aware exceed-action mark-and-transmit ef
policer del name gone
policer input name slow loop0
policer output name slow loop1
ip punt policer add 1
set urpf ip4 rx loose loop0
ip table 5
set urpf ip4 tx strict loop0 table 5
set urpf-accept table 5 10.0.0.0/8
enable ip6 interface loop0
ip6 nd loop0 no ra-suppress
ip6 nd loop0 ra-interval 20 10 ra-lifetime 30 ra-managed-config-flag
ip6 nd loop0 prefix 2001:db8::/64 1000 500 no-autoconfig
ip6 nd loop0 prefix 2001:db8:1::/64 infinite off-link
ip6 nd address autoconfig loop1 default-route
set ip6 dad enable delay 2.5",
        "ip table add 5
policer add name slow index 1 type 2r3c-2698 cir 80 eir 90 cb 1000 eb 2000 color-aware exceed-action mark-and-transmit EF
create loopback interface instance 0
create loopback interface instance 1
enable ip6 interface loop0
policer input index 1 loop0
policer output index 1 loop1
ip punt policer add 1
ip6 nd loop0 ra-managed-config-flag ra-interval 20 10
ip6 nd loop0 ra-lifetime 30
ip6 nd loop0 no ra-suppress
ip6 nd loop0 prefix 2001:db8::/64 1000 500 no-autoconfig
ip6 nd loop0 prefix 2001:db8:1::/64 infinite no-onlink
ip6 nd address autoconfig loop1 default-route
set urpf ip4 rx loose loop0
set urpf ip4 tx strict loop0 table 5
set urpf-accept table 5 add 10.0.0.0/8
set interface state loop0 up
set ip6 dad enable delay 2.5
",
    );
}

#[test]
fn one_feature_prints_its_own() {
    let mut rig = rig();
    rig.attempt("loopback create-interface\nip table 3").unwrap();
    assert_eq!(rig.run("show configuration fib"), "ip table add 3\n");
    assert_eq!(rig.run("show configuration ping"), "");
    let unknown = "show configuration: unknown feature `nosuch'\n";
    assert_eq!(rig.run("show configuration nosuch"), unknown);
}

#[test]
fn routes_are_printed_in_slices() {
    let mut rig = rig();
    rig.set("ip route add count 1200 16.0.0.0/24 via drop\nip6 route add 2001:db8::/32 via drop");
    let printed = rig.run("show configuration");
    assert_eq!(printed.lines().count(), 1201);
    assert!(
        printed.ends_with(
            "ip route add 16.4.175.0/24 via drop\nip route add 2001:db8::/32 via drop\n"
        )
    );
}

#[test]
fn what_is_attached_to_interfaces_comes_behind_their_addresses() {
    replays(
        "loopback create-interface
set interface ip address loop0 10.0.0.1/24
set interface ip address loop0 2001:db8::1/64
set ip neighbor loop0 10.0.0.2 02:00:00:00:00:02 static
set ip neighbor loop0 2001:db8::2 02:00:00:00:00:03 static no-fib-entry
set ip neighbor loop0 10.0.0.3 02:00:00:00:00:04
set ip neighbor-config ip6 limit 100 norecycle
ip table 7
set arp proxy table-id 7 start 10.9.0.1 end 10.9.0.9
set interface proxy-arp loop0 enable
set ip6 nd proxy loop0 2001:db8::77
set interface ip6-nd proxy loop0
stn rule address 10.0.0.99 interface loop0
ip container 10.0.0.50 loop0
ip container 2001:db8:5::/48 loop0
set ip pmtu 10.0.0.2 1400
set ip pmtu 2001:db8::2 1300 table 0
set interface feature gso loop0
set interface tcp-mss-clamp loop0 ip4 enable ip4-mss 1400 ip6 rx ip6-mss 1380
set ip source-and-port-range-check vrf 9 10.0.0.0/8 port 80 range 100 - 200
set ip source-and-port-range-check vrf 8 10.0.0.0/8 port 80
set ip source-and-port-range-check vrf 8 10.0.0.0/8 port 80 del
set interface ip source-and-port-range-check loop0 tcp-out-vrf 9 udp-in-vrf 8",
        "ip table add 7
ip table add 9
ip table add 8
set ip source-and-port-range-check vrf 9 10.0.0.0/8 range 80 - 80 range 100 - 200
set ip source-and-port-range-check vrf 8 0.0.0.0/32 none
create loopback interface instance 0
set interface feature gso loop0
set ip neighbor-config ip6 limit 100 age 0 norecycle
set arp proxy table-id 7 start 10.9.0.1 end 10.9.0.9
set interface ip address loop0 10.0.0.1/24
set interface ip address loop0 2001:db8::1/64
set interface proxy-arp loop0
set interface ip6-nd proxy loop0
set interface tcp-mss-clamp loop0 ip4 enable ip4-mss 1400 ip6 rx ip6-mss 1380
set interface ip source-and-port-range-check loop0 tcp-out-vrf 9 udp-in-vrf 8
stn rule address 10.0.0.99 interface loop0
set ip pmtu 10.0.0.2 1400
set ip pmtu 2001:db8::2 1300
set ip neighbor loop0 10.0.0.2 02:00:00:00:00:02 static
set ip neighbor loop0 2001:db8::2 02:00:00:00:00:03 static no-fib-entry
set ip6 nd proxy loop0 2001:db8::77
ip container 10.0.0.50 loop0
ip container 2001:db8:5::/48 loop0
",
    );
}

#[test]
fn what_interfaces_say_of_themselves_comes_behind_them() {
    replays(
        "loopback create-interface
set lldp system-name here tx-interval 10
set interface lldp loop0 port-desc up mgmt-ip4 10.0.0.1 mgmt-ip6 fd00::1 mgmt-oid 1.2
loopback create-interface
set interface span loop0 destination loop1 rx
set interface span loop1 l2 destination loop0",
        "create loopback interface instance 0
create loopback interface instance 1
set lldp system-name here tx-interval 10
set interface lldp loop0 port-desc up mgmt-ip4 10.0.0.1 mgmt-ip6 fd00::1 mgmt-oid 1.2
set interface span loop0 destination loop1 rx
set interface span loop1 l2 destination loop0 both
",
    );
}

#[test]
fn domains_come_before_their_ports_and_addresses_behind() {
    let all = "set bridge-domain default-learn-limit 1000
create bridge-domain 5 learn 0 uu-flood 0 arp-term 1 mac-age 9 bd-tag five
set bridge-domain learn-limit 5 77
set bridge-domain arp entry 5 10.0.0.1 02:00:00:00:00:01
set bridge-domain arp entry 5 2001:db8::1 02:00:00:00:00:01
create bridge-domain 7
create loopback interface instance 0
create loopback interface instance 1
create loopback interface instance 2
bvi create mac 02:00:00:00:00:07 instance 3
create sub-interfaces loop0 5 dot1q 5 exact-match
set interface l2 tag-rewrite loop0.5 translate 1-2 dot1ad 7 8
set interface l2 bridge loop0.5 5 9
set interface l2 learn loop0.5 disable
set interface l2 efp-filter loop0.5
set interface l2 bridge bvi3 5 bvi
set interface l2 bridge loop1 7 uu-fwd
set interface l2 xconnect loop2 loop0
test l2patch rx loop0 tx loop2
l2fib add 02:00:00:00:00:02 5 loop0.5 static
l2fib add 02:00:00:00:00:03 5 filter
";
    replays(all, all);
}

#[test]
fn tunnels_come_behind_what_they_need() {
    replays(
        "loopback create-interface
create sub-interfaces loop0 5
ip table add 7
create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 9 instance 4
create vxlan tunnel src 10.0.0.1 dst 10.0.0.3 vni 9 encap-vrf-id 7 decap-next node ip4-input l3 src_port 5000 dst_port 5001
create vxlan-gpe tunnel local 10.0.0.1 group 232.1.1.1 loop0.5 vni 9 next-ip4
create vxlan-gpe tunnel local 10.0.0.1 remote 10.0.0.2 vni 10 next-ip6 decap-vrf-id 7
create geneve tunnel local 2001:db8::1 remote 2001:db8::2 vni 9 l3-mode
create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 teid 5 tteid 6 decap-next ip4 qfi 9
create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 teid 6
create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 teid 6 upd-tteid 8
create ipip tunnel src 10.0.0.1 dst 10.0.0.2 instance 3 flag encap-copy-df flag decap-copy-ecn dscp 10
create ipip tunnel src 10.0.0.1 p2mp outer-table-id 7
create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.9 security-check tos 4
create gre tunnel src 10.0.0.1 dst 10.0.0.2 erspan 7 key 5
create gre tunnel src 10.0.0.1 multipoint teb
create teib gre1 peer 10.1.1.1 nh 10.0.0.9
create teib ipip0 peer 10.1.1.1 nh 10.0.0.9 nh-table-id 7
set interface ip vxlan-bypass loop0
set interface ip6 gtpu-bypass loop0.5
set interface state gtpu_tunnel0 down
create vxlan tunnel src 10.0.0.1 group 232.1.1.1 loop0.5 vni 9
set interface name vxlan_tunnel1 group
create sub-interfaces group 3
disable ip6 interface ip6ip-6rd1
create gre tunnel src 10.0.0.1 dst 10.0.0.3
ip table del 7 keep-routes",
        "ip table add 7
create loopback interface instance 0
create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 instance 4 vni 9
create vxlan tunnel src 10.0.0.1 dst 10.0.0.3 encap-vrf-id 7 decap-next node ip4-input instance 0 vni 9 l3 src_port 5000 dst_port 5001
create vxlan-gpe tunnel src 10.0.0.1 dst 10.0.0.2 instance 1 vni 10 next-ip6 decap-vrf-id 7
create geneve tunnel src 2001:db8::1 dst 2001:db8::2 instance 0 vni 9 l3-mode
create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 decap-next ip4 instance 0 teid 5 tteid 6 qfi 9
create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 instance 1 teid 6 tteid 8
create ipip tunnel src 10.0.0.1 dst 10.0.0.2 instance 3 dscp 10 flag encap-copy-df flag decap-copy-ecn
create ipip tunnel src 10.0.0.1 instance 0 outer-table-id 7 p2mp
create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.9 security-check tos 4 instance 1
create gre tunnel src 10.0.0.1 dst 10.0.0.2 instance 0 erspan 7 key 5
create gre tunnel src 10.0.0.1 instance 1 teb multipoint
create gre tunnel src 10.0.0.1 dst 10.0.0.3 instance 2
create sub-interfaces loop0 5 dot1q 5 exact-match
create vxlan-gpe tunnel src 10.0.0.1 group 232.1.1.1 loop0.5 instance 0 vni 9 next-ip4
create vxlan tunnel src 10.0.0.1 group 232.1.1.1 loop0.5 instance 1 vni 9
set interface name vxlan_tunnel1 group
create sub-interfaces group 3 dot1q 3 exact-match
disable ip6 interface ip6ip-6rd1
create teib ipip0 peer 10.1.1.1 nh 10.0.0.9 nh-table-id 7
create teib gre1 peer 10.1.1.1 nh 10.0.0.9
set interface ip6 gtpu-bypass loop0.5
set interface ip vxlan-bypass loop0
set interface state gtpu_tunnel0 down
ip table del 7 keep-routes
",
    );
}

#[test]
fn bonds_and_their_members_are_made_again() {
    let made = "create loopback interface instance 0
create loopback interface instance 1
create bond mode xor load-balance l34 hw-addr 02:00:00:00:00:55 id 3 gso
create bond mode active-backup id 0
set interface mac address loop0 02:00:00:00:00:55
set interface mac address BondEthernet0 de:ad:00:00:00:01
bond add BondEthernet3 loop0 passive
bond add BondEthernet0 loop1 long-timeout
set interface bond loop1 weight 9
";
    replays(made, made);
}

#[test]
fn tables_of_the_classifier_come_with_sessions_and_users() {
    let mask = format!("{}ff{}", "0".repeat(62), "0".repeat(32));
    let matched = format!("{}11{}", "0".repeat(62), "0".repeat(32));
    let all = format!(
        "ip table add 9
classify table mask hex {mask} skip 1 match 2 index 0
classify table miss-next 0 mask hex {mask} buckets 8 skip 1 match 2 memory-size 4194304 current-data-flag 1 current-data-offset -4 index 3
classify table next-table 0 table 3
classify session hit-next 5 table-index 0 match hex {matched} opaque-index 7 advance -14 action set-ip4-fib-id 9
classify session hit-next 0 table-index 3 match hex {matched}
create loopback interface instance 0
classify filter trace table 3
classify filter loop0 table 0
set interface input acl intfc loop0 ip4-table 0 ip6-table 3 l2-table 0
set interface output acl intfc loop0 ip6-table 3
set flow classify intfc loop0 ip4-table 3
set policer classify intfc loop0 ip6-table 3 l2-table 0
set interface l2 input classify intfc loop0 ip4-table 3
set interface l2 output classify intfc loop0 ip6-table 0 other-table 3
set ip classify intfc loop0 table-index 3
set ip6 classify intfc loop0 table-index 0
set punt acl ip6-table 0
ip table del 9 keep-routes
"
    );
    let told = all.replace("ip table add 9\n", "").replace("ip table del 9 keep-routes\n", "");
    replays(&told, &all);
}

#[test]
fn frames_are_rewritten_again() {
    let made = "create bridge-domain 5
classify table mask hex ffffffffffff00000000000000000000 skip 0 match 1 index 0
l2 rewrite entry index 3 mask ff0f value 5505 skip 14
create loopback interface instance 0
set bridge-domain rewrite 5 disable
set interface l2 rewrite loop0 table 0 miss-index 3
";
    replays(made, made);
}

#[test]
fn labels_come_behind_tables_tunnels_and_bindings() {
    replays(
        "mpls table add 0
mpls table add 7 name seven
ip table add 3
loopback create-interface
set interface mpls loop0 enable
set interface ip address loop0 10.0.0.1/24
mpls tunnel add tag one via 10.0.0.2 loop0 out-labels 33 44
mpls tunnel l2-only via 10.0.0.3 loop0 out-labels 55
mpls tunnel multicast via 10.0.0.4 loop0 out-labels 66 via 10.0.0.5 loop0 out-labels 77
mpls tunnel del mpls-tunnel0
mpls tunnel add mpls-tunnel1 via 10.0.0.6 loop0 out-labels 56
mpls local-label add 100 eos via 10.0.0.2 loop0 via 10.0.0.3 loop0 out-labels 200
mpls local-label add source API 100 non-eos via drop
mpls local-label add 101 eos ip6 via ip6-lookup-in-table 0 rpf-id 9
mpls local-label add multicast table 7 102 eos via rx-ip4 loop0
mpls local-label add 103 eos ethernet via rx-ethernet mpls-tunnel1 control-word
mpls local-label add 104 non-eos via mpls-lookup-in-table 7
mpls local-label add 105 10.1.0.0/16 ip-table 3
ip route add 9.0.0.0/8 via mpls-tunnel2",
        "ip table add 3
mpls table add 0
mpls table add 7 name seven
create loopback interface instance 0
mpls tunnel add l2-only instance 1
mpls tunnel add multicast instance 2
set interface ip address loop0 10.0.0.1/24
set interface mpls loop0 enable
ip route add 9.0.0.0/8 via mpls-tunnel2
mpls local-label add source API table 0 100 non-eos ip4 via drop
mpls local-label add table 0 100 eos ip4 via 10.0.0.2 loop0 via 10.0.0.3 loop0 out-labels 200
mpls local-label add table 0 101 eos ip6 via lookup in table 0 rpf-id 9
mpls local-label add table 0 103 eos ethernet via rx-ethernet mpls-tunnel1 control-word
mpls local-label add table 0 104 non-eos ip4 via lookup in table 7
mpls local-label add table 0 105 ip4 10.1.0.0/16 ip-table 3
mpls local-label add multicast table 7 102 eos ip4 via rx-ip4 loop0
mpls tunnel add mpls-tunnel1 via 10.0.0.3 loop0 out-labels 55 via 10.0.0.6 loop0 out-labels 56
mpls tunnel add mpls-tunnel2 via 10.0.0.4 loop0 out-labels 66 via 10.0.0.5 loop0 out-labels 77
",
    );
}

#[test]
fn bit_positions_come_behind_tables_and_headers_before_routes_that_lead_there() {
    replays(
        "mpls table add 0
loopback create-interface
set interface ip address loop0 10.0.0.1/24
bier table sd 0 set 0 bsl 64 mpls 77
bier table sd 1 set 2 bsl 256 mpls 76
bier table sd 1 set 2 bsl 256
bier disp table 8
bier disp table 9
bier disp table 9 del
bier route sd 0 set 0 bsl 64 bp 3 via 10.0.0.3 loop0 out-labels 103
bier route sd 0 set 0 bsl 64 bp 1 via 10.0.0.2 loop0 out-labels 101
bier route sd 0 set 0 bsl 64 bp 1 disposition 8
bier route sd 0 set 0 bsl 64 bp 1 via 10.0.0.3 loop0 out-labels 103
bier imp sd 0 set 0 bsl 64 src 1 bp 1
bier imp sd 1 set 2 bsl 256 src 333 bp 256 bp 2
bier imp del id 0
bier disp entry table 8 payload mpls via mpls-lookup-in-table 0
bier disp entry table 8 src 9 payload ip4 via ip4-lookup-in-table 0 rpf-id 9
bier disp entry table 8 src 9 payload ip6 via ip6-lookup-in-table 0
bier disp entry del table 8 src 9 payload ip6
ip mroute add 232.1.1.1 via bier-imp 1 Forward",
        "mpls table add 0
bier disp table 8
bier table add sd 0 set 0 bsl 64 mpls 77
bier table add sd 1 set 2 bsl 256
create loopback interface instance 0
set interface ip address loop0 10.0.0.1/24
bier imp add sd 1 set 2 bsl 256 id 1 src 333 bp 2 bp 256
ip mroute add 232.1.1.1/32 via bier-imp 1 Forward
bier route add sd 0 set 0 bsl 64 bp 1 via 10.0.0.2 loop0 out-labels 101
bier route add sd 0 set 0 bsl 64 bp 1 disposition 8
bier route add sd 0 set 0 bsl 64 bp 1 via 10.0.0.3 loop0 out-labels 103
bier route add sd 0 set 0 bsl 64 bp 3 via 10.0.0.3 loop0 out-labels 103
bier disp entry add table 8 src 0 payload mpls via lookup in table 0
bier disp entry add table 8 src 9 payload ip4 via lookup in table 0 rpf-id 9
",
    );
}

#[test]
fn queues_print_what_was_told() {
    let all = "set interface default rx-mode polling
create packet-generator interface pg0
";
    replays(all, all);
}

#[test]
fn pipes_and_cdp_are_made_again() {
    let made = "pipe create instance 3
cdp enable
set interface state pipe3 up
set interface state pipe3.0 up
set interface state pipe3.1 up
";
    replays("pipe create instance 3\nset interface state pipe3 up\ncdp enable", made);
}

#[test]
fn access_lists_and_where_they_act_are_made_again() {
    let told = "set acl-plugin session timeout tcp transient 7
set acl-plugin reclassify-sessions 1
set acl-plugin counters enable
set acl-plugin macip acl index 1 create permit ip 10.0.0.0/24 mac 02:00:00:00:00:00 mask \
ff:ff:00:00:00:00 , deny ip ::/0 mac 00:00:00:00:00:00 mask 00:00:00:00:00:00 tag some pairs
set acl-plugin acl index 2 create permit+reflect src 10.0.0.0/8 dst 0.0.0.0/0 proto 6 sport 1-9 \
dport 80 tcpflags 2 mask 18 , deny src ::/0 dst 2001:db8::/32 tag web, and more
create loopback interface instance 0
set acl-plugin interface loop0 input acl 2
set acl-plugin interface loop0 output acl 2
set acl-plugin etype-whitelist loop0 input 88cc 0806
set acl-plugin macip interface loop0 acl 1
abf policy add id 5 acl 2 via 10.0.0.1 loop0
abf attach ip4 policy 5 priority 10 loop0
";
    replays(told, told);
}

#[test]
fn redirected_sessions_are_made_again() {
    let told = "classify table miss-next 0 mask hex \
00000000000000000000000000000000ffffffff000000000000000000000000 skip 1 match 1 \
current-data-flag 1 index 0
create loopback interface instance 0
set interface input acl intfc loop0 ip4-table 0
ip session redirect add table 0 match hex \
000000000000000000000000000000000a000001000000000000000000000000 via 10.0.0.1 loop0
ip session redirect add punt ip4 table 0 match hex \
000000000000000000000000000000000a000002000000000000000000000000 via fe80::1 loop0
";
    replays(told, told);
}

#[test]
fn nat_is_enabled_before_what_it_needs_and_interfaces_come_last() {
    let made = "create loopback interface instance 0
create loopback interface instance 1
nat44 plugin enable sessions 1000
nat44 forwarding enable
set nat timeout udp 20 tcp-established 7440 tcp-transitory 240 icmp 60
nat mss-clamping 1400
set nat44 session limit 5 vrf 0
nat44 vrf table add 7
nat44 vrf route add table 7 9
nat44 add address 192.0.2.1
nat44 add address 192.0.2.2 tenant-vrf 3
nat44 add address 192.0.2.3 twice-nat
nat44 add interface address loop1
nat44 add static mapping tcp local 10.0.0.2 80 external 192.0.2.1 8080 twice-nat
nat44 add static mapping local 10.0.0.3 external loop1 vrf 3 out2in-only
nat44 add identity mapping 192.0.2.9 udp 53
nat44 add load-balancing static mapping protocol tcp external 192.0.2.1:443 local 10.0.0.4:443 probability 1 local 10.0.0.5:443 vrf 3 probability 2 affinity 60
set interface nat44 in loop0
set interface nat44 out loop1 output-feature
";
    replays(made, made);
}

#[test]
fn devices_with_their_times_come_before_the_interfaces_that_look_at_them() {
    let made = "set mactime device 02:00:00:00:00:01 name tv drop
set mactime device 02:00:00:00:00:02 name a allow range 0.5 7 range 9 8 quota 5 no-udp-10001
create loopback interface instance 0
mactime enable-disable loop0
";
    replays(made, made);
}

#[test]
fn tenants_come_before_what_they_have_and_their_interfaces() {
    let made = "sfdp nat alloc-pool add 3 192.0.2.1 192.0.2.2
sfdp tenant add 1
sfdp tenant add 2 context 9
create loopback interface instance 0
set sfdp tcp-check fsol-non-syn security
set sfdp eviction sessions-margin 100
set sfdp services tenant 1 sfdp-nat-early-rewrite sfdp-l4-lifecycle ip4-lookup forward
set sfdp timeout tenant 1 embryonic 9
set sfdp services tenant 2 ip6-lookup reverse
set sfdp sp-node tenant 2 ip6-unknown-proto node ip6-lookup
set sfdp nat snat tenant 1 outside-tenant 2 table 0 alloc-pool 3
set sfdp interface-input loop0 tenant 1
set sfdp interface-input loop0 tenant 2 ip6
";
    replays(made, made);
}

#[test]
fn deterministic_nat_has_its_tables_maps_and_sides_again() {
    let made = "ip table add 7
create loopback interface instance 0
create loopback interface instance 1
det44 plugin enable outside vrf 7
set det44 timeouts udp 20 tcp established 7440 tcp transitory 240 icmp 60
det44 add in 10.0.0.0/18 out 192.0.2.0/24
set interface det44 inside loop0
set interface det44 outside loop1
ip table del 7 keep-routes
";
    replays(made, made);
    replays(&made.replace("outside vrf", "outside-vrf"), made);
}

#[test]
fn nat_without_far_ends_is_enabled_before_what_it_needs() {
    let made = "ip table add 7
create loopback interface instance 0
create loopback interface instance 1
nat44 ei plugin enable sessions 1000 users 10 outside-vrf 7 user-sessions 50
nat44 ei forwarding enable
set nat44 ei timeout udp 20 tcp-established 7440 tcp-transitory 240 icmp 60
nat44 ei mss-clamping 1400
nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6
nat44 ei add address 192.0.2.1
nat44 ei add address 192.0.2.2 tenant-vrf 3
nat44 ei add interface address loop1
nat44 ei add static mapping tcp local 10.0.0.2 80 external 192.0.2.1 8080
nat44 ei add static mapping local 10.0.0.3 external loop1 vrf 3
nat44 ei add identity mapping 192.0.2.1 udp 53
set interface nat44 ei in loop0
set interface nat44 ei out loop1 output-feature
ip table del 7 keep-routes
";
    replays(made, made);
}

#[test]
fn nat64_is_enabled_before_what_belongs_to_it() {
    let made = "ip6 table add 9
ip6 table add 3
create loopback interface instance 0
create loopback interface instance 1
nat64 plugin enable bib-buckets 7
set nat64 timeout udp 5 tcp-established 7440 tcp-transitory 240 icmp 60
nat64 add prefix 2001:db8::/32
nat64 add prefix 2001:db8:1::/96 tenant-vrf 9
nat64 add pool address 192.0.2.1
nat64 add pool address 192.0.2.2 tenant-vrf 3
nat64 add interface address loop1
nat64 add static bib 2001:db8::5 80 192.0.2.1 8080 tcp vrf 3
nat64 add static bib 2001:db8::5 0 192.0.2.1 0 47
set interface nat64 in loop0
set interface nat64 out loop1
ip6 table del 9 keep-routes
ip6 table del 3 keep-routes
";
    replays(made, made);
}

#[test]
fn segments_of_mobile_networks_are_made_again() {
    let made = "ip table add 5
ip6 table add 5
sr policy add bsid d4:: next d2:: next d3::
sr policy add bsid d5:: behavior t.m.gtp4.d d4::/32 v6src_prefix c1::/64 nhtype ipv6 drop-in
sr policy add bsid d6:: fib-table 5 behavior t.m.gtp4.dt fib-table 5 local-fib-table 0
create loopback interface instance 0
sr localsid prefix d4::/32 behavior end.m.gtp4.e v4src_position 64
sr localsid prefix 2001::/64 behavior end.m.gtp6.d d4::/64 nhtype ipv4 drop-in
sr localsid prefix 2002::/64 behavior end.m.gtp6.dt fib-table 5
sr localsid address 2003:: behavior end.ad.flow nh 10.0.0.2 oif loop0 iif loop0
sr steer l3 1.1.1.1/32 via bsid d5::
";
    replays(made, made);
    let later = "sr localsid prefix 2001::/64 behavior end.m.gtp6.d d4::/64 fib-table 5";
    let first = "sr localsid prefix 2001::/64 fib-table 5 behavior end.m.gtp6.d d4::/64\n";
    replays(&format!("ip6 table add 5\n{later}"), &format!("ip6 table add 5\n{first}"));
}

#[test]
fn what_takes_frames_and_packets_that_are_no_tunnels_is_made_again() {
    let made = "create loopback interface instance 0
create gtpu forward dst 10.0.0.1 unknown-teid decap-next ip4 instance 0
create gtpu forward dst 10.0.0.1 bad-header instance 1
create gtpu forward dst 2001:db8::1 unknown-type decap-next node ip6-drop instance 2
set interface l2 xcrw loop0 next error-drop rw 00ff
";
    replays(made, made);
}

/// Checks a file with this text; returns the result, without the name of the file.
fn checked(rig: &mut Rig, text: &str) -> String {
    let file = temporary(text);
    let said = rig.run(&format!("configure check {}", file.display()));
    std::fs::remove_file(&file).unwrap();
    said.replace(&format!("{}", file.display()), "FILE")
}

#[test]
fn a_trial_takes_only_commands_of_configurations() {
    let mut rig = rig();
    let secret = temporary("root:*:20228:0");
    let path = secret.display();
    for line in [
        format!("exec {path}"),
        format!("capture start name z file {path}"),
        format!("show vlib graphviz {path}"),
        format!("show trace paths graphviz file {path}"),
        format!("packet-generator new name z pcap {path}"),
        format!("explain pg0 pcap {path} packet 1"),
        format!("pcap trace rx file {path}"),
        "event-logger save ferrovia-trial".to_owned(),
        "api trace save ferrovia-trial".to_owned(),
        "set terminal pager on".to_owned(),
        "show version".to_owned(),
        "wait 100000".to_owned(),
        "ping 10.0.0.1".to_owned(),
        "exec ?".to_owned(),
    ] {
        let said = checked(&mut rig, &line);
        assert!(said.contains("FILE:1: "), "{line}: {said}");
        assert!(said.contains("' is not a configuration command"), "{line}: {said}");
        assert!(!said.contains("root"), "{line}: {said}");
    }
    let said = checked(&mut rig, &format!("plugin load {path}"));
    assert!(said.contains("a trial loads no files"), "{said}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "root:*:20228:0");
    assert!(!std::path::Path::new("/tmp/ferrovia-trial").exists());
    // What is harmless and helps to read or write a file is taken.
    let said = checked(&mut rig, "comment { a table }\ndefine n 7\nip table add $n\n");
    assert_eq!(said, "1 commands: 0 to be removed, 1 to be added\n");
    std::fs::remove_file(secret).unwrap();
}

#[test]
fn profiles_of_ikev2_are_what_was_said() {
    let told = "ikev2 set liveness 5 2\nikev2 dpd disable\nikev2 set sleep interval 0.5\n\
        create loopback interface instance 1\n\
        ikev2 profile add p\n\
        ikev2 profile set p id local fqdn a.test\n\
        ikev2 profile set p id remote key-id 0x0001\n\
        ikev2 profile set p traffic-selector local ip-range 10.0.0.0 - 10.0.0.9 port-range 1 - 2 \
        protocol 6\n\
        ikev2 profile set p responder loop1 10.9.0.2\n\
        ikev2 profile set p ike-crypto-alg aes-cbc 256 ike-integ-alg hmac-sha2-256-128 ike-dh \
        ecp-256\n\
        ikev2 profile set p esp-crypto-alg aes-gcm-16 256\n\
        ikev2 profile set p sa-lifetime 3600 10 5 0\n\
        ikev2 profile set p udp-encap\n\
        ikev2 profile set p ipsec-over-udp port 4501\n\
        ikev2 profile set p disable natt\n";
    replays(told, told);
    let mut rig = rig();
    rig.attempt("ikev2 profile add p").unwrap();
    rig.attempt("ikev2 profile set p auth shared-key-mic string sesame").unwrap();
    let (shown, whole) = (rig.run("show configuration"), rig.run("show configuration secrets"));
    assert!(!shown.contains("sesame") && shown.contains("string <hidden>"), "{shown}");
    assert!(whole.contains("auth shared-key-mic string sesame"), "{whole}");
}

#[test]
fn hidden_secrets_are_those_that_run() {
    let mut rig = rig();
    let key = "kFYZ2h3ATFEf8GOV1eYIhPHM3Xn8eLb1FbLD1Mpm0Ws=";
    rig.attempt(&format!("wireguard create listen-port 5 private-key {key} src 10.0.0.1")).unwrap();
    rig.set("bfd key set conf-key-id 1 type keyed-sha1 secret c0ffee");
    let (shown, whole) = (rig.run("show configuration"), rig.run("show configuration secrets"));
    assert!(shown.contains("private-key <hidden> ") && !shown.contains("c0ffee"), "{shown}");
    assert!(whole.contains(key) && whole.contains("secret c0ffee"), "{whole}");
    assert_eq!(checked(&mut rig, &shown), "2 commands: 0 to be removed, 0 to be added\n");
    let file = temporary(&shown);
    assert_eq!(rig.run(&format!("configure replace {}", file.display())), "");
    assert_eq!(rig.run("show configuration secrets"), whole);
    let said = checked(&mut rig, "bfd key set conf-key-id 2 type keyed-sha1 secret <hidden>");
    assert!(
        said.contains("FILE:1: `<hidden>' stands for the secret of a running command"),
        "{said}"
    );
    // Between braces, as fvctl sends its standard input.
    let said = rig.run(&format!("configure check {{ {shown}}}"));
    assert_eq!(said, "2 commands: 0 to be removed, 0 to be added\n");
    let said = rig.run("configure check { \n\nip route\n}");
    assert!(said.contains("standard input:3: "), "{said}");
    assert!(rig.run("configure check -").contains("only fvctl has a standard input"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn what_no_command_takes_back_is_known_before_anything_changes() {
    let mut rig = rig();
    let tunnel = "create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::1 local-cookie 1 \
                  remote-cookie 2 local-session 3 remote-session 4";
    rig.attempt("create loopback interface instance 2").unwrap();
    let name = rig.attempt(tunnel).unwrap().trim().to_owned();
    rig.attempt("create loopback interface instance 1").unwrap();
    let before = rig.run("show configuration secrets");
    let saved = temporary(&before);
    rig.set("commit");
    rig.set(&format!("set l2tpv3 tunnel cookie {name} local 9 remote 2"));
    let (interfaces, now) = (rig.run("show interface"), rig.run("show configuration secrets"));
    let said = rig.run(&format!("configure replace {}", saved.display()));
    let shown = format!("set l2tpv3 tunnel cookie {name} local <hidden> remote <hidden>");
    let lasting = format!("no command undoes `{shown}'");
    assert!(said.contains(&lasting) && said.contains("; nothing has changed"), "{said}");
    assert_eq!(rig.run("show interface"), interfaces);
    let said = rig.run("commit confirm 5");
    assert!(said.contains("this could not be undone"), "{said}");
    assert!(!rig.run("show configuration history").contains("undone in"));
    // It goes with the tunnel.
    let rest = "create loopback interface instance 2\ncreate loopback interface instance 1\n";
    let file = temporary(rest);
    assert_eq!(rig.run(&format!("configure replace {}", file.display())), "");
    let file = temporary(&now);
    assert_eq!(rig.run(&format!("configure replace {}", file.display())), "");
    // A replacement that has it cannot be confirmed later.
    rig.set("delete loopback interface intfc loop1");
    let said = rig.run(&format!("configure replace {} confirm 5", saved.display()));
    assert!(said.contains("no command undoes") && said.contains("nothing has changed"));
}

#[test]
fn a_long_block_is_read_once() {
    // Where each line walks over those before it, these are 4 * 10^10 steps.
    let text = format!("comment {{\n{}}}\n", "x\n".repeat(200_000));
    let mut rig = rig();
    let said = checked(&mut rig, &text);
    assert_eq!(said.trim_end(), "0 commands: 0 to be removed, 0 to be added");
}

#[test]
fn a_trial_that_takes_too_much_memory_is_ended() {
    let mut rig = rig();
    let said = checked(&mut rig, "ip route add count 10000000 10.0.0.0/32 via drop\n");
    assert!(said.contains("takes too much memory to be tried"), "{said}");
    assert_eq!(rig.run("show configuration"), "");
    let said = checked(&mut rig, "ip route add 10.0.0.0/32 via drop\n");
    assert!(said.contains("1 to be added"), "{said}");
}

/// The error while a configuration is being replaced.
const BUSY: &str = "commit confirm: the configuration is already being replaced or saved\n";

/// Fires timers until a replacement in the background is over, and the configuration is this one.
#[track_caller]
fn comes_back(rig: &mut Rig, configuration: &str) {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_secs(60) {
        // A slice of the replacement is done each time.
        rig.control(|router| router.run_due());
        if rig.run("show configuration") == configuration && rig.run("commit confirm 99") != BUSY {
            rig.run("commit");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(rig.run("show configuration"), configuration);
    panic!("{BUSY}");
}

#[test]
fn an_unconfirmed_commit_is_undone_whatever_it_changed() {
    let mut rig = rig();
    rig.attempt("create loopback interface instance 1").unwrap();
    rig.set("set interface ip address loop1 10.0.0.1/24");
    rig.set("commit");
    let before = rig.run("show configuration");
    rig.attempt("commit confirm 0.002").unwrap();
    let changes = [
        "bfd key set conf-key-id 1 type keyed-sha1 secret c0ffee",
        "bfd udp echo-source set interface loop1",
        "bfd udp multihop enable",
        "sflow polling-interval 7",
        "sflow sampling-rate 7",
        "sflow direction both",
        "sflow header-bytes 64",
        "sflow drop-monitoring enable",
        "set wireguard async mode on",
        "map params tcp-mss 1200",
        "map params fragment inner ignore-df",
        "map params icmp source-address 10.0.0.1",
        "map params traffic-class 0x7",
        "create bridge-domain 4 learn 1",
        "set bridge-domain default-learn-limit 500",
        "set bridge-domain learn-limit 4 700",
        "set dhcpv6 vss table 0 vpn-ascii-id abc",
        "ip6 table 2",
        "set dhcpv6 vss table 2 oui 1 vpn-id 2",
        "ip6 table del 2",
        "set dhcp option-82 vss table 0 oui 3 vpn-id 4",
        "set interface mac address loop1 02:00:00:00:00:77",
        "set fib source mine priority 7",
        "set lldp system-name me tx-hold 7",
        "set ip reassembly limits timeout-ms 7 reassemblies 7 fragments 7 walk-ms 7",
        "set ip reassembly limits ip6 shallow timeout-ms 7 reassemblies 7 fragments 7 walk-ms 7",
        "set ip source-and-port-range-check vrf 9 10.0.0.0/8 port 80",
        "set igmp timers query 7",
        "set igmp group-prefix 239.0.0.0/8 ssm",
        "set syslog sender collector 10.0.0.9 src 10.0.0.1",
        "set syslog filter severity crit",
        "set ipfix exporter collector 10.0.0.9 src 10.0.0.1",
        "set sr encaps source addr 2001:db8::1",
        "set nsim delay 1 ms bandwidth 1 gbit packet-size 100",
        "dslite set aftr-tunnel-endpoint-address 2001:db8::7",
        "set pcap filter function vnet_is_packet_traced",
        "vrrp vr add loop1 vr_id 5 unicast 10.0.0.1",
        "vrrp peers loop1 vr_id 5 10.0.0.2",
        "vrrp proto start loop1 vr_id 5",
        "det44 plugin enable",
        "det44 add in 10.9.0.0/24 out 198.51.100.0/28",
        "set interface state loop1 up",
        "set interface ip address del loop1 10.0.0.1/24",
    ];
    for change in changes {
        rig.attempt(change).unwrap_or_else(|error| panic!("{change}: {error}"));
    }
    // A fresh router takes all of it.
    let changed = rig.run("show configuration secrets");
    let mut other = self::rig();
    other.attempt(&changed).unwrap();
    assert_eq!(other.run("show configuration secrets"), changed);
    comes_back(&mut rig, &before);
    // What nothing takes back stays, and all else comes back nevertheless.
    let tunnel = "create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::1 local-session 3 \
                  remote-session 4";
    let name = rig.attempt(tunnel).unwrap().trim().to_owned();
    rig.set("commit");
    let before = rig.run("show configuration");
    rig.attempt("commit confirm 0.002").unwrap();
    rig.set(&format!("set l2tpv3 tunnel cookie {name} local 9 remote 0"));
    let cookie = rig.run("show configuration l2tp");
    rig.set("set interface ip address del loop1 10.0.0.1/24");
    let lines = before.lines().filter(|line| !line.contains("l2tpv3"));
    let back: BTreeSet<_> = lines.chain(cookie.lines()).map(str::to_owned).collect();
    for _ in 0..500 {
        rig.control(|router| router.run_due());
        let now = rig.run("show configuration");
        if now.lines().map(str::to_owned).collect::<BTreeSet<_>>() == back {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{}", rig.run("show configuration"));
}

#[test]
fn saving_keeps_what_was_written_by_hand_and_says_so() {
    let mut rig = rig();
    rig.set("ip table add 7");
    let file = temporary("# core uplink\nip table add 7\n");
    let (path, old) = (file.display().to_string(), format!("{}~", file.display()));
    let said = rig.run(&format!("save {path}"));
    assert!(said.contains(&format!("saved to {path}")) && said.contains(&old), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "ip table add 7\n");
    // What was saved once has none: the old file stays.
    assert_eq!(rig.run(&format!("save {path}")), format!("saved to {path}\n"));
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "# core uplink\nip table add 7\n");
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(old).unwrap();
}

#[test]
fn revisions_that_could_not_be_written_are_written_later() {
    let mut rig = rig();
    let file = temporary("");
    let history = PathBuf::from(format!("{}.history", file.display()));
    // Where the folder should be is something else.
    std::fs::write(&history, "").unwrap();
    rig.router.insert(configure::StartupFile(file.clone()));
    rig.control(configure::resume);
    rig.set("ip table add 7");
    let said = rig.run("commit");
    assert!(said.contains("the history is kept in memory only"), "{said}");
    std::fs::remove_file(&history).unwrap();
    assert_eq!(rig.run("commit"), "nothing has changed since the last commit\n");
    let written = std::fs::read_to_string(history.join("00000001")).unwrap();
    assert!(written.ends_with("\nip table add 7\n"), "{written}");
    std::fs::remove_dir_all(history).unwrap();
    std::fs::remove_file(file).unwrap();
}
