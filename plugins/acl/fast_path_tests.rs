//! The fast path through access lists and node by node have the same results, and the same
//! counters.

use acl::FEATURE;
use net::testing::alike::{self, Seen, numbers};
use net::testing::packets::{udp4, udp6};
use net::testing::whole::{Bench, HOST, PG0};

fn bench(lines: &[&str]) -> Bench {
    let mut bench = Bench::plugged(&[sessions::FEATURE, FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2 static",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:b3 static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2 static",
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 17.0.0.0/8 via 10.0.1.3 pg1",
        "ip route add 2001:db8:16::/48 via 2001:db8:1::2 pg1",
        "adjacency counters enable",
        "set acl-plugin acl deny dst 16.0.1.0/24, ipv6 deny dst 2001:db8:16::1/128, permit dport \
         0-79 proto 17, ipv6 permit dport 0-79 proto 17, permit+reflect dst 16.0.0.0/8, permit \
         src 10.0.0.0/8, ipv6 permit",
        "set acl-plugin acl deny dst 16.0.1.0/24, permit, ipv6 permit",
    ] {
        bench.run(line);
    }
    lines.iter().for_each(|line| {
        bench.run(line);
    });
    bench
}

/// A frame of some kind, chosen by `n`.
fn frame(n: u64) -> Vec<u8> {
    let port = 76 + (n / 3 % 8) as u16;
    let is_ip6 = (n / 24).is_multiple_of(4);
    let mut packet = if is_ip6 {
        udp6("2001:db8::2", &format!("2001:db8:16::{:x}", n % 3 + 1), port, &[n as u8; 9])
    } else {
        let net = ["16", "16", "17", "99"][n as usize / 96 % 4];
        udp4("10.0.0.2", &format!("{net}.0.{}.1", n % 3), port, &[n as u8; 9])
    };
    match n / 400 % 12 {
        0 => packet[if is_ip6 { 7 } else { 8 }] = 1,
        1 => packet[if is_ip6 { 0 } else { 10 }] ^= 0x55,
        2 => packet.extend([0; 7]),
        3 => packet.truncate(24),
        _ => (),
    }
    let kind: u16 = if is_ip6 { 0x86dd } else { 0x800 };
    [&PG0.0[..], &HOST.0, &kind.to_be_bytes(), &packet].concat()
}

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    alike::expect_alike(&format!("{lines:?}, seed {seed}"), |is_node_by_node| {
        let mut bench = bench(lines);
        let pg0 = bench.pg0.0;
        let shown = ["show interface", "show ip fib 16.0.0.1", "show adjacency"];
        bench.see(frames, move |_| pg0, (is_node_by_node, &shown))
    })
}

#[test]
fn packets_and_counters_are_those_of_the_nodes() {
    let settings: [&[&str]; 6] = [
        &["set acl-plugin interface pg0 input acl 0"],
        &["set acl-plugin interface pg0 input acl 1"],
        &["set acl-plugin interface pg0 input acl 1", "set interface mtu packet 35 pg1"],
        &["set acl-plugin interface pg0 input acl 1", "set interface state pg1 down"],
        &["set acl-plugin interface pg0 input acl 1", "set acl-plugin interface pg1 output acl 0"],
        &["set acl-plugin interface pg1 output acl 0"],
    ];
    alike::settings(&settings, |lines, seed, count| {
        let frames: Vec<_> = numbers(seed).map(frame).take(count).collect();
        let seen = expect_alike(lines, seed, &frames);
        let is_usual = seen.nodes.keys().any(|node| node.starts_with("acl-plugin"));
        assert!(is_usual || count < 64, "{:?}", seen.nodes);
    });
}

#[test]
fn a_frame_of_one_flow_takes_it_whole() {
    for (is_ip6, node, lookup) in [
        (false, "acl-plugin-in-ip4-fa", "ip4-lookup"),
        (true, "acl-plugin-in-ip6-fa", "ip6-lookup"),
    ] {
        let packet = if is_ip6 {
            udp6("2001:db8::2", "2001:db8:16::2", 80, b"data")
        } else {
            udp4("10.0.0.2", "16.0.0.1", 80, b"data")
        };
        let kind: u16 = if is_ip6 { 0x86dd } else { 0x800 };
        let frame = [&PG0.0[..], &HOST.0, &kind.to_be_bytes(), &packet].concat();
        let input = &["set acl-plugin interface pg0 input acl 1"];
        let seen = expect_alike(input, 0, &vec![frame; 256]);
        assert!(seen.caught.len() == 256 && seen.caught.iter().all(|c| c.at == "sent"));
        assert_eq!((seen.nodes[node], seen.passed[lookup]), (256, 256));
    }
}
