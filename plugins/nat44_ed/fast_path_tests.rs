//! The fast path through NAT and node by node have the same results, and the same counters.

use nat44_ed::FEATURE;
use net::testing::alike::{self, Seen, numbers};
use net::testing::packets::{changed4, ip4, ping4, udp4, with_options};
use net::testing::whole::{Bench, HOST, PG0, PG1};
use proptest::prelude::*;
use sessions::Flow4;
use translation::rewrite::set_ports;
use translation::usual::{flow_of, rewrite};
use wire::ip4::VERSION_IHL;
use wire::{Protocol, checksum, tcp};
use zerocopy::IntoBytes;

use super::translation::with;

/// The address outside.
const OUTSIDE: &str = "192.0.2.1";
const SERVERS: [&str; 4] = ["16.0.0.1", "17.0.0.1", "18.0.0.1", "10.0.1.2"];

fn bench(lines: &[&str]) -> Bench {
    let mut bench = Bench::plugged(&with(FEATURE));
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static",
        "set ip neighbor pg0 10.0.0.3 02:00:00:00:00:02 static",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2 static",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:b3 static",
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 17.0.0.0/8 via 10.0.1.3 pg1",
        "ip route add 18.0.0.0/8 via 10.0.1.2 pg1 via 10.0.1.3 pg1",
        "adjacency counters enable",
        "nat44 plugin enable sessions 1000",
        "set interface nat44 in pg0 out pg1",
        "nat44 add address 192.0.2.1",
    ] {
        bench.set(line);
    }
    lines.iter().for_each(|line| bench.set(line));
    bench
}

/// A packet of TCP with these flags.
fn tcp4(src: &str, dst: &str, ports: [u16; 2], flags: u8) -> Vec<u8> {
    let mut header = [0; 20];
    header[..2].copy_from_slice(&ports[0].to_be_bytes());
    header[2..4].copy_from_slice(&ports[1].to_be_bytes());
    (header[12], header[13]) = (0x50, flags);
    let mut packet = ip4(src, dst, Protocol::TCP, &[&header[..], b"data"].concat());
    let sum = net::testing::packets::sum4(&packet).checksum();
    packet[36..38].copy_from_slice(sum.as_bytes());
    packet
}

/// A packet of UDP between two ports.
fn udp_between(src: &str, dst: &str, ports: [u16; 2]) -> Vec<u8> {
    let mut packet = udp4(src, dst, ports[1], b"data");
    let old = [packet[20], packet[21]].into();
    packet[20..22].copy_from_slice(&ports[0].to_be_bytes());
    let sum = checksum::update([packet[26], packet[27]].into(), old, ports[0].into());
    packet[26..28].copy_from_slice(sum.as_bytes());
    packet
}

/// An ICMP echo request with an identifier, which hosts keep outside as ports.
fn ping_by(src: &str, dst: &str, identifier: u16) -> Vec<u8> {
    let mut packet = ping4(src, dst, b"data");
    let old = [packet[24], packet[25]].into();
    packet[24..26].copy_from_slice(&identifier.to_be_bytes());
    let sum = checksum::update([packet[22], packet[23]].into(), old, identifier.into());
    packet[22..24].copy_from_slice(sum.as_bytes());
    packet
}

/// A frame of some kind, chosen by `n`, from inside or outside. Ports of hosts tell them apart, so
/// that they have the same outside.
fn frame(n: u64) -> Vec<u8> {
    let host = if n.is_multiple_of(2) { "10.0.0.2" } else { "10.0.0.3" };
    let port = 5000 + (n % 8) as u16;
    let server = SERVERS[n as usize / 8 % 4];
    let is_inward = (n / 32).is_multiple_of(3);
    let (src, dst) = if is_inward { (server, OUTSIDE) } else { (host, server) };
    let ports = if is_inward { [80, port] } else { [port, 80] };
    let ack = tcp::Flags::ACK.0;
    let mut packet = match n / 96 % 9 {
        0 => tcp4(src, dst, ports, [ack, ack | tcp::Flags::FIN.0][n as usize / 864 % 2]),
        1 => tcp4(src, dst, ports, tcp::Flags::SYN.0 | if is_inward { ack } else { 0 }),
        2 => tcp4(src, dst, ports, [ack, tcp::Flags::RST.0][n as usize / 864 % 2]),
        3 => ping_by(src, dst, port),
        _ => udp_between(src, dst, ports),
    };
    match n / 2000 % 16 {
        0 => packet = changed4(packet, |h| h.ttl = 1),
        1 => packet = changed4(packet, |h| h.ttl = 2),
        2 => packet[10] ^= 0x55,
        3 => packet = with_options(&packet, &[1, 1, 1, 1]),
        4 => packet.extend([0; 7]),
        5 => packet = changed4(packet, |h| h.dst = [224, 0, 0, 9]),
        6 => packet = changed4(packet, |h| h.fragment = wire::ip4::MORE_FRAGMENTS.into()),
        7 if packet[9] == Protocol::UDP.0 => packet[26..28].fill(0),
        8 => packet = changed4(packet, |h| h.dst = [99, 0, 0, 1]),
        _ => (),
    }
    let to = if is_inward { PG1 } else { PG0 };
    [&to.0[..], &HOST.0, &[8, 0], &packet].concat()
}

/// The frame with its packet made whole, if that is a fragment: what is held of fragments depends
/// on the time between them.
fn whole(frame: &[u8]) -> Vec<u8> {
    let (header, packet) = frame.split_at(14);
    if packet[6..8] == [0, 0] {
        return frame.to_vec();
    }
    [header, &changed4(packet.to_vec(), |h| h.fragment = 0.into())].concat()
}

/// Takes out of a fragment what it has by chance.
fn forget_identification(frame: &mut [u8]) {
    if frame.len() > 26 && frame[12..14] == [8, 0] && frame[20..22] != [0, 0] {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    }
}

fn expect_alike(lines: &[&str], seed: u64, frames: &[Vec<u8>]) -> Seen {
    alike::expect_alike(&format!("{lines:?}, seed {seed}"), |is_node_by_node| {
        let mut bench = bench(lines);
        let (pg0, pg1) = (bench.pg0.0, bench.pg1.0);
        let rx = move |frame: &[u8]| if frame[5] == PG1.0[5] { pg1 } else { pg0 };
        let shown = ["show interface", "show ip fib 16.0.0.1", "show adjacency"];
        // Sessions begin in an order of their own before: which packet meets which depends on that.
        let whole: Vec<_> = frames.iter().map(|frame| whole(frame)).collect();
        bench.see(&whole, rx, (true, &[]));
        let mut seen = bench.see(frames, rx, (is_node_by_node, &shown));
        seen.caught.iter_mut().for_each(|c| forget_identification(&mut c.bytes));
        seen.caught.sort_by(|a, b| (&a.at, &a.bytes).cmp(&(&b.at, &b.bytes)));
        seen
    })
}

#[test]
fn packets_and_counters_are_those_of_the_nodes() {
    let settings: [&[&str]; 7] = [
        &[],
        &["set interface mtu packet 34 pg1"],
        &["set interface state pg1 down"],
        &["ip route add 17.0.0.0/8 drop"],
        &["nat44 add static mapping udp local 10.0.0.2 5002 external 192.0.2.1 5002"],
        &["set interface nat44 out pg0"],
        &["set interface nat44 in pg0 out pg1 del", "set interface nat44 out pg1 output-feature"],
    ];
    alike::settings(&settings, |lines, seed, count| {
        let frames: Vec<_> = numbers(seed).map(frame).take(count).collect();
        expect_alike(lines, seed, &frames);
    });
}

#[test]
fn a_frame_of_known_sessions_takes_it_whole() {
    let all = (0..256).map(|n| udp_between("10.0.0.2", "16.0.0.1", [5000 + n % 16, 80]));
    let frames: Vec<_> = all.map(|p| [&PG0.0[..], &HOST.0, &[8, 0], &p].concat()).collect();
    let mut bench = bench(&[]);
    let pg0 = bench.pg0.0;
    bench.see(&frames, move |_| pg0, (true, &[]));
    let seen = bench.see(&frames, move |_| pg0, (false, &[]));
    assert!(seen.caught.len() == 256 && seen.caught.iter().all(|c| c.at == "sent"));
    for node in ["ip4-sv-reassembly-feature", "ip4-lookup", "ip4-rewrite"] {
        assert_eq!(seen.passed[node], 256, "{node}");
    }
}

proptest! {
    #[test]
    fn a_usual_packet_is_rewritten_as_field_by_field(
        mut packet in prop::collection::vec(any::<u8>(), 40..80),
        is_tcp: bool,
        has_sum: bool,
        src: [u8; 4],
        dst: [u8; 4],
        ports: [u16; 2],
    ) {
        let protocol = if is_tcp { Protocol::TCP } else { Protocol::UDP };
        packet[6..8].fill(0);
        (packet[0], packet[8], packet[9], packet[16]) = (VERSION_IHL, 64, protocol.0, 10);
        packet[33] &= tcp::Flags::ACK.0;
        if !has_sum {
            packet[26..28].fill(0);
        }
        let old = flow_of(&packet).unwrap();
        let new = Flow4::new((src, ports[0]), (dst, ports[1]), protocol, 0);
        prop_assume!(src != [0; 4] || dst != [0; 4]);
        let (gone, come) = ([old.src, old.dst], [src, dst]);
        let addresses = (gone.as_flattened(), come.as_flattened());
        let mut expected = packet.clone();
        let sum = [packet[10], packet[11]].into();
        let sum = checksum::update_bytes(sum, addresses.0, addresses.1);
        expected[10..12].copy_from_slice(sum.as_bytes());
        expected[12..20].copy_from_slice(addresses.1);
        set_ports(&mut expected[20..], protocol, addresses, ports, true);
        rewrite(&mut packet, &old, &new).unwrap();
        prop_assert_eq!(packet, expected);
    }
}
