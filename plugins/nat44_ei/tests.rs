//! Packets that are translated whatever their far end, and back.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use infra::counter::{Counter, Rows};
use nat44_ei::{FEATURE, Nat44EiUserDump, Nat44EiUserSessionV2Dump};
use net::testing::whole::Bench;
use proptest::prelude::*;
use translation::ports::PortSet;
use wire::{checksum, ip4};
use zerocopy::FromBytes;

use super::nat44_ed::{end, ends, icmp, is_the_routers_own, pass, udp};
use super::translation::between;

/// Hosts behind `pg0`, the world behind `pg1`.
fn bench(more: &[&str]) -> Bench {
    let first = ["nat44 ei plugin enable", "set interface nat44 ei in pg0 out pg1"];
    between(FEATURE, &first, more)
}

#[test]
fn a_port_of_a_host_has_one_port_outside_which_every_far_end_reaches() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let (server, other) = (end("10.0.1.2", 53), end("10.0.1.3", 99));
    let mut seen = Vec::new();
    for host in ["10.0.0.2", "10.0.0.3"] {
        let out = pass(&mut b, pg0, &[udp(end(host, 4000), server), udp(end(host, 4000), other)]);
        let ([from, to], [from2, to2]) = (ends(&out[0]), ends(&out[1]));
        assert_eq!((to, to2, from2), (server, other, from));
        for far in [server, other, end("10.0.1.3", 1)] {
            let back = pass(&mut b, pg1, &[udp(far, from)]);
            assert_eq!(ends(&back[0]), [far, end(host, 4000)]);
        }
        seen.push(from);
    }
    assert!(seen[0].1 != 4000 && seen[1] != seen[0], "{seen:?}");
    let free = (2000..).find(|port| seen.iter().all(|(_, used)| used != port)).unwrap();
    assert!(pass(&mut b, pg1, &[udp(server, end("192.0.2.1", free))]).is_empty());
    b.expect(&[("nat44-ei-out2in", "no translation", 1)]);
    for n in [1, 3, 4, 255, 256] {
        let packet = udp(end("10.0.0.2", 4000), server);
        assert_eq!(pass(&mut b, pg0, &vec![packet; n]).len(), n);
    }
    let shown = b.cli("show nat44 ei sessions");
    assert!(shown.contains("10.0.0.3: 1 dynamic translations, 0 static translations"), "{shown}");
}

#[test]
fn mappings_lead_inside_and_hosts_there_meet_by_addresses_outside() {
    let mut b = bench(&[
        "nat44 ei add address 192.0.2.1",
        "nat44 ei add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353",
        "nat44 ei add static mapping local 10.0.0.9 external 192.0.2.9",
    ]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let (server, outside) = (end("10.0.0.2", 53), end("192.0.2.1", 5353));
    let client = end("10.0.1.2", 999);
    assert_eq!(ends(&pass(&mut b, pg1, &[udp(client, outside)])[0]), [client, server]);
    assert_eq!(ends(&pass(&mut b, pg0, &[udp(server, client)])[0]), [outside, client]);
    // Another host inside asks the address outside, and gets the answer from there.
    let host = end("10.0.0.3", 999);
    let there = pass(&mut b, pg0, &[udp(host, outside)]);
    let [from, to] = ends(&there[0]);
    assert_eq!((from.0, to), (outside.0, server));
    let back = pass(&mut b, pg0, &[udp(server, from)]);
    assert_eq!(ends(&back[0]), [outside, host]);
    // The port of a mapping has no other user.
    let out = pass(&mut b, pg0, &[udp(end("10.0.0.3", 5353), client)]);
    assert_ne!(ends(&out[0])[0], outside);
    assert_eq!(b.cli("nat44 ei del user 10.0.0.3"), "");
    assert_ne!(b.cli("nat44 ei del user 10.0.0.3"), "");
}

#[test]
fn ports_of_a_set_are_used_once_and_then_packets_are_dropped_and_counted() {
    let mut b = bench(&[
        "nat44 ei add address 192.0.2.1",
        "nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6",
    ]);
    assert_eq!(b.cli("nat44 ei plugin disable"), "");
    for line in [
        "nat44 ei plugin enable user-sessions 5000",
        "set interface nat44 ei in pg0 out pg1",
        "nat44 ei add address 192.0.2.1",
        "nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6",
    ] {
        b.set(line);
    }
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    let (mut ports, mut told) = (HashSet::new(), 0);
    for block in 0..5u16 {
        let packets: Vec<_> =
            (0..256u16).map(|n| udp(end("10.0.0.2", block << 8 | n), server)).collect();
        for p in &pass(&mut b, pg0, &packets) {
            if p[9] == wire::Protocol::ICMP.0 {
                assert_eq!(p[16..22], [10, 0, 0, 2, 3, 1]);
                told += 1;
                continue;
            }
            let port = ends(p)[0].1;
            assert!(ports.insert(port), "a port that another session has");
            assert!(port >= 1024 && (port >> 6) & 0x3f == 10, "{port}");
        }
    }
    // Of 16 blocks of 63 ports the first is below 1024.
    assert_eq!((ports.len(), told), (63 * 15, 5 * 256 - 63 * 15));
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", told),
        ("nat44-ei-in2out-slowpath", "out of ports", told),
    ]);
}

#[test]
fn a_host_with_all_its_sessions_gives_up_the_oldest_and_one_host_too_many_has_none() {
    let mut b = bench(&[]);
    assert_eq!(b.cli("nat44 ei plugin disable"), "");
    for line in [
        "nat44 ei plugin enable users 1 user-sessions 3",
        "set interface nat44 ei in pg0 out pg1",
        "nat44 ei add address 192.0.2.1",
    ] {
        b.set(line);
    }
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let ports = [2001, 2002, 2003, 2001, 2004].map(|port| {
        b.wait(0.1);
        ends(&pass(&mut b, pg0, &[udp(end("10.0.0.2", port), server)])[0])[0]
    });
    assert_eq!(ports[0], ports[3]);
    let mut reached = |outside| pass(&mut b, pg1, &[udp(server, outside)]).len();
    assert_eq!([ports[0], ports[1], ports[2], ports[4]].map(&mut reached), [1, 0, 1, 1]);
    let told = pass(&mut b, pg0, &[udp(end("10.0.0.3", 2001), server)]);
    assert_eq!((told.len(), &told[0][16..22]), (1, &[10, 0, 0, 3, 3, 1][..]));
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 1),
        ("nat44-ei-out2in", "no translation", 1),
        ("nat44-ei-in2out-slowpath", "cannot create NAT user", 1),
    ]);
}

#[test]
fn a_host_may_have_all_sessions_unless_told_otherwise() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let packets: Vec<_> = (0..250).map(|n| udp(end("10.0.0.2", 2000 + n), server)).collect();
    let out = pass(&mut b, pg0, &packets);
    let outside: HashSet<_> = out.iter().map(|p| ends(p)[0]).collect();
    assert_eq!(outside.len(), packets.len());
    assert_eq!(pass(&mut b, pg1, &[udp(server, ends(&out[0])[0])]).len(), 1, "the first is there");
    // Sessions that ended are forgotten: their flows do not pile up behind those there are.
    for round in 0..20 {
        b.wait(400.0);
        let host = end("10.0.0.2", 5000 + round);
        assert_eq!(pass(&mut b, pg0, &[udp(host, server)]).len(), 1);
    }
    let shown = b.cli("show nat44 ei sessions");
    assert!(shown.contains("10.0.0.2: 1 dynamic translations"), "{shown}");
}

#[test]
fn addresses_outside_are_the_routers_own_while_there_is_an_interface_outside() {
    let mut b = bench(&["nat44 ei add address 10.0.1.50"]);
    is_the_routers_own(&mut b, "10.0.1.50", true);
    b.set("nat44 ei add address 10.0.1.51");
    b.set("nat44 ei add static mapping tcp local 10.0.0.3 80 external 10.0.1.51 80");
    is_the_routers_own(&mut b, "10.0.1.51", true);
    assert!(b.cli("show ip fib 10.0.1.51/32").contains("10.0.1.51/32"));
    b.set("nat44 ei add static mapping tcp local 10.0.0.3 80 external 10.0.1.51 80 del");
    b.set("nat44 ei add address 10.0.1.51 del");
    assert!(!b.cli("show ip fib 10.0.1.51/32").contains("10.0.1.51/32"));
    b.set("nat44 ei add address 10.0.1.50 del");
    is_the_routers_own(&mut b, "10.0.1.50", false);
    b.set("nat44 ei add address 10.0.1.50");
    b.set("set interface nat44 ei out pg1 del");
    assert!(!b.cli("show ip fib 10.0.1.50/32").contains("10.0.1.50/32"));
    b.set("set interface nat44 ei out pg1");
    b.set("nat44 ei plugin disable");
    assert!(!b.cli("show ip fib 10.0.1.50/32").contains("10.0.1.50/32"));
}

#[test]
fn an_echo_and_an_error_about_a_packet_come_back_to_the_host() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let out = pass(&mut b, pg0, &[icmp("10.0.0.2", "10.0.1.2", &[8, 0, 0, 0, 0x77, 1, 0, 1])]);
    let id = [out[0][24], out[0][25]];
    // All queries have identifiers, not only echoes (RFC 5508 section 3).
    for (request, reply) in [(8, 0), (13, 14), (15, 16), (17, 18)] {
        let query = [request, 0, 0, 0, 0x77, 1, 0, 1];
        let out = pass(&mut b, pg0, &[icmp("10.0.0.2", "10.0.1.2", &query)]);
        assert_eq!((&out[0][12..16], &out[0][24..26]), (&[192, 0, 2, 1][..], &id[..]));
        let reply = [reply, 0, 0, 0, id[0], id[1], 0, 1];
        let back = pass(&mut b, pg1, &[icmp("10.0.1.2", "192.0.2.1", &reply)]);
        assert_eq!(back[0][24..26], [0x77, 1]);
        assert!(checksum::Sum::ZERO.add_bytes(&back[0][20..]).is_valid());
    }
    let sent = udp(end("10.0.0.2", 4000), end("10.0.1.2", 53));
    let out = pass(&mut b, pg0, std::slice::from_ref(&sent));
    let error = [&[11, 0, 0, 0, 0, 0, 0, 0], &out[0][..]].concat();
    let back = pass(&mut b, pg1, &[icmp("10.0.1.3", "192.0.2.1", &error)]);
    let (header, _) = ip4::Header::ref_from_prefix(&back[0]).unwrap();
    assert_eq!(header.src_addr().to_string(), "10.0.1.3", "a router on the way");
    assert_eq!(ends(&back[0][28..]), ends(&sent));
    assert!(checksum::Sum::ZERO.add_bytes(&back[0][20..]).is_valid(), "the sum of ICMP");
    // The error counts as what it is; ICMP from inside has no fast path.
    let counted = |name: &str| {
        let value = b.router.stats.value(&format!("/nat44-ei/{name}"));
        let Some(control::stats::Value::Simple(rows, columns)) = value else { panic!("{name}") };
        (0..columns).map(|column| <Rows<Counter>>::sum(rows, column)).sum::<u64>()
    };
    assert_eq!(counted("in2out/slowpath/icmp"), 5);
    assert_eq!(counted("in2out/slowpath/udp"), 1);
    assert_eq!(counted("out2in/slowpath/icmp"), 5);
    assert_eq!(counted("out2in/slowpath/udp"), 0);
}

#[test]
fn packets_are_translated_where_they_are_sent_and_pass_with_forwarding() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    for line in [
        "set interface nat44 ei in pg0 out pg1 del",
        "set interface nat44 ei out pg1 output-feature",
    ] {
        b.set(line);
    }
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let out = pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]);
    let outside = ends(&out[0])[0];
    assert_eq!(outside.0, end("192.0.2.1", 0).0);
    let back = pass(&mut b, pg1, &[udp(server, outside)]);
    assert_eq!(ends(&back[0]), [server, end("10.0.0.2", 4000)]);
    assert!(pass(&mut b, pg1, &[udp(server, end("10.0.0.2", 5))]).is_empty());
    b.expect(&[("nat44-ei-out2in", "no translation", 1)]);
    // The answer of a host that is known by its own address passes as it is too.
    assert_eq!(b.cli("nat44 ei forwarding enable"), "");
    let host = end("10.0.0.2", 5);
    assert_eq!(ends(&pass(&mut b, pg1, &[udp(server, host)])[0]), [server, host]);
    assert_eq!(ends(&pass(&mut b, pg0, &[udp(host, server)])[0]), [host, server]);
}

#[test]
fn a_session_ends_with_its_timeout_its_name_or_its_address() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1", "set nat44 ei timeout udp 2"]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let mut come_and_go = |line: &str| {
        let outside = ends(&pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)])[0])[0];
        assert_eq!(pass(&mut b, pg1, &[udp(server, outside)]).len(), 1);
        let line = line.replace("PORT", &outside.1.to_string());
        match line.as_str() {
            "" => drop(b.wait(3.0)),
            line => assert_eq!(b.cli(line), "", "{line}"),
        }
        assert_eq!(pass(&mut b, pg1, &[udp(server, outside)]).len(), 0, "{line}");
    };
    come_and_go("");
    come_and_go("nat44 ei del session in 10.0.0.2:4000 udp");
    come_and_go("nat44 ei del session out 192.0.2.1:PORT udp");
    come_and_go("clear nat44 ei sessions");
    come_and_go("nat44 ei add address 192.0.2.1 del");
}

#[test]
fn collectors_hear_of_sessions_that_come_and_go() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    for line in [
        "set syslog sender collector 10.0.1.3 src 10.0.1.1",
        "set ipfix exporter collector 10.0.1.3 src 10.0.1.1",
        "nat44 ei ipfix logging enable domain 5",
    ] {
        b.set(line);
    }
    let rest = |b: &mut Bench| -> Vec<Vec<u8>> {
        let caught = b.wait(6.0).into_iter().filter(|c| c.at == "sent");
        caught.map(|c| c.bytes[14..].to_vec()).collect()
    };
    let texts = |out: &[Vec<u8>]| -> Vec<String> {
        let sent = out.iter().filter(|p| p[22..24] == 514_u16.to_be_bytes());
        sent.map(|p| String::from_utf8_lossy(&p[28..]).into_owned()).collect()
    };
    let mut out = rest(&mut b);
    out.extend(pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]));
    out.extend(rest(&mut b));
    // A record: event 4, the host and its address outside, behind headers and the time.
    let is_record = |p: &&Vec<u8>| {
        p[22..24] == 4739_u16.to_be_bytes()
            && p.get(56..65) == Some(&[4, 10, 0, 0, 2, 192, 0, 2, 1])
    };
    assert_eq!(out.iter().filter(is_record).count(), 1, "{out:?}");
    // Its template has eight fields: there is no far end.
    let is_template =
        |p: &&Vec<u8>| p[22..24] == 4739_u16.to_be_bytes() && p.get(44..46) == Some(&[0, 2]);
    let counts: Vec<_> = out.iter().filter(is_template).map(|p| p[50..52].to_vec()).collect();
    assert_eq!(counts, [[0, 8]]);
    let told = texts(&out);
    assert!(told.len() == 1 && told[0].contains(" APMADD [napmap "), "{told:?}");
    assert!(told[0].contains("ISADDR=\"10.0.0.2\" ISPORT=\"4000\""), "{told:?}");
    assert_eq!(b.cli("clear nat44 ei sessions"), "");
    let told = texts(&rest(&mut b));
    assert!(told.len() == 1 && told[0].contains(" APMDEL [napmap "), "{told:?}");
}

#[test]
fn the_event_log_has_what_the_level_says() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    b.set("nat44 ei addr-port-assignment-alg port-range 5000 - 5000");
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    let begin = "nat44-ei: session begins: protocol 17 10.0.0.2 port 4000 as 192.0.2.1 port 5000, \
                 table 0";
    let ports = "nat44-ei: all ports are in use";
    let end_of_it = begin.replace("begins", "ends");
    let all = [begin, ports, &end_of_it];
    for (level, noted) in [("0", 0..0), ("error", 1..2), ("3", 1..2), ("info", 0..3), ("5", 0..3)] {
        b.set(&format!("nat44 ei set logging level {level}"));
        let before = b.router.event_log.newest(usize::MAX).len();
        pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]);
        pass(&mut b, pg0, &[udp(end("10.0.0.3", 4000), server)]);
        b.set("clear nat44 ei sessions");
        let events = b.router.event_log.newest(usize::MAX).into_iter().skip(before);
        let texts: Vec<_> = events.map(|e| e.text).filter(|t| t.starts_with("nat44")).collect();
        assert_eq!(texts, all[noted], "{level}");
        b.wait(2.0);
    }
    let refused = b.attempt("nat44 ei set logging level 6").unwrap_err().to_string();
    assert!(refused.contains('6'), "{refused}");
    b.set("nat44 ei plugin disable");
    let kept = b.cli("show configuration nat44_ei");
    assert_eq!(kept, "nat44 ei set logging level 5\n", "it outlives the sessions");
}

/// UDP messages that were sent to a port: their bytes behind the headers.
fn messages(out: &[Vec<u8>], port: u16) -> Vec<Vec<u8>> {
    out.iter().filter(|p| p[22..24] == port.to_be_bytes()).map(|p| p[28..].to_vec()).collect()
}

fn sent_in(b: &mut Bench, seconds: f64) -> Vec<Vec<u8>> {
    let caught = b.wait(seconds).into_iter().filter(|c| c.at == "sent");
    caught.map(|c| c.bytes[14..].to_vec()).collect()
}

fn message(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), bytes: &[u8]) -> Vec<u8> {
    net::ip::datagram(from, to, bytes, true).unwrap()
}

/// An active router and its standby; each is 10.0.0.1 to the other one, 10.0.0.3.
fn pair() -> [Bench; 2] {
    let lines =
        ["nat44 ei add address 192.0.2.1", "nat44 ei ha listener path-mtu 172 10.0.0.1:12345"];
    [bench(&lines), bench(&lines)]
}

#[test]
fn a_standby_has_the_sessions_of_the_active_router_and_goes_on_with_them() {
    let [mut active, mut standby] = pair();
    let (own, other) = (end("10.0.0.1", 12345), end("10.0.0.3", 12346));
    let (host, server) = ("10.0.0.2", end("10.0.1.2", 53));
    assert_eq!(active.cli("nat44 ei ha failover refresh-interval 5 10.0.0.3:12346"), "");
    let pg0 = active.pg0;
    // So many have room in a message.
    let out = pass(&mut active, pg0, &[1, 2, 3].map(|port| udp(end(host, port), server)));
    let outside = ends(&out[0])[0];
    let mut sent = messages(&sent_in(&mut active, 1.5), other.1);
    assert_eq!(sent.iter().map(|m| (m.len(), m[3])).collect::<Vec<_>>(), [(144, 3)]);
    let first = sent.remove(0);
    assert_eq!(first[..4], [1, 0, 0, 3]);
    // Each has the far end of its first packet.
    assert_eq!(first[12 + 16..12 + 20], [10, 0, 1, 2]);
    assert_eq!(first[12 + 24..12 + 26], 53_u16.to_be_bytes());
    // The standby makes them, and says so.
    let acks = pass(&mut standby, pg0, &[message(other, own, &first)]);
    let mut acks = messages(&acks, other.1);
    acks.extend(messages(&sent_in(&mut standby, 0.1), other.1));
    assert_eq!(acks.len(), 1);
    assert_eq!(acks[0], [&[1, 1, 0, 0], &first[4..12]].concat());
    let shown = standby.cli("show nat44 ei sessions");
    assert!(shown.contains("10.0.0.2: 3 dynamic translations"), "{shown}");
    pass(&mut active, pg0, &[message(other, own, &acks[0])]);
    sent_in(&mut active, 0.1);
    let shown = active.cli("show nat44 ei ha");
    assert!(shown.contains("\n0 messages not acknowledged"), "{shown}");
    assert!(shown.contains("add-event-send 3") && shown.contains("ack-recv 1"), "{shown}");
    // A far end reaches the host by the standby.
    let pg1 = standby.pg1;
    let back = pass(&mut standby, pg1, &[udp(server, outside)]);
    assert_eq!(ends(&back[0]), [server, end(host, 1)]);

    // What passes keeps a session alive there, and it ends there too.
    pass(&mut active, pg0, &[udp(end(host, 1), server)]);
    let sent = messages(&sent_in(&mut active, 6.0), other.1);
    let refresh = sent.iter().find(|m| m[12] == 3).expect("a refresh").clone();
    assert_eq!((refresh[3], refresh[47]), (1, 2), "{refresh:?}");
    pass(&mut standby, pg0, &[message(other, own, &refresh)]);
    sent_in(&mut standby, 0.1);
    let shown = standby.cli("show nat44 ei sessions detail");
    let heard = shown.lines().filter_map(|l| l.trim().strip_prefix("last heard "));
    let heard: Vec<f64> = heard.map(|at| at.parse().unwrap()).collect();
    assert!(heard[0] > heard[1] && shown.contains("total pkts 2"), "{shown}");
    assert_eq!(active.cli("nat44 ei del session in 10.0.0.2:2 udp"), "");
    assert_eq!(active.cli("nat44 ei ha flush"), "");
    let sent = messages(&sent_in(&mut active, 0.1), other.1);
    pass(&mut standby, pg0, &[message(other, own, sent.last().unwrap())]);
    sent_in(&mut standby, 0.1);
    let shown = standby.cli("show nat44 ei sessions");
    assert!(shown.contains("10.0.0.2: 2 dynamic translations"), "{shown}");
}

/// A change that adds a UDP session, in a message.
fn added(host: &str, outside: &str) -> Vec<u8> {
    let addr = |text: &str| text.parse::<Ipv4Addr>().unwrap().octets();
    let ports = [&443_u16.to_be_bytes()[..], &443_u16.to_be_bytes()].concat();
    let header = [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let change = [&[1, 1, 0, 0][..], &addr(host), &addr(outside), &ports, &[0; 28]].concat();
    [&header[..], &change].concat()
}

#[test]
fn a_standby_believes_its_peer_only_and_nothing_that_cannot_be() {
    let [_, mut standby] = pair();
    standby.set("ip route add 203.0.113.0/24 via 10.0.0.2 pg0");
    // Otherwise nothing from outside reaches the listener.
    standby.set("nat44 ei forwarding enable");
    let (own, peer) = (end("10.0.0.1", 12345), end("10.0.0.3", 12346));
    let (pg0, pg1) = (standby.pg0, standby.pg1);
    let good = added("10.0.0.2", "192.0.2.1");
    let mut refused = 0;
    let mut told = |b: &mut Bench, rx, from, bytes: &[u8]| {
        pass(b, rx, &[message(from, own, bytes)]);
        sent_in(b, 0.1);
        let count = b.cli("show nat44 ei sessions detail").contains("443");
        refused += u32::from(!count);
        let ha = b.cli("show nat44 ei ha");
        assert!(ha.contains(&format!("\n{refused} messages or changes refused")), "{ha}");
        count
    };
    // From elsewhere, and the peer's own address from another link.
    assert!(!told(&mut standby, pg0, end("203.0.113.9", 12346), &good));
    assert!(!told(&mut standby, pg1, peer, &good));
    // From a link: of an address that is not in the pool, of the pool itself, in no table.
    assert!(!told(&mut standby, pg0, peer, &added("6.6.6.6", "203.0.113.9")));
    assert!(!told(&mut standby, pg0, peer, &added("192.0.2.1", "192.0.2.1")));
    let mut nowhere = good.clone();
    nowhere[12 + 28..12 + 32].copy_from_slice(&7_u32.to_be_bytes());
    assert!(!told(&mut standby, pg0, peer, &nowhere));
    // Another one on the link comes too late.
    assert!(!told(&mut standby, pg0, end("10.0.0.4", 12346), &good));
    assert!(told(&mut standby, pg0, peer, &good));
}

#[test]
fn many_sessions_are_listed_and_ended_in_slices() {
    let mut b = bench(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    for host in 2..202 {
        let ports = (1..=25).map(|port| udp(end(&format!("10.0.0.{host}"), port), server));
        pass(&mut b, pg0, &ports.collect::<Vec<_>>());
    }
    let count = |b: &mut Bench| -> usize {
        let shown = b.cli("show nat44 ei sessions");
        let counts = shown.lines().filter(|line| line.contains("dynamic translations"));
        counts.map(|line| line.split(' ').nth(3).unwrap().parse::<usize>().unwrap()).sum()
    };
    assert_eq!(count(&mut b), 5000);
    let users = b.talk(|local, router| local.dump(router, &Nat44EiUserDump {}));
    assert_eq!(users.iter().map(|row| row.user.nsessions).sum::<u32>(), 5000);
    let own = Nat44EiUserSessionV2Dump { ip_address: [10, 0, 0, 9].into(), vrf_id: 0 };
    assert_eq!(b.talk(|local, router| local.dump(router, &own)).len(), 25);
    // One request costs control a slice; the process does the rest.
    b.set("clear nat44 ei sessions");
    let left = count(&mut b);
    assert!((1..5000).contains(&left), "{left}");
    b.wait(0.1);
    b.wait(0.1);
    assert_eq!(count(&mut b), 0);
    let gone = b.cli("nat44 ei del session in 10.0.0.9:1 udp");
    assert!(gone.contains("no such"), "{gone}");
}

#[test]
fn the_peer_does_not_end_or_replace_a_session_that_passes_packets_here() {
    let [_, mut router] = pair();
    let (own, peer) = (end("10.0.0.1", 12345), end("10.0.0.3", 12346));
    let (pg0, server) = (router.pg0, end("10.0.1.2", 53));
    let out = pass(&mut router, pg0, &[udp(end("10.0.0.2", 443), server)]);
    let port = ends(&out[0])[0].1.to_be_bytes();
    let change = |kind: u8, host: &str| {
        let mut change = added(host, "192.0.2.1");
        change[12] = kind;
        change[26..28].copy_from_slice(&port);
        change
    };
    let hosts = |b: &mut Bench, bytes: &[u8]| {
        pass(b, pg0, &[message(peer, own, bytes)]);
        sent_in(b, 0.1);
        let shown = b.cli("show nat44 ei sessions");
        ["10.0.0.2", "10.0.0.9"].map(|host| shown.contains(&format!("{host}: 1 dynamic")))
    };
    for kind in [1, 3] {
        assert_eq!(hosts(&mut router, &change(kind, "10.0.0.9")), [true, false], "{kind}");
    }
    assert_eq!(hosts(&mut router, &change(2, "10.0.0.2")), [true, false], "the end of it");
    // One that is silent gives way, and what the peer made is the peer's.
    sent_in(&mut router, 31.0);
    assert_eq!(hosts(&mut router, &change(1, "10.0.0.9")), [false, true]);
    assert_eq!(hosts(&mut router, &change(1, "10.0.0.2")), [true, false]);
    assert_eq!(hosts(&mut router, &change(2, "10.0.0.2")), [false, false]);
}

#[test]
fn a_message_that_is_not_acknowledged_is_sent_again_three_times_and_then_missed() {
    let [mut active, _] = pair();
    let (own, other) = (end("10.0.0.1", 12345), end("10.0.0.3", 12346));
    assert_eq!(active.cli("nat44 ei ha failover 10.0.0.3:12346"), "");
    let pg0 = active.pg0;
    pass(&mut active, pg0, &[udp(end("10.0.0.2", 1), end("10.0.1.2", 53))]);
    assert_eq!(active.cli("nat44 ei ha flush"), "");
    let all = messages(&sent_in(&mut active, 12.0), other.1);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|m| *m == all[0]), "{all:?}");
    let shown = active.cli("show nat44 ei ha");
    assert!(shown.contains("retry-count 3") && shown.contains("missed-count 1"), "{shown}");
    // A late acknowledgement, one from elsewhere and what is no message change nothing.
    let ack = [&[1, 1, 0, 0], &all[0][4..12]].concat();
    let garbage = [&[2, 0, 0, 1], &all[0][4..]].concat();
    let cut = all[0][..20].to_vec();
    let late = [(other, ack.clone()), (end("10.0.0.2", 1), ack), (other, garbage), (other, cut)];
    let late = late.map(|(from, bytes)| message(from, own, &bytes));
    pass(&mut active, pg0, &late);
    sent_in(&mut active, 0.1);
    active.expect(&[("nat44-ei-ha", "bad-version", 2), ("nat44-ei-ha", "pkts-processed", 2)]);
    assert!(active.cli("show nat44 ei ha").contains("ack-recv 0"));
    // All sessions again, for a standby that was away.
    assert_eq!(active.cli("nat44 ei ha resync"), "");
    let busy = active.cli("nat44 ei ha resync");
    assert!(busy.contains("a resynchronization is already running"), "{busy}");
    let all = messages(&sent_in(&mut active, 0.1), other.1);
    assert_eq!((all.len(), all[0][3], all[0][12]), (1, 1, 1));
}

#[test]
fn ends_of_a_pair_of_routers_are_checked_shown_and_printed() {
    let mut b = bench(&["nat44 ei ha listener 10.0.0.1:9 path-mtu 300"]);
    for (line, why) in [
        ("nat44 ei ha listener 10.0.0.1:9 path-mtu 83", "83 bytes are too short for a session"),
        ("nat44 ei ha listener 224.0.0.1:9", "224.0.0.1 cannot be the address of a router"),
        ("nat44 ei ha failover 10.0.0.3", "an address and a port"),
        ("nat44 ei ha resync", "set both the listener and"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(b.cli("nat44 ei ha failover 10.0.0.3:8 refresh-interval 0"), "");
    let printed = b.cli("show configuration nat44_ei");
    for line in ["listener 10.0.0.1:9 path-mtu 300", "failover 10.0.0.3:8 refresh-interval 0"] {
        assert!(printed.contains(line), "{printed}");
    }
    assert_eq!(b.cli("nat44 ei ha listener 0.0.0.0:0"), "");
    assert_eq!(b.cli("show nat44 ei ha"), "NAT HA disabled\n");
    assert_eq!(b.cli("nat44 ei plugin disable"), "");
    assert!(b.cli("nat44 ei ha flush").contains("not enabled"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_set_of_ports_has_each_of_its_ports_once(
        offset in 0u8..=8, len in 0u8..=8, psid: u16, first: u16, last: u16, random: u64,
    ) {
        let psid = PortSet::Psid { offset, len, psid: psid & ((1 << len) - 1) };
        let range = PortSet::Range { first: first.min(last), last: first.max(last) };
        for set in [PortSet::All, psid, range] {
            prop_assert!(set.is_valid());
            let all: HashSet<u16> = set.in_some_order(random).collect();
            prop_assert_eq!(all.len() as u32, set.count());
            let belong = (0..=u16::MAX).filter(|port| set.contains(*port)).count();
            prop_assert_eq!(belong, all.len());
            prop_assert!(all.iter().all(|port| set.contains(*port)));
        }
    }
}
