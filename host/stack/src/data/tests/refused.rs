//! Segments that are refused: with the layer off, without a listener, forbidden by a rule.

use net::testing::packets::{ip4, ip6, sum4, sum6};
use net::testing::whole::{HOST, PG0};
use tcp_machine::{Flags, MAX_HEADER, Segment, Seq};
use wire::ethernet::EtherType;

use super::super::apps::{self, Options};
use super::*;

/// A frame with a segment from port 4000 of a host to port 80 of the router.
pub fn frame(is_ip6: bool, segment: &Segment, data: &[u8]) -> Vec<u8> {
    let mut header = [0; MAX_HEADER];
    let len = segment.write_header(4000, 80, &mut header);
    let tcp = [&header[..len], data].concat();
    let (ethertype, mut packet, at) = match is_ip6 {
        true => (EtherType::IP6, ip6("2001:db8::2", "2001:db8::1", Protocol::TCP, &tcp), 56),
        false => (EtherType::IP4, ip4("10.0.0.2", "10.0.0.1", Protocol::TCP, &tcp), 36),
    };
    let sum = if is_ip6 { sum6(&packet) } else { sum4(&packet) };
    packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    [ethernet::Header::new(PG0, HOST, ethertype).as_bytes(), &packet].concat()
}

/// The segment of a frame, whose checksum is right, and its ports.
pub fn read(frame: &[u8]) -> Option<(Segment, [u8; 4])> {
    let packet = frame.get(14..)?;
    let (protocol, tcp, is_valid) = match packet[0] >> 4 {
        4 => (packet[9], &packet[20..], sum4(packet).is_valid()),
        _ => (packet[6], &packet[40..], sum6(packet).is_valid()),
    };
    if protocol != Protocol::TCP.0 {
        return None;
    }
    assert!(is_valid, "checksum");
    Some((Segment::parse(tcp)?, *tcp.first_chunk()?))
}

fn syn() -> Segment {
    Segment { seq: Seq(1000), flags: Flags::SYN, window: 1000, ..Segment::default() }
}

fn know_host(bench: &mut Bench) {
    bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    bench.set("set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01");
}

#[test]
fn with_the_layer_off_tcp_is_dropped_without_an_answer() {
    let mut bench = Bench::plugged_on(1, &[crate::FEATURE]);
    know_host(&mut bench);
    let pg0 = bench.pg0;
    for _ in 0..2 {
        for is_ip6 in [false, true] {
            assert_eq!(bench.receive(pg0, &[frame(is_ip6, &syn(), b"")]).len(), 0);
        }
        bench.set("session enable");
        assert!(read(&bench.receive(pg0, &[frame(false, &syn(), b"")])[0].bytes).is_some());
        bench.set("session disable");
    }
}

#[test]
fn a_segment_without_a_listener_is_answered_with_a_reset_of_its_numbers() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let pg0 = bench.pg0;
    for is_ip6 in [false, true] {
        let sent = bench.receive(pg0, &[frame(is_ip6, &syn(), b"")]);
        let (reset, ports) = read(&sent[0].bytes).unwrap();
        assert_eq!((sent.len(), ports), (1, [0, 80, 15, 160]));
        assert_eq!((reset.seq, reset.ack), (Seq(0), Seq(1001)));
        assert_eq!(reset.flags, Flags::RST | Flags::ACK);
        // Data without a connection: the reset continues what was acknowledged.
        let stray = Segment { ack: Seq(77), flags: Flags::ACK, ..syn() };
        let sent = bench.receive(pg0, &[frame(is_ip6, &stray, &[9; 1000])]);
        let (reset, _) = read(&sent[0].bytes).unwrap();
        assert_eq!(
            (reset.seq, reset.flags, sent[0].bytes.len()),
            (Seq(77), Flags::RST, if is_ip6 { 74 } else { 54 })
        );
        // A reset is not answered.
        let stray = Segment { flags: Flags::RST, ..syn() };
        assert_eq!(bench.receive(pg0, &[frame(is_ip6, &stray, b"")]).len(), 0);
    }
    let errors = bench.run("show errors");
    for (node, text) in [("tcp4-reset", "Resets sent"), ("tcp4-input", "no listener for dst port")]
    {
        let has = |line: &str| line.contains(node) && line.contains(text);
        assert!(errors.lines().any(has), "{node} {text}: {errors}");
    }
}

#[test]
fn headers_that_lie_about_lengths_are_dropped() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let pg0 = bench.pg0;
    let (app, _) = attach(&mut bench, "echo", Options::default(), (b"", true, false));
    let uri = "tcp://0.0.0.0:80".parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    for offset in [0x00, 0x40, 0xf0] {
        let mut bad = frame(false, &syn(), b"");
        bad[46] = offset;
        bad[50..52].fill(0);
        let right = sum4(&bad[14..]).checksum();
        bad[50..52].copy_from_slice(right.as_bytes());
        assert_eq!(bench.receive(pg0, &[bad]).len(), 0, "{offset:x}");
    }
}

#[test]
fn what_a_rule_forbids_is_dropped_without_an_answer() {
    let mut bench = Bench::plugged_on(1, &[crate::FEATURE]);
    know_host(&mut bench);
    bench.set("session enable rt-backend sdl");
    bench.set("session sdl add 10.0.0.2/32 action 0");
    let pg0 = bench.pg0;
    assert_eq!(bench.receive(pg0, &[frame(false, &syn(), b"")]).len(), 0);
    assert!(bench.run("show errors").contains("Packets filtered"));
    bench.set("session sdl del 10.0.0.2/32");
    assert_eq!(bench.receive(pg0, &[frame(false, &syn(), b"")]).len(), 1);
}
