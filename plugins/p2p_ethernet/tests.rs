//! Owners of frames, and refusals.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::{Bench, packets};
use p2p_ethernet::*;
use wire::MacAddr;

const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x11]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x12]);

/// A frame to the router from a host.
fn frame(from: MacAddr, is_ip6: bool) -> Vec<u8> {
    let packet = match is_ip6 {
        false => packets::udp4("10.0.0.9", "10.1.0.2", 80, &[1; 20]),
        true => packets::udp6("2001:db8::9", "2001:db8:9::2", 80, &[1; 20]),
    };
    let kind: [u8; 2] = if is_ip6 { [0x86, 0xdd] } else { [8, 0] };
    [&[2, 0, 0, 0, 0, 0xaa], &from.0[..], &kind, &packet].concat()
}

fn received(bench: &Bench, of: InterfaceIndex) -> u64 {
    bench.router.interfaces.values(of).rx.packets
}

#[test]
fn frames_of_a_host_belong_to_its_sub_interface() {
    let mut b = Bench::plugged(FEATURE);
    let pg0 = b.pg0;
    assert_eq!(b.run("p2p_ethernet pg0 02:00:00:00:00:11 sub-id 7"), Ok("pg0.7\n".to_owned()));
    let sub = b.interface("pg0.7");
    for is_ip6 in [false, true] {
        for count in [1, 3, 4, 255, 256] {
            let before = received(&b, sub);
            let from = |at: usize| if at.is_multiple_of(2) { HOST } else { OTHER };
            let frames: Vec<_> = (0..count).map(|at| frame(from(at), is_ip6)).collect();
            let out = b.send("p2p-ethernet-input", &frames);
            let owners: Vec<_> = out.iter().map(|p| InterfaceIndex(p.rx)).collect();
            let mine = owners.iter().filter(|owner| **owner == sub).count();
            assert_eq!((owners.len(), mine), (count, count.div_ceil(2)));
            assert!(owners.iter().all(|owner| *owner == sub || *owner == pg0));
            assert_eq!(received(&b, sub) - before, mine as u64);
            let name = "P2P ethernet incoming packets processed";
            b.expect(&[("p2p-ethernet-input", name, mine as u64)]);
        }
    }
    b.run("trace add p2p-ethernet-input 1").unwrap();
    b.send("p2p-ethernet-input", &[frame(HOST, false)]);
    let trace = b.run("show trace").unwrap();
    assert!(trace.contains("  pg0 from 02:00:00:00:00:11: pg0.7\n"), "{trace}");
    b.expect(&[("p2p-ethernet-input", "P2P ethernet incoming packets processed", 1)]);
    assert_eq!(b.run("p2p_ethernet pg0 02:00:00:00:00:11 del"), Ok(String::new()));
    assert!(b.router.interfaces.named("pg0.7").is_none());
    let out = b.send("p2p-ethernet-input", &[frame(HOST, false)]);
    assert_eq!(out[0].rx, pg0.0);
    b.expect(&[]);
}

#[test]
fn what_is_sent_goes_to_the_host_without_asking_for_anybody() {
    let mut b = net::testing::whole::Bench::plugged(&[FEATURE]);
    b.cli("p2p_ethernet pg1 02:00:00:00:00:11 sub-id 7");
    for line in [
        "set interface state pg1.7 up",
        "set interface ip address pg1.7 10.7.0.1/24",
        "set interface ip address pg1.7 2001:db8:7::1/64",
        "ip route add 60.0.0.0/8 via pg1.7",
        "ip route add 61.0.0.0/8 via 10.7.0.9 pg1.7",
        "ip route add 2001:60::/32 via pg1.7",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    let from = |ethertype: [u8; 2], packet: &[u8]| {
        let mine = net::testing::whole::PG0.0;
        [&mine[..], &OTHER.0, &ethertype, packet].concat()
    };
    let four = |dst: &str| from([8, 0], &packets::udp4("10.0.0.2", dst, 80, &[1; 20]));
    let six = |dst: &str| from([0x86, 0xdd], &packets::udp6("2001:db8::2", dst, 80, &[1; 20]));
    let sent = [four("60.1.1.1"), four("61.1.1.1"), four("10.7.0.9"), six("2001:60::1")];
    for _ in 0..2 {
        let out = b.receive(b.pg0, &sent);
        assert_eq!(out.len(), sent.len());
        assert!(out.iter().all(|c| c.bytes[..6] == HOST.0), "{out:?}");
        // Its own answer to a question changes nothing, nor does that it is forgotten.
        b.set("set ip neighbor pg1.7 10.7.0.9 02:00:00:00:00:44");
        b.set("set ip neighbor del pg1.7 10.7.0.9 02:00:00:00:00:44");
        b.wait(0.0);
    }
}

#[test]
fn the_port_has_the_feature_while_there_are_sub_interfaces() {
    let mut b = Bench::plugged(FEATURE);
    let pg0 = b.pg0;
    let is_on = |b: &mut Bench| {
        let features = b.control(|r| r.engine.features_of(pg0.0));
        features.iter().any(|(_, on)| on.contains(&"p2p-ethernet-input"))
    };
    assert!(!is_on(&mut b));
    for line in ["02:00:00:00:00:11 sub-id 1", "02:00:00:00:00:12 sub-id 2"] {
        b.run(&format!("p2p_ethernet pg0 {line}")).unwrap();
    }
    assert!(is_on(&mut b));
    let first = b.interface("pg0.1");
    b.run("p2p_ethernet pg0 02:00:00:00:00:12 del").unwrap();
    assert!(is_on(&mut b));
    b.control(|r| r.remove_sub_interface(first)).unwrap();
    assert!(!is_on(&mut b), "whoever deletes the last one");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut b = Bench::plugged(FEATURE);
    let (pg0, none) = (b.pg0, InterfaceIndex(99));
    b.talk(|local, router| {
        let add = |parent_if_index, subif_id, remote_mac| P2pEthernetAdd {
            parent_if_index,
            subif_id,
            remote_mac,
        };
        let made = local.call(router, &add(pg0, 1, HOST)).unwrap().sw_if_index;
        assert_eq!(router.interfaces.name(made.0), "pg0.1");
        for (wrong, why) in [
            (add(none, 1, HOST), Retval::INVALID_SW_IF_INDEX),
            (add(pg0, 1, OTHER), Retval::SUBIF_ALREADY_EXISTS),
            (add(pg0, 2, HOST), Retval::SUBIF_ALREADY_EXISTS),
            (add(pg0, 2, MacAddr::BROADCAST), Retval::INVALID_VALUE),
            (add(made, 2, OTHER), Retval::INVALID_INTERFACE),
        ] {
            assert_eq!(local.call(router, &wrong).err(), Some(why));
        }
        let del = |parent_if_index, remote_mac| P2pEthernetDel { parent_if_index, remote_mac };
        let unknown = Some(Retval::SUBIF_DOESNT_EXIST);
        assert_eq!(local.call(router, &del(pg0, OTHER)).err(), unknown);
        assert_eq!(local.call(router, &del(none, HOST)).err(), Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &del(pg0, HOST)).unwrap();
        assert_eq!(local.call(router, &del(pg0, HOST)).err(), unknown);
        assert!(router.interfaces.named("pg0.1").is_none());
    });
}
