//! What all features were told, printed and replayed.
#![forbid(unsafe_code)]

use net::Feature;
use net::testing::Rig;

/// A router with all features and nothing else.
fn rig() -> Rig {
    let features: Vec<Feature> = plugins::features().copied().collect();
    Rig::new(&features)
}

/// Has one router told `told`, and another one what the first one then prints, which must be
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
}

#[test]
fn a_router_that_was_told_nothing_prints_nothing() {
    replays("comment nothing", "");
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
set interface link-speed loop0 10000
set interface state loop0 punt",
        "create loopback interface instance 0
set interface name loop0 loop1
create loopback interface mac 02:00:00:00:00:07 instance 7
set interface name loop7 renamed-2
set interface name renamed-2 loop0
create sub-interfaces loop0 5 dot1ad 100 inner-dot1q any
create sub-interfaces loop0 6 untagged
set interface name loop0.6 native
set interface mtu 1500 loop1
set interface mtu ip6 1400 loop1
set interface tag loop1 the first one
set interface secondary-mac-address loop1 02:00:00:00:00:0a
set interface mtu packet 9100 loop0
set interface link-speed loop0 10000
set interface promiscuous on loop0
set interface mac address loop1 02:00:00:00:00:09
set interface state local0 up
set interface state loop0 punt
set interface state loop0.5 up
",
    );
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
ip route add 17.0.0.0/8 table 7 via 10.0.0.99 resolve-via-host
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
        "create packet-generator interface pg0
create packet-generator interface pg1 hw-addr 02:00:00:00:00:01 gso-enabled gso-size 1400 coalesce-enabled
create packet-generator interface pg2 csum-offload-enabled mode ip4
set ip reassembly limits ip6 shallow timeout-ms 300 reassemblies 10 fragments 5 walk-ms 50
set ip reassembly local ip6
set ip reassembly extended ip6 on
set punt ipv4 udp 1234
set punt ipv6 tcp all
set punt ipv4 protocol 89
packet-generator mac-filter pg0 on
packet-generator coalesce pg2 on
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
policer add name slow index 1 type 2r3c-2698 cir 80 cb 1000 eir 90 eb 2000 exceed-action mark-and-transmit EF color-aware
create loopback interface instance 0
create loopback interface instance 1
enable ip6 interface loop0
enable ip6 interface loop1
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
