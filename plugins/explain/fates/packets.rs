//! Packets that a router meets on its links.

use net::testing::whole::{self, HOST, PG0};

use super::{TO_US, hex, packet};

/// A packet through the router, in the words of the packet generator.
pub const THROUGH4: &str = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 30";
/// The same of IPv6.
pub const THROUGH6: &str = "IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    UDP: 2001:db8::2 -> 2001:db8:1::2 UDP: 1234 -> 2345 incrementing 30";
/// A packet for another MAC address.
pub const ASIDE4: &str = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:77 \
    UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 30";
/// The same of IPv6.
pub const ASIDE6: &str = "IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:77 \
    UDP: 2001:db8::2 -> 2001:db8:1::2 UDP: 1234 -> 2345 incrementing 30";
/// A frame that is no IP.
pub const OTHER: &str = "hex 0x0200000000770200000000011234 incrementing 50";
/// A datagram for the router.
pub const US4: &str = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    UDP: 10.0.0.2 -> 10.0.0.1 UDP: 1234 -> 2345 incrementing 30";
/// The same of IPv6.
pub const US6: &str = "IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    UDP: 2001:db8::2 -> 2001:db8::1 UDP: 1234 -> 2345 incrementing 30";
/// A protocol that the router does not know.
pub const ODD4: &str = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    200: 10.0.0.2 -> 10.0.0.1 incrementing 30";
/// The same of IPv6.
pub const ODD6: &str = "IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    200: 2001:db8::2 -> 2001:db8::1 incrementing 30";

/// IPv4 for others, for this router, for groups, in fragments.
const IP4: &[&str] = &[
    "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 10.0.1.2 fragment offset 100 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 10.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 127.0.0.2 -> 10.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 10.0.0.1 fragment offset 8192 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 224.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "TCP: 10.0.0.2 -> 10.0.0.1 TCP: 1234 -> 2345 SYN incrementing 30",
    "TCP: 10.0.0.2 -> 10.0.1.2 TCP: 1234 -> 2345 SYN incrementing 30",
    "ICMP: 10.0.0.2 -> 10.0.0.1 ICMP echo_request incrementing 20",
    "UDP: 10.0.0.2 -> 16.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 17.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 18.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 19.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 20.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 21.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 232.0.0.1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 224.0.0.77 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 1400",
    "UDP: 10.0.0.2 -> 10.0.1.2 fragment offset 16384 UDP: 1234 -> 2345 incrementing 1400",
];

/// The same of IPv6, with other headers, and routers' messages.
const IP6: &[&str] = &[
    "UDP: 2001:db8::2 -> 2001:db8:1::2 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> 2001:db8::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> ::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> ff02::1 UDP: 1234 -> 2345 incrementing 30",
    "TCP: 2001:db8::2 -> 2001:db8::1 TCP: 1234 -> 2345 SYN incrementing 30",
    "ICMP: 2001:db8::2 -> 2001:db8::1 ICMP echo_request incrementing 20",
    "UDP: 2001:db8::2 -> 2001:db8:f::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> 2001:db8:e::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> 2001:db8:d::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> 2001:db8:c::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> ff3e::1 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> ff02::77 UDP: 1234 -> 2345 incrementing 30",
    "UDP: 2001:db8::2 -> 2001:db8:1::2 UDP: 1234 -> 2345 incrementing 1400",
    // A fragment, and a header of options.
    "44: 2001:db8::2 -> 2001:db8::1 hex 0x1100000100000007 incrementing 32",
    "0: 2001:db8::2 -> 2001:db8::1 hex 0x1100050200000000 incrementing 32",
    // A router's solicitation and advertisement, hosts' ones with an option.
    "ICMP: fe80::2 -> ff02::2 ttl 255 ICMP 133 hex 0x000000000101020000000001",
    "ICMP: fe80::2 -> ff02::1 ttl 255 ICMP 134 hex 0x4000070800000000000000000101020000000001",
];

/// Packets received on `pg0`.
pub fn received() -> Vec<Vec<u8>> {
    let mut all: Vec<_> =
        IP4.iter().map(|words| packet(&format!("IP4: {TO_US} {words}"))).collect();
    all.extend(IP6.iter().map(|words| packet(&format!("IP6: {TO_US} {words}"))));
    all.extend(tunnelled());
    all.extend(layer2());
    all
}

/// An IPv4 packet, from its header on, in digits.
pub fn inner4() -> String {
    hex(&format!("IP4: {TO_US} UDP: 10.0.9.2 -> 10.0.1.2 UDP: 1 -> 2 incrementing 8"), 14)
}

/// The same of IPv6.
pub fn inner6() -> String {
    let ends = "2001:db8:9::2 -> 2001:db8:1::2";
    hex(&format!("IP6: {TO_US} UDP: {ends} UDP: 1 -> 2 incrementing 8"), 14)
}

/// Packets in tunnels from a far end to this router, behind labels, and quoted in an error.
pub fn tunnelled() -> Vec<Vec<u8>> {
    let (inner, inner6) = (inner4(), inner6());
    let frame = format!("0200000000aa0200000000010800{inner}");
    let mut all = Vec::new();
    for (protocol, rest) in [
        ("GRE", format!("hex 0x00000800{inner}")),
        ("GRE", format!("hex 0x000086dd{inner6}")),
        ("GRE", format!("hex 0x00006558{frame}")),
        ("GRE", format!("hex 0x00008847000010ff00001140{inner}")),
        ("4", format!("hex 0x{inner}")),
        ("41", format!("hex 0x{inner6}")),
        ("137", format!("hex 0x00064140{inner}")),
        ("UDP", format!("UDP: 4789 -> 4789 hex 0x0800000000000700{frame}")),
        ("UDP", format!("UDP: 6635 -> 6635 hex 0x00064140{inner}")),
    ] {
        all.push(packet(&format!("IP4: {TO_US} {protocol}: 20.0.0.1 -> 10.0.0.1 {rest}")));
        let ends = "2001:db8:20::1 -> 2001:db8::1";
        all.push(packet(&format!("IP6: {TO_US} {protocol}: {ends} {rest}")));
    }
    let quoted = format!("hex 0x00000000{inner}");
    all.push(packet(&format!("IP4: {TO_US} ICMP: 10.0.0.2 -> 10.0.0.1 ICMP 3 {quoted}")));
    for tag in ["vlan 7", ""] {
        all.push(packet(&format!("MPLS: {TO_US} {tag} hex 0x00064140{inner}")));
        all.push(packet(&format!("MPLS: {TO_US} {tag} hex 0x0006504000065140{inner}")));
    }
    all
}

/// ARP, neighbor discovery, logical links, and unknown types.
pub fn layer2() -> Vec<Vec<u8>> {
    let mut all = vec![
        whole::bytes(whole::request(HOST, "10.0.0.2", "10.0.0.1")),
        whole::bytes(whole::request(HOST, "10.0.0.2", "10.0.0.9")),
        whole::bytes(whole::request(HOST, "10.0.0.2", "0.0.0.0")),
        whole::bytes(whole::request(HOST, "10.0.0.2", "10.0.0.2")),
        whole::bytes(whole::request(HOST, "10.0.0.1", "10.0.0.1")),
        whole::bytes(whole::request(HOST, "10.0.7.2", "10.0.0.1")),
        whole::bytes(whole::reply(HOST, "10.0.0.2", PG0, "10.0.0.1")),
        whole::summed(&whole::solicitation("2001:db8::2", "2001:db8::1"), 0),
        whole::summed(&whole::solicitation("2001:db8::2", "2001:db8::9"), 0),
        whole::summed(&whole::solicitation("2001:db8:7::2", "2001:db8::1"), 0),
    ];
    // Lengths instead of types: OSI's protocols, a header that tells more of them, another one.
    for rest in ["fefe0383", "aaaa03000000080045", "aaaa0300000c0105", "424203000000"] {
        let length = format!("{:04x}", rest.len() / 2);
        all.push(packet(&format!("hex 0x0200000000aa020000000001{length}{rest} incrementing 40")));
    }
    for kind in
        ["1234", "8100000708", "810000078100000b0800", "88a800078100000b0800", "81000fff86dd"]
    {
        all.push(packet(&format!("hex 0x0200000000aa020000000001{kind} incrementing 60")));
    }
    all
}
