//! What takes the fast path and what goes node by node ends alike, and is counted alike.

use std::collections::BTreeMap;

use graph::Monitored;
use graph::testing::Caught;
use wire::MacAddr;

use crate::testing::packets::{udp4, udp6};
use crate::testing::whole::{Bench, HOST, PG0, PG1};

/// What was seen of some frames: what was sent and dropped, and all that was counted.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    caught: Vec<Caught>,
    errors: Vec<(String, &'static str, u64)>,
    nodes: BTreeMap<String, u64>,
    edges: BTreeMap<(String, String), u64>,
    interfaces: String,
    routes: String,
    adjacencies: String,
}

/// A router with routes of all kinds, and what `lines` say besides.
fn bench(lines: &[&str]) -> Bench {
    let mut bench = Bench::new();
    let all = [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2 static",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:b3 static",
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2 static",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static",
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 17.0.0.0/8 via 10.0.1.3 pg1",
        "ip route add 18.0.0.0/8 via 10.0.0.2 pg0",
        "ip route add 19.0.0.0/8 via 10.0.1.2 pg1 via 10.0.1.3 pg1",
        "ip route add 20.0.0.0/8 drop",
        "ip route add 2001:db8:16::/48 via 2001:db8:1::2 pg1",
        "ip route add 2001:db8:18::/48 via 2001:db8::2 pg0",
        "ip route add 2001:db8:20::/48 drop",
        "adjacency counters enable",
    ];
    for line in all.iter().chain(lines) {
        assert_eq!(bench.cli(line), "", "{line}");
    }
    bench
}

fn see(bench: &mut Bench, frames: &[Vec<u8>], is_node_by_node: bool) -> Seen {
    bench.graph.engine.monitor(Monitored::Fields, is_node_by_node);
    bench.graph.run();
    bench.graph.moved_counters();
    bench.graph.engine.clear_runtime();
    bench.cli("clear interfaces");
    let (pg0, pg1) = (bench.pg0.0, bench.pg1.0);
    let mut caught = bench.graph.send("ethernet-input", frames, move |p| {
        // The sender says by which interface a frame comes.
        p.set_rx(if p.bytes()[11] == 9 { pg1 } else { pg0 });
    });
    caught.sort_by(|a, b| (&a.at, &a.bytes).cmp(&(&b.at, &b.bytes)));
    let name = |bench: &Bench, node| bench.graph.engine.name_of(node).to_owned();
    let rows = bench.graph.engine.runtime_rows().unwrap();
    let nodes = rows.iter().flat_map(|row| &row.nodes);
    let nodes = nodes.filter(|n| n.stats.vectors > 0);
    let nodes = nodes.map(|n| (n.name.clone(), n.stats.vectors)).collect();
    let edges = bench.graph.engine.edges_taken().unwrap().into_iter();
    let edges = edges.map(|((a, b), n)| ((name(bench, a), name(bench, b)), n)).collect();
    let errors = bench.graph.moved_counters();
    let interfaces = bench.cli("show interface");
    let routes = bench.cli("show ip fib 16.0.0.1") + &bench.cli("show ip6 fib 2001:db8:16::1");
    let adjacencies = bench.cli("show adjacency");
    bench.cli("clear ip fib");
    Seen { caught, errors, nodes, edges, interfaces, routes, adjacencies }
}

/// A frame of some kind, chosen by `n`.
fn frame(n: u64) -> Vec<u8> {
    let nets4 = ["16", "16", "16", "17", "18", "19", "20", "99", "10"];
    let nets6 = ["16", "16", "18", "20", "99"];
    let data = [n as u8; 30];
    let is_ip6 = n % 5 == 4;
    let mut packet = if is_ip6 {
        let dst = format!("2001:db8:{}::{:x}", nets6[n as usize / 5 % 5], n % 7 + 1);
        udp6("2001:db8::2", &dst, 80, &data)
    } else {
        let dst = format!("{}.0.{}.1", nets4[n as usize / 5 % 9], n % 3);
        udp4("10.0.0.2", &dst, 80, &data)
    };
    let (hops, kind) = if is_ip6 { (7, 0x86dd) } else { (8, 0x800) };
    match n / 50 % 12 {
        0 => packet[hops] = 1,
        1 => packet[hops] = 0,
        2 => packet[if is_ip6 { 0 } else { 10 }] ^= 0x55,
        3 => packet.extend([0; 7]),
        4 => packet.truncate(19),
        5 => packet.extend([0; 1500]),
        _ => (),
    }
    let to = match n / 600 % 8 {
        0 => MacAddr([2, 0, 0, 0, 0, 0xcc]),
        1 => PG1,
        _ => PG0,
    };
    let mut from = HOST.0;
    from[5] = if to == PG1 { 9 } else { 1 };
    [&to.0[..], &from, &u16::to_be_bytes(kind), &packet].concat()
}

/// Numbers that look random.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let next =
        |n: &u64| Some(n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    std::iter::successors(Some(seed), next).map(|n| n >> 33)
}

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    let fast = see(&mut bench(lines), frames, false);
    let slow = see(&mut bench(lines), frames, true);
    assert_eq!(fast.errors, slow.errors, "{lines:?}, seed {seed}");
    assert_eq!(fast.nodes, slow.nodes, "{lines:?}, seed {seed}");
    assert_eq!(fast, slow, "{lines:?}, seed {seed}");
    fast
}

#[test]
fn packets_and_counters_are_those_of_the_nodes() {
    let settings: [&[&str]; 7] = [
        &[],
        &["set interface state pg1 down"],
        &["set interface mtu packet 50 pg1"],
        &["ip table add 7", "ip route add table 7 16.0.0.0/8 via 10.0.1.3 pg1"],
        &["ip route add 16.0.2.0/24 via 10.0.1.99 pg1"],
        &["set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:b2"],
        &["set interface promiscuous on pg0"],
    ];
    for (seed, lines) in (1..).zip(settings) {
        for count in [1, 3, 4, 64, 65, 255, 256] {
            let seed = seed * 1000 + count as u64;
            let frames: Vec<_> = numbers(seed).map(frame).take(count).collect();
            expect_alike(lines, seed, &frames);
        }
    }
}

#[test]
fn a_frame_of_one_flow_takes_it_whole() {
    for (is_ip6, input) in [(false, "ip4-input"), (true, "ip6-input")] {
        let packet = if is_ip6 {
            udp6("2001:db8::2", "2001:db8:16::1", 80, &[1; 20])
        } else {
            udp4("10.0.0.2", "16.0.0.1", 80, &[1; 20])
        };
        let kind: u16 = if is_ip6 { 0x86dd } else { 0x800 };
        let frame = [&PG0.0[..], &HOST.0, &kind.to_be_bytes(), &packet].concat();
        let seen = expect_alike(&[], 0, &vec![frame; 256]);
        assert!(seen.caught.len() == 256 && seen.caught.iter().all(|c| c.at == "sent"));
        assert_eq!(seen.nodes[input], 256);
    }
}
