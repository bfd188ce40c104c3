//! Keepalive of a program's TCP sessions.

use lanes::options::TcpOptions;
use tcp_machine::{Flags, Segment, Seq};

use super::*;
use crate::data::tests::refused::{frame, read};

/// A program's listener with the session of a host, and its line.
fn accepted(rig: &mut Rig) -> (Peer, u32) {
    rig.bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    let mut program = rig.attach("program");
    let end = "0.0.0.0:80".parse().unwrap();
    assert!(rig.ask(&program, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
    let pg0 = rig.bench.pg0;
    let syn = Segment { seq: Seq(1000), flags: Flags::SYN, window: 1000, ..Segment::default() };
    let sent = rig.bench.receive(pg0, &[frame(false, &syn, b"")]);
    let answer = sent.iter().chain(&rig.bench.settle()).find_map(|c| read(&c.bytes)).unwrap().0;
    let ack = Segment { seq: Seq(1001), ack: answer.seq + 1, flags: Flags::ACK, ..syn };
    rig.bench.receive(pg0, &[frame(false, &ack, b"")]);
    rig.turns(3);
    let line = program.adopt().unwrap();
    rig.turns(2);
    (program, line)
}

/// Segments sent within some seconds.
fn segments(rig: &mut Rig, seconds: f64) -> usize {
    rig.bench.wait(seconds).iter().filter(|caught| read(&caught.bytes).is_some()).count()
}

#[test]
fn a_host_that_has_vanished_is_noticed_if_the_program_wants_it() {
    let mut rig = rig();
    let (mut program, line) = accepted(&mut rig);
    assert_eq!((segments(&mut rig, 300.0), rig.sessions()), (0, 1), "by default it is kept");
    let options =
        TcpOptions { keepalive_idle_s: 400, keepalive_interval_s: 20, ..TcpOptions::default() };
    program.lane.own.set(line, Word::Options, options.word());
    let generation = program.lane.state(line).generation;
    program.say(line, generation, 0);
    rig.turns(2);
    assert_eq!(segments(&mut rig, 90.0), 0);
    assert_eq!(segments(&mut rig, 10.0), 1, "a probe");
    assert_eq!(segments(&mut rig, 100.0), 5);
    assert_eq!(rig.sessions(), 1);
    segments(&mut rig, 120.0);
    rig.turns(2);
    let said = program.lane.state(line);
    assert!(said.has(state::DEAD) && said.error == 110, "{said:?}");
    assert_eq!(rig.sessions(), 0);
}
