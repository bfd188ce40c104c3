//! Segments that arrive on another thread than that of their session, and threads that change.

use net::testing::whole::{HOST, PG0};
use tcp_machine::{Flags, Segment, Seq};
use wire::ethernet::EtherType;

use super::super::apps::Options;
use super::super::connecting::{self, Connect};
use super::refused::read;
use super::*;
use net::testing::packets::{ip4, sum4};

/// A frame with a segment from port 80 of a host.
fn from_host(to: u16, segment: &Segment, data: &[u8]) -> Vec<u8> {
    let mut header = [0; tcp_machine::MAX_HEADER];
    let len = segment.write_header(80, to, &mut header);
    let mut packet = ip4("10.0.0.2", "10.0.0.1", Protocol::TCP, &[&header[..len], data].concat());
    let sum = sum4(&packet).checksum();
    packet[36..38].copy_from_slice(sum.as_bytes());
    [ethernet::Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &packet].concat()
}

fn ports(ports: [u8; 4]) -> u16 {
    u16::from_be_bytes([ports[0], ports[1]])
}

#[test]
fn an_answer_on_another_thread_is_handed_to_the_session_also_when_threads_change() {
    let mut bench = bench(3);
    bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    let (app, log) = attach(&mut bench, "client", Options::default(), (b"hello", false, false));
    for thread in 0..3 {
        let to = "tcp://10.0.0.2:80".parse().unwrap();
        let connect = Connect { to, opaque: 7, thread: Some(thread) };
        bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
        let sent = bench.settle();
        // An acknowledgment of the last session may be due at the same time.
        let all = sent.iter().filter_map(|c| read(&c.bytes));
        let (syn, its) = all.into_iter().find(|(s, _)| s.flags == Flags::SYN).unwrap();
        let answer = Segment {
            seq: Seq(500),
            ack: syn.seq + 1,
            flags: Flags::SYN | Flags::ACK,
            window: 1000,
            ..Segment::default()
        };
        let pg0 = bench.pg0;
        let sent = bench.receive_at((thread + 1) % 3, pg0, &[from_host(ports(its), &answer, b"")]);
        assert_eq!(seen(&log), [Seen::Connected(7)], "thread {thread}");
        let said: Vec<_> = sent.iter().filter_map(|c| read(&c.bytes)).collect();
        assert!(said.iter().any(|(s, _)| s.len == 5 && s.ack == Seq(501)), "{said:?}");
        // The thread that has it ends, while bytes are in flight and some have come out of order,
        // and others have its number.
        let data = Segment { flags: Flags::ACK, seq: Seq(501), ack: syn.seq + 3, ..answer };
        let late = Segment { seq: Seq(503), ..data };
        bench.receive_at((thread + 1) % 3, pg0, &[from_host(ports(its), &late, b"re")]);
        bench.set_threads(0..1);
        let data = Segment { ack: syn.seq + 6, ..data };
        bench.receive(pg0, &[from_host(ports(its), &data, b"mo")]);
        assert_eq!(seen(&log), [Seen::Bytes(b"more".to_vec())], "thread {thread}");
        bench.set_threads(0..3);
        let data = Segment { seq: Seq(505), ..data };
        bench.receive_at(2, pg0, &[from_host(ports(its), &data, b"again")]);
        assert_eq!(seen(&log), [Seen::Bytes(b"again".to_vec())], "thread {thread}");
    }
}
