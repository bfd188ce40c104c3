//! `pcap trace` and `pcap dispatch trace`, read by tshark.

use std::path::Path;
use std::process::Command;

use tests::capture::frames;
use tests::{Daemon, eventually, has};

/// Two loopbacks with addresses, and a stream that leaves by the second.
const SETUP: &[&str] = &[
    "loopback create-interface",
    "set interface ip address loop0 11.22.33.1/24",
    "set interface state loop0 up",
    "loopback create-interface",
    "set interface ip address loop1 11.22.34.1/24",
    "set interface state loop1 up",
    "set ip neighbor loop1 11.22.34.44 02:00:11:22:34:44",
    "packet-generator new { name s0 limit 10 size 128-128 interface loop0 tx-interface loop1 \
     node loop1-output buffer-flags ip4 offload \
     buffer-offload-flags offload-ip-cksum offload-udp-cksum \
     data { IP4: 00:01:02:03:04:05 -> 02:00:11:22:34:44 UDP: 11.22.33.44 -> 11.22.34.44 \
     ttl 2 checksum 13 UDP: 1234 -> 2345 checksum 11 incrementing 114 } }",
];

/// Starts the stream and waits until its packets are through.
fn generate(daemon: &Daemon) {
    daemon.tell("packet-generator enable");
    let is_done = || !daemon.tell("show packet-generator").contains("Yes");
    assert!(eventually(is_done));
}

/// Packets of a file as tshark dissects them: a line each, these fields.
fn dissected(path: &Path, fields: &[&str]) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let out = tshark.output().expect("tshark is there");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn what_comes_and_goes_is_captured() {
    let daemon = Daemon::start(SETUP);
    let file = daemon.folder().join("all.pcap");
    let on = format!("pcap trace rx tx max 500 intfc any file {}", file.display());
    assert_eq!(daemon.tell(&on).trim(), "pcap rx tx capture on...");
    let again = daemon.ask(&on);
    assert!(again.error.contains("a capture is running already"), "{again:?}");
    generate(&daemon);
    let status = daemon.tell("pcap trace status");
    let shown = format!("max is 500, for any interface to file {}\n", file.display());
    assert!(status.starts_with(&shown), "{status}");
    assert!(status.trim().ends_with(" of 500 pkts..."), "{status}");
    let off = daemon.tell("pcap trace rx tx off");
    let written = format!("packets to {}, and stop capture...", file.display());
    assert!(off.starts_with("Write ") && off.trim().ends_with(&written), "{off}");
    // Ten are sent, and come in again as they are. Interfaces may have something of their own to
    // say, but nothing of this size.
    let all: Vec<_> = frames(&file).into_iter().filter(|frame| frame.len() == 128).collect();
    assert_eq!(all.len(), 20);
    assert!(all.iter().all(|frame| frame == &all[0]));

    let sized = |options: &str, size: usize| {
        daemon.tell(&format!("pcap trace {options} file {}", file.display()));
        generate(&daemon);
        let answer = daemon.ask("pcap trace off");
        let is_empty = answer.error.contains("No packets captured...");
        assert_ne!(answer.is_ok, is_empty);
        let all = if is_empty { Vec::new() } else { frames(&file) };
        all.iter().filter(|frame| frame.len() == size).count()
    };
    assert_eq!(sized("tx intfc loop0", 128), 0);
    assert_eq!(sized("rx intfc loop0", 128), 0);
    assert_eq!(sized("rx intfc loop1 max-bytes-per-pkt 100", 100), 10);
    assert!((1..=4).contains(&sized("tx max 4", 128)));
    // An interface that comes later is captured too.
    daemon.tell(&format!("pcap trace tx file {}", file.display()));
    for line in ["loopback create-interface", "set interface state loop2 up"] {
        daemon.tell(line);
    }
    daemon.tell(
        "packet-generator new { name s2 limit 1 size 64-64 interface loop0 tx-interface loop2 \
         node loop2-output data { IP4: 1.2.3 -> 1.2.4 UDP: 1.1.1.1 -> 2.2.2.2 UDP: 1 -> 2 } }",
    );
    generate(&daemon);
    daemon.tell("pcap trace off");
    assert_eq!(frames(&file).iter().filter(|frame| frame.len() == 64).count(), 1);
    for (line, error) in [
        ("pcap trace off", "no capture is running"),
        ("pcap trace max 10", "expected rx, tx or drop"),
        ("pcap trace rx intfc nosuch", "unknown interface `nosuch'"),
        ("pcap trace drop error nosuch", "unknown reason `nosuch'"),
        ("pcap trace drop error {no}.{such}", "unknown reason `no.such'"),
        ("pcap trace drop error {no} such", "invalid error `{no} such'"),
        ("pcap trace rx file ../x", "is no name for a file"),
        ("pcap trace rx filter", "No filter of captures is configured"),
        ("pcap dispatch trace max 3", "expected on, off or status"),
        ("pcap dispatch trace on buffer-trace nosuch 3", "unknown input node `nosuch"),
    ] {
        let answer = daemon.ask(line);
        assert!(!answer.is_ok && answer.error.contains(error), "{line}: {answer:?}");
    }
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
}

#[test]
fn dropped_packets_are_captured_whole_with_their_reason() {
    let daemon = Daemon::start(SETUP);
    let file = daemon.folder().join("drop.pcap");
    let packets = "packet-generator new { name bad limit 3 size 64-64 interface loop0 \
                   node ethernet-input data { IP4: 1.2.3 -> de:ad:00:00:00:00 \
                   UDP: 11.22.33.44 -> 11.22.34.44 checksum 1 UDP: 1 -> 2 incrementing 22 } }";
    daemon.tell("packet-generator delete s0");
    daemon.tell(packets);
    daemon.tell(&format!("pcap trace drop file {}", file.display()));
    generate(&daemon);
    let answer = daemon.tell("pcap trace off");
    assert!(answer.starts_with("Write "), "{answer}");
    let dropped: Vec<_> =
        frames(&file).into_iter().filter(|f| f[6..12] == [0, 1, 0, 2, 0, 3]).collect();
    assert!(!dropped.is_empty(), "{answer}");
    for frame in dropped {
        let (packet, reason) = frame.split_at(64);
        assert_eq!(packet[..6], [0xde, 0xad, 0, 0, 0, 0]);
        assert!(reason.starts_with(b"ip4-input: ") && reason.ends_with(b"\0"), "{reason:?}");
    }
    // What an ICMP error answers is dropped as well.
    daemon.tell("packet-generator delete bad");
    daemon.tell(
        "packet-generator new { name closed limit 2 size 64-64 interface loop0 node ethernet-input \
         data { IP4: 1.2.3 -> de:ad:00:00:00:00 UDP: 11.22.33.44 -> 11.22.33.1 UDP: 1 -> 2 \
         incrementing 22 } }",
    );
    let only = "error {ip4-udp-lookup}.{no_listener}";
    daemon.tell(&format!("pcap trace drop file {} {only}", file.display()));
    generate(&daemon);
    daemon.tell("pcap trace off");
    let closed = frames(&file);
    assert_eq!(closed.len(), 2);
    assert!(closed.iter().all(|f| f[..6] == [0xde, 0xad, 0, 0, 0, 0] && f[23] == 17));
}

#[test]
fn every_packet_at_every_node_is_captured() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(SETUP);
    let file = daemon.folder().join("dispatch.pcap");
    let on =
        format!("pcap dispatch trace on max 100 buffer-trace pg-input 10 file {}", file.display());
    let expected =
        "Buffer tracing of 10 pkts from pg-input enabled...\npcap dispatch capture on...";
    assert_eq!(daemon.tell(&on).trim(), expected);
    generate(&daemon);
    let status = daemon.tell("pcap dispatch trace status");
    assert!(status.starts_with("pcap dispatch capture is on: "), "{status}");
    let off = daemon.tell("pcap dispatch trace off");
    assert!(off.contains(" pkts...\nsaved to /"), "{off}");
    let rows = dissected(&file, &["vpp.NodeName", "ip.src", "udp.dstport"]);
    let at = |row: &str| rows.iter().filter(|r| *r == row).count();
    assert_eq!(at("loop1-output\t11.22.33.44\t2345"), 10, "{rows:?}");
    assert_eq!(at("loop1-tx\t11.22.33.44\t2345"), 10, "{rows:?}");
    assert_eq!(at("ethernet-input\t11.22.33.44\t2345"), 10, "{rows:?}");
    assert!(daemon.tell("show trace").contains("loop1-output"));
}
