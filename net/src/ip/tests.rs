use std::net::IpAddr;

use graph::{Buffer, Continue, Flags, Frame, Node};
use wire::{MacAddr, Protocol, icmp6};
use zerocopy::IntoBytes;

use super::testing::packets::{self, *};
use super::testing::{Bench, NEIGHBOR};
use super::{DropPacket, Error, V4};
use crate::adjacency::Role;
use crate::fib::{Ip4, Path, Source, Target};
use crate::interface::Mtu;
use crate::ip4;

fn frame(dst: MacAddr, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mac = [2, 0, 0, 0, 0, 0xaa];
    [dst.as_bytes(), &mac, &ethertype.to_be_bytes(), packet].concat()
}

#[test]
fn packets_are_sent_with_one_hop_less() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = Bench::new();
        let over4 = bench.neighbor("10.0.1.2", true).0;
        let over6 = bench.neighbor("2001:db8:1::2", true).0;
        let packet4 = udp4(HOST4, "16.0.0.1", 1, &[]);
        let packet6 = udp6(HOST6, "2001:db8:ff::1", 1, &[]);
        let sent4 = bench.send_as("ip4-rewrite", &vec![packet4.clone(); n], move |p| {
            p.set_adjacency(over4);
        });
        let sent6 = bench.send_as("ip6-rewrite", &vec![packet6.clone(); n], move |p| {
            p.set_adjacency(over6);
        });
        let lower4 = changed4(packet4, |h| h.ttl = 63);
        let lower6 = changed6(packet6, |h| h.hop_limit = 63);
        assert_eq!((sent4.len(), sent6.len()), (n, n));
        assert!(sent4.iter().all(|c| c.bytes == frame(NEIGHBOR, 0x0800, &lower4)));
        assert!(sent6.iter().all(|c| c.bytes == frame(NEIGHBOR, 0x86dd, &lower6)));
        assert!(sent4.iter().all(|c| c.at == "sent" && c.tx == bench.pg1.0));
        bench.expect(&[]);
    }
}

#[test]
fn the_last_hop_is_told_but_ours_go_out() {
    let mut bench = Bench::new();
    let over4 = bench.neighbor("10.0.1.2", true).0;
    let over6 = bench.neighbor("2001:db8:1::2", true).0;
    for hops in [0, 1] {
        let packet4 = changed4(udp4(HOST4, "16.0.0.1", 1, &[]), |h| h.ttl = hops);
        let packet6 = changed6(udp6(HOST6, "2001:db8:ff::1", 1, &[]), |h| h.hop_limit = hops);
        let out = bench.send_as("ip4-rewrite", std::slice::from_ref(&packet4), move |p| {
            p.set_adjacency(over4);
        });
        let spent4 = changed4(packet4.clone(), |h| h.ttl = 0);
        assert_eq!((&out[0].bytes[20..22], &out[0].bytes[28..]), (&[11, 0][..], &spent4[..]));
        let out = bench.send_as("ip6-rewrite", std::slice::from_ref(&packet6), move |p| {
            p.set_adjacency(over6);
        });
        let spent6 = changed6(packet6.clone(), |h| h.hop_limit = 0);
        assert_eq!((out[0].bytes[40], &out[0].bytes[48..]), (3, &spent6[..]));
        bench.expect(&[
            ("ip4-input", "time_expired", 1),
            ("ip6-input", "time_expired", 1),
            ("ip4-icmp-error", "ttl_expire_sent", 1),
            ("ip6-icmp-error", "ttl_expire_sent", 1),
        ]);
        let ours = bench.send_as("ip4-rewrite", std::slice::from_ref(&packet4), move |p| {
            p.set_adjacency(over4);
            p.add_flags(Flags::LOCAL);
        });
        assert_eq!(ours[0].bytes, frame(NEIGHBOR, 0x0800, &packet4));
        bench.expect(&[]);
    }
}

#[test]
fn what_does_not_fit_is_told_or_dropped() {
    let mut bench = Bench::new();
    let over4 = bench.neighbor("10.0.1.2", true).0;
    let over6 = bench.neighbor("2001:db8:1::2", true).0;
    let pg1 = bench.pg1;
    bench.control(|r| r.set_mtu(pg1, Mtu { l3: 1300, ip4: 0, ip6: 0, mpls: 0 }));
    let fits = changed4(udp4(HOST4, "16.0.0.1", 1, &[0; 1272]), |h| h.fragment = 0x4000.into());
    let big = changed4(udp4(HOST4, "16.0.0.1", 1, &[0; 1273]), |h| h.fragment = 0x4000.into());
    let out = bench.send_as("ip4-rewrite", &[fits, big], move |p| {
        p.set_adjacency(over4);
    });
    let [error, sent] = &out[..] else { panic!("{out:?}") };
    assert_eq!(error.bytes[36], 64, "what came is quoted");
    assert_eq!((sent.at.as_str(), sent.bytes.len()), ("sent", 1314));
    assert_eq!((&error.bytes[20..22], &error.bytes[26..28]), (&[3, 4][..], &[5, 20][..]));
    assert_eq!(error.bytes.len(), 576);
    bench.expect(&[("ip4-input", "mtu_exceeded", 1), ("ip4-icmp-error", "dest_unreach_sent", 1)]);
    let big = udp6(HOST6, "2001:db8:ff::1", 1, &[0; 1253]);
    let out = bench.send_as("ip6-rewrite", &[big], move |p| p.set_adjacency(over6));
    assert_eq!((&out[0].bytes[40..42], &out[0].bytes[44..48]), (&[2, 0][..], &[0, 0, 5, 20][..]));
    assert_eq!(out[0].bytes.len(), 1280);
    assert_eq!(out[0].bytes[55], 63, "what would have been sent is quoted");
    bench.expect(&[("ip6-input", "mtu_exceeded", 1), ("ip6-icmp-error", "packet_too_big_sent", 1)]);
}

#[test]
fn segments_of_a_big_packet_are_what_must_fit() {
    let mut bench = Bench::new();
    let over = bench.neighbor("10.0.1.2", true).0;
    let pg1 = bench.pg1;
    bench.control(|r| r.set_mtu(pg1, Mtu { l3: 1000, ip4: 0, ip6: 0, mpls: 0 }));
    let mut tcp = [0; 20];
    tcp[12] = 5 << 4;
    let packet = ip4(HOST4, "16.0.0.1", Protocol::TCP, &[&tcp[..], &[0; 1900]].concat());
    let cut_to = |size| {
        move |p: &mut Buffer<'_>| {
            let l3 = p.offset();
            p.set_adjacency(over);
            p.set_l3_offset(l3);
            p.set_l4_offset(l3 + 20);
            p.add_flags(Flags::GSO.with(Flags::CHECKSUM_TODO).with(Flags::L3).with(Flags::L4));
            p.set_gso_size(size);
        }
    };
    let out = bench.send_as("ip4-rewrite", &[packet.clone(), packet.clone()], cut_to(960));
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|p| p.bytes.len() == 14 + packet.len() && p.flags.has(Flags::GSO)));
    bench.expect(&[]);
    // Else the whole is cut into fragments, its checksum completed.
    let out = bench.send_as("ip4-rewrite", std::slice::from_ref(&packet), cut_to(961));
    assert_eq!(out.iter().map(|p| p.bytes.len()).collect::<Vec<_>>(), [14 + 996, 14 + 964]);
    assert!(!out[0].flags.has(Flags::GSO.with(Flags::CHECKSUM_TODO)));
    let sum = wire::checksum::Sum::ZERO.add_bytes(&out[0].bytes[34..]);
    assert!(sum.add_bytes(&out[1].bytes[34..]).is_valid());
    bench.expect(&[("ip4-frag", "fragment_sent", 2)]);
    let packet = changed4(packet, |h| h.fragment = wire::ip4::DONT_FRAGMENT.into());
    let out = bench.send_as("ip4-rewrite", &[packet], cut_to(961));
    assert_eq!((out.len(), out[0].bytes[20..22].to_vec()), (1, vec![3, 4]));
    assert_eq!(out[0].bytes[26..28], [3, 232], "the MTU");
    bench.expect(&[("ip4-input", "mtu_exceeded", 1), ("ip4-icmp-error", "dest_unreach_sent", 1)]);
}

#[test]
fn unknown_neighbors_are_asked_for_and_lost_adjacencies_drop() {
    let mut bench = Bench::new();
    let (over4, over6) = (bench.neighbor("10.0.1.3", false).0, bench.neighbor("fe80::3", false).0);
    let packet = changed4(udp4(HOST4, "16.0.0.1", 1, &[]), |h| h.ttl = 1);
    let out = bench.send_as("ip4-rewrite", std::slice::from_ref(&packet), move |p| {
        p.set_adjacency(over4);
    });
    assert_eq!((out[0].at.as_str(), &out[0].bytes), ("ip4-arp", &packet), "untouched");
    let packet = udp6(HOST6, "2001:db8:ff::1", 1, &[]);
    let out = bench.send_as("ip6-rewrite", &[packet], move |p| p.set_adjacency(over6));
    assert_eq!(out[0].at, "ip6-discover-neighbor");
    bench.expect(&[]);
    let packet = udp4(HOST4, "16.0.0.1", 1, &[]);
    assert!(bench.send_as("ip4-rewrite", &[packet], |p| p.set_adjacency(999)).is_empty());
    bench.expect(&[("ip4-input", "drop", 1)]);
}

#[test]
fn groups_have_an_address_of_their_own() {
    let mut bench = Bench::new();
    let pg1 = bench.pg1;
    let over = |bench: &mut Bench, any: &str| {
        let any: IpAddr = any.parse().unwrap();
        bench.control(|r| r.use_adjacency(pg1, Role::Multicast, any).unwrap().0)
    };
    let (over4, over6) = (over(&mut bench, "0.0.0.0"), over(&mut bench, "::"));
    let packet4 = udp4(HOST4, "239.129.2.3", 1, &[]);
    let packet6 = udp6(HOST6, "ff0e::1:2", 1, &[]);
    let out4 = bench
        .send_as("ip4-rewrite", std::slice::from_ref(&packet4), move |p| p.set_adjacency(over4));
    let out6 = bench
        .send_as("ip6-rewrite", std::slice::from_ref(&packet6), move |p| p.set_adjacency(over6));
    let mac4 = MacAddr([1, 0, 0x5e, 1, 2, 3]);
    let mac6 = MacAddr([0x33, 0x33, 0, 1, 0, 2]);
    let lower4 = changed4(packet4, |h| h.ttl = 63);
    let lower6 = changed6(packet6, |h| h.hop_limit = 63);
    assert_eq!(out4[0].bytes, frame(mac4, 0x0800, &lower4));
    assert_eq!(out6[0].bytes, frame(mac6, 0x86dd, &lower6));
    assert_eq!((out4[0].at.as_str(), out4[0].tx), ("sent", pg1.0));
    bench.expect(&[]);
}

#[test]
fn udp_goes_to_who_listens() {
    let mut bench = Bench::new();
    bench.control(|r| {
        r.engine.add_named("listener", DropPacket(V4)).unwrap();
        r.udp4_port(4789, "listener").unwrap();
        let again = r.udp4_port(4789, "ip4-drop");
        assert_eq!(again, Err(Error::Taken { at: "ip4-udp-lookup", number: 4789 }));
        assert!(matches!(r.udp6_port(1, "nobody"), Err(Error::Graph(_))));
    });
    let heard = udp4(HOST4, "10.0.0.1", 4789, b"data");
    let other = udp4(HOST4, "10.0.0.1", 4788, b"data");
    let out = bench.send("ip4-receive", &[heard, other.clone()]);
    assert_eq!(out.len(), 1);
    assert_eq!((&out[0].bytes[20..22], &out[0].bytes[28..]), (&[3, 3][..], &other[..]));
    bench.expect(&[
        ("null-node", "blackholed packets", 1), // the listener's end
        ("ip4-udp-lookup", "no_listener", 1),
        ("ip4-icmp-error", "dest_unreach_sent", 1),
    ]);
    assert_eq!(bench.router.interfaces.values(bench.pg0).drops, 1);
    let out = bench.send("ip6-receive", &[udp6(HOST6, "2001:db8::1", 1, &[])]);
    assert_eq!(out[0].bytes[40..42], [1, 4]);
}

#[test]
fn what_is_for_us_is_checked() {
    let mut bad_udp = udp4(HOST4, "10.0.0.1", 53, &[1; 9]);
    bad_udp[27] ^= 1;
    let mut long = udp4(HOST4, "10.0.0.1", 53, &[]);
    long[25] = 9;
    let mut short = udp4(HOST4, "10.0.0.1", 53, &[]);
    short[25] = 7;
    let cases = [
        ("udp_checksum", bad_udp),
        ("udp_length", long),
        ("udp_length", short),
        ("udp_length", ip4(HOST4, "10.0.0.1", Protocol::UDP, &[0; 7])),
        ("tcp_checksum", ip4(HOST4, "10.0.0.1", Protocol::TCP, &[0; 20])),
    ];
    for (counter, packet) in cases {
        let mut bench = Bench::new();
        assert!(bench.send("ip4-receive", &[packet]).is_empty());
        bench.expect(&[("ip4-local", counter, 1)]);
    }
}

/// A router that takes UDP port 1, and packets to `198.51.100.0/24` in another's place.
fn stand_in() -> Bench {
    let mut bench = Bench::new();
    let pg1 = bench.pg1;
    bench.control(|r| {
        r.engine.add_named("listener", DropPacket(V4)).unwrap();
        r.udp4_port(1, "listener").unwrap();
        r.udp6_port(1, "listener").unwrap();
        let target = Target::Receive { interface: Some(pg1), addr: None };
        let (table, prefix) = (r.fib.table::<Ip4>(0).unwrap(), "198.51.100.0/24".parse().unwrap());
        r.set_route(table, prefix, Source::PROXY, &[Path::to(target)]).unwrap();
    });
    bench
}

#[test]
fn what_is_for_us_comes_from_others_whom_a_route_leads_back_to() {
    const GOOD: (&str, &str) = ("null-node", "blackholed packets"); // the listener's end
    const SPOOFED: (&str, &str) = ("ip4-local", "spoofed_local_packets");
    const NOWHERE4: (&str, &str) = ("ip4-local", "src_lookup_miss");
    const NOWHERE6: (&str, &str) = ("ip6-input", "src_lookup_miss");
    for (src, dst, (node, counter)) in [
        (HOST4, "10.0.0.1", GOOD),
        ("10.0.1.77", "10.0.0.1", GOOD),
        ("10.0.0.1", "10.0.0.1", SPOOFED),
        ("10.0.1.1", "10.0.0.1", SPOOFED),
        ("198.51.100.1", "10.0.0.1", GOOD),
        ("192.0.2.1", "10.0.0.1", NOWHERE4),
        ("0.0.0.0", "10.0.0.1", NOWHERE4),
        ("0.0.0.0", "255.255.255.255", GOOD),
        ("192.0.2.1", "224.0.0.9", GOOD),
        ("127.0.0.1", "224.0.0.9", NOWHERE4),
        ("ff02::1", "ff02::9", NOWHERE6),
        (HOST6, "2001:db8::1", GOOD),
        ("2001:db8::1", "2001:db8::1", NOWHERE6),
        ("2a00::1", "2001:db8::1", NOWHERE6),
        ("2a00::1", "ff02::9", GOOD),
        ("fe80::1", "2001:db8::1", GOOD),
    ] {
        let (packet, at) = match src.contains(':') {
            true => (udp6(src, dst, 1, &[]), "ip6-receive"),
            false => (udp4(src, dst, 1, &[]), "ip4-receive"),
        };
        let mut bench = stand_in();
        for n in [1, 3, 4, 255, 256] {
            bench.send(at, &vec![packet.clone(); n]);
            bench.expect(&[(node, counter, n as u64)]);
        }
        bench.send_as(at, &[packet], |p| p.add_flags(Flags::LOCAL));
        bench.expect(&[(GOOD.0, GOOD.1, 1)]);
    }
}

#[test]
fn neighbors_may_ask_before_a_route_leads_back() {
    let echo = packets::icmp6("2a00::1", "2001:db8::1", icmp6::Type::ECHO_REQUEST, &[0; 4]);
    let mut bench = Bench::new();
    assert_eq!(bench.send("ip6-receive", &[echo]).len(), 1);
    let echo = ping4("192.0.2.1", "10.0.0.1", &[]);
    assert!(bench.send("ip4-receive", &[echo]).is_empty());
}

#[test]
fn sums_that_nobody_made_or_somebody_checked_are_good() {
    let mut bench = Bench::new();
    let mut unsummed = udp4(HOST4, "10.0.0.1", 53, &[1; 9]);
    unsummed[26..28].fill(0);
    bench.send("ip4-receive", &[unsummed]);
    let mut partial = udp4(HOST4, "10.0.0.1", 53, &[1; 9]);
    partial[26..28].copy_from_slice(&[1, 2]);
    for flag in [Flags::CHECKSUM_TODO, Flags::CHECKSUM_OK] {
        bench.send_as("ip4-receive", std::slice::from_ref(&partial), move |p| p.add_flags(flag));
    }
    bench.expect(&[
        ("ip4-udp-lookup", "no_listener", 3),
        ("ip4-icmp-error", "dest_unreach_sent", 3),
    ]);
}

#[test]
fn a_protocol_that_nobody_takes_is_told() {
    let mut bench = Bench::new();
    let packet = ip4(HOST4, "10.0.0.1", Protocol(253), &[0; 8]);
    let out = bench.send("ip4-receive", std::slice::from_ref(&packet));
    assert_eq!((&out[0].bytes[20..22], &out[0].bytes[28..]), (&[3, 2][..], &packet[..]));
    bench.expect(&[
        ("ip4-local", "unknown_protocol", 1),
        ("ip4-icmp-error", "dest_unreach_sent", 1),
    ]);
}

/// A feature on each arc of IPv4 that packets leave by.
macro_rules! feature {
    ($name:ident $node:literal) => {
        #[derive(Clone)]
        struct $name;
        impl Node for $name {
            const NAME: &'static str = $node;
            type Next = Continue;
            type Error = std::convert::Infallible;
            type Count = std::convert::Infallible;
            #[inline(always)]
            fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                frame.each(|p| {
                    p.append(b"!").expect("there is room");
                    Ok(Continue)
                });
            }
        }
    };
}
feature!(OutputFeature "ip4-outacl");
feature!(LocalFeature "syn-filter-4");
feature!(PuntFeature "ip4-punt-acl");

#[test]
fn features_on_the_way_out_lead_to_the_end_of_their_arc() {
    let mut bench = Bench::with(|r| {
        r.engine.add_feature(&ip4::IP4_OUTPUT, OutputFeature).unwrap();
        r.engine.add_feature(&ip4::IP4_LOCAL, LocalFeature).unwrap();
        r.engine.add_feature(&ip4::IP4_PUNT, PuntFeature).unwrap();
    });
    let over = bench.neighbor("10.0.1.2", true).0;
    let (pg0, pg1) = (bench.pg0.0, bench.pg1.0);
    let engine = &mut bench.graph.engine;
    engine.set_feature(&ip4::IP4_OUTPUT, "ip4-outacl", pg1, true).unwrap();
    engine.set_feature(&ip4::IP4_LOCAL, "syn-filter-4", pg0, true).unwrap();
    engine.set_feature(&ip4::IP4_PUNT, "ip4-punt-acl", pg0, true).unwrap();
    let packet = udp4(HOST4, "16.0.0.1", 1, &[]);
    let out = bench.send_as("ip4-rewrite", std::slice::from_ref(&packet), move |p| {
        p.set_adjacency(over);
    });
    let sent = frame(NEIGHBOR, 0x0800, &changed4(packet.clone(), |h| h.ttl = 63));
    assert_eq!((out[0].at.as_str(), &out[0].bytes), ("sent", &[&sent[..], b"!"].concat()));
    let out = bench.send("ip4-receive", &[udp4(HOST4, "10.0.0.1", 1, &[])]);
    assert_eq!(out[0].bytes[20..22], [3, 3]);
    assert!(bench.send("ip4-punt", &[packet]).is_empty());
    bench.expect(&[
        ("ip4-udp-lookup", "no_listener", 1),
        ("ip4-icmp-error", "dest_unreach_sent", 1),
    ]);
    assert_eq!(bench.router.interfaces.values(bench.pg0).punt, 1);
}

#[test]
fn adjacencies_count_when_asked_to() {
    let mut bench = Bench::new();
    let four = bench.neighbor("10.0.1.2", true);
    let packet = udp4(HOST4, "16.0.0.1", 53, &[1; 9]);
    let len = packet.len() as u64 + 14;
    let send = |bench: &mut Bench| {
        let out = bench.send_as("ip4-rewrite", &vec![packet.clone(); 3], move |p| {
            p.set_adjacency(four.0);
        });
        assert_eq!(out.len(), 3);
        let counted = bench.router.adjacencies.counters().sum(four.0 as usize);
        (counted.packets, counted.bytes)
    };
    assert_eq!(send(&mut bench), (0, 0));
    bench.control(|r| r.count_adjacencies(true));
    assert_eq!(send(&mut bench), (3, 3 * len));
    bench.control(|r| r.count_adjacencies(false));
    assert_eq!(send(&mut bench), (3, 3 * len));
}
