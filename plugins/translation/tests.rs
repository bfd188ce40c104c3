//! A network of 65,536 hosts behind 256 addresses: every host and every port of a host is
//! translated, and found again by its answer.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use graph::Flags;
use net::testing::packets::{changed4, changed6, ip4, ip6, sum4, sum6, udp4, udp6};
use net::testing::whole::{Bench, HOST, PG0, PG1, sent, through};
use wire::ethernet::{EtherType, Header};
use wire::upper::Upper;
use wire::{Protocol, ip6};
use zerocopy::{FromBytes, IntoBytes};

use super::nat44_ed::{check, end, ends, udp};

/// Plugins that all kinds of translation require.
const FEATURES: [net::Feature; 5] =
    [sessions::FEATURE, ipfix::FEATURE, syslog::FEATURE, nat_log::FEATURE, translation::FEATURE];
const SERVER: (&str, u16) = ("10.0.1.2", 53);

type End = (Ipv4Addr, u16);

/// A kind of translation, with the plugins that it requires.
pub(super) fn with(feature: net::Feature) -> Vec<net::Feature> {
    [&FEATURES[..], &[feature]].concat()
}

/// Hosts behind `pg0`, the world behind `pg1`, and what `first` and `more` say of the translation.
pub(super) fn between(feature: net::Feature, first: &[&str], more: &[&str]) -> Bench {
    let mut b = Bench::plugged(&with(feature));
    for neighbour in ["pg0 10.0.0.2", "pg0 10.0.0.3", "pg1 10.0.1.2", "pg1 10.0.1.3"] {
        b.set(&format!("set ip neighbor {neighbour} 02:00:00:00:00:01"));
    }
    first.iter().chain(more).for_each(|line| b.set(line));
    b
}

/// Hosts behind one interface, the world behind the other.
fn bench(feature: net::Feature, lines: &[&str]) -> Bench {
    let mut b = Bench::plugged(&with(feature));
    let first = [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01",
        "ip route add 10.1.0.0/16 via 10.0.0.2 pg0",
        "ip route add 2001:db8:7::/48 via 2001:db8::2 pg0",
    ];
    first.iter().chain(lines).for_each(|line| b.set(line));
    b.wait(0.0);
    b
}

/// A port of a host: each of all 65,536 once, those below 1024 among them.
fn port_of(host: u16) -> u16 {
    host.wrapping_mul(40_503)
}

/// A packet of a host, and the host and port to which the answer must come.
struct Asked {
    packet: Vec<u8>,
    host: String,
    port: u16,
}

/// Every host asks the server from a port of its own, and is answered.
fn everybody(b: &mut Bench, ask: impl Fn(u16) -> Asked, answered: impl Fn(&[u8]) -> (String, u16)) {
    let (mut seen, mut addresses) = (HashSet::new(), HashMap::<Ipv4Addr, u32>::new());
    let server = end(SERVER.0, SERVER.1);
    for block in 0..=255u16 {
        let asked: Vec<_> = (0..=255).map(|low| ask(block << 8 | low)).collect();
        let packets: Vec<_> = asked.iter().map(|asked| asked.packet.clone()).collect();
        let mut out = through(b, false, &packets);
        // A table grows once all threads have moved on, those of other tests among them.
        for _ in 0..600 {
            if out.len() < 256 || out.iter().any(|p| ends(p)[1] != server) {
                std::thread::sleep(std::time::Duration::from_millis(50));
                out = through(b, false, &packets);
            }
        }
        assert_eq!(out.len(), 256, "block {block}: all are translated");
        let froms: Vec<End> = out.iter().map(|p| (check(p), ends(p)[0]).1).collect();
        for (out, from) in out.iter().zip(&froms) {
            assert_eq!(ends(out)[1], server);
            assert!(from.0.octets()[..3] == [192, 0, 2] && from.1 != 0, "{from:?}");
            assert!(seen.insert(*from), "{from:?} is another's");
            *addresses.entry(from.0).or_default() += 1;
        }
        let answers: Vec<_> = froms.iter().map(|from| udp(server, *from)).collect();
        let back = through(b, true, &answers);
        assert_eq!(back.len(), 256, "block {block}: all answers");
        for (asked, back) in asked.iter().zip(&back) {
            assert_eq!(answered(back), (asked.host.clone(), asked.port));
        }
    }
    assert_eq!((seen.len(), addresses.len()), (1 << 16, 256), "no address is left out");
}

/// The row of a table: thread, sessions, limit, bytes, made, expired, evicted, refused, clashes.
fn row(b: &mut Bench, table: &str) -> Vec<u64> {
    let shown = b.cli("show session tables");
    let row = shown.lines().find(|line| line.split(' ').next() == Some(table));
    let words = row.unwrap_or_else(|| panic!("no {table}: {shown}")).split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// A table with room for 500 sessions gets 1,000; then the clock moves on, and all is over. Nothing
/// passes for what is over, and its memory is used again.
fn full(b: &mut Bench, table: &str, refusal: (&str, &str), ask: impl Fn(u16) -> Asked) {
    let server = end(SERVER.0, SERVER.1);
    let all = |b: &mut Bench| -> Vec<End> {
        let blocks = (0..4u16).map(|block| (0..250).map(|n| ask(block * 250 + n).packet).collect());
        let out: Vec<_> = blocks.flat_map(|p: Vec<_>| through(b, false, &p)).collect();
        // Hosts without room get an error.
        let both = out.iter().map(|p| ends(p));
        both.filter(|[_, to]| *to == server).map(|[from, _]| from).collect()
    };
    let old = all(b);
    assert_eq!(old.len(), 500, "as many as may be");
    b.expect(&[("ip4-icmp-error", "dest_unreach_sent", 500), (refusal.0, refusal.1, 500)]);
    let [_, sessions, limit, bytes, ..] = row(b, table)[..] else { panic!("no row") };
    assert_eq!((sessions, limit), (500, 500));
    let health = b.cli("show health");
    let line = health.lines().find(|line| line.contains("session-tables")).unwrap_or_default();
    assert!(line.contains(table) && line.contains("refused 500 new ones"), "{health}");
    b.graph.engine.clock().adjust(100_000.0);
    let stale: Vec<_> = old.iter().take(200).map(|from| udp(server, *from)).collect();
    assert!(through(b, true, &stale).is_empty(), "a translation that is over");
    b.wait(20.0);
    let [_, sessions, ..] = row(b, table)[..] else { panic!("no row") };
    assert_eq!(sessions, 0);
    b.graph.moved_counters();
    assert_eq!(all(b).len(), 500);
    let [_, _, _, again, ..] = row(b, table)[..] else { panic!("no row") };
    assert_eq!(again, bytes, "memory is used again");
}

fn ask4(host: u16) -> Asked {
    let [high, low] = host.to_be_bytes();
    let addr = Ipv4Addr::new(10, 1, high, low);
    let packet = udp((addr, port_of(host)), end(SERVER.0, SERVER.1));
    Asked { packet, host: addr.to_string(), port: port_of(host) }
}

fn answered4(packet: &[u8]) -> (String, u16) {
    check(packet);
    let to = ends(packet)[1];
    (to.0.to_string(), to.1)
}

#[test]
fn a_full_endpoint_dependent_table_says_so_and_is_empty_once_all_is_over() {
    let mut b = bench(
        nat44_ed::FEATURE,
        &[
            "nat44 plugin enable sessions 500",
            "set interface nat44 in pg0 out pg1",
            "nat44 add address 192.0.2.1",
        ],
    );
    let refusal = ("nat44-ed-in2out-slowpath", "maximum sessions exceeded");
    full(&mut b, "nat44-ed", refusal, ask4);
}

#[test]
fn a_full_endpoint_independent_table_says_so_and_is_empty_once_all_is_over() {
    let mut b = bench(
        nat44_ei::FEATURE,
        &[
            "nat44 ei plugin enable sessions 500",
            "set interface nat44 ei in pg0 out pg1",
            "nat44 ei add address 192.0.2.1",
        ],
    );
    let refusal = ("nat44-ei-in2out-slowpath", "maximum sessions exceeded");
    full(&mut b, "nat44-ei", refusal, ask4);
}

#[test]
fn endpoint_dependent_sessions_are_logged() {
    let mut b = bench(
        nat44_ed::FEATURE,
        &[
            "nat44 plugin enable sessions 500",
            "set interface nat44 in pg0 out pg1",
            "nat44 add address 192.0.2.1",
            "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:01",
            "set syslog sender collector 10.0.1.3 src 10.0.1.1",
        ],
    );
    let logged = |out: &[Vec<u8>]| -> Vec<String> {
        let texts = out.iter().filter(|p| p[9] == 17 && p[22..24] == 514_u16.to_be_bytes());
        texts.map(|p| String::from_utf8_lossy(&p[28..]).into_owned()).collect()
    };
    let settled = |b: &mut Bench| -> Vec<Vec<u8>> {
        sent(&b.wait(6.0)).into_iter().map(|frame| frame[14..].to_vec()).collect()
    };
    let mut out = through(&mut b, false, &[ask4(7).packet]);
    out.extend(settled(&mut b));
    let texts = logged(&out);
    assert_eq!(texts.len(), 1, "{texts:?}");
    for part in ["SADD [nsess", "ISADDR=\"10.1.0.7\"", "XSADDR=\"192.0.2.1\"", "XDPORT=\"53\""] {
        assert!(texts[0].contains(part), "{part} {texts:?}");
    }
    assert_eq!(b.cli("nat44 add address 192.0.2.1 del"), "");
    let texts = logged(&settled(&mut b));
    assert!(texts.len() == 1 && texts[0].contains("SDEL [nsess"), "{texts:?}");
}

#[test]
fn endpoint_dependent_translation_leaves_nobody_out() {
    let mut b = bench(
        nat44_ed::FEATURE,
        &[
            "nat44 plugin enable sessions 70000",
            "set interface nat44 in pg0 out pg1",
            "nat44 add address 192.0.2.0-192.0.2.255",
        ],
    );
    everybody(&mut b, ask4, answered4);
}

#[test]
fn endpoint_independent_translation_leaves_nobody_out() {
    let mut b = bench(
        nat44_ei::FEATURE,
        &[
            "nat44 ei plugin enable sessions 70000 users 70000",
            "set interface nat44 ei in pg0 out pg1",
            "nat44 ei add address 192.0.2.0 - 192.0.2.255",
        ],
    );
    everybody(&mut b, ask4, answered4);
}

#[test]
fn deterministic_translation_leaves_nobody_out() {
    let mut b = bench(
        det44::FEATURE,
        &[
            "det44 plugin enable",
            "set interface det44 inside pg0 outside pg1",
            "det44 add in 10.1.0.0/16 out 192.0.2.0/24",
        ],
    );
    everybody(&mut b, ask4, answered4);
}

/// A UDP packet with another source port.
fn from_port(mut packet: Vec<u8>, at: usize, port: u16) -> Vec<u8> {
    let old = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let sum = zerocopy::network_endian::U16::from_bytes([packet[at + 6], packet[at + 7]]);
    packet[at..at + 2].copy_from_slice(&port.to_be_bytes());
    let sum = wire::checksum::update(sum, old.into(), port.into());
    let sum = if sum.get() == 0 { 0xffff.into() } else { sum };
    packet[at + 6..at + 8].copy_from_slice(sum.as_bytes());
    packet
}

#[test]
fn nat64_leaves_nobody_out() {
    let mut b = bench(
        nat64::FEATURE,
        &[
            "nat64 plugin enable bib-buckets 8192 st-buckets 8192",
            "set interface nat64 in pg0",
            "set interface nat64 out pg1",
            "nat64 add pool address 192.0.2.0 - 192.0.2.255",
        ],
    );
    let ask = |host: u16| {
        let addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, host).to_string();
        let packet = udp6(&addr, "64:ff9b::10.0.1.2", SERVER.1, b"data");
        let port = port_of(host);
        Asked { packet: from_port(packet, 40, port), host: addr, port }
    };
    everybody(&mut b, ask, |packet| {
        let (header, _) = ip6::Header::ref_from_prefix(packet).unwrap();
        (header.dst_addr().to_string(), u16::from_be_bytes([packet[42], packet[43]]))
    });
}

#[test]
fn dual_stack_lite_leaves_nobody_out() {
    let mut b = bench(
        dslite::FEATURE,
        &[
            "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
            "dslite add pool address 192.0.2.0 - 192.0.2.255",
        ],
    );
    // All customers have the same address inside.
    let ask = |host: u16| {
        let b4 = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, host).to_string();
        let inner = udp4("192.168.1.1", SERVER.0, SERVER.1, b"data");
        let inner = from_port(inner, 20, port_of(host));
        let packet = ip6(&b4, "2001:db8:ffff::1", Protocol::IP4, &inner);
        Asked { packet, host: b4, port: port_of(host) }
    };
    everybody(&mut b, ask, |packet| {
        let (header, _) = ip6::Header::ref_from_prefix(packet).unwrap();
        (header.dst_addr().to_string(), ends(&packet[40..])[1].1)
    });
}

/// A kind of NAT, a packet from inside, and the router's addresses on both sides.
struct Kind {
    feature: net::Feature,
    lines: &'static [&'static str],
    ask: Vec<u8>,
    routers: [&'static str; 2],
    /// Hops that are left in what an error about a packet from inside quotes: none where the packet
    /// is forwarded before it is translated.
    left: u8,
}

/// The same packet with one hop left.
fn last_hop(packet: &[u8]) -> Vec<u8> {
    with_hops(packet, 1)
}

/// The packet with this many hops left.
fn with_hops(packet: &[u8], hops: u8) -> Vec<u8> {
    match packet[0] >> 4 {
        4 => changed4(packet.to_vec(), |header| header.ttl = hops),
        _ => changed6(packet.to_vec(), |header| header.hop_limit = hops),
    }
}

/// Checks that an error says that this packet had no hop left, from this address to its sender.
#[track_caller]
fn expect_expired(error: &[u8], from: &str, about: &[u8]) {
    let (at, addrs, kind) = match about[0] >> 4 {
        4 => (20, 12..16, 11),
        _ => (40, 8..24, 3),
    };
    let (src, dst) = (addrs.clone(), addrs.end..addrs.end + addrs.len());
    assert_eq!(error[src.clone()], *octets(from), "the router");
    assert_eq!(error[dst], about[src], "the sender");
    assert_eq!((error[at], error[at + 1]), (kind, 0));
    assert!(error[at + 8..].starts_with(about), "as it was sent");
}

fn octets(addr: &str) -> Vec<u8> {
    match addr.parse::<std::net::IpAddr>().unwrap() {
        std::net::IpAddr::V4(addr) => addr.octets().to_vec(),
        std::net::IpAddr::V6(addr) => addr.octets().to_vec(),
    }
}

/// All kinds that leave a packet one of its version.
fn kinds() -> [Kind; 5] {
    let four = || udp4("10.0.0.2", "10.0.1.2", 53, b"probe");
    let six = || udp6("2001:db8::2", "2001:db8:1::2", 53, b"probe");
    let of4 = ["10.0.0.1", "10.0.1.1"];
    [
        Kind {
            feature: nat44_ed::FEATURE,
            lines: &[
                "nat44 plugin enable sessions 1000",
                "set interface nat44 in pg0 out pg1",
                "nat44 add address 192.0.2.1",
            ],
            ask: four(),
            routers: of4,
            left: 1,
        },
        Kind {
            feature: nat44_ei::FEATURE,
            lines: &[
                "nat44 ei plugin enable",
                "set interface nat44 ei in pg0 out pg1",
                "nat44 ei add address 192.0.2.1",
            ],
            ask: four(),
            routers: of4,
            left: 1,
        },
        Kind {
            feature: det44::FEATURE,
            lines: &[
                "det44 plugin enable",
                "set interface det44 inside pg0 outside pg1",
                "det44 add in 10.0.0.0/24 out 192.0.2.1/32",
            ],
            ask: four(),
            routers: of4,
            left: 1,
        },
        Kind {
            feature: nat66::FEATURE,
            lines: &[
                "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:01",
                "nat66 plugin enable",
                "set interface nat66 in pg0",
                "set interface nat66 out pg1",
                "nat66 add static mapping local 2001:db8::2 external 2001:db8:1::5",
            ],
            ask: six(),
            routers: ["2001:db8::1", "2001:db8:1::1"],
            left: 1,
        },
        Kind {
            feature: npt66::FEATURE,
            lines: &[
                "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:01",
                "set npt66 binding interface pg1 internal 2001:db8::/64 external 2001:db8:9::/64",
            ],
            ask: six(),
            routers: ["2001:db8::1", "2001:db8:1::1"],
            left: 0,
        },
    ]
}

/// NAT64, and a packet like this to a host of IPv4.
fn nat64(like: Vec<u8>) -> Kind {
    Kind {
        feature: nat64::FEATURE,
        lines: &[
            "nat64 plugin enable",
            "set interface nat64 in pg0",
            "set interface nat64 out pg1",
            "nat64 add pool address 192.0.2.1",
        ],
        ask: {
            let dst = octets("64:ff9b::10.0.1.2");
            changed6(like, |header| header.dst.copy_from_slice(&dst))
        },
        routers: [""; 2],
        left: 1,
    }
}

#[test]
fn the_router_is_a_hop_that_both_sides_see() {
    for Kind { feature, lines, ask, routers, left } in kinds() {
        let mut b = bench(feature, lines);
        let mut one = |on_pg1, packet: &[u8]| {
            let mut all = through(&mut b, on_pg1, &[packet.to_vec()]);
            assert_eq!(all.len(), 1, "{}", feature.name);
            all.remove(0)
        };
        let probe = last_hop(&ask);
        // The first probe begins a session where there are sessions, the second one has it.
        for _ in 0..2 {
            expect_expired(&one(false, &probe), routers[0], &with_hops(&probe, left));
        }
        let out = one(false, &ask);
        let at = if ask[0] >> 4 == 4 { 12..16 } else { 8..24 };
        assert_ne!(out[at.clone()], ask[at], "it is translated: {}", feature.name);
        let answer = last_hop(&exchanged(&out));
        expect_expired(&one(true, &answer), routers[1], &answer);
        assert_eq!(one(true, &exchanged(&out)).len(), ask.len());
    }
}

/// A packet with its ends exchanged: sums stay right.
fn exchanged(packet: &[u8]) -> Vec<u8> {
    let (at, len, upper) = if packet[0] >> 4 == 4 { (12, 4, 20) } else { (8, 16, 40) };
    let mut new = packet.to_vec();
    let (src, dst) = new[at..at + 2 * len].split_at_mut(len);
    src.swap_with_slice(dst);
    new.swap(upper, upper + 2);
    new.swap(upper + 1, upper + 3);
    new
}

#[test]
fn records_of_sessions_that_end_with_their_nat_are_sent_at_once() {
    let [ed, ei, .., six] = kinds();
    let kinds = [(ed, "nat44 plugin disable"), (ei, "nat44 ei plugin disable")];
    let kinds = kinds.into_iter().chain([(nat64(six.ask), "nat64 plugin disable")]);
    for (Kind { feature, lines, ask, .. }, disable) in kinds {
        let mut b = bench(feature, lines);
        for line in [
            "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:01",
            "set ipfix exporter collector 10.0.1.3 src 10.0.1.1",
            "nat ipfix logging src-port 4739 enable",
        ] {
            assert_eq!(b.cli(line), "", "{line}");
        }
        b.wait(6.0);
        assert_eq!(through(&mut b, false, &[ask]).len(), 1);
        let exported = |b: &mut Bench| {
            let port = 4739_u16.to_be_bytes();
            let out = b.settle();
            let all = sent(&out).into_iter();
            all.filter(|p| p[14 + 9] == 17 && p[14 + 22..14 + 24] == port).count()
        };
        assert_eq!(exported(&mut b), 0, "{}: they wait for more", feature.name);
        assert_eq!(b.cli(disable), "");
        assert_ne!(exported(&mut b), 0, "{}", feature.name);
    }
}

/// A SYN between the same hosts.
fn syn(like: &[u8]) -> Vec<u8> {
    let mut tcp = [0; 20];
    tcp[..4].copy_from_slice(&[0x30, 0x39, 0, 53]);
    (tcp[12], tcp[13]) = (5 << 4, 2);
    match like[0] >> 4 {
        4 => {
            let (header, _) = wire::ip4::Header::ref_from_prefix(like).unwrap();
            let [src, dst] = [header.src_addr(), header.dst_addr()].map(|addr| addr.to_string());
            ip4(&src, &dst, Protocol::TCP, &tcp)
        }
        _ => {
            let (header, _) = ip6::Header::ref_from_prefix(like).unwrap();
            let [src, dst] = [header.src_addr(), header.dst_addr()].map(|addr| addr.to_string());
            ip6(&src, &dst, Protocol::TCP, &tcp)
        }
    }
}

/// The packets that leave for one whose checksum its sender left to a device: the field has the
/// sum of the pseudo header.
fn unsummed(b: &mut Bench, on_pg1: bool, packet: &[u8]) -> Vec<Vec<u8>> {
    let (mac, on) = if on_pg1 { (PG1, b.pg1) } else { (PG0, b.pg0) };
    let upper = Upper::of(packet).unwrap();
    let kind = if packet[0] >> 4 == 6 { EtherType::IP6 } else { EtherType::IP4 };
    let mut frame = [Header::new(mac, HOST, kind).as_bytes(), packet].concat();
    let sum = upper.pseudo(packet, packet.len() - upper.offset).unwrap().fold();
    let at = 14 + upper.offset + net::gso::field_offset(upper.protocol).unwrap();
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let out = b.graph.send("ethernet-input", &[frame], move |p| {
        let l3 = p.offset() + 14;
        p.set_rx(on.0);
        p.set_l3_offset(l3);
        p.set_l4_offset(l3 + upper.offset as i16);
        p.add_flags(Flags::CHECKSUM_TODO.with(Flags::L3).with(Flags::L4));
    });
    sent(&out).into_iter().map(|frame| frame[14..].to_vec()).collect()
}

#[test]
fn a_checksum_that_is_left_to_a_device_is_that_of_the_translated_packet() {
    let tunnelled = |inner: &[u8]| ip6("2001:db8::2", "2001:db8:ffff::1", Protocol::IP4, inner);
    let [four, .., six] = kinds().map(|kind| kind.ask);
    let more = [
        nat64(six),
        Kind {
            feature: dslite::FEATURE,
            lines: &[
                "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
                "dslite add pool address 192.0.2.1",
            ],
            ask: tunnelled(&four),
            routers: [""; 2],
            left: 1,
        },
    ];
    for Kind { feature, lines, ask, .. } in kinds().into_iter().chain(more) {
        let is_tunnelled = ask[6] == Protocol::IP4.0 && ask[0] >> 4 == 6;
        let inner = |p: &[u8]| if is_tunnelled { p[40..].to_vec() } else { p.to_vec() };
        for ask in [inner(&ask), syn(&inner(&ask))] {
            let mut b = bench(feature, lines);
            let mut all = |on_pg1: bool, packet: &[u8]| {
                let out = match is_tunnelled && !on_pg1 {
                    true => through(&mut b, on_pg1, &[tunnelled(packet)]),
                    false => unsummed(&mut b, on_pg1, packet),
                };
                assert_eq!(out.len(), 1, "{}", feature.name);
                let out = if on_pg1 { inner(&out[0]) } else { out[0].clone() };
                let sum = if out[0] >> 4 == 4 { sum4(&out) } else { sum6(&out) };
                let is_valid = sum.is_valid() || is_tunnelled && !on_pg1;
                assert!(is_valid, "{} {on_pg1}: {out:x?}", feature.name);
                out
            };
            // The first packet begins a session where there are sessions.
            for _ in 0..2 {
                let out = all(false, &ask);
                assert_eq!(all(true, &exchanged(&out)).len(), ask.len(), "{}", feature.name);
            }
        }
    }
}
