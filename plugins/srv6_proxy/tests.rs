//! Packets given to services and taken back.

use net::testing::packets::*;
use srv6_proxy::{DYNAMIC, FLOW, MASQUERADING, STATIC};
use wire::{Protocol, srh};

use super::mpls::{Bench, set};
use super::srv6::{bench_of, for_port, frames, out_of, routed, sent, vlan_bench};

/// A service behind `pg1`, and a route to the next segments.
fn bench() -> Bench {
    let own = [srv6::FEATURE, DYNAMIC, STATIC, MASQUERADING];
    let flows = [sessions::FEATURE, translation::FEATURE, FLOW];
    let mut bench = bench_of(&[&own[..], &flows].concat());
    set(&mut bench, "ip route add a4::/16 via 2001:db8:1::2 pg1");
    bench
}

const PATH: [&str; 3] = ["a3::1", "a4::1", "a4::2"];

/// Packets after a service has returned one by `pg0`, with the hop that it took.
fn back(bench: &mut Bench, at: &str, packet: &[u8]) -> Vec<Vec<u8>> {
    sent(bench, at, &[packet.to_vec()])
}

#[test]
fn a_dynamic_proxy_puts_the_headers_back_on_that_came_last() {
    let mut bench = bench();
    for (nh, node, inner, protocol) in [
        ("nh 10.0.1.2 ", "srv6-ad4-rewrite", udp4(HOST4, "9.9.9.9", 7, b"data"), Protocol::IP4),
        ("nh 2001:db8:1::2 ", "srv6-ad6-rewrite", udp6(HOST6, "9::9", 7, b"data"), Protocol::IP6),
        ("", "srv6-ad2-rewrite", vec![2; 60], srv6::ETHERNET),
    ] {
        set(&mut bench, &format!("sr localsid address a3::1 behavior end.ad {nh}oif pg1 iif pg0"));
        assert_eq!(back(&mut bench, node, &inner).len(), 0, "before any came");
        bench.expect(&[(node, "(Error) No header for rewriting.", 1)]);
        if protocol == Protocol::IP4 {
            let broken = changed4(inner.clone(), |h| h.total_len = 19.into());
            let packets = [routed(&PATH, 2, protocol, &broken)];
            assert_eq!(bench.send("ip6-lookup", &packets).len(), 0, "no whole packet");
            bench.expect(&[("null-node", "blackholed packets", 1)]);
        }
        let out = bench.send("ip6-lookup", &[routed(&PATH, 2, protocol, &inner)]);
        let given = &out[0].bytes;
        assert_eq!(given[given.len() - 4..], inner[inner.len() - 4..]);
        assert_eq!(given.len(), inner.len() + if nh.is_empty() { 0 } else { 14 });
        bench.control(net::Router::handle_events);
        let out = back(&mut bench, node, &inner);
        let place = srh::find(&out[0]).unwrap();
        assert_eq!((place.segments_left, place.next_header), (1, protocol));
        assert_eq!(out[0].len(), 40 + 56 + inner.len());
        bench.expect(&[(node, "srv6-ad rewritten packets", 1)]);
        set(&mut bench, "sr localsid del address a3::1");
    }
}

#[test]
fn a_static_proxy_puts_the_headers_on_that_the_operator_wrote() {
    let mut bench = bench();
    let words = "src a1::1 next a4::1 next a4::2";
    let line =
        format!("sr localsid address a3::1 behavior end.as nh 10.0.1.2 oif pg1 iif pg0 {words}");
    set(&mut bench, &line);
    let inner = udp4(HOST4, "9.9.9.9", 7, b"data");
    let given = sent(&mut bench, "ip6-lookup", &[routed(&PATH, 2, Protocol::IP4, &inner)]);
    assert_eq!(given, [changed4(inner.clone(), |h| h.ttl -= 1)]);
    let out = back(&mut bench, "srv6-as4-rewrite", &inner);
    let place = srh::find(&out[0]).unwrap();
    assert_eq!((place.segments_left, place.next_header), (1, Protocol::IP4));
    bench.expect(&[("srv6-as4-rewrite", "srv6-as rewritten packets", 1)]);
    let shown = bench.run("show sr localsids").unwrap();
    assert!(shown.contains(words), "{shown}");
    let none = "sr localsid address a3::2 behavior end.as nh 10.0.1.2 oif pg1 iif pg1 src a1::1";
    assert!(bench.run(none).unwrap_err().contains("1 to 16 segments"));
    let taken = line.replace("a3::1", "a3::2");
    assert!(bench.run(&taken).unwrap_err().contains("another proxy"));
}

#[test]
fn a_masquerading_proxy_hides_the_next_segment() {
    let mut bench = bench();
    let nh = "nh 2001:db8:1::2";
    set(&mut bench, &format!("sr localsid address a3::1 behavior end.am {nh} oif pg1 iif pg0"));
    let inner = udp6(HOST6, "9::9", 7, b"data");
    let given = sent(&mut bench, "ip6-lookup", &[routed(&PATH, 2, Protocol::IP6, &inner)]);
    assert_eq!(given[0][24..40], routed(&["a4::2"], 0, Protocol::IP6, b"")[24..40]);
    let out = back(&mut bench, "srv6-am-rewrite", &given[0]);
    assert_eq!(out[0][24..40], routed(&["a4::1"], 0, Protocol::IP6, b"")[24..40]);
    bench.expect(&[("srv6-am-rewrite", "srv6-am rewritten packets", 1)]);
    assert_eq!(back(&mut bench, "srv6-am-rewrite", &inner).len(), 0);
    bench.expect(&[("srv6-am-rewrite", "(Error) No SRH.", 1)]);
}

#[test]
fn a_dynamic_proxy_may_keep_the_headers_of_each_flow() {
    let mut bench = bench();
    for (nh, node, far, protocol) in [
        ("10.0.1.2", "srv6-ad4-flow-rewrite", "9.9.9.9", Protocol::IP4),
        ("2001:db8:1::2", "srv6-ad6-flow-rewrite", "9::9", Protocol::IP6),
    ] {
        let line =
            format!("sr localsid address a3::1 behavior end.ad.flow nh {nh} oif pg1 iif pg0");
        set(&mut bench, &line);
        let inner = |port| match protocol {
            Protocol::IP4 => udp4(HOST4, far, port, b"data"),
            _ => udp6(HOST6, far, port, b"data"),
        };
        assert_eq!(back(&mut bench, node, &inner(7)).len(), 0, "before any came");
        bench.expect(&[(node, "(Error) No header for rewriting.", 1)]);
        let paths = [["a3::1", "a4::1", "a4::2"], ["a3::1", "a4::3", "a4::4"]];
        let came = [0, 1].map(|n| routed(&paths[n], 2, protocol, &inner(7 + n as u16)));
        assert_eq!(sent(&mut bench, "ip6-lookup", &came).len(), 2, "both go to the service");
        for n in [1, 0] {
            let out = back(&mut bench, node, &inner(7 + n as u16));
            let place = srh::find(&out[0]).unwrap();
            assert_eq!((place.segments_left, place.next_header), (1, protocol));
            let next = paths[n][1].parse::<std::net::Ipv6Addr>().unwrap().octets();
            assert_eq!(out[0][24..40], next, "the path that this flow came by");
            assert_eq!(out[0].len(), 40 + 56 + inner(7).len());
            bench.expect(&[(node, "srv6-ad-flow rewritten packets", 1)]);
        }
        assert_eq!(back(&mut bench, node, &inner(9)).len(), 0, "another flow");
        bench.expect(&[(node, "(Error) No header for rewriting.", 1)]);
        let table = bench.run("show session tables").unwrap();
        assert!(table.contains("srv6-ad-flow"), "{table}");
        set(&mut bench, "sr localsid del address a3::1");
        set(&mut bench, &line);
        assert_eq!(back(&mut bench, node, &inner(7)).len(), 0, "it went with the proxy");
        bench.expect(&[(node, "(Error) No header for rewriting.", 1)]);
        set(&mut bench, "sr localsid del address a3::1");
    }
    let frames = "sr localsid address a3::1 behavior end.ad.flow oif pg1 iif pg0";
    assert!(bench.run(frames).unwrap_err().contains("missing nh"));
}

#[test]
fn services_get_and_return_frames_on_sub_interfaces() {
    let [_, tagged] = frames();
    for words in ["end.ad", "end.as"] {
        let mut b = vlan_bench(&[srv6::FEATURE, DYNAMIC, STATIC]);
        let (pg0, pg1) = (b.pg0, b.pg1);
        let more = if words == "end.as" { "src a1::1 next a4::1 next a4::2" } else { "" };
        b.set(&format!("sr localsid address a3::1 behavior {words} oif pg0.9 iif pg0.9 {more}"));
        let left = if words == "end.as" { 0 } else { 2 };
        let route = if words == "end.as" { &["a3::1"][..] } else { &PATH };
        let packet = for_port(&mut b, pg1, &routed(route, left, srv6::ETHERNET, &tagged));
        assert_eq!(out_of(&mut b, pg1, &packet), std::slice::from_ref(&tagged), "{words}");
        b.wait(0.0);
        let out = out_of(&mut b, pg0, &tagged);
        assert_eq!(out.len(), 1, "{words}");
        let place = srh::find(&out[0][14..]).unwrap();
        assert_eq!((usize::from(place.segments_left), out[0].ends_with(&tagged)), (1, true));
        b.set("sr localsid del address a3::1");
        assert!(b.cli("show mode pg0.9").contains("l3"));
    }
}
