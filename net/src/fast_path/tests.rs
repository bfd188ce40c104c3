//! The fast path and node by node have the same results, and the same counters.

use wire::MacAddr;

use crate::testing::alike::{self, Seen, numbers};
use crate::testing::packets::{udp4, udp6};
use crate::testing::whole::{Bench, HOST, PG0, PG1};

/// Commands whose texts are compared.
const SHOWN: [&str; 4] =
    ["show interface", "show ip fib 16.0.0.1", "show ip6 fib 2001:db8:16::1", "show adjacency"];

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

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    alike::expect_alike(&format!("{lines:?}, seed {seed}"), |is_node_by_node| {
        let mut bench = bench(lines);
        let (pg0, pg1) = (bench.pg0.0, bench.pg1.0);
        // The sender says by which interface a frame comes.
        let rx = move |frame: &[u8]| if frame[11] == 9 { pg1 } else { pg0 };
        bench.see(frames, rx, (is_node_by_node, &SHOWN))
    })
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
    alike::settings(&settings, |lines, seed, count| {
        let frames: Vec<_> = numbers(seed).map(frame).take(count).collect();
        expect_alike(lines, seed, &frames);
    });
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
        assert_eq!(seen.passed[input], 256);
    }
}
