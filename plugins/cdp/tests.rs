//! Received and sent messages.

use cdp::*;
use graph::testing::Caught;
use net::testing::whole::{Bench, HOST, PG0};
use wire::cdp::{FRONT, GROUP, kind, message, parse};

fn bench() -> Bench {
    // Another feature has a node that starts traces.
    Bench::plugged(&[p2p_ethernet::FEATURE, FEATURE])
}

fn frame(message: &[u8]) -> Vec<u8> {
    let len = (FRONT.len() + message.len()) as u16;
    let mut frame = [&GROUP.0[..], &HOST.0, &len.to_be_bytes(), &FRONT, message].concat();
    frame.resize(frame.len().max(60), 0);
    frame
}

fn said(device: &[u8], ttl: u8) -> Vec<u8> {
    frame(&message(ttl, &[(kind::DEVICE_ID, device), (kind::PORT_ID, b"Gi0/1")]))
}

fn spoken(out: &[Caught]) -> Vec<&Caught> {
    out.iter().filter(|c| c.at == "sent" && c.bytes[..6] == GROUP.0).collect()
}

#[test]
fn interfaces_say_who_they_are_every_minute() {
    let mut b = bench();
    assert!(spoken(&b.wait(1.0)).is_empty());
    b.set("cdp enable");
    let out = b.wait(0.0);
    let out = spoken(&out);
    assert_eq!(out.len(), 2, "both are up");
    let bytes = &out[0].bytes;
    assert_eq!(bytes[6..12], PG0.0);
    assert_eq!(usize::from(u16::from_be_bytes([bytes[12], bytes[13]])), bytes.len() - 14);
    assert_eq!(bytes[14..22], FRONT);
    let read = parse(&bytes[22..]).unwrap();
    assert_eq!((read.port, read.platform, read.ttl), (&b"pg0"[..], &b"Ferrovia"[..], 180));
    assert_eq!(bytes.len() % 2, 0);
    assert_eq!(spoken(&b.wait(50.0)).len(), 0);
    assert_eq!(spoken(&b.wait(12.0)).len(), 2);
    b.set("set interface state pg1 down");
    b.set("set interface state pg1 up");
    let out = b.settle();
    assert_eq!(spoken(&out).len(), 1, "who comes up");
    b.set("cdp disable");
    assert_eq!(spoken(&b.wait(130.0)).len(), 0);
}

#[test]
fn who_is_heard_is_shown_until_it_is_forgotten() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    assert_eq!(b.cli("show cdp"), "CDP is not enabled\n");
    b.graph.moved_counters();
    b.receive(pg0, &[said(b"early", 9)]);
    b.graph.expect_counters(&[("cdp-input", "cdp packets received on disabled interfaces", 1)]);
    b.set("cdp enable");
    b.wait(0.0);
    b.graph.moved_counters();
    b.receive(pg0, &[said(b"one", 100), said(b"one", 100), said(b"tw\x07o", 100)]);
    b.receive(pg1, &[said(b"odd", 5)]);
    b.graph.expect_counters(&[
        ("cdp-input", "good cdp packets (processed)", 3),
        ("cdp-input", "good cdp packets (cache hit)", 1),
    ]);
    let shown = b.cli("show cdp");
    assert!(shown.contains(" two ") && shown.contains("Gi0/1") && shown.contains("odd"), "{shown}");
    assert!(!shown.contains(" one "), "{shown}");
    b.wait(6.0);
    let shown = b.cli("show cdp");
    assert!(shown.contains("two") && !shown.contains("odd"), "{shown}");
    b.set("trace add p2p-ethernet-input 1");
    b.graph.send("p2p-ethernet-input", &[said(b"one", 100)], move |p| p.set_rx(pg0.0));
    b.settle();
    let trace = b.cli("show trace");
    assert!(trace.contains("device one port Gi0/1 ttl 100"), "{trace}");
    b.control(|router, _| router.remove_interface(pg0));
    assert!(!b.cli("show cdp").contains("one"));
}

#[test]
fn what_is_wrong_is_counted() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        local.call(router, &CdpEnableDisable { enable_disable: true }).unwrap();
    });
    b.wait(0.0);
    b.graph.moved_counters();
    let good = message(9, &[(kind::DEVICE_ID, b"switch")]);
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        frame(&bytes)
    };
    let version = [&[3, 9][..], &good[2..]].concat();
    let mut long = message(9, &[(kind::DEVICE_ID, b"switch")]);
    (long[7], long[3]) = (long[7] + 1, long[3] - 1);
    let mut foreign = frame(&good);
    foreign[20] = 0x21;
    let mut other = frame(&good);
    other[14] = 0x42;
    let mut control = frame(&good);
    control[16] = 4;
    b.receive(pg0, &[with(9, 1), frame(&version), frame(&long), foreign, other, control]);
    b.graph.expect_counters(&[
        ("snap-input", "unknown oui/snap protocol", 1),
        ("llc-input", "unknown llc ssap/dsap", 1),
        ("llc-input", "control != 0x3", 1),
        ("cdp-input", "cdp packets with bad TLVs", 1),
        ("cdp-input", "cdp packets with bad protocol versions", 1),
        ("cdp-input", "cdp packets with bad checksums", 1),
    ]);
    let said = b.cli("cdp maybe");
    assert!(said.contains("expected enable or disable"), "{said}");
}
