//! Tunnels of gtpu: tests with packets.

use control::api::Retval;
use gtpu::*;
use net::InterfaceIndex;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::*;

const FRAME: &[u8] = &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5, 1, 2, 3, 4];
/// Own addresses and far ends, with the nodes of their version.
const ENDS: [(&str, &str, &str, &str); 2] = [
    ("10.0.1.1", "20.0.0.1", "ip4-receive", "gtpu4-input"),
    ("2001:db8:1::1", "2a01::1", "ip6-receive", "gtpu6-input"),
];

fn make(rig: &mut Rig, (own, far): (&str, &str), more: &str) {
    let line = format!("create gtpu tunnel src {own} dst {far} teid 77 {more}");
    assert_eq!(rig.run(&line), "gtpu_tunnel0\n");
    settle(rig);
}

#[test]
fn packets_travel_with_the_identifier_of_the_other_side() {
    for (own, far, at, node) in ENDS {
        for (more, header) in [
            ("tteid 78 decap-next ip4", &[0x30, 255, 0, 32, 0, 0, 0, 78][..]),
            ("decap-next ip4 qfi 9", &[0x34, 255, 0, 40, 0, 0, 0, 77, 0, 0, 0, 0x85, 1, 0, 9, 0]),
        ] {
            let mut rig = rig(FEATURE);
            make(&mut rig, (own, far), more);
            rig.set("ip route add 30.0.0.0/8 via gtpu_tunnel0\nenable ip4 interface gtpu_tunnel0");
            settle(&mut rig);
            let packet = udp4(HOST4, "30.1.1.1", 7, b"data");
            let out = sent(&mut rig, "ip4-input", packet.clone());
            let front = if own.contains(':') { 48 } else { 28 };
            assert_eq!(out[front..], [header, &changed4(packet, |h| h.ttl -= 1)].concat());
            rig.graph.moved_counters();
            let inner = udp4("30.1.1.1", "10.0.0.2", 7, b"data");
            let longer = [0x34, 255, 0, 40, 0, 0, 0, 77, 0, 0, 0, 0x85, 1, 0, 9, 0];
            let numbered = [0x32, 255, 0, 36, 0, 0, 0, 77, 0, 1, 0, 0x85];
            for header in [&[0x30, 255, 0, 32, 0, 0, 0, 77][..], &longer, &numbered] {
                let data = [header, &inner].concat();
                let out = sent(&mut rig, at, datagram(far, own, PORT, &data, true));
                assert_eq!(out, changed4(inner.clone(), |h| h.ttl -= 1));
                rig.expect(&[(node, "good packets decapsulated", 1)]);
            }
            let endless = [0x34, 255, 0, 40, 0, 0, 0, 77, 0, 0, 0, 0x85, 0, 0, 9, 0];
            for (header, why) in [
                (&[0x30, 255, 0, 32, 0, 0, 0, 79][..], "no such tunnel packets"),
                (&[0x50, 255, 0, 32, 0, 0, 0, 77], "packets with bad version in gtpu header"),
                (&[0x20, 255, 0, 32, 0, 0, 0, 77], "packets with bad flags field in gtpu header"),
                (&[0x30, 1, 0, 32, 0, 0, 0, 77], "packets with message type < 255 in gtpu header"),
                (&endless, "packet too small to fit a gtpu header"),
            ] {
                let data = [header, &inner].concat();
                send(&mut rig, at, &[datagram(far, own, PORT, &data, true)]);
                rig.expect(&[(node, why, 1)]);
            }
            send(&mut rig, at, &[datagram(far, own, PORT, &[0x30], true)]);
            rig.expect(&[(node, "packet too small to fit a gtpu header", 1)]);
        }
    }
}

#[test]
fn frames_travel_and_identifiers_change() {
    let mut rig = rig(FEATURE);
    make(&mut rig, ("10.0.1.1", "20.0.0.1"), "");
    let header = |teid: u8| [0x30, 255, 0, FRAME.len() as u8, 0, 0, 0, teid];
    let out = frame_sent(&mut rig, "gtpu_tunnel0", FRAME);
    assert_eq!(out[28..], [&header(77), FRAME].concat());
    rig.set("create gtpu tunnel src 10.0.1.1 dst 20.0.0.1 teid 77 upd-tteid 80");
    let out = frame_sent(&mut rig, "gtpu_tunnel0", FRAME);
    assert_eq!(out[28..], [&header(80), FRAME].concat());
    let back = datagram("20.0.0.1", "10.0.1.1", PORT, &[&header(77), FRAME].concat(), true);
    let out = send(&mut rig, "ip4-receive", &[back]);
    assert_eq!((out[0].at.as_str(), out[0].bytes.as_slice()), ("ethernet-input", FRAME));
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    rig.talk(|client, router| {
        let update = |teid| GtpuTunnelUpdateTteid {
            dst_address: addr("20.0.0.1"),
            encap_vrf_id: 0,
            teid,
            tteid: 81,
        };
        client.call(router, &update(77)).unwrap();
        assert_eq!(client.call(router, &update(1)).err(), Some(Retval::NO_SUCH_ENTRY));
        let all = GtpuTunnelV2Dump { sw_if_index: InterfaceIndex(u32::MAX) };
        let rows = client.dump(router, &all);
        assert_eq!((rows[0].teid, rows[0].tteid), (77, 81));
        let counters = (rows[0].counters.packets_tx, rows[0].counters.packets_rx);
        assert_eq!(counters, (2, 1));
        let some =
            |capacity| GtpuGetTransferCounts { sw_if_index_start: InterfaceIndex(0), capacity };
        assert_eq!(client.call(router, &some(0)).unwrap().tunnels.len(), 0);
        assert_eq!(client.call(router, &some(9)).unwrap().tunnels.len(), 1);
    });
}

#[test]
fn packets_that_are_no_tunnels_come_in_whole_by_an_interface_of_their_own() {
    let unknown = [0x30, 255, 0, 4, 0, 0, 0, 9, 1, 2, 3, 4];
    let cases: [(&str, &[u8], &str); 3] = [
        ("unknown-teid", &unknown, "no such tunnel packets"),
        ("unknown-type", &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0], TYPE),
        ("bad-header", &[0x50, 255, 0, 0, 0, 0, 0, 9], "packets with bad version in gtpu header"),
    ];
    for (own, far, at, node) in ENDS {
        let (version, bits, next) = match own.contains(':') {
            true => ("ip6", 128, "2001:db8:1::2"),
            false => ("ip4", 32, "10.0.1.2"),
        };
        let table = version.trim_end_matches('4');
        for (word, message, _) in cases {
            let mut rig = rig(FEATURE);
            let line = format!("create gtpu forward dst {own} {word} decap-next {version}");
            assert_eq!(rig.run(&line), "gtpu_tunnel0\n");
            assert!(rig.attempt(&line).unwrap_err().contains("exists"));
            rig.set(&format!("{table} table add 7"));
            rig.set(&format!("set interface {table} table gtpu_tunnel0 7"));
            rig.set(&format!("enable {version} interface gtpu_tunnel0"));
            rig.set(&format!("{table} route add {own}/{bits} table 7 via {next} pg1"));
            settle(&mut rig);
            let packet = datagram(far, own, PORT, message, true);
            let hop = |packet: &[u8], n| match packet[0] >> 4 {
                4 => changed4(packet.to_vec(), |h| h.ttl -= n),
                _ => changed6(packet.to_vec(), |h| h.hop_limit -= n),
            };
            assert_eq!(sent(&mut rig, at, packet.clone()), hop(&packet, 2));
            rig.expect(&[(node, "good packets decapsulated", 1)]);
            let shown = rig.run("show gtpu tunnel");
            assert!(shown.contains(word), "{shown}");
            for (other, message, reason) in cases.iter().filter(|case| case.0 != word) {
                assert_ne!(*other, word);
                send(&mut rig, at, &[datagram(far, own, PORT, message, true)]);
                rig.expect(&[(node, reason, 1)]);
            }
            // One that leads back to itself runs out of hops.
            rig.set(&format!("set interface {table} table gtpu_tunnel0 0"));
            settle(&mut rig);
            send(&mut rig, at, &[hop(&packet, 60)]);
            let none = "no such tunnel packets";
            rig.expect(&[(node, none, 1), (node, "good packets decapsulated", 3)]);
            rig.set(&format!("{line} del"));
            assert!(rig.attempt("show interface gtpu_tunnel0").is_err(), "it is gone");
        }
    }
}

const TYPE: &str = "packets with message type < 255 in gtpu header";

#[test]
fn messages_about_packets_that_are_no_tunnels_and_devices_are_answered() {
    let mut rig = rig(FEATURE);
    make(&mut rig, ("10.0.1.1", "20.0.0.1"), "");
    let own = "10.0.1.1".parse::<std::net::IpAddr>().unwrap();
    let pg0 = rig.interface("pg0").0;
    let forward = |is_add, forwarding_type| GtpuAddDelForward {
        is_add,
        dst_address: own.into(),
        forwarding_type,
        encap_vrf_id: 0,
        decap_next_index: GtpuDecapNextType::IP4,
    };
    let unknown = GtpuForwardingType::UNKNOWN_TEID;
    rig.talk(|client, router| {
        let none = client.call(router, &forward(true, GtpuForwardingType::NONE));
        assert_eq!(none.err(), Some(Retval::INVALID_VALUE));
        let wrong = GtpuAddDelForward { encap_vrf_id: 9, ..forward(true, unknown) };
        assert_eq!(client.call(router, &wrong).err(), Some(Retval::NO_SUCH_FIB));
        let made = client.call(router, &forward(true, unknown)).unwrap().sw_if_index;
        let again = client.call(router, &forward(true, unknown)).err();
        assert_eq!(again, Some(Retval::TUNNEL_EXISTS));
        let row = client.dump(router, &GtpuTunnelV2Dump { sw_if_index: made });
        assert_eq!((row[0].is_forwarding, row[0].forwarding_type), (true, unknown));
        assert_eq!((row[0].outer.src_address, row[0].teid), (own.into(), 0));
        let offload =
            |hw_if_index, sw_if_index, enable| GtpuOffloadRx { hw_if_index, sw_if_index, enable };
        let tunnel = made.0 - 1;
        for (m, why) in [
            (offload(pg0, tunnel, 1), Retval::UNSUPPORTED),
            (offload(99, tunnel, 1), Retval::INVALID_SW_IF_INDEX),
            (offload(pg0, made.0, 1), Retval::INVALID_SW_IF_INDEX_2),
        ] {
            assert_eq!(client.call(router, &m).err(), Some(why));
        }
        client.call(router, &offload(pg0, tunnel, 0)).unwrap();
        client.call(router, &forward(false, unknown)).unwrap();
        let gone = client.call(router, &forward(false, unknown)).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
    });
    let refused = rig.attempt("set flow-offload gtpu hw pg0 rx gtpu_tunnel0").unwrap_err();
    assert!(refused.contains("has no flow rules"), "{refused}");
    let two = rig.attempt("create gtpu forward dst 10.0.1.1 unknown-teid bad-header").unwrap_err();
    assert!(two.contains("expected one of"), "{two}");
}
