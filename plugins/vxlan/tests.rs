//! Tunnels of vxlan: tests with packets.

use control::api::Retval;
use graph::Flags;
use net::InterfaceIndex;
use net::interface::Offloads;
use net::testing::{Rig, packets::*};
use net::tunnel::command;
use net::tunnel::testing::*;
use vxlan::*;
use wire::{ip6, udp};
use zerocopy::FromBytes;

/// Own addresses and far ends, with the nodes of their version.
const ENDS: [(&str, &str, &str, &str); 2] = [
    ("10.0.1.1", "20.0.0.1", "ip4-receive", "vxlan4-input"),
    ("2001:db8:1::1", "2a01::1", "ip6-receive", "vxlan6-input"),
];
/// Header of the network 77.
const HEADER: [u8; 8] = [8, 0, 0, 0, 0, 0, 77, 0];

fn frame(port: u16) -> Vec<u8> {
    let front = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0];
    [&front[..], &udp4("30.0.0.1", "30.0.0.2", port, b"data")].concat()
}

fn make(rig: &mut Rig, (own, far): (&str, &str), more: &str) {
    let line = format!("create vxlan tunnel src {own} dst {far} vni 77 {more}");
    assert_eq!(rig.run(&line), "vxlan_tunnel0\n");
    settle(rig);
}

#[test]
fn a_tunnel_to_a_group_goes_with_the_interface_that_the_group_is_reached_by() {
    let mut rig = rig(FEATURE);
    for (own, group) in [("10.0.1.1", "232.1.1.1"), ("2001:db8:1::1", "ff05::1")] {
        rig.run("create sub-interfaces pg1 9");
        rig.run(&format!("create vxlan tunnel src {own} group {group} pg1.9 vni 7"));
        let kept = format!("create vxlan tunnel src {own} group {group} pg1 vni 8");
        assert_eq!(rig.run(&kept), "vxlan_tunnel1\n");
        assert!(rig.run("show configuration vxlan").contains("pg1.9"));
        rig.run("delete sub-interface pg1.9");
        assert_eq!(rig.run("show configuration vxlan").lines().count(), 1, "the other one stays");
        rig.run(&format!("{kept} del"));
    }
}

#[test]
fn frames_travel_in_datagrams_whose_source_port_is_the_flow() {
    for (own, far, ..) in ENDS {
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        let mut ports = std::collections::BTreeSet::new();
        for port in 0..9 {
            let out = frame_sent(&mut rig, "vxlan_tunnel0", &frame(port));
            let ip = if own.contains(':') { 40 } else { 20 };
            let (udp, rest) = udp::Header::ref_from_prefix(&out[ip..]).unwrap();
            assert_eq!((udp.dst_port.get(), usize::from(udp.len.get())), (PORT, out.len() - ip));
            assert_eq!(rest, [&HEADER[..], &frame(port)].concat());
            ports.insert(udp.src_port.get());
            if own.contains(':') {
                assert!(sum6(&out).is_valid());
                let outer = ip6::Header::ref_from_prefix(&out).unwrap().0;
                assert_eq!(outer.hop_limit, 254);
            } else {
                assert_eq!((udp.checksum.get(), out[8]), (0, 253));
            }
        }
        let tx = rig.interface("vxlan_tunnel0").0;
        let sent = rig.graph.send("vxlan_tunnel0-output", &[frame(0)], move |p| {
            p.set_tx(tx);
            p.add_flags(Flags::LOCAL);
        });
        let hops = if sent[0].bytes[14] >> 4 == 6 { sent[0].bytes[21] } else { sent[0].bytes[22] };
        assert_eq!(hops, if sent[0].bytes[14] >> 4 == 6 { 255 } else { 254 });
        assert!(ports.len() > 4 && ports.iter().all(|port| *port >= 0xc000), "{ports:?}");
        let node = if own.contains(':') { "vxlan6-encap" } else { "vxlan4-encap" };
        rig.expect(&[(node, "good packets encapsulated", 10)]);
        let sent = rig.router.interfaces.values(rig.interface("vxlan_tunnel0")).tx;
        assert_eq!((sent.packets, sent.bytes), (10, 10 * frame(0).len() as u64));
    }
}

#[test]
fn frames_of_far_ends_come_in_by_the_tunnel() {
    for (own, far, at, node) in ENDS {
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        let tunnel = rig.interface("vxlan_tunnel0").0;
        let data = [&HEADER[..], &frame(7)].concat();
        for (count, has_sum) in [(1, true), (3, false), (4, true), (255, false), (256, true)] {
            let packet = datagram(far, own, PORT, &data, has_sum);
            let out = send(&mut rig, at, &vec![packet; count]);
            assert_eq!(out.len(), count);
            assert!(out.iter().all(|c| c.at == "ethernet-input" && c.rx == tunnel));
            assert!(out.iter().all(|c| c.bytes == frame(7)));
            rig.expect(&[(node, "good packets decapsulated", count as u64)]);
        }
        let stranger = if own.contains(':') { "2a01::9" } else { "20.0.0.9" };
        let other = [8, 0, 0, 0, 0, 0, 78, 0];
        for (src, header, why) in [
            (stranger, HEADER, "no such tunnel packets"),
            (far, other, "no such tunnel packets"),
            (far, [0; 8], "packets with bad flags field in vxlan header"),
        ] {
            let packet = datagram(src, own, PORT, &[&header[..], &frame(7)].concat(), true);
            send(&mut rig, at, &[packet]);
            rig.expect(&[(node, why, 1)]);
        }
        send(&mut rig, at, &[datagram(far, own, PORT, &[8], true)]);
        rig.expect(&[(node, "packets with bad flags field in vxlan header", 1)]);
    }
}

#[test]
fn packets_leave_the_usual_way_where_they_come_in() {
    for (own, far, _, node) in ENDS {
        let (ip, input) =
            if own.contains(':') { ("ip6", "ip6-input") } else { ("ip", "ip4-input") };
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        rig.set(&format!("set interface {ip} vxlan-bypass pg0"));
        let packet = datagram(far, own, PORT, &[&HEADER[..], &frame(7)].concat(), true);
        let out = send(&mut rig, input, std::slice::from_ref(&packet));
        assert_eq!(
            (out[0].at.as_str(), out[0].bytes.as_slice()),
            ("ethernet-input", &frame(7)[..])
        );
        rig.expect(&[(node, "good packets decapsulated", 1)]);
        // What is no tunnel's goes on as it came.
        let other = udp4(HOST4, "20.1.1.1", PORT, b"");
        assert_eq!(sent(&mut rig, "ip4-input", other.clone()), changed4(other, |h| h.ttl -= 1));
        rig.set(&format!("set interface {ip} vxlan-bypass pg0 del"));
        assert_eq!(send(&mut rig, input, &[packet]).len(), 1);
    }
}

#[test]
fn groups_are_sent_to_and_listened_to() {
    let mut rig = rig(FEATURE);
    make(&mut rig, ("10.0.1.1", "20.0.0.1"), "");
    let line = "create vxlan tunnel src 10.0.1.1 group 239.1.1.1 pg1 vni 77";
    assert_eq!(rig.run(line), "vxlan_tunnel1\n");
    settle(&mut rig);
    let tx = rig.interface("vxlan_tunnel1").0;
    let out = rig.graph.send("vxlan_tunnel1-output", &[frame(7)], move |p| p.set_tx(tx));
    assert_eq!((out[0].at.as_str(), &out[0].bytes[..6]), ("sent", &[1, 0, 0x5e, 1, 1, 1][..]));
    assert_eq!(out[0].bytes[30..34], [239, 1, 1, 1]);
    // From a remote end with a tunnel it is received on that one, from others not at all.
    let pg1 = rig.interface("pg1").0;
    rig.graph.moved_counters();
    for (src, count, counter) in
        [("20.0.0.1", 1, "good packets decapsulated"), ("20.0.0.9", 0, "no such tunnel packets")]
    {
        let data = [&HEADER[..], &frame(7)].concat();
        let packet = datagram(src, "239.1.1.1", PORT, &data, true);
        let out = rig.graph.send("ip4-mfib-forward-lookup", &[packet], move |p| p.set_rx(pg1));
        let tunnel = rig.interface("vxlan_tunnel0").0;
        assert_eq!(out.len(), count, "{out:?}");
        assert!(out.iter().all(|c| c.at == "ethernet-input" && c.rx == tunnel));
        rig.expect(&[("vxlan4-input", counter, 1)]);
    }
    assert!(rig.run("show ip mfib").contains("239.1.1.1/32"));
    rig.set(&format!("{line} del"));
    assert!(!rig.run("show ip mfib").contains("239.1.1.1/32"));
    assert_eq!(rig.graph.buffers_used(), 0);
}

#[test]
fn clients_make_list_and_delete_tunnels() {
    let mut rig = rig(FEATURE);
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let (ends, ports) = (
        Ends { src_address: addr("10.0.1.1"), dst_address: addr("20.0.0.1") },
        Ports { src_port: 1111, dst_port: 0 },
    );
    let network = Network {
        mcast_sw_if_index: InterfaceIndex(u32::MAX),
        encap_vrf_id: 0,
        decap_next_index: u32::MAX,
        vni: 9,
    };
    let tunnel = AddDelTunnel { is_add: true, instance: 5, ends, ports, network };
    let v3 = |tunnel| VxlanAddDelTunnelV3 { tunnel, is_l3: true };
    let wanted = v3(tunnel);
    let made = rig.talk(|client, router| {
        let made = client.call(router, &wanted).unwrap();
        let mut refused = |m: VxlanAddDelTunnelV3| client.call(router, &m).unwrap_err();
        assert_eq!(refused(wanted), Retval::TUNNEL_EXISTS);
        let network = |network| v3(AddDelTunnel { network, instance: 6, ..tunnel });
        let far = network(Network { vni: command::NETWORKS, ..tunnel.network });
        assert_eq!(refused(far), Retval::INVALID_VALUE);
        let group = Ends { dst_address: addr("239.1.1.1"), ..ends };
        let group = v3(AddDelTunnel { ends: group, ..tunnel });
        assert_eq!(refused(group), Retval::INVALID_SW_IF_INDEX);
        let next = network(Network { vni: 10, decap_next_index: 999, ..tunnel.network });
        assert_eq!(refused(next), Retval::INVALID_VALUE);
        let all = VxlanTunnelV2Dump { sw_if_index: InterfaceIndex(u32::MAX) };
        let rows = client.dump(router, &all);
        let ports = Ports { src_port: 1111, dst_port: PORT };
        assert_eq!((rows[0].instance, rows[0].ports), (5, ports));
        made
    });
    let interface = rig.router.interfaces.at(made.sw_if_index).unwrap();
    assert_eq!((interface.name.as_str(), interface.admin_up), ("vxlan_tunnel5", true));
    assert_eq!(interface.mac.to_string(), "d0:0b:ee:d0:00:00");
    let gone = v3(AddDelTunnel { is_add: false, ..tunnel });
    rig.talk(|client, router| client.call(router, &gone).unwrap());
    assert_eq!(rig.run("show vxlan tunnel"), "No vxlan tunnels configured...\n");
}

#[test]
fn no_device_finds_the_tunnel_of_packets_and_says_so() {
    let mut rig = rig(FEATURE);
    make(&mut rig, (ENDS[0].0, ENDS[0].1), "");
    let (hw_if_index, sw_if_index) = (rig.interface("pg0"), rig.interface("vxlan_tunnel0"));
    rig.talk(|client, router| {
        let offload =
            |hw_if_index, sw_if_index, enable| VxlanOffloadRx { hw_if_index, sw_if_index, enable };
        for (m, why) in [
            (offload(hw_if_index, sw_if_index, true), Retval::UNSUPPORTED),
            (offload(InterfaceIndex(99), sw_if_index, true), Retval::INVALID_SW_IF_INDEX),
            (offload(hw_if_index, hw_if_index, true), Retval::INVALID_SW_IF_INDEX_2),
        ] {
            assert_eq!(client.call(router, &m).err(), Some(why));
        }
        client.call(router, &offload(hw_if_index, sw_if_index, false)).unwrap();
    });
    let refused = rig.attempt("set flow-offload vxlan hw pg0 rx vxlan_tunnel0").unwrap_err();
    assert!(refused.to_string().contains("has no flow rules"), "{refused}");
    assert_eq!(rig.run("set flow-offload vxlan hw pg0 rx vxlan_tunnel0 del"), "");
}

/// A frame with a TCP packet whose checksum is still to be computed, and what is said of it.
fn big() -> (Vec<u8>, impl Fn(&mut graph::Buffer<'_>) + Clone + Send + 'static) {
    let mut tcp = vec![0; 20];
    tcp[12] = 5 << 4;
    let body = [tcp, vec![7; 3000]].concat();
    let mut packet = ip4("30.0.0.1", "30.0.0.2", wire::Protocol::TCP, &body);
    let pseudo =
        wire::checksum::ip4_pseudo([30, 0, 0, 1], [30, 0, 0, 2], wire::Protocol::TCP, 3020);
    packet[36..38].copy_from_slice(&pseudo.fold().to_be_bytes());
    let front = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0];
    let prepare = |p: &mut graph::Buffer<'_>| {
        let start = p.offset();
        p.set_l3_offset(start + 14);
        p.set_l4_offset(start + 34);
        p.set_gso_size(1400);
        p.add_flags(Flags::GSO.with(Flags::CHECKSUM_TODO).with(Flags::L3).with(Flags::L4));
    };
    ([&front[..], &packet].concat(), prepare)
}

#[test]
fn big_frames_travel_in_one_piece_and_are_cut_where_they_leave() {
    for (own, far, ..) in ENDS {
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        let (frame, prepare) = big();
        let tx = rig.interface("vxlan_tunnel0").0;
        let prepare = move |p: &mut graph::Buffer<'_>| {
            prepare(p);
            p.set_tx(tx);
        };
        let pg1 = rig.interface("pg1");
        let mut send = |offloads| {
            rig.router.interfaces.set_offloads(pg1, offloads);
            rig.graph.send("vxlan_tunnel0-output", std::slice::from_ref(&frame), prepare.clone())
        };
        let all = Offloads { checksum: true, gso: true, tunnels: true };
        let out = send(all);
        assert_eq!(out.len(), 1);
        assert!(out[0].flags.has(Flags::GSO) && out[0].flags.has(Flags::TUNNEL));
        let ip = if own.contains(':') { 40 } else { 20 };
        let front = 14 + ip + 16;
        assert_eq!(out[0].bytes[front..], frame);
        let out = send(Offloads { tunnels: false, ..all });
        assert_eq!(out.len(), 3);
        for (n, p) in out.iter().enumerate() {
            let (outer, inner) = (&p.bytes[14..], &p.bytes[front + 14..]);
            assert_eq!(inner.len(), 40 + if n < 2 { 1400 } else { 200 });
            assert!(sum4(inner).is_valid());
            assert_eq!(u32::from_be_bytes(inner[24..28].try_into().unwrap()), n as u32 * 1400);
            let udp = udp::Header::ref_from_prefix(&outer[ip..]).unwrap().0;
            assert_eq!(usize::from(udp.len.get()), outer.len() - ip);
            assert!(udp.checksum.get() == 0 || sum6(outer).is_valid());
        }
        // As a device of the tunnel that gets segments.
        rig.router.set_segments(InterfaceIndex(tx), true);
        rig.router.interfaces.set_offloads(pg1, all);
        let out = rig.graph.send("vxlan_tunnel0-output", &[frame], prepare);
        assert_eq!(out.len(), 3);
        assert!(out.iter().all(|p| !p.flags.has(Flags::GSO)));
    }
}

#[test]
fn what_is_to_be_done_for_a_packet_is_known_behind_the_tunnel() {
    for (own, far, at, _) in ENDS {
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        let (frame, _) = big();
        let packet = datagram(far, own, PORT, &[&HEADER[..], &frame].concat(), own.contains('.'));
        let (front, pg1) = (packet.len() - frame.len(), rig.interface("pg1").0);
        let out = rig.graph.send(at, &[packet], move |p| {
            let start = p.offset() + front as i16;
            p.set_rx(pg1);
            p.set_inner(Some(graph::Inner { l3: start + 14, l4: start + 34 }));
            p.set_gso_size(1400);
            p.add_flags(Flags::GSO.with(Flags::CHECKSUM_TODO));
        });
        assert_eq!(out.len(), 1);
        assert!(out[0].flags.has(Flags::GSO) && out[0].flags.has(Flags::CHECKSUM_TODO));
        assert!(out[0].flags.has(Flags::L4) && !out[0].flags.has(Flags::TUNNEL));
    }
}

#[test]
fn a_route_to_the_far_end_over_the_tunnel_itself_is_not_used() {
    for (end, (prefix, inside, gateway)) in ENDS
        .iter()
        .zip([("20.0.0.0/24", "20.0.0.7", "172.16.0.2"), ("2a01::/64", "2a01::7", "2001:db8:9::2")])
    {
        let mut rig = rig(FEATURE);
        make(&mut rig, (end.0, end.1), "");
        rig.set("set interface state vxlan_tunnel0 up");
        rig.set("set interface ip address vxlan_tunnel0 172.16.0.1/24");
        rig.set("set interface ip address vxlan_tunnel0 2001:db8:9::1/64");
        rig.set(&format!("set ip neighbor vxlan_tunnel0 {gateway} 02:00:00:00:00:a9"));
        rig.set(&format!("ip route add {prefix} via {gateway} vxlan_tunnel0"));
        settle(&mut rig);
        let is_6 = inside.contains(':');
        let (node, packet) = match is_6 {
            false => ("ip4-input", udp4("10.0.0.2", inside, 9, b"x")),
            true => ("ip6-input", udp6("2001:db8::2", inside, 9, b"x")),
        };
        let out = send(&mut rig, node, std::slice::from_ref(&packet));
        assert!(out.iter().all(|c| c.at != "sent"), "{out:?}");
        let more = match is_6 {
            false => "20.0.0.1/32 via 10.0.1.2 pg1",
            true => "2a01::1/128 via 2001:db8:1::2 pg1",
        };
        rig.set(&format!("ip route add {more}"));
        let out = send(&mut rig, node, std::slice::from_ref(&packet));
        assert_eq!((out.len(), out[0].at.as_str()), (1, "sent"), "another route leads there");
    }
}
