//! Tests of ICMP errors about connections.

use net::testing::packets::{ip4, ip6, sum4, sum6};
use net::testing::whole::{HOST, PG0};
use tcp_machine::{Flags, Options as TcpOptions, Segment, Seq};
use wire::checksum::Sum;
use wire::ethernet::EtherType;

use super::super::apps::Options;
use super::super::connecting::{self, Connect};
use super::refused::read;
use super::*;

/// A frame with an ICMP error that quotes the packet of a sent frame.
fn error(kind: u8, code: u8, value: u32, about: &[u8]) -> Vec<u8> {
    let is_ip6 = about[14] >> 4 == 6;
    let quoted = &about[14..14 + if is_ip6 { 48 } else { 28 }];
    let message = [&[kind, code, 0, 0][..], &value.to_be_bytes(), quoted].concat();
    let (ethertype, mut packet, at) = match is_ip6 {
        true => (EtherType::IP6, ip6("2001:db8::9", "2001:db8::1", Protocol::ICMP6, &message), 40),
        false => (EtherType::IP4, ip4("10.0.0.9", "10.0.0.1", Protocol::ICMP, &message), 20),
    };
    let sum = if is_ip6 { sum6(&packet) } else { Sum::ZERO.add_bytes(&packet[20..]) };
    packet[at + 2..at + 4].copy_from_slice(sum.checksum().as_bytes());
    [ethernet::Header::new(PG0, HOST, ethertype).as_bytes(), &packet].concat()
}

/// A frame from the remote host.
fn from_host(is_ip6: bool, to: u16, segment: &Segment) -> Vec<u8> {
    let mut header = [0; tcp_machine::MAX_HEADER];
    let len = segment.write_header(80, to, &mut header);
    let (ethertype, mut packet, at) = match is_ip6 {
        true => {
            let packet = ip6("2001:db8::2", "2001:db8::1", Protocol::TCP, &header[..len]);
            (EtherType::IP6, packet, 56)
        }
        false => (EtherType::IP4, ip4("10.0.0.2", "10.0.0.1", Protocol::TCP, &header[..len]), 36),
    };
    let sum = if is_ip6 { sum6(&packet) } else { sum4(&packet) };
    packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    [ethernet::Header::new(PG0, HOST, ethertype).as_bytes(), &packet].concat()
}

/// A connection of an application, with the data that it sends and the events that it sees.
struct Talk {
    bench: Bench,
    log: Log,
    syn: Segment,
    frame: Vec<u8>,
    port: u16,
    is_ip6: bool,
}

/// Starts a connection of an application.
fn begun(threads: usize, is_ip6: bool, says: &[u8]) -> Talk {
    let mut bench = bench(threads);
    bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    bench.set("set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01");
    let (app, log) = attach(&mut bench, "client", Options::default(), (says, false, false));
    let to = if is_ip6 { "tcp://[2001:db8::2]:80" } else { "tcp://10.0.0.2:80" };
    let connect = Connect { to: to.parse().unwrap(), opaque: 7, thread: Some(threads - 1) };
    bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
    let sent = bench.settle();
    let (frame, (syn, ports)) =
        sent.iter().find_map(|c| Some((c.bytes.clone(), read(&c.bytes)?))).expect("a SYN leaves");
    let port = u16::from_be_bytes([ports[0], ports[1]]);
    Talk { bench, log, syn, frame, port, is_ip6 }
}

impl Talk {
    fn receive(&mut self, frame: &[u8]) -> Vec<(Segment, usize, Vec<u8>)> {
        let pg0 = self.bench.pg0;
        let mut sent = self.bench.receive(pg0, &[frame.to_vec()]);
        sent.extend(self.bench.settle());
        let segments = sent.into_iter().filter_map(|c| {
            let (segment, _) = read(&c.bytes)?;
            Some((segment, c.bytes.len() - 14, c.bytes))
        });
        segments.collect()
    }
    /// Accepts the connection at the remote host; the application's data is sent.
    fn accept(&mut self) -> Vec<(Segment, usize, Vec<u8>)> {
        let answer = Segment {
            seq: Seq(500),
            ack: self.syn.seq + 1,
            flags: Flags::SYN | Flags::ACK,
            window: 60_000,
            options: TcpOptions { mss: Some(1440), ..TcpOptions::default() },
            ..Segment::default()
        };
        let frame = from_host(self.is_ip6, self.port, &answer);
        self.receive(&frame)
    }
}

#[test]
fn what_does_not_fit_leaves_again_in_shorter_segments() {
    // On the connection's own thread, and on another one.
    for threads in [1, 2] {
        for (is_ip6, (kind, code), mtu) in [(false, (3, 4), 800), (true, (2, 0), 1300)] {
            let mut talk = begun(threads, is_ip6, &[7; 4000]);
            let sent = talk.accept();
            let data: Vec<_> = sent.iter().filter(|(s, ..)| s.len > 0).collect();
            assert!(data.iter().any(|(_, len, _)| *len > mtu), "{data:?}");
            let first = data[0].2.clone();
            // About a segment that is not in flight, such as a guess.
            let mut guess = first.clone();
            let at = if is_ip6 { 58 } else { 38 };
            guess[at] ^= 0x80;
            let guess = error(kind, code, mtu as u32, &guess);
            assert_eq!(talk.receive(&guess), [], "threads {threads}");
            let again = talk.receive(&error(kind, code, mtu as u32, &first));
            assert!(!again.is_empty() && again.iter().all(|(_, len, _)| *len <= mtu), "{again:?}");
            assert_eq!(again[0].0.seq, talk.syn.seq + 1);
            assert!(again.iter().map(|(s, ..)| s.len).sum::<u32>() >= 2 * mtu as u32);
            let errors = talk.bench.run("show errors");
            let node = super::super::tcp::icmp::NAMES[usize::from(is_ip6)];
            assert!(errors.lines().any(|line| line.contains(node)), "{errors}");
        }
    }
}

#[test]
fn hard_errors_end_an_attempt_and_soft_ones_do_not() {
    for (is_ip6, soft, hard) in [(false, (3, 1), (3, 3)), (true, (1, 3), (1, 4))] {
        let mut talk = begun(1, is_ip6, b"hello");
        let frame = talk.frame.clone();
        talk.receive(&error(soft.0, soft.1, 0, &frame));
        assert_eq!(seen(&talk.log), []);
        talk.receive(&error(hard.0, hard.1, 0, &frame));
        assert_eq!(seen(&talk.log), [Seen::Refused(7, Failure::Unreachable)]);
        // An open connection outlives both.
        let mut talk = begun(1, is_ip6, b"hello");
        let sent = talk.accept();
        assert_eq!(seen(&talk.log), [Seen::Connected(7)]);
        talk.receive(&error(hard.0, hard.1, 0, &sent[0].2));
        assert_eq!(seen(&talk.log), []);
    }
}

#[test]
fn errors_about_others_go_on_to_those_who_take_punted_packets() {
    let mut talk = begun(1, false, b"hello");
    talk.bench.set("ip punt redirect rx all via 10.0.0.2 pg0");
    let mut other = talk.frame.clone();
    other[34] ^= 1; // another port of ours
    let pg0 = talk.bench.pg0;
    let sent = talk.bench.receive(pg0, &[error(3, 3, 0, &other)]);
    assert_eq!(sent.iter().filter(|c| c.bytes[23] == 1).count(), 1, "it is redirected");
    let frame = talk.frame.clone();
    let sent = talk.bench.receive(pg0, &[error(3, 1, 0, &frame)]);
    assert_eq!(sent.iter().filter(|c| c.bytes[23] == 1).count(), 0, "it was the session's");
}
