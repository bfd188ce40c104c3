//! Captures in, captures out.

use std::path::PathBuf;

use tests::capture::{decoded, frames, routed};
use tests::{Daemon, captures, has};

use crate::GENERATORS;

/// Sends a capture file into pg0; the captures of what came out of pg0 and pg1.
fn play(daemon: &Daemon, name: &str) -> [PathBuf; 2] {
    let out = ["pg0", "pg1"].map(|interface| {
        let path = daemon.folder().join(format!("{interface}.pcap"));
        daemon.tell(&format!("packet-generator capture {interface} pcap {}", path.display()));
        path
    });
    let input = captures().join(format!("{name}.pcap"));
    daemon.tell(&format!("packet-generator new pcap {} source pg0 name s", input.display()));
    daemon.generate();
    out
}

#[test]
fn every_packet_is_routed_to_the_byte() {
    let daemon = Daemon::start(GENERATORS);
    let [pg0, pg1] = play(&daemon, "routed");
    let sent = frames(&captures().join("routed.pcap"));
    let expected: Vec<_> = sent
        .iter()
        .map(|frame| routed(frame, [2, 0, 0, 0, 0, 0xbb], [2, 0, 0, 0, 0, 0xab]))
        .collect();
    let got = frames(&pg1);
    assert_eq!(got.len(), expected.len(), "{}", daemon.tell("show errors"));
    for frame in &expected {
        assert!(got.contains(frame), "missing {frame:02x?}\nin {got:02x?}");
    }
    assert!(!pg0.exists(), "nothing goes back");
    if has("tshark") {
        assert_eq!(decoded(&pg1).len(), expected.len());
    }
}

#[test]
fn buffers_hold_as_much_as_they_are_configured_to() {
    for size in [1664, 9216, 16_384] {
        let config = format!("buffers {{ buffers-per-numa 4096 default data-size {size} }}");
        let daemon = Daemon::start_with(&config, GENERATORS);
        let shown = daemon.tell("show buffers");
        assert!(shown.contains(&format!(" {size} ")), "{shown}");
        let path = daemon.folder().join("out.pcap");
        daemon.tell(&format!("packet-generator capture pg1 pcap {}", path.display()));
        daemon.tell(
            "packet-generator new { name s limit 99 size 9014-9014 interface pg0 node \
             ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> \
             16.0.0.1 UDP: 1234 -> 2345 incrementing 8972 } }",
        );
        daemon.generate();
        let got = frames(&path);
        assert_eq!(got.len(), 99, "{}", daemon.tell("show errors"));
        let bytes: Vec<_> = (0..8972_usize).map(|n| n as u8).collect();
        assert!(got.iter().all(|frame| frame.len() == 9014 && frame[42..] == bytes));
        let shown = daemon.tell("show buffers");
        assert!(shown.trim_end().ends_with(" 0"), "a buffer was lost: {shown}");
    }
}

#[test]
fn packets_of_one_flow_keep_their_order() {
    let daemon = Daemon::start(GENERATORS);
    let path = daemon.folder().join("out.pcap");
    daemon.tell(&format!("packet-generator capture pg1 pcap {}", path.display()));
    daemon.tell(
        "packet-generator new { name s limit 1000 size 64-64 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.0-16.0.3.231 \
         UDP: 1234 -> 2345 incrementing 22 } }",
    );
    daemon.generate();
    // The router may report its groups meanwhile.
    let frames = frames(&path).into_iter().filter(|frame| frame[12..14] == [8, 0]);
    let order: Vec<_> = frames.map(|frame| [frame[32], frame[33]]).collect();
    let expected: Vec<_> = (0..1000_u16).map(u16::to_be_bytes).collect();
    assert_eq!(order, expected);
}

#[test]
fn what_the_router_says_itself_is_well_formed() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(GENERATORS);
    let [pg0, pg1] = play(&daemon, "local");
    let answers = decoded(&pg0);
    for answer in [
        "10.0.0.1 is at 02:00:00:00:00:aa",
        "Neighbor Advertisement 2001:db8::1",
        "10.0.0.1 → 10.0.0.2     ICMP 98 Echo (ping) reply",
        "10.0.0.1 → 10.0.0.2     ICMP 1499 Echo (ping) reply",
        "2001:db8::1 → 2001:db8::2  ICMPv6 118 Echo (ping) reply",
        "Time-to-live exceeded",
        "Time Exceeded (hop limit exceeded in transit)",
        "Destination unreachable (Port unreachable)",
        "Destination Unreachable (Port unreachable)",
    ] {
        assert!(answers.iter().any(|line| line.contains(answer)), "no {answer} in {answers:#?}");
    }
    let questions = decoded(&pg1);
    for question in ["Who has 10.0.1.77? Tell 10.0.1.1", "Neighbor Solicitation for 2001:db8:1::77"]
    {
        assert!(questions.iter().any(|l| l.contains(question)), "no {question} in {questions:#?}");
    }
}
