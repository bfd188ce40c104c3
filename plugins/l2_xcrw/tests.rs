//! Frames go to a node with bytes in front.

use l2_xcrw::FEATURE;
use net::testing::whole::{Bench, sent};

/// Frames that an interface receives, as they leave.
fn through(b: &mut Bench, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let rx = b.pg0.0;
    let out = b.graph.send("l2-xcrw", frames, move |p| p.set_rx(rx));
    sent(&out).iter().map(|bytes| bytes.to_vec()).collect()
}

#[test]
fn frames_go_to_the_node_of_their_interface_with_bytes_in_front() {
    let mut b = Bench::plugged(&[FEATURE]);
    let frame = [[2; 12].as_slice(), &[0x88, 0xb5], &[7; 50]].concat();
    for (rewrite, front) in [("", vec![]), ("rw 0102ff", vec![1, 2, 0xff])] {
        assert_eq!(b.cli(&format!("set interface l2 xcrw pg0 next pg1-output {rewrite}")), "");
        b.wait(0.0);
        b.graph.moved_counters();
        for n in [1, 3, 4, 255, 256] {
            let out = through(&mut b, &vec![frame.clone(); n]);
            assert_eq!(out, vec![[&front[..], &frame].concat(); n]);
            b.graph.expect_counters(&[("l2-xcrw", "Packets forwarded", n as u64)]);
        }
    }
    let shown = b.cli("show l2xcrw");
    assert!(shown.contains("pg0 -> pg1-output 0102ff"), "{shown}");
    assert_eq!(b.cli("set interface l2 xcrw pg0 del"), "");
    assert_eq!(through(&mut b, &[frame]).len(), 0);
    b.graph.expect_counters(&[("l2-xcrw", "Packets dropped", 1)]);
    for (line, why) in [
        ("set interface l2 xcrw pg0 del", "has no such cross-connect"),
        ("set interface l2 xcrw pg0", "missing next"),
        ("set interface l2 xcrw pg0 next nowhere", "no such node: nowhere"),
        ("set interface l2 xcrw pg0 next l2-xcrw", "no such node: l2-xcrw"),
        ("set interface l2 xcrw pg0 next pg1-output rw 0", "pairs of hexadecimal digits"),
        ("set interface l2 xcrw pg0 next pg1-output rw +1", "pairs of hexadecimal digits"),
    ] {
        let refused = b.cli(line);
        assert!(refused.contains(why), "{line}: {refused}");
    }
}
