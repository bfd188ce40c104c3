//! Adjacencies beyond plain neighbours: into a tunnel, and to next hops of the other family.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use graph::testing::Caught;
use graph::{Buffer, Flags};
use wire::upper::Upper;
use wire::{MacAddr, Protocol, ip4, ip6, tcp, udp};
use zerocopy::{FromBytes, IntoBytes};

use super::chain::Fixup;
use super::*;
use crate::fib::{Ip4, TableIndex};
use crate::ip::testing::packets;
use crate::ip::{Chain, Encapsulation};
use crate::testing::Rig;
use crate::{address, fib, icmp, ip4 as ip4_nodes, ip6 as ip6_nodes, mfib, neighbor};

/// IP in IP, from `10.0.0.1` or `2001:db8::1` to the far end.
struct InIp {
    far: IpAddr,
}

impl Encapsulation for InIp {
    fn chain(&self, link: Link, _: IpAddr) -> Option<Chain> {
        let carried = if link == Link::Ip4 { Protocol::IP4 } else { Protocol::IP6 };
        let (header, fixup): (Box<[u8]>, _) = match self.far {
            IpAddr::V4(far) => {
                let outer = ip4::Header::new(Ipv4Addr::new(10, 0, 0, 1), far, carried, 0);
                (outer.as_bytes().into(), Fixup::Ip4)
            }
            IpAddr::V6(far) => {
                let own = "2001:db8::1".parse::<Ipv6Addr>().unwrap();
                (ip6::Header::new(own, far, carried, 0).as_bytes().into(), Fixup::Ip6)
            }
        };
        let carries_offloads = true;
        Some(Chain { header, fixup, carries_offloads, to: (TableIndex::DEFAULT, self.far).into() })
    }
}

/// `pg0` to `pg2` with networks, neighbours 10.0.N.2 and 2001:db8:N::2, and the tunnel `t0`.
fn bench(far: &str) -> Rig {
    let all = [
        fib::FEATURE,
        address::FEATURE,
        ip4_nodes::FEATURE,
        ip6_nodes::FEATURE,
        icmp::FEATURE,
        neighbor::FEATURE,
        mfib::FEATURE,
    ];
    let mut b = Rig::new(&all);
    b.add_networks(3);
    for n in 0..3 {
        b.neighbor(&format!("pg{n}"), &format!("10.0.{n}.2"));
        b.neighbor(&format!("pg{n}"), &format!("2001:db8:{n}::2"));
    }
    b.add_interface("t0", Kind::Ip, 0);
    let (t0, far) = (b.interface("t0"), far.parse().unwrap());
    b.control(|r| r.encapsulate(t0, Rc::new(InIp { far })));
    b
}

/// The interface that a packet to `dst` leaves by, and its bytes from the outer IP header on.
fn sent(b: &mut Rig, dst: &str) -> Vec<(String, Vec<u8>)> {
    let packet = match dst.parse().unwrap() {
        IpAddr::V4(_) => ("ip4-lookup", packets::udp4("9.9.9.9", dst, 7, b"data")),
        IpAddr::V6(_) => ("ip6-lookup", packets::udp6("2a00::9", dst, 7, b"data")),
    };
    b.graph.run(); // what interfaces say of themselves when they come up
    let out = b.graph.send(packet.0, &[packet.1], |_| ());
    let name = |c: &Caught| b.router.interfaces.name(c.tx).to_owned();
    let out = out.iter().filter(|c| c.at != "error-drop").map(|c| {
        assert_eq!(c.error, "", "{}", c.at);
        (name(c), c.bytes[14..].to_vec())
    });
    out.collect()
}

fn tx(b: &Rig, name: &str) -> u64 {
    b.router.interfaces.counters().tx.sum(b.interface(name).0 as usize).packets
}

#[test]
fn a_tunnel_puts_its_header_in_front_and_follows_the_route_to_its_far_end() {
    let mut b = bench("20.0.0.1");
    b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1\nip route add 30.0.0.0/8 via t0");
    b.set("ip route add 2001:dead::/32 via t0");
    for (dst, inner_len, inner) in [("30.1.1.1", 32, 4), ("2001:dead::1", 52, 6)] {
        let out = sent(&mut b, dst);
        assert_eq!(out.len(), 1);
        let (name, bytes) = &out[0];
        let (outer, rest) = ip4::Header::ref_from_prefix(bytes).unwrap();
        assert_eq!((name.as_str(), rest.len()), ("pg1", inner_len));
        assert!(outer.is_checksum_valid() && outer.total_len.get() == 20 + inner_len as u16);
        assert_eq!((outer.dst, rest[0] >> 4), ([20, 0, 0, 1], inner));
        // A hop less of what is carried; the outer header is made here.
        assert_eq!((rest[if inner == 4 { 8 } else { 7 }], outer.ttl), (63, 64));
    }
    assert_eq!(tx(&b, "t0"), 2);
    // The route to the far end moves: the tunnel does with it, and its routes are not touched.
    b.set("ip route add 20.0.0.1/32 via 10.0.2.2 pg2");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2");
    b.set("ip route del 20.0.0.1/32");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg1");
    // The far end has several paths.
    b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1 via 10.0.2.2 pg2");
    assert_eq!(sent(&mut b, "30.1.1.1").len(), 1);
    let summary = b.run("show adj summary");
    assert!(summary.ends_with("\nPer-adjacency counters: disabled\n"), "{summary}");
    let shown = b.run("show adj");
    assert!(shown.contains("ipv4 via 0.0.0.0 t0: mtu:9000 next:"), "{shown}");
    assert!(shown.contains("stacked-on entry:"), "{shown}");
    let shown = b.run("show ip fib 30.0.0.0/8");
    assert!(shown.contains("[@6]: ipv4 via 0.0.0.0 t0: "), "{shown}");
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn routes_over_a_tunnel_without_a_way_to_its_far_end_are_not_used() {
    let mut b = bench("20.0.0.1");
    b.set("ip route add 30.0.0.0/8 via t0 via 10.0.2.2 pg2 preference 1");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2", "the backup");
    b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg1");
    b.set("set interface state pg1 down");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2", "the interface below is down");
    b.set("set interface state pg1 up");
    b.set("set interface state t0 down");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2", "the tunnel is down");
    b.set("set interface state t0 up");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg1");
    // The far end behind the tunnel itself: a loop.
    b.set("ip route add 20.0.0.1/32 via t0");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2", "the far end is behind the tunnel");
    b.set("ip route del 20.0.0.1/32 via t0");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg1");
    // A default route over the tunnel does not swallow the tunnel.
    b.set("ip route del 20.0.0.0/8\nip route add 0.0.0.0/0 via t0");
    assert_eq!(sent(&mut b, "30.1.1.1")[0].0, "pg2");
}

#[test]
fn a_tunnel_leads_somewhere_else_when_told_and_leaves_nothing_behind() {
    let mut b = bench("20.0.0.1");
    let before = b.in_use();
    b.set("ip route add 30.0.0.0/8 via t0\nip route add 20.0.0.0/8 via 10.0.1.2 pg1");
    b.set("ip route add 2a01::/16 via 2001:db8:2::2 pg2");
    let (t0, far) = (b.interface("t0"), "2a01::1".parse().unwrap());
    b.control(|r| r.encapsulate(t0, Rc::new(InIp { far })));
    let out = sent(&mut b, "30.1.1.1");
    let (outer, rest) = ip6::Header::ref_from_prefix(&out[0].1).unwrap();
    assert_eq!((out[0].0.as_str(), rest.len()), ("pg2", 32));
    assert_eq!((usize::from(outer.payload_len.get()), outer.next_header), (32, Protocol::IP4));
    b.set("ip route del 30.0.0.0/8\nip route del 20.0.0.0/8\nip route del 2a01::/16");
    assert_eq!(b.in_use(), before);
    b.set("ip route add 30.0.0.0/8 via t0");
    b.control(|r| r.remove_interface(t0));
    assert!(sent(&mut b, "30.1.1.1").is_empty());
    assert_eq!(b.in_use(), before);
}

#[test]
fn packets_too_big_for_a_tunnel_are_told_of() {
    let mut b = bench("20.0.0.1");
    b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1\nip route add 2001:dead::/32 via t0");
    b.set("ip route add 30.0.0.0/8 via t0\nset interface mtu ip6 1280 t0\nset interface mtu ip4 600 t0");
    b.graph.run();
    let asked = [("ip4-arp", "request_sent", 3), ("ip6-discover-neighbor", "request_sent", 3)];
    b.graph.expect_counters(&asked);
    let big = packets::udp6("2001:db8::2", "2001:dead::1", 7, &[0; 1300]);
    b.graph.send("ip6-lookup", &[big], |_| ());
    let answers = [("ip6-input", "mtu_exceeded", 1), ("ip6-icmp-error", "drop", 1)];
    b.graph.expect_counters(&answers); // no receive interface, so no answer
    let big = packets::udp4("9.9.9.9", "30.1.1.1", 7, &[0; 1300]);
    let out = b.graph.send("ip4-lookup", &[big], |_| ());
    assert_eq!(out[0].at, "ip4-frag");
}

/// A TCP or UDP packet with `len` bytes of data whose checksum is still to be completed.
fn unfinished(dst: &str, protocol: Protocol, seq: u32, len: usize) -> Vec<u8> {
    let data: Vec<u8> = (0..len).map(|at| (at + seq as usize) as u8).collect();
    let ack = tcp::Flags::ACK;
    let header = match protocol {
        Protocol::TCP => tcp::Header::new(1, 2, seq, 3, ack).as_bytes().to_vec(),
        _ => udp::Header::new(1, 2, 8 + len as u16).as_bytes().to_vec(),
    };
    let upper = [header, data].concat();
    let mut packet = match dst.parse().unwrap() {
        IpAddr::V4(_) => packets::ip4("9.9.9.9", dst, protocol, &upper),
        IpAddr::V6(_) => packets::ip6("2a00::9", dst, protocol, &upper),
    };
    let found = Upper::of(&packet).unwrap();
    let pseudo = found.pseudo(&packet, found.upper_len().unwrap()).unwrap().fold();
    let field = found.offset + if protocol == Protocol::TCP { 16 } else { 6 };
    packet[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
    packet
}

/// Says of a packet that starts with its IP header what a driver would.
fn describe(p: &mut Buffer<'_>, gso_size: u16) {
    let found = Upper::of(p.bytes()).unwrap();
    let at = p.offset();
    p.set_l3_offset(at);
    p.set_l4_offset(at + found.offset as i16);
    p.add_flags(Flags::L3.with(Flags::L4).with(Flags::CHECKSUM_TODO));
    if p.total_len() > found.offset + 20 + usize::from(gso_size) {
        p.set_gso_size(gso_size);
        p.add_flags(Flags::GSO);
    }
}

/// The data of a packet behind `outer` bytes of headers, whose checksum is to be right.
#[track_caller]
fn data(bytes: &[u8], outer: usize) -> Vec<u8> {
    let packet = &bytes[outer..];
    let found = Upper::of(packet).unwrap();
    let upper = &packet[found.offset..];
    assert_eq!(found.end, packet.len());
    assert!(found.pseudo(packet, upper.len()).unwrap().add_bytes(upper).is_valid());
    upper[if found.protocol == Protocol::TCP { 20 } else { 8 }..].to_vec()
}

#[test]
fn big_packets_are_cut_before_a_tunnel_and_stay_in_order() {
    for (far, dst, at, outer) in
        [("20.0.0.1", "30.1.1.1", "ip4-lookup", 20), ("2a01::1", "2001:dead::1", "ip6-lookup", 40)]
    {
        let mut b = bench(far);
        b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1 via 10.0.2.2 pg2");
        b.set("ip route add 2a01::/16 via 2001:db8:1::2 pg1 via 2001:db8:2::2 pg2");
        b.set("ip route add 30.0.0.0/8 via t0\nip route add 2001:dead::/32 via t0");
        b.graph.run();
        let mut taken = BTreeSet::new();
        for count in [1u32, 3, 4, 85] {
            // What was big, and what was small, of one connection.
            let stream: Vec<_> = (0..count)
                .flat_map(|n| [(n * 3000, 2900), (n * 3000 + 2900, 100)])
                .map(|(seq, len)| unfinished(dst, Protocol::TCP, seq, len))
                .collect();
            let before = tx(&b, "t0");
            let out = b.graph.send(at, &stream, move |p| {
                if p.total_len() > 1000 {
                    describe(p, 1000);
                } else {
                    finish(p);
                }
                // A lookup before has chosen among several paths, too.
                p.set_flow_hash(count);
                p.add_flags(Flags::HASH);
            });
            assert_eq!(out.len() as u32, 4 * count);
            assert_eq!(tx(&b, "t0") - before, 4 * u64::from(count));
            assert!(out.iter().all(|c| c.at == "sent" && c.tx == out[0].tx), "one path for all");
            taken.insert(out[0].tx);
            let lens: Vec<_> = out[..4].iter().map(|c| c.bytes.len() - 14 - 2 * outer).collect();
            assert_eq!(lens, [1020, 1020, 920, 120]);
            let all: Vec<u8> = out.iter().flat_map(|c| data(&c.bytes[14..], outer)).collect();
            let expected: Vec<u8> = (0..3000 * count).map(|at| at as u8).collect();
            assert!(all == expected, "the bytes in order");
            if outer == 20 {
                let is_right = |c: &Caught| {
                    let (ip, rest) = ip4::Header::ref_from_prefix(&c.bytes[14..]).unwrap();
                    ip.is_checksum_valid() && usize::from(ip.total_len.get()) == 20 + rest.len()
                };
                assert!(out.iter().all(is_right));
            }
            assert_eq!(b.graph.buffers_used(), 0);
        }
        assert_eq!(taken.len(), 2, "some take the one, some the other");
    }
}

/// Completes a packet.
fn finish(p: &mut Buffer<'_>) {
    describe(p, u16::MAX);
    crate::gso::complete(p).unwrap();
    p.set_flags(Flags::default());
}

#[test]
fn groups_are_reached_through_tunnels() {
    for (far, dst, at, outer) in [
        ("20.0.0.1", "232.1.1.1", "ip4-mfib-forward-lookup", 20),
        ("2a01::1", "ff35::1", "ip6-mfib-forward-lookup", 40),
    ] {
        let mut b = bench(far);
        b.set("ip route add 20.0.0.0/8 via 10.0.1.2 pg1");
        b.set("ip route add 2a01::/16 via 2001:db8:1::2 pg1");
        b.set(&format!("ip mroute add {dst} via pg0 Accept via t0 Forward via pg2 Forward"));
        b.graph.run();
        let pg0 = b.interface("pg0").0;
        // Whole, not complete, and in more than a buffer; with room for other headers in front.
        for (len, gso_size, cut) in
            [(10, 0, 1), (1000, u16::MAX, 1), (5000, u16::MAX, 1), (5000, 1000, 5)]
        {
            let packet = unfinished(dst, Protocol::UDP, 0, len);
            let out = b.graph.send(at, &[packet], move |p| {
                p.set_rx(pg0);
                if gso_size == 0 { finish(p) } else { describe(p, gso_size) }
            });
            for (name, outer) in [("pg1", outer), ("pg2", 0)] {
                let tx = b.interface(name).0;
                let there: Vec<_> = out.iter().filter(|c| c.tx == tx && c.at == "sent").collect();
                assert_eq!(there.len(), cut, "{name} {len} {gso_size}");
                let all = there.iter().flat_map(|c| data(&c.bytes[14..], outer));
                assert!(all.eq((0..len).map(|at| at as u8)), "{name} {len} {gso_size}");
            }
            assert_eq!(out.len(), 2 * cut);
            assert_eq!(b.graph.buffers_used(), 0);
        }
        assert_eq!(tx(&b, "t0"), 1 + 1 + 1 + 5);
    }
}

#[test]
fn ip4_goes_to_a_next_hop_known_by_its_ip6_address() {
    let mut b = bench("20.0.0.1");
    b.set("ip route add 40.0.0.0/8 via 2001:db8:1::77 pg1");
    b.graph.run();
    let out = b.graph.send("ip4-lookup", &[packets::udp4("9.9.9.9", "40.1.1.1", 7, b"")], |_| ());
    let asked = ip6::Header::ref_from_prefix(&out[0].bytes[14..]).unwrap().0;
    assert_eq!((out.len(), asked.version()), (1, 6), "it is solicited, the packet waits");
    let (pg1, addr) = (b.interface("pg1"), "2001:db8:1::77".parse().unwrap());
    let mac = MacAddr([2, 0, 0, 0, 0, 0x77]);
    b.control(|r| {
        r.set_neighbor((pg1, addr), mac, true, true).unwrap();
        neighbor::release(r);
    });
    let out = b.graph.run();
    assert_eq!(out.len(), 1, "and goes on");
    assert_eq!((&out[0].bytes[..6], &out[0].bytes[12..15]), (&mac.0[..], &[8, 0, 0x45][..]));
    assert_eq!(sent(&mut b, "40.1.1.1")[0].0, "pg1");
    let shown = b.run("show ip fib 40.0.0.0/8");
    assert!(shown.contains("ipv4 via 2001:db8:1::77 pg1: mtu:9000 next:"), "{shown}");
    b.set("ip route add 41.0.0.0/8 via 2001:db8:1::77");
    assert_eq!(sent(&mut b, "41.1.1.1")[0].0, "pg1", "a neighbour of a connected network");
    b.control(|r| r.remove_neighbor((pg1, addr)).unwrap());
    assert_eq!(b.router.fib.len::<Ip4>(TableIndex::DEFAULT), b.in_use()[3]);
    let index = b.router.adjacencies.of_neighbor(pg1, addr).next().unwrap();
    assert!(!b.router.adjacencies.at(index).unwrap().complete);
}
