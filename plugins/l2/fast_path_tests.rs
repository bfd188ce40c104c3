//! The fast path of layer 2 and node by node have the same results, and the same counters.

use graph::testing::Caught;
use l2::FEATURE;
use net::testing::alike::{self, Seen, numbers};
use net::testing::{Bench, packets, whole};
use net::{fast_path, interface};

/// Hosts that are known: host `n` is on interface `pg{n % 4}`.
const KNOWN: u8 = 12;

fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 1, 0, n]
}

fn frame(dst: [u8; 6], src: [u8; 6], rest: &[u8]) -> Vec<u8> {
    [&dst[..], &src, rest].concat()
}

/// A bench with `pg0` to `pg3`, and what `lines` say besides.
fn bench(lines: &[&str]) -> Bench {
    let mut bench = Bench::featuring(&[fast_path::FEATURE, FEATURE], 1, |_| (), |_| ());
    bench.add_interface("pg2", interface::Kind::Ethernet, 0xac);
    bench.add_interface("pg3", interface::Kind::Ethernet, 0xad);
    for n in 0..4 {
        bench.set(&format!("set interface l2 bridge pg{n} 1"));
    }
    let hosts: Vec<_> = (0..KNOWN).map(|n| frame([0xff; 6], mac(n), &[8, 0, 1, 2])).collect();
    let rx = ports(&bench);
    bench.see(&hosts, rx, (true, &[]));
    for line in lines {
        bench.set(line);
    }
    bench
}

/// The receive interface of a frame: that of its sender.
fn ports(bench: &Bench) -> impl Fn(&[u8]) -> u32 + Clone + Send + use<> {
    let ports = [0, 1, 2, 3].map(|n| bench.interface(&format!("pg{n}")).0);
    move |frame| ports[usize::from(frame[11] % 4)]
}

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    alike::expect_alike(&format!("{lines:?}, seed {seed}"), |is_node_by_node| {
        let mut bench = bench(lines);
        let rx = ports(&bench);
        bench.see(frames, rx, (is_node_by_node, &["show interface", "show l2fib verbose"]))
    })
}

/// The frame at a place, of some kind, chosen by `n`.
fn any((place, n): (usize, u64)) -> Vec<u8> {
    let host = (n / 7 % u64::from(KNOWN)) as u8;
    let dst = match n / 100 % 9 {
        0 => mac(99),
        1 => [0xff; 6],
        2 => [1, 0, 0x5e, 0, 0, host],
        _ => mac(host),
    };
    // Most senders are known; each other one sends once.
    let src = match n / 1000 % 6 {
        0 => [2, 0, 0, 2, 0, place as u8],
        _ => mac((n / 11 % u64::from(KNOWN)) as u8),
    };
    match n / 10_000 % 12 {
        0 => frame(dst, src, &[0x81, 0, 0, 5, 8, 0, 1, 2, 3]),
        1 => frame(dst, src, &[8]),
        2 => frame(dst, src, &[8, 0]),
        3 => frame(dst, src, &[8, 6, 1, 2, 3]),
        _ => frame(dst, src, &[&[8, 0][..], &[n as u8; 50]].concat()),
    }
}

const SETTINGS: [&[&str]; 14] = [
    &[],
    &["set interface state pg1 down"],
    &["set interface l2 bridge pg0 1 7", "set interface l2 bridge pg1 1 7"],
    &["set interface l2 learn pg0 disable"],
    &["set interface l2 forward pg2 disable"],
    &["set bridge-domain uu-flood 1 disable"],
    &["set interface l2 tag-rewrite pg1 push dot1q 5"],
    &["set interface l2 efp-filter pg1"],
    &["l2fib add 02:00:00:01:00:05 1 pg1 static", "l2fib add 02:00:00:01:00:06 1 filter"],
    &["set interface l2 bridge pg3 2"],
    &["set interface l2 xconnect pg0 pg1", "set interface l2 xconnect pg1 pg0"],
    &["set interface l2 xconnect pg0 pg2"],
    &["set interface l3 pg2"],
    &["l2fib flush-mac interface pg1"],
];

#[test]
fn packets_and_counters_are_those_of_the_nodes() {
    alike::settings(&SETTINGS, |lines, seed, count| {
        let frames: Vec<_> = numbers(seed).take(count).enumerate().map(any).collect();
        expect_alike(lines, seed, &frames);
    });
}

#[test]
fn a_flow_takes_it_whole_with_frames_of_others_in_between() {
    for (seed, lines) in (1..).zip(SETTINGS) {
        for others in [0, 1, 5] {
            let flow = frame(mac(1), mac(0), &[8, 0, 7, 7]);
            let mut frames = vec![flow; 256];
            for (place, n) in numbers(seed).enumerate().take(others) {
                let at = 1 + n as usize % 254;
                frames[at] = any((place, n / 3));
            }
            let seen = expect_alike(lines, seed, &frames);
            if lines.is_empty() && others == 0 {
                let is_sent = |c: &Caught| c.at == "sent" && c.bytes == frames[0];
                assert!(seen.caught.len() == 256 && seen.caught.iter().all(is_sent));
                assert_eq!(["l2-input", "l2-learn"].map(|node| seen.passed[node]), [256; 2]);
            }
        }
    }
}

/// Hosts 0, 4 and 8 are behind one port, and 1, 5 and 9 behind another one; they speak IPv4 and
/// IPv6.
#[test]
fn frames_between_many_hosts_behind_two_ports_take_it_with_others_in_between() {
    for (seed, lines) in (1..).zip(SETTINGS) {
        for (others, senders) in [0, 1, 5].into_iter().flat_map(|n| [(n, 1), (n, 3)]) {
            let frames = (0..256).map(|n| {
                let kind = if n % 5 < others { [0x86, 0xdd] } else { [8, 0] };
                let rest = [&kind[..], &[7; 64][..2 + n % 60]].concat();
                frame(mac(1 + 4 * (n % 3) as u8), mac(4 * (n % senders) as u8), &rest)
            });
            let mut frames: Vec<_> = frames.collect();
            for (place, n) in numbers(seed).enumerate().take(others) {
                frames[n as usize % 256] = any((place, n / 3));
            }
            let seen = expect_alike(lines, seed, &frames);
            if lines.is_empty() && others == 0 {
                assert_eq!(["l2-input", "l2-learn"].map(|node| seen.passed[node]), [256; 2]);
            }
        }
    }
}

#[test]
fn frames_into_a_tunnel_are_those_of_the_nodes() {
    let settings: [&[&str]; 4] = [
        &[],
        &["set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:b2"],
        &["set interface state pg1 down"],
        &["ip route add 20.0.0.1/32 via 10.0.1.3 pg1 via 10.0.1.2 pg1"],
    ];
    for (seed, lines) in (1..).zip(settings) {
        for end in ["20.0.0.1", "2a01::1"] {
            for count in [1, 3, 65, 256] {
                let frames: Vec<_> = numbers(seed).take(count).map(to_far_host).collect();
                alike::expect_alike(&format!("{lines:?}, to {end}, {count}"), |node_by_node| {
                    let mut bench = tunnel(end);
                    lines.iter().for_each(|line| bench.set(line));
                    let pg0 = bench.pg0.0;
                    let shown = ["show interface", "show adjacency", "show l2fib verbose"];
                    bench.see(&frames, move |_| pg0, (node_by_node, &shown))
                });
            }
        }
    }
}

/// A router that bridges `pg0` and a tunnel that leaves by `pg1`, behind which a host is known.
fn tunnel(end: &str) -> whole::Bench {
    let mut bench = whole::Bench::plugged(&[FEATURE, vxlan::FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2 static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2 static",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
        "set interface l2 bridge pg0 1",
        "adjacency counters enable",
    ] {
        bench.set(line);
    }
    let own = if end.contains(':') { "2001:db8:1::1" } else { "10.0.1.1" };
    bench.run(&format!("create vxlan tunnel src {own} dst {end} vni 7"));
    bench.set("set interface l2 bridge vxlan_tunnel0 1");
    bench.set("l2fib add 02:00:00:01:00:09 1 vxlan_tunnel0");
    let pg0 = bench.pg0.0;
    bench.see(&[frame([0xff; 6], mac(1), &[8, 0, 1, 2])], move |_| pg0, (true, &[]));
    bench
}

/// A frame to the host behind the tunnel, or to another one.
fn to_far_host(n: u64) -> Vec<u8> {
    let dst = if n.is_multiple_of(9) { mac(77) } else { mac(9) };
    let data = vec![n as u8; (n / 9 % 40) as usize];
    let packet = packets::udp4("10.0.0.2", "16.0.0.1", (n / 300 % 5) as u16, &data);
    frame(dst, mac(1), &[&[8, 0][..], &packet].concat())
}
