//! Packets sealed and opened in runs have the fates of those that are treated one by one, and the
//! same counters.

use crypto::{CIPHERS, Cipher, MACS, Mac};
use ipsec::{FEATURE, Keys};
use net::testing::alike::{self, Seen, numbers};
use net::testing::packets::*;
use net::testing::whole::{Bench, PG0};
use wire::Protocol;

const SPI: u32 = 1001;
const SALT: u32 = 7;
/// Own addresses and far ends of tunnels.
const ENDS: [[&str; 2]; 2] = [["10.0.1.1", "20.0.0.1"], ["2001:db8:1::1", "2a01::1"]];

/// Algorithms of an association, by their names.
#[derive(Clone, Copy, Debug)]
struct Suite {
    cipher: &'static str,
    mac: &'static str,
    has_esn: bool,
}

const fn suite(cipher: &'static str, mac: &'static str, has_esn: bool) -> Suite {
    Suite { cipher, mac, has_esn }
}

const SUITES: [Suite; 10] = [
    suite("aes-128-gcm", "none", false),
    suite("aes-256-gcm", "none", true),
    suite("chacha20-poly1305", "none", false),
    suite("aes-128-cbc", "sha1-96", false),
    suite("aes-256-cbc", "sha-256-128", true),
    suite("aes-128-ctr", "sha1-96", true),
    suite("3des-cbc", "md5-96", false),
    suite("none", "sha-512-256", false),
    suite("aes-128-cbc", "none", false),
    suite("aes-128-null-gmac", "none", true),
];

impl Suite {
    /// Words of an association.
    fn words(self) -> String {
        let key = |len: usize| "5a".repeat(len);
        let cipher = CIPHERS.into_iter().find(|c| c.name == self.cipher).unwrap();
        let mut words = format!("esp salt {SALT} ");
        if cipher.key > 0 {
            words += &format!("crypto-alg {} crypto-key {} ", cipher.name, key(cipher.key));
        }
        if self.mac != "none" {
            words += &format!("integ-alg {} integ-key {} ", self.mac, key(20));
        }
        words + if self.has_esn { "use-esn use-anti-replay" } else { "" }
    }
    fn keys(self) -> Keys {
        let cipher = CIPHERS.into_iter().find(|c| c.name == self.cipher).unwrap();
        let mac = MACS.into_iter().find(|m| m.name == self.mac).unwrap();
        let cipher = Cipher::new(cipher, &vec![0x5a; cipher.key]).ok().unwrap();
        let mac = Mac::new(mac, &[0x5a; 20]);
        Keys { cipher, mac, salt: SALT.to_be_bytes(), has_esn: self.has_esn }
    }
}

/// A bench with a protected tunnel of some kind between two addresses, and another one beside it.
fn bench(suite: Suite, kind: &str, [own, far]: [&str; 2], more: &[&str]) -> Bench {
    let mut bench =
        Bench::plugged(&[ipip::FEATURE, gre::FEATURE, mpls::FEATURE, crypto::FEATURE, FEATURE]);
    let (name, make) = match kind {
        "itf" => ("ipsec0", "ipsec itf create".to_owned()),
        "gre" => ("gre0", format!("create gre tunnel src {own} dst {far}")),
        _ => ("ipip0", format!("create ipip tunnel src {own} dst {far}")),
    };
    bench.run(&make);
    let words = suite.words();
    let tunnel = |is_in: bool| match (kind, is_in) {
        ("itf" | "tunnel", false) => format!("tunnel-src {own} tunnel-dst {far}"),
        ("itf" | "tunnel", true) => format!("tunnel-src {far} tunnel-dst {own} inbound"),
        ("udp", _) => "udp-encap".to_owned(),
        _ => String::new(),
    };
    for line in [
        &format!("ipsec sa add 1 spi {SPI} {words} {}", tunnel(false)),
        &format!("ipsec sa add 2 spi {SPI} {words} {}", tunnel(true)),
        &format!("ipsec sa add 3 spi 2002 {}", SUITES[0].words()),
        &format!("ipsec tunnel protect {name} input-sa 2 output-sa 1"),
        &format!("set interface state {name} up"),
        &format!("set interface unnumbered {name} use pg1"),
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
        &format!("ip route add 30.0.0.0/8 via {name}"),
        &format!("ip route add 3001::/16 via {name}"),
        "ip route add 31.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 3101::/16 via 2001:db8:1::2 pg1",
        "adjacency counters enable",
    ] {
        bench.set(line);
    }
    bench.run("create ipip tunnel src 10.0.1.1 dst 20.0.0.9 instance 9");
    for line in [
        "ipsec tunnel protect ipip9 input-sa 3 output-sa 3",
        "set interface state ipip9 up",
        "set interface unnumbered ipip9 use pg1",
        "ip route add 32.0.0.0/8 via ipip9",
    ] {
        bench.set(line);
    }
    more.iter().for_each(|line| bench.set(line));
    bench
}

/// A frame for `pg0`.
fn frame(packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    [&PG0.0[..], &[2, 0, 0, 0, 0, 0xa2], &kind, packet].concat()
}

/// A packet of some kind, chosen by `n`, into the tunnel most of all.
fn any(n: u64) -> Vec<u8> {
    let net = [30, 30, 30, 30, 30, 31, 32][(n % 7) as usize];
    let len = [n / 7 % 60, 450 + n / 7 % 9, 1400, n / 7 % 1990][(n / 700 % 4) as usize];
    let data = vec![n as u8; len as usize];
    if (n / 3000).is_multiple_of(5) {
        return udp6("2001:db8::2", &format!("{net}01::1"), 7, &data);
    }
    let mut packet = udp4("10.0.0.2", &format!("{net}.0.0.1"), 7, &data);
    match n / 16_000 % 24 {
        0 => packet = changed4(packet, |h| h.ttl = 1),
        1 => packet[10] ^= 0x55,
        2 => packet.extend([0; 5]),
        3 => packet.truncate(25),
        4 => packet = changed4(packet, |h| h.fragment = 0x2000.into()),
        _ => (),
    }
    packet
}

/// Leaves of a sealed packet its inside and nothing that varies by chance. Numbers are given in
/// the order in which packets are sealed, which the fast path may change among those that go node
/// by node.
fn unseal(bytes: &mut Vec<u8>, keys: &Keys) {
    let (ip, len) = match bytes.get(12..14) {
        // Of a fragment the length is all that is known.
        Some([8, 0]) if bytes[20] & 0x3f != 0 || bytes[21] != 0 => return bytes.fill(0),
        Some([8, 0]) => (bytes[23], 34),
        Some([0x86, 0xdd]) if bytes[20] == 44 => return bytes.fill(0),
        Some([0x86, 0xdd]) => (bytes[20], 54),
        _ => return,
    };
    let esp = match ip {
        50 => len,
        17 if bytes[len + 2..len + 4] == [0x11, 0x94] => len + 8,
        _ => return,
    };
    let number = u32::from_be_bytes(bytes[esp + 4..esp + 8].try_into().unwrap());
    let of_other = suite(SUITES[0].cipher, "none", false).keys();
    let keys = if bytes[esp..esp + 4] == SPI.to_be_bytes() { keys } else { &of_other };
    let opened = keys.open(bytes, esp, number.into()).unwrap();
    let total = bytes.len();
    bytes.truncate(opened.end);
    bytes.drain(esp + 4..opened.start);
    bytes.extend([opened.next_header, (total >> 8) as u8, total as u8]);
}

fn sealed_alike(suite: Suite, kind: &str, ends: [&str; 2], more: &[&str], count: usize) -> Seen {
    let keys = suite.keys();
    let all = numbers(count as u64).map(|n| if count.is_multiple_of(2) { n } else { n / 7 * 7 });
    let frames: Vec<_> = all.take(count).map(any).map(|packet| frame(&packet)).collect();
    let what = format!("{suite:?}, {kind}, {ends:?}, {more:?}, {count}");
    alike::expect_alike(&what, |node_by_node| {
        let mut bench = bench(suite, kind, ends, more);
        let pg0 = bench.pg0.0;
        let shown = ["show interface", "show adjacency", "show ipsec sa 0", "show errors"];
        let mut seen = bench.see(&frames, move |_| pg0, (node_by_node, &shown));
        seen.caught.iter_mut().filter(|c| c.at == "sent").for_each(|c| unseal(&mut c.bytes, &keys));
        seen.caught.sort_by(|a, b| (&a.at, &a.bytes).cmp(&(&b.at, &b.bytes)));
        seen
    })
}

#[test]
fn packets_are_sealed_in_runs_as_one_by_one() {
    for suite in SUITES {
        sealed_alike(suite, "ipip", ENDS[0], &[], 65);
    }
    for count in [1, 3, 4, 255, 256] {
        sealed_alike(SUITES[1], "ipip", ENDS[0], &[], count);
    }
    for kind in ["tunnel", "itf", "gre", "udp"] {
        for (suite, ends) in [(SUITES[0], ENDS[0]), (SUITES[4], ENDS[1])] {
            sealed_alike(suite, kind, ends, &[], 256);
        }
    }
    sealed_alike(SUITES[0], "ipip", ENDS[1], &[], 256);
}

#[test]
fn sealed_packets_are_on_the_fast_path_as_far_as_nothing_is_on_it() {
    let settings: [&[&str]; 4] = [
        &["set interface mtu packet 200 ipip0"],
        &["set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:b2"],
        &["set interface state pg1 down"],
        &["set interface state ipip0 down"],
    ];
    for more in settings {
        sealed_alike(SUITES[0], "ipip", ENDS[0], more, 256);
    }
    // All of one route, of both versions: the first packet says which takes the path in front.
    let passed = sealed_alike(SUITES[0], "ipip", ENDS[0], &[], 255).passed;
    assert!(passed["ip4-midchain"] + passed["ip6-midchain"] > 10, "{passed:?}");
    assert!(passed["adj-midchain-tx"] > 100, "{passed:?}");
}

/// A packet that the far end has sealed: a number says which, and how it is spoilt.
fn sealed(n: u64, keys: &Keys, (kind, [own, far]): (&str, [&str; 2]), number: u64) -> Vec<u8> {
    let net = [31, 31, 31, 99][(n % 4) as usize];
    let len = [n / 7 % 60, 450 + n / 7 % 9, 1400][(n / 700 % 3) as usize];
    let inner = match n / 3000 % 5 {
        0 => udp6("2001:db8::9", &format!("{net}01::1"), 7, &vec![n as u8; len as usize]),
        _ => udp4("10.9.0.2", &format!("{net}.0.0.1"), 7, &vec![n as u8; len as usize]),
    };
    let version = if inner[0] >> 4 == 6 { Protocol::IP6 } else { Protocol::IP4 };
    let (payload, next) = match kind {
        "gre" => (
            [
                &[
                    0,
                    0,
                    if version == Protocol::IP6 { 0x86 } else { 8 },
                    if version == Protocol::IP6 { 0xdd } else { 0 },
                ][..],
                &inner,
            ]
            .concat(),
            Protocol::GRE,
        ),
        "tunnel" => (ip4(far, own, version, &inner), Protocol::IP4),
        _ => (inner, version),
    };
    let iv = keys.iv();
    let mut esp = [&SPI.to_be_bytes()[..], &(number as u32).to_be_bytes(), &vec![0; iv]].concat();
    esp.extend(&payload);
    let end = esp.len();
    esp.resize(end + keys.behind(payload.len()), 0);
    // The upper half of numbers takes room in front while some are sealed.
    let mut room = [&[0; 4][..], &esp].concat();
    keys.seal(&mut room, (4, end + 4), next.0, (number, n)).unwrap();
    let mut esp = room.split_off(4);
    match n / 16_000 % 16 {
        0 => *esp.last_mut().unwrap() ^= 1,
        1 => esp.truncate(esp.len() - 4),
        2 => esp[10] ^= 4,
        _ => (),
    }
    let packet = match (kind, far.contains(':')) {
        ("udp", _) => udp_from(far, own, &esp),
        (_, true) => ip6(far, own, Protocol::ESP, &esp),
        (_, false) => changed4(ip4(far, own, Protocol::ESP, &esp), |_| ()),
    };
    let pad = if (n / 300_000).is_multiple_of(9) { 3 } else { 0 };
    [packet, vec![0; pad]].concat()
}

/// ESP in a datagram.
fn udp_from(far: &str, own: &str, esp: &[u8]) -> Vec<u8> {
    let mut packet = udp4(far, own, 4500, esp);
    packet[26..28].fill(0);
    packet
}

fn opened_alike(suite: Suite, kind: &str, ends: [&str; 2], more: &[&str], count: usize) -> Seen {
    let keys = suite.keys();
    let mut number = 0;
    let frames: Vec<_> = numbers(count as u64 + 9)
        .take(count)
        .map(|n| {
            // Most in order, some again, some late, some far ahead.
            number += [1, 1, 1, 1, 1, 1, 2, 90][(n / 5_000_000 % 8) as usize];
            let back = [0, 0, 0, 0, 1, 40, 70, 0][(n / 50_000_000 % 8) as usize];
            frame(&sealed(n, &keys, (kind, ends), number.max(back + 1) - back))
        })
        .collect();
    let what = format!("{suite:?}, {kind}, {ends:?}, {more:?}, {count}");
    alike::expect_alike(&what, |node_by_node| {
        let mut bench = bench(suite, kind, ends, more);
        let pg0 = bench.pg0.0;
        let shown = ["show interface", "show ipsec sa 1", "show errors"];
        bench.see(&frames, move |_| pg0, (node_by_node, &shown))
    })
}

#[test]
fn packets_are_opened_in_runs_as_one_by_one() {
    for suite in SUITES {
        opened_alike(suite, "ipip", ENDS[0], &[], 65);
    }
    for count in [1, 3, 4, 255, 256] {
        opened_alike(SUITES[4], "ipip", ENDS[0], &[], count);
    }
    for kind in ["tunnel", "itf", "gre", "udp"] {
        for suite in [SUITES[1], SUITES[4]] {
            opened_alike(suite, kind, ENDS[0], &[], 65);
        }
    }
    opened_alike(SUITES[4], "itf", ENDS[1], &[], 256);
    let seen = opened_alike(SUITES[0], "ipip", ENDS[0], &[], 256);
    assert!(seen.caught.iter().filter(|c| c.at == "sent").count() > 100, "{:?}", seen.nodes);
}
