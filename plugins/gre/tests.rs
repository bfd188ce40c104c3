//! Tunnels of generic routing encapsulation: tests with packets.

use control::api::Retval;
use gre::*;
use net::InterfaceIndex;
use net::testing::alike::{self, numbers};
use net::testing::{Rig, packets::*, whole};
use net::tunnel::testing::*;
use net::tunnel::{EncapDecapFlags, TunnelMode};
use wire::Protocol;

/// Header without fields, with a key, and what follows.
const PLAIN: [u8; 4] = [0, 0, 8, 0];
const FRAME: &[u8] = &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5, 1, 2, 3, 4];

fn make(rig: &mut Rig, more: &str) {
    assert_eq!(rig.run(&format!("create gre tunnel src 10.0.1.1 dst 20.0.0.1 {more}")), "gre0\n");
    rig.set("set interface state gre0 up");
    settle(rig);
}

fn routed(rig: &mut Rig) {
    rig.set("ip route add 30.0.0.0/8 via gre0\nenable ip4 interface gre0");
    settle(rig);
}

/// Behind the outer IPv4 header.
fn carried(rig: &mut Rig, at: &str, packet: Vec<u8>) -> Vec<u8> {
    let out = sent(rig, at, packet);
    assert_eq!((out[8], out[9], &out[12..20]), (253, 47, &[10, 0, 1, 1, 20, 0, 0, 1][..]));
    out[20..].to_vec()
}

/// A frame that leaves by `gre0`.
fn bridged(rig: &mut Rig, frame: &[u8]) -> Vec<u8> {
    let gre0 = rig.interface("gre0").0;
    let out = rig.graph.send("gre0-output", &[frame.to_vec()], move |p| p.set_tx(gre0));
    assert_eq!((out.len(), out[0].at.as_str()), (1, "sent"));
    out[0].bytes[34..].to_vec()
}

#[test]
fn packets_travel_with_and_without_a_key() {
    for (more, header) in [("", &PLAIN[..]), ("key 123", &[0x20, 0, 8, 0, 0, 0, 0, 123])] {
        let mut rig = rig(FEATURE);
        make(&mut rig, more);
        routed(&mut rig);
        let packet = udp4(HOST4, "30.1.1.1", 7, b"data");
        let out = carried(&mut rig, "ip4-input", packet.clone());
        let expected = [header, &changed4(packet, |h| h.ttl -= 1)].concat();
        assert_eq!(out, expected);
        let inner = udp4("30.1.1.1", "10.0.0.2", 7, b"data");
        let from =
            |src, header: &[u8]| ip4(src, "10.0.1.1", Protocol::GRE, &[header, &inner].concat());
        let out = sent(&mut rig, "ip4-receive", from("20.0.0.1", header));
        assert_eq!(out, changed4(inner.clone(), |h| h.ttl -= 1));
        rig.expect(&[("gre4-input", "GRE input packets decapsulated", 1)]);
        let missing = "GRE input packets dropped due to missing tunnel";
        let other_key = [0x20, 0, 8, 0, 0, 0, 0, 9];
        for (src, header, why) in [
            ("20.0.0.2", header, missing),
            ("20.0.0.1", &other_key, missing),
            ("20.0.0.1", &[0, 1, 8, 0], "unsupported version"),
            ("20.0.0.1", &[0x40, 0, 8, 0], "unsupported version"),
            ("20.0.0.1", &[0, 0, 0x12, 0x34], "unknown protocol"),
        ] {
            send(&mut rig, "ip4-receive", &[from(src, header)]);
            rig.expect(&[("gre4-input", why, 1)]);
        }
        // Checksum and sequence number are skipped.
        if more.is_empty() {
            let long = [0x90, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
            assert_eq!(sent(&mut rig, "ip4-receive", from("20.0.0.1", &long)).len(), inner.len());
            rig.expect(&[("gre4-input", "GRE input packets decapsulated", 1)]);
        }
    }
}

#[test]
fn frames_travel_plain_and_mirrored() {
    let mut rig = rig(FEATURE);
    make(&mut rig, "teb");
    assert_eq!(bridged(&mut rig, FRAME), [&[0, 0, 0x65, 0x58], FRAME].concat());
    rig.expect(&[("gre-teb-encap", "GRE output packets encapsulated", 1)]);
    rig.run("create sub-interfaces gre0 11");
    rig.set("set interface state gre0.11 up");
    let sub = rig.interface("gre0.11").0;
    let out = rig.graph.send("gre0-output", &[FRAME.to_vec()], move |p| p.set_tx(sub));
    let tagged = [&FRAME[..12], &[0x81, 0, 0, 11], &FRAME[12..]].concat();
    assert_eq!(out[0].bytes[38..], tagged);
    rig.expect(&[("gre-teb-encap", "GRE output packets encapsulated", 1)]);
    let back = ip4("20.0.0.1", "10.0.1.1", Protocol::GRE, &[&[0, 0, 0x65, 0x58], FRAME].concat());
    let out = send(&mut rig, "ip4-receive", &[back]);
    let gre0 = rig.interface("gre0").0;
    let seen = (out[0].at.as_str(), out[0].rx, out[0].bytes.as_slice());
    assert_eq!(seen, ("ethernet-input", gre0, FRAME));
    rig.set("create gre tunnel src 10.0.1.1 dst 20.0.0.1 teb del");
    make(&mut rig, "erspan 77");
    for number in 0..3 {
        let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, number, 0x10, 0, 0x18, 77, 0, 0, 0, 0];
        assert_eq!(bridged(&mut rig, FRAME), [&header, FRAME].concat());
    }
}

#[test]
fn clients_make_list_and_delete_tunnels() {
    let mut rig = rig(FEATURE);
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let fields = GreTunnel {
        kind: GreTunnelType::TEB,
        mode: TunnelMode::P2P,
        flags: EncapDecapFlags::NONE,
        session_id: 0,
        instance: 7,
        outer_table_id: 0,
        sw_if_index: InterfaceIndex(0),
        src: addr("2001:db8:1::1"),
        dst: addr("2a01::1"),
    };
    let tunnel = GreTunnelV2 { tunnel: fields, key: 5 };
    rig.talk(|client, router| {
        let with = |is_add, tunnel| GreTunnelAddDelV2 { is_add, tunnel };
        let made = client.call(router, &with(true, tunnel)).unwrap();
        assert_eq!(router.interfaces.name(made.sw_if_index.0), "gre7");
        let all = || InterfaceIndex(u32::MAX);
        let rows = client.dump(router, &GreTunnelV2Dump { sw_if_index: all() });
        let fields = GreTunnel { sw_if_index: made.sw_if_index, ..fields };
        let expected = GreTunnelV2 { tunnel: fields, ..tunnel };
        assert_eq!(rows[0].tunnel, expected);
        assert_eq!(client.dump(router, &GreTunnelDump { sw_if_index: all() }).len(), 1);
        let mut refused = |is_add, tunnel| client.call(router, &with(is_add, tunnel)).err();
        assert_eq!(refused(true, tunnel), Some(Retval::TUNNEL_EXISTS));
        let kind = GreTunnelType(9);
        let odd = GreTunnelV2 { tunnel: GreTunnel { kind, ..fields }, ..tunnel };
        assert_eq!(refused(true, odd), Some(Retval::INVALID_VALUE));
        let other = GreTunnelV2 { key: 6, ..tunnel };
        assert_eq!(refused(false, other), Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(refused(false, tunnel), None);
    });
    assert!(rig.run("create gre tunnel src 10.0.1.1").contains("cannot be the destination"));
    assert_eq!(rig.run("show gre tunnel"), "No GRE tunnels configured...\n");
}

#[test]
fn words_of_commands_are_those_of_the_original() {
    let mut rig = rig(FEATURE);
    rig.set("ip table add 7");
    let line = "create gre tunnel outer-table-id 7 dst 20.0.0.1 src 10.0.1.1 instance 4";
    assert_eq!(rig.run(line), "gre4\n");
    let line = "create gre tunnel flags encap-copy-df src 10.0.1.1 dst 20.0.0.2 teb";
    assert_eq!(rig.run(line), "gre0\n");
    assert_eq!(rig.run("show gre tunnel").lines().count(), 2);
    let shown = rig.run("show gre tunnel 4");
    assert!(shown.lines().count() == 1 && shown.contains("src 10.0.1.1"), "{shown}");
}

/// A frame for `pg0` with a packet of some kind, chosen by `n`, for hosts behind `gre0` most of all.
fn any(n: u64) -> Vec<u8> {
    let net = [30, 30, 30, 30, 31, 32, 99][(n % 7) as usize];
    let data = vec![n as u8; (n / 7 % 60) as usize];
    let mut packet = udp4("10.0.0.2", &format!("{net}.0.0.1"), 7, &data);
    match n / 1000 % 16 {
        0 => packet = changed4(packet, |h| h.ttl = 1),
        1 => packet[10] ^= 0x55,
        2 => packet.extend([0; 5]),
        3 => packet.truncate(25),
        _ => (),
    }
    [&whole::PG0.0[..], &[2, 0, 0, 0, 0, 0xa2, 8, 0], &packet].concat()
}

/// Takes out of a fragment what it has by chance.
fn forget_identification(frame: &mut [u8]) {
    match frame.get(12..14).unwrap_or_default() {
        [8, 0] if frame.len() > 26 && frame[20..22] != [0, 0] => {
            frame[18..20].fill(0);
            frame[24..26].fill(0);
        }
        [0x86, 0xdd] if frame[20] == 44 => frame[58..62].fill(0),
        _ => (),
    }
}

#[test]
fn packets_on_the_fast_path_are_those_of_the_nodes() {
    let settings: [&[&str]; 6] = [
        &[],
        &["set interface mtu packet 80 gre0"],
        &["set interface mtu packet 100 pg1"],
        &["set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:b2"],
        &["set interface state pg1 down"],
        &["ip route add 20.0.0.1/32 via gre0"],
    ];
    for (lines, seed) in settings.into_iter().zip(1..) {
        for (own, far) in [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")] {
            for count in [1, 3, 64, 256] {
                // All of one route in some, of several in others.
                let all = numbers(seed).map(|n| if seed % 2 == 0 { n } else { n / 7 * 7 });
                let frames: Vec<_> = all.take(count).map(any).collect();
                alike::expect_alike(&format!("{lines:?}, to {far}, {count}"), |node_by_node| {
                    let mut bench = whole::Bench::plugged(&[FEATURE]);
                    bench.run(&format!("create gre tunnel src {own} dst {far}"));
                    for line in [
                        "set interface state gre0 up",
                        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
                        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2",
                        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
                        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
                        "ip route add 30.0.0.0/8 via gre0",
                        "ip route add 31.0.0.0/8 via 10.0.1.2 pg1",
                        "adjacency counters enable",
                    ] {
                        bench.set(line);
                    }
                    lines.iter().for_each(|line| bench.set(line));
                    let pg0 = bench.pg0.0;
                    let shown = ["show interface", "show adjacency", "show ip fib 30.0.0.1"];
                    let mut seen = bench.see(&frames, move |_| pg0, (node_by_node, &shown));
                    let is_many = lines.is_empty() && count == 256;
                    let is_slow = node_by_node || !is_many;
                    assert!(is_slow || seen.passed["adj-midchain-tx"] > 0);
                    seen.caught.iter_mut().for_each(|c| forget_identification(&mut c.bytes));
                    seen.caught.sort_by(|a, b| (&a.at, &a.bytes).cmp(&(&b.at, &b.bytes)));
                    seen
                });
            }
        }
    }
}
