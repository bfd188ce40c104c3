//! Tunnels of vxlan_gpe: tests with packets.

use control::api::Retval;
use control::api::types::IpProto;
use net::InterfaceIndex;
use net::testing::packets::*;
use net::tunnel::testing::*;
use vxlan_gpe::*;

const FRAME: &[u8] = &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5, 1, 2, 3, 4];
/// Own addresses and far ends, with the nodes of their version.
const ENDS: [(&str, &str, &str, &str); 2] = [
    ("10.0.1.1", "20.0.0.1", "ip4-receive", "vxlan4-gpe-input"),
    ("2001:db8:1::1", "2a01::1", "ip6-receive", "vxlan6-gpe-input"),
];

#[test]
fn packets_and_frames_travel_with_their_protocol() {
    for (own, far, at, node) in ENDS {
        let mut rig = rig(FEATURE);
        let line = format!("create vxlan-gpe tunnel local {own} remote {far} vni 77");
        assert_eq!(rig.run(&format!("{line} next-ip4")), "vxlan_gpe_tunnel0\n");
        rig.set("ip route add 30.0.0.0/8 via vxlan_gpe_tunnel0");
        rig.set("ip route add 3000::/16 via vxlan_gpe_tunnel0");
        settle(&mut rig);
        let front = if own.contains(':') { 48 } else { 28 };
        let header = |protocol| [12, 0, 0, protocol, 0, 0, 77, 0];
        let packet = udp4(HOST4, "30.1.1.1", 7, b"data");
        let out = sent(&mut rig, "ip4-input", packet.clone());
        assert_eq!(out[front..], [&header(1)[..], &changed4(packet, |h| h.ttl -= 1)].concat());
        let packet = udp6(HOST6, "3000::1", 7, b"data");
        let out = sent(&mut rig, "ip6-input", packet);
        assert_eq!(out[front..front + 8], header(2));
        rig.graph.moved_counters();
        let inner = udp4("30.1.1.1", "10.0.0.2", 7, b"data");
        let data = [&header(1)[..], &inner].concat();
        let out = sent(&mut rig, at, datagram(far, own, PORT, &data, false));
        assert_eq!(out, changed4(inner.clone(), |h| h.ttl -= 1));
        rig.expect(&[(node, "good packets decapsulated", 1)]);
        let mut invalid = header(1);
        invalid[0] = 4;
        for header in [header(9), invalid] {
            let data = [&header[..], &inner].concat();
            send(&mut rig, at, &[datagram(far, own, PORT, &data, true)]);
            rig.expect(&[(node, "no such tunnel packets", 1)]);
        }
        rig.set(&format!("{line} del"));
        assert_eq!(rig.run(&format!("{line} next-ethernet")), "vxlan_gpe_tunnel0\n");
        settle(&mut rig);
        let out = frame_sent(&mut rig, "vxlan_gpe_tunnel0", FRAME);
        assert_eq!(out[front..], [&header(3)[..], FRAME].concat());
        rig.expect(&[("vxlan-gpe-encap", "good packets encapsulated", 1)]);
        let data = [&header(3)[..], FRAME].concat();
        let out = send(&mut rig, at, &[datagram(far, own, PORT, &data, true)]);
        assert_eq!((out[0].at.as_str(), out[0].bytes.as_slice()), ("ethernet-input", FRAME));
    }
}

#[test]
fn clients_make_list_and_delete_tunnels() {
    let mut rig = rig(FEATURE);
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let wanted = Wanted {
        mcast_sw_if_index: InterfaceIndex(u32::MAX),
        encap_vrf_id: 0,
        decap_vrf_id: 0,
        protocol: IpProto(1),
        vni: 9,
        is_add: true,
    };
    let ends = Ends { local: addr("10.0.1.1"), remote: addr("20.0.0.1") };
    let ports = |local_port| Ports { local_port, remote_port: 1111 };
    let tunnel = |wanted| VxlanGpeAddDelTunnelV2 { ends, ports: ports(0), wanted };
    rig.talk(|client, router| {
        client.call(router, &tunnel(wanted)).unwrap();
        let mut refused = |wanted| client.call(router, &tunnel(wanted)).unwrap_err();
        assert_eq!(refused(wanted), Retval::TUNNEL_EXISTS);
        let odd = Wanted { protocol: IpProto(9), ..wanted };
        assert_eq!(refused(odd), Retval::INVALID_VALUE);
        let nowhere = Wanted { decap_vrf_id: 9, vni: 10, ..wanted };
        assert_eq!(refused(nowhere), Retval::NO_SUCH_FIB);
        let all = VxlanGpeTunnelV2Dump { sw_if_index: InterfaceIndex(u32::MAX) };
        let rows = client.dump(router, &all);
        assert_eq!(rows[0].ports, ports(PORT));
        assert_eq!((rows[0].made.protocol, rows[0].made.is_ipv6), (IpProto(1), false));
        client.call(router, &tunnel(Wanted { is_add: false, ..wanted })).unwrap();
        assert!(client.dump(router, &all).is_empty());
    });
}

#[test]
fn words_of_commands_are_those_of_the_original() {
    let mut rig = rig(FEATURE);
    let line = "create vxlan-gpe tunnel remote_port 5 local 10.0.1.1 local_port 4 vni 7 \
        remote 20.0.0.1";
    let said = rig.run(&format!("{line} next-nsh"));
    assert!(said.contains("no node accepts these packets"), "{said}");
    assert_eq!(rig.run(line), "vxlan_gpe_tunnel0\n");
}
