//! GTP-U translated to segments and back.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::Retval;
use control::api::types::Ip6Prefix;
use net::testing::packets::*;
use srv6_mobile::{FEATURE, SrMobileLocalsidAddDel, SrMobileNhtype, SrMobilePolicyAdd};
use wire::{Protocol, srh};

use super::mpls::{Bench, set};
use super::srv6::{bench_of, routed, sent};

/// Routes to segments and to both ends of tunnels lead to the neighbours of `pg1`.
fn bench() -> Bench {
    let mut bench = bench_of(&[srv6::FEATURE, FEATURE]);
    for prefix in ["d2::/16", "d4::/16", "a1::/16", "2001::/32"] {
        set(&mut bench, &format!("ip route add {prefix} via 2001:db8:1::2 pg1"));
    }
    set(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 pg1");
    set(&mut bench, "set sr encaps source addr a1::1");
    bench
}

/// A message with a packet, of tunnel 200, with or without flow 9.
fn gtp(has_flow: bool, inner: &[u8]) -> Vec<u8> {
    let header: &[u8] = match has_flow {
        true => &[0x34, 255, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0x85, 1, 0, 0x49, 0],
        false => &[0x30, 255, 0, 0, 0, 0, 0, 200],
    };
    [header, inner].concat()
}

fn segment(packet: &[u8], number: u8) -> Ipv6Addr {
    let at = srh::find(packet).unwrap().segment(number).unwrap();
    <[u8; 16]>::try_from(&packet[at..at + 16]).unwrap().into()
}

fn addr(packet: &[u8], at: usize) -> Ipv6Addr {
    <[u8; 16]>::try_from(&packet[at..at + 16]).unwrap().into()
}

/// A translation whose counters moved by so many bad packets and good ones.
fn expect(bench: &mut Bench, [node, name]: [&str; 2], bad: u64, good: u64) {
    let (bad_name, good_name) =
        (format!("srv6 {name} bad packets"), format!("srv6 {name} packets"));
    let all = [(node, bad_name.as_str(), bad), (node, good_name.as_str(), good)];
    let moved: Vec<_> = all.into_iter().filter(|(.., n)| *n > 0).collect();
    bench.expect(&moved);
}

const T4D: [&str; 2] = ["srv6-t-m-gtp4-d", "T.M.GTP4.D"];
const E4: [&str; 2] = ["srv6-end-m-gtp4-e", "End.M.GTP4.E"];
const E6: [&str; 2] = ["srv6-end-m-gtp6-e", "End.M.GTP6.E"];
const D6: [&str; 2] = ["srv6-end-m-gtp6-d", "End.M.GTP6.D"];
const DI6: [&str; 2] = ["srv6-end-m-gtp6-d-di", "End.M.GTP6.D.DI"];
const DT6: [&str; 2] = ["srv6-end-m-gtp6-dt", "End.M.GTP6.DT"];
const DT4: [&str; 2] = ["srv6-t-m-gtp4-dt", "T.M.GTP4.DT"];

#[test]
fn a_tunnel_over_ip4_travels_in_the_last_segment_and_comes_back() {
    let mut bench = bench();
    set(&mut bench, "sr policy add bsid d4:: next d2:: next d3::");
    let words = "t.m.gtp4.d d4::/32 v6src_prefix c1::/64 nhtype ipv6";
    set(&mut bench, &format!("sr policy add bsid d5:: behavior {words} fib-table 0 drop-in"));
    set(&mut bench, "sr steer l3 1.1.1.1/32 via bsid d5::");
    let inner = udp6("b::1", "a::1", 7, b"data");
    for n in [1, 3, 4, 255, 256] {
        let packet = udp4_from(5000, "2.2.2.2", "1.1.1.1", 2152, &gtp(true, &inner));
        let packet = changed4(packet, |h| h.tos = 0xb8);
        let out = sent(&mut bench, "ip4-lookup", &vec![packet; n]);
        assert_eq!(out.len(), n);
        for one in &out {
            assert_eq!(addr(one, 8).to_string(), "c1::202:202:1388:0", "source and port");
            assert_eq!(addr(one, 24).to_string(), "d2::");
            // 9 << 2, 1 << 1: the flow, and that answers are to be marked.
            assert_eq!(segment(one, 0).to_string(), "d4:0:101:101:2600:0:c800:0");
            let place = srh::find(one).unwrap();
            assert_eq!((place.segments_left, place.next_header), (2, Protocol::IP6));
            assert_eq!(one[place.offset + place.len..], inner);
            assert_eq!((one[0], one[1] >> 4, one[7]), (0x6b, 8, 62), "class, hops");
        }
        expect(&mut bench, T4D, 0, n as u64);
    }
    // And back, where the last segment is.
    set(&mut bench, "sr localsid prefix d4::/32 behavior end.m.gtp4.e v4src_position 64");
    set(&mut bench, "ip route add 1.1.1.1/32 table 0 via 10.0.1.2 pg1");
    let last = "d4:0:1401:101:2600:0:c800:0";
    let packet = routed(&["d2::", last], 0, Protocol::IP6, &inner);
    let src: Ipv6Addr = "c1::202:202:1388:0".parse().unwrap();
    let packet = changed6(packet, |h| h.src = src.octets());
    let out = sent(&mut bench, "ip6-lookup", std::slice::from_ref(&packet));
    let wanted = udp4_from(5000, "2.2.2.2", "20.1.1.1", 2152, &gtp_to_mobile(true, &inner));
    assert_eq!(out, [changed4(without_checksum(wanted), |h| h.ttl -= 2)]);
    expect(&mut bench, E4, 0, 1);
    let early = routed(&[last, "d2::"], 1, Protocol::IP6, &inner);
    let spent = changed6(packet, |h| h.hop_limit = 1);
    assert_eq!(sent(&mut bench, "ip6-lookup", &[early]).len(), 0);
    expect(&mut bench, E4, 1, 0);
    let out = bench.send("srv6-end-m-gtp4-e", &[spent]);
    assert_eq!(out.len(), 0, "no route back to who is told: {out:?}");
    bench.graph.moved_counters();
}

/// The same as [`gtp()`] with the right length.
fn gtp_to_mobile(has_flow: bool, inner: &[u8]) -> Vec<u8> {
    let mut bytes = gtp(has_flow, inner);
    let len = (bytes.len() - 8) as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes
}

fn udp4_from(port: u16, src: &str, dst: &str, to: u16, data: &[u8]) -> Vec<u8> {
    let mut packet = udp4(src, dst, to, data);
    packet[20..22].copy_from_slice(&port.to_be_bytes());
    packet
}

fn without_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[26..28].fill(0);
    packet
}

#[test]
fn a_tunnel_over_ip6_travels_in_a_segment_in_front_of_its_end() {
    let mut bench = bench();
    let inner = udp4("10.9.9.9", "10.8.8.8", 7, b"data");
    let packet = udp6("2002::1", "2001::1", 2152, &gtp(false, &inner));
    for (behavior, counters, path) in [
        ("end.m.gtp6.d d4::/64 drop-in", D6, vec!["2001::1", "d4::c800:0"]),
        ("end.m.gtp6.d.di d4::/64", DI6, vec!["2001::1", "d4::c800:0"]),
        ("end.m.gtp6.d d4::/64 nhtype ipv4", D6, vec!["d4::c800:0"]),
    ] {
        set(&mut bench, &format!("sr localsid prefix 2001::/64 behavior {behavior}"));
        let out = sent(&mut bench, "ip6-lookup", std::slice::from_ref(&packet));
        assert_eq!(addr(&out[0], 24).to_string(), "d4::c800:0", "there is no path yet");
        assert_eq!(srh::find(&out[0]).is_some(), path.len() > 1);
        assert_eq!(out[0][out[0].len() - inner.len()..], inner);
        set(&mut bench, "sr policy add bsid d4:: next d2:: next d3::");
        let out = sent(&mut bench, "ip6-lookup", std::slice::from_ref(&packet));
        assert_eq!((addr(&out[0], 8).to_string(), addr(&out[0], 24).to_string()), {
            ("a1::1".to_owned(), "d2::".to_owned())
        });
        let there: Vec<_> =
            (0..path.len() as u8).map(|n| segment(&out[0], n).to_string()).collect();
        assert_eq!(there, path);
        let other = udp6("2002::1", "2001::1", 2153, &gtp(false, &inner));
        let echo = udp6("2002::1", "2001::1", 2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
        let wrong = udp6("2002::1", "2001::1", 2152, &gtp(false, &udp6("b::1", "a::1", 7, b"")));
        let is_any = !behavior.contains("nhtype");
        assert_eq!(
            sent(&mut bench, "ip6-lookup", &[other, echo, wrong]).len(),
            usize::from(is_any)
        );
        expect(&mut bench, counters, 3 - u64::from(is_any), 2 + u64::from(is_any));
        set(&mut bench, "sr policy del bsid d4::");
        set(&mut bench, "sr localsid del prefix 2001::/64");
    }
}

#[test]
fn the_last_segment_but_one_becomes_a_tunnel_to_the_last() {
    let mut bench = bench();
    set(&mut bench, "sr localsid prefix aaaa::/64 behavior end.m.gtp6.e");
    let inner = udp6("b::1", "a::1", 7, b"data");
    let packet = |left| routed(&["aaaa::24bb:bbbb:bb00:0", "a1::1"], left, Protocol::IP6, &inner);
    let out = sent(&mut bench, "ip6-lookup", &[packet(1)]);
    let mut message = gtp_to_mobile(true, &inner);
    message[4..8].fill(0xbb);
    message[14] = 9;
    let mut wanted = udp6(HOST6, "a1::1", 2152, &message);
    wanted[40..42].copy_from_slice(&2152u16.to_be_bytes());
    let port = wire::udp::Header::new(2152, 2152, (8 + message.len()) as u16);
    let pseudo = wire::checksum::ip6_pseudo(
        HOST6.parse::<Ipv6Addr>().unwrap().octets(),
        "a1::1".parse::<Ipv6Addr>().unwrap().octets(),
        Protocol::UDP,
        (8 + message.len()) as u32,
    );
    let bytes = zerocopy::IntoBytes::as_bytes(&port);
    let sum = wire::checksum::upper_layer(pseudo, [bytes, &message]).udp_checksum();
    wanted[46..48].copy_from_slice(&sum.get().to_be_bytes());
    assert_eq!(out, [changed6(wanted, |h| h.hop_limit -= 2)]);
    expect(&mut bench, E6, 0, 1);
    let last = routed(&["a2::1", "aaaa::24bb:bbbb:bb00:0"], 0, Protocol::IP6, &inner);
    assert_eq!(sent(&mut bench, "ip6-lookup", &[last]).len(), 0);
    expect(&mut bench, E6, 1, 0);
}

#[test]
fn what_tunnels_carry_is_looked_up_in_a_table() {
    let mut bench = bench();
    set(&mut bench, "ip table add 5");
    set(&mut bench, "ip6 table add 5");
    set(&mut bench, "ip route add 9.9.9.9/32 table 5 via 10.0.1.2 pg1");
    set(&mut bench, "ip route add 9::9/128 table 5 via 2001:db8:1::2 pg1");
    set(&mut bench, "sr localsid prefix 2001::/64 behavior end.m.gtp6.dt fib-table 5");
    set(&mut bench, "sr policy add bsid d5:: behavior t.m.gtp4.dt fib-table 5 local-fib-table 0");
    set(&mut bench, "sr steer l3 1.1.1.1/32 via bsid d5::");
    for inner in [udp4("10.9.9.9", "9.9.9.9", 7, b"data"), udp6("b::1", "9::9", 7, b"data")] {
        let hop = match inner[0] >> 4 {
            4 => changed4(inner.clone(), |h| h.ttl -= 1),
            _ => changed6(inner.clone(), |h| h.hop_limit -= 1),
        };
        let message = gtp(false, &inner);
        let over6 = udp6("2002::1", "2001::1", 2152, &message);
        assert_eq!(
            sent(&mut bench, "ip6-lookup", std::slice::from_ref(&over6)),
            std::slice::from_ref(&hop)
        );
        expect(&mut bench, DT6, 0, 1);
        let over4 = udp4("2.2.2.2", "1.1.1.1", 2152, &message);
        assert_eq!(sent(&mut bench, "ip4-lookup", &[over4]), [hop]);
        expect(&mut bench, DT4, 0, 1);
    }
    let frame = udp6("2002::1", "2001::1", 2152, &gtp(false, &[2; 60]));
    assert_eq!(sent(&mut bench, "ip6-lookup", &[frame]).len(), 0);
    expect(&mut bench, DT6, 1, 0);
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let mut bench = bench();
    for (line, why) in [
        ("sr localsid prefix 1::/64 behavior end.m.gtp4.e v4src_position 64", "only 64 are left"),
        ("sr localsid prefix 1::/32 behavior end.m.gtp4.e v4src_position 97", "only 31 are left"),
        ("sr localsid prefix 1::/32 behavior end.m.gtp4.e", "missing v4src_position"),
        ("sr localsid prefix 1::/96 behavior end.m.gtp6.e", "a tunnel has 40 bits"),
        ("sr localsid prefix 1::/64 behavior end.m.gtp6.e nhtype ipv4", "nhtype"),
        ("sr localsid prefix 1::/64 behavior end.m.gtp6.d 4::/96", "a tunnel has 40 bits"),
        ("sr localsid prefix 1::/64 behavior end.m.gtp6.d 4::/64 nhtype x", "expected ipv4"),
        ("sr localsid prefix 1::/64 behavior end.m.gtp6.dt", "missing fib-table"),
        ("sr localsid prefix 1::/64 behavior end.m.gtp6.dt fib-table 77", "no such table"),
        ("sr localsid prefix 1::/64 behavior t.m.gtp4.d 4::/32", "no such behavior"),
        ("sr policy add bsid 5:: behavior t.m.gtp4.d 4::/64", "only 64 are left"),
        ("sr policy add bsid 5:: behavior t.m.gtp4.d 4::/32 v6src_prefix 1::/96", "with a port"),
        ("sr policy add bsid 5:: next 6:: behavior t.m.gtp4.d 4::/32", "no segments"),
        ("sr policy add bsid 5:: behavior end.m.gtp6.e", "no such behavior"),
    ] {
        let refused = bench.run(line).unwrap_err();
        assert!(refused.contains(why), "{line}: {refused}");
    }
    assert_eq!(bench.run("show configuration sr").unwrap_or_default(), "");
    set(&mut bench, "sr policy add bsid 5:: behavior t.m.gtp4.d 4::/32");
    for (line, why) in [
        ("sr policy mod bsid 5:: add sl next 6::", "has no segment lists"),
        ("sr steer l3 6::/16 via bsid 5::", "does not accept this type of traffic"),
        ("sr steer l2 pg0 via bsid 5::", "does not accept this type of traffic"),
    ] {
        let refused = bench.run(line).unwrap_err();
        assert!(refused.contains(why), "{line}: {refused}");
    }
}

#[test]
fn messages_do_what_commands_do() {
    let mut bench = bench();
    let prefix = |text: &str, len| Ip6Prefix { address: text.parse().unwrap(), len };
    let none = || prefix("::", 0);
    let sid = |behavior: &str| SrMobileLocalsidAddDel {
        is_del: false,
        localsid_prefix: prefix("7::", 32),
        behavior: behavior.into(),
        fib_table: 0,
        local_fib_table: 0,
        drop_in: true,
        nhtype: SrMobileNhtype::IPV4,
        sr_prefix: prefix("d4::", 64),
        v4src_addr: Ipv4Addr::UNSPECIFIED,
        v4src_position: 64,
    };
    let policy = |behavior: &str| SrMobilePolicyAdd {
        bsid_addr: "8::".parse().unwrap(),
        sr_prefix: prefix("d4::", 32),
        v6src_prefix: none(),
        behavior: behavior.into(),
        fib_table: 0,
        local_fib_table: 0,
        encap_src: "a7::1".parse().unwrap(),
        drop_in: false,
        nhtype: SrMobileNhtype::NONE,
    };
    for (behavior, words) in [
        ("end.m.gtp4.e", "v4src_position 64"),
        ("End.M.GTP6.D", "d4::/64 nhtype ipv4 drop-in"),
        ("end.m.gtp6.dt46", "fib-table 0 local-fib-table 0"),
    ] {
        bench.talk(|client, router| client.call(router, &sid(behavior)).unwrap());
        let shown = bench.run("show sr localsids").unwrap();
        assert!(shown.contains(words), "{shown}");
        let gone = SrMobileLocalsidAddDel { is_del: true, ..sid(behavior) };
        bench.talk(|client, router| client.call(router, &gone).unwrap());
    }
    bench.talk(|client, router| {
        let wrong = client.call(router, &sid("end.m.gtp9"));
        assert_eq!(wrong.err(), Some(Retval::INVALID_VALUE));
        let kind = SrMobileLocalsidAddDel { nhtype: SrMobileNhtype(9), ..sid("end.m.gtp6.d") };
        assert_eq!(client.call(router, &kind).err(), Some(Retval::INVALID_VALUE));
        client.call(router, &policy("t.m.gtp4.d")).unwrap();
        assert_eq!(client.call(router, &policy("t.m.gtp4.d")).err(), Some(Retval::VALUE_EXIST));
    });
    let shown = bench.run("show sr policies").unwrap();
    assert!(shown.contains("Behavior: t.m.gtp4.d d4::/32"), "{shown}");
    set(&mut bench, "sr steer l3 1.1.1.1/32 via bsid 8::");
    let message = gtp(false, &udp4("10.9.9.9", "10.8.8.8", 7, b"data"));
    let out = sent(&mut bench, "ip4-lookup", &[udp4("2.2.2.2", "1.1.1.1", 2152, &message)]);
    assert_eq!(addr(&out[0], 8).to_string(), "a7::1");
    assert_eq!(addr(&out[0], 24).to_string(), "d4:0:101:101::c800:0");
}
