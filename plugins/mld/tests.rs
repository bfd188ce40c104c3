//! Reports, when groups change and when routers ask.

use std::net::Ipv6Addr;

use graph::testing::Caught;
use net::nd::ALL_NODES;
use net::testing::whole::{Bench, HOST, PG0};
use wire::mld::{HOP_BY_HOP, REPORTS, Version1};
use wire::{MacAddr, Protocol, checksum, ethernet, icmp6, ip6};
use zerocopy::IntoBytes;

const MEMBER: &str = "ff02::1:ff00:5";
const NONE: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[mld::FEATURE]);
    b.cli("set interface ip address pg0 2001:db8:9::5/64");
    b
}

/// The frames among these that are reports.
fn reports(caught: Vec<Caught>) -> Vec<Caught> {
    caught.into_iter().filter(|c| c.bytes[20] == 0).collect()
}

/// A query to `pg0`: `code` is how long answers may wait; `more` follows what versions share.
fn query(src: &str, hops: u8, options: &[u8], group: Ipv6Addr, code: u16, more: &[u8]) -> Vec<u8> {
    let dst = if group == NONE { ALL_NODES } else { group };
    let head = Version1 {
        icmp: icmp6::Header::new(icmp6::Type::MULTICAST_LISTENER_QUERY, 0),
        max_response: code.into(),
        reserved: 0.into(),
        group: group.octets(),
    };
    let mut message = [head.as_bytes(), more].concat();
    let (first, len) = if options.is_empty() { (58, 0) } else { (0, options.len()) };
    let len = len + message.len();
    let mut ip = ip6::Header::new(src.parse().unwrap(), dst, Protocol(first), len as u16);
    ip.hop_limit = hops;
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, message.len() as u32);
    let sum = pseudo.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let to = MacAddr::for_ip6_group(dst);
    let ethernet = ethernet::Header::new(to, HOST, ethernet::EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), options, &message].concat()
}

fn good(group: Ipv6Addr, code: u16, more: &[u8]) -> Vec<u8> {
    query("fe80::1", 1, &HOP_BY_HOP, group, code, more)
}

/// The records of a report of version 2, which is right in every respect.
fn records(caught: &Caught) -> Vec<(u8, Ipv6Addr)> {
    let bytes = &caught.bytes;
    assert_eq!((&bytes[..2], &bytes[6..12]), (&[0x33, 0x33][..], &PG0.0[..]));
    assert_eq!((bytes[21], &bytes[54..62]), (1, &HOP_BY_HOP[..]));
    let ip = ip6::Header::new("fe80::ff:fe00:aa".parse().unwrap(), REPORTS, Protocol(0), 0);
    let message = &bytes[62..];
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, message.len() as u32);
    assert!(pseudo.add_bytes(message).is_valid());
    assert_eq!((message[0], usize::from(message[7])), (143, (message.len() - 8) / 20));
    let group = |r: &[u8]| Ipv6Addr::from(<[u8; 16]>::try_from(&r[4..]).unwrap());
    message[8..].chunks(20).map(|r| (r[0], group(r))).collect()
}

#[test]
fn a_report_names_all_groups_but_all_nodes() {
    let mut b = bench();
    let out = reports(b.wait(0.0));
    assert_eq!(out.len(), 1);
    let joined = records(&out[0]);
    assert_eq!(joined.len(), 5);
    assert!(joined.iter().all(|(said, group)| *said == 4 && *group != ALL_NODES));
    let member = MEMBER.parse().unwrap();
    assert_eq!(joined[4].1, member);
    b.cli("set interface ip address del pg0 2001:db8:9::5/64");
    let out = b.wait(0.0);
    assert_eq!((records(&out[0]).len(), records(&out[0])[4]), (5, (3, member)));
}

#[test]
fn a_report_of_a_strict_interface_names_all_nodes_too() {
    let mut b = Bench::plugged(&[mld::FEATURE]);
    let pg0 = b.pg0;
    b.control(|router, _| router.put(pg0, net::neighbor::Strict(true))).unwrap();
    b.cli("set interface ip address pg0 2001:db8:9::5/64");
    let out = reports(b.wait(0.0));
    let joined = records(&out[0]);
    assert_eq!((joined.len(), joined[0]), (6, (4, ALL_NODES)));
}

#[test]
fn more_groups_than_a_packet_holds_are_told_in_several() {
    let mut b = Bench::plugged(&[mld::FEATURE]);
    for n in 0..70 {
        b.cli(&format!("set interface ip address pg0 2001:db8:9::{n:x}/64"));
    }
    let last = reports(b.wait(0.0));
    let told: Vec<_> = last.iter().rev().take(2).flat_map(records).collect();
    assert_eq!(told.len(), 73);
    assert!(last.iter().all(|c| c.bytes.len() <= 1280 + 14));
}

#[test]
fn who_asks_is_answered_once_within_the_time_given() {
    let member: Ipv6Addr = MEMBER.parse().unwrap();
    let mut b = bench();
    b.wait(0.0);
    let pg0 = b.pg0;
    assert!(b.receive(pg0, &[good(NONE, 10_000, &[0; 4])]).is_empty(), "not at once");
    b.receive(pg0, &[good(NONE, 10_000, &[0; 4])]);
    let out = b.wait(10.5);
    assert_eq!(out.len(), 1);
    let told = records(&out[0]);
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|(said, group)| *said == 2 && *group != ALL_NODES));
    // One group, and one of whose members we are none.
    b.receive(pg0, &[good(member, 1000, &[0; 4])]);
    let out = b.wait(1.5);
    assert_eq!(out.iter().map(records).collect::<Vec<_>>(), [[(2, member)]]);
    b.receive(pg0, &[good("ff02::1:ff00:77".parse().unwrap(), 100, &[0; 4])]);
    b.receive(pg0, &[good(ALL_NODES, 100, &[0; 4])]);
    assert!(b.wait(1.0).is_empty());
    // What must be answered sooner takes what waits along.
    b.receive(pg0, &[good(NONE, 0xffff, &[0; 4]), good(member, 0, &[0; 4])]);
    assert_eq!(records(&b.wait(0.25)[0]).len(), 5);
    assert!(b.wait(60.0).is_empty());
}

#[test]
fn an_old_router_is_answered_in_its_version() {
    let mut b = bench();
    b.wait(0.0);
    let pg0 = b.pg0;
    b.receive(pg0, &[good(NONE, 1000, &[])]);
    let out = b.wait(1.5);
    assert_eq!(out.len(), 5);
    for c in out {
        let (group, message) = (&c.bytes[38..54], &c.bytes[62..]);
        assert_eq!((message[0], &message[8..], message.len()), (131, group, 24));
    }
}

#[test]
fn only_neighbours_may_ask() {
    let mut b = bench();
    b.wait(0.0);
    let pg0 = b.pg0;
    for (wrong, why) in [
        (query("fe80::1", 64, &HOP_BY_HOP, NONE, 0, &[0; 4]), "invalid_hop_limit_for_type"),
        (query("2001:db8::2", 1, &HOP_BY_HOP, NONE, 0, &[0; 4]), "drop"),
        (query("fe80::1", 1, &[], NONE, 0, &[0; 4]), "drop"),
    ] {
        b.graph.expect_counters(&[]);
        assert!(b.receive(pg0, &[wrong]).is_empty());
        b.graph.expect_counters(&[("ip6-icmp-input", why, 1)]);
    }
    assert!(b.wait(0.25).is_empty());
}
