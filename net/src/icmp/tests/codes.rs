//! Every ICMP error that the whole router sends, by type and code, and those that it never does.

use wire::ethernet::{self, EtherType};
use wire::{Protocol, icmp6, ip4, ip6};
use zerocopy::{FromBytes, IntoBytes};

use crate::ip::testing::packets::*;
use crate::neighbor::testing::{Bench, HOST, OTHER, PG0};

fn bench() -> Bench {
    let mut b = Bench::new();
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static",
        "set ip neighbor pg0 10.0.0.3 02:00:00:00:00:02 static",
        "set ip neighbor pg0 2001:db8::3 02:00:00:00:00:02 static",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static",
        "ip route add 20.0.0.0/8 via unreachable",
        "ip route add 21.0.0.0/8 prohibit",
        "ip route add 22.0.0.0/8 via 10.0.0.3 pg0",
        "ip route add 2001:db8:20::/48 via unreachable",
        "ip route add 2001:db8:21::/48 prohibit",
        "ip route add 2001:db8:22::/48 via 2001:db8::3 pg0",
        "set interface mtu packet 1300 pg1",
    ] {
        b.set(line);
    }
    b
}

/// A packet in a frame from the host behind `pg0`.
fn framed(packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 4 { EtherType::IP4 } else { EtherType::IP6 };
    [ethernet::Header::new(PG0, HOST, kind).as_bytes(), packet].concat()
}

/// An ICMP error: type, code, the four bytes behind the checksum, and where it comes from.
#[derive(Debug, PartialEq)]
struct Expected(u8, u8, u32, String);

/// Errors that the host behind `pg0` gets about `packet`, in the time it takes to give a neighbour
/// up.
fn told(b: &mut Bench, packet: &[u8]) -> Vec<Expected> {
    let mut out = b.receive(b.pg0, &[framed(packet)]);
    out.append(&mut b.wait(5.0));
    let is_told = |bytes: &&[u8]| bytes.len() >= 42 && bytes[..6] == HOST.0;
    out.iter().map(|c| c.bytes.as_slice()).filter(is_told).map(error).collect()
}

fn error(frame: &[u8]) -> Expected {
    let packet = &frame[14..];
    let (src, icmp) = if packet[0] >> 4 == 4 {
        let header = ip4::Header::ref_from_prefix(packet).unwrap().0;
        assert!(header.is_checksum_valid() && header.protocol == Protocol::ICMP);
        (header.src_addr().to_string(), &packet[20..])
    } else {
        let header = ip6::Header::ref_from_prefix(packet).unwrap().0;
        assert!(sum6(packet).is_valid() && header.next_header == Protocol::ICMP6);
        (header.src_addr().to_string(), &packet[40..])
    };
    Expected(icmp[0], icmp[1], u32::from_be_bytes(icmp[4..8].try_into().unwrap()), src)
}

#[test]
fn each_code_of_icmp_has_its_reason() {
    let mut b = bench();
    let uncut = |p: Vec<u8>| changed4(p, |h| h.fragment = 0x4000.into());
    let udp = |dst: &str| udp4(HOST4, dst, 1, &[]);
    for (packet, kind, code, rest) in [
        (udp("20.0.0.1"), 3, 1, 0),
        (udp("10.0.1.77"), 3, 1, 0), // no answer to ARP
        (ip4(HOST4, "10.0.0.1", Protocol(253), &[0; 8]), 3, 2, 0),
        (udp("10.0.1.1"), 3, 3, 0),
        (uncut(udp4(HOST4, "10.0.1.2", 1, &[0; 1400])), 3, 4, 1300),
        (udp("21.0.0.1"), 3, 10, 0),
        (changed4(udp("10.0.1.2"), |h| h.ttl = 1), 11, 0, 0),
        // Options: longer than the header, a pointer into the option's own start.
        (with_options(&udp("10.0.1.2"), &[1, 200, 9, 0]), 12, 0, 22 << 24),
        (with_options(&udp("10.0.0.1"), &[7, 7, 2, 0, 0, 0, 0, 0]), 12, 0, 22 << 24),
    ] {
        let want = Expected(kind, code, rest, "10.0.0.1".into());
        assert_eq!(told(&mut b, &packet), [want]);
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn each_code_of_icmp6_has_its_reason() {
    let mut b = bench();
    let udp = |dst: &str| udp6(HOST6, dst, 1, &[]);
    for (packet, kind, code, rest) in [
        (udp("2001:db8:20::1"), 1, 0, 0),
        (udp("2001:db8:21::1"), 1, 1, 0),
        (udp("2001:db8:1::77"), 1, 3, 0), // no answer to ND
        (udp("2001:db8:1::1"), 1, 4, 0),
        (udp6(HOST6, "2001:db8:1::2", 1, &[0; 1400]), 2, 0, 1300),
        (changed6(udp("2001:db8:1::2"), |h| h.hop_limit = 1), 3, 0, 0),
        (ip6(HOST6, "2001:db8::1", Protocol(253), &[0; 8]), 4, 1, 6),
    ] {
        let want = Expected(kind, code, rest, "2001:db8::1".into());
        assert_eq!(told(&mut b, &packet), [want]);
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_a_link_local_address_sends_stays_on_its_link() {
    let mut b = bench();
    assert_eq!(b.cli("set ip neighbor pg0 fe80::2 02:00:00:00:00:01 static"), "");
    for mroute in
        ["ff0e::5 via pg0 Accept via pg1 Forward", "ff02::5 via pg0 Accept via pg1 Forward"]
    {
        assert_eq!(b.cli(&format!("ip mroute add {mroute}")), "");
    }
    let from_link = |dst: &str| udp6("fe80::2", dst, 1, &[]);
    let beyond = Expected(1, 2, 0, "fe80::ff:fe00:aa".into());
    assert_eq!(told(&mut b, &from_link("2001:db8:1::2")), [beyond]);
    b.expect(&[("ip6-input", "drop", 1), ("ip6-icmp-error", "dest_unreach_sent", 1)]);
    // Neither to an unresolved address, nor to groups, which get no errors.
    for dst in ["2001:db8:1::77", "ff0e::5", "ff02::5"] {
        let mut out = b.receive(b.pg0, &[framed(&from_link(dst))]);
        out.append(&mut b.wait(5.0));
        assert!(out.iter().all(|c| !is_udp(&c.bytes)), "{dst}");
    }
    // Back by the same link it goes on, and so does what another address sends.
    let out = b.receive(b.pg0, &[framed(&from_link("2001:db8:22::1"))]);
    assert!(out.len() == 1 && out[0].tx == b.pg0.0 && is_udp(&out[0].bytes));
    let out = b.receive(b.pg0, &[framed(&udp6(HOST6, "ff0e::5", 1, &[]))]);
    assert!(out.len() == 1 && out[0].tx == b.pg1.0 && is_udp(&out[0].bytes));
}

#[test]
fn what_is_for_a_link_local_address_stays_on_its_link() {
    let mut b = bench();
    assert_eq!(b.cli("set ip neighbor pg1 fe80::2 02:00:00:00:00:bb static"), "");
    // A route that says otherwise is not asked.
    b.cli("ip route add fe80::/10 via 2001:db8:1::2 pg1");
    let out = b.receive(b.pg0, &[framed(&udp6(HOST6, "fe80::2", 1, &[]))]);
    assert!(out.iter().all(|c| !is_udp(&c.bytes)));
}

#[test]
fn link_local_addresses_of_ip4_are_routed_as_others() {
    let mut b = bench();
    assert_eq!(b.cli("ip route add 169.254.169.254/32 via 10.0.1.2 pg1"), "");
    let out = b.receive(b.pg0, &[framed(&udp4(HOST4, "169.254.169.254", 1, &[]))]);
    assert!(out.len() == 1 && out[0].tx == b.pg1.0 && is_udp(&out[0].bytes));
}

#[test]
fn groups_of_one_link_are_never_forwarded() {
    let mut b = bench();
    let routed = ["225.0.0.5", "ff03::5", "ff01::5", "ff00::5"];
    for group in ["224.0.0.5", "ff02::5", "ff12::5"].into_iter().chain(routed) {
        let line = format!("ip mroute add {group} via pg0 Accept via pg1 Forward");
        assert_eq!(b.cli(&line), "", "{line}");
        let packet = match group.contains('.') {
            true => udp4(HOST4, group, 1, &[]),
            false => udp6(HOST6, group, 1, &[]),
        };
        let out = b.receive(b.pg0, &vec![framed(&packet); 3]);
        let forwarded = if routed.contains(&group) { 3 } else { 0 };
        assert_eq!(out.len(), forwarded, "{group}");
        let counter = match group {
            _ if routed.contains(&group) => None,
            "224.0.0.5" => Some(("ip4-replicate", "group of one link", 3)),
            _ => Some(("ip6-replicate", "group of one link", 3)),
        };
        b.expect(counter.as_slice());
    }
    // Its own groups the router still gets, whatever the route says besides.
    assert_eq!(b.cli("ip mroute add ff02::1 via pg1 Forward"), "");
    let ping = icmp6(HOST6, "ff02::1", icmp6::Type::ECHO_REQUEST, &[0; 8]);
    let out = b.receive(b.pg0, &[framed(&ping)]);
    assert!(out.len() == 1 && out[0].tx == b.pg0.0 && out[0].bytes[54] == 129);
}

/// Whether a frame carries UDP right behind its IP header.
fn is_udp(frame: &[u8]) -> bool {
    let packet = &frame[14..];
    let protocol = if packet[0] >> 4 == 4 { packet[9] } else { packet[6] };
    Protocol(protocol) == Protocol::UDP
}

#[test]
fn without_a_route_packets_are_dropped_in_silence() {
    let mut b = bench();
    for packet in [udp4(HOST4, "99.0.0.1", 1, &[]), udp6(HOST6, "2001:db8:99::1", 1, &[])] {
        assert_eq!(told(&mut b, &packet), []);
        b.expect(&[("null-node", "blackholed packets", 1)]);
    }
}

#[test]
fn redirects_and_quenches_are_neither_sent_nor_followed() {
    let mut b = bench();
    // Back by its receive interface: it is forwarded, without a redirect.
    for packet in [udp4(HOST4, "22.0.0.1", 1, &[]), udp6(HOST6, "2001:db8:22::1", 1, &[])] {
        let out = b.receive(b.pg0, &vec![framed(&packet); 256]);
        assert_eq!(out.len(), 256);
        assert!(out.iter().all(|c| c.bytes[..6] == OTHER.0 && c.tx == b.pg0.0));
        b.expect(&[]);
    }
    let before = routes(&mut b);
    for kind in [4, 5] {
        let mut message = ping4(HOST4, "10.0.0.1", &udp4(HOST4, "22.0.0.1", 1, &[]));
        (message[20], message[22]) = (kind, message[22].wrapping_add(8 - kind));
        assert_eq!(told(&mut b, &message), []);
        b.expect(&[("ip4-icmp-input", "unknown_type", 1)]);
    }
    let redirect = icmp6(HOST6, "2001:db8::1", icmp6::Type::REDIRECT, &[0; 36]);
    assert_eq!(told(&mut b, &changed6(redirect, |h| h.hop_limit = 255)), []);
    b.expect(&[("ip6-icmp-input", "unknown_type", 1)]);
    assert_eq!(routes(&mut b), before);
}

/// All routes, without their counters.
fn routes(b: &mut Bench) -> Vec<String> {
    let shown = b.cli("show ip fib") + &b.cli("show ip6 fib");
    shown.lines().filter(|l| !l.contains("load-balance")).map(str::to_owned).collect()
}

#[test]
fn errors_come_from_the_interface_that_the_packet_came_in_by() {
    let mut b = bench();
    let udp = |src: &str, dst: &str| {
        if dst.contains('.') { udp4(src, dst, 1, &[]) } else { udp6(src, dst, 1, &[]) }
    };
    // The first of its addresses; of IPv6's the one that is most like the sender's.
    b.cli("set interface ip address pg0 10.0.0.9/24");
    b.cli("set interface ip address pg0 2001:db8:7::1/64");
    b.cli("set ip neighbor pg0 2001:db8:7::2 02:00:00:00:00:01 static");
    b.cli("set ip neighbor pg0 fe80::2 02:00:00:00:00:01 static");
    for (src, dst, from) in [
        (HOST4, "21.0.0.1", "10.0.0.1"),
        (HOST6, "2001:db8:21::1", "2001:db8::1"),
        ("2001:db8:7::2", "2001:db8:21::1", "2001:db8:7::1"),
        ("fe80::2", "2001:db8:1::1", "fe80::ff:fe00:aa"),
    ] {
        let told = told(&mut b, &udp(src, dst));
        assert_eq!((told.len(), told[0].3.as_str()), (1, from), "{src}");
    }
    // One without addresses of its own has those of another.
    b.cli("set interface ip address del pg0 all");
    assert_eq!(b.cli("set interface unnumbered pg0 use pg1"), "");
    b.cli("ip route add 10.0.0.2/32 via 10.0.0.2 pg0");
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static");
    assert_eq!(told(&mut b, &udp(HOST4, "21.0.0.1"))[0].3, "10.0.1.1");
}
