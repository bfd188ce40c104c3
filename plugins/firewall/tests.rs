//! Packets between `pg0`, in zone `inside`, and `pg1`, in zone `outside`.

use control::api::{Retval, Text};
use firewall::*;
use net::testing::packets::*;
use net::testing::whole::{Bench, through};
use proptest::prelude::*;
use wire::tcp::{self, Flags};
use wire::{Protocol, checksum, icmp6};
use zerocopy::IntoBytes;

const IN: [&str; 2] = ["10.0.0.2", "2001:db8::2"];
const OUT: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];
const OWN: [&str; 2] = ["10.0.0.1", "2001:db8::1"];
const NODES: [&str; 2] = ["firewall-ip4-output", "firewall-ip6-output"];

fn features() -> [net::Feature; 6] {
    [
        ipfix::FEATURE,
        syslog::FEATURE,
        sessions::FEATURE,
        translation::FEATURE,
        acl::FEATURE,
        FEATURE,
    ]
}

pub(super) fn bench() -> Bench {
    let mut b = Bench::plugged(&features());
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "firewall zone inside",
        "firewall zone outside",
        "firewall interface pg0 zone inside",
        "firewall interface pg1 zone outside",
    ] {
        set(&mut b, line);
    }
    b.wait(0.0);
    b.graph.moved_counters();
    b
}

#[track_caller]
pub(super) fn set(b: &mut Bench, line: &str) {
    b.set(line);
}

/// A packet of a protocol between two addresses.
pub(super) fn packet(ends: [&str; 2], protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    if ends[0].contains(':') {
        ip6(ends[0], ends[1], protocol, payload)
    } else {
        ip4(ends[0], ends[1], protocol, payload)
    }
}

fn segment(ends: [&str; 2], ports: [u16; 2], flags: Flags) -> Vec<u8> {
    let mut header = tcp::Header::new(ports[0], ports[1], 1000, 2000, flags);
    let bare = packet(ends, Protocol::TCP, header.as_bytes());
    let sum = if bare[0] >> 4 == 4 { sum4(&bare) } else { sum6(&bare) };
    header.checksum = sum.checksum();
    packet(ends, Protocol::TCP, header.as_bytes())
}

fn datagram(ends: [&str; 2], port: u16) -> Vec<u8> {
    if ends[0].contains(':') {
        udp6(ends[0], ends[1], port, b"x")
    } else {
        udp4(ends[0], ends[1], port, b"x")
    }
}

/// The datagram that answers one.
pub(super) fn answer(packet: &[u8]) -> Vec<u8> {
    let mut answer = packet.to_vec();
    let (at, len, upper) = if packet[0] >> 4 == 4 { (12, 4, 20) } else { (8, 16, 40) };
    answer[at..at + len].copy_from_slice(&packet[at + len..at + 2 * len]);
    answer[at + len..at + 2 * len].copy_from_slice(&packet[at..at + len]);
    answer[upper..upper + 2].copy_from_slice(&packet[upper + 2..upper + 4]);
    answer[upper + 2..upper + 4].copy_from_slice(&packet[upper..upper + 2]);
    answer
}

/// An ICMP error about a packet, from a host to its sender.
pub(super) fn error(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let is_6 = from.contains(':');
    let quoted = [&[if is_6 { 1 } else { 3 }, 0, 0, 0, 0, 0, 0, 0], about].concat();
    let with = |sum: [u8; 2]| {
        let mut all = quoted.clone();
        all[2..4].copy_from_slice(&sum);
        all
    };
    if is_6 {
        let bare = packet([from, to], Protocol::ICMP6, &quoted);
        return packet([from, to], Protocol::ICMP6, &with(sum6(&bare).checksum().to_bytes()));
    }
    let sum = checksum::Sum::ZERO.add_bytes(&quoted).checksum().to_bytes();
    packet([from, to], Protocol::ICMP, &with(sum))
}

/// How often a reason or a counter of a node moved.
fn count(b: &mut Bench, node: &str, name: &str) -> u64 {
    let moved = b.graph.moved_counters();
    moved.into_iter().find(|(n, t, _)| n == node && *t == name).map_or(0, |(_, _, count)| count)
}

#[test]
fn nothing_passes_between_zones_by_default_and_answers_with_a_policy() {
    let mut b = bench();
    for (v, n) in [1, 3, 4, 255, 256].into_iter().flat_map(|n| [(0, n), (1, n)]) {
        let ask = datagram([IN[v], OUT[v]], 9);
        let count_of = n as u64;
        assert_eq!(through(&mut b, false, &vec![ask.clone(); n]).len(), 0);
        assert_eq!(count(&mut b, NODES[v], "no policy between the zones"), count_of);
        set(&mut b, "firewall policy inside outside default permit");
        assert_eq!(through(&mut b, true, &[answer(&ask)]).len(), 0);
        b.graph.moved_counters();
        assert_eq!(through(&mut b, false, &vec![ask.clone(); n]).len(), n);
        assert_eq!(count(&mut b, NODES[v], "sessions begun"), 1);
        assert_eq!(through(&mut b, true, &vec![answer(&ask); n]).len(), n);
        assert_eq!(count(&mut b, NODES[v], "packets of sessions"), count_of);
        let other = datagram([OUT[v], IN[v]], 10);
        assert_eq!(through(&mut b, true, &[other]).len(), 0);
        assert_eq!(count(&mut b, NODES[v], "no policy between the zones"), 1);
        // Without the policy the session is no reason any more.
        set(&mut b, "firewall policy inside outside del");
        assert_eq!(through(&mut b, true, &[answer(&ask)]).len(), 0);
        assert_eq!(count(&mut b, NODES[v], "sessions ended by other rules"), 1);
        assert!(b.cli("show firewall sessions").starts_with("sessions 0 of"));
    }
    b.expect(&[]);
}

#[test]
fn the_first_rule_about_a_packet_counts_and_is_counted() {
    let mut b = bench();
    for line in [
        "firewall address servers 10.0.1.2-10.0.1.9 2001:db8:1::/64",
        "firewall address all-servers servers 192.0.2.1",
        "firewall service web tcp/80 tcp/443",
        "firewall service allowed web udp/53 icmp/8 icmp6/128",
        "firewall policy inside outside default drop",
        "firewall rule inside outside 10 drop to servers service tcp/443 description no TLS",
        "firewall rule inside outside 20 permit from 10.0.0.0/24 2001:db8::/64 to all-servers \
         service allowed",
    ] {
        set(&mut b, line);
    }
    for v in 0..2 {
        let mut passes = |port, protocol: &str| {
            let ends = [IN[v], OUT[v]];
            let p = match protocol {
                "tcp" => segment(ends, [1234, port], Flags::SYN),
                _ => datagram(ends, port),
            };
            through(&mut b, false, &[p]).len() == 1
        };
        assert!(passes(80, "tcp") && !passes(443, "tcp") && !passes(81, "tcp"));
        assert!(passes(53, "udp") && !passes(80, "udp"));
    }
    let shown = b.cli("show firewall policy from inside to outside");
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].starts_with("inside -> outside: packets 10 "), "{shown}");
    assert!(lines[0].ends_with("sessions 4"), "{shown}");
    assert!(lines[1].contains("tcp/443  packets 2") && lines[1].ends_with("# no TLS"), "{shown}");
    assert!(lines[2].contains("service allowed  packets 4"), "{shown}");
    assert!(lines[3].contains("default  drop  packets 4"), "{shown}");
    assert_eq!(b.cli("show firewall unused"), "");
    set(&mut b, "clear firewall counters");
    assert!(b.cli("show firewall unused").contains("      20  permit from"));
    // An object with other members is another rule.
    set(&mut b, "firewall service web tcp/81");
    let to = |port| segment([IN[0], OUT[0]], [999, port], Flags::SYN);
    assert_eq!(through(&mut b, false, &[to(80), to(81)]).len(), 1);
}

#[test]
fn a_rejected_sender_is_told_and_one_that_is_dropped_is_not() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default reject");
    for v in 0..2 {
        let out = through(&mut b, false, &[datagram([IN[v], OUT[v]], 9)]);
        let [told] = &out[..] else { panic!("{out:?}") };
        let (upper, code) = if v == 0 { (20, [3, 13]) } else { (40, [1, 1]) };
        assert_eq!(told[upper..upper + 2], code);
        assert_eq!(count(&mut b, NODES[v], "rejected by policy"), 1);
        let own = told[if v == 0 { 12..16 } else { 8..24 }].to_vec();
        let expected: std::net::IpAddr = OWN[v].parse().unwrap();
        let octets = match expected {
            std::net::IpAddr::V4(a) => a.octets().to_vec(),
            std::net::IpAddr::V6(a) => a.octets().to_vec(),
        };
        assert_eq!(own, octets);

        let out = through(&mut b, false, &[segment([IN[v], OUT[v]], [1, 2], Flags::SYN)]);
        let [reset] = &out[..] else { panic!("{out:?}") };
        let segment_of = &reset[upper..];
        assert_eq!(segment_of[..4], [0, 2, 0, 1]);
        assert_eq!((segment_of[13], &segment_of[8..12]), (0x14, &1001u32.to_be_bytes()[..]));
        let sum = if v == 0 { sum4(reset) } else { sum6(reset) };
        assert!(sum.is_valid());
        // A reset is not answered, and a segment with ACK by what it expects.
        assert!(through(&mut b, false, &[segment([IN[v], OUT[v]], [1, 2], Flags::RST)]).is_empty());
        let out = through(&mut b, false, &[segment([IN[v], OUT[v]], [1, 2], Flags::ACK)]);
        assert_eq!(
            (out[0][upper + 13], &out[0][upper + 4..upper + 8]),
            (4, &2000u32.to_be_bytes()[..])
        );
    }
    set(&mut b, "firewall policy inside outside default drop");
    assert!(through(&mut b, false, &[datagram([IN[0], OUT[0]], 9)]).is_empty());
}

#[test]
fn resets_have_a_rate() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default reject");
    let packets = vec![segment([IN[0], OUT[0]], [1, 2], Flags::SYN); 250];
    let begun = b.graph.engine.clock().now();
    let resets: usize = (0..8).map(|_| through(&mut b, false, &packets).len()).sum();
    let passed = b.graph.engine.clock().now() - begun;
    let most = 1001 + (1000.0 * passed) as usize;
    assert!((1000..=most.min(2000)).contains(&resets), "{resets} of 2000 in {passed} s");
}

#[test]
fn connections_begin_with_a_syn_unless_they_may_be_picked_up() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default permit");
    for v in 0..2 {
        let to = |port, flags| segment([IN[v], OUT[v]], [1000, port], flags);
        let middle = [Flags::ACK, Flags(0x12), Flags::FIN, Flags::RST, Flags(0)];
        let packets: Vec<_> = middle.into_iter().map(|flags| to(80, flags)).collect();
        assert!(through(&mut b, false, &packets).is_empty());
        let name = "TCP without a session that does not begin one";
        assert_eq!(count(&mut b, NODES[v], name), 5);
        let syn = to(80, Flags::SYN);
        assert_eq!(through(&mut b, false, std::slice::from_ref(&syn)).len(), 1);
        assert_eq!(through(&mut b, true, &[answer(&syn)]).len(), 1);
        assert_eq!(through(&mut b, false, &[to(80, Flags::ACK)]).len(), 1);
        set(&mut b, "set firewall tcp-pickup enable");
        assert_eq!(through(&mut b, false, &[to(81, Flags::ACK)]).len(), 1);
        set(&mut b, "set firewall tcp-pickup disable");
    }
}

#[test]
fn errors_pass_when_they_are_about_a_session() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default permit");
    for v in 0..2 {
        let ask = datagram([IN[v], OUT[v]], 9);
        let router = ["10.0.1.77", "2001:db8:1::77"][v];
        let about = |packet: &[u8]| error(router, IN[v], packet);
        assert!(through(&mut b, true, &[about(&ask)]).is_empty());
        assert_eq!(count(&mut b, NODES[v], "ICMP error about no session"), 1);
        through(&mut b, false, std::slice::from_ref(&ask));
        assert_eq!(through(&mut b, true, &[about(&ask)]).len(), 1);
        assert!(through(&mut b, true, &[about(&datagram([IN[v], OUT[v]], 10))]).is_empty());
        // One that quotes nonsense is about nothing.
        b.graph.moved_counters();
        assert!(through(&mut b, true, &[about(&ask[..9])]).is_empty());
        assert_eq!(count(&mut b, NODES[v], "upper layer not readable"), 1);
    }
}

#[test]
fn the_router_is_a_zone_of_its_own() {
    let mut b = bench();
    for v in 0..2 {
        let local = ["firewall-ip4-local", "firewall-ip6-local"][v];
        let ping = |from: &str, to: &str| match v {
            0 => ping4(from, to, b"x"),
            _ => icmp6(from, to, icmp6::Type::ECHO_REQUEST, &[0, 1, 0, 1, 7]),
        };
        let ask = ping(IN[v], OWN[v]);
        assert!(through(&mut b, false, std::slice::from_ref(&ask)).is_empty());
        assert_eq!(count(&mut b, local, "no policy between the zones"), 1);
        set(&mut b, "firewall policy inside local");
        set(&mut b, "firewall rule inside local 1 permit service icmp/8 icmp6/128");
        assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)).len(), 1);
        let moved = b.graph.moved_counters();
        let of = |node, name| moved.iter().any(|(n, t, c)| n == node && *t == name && *c == 1);
        assert!(of(local, "sessions begun") && of(NODES[v], "packets of sessions"), "{moved:?}");
        // What the router finds wrong it says.
        set(&mut b, "firewall policy inside outside default permit");
        let mut last = datagram([IN[v], OUT[v]], 9);
        if v == 0 {
            last = changed4(last, |header| header.ttl = 1);
        } else {
            last = changed6(last, |header| header.hop_limit = 1);
        }
        assert_eq!(through(&mut b, false, &[last]).len(), 1);
        set(&mut b, "firewall policy inside local del");
        set(&mut b, "firewall policy inside outside del");
        b.graph.moved_counters();
    }
}

#[test]
fn interfaces_of_a_zone_and_without_one() {
    let mut b = bench();
    set(&mut b, "firewall interface pg1 zone inside");
    let ask = datagram([IN[0], OUT[0]], 9);
    let one = std::slice::from_ref(&ask);
    assert_eq!(through(&mut b, false, one).len(), 1);
    set(&mut b, "firewall zone inside intra-zone deny");
    assert!(through(&mut b, false, one).is_empty());
    set(&mut b, "firewall policy inside inside default permit");
    assert_eq!(through(&mut b, false, one).len(), 1);
    set(&mut b, "firewall interface pg1 zone inside del");
    b.graph.moved_counters();
    assert!(through(&mut b, false, one).is_empty());
    assert_eq!(count(&mut b, NODES[0], "one of the interfaces is in no zone"), 1);
    assert!(through(&mut b, true, &[answer(&ask)]).is_empty());
    set(&mut b, "firewall interface pg0 zone inside del");
    assert_eq!(through(&mut b, false, one).len(), 1);
    assert_eq!(count(&mut b, NODES[0], "packets permitted without a session"), 0);
}

#[test]
fn an_interface_that_is_deleted_leaves_its_zone_and_a_new_one_is_in_none() {
    let mut b = bench();
    let new = b.add_interface("pg2", net::interface::Kind::Ethernet, 7);
    set(&mut b, "set interface ip address pg2 10.0.2.1/24");
    set(&mut b, "set ip neighbor pg2 10.0.2.2 02:00:00:00:00:cc");
    let packet = datagram([IN[0], "10.0.2.2"], 9);
    b.graph.moved_counters();
    assert!(through(&mut b, false, std::slice::from_ref(&packet)).is_empty());
    assert_eq!(count(&mut b, NODES[0], "one of the interfaces is in no zone"), 1);
    set(&mut b, "firewall interface pg2 zone inside");
    assert_eq!(through(&mut b, false, &[packet]).len(), 1);
    let refused = b.cli("firewall zone inside del");
    assert!(refused.contains("zone inside has interfaces or policies"), "{refused}");
    set(&mut b, "set interface ip address del pg2 10.0.2.1/24");
    b.control(|router, _| router.remove_interface(new));
    assert!(!b.cli("show firewall zones").contains("pg2"));
}

#[test]
fn limits_of_a_policy_and_of_all_sessions_refuse_new_ones_and_end_with_old_ones() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default permit limit 2");
    let to = |port| datagram([IN[0], OUT[0]], port);
    assert_eq!(through(&mut b, false, &[to(1), to(2), to(3), to(1)]).len(), 3);
    let name = "policy has as many sessions as it may have";
    assert_eq!(count(&mut b, NODES[0], name), 1);
    b.wait(310.0);
    assert!(b.cli("show firewall policy").contains("sessions 0 of 2"));
    assert_eq!(through(&mut b, false, &[to(3)]).len(), 1);
    set(&mut b, "firewall policy inside outside default permit");
    set(&mut b, "set firewall session-limit 1");
    b.graph.moved_counters();
    assert!(through(&mut b, false, &[to(4)]).is_empty());
    assert_eq!(count(&mut b, NODES[0], "no room for a session"), 1);
    set(&mut b, "clear firewall sessions");
    assert_eq!(through(&mut b, false, &[to(4)]).len(), 1);
    // A clock that is set forward ends it, whose traffic begins another.
    b.graph.engine.clock().adjust(1e6);
    assert!(through(&mut b, true, &[answer(&to(4))]).is_empty());
    assert_eq!(through(&mut b, false, &[to(4)]).len(), 1);
    assert!(b.cli("show firewall policy").contains("sessions 1"));
}

#[test]
fn later_fragments_go_with_the_first_one() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside");
    set(&mut b, "firewall rule inside outside 1 permit service udp/9");
    let whole = udp4(IN[0], OUT[0], 9, &[7; 40]);
    let cut = |port: u16| {
        let mut first = whole[..20 + 16].to_vec();
        first[22..24].copy_from_slice(&port.to_be_bytes());
        let first = changed4(first, |h| {
            (h.total_len, h.fragment, h.id) = (36.into(), 0x2000.into(), port.into());
        });
        let later = [&whole[..20], &whole[36..]].concat();
        let later = changed4(later, |h| {
            let len = 20 + (whole.len() - 36) as u16;
            (h.total_len, h.fragment, h.id) = (len.into(), 2.into(), port.into());
        });
        [first, later]
    };
    assert_eq!(through(&mut b, false, &cut(9)).len(), 2);
    assert!(through(&mut b, false, &cut(10)).is_empty());
    let [first, later] = cut(9);
    assert_eq!(through(&mut b, false, &[later, first]).len(), 2);
}

#[test]
fn a_large_policy_is_made_ready_in_slices_and_packets_meet_the_old_one_until_then() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default permit");
    let ask = datagram([IN[0], OUT[0]], 9);
    assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)).len(), 1);
    let ports: Vec<_> = (1..=900u16).map(|n| format!("udp/{}", 2 * n + 1000)).collect();
    set(&mut b, &format!("firewall rule inside outside 1 permit service {}", ports.join(" ")));
    set(&mut b, "firewall policy inside outside");
    assert!(b.cli("show firewall policy").starts_with("changes are being made ready"));
    assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)).len(), 1);
    b.wait(4.0);
    assert!(b.cli("show firewall policy").starts_with("inside -> outside"));
    assert!(through(&mut b, false, std::slice::from_ref(&ask)).is_empty());
    assert_eq!(count(&mut b, NODES[0], "sessions ended by other rules"), 1);
    let ask = [1002, 2800, 2802].map(|port| datagram([IN[0], OUT[0]], port));
    assert_eq!(through(&mut b, false, &ask).len(), 2);
}

#[test]
fn shadowed_rules_are_named_with_those_in_front() {
    let mut b = bench();
    for line in [
        "firewall policy inside outside",
        "firewall rule inside outside 1 permit from 10.0.0.0/25 service tcp/80",
        "firewall rule inside outside 2 drop from 10.0.0.128/25 service tcp/1-100",
        "firewall rule inside outside 3 permit from 10.0.0.0/24 service tcp/80",
        "firewall rule inside outside 4 permit from 10.0.0.1 service tcp/80",
        "firewall rule inside outside 5 permit from 10.0.0.0/24 service tcp/80-81",
    ] {
        set(&mut b, line);
    }
    let shown = b.cli("show firewall shadowed");
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].ends_with("shadowed, rules 1, 2 in front"), "{shown}");
    assert!(lines[1].ends_with("not needed, rule 1 in front"), "{shown}");
}

#[test]
fn a_packet_is_explained_without_one() {
    let mut b = bench();
    set(&mut b, "firewall policy inside outside default reject");
    set(&mut b, "firewall rule inside outside 7 permit service tcp/80");
    let web = "firewall explain inside outside 10.0.0.2 10.0.1.2 tcp/80:1000";
    assert_eq!(b.cli(web), "permit: rule 7: permit service tcp/80\n");
    let other = "firewall explain inside outside 2001:db8::2 2001:db8:1::2 udp/80";
    assert!(b.cli(other).starts_with("reject: no rule matches"));
    let back = "firewall explain outside inside 10.0.1.2 10.0.0.2 tcp/1000:80";
    assert_eq!(b.cli(back), "drop: there is no policy between the zones\n");
    through(&mut b, false, &[segment([IN[0], OUT[0]], [1000, 80], Flags::SYN)]);
    let told = b.cli(back);
    assert!(told.starts_with("permit: by its session"), "{told}");
    assert!(told.contains("as an answer: permitted by rule 7"), "{told}");
    assert!(b.cli("firewall explain inside outside 10.0.0.2 ::1 tcp/1").contains("different"));
    assert!(b.cli("firewall explain inside outside 1.1.1.1 2.2.2.2 icmp6/1").contains("icmp6/1"));
}

#[test]
fn what_is_set_is_printed_and_refused_whole() {
    let mut b = bench();
    let lines = [
        "firewall zone dmz intra-zone deny",
        "firewall zone inside",
        "firewall zone outside",
        "firewall address hosts 10.0.0.1/32 10.0.0.4-10.0.0.9 ::/0",
        "firewall address group hosts",
        "firewall service web tcp/80 tcp/443:1024-65535",
        "firewall policy inside outside default reject log limit 9",
        "set firewall timeout udp 30",
        "set firewall session-limit 77",
        "set firewall tcp-pickup enable",
        "firewall ipfix logging enable domain 7 src-port 4000",
        "firewall rule inside outside 5 permit from group to any service web icmp log \
         description the way out",
    ];
    lines.iter().for_each(|line| set(&mut b, line));
    let text = b.cli("show configuration firewall");
    for line in lines {
        let line = line.replace(" to any", "");
        assert!(text.contains(&format!("{line}\n")), "{line} in\n{text}");
    }
    assert!(text.contains("firewall interface pg0 zone inside\n"), "{text}");
    for (line, why) in [
        ("firewall zone local", "cannot be deleted"),
        ("firewall zone drop", "invalid name of a zone `drop'"),
        ("firewall interface pg0 zone local", "no interface can be in zone local"),
        ("firewall interface pg0 zone nowhere", "no zone nowhere"),
        ("firewall address hosts del", "object hosts is in use by another object or a rule"),
        ("firewall address hosts group", "hosts would be a member of itself"),
        ("firewall address new 10.0.0.1/8", "invalid member `10.0.0.1/8'"),
        ("firewall service new tcp/70000", "invalid member `tcp/70000'"),
        ("firewall rule inside outside 6 permit from 10.0.0.1 to ::1", "no common IP version"),
        (
            "firewall rule inside outside 6 permit from 10.0.0.1 service icmp6",
            "no common IP version",
        ),
        ("firewall rule inside dmz 6 permit", "no policy from inside to dmz"),
        ("firewall rule inside outside 6 allow", "expected permit|reject|drop"),
        ("firewall rule inside outside 6 del", "no rule 6"),
        ("firewall policy local local", "traffic to itself is not checked"),
        ("set firewall timeout udp 0", "1 to 31536000"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(b.cli("show configuration firewall"), text);
}

#[test]
fn clients_set_and_list_the_same() {
    let mut b = bench();
    let name = |text: &str| Text::<64>::from(text);
    b.talk(|local, router| {
        let object = FirewallObjectAddDel {
            is_add: true,
            is_service: true,
            name: name("web"),
            members: "tcp/80 tcp/443".into(),
        };
        local.call(router, &object).unwrap();
        let policy = FirewallPolicyAddDel {
            is_add: true,
            from_zone: name("inside"),
            to_zone: name("outside"),
            default_action: FirewallAction::REJECT,
            log: false,
            session_limit: 5,
        };
        local.call(router, &policy).unwrap();
        let rule = |rule: &str| FirewallRuleAddDel {
            is_add: true,
            from_zone: name("inside"),
            to_zone: name("outside"),
            place: 3,
            rule: rule.into(),
        };
        local.call(router, &rule("permit service web description hello you")).unwrap();
        let refused = local.call(router, &rule("permit service nothing")).err();
        assert_eq!(refused, Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(local.call(router, &rule("allow")).err(), Some(Retval::INVALID_VALUE));
        let all = FirewallRuleDump { from_zone: name(""), to_zone: name("outside") };
        let rules = local.dump(router, &all);
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].rule, "permit service web description hello you");
        let policies = local.dump(router, &FirewallPolicyDump {});
        assert_eq!((policies[0].session_limit, policies[0].n_rules), (5, 1));
        let objects = local.dump(router, &FirewallObjectDump {});
        assert_eq!(objects[0].members, "tcp/80 tcp/443");
        assert_eq!(local.dump(router, &FirewallZoneDump {}).len(), 2);
        assert_eq!(local.dump(router, &FirewallInterfaceDump {}).len(), 2);
    });
}

#[test]
fn rules_with_log_are_heard_of_by_collectors() {
    let mut b = bench();
    for line in [
        "firewall interface pg1 zone outside del",
        "set syslog sender collector 10.0.1.2 src 10.0.1.1",
        "set ipfix exporter collector 10.0.1.2 src 10.0.1.1",
        "firewall ipfix logging enable domain 5",
        "firewall interface pg1 zone outside",
        "firewall policy local outside",
        "firewall rule local outside 1 permit service udp/514 udp/4739",
        "firewall policy inside outside log",
        "firewall rule inside outside 4 permit service udp/9 log",
    ] {
        set(&mut b, line);
    }
    let heard = |out: &[Vec<u8>], port: u16| -> Vec<Vec<u8>> {
        let is = |p: &&Vec<u8>| p[9] == 17 && p[22..24] == port.to_be_bytes();
        out.iter().filter(is).cloned().collect()
    };
    let out = through(&mut b, false, &[datagram([IN[0], OUT[0]], 9), datagram([IN[0], OUT[0]], 8)]);
    let texts = heard(&out, 514);
    let texts: Vec<_> =
        texts.iter().map(|p| String::from_utf8_lossy(&p[28..]).into_owned()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("<134>1 ") && texts[0].contains(" SBEGIN "), "{}", texts[0]);
    assert!(texts[0].contains("FROM=\"inside\" TO=\"outside\" RULE=\"4\""), "{}", texts[0]);
    assert!(texts[1].starts_with("<132>1 ") && texts[1].contains(" DROP "), "{}", texts[1]);
    assert!(texts[1].contains("RULE=\"default\"") && texts[1].contains("DPORT=\"8\""));
    let out: Vec<Vec<u8>> = b.wait(6.0).iter().map(|c| c.bytes[14..].to_vec()).collect();
    let records = heard(&out, 4739);
    assert_eq!(records.len(), 2, "a template and records");
    let data = &records[1][28..];
    assert_eq!(
        (data[12..16].to_vec(), data[20 + 8], data.len()),
        (vec![0, 0, 0, 5], 1, 20 + 2 * 46)
    );
    // Its end is logged as well.
    let out: Vec<Vec<u8>> = b.wait(310.0).iter().map(|c| c.bytes[14..].to_vec()).collect();
    let texts = heard(&out, 514);
    let is_end = |p: &Vec<u8>| String::from_utf8_lossy(p).contains(" SEND ");
    assert!(texts.iter().any(is_end));
}

#[test]
fn rules_are_about_the_addresses_of_hosts_that_are_translated_on_the_way_out() {
    let all: Vec<_> = features().into_iter().chain([nat_log::FEATURE, nat44_ed::FEATURE]).collect();
    let mut b = Bench::plugged(&all);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "nat44 plugin enable",
        "set interface nat44 out pg1 output-feature",
        "nat44 add address 192.0.2.1",
        "nat44 add static mapping udp local 10.0.0.2 9 external 192.0.2.1 5353",
        "firewall zone inside",
        "firewall zone outside",
        "firewall interface pg0 zone inside",
        "firewall interface pg1 zone outside",
        "firewall policy inside outside",
        "firewall rule inside outside 1 permit from 10.0.0.2",
    ] {
        set(&mut b, line);
    }
    for n in [1, 3, 4, 255, 256] {
        let ask = datagram(["10.0.0.2", "10.0.1.2"], 53);
        let out = through(&mut b, false, &vec![ask.clone(); n]);
        assert_eq!((out.len(), &out[0][12..16]), (n, &[192, 0, 2, 1][..]));
        super::nat44_ed::check(&out[0]);
        let back = through(&mut b, true, &vec![answer(&out[0]); n]);
        assert_eq!((back.len(), &back[0][12..24]), (n, &answer(&ask)[12..24]));
        let told = through(&mut b, true, &[error("10.0.1.9", "192.0.2.1", &out[0])]);
        assert_eq!((told.len(), &told[0][16..20]), (1, &ask[12..16]));
    }
    b.graph.moved_counters();
    assert!(through(&mut b, false, &[datagram(["10.0.0.3", "10.0.1.2"], 53)]).is_empty());
    b.expect(&[("firewall-ip4-output", "dropped by policy", 1)]);
    // A mapping leads inside, but not through the firewall until a rule says so.
    let mut from_outside = datagram(["10.0.1.2", "192.0.2.1"], 5353);
    from_outside[20..22].copy_from_slice(&7777u16.to_be_bytes());
    from_outside[26..28].fill(0);
    assert!(through(&mut b, true, &[from_outside.clone()]).is_empty());
    assert_eq!(count(&mut b, NODES[0], "no policy between the zones"), 1);
    set(&mut b, "firewall policy outside inside");
    set(&mut b, "firewall rule outside inside 1 permit to 10.0.0.2 service udp/9");
    assert_eq!(through(&mut b, true, &[from_outside])[0][16..20], [10, 0, 0, 2]);
}

/// A rule of a small world, as the model and as a command.
#[derive(Clone, Debug)]
struct Small {
    from: (u8, u8),
    to: (u8, u8),
    /// None for all, false for TCP, true for UDP, with ports.
    service: Option<(bool, u16, u16)>,
    action: u8,
}

fn small() -> impl Strategy<Value = Small> {
    let span = || (2u8..6, 2u8..6).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let service = prop::option::of((any::<bool>(), 1u16..5, 1u16..5))
        .prop_map(|s| s.map(|(udp, a, b)| (udp, a.min(b), a.max(b))));
    (span(), span(), service, 0u8..3).prop_map(|(from, to, service, action)| Small {
        from,
        to,
        service,
        action,
    })
}

impl Small {
    fn command(&self, place: usize) -> String {
        let Self { from, to, service, action } = self;
        let action = ["permit", "reject", "drop"][usize::from(*action)];
        let service = service.map_or_else(String::new, |(udp, low, high)| {
            format!(" service {}/{low}-{high}", if udp { "udp" } else { "tcp" })
        });
        format!(
            "firewall rule inside outside {place} {action} from 10.0.0.{}-10.0.0.{} \
             to 10.0.1.{}-10.0.1.{}{service}",
            from.0, from.1, to.0, to.1
        )
    }
    fn is_about(&self, (src, dst, udp, port): (u8, u8, bool, u16)) -> bool {
        let is_in = |(low, high): (u8, u8), at| low <= at && at <= high;
        is_in(self.from, src)
            && is_in(self.to, dst)
            && self.service.is_none_or(|(is, low, high)| is == udp && low <= port && port <= high)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn packets_meet_what_the_model_says(
        rules in prop::collection::vec(small(), 0..9),
        steps in prop::collection::vec(
            (2u8..6, 2u8..6, any::<bool>(), 1u16..6, any::<bool>(), any::<bool>()), 1..60),
        other in prop::collection::vec(small(), 0..5),
    ) {
        let mut b = bench();
        for n in 2..6 {
            set(&mut b, &format!("set ip neighbor pg0 10.0.0.{n} 02:00:00:00:00:01"));
            set(&mut b, &format!("set ip neighbor pg1 10.0.1.{n} 02:00:00:00:00:bb"));
        }
        set(&mut b, "firewall policy inside outside");
        let verdict = |rules: &[Small], of| {
            rules.iter().find(|rule| rule.is_about(of)).map_or(2, |rule| rule.action)
        };
        for (place, rule) in rules.iter().enumerate() {
            set(&mut b, &rule.command(place));
        }
        let mut sessions = std::collections::HashSet::new();
        let half = steps.len() / 2;
        let mut now = &rules;
        for (at, (src, dst, udp, port, is_answer, is_syn)) in steps.into_iter().enumerate() {
            if at == half {
                // Other rules while sessions are there.
                for place in 0..now.len() {
                    set(&mut b, &format!("firewall rule inside outside {place} del"));
                }
                for (place, rule) in other.iter().enumerate() {
                    set(&mut b, &rule.command(place));
                }
                now = &other;
                sessions.retain(|of| verdict(now, *of) == 0);
            }
            let of = (src, dst, udp, port);
            let ends = [format!("10.0.0.{src}"), format!("10.0.1.{dst}")];
            let ends = [ends[0].as_str(), ends[1].as_str()];
            let flags = if is_syn { Flags::SYN } else { Flags::ACK };
            let packet = if udp {
                let mut packet = udp4(ends[0], ends[1], port, b"x");
                packet[26..28].fill(0);
                packet
            } else {
                segment(ends, [1000, port], flags)
            };
            if is_answer {
                let passed = through(&mut b, true, &[answer(&packet)]).len() == 1;
                prop_assert_eq!(passed, sessions.contains(&of), "answer {:?}", of);
                continue;
            }
            let out = through(&mut b, false, std::slice::from_ref(&packet));
            let passed = out.iter().any(|p| p[12..16] == packet[12..16]);
            let said = verdict(now, of);
            let begins = said == 0 && (udp || is_syn);
            if begins {
                sessions.insert(of);
            }
            prop_assert_eq!(passed, sessions.contains(&of), "{:?} {}", of, said);
            prop_assert_eq!(!passed && out.len() == 1, !passed && said == 1, "{:?}", of);
        }
    }
}

/// An echo request or reply with an identifier.
fn echo(ends: [&str; 2], is_reply: bool, id: u16) -> Vec<u8> {
    let is_6 = ends[0].contains(':');
    let protocol = if is_6 { Protocol::ICMP6 } else { Protocol::ICMP };
    let kind = match (is_6, is_reply) {
        (false, false) => 8,
        (false, true) => 0,
        (true, is_reply) => 128 + u8::from(is_reply),
    };
    let [high, low] = id.to_be_bytes();
    let with = |sum: [u8; 2]| [kind, 0, sum[0], sum[1], high, low, 0, 1];
    let sum = match is_6 {
        true => sum6(&packet(ends, protocol, &with([0; 2]))),
        false => checksum::Sum::ZERO.add_bytes(&with([0; 2])),
    };
    packet(ends, protocol, &with(sum.checksum().to_bytes()))
}

#[test]
fn an_echo_request_is_no_answer_though_it_has_the_identifier_of_a_session() {
    for v in [0, 1] {
        let mut b = bench();
        set(&mut b, "firewall policy inside outside default permit");
        let (there, back) = ([IN[v], OUT[v]], [OUT[v], IN[v]]);
        assert_eq!(through(&mut b, false, &[echo(there, false, 7)]).len(), 1);
        assert_eq!(through(&mut b, true, &[echo(back, false, 7)]).len(), 0, "begins nothing");
        assert_eq!(count(&mut b, NODES[v], "no policy between the zones"), 1);
        assert_eq!(through(&mut b, true, &[echo(back, true, 7)]).len(), 1);
        let error = error(OUT[v], IN[v], &echo(there, false, 7));
        assert_eq!(through(&mut b, true, &[error]).len(), 1, "about the request");
        // Where both may ask, both have sessions, with the same identifier.
        set(&mut b, "firewall policy outside inside default permit");
        assert_eq!(through(&mut b, true, &[echo(back, false, 7)]).len(), 1);
        assert_eq!(through(&mut b, false, &[echo(there, true, 7)]).len(), 1);
        let shown = b.cli("show firewall sessions");
        assert!(shown.contains("sessions 2 of"), "{shown}");
    }
}
