//! Packets that are translated, and back.

use std::net::Ipv4Addr;

use nat44_ed::FEATURE;
use net::InterfaceIndex;
use net::testing::packets::{changed4, ip4, udp4};
use net::testing::whole::{Bench, HOST, PG0, PG1};
use wire::ethernet::{self, EtherType};
use wire::upper::Upper;
use wire::{MacAddr, Protocol, checksum};
use zerocopy::{FromBytes, IntoBytes};

use super::translation::between;

const ETHERNET: usize = 14;

/// Hosts behind `pg0`, the world behind `pg1`.
fn bench(more: &[&str]) -> Bench {
    let first = ["nat44 plugin enable sessions 1000", "set interface nat44 in pg0 out pg1"];
    between(FEATURE, &first, more)
}

/// The transmitted packets, without Ethernet headers, all checksums verified.
pub(super) fn pass(b: &mut Bench, on: InterfaceIndex, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let to: MacAddr = if on == b.pg0 { PG0 } else { PG1 };
    let header = ethernet::Header::new(to, HOST, EtherType::IP4);
    let frames: Vec<_> = packets.iter().map(|p| [header.as_bytes(), p].concat()).collect();
    let sent = b.receive(on, &frames).into_iter().filter(|c| c.at == "sent");
    let packets: Vec<_> = sent.map(|c| c.bytes[ETHERNET..].to_vec()).collect();
    packets.iter().for_each(|p| check(p));
    packets
}

#[track_caller]
pub(super) fn check(packet: &[u8]) {
    let (header, _) = wire::ip4::Header::ref_from_prefix(packet).unwrap();
    assert!(header.is_checksum_valid(), "the sum of the IP header");
    let upper = Upper::of(packet).unwrap();
    if upper.protocol == Protocol::UDP && !upper.is_fragment {
        let len = upper.upper_len().unwrap();
        let sum = checksum::upper_layer(upper.pseudo(packet, len).unwrap(), [&packet[20..]]);
        assert!(sum.is_valid(), "the sum of UDP");
    }
}

/// Ends of a UDP packet.
pub(super) fn ends(p: &[u8]) -> [(Ipv4Addr, u16); 2] {
    let (header, _) = wire::ip4::Header::ref_from_prefix(p).unwrap();
    let port = |at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    [(header.src_addr(), port(20)), (header.dst_addr(), port(22))]
}

pub(super) fn end(addr: &str, port: u16) -> (Ipv4Addr, u16) {
    (addr.parse().unwrap(), port)
}

/// A UDP packet.
pub(super) fn udp(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut p = udp4(&from.0.to_string(), &to.0.to_string(), to.1, b"data");
    let old = u16::from_be_bytes([p[20], p[21]]);
    p[20..22].copy_from_slice(&from.1.to_be_bytes());
    let sum = zerocopy::network_endian::U16::from_bytes([p[26], p[27]]);
    let sum = checksum::update(sum, old.into(), from.1.into());
    // 0 would say that there is none.
    let sum = if sum.get() == 0 { 0xffff.into() } else { sum };
    p[26..28].copy_from_slice(sum.as_bytes());
    p
}

#[test]
fn hosts_share_an_address_and_answers_find_them() {
    let mut b = bench(&["nat44 add address 192.0.2.1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let server = end("10.0.1.2", 53);
    let mut seen = Vec::new();
    for host in ["10.0.0.2", "10.0.0.3"] {
        let out = pass(&mut b, pg0, &[udp(end(host, 4000), server)]);
        let [from, to] = ends(&out[0]);
        assert_eq!((out.len(), to), (1, server));
        assert_eq!(from.0, "192.0.2.1".parse::<Ipv4Addr>().unwrap());
        let back = pass(&mut b, pg1, &[udp(server, from)]);
        assert_eq!(ends(&back[0]), [server, end(host, 4000)]);
        assert!(pass(&mut b, pg1, &[udp(end("10.0.1.3", 53), from)]).is_empty(), "another end");
        seen.push(from.1);
    }
    assert!(seen[0] == 4000 && seen[1] != 4000, "the first has its own port: {seen:?}");
    for n in [1, 3, 4, 255, 256] {
        let packet = udp(end("10.0.0.2", 4000), server);
        assert_eq!(pass(&mut b, pg0, &vec![packet; n]).len(), n);
    }
}

#[test]
fn every_port_is_used_once_and_then_packets_are_dropped_and_counted() {
    let mut b = bench(&["nat44 add address 192.0.2.1"]);
    assert_eq!(b.cli("nat44 plugin disable"), "");
    for line in [
        "nat44 plugin enable sessions 70000",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
    ] {
        b.set(line);
    }
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    let (mut ports, mut dropped) = (std::collections::HashSet::new(), 0);
    for block in 0..253u16 {
        let packets: Vec<_> =
            (0..256u16).map(|n| udp(end("10.0.0.2", block << 8 | n), server)).collect();
        for p in &pass(&mut b, pg0, &packets) {
            if p[9] == Protocol::ICMP.0 {
                assert_eq!((&p[16..20], &p[20..22]), (&[10, 0, 0, 2][..], &[3, 1][..]));
                dropped += 1;
            } else {
                assert!(ports.insert(ends(p)[0].1), "a port that another session has");
            }
        }
    }
    assert_eq!((ports.len(), dropped), (64512, 256));
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 256),
        ("nat44-ed-in2out-slowpath", "out of ports", 256),
    ]);
}

#[test]
fn a_host_without_a_session_is_told_where_it_is_sent_too() {
    let mut b = bench(&[]);
    for line in [
        "nat44 plugin disable",
        "nat44 plugin enable sessions 2",
        "set interface nat44 out pg1 output-feature",
        "nat44 add address 192.0.2.1",
    ] {
        b.set(line);
    }
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    let packets: Vec<_> = (0..3).map(|n| udp(end("10.0.0.2", 4000 + n), server)).collect();
    let out = pass(&mut b, pg0, &packets);
    let told: Vec<_> = out.iter().filter(|p| p[9] == Protocol::ICMP.0).collect();
    assert_eq!((out.len(), told.len()), (3, 1));
    assert_eq!(told[0][16..22], [10, 0, 0, 2, 3, 1]);
    assert_eq!(told[0][28 + 12..28 + 20], [10, 0, 0, 2, 10, 0, 1, 2], "quoted as it came");
}

#[test]
fn mappings_lead_inside_and_between_hosts_there() {
    let mut b = bench(&[
        "nat44 add address 192.0.2.1",
        "nat44 add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353",
    ]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let (server, outside) = (end("10.0.0.2", 53), end("192.0.2.1", 5353));
    let client = end("10.0.1.2", 999);
    let in_ = pass(&mut b, pg1, &[udp(client, outside)]);
    assert_eq!(ends(&in_[0]), [client, server]);
    let back = pass(&mut b, pg0, &[udp(server, client)]);
    assert_eq!(ends(&back[0]), [outside, client]);
    // Another host inside asks the address outside.
    let host = end("10.0.0.3", 999);
    let there = pass(&mut b, pg0, &[udp(host, outside)]);
    let [from, to] = ends(&there[0]);
    assert_eq!((from.0, to), (outside.0, server));
    let back = pass(&mut b, pg0, &[udp(server, from)]);
    assert_eq!(ends(&back[0]), [outside, host]);
}

#[test]
fn a_host_with_an_address_of_its_own_has_it_for_all_protocols() {
    for more in [&[][..], &["nat44 forwarding enable"]] {
        let mapped = ["nat44 add static mapping local 10.0.0.2 external 192.0.2.7"];
        let mut b = bench(&[&["nat44 add address 192.0.2.1"], &mapped[..], more].concat());
        let (pg0, pg1) = (b.pg0, b.pg1);
        let echo = icmp("10.0.0.2", "10.0.1.2", &[8, 0, 0, 0, 0, 7, 0, 1]);
        let gre = |src: &str, dst: &str| ip4(src, dst, Protocol::GRE, &[0; 8]);
        let out = [gre("10.0.0.2", "10.0.1.2"), echo];
        let sent = pass(&mut b, pg0, &out);
        assert_eq!(sent.iter().filter(|p| p[12..16] == [192, 0, 2, 7]).count(), 2, "{more:?}");
        let in_ = pass(&mut b, pg1, &[gre("10.0.1.2", "192.0.2.7")]);
        assert_eq!(in_[0][16..20], [10, 0, 0, 2]);
    }
}

#[test]
fn sessions_of_forwarded_packets_stay_when_forwarding_is_disabled() {
    let mut b = bench(&["nat44 add address 192.0.2.1", "nat44 forwarding enable"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let (host, far) = (end("10.0.0.2", 53), end("10.0.1.2", 999));
    let asked = udp(far, host);
    assert_eq!(ends(&pass(&mut b, pg1, std::slice::from_ref(&asked))[0]), [far, host]);
    b.set("nat44 forwarding disable");
    assert_eq!(ends(&pass(&mut b, pg0, &[udp(host, far)])[0]), [host, far]);
    assert_eq!(ends(&pass(&mut b, pg1, &[asked])[0]), [far, host]);
    let other = udp(end("10.0.1.2", 1000), host);
    assert!(pass(&mut b, pg1, &[other]).iter().all(|p| p[9] != Protocol::UDP.0));
}

#[test]
fn the_event_log_has_sessions_if_the_level_says_so() {
    let mut b = bench(&["nat44 add address 192.0.2.1", "nat set logging level 4"]);
    let pg0 = b.pg0;
    let out = pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), end("10.0.1.2", 53))]);
    let port = ends(&out[0])[0].1;
    b.set("nat44 add address 192.0.2.1 del");
    let events = b.router.event_log.newest(usize::MAX).into_iter().map(|event| event.text);
    let noted: Vec<_> = events.filter(|text| text.starts_with("nat44-ed")).collect();
    let text = |what: &str| {
        format!(
            "nat44-ed: session {what}: protocol 17 10.0.0.2 port 4000 as 192.0.2.1 port {port} \
             with 10.0.1.2 port 53, table 0"
        )
    };
    assert_eq!(noted, [text("begins"), text("ends")]);
}

/// A packet of a TCP connection.
fn tcp(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), flags: u8) -> Vec<u8> {
    let [src, dst] = [from.0, to.0].map(|addr| addr.to_string());
    let mut packet = super::cnat::packet(Protocol::TCP, (&src, from.1), (&dst, to.1));
    packet[33] = flags;
    packet
}

#[test]
fn a_connection_opened_again_is_another_session_from_its_acknowledgment_on() {
    const FLAGS: [u8; 3] = [0x02, 0x12, 0x10];
    let mut b = bench(&["nat44 add address 192.0.2.1", "nat set logging level 4"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let (host, server, outside) =
        (end("10.0.0.2", 4000), end("10.0.1.2", 80), end("192.0.2.1", 4000));
    let step = |b: &mut Bench, flags, is_answer: bool| {
        let (on, from, to) = if is_answer { (pg1, server, outside) } else { (pg0, host, server) };
        assert_eq!(pass(b, on, &[tcp(from, to, flags)]).len(), 1, "{flags:#x}");
        let events = b.router.event_log.newest(usize::MAX).into_iter().map(|event| event.text);
        let words = ["begins", "ends"].map(|word| format!("session {word}"));
        let of = |text: String| words.iter().position(|word| text.contains(word));
        events.filter_map(of).collect::<Vec<_>>()
    };
    let open = |b: &mut Bench| [0, 1, 2].map(|n| step(b, FLAGS[n], n == 1));
    let opened = open(&mut b);
    assert!(opened.iter().all(|noted| *noted == [0]), "{opened:?}");
    assert_eq!([step(&mut b, 0x11, false), step(&mut b, 0x11, true)], [[0], [0]]);
    let again = open(&mut b);
    assert_eq!(again[..2], [[0], [0]]);
    assert_eq!(again[2], [0, 1, 0]);
    assert_eq!(step(&mut b, 0x18, false), [0, 1, 0], "data belong to it");
    let shown = b.attempt("show nat44 sessions").unwrap().to_string();
    assert!(shown.contains("total pkts 2,"), "{shown}");
}

/// An ICMP message, with its checksum.
pub fn icmp(src: &str, dst: &str, message: &[u8]) -> Vec<u8> {
    let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
    let mut message = message.to_vec();
    let sum = checksum::Sum::ZERO.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let len = 20 + message.len() as u16;
    [wire::ip4::Header::new(src, dst, Protocol::ICMP, len).as_bytes(), &message].concat()
}

/// Pings of an inside host to an outside address are answered, and a datagram gets an ICMP error, as
/// long as the address is the router's; pings of far ends are dropped.
#[track_caller]
pub fn is_the_routers_own(b: &mut Bench, addr: &str, is_own: bool) {
    let (pg0, pg1) = (b.pg0, b.pg1);
    let ping = |from: &str| [icmp(from, addr, &[8, 0, 0, 0, 0x77, 1, 0, 1])];
    let out = pass(b, pg0, &ping("10.0.0.2"));
    let is_answer = |p: &Vec<u8>| p[9] == Protocol::ICMP.0 && p[20] == 0;
    let answered = out.iter().any(|p| is_answer(p) && ends(p)[0].0.to_string() == addr);
    assert_eq!(answered, is_own, "{out:?}");
    assert!(pass(b, pg1, &ping("10.0.1.2")).is_empty());
    let out = pass(b, pg0, &[udp(end("10.0.0.2", 4000), end(addr, 7777))]);
    let told = out.iter().any(|p| p[9] == Protocol::ICMP.0 && p[20..22] == [3, 3]);
    assert_eq!(told, is_own, "{out:?}");
}

#[test]
fn addresses_outside_are_the_routers_own_for_hosts_inside() {
    let mut b = bench(&[
        "nat44 add address 10.0.1.50",
        "nat44 add static mapping tcp local 10.0.0.3 80 external 10.0.1.51 80",
    ]);
    for addr in ["10.0.1.50", "10.0.1.51"] {
        is_the_routers_own(&mut b, addr, true);
    }
    b.set("nat44 add address 10.0.1.50 del");
    assert!(!b.cli("show ip fib 10.0.1.50/32").contains("10.0.1.50/32"));
    b.set("nat44 plugin disable");
    assert!(!b.cli("show ip fib 10.0.1.51/32").contains("10.0.1.51/32"));
}

#[test]
fn a_pool_without_an_address_is_noted_and_an_address_that_another_host_has_is_not() {
    for (more, noted) in [(&[][..], 1), (&["nat44 add address 192.0.2.1"], 0)] {
        let mut b = bench(&[&["nat set logging level 1"], more].concat());
        // Of a protocol without ports, an address is one host's to a far end.
        let gre = |host: &str| ip4(host, "10.0.1.2", Protocol::GRE, &[0; 8]);
        let (pg0, packets) = (b.pg0, [gre("10.0.0.2"), gre("10.0.0.3")]);
        let sent = pass(&mut b, pg0, &packets);
        assert_eq!(sent.iter().filter(|p| p[9] == Protocol::GRE.0).count(), more.len());
        let events = b.router.event_log.newest(usize::MAX).into_iter().map(|event| event.text);
        assert_eq!(events.filter(|text| text.contains("all ports are in use")).count(), noted);
    }
}

#[test]
fn a_connection_begins_with_a_syn_and_not_with_an_answer() {
    let mut b = bench(&[
        "nat44 add address 192.0.2.1",
        "nat44 add static mapping local 10.0.0.3 external 192.0.2.3",
    ]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 80));
    for (flags, begins) in [(0x12, 0), (0x10, 0), (0x11, 0), (0x04, 0), (0x02, 1), (0xc2, 1)] {
        let port = 4000 + u16::from(flags);
        let out = [tcp(end("10.0.0.2", port), server, flags)];
        assert_eq!(pass(&mut b, pg0, &out).len(), begins, "{flags:#x}");
        let back = [tcp(server, end("192.0.2.3", port), flags)];
        assert_eq!(pass(&mut b, pg1, &back).len(), begins, "{flags:#x}");
    }
    b.expect(&[
        ("nat44-ed-in2out-slowpath", "non-SYN packet try to create session", 4),
        ("nat44-ed-out2in-slowpath", "non-SYN packet try to create session", 4),
    ]);
}

#[test]
fn fragments_are_translated_in_any_order() {
    let mut b = bench(&["nat44 add address 192.0.2.1"]);
    let pg0 = b.pg0;
    let whole = udp4("10.0.0.2", "10.0.1.2", 53, &[7; 40]);
    let cut = |data: std::ops::Range<usize>, fragment: u16| {
        changed4([&whole[..20], &whole[data.clone()]].concat(), |h| {
            h.total_len = (20 + data.len() as u16).into();
            (h.id, h.fragment) = (9.into(), fragment.into());
        })
    };
    let (first, last) = (cut(20..44, 0x2000), cut(44..68, 3));
    let out = pass(&mut b, pg0, &[last, first]);
    assert_eq!(out.len(), 2);
    for p in &out {
        let (header, _) = wire::ip4::Header::ref_from_prefix(p).unwrap();
        assert_eq!(header.src_addr(), "192.0.2.1".parse::<Ipv4Addr>().unwrap());
    }
}

#[test]
fn an_icmp_error_quotes_the_host_s_own_packet() {
    let mut b = bench(&["nat44 add address 192.0.2.1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let sent = udp(end("10.0.0.2", 4000), end("10.0.1.2", 53));
    let out = pass(&mut b, pg0, std::slice::from_ref(&sent));
    let header = wire::ip4::Header::new(
        "10.0.1.3".parse().unwrap(),
        "192.0.2.1".parse().unwrap(),
        Protocol::ICMP,
        60,
    );
    let mut icmp = [&[11, 0, 0, 0, 0, 0, 0, 0], &out[0][..]].concat();
    let sum = checksum::Sum::ZERO.add_bytes(&icmp).checksum();
    icmp[2..4].copy_from_slice(sum.as_bytes());
    let back = pass(&mut b, pg1, &[[header.as_bytes(), &icmp].concat()]);
    let (header, _) = wire::ip4::Header::ref_from_prefix(&back[0]).unwrap();
    assert_eq!(header.src_addr().to_string(), "10.0.1.3", "a router on the way");
    assert_eq!(header.dst_addr().to_string(), "10.0.0.2");
    let quoted = &back[0][28..];
    assert_eq!(ends(quoted), ends(&sent));
    assert_eq!(quoted[26..28], sent[26..28], "the sum that it was sent with");
    assert!(checksum::Sum::ZERO.add_bytes(&back[0][20..]).is_valid(), "the sum of ICMP");
}

#[test]
fn a_session_ends_with_its_timeout_its_address_or_its_mapping() {
    let mut b = bench(&["nat44 add address 192.0.2.1", "set nat timeout udp 2"]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let host = end("10.0.0.2", 4000);
    pass(&mut b, pg0, &[udp(host, server)]);
    assert_eq!(pass(&mut b, pg1, &[udp(server, end("192.0.2.1", 4000))]).len(), 1);
    b.wait(3.0);
    assert_eq!(pass(&mut b, pg1, &[udp(server, end("192.0.2.1", 4000))]).len(), 0);
    pass(&mut b, pg0, &[udp(host, server)]);
    assert_eq!(b.cli("nat44 add address 192.0.2.1 del"), "");
    assert_eq!(pass(&mut b, pg1, &[udp(server, end("192.0.2.1", 4000))]).len(), 0);
}

/// Columns of the row of thread 0 in `show session tables`: sessions, limit, bytes, made, expired,
/// evicted, refused, clashes.
fn table_of(b: &mut Bench, name: &str) -> Vec<u64> {
    let shown = b.cli("show session tables");
    let row = shown.lines().find(|line| line.split_whitespace().next() == Some(name));
    let row = row.unwrap_or_else(|| panic!("no {name}:\n{shown}"));
    row.split_whitespace().skip(2).map(|word| word.parse().unwrap()).collect()
}

#[test]
fn a_network_of_65536_hosts_behind_256_addresses_loses_no_packet() {
    let mut b = bench(&[]);
    for line in [
        "nat44 plugin disable",
        "nat44 plugin enable sessions 70000",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.0 - 192.0.2.255",
        "set ip neighbor pg0 10.0.0.9 02:00:00:00:00:01",
        "ip route add 10.9.0.0/16 via 10.0.0.9 pg0",
    ] {
        b.set(line);
    }
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let mut seen = std::collections::HashSet::new();
    for block in 0..=255u8 {
        // Each host sends from another port, so that all 65,536 are among them.
        let host = |n: u8| (Ipv4Addr::new(10, 9, block, n), u16::from_be_bytes([n, block]));
        let packets: Vec<_> = (0..=255).map(|n| udp(host(n), server)).collect();
        let out = pass(&mut b, pg0, &packets);
        assert_eq!(out.len(), 256, "network {block}");
        let outside: Vec<_> = out.iter().map(|p| ends(p)[0]).collect();
        let back: Vec<_> = outside.iter().map(|from| udp(server, *from)).collect();
        let back: Vec<_> = pass(&mut b, pg1, &back).iter().map(|p| ends(p)[1]).collect();
        assert_eq!(back, (0..=255).map(host).collect::<Vec<_>>(), "network {block}");
        seen.extend(outside);
    }
    assert_eq!(seen.len(), 65_536, "hosts that share an address and port");
    let used: std::collections::HashSet<_> = seen.iter().map(|(address, _)| *address).collect();
    assert!(used.iter().all(|a| a.octets()[..3] == [192, 0, 2]), "{used:?}");
    assert_eq!(table_of(&mut b, "nat44-ed")[0], 65_536);
}

#[test]
fn a_full_table_says_so_and_its_memory_serves_those_who_come_later() {
    let mut b = bench(&["nat44 plugin disable"]);
    for line in [
        "nat44 plugin enable sessions 100",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
        "set nat timeout udp 20",
    ] {
        b.set(line);
    }
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let flows = |first: u16| -> Vec<_> {
        (first..first + 250).map(|port| udp(end("10.0.0.2", port), server)).collect()
    };
    let is_error = |p: &&Vec<u8>| p[9] == Protocol::ICMP.0;
    let out = pass(&mut b, pg0, &flows(2000));
    assert_eq!((out.len(), out.iter().filter(is_error).count()), (250, 150));
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 150),
        ("nat44-ed-in2out-slowpath", "maximum sessions exceeded", 150),
    ]);
    let before = table_of(&mut b, "nat44-ed");
    assert_eq!((before[0], before[3], before[6]), (100, 100, 150));
    // Existing sessions stay.
    assert_eq!(pass(&mut b, pg0, &flows(2000)[..100]).iter().filter(is_error).count(), 0);
    // The clock is moved: no answer finds a session that is over, and others have their places.
    b.control(|r, _| r.engine.clock().adjust(30.0));
    let answers: Vec<_> = (2000..2100).map(|p| udp(server, end("192.0.2.1", p))).collect();
    assert_eq!(pass(&mut b, pg1, &answers).len(), 0);
    b.expect(&[("nat44-ed-out2in-slowpath", "no translation", 100)]);
    let out = pass(&mut b, pg0, &flows(3000));
    assert_eq!((out.len(), out.iter().filter(is_error).count()), (250, 150));
    let after = table_of(&mut b, "nat44-ed");
    assert_eq!((after[0], after[2], after[3]), (100, before[2], 200), "sessions, bytes, made");
}

#[test]
fn no_packet_is_translated_by_what_belongs_to_an_interface_that_is_gone() {
    let mut b = bench(&["nat44 add interface address pg1"]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let out = pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]);
    let outside = ends(&out[0])[0];
    assert_eq!(outside.0.to_string(), "10.0.1.1");
    assert_eq!(table_of(&mut b, "nat44-ed")[0], 1);
    b.control(|r, _| r.remove_interface(pg1));
    assert_eq!(table_of(&mut b, "nat44-ed")[0], 0, "its address is gone");
    assert!(!b.cli("show nat44 addresses").contains("10.0.1.1"));
    assert!(!b.cli("show nat44 interfaces").contains("pg1"));
    // Packets to the address from inside have no effect.
    assert_eq!(pass(&mut b, pg0, &[udp(end("10.0.0.3", 53), outside)]).len(), 0);
}

#[test]
fn sessions_are_listed_a_page_at_a_time_and_searched() {
    let mut b = bench(&["nat44 add address 192.0.2.1"]);
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    for port in 0..7 {
        assert_eq!(pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000 + port), server)]).len(), 1);
    }
    pass(&mut b, pg0, &[tcp(end("10.0.0.3", 5000), end("10.0.1.2", 80), 2)]);
    let mut list = |words: &str| {
        let line = format!("show session list nat44-ed {words}");
        let reply = b.control(|router, cli| cli.run(router, &line));
        let page = reply.output.to_json();
        let rows = page["sessions"].as_array().unwrap().clone();
        (rows, page["next"].as_str().map(str::to_owned), page["total"].as_u64())
    };
    let (mut seen, mut from, mut pages) = (Vec::new(), Some("0.0".to_owned()), 0);
    while let Some(at) = from {
        let (rows, next, total) = list(&format!("from {at} count 3"));
        assert_eq!(total, Some(8));
        assert!(rows.len() <= 3);
        seen.extend(rows.iter().map(|row| row["src"].to_string()));
        (from, pages) = (next, pages + 1);
    }
    assert!(pages >= 3);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 8, "each session is listed once");
    for (words, count) in [
        ("address 10.0.0.3", 1),
        ("address 192.0.2.1", 8),
        ("port 4002", 1),
        ("port 53 protocol udp", 7),
        ("protocol tcp", 1),
        ("protocol 17 port 80", 0),
        ("address 10.9.9.9", 0),
    ] {
        assert_eq!(list(words).0.len(), count, "{words}");
    }
    let row = &list("protocol tcp").0[0];
    assert_eq!(row["src"].to_string(), r#"["10.0.0.3",5000]"#);
    assert_eq!(row["dst"].to_string(), r#"["10.0.1.2",80]"#);
    assert_eq!(row["translated_src"][0], "192.0.2.1");
    assert!(row["translated_dst"].is_null());
    assert_eq!(row["state"], "transitory");
    for (words, named) in [
        ("nosuch", "`nosuch'"),
        ("nat44-ed count 0", "`0'"),
        ("nat44-ed count 1001", "`1001'"),
        ("nat44-ed from x", "`x"),
        ("nat44-ed protocol x", "`x'"),
    ] {
        let why = b.attempt(&format!("show session list {words}")).unwrap_err().to_string();
        assert!(why.contains(named), "{words}: {why}");
    }
}
