//! Captures, `pcap trace` and `pcap dispatch trace`, read by tshark.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

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
    assert!(again.error.contains("a capture is already running"), "{again:?}");
    generate(&daemon);
    let status = daemon.tell("pcap trace status");
    let shown = format!("max is 500, for any interface to file {}\n", file.display());
    assert!(status.starts_with(&shown), "{status}");
    assert!(status.trim().ends_with(" of 500 pkts..."), "{status}");
    let off = daemon.tell("pcap trace rx tx off");
    let written = format!("packets to {}, and stop capture...", file.display());
    assert!(off.starts_with("Write ") && off.trim().ends_with(&written), "{off}");
    // Ten are sent, and received again unchanged. Interfaces may have other traffic, but none of
    // this size.
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
        ("pcap trace rx file ../x", "is not a valid file name"),
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

/// Faults that tshark finds in a file, and its packets: interface, length, comment.
fn packets(path: &Path) -> Vec<[String; 3]> {
    let bad = Command::new("tshark")
        .args(["-r"])
        .arg(path)
        // It takes packets by their port for those of this protocol.
        .args(["--disable-protocol", "knet"])
        .args(["-Y", "_ws.malformed || _ws.expert.severity == error"])
        .output()
        .expect("tshark is there");
    assert!(bad.status.success() && bad.stdout.is_empty(), "{bad:?}");
    let fields = ["frame.interface_name", "frame.len", "frame.comment"];
    let split = |line: &String| {
        let mut parts = line.splitn(3, '\t').map(str::to_owned);
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    };
    dissected(path, &fields).iter().map(split).collect()
}

#[test]
fn captures_are_files_with_interfaces_nodes_and_reasons() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(SETUP);
    daemon.tell(
        "packet-generator new { name bad limit 3 size 64-64 interface loop0 \
         node ethernet-input data { IP4: 1.2.3 -> de:ad:00:00:00:00 \
         UDP: 11.22.33.44 -> 11.22.34.44 checksum 1 UDP: 1 -> 2 incrementing 22 } }",
    );
    daemon.tell(
        "packet-generator new { name good limit 2 size 72-72 interface loop0 \
         node ethernet-input data { IP4: 1.2.3 -> de:ad:00:00:00:00 \
         UDP: 11.22.33.44 -> 11.22.34.44 UDP: 1 -> 2 incrementing 30 } }",
    );
    let file = |name: &str| daemon.folder().join(name);
    let start = |name: &str, what: &str| {
        let path = file(&format!("{name}.pcapng"));
        let line = format!("capture start name {name} {what} file {}", path.display());
        let told = daemon.tell(&line);
        assert!(told.starts_with(&format!("capture {name} of ")), "{told}");
        path
    };
    let udp = "{ udp and dst port 2345 }";
    let all = [
        start("tx", &format!("tx interface loop1 filter {udp}")),
        start("drop", "drop reason ip4-input"),
        start("node", "node ip4-lookup node loop1-output filter { greater 100 }"),
        start("arc", "arc ip4-unicast filter { less 100 }"),
        start("few", &format!("packets 4 rx filter {udp}")),
    ];
    let taken = daemon.ask("capture start name few file nothing.pcapng");
    assert!(taken.error.contains("capture `few' is already running"), "{taken:?}");
    generate(&daemon);
    let has_ended = || daemon.tell("show captures").contains("few: ended: that many packets");
    assert!(eventually(has_ended), "{}", daemon.tell("show captures"));
    let which = daemon.ask("capture stop");
    assert!(which.error.contains("expected the name of a capture"), "{which:?}");
    for name in ["tx", "drop", "node", "arc", "few"] {
        let told = daemon.tell(&format!("capture stop {name}"));
        assert!(told.trim().ends_with("; 0 lost"), "{told}");
    }
    assert_eq!(daemon.tell("show captures").trim(), "no captures");
    let [tx, drop, node, arc, few] = all.map(|path| packets(&path));
    let row = |interface: &str, len: u32, comment: &str| {
        [interface.to_owned(), len.to_string(), comment.to_owned()]
    };
    assert_eq!(tx, vec![row("loop1", 128, "node loop1-tx, thread 0"); 10]);
    let why = "node error-drop, thread 0, dropped: ip4-input: bad ip4 checksum";
    assert_eq!(drop, vec![row("loop0", 64, why); 3]);
    assert_eq!(node, vec![row("loop1", 128, "node loop1-output, thread 0"); 10]);
    assert_eq!(arc, vec![row("loop0", 72, "node ip4-lookup, thread 0"); 2]);
    assert_eq!(few, vec![row("loop1", 128, "node ethernet-input, thread 0"); 4]);
    for (line, error) in [
        ("capture stop", "no capture is running"),
        ("capture stop nosuch", "no capture `nosuch'"),
        ("capture start", "expected file NAME or stream"),
        ("capture start file nothing.pcapng stream", "expected file NAME or stream"),
        ("capture start file nothing.pcapng files 3", "expected file-size with files"),
        ("capture start file ../x", "is not a valid file name"),
        ("capture start file /nonexistent/x", "write `/nonexistent/x': No such file"),
        ("capture start file nothing.pcapng node nosuch", "unknown node `nosuch'"),
        (
            "capture start file nothing.pcapng node pg-input",
            "`pg-input' is an input node: use capture rx instead",
        ),
        ("capture start file nothing.pcapng arc nosuch", "unknown arc `nosuch'"),
        ("capture start file nothing.pcapng reason nosuch", "unknown reason `nosuch'"),
        ("capture start file nothing.pcapng interface nosuch", "unknown interface `nosuch'"),
        ("capture start file nothing.pcapng filter { nosuch 7 }", "`nosuch 7': "),
        (
            "capture start file nothing.pcapng filter tcp",
            "expected { EXPRESSION } as filter, got `tcp'",
        ),
    ] {
        let answer = daemon.ask(line);
        assert!(!answer.is_ok && answer.error.contains(error), "{line}: {answer:?}");
    }
    assert!(!Path::new("/tmp/nothing.pcapng").exists(), "a refused capture has made no file");
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
}

#[test]
fn rings_of_files_keep_the_latest() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(SETUP);
    let ring = daemon.folder().join("ring.pcapng");
    daemon.tell(&format!("capture start tx file {} file-size 1000 files 2", ring.display()));
    (0..3).for_each(|_| generate(&daemon));
    daemon.tell("capture stop");
    let files = || -> Vec<_> {
        let all = std::fs::read_dir(daemon.folder()).expect("a folder").flatten();
        let mut all: Vec<_> = all.map(|file| file.path()).collect();
        all.retain(|path| path.extension() == Some("pcapng".as_ref()));
        all.sort();
        all
    };
    let kept = files();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[0].ends_with("ring-00007.pcapng") || kept[0] > daemon.folder().join("ring-00003"));
    for file in &kept {
        assert!(!packets(file).is_empty() && std::fs::metadata(file).expect("a file").len() < 1600);
    }
}

#[test]
fn packets_come_to_who_looks_on() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(SETUP);
    let file = daemon.folder().join("live.pcapng");
    let capture = |arguments: &[&str]| {
        let mut command = daemon.fvctl_command();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("fvctl is there")
    };
    let path = file.display().to_string();
    let mut one =
        capture(&["capture", "-i", "loop1", "udp", "port", "2345", "-Q", "tx", "-w", &path]);
    assert!(eventually(|| daemon.tell("show captures").contains("stream-1: running")));
    generate(&daemon);
    assert!(eventually(|| daemon.tell("show captures").contains("packets 10")));
    let id = rustix::process::Pid::from_child(&one);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it is our child");
    assert!(one.wait().expect("it is our child").success());
    assert_eq!(packets(&file).len(), 10);
    // A reader that has enough disconnects, and the capture is over.
    let mut other = capture(&["capture"]);
    assert!(eventually(|| daemon.tell("show captures").contains("stream-2: running")));
    std::mem::drop(other.stdout.take());
    generate(&daemon);
    assert!(eventually(|| daemon.tell("show captures").trim() == "no captures"));
    other.wait().expect("it is our child");
    let refused = capture(&["capture", "nosuch", "7"]).wait_with_output().expect("it is our child");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`nosuch 7'"), "{refused:?}");
}

#[test]
fn wireshark_finds_the_interfaces_and_captures() {
    if !has("tshark") {
        return;
    }
    let daemon = Daemon::start(SETUP);
    let folder = daemon.folder().join("extcap");
    std::fs::create_dir(&folder).expect("a folder");
    // As in Wireshark's folder, but for the socket.
    let helper = folder.join("ferrovia-extcap");
    let fvctl = daemon.fvctl_command();
    let words: Vec<_> = std::iter::once(fvctl.get_program())
        .chain(fvctl.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let script = format!("#!/bin/sh\nexec {} extcap \"$@\"\n", words.join(" "));
    std::fs::write(&helper, script).expect("a file");
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    // Wireshark has root look in its own folder only: ours is there for this process.
    let folders = Command::new("tshark").args(["-G", "folders"]).output().expect("tshark is there");
    let folders = String::from_utf8_lossy(&folders.stdout).into_owned();
    let own = folders.lines().find_map(|line| line.strip_prefix("Extcap path:")).expect("a folder");
    let mount = format!("mount --bind {} {} && exec tshark \"$@\"", folder.display(), own.trim());
    let tshark = || {
        let mut tshark = Command::new("unshare");
        tshark.args(["-m", "sh", "-c", &mount, "tshark"]);
        tshark
    };
    let list = tshark().arg("-D").output().expect("tshark is there");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.contains("ferrovia-any (Ferrovia: all interfaces)"), "{list}");
    assert!(list.contains("ferrovia-loop1 (Ferrovia: loop1)"), "{list}");
    let live = tshark()
        .args(["-i", "ferrovia-loop1", "-f", "udp", "-c", "10", "-T", "fields"])
        .args(["-e", "frame.interface_name", "-e", "frame.len"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("tshark is there");
    assert!(eventually(|| daemon.tell("show captures").contains("stream-1: running")));
    generate(&daemon);
    let seen = live.wait_with_output().expect("it is our child");
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "loop1\t128\n".repeat(10));
}
