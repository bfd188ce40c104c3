//! Services behind `pg1` and their clients behind `pg0`, in IPv4 and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cnat::*;
use control::api::Retval;
use control::api::types::{Address, AddressFamily, IpProto, Prefix};
use net::InterfaceIndex;
use net::fib::types::IpFlowHashConfigV2;
use net::testing::packets::{ip4, ip6, sum4, sum6};
use net::testing::whole::{Bench, PG0, PG1, one, through};
use net::testing::{Rig, Transmit, new_interface};
use wire::Protocol;
use zerocopy::IntoBytes;

const NONE: InterfaceIndex = InterfaceIndex(u32::MAX);

/// Addresses of a version: client, backends, service, source of packets.
struct Plan {
    client: &'static str,
    backends: [&'static str; 2],
    service: &'static str,
    source: &'static str,
    /// The address of the router where clients are.
    router: &'static str,
    tx: &'static str,
    input: &'static str,
    snat: &'static str,
    back: &'static str,
    echo: Protocol,
}

const PLANS: [Plan; 2] = [
    Plan {
        client: "10.0.0.2",
        backends: ["10.0.1.2", "10.0.1.3"],
        service: "30.0.0.1",
        source: "10.0.1.99",
        router: "10.0.0.1",
        tx: "ip4-cnat-tx",
        input: "cnat-input-ip4",
        snat: "cnat-snat-ip4",
        back: "ip4-cnat-return",
        echo: Protocol::ICMP,
    },
    Plan {
        client: "2001:db8::2",
        backends: ["2001:db8:1::2", "2001:db8:1::3"],
        service: "30::1",
        source: "2001:db8:1::99",
        router: "2001:db8::1",
        tx: "ip6-cnat-tx",
        input: "cnat-input-ip6",
        snat: "cnat-snat-ip6",
        back: "ip6-cnat-return",
        echo: Protocol::ICMP6,
    },
];

const FEATURES: [net::Feature; 3] = [sessions::FEATURE, translation::FEATURE, FEATURE];

fn bench_with(stanza: &str, threads: usize) -> Bench {
    let first = |router: &mut net::Router| {
        router.stanzas = control::config::Config::parse(stanza, &[]).unwrap().others;
    };
    let interfaces = |router: &mut net::Router| {
        let new = |(name, mac)| router.add_interface(new_interface(name, mac), Transmit).unwrap();
        [("pg0", PG0), ("pg1", PG1)].map(new).into()
    };
    let features = [net::FEATURES, &FEATURES].concat();
    let mut b = Bench::of(Rig::made(threads, &features, first, interfaces));
    for line in [
        "set interface state pg0 up",
        "set interface state pg1 up",
        "set interface ip address pg0 10.0.0.1/24",
        "set interface ip address pg0 2001:db8::1/64",
        "set interface ip address pg1 10.0.1.1/24",
        "set interface ip address pg1 2001:db8:1::1/64",
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:bc",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "set ip neighbor pg1 2001:db8:1::3 02:00:00:00:00:bc",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

fn bench(lines: &[String]) -> Bench {
    let mut b = bench_with("", 1);
    lines.iter().for_each(|line| b.set(line));
    b.graph.moved_counters();
    b
}

fn service(plan: &Plan, protocol: &str, more: &str) -> String {
    let Plan { service, backends: [backend, _], .. } = plan;
    format!("cnat translation add proto {protocol} vip {service} 80 {more} to 0->{backend} 8080")
}

fn parse(addr: &str) -> IpAddr {
    addr.parse().unwrap()
}

/// An IP packet with this upper layer.
fn packet_of(protocol: Protocol, src: &str, dst: &str, upper: &[u8]) -> Vec<u8> {
    if src.contains(':') { ip6(src, dst, protocol, upper) } else { ip4(src, dst, protocol, upper) }
}

fn is_valid(packet: &[u8]) -> bool {
    if packet[0] >> 4 == 4 { sum4(packet).is_valid() } else { sum6(packet).is_valid() }
}

fn start(packet: &[u8]) -> usize {
    if packet[0] >> 4 == 4 { 20 } else { 40 }
}

/// Bit by bit, as RFC 9260 has it.
fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |c: u32| if c & 1 == 1 { (c >> 1) ^ 0x82f6_3b78 } else { c >> 1 };
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |c, _| bit(c));
    !bytes.iter().fold(!0, step)
}

/// A packet between two ends; of an echo the first port is its identifier.
pub(super) fn packet(protocol: Protocol, src: (&str, u16), dst: (&str, u16)) -> Vec<u8> {
    let ports = [src.1.to_be_bytes(), dst.1.to_be_bytes()].concat();
    let (mut upper, sum_at) = match protocol {
        Protocol::UDP => ([&ports[..], &[0, 20, 0, 0], &[7; 12]].concat(), 6),
        Protocol::TCP => {
            ([&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, 2, 9, 9, 0, 0, 0, 0]].concat(), 16)
        }
        Protocol::SCTP => ([&ports[..], &[1, 2, 3, 4, 0, 0, 0, 0, 9, 9, 9]].concat(), usize::MAX),
        Protocol::ICMP => ([&[8, 0, 0, 0], &ports[..2], &[0, 1, 5, 5]].concat(), 2),
        _ => ([&[128, 0, 0, 0], &ports[..2], &[0, 1, 5, 5]].concat(), 2),
    };
    if protocol == Protocol::SCTP {
        let crc = crc32c(&upper);
        upper[8..12].copy_from_slice(&crc.to_le_bytes());
    }
    let mut packet = packet_of(protocol, src.0, dst.0, &upper);
    if sum_at != usize::MAX {
        let at = start(&packet) + sum_at;
        let sum = if packet[0] >> 4 == 4 { sum4(&packet) } else { sum6(&packet) };
        // Echoes of IPv4 have no pseudo header.
        let sum = match protocol {
            Protocol::ICMP => wire::checksum::Sum::ZERO.add_bytes(&packet[20..]),
            _ => sum,
        };
        packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    }
    packet
}

/// The reply to an echo.
fn reply(protocol: Protocol, src: (&str, u16), dst: (&str, u16)) -> Vec<u8> {
    let mut reply = packet(protocol, (src.0, dst.1), (dst.0, dst.1));
    let at = start(&reply);
    let (kind, other) = if protocol == Protocol::ICMP { (0, 8) } else { (129, 128) };
    reply[at] = kind;
    // 0 instead of 8, or 129 instead of 128, in the high byte of a word.
    let sum = u16::from_be_bytes([reply[at + 2], reply[at + 3]]);
    let sum =
        wire::checksum::update(sum.into(), (other << 8).into(), (u16::from(kind) << 8).into());
    reply[at + 2..at + 4].copy_from_slice(sum.as_bytes());
    reply
}

/// An error about a packet, from `sender`.
fn error(sender: &str, about: &[u8]) -> Vec<u8> {
    let (to, _) = ends(about).0;
    let is_ip4 = about[0] >> 4 == 4;
    let (protocol, kind) = if is_ip4 { (Protocol::ICMP, 11) } else { (Protocol::ICMP6, 1) };
    let upper = [&[kind, 0, 0, 0, 0, 0, 0, 0], about].concat();
    let mut packet = packet_of(protocol, sender, &to.to_string(), &upper);
    let at = start(&packet) + 2;
    let sum = match is_ip4 {
        true => wire::checksum::Sum::ZERO.add_bytes(&packet[20..]),
        false => sum6(&packet),
    };
    packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    packet
}

/// An address and a port.
pub(super) type End = (IpAddr, u16);

/// Source and destination, without a look at sums.
pub(super) fn ends(packet: &[u8]) -> (End, End) {
    let at = start(packet);
    let port = |n: usize| u16::from_be_bytes([packet[at + n], packet[at + n + 1]]);
    let (src, dst): (IpAddr, IpAddr) = if at == 20 {
        let addr = |n: usize| <[u8; 4]>::try_from(&packet[n..n + 4]).unwrap().into();
        (addr(12), addr(16))
    } else {
        let addr = |n: usize| <[u8; 16]>::try_from(&packet[n..n + 16]).unwrap().into();
        (addr(8), addr(24))
    };
    match packet[if at == 20 { 9 } else { 6 }] {
        1 | 58 => ((src, port(4)), (dst, port(4))),
        _ => ((src, port(0)), (dst, port(2))),
    }
}

/// The same of a packet whose sums are right.
#[track_caller]
fn checked(packet: &[u8]) -> (End, End) {
    let at = start(packet);
    match packet[if at == 20 { 9 } else { 6 }] {
        1 => assert!(wire::checksum::Sum::ZERO.add_bytes(&packet[20..]).is_valid()),
        132 => {
            let mut upper = packet[at..].to_vec();
            let crc = u32::from_le_bytes(upper[8..12].try_into().unwrap());
            upper[8..12].fill(0);
            assert_eq!(crc, crc32c(&upper));
        }
        _ => assert!(is_valid(packet)),
    }
    ends(packet)
}

fn end(addr: &str, port: u16) -> End {
    (parse(addr), port)
}

fn sessions_of(b: &mut Bench) -> Vec<CnatSession> {
    b.talk(|local, router| {
        let all = local.dump(router, &CnatSessionDump {});
        all.into_iter().map(|details| details.session).collect()
    })
}

#[test]
fn connections_with_a_service_go_to_its_backend_and_answers_come_from_the_service() {
    let protocols = [("tcp", Protocol::TCP), ("udp", Protocol::UDP), ("sctp", Protocol::SCTP)];
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [backend, _], .. } = *plan;
        let lines = protocols.map(|(word, _)| service(plan, word, ""));
        let mut b = bench(&lines);
        for (_, protocol) in protocols {
            let ask = packet(protocol, (client, 1000), (vip, 80));
            let answer = packet(protocol, (backend, 8080), (client, 1000));
            for n in [1u64, 3, 4, 255, 256] {
                let out = through(&mut b, false, &vec![ask.clone(); n as usize]);
                assert_eq!(out.len() as u64, n);
                for p in &out {
                    assert_eq!(checked(p), (end(client, 1000), end(backend, 8080)));
                }
                // The first frame begins the session.
                b.expect(&[]);
                let out = through(&mut b, true, &vec![answer.clone(); n as usize]);
                assert_eq!(out.len() as u64, n);
                for p in &out {
                    assert_eq!(checked(p), (end(vip, 80), end(client, 1000)));
                }
                b.expect(&[]);
            }
        }
        assert_eq!(sessions_of(&mut b).len(), 6);
        let usage = b.cli("show session tables");
        assert!(usage.contains("cnat"), "{usage}");
        // What is for no translation is dropped; what is no answer passes.
        let other = packet(Protocol::UDP, (client, 1000), (vip, 81));
        assert_eq!(through(&mut b, false, std::slice::from_ref(&other)).len(), 0);
        b.expect(&[(plan.tx, "unknown session", 1)]);
        let other = packet(Protocol::UDP, (backend, 6666), (client, 1000));
        assert_eq!(checked(&one(&mut b, true, &other)), (end(backend, 6666), end(client, 1000)));
        b.expect(&[]);
    }
}

#[test]
fn errors_are_translated_with_what_they_quote_in_both_directions() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [backend, between], .. } = *plan;
        let mut b = bench(&[service(plan, "udp", ""), service(plan, "sctp", "")]);
        for protocol in [Protocol::UDP, Protocol::SCTP] {
            let out = one(&mut b, false, &packet(protocol, (client, 1000), (vip, 80)));
            for sender in [backend, between] {
                let back = one(&mut b, true, &error(sender, &out));
                let (src, dst) = checked_error(&back);
                // A router on the way is no end of the connection.
                let expected = if sender == backend { vip } else { between };
                assert_eq!((src, dst), (parse(expected), parse(client)));
                let quoted = &back[start(&back) + 8..];
                assert_eq!(ends(quoted), (end(client, 1000), end(vip, 80)));
            }
            let answer = packet(protocol, (backend, 8080), (client, 1000));
            let answer = one(&mut b, true, &answer);
            let out = one(&mut b, false, &error(client, &answer));
            assert_eq!(checked_error(&out), (parse(client), parse(backend)));
            let quoted = &out[start(&out) + 8..];
            assert_eq!(ends(quoted), (end(backend, 8080), end(client, 1000)));
            // One about something else passes as it is.
            let other = error(backend, &packet(protocol, (client, 9), (backend, 9)));
            let back = one(&mut b, true, &other);
            assert_eq!(back[start(&back)..], other[start(&other)..]);
            b.expect(&[]);
        }
    }
}

/// Source and destination of an error whose sum is right.
#[track_caller]
fn checked_error(packet: &[u8]) -> (IpAddr, IpAddr) {
    let ((src, _), (dst, _)) = checked(packet);
    (src, dst)
}

#[test]
fn the_last_hop_is_used_up_before_translation() {
    for plan in &PLANS {
        let Plan { client, service: vip, router, .. } = *plan;
        let mut b = bench(&[service(plan, "udp", "")]);
        let mut ask = packet(Protocol::UDP, (client, 1000), (vip, 80));
        if start(&ask) == 20 {
            ask = net::testing::packets::changed4(ask, |h| h.ttl = 1);
        } else {
            ask[7] = 1;
        }
        let back = one(&mut b, false, &ask);
        assert_eq!(checked_error(&back), (parse(router), parse(client)));
        let quoted = &back[start(&back) + 8..];
        assert_eq!(ends(quoted), (end(client, 1000), end(vip, 80)));
        assert_eq!(quoted[if start(&ask) == 20 { 8 } else { 7 }], 0, "as it would be forwarded");
    }
}

#[test]
fn a_real_address_keeps_its_other_ports_and_a_local_translation_needs_the_feature() {
    for plan in &PLANS {
        let Plan { client, router, backends: [backend, _], .. } = *plan;
        let real = format!("cnat translation proto udp real {router} 80 to -> {backend} 8080");
        let mut b = bench(&[real]);
        let ask = packet(Protocol::UDP, (client, 1000), (router, 80));
        assert_eq!(checked(&one(&mut b, false, &ask)), (end(client, 1000), end(backend, 8080)));
        b.expect(&[]);
        // No listener there: the router itself answers.
        let other = packet(Protocol::UDP, (client, 1000), (router, 81));
        let back = one(&mut b, false, &other);
        assert_eq!(checked_error(&back), (parse(router), parse(client)));
        b.graph.moved_counters();
        // Without routes: only where the feature is on.
        let Plan { service: vip, .. } = *plan;
        let mut b = bench(&[service(plan, "udp", "no-client")]);
        let ask = packet(Protocol::UDP, (client, 1000), (vip, 80));
        assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)).len(), 0);
        for interface in ["pg0", "pg1"] {
            b.set(&format!("set cnat feature {interface}"));
        }
        assert_eq!(checked(&one(&mut b, false, &ask)), (end(client, 1000), end(backend, 8080)));
        let answer = packet(Protocol::UDP, (backend, 8080), (client, 1000));
        assert_eq!(checked(&one(&mut b, true, &answer)), (end(vip, 80), end(client, 1000)));
    }
}

#[test]
fn flows_are_spread_by_the_fields_that_count_and_by_a_maglev_table() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [_, second], .. } = *plan;
        for more in ["flow-hash src dst", "flow-hash dport", "maglev flow-hash src dst"] {
            let line = format!("{} to ->{second} 8081", service(plan, "udp", more));
            let mut b = bench(&[line]);
            let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
            let all: Vec<_> = (1000..1064).map(ask).collect();
            let out = through(&mut b, false, &all);
            assert!(out.iter().all(|p| ends(p).1 == ends(&out[0]).1), "{more}");
        }
        for more in ["", "maglev"] {
            let line = format!("{} to ->{second} 8081", service(plan, "udp", more));
            let mut b = bench(&[line]);
            let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
            let all: Vec<_> = (1000..1200).map(ask).collect();
            let out = through(&mut b, false, &all);
            let first = out.iter().filter(|p| ends(p).1.1 == 8080).count();
            assert!((70..130).contains(&first), "{first}");
            let shown = b.cli("show cnat translation");
            assert_eq!(b.cli("show cnat translation 0"), shown);
            assert_eq!(b.cli("show cnat translation 77"), "");
            assert_eq!(shown.contains("places 50"), more == "maglev", "{shown}");
        }
    }
}

#[test]
fn sessions_end_with_their_backend_their_translation_and_their_time() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [first, second], .. } = *plan;
        let spread = format!("{} to ->{second} 8081", service(plan, "udp", ""));
        let mut b = bench(std::slice::from_ref(&spread));
        let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
        let all: Vec<_> = (1000..1032).map(ask).collect();
        let out = through(&mut b, false, &all);
        let of_first = out.iter().filter(|p| ends(p).1.1 == 8080).count();
        assert!(of_first > 0 && of_first < 32);
        assert_eq!(sessions_of(&mut b).len(), 64);
        b.set(&service(plan, "udp", ""));
        assert_eq!(sessions_of(&mut b).len(), of_first * 2);
        assert!(through(&mut b, false, &all).iter().all(|p| ends(p).1 == end(first, 8080)));
        // Silence: half a minute is too long.
        b.wait(29.0);
        assert_eq!(sessions_of(&mut b).len(), 64);
        one(&mut b, false, &all[0]);
        b.wait(10.0);
        assert_eq!(sessions_of(&mut b).len(), 2);
        assert!(b.cli("show cnat session").contains("CNat sessions: 1\n"));
        assert_eq!(b.cli("show cnat session fib 0 verbose 1").lines().count(), 2);
        assert_eq!(b.cli("show cnat session verbose 1 fib 9").lines().count(), 1);
        b.set(&format!("cnat translation del proto udp vip {vip} 80"));
        assert_eq!(sessions_of(&mut b), []);
        assert_eq!(through(&mut b, false, &all[..1]).len(), 0);
        assert!(b.cli("cnat translation del 0").contains("no translation 0"));
        assert_eq!(b.cli("show cnat client"), "");
        let hooks = b.cli("show cnat feature-hooks");
        assert_eq!(hooks, "", "nothing is looked at without a translation");
    }
}

#[test]
fn a_newer_connection_takes_over_and_ports_are_allocated_where_asked_for() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [backend, _], .. } = *plan;
        let other = format!("cnat translation proto udp vip {vip} 81 to ->{backend} 8080");
        let mut b = bench(&[service(plan, "udp", ""), other.clone()]);
        let asks = [80, 81].map(|port| packet(Protocol::UDP, (client, 1000), (vip, port)));
        for ask in &asks {
            assert_eq!(ends(&one(&mut b, false, ask)), (end(client, 1000), end(backend, 8080)));
        }
        let answer = packet(Protocol::UDP, (backend, 8080), (client, 1000));
        assert_eq!(checked(&one(&mut b, true, &answer)), (end(vip, 81), end(client, 1000)));
        b.expect(&[]);
        b.set("cnat purge");
        b.set(&other.replace(" to", " alloc-port to"));
        one(&mut b, false, &asks[0]);
        let (src, _) = checked(&one(&mut b, false, &asks[1]));
        assert!(src.0 == parse(client) && src.1 != 1000);
        b.expect(&[(plan.input, "port allocation retries", 1)]);
        let answer = packet(Protocol::UDP, (backend, 8080), (client, src.1));
        assert_eq!(checked(&one(&mut b, true, &answer)), (end(vip, 81), end(client, 1000)));
    }
}

#[test]
fn packets_go_to_a_backend_as_they_are_and_answers_are_left_alone() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [backend, _], .. } = *plan;
        let mut b = bench(&[format!("{} no-nat", service(plan, "udp", ""))]);
        let ask = packet(Protocol::UDP, (client, 1000), (vip, 80));
        for _ in 0..2 {
            assert_eq!(checked(&one(&mut b, false, &ask)), (end(client, 1000), end(vip, 80)));
        }
        assert_eq!(sessions_of(&mut b).len(), 1);
        let mut b = bench(&[service(plan, "udp", "one-way")]);
        assert_eq!(checked(&one(&mut b, false, &ask)), (end(client, 1000), end(backend, 8080)));
        let answer = packet(Protocol::UDP, (backend, 8080), (client, 1000));
        assert_eq!(checked(&one(&mut b, true, &answer)), (end(backend, 8080), end(client, 1000)));
    }
}

fn snat(plan: &Plan, more: &[&str]) -> Bench {
    let version = if plan.client.contains(':') { 6 } else { 4 };
    let lines = [
        format!("set cnat snat-policy addr {}", plan.source),
        format!("set interface feature pg0 {} arc ip{version}-unicast", plan.snat),
    ];
    let mut b = bench(&lines);
    more.iter().for_each(|line| b.set(line));
    b
}

#[test]
fn sources_are_translated_as_the_policy_says() {
    for plan in &PLANS {
        let Plan { client, backends: [far, excluded], source, .. } = *plan;
        let len = if plan.client.contains(':') { 128 } else { 32 };
        let table = if len == 128 { "include-v6" } else { "include-v4" };
        let mut b = snat(plan, &["set cnat snat-policy if-pfx"]);
        let ask = |protocol| packet(protocol, (client, 1000), (far, 80));
        let unchanged = (end(client, 1000), end(far, 80));
        // The interface is not included yet.
        assert_eq!(checked(&one(&mut b, false, &ask(Protocol::UDP))), unchanged);
        b.set(&format!("set cnat snat-policy if table {table} pg0"));
        b.set(&format!("set cnat snat-policy prefix {excluded}/{len}"));
        for protocol in [Protocol::TCP, Protocol::UDP, Protocol::SCTP] {
            for n in [1, 3, 4, 255, 256] {
                let out = through(&mut b, false, &vec![ask(protocol); n]);
                assert_eq!(out.len(), n);
                let (src, dst) = checked(&out[n - 1]);
                assert_eq!((src.0, dst), (parse(source), end(far, 80)));
                let answer = packet(protocol, (far, 80), (source, src.1));
                let back = through(&mut b, true, &vec![answer; n]);
                assert_eq!(back.len(), n);
                assert_eq!(checked(&back[n - 1]), (end(far, 80), end(client, 1000)));
            }
            let to = packet(protocol, (client, 1000), (excluded, 80));
            assert_eq!(checked(&one(&mut b, false, &to)).0, end(client, 1000));
        }
        // Two clients' ports meet: the second one gets another.
        b.expect(&[]);
        let echo = packet(plan.echo, (client, 0xfeed), (far, 0));
        let (src, _) = checked(&one(&mut b, false, &echo));
        assert_eq!(src.0, parse(source));
        let answer = reply(plan.echo, (far, 0), (source, src.1));
        assert_eq!(checked(&one(&mut b, true, &answer)).1, end(client, 0xfeed));
        // An error about it, from a router on the way.
        let out = one(&mut b, false, &ask(Protocol::UDP));
        let back = one(&mut b, true, &error(excluded, &out));
        assert_eq!(checked_error(&back), (parse(excluded), parse(client)));
        assert_eq!(ends(&back[start(&back) + 8..]), unchanged);
        b.expect(&[]);
        b.set("cnat purge");
        assert_eq!(through(&mut b, true, &vec![answer; 3]).len(), 0);
        b.expect(&[(plan.back, "unknown session", 3)]);
    }
}

#[test]
fn pods_are_hidden_from_the_world_and_hosts_from_pods_that_serve_them() {
    for plan in &PLANS {
        let Plan { client, backends: [far, pod], source, service: vip, .. } = *plan;
        let len = if plan.client.contains(':') { 128 } else { 32 };
        let mut b = snat(plan, &["set cnat snat-policy k8s"]);
        b.set(&format!("set cnat snat-policy prefix {pod}/{len}"));
        b.set(&format!("cnat translation proto udp vip {vip} 80 to -> {pod} 8080"));
        let to = |dst| packet(Protocol::UDP, (client, 1000), (dst, 80));
        let src_of = |b: &mut Bench, dst| checked(&one(b, false, &to(dst))).0.0;
        for dst in [far, pod, vip] {
            assert_eq!(src_of(&mut b, dst), parse(client));
        }
        b.set("cnat purge");
        b.set("set cnat snat-policy if table pod pg0");
        assert_eq!(src_of(&mut b, far), parse(source));
        assert_eq!(src_of(&mut b, pod), parse(client));
        assert_eq!(src_of(&mut b, vip), parse(client));
        b.set("cnat purge");
        b.set("set cnat snat-policy if del table pod pg0");
        b.set("set cnat snat-policy if table host pg0");
        assert_eq!(src_of(&mut b, far), parse(client));
        assert_eq!(src_of(&mut b, pod), parse(client));
        // Both ends are translated, and both back.
        let (src, dst) = checked(&one(&mut b, false, &to(vip)));
        assert_eq!((src.0, dst), (parse(source), end(pod, 8080)));
        let answer = packet(Protocol::UDP, (pod, 8080), (source, src.1));
        assert_eq!(checked(&one(&mut b, true, &answer)), (end(vip, 80), end(client, 1000)));
        // The second packet takes both sessions at once.
        assert_eq!(checked(&one(&mut b, false, &to(vip))), (src, dst));
        b.set("set cnat snat-policy dnat");
        b.set("cnat purge");
        assert_eq!(src_of(&mut b, vip), parse(source));
        assert_eq!(src_of(&mut b, far), parse(client));
    }
}

#[test]
fn the_event_log_has_sessions_of_an_address_or_all() {
    for plan in &PLANS {
        let Plan { client, service: vip, backends: [backend, other], .. } = *plan;
        let mut b = bench(&[service(plan, "udp", "")]);
        let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
        let text = |what: &str, port: u16| {
            format!(
                "cnat: session {what}: protocol 17 {client} port {port} -> {vip} port 80 as \
                 {client} port {port} -> {backend} port 8080, table 0, translation 0"
            )
        };
        let noted = |b: &mut Bench, port: u16| -> Vec<String> {
            let before = b.router.event_log.newest(usize::MAX).len();
            one(b, false, &ask(port));
            b.set("cnat purge");
            let events = b.router.event_log.newest(usize::MAX).into_iter().skip(before);
            events.map(|e| e.text).filter(|text| text.starts_with("cnat")).collect()
        };
        let both = |port| [text("begins", port), text("ends", port)];
        assert_eq!(noted(&mut b, 1), [""; 0]);
        b.set(&format!("cnat log enable ip {other}"));
        assert_eq!(noted(&mut b, 2), [""; 0]);
        b.set(&format!("cnat log enable ip {backend}"));
        assert_eq!(noted(&mut b, 3), both(3));
        b.set(&format!("cnat log disable ip {backend}"));
        assert_eq!(noted(&mut b, 4), [""; 0]);
        let refused = b.attempt(&format!("cnat log disable ip {backend}"));
        assert!(refused.unwrap_err().to_string().contains("not logged"));
        b.set("cnat log enable");
        assert_eq!(noted(&mut b, 5), both(5));
        // Sessions that are silent for too long end as well.
        let before = b.router.event_log.newest(usize::MAX).len();
        one(&mut b, false, &ask(6));
        b.wait(40.0);
        let events = b.router.event_log.newest(usize::MAX).into_iter().skip(before);
        let texts: Vec<_> = events.map(|e| e.text).filter(|t| t.starts_with("cnat")).collect();
        assert_eq!(texts, both(6));
        b.set("cnat log disable");
        assert_eq!(noted(&mut b, 7), [""; 0]);
    }
}

#[test]
fn sessions_without_an_answer_make_room_for_clients() {
    for (n, plan) in PLANS.iter().enumerate() {
        let mut b = bench_with("cnat { session-max 16 scanner off }", 1);
        let Plan { client, service: vip, backends: [backend, _], .. } = *plan;
        b.set(&service(plan, "udp", ""));
        let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
        // One is answered, others are made up and are not.
        assert_eq!(through(&mut b, false, &[ask(999)]).len(), 1);
        let answer = packet(Protocol::UDP, (backend, 8080), (client, 999));
        assert_eq!(through(&mut b, true, std::slice::from_ref(&answer)).len(), 1, "{n}");
        let all: Vec<_> = (1000..1020).map(ask).collect();
        assert_eq!(through(&mut b, false, &all).len(), 14, "{n}");
        assert_eq!(through(&mut b, false, &[ask(2000)]).len(), 0, "none is silent yet");
        b.wait(4.0);
        let more: Vec<_> = (2000..2010).map(ask).collect();
        assert_eq!(through(&mut b, false, &more).len(), 10, "{n}");
        assert_eq!(through(&mut b, true, &[answer]).len(), 1, "who is answered stays");
    }
}

#[test]
fn sessions_have_limits_in_all_and_by_table() {
    let mut b = bench_with("cnat { session-max 16 session-max-per-vrf 10 scanner off }", 1);
    let mut count = 0;
    for (n, plan) in PLANS.iter().enumerate() {
        let Plan { client, service: vip, .. } = *plan;
        b.set(&service(plan, "udp", ""));
        b.graph.moved_counters();
        let ask = |port| packet(Protocol::UDP, (client, port), (vip, 80));
        let all: Vec<_> = (1000..1020).map(ask).collect();
        // One of all is never used.
        let room = [10, 5][n];
        assert_eq!(through(&mut b, false, &all).len(), room);
        b.expect(&[(plan.input, "session allocation failure", 20 - room as u64)]);
        count += room;
    }
    assert_eq!(sessions_of(&mut b).len(), count * 2);
    b.set("cnat purge");
    assert_eq!(sessions_of(&mut b), []);
    let ask = packet(Protocol::UDP, (PLANS[1].client, 9), (PLANS[1].service, 80));
    one(&mut b, false, &ask);
    // Expired, but kept without scans.
    b.wait(60.0);
    assert!(b.cli("show session tables").contains("cnat                  0          1"));
    assert_eq!(sessions_of(&mut b).len(), 2);
    b.set("test cnat scanner on");
    assert!(b.cli("show session tables").contains("cnat                  0          0"));
}

#[test]
fn ends_are_addresses_of_interfaces_that_come_and_go() {
    for plan in &PLANS {
        let ip6 = if plan.client.contains(':') { "ip6" } else { "" };
        let Plan { client, backends: [backend, _], .. } = *plan;
        let line = format!("cnat translation proto udp real pg0 {ip6} 80 to -> {backend} 8080");
        let mut b = bench(&[line]);
        let ask = |to| packet(Protocol::UDP, (client, 1000), (to, 80));
        assert_eq!(ends(&one(&mut b, false, &ask(plan.router))).1, end(backend, 8080));
        let (old, new) = match ip6 {
            "" => ("10.0.0.1/24", "10.0.0.7"),
            _ => ("2001:db8::1/64", "2001:db8::7"),
        };
        let len = old.split_once('/').unwrap().1;
        b.set(&format!("set interface ip address pg0 {new}/{len}"));
        b.set(&format!("set interface ip address del pg0 {old}"));
        assert_eq!(sessions_of(&mut b), []);
        assert_eq!(ends(&one(&mut b, false, &ask(new))).1, end(backend, 8080));
        b.set(&format!("set interface ip address del pg0 {new}/{len}"));
        assert!(
            b.cli("show cnat translation").contains("unresolved (pg0) lb:default real not in use")
        );
        let configured = b.cli("show configuration cnat");
        let flag = if ip6.is_empty() { "" } else { " v6" };
        let line = format!("cnat translation add proto udp real pg0{flag} 80 to -> {backend} 8080");
        assert_eq!(configured, format!("{line}\n"));
    }
}

#[test]
fn packets_find_the_thread_of_their_session() {
    for plan in &PLANS {
        let Plan { client, backends: [far, pod], source, service: vip, .. } = *plan;
        let version = if plan.client.contains(':') { 6 } else { 4 };
        let mut b = bench_with("", 3);
        b.set(&service(plan, "udp", ""));
        b.set(&format!("set cnat snat-policy addr {source}"));
        b.set(&format!("set interface feature pg0 {} arc ip{version}-unicast", plan.snat));
        for port in 1000..1064 {
            // Both ends are translated.
            let (src, dst) =
                checked(&one(&mut b, false, &packet(Protocol::UDP, (client, port), (vip, 80))));
            assert_eq!((src.0, dst), (parse(source), end(far, 8080)));
            let answer = packet(Protocol::UDP, (far, 8080), (source, src.1));
            assert_eq!(checked(&one(&mut b, true, &answer)), (end(vip, 80), end(client, port)));
            // Only the source is.
            let (src, dst) =
                checked(&one(&mut b, false, &packet(Protocol::UDP, (client, port), (pod, 53))));
            assert_eq!((src.0, dst), (parse(source), end(pod, 53)));
            let answer = packet(Protocol::UDP, (pod, 53), (source, src.1));
            assert_eq!(checked(&one(&mut b, true, &answer)), (end(pod, 53), end(client, port)));
        }
        let shown = b.cli("show session tables");
        assert!(shown.lines().filter(|line| line.starts_with("cnat")).count() > 1, "{shown}");
    }
}

#[test]
fn clients_and_commands_say_the_same() {
    let plan = &PLANS[0];
    let mut b = bench(&[]);
    let endpoint = |addr: &str, port| CnatEndpoint {
        addr: parse(addr).into(),
        sw_if_index: NONE,
        if_af: AddressFamily::IP4,
        port,
    };
    let path = |dst: &str, flags| CnatEndpointTuple {
        dst_ep: endpoint(dst, 8080),
        src_ep: endpoint("0.0.0.0", 0),
        flags,
    };
    let translation = CnatTranslation {
        vip: endpoint(plan.service, 80),
        id: 99,
        ip_proto: IpProto::TCP,
        is_real_ip: 0,
        flags: 9,
        lb_type: CnatLbType::MAGLEV,
        flow_hash_config: IpFlowHashConfigV2::SRC_IP,
        paths: vec![path(plan.backends[0], 0), path(plan.backends[1], 2)],
    };
    let pg1 = b.pg1;
    b.talk(|local, router| {
        let update = |t: &CnatTranslation| CnatTranslationUpdate { translation: t.clone() };
        let id = local.call(router, &update(&translation)).unwrap().id;
        assert_eq!(local.call(router, &update(&translation)).unwrap().id, id);
        let listed = local.dump(router, &CnatTranslationDump {});
        assert_eq!(listed[0].translation, CnatTranslation { id, ..translation.clone() });
        let mut refused = |change: fn(&mut CnatTranslation)| {
            let mut bad = translation.clone();
            change(&mut bad);
            local.call(router, &update(&bad)).err().unwrap()
        };
        assert_eq!(refused(|t| t.ip_proto = IpProto::ICMP), Retval::INVALID_VALUE);
        assert_eq!(refused(|t| t.flags = 2), Retval::INVALID_VALUE);
        assert_eq!(refused(|t| t.lb_type = CnatLbType(2)), Retval::INVALID_VALUE);
        assert_eq!(refused(|t| t.paths[0].flags = 1), Retval::INVALID_VALUE);
        assert_eq!(
            refused(|t| t.paths[0].dst_ep.sw_if_index = InterfaceIndex(77)),
            Retval::INVALID_SW_IF_INDEX
        );
        assert_eq!(
            refused(|t| t.paths[0].dst_ep.addr = IpAddr::from(Ipv6Addr::LOCALHOST).into()),
            Retval::INVALID_ADDRESS_FAMILY
        );
        let sources = CnatSetSnatAddressesV2 {
            fwd_fib_index: 7,
            ret_fib_index: u32::MAX,
            snat_ip4: Ipv4Addr::new(10, 0, 1, 99),
            snat_ip6: Ipv6Addr::UNSPECIFIED,
            sw_if_index: NONE,
            flags: CnatSnatPolicyFlags::USE_AS_DEFAULT,
        };
        local.call(router, &sources).unwrap();
        let listed = local.dump(router, &CnatSnatAddressesDump {});
        assert_eq!((listed[0].fwd_table_id4, listed[0].ret_table_id6), (7, 0));
        let all = CnatSetSnatAddresses {
            snat_ip4: Ipv4Addr::UNSPECIFIED,
            snat_ip6: Ipv6Addr::UNSPECIFIED,
            sw_if_index: pg1,
        };
        local.call(router, &all).unwrap();
        let shown = local.call(router, &CnatGetSnatAddresses {}).unwrap();
        assert_eq!((shown.snat_ip4, shown.sw_if_index), (Ipv4Addr::new(10, 0, 1, 1), pg1));
        local.call(router, &CnatSetSnatPolicy { policy: CnatSnatPolicies::K8S }).unwrap();
        let bad = CnatSetSnatPolicy { policy: CnatSnatPolicies(4) };
        assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
        let prefix = Prefix { address: Address::from(parse("10.9.0.0")), len: 16 };
        let unknown = Some(Retval::NO_SUCH_ENTRY);
        for (is_add, answer) in [(0, unknown), (1, None), (1, None)] {
            let set = CnatSnatPolicyAddDelExcludePfx { is_add, prefix };
            assert_eq!(local.call(router, &set).err(), answer);
        }
        let table = CnatSnatPolicyTable::POD;
        let set = |is_add| CnatSnatPolicyAddDelIf { sw_if_index: pg1, is_add, table };
        local.call(router, &set(1)).unwrap();
        let on = FeatureCnatEnableDisable { sw_if_index: pg1, enable_disable: true };
        local.call(router, &on).unwrap();
        let gone = CnatTranslationDel { id: 5 };
        assert_eq!(local.call(router, &gone).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &CnatSessionPurge {}).unwrap();
    });
    let lines = "set cnat snat-policy k8s
set cnat snat-policy prefix 10.9.0.0/16
set cnat feature pg1
set cnat snat-policy addr 10.0.1.99 table 7 default
set cnat snat-policy addr pg1
set cnat snat-policy if table pod pg1
cnat translation add proto tcp vip 30.0.0.1 80 maglev flow-hash src alloc-port no-client \
to -> 10.0.1.2 8080 to -> 10.0.1.3 8080 no-nat
";
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let told = b.cli("show configuration cnat");
    assert_eq!(sorted(&told), sorted(lines));
    // The same lines make the same router.
    let mut again = bench(&told.lines().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(again.cli("show configuration cnat"), told);
    let shown = again.cli("show cnat snat-policy");
    assert!(shown.contains("policy: k8s") && shown.contains("excluded 10.9.0.0/16"), "{shown}");
    again.set("cnat translation add proto udp real pg0 v6 53 to pg1 ip6 0 -> pg1 ip6 53");
    again.set("cnat translation add proto udp real pg0 53 to -> pg1 53 to -> 10.0.1.2 53");
    // What takes the lines back, from the last one.
    let rows = again.control(|router, _| {
        let mut all = router.collect();
        while all.advance(router) {}
        all.rows()
    });
    for row in rows.iter().rev().filter(|row| row.feature == "cnat") {
        again.set(&row.undo.as_ref().expect(&row.command).command);
    }
    assert_eq!(again.cli("show configuration cnat"), "");
    assert!(b.cli("cnat translation proto gre vip 1.2.3.4 1").contains("tcp, udp or sctp"));
    assert!(b.cli("set cnat snat-policy none fib 3").contains("fib"));
}
