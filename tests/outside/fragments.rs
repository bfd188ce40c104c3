//! Fragments: between hosts of the kernel, for the router itself, and on several threads.

use std::path::Path;

use tests::capture::{frames, write};
use tests::{Daemon, TwoHosts, eventually, has, is_root};
use wire::Protocol;
use wire::ip4::{Header, MORE_FRAGMENTS};
use zerocopy::IntoBytes;

use crate::GENERATORS;
use crate::two_hosts::received;
use crate::workers::two_workers;

/// The value of a counter, all nodes that have it added up.
fn counted(router: &Daemon, node: &str, reason: &str) -> u64 {
    let text = router.tell("show errors");
    let lines = text.lines().filter(|line| line.contains(node) && line.contains(reason));
    lines.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

/// Waits until all buffers are back.
#[track_caller]
fn expect_no_buffers_lost(router: &Daemon) {
    let is_back = || router.tell("show buffers").trim_end().ends_with(" 0");
    assert!(eventually(is_back), "{}", router.tell("show buffers"));
}

/// Datagrams that an iperf3 run lost, and all of them.
fn lost(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().rfind(|line| line.ends_with("receiver"))?;
    let pairs = line.split_whitespace().filter_map(|word| word.split_once('/'));
    pairs.map(|(lost, all)| Some((lost.parse().ok()?, all.parse().ok()?))).find_map(|pair| pair)
}

#[test]
fn datagrams_of_60_kb_pass_between_links_of_different_mtus() {
    if !is_root() || !has("iperf3") {
        return;
    }
    let hosts = TwoHosts::new();
    let router = &hosts.router;
    router.tell("set interface mtu packet 1280 host-right");
    for (address, reassembly) in
        [("10.1.2.2", "off"), ("2001:db8:2::2", "off"), ("10.1.2.2", "ip4")]
    {
        router.tell(&format!("set interface reassembly host-left {reassembly}"));
        let cut = counted(router, "ip4-frag", "number of sent fragments");
        let is_4 = !address.contains(':');
        if !is_4 {
            // The first packet has its sender learn the smaller MTU, which would end iperf3.
            hosts.left.run(&format!("ping -n -c 3 -i 0.2 -W 10 -s 1400 {address}"));
        }
        let text = hosts.left.iperf3(&hosts.right, &format!("-c {address} -u -l 60000 -b 8M -t 3"));
        let (lost, all) = lost(&text).unwrap_or_default();
        // What the router takes it sends on; hosts that starve may lose some before and behind it.
        assert!(received(&text) > 1.0 && lost <= all / 4 && all > 30, "{text}");
        let cut = counted(router, "ip4-frag", "number of sent fragments") - cut;
        assert!(if is_4 { cut >= 48 * (all - lost) } else { cut == 0 }, "{cut} for {all}");
    }
    let whole = counted(router, "ip4-full-reassembly-feature", "successful reassemblies");
    assert!(whole > 30, "{}", router.tell("show errors"));
    assert!(counted(router, "ip6-icmp-error", "packet too big response sent") > 0);
    expect_no_buffers_lost(router);
}

#[test]
fn the_router_answers_pings_of_60_kb() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    let router = &hosts.router;
    for address in ["10.1.1.1", "2001:db8:1::1"] {
        let text = hosts.left.run(&format!("ping -n -c 5 -i 0.2 -W 10 -s 60000 {address}"));
        assert!(text.contains("5 received, 0% packet loss"), "{text}");
    }
    for version in ["ip4", "ip6"] {
        let node = format!("{version}-local-full-reassembly");
        assert_eq!(counted(router, &node, "successful reassemblies"), 5);
        assert_eq!(
            counted(router, &node, "fragments reassembled"),
            5 * 41 + 5 * u64::from(version == "ip6")
        );
        let sent = counted(router, &format!("{version}-frag"), "number of sent fragments");
        assert!(sent >= 5 * 41, "{sent}");
    }
    expect_no_buffers_lost(router);
}

/// Bytes of data of packets that are cut into fragments of [`PIECE`] bytes.
const DATA: usize = 1200;
const PIECE: usize = 400;

/// Piece `at` of the packet with identification `id`, as a frame for pg0.
fn fragment(id: u16, at: usize) -> Vec<u8> {
    let offset = (at * PIECE / 8) as u16;
    let more = if (at + 1) * PIECE < DATA { MORE_FRAGMENTS } else { 0 };
    let (src, dst) = ([10, 0, 0, 2].into(), [16, 0, 0, 1].into());
    let mut header = Header::new(src, dst, Protocol(200), (20 + PIECE) as u16);
    (header.id, header.fragment) = (id.into(), (offset | more).into());
    let ethernet = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 1, 8, 0];
    let data: Vec<_> = (0..PIECE).map(|i| (usize::from(id) + at * PIECE + i) as u8).collect();
    [&ethernet, header.with_checksum().as_bytes(), &data].concat()
}

/// Sends frames into pg0, on both workers at the same time.
fn play(daemon: &Daemon, both: [&[Vec<u8>]; 2]) {
    for (worker, frames) in both.into_iter().enumerate() {
        let path = daemon.folder().join(format!("in{worker}.pcap"));
        write(&path, frames);
        let path = path.display();
        let stream = format!("pcap {path} source pg0 name s{worker} worker {worker}");
        daemon.tell(&format!("packet-generator new {stream}"));
    }
    daemon.generate();
}

/// The data of captured packets, in the order of their identifications.
fn packets(path: &Path) -> Vec<(u16, Vec<u8>)> {
    let frames = frames(path).into_iter();
    let mut packets: Vec<_> =
        frames.map(|f| (u16::from_be_bytes([f[18], f[19]]), f[34..].to_vec())).collect();
    packets.sort();
    packets
}

#[test]
fn fragments_on_two_workers_become_one_packet() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    daemon.tell("set interface reassembly pg0 on");
    let path = daemon.folder().join("out.pcap");
    daemon.tell(&format!("packet-generator capture pg1 pcap {}", path.display()));
    daemon.tell("trace add pg-input 20");
    let ids = 1..=200_u16;
    // The first ones are received on one worker, later ones on the other, the rest on any.
    let wave = |at: usize| ids.clone().map(move |id| fragment(id, at));
    let rest = |worker| wave(2).zip(ids.clone()).filter(move |(_, id)| id % 2 == worker);
    let rest = |worker| rest(worker).map(|(fragment, _)| fragment);
    let one: Vec<_> = wave(1).chain(rest(0)).collect();
    let other: Vec<_> = wave(0).chain(rest(1)).collect();
    play(&daemon, [&one, &other]);
    let whole = |id: u16| (0..DATA).map(|i| (usize::from(id) + i) as u8).collect::<Vec<_>>();
    let expected: Vec<_> = ids.clone().map(|id| (id, whole(id))).collect();
    assert!(packets(&path) == expected, "{}", daemon.tell("show errors"));
    let text = daemon.tell("show trace");
    assert!(text.contains("10.0.0.2 -> 16.0.0.1, protocol "), "{text}");
    assert!(text.contains(", id 1, fragment["), "{text}");
    assert!(text.contains("ip4-full-reass-feature-hoff") && text.contains("HANDED-OFF"), "{text}");
    expect_no_buffers_lost(&daemon);
}
