//! IP in IP tunnels: tests with packets.

use control::api::Retval;
use control::api::types::IpDscp;
use ipip::*;
use net::InterfaceIndex;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::*;
use net::tunnel::{EncapDecapFlags as Copies, TunnelMode};
use wire::{Protocol, ip4, ip6};
use zerocopy::FromBytes;

/// Puts something into a packet.
type Wrap = fn(&str, &str, Protocol, &[u8]) -> Vec<u8>;

fn wanted(src: &str, dst: &str) -> IpipTunnel {
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    IpipTunnel {
        instance: u32::MAX,
        src: addr(src),
        dst: addr(dst),
        sw_if_index: InterfaceIndex(0),
        table_id: 0,
        flags: Copies::NONE,
        mode: TunnelMode::P2P,
        dscp: IpDscp::CS0,
    }
}

/// Makes a tunnel, up, with routes to 30.0.0.0/8 and 3000::/16.
fn make(rig: &mut Rig, tunnel: IpipTunnel) -> InterfaceIndex {
    let made = rig.talk(|client, router| client.call(router, &IpipAddTunnel { tunnel }).unwrap());
    let name = rig.router.interfaces.name(made.sw_if_index.0).to_owned();
    rig.set(&format!("set interface state {name} up"));
    rig.set(&format!("ip route add 30.0.0.0/8 via {name}\nip route add 3000::/16 via {name}"));
    rig.set(&format!("enable ip4 interface {name}\nenable ip6 interface {name}"));
    settle(rig);
    made.sw_if_index
}

#[test]
fn fields_of_the_outer_header_are_copied_as_asked() {
    use Copies as C;
    let both = Copies(C::ENCAP_COPY_DSCP.0 | C::ENCAP_COPY_ECN.0);
    // Flags, class of what is carried, whether it may be cut: class, TTL and cut of the outer one.
    let cases = [
        (C::NONE, 0xb9, true, (10 << 2, 63, false)),
        (C::ENCAP_COPY_DSCP, 0xb9, true, (0xb8, 63, false)),
        (C::ENCAP_COPY_ECN, 0xb9, true, (10 << 2 | 1, 63, false)),
        (both, 0xb9, true, (0xb9, 63, false)),
        (C::ENCAP_SET_DF, 0, false, (10 << 2, 63, true)),
        (C::ENCAP_COPY_DF, 0, true, (10 << 2, 63, true)),
        (C::ENCAP_COPY_DF, 0, false, (10 << 2, 63, false)),
        (C::ENCAP_COPY_HOP_LIMIT, 0, false, (10 << 2, 7, false)),
    ];
    for (flags, class, df, expected) in cases {
        for (src, dst) in [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")] {
            let mut rig = rig(FEATURE);
            make(&mut rig, IpipTunnel { flags, dscp: IpDscp::AF11, ..wanted(src, dst) });
            let packet = changed4(udp4(HOST4, "30.1.1.1", 7, b"data"), |h| {
                (h.tos, h.ttl) = (class, 9);
                h.fragment = if df { ip4::DONT_FRAGMENT } else { 0 }.into();
            });
            let out = sent(&mut rig, "ip4-input", packet.clone());
            let (seen, inner) = if src.contains(':') {
                let (outer, inner) = ip6::Header::ref_from_prefix(&out).unwrap();
                // One more than over IPv4: the outer header spends none.
                assert_eq!(usize::from(outer.payload_len.get()), inner.len());
                assert_eq!(outer.next_header, Protocol::IP4);
                ((outer.traffic_class(), outer.hop_limit - 1, expected.2), inner)
            } else {
                let (outer, inner) = ip4::Header::ref_from_prefix(&out).unwrap();
                assert!(outer.is_checksum_valid());
                assert_eq!(usize::from(outer.total_len.get()), out.len());
                ((outer.tos, outer.ttl, outer.dont_fragment()), inner)
            };
            assert_eq!(seen, expected, "{flags:?} {src}");
            assert_eq!(inner, changed4(packet, |h| h.ttl = 8));
            let six = changed6(udp6(HOST6, "3000::1", 7, b"data"), |h| h.set_traffic_class(class));
            let out = sent(&mut rig, "ip6-input", six);
            let outer = if src.contains(':') { 40 } else { 20 };
            assert_eq!((out.len(), out[outer] >> 4), (outer + 52, 6));
        }
    }
}

#[test]
fn around_packets_of_our_own_the_outer_header_has_all_its_hops() {
    let cases = [("10.0.1.1", "20.0.0.1", 64), ("2001:db8:1::1", "2a01::1", 64)];
    for (src, dst, hops) in cases {
        for (flags, hops) in [(Copies::NONE, hops), (Copies::ENCAP_COPY_HOP_LIMIT, 9)] {
            let mut rig = rig(FEATURE);
            make(&mut rig, IpipTunnel { flags, ..wanted(src, dst) });
            let own4 = changed4(udp4("10.0.1.1", "30.1.1.1", 7, b"data"), |h| h.ttl = 9);
            let own6 = changed6(udp6("2001:db8:1::1", "3000::1", 7, b"data"), |h| h.hop_limit = 9);
            for (node, packet) in [("ip4-lookup", own4), ("ip6-lookup", own6)] {
                let own = [packet.clone()];
                let out = rig.graph.send(node, &own, |p| p.add_flags(graph::Flags::LOCAL));
                assert_eq!(out[0].at, "sent", "{out:?}");
                let out = &out[0].bytes[14..];
                let (seen, len) = match ip4::Header::ref_from_prefix(out).unwrap().0 {
                    outer if outer.version() == 4 => {
                        assert!(outer.is_checksum_valid());
                        (outer.ttl, 20)
                    }
                    _ => (out[7], 40),
                };
                assert_eq!((seen, &out[len..]), (hops, &packet[..]), "{flags:?} {src}");
            }
        }
    }
}

/// As clients of the original set neighbours of tunnels; they are reached as all that is behind it.
#[test]
fn a_neighbour_of_a_tunnel_is_behind_it_whatever_its_address_of_layer_2() {
    let mut rig = rig(FEATURE);
    make(&mut rig, wanted("10.0.1.1", "20.0.0.1"));
    rig.set("set interface ip address ipip0 10.77.0.1/24");
    rig.set("set ip neighbor ipip0 10.77.0.2 02:00:00:00:77:02");
    settle(&mut rig);
    let packet = || udp4(HOST4, "10.77.0.2", 7, b"data");
    let out = sent(&mut rig, "ip4-input", packet());
    let (outer, inner) = ip4::Header::ref_from_prefix(&out).unwrap();
    assert_eq!((outer.protocol, inner), (Protocol::IP4, &changed4(packet(), |h| h.ttl -= 1)[..]));
    rig.set("set ip neighbor del ipip0 10.77.0.2 02:00:00:00:77:02");
    assert_eq!(sent(&mut rig, "ip4-input", packet()).len(), out.len(), "nor whether it has one");
}

#[test]
fn packets_of_far_ends_come_in_by_the_tunnel() {
    for (own, far, at, node, wrap) in [
        ("10.0.1.1", "20.0.0.1", "ip4-receive", "ipip4-input", ip4 as Wrap),
        ("2001:db8:1::1", "2a01::1", "ip6-receive", "ipip6-input", ip6 as Wrap),
    ] {
        let mut rig = rig(FEATURE);
        let flags = Copies::DECAP_COPY_ECN;
        let tunnel = make(&mut rig, IpipTunnel { flags, ..wanted(own, far) });
        let inner = changed4(udp4("30.1.1.1", "10.0.0.2", 7, b"data"), |h| h.tos = 0xb9);
        let mut outer = wrap(far, own, Protocol::IP4, &inner);
        for count in [1, 3, 4, 255, 256] {
            let out = send(&mut rig, at, &vec![outer.clone(); count]);
            assert!(out.iter().all(|c| c.at == "sent" && c.rx == tunnel.0), "{node}");
            assert_eq!(out[0].bytes[14..], changed4(inner.clone(), |h| h.ttl -= 1));
            rig.expect(&[(node, "packets decapsulated", count as u64)]);
        }
        // The mark of congestion goes on.
        if own.contains(':') {
            outer = changed6(outer, |h| h.set_traffic_class(3));
        } else {
            outer = changed4(outer, |h| h.tos = 3);
        }
        assert_eq!(sent(&mut rig, at, outer)[1], 0xbb);
        rig.expect(&[(node, "packets decapsulated", 1)]);
        let six = wrap(far, own, Protocol::IP6, &udp6("3000::1", "2001:db8::2", 7, b"data"));
        assert_eq!(sent(&mut rig, at, six).len(), 52);
        rig.expect(&[(node, "packets decapsulated", 1)]);
        let stranger = if own.contains(':') { "2a01::9" } else { "20.0.0.9" };
        send(&mut rig, at, &[wrap(stranger, own, Protocol::IP4, &inner)]);
        rig.expect(&[(node, "no tunnel", 1)]);
        let name = rig.router.interfaces.name(tunnel.0).to_owned();
        rig.set(&format!("set interface state {name} down"));
        send(&mut rig, at, &[wrap(far, own, Protocol::IP4, &inner)]);
        rig.expect(&[(node, "no tunnel", 1)]);
        // With the last tunnel the protocol is free again.
        let line = format!("delete ipip tunnel sw_if_index {}", tunnel.0);
        rig.set(&line);
        assert_eq!(rig.run(&line), "delete ipip tunnel: the interface is not such a tunnel\n");
        send(&mut rig, at, &[wrap(far, own, Protocol::IP4, &inner)]);
        assert!(rig.graph.moved_counters().iter().any(|(_, name, _)| *name == "unknown_protocol"));
    }
}

#[test]
fn far_ends_of_several_are_known_by_the_teib() {
    let mut rig = rig(FEATURE);
    assert_eq!(rig.run("create ipip tunnel src 10.0.1.1 p2mp"), "ipip0\n");
    rig.set("set interface state ipip0 up\nset interface ip address ipip0 172.16.0.1/24");
    rig.set("ip route add 30.0.0.0/8 via 172.16.0.2 ipip0");
    settle(&mut rig);
    let packet = udp4(HOST4, "30.1.1.1", 7, b"data");
    assert!(
        send(&mut rig, "ip4-input", std::slice::from_ref(&packet)).iter().all(|c| c.at != "sent")
    );
    rig.set("create teib ipip0 peer 172.16.0.2 nh 20.0.0.7");
    assert_eq!(rig.run("show teib"), "[0] ipip0:172.16.0.2 via [0]:20.0.0.7/32\n");
    let out = sent(&mut rig, "ip4-input", packet.clone());
    assert_eq!((&out[12..16], &out[16..20]), (&[10, 0, 1, 1][..], &[20, 0, 0, 7][..]));
    let out = sent(&mut rig, "ip4-input", udp4(HOST4, "172.16.0.2", 7, b"data"));
    assert_eq!(out[16..20], [20, 0, 0, 7]);
    let inner = udp4("30.1.1.1", "10.0.0.2", 7, b"data");
    let back = ip4("20.0.0.7", "10.0.1.1", Protocol::IP4, &inner);
    assert_eq!(sent(&mut rig, "ip4-receive", back.clone()).len(), inner.len());
    let again = rig.run("create teib ipip0 peer 172.16.0.2 nh 20.0.0.8");
    assert_eq!(again, "create teib: peer 172.16.0.2 exists\n");
    rig.set("delete teib ipip0 peer 172.16.0.2");
    assert!(send(&mut rig, "ip4-input", &[packet]).iter().all(|c| c.at != "sent"));
    assert!(send(&mut rig, "ip4-receive", &[back]).iter().all(|c| c.at != "sent"));
    assert_eq!(rig.graph.buffers_used(), 0);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let mut rig = rig(FEATURE);
    let count = |rig: &Rig| rig.router.interfaces.iter().count();
    let before = count(&rig);
    let with = |tunnel| IpipAddTunnel { tunnel };
    let good = wanted("10.0.1.1", "20.0.0.1");
    rig.talk(|client, router| {
        let mut refused = |tunnel| client.call(router, &with(tunnel)).unwrap_err();
        assert_eq!(refused(wanted("10.0.1.1", "2a01::1")), Retval::INVALID_VALUE);
        assert_eq!(refused(wanted("10.0.1.1", "10.0.1.1")), Retval::SAME_SRC_DST);
        assert_eq!(refused(wanted("10.0.1.1", "0.0.0.0")), Retval::INVALID_DST_ADDRESS);
        assert_eq!(refused(wanted("0.0.0.0", "20.0.0.1")), Retval::INVALID_SRC_ADDRESS);
        assert_eq!(refused(IpipTunnel { table_id: 9, ..good }), Retval::NO_SUCH_FIB);
        let made = client.call(router, &with(good)).unwrap();
        let mut refused = |tunnel| client.call(router, &with(tunnel)).unwrap_err();
        assert_eq!(refused(good), Retval::TUNNEL_EXISTS);
        let other = IpipTunnel { instance: 0, ..wanted("10.0.1.1", "20.0.0.2") };
        assert_eq!(refused(other), Retval::INSTANCE_IN_USE);
        let all = IpipTunnelDump { sw_if_index: InterfaceIndex(u32::MAX) };
        let rows = client.dump(router, &all);
        let expected = IpipTunnel { instance: 0, sw_if_index: made.sw_if_index, ..good };
        assert_eq!(rows.iter().map(|r| r.tunnel).collect::<Vec<_>>(), [expected]);
        let gone = IpipDelTunnel { sw_if_index: made.sw_if_index };
        client.call(router, &gone).unwrap();
        assert_eq!(client.call(router, &gone).err(), Some(Retval::INVALID_SW_IF_INDEX));
    });
    assert_eq!(count(&rig), before);
}

#[test]
fn words_of_commands_are_those_of_the_original() {
    let mut rig = rig(FEATURE);
    for (line, name) in [
        ("create ipip tunnel p2p src 10.0.1.1 dst 20.0.0.1", "ipip0\n"),
        ("create ipip tunnel mp src 10.0.1.1", "ipip1\n"),
    ] {
        assert_eq!(rig.run(line), name, "{line}");
    }
    let said = rig.run("create ipip tunnel mp p2p src 10.0.1.1");
    assert!(said.contains("expected p2p or p2mp"), "{said}");
    assert_eq!(rig.run("show ipip tunnel").lines().count(), 2);
    assert_eq!(rig.run("show ipip tunnel 1").lines().count(), 1);
    let number = rig.interface("ipip1").0;
    rig.set(&format!("delete ipip tunnel sw_if_index {number}"));
    assert_eq!(rig.run("show ipip tunnel").lines().count(), 1);
}

#[test]
fn far_ends_are_found_in_addresses() {
    let mut rig = rig(FEATURE);
    let line = "create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 0.0.0.0/0 ip4-src 10.0.1.1 \
        security-check tos 255";
    assert_eq!(rig.run(line), "ip6ip-6rd0\n");
    rig.set("ip route add 2f00::/16 via 2002:1400:9::1 ip6ip-6rd0");
    settle(&mut rig);
    // In the domain, and behind a relay.
    for (dst, far) in [("2002:1400:7::1", [20, 0, 0, 7]), ("2f00::1", [20, 0, 0, 9])] {
        let packet = changed6(udp6(HOST6, dst, 7, b"data"), |h| h.set_traffic_class(0xb9));
        let out = sent(&mut rig, "ip6-input", packet.clone());
        let (outer, inner) = ip4::Header::ref_from_prefix(&out).unwrap();
        assert_eq!((outer.src, outer.dst, outer.tos), ([10, 0, 1, 1], far, 0xb9));
        assert!(outer.is_checksum_valid() && usize::from(outer.total_len.get()) == out.len());
        assert_eq!((outer.ttl, outer.fragment.get(), outer.protocol), (63, 0, Protocol::IP6));
        assert_eq!(inner, changed6(packet, |h| h.hop_limit -= 1));
    }
    rig.graph.moved_counters();
    let from = |far, source| {
        let inner = udp6(source, "2001:db8::2", 7, b"data");
        ip4(far, "10.0.1.1", Protocol::IP6, &inner)
    };
    assert_eq!(sent(&mut rig, "ip4-receive", from("20.0.0.7", "2002:1400:7::1")).len(), 52);
    rig.expect(&[("ipip4-input", "packets decapsulated", 1)]);
    // Another's address, and no IPv6.
    let inner = udp4("30.1.1.1", "10.0.0.2", 7, b"data");
    let bare = ip4("20.0.0.7", "10.0.1.1", Protocol::IP4, &inner);
    for packet in [from("20.0.0.8", "2002:1400:7::1"), bare] {
        send(&mut rig, "ip4-receive", &[packet]);
        rig.expect(&[("ipip4-input", "no tunnel", 1)]);
    }
    let said = rig.run("delete ipip tunnel ip6ip-6rd0");
    assert!(said.contains("not such a tunnel"), "{said}");
    rig.set("delete 6rd tunnel ip6ip-6rd0");
    // Without a word about it the type of service stays, and what fits into Ethernet is carried.
    rig.run("create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 0.0.0.0/0 ip4-src 10.0.1.1");
    settle(&mut rig);
    let packet = |len: usize| {
        let data = vec![7; len - 48];
        changed6(udp6(HOST6, "2002:1400:7::1", 7, &data), |h| h.set_traffic_class(0xb9))
    };
    let out = sent(&mut rig, "ip6-input", packet(1480));
    let (outer, _) = ip4::Header::ref_from_prefix(&out).unwrap();
    assert_eq!((outer.tos, out.len()), (0, 1500));
    assert_eq!(told(&mut rig, packet(1481)), Some(1480));
    rig.set("delete 6rd tunnel ip6ip-6rd0");
    let long = "create 6rd tunnel ip6-pfx 2002::/48 ip4-pfx 0.0.0.0/0 ip4-src 10.0.1.1";
    assert!(rig.run(long).contains("exceed 64 bits"));
}

/// The MTU that the sender of a packet gets, whose error is the only packet sent.
#[track_caller]
fn told(rig: &mut Rig, packet: Vec<u8>) -> Option<u32> {
    let is_6 = packet[0] >> 4 == 6;
    let out = send(rig, if is_6 { "ip6-input" } else { "ip4-input" }, &[packet]);
    let sent: Vec<_> = out.iter().filter(|c| c.at == "sent").map(|c| &c.bytes[14..]).collect();
    let &[answer] = &sent[..] else { panic!("{out:?}") };
    match (answer[0] >> 4, is_6) {
        (4, false) if answer[20..22] == [3, 4] => {
            Some(u16::from_be_bytes([answer[26], answer[27]]).into())
        }
        (6, true) if answer[40] == 2 => {
            Some(u32::from_be_bytes([answer[44], answer[45], answer[46], answer[47]]))
        }
        _ => None,
    }
}

#[test]
fn senders_are_told_what_fits_where_outer_packets_must_not_be_cut() {
    use Copies as C;
    let df = |len| {
        changed4(udp4(HOST4, "30.1.1.1", 7, &vec![0; len]), |h| {
            h.fragment = ip4::DONT_FRAGMENT.into();
        })
    };
    let six = |len| udp6(HOST6, "3000::1", 7, &vec![0; len]);
    for flags in [C::ENCAP_SET_DF, C::ENCAP_COPY_DF] {
        let mut rig = rig(FEATURE);
        make(&mut rig, IpipTunnel { flags, ..wanted("10.0.1.1", "20.0.0.1") });
        assert_eq!(told(&mut rig, df(1400)), None);
        rig.set("set interface mtu packet 1400 pg1");
        assert_eq!(told(&mut rig, df(1400)), Some(1380));
        assert_eq!(told(&mut rig, df(1380 - 28)), None);
        assert_eq!(told(&mut rig, df(1381 - 28)), Some(1380));
        assert_eq!(told(&mut rig, six(1400)), Some(1380));
        assert_eq!(told(&mut rig, six(1380 - 48)), None);
        // Where the way to the far end goes elsewhere it is another one's.
        rig.set("ip route add 20.0.0.1/32 via 10.0.0.2 pg0");
        assert_eq!(told(&mut rig, df(1400)), None);
        rig.set("set interface mtu packet 1350 pg0");
        assert_eq!(told(&mut rig, df(1400)), Some(1330));
        rig.set("ip route del 20.0.0.1/32");
        assert_eq!(told(&mut rig, df(1400)), Some(1380));
        // What may be cut is cut in front of the headers.
        let out = send(&mut rig, "ip4-input", &[udp4(HOST4, "30.1.1.1", 7, &[0; 1400])]);
        assert_eq!(out.iter().filter(|c| c.at == "sent").count(), 2);
    }
    // A tunnel in a tunnel has room for what the outer one leaves.
    let mut rig = rig(FEATURE);
    let set = |far| IpipTunnel { flags: C::ENCAP_SET_DF, ..wanted("10.0.1.1", far) };
    make(&mut rig, set("20.0.0.1"));
    rig.set("ip route add 31.0.0.0/8 via ipip0");
    rig.set("set interface mtu packet 1400 pg1");
    rig.set("ip route del 30.0.0.0/8\nip route del 3000::/16");
    make(&mut rig, set("31.0.0.1"));
    assert_eq!(told(&mut rig, df(1400)), Some(1360));
    rig.set("set interface mtu packet 1300 pg1");
    assert_eq!(told(&mut rig, df(1400)), Some(1260));
}

#[test]
fn a_path_mtu_to_the_far_end_counts_for_all_tunnels() {
    for (own, far, headers) in [("10.0.1.1", "20.0.0.1", 20), ("2001:db8:1::1", "2a01::1", 40)] {
        let mut rig = rig(FEATURE);
        make(&mut rig, wanted(own, far));
        let whole = changed4(udp4(HOST4, "30.1.1.1", 7, &[0; 1400]), |h| {
            h.fragment = ip4::DONT_FRAGMENT.into();
        });
        let key = (0, far.parse().unwrap());
        rig.control(|router| router.set_path_mtu(key, 1390).unwrap());
        assert_eq!(told(&mut rig, whole.clone()), Some(1390 - headers), "{own}");
        rig.control(|router| router.set_path_mtu(key, 0).unwrap());
        assert_eq!(told(&mut rig, whole), None);
    }
}
