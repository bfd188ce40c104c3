//! Interface pairs: what the router does not take goes to the host, and what the host sends goes
//! out as it is.

use control::api::Retval;
use linux_cp::*;
use net::InterfaceIndex;
use net::interface::Kind;
use net::testing::whole::{Bench, HOST, PG0, bytes, packet, reply, request, sent};
use wire::ethernet::{self, EtherType};
use wire::{MacAddr, Protocol, icmp6, ip4};
use zerocopy::IntoBytes;

/// A router with `pg0` and `host` in a pair.
fn bench() -> (Bench, InterfaceIndex) {
    let mut b = Bench::plugged(&[linux_cp::osi::FEATURE, FEATURE]);
    let host = b.add_interface("host", Kind::Ethernet, 0xac);
    assert_eq!(b.cli("test lcp add phy pg0 host host"), "");
    (b, host)
}

fn frame(kind: EtherType, packet: &[u8]) -> Vec<u8> {
    [ethernet::Header::new(PG0, HOST, kind).as_bytes(), packet].concat()
}

/// An IPv4 packet of a protocol to an address.
fn of(protocol: Protocol, dst: &str, payload: &[u8]) -> Vec<u8> {
    frame(EtherType::IP4, &net::testing::packets::ip4("10.0.0.2", dst, protocol, payload))
}

#[test]
fn what_nobody_here_takes_goes_to_the_host_unchanged() {
    let (mut b, host) = bench();
    let pg0 = b.pg0;
    assert_eq!(b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static"), "");
    b.graph.moved_counters();
    let udp = packet("10.0.0.1");
    let ospf = of(Protocol(89), "10.0.0.1", &[2; 24]);
    for count in [1, 3, 256] {
        for frame in [&udp, &ospf] {
            let out = b.receive(pg0, &vec![frame.clone(); count]);
            assert_eq!(out.iter().filter(|c| c.tx == host.0).count(), count);
            assert!(sent(&out).iter().all(|bytes| bytes == frame));
        }
    }
    // Other interfaces have no host: a port without a listener causes an error.
    let pg1 = b.pg1;
    let mut other = packet("10.0.1.1");
    other[..6].copy_from_slice(&net::testing::whole::PG1.0);
    assert!(b.receive(pg1, &[other]).iter().all(|c| c.tx != host.0));
    assert_eq!(b.cli("test lcp del phy pg0 host host"), "");
    assert!(b.receive(pg0, &[udp]).iter().all(|c| c.tx != host.0));
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn groups_of_the_link_reach_the_host() {
    let (mut b, host) = bench();
    let pg0 = b.pg0;
    let mut hello = of(Protocol(89), "224.0.0.5", &[2; 24]);
    hello[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 5]);
    let packet = net::testing::packets::ip6("fe80::2", "ff02::5", Protocol(89), &[3; 24]);
    let mut hello6 = frame(EtherType::IP6, &packet);
    hello6[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 5]);
    for hello in [hello, hello6] {
        let out = b.receive(pg0, std::slice::from_ref(&hello));
        let to_host: Vec<_> = out.iter().filter(|c| c.tx == host.0).collect();
        assert_eq!(to_host.len(), 1, "{out:?}");
        assert_eq!(to_host[0].bytes, hello);
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

/// A UDP packet to everybody, at layer 2 too.
fn to_all(src: &str, dst: &str, port: u16) -> Vec<u8> {
    let mut packet = frame(EtherType::IP4, &net::testing::packets::udp4(src, dst, port, &[1; 20]));
    packet[..6].copy_from_slice(&[0xff; 6]);
    packet
}

#[test]
fn broadcasts_reach_the_host_as_long_as_there_is_a_pair() {
    let (mut b, host) = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    let discover = to_all("0.0.0.0", "255.255.255.255", 67);
    let of_subnet = to_all("10.0.0.2", "10.0.0.255", 9999);
    let reaches = |b: &mut Bench, from, frame: &Vec<u8>| {
        let out = b.receive(from, std::slice::from_ref(frame));
        assert!(out.iter().all(|c| c.tx == host.0 && c.bytes == *frame), "{out:?}");
        out.len()
    };
    for frame in [&discover, &of_subnet] {
        assert_eq!((reaches(&mut b, pg0, frame), reaches(&mut b, pg1, frame)), (1, 0));
    }
    // Whatever comes and goes.
    for line in [
        "set interface ip address del pg0 10.0.0.1/24",
        "set interface ip address pg0 10.0.0.1/24",
        "ip route add 255.255.255.255/32 via local",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    for frame in [&discover, &of_subnet] {
        assert_eq!(reaches(&mut b, pg0, frame), 1, "a port that nobody else takes");
    }
    b.set("ip route del 255.255.255.255/32");
    b.set("ip table add 7");
    b.set("set interface ip address del pg0 10.0.0.1/24");
    b.set("set interface ip table pg0 7");
    b.set("set interface ip address pg0 10.0.0.1/24");
    b.wait(0.0);
    for frame in [&discover, &of_subnet] {
        assert_eq!(reaches(&mut b, pg0, frame), 1, "in another table");
    }
    let everybody = |b: &mut Bench, table| {
        let shown = b.cli(&format!("show ip fib table {table} 255.255.255.255/32"));
        shown.contains("dpo-punt")
    };
    assert_eq!((everybody(&mut b, 0), everybody(&mut b, 7)), (false, true));
    // No other MAC address is announced for it.
    let ask = bytes(request(HOST, "10.0.0.2", "10.0.0.255"));
    assert!(b.receive(pg0, &[ask]).iter().all(|c| c.tx != pg0.0));
    assert_eq!(b.cli("test lcp del phy pg0 host host"), "");
    for frame in [&discover, &of_subnet] {
        assert_eq!(reaches(&mut b, pg0, frame), 0);
    }
    assert!(!everybody(&mut b, 7));
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_dhcp6_clients_send_to_all_servers_reaches_the_host() {
    let (mut b, host) = bench();
    let packet = net::testing::packets::udp6("fe80::2", "ff02::1:2", 547, &[1; 20]);
    let mut solicit = frame(EtherType::IP6, &packet);
    solicit[..6].copy_from_slice(&[0x33, 0x33, 0, 1, 0, 2]);
    let out = b.receive(b.pg0, std::slice::from_ref(&solicit));
    let to_host: Vec<_> = out.iter().filter(|c| c.tx == host.0).collect();
    assert_eq!(to_host.len(), 1, "{out:?}");
    assert_eq!(to_host[0].bytes, solicit);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_the_host_sends_goes_out_unchanged() {
    let (mut b, host) = bench();
    let (pg0, far) = (b.pg0, MacAddr([2, 0, 0, 0, 9, 9]));
    let header = |kind| ethernet::Header::new(far, PG0, kind);
    let ip4 = net::testing::packets::udp4("10.0.0.1", "203.0.113.9", 9, &[1; 20]);
    let ip6 = net::testing::packets::udp6("2001:db8::1", "2001:db8:9::9", 9, &[1; 20]);
    let mut group = [header(EtherType::IP4).as_bytes(), &ip4].concat();
    group[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 5]);
    group[30..34].copy_from_slice(&[224, 0, 0, 5]);
    let rest = ip4::Header::new(
        "10.0.0.1".parse().unwrap(),
        "224.0.0.5".parse().unwrap(),
        Protocol(89),
        20 + 28,
    );
    group[14..34].copy_from_slice(rest.as_bytes());
    let frames = [
        [header(EtherType::IP4).as_bytes(), &ip4].concat(),
        [header(EtherType::IP6).as_bytes(), &ip6].concat(),
        group,
        bytes(request(PG0, "10.0.0.1", "10.0.0.9")),
        bytes(reply(PG0, "10.0.0.1", HOST, "10.0.0.2")),
    ];
    for frame in &frames {
        for count in [1, 4, 255] {
            let out = b.receive(host, &vec![frame.clone(); count]);
            assert_eq!(out.iter().filter(|c| c.tx == pg0.0).count(), count);
            assert!(sent(&out).iter().all(|bytes| bytes == frame), "{out:?}");
        }
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn the_host_gets_copies_of_answers() {
    let (mut b, host) = bench();
    let pg0 = b.pg0;
    let arp = bytes(reply(HOST, "10.0.0.2", PG0, "10.0.0.1"));
    let echo = of(Protocol::ICMP, "10.0.0.1", &[0, 0, 0xff, 0xf6, 0, 9, 0, 0]);
    let message = net::testing::packets::icmp6(
        "2001:db8::2",
        "2001:db8::1",
        icmp6::Type::NEIGHBOR_ADVERTISEMENT,
        &[&[0x60, 0, 0, 0][..], &net::testing::whole::ip6("2001:db8::2").octets()].concat(),
    );
    let mut advertisement = frame(EtherType::IP6, &message);
    advertisement[14 + 7] = 255;
    for answer in [arp, echo, advertisement] {
        let out = b.receive(pg0, std::slice::from_ref(&answer));
        let to_host: Vec<_> = out.iter().filter(|c| c.tx == host.0).collect();
        assert_eq!(to_host.len(), 1, "{out:?}");
        assert_eq!(to_host[0].bytes, answer);
    }
    // The router has learned from it as well.
    let key = (pg0, "10.0.0.2".parse().unwrap());
    assert_eq!(b.router.neighbors().table.at(key).map(|n| n.mac), Some(HOST));
    // Questions it answers itself.
    let ask = bytes(request(HOST, "10.0.0.2", "10.0.0.1"));
    let ping = net::testing::packets::ping4("10.0.0.2", "10.0.0.1", &[]);
    for question in [ask, frame(EtherType::IP4, &ping)] {
        let out = b.receive(pg0, &[question]);
        assert!(out.iter().all(|c| c.tx == pg0.0), "{out:?}");
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn a_tun_gets_and_sends_packets_without_frames() {
    let mut b = Bench::plugged(&[FEATURE]);
    let host = b.add_interface("host", Kind::Ip, 0);
    assert_eq!(b.cli("test lcp add phy pg0 host host"), "");
    assert_eq!(b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static"), "");
    let pg0 = b.pg0;
    let udp = packet("10.0.0.1");
    let out = b.receive(pg0, std::slice::from_ref(&udp));
    let to_host: Vec<_> = out.iter().filter(|c| c.tx == host.0).collect();
    assert_eq!(to_host.len(), 1, "{out:?}");
    assert_eq!(to_host[0].bytes, udp[14..]);
    let packet = net::testing::packets::udp4("10.0.0.1", "10.0.0.2", 9, &[1; 20]);
    let caught =
        b.graph.send("ip4-input", std::slice::from_ref(&packet), move |p| p.set_rx(host.0));
    assert_eq!(sent(&caught).len(), 1, "{caught:?}");
    assert_eq!(&caught[0].bytes[14..], &packet[..], "no hop is taken");
    assert_eq!(&caught[0].bytes[..6], &HOST.0);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn frames_of_chosen_types_pass_both_ways() {
    let (mut b, host) = bench();
    let pg0 = b.pg0;
    let group = [1, 0x80, 0xc2, 0, 0, 0x14];
    let of = |kind: u16, rest: &[u8]| {
        [&group[..], &HOST.0, &kind.to_be_bytes(), rest, &[0; 46][..]].concat()
    };
    let slow = of(0x8809, &[1]);
    let isis = of(50, &[0xfe, 0xfe, 3, 0x83]);
    let long = of(0x8870, &[0xfe, 0xfe, 3, 0x83]);
    let all = [slow, isis, long];
    let passes = |b: &mut Bench, from, to: InterfaceIndex| {
        all.iter()
            .filter(|frame| {
                let out = b.receive(from, &[(*frame).clone()]);
                out.iter().any(|c| c.tx == to.0 && c.at == "sent" && c.bytes == **frame)
            })
            .count()
    };
    assert_eq!((passes(&mut b, pg0, host), passes(&mut b, host, pg0)), (0, 0));
    assert_eq!(b.cli("lcp ethertype enable 0x8809"), "");
    assert_eq!((passes(&mut b, pg0, host), passes(&mut b, host, pg0)), (1, 1));
    assert_eq!(b.cli("lcp osi-proto enable 131"), "");
    assert_eq!((passes(&mut b, pg0, host), passes(&mut b, host, pg0)), (3, 3));
    assert_eq!(b.cli("show lcp ethertype"), "0x8809\n");
    assert_eq!(b.cli("show lcp osi-proto"), "0x83\n");
    assert!(b.cli("lcp osi-proto enable 255").contains("unknown OSI protocol"));
    assert!(b.cli("lcp ethertype enable 0x800").contains("cannot be passed"));
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn a_pair_goes_with_either_interface() {
    for gone in ["pg0", "host"] {
        let (mut b, _) = bench();
        assert!(b.cli("show lcp").contains("itf-pair: [0] pg0 host"));
        let index = b.interface(gone);
        b.control(|router, _| router.remove_interface(index));
        assert!(!b.cli("show lcp").contains("itf-pair"), "{gone}");
    }
}

#[test]
fn messages_answer_as_clients_know_them() {
    let (mut b, host) = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let mut pairs = local.stream(router, &LcpItfPairGet { cursor: 0 }).0;
        let pair = pairs.remove(0);
        assert_eq!((pair.phy_sw_if_index, pair.host_sw_if_index), (pg0, host));
        assert!(local.call(router, &LcpSyncUnnumberedGet {}).unwrap().is_enable);
        local.call(router, &LcpSyncUnnumberedSet { is_enable: false }).unwrap();
        assert!(!local.call(router, &LcpSyncUnnumberedGet {}).unwrap().is_enable);
        local.call(router, &LcpDefaultNsSet { netns: "red".to_owned().into() }).unwrap();
        assert_eq!(&*local.call(router, &LcpDefaultNsGet {}).unwrap().netns, "red");
        let refused = local.call(router, &LcpOsiProtoEnable { osi_proto: 0xff }).err();
        assert_eq!(refused, Some(Retval::INVALID_REGISTRATION));
        local.call(router, &LcpOsiProtoEnable { osi_proto: 0x83 }).unwrap();
        assert_eq!(local.call(router, &LcpOsiProtoGet {}).unwrap().osi_protos, [0x83]);
        local.call(router, &LcpEthertypeEnable { ethertype: 0x8809 }).unwrap();
        assert_eq!(local.call(router, &LcpEthertypeGet {}).unwrap().ethertypes, [0x8809]);
        local.call(router, &LcpItfPairReplaceBegin {}).unwrap();
        local.call(router, &LcpItfPairReplaceEnd {}).unwrap();
        assert!(local.stream(router, &LcpItfPairGet { cursor: 0 }).0.is_empty());
    });
}

#[test]
fn what_is_wrong_is_named_and_nothing_changes() {
    let (mut b, _) = bench();
    for (line, text) in [
        ("lcp create pg0 host-if x", "already in a pair"),
        ("lcp create pg1 host-if toolongforadevice", "1 to 15 characters"),
        ("lcp create pg9 host-if x", "pg9"),
        ("lcp delete pg1", "is not in a pair"),
        ("lcp lcp-sync maybe", "expected on or off"),
        ("lcp default netns a-name-that-is-longer-than-31-characters", "at most 31 characters"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(text), "{line}: {said}");
    }
    assert_eq!(b.cli("show lcp").matches("itf-pair").count(), 1);
}
