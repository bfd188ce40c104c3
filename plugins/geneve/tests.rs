//! Tunnels of geneve: tests with packets.

use geneve::*;
use net::testing::Rig;
use net::tunnel::testing::*;

/// Header of the network 77.
const HEADER: [u8; 8] = [0, 0, 0x65, 0x58, 0, 0, 77, 0];
const FRAME: &[u8] = &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5, 1, 2, 3, 4];
/// Own addresses and far ends, with the nodes of their version.
const ENDS: [(&str, &str, &str, &str); 2] = [
    ("10.0.1.1", "20.0.0.1", "ip4-receive", "geneve4-input"),
    ("2001:db8:1::1", "2a01::1", "ip6-receive", "geneve6-input"),
];

fn make(rig: &mut Rig, (own, far): (&str, &str), more: &str) {
    let line = format!("create geneve tunnel local {own} remote {far} vni 77 {more}");
    assert_eq!(rig.run(&line), "geneve_tunnel0\n");
    settle(rig);
}

#[test]
fn frames_travel_both_ways() {
    for (own, far, at, node) in ENDS {
        let mut rig = rig(FEATURE);
        make(&mut rig, (own, far), "");
        let out = frame_sent(&mut rig, "geneve_tunnel0", FRAME);
        let front = if own.contains(':') { 48 } else { 28 };
        assert_eq!(out[front..], [&HEADER[..], FRAME].concat());
        let encap = node.replace("input", "encap");
        rig.expect(&[(encap.as_str(), "good packets encapsulated", 1)]);
        let mut with_options = HEADER.to_vec();
        with_options[0] = 2;
        with_options.extend([9; 8]);
        // Options may be critical, and none is: the second has type 9 and one word of data.
        let mut none_critical = HEADER.to_vec();
        (none_critical[0], none_critical[1]) = (3, 0x40);
        none_critical.extend([9, 9, 9, 0, 9, 9, 9, 1, 0x80, 0x80, 0x80, 0x80]);
        let mut critical = none_critical.clone();
        critical[14] = 0x89;
        for header in [&HEADER[..], &with_options, &none_critical] {
            let data = [header, FRAME].concat();
            let out = send(&mut rig, at, &[datagram(far, own, PORT, &data, false)]);
            assert_eq!((out[0].at.as_str(), out[0].bytes.as_slice()), ("ethernet-input", FRAME));
            assert_eq!(out[0].rx, rig.interface("geneve_tunnel0").0);
            rig.expect(&[(node, "good packets decapsulated", 1)]);
        }
        let with = |at: usize, byte| {
            let mut header = HEADER.to_vec();
            header[at] = byte;
            header
        };
        for (header, why) in [
            (with(0, 63), "packets with invalid options length"),
            (with(0, 0x40), "packets with bad flags field in geneve header"),
            (critical, "packets with bad flags field in geneve header"),
            (with(2, 9), "packets with bad flags field in geneve header"),
            (with(6, 78), "no such tunnel packets"),
        ] {
            let data = [&header[..], FRAME].concat();
            send(&mut rig, at, &[datagram(far, own, PORT, &data, true)]);
            rig.expect(&[(node, why, 1)]);
        }
    }
}

#[test]
fn commands_make_show_and_delete_tunnels() {
    let mut rig = rig(FEATURE);
    make(&mut rig, ("10.0.1.1", "20.0.0.1"), "l3-mode");
    let index = rig.interface("geneve_tunnel0").0;
    let shown = format!(
        "[0] lcl 10.0.1.1 rmt 20.0.0.1 vni 77 fib-idx 0 sw-if-idx {index} decap-next-l2 \
             l3-mode 1\n"
    );
    assert_eq!(rig.run("show geneve tunnel"), shown);
    rig.set("set interface ip geneve-bypass pg0");
    let again = rig.run("create geneve tunnel local 10.0.1.1 remote 20.0.0.1 vni 77");
    assert_eq!(again, "create geneve tunnel: the tunnel exists\n");
    let big = rig.run("create geneve tunnel local 10.0.1.1 remote 20.0.0.1 vni 16777216");
    assert!(big.contains("below 16777216"), "{big}");
    rig.set("create geneve tunnel local 10.0.1.1 remote 20.0.0.1 vni 77 del");
    assert!(rig.router.interfaces.named("geneve_tunnel0").is_none());
}
