//! Sessions of every kind while the number of threads changes.

use std::ops::Range;

use net::testing::packets::{ip4, ip6};
use net::testing::whole::{Bench, through_at};
use wire::{Protocol, checksum};
use zerocopy::IntoBytes;
use zerocopy::network_endian::U16;

use super::cnat::{ends, packet};
use super::translation::with;

/// New sessions in each round.
const NEW: u16 = 24;
/// Threads as without workers, with two and with one, and back.
const ROUNDS: [Range<usize>; 6] = [0..1, 1..3, 1..2, 0..1, 1..3, 0..1];

/// A kind of sessions.
struct Kind<'a> {
    plugins: &'a [net::Feature],
    lines: &'a [&'a str],
    /// Whether sessions begin with packets that `pg1` receives.
    is_from_pg1: bool,
    /// Whether packets that are no answers pass as well.
    others_pass: bool,
    /// The packet that begins a session, by number.
    ask: fn(u16) -> Vec<u8>,
}

const KIND: Kind<'static> =
    Kind { plugins: &[], lines: &[], is_from_pg1: false, others_pass: false, ask: ask4 };

/// A session: packets received on either side, and their translations.
struct Known {
    ask: Vec<u8>,
    out: Vec<u8>,
    answer: Vec<u8>,
    back: Vec<u8>,
}

const NEIGHBORS: [&str; 4] = [
    "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
    "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
    "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
    "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
];

/// The packets that leave for one that a thread receives.
fn through(b: &mut Bench, thread: usize, on_pg1: bool, packet: &[u8]) -> Vec<Vec<u8>> {
    through_at(b, thread, on_pg1, &[packet.to_vec()])
}

#[track_caller]
fn one(b: &mut Bench, thread: usize, on_pg1: bool, packet: &[u8]) -> Vec<u8> {
    let mut all = through(b, thread, on_pg1, packet);
    assert_eq!(all.len(), 1, "{:?}", b.graph.moved_counters());
    all.remove(0)
}

/// The answer to a packet.
fn answer(to: &[u8]) -> Vec<u8> {
    let (src, dst) = ends(to);
    let [near, far] = [src.0, dst.0].map(|addr| addr.to_string());
    let protocol = Protocol(to[if to[0] >> 4 == 4 { 9 } else { 6 }]);
    if protocol == Protocol::ICMP {
        let mut reply = packet(protocol, (&far, src.1), (&near, 0));
        let sum = U16::from_bytes([reply[22], reply[23]]);
        let sum = checksum::update(sum, 0x0800.into(), 0.into());
        reply[20] = 0;
        reply[22..24].copy_from_slice(sum.as_bytes());
        return reply;
    }
    packet(protocol, (&far, dst.1), (&near, src.1))
}

/// Creates sessions on any number of threads, and checks that each survives with any other: packets
/// leave as before, whichever thread receives them. Packets other than replies do not pass.
fn live_on(kind: &Kind<'_>) {
    let mut b = bench(kind);
    let mut all: Vec<Known> = Vec::new();
    for threads in ROUNDS {
        b.set_threads(threads.clone());
        live_on_now(&mut b, kind, &mut all, threads);
    }
    expect_ends_of_their_own(&all);
}

fn bench(kind: &Kind<'_>) -> Bench {
    let mut b = Bench::plugged_on(4, kind.plugins);
    NEIGHBORS.iter().chain(kind.lines).for_each(|line| drop(b.attempt(line).unwrap()));
    b.wait(0.0);
    b.graph.hold_time();
    b
}

/// A round with these threads: sessions live on, and new ones begin.
fn live_on_now(b: &mut Bench, kind: &Kind<'_>, all: &mut Vec<Known>, threads: Range<usize>) {
    let (there, back) = (kind.is_from_pg1, !kind.is_from_pg1);
    b.graph.moved_counters();
    for (n, known) in all.iter().enumerate() {
        let [one_of, other] = [n, n + 1].map(|n| threads.start + n % threads.len());
        assert_eq!(one(b, one_of, back, &known.answer), known.back, "{threads:?}, {n}");
        assert_eq!(one(b, other, there, &known.ask), known.out, "{threads:?}, {n}");
        assert_eq!(one(b, other, back, &known.answer), known.back, "{threads:?}, {n}");
    }
    for _ in 0..NEW {
        let n = all.len();
        let ask = (kind.ask)(n as u16);
        let out = one(b, threads.start + n % threads.len(), there, &ask);
        let answer = answer(&out);
        let to = one(b, threads.end - 1 - n % threads.len(), back, &answer);
        all.push(Known { ask, out, answer, back: to });
    }
    let foreign = answer(&packet_like(&all[0].out));
    let out = through(b, threads.start, back, &foreign);
    assert_eq!(!out.is_empty(), kind.others_pass, "{threads:?}");
}

fn expect_ends_of_their_own(all: &[Known]) {
    let mut outs: Vec<_> = all.iter().map(|known| ends(&known.answer)).collect();
    outs.sort_unstable();
    outs.dedup();
    assert_eq!(outs.len(), all.len(), "no two have the same end outside");
}

/// A packet of the same ends but for the ports, which no session has.
fn packet_like(like: &[u8]) -> Vec<u8> {
    let (src, dst) = ends(like);
    let [src, dst] = [src.0, dst.0].map(|addr| addr.to_string());
    packet(Protocol::UDP, (&src, 7), (&dst, 7))
}

/// A packet from the host behind `pg0` to the one behind `pg1`, of IPv4.
fn ask4(n: u16) -> Vec<u8> {
    packet(Protocol::UDP, ("10.0.0.2", 3000 + n), ("10.0.1.2", 53))
}

/// The same of IPv6.
fn ask6(n: u16) -> Vec<u8> {
    packet(Protocol::UDP, ("2001:db8::2", 3000 + n), ("2001:db8:1::2", 53))
}

/// A packet from one of many hosts.
fn ask_of_many(n: u16) -> Vec<u8> {
    packet(Protocol::UDP, (&format!("10.0.0.{}", 2 + n % 50), 3000 + n / 50), ("10.0.1.2", 53))
}

/// Neighbours of `pg0` for hosts 10.0.0.2 to 10.0.0.51.
fn hosts() -> Vec<String> {
    let line = |n| format!("set ip neighbor pg0 10.0.0.{n} 02:00:00:00:00:01");
    (2..52).map(line).collect()
}

#[test]
fn sessions_of_nat44_live_on_with_their_ports() {
    let hosts = hosts();
    let first = ["nat44 plugin enable sessions 1000", "set interface nat44 in pg0 out pg1"];
    let more = ["nat44 add address 192.0.2.1"];
    let lines: Vec<_> = hosts.iter().map(String::as_str).chain(first).chain(more).collect();
    let plugins = with(nat44_ed::FEATURE);
    for ask in [ask4, ask_of_many] {
        live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
    }
}

#[test]
fn hosts_inside_reach_each_other_by_mappings_without_ports_whichever_thread_hears_them() {
    let hosts = hosts();
    let first = ["nat44 plugin enable sessions 1000", "set interface nat44 in pg0 out pg1"];
    let pool = ["nat44 add address 192.0.2.1".to_owned()];
    let mapping =
        |n: u8| format!("nat44 add static mapping local 10.0.0.{n} external 198.51.100.{n}");
    let more: Vec<_> = pool.into_iter().chain((10..20).map(mapping)).collect();
    let lines: Vec<_> = hosts
        .iter()
        .map(String::as_str)
        .chain(first)
        .chain(more.iter().map(String::as_str))
        .collect();
    let plugins = with(nat44_ed::FEATURE);
    let mut b = bench(&Kind { plugins: &plugins, lines: &lines, ..KIND });
    b.set_threads(0..4);
    let gre = |src: &str, dst: &str| ip4(src, dst, Protocol::GRE, &[0, 0, 8, 0, 9, 9, 9, 9]);
    let src_and_dst = |p: &[u8]| (p[12..16].to_vec(), p[16..20].to_vec());
    for n in 10..20 {
        let (server, outside) = (format!("10.0.0.{n}"), format!("198.51.100.{n}"));
        let ask = gre("10.0.0.2", &outside);
        let out = one(&mut b, usize::from(n) % 4, false, &ask);
        assert_eq!(src_and_dst(&out), (vec![192, 0, 2, 1], vec![10, 0, 0, n]));
        let answer = gre(&server, "192.0.2.1");
        let back = one(&mut b, usize::from(n + 1) % 4, false, &answer);
        assert_eq!(src_and_dst(&back), (vec![198, 51, 100, n], vec![10, 0, 0, 2]));
    }
}

/// A SYN from one of many hosts.
fn syn_of_many(n: u16) -> Vec<u8> {
    packet(Protocol::TCP, (&format!("10.0.0.{}", 2 + n % 50), 3000 + n / 50), ("10.0.1.2", 53))
}

/// An echo request from one of many hosts: its identifier is a port.
fn echo_of_many(n: u16) -> Vec<u8> {
    let host = format!("10.0.0.{}", 2 + n % 50);
    packet(Protocol::ICMP, (&host, 3000 + n / 50), ("10.0.1.2", 0))
}

/// As [`live_on`], while sessions go from some workers to others.
fn live_on_workers(kind: &Kind<'_>, [set, show]: [&str; 2]) {
    let mut b = bench(kind);
    let mut all: Vec<Known> = Vec::new();
    b.set_threads(1..4);
    let rounds = [("all", 1..4), ("1", 2..3), ("0-1", 1..3), ("2", 3..4), ("all", 1..4)];
    for (workers, threads) in rounds {
        b.set(&format!("{set} {workers}"));
        live_on_now(&mut b, kind, &mut all, 1..4);
        let shown = b.cli(show);
        let with_some = shown.lines().enumerate().filter(|(_, line)| !line.contains(": 0 of "));
        let with_some: Vec<_> = with_some.map(|(thread, _)| thread).collect();
        assert_eq!(with_some, threads.collect::<Vec<_>>(), "{workers}: {shown}");
    }
    b.set(&format!("{set} 0,2"));
    assert!(b.cli("show configuration").contains(&format!("{set} 0,2\n")));
    b.set_threads(1..3);
    assert!(b.cli("show configuration").contains(&format!("{set} 0\n")), "worker 2 is gone");
    live_on_now(&mut b, kind, &mut all, 1..3);
    let shown = b.cli(show);
    assert!(shown.lines().nth(2).unwrap().contains(": 0 of "), "{shown}");
    for (workers, why) in [("2", "no worker 2"), ("0-1,5", "no worker 5"), ("x", "x")] {
        let refused = b.attempt(&format!("{set} {workers}")).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    b.set_threads(1..2);
    live_on_now(&mut b, kind, &mut all, 1..2);
    let refused = b.attempt(&format!("{set} 0")).unwrap_err().to_string();
    assert!(refused.contains("fewer than two workers"), "{refused}");
    b.set_threads(1..4);
    live_on_now(&mut b, kind, &mut all, 1..4);
    expect_ends_of_their_own(&all);
}

#[test]
fn sessions_of_nat44_go_over_to_the_workers_that_an_operator_chooses() {
    let hosts = hosts();
    let first = ["nat44 plugin enable sessions 1000", "nat44 add address 192.0.2.1"];
    let hosts = hosts.iter().map(String::as_str);
    let lines: Vec<_> = hosts.chain(first).chain(["set interface nat44 in pg0 out pg1"]).collect();
    let plugins = with(nat44_ed::FEATURE);
    let kind = Kind { plugins: &plugins, lines: &lines, ask: ask_of_many, ..KIND };
    live_on_workers(&kind, ["set nat workers", "show nat44 hash tables"]);
}

#[test]
fn sessions_of_nat44_ei_go_over_to_the_workers_that_an_operator_chooses() {
    let hosts = hosts();
    let first = ["nat44 ei plugin enable sessions 1000", "nat44 ei add address 192.0.2.1"];
    let hosts = hosts.iter().map(String::as_str);
    let lines: Vec<_> =
        hosts.chain(first).chain(["set interface nat44 ei in pg0 out pg1"]).collect();
    let plugins = with(nat44_ei::FEATURE);
    let kind = Kind { plugins: &plugins, lines: &lines, ask: ask_of_many, ..KIND };
    live_on_workers(&kind, ["set nat44 ei workers", "show nat44 ei hash tables"]);
}

#[test]
fn sessions_of_tcp_and_icmp_live_on_behind_an_output_feature_too() {
    let hosts = hosts();
    let roles = [
        ["set interface nat44 in pg0 out pg1", ""],
        ["set interface nat44 in pg0", "set interface nat44 out pg1 output-feature"],
    ];
    let plugins = with(nat44_ed::FEATURE);
    for role in roles {
        let first = ["nat44 plugin enable sessions 1000", "nat44 add address 192.0.2.1"];
        let role = role.into_iter().filter(|line| !line.is_empty());
        let lines: Vec<_> = hosts.iter().map(String::as_str).chain(first).chain(role).collect();
        for ask in [ask_of_many, syn_of_many, echo_of_many] {
            live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
        }
    }
}

#[test]
fn sessions_of_twice_nat_live_on() {
    let lines = [
        "nat44 plugin enable sessions 1000",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
        "nat44 add address 192.0.2.9 twice-nat",
        "nat44 add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353 twice-nat",
    ];
    let plugins = with(nat44_ed::FEATURE);
    let ask = |n| packet(Protocol::UDP, ("10.0.1.2", 3000 + n), ("192.0.2.1", 5353));
    let kind = Kind { plugins: &plugins, lines: &lines, ask, ..KIND };
    live_on(&Kind { is_from_pg1: true, ..kind });
}

#[test]
fn sessions_of_nat44_mappings_live_on() {
    let lines = [
        "nat44 plugin enable sessions 1000",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
        "nat44 add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353",
    ];
    let plugins = with(nat44_ed::FEATURE);
    let ask = |n| packet(Protocol::UDP, ("10.0.1.2", 3000 + n), ("192.0.2.1", 5353));
    let kind = Kind { plugins: &plugins, lines: &lines, ask, ..KIND };
    live_on(&Kind { is_from_pg1: true, others_pass: true, ..kind });
}

#[test]
fn sessions_of_endpoint_independent_nat_live_on_with_their_ports() {
    let hosts = hosts();
    let first = ["nat44 ei plugin enable sessions 1000 user-sessions 500"];
    let more = ["set interface nat44 ei in pg0 out pg1", "nat44 ei add address 192.0.2.1"];
    let lines: Vec<_> = hosts.iter().map(String::as_str).chain(first).chain(more).collect();
    let plugins = with(nat44_ei::FEATURE);
    for ask in [ask4, ask_of_many] {
        live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
    }
}

#[test]
fn sessions_of_deterministic_nat_live_on() {
    let hosts = hosts();
    let first = ["det44 plugin enable", "set interface det44 inside pg0 outside pg1"];
    let more = ["det44 add in 10.0.0.0/24 out 192.0.2.1/32"];
    let lines: Vec<_> = hosts.iter().map(String::as_str).chain(first).chain(more).collect();
    let plugins = with(det44::FEATURE);
    live_on(&Kind { plugins: &plugins, lines: &lines, ask: ask_of_many, ..KIND });
}

#[test]
fn sessions_of_nat64_live_on_with_their_ports() {
    let lines = [
        "nat64 plugin enable",
        "set interface nat64 in pg0",
        "set interface nat64 out pg1",
        "nat64 add pool address 192.0.2.1",
    ];
    let plugins = with(nat64::FEATURE);
    let ask = |n| packet(Protocol::UDP, ("2001:db8::2", 3000 + n), ("64:ff9b::a00:102", 53));
    live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
}

#[test]
fn sessions_of_ds_lite_live_on_with_their_ports() {
    let lines = [
        "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
        "dslite add pool address 192.0.2.1",
    ];
    let plugins = with(dslite::FEATURE);
    let ask = |n| {
        let inner = packet(Protocol::UDP, ("192.168.1.9", 3000 + n), ("10.0.0.2", 53));
        ip6("2001:db8:1::2", "2001:db8:ffff::1", Protocol::IP4, &inner)
    };
    live_on(&Kind { plugins: &plugins, lines: &lines, is_from_pg1: true, ask, ..KIND });
}

#[test]
fn sessions_of_services_live_on() {
    let plugins = [sessions::FEATURE, translation::FEATURE, cnat::FEATURE];
    let lines = ["cnat translation add proto udp vip 30.0.0.1 80 to ->10.0.1.2 8080"];
    let ask = |n| packet(Protocol::UDP, ("10.0.0.2", 3000 + n), ("30.0.0.1", 80));
    let kind = Kind { plugins: &plugins, lines: &lines, ask, ..KIND };
    live_on(&Kind { others_pass: true, ..kind });
}

#[test]
fn sources_that_the_policy_of_services_translates_live_on_with_their_ports() {
    let plugins = [sessions::FEATURE, translation::FEATURE, cnat::FEATURE];
    for (ask, lines) in [
        (
            ask4 as fn(u16) -> Vec<u8>,
            [
                "set cnat snat-policy addr 10.0.1.99",
                "set interface feature pg0 cnat-snat-ip4 arc ip4-unicast",
            ],
        ),
        (
            ask6,
            [
                "set cnat snat-policy addr 2001:db8:1::99",
                "set interface feature pg0 cnat-snat-ip6 arc ip6-unicast",
            ],
        ),
    ] {
        live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
    }
}

#[test]
fn reflexive_sessions_of_access_lists_live_on() {
    let plugins = [ipfix::FEATURE, sessions::FEATURE, acl::FEATURE];
    let lines = [
        "set acl-plugin acl permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0, permit+reflect src ::/0 \
         dst ::/0",
        "set acl-plugin acl deny src 0.0.0.0/0 dst 0.0.0.0/0, deny src ::/0 dst ::/0",
        "set acl-plugin interface pg0 input acl 0",
        "set acl-plugin interface pg0 output acl 1",
    ];
    for ask in [ask4, ask6] {
        live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
    }
}

#[test]
fn sessions_of_the_firewall_live_on() {
    let plugins = [
        ipfix::FEATURE,
        syslog::FEATURE,
        sessions::FEATURE,
        translation::FEATURE,
        acl::FEATURE,
        firewall::FEATURE,
    ];
    let lines = [
        "firewall zone inside",
        "firewall zone outside",
        "firewall interface pg0 zone inside",
        "firewall interface pg1 zone outside",
        "firewall policy inside outside default permit",
    ];
    for ask in [ask4, ask6] {
        live_on(&Kind { plugins: &plugins, lines: &lines, ask, ..KIND });
    }
}

#[test]
fn tracked_connections_of_ip6_live_on() {
    let plugins = [sessions::FEATURE, translation::FEATURE, ct6::FEATURE];
    let lines = ["set ct6 inside pg1", "set ct6 outside pg1"];
    live_on(&Kind { plugins: &plugins, lines: &lines, ask: ask6, ..KIND });
}

#[test]
fn what_finds_no_room_on_the_threads_that_stay_ends_and_the_newest_is_kept() {
    let lines = [
        "nat44 plugin enable sessions 20",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
    ];
    let mut b = Bench::plugged_on(3, &with(nat44_ed::FEATURE));
    NEIGHBORS.iter().chain(&lines).for_each(|line| b.set(line));
    b.wait(0.0);
    b.set_threads(1..3);
    let mut begun = 0;
    for n in 0..40 {
        begun += through(&mut b, 1, false, &ask4(n)).iter().filter(|p| p[9] == 17).count();
    }
    assert!((21..=40).contains(&begun), "{begun} of 40");
    let count = |b: &mut Bench| {
        let shown = b.cli("show nat44 summary");
        let line = shown.lines().find_map(|line| line.strip_prefix("total sessions: ")).unwrap();
        line.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(count(&mut b), begun);
    b.set_threads(1..2);
    assert_eq!(count(&mut b), 20);
    let passed = (0..40).filter(|n| {
        let back = packet(Protocol::UDP, ("10.0.1.2", 53), ("192.0.2.1", 3000 + n));
        !through(&mut b, 1, true, &back).is_empty()
    });
    let passed = passed.count();
    assert!(passed <= 20, "{passed}");
    b.cli("clear nat44 ed sessions");
}
