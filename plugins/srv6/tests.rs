//! Segments visited, outer headers put on and taken off.

use std::net::Ipv6Addr;

use graph::testing::Caught;
use net::testing::packets::*;
use net::testing::whole;
use srv6::FEATURE;
use wire::{Protocol, ip6, srh};
use zerocopy::{FromBytes, IntoBytes};

use super::mpls::{Bench, bench_with, set};

/// Routes to all segments lead to one neighbour.
fn bench() -> Bench {
    let mut bench = bench_of(&[FEATURE]);
    for prefix in ["a4::/16", "b4::/16"] {
        set(&mut bench, &format!("ip route add {prefix} via 2001:db8:1::2 pg1"));
    }
    bench
}

/// The rig of labels with layer 2 and these; both neighbours of `pg1` are known.
pub(super) fn bench_of(own: &[net::Feature]) -> Bench {
    let below = [net::neighbor::FEATURE, net::arp::FEATURE, l2::FEATURE];
    let mut bench = bench_with(&[&below[..], own].concat());
    for host in ["10.0.1.2", "2001:db8:1::2"] {
        set(&mut bench, &format!("set ip neighbor pg1 {host} 02:00:00:00:00:bb static"));
    }
    bench.graph.moved_counters();
    bench
}

/// A router with VLAN 9 of `pg0`, and segments behind `pg1`.
pub(super) fn vlan_bench(own: &[net::Feature]) -> whole::Bench {
    let mut b = whole::Bench::plugged(&[&[l2::FEATURE], own].concat());
    for line in [
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "ip route add a4::/16 via 2001:db8:1::2 pg1",
        "set sr encaps source addr a1::1",
        "create sub-interfaces pg0 9",
        "set interface state pg0.9 up",
    ] {
        assert!(["", "pg0.9\n"].contains(&b.cli(line).as_str()), "{line}");
    }
    b.wait(0.0);
    b
}

/// A frame, and the same in VLAN 9.
pub(super) fn frames() -> [Vec<u8>; 2] {
    let bare = [&[2; 12][..], &[8, 0], &udp4(HOST4, "9.9.9.9", 7, b"data")].concat();
    let tagged = [&bare[..12], &[0x81, 0, 0, 9], &bare[12..]].concat();
    [bare, tagged]
}

/// The frames that are sent for one that an interface receives.
pub(super) fn out_of(b: &mut whole::Bench, rx: net::InterfaceIndex, frame: &[u8]) -> Vec<Vec<u8>> {
    let out = b.receive(rx, &[frame.to_vec()]);
    out.into_iter().filter(|c| c.at == "sent").map(|c| c.bytes).collect()
}

/// The frame in which an interface receives a packet.
pub(super) fn for_port(b: &mut whole::Bench, port: net::InterfaceIndex, packet: &[u8]) -> Vec<u8> {
    let mac = b.control(|router, _| router.interfaces.at(port).unwrap().mac);
    [&mac.0[..], &[2, 0, 0, 0, 0, 0xbb, 0x86, 0xdd], packet].concat()
}

fn segments(path: &[&str]) -> Vec<Ipv6Addr> {
    path.iter().map(|segment| segment.parse().unwrap()).collect()
}

/// A packet on its way over a path, with so many segments left.
pub(super) fn routed(path: &[&str], left: u8, next: Protocol, below: &[u8]) -> Vec<u8> {
    let path = segments(path);
    let mut header = srh::build(next, &path);
    header[3] = left;
    let dst = path[path.len() - 1 - usize::from(left)].to_string();
    ip6(HOST6, &dst, Protocol::ROUTING, &[&header, below].concat())
}

/// Packets sent by an interface, from the IP header on.
pub(super) fn sent(bench: &mut Bench, at: &str, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let out = bench.send(at, packets);
    let of = |caught: &Caught| (caught.at == "sent").then(|| caught.bytes[14..].to_vec());
    out.iter().filter_map(of).collect()
}

/// Source and destination, the segments that are left, and what is behind all headers.
fn read(packet: &[u8]) -> (String, String, Option<u8>, Vec<u8>) {
    let (header, _) = ip6::Header::ref_from_prefix(packet).unwrap();
    assert_eq!(usize::from(header.payload_len.get()) + 40, packet.len(), "length of the payload");
    let behind = ip6::upper_layer(packet).unwrap().offset;
    let left = srh::find(packet).map(|place| place.segments_left);
    let (src, dst) = (header.src_addr().to_string(), header.dst_addr().to_string());
    (src, dst, left, packet[behind..].to_vec())
}

fn hop(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] >> 4 == 6 {
        packet[7] -= 1;
        return packet;
    }
    changed4(packet, |h| h.ttl -= 1)
}

const PATH: [&str; 3] = ["a3::1", "a4::1", "a4::2"];

#[test]
fn a_segment_makes_way_for_the_next_one() {
    let mut bench = bench();
    set(&mut bench, "sr localsid address a3::1 behavior end");
    let inner = udp6(HOST6, "9::9", 7, b"data");
    for n in [1, 3, 4, 255, 256] {
        let packet = routed(&PATH, 2, Protocol::IP6, &inner);
        let out = sent(&mut bench, "ip6-lookup", &vec![packet; n]);
        assert_eq!(out.len(), n);
        for one in &out {
            let wanted = (HOST6.to_owned(), "a4::1".to_owned(), Some(1), inner.clone());
            assert_eq!(read(one), wanted);
        }
    }
    bench.expect(&[]);
    let ended = routed(&["a4::1", "a3::1"], 0, Protocol::IP6, &inner);
    let bare = udp6(HOST6, "a3::1", 7, b"data");
    assert_eq!(sent(&mut bench, "ip6-lookup", &[ended, bare]).len(), 0);
    bench.expect(&[
        ("sr-localsid", "(SR-Error) No more segments", 1),
        ("sr-localsid", "(SR-Error) No SR header", 1),
    ]);
    let shown = bench.run("show sr localsids").unwrap();
    assert!(shown.contains("Good traffic: \t[519 packets"), "{shown}");
    assert!(shown.contains("Bad traffic:  \t[2 packets"), "{shown}");
}

#[test]
fn the_header_goes_with_the_last_but_one_segment_or_stays() {
    let mut bench = bench();
    set(&mut bench, "sr localsid address a3::1 behavior end psp");
    let inner = udp6(HOST6, "9::9", 7, b"data");
    let out = sent(&mut bench, "ip6-lookup", &[routed(&PATH, 2, Protocol::IP6, &inner)]);
    assert_eq!(read(&out[0]).2, Some(1), "it is not the last but one");
    let last = ["a5::5", "a3::1", "a4::1"];
    let out = sent(&mut bench, "ip6-lookup", &[routed(&last, 1, Protocol::IP6, &inner)]);
    assert_eq!(read(&out[0]), (HOST6.to_owned(), "a4::1".to_owned(), None, inner.clone()));
    // A header beyond the payload is none.
    let short = changed6(routed(&last, 1, Protocol::IP6, &inner), |h| h.payload_len = 30.into());
    assert_eq!(sent(&mut bench, "ip6-lookup", &[short]).len(), 0);
    bench.expect(&[("sr-localsid", "(SR-Error) No SR header", 1)]);
}

#[test]
fn a_segment_may_name_the_neighbour_or_the_table() {
    let mut bench = bench();
    set(&mut bench, "ip6 table add 10");
    set(&mut bench, "ip route add a4::/16 table 10 via 2001:db8:1::3 pg1");
    set(&mut bench, "sr localsid address a3::1 behavior end.x pg0 2001:db8:0::9");
    set(&mut bench, "sr localsid address a3::2 behavior end.t 10");
    let inner = udp6(HOST6, "9::9", 7, b"data");
    let packet = |first| routed(&[first, "a4::1"], 1, Protocol::IP6, &inner);
    let out = bench.send("ip6-lookup", &[packet("a3::1"), packet("a3::2")]);
    let out: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
    let mut macs: Vec<_> = out.iter().map(|c| c.bytes[11]).collect();
    macs.sort_unstable();
    assert_eq!(macs, [0, 1], "one by each interface");
    let missing = bench.run("sr localsid address a3::9 behavior end.t 77").unwrap_err();
    assert!(missing.contains("no such table"), "{missing}");
}

#[test]
fn what_is_inside_goes_on_without_outer_headers() {
    let mut bench = bench();
    for line in [
        "ip table add 10",
        "ip6 table add 10",
        "ip route add 9.0.0.0/8 table 10 via 10.0.1.2 pg1",
        "ip route add 9::/16 table 10 via 2001:db8:1::2 pg1",
        "sr localsid address a3::4 behavior end.dt4 10",
        "sr localsid address a3::6 behavior end.dt6 10",
        "sr localsid address a3::44 behavior end.dx4 pg1 10.0.1.2",
        "sr localsid address a3::66 behavior end.dx6 pg1 2001:db8:1::2",
        "sr localsid address a3::2 behavior end.dx2 pg1",
    ] {
        set(&mut bench, line);
    }
    let (four, six) = (udp4(HOST4, "9.9.9.9", 7, b"data"), udp6(HOST6, "9::9", 7, b"data"));
    for (sid, inner, protocol) in [
        ("a3::4", &four, Protocol::IP4),
        ("a3::44", &four, Protocol::IP4),
        ("a3::6", &six, Protocol::IP6),
        ("a3::66", &six, Protocol::IP6),
    ] {
        let with = routed(&["a4::1", sid], 0, protocol, inner);
        let without = ip6(HOST6, sid, protocol, inner);
        let out = sent(&mut bench, "ip6-lookup", &[with, without]);
        assert_eq!(out, [hop(inner.clone()), hop(inner.clone())], "{sid}");
        let other = if protocol == Protocol::IP4 { Protocol::IP6 } else { Protocol::IP4 };
        let early = routed(&[sid, "a4::1"], 1, protocol, inner);
        let wrong = ip6(HOST6, sid, other, inner);
        assert_eq!(sent(&mut bench, "ip6-lookup", &[early, wrong]).len(), 0);
        bench.expect(&[
            ("sr-localsid-d", "(SR-Error) Decaps not available (segments left > 0)", 1),
            ("sr-localsid-d", "(SR-Error) No inner IP header", 1),
        ]);
    }
    for sid in ["a3::4", "a3::44"] {
        let broken = [
            changed4(four.clone(), |h| h.total_len = 0.into()),
            changed4(four.clone(), |h| h.total_len = 19.into()),
            changed4(four.clone(), |h| h.total_len = (four.len() as u16 + 1).into()),
            changed4(four.clone(), |h| h.version_ihl = 0x44),
            changed4(four.clone(), |h| h.version_ihl = 0x4f),
        ];
        let packets = broken.map(|inner| ip6(HOST6, sid, Protocol::IP4, &inner));
        assert_eq!(sent(&mut bench, "ip6-lookup", &packets).len(), 0);
        bench.expect(&[("sr-localsid-d", "(SR-Error) No inner IP header", 5)]);
    }
    let frame = [&[2; 12][..], &[8, 0], &four].concat();
    let packet = routed(&["a4::1", "a3::2"], 0, srv6::ETHERNET, &frame);
    let out = bench.send("ip6-lookup", &[packet]);
    assert_eq!(out[0].bytes, frame);
}

#[test]
fn micro_segments_move_up() {
    let mut bench = bench();
    set(&mut bench, "ip route add 1111:2222:bbbb::/48 via 2001:db8:1::2 pg1");
    for behavior in ["un", "un.flex"] {
        let line = format!("sr localsid prefix 1111:2222:aaaa::/48 behavior {behavior} 16");
        set(&mut bench, &line);
        let inner = udp6(HOST6, "9::9", 7, b"data");
        let dst = "1111:2222:aaaa:bbbb:cccc:dddd:eeee:ffff";
        let out = sent(&mut bench, "ip6-lookup", &[ip6(HOST6, dst, Protocol::IP6, &inner)]);
        assert_eq!(read(&out[0]).1, "1111:2222:bbbb:cccc:dddd:eeee:ffff:0");
        let last = routed(&["1111:2222:aaaa::", "a4::1"], 1, Protocol::IP6, &inner);
        let out = sent(&mut bench, "ip6-lookup", &[last]);
        assert_eq!(read(&out[0]).1, "a4::1", "the next segment after the last micro-SID");
        set(&mut bench, "sr localsid del prefix 1111:2222:aaaa::/48");
    }
    let odd = bench.run("sr localsid prefix 1111:2222:aaaa::/48 behavior un 12").unwrap_err();
    assert!(odd.contains("multiples of 8"), "{odd}");
}

#[test]
fn steered_packets_get_headers_in_front() {
    let mut bench = bench();
    set(&mut bench, "set sr encaps source addr a1::1");
    set(&mut bench, "set sr encaps hop-limit 33");
    set(&mut bench, "sr policy add bsid a9::9 next a4::1 next a5::1 encap");
    set(&mut bench, "sr steer l3 20.0.0.0/8 via bsid a9::9");
    set(&mut bench, "sr steer l3 20::/16 via bsid a9::9");
    let (four, six) = (udp4(HOST4, "20.1.1.1", 7, b"data"), udp6(HOST6, "20::1", 7, b"data"));
    for (at, inner) in [("ip4-lookup", &four), ("ip6-lookup", &six)] {
        for n in [1, 3, 4, 255, 256] {
            let out = sent(&mut bench, at, &vec![inner.clone(); n]);
            assert_eq!(out.len(), n);
            let wanted = ("a1::1".to_owned(), "a4::1".to_owned(), Some(1), hop(inner.clone()));
            assert_eq!(read(&out[n - 1]), wanted);
            assert_eq!(out[0][7], 32, "hop limit, and one hop");
            let (steered, encaps) = ("SR steered IPv6 packets", "SR: Encaps packets");
            if at == "ip4-lookup" {
                bench.expect(&[("sr-pl-rewrite-encaps-v4", encaps, n as u64)]);
            } else {
                let node = "sr-pl-rewrite-encaps";
                bench.expect(&[(node, steered, n as u64), (node, encaps, n as u64)]);
            }
        }
    }
    set(&mut bench, "sr policy add bsid a9::8 next b4::1");
    set(&mut bench, "sr steer l3 20.0.0.0/8 via bsid a9::8");
    let out = sent(&mut bench, "ip4-lookup", std::slice::from_ref(&four));
    assert_eq!(read(&out[0]).2, None, "one segment needs no routing header");
    set(&mut bench, "sr policy del bsid a9::8");
    assert_eq!(sent(&mut bench, "ip4-lookup", std::slice::from_ref(&four)).len(), 0);
    set(&mut bench, "sr steer del l3 20.0.0.0/8");
    let none = bench.run("sr steer del l3 20.0.0.0/8").unwrap_err();
    assert!(none.contains("not steered"), "{none}");
}

#[test]
fn flows_take_a_list_each_or_all_get_a_copy() {
    let mut bench = bench();
    set(&mut bench, "set sr encaps source addr a1::1");
    for spray in ["", " spray"] {
        set(&mut bench, &format!("sr policy add bsid a9::9 next a4::1 next a5::1{spray}"));
        set(&mut bench, "sr policy mod bsid a9::9 add sl next b4::1 next a5::1");
        set(&mut bench, "sr steer l3 20.0.0.0/8 via bsid a9::9");
        let flows: Vec<_> =
            (0..64).map(|n| udp4(HOST4, &format!("20.1.1.{n}"), n, b"data")).collect();
        let out = sent(&mut bench, "ip4-lookup", &flows);
        let first = out.iter().filter(|p| read(p).1 == "a4::1").count();
        if spray.is_empty() {
            assert_eq!(out.len(), 64);
            assert!((16..48).contains(&first), "{first} of 64");
        } else {
            assert_eq!((out.len(), first), (128, 64));
        }
        bench.graph.moved_counters();
        set(&mut bench, "sr steer del l3 20.0.0.0/8");
        set(&mut bench, "sr policy del bsid a9::9");
    }
}

#[test]
fn a_header_is_put_into_a_packet_and_ends_with_its_own_destination() {
    let mut bench = bench();
    set(&mut bench, "sr policy add bsid a9::9 next a4::1 next a5::1 insert");
    set(&mut bench, "sr steer l3 20::/16 via bsid a9::9");
    let packet = udp6(HOST6, "20::1", 7, b"data");
    let out = sent(&mut bench, "ip6-lookup", std::slice::from_ref(&packet));
    assert_eq!(
        read(&out[0]),
        (HOST6.to_owned(), "a4::1".to_owned(), Some(2), packet[40..].to_vec())
    );
    let place = srh::find(&out[0]).unwrap();
    let last = place.segment(0).unwrap();
    assert_eq!(out[0][last..last + 16], packet[24..40]);
    let four = bench.run("sr steer l3 20.0.0.0/8 via bsid a9::9").unwrap_err();
    assert!(four.contains("IPv6 packets only"), "{four}");
    bench.graph.moved_counters();
    // The binding SID: the packet's own header has where it goes on.
    let inner = udp6(HOST6, "9::9", 7, b"data");
    let bound = routed(&["a9::9", "b4::1"], 1, Protocol::IP6, &inner);
    let out = sent(&mut bench, "ip6-lookup", &[bound]);
    assert_eq!(srh::find(&out[0]).unwrap().segments_left, 1);
    bench.graph.moved_counters();
    let ended = routed(&["b4::1", "a9::9"], 0, Protocol::IP6, &inner);
    assert_eq!(sent(&mut bench, "ip6-lookup", &[ended]).len(), 0);
    bench.expect(&[("sr-pl-rewrite-b-insert", "BSID with SL = 0", 1)]);
}

#[test]
fn a_binding_sid_puts_headers_in_front_of_the_next_segment() {
    let mut bench = bench();
    set(&mut bench, "set sr encaps source addr a1::1");
    set(&mut bench, "sr policy add bsid a9::9 next a4::1 next a5::1");
    let inner = udp6(HOST6, "9::9", 7, b"data");
    let out =
        sent(&mut bench, "ip6-lookup", &[routed(&["a9::9", "b4::7"], 1, Protocol::IP6, &inner)]);
    let (src, dst, left, below) = read(&out[0]);
    assert_eq!((src.as_str(), dst.as_str(), left), ("a1::1", "a4::1", Some(1)));
    assert_eq!(read(&below).1, "b4::7");
}

#[test]
fn words_of_a_local_sid_come_in_any_order() {
    let mut bench = bench();
    set(&mut bench, "sr localsid behavior end.dt4 0 addr a3::1");
    set(&mut bench, "sr localsid addr a3::2 behavior end psp");
    let shown = bench.run("show sr localsids").unwrap();
    assert!(shown.contains("a3::1") && shown.contains("a3::2"), "{shown}");
    set(&mut bench, "sr localsid addr a3::1 del");
    assert!(!bench.run("show sr localsids").unwrap().contains("a3::1"));
}

#[test]
fn frames_of_an_interface_are_steered() {
    let mut bench = bench();
    set(&mut bench, "set sr encaps source addr a1::1");
    set(&mut bench, "sr policy add bsid a9::9 next a4::1 next a5::1");
    set(&mut bench, "sr steer l2 pg0 via bsid a9::9");
    let frame = [&[2; 12][..], &[8, 0], &udp4(HOST4, "9.9.9.9", 7, b"data")].concat();
    let out = sent(&mut bench, "sr-pl-rewrite-encaps-l2", std::slice::from_ref(&frame));
    let (src, dst, left, below) = read(&out[0]);
    assert_eq!((src.as_str(), dst.as_str(), left), ("a1::1", "a4::1", Some(1)));
    assert_eq!(below, frame);
    assert_eq!(out[0][40], srv6::ETHERNET.0, "what is behind the routing header");
}

#[test]
fn frames_go_from_and_to_sub_interfaces_with_the_tags_they_have() {
    let mut b = vlan_bench(&[FEATURE]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let [bare, tagged] = frames();
    b.set("sr policy add bsid a9::9 next a4::1");
    b.set("sr steer l2 pg0.9 via bsid a9::9");
    b.set("sr localsid address a3::1 behavior end.dx2 pg0.9");
    b.set("sr localsid address a3::2 behavior end.dx2 pg0.9");
    let other = [&tagged[..15], &[8], &tagged[16..]].concat();
    for (rewrite, inside) in [("", &tagged), ("pop 1", &bare)] {
        if !rewrite.is_empty() {
            b.set(&format!("set interface l2 tag-rewrite pg0.9 {rewrite}"));
        }
        let out = out_of(&mut b, pg0, &tagged);
        assert_eq!(out.len(), 1, "{rewrite}");
        let (src, dst, left, below) = read(&out[0][14..]);
        assert_eq!((src.as_str(), dst.as_str(), left), ("a1::1", "a4::1", None));
        assert_eq!((&below, out[0][14 + 6]), (inside, srv6::ETHERNET.0), "{rewrite}");
        for frame in [&bare, &other] {
            assert_eq!(out_of(&mut b, pg0, frame).len(), 0, "another's");
        }
        for sid in ["a3::1", "a3::2"] {
            let packet = ip6(HOST6, sid, srv6::ETHERNET, inside);
            let packet = for_port(&mut b, pg1, &packet);
            assert_eq!(out_of(&mut b, pg1, &packet), std::slice::from_ref(&tagged), "{rewrite}");
        }
    }
    // It is one of layer 3 again behind the last use.
    let mode = |b: &mut whole::Bench| b.cli("show mode pg0.9");
    for line in [
        "sr localsid del address a3::1",
        "sr steer del l2 pg0.9 via bsid a9::9",
        "sr localsid del address a3::2",
    ] {
        assert!(mode(&mut b).contains("l2 feature"), "{line}");
        b.set(line);
    }
    assert!(mode(&mut b).contains("l3"));
    assert_eq!(out_of(&mut b, pg0, &tagged).len(), 0);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let mut bench = bench();
    set(&mut bench, "sr localsid address a3::1 behavior end");
    for (line, why) in [
        ("sr localsid address a3::1 behavior end", "the local SID exists"),
        ("sr localsid address a3::2 behavior end.zz", "no such behavior"),
        ("sr localsid address a3::2 behavior end.dx4 pg1 2001:db8:1::2", "other IP version"),
        ("sr localsid address a3::2 behavior end fib-table 7", "no such table"),
        ("sr localsid del address a3::2", "no such local SID"),
        ("sr policy add bsid a9::9", "1 to 16 segments"),
        ("sr policy del bsid a9::9", "no such policy"),
        ("sr steer l3 20::/16 via bsid a9::9", "no such policy"),
        ("set sr encaps hop-limit 0", "1 to 255"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    set(&mut bench, "sr localsid del address a3::1");
    let bytes =
        ip6::Header::new(HOST6.parse().unwrap(), "a3::1".parse().unwrap(), Protocol::UDP, 0);
    assert_eq!(sent(&mut bench, "ip6-lookup", &[bytes.as_bytes().to_vec()]).len(), 0);
}
