//! Link layer discovery protocol: tests with packets.

use control::api::Retval;
use lldp::*;
use net::InterfaceIndex;
use net::testing::whole::{Bench, HOST, PG0};
use wire::ethernet::{EtherType, Header};
use wire::lldp::{NEAREST_BRIDGE, append, kind, parse};
use zerocopy::IntoBytes;

fn bench() -> Bench {
    Bench::plugged(&[FEATURE])
}

/// A frame of a neighbour, with something behind what all say.
fn said(name: u8, ttl: u16, more: &[u8]) -> Vec<u8> {
    let header = Header::new(NEAREST_BRIDGE, HOST, EtherType::LLDP);
    let mut frame = header.as_bytes().to_vec();
    append(&mut frame, kind::CHASSIS_ID, &[&[4, 1, 2, 3, 4, 5, name]]);
    append(&mut frame, kind::PORT_ID, &[&[5], b"eth7"]);
    append(&mut frame, kind::TIME_TO_LIVE, &[&ttl.to_be_bytes()]);
    frame.extend(more);
    frame
}

#[test]
fn an_interface_says_who_it_is_and_at_last_that_it_goes() {
    let mut b = bench();
    b.cli("set lldp system-name here tx-hold 3 tx-interval 10");
    b.cli(
        "set interface lldp pg0 port-desc uplink mgmt-ip4 10.0.0.1 mgmt-ip6 fd00::1 mgmt-oid 1.2",
    );
    let out = b.wait(0.0);
    assert_eq!(out.len(), 1);
    let frame = out[0].bytes.clone();
    let frame = &frame;
    assert_eq!(
        (&frame[..6], &frame[6..12], &frame[12..14]),
        (&NEAREST_BRIDGE.0[..], &PG0.0[..], &[0x88, 0xcc][..])
    );
    let read = parse(&frame[14..]).unwrap();
    assert_eq!((read.chassis.subtype, read.chassis.bytes), (4, &PG0.0[..]));
    assert_eq!((read.port.subtype, read.port.bytes, read.ttl), (5, &b"pg0"[..], 30));
    let has = |part: &[u8]| frame.windows(part.len()).any(|w| w == part);
    assert!(has(b"\x08\x06uplink") && has(b"\x0a\x04here"));
    // Length, family, address; by interface, its number; the identifier.
    let number = b.pg0.0 as u8;
    assert!(has(&[0x10, 15, 5, 1, 10, 0, 0, 1, 2, 0, 0, 0, number, 3, b'1', b'.', b'2']));
    assert!(has(&[0x10, 27, 17, 2, 0xfd]));
    assert_eq!(b.wait(9.0).len(), 0);
    b.cli("set interface lldp pg0 port-desc other");
    let out = b.wait(1.5);
    assert_eq!(out.len(), 1);
    assert!(out[0].bytes == *frame, "what it says stays");
    b.cli("set interface lldp pg0 disable");
    let out = b.wait(20.0);
    assert_eq!(out.len(), 1, "good bye, and nothing more");
    assert_eq!(parse(&out[0].bytes[14..]).unwrap().ttl, 0);
}

#[test]
fn what_neighbours_say_holds_as_long_as_they_say() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.cli("set interface lldp pg0");
    b.wait(0.0);
    let good = said(6, 60, &[0, 0]);
    let bad = said(6, 60, &[0x0b, 0xff, 0]);
    b.graph.moved_counters();
    b.receive(pg0, std::slice::from_ref(&good));
    b.receive(pg0, &[good.clone(), bad, said(7, 60, &[])]);
    b.receive(pg1, &[good]);
    b.graph.expect_counters(&[
        ("lldp-input", "lldp packets with bad TLVs", 1),
        ("lldp-input", "lldp packets received on disabled interfaces", 1),
        ("lldp-input", "good lldp packets (processed)", 2),
        ("lldp-input", "good lldp packets (cache hit)", 1),
    ]);
    let shown = b.cli("show lldp");
    assert!(shown.contains("01:02:03:04:05:07") && shown.contains("eth7"), "{shown}");
    assert!(shown.contains(" active"), "{shown}");
    assert!(!shown.contains("pg1"), "{shown}");
    let detail = b.cli("show lldp detail");
    assert!(detail.contains(
        "Local Interface name: pg0\nLocal Port Description: (nil)\n\
         Local Management MAC address: "
    ));
    assert!(detail.contains(
        "Interface/peer state: active\nLast known peer chassis ID: 01:02:03:04:05:07\n\
         Last known peer port ID: eth7\nLast packet sent: "
    ));
    b.wait(61.0);
    assert!(b.cli("show lldp").contains("inactive"));
}

#[test]
fn clients_and_operators_are_told_what_is_wrong() {
    let mut b = bench();
    for (line, error) in [
        ("set lldp tx-hold 0", "tx-hold must be 1 to 100"),
        ("set lldp tx-interval 3601", "tx-interval must be 1 to 3600"),
        ("set interface lldp pg9", "unknown interface"),
        ("set interface lldp sw_if_index 99", "no such interface"),
        ("set interface lldp pg0 mgmt-ip4 fd00::1", "invalid mgmt-ip4"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(error), "{line}: {said}");
    }
    let pg1 = b.pg1;
    b.talk(|local, router| {
        let set = |sw_if_index, enable| SwInterfaceSetLldp {
            sw_if_index,
            mgmt_ip4: [0; 4].into(),
            mgmt_ip6: [0; 16].into(),
            mgmt_oid: [0; 128],
            enable,
            port_desc: "desc".to_owned(),
        };
        let nowhere = local.call(router, &set(InterfaceIndex(99), true));
        assert_eq!(nowhere, Err(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &set(pg1, false)), Ok(()), "it does not take part anyway");
        assert_eq!(local.stream(router, &LldpDump { cursor: 0 }).0.len(), 0);
        local.call(router, &set(pg1, true)).unwrap();
        let config = |tx_hold| LldpConfig { tx_hold, tx_interval: 7, system_name: "me".to_owned() };
        assert_eq!(local.call(router, &config(101)), Err(Retval::INVALID_VALUE));
        local.call(router, &config(0)).unwrap();
        let rows = local.stream(router, &LldpDump { cursor: 0 }).0;
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.sw_if_index, row.tx_hold, row.tx_interval, row.active), (pg1, 4, 7, false));
        assert_eq!((&row.system_name[..3], &row.port_desc[..5]), (&b"me\0"[..], &b"desc\0"[..]));
    });
}
