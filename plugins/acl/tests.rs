//! Access lists on routed and bridged interfaces: tests with packets.

use std::net::IpAddr;

use acl::macip::MacIp;
use acl::packet::Tuple;
use acl::rule::{ALL, Range};
use acl::*;
use control::api::Retval;
use control::api::types::{self, IpProto};
use infra::counter::{Rows, VolumeCounter};
use net::InterfaceIndex;
use net::ip::{V4, V6};
use net::testing::Bench;
use net::testing::packets::*;
use proptest::prelude::*;
use wire::{Prefix, Protocol, icmp6, tcp};
use zerocopy::IntoBytes;

const DENIED: &str = "ACL deny packets";
const PASSED: &str = "ACL permit packets";
const CHECKED: &str = "checked packets";

/// Counters of a node that checked packets, those that moved.
fn moved(node: &str, denied: u64, passed: u64) -> Vec<(&str, &'static str, u64)> {
    let all = [(node, DENIED, denied), (node, PASSED, passed), (node, CHECKED, denied + passed)];
    all.into_iter().filter(|(.., count)| *count > 0).collect()
}

/// A bench with access lists.
fn plain() -> Bench {
    Bench::featuring(&[sessions::FEATURE, FEATURE], 1, |_| (), |_| ())
}

/// Runs a command that is a task too.
fn run(bench: &mut Bench, line: &str) -> String {
    bench.run(line).unwrap_or_else(|why| panic!("{line}: {why}"))
}

fn any_port4(from: &str, to: &str) -> Vec<u8> {
    udp4(from, to, 9, b"x")
}

#[test]
fn rules_decide_what_an_interface_receives() {
    let mut bench = plain();
    run(
        &mut bench,
        "set acl-plugin acl deny src 10.0.0.3/32 dst 0.0.0.0/0, permit src 10.0.0.0/24 dst \
         16.0.0.0/8 proto 17, deny ipv6 src 2001:db8::3/128 dst ::/0 , permit src 2001:db8::/64 dst \
         ::/0 proto 17 tag both versions"
            .replace("deny ipv6", "ipv6 deny")
            .as_str(),
    );
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    let places = run(&mut bench, "show interface features pg0 verbose");
    assert!(places.contains("] acl-plugin-in-ip4-fa\n"), "{places}");
    for is_6 in [false, true] {
        let node = if is_6 { "acl-plugin-in-ip6-fa" } else { "acl-plugin-in-ip4-fa" };
        let packet = |n: u64| match (is_6, n % 3) {
            (false, 0) => any_port4("10.0.0.2", "16.0.0.1"),
            (false, 1) => any_port4("10.0.0.3", "16.0.0.1"),
            (false, _) => any_port4("10.9.0.2", "16.0.0.1"),
            (true, 0) => udp6("2001:db8::2", "2001:db8:ff::1", 9, b"x"),
            (true, 1) => udp6("2001:db8::3", "2001:db8:ff::1", 9, b"x"),
            (true, _) => udp6("2001:db9::2", "2001:db8:ff::1", 9, b"x"),
        };
        for count in [1, 3, 4, 255, 256u64] {
            let packets: Vec<_> = (0..count).map(packet).collect();
            bench.send(if is_6 { "ip6-input" } else { "ip4-input" }, &packets);
            let passed = (0..count).filter(|n| n % 3 == 0).count() as u64;
            bench.expect(&moved(node, count - passed, passed));
        }
    }
    run(&mut bench, "set acl-plugin interface pg0 input acl 0 del");
    bench.send("ip4-input", &[any_port4("10.0.0.3", "16.0.0.1")]);
    bench.expect(&[]);
}

#[test]
fn what_is_sent_is_read_behind_the_header_of_its_link() {
    let mut bench = plain();
    run(&mut bench, "set acl-plugin acl permit src 10.0.0.2/32 dst 10.0.1.0/24 proto 17 dport 9");
    run(&mut bench, "set acl-plugin acl permit src 2001:db8::2/128 dst ::/0 proto 17 dport 9");
    run(&mut bench, "set acl-plugin interface pg1 output acl 0");
    run(&mut bench, "set acl-plugin interface pg1 output acl 1");
    let neighbor = bench.neighbor("10.0.1.2", true).0;
    let packets = [("10.0.0.2", 9), ("10.0.0.2", 8), ("10.0.0.3", 9)]
        .map(|(from, port)| udp4(from, "10.0.1.2", port, b"x"));
    let out = bench.send_as("ip4-rewrite", &packets, move |p| p.set_adjacency(neighbor));
    assert_eq!(out.iter().filter(|p| p.at == "sent").count(), 1);
    bench.expect(&moved("acl-plugin-out-ip4-fa", 2, 1));
    let neighbor = bench.neighbor("2001:db8:1::2", true).0;
    let packets = [9, 8].map(|port| udp6("2001:db8::2", "2001:db8:1::2", port, b"x"));
    let out = bench.send_as("ip6-rewrite", &packets, move |p| p.set_adjacency(neighbor));
    assert_eq!(out.iter().filter(|p| p.at == "sent").count(), 1);
    bench.expect(&moved("acl-plugin-out-ip6-fa", 1, 1));
}

#[test]
fn a_replaced_list_counts_at_once_and_lists_are_asked_in_order() {
    let mut bench = plain();
    let packet = any_port4("10.0.0.2", "16.0.0.1");
    let node = "acl-plugin-in-ip4-fa";
    run(&mut bench, "set acl-plugin acl permit src 10.0.0.9/32 dst 0.0.0.0/0");
    run(&mut bench, "set acl-plugin acl permit src 10.0.0.0/8 dst 0.0.0.0/0");
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    bench.send("ip4-input", std::slice::from_ref(&packet));
    bench.expect(&moved(node, 1, 0));
    run(&mut bench, "set acl-plugin interface pg0 input acl 1");
    bench.send("ip4-input", std::slice::from_ref(&packet));
    bench.expect(&moved(node, 0, 1));
    run(&mut bench, "set acl-plugin acl index 0 deny src 10.0.0.2/32 dst 0.0.0.0/0,permit");
    let glued = run(&mut bench, "show acl-plugin acl index 0");
    assert!(glued.contains("1: ipv4 permit"), "a comma needs no blank behind it: {glued}");
    run(&mut bench, "set acl-plugin acl index 0 deny src 10.0.0.2/32 dst 0.0.0.0/0");
    bench.send("ip4-input", std::slice::from_ref(&packet));
    bench.expect(&moved(node, 1, 0));
    let shown = run(&mut bench, "show acl-plugin acl index 0");
    assert!(
        shown.contains("ipv4 deny src 10.0.0.2/32") && shown.contains("inbound on sw_if_index")
    );
}

#[test]
fn later_fragments_and_cut_off_headers_are_compared_without_ports() {
    let mut bench = plain();
    run(
        &mut bench,
        "set acl-plugin acl deny src 0.0.0.0/0 dst 0.0.0.0/0 proto 17 dport 53, permit src \
         0.0.0.0/0 dst 0.0.0.0/0, deny src ::/0 dst ::/0 proto 17 dport 53, permit src ::/0 dst ::/0",
    );
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    let udp = any_port4("10.0.0.2", "16.0.0.1");
    let later = changed4(udp.clone(), |h| h.fragment = 64.into());
    let of_tcp = changed4(ip4("10.0.0.2", "16.0.0.1", Protocol::TCP, &[0; 20]), |h| {
        h.fragment = 64.into();
    });
    let first = changed4(udp.clone(), |h| h.fragment = 0x2000.into());
    bench.send("ip4-input", &[udp, later, of_tcp, first]);
    bench.expect(&moved("acl-plugin-in-ip4-fa", 1, 3));
    let fragment = |offset: u16, rest: &[u8]| {
        let header = [17, 0, (offset >> 8) as u8, offset as u8, 0, 0, 0, 1];
        let options = [44, 0, 1, 4, 0, 0, 0, 0];
        let rest = [&options[..], &header, rest].concat();
        ip6("2001:db8::2", "2001:db8:ff::1", Protocol::HOP_BY_HOP, &rest)
    };
    let udp = |port: u8| [0, 1, 0, port, 0, 9, 0, 0, 1];
    let packets = [fragment(512, &udp(9)), fragment(1, &udp(9)), fragment(1, &udp(53))];
    let tuples: Vec<Tuple<5>> = packets.iter().map(|p| V6::read(p)).collect();
    assert_eq!(tuples.iter().map(|t| t.is_blunt).collect::<Vec<_>>(), [true, false, false]);
    assert!(tuples.iter().all(|t| t.protocol() == Protocol::UDP));
    assert_eq!((tuples[1].ports(), tuples[2].ports()), ((1, 9), (1, 53)));
    let actions: Vec<_> = bench.control(|r| {
        let list = all(r).at(0).unwrap();
        tuples.iter().map(|t| V6::find(list, t).unwrap().action).collect()
    });
    assert_eq!(actions, [Action::Deny, Action::Permit, Action::Deny]);
}

#[test]
fn flags_types_and_codes_count() {
    let mut bench = plain();
    run(
        &mut bench,
        "set acl-plugin acl permit src 0.0.0.0/0 dst 0.0.0.0/0 proto 6 tcpflags 2 mask 18, permit src \
         0.0.0.0/0 dst 0.0.0.0/0 proto 1 sport 8 dport 0, permit src ::/0 dst ::/0 proto 58 sport \
         128 -129",
    );
    let list = |bench: &mut Bench, packet: &[u8]| {
        bench.control(|r| {
            let list = all(r).at(0).unwrap();
            match packet[0] >> 4 {
                4 => V4::find(list, &V4::read(packet)).map(|v| v.rule),
                _ => V6::find(list, &V6::read(packet)).map(|v| v.rule),
            }
        })
    };
    let with = |flags| {
        let header = tcp::Header::new(1, 2, 3, 4, flags);
        ip4("10.0.0.2", "16.0.0.1", Protocol::TCP, header.as_bytes())
    };
    assert_eq!(list(&mut bench, &with(tcp::Flags::SYN)), Some(0));
    assert_eq!(list(&mut bench, &with(tcp::Flags::SYN | tcp::Flags::ACK)), None);
    assert_eq!(list(&mut bench, &ping4("10.0.0.2", "16.0.0.1", b"x")), Some(1));
    let icmp = |kind, code| ip4("10.0.0.2", "16.0.0.1", Protocol::ICMP, &[kind, code, 0, 0]);
    assert_eq!(list(&mut bench, &icmp(8, 1)), None);
    assert_eq!(list(&mut bench, &icmp(0, 0)), None);
    let ask = icmp6("2001:db8::2", "2001:db8::1", icmp6::Type::ECHO_REQUEST, &[0; 4]);
    assert_eq!(list(&mut bench, &ask), Some(2));
    let other = icmp6("2001:db8::2", "2001:db8::1", icmp6::Type::NEIGHBOR_SOLICITATION, &[0; 20]);
    assert_eq!(list(&mut bench, &other), None);
}

#[test]
fn packets_are_counted_by_rule_when_asked_for() {
    let mut bench = plain();
    run(
        &mut bench,
        "set acl-plugin acl permit src 10.0.0.2/32 dst 0.0.0.0/0, deny src 10.0.0.3/32 dst 0.0.0.0/0",
    );
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    let packets = ["10.0.0.2", "10.0.0.3", "10.0.0.3"].map(|from| any_port4(from, "16.0.0.1"));
    bench.send("ip4-input", &packets);
    run(&mut bench, "set acl-plugin counters enable");
    bench.send("ip4-input", &packets);
    let counted = |bench: &mut Bench| {
        let value = bench.router.stats.value("/acl/0/matches").unwrap();
        let control::stats::Value::Combined(rows, count) = value else { panic!("not combined") };
        (0..count).map(|rule| <Rows<VolumeCounter>>::sum(rows, rule).packets).collect::<Vec<_>>()
    };
    assert_eq!(counted(&mut bench), [1, 2]);
    assert!(run(&mut bench, "show acl-plugin acl").contains("packets 2"));
    run(&mut bench, "set acl-plugin acl index 0 permit src 10.0.0.2/32 dst 0.0.0.0/0");
    assert_eq!(counted(&mut bench), [0]);
    run(&mut bench, "set acl-plugin interface pg0 input acl 0 del");
    run(&mut bench, "delete acl-plugin acl index 0");
    assert!(bench.router.stats.value("/acl/0/matches").is_none());
}

fn wire_rule(action: u8, src: &str, dst: &str, ports: (u16, u16)) -> AclRule {
    let prefix = |text: &str| text.parse::<Prefix>().unwrap().into();
    AclRule {
        is_permit: AclAction(action),
        src_prefix: prefix(src),
        dst_prefix: prefix(dst),
        proto: IpProto(17),
        srcport_or_icmptype_first: ports.0,
        srcport_or_icmptype_last: ports.1,
        dstport_or_icmpcode_first: 0,
        dstport_or_icmpcode_last: 65535,
        tcp_flags_mask: 0,
        tcp_flags_value: 0,
    }
}

#[test]
fn messages_say_what_is_wrong_and_change_nothing_then() {
    let mut bench = plain();
    let (pg0, none) = (bench.pg0, u32::MAX);
    let add = |index, r: Vec<AclRule>| AclAddReplace { acl_index: index, tag: "t".into(), r };
    let good = wire_rule(2, "10.0.0.0/8", "0.0.0.0/0", (1, 2));
    let made = bench.talk(|api, r| api.call(r, &add(none, vec![good, good]))).unwrap();
    assert_eq!((made.acl_index, made.retval), (0, 0));
    let mut bad_length = good;
    bad_length.src_prefix.len = 33;
    for (rule, why) in [
        (wire_rule(3, "10.0.0.0/8", "0.0.0.0/0", (1, 2)), Retval::INVALID_VALUE),
        (wire_rule(1, "10.0.0.1/8", "0.0.0.0/0", (1, 2)), Retval::INVALID_SRC_ADDRESS),
        (wire_rule(1, "0.0.0.0/0", "10.0.0.1/8", (1, 2)), Retval::INVALID_DST_ADDRESS),
        (wire_rule(1, "10.0.0.0/8", "2001:db8::/32", (1, 2)), Retval::INVALID_VALUE),
        (wire_rule(1, "10.0.0.0/8", "0.0.0.0/0", (2, 1)), Retval::INVALID_VALUE_2),
        (bad_length, Retval::INVALID_SRC_ADDRESS),
    ] {
        let refused = bench.talk(|api, r| api.call(r, &add(0, vec![good, rule])));
        assert_eq!(refused.err(), Some(why), "{rule:?}");
    }
    let refused = bench.talk(|api, r| api.call(r, &add(432, vec![good])));
    assert_eq!(refused.err(), Some(Retval::NO_SUCH_ENTRY));
    let apply = |n_input, acls: &[u32]| AclInterfaceSetAclList {
        sw_if_index: pg0,
        n_input,
        acls: acls.to_vec(),
    };
    let call =
        |bench: &mut Bench, m: &AclInterfaceSetAclList| bench.talk(|api, r| api.call(r, m)).err();
    assert_eq!(call(&mut bench, &apply(1, &[7])), Some(Retval::NO_SUCH_ENTRY));
    assert_eq!(call(&mut bench, &apply(2, &[0])), Some(Retval::INVALID_VALUE));
    assert_eq!(call(&mut bench, &apply(2, &[0, 0])), Some(Retval::ENTRY_ALREADY_EXISTS));
    assert_eq!(call(&mut bench, &apply(1, &[0, 0])), None);
    let delete = AclDel { acl_index: 0 };
    let refused = bench.talk(|api, r| api.call(r, &delete));
    assert_eq!(refused.err(), Some(Retval::ACL_IN_USE_INBOUND));
    assert_eq!(call(&mut bench, &apply(0, &[0])), None);
    let refused = bench.talk(|api, r| api.call(r, &delete));
    assert_eq!(refused.err(), Some(Retval::ACL_IN_USE_OUTBOUND));
    assert_eq!(call(&mut bench, &apply(0, &[])), None);
    assert!(bench.talk(|api, r| api.call(r, &delete)).is_ok());
    let refused = bench.talk(|api, r| api.call(r, &delete));
    assert_eq!(refused.err(), Some(Retval::NO_SUCH_ENTRY));
}

/// A bench with `pg0` and `pg1` in one domain.
fn bridge() -> Bench {
    let mut bench = Bench::featuring(
        &[sessions::FEATURE, net::fast_path::FEATURE, l2::FEATURE, FEATURE],
        1,
        |_| (),
        |_| (),
    );
    bench.set("set interface l2 bridge pg0 1");
    bench.set("set interface l2 bridge pg1 1");
    bench
}

/// A frame from one host to another with tags, of a type.
fn frame(src: u8, tags: &[u16], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mac = |n| [2, 0, 0, 1, 0, n];
    let tags: Vec<u8> =
        tags.iter().flat_map(|vlan| [0x81, 0, (vlan >> 8) as u8, *vlan as u8]).collect();
    [&mac(9)[..], &mac(src), &tags, &kind.to_be_bytes(), payload].concat()
}

fn bridged(bench: &mut Bench, frames: &[Vec<u8>]) -> usize {
    let rx = bench.pg0.0;
    let caught = bench.send_as("ethernet-input", frames, move |p| p.set_rx(rx));
    caught.iter().filter(|p| p.at == "sent").count()
}

#[test]
fn bridged_frames_meet_lists_whatever_their_tags() {
    for direction in ["input", "output"] {
        let mut bench = bridge();
        run(
            &mut bench,
            "set acl-plugin acl permit src 10.0.0.2/32 dst 0.0.0.0/0, permit src 2001:db8::2/128 dst ::/0",
        );
        let interface = if direction == "input" { "pg0" } else { "pg1" };
        run(&mut bench, &format!("set acl-plugin interface {interface} {direction} acl 0"));
        let (good, bad) = (any_port4("10.0.0.2", "16.0.0.1"), any_port4("10.0.0.3", "16.0.0.1"));
        let good6 = udp6("2001:db8::2", "2001:db8:ff::1", 9, b"x");
        let bad6 = udp6("2001:db8::3", "2001:db8:ff::1", 9, b"x");
        let frames = [
            frame(1, &[], 0x800, &good),
            frame(1, &[], 0x800, &bad),
            frame(1, &[], 0x86dd, &good6),
            frame(1, &[], 0x86dd, &bad6),
            frame(1, &[], 0x88cc, &[0; 46]),
            frame(1, &[], 0x806, &[0; 46]),
        ];
        assert_eq!(bridged(&mut bench, &frames), 4, "{direction}");
        let counters = bench.graph.moved_counters();
        let of = |node: &str, what: &str| {
            let found = counters.iter().filter(|(n, c, _)| n == node && *c == what);
            found.map(|(.., count)| *count).sum::<u64>()
        };
        for version in [4, 6] {
            let node = format!("acl-plugin-{}-ip{version}-l2", &direction[..direction.len() - 3]);
            assert_eq!((of(&node, DENIED), of(&node, PASSED)), (1, 1), "{node}");
        }
    }
}

#[test]
fn frames_other_than_ip_pass_by_their_type() {
    let mut bench = bridge();
    run(&mut bench, "set acl-plugin acl permit src 0.0.0.0/0 dst 0.0.0.0/0");
    run(&mut bench, "set acl-plugin etype-whitelist pg0 input 88cc 0806");
    let frames: Vec<_> =
        [0x88cc, 0x806, 0xaaaa, 0x800].map(|kind| frame(1, &[], kind, &[0x45; 46])).into();
    assert_eq!(bridged(&mut bench, &frames), 4, "no lists are applied");
    run(&mut bench, "set acl-plugin interface pg0 output acl 0");
    assert_eq!(bridged(&mut bench, &frames), 4, "none in this direction");
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    assert_eq!(bridged(&mut bench, &frames), 3);
    run(&mut bench, "set acl-plugin etype-whitelist pg0");
    assert_eq!(bridged(&mut bench, &frames), 4);
    run(&mut bench, "set acl-plugin etype-whitelist pg1 output 88cc");
    assert_eq!(bridged(&mut bench, &frames), 4);
    run(&mut bench, "set acl-plugin interface pg1 output acl 0");
    assert_eq!(bridged(&mut bench, &frames), 2);
    let shown = run(&mut bench, "show acl-plugin interface");
    assert!(shown.contains("output etype whitelist: 88cc"), "{shown}");
}

#[test]
fn macip_lists_let_pairs_of_addresses_in() {
    let mut bench = bridge();
    run(
        &mut bench,
        "set acl-plugin macip acl deny ip 10.0.0.9/32 mac 02:00:00:01:00:01 mask ff:ff:ff:ff:ff:ff, \
         permit ip 10.0.0.0/24 mac 02:00:00:01:00:00 mask ff:ff:ff:ff:ff:00, permit ip 2001:db8::/64 \
         mac 02:00:00:01:00:01 tag pairs",
    );
    run(&mut bench, "set acl-plugin macip interface pg0 acl 0");
    let ip = |src: u8, from: &str| frame(src, &[], 0x800, &any_port4(from, "16.0.0.1"));
    let ip_6 = |src: u8, from: &str| frame(src, &[], 0x86dd, &udp6(from, "2001:db8::1", 9, b"x"));
    let arp = |src: u8, from: [u8; 4]| {
        let sender = [&[2, 0, 0, 1, 0, src][..], &from].concat();
        frame(src, &[], 0x806, &[&[0, 1, 8, 0, 6, 4, 0, 1][..], &sender, &[0; 28]].concat())
    };
    for (frame, passes) in [
        (ip(1, "10.0.0.2"), true),
        (ip(1, "10.0.0.9"), false),
        (ip(2, "10.0.0.9"), true),
        (ip(2, "10.0.1.2"), false),
        (ip_6(1, "2001:db8::2"), true),
        (ip_6(2, "2001:db8::2"), false),
        (arp(1, [10, 0, 0, 2]), true),
        (arp(1, [10, 0, 0, 9]), false),
        (frame(1, &[], 0x88cc, &[0; 46]), false),
        (frame(1, &[5], 0x800, &any_port4("10.0.0.2", "16.0.0.1")), true),
    ] {
        assert_eq!(
            bridged(&mut bench, std::slice::from_ref(&frame)),
            usize::from(passes),
            "{frame:x?}"
        );
    }
    assert!(
        run(&mut bench, "show acl-plugin macip acl")
            .contains("rule 0: ipv4 action 0 ip 10.0.0.9/32 mac ")
    );
    run(&mut bench, "delete acl-plugin macip acl index 0");
    assert_eq!(bench.router.setting::<MacIp>(bench.pg0), MacIp(None));
    assert_eq!(bridged(&mut bench, &[ip(1, "10.0.0.9")]), 1);
}

#[test]
fn clients_are_told_of_macip_lists_up_to_the_last_interface_that_had_one() {
    let mut bench = plain();
    let rule = MacipAclRule {
        is_permit: AclAction::PERMIT,
        src_mac: wire::MacAddr::ZERO,
        src_mac_mask: wire::MacAddr::ZERO,
        src_prefix: types::Prefix::default(),
    };
    let add = MacipAclAdd { tag: "".into(), r: vec![rule] };
    let made = bench.talk(|api, r| api.call(r, &add)).unwrap();
    assert_eq!(made.acl_index, 0);
    let pg1 = bench.pg1;
    let apply = |is_add| MacipAclInterfaceAddDel { is_add, sw_if_index: pg1, acl_index: 0 };
    let refused = bench.talk(|api, r| api.call(r, &apply(false)));
    assert_eq!(refused.err(), Some(Retval::NO_SUCH_ENTRY));
    bench.talk(|api, r| api.call(r, &apply(true))).unwrap();
    let told = |bench: &mut Bench| {
        bench.talk(|api, r| api.call(r, &MacipAclInterfaceGet {})).unwrap().acls
    };
    let mut expected = vec![u32::MAX; pg1.0 as usize];
    expected.push(0);
    assert_eq!(told(&mut bench), expected);
    bench.talk(|api, r| api.call(r, &MacipAclDel { acl_index: 0 })).unwrap();
    expected[pg1.0 as usize] = u32::MAX;
    assert_eq!(told(&mut bench), expected);
}

/// The rules in words: what a list is to be compared with.
fn is_about(rule: &Rule, packet: &Packet) -> bool {
    let fits = |port: u16, (low, high): Range| (low..=high).contains(&port);
    rule.is_6() == packet.src.is_ipv6()
        && (rule.src.prefix_len() == 0 || rule.src.contains(packet.src))
        && (rule.dst.prefix_len() == 0 || rule.dst.contains(packet.dst))
        && (rule.protocol == 0
            || rule.protocol == packet.protocol
                && fits(packet.ports.0, rule.src_ports)
                && fits(packet.ports.1, rule.dst_ports))
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    ports: (u16, u16),
}

impl Packet {
    fn bytes(&self) -> Vec<u8> {
        let ports = [self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes()].concat();
        let rest = [&ports[..], &[0; 16]].concat();
        let (src, dst) = (self.src.to_string(), self.dst.to_string());
        match self.src.is_ipv6() {
            true => ip6(&src, &dst, Protocol(self.protocol), &rest),
            false => ip4(&src, &dst, Protocol(self.protocol), &rest),
        }
    }
}

fn address(is_6: bool) -> impl Strategy<Value = IpAddr> {
    (0..3u8, 0..4u8).prop_map(move |(a, b)| match is_6 {
        true => format!("2001:db8:{a}::{b}").parse().unwrap(),
        false => format!("10.0.{a}.{b}").parse().unwrap(),
    })
}

fn prefix(is_6: bool) -> impl Strategy<Value = Prefix> {
    let lens: &[u8] = if is_6 { &[0, 32, 48, 127, 128] } else { &[0, 8, 24, 31, 32] };
    (address(is_6), prop::sample::select(lens))
        .prop_map(|(addr, len)| Prefix::new(addr, len).unwrap().network())
}

fn range() -> impl Strategy<Value = Range> {
    prop_oneof![Just(ALL), (0..9u16, 0..9u16).prop_map(|(a, b)| (a.min(b), a.max(b)))]
}

fn rule(is_6: bool) -> impl Strategy<Value = Rule> {
    let protocol = prop::sample::select(&[0u8, 6, 17][..]);
    (prefix(is_6), prefix(is_6), protocol, range(), range()).prop_map(
        |(src, dst, protocol, src_ports, dst_ports)| Rule {
            action: Action::Permit,
            src,
            dst,
            protocol,
            src_ports,
            dst_ports,
            tcp_flags: (0, 0),
        },
    )
}

fn packet(is_6: bool) -> impl Strategy<Value = Packet> {
    let protocol = prop::sample::select(&[6u8, 17, 132][..]);
    (address(is_6), address(is_6), protocol, (0..9u16, 0..9u16))
        .prop_map(|(src, dst, protocol, ports)| Packet { src, dst, protocol, ports })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_first_rule_about_a_packet_is_found(
        rules in prop::collection::vec(prop_oneof![rule(false), rule(true)], 0..120),
        packets in prop::collection::vec(prop_oneof![packet(false), packet(true)], 60),
    ) {
        let mut builder = ListBuilder::new(rules.clone());
        while !builder.step() {}
        let list = builder.finish(String::new(), Rows::of(Vec::new()));
        for packet in packets {
            let expected = rules.iter().position(|rule| is_about(rule, &packet));
            let bytes = packet.bytes();
            let found = match packet.src.is_ipv6() {
                true => V6::find(&list, &V6::read(&bytes)),
                false => V4::find(&list, &V4::read(&bytes)),
            };
            prop_assert_eq!(found.map(|v| v.rule as usize), expected, "{:?}", packet);
        }
    }
}

#[test]
fn an_interface_that_goes_takes_its_lists_along() {
    let mut bench = plain();
    run(&mut bench, "set acl-plugin acl permit src 10.0.0.0/8 dst 0.0.0.0/0");
    let pg2: InterfaceIndex = bench.add_interface("pg2", net::interface::Kind::Ethernet, 3);
    run(&mut bench, "set acl-plugin interface pg2 input acl 0");
    assert!(bench.run("delete acl-plugin acl index 0").is_err());
    bench.control(|r| r.remove_interface(pg2));
    run(&mut bench, "delete acl-plugin acl index 0");
}

#[test]
fn sessions_go_with_their_interface_and_their_memory_is_used_again() {
    let mut bench = reflecting();
    let table = |bench: &mut Bench| -> Vec<u64> {
        let shown = run(bench, "show session tables");
        let row = shown.lines().find(|line| line.starts_with("acl-ip4")).unwrap_or("");
        row.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let flows = |first: u16| -> Vec<_> {
        (first..first + 200).map(|port| udp4("10.0.0.2", "16.0.0.1", port, b"x")).collect()
    };
    assert_eq!(cross(&mut bench, "pg0", &flows(1000)), 200);
    let [_, sessions, _, bytes, made, ..] = table(&mut bench)[..] else { panic!("no row") };
    assert_eq!((sessions, made), (200, 200));
    // The clock is moved: all are over, and what is taken back serves others.
    bench.control(|r| r.engine.clock().adjust(700.0));
    let answer = |port: u16| {
        let mut back = udp4("16.0.0.1", "10.0.0.2", 1234, b"x");
        back[20..22].copy_from_slice(&port.to_be_bytes());
        back
    };
    assert_eq!(cross(&mut bench, "pg1", &[answer(1000), answer(1100)]), 0);
    assert_eq!(cross(&mut bench, "pg0", &flows(2000)), 200);
    let [_, _, _, now, ..] = table(&mut bench)[..] else { panic!("no row") };
    assert!(now <= bytes + 32 * 1024, "{now} bytes, {bytes} before");
    let pg0 = bench.interface("pg0");
    bench.control(|r| r.remove_interface(pg0));
    let [_, sessions, ..] = table(&mut bench)[..] else { panic!("no row") };
    assert_eq!(sessions, 0, "another interface may get the number");
}

/// TCP with these flags, one way or back.
fn tcp4(back: bool, flags: tcp::Flags) -> Vec<u8> {
    let ports = if back { (80, 1000) } else { (1000, 80) };
    let header = tcp::Header::new(ports.0, ports.1, 3, 4, flags);
    let (src, dst) = if back { ("16.0.0.1", "10.0.0.2") } else { ("10.0.0.2", "16.0.0.1") };
    ip4(src, dst, Protocol::TCP, header.as_bytes())
}

/// The same over either version, from this port of the near end.
fn tcp_of(is_6: bool, back: bool, flags: tcp::Flags, port: u16) -> Vec<u8> {
    let ports = if back { (80, port) } else { (port, 80) };
    let header = tcp::Header::new(ports.0, ports.1, 3, 4, flags);
    let ends = [["10.0.0.2", "16.0.0.1"], ["2001:db8::2", "2001:db8:ff::1"]][usize::from(is_6)];
    let (src, dst) = if back { (ends[1], ends[0]) } else { (ends[0], ends[1]) };
    match is_6 {
        false => ip4(src, dst, Protocol::TCP, header.as_bytes()),
        true => ip6(src, dst, Protocol::TCP, header.as_bytes()),
    }
}

/// A bridge whose `pg0` begins sessions with what it receives, and sends nothing else.
fn reflecting() -> Bench {
    let mut bench = bridge();
    run(
        &mut bench,
        "set acl-plugin acl permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0, permit+reflect src ::/0 dst ::/0",
    );
    run(&mut bench, "set acl-plugin acl deny src 0.0.0.0/0 dst 0.0.0.0/0, deny src ::/0 dst ::/0");
    run(&mut bench, "set acl-plugin interface pg0 input acl 0");
    run(&mut bench, "set acl-plugin interface pg0 output acl 1");
    bench
}

/// Sends IP packets in frames into an interface of the bridge; how many come out of the other.
fn cross(bench: &mut Bench, on: &str, packets: &[Vec<u8>]) -> usize {
    let rx = bench.interface(on).0;
    let kind = |packet: &[u8]| if packet[0] >> 4 == 4 { 0x800 } else { 0x86dd };
    let src = if on == "pg0" { 1 } else { 2 };
    let frames: Vec<_> = packets.iter().map(|p| frame(src, &[], kind(p), p)).collect();
    let caught = bench.send_as("ethernet-input", &frames, move |p| p.set_rx(rx));
    caught.iter().filter(|p| p.at == "sent").count()
}

#[test]
fn answers_pass_where_a_rule_reflects_and_nothing_else_does() {
    for is_6 in [false, true] {
        let mut bench = reflecting();
        let packet = |back: bool, host: u8| match (is_6, back) {
            (false, false) => udp4("10.0.0.2", &format!("16.0.0.{host}"), 53, b"x"),
            (false, true) => {
                let packet = udp4(&format!("16.0.0.{host}"), "10.0.0.2", 1234, b"x");
                let mut packet = packet;
                packet[20..24].copy_from_slice(&[0, 53, 0, 0]);
                packet
            }
            (true, false) => udp6("2001:db8::2", &format!("2001:db8:ff::{host}"), 53, b"x"),
            (true, true) => {
                let mut packet = udp6(&format!("2001:db8:ff::{host}"), "2001:db8::2", 1234, b"x");
                packet[40..44].copy_from_slice(&[0, 53, 0, 0]);
                packet
            }
        };
        // Whatever source port packets have, answers are for it.
        let at = if is_6 { 40 } else { 20 };
        let out = packet(false, 1);
        let mut back = packet(true, 1);
        back[at + 2..at + 4].copy_from_slice(&out[at..at + 2]);
        let mut other = packet(true, 2);
        other[at + 2..at + 4].copy_from_slice(&out[at..at + 2]);
        assert_eq!(cross(&mut bench, "pg1", std::slice::from_ref(&back)), 0);
        assert_eq!(cross(&mut bench, "pg0", std::slice::from_ref(&out)), 1);
        bench.graph.moved_counters();
        assert_eq!(cross(&mut bench, "pg1", &[back.clone(), back.clone(), other]), 2);
        assert_eq!(cross(&mut bench, "pg0", std::slice::from_ref(&out)), 1);
        let counters = bench.graph.moved_counters();
        let v = if is_6 { 6 } else { 4 };
        let of = |node: String, what: &str| {
            let found = counters.iter().find(|(n, c, _)| *n == node && *c == what);
            found.map_or(0, |(.., count)| *count)
        };
        assert_eq!(of(format!("acl-plugin-out-ip{v}-l2"), "existing session packets"), 2);
        assert_eq!(of(format!("acl-plugin-out-ip{v}-l2"), DENIED), 1);
        assert_eq!(of(format!("acl-plugin-in-ip{v}-l2"), "existing session packets"), 1);
        let shown = run(&mut bench, "show acl-plugin sessions");
        assert!(shown.contains("add 1 - del 0 = 1") && shown.contains("packets 4"), "{shown}");
        run(&mut bench, "clear acl-plugin sessions");
        assert_eq!(cross(&mut bench, "pg1", std::slice::from_ref(&back)), 0);
    }
}

#[test]
fn sessions_are_over_after_their_timeout_and_established_ones_later() {
    let mut bench = reflecting();
    run(&mut bench, "set acl-plugin session timeout tcp transient 10");
    run(&mut bench, "set acl-plugin session timeout tcp idle 1000");
    let (syn, ack) = (tcp::Flags::SYN, tcp::Flags::ACK);
    let wait = |bench: &mut Bench, seconds: f64| {
        bench.control(|r| r.engine.clock().adjust(seconds));
    };
    assert_eq!(cross(&mut bench, "pg0", &[tcp4(false, syn)]), 1);
    wait(&mut bench, 11.0);
    assert_eq!(cross(&mut bench, "pg1", &[tcp4(true, syn | ack)]), 0);
    assert_eq!(cross(&mut bench, "pg0", &[tcp4(false, syn)]), 1);
    assert_eq!(cross(&mut bench, "pg1", &[tcp4(true, syn | ack)]), 1);
    assert_eq!(cross(&mut bench, "pg0", &[tcp4(false, ack)]), 1);
    wait(&mut bench, 900.0);
    assert_eq!(cross(&mut bench, "pg1", &[tcp4(true, ack)]), 1);
    let fin = tcp::Flags::FIN | ack;
    assert_eq!(cross(&mut bench, "pg1", &[tcp4(true, fin)]), 1);
    assert_eq!(cross(&mut bench, "pg0", &[tcp4(false, fin)]), 1);
    wait(&mut bench, 11.0);
    assert_eq!(cross(&mut bench, "pg1", &[tcp4(true, ack)]), 0);
}

#[test]
fn transient_sessions_end_though_the_far_end_goes_on() {
    for is_6 in [false, true] {
        for reflects in ["input", "output"] {
            let mut bench = reflecting();
            if reflects == "output" {
                // What `pg1` sends begins sessions there.
                for line in [
                    "set acl-plugin interface pg0 input acl 0 del",
                    "set acl-plugin interface pg0 output acl 1 del",
                    "set acl-plugin interface pg1 output acl 0",
                    "set acl-plugin interface pg1 input acl 1",
                ] {
                    run(&mut bench, line);
                }
            }
            run(&mut bench, "set acl-plugin session timeout tcp transient 1000");
            let packet = |back, flags, port| tcp_of(is_6, back, flags, port);
            let send = |bench: &mut Bench, back: bool, flags, port| {
                cross(bench, if back { "pg1" } else { "pg0" }, &[packet(back, flags, port)])
            };
            let (syn, ack) = (tcp::Flags::SYN, tcp::Flags::ACK);
            let fin = tcp::Flags::FIN | ack;
            let open: [(bool, tcp::Flags); 3] = [(false, syn), (true, syn | ack), (false, ack)];
            let close = [(true, fin), (false, fin), (true, ack)];
            let closed = [&open[..], &close].concat();
            let lives = [(1000, &open[..2]), (1001, &open[..1]), (1002, &closed[..])];
            for (port, steps) in lives {
                for (back, flags) in steps {
                    assert_eq!(send(&mut bench, *back, *flags, port), 1, "{port} {flags}");
                }
            }
            send(&mut bench, false, syn, 1003);
            send(&mut bench, true, syn | ack, 1003);
            send(&mut bench, false, ack, 1003);
            // The time that the test itself takes is short against a step.
            for step in 1..=12 {
                bench.control(|r| r.engine.clock().adjust(100.0));
                for (port, _) in lives {
                    let passes = send(&mut bench, true, ack, port);
                    // The first packet of the far end is a step.
                    let end = if port == 1001 { 11 } else { 10 };
                    assert_eq!(passes == 1, step < end, "{port} after {step} steps");
                }
                assert_eq!(send(&mut bench, true, ack, 1003), 1, "it is established");
            }
        }
    }
}

#[test]
fn idle_sessions_behind_busy_ones_end() {
    let mut bench = reflecting();
    run(&mut bench, "set acl-plugin session timeout udp idle 10");
    let (busy, idle) =
        (udp4("10.0.0.2", "16.0.0.1", 53, b"x"), udp4("10.0.0.2", "16.0.0.2", 53, b"x"));
    cross(&mut bench, "pg0", std::slice::from_ref(&busy));
    cross(&mut bench, "pg0", std::slice::from_ref(&idle));
    for _ in 0..20 {
        bench.control(|r| r.engine.clock().adjust(1.0));
        cross(&mut bench, "pg0", std::slice::from_ref(&busy));
        bench.control(|r| r.run_due());
        bench.graph.run();
    }
    let shown = run(&mut bench, "show acl-plugin sessions verbose 1");
    assert!(shown.contains("add 2 - del 1 = 1"), "{shown}");
    assert!(shown.contains("thread 0 index 0  sw_if_index"), "{shown}");
    let of = |bench: &mut Bench, which: &str| {
        run(bench, &format!("show acl-plugin sessions {which}")).matches("16.0.0.1").count()
    };
    assert_eq!(of(&mut bench, "thread 0 index 0"), 1);
    assert_eq!(of(&mut bench, "thread 0 index 1"), 0);
    assert_eq!(of(&mut bench, "thread 1"), 0);
}

#[test]
fn words_may_stand_in_any_order_and_those_of_the_original_are_taken() {
    let mut bench = plain();
    for line in [
        "set acl-plugin acl count 2 src 10.0.0.0/8 proto 6 permit tcpflags 2 18, action 2 proto 17 \
         tag a",
        "set acl-plugin interface input pg0 add acl 0",
        "set acl-plugin macip acl mac 02:00:00:00:00:01 src 10.0.0.2/32 permit, action 0",
        "set acl-plugin session table event-trace 1",
        "set acl-plugin session table max-entries 1000 hash-table-memory 64m hash-table-buckets 64",
        "set acl-plugin event-trace 1",
        "set acl-plugin heap main validate 1",
        "set acl-plugin heap hash trace 0",
        "set acl-plugin l4-match-nonfirst-fragment 1",
        "set acl-plugin skip-ipv6-extension-header 43 1",
    ] {
        let said = run(&mut bench, line);
        assert!(said.is_empty() || said.starts_with("ACL index:0"), "{line}: {said}");
    }
    let shown = run(&mut bench, "show acl-plugin interface sw_if_index 1 acl");
    let ports = "sport 0-65535 dport 0-65535";
    let rule = format!("permit src 10.0.0.0/8 dst 0.0.0.0/0 proto 6 {ports} tcpflags 2 mask 18\n");
    assert!(shown.contains(&rule), "{shown}");
    let rule = format!("permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0 proto 17 {ports}\n");
    assert!(shown.contains(&rule), "{shown}");
    let shown = run(&mut bench, "show acl-plugin interface sw_if_index 1 detail");
    assert!(shown.ends_with(" input lookup context index: 0\n  output lookup context index: -1\n"));
    let shown = run(&mut bench, "show acl-plugin macip acl");
    assert!(shown.contains("action 1 ip 10.0.0.2/32 mac 02:00:00:00:00:01 mask ff:"), "{shown}");
    for (line, why) in [
        ("set acl-plugin acl action 3 proto 6", "invalid action `3 proto 6'"),
        ("set acl-plugin acl proto 6", "expected permit, deny or permit+reflect"),
        ("set acl-plugin acl permit proto 6 deny", "unknown input `deny'"),
        ("set acl-plugin macip acl permit+reflect", "expected permit or deny"),
        ("set acl-plugin interface input acl 0", "expected an interface"),
        ("set acl-plugin session table hash-table-memory 6q", "invalid hash-table-memory `6q'"),
        ("set acl-plugin l4-match-nonfirst-fragment 0", "are about all fragments"),
        ("set acl-plugin skip-ipv6-extension-header 43 0", "all extension headers are skipped"),
    ] {
        let said = bench.run(line).err().map_or_else(String::new, |why| why.to_string());
        assert!(said.contains(why), "{line}: {said}");
    }
}

#[test]
fn echoes_and_errors_about_a_session_pass_and_other_icmp_does_not() {
    let mut bench = reflecting();
    let ask = ping4("10.0.0.2", "16.0.0.1", b"x");
    let mut answer = ping4("16.0.0.1", "10.0.0.2", b"x");
    answer[20] = 0;
    assert_eq!(cross(&mut bench, "pg1", std::slice::from_ref(&answer)), 0);
    assert_eq!(cross(&mut bench, "pg0", std::slice::from_ref(&ask)), 1);
    assert_eq!(cross(&mut bench, "pg1", std::slice::from_ref(&answer)), 1);
    // A query of the other side is none of its answers, whatever its identifier.
    for kind in [8, 13, 15, 17] {
        let mut query = ping4("16.0.0.1", "10.0.0.2", b"x");
        query[20] = kind;
        for n in [1, 3, 4, 255, 256] {
            assert_eq!(cross(&mut bench, "pg1", &vec![query.clone(); n]), 0, "{kind}");
        }
    }
    assert_eq!(cross(&mut bench, "pg1", &vec![answer; 9]), 9);
    let error = |about: &[u8]| {
        let rest = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &about[..28]].concat();
        ip4("16.9.9.9", "10.0.0.2", Protocol::ICMP, &rest)
    };
    let of_other = udp4("10.0.0.2", "16.0.0.7", 53, b"x");
    assert_eq!(cross(&mut bench, "pg1", &[error(&ask), error(&of_other)]), 1);
    // An error begins no session.
    assert_eq!(cross(&mut bench, "pg0", &[error(&ask)]), 1);
    assert!(run(&mut bench, "show acl-plugin sessions").contains("= 1\n"));
}

#[test]
fn sessions_outlive_their_rule_unless_they_are_to_be_judged_anew() {
    for reclassify in [false, true] {
        let mut bench = reflecting();
        run(&mut bench, &format!("set acl-plugin reclassify-sessions {}", u8::from(reclassify)));
        assert_eq!(cross(&mut bench, "pg0", &[tcp4(false, tcp::Flags::SYN)]), 1);
        run(
            &mut bench,
            "set acl-plugin acl index 0 deny src 10.0.0.2/32 dst 0.0.0.0/0, permit+reflect src \
             0.0.0.0/0 dst 0.0.0.0/0",
        );
        let passes = cross(&mut bench, "pg1", &[tcp4(true, tcp::Flags::ACK)]);
        assert_eq!(passes, usize::from(!reclassify));
    }
}
