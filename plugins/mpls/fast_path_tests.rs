//! The fast path of labelled packets and node by node have the same results, and the same counters.

use graph::testing::Caught;
use mpls::FEATURE;
use net::testing::alike::{self, Seen, numbers};
use net::testing::packets::{changed4, changed6, udp4, udp6};
use net::testing::whole::{Bench, HOST, PG0};

use super::mpls::labelled;

fn bench(lines: &[&str]) -> Bench {
    let mut bench = Bench::plugged(&[FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2 static",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:b3 static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2 static",
        "adjacency counters enable",
        "mpls table add 0",
        "set interface mpls pg0 enable",
        "mpls local-label add 32 eos via 10.0.1.2 pg1 out-labels 132",
        "mpls local-label add 32 non-eos via 10.0.1.2 pg1 out-labels 232 ttl 9 exp 3",
        "mpls local-label add 33 eos via 10.0.1.3 pg1 out-labels 133 uniform",
        "mpls local-label add 34 eos via 2001:db8:1::2 pg1 out-labels 134 135",
        "mpls local-label add 35 eos via 10.0.1.2 pg1 out-labels 1 via 10.0.1.3 pg1 out-labels 2",
        "mpls local-label add 36 eos via ip4-lookup-in-table 0",
        "mpls local-label add 37 eos via 10.0.1.9 pg1 out-labels 137",
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1 out-labels 44",
        "ip route add 17.0.0.0/8 via 10.0.1.3 pg1 out-labels 45 ttl 7 exp 2 uniform",
        "ip route add 18.0.0.0/8 via 10.0.1.2 pg1 out-labels 46 47",
        "ip route add 19.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1 out-labels 48",
        "ip route add 2a02::/16 via 10.0.1.3 pg1 out-labels 49",
    ] {
        bench.set(line);
    }
    lines.iter().for_each(|line| bench.set(line));
    bench
}

/// A packet of IPv4 to one of five networks.
fn packet4(n: u64) -> Vec<u8> {
    let data = vec![n as u8; (n / 7 % 40) as usize];
    let packet = udp4("10.0.0.2", &format!("{}.0.0.1", 16 + n % 5), 80, &data);
    changed4(packet, |h| {
        (h.ttl, h.tos) = ([64, 64, 3, 2, 1][n as usize / 300 % 5], (n / 1500) as u8);
    })
}

/// The frame at a place, of some kind, chosen by `n`.
fn any(n: u64) -> Vec<u8> {
    let (to, ip) = (PG0.0, packet4(n / 13));
    let (kind, packet) = match n % 12 {
        0..3 => ([8, 0], ip),
        3 => {
            let dst = ["2a01::1", "2a02::1"][n as usize / 12 % 2];
            let hops = [64, 2, 1][n as usize / 24 % 3];
            let packet = udp6("2001:db8::2", dst, 80, b"data");
            ([0x86, 0xdd], changed6(packet, |h| h.hop_limit = hops))
        }
        4 => ([0x88, 0x47], vec![1, 2]),
        5 => {
            let below = (99, 0, 9);
            let top = (32 + (n / 12 % 7) as u32, (n / 84 % 8) as u8, (n / 700 % 4) as u8);
            ([0x88, 0x47], labelled(&[top, below], &ip))
        }
        _ => {
            let ttl = [64, 64, 3, 2, 1, 0][n as usize / 84 % 6];
            let top = (32 + (n / 12 % 7) as u32, (n / 700 % 8) as u8, ttl);
            ([0x88, 0x47], labelled(&[top], &ip))
        }
    };
    [&to[..], &HOST.0, &kind, &packet].concat()
}

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    alike::expect_alike(&format!("{lines:?}, seed {seed}"), |is_node_by_node| {
        let mut bench = bench(lines);
        let pg0 = bench.pg0.0;
        let shown =
            ["show interface", "show mpls fib", "show ip fib", "show ip6 fib", "show adjacency"];
        bench.see(frames, move |_| pg0, (is_node_by_node, &shown))
    })
}

const SETTINGS: [&[&str]; 7] = [
    &[],
    &["set interface state pg1 down"],
    &["set interface mpls pg0 disable"],
    &["set interface mtu packet 60 pg1"],
    &["mpls local-label del 32 eos"],
    &["set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:b2"],
    &["adjacency counters disable"],
];

#[test]
fn packets_and_counters_are_those_of_the_nodes() {
    alike::settings(&SETTINGS, |lines, seed, count| {
        let frames: Vec<_> = numbers(seed).take(count).map(any).collect();
        expect_alike(lines, seed, &frames);
    });
}

#[test]
fn a_flow_takes_it_whole_with_frames_of_others_in_between() {
    let swapped = labelled(&[(32, 1, 64)], &packet4(4));
    let flows = [([0x88, 0x47], swapped), ([8, 0], packet4(0)), ([8, 0], packet4(1))];
    for (seed, lines) in (1..).zip(SETTINGS) {
        for (kind, packet) in &flows {
            for others in [0, 1, 5, 200] {
                let flow = [&PG0.0[..], &HOST.0, kind, packet].concat();
                let mut frames = vec![flow; 256];
                for n in numbers(seed).take(others) {
                    frames[1 + n as usize % 254] = any(n / 3);
                }
                let seen = expect_alike(lines, seed, &frames);
                if lines.is_empty() && others == 0 {
                    let is_sent = |c: &Caught| c.at == "sent" && c.bytes[12..14] == [0x88, 0x47];
                    assert!(seen.caught.len() == 256 && seen.caught.iter().all(is_sent));
                    assert_eq!(seen.passed["mpls-output"], 256);
                    let is_swap = *kind == [0x88, 0x47];
                    let lookup = if is_swap { "mpls-lookup" } else { "ip4-lookup" };
                    assert_eq!(seen.passed[lookup], 256);
                }
            }
        }
    }
}
