//! Prints the time-stamp clocks a packet takes into protected IPIP tunnels and out of them, node by
//! node: frames of 256 packets of one association, the lowest of many.
//!
//! `taskset -c 1 cargo run --release -p ipsec --example esp_clocks`

use std::collections::BTreeMap;

use crypto::{CIPHERS, Cipher, MACS, Mac};
use ipsec::{FEATURE, Keys};
use net::testing::packets::{ip4, udp4};
use net::testing::whole::{Bench, PG0};
use wire::Protocol;

/// Frames of each row.
const FRAMES: usize = 60;
/// Packets of a frame.
const PACKETS: usize = 256;

/// The names and words of algorithms.
const SUITES: [(&str, &str, &str); 4] = [
    ("aes-128-gcm", "none", ""),
    ("aes-128-cbc", "sha1-96", ""),
    ("aes-256-cbc", "sha-256-128", ""),
    ("chacha20-poly1305", "none", ""),
];

fn words((cipher, mac, _): (&str, &str, &str)) -> String {
    let cipher = CIPHERS.into_iter().find(|c| c.name == cipher).expect("one there is");
    let key = "5a".repeat(cipher.key);
    let mac = match mac {
        "none" => String::new(),
        mac => format!("integ-alg {mac} integ-key {}", "5a".repeat(20)),
    };
    format!("esp crypto-alg {} crypto-key {key} {mac}", cipher.name)
}

fn bench(suite: (&str, &str, &str)) -> Bench {
    let plugins = [ipip::FEATURE, mpls::FEATURE, crypto::FEATURE, FEATURE];
    let mut bench = Bench::plugged(&plugins);
    bench.graph.send_only();
    bench.run("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
    for line in [
        &format!("ipsec sa add 1 spi 1001 {}", words(suite)),
        &format!("ipsec sa add 2 spi 1001 {} inbound", words(suite)),
        "ipsec tunnel protect ipip0 input-sa 2 output-sa 1",
        "set interface state ipip0 up",
        "set interface unnumbered ipip0 use pg1",
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "ip route add 30.0.0.0/8 via ipip0",
        "ip route add 31.0.0.0/8 via 10.0.1.2 pg1",
    ] {
        bench.set(line);
    }
    bench
}

fn frame(packet: &[u8]) -> Vec<u8> {
    [&PG0.0[..], &[2, 0, 0, 0, 0, 0xa2, 8, 0], packet].concat()
}

/// A frame out of the tunnel, as the far end seals it.
fn sealed((cipher, mac, _): (&str, &str, &str), inner: &[u8]) -> Vec<u8> {
    let cipher = CIPHERS.into_iter().find(|c| c.name == cipher).expect("one there is");
    let mac = MACS.into_iter().find(|m| m.name == mac).expect("one there is");
    let cipher = Cipher::new(cipher, &vec![0x5a; cipher.key]).expect("a key of its length");
    let keys = Keys { cipher, mac: Mac::new(mac, &[0x5a; 20]), salt: [0; 4], has_esn: false };
    let mut esp = [&1001_u32.to_be_bytes()[..], &[0, 0, 0, 1], &vec![0; keys.iv()], inner].concat();
    let end = esp.len();
    esp.resize(end + keys.behind(inner.len()), 0);
    keys.seal(&mut esp, (0, end), Protocol::IP4.0, (1, 1)).expect("there is room");
    frame(&ip4("10.0.1.2", "10.0.1.1", Protocol::ESP, &esp))
}

/// The lowest clocks of each node, and of a packet.
fn measure(bench: &mut Bench, frames: &[Vec<u8>], rounds: usize) -> (f64, Vec<(String, f64)>) {
    let (pg0, mut best) = (bench.pg0.0, (f64::INFINITY, Vec::new()));
    for _ in 0..rounds {
        bench.graph.engine.clear_runtime();
        bench.graph.send("ethernet-input", frames, move |p| p.set_rx(pg0));
        let rows = bench.graph.engine.runtime_rows().expect("it runs");
        let mut nodes = BTreeMap::new();
        for node in rows.iter().flat_map(|row| &row.nodes).filter(|n| n.stats.vectors > 0) {
            if node.name != "sent" && !node.name.ends_with("-tx") || node.name.starts_with("adj") {
                *nodes.entry(node.name.clone()).or_insert(0) += node.stats.clocks;
            }
        }
        let sum = nodes.values().sum::<u64>() as f64 / frames.len() as f64;
        if sum < best.0 {
            let each = |(name, clocks)| (name, clocks as f64 / frames.len() as f64);
            best = (sum, nodes.into_iter().map(each).collect());
        }
    }
    best
}

fn row(name: &str, (sum, nodes): (f64, Vec<(String, f64)>)) {
    let nodes: Vec<_> = nodes.into_iter().map(|(name, n)| format!("{name} {n:.1}")).collect();
    println!("| {name} | {sum:.1} | {} |", nodes.join(", "));
}

/// Frames into so many tunnels, one packet after the other.
fn many(suite: (&str, &str, &str), count: usize) {
    let mut bench = bench(suite);
    let mut frames = Vec::new();
    for n in 1..=count {
        let [a, b] = (n as u16).to_be_bytes();
        let created = format!("create ipip tunnel src 10.0.1.1 dst 10.2.{a}.{b}");
        bench.run(&created);
        for line in [
            &format!("ipsec sa add {} spi {} {}", 2 * n + 1, 2000 + n, words(suite)),
            &format!("ipsec tunnel protect ipip{n} input-sa 2 output-sa {}", 2 * n + 1),
            &format!("set interface state ipip{n} up"),
            &format!("set interface unnumbered ipip{n} use pg1"),
            &format!("ip route add 32.0.{a}.{b}/32 via ipip{n}"),
        ] {
            bench.set(line);
        }
        frames.push(frame(&udp4("10.0.0.2", &format!("32.0.{a}.{b}"), 7, &[7; 22])));
    }
    bench.set("ip route add 10.2.0.0/16 via 10.0.1.2 pg1");
    // No two packets of a frame are of neighbouring tunnels.
    let groups = count / PACKETS;
    let group = |at: usize| (0..PACKETS).map(|n| frames[at + n * groups].clone()).collect();
    let groups: Vec<Vec<_>> = (0..groups).map(group).collect();
    let mut best = (f64::INFINITY, Vec::new());
    for group in groups.iter().cycle().take(4 * groups.len()) {
        let one = measure(&mut bench, group, 1);
        if one.0 < best.0 {
            best = one;
        }
    }
    row(&format!("{} {}, 64, out by {count} tunnels", suite.0, suite.1), best);
}

fn main() {
    println!("| packets | clocks | nodes |\n|---|---|---|");
    for suite in SUITES {
        for len in [64, 512, 1400] {
            let data = vec![7; len - 14 - 28];
            let out = frame(&udp4("10.0.0.2", "30.0.0.1", 7, &data));
            let name = format!("{} {}, {len}", suite.0, suite.1);
            row(&format!("{name}, out"), measure(&mut bench(suite), &vec![out; PACKETS], FRAMES));
            let back = sealed(suite, &udp4("10.9.0.2", "31.0.0.1", 7, &data));
            row(&format!("{name}, in"), measure(&mut bench(suite), &vec![back; PACKETS], FRAMES));
        }
    }
    many(SUITES[0], 10_000);
}
