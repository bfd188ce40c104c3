//! Explanations, and the packets that then do what they said.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use control::cli::Output;
use net::InterfaceIndex;
use net::interface::Kind;
use net::testing::whole::{Bench, HOST, PG0};
use proptest::prelude::*;
use serde_json::Value;
use wire::ethernet::{self, EtherType};
use wire::{MacAddr, Protocol, ip4, udp};
use zerocopy::IntoBytes;

/// Two routed interfaces with a list on the first, three bridged ones, and routes of every kind.
fn bench() -> Bench {
    let features = [explain::FEATURE, sessions::FEATURE, acl::FEATURE, l2::FEATURE];
    let mut b = Bench::plugged(&features);
    for (name, mac) in [("pg2", 0xac), ("pg3", 0xad), ("pg4", 0xae)] {
        b.add_interface(name, Kind::Ethernet, mac);
        b.set(&format!("set interface l2 bridge {name} 1"));
    }
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:01:02",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:01:03",
        "ip route add 10.1.0.0/16 via 10.0.1.2 pg1",
        "ip route add 10.2.0.0/16 via 10.0.1.2 pg1 via 10.0.1.3 pg1",
        "ip route add 10.3.0.0/16 via 10.1.2.3",
        "ip route add 10.4.0.0/16 drop",
        "ip route add 10.5.0.0/16 via 10.0.1.77 pg1",
        "ip route add 10.6.0.0/16 via unreachable",
    ] {
        let said = b.run(line);
        assert_eq!(said, "", "{line}");
    }
    let rules = "set acl-plugin acl deny src 0.0.0.0/0 dst 10.1.66.0/24, permit src 0.0.0.0/0 dst \
        0.0.0.0/0";
    b.run(rules);
    b.run("set acl-plugin interface pg0 input acl 0");
    b.graph.moved_counters();
    b
}

fn output(b: &mut Bench, line: &str) -> Output {
    b.control(|router, cli| {
        let done = cli.run(router, line);
        assert!(done.result.is_ok(), "{line}: {}", done.text());
        done.output
    })
}

fn explain(b: &mut Bench, on: &str, frame: &[u8]) -> Value {
    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    output(b, &format!("explain {on} hex {hex}")).to_json()
}

/// A UDP packet in its frame.
fn frame(dst_mac: MacAddr, src_mac: MacAddr, dst: Ipv4Addr, ttl: u8, is_good: bool) -> Vec<u8> {
    let payload = [7; 20];
    let len = (28 + payload.len()) as u16;
    let mut ip = ip4::Header::new(Ipv4Addr::new(10, 0, 0, 2), dst, Protocol::UDP, len);
    ip.ttl = ttl;
    let mut ip = ip.with_checksum();
    if !is_good {
        ip.checksum.set(ip.checksum.get() ^ 1);
    }
    let link = ethernet::Header::new(dst_mac, src_mac, EtherType::IP4);
    let udp = udp::Header::new(1000, 2000, len - 20);
    [link.as_bytes(), ip.as_bytes(), udp.as_bytes(), &payload].concat()
}

/// State that operators can see.
fn state(b: &mut Bench) -> Vec<String> {
    let shows = [
        "show errors",
        "show interface",
        "show l2fib verbose",
        "show ip fib",
        "show adj",
        "show trace",
        "show acl-plugin acl",
        "show buffers",
        "show bridge-domain 1 detail",
    ];
    let mut all: Vec<_> = shows.iter().map(|line| b.run(line)).collect();
    // Without the ages.
    let neighbors = b.run("show ip neighbors");
    let line = |line: &str| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    all.extend(neighbors.lines().map(line));
    // What was counted and is in none of these.
    let interfaces = b.router.interfaces.iter().map(|i| i.index).collect::<Vec<InterfaceIndex>>();
    all.extend(interfaces.iter().map(|i| format!("{:?}", b.router.interfaces.values(*i))));
    all
}

/// By node and counter.
type Counts = BTreeMap<(String, String), u64>;

/// The counters, and the interfaces that packets leave by, as an explanation has them.
fn foretold(story: &Value) -> (Counts, Vec<String>) {
    let (mut counts, mut sent) = (Counts::new(), Vec::new());
    for packet in story["packets"].as_array().unwrap() {
        for step in packet["steps"].as_array().unwrap() {
            for c in step["counts"].as_array().unwrap_or(&Vec::new()) {
                let key = ["node", "name"].map(|field| c[field].as_str().unwrap().to_owned());
                let [node, name] = key;
                *counts.entry((node, name)).or_default() += c["by"].as_u64().unwrap();
            }
        }
        let fate = &packet["fate"];
        assert_ne!(fate["kind"], "unknown", "{story:#}");
        if fate["kind"] == "sent" {
            sent.push(fate["interface"].as_str().unwrap().to_owned());
        }
    }
    sent.sort();
    (counts, sent)
}

/// Fate of a packet that is sent then.
fn done(b: &mut Bench, on: &str, frame: &[u8]) -> (Counts, Vec<String>) {
    let rx = b.interface(on);
    let caught = b.graph.send("ethernet-input", &[frame.to_vec()], move |p| p.set_rx(rx.0));
    let name = |tx: u32| b.router.interfaces.name(tx).to_owned();
    let mut sent: Vec<_> = caught.iter().filter(|c| c.at == "sent").map(|c| name(c.tx)).collect();
    sent.sort();
    let moved = b.graph.moved_counters().into_iter();
    let moved = moved.map(|(node, name, by)| ((node, name.to_owned()), by)).collect();
    b.settle();
    b.graph.moved_counters();
    (moved, sent)
}

prop_compose! {
    fn any_packet()(
        is_bridged in prop::bool::weighted(0.3),
        network in 0_u8..8,
        host in prop_oneof![Just(2_u8), Just(3), 2..250_u8],
        third in prop_oneof![Just(66_u8), any::<u8>()],
        ttl in prop_oneof![Just(64_u8), Just(64), Just(1), Just(0)],
        is_good in prop::bool::weighted(0.9),
        is_ours in prop::bool::weighted(0.9),
        hosts in (1_u8..5, 1_u8..6).prop_filter("learned on the way", |hosts| hosts.0 != hosts.1),
        port in 2_u8..5,
    ) -> (String, Vec<u8>) {
        if is_bridged {
            let mac = |n: u8| MacAddr([2, 0, 0, 1, 0, n]);
            let to = if hosts.1 == 5 { MacAddr([255; 6]) } else { mac(hosts.1) };
            let dst = Ipv4Addr::new(10, 0, 9, 9);
            return (format!("pg{port}"), frame(to, mac(hosts.0), dst, ttl, is_good));
        }
        let dst = match network {
            0 => Ipv4Addr::new(10, 0, 1, host),
            7 => Ipv4Addr::new(10, 0, third % 2, 1),
            n => Ipv4Addr::new(10, n, third, host),
        };
        let to = if is_ours { PG0 } else { HOST };
        ("pg0".to_owned(), frame(to, HOST, dst, ttl, is_good))
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn packets_do_what_was_said_and_saying_it_changes_nothing(
        packets in prop::collection::vec(any_packet(), 1..20)
    ) {
        let mut b = bench();
        for (on, frame) in packets {
            // The live node remembers sent requests; an explanation starts fresh.
            b.graph.engine.clock().adjust(5.0);
            b.settle();
            b.graph.moved_counters();
            let before = state(&mut b);
            let story = explain(&mut b, &on, &frame);
            let after = state(&mut b);
            let differs = before.iter().zip(&after).find(|(before, after)| before != after);
            prop_assert!(differs.is_none() && before.len() == after.len(), "{:?}", differs);
            prop_assert!(b.graph.moved_counters().is_empty());
            prop_assert!(b.settle().is_empty(), "nobody was told");
            prop_assert_eq!(foretold(&story), done(&mut b, &on, &frame), "{:#}", story);
        }
    }
}

#[test]
fn the_matched_entry_and_the_changed_fields_are_named() {
    let mut b = bench();
    let packet = frame(PG0, HOST, Ipv4Addr::new(10, 1, 2, 4), 64, true);
    let story = explain(&mut b, "pg0", &packet);
    let steps = story["packets"][0]["steps"].as_array().unwrap();
    let nodes: Vec<_> = steps.iter().map(|step| step["node"].as_str().unwrap()).collect();
    let expected = [
        "ethernet-input",
        "ip4-input",
        "acl-plugin-in-ip4-fa",
        "ip4-lookup",
        "ip4-rewrite",
        "pg1-output",
    ];
    assert_eq!(nodes, expected, "{story:#}");
    assert_eq!(steps[2]["said"][0], "rule 1 of list 0 on pg0 permits it");
    assert_eq!(steps[3]["said"][0], "10.1.2.4 in table 0: 10.1.0.0/16 matches (CLI)");
    assert_eq!(steps[3]["said"][1], "leads to neighbour 10.0.1.2 on pg1");
    let changed = steps[4]["changed"].as_array().unwrap();
    assert_eq!(changed[0]["change"], "put");
    assert_eq!(changed[1]["field"], "ttl");
    assert_eq!((&changed[1]["before"], &changed[1]["after"]), (&"64".into(), &"63".into()));
    assert_eq!(story["packets"][0]["fate"]["interface"], "pg1");
}

#[test]
fn drops_have_the_reason_that_is_counted() {
    let mut b = bench();
    let packet = frame(PG0, HOST, Ipv4Addr::new(10, 1, 66, 3), 64, true);
    let fate = &explain(&mut b, "pg0", &packet)["packets"][0]["fate"];
    assert_eq!((&fate["kind"], &fate["reason"]), (&"dropped".into(), &"ACL deny packets".into()));
    assert_eq!(fate["counted_at"], "acl-plugin-in-ip4-fa");
    let text = b.run("explain pg0 UDP: 10.0.0.2 -> 10.4.0.1 UDP: 1 -> 2 incrementing 8");
    assert!(text.contains("10.4.0.0/16 matches"), "{text}");
    assert!(text.ends_with("  => dropped: blackholed packets (counted at null-node)\n"), "{text}");
}

#[test]
fn what_is_made_on_the_way_is_followed_as_well() {
    let mut b = bench();
    let packet = frame(PG0, HOST, Ipv4Addr::new(10, 0, 1, 99), 64, true);
    let story = explain(&mut b, "pg0", &packet);
    assert_eq!(story["packets"][0]["fate"]["kind"], "kept");
    let question = &story["packets"][1];
    assert_eq!(question["made_by"]["node"], "ip4-glean");
    assert_eq!(question["fate"]["interface"], "pg1");
    assert!(!b.run("show ip neighbors").contains("10.0.1.99"));
}

#[test]
fn an_explanation_ends_where_others_are_awaited() {
    let mut b = bench();
    let reply = "UDP: 10.0.0.2 -> 10.0.0.1 UDP: 1 -> 2";
    let node = b.run(&format!("explain pg0 node deleted-99 {reply}"));
    assert!(node.contains("no node `deleted-99'"), "{node}");
    let fragment = "explain pg0 node ip4-full-reassembly-feature UDP: 10.0.0.2 -> 10.1.0.1 \
        fragment offset 8192 UDP: 1 -> 2 incrementing 8";
    let text = b.run(fragment);
    assert!(text.contains("it waits here for other fragments"), "{text}");
}

#[test]
fn what_is_no_packet_is_named() {
    let mut b = bench();
    for (line, said) in [
        ("explain", "explain: missing interface\n"),
        ("explain pg9 hex 00", "explain: unknown interface `pg9 hex 00'\n"),
        ("explain pg0", "explain: missing packet\n"),
        ("explain pg0 hex 0", "explain: invalid hexadecimal bytes `hex 0'\n"),
        ("explain pg0 pcap /nonexistent", "explain: missing `packet <n>' after the file\n"),
    ] {
        assert_eq!(b.run(line), said, "{line}");
    }
}
