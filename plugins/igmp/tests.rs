//! Hosts, routers and proxies of IGMP, with the other end of each played by the tests.

use std::net::Ipv4Addr;

use control::api::Retval;
use graph::testing::Caught;
use igmp::*;
use net::InterfaceIndex;
use net::testing::whole::{Bench, HOST, PG0};
use wire::ethernet::{self, EtherType};
use wire::igmp::RecordType::{self, *};
use wire::igmp::{QUERY, QueryHeader, REPORT, REPORTS, ROUTER_ALERT, with_checksum};
use wire::{MacAddr, Protocol, ip4};
use zerocopy::{FromBytes, IntoBytes};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 1, 1);

fn bench(lines: &[&str]) -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    lines.iter().for_each(|line| assert_eq!(b.cli(line), "", "{line}"));
    b.graph.moved_counters();
    b
}

/// A frame with a message of the protocol.
fn frame(from: &str, to: Ipv4Addr, message: Vec<u8>) -> Vec<u8> {
    let packet = net::testing::packets::ip4(from, &to.to_string(), Protocol::IGMP, &message);
    let packet = net::testing::packets::with_options(&packet, &ROUTER_ALERT);
    let ethernet = ethernet::Header::new(MacAddr::for_ip4_group(to), HOST, EtherType::IP4);
    [ethernet.as_bytes(), &packet].concat()
}

fn query(group: Ipv4Addr, sources: &[&str]) -> Vec<u8> {
    let mut message = vec![QUERY, 10, 0, 0];
    message.extend(group.octets());
    message.extend([2, 125, 0, sources.len() as u8]);
    sources.iter().for_each(|s| message.extend(s.parse::<Ipv4Addr>().unwrap().octets()));
    let to = if group.is_unspecified() { Ipv4Addr::new(224, 0, 0, 1) } else { group };
    frame("10.0.0.9", to, with_checksum(message))
}

fn report(kind: RecordType, group: Ipv4Addr, sources: &[&str]) -> Vec<u8> {
    let mut message = vec![REPORT, 0, 0, 0, 0, 0, 0, 1, kind as u8, 0, 0, sources.len() as u8];
    message.extend(group.octets());
    sources.iter().for_each(|s| message.extend(s.parse::<Ipv4Addr>().unwrap().octets()));
    frame("10.0.0.2", REPORTS, with_checksum(message))
}

/// The message in a frame that was sent, whose headers are as they should be.
fn message(sent: &Caught) -> &[u8] {
    let (ethernet, rest) = ethernet::Header::ref_from_prefix(&sent.bytes).unwrap();
    let (ip, rest) = ip4::Header::ref_from_prefix(rest).unwrap();
    let header = &sent.bytes[14..38];
    assert!(wire::checksum::Sum::ZERO.add_bytes(header).is_valid());
    assert_eq!(ethernet.dst, MacAddr::for_ip4_group(ip.dst.into()));
    assert_eq!((ip.version_ihl, ip.tos, ip.ttl, ip.protocol), (0x46, 0xc0, 1, Protocol::IGMP));
    assert_eq!(usize::from(ip.total_len.get()), sent.bytes.len() - 14);
    assert_eq!(rest[..4], ROUTER_ALERT);
    assert!(wire::igmp::is_whole(&rest[4..]));
    &rest[4..]
}

/// Records of reports that an interface sent, one by one: type, group, sources.
fn records(out: &[Caught], on: InterfaceIndex) -> Vec<(RecordType, Ipv4Addr, Vec<Ipv4Addr>)> {
    let mut all = Vec::new();
    let is_ours = |c: &&Caught| c.at == "sent" && c.tx == on.0 && c.bytes[14] == 0x46;
    for sent in out.iter().filter(is_ours) {
        if message(sent)[0] == REPORT {
            let each = |r: wire::igmp::Record<'_>| {
                all.push((r.kind, r.group, r.sources.iter().map(|s| Ipv4Addr::from(*s)).collect()));
            };
            wire::igmp::report(message(sent), each).unwrap();
        }
    }
    all
}

fn sources(texts: &[&str]) -> Vec<Ipv4Addr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_host_says_what_it_wants_when_that_changes() {
    let mut b = bench(&["igmp enable host pg0"]);
    let pg0 = b.pg0;
    let mut tell = |line: &str, expected: &[(RecordType, &[&str])]| {
        assert_eq!(b.cli(&format!("igmp listen {line} gaddr 239.1.1.1")), "", "{line}");
        let out = b.wait(2.0);
        assert!(out.iter().all(|sent| sent.bytes[6..12] == PG0.0));
        let expected: Vec<_> =
            expected.iter().map(|(kind, s)| (*kind, GROUP, sources(s))).collect();
        assert_eq!(records(&out, pg0), expected, "{line}");
    };
    // A new group twice, what changes once.
    tell("int pg0 saddr 1.1.1.1", &[(Allow, &["1.1.1.1"]), (Allow, &["1.1.1.1"])]);
    tell("int pg0 saddr 1.1.1.2", &[(Allow, &["1.1.1.2"])]);
    tell("int pg0 saddr 1.1.1.1 disable", &[(Block, &["1.1.1.1"])]);
    tell("int pg0 exclude saddr 1.1.1.7", &[(ToExclude, &["1.1.1.7"])]);
    tell("int pg0 exclude saddr 1.1.1.8", &[(Block, &["1.1.1.8"])]);
    tell("int pg0", &[(Allow, &["1.1.1.7", "1.1.1.8"])]);
    tell("int pg0 saddr 1.1.1.3", &[(ToInclude, &["1.1.1.3"])]);
    tell("disable int pg0", &[(Block, &["1.1.1.3"])]);
    tell("int pg0", &[(ToExclude, &[]), (ToExclude, &[])]);
    tell("disable int pg0", &[(ToInclude, &[])]);
}

#[test]
fn a_host_answers_what_it_is_asked_for() {
    let mut b = bench(&[
        "igmp enable host pg0",
        "igmp listen int pg0 saddr 1.1.1.1 gaddr 239.1.1.1",
        "igmp listen int pg0 saddr 1.1.1.2 gaddr 239.1.1.1",
        "igmp listen int pg0 exclude saddr 1.1.1.7 gaddr 239.1.1.2",
    ]);
    let (pg0, other) = (b.pg0, Ipv4Addr::new(239, 1, 1, 2));
    b.wait(2.0);
    let both = (IsInclude, GROUP, sources(&["1.1.1.1", "1.1.1.2"]));
    let all_but = (IsExclude, other, sources(&["1.1.1.7"]));
    let mut ask = |queries: &[Vec<u8>], expected: &[_]| {
        let mut out = b.receive(pg0, queries);
        out.extend(b.wait(1.5));
        assert_eq!(records(&out, pg0), expected);
    };
    ask(&[query(Ipv4Addr::UNSPECIFIED, &[])], &[both.clone(), all_but.clone()]);
    ask(&[query(GROUP, &[])], std::slice::from_ref(&both));
    let one = (IsInclude, GROUP, sources(&["1.1.1.2"]));
    ask(&[query(GROUP, &["1.1.1.2", "1.1.1.9"])], std::slice::from_ref(&one));
    ask(&[query(GROUP, &["1.1.1.9"])], &[]);
    ask(&[query(GROUP, &["1.1.1.9"]), query(GROUP, &["1.1.1.2"])], &[one]);
    ask(&[query(GROUP, &["1.1.1.9"]), query(GROUP, &[])], &[both]);
    // Of a group of which all but some are wanted, the others that are asked for.
    ask(&[query(other, &["1.1.1.7", "1.1.1.8"])], &[(IsInclude, other, sources(&["1.1.1.8"]))]);
    ask(&[query(Ipv4Addr::new(239, 1, 1, 3), &[])], &[]);
    b.cli("set interface state pg0 down");
    b.wait(0.0);
    b.cli("set interface state pg0 up");
    let out = b.wait(0.5);
    assert_eq!(records(&out, pg0).len(), 2, "it says all when the link comes up");
}

#[test]
fn groups_are_reported_in_the_order_in_which_they_were_asked_for() {
    let groups = ["239.1.1.9", "239.1.1.1", "239.1.1.5"];
    let mut b = bench(&["igmp enable host pg0"]);
    for group in ["239.1.1.7", groups[0], groups[1], groups[2]] {
        assert_eq!(b.cli(&format!("igmp listen int pg0 saddr 1.1.1.1 gaddr {group}")), "");
    }
    assert_eq!(b.cli("igmp listen disable int pg0 saddr 1.1.1.1 gaddr 239.1.1.7"), "");
    assert_eq!(b.cli("igmp listen int pg0 saddr 1.1.1.2 gaddr 239.1.1.9"), "");
    let pg0 = b.pg0;
    b.wait(2.0);
    let mut out = b.receive(pg0, &[query(Ipv4Addr::UNSPECIFIED, &[])]);
    out.extend(b.wait(1.5));
    let told = records(&out, pg0).into_iter().map(|r| r.1.to_string()).collect::<Vec<_>>();
    assert_eq!(told, groups);
    b.cli("set interface state pg0 down");
    b.wait(0.0);
    b.cli("set interface state pg0 up");
    let told = records(&b.wait(0.5), pg0).into_iter().map(|r| r.1.to_string());
    assert_eq!(told.collect::<Vec<_>>(), groups);
}

#[test]
fn reports_are_as_long_as_the_link_allows() {
    let mut b = bench(&["igmp enable host pg0", "set interface mtu 92 pg0"]);
    let pg0 = b.pg0;
    let all: Vec<Ipv4Addr> = (1..=25).map(|n| Ipv4Addr::new(1, 1, 1, n)).collect();
    let listen = |b: &mut Bench, filter, saddrs: Vec<Ipv4Addr>| {
        let group = IgmpGroup { filter, sw_if_index: pg0, gaddr: GROUP, saddrs };
        b.talk(|local, router| local.call(router, &IgmpListen { group }).unwrap());
        records(&b.wait(0.0), pg0)
    };
    let parts = |kind, sizes: &[usize]| -> Vec<_> {
        let mut left = &all[..];
        let each = sizes.iter().map(|n| {
            let (part, rest) = left.split_at(*n);
            left = rest;
            (kind, GROUP, part.to_vec())
        });
        each.collect()
    };
    // 24 bytes of IP, 8 of the report, 8 of the record.
    assert_eq!(listen(&mut b, FilterMode::INCLUDE, all.clone()), parts(Allow, &[13, 12]));
    assert_eq!(listen(&mut b, FilterMode::EXCLUDE, all.clone()), parts(ToExclude, &[13]));
    assert_eq!(listen(&mut b, FilterMode::INCLUDE, vec![]), [(ToInclude, GROUP, vec![])]);
}

/// Sources of groups that hosts want, as clients see them.
fn heard(b: &mut Bench) -> Vec<String> {
    let dump = IgmpDump { sw_if_index: InterfaceIndex(u32::MAX) };
    let rows = b.talk(|local, router| local.dump(router, &dump));
    rows.iter().map(|row| format!("{} {}", row.gaddr, row.saddr)).collect()
}

#[test]
fn a_router_asks_and_keeps_what_hosts_want_for_a_while() {
    let mut b = bench(&["set igmp timers query 10 src 25 leave 2", "igmp enable router pg0"]);
    let pg0 = b.pg0;
    let queries = |out: &[Caught]| -> Vec<(Ipv4Addr, usize)> {
        let all = out.iter().filter(|sent| sent.tx == pg0.0).map(message);
        let read = all.map(|m| QueryHeader::ref_from_prefix(m).unwrap().0);
        read.map(|q| (q.group.into(), q.sources.get().into())).collect()
    };
    let general = (Ipv4Addr::UNSPECIFIED, 0);
    assert_eq!(queries(&b.wait(21.0)), [general, general, general]);
    b.receive(pg0, &[report(Allow, GROUP, &["1.1.1.1", "1.1.1.2"])]);
    b.receive(pg0, &[report(IsExclude, Ipv4Addr::new(239, 1, 1, 2), &["9.9.9.9"])]);
    // Reports without sources are ignored there.
    b.receive(pg0, &[report(ToExclude, Ipv4Addr::new(232, 1, 1, 1), &[])]);
    b.receive(pg0, &[report(Allow, Ipv4Addr::new(224, 0, 0, 9), &["1.1.1.1"])]);
    let before = ["239.1.1.1 1.1.1.1", "239.1.1.1 1.1.1.2", "239.1.1.2 0.0.0.0"];
    assert_eq!(heard(&mut b), before);
    let out = b.receive(pg0, &[report(Block, GROUP, &["1.1.1.2"])]);
    assert_eq!(queries(&out), [(GROUP, 1)]);
    let again = report(Block, GROUP, &["1.1.1.2", "1.1.1.9"]);
    assert!(queries(&b.receive(pg0, &[again])).is_empty(), "hosts were asked just now");
    b.wait(1.0);
    assert_eq!(heard(&mut b), before);
    b.wait(1.5);
    assert_eq!(heard(&mut b), ["239.1.1.1 1.1.1.1", "239.1.1.2 0.0.0.0"]);
    let out = b.receive(pg0, &[report(ToInclude, Ipv4Addr::new(239, 1, 1, 2), &[])]);
    assert_eq!(queries(&out), [(Ipv4Addr::new(239, 1, 1, 2), 0)]);
    b.wait(3.0);
    b.receive(pg0, &[report(IsInclude, GROUP, &["1.1.1.1"])]);
    b.wait(22.0);
    assert_eq!(heard(&mut b), ["239.1.1.1 1.1.1.1"], "it was heard of again");
    b.wait(4.0);
    assert!(heard(&mut b).is_empty());
    // The router with the lower address asks.
    let other = |from| {
        frame(
            from,
            Ipv4Addr::new(224, 0, 0, 1),
            with_checksum(vec![QUERY, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0]),
        )
    };
    b.receive(pg0, &[other("10.0.0.9")]);
    assert!(!queries(&b.wait(11.0)).is_empty());
    b.cli("set interface ip address del pg0 10.0.0.1/24");
    b.cli("set interface ip address pg0 10.0.0.200/24");
    b.receive(pg0, &[other("10.0.0.9")]);
    b.wait(10.0); // one may be due
    assert!(queries(&b.wait(10.0)).is_empty());
    assert!(!queries(&b.wait(20.0)).is_empty(), "the other one has gone");
}

#[test]
fn a_group_has_a_bounded_number_of_sources() {
    let mut b = bench(&["igmp enable router pg0"]);
    let pg0 = b.pg0;
    for n in 0..20 {
        let sources: Vec<_> = (0..100).map(|m| format!("1.1.{n}.{m}")).collect();
        let sources: Vec<_> = sources.iter().map(String::as_str).collect();
        b.receive(pg0, &[report(Allow, GROUP, &sources)]);
    }
    assert_eq!(heard(&mut b).len(), MOST_OF_GROUP);
    b.receive(pg0, &[report(Allow, Ipv4Addr::new(239, 1, 1, 2), &["1.1.1.1"])]);
    assert_eq!(heard(&mut b).len(), MOST_OF_GROUP + 1, "other groups have room");
}

#[test]
fn hosts_of_one_interface_do_not_take_the_room_of_others() {
    let mut b = bench(&["igmp enable router pg0", "igmp enable router pg1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    for n in 0..700 {
        let sources: Vec<_> = (0..100).map(|m| format!("1.{}.{}.{m}", n / 100, n % 100)).collect();
        let sources: Vec<_> = sources.iter().map(String::as_str).collect();
        let group = Ipv4Addr::new(239, 9, 0, (n / 10) as u8);
        b.receive(pg0, &[report(Allow, group, &sources)]);
    }
    let taken = heard(&mut b).len();
    assert!(taken >= 1 << 15, "{taken}");
    b.receive(pg1, &[report(Allow, GROUP, &["1.1.1.1"])]);
    assert_eq!(heard(&mut b).len(), taken + 1);
}

#[test]
fn a_proxy_joins_and_forwards_what_hosts_want() {
    let mut b = bench(&[
        "igmp enable host pg0",
        "igmp enable router pg1",
        "igmp proxy-dev add vrf-id 0 pg0",
        "igmp proxy-dev itf add vrf-id 0 pg1",
    ]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.wait(0.0);
    let to_group = |src: &str| {
        let ip = net::testing::packets::udp4(src, "239.1.1.1", 9, &[7; 20]);
        let to = MacAddr::for_ip4_group(GROUP);
        [ethernet::Header::new(to, HOST, EtherType::IP4).as_bytes(), &ip].concat()
    };
    assert!(b.receive(pg0, &[to_group("1.1.1.1")]).is_empty());
    let out = b.receive(pg1, &[report(Allow, GROUP, &["1.1.1.1", "1.1.1.2"])]);
    assert_eq!(records(&out, pg0), [(Allow, GROUP, sources(&["1.1.1.1", "1.1.1.2"]))]);
    let out = b.receive(pg1, &[report(Allow, GROUP, &["1.1.1.1", "1.1.1.3"])]);
    assert_eq!(records(&out, pg0), [(Allow, GROUP, sources(&["1.1.1.3"]))]);
    let out = b.receive(pg0, &[to_group("1.1.1.1")]);
    assert!(out.iter().any(|sent| sent.at == "sent" && sent.tx == pg1.0), "{out:?}");
    let configuration = b.cli("show configuration igmp");
    assert!(!configuration.contains("listen"), "what a proxy joined is not configured");
    assert_eq!(b.cli("igmp disable router pg1"), "");
    let left = sources(&["1.1.1.1", "1.1.1.2", "1.1.1.3"]);
    assert_eq!(records(&b.wait(0.0), pg0), [(Block, GROUP, left)]);
    assert!(b.receive(pg0, &[to_group("1.1.1.1")]).is_empty());
    assert_eq!(b.cli("igmp disable host pg0"), "");
    assert_eq!(b.cli("show configuration igmp"), "");
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn bad_messages_are_counted() {
    let mut b = bench(&["igmp enable router pg0"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.wait(0.0);
    b.graph.moved_counters();
    let to = REPORTS;
    let mut wrong = report(Allow, GROUP, &["1.1.1.1"]);
    *wrong.last_mut().unwrap() ^= 1;
    b.receive(pg0, &[wrong]);
    b.receive(pg0, &[frame("10.0.0.2", to, with_checksum(vec![REPORT, 0, 0, 0]))]);
    b.receive(pg0, &[frame("10.0.0.2", to, with_checksum(vec![0x33, 0, 0, 0, 0, 0, 0, 0]))]);
    let short = vec![REPORT, 0, 0, 0, 0, 0, 0, 2, 5, 0, 0, 0, 239, 1, 1, 1];
    b.receive(pg0, &[frame("10.0.0.2", to, with_checksum(short))]);
    b.receive(pg0, &[report(Allow, GROUP, &["1.1.1.1"])]);
    b.graph.expect_counters(&[
        ("ip4-input", "options", 5),
        ("igmp-parse-report", "bad length", 1),
        ("igmp-parse-report", "valid igmp packets", 1),
        ("igmp-input", "bad checksum", 1),
        ("igmp-input", "bad length", 1),
        ("igmp-input", "unknown igmp message type", 1),
        ("igmp-input", "valid igmp packets", 2),
    ]);
    // The multicast route lets messages in from interfaces that take part alone.
    b.receive(pg1, &[report(Allow, GROUP, &["1.1.1.3"])]);
    assert_eq!(heard(&mut b), ["239.1.1.1 1.1.1.1"], "of the short one nothing is taken");
}

#[test]
fn clients_and_operators_hear_what_is_wrong() {
    let mut b = bench(&["igmp enable host pg0", "igmp enable router pg1"]);
    for (line, error) in [
        ("igmp enable host pg1", "is already a router interface"),
        ("igmp disable router pg0", "is already a host interface"),
        ("igmp enable guest pg0", "unknown interface `guest pg0'"),
        ("igmp enable pg0", "missing mode"),
        ("igmp listen int pg1 gaddr 239.1.1.1", "is already a router interface"),
        ("igmp listen int pg0 gaddr 224.0.0.5", "must be a routable multicast address"),
        ("igmp listen int pg0 saddr 239.1.1.9 gaddr 239.1.1.1", "must be a unicast address"),
        ("igmp listen int pg0 saddr 1.1.1.1", "expected gaddr"),
        ("igmp proxy-dev add vrf-id 9 pg0", "no such table"),
        ("igmp proxy-dev add vrf-id 0 pg1", "is already a router interface"),
        ("igmp proxy-dev itf add vrf-id 0 pg1", "no such proxy"),
        ("set igmp timers leave 0", "times must be 1 to 65535 seconds"),
        ("set igmp group-prefix 10.0.0.0/8 ssm", "groups are IPv4 multicast prefixes"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(error), "{line}: {said}");
    }
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let on = |sw_if_index, mode| IgmpEnableDisable { enable: true, mode, sw_if_index };
        let nowhere = InterfaceIndex(99);
        assert_eq!(local.call(router, &on(nowhere, 1)), Err(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &on(pg0, 2)), Err(Retval::INVALID_VALUE));
        assert_eq!(local.call(router, &on(pg0, 1)), Ok(()), "as before");
        let clear = IgmpClearInterface { sw_if_index: pg0 };
        assert_eq!(local.call(router, &clear), Ok(()));
    });
    assert!(b.cli("show igmp ssm-ranges").contains("232.0.0.0/8 => ssm"));
    assert!(b.cli("show igmp config").contains("interface: pg1 mode: router"));
    assert!(b.cli("show igmp timers").contains("general query on pg1"));
}
