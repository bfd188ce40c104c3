//! Attacks of attached programs, and of processes that may connect; sessions that end in unusual
//! ways.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanes::region::{LINES, WINDOW};
use rustix::net::sockopt;
use tcp_machine::{Flags, Segment, Seq};

use super::*;
use crate::data::tests::refused::{frame, read};

/// A host that has a connection to port 80.
struct Host {
    seq: Seq,
    ack: Seq,
}

impl Host {
    /// Connects.
    fn new(rig: &mut Rig) -> Self {
        rig.bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
        let syn =
            Segment { seq: Seq(999), flags: Flags::SYN, window: 60_000, ..Segment::default() };
        let (pg0, syn) = (rig.bench.pg0, frame(false, &syn, b""));
        let sent = rig.bench.receive(pg0, &[syn]);
        let answer = sent.iter().find_map(|c| read(&c.bytes)).unwrap().0;
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
        let mut host = Self { seq: Seq(1000), ack: answer.seq + 1 };
        host.say(rig, Flags::ACK, b"");
        host
    }
    /// Sends a segment, and acknowledges what comes.
    fn say(&mut self, rig: &mut Rig, flags: Flags, data: &[u8]) {
        let (seq, ack) = (self.seq, self.ack);
        let segment = Segment { seq, ack, flags, window: 60_000, ..Segment::default() };
        let (pg0, bytes) = (rig.bench.pg0, frame(false, &segment, data));
        self.seq = seq + data.len() as u32 + u32::from(flags.contains(Flags::FIN));
        let sent = rig.bench.receive(pg0, &[bytes]);
        self.note(&sent);
    }
    fn note(&mut self, sent: &[graph::testing::Caught]) {
        for (segment, _) in sent.iter().filter_map(|c| read(&c.bytes)) {
            let len = segment.len + u32::from(segment.flags.contains(Flags::FIN));
            self.ack = self.ack.max(segment.seq + len);
        }
    }
}

/// A program that listens to port 80, with a small FIFO, a host's connection, and its line.
fn served(rig: &mut Rig) -> (Peer, Host, u32) {
    let sizes = [4096; 2];
    let flags = talk::LOCAL | talk::GLOBAL;
    let name = "server".to_owned();
    let mut peer = rig.hello(&Message { flags, sizes, name, ..Message::new(talk::HELLO) }).unwrap();
    let end = "0.0.0.0:80".parse().unwrap();
    assert!(rig.ask(&peer, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
    let host = Host::new(rig);
    rig.turns(3);
    let line = peer.adopt().unwrap();
    rig.turns(2);
    (peer, host, line)
}

fn queued(rig: &mut Rig) -> usize {
    let look = |router: &mut net::Router| crate::data::queued(router);
    rig.bench.control(|router, _| look(router))
}

#[test]
fn the_programs_bell_is_not_for_writing_so_nothing_fills_it() {
    let mut rig = rig();
    let peer = rig.attach("bell");
    let flags = rustix::fs::fcntl_getfl(&peer._own).unwrap();
    rustix::fs::fcntl_setfl(&peer._own, flags - rustix::fs::OFlags::NONBLOCK).unwrap();
    assert!(rustix::io::write(&peer._own, &u64::MAX.wrapping_sub(1).to_ne_bytes()).is_err());
}

/// A socket that takes long to close.
fn slow() -> OwnedFd {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::mem::forget(listener.accept().unwrap());
    socket.set_nonblocking(true).unwrap();
    while socket.write(&[0; 65_536]).is_ok() {}
    sockopt::set_socket_linger(&socket, Some(Duration::from_secs(60))).unwrap();
    socket.into()
}

#[test]
fn descriptors_that_take_long_to_close_keep_nobody_waiting() {
    let mut rig = rig();
    for is_heard in [true, false] {
        let (socket, file) = (rig.dial(), slow());
        // What is not heard is still in the queue when the socket is closed.
        if !is_heard {
            talk::send_bytes(&socket, &[0; talk::MESSAGE], &[]).unwrap();
        }
        talk::send_bytes(&socket, &[0; talk::MESSAGE], &[file.as_fd()]).unwrap();
        drop(file);
        let start = Instant::now();
        rig.turns(2);
        let mut set = [PollFd::new(&socket, PollFlags::IN)];
        assert_eq!(poll(&mut set, Some(&Timespec::default())), Ok(1), "closed");
        drop(socket);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
    assert!(rig.attach("another").is_open());
}

#[test]
fn a_program_that_writes_as_fast_as_it_is_read_has_its_share_of_a_turn() {
    let mut rig = rig();
    let mut peer = rig.attach("racer");
    let end = "0.0.0.0:7777".parse().unwrap();
    let request = Message { transport: 1, end, number: 9, ..Message::new(talk::LISTEN) };
    assert!(rig.ask(&peer, &request) >= 0);
    let line = peer.adopt().unwrap();
    let generation = peer.lane.state(line).generation;
    rig.turns(2);
    // Heads of zeros: empty datagrams without a destination, which take no room.
    let mut out = Out::new(WINDOW);
    while out.write(&mut peer.lane, line, &[0; talk::DATAGRAM * 100]).unwrap() > 0 {}
    out.publish(&peer.lane, line);
    let is_on = Arc::new(());
    let seen = Arc::clone(&is_on);
    let writer = std::thread::spawn(move || {
        let start = Instant::now();
        while Arc::strong_count(&seen) > 1 && start.elapsed() < Duration::from_secs(60) {
            let taken = peer.lane.other.get(line, Word::Taken);
            let whole = WINDOW as u64 / talk::DATAGRAM as u64 * talk::DATAGRAM as u64;
            peer.lane.own.set(line, Word::Written, taken + whole);
        }
        peer
    });
    let start = Instant::now();
    rig.bench.control(|router, _| router.run_due());
    rig.bench.settle();
    let took = start.elapsed();
    drop(is_on);
    let mut peer = writer.join().unwrap();
    assert!(took < Duration::from_secs(30), "{took:?}");
    peer.say(line, generation, 0);
    rig.turns(1);
}

#[test]
fn a_session_that_has_ended_in_order_is_its_programs_until_it_closes() {
    let mut rig = rig();
    let (mut peer, mut host, line) = served(&mut rig);
    // 16 KB are in the lane, and 4 KB behind it.
    for part in 0..20u8 {
        host.say(&mut rig, Flags::ACK, &[part; 1024]);
    }
    host.say(&mut rig, Flags::FIN | Flags::ACK, b"");
    let generation = peer.lane.state(line).generation;
    peer.say(line, generation, state::SHUT);
    let sent = rig.bench.settle();
    host.note(&sent);
    rig.turns(2);
    host.say(&mut rig, Flags::ACK, b"");
    rig.turns(3);
    let said = peer.lane.state(line);
    assert!(!said.has(state::FINISHED | state::DEAD), "{said:?}");
    let (mut read, mut got) = (In::default(), Vec::new());
    for _ in 0..4 {
        let n = read.available(&peer.lane, line).unwrap();
        let mut bytes = vec![0; n];
        read.copy(&peer.lane, line, 0, &mut bytes).unwrap();
        read.consume(&peer.lane, line, n);
        got.extend(bytes);
        peer.say(line, generation, state::SHUT);
        rig.turns(2);
    }
    assert_eq!((got.len(), got.last()), (20 * 1024, Some(&19)));
    assert!(peer.lane.state(line).has(state::FINISHED));
    assert_eq!((rig.sessions(), queued(&mut rig)), (1, 0));
    peer.say(line, generation, state::SHUT | state::CLOSE);
    rig.turns(3);
    assert_eq!(rig.sessions(), 0);
    assert!(peer.lane.state(line).has(state::DEAD), "the line is free");
}

#[test]
fn a_connection_in_time_wait_waits_for_its_program_without_work_and_for_its_listener() {
    let mut rig = rig();
    let (mut peer, mut host, line) = served(&mut rig);
    let generation = peer.lane.state(line).generation;
    peer.say(line, generation, state::SHUT);
    let sent = rig.bench.settle();
    host.note(&sent);
    host.say(&mut rig, Flags::FIN | Flags::ACK, b"");
    rig.turns(3);
    assert_eq!((rig.sessions(), queued(&mut rig)), (1, 0));
    assert!(rig.bench.run("show session verbose").contains("TIME_WAIT"));
    peer.say(line, generation, state::SHUT | state::CLOSE);
    rig.turns(3);
    assert!(peer.lane.state(line).has(state::DEAD), "the line is free");
    assert!(rig.bench.run("show session verbose").contains("TIME_WAIT"));
    // Without a listener, a new SYN changes nothing.
    drop(peer);
    rig.turns(3);
    let again = Segment { seq: host.seq + 100_000, flags: Flags::SYN, ..Segment::default() };
    let (pg0, again) = (rig.bench.pg0, frame(false, &again, b""));
    rig.bench.receive(pg0, std::slice::from_ref(&again));
    assert_eq!(rig.sessions(), 1);
    let peer = rig.attach("another");
    let end = "0.0.0.0:80".parse().unwrap();
    assert!(rig.ask(&peer, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
    let sent = rig.bench.receive(pg0, &[again]);
    let answer = sent.iter().find_map(|c| read(&c.bytes)).unwrap().0;
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
}

#[test]
fn datagrams_stay_in_their_line_when_its_namespace_moves() {
    let mut rig = rig();
    rig.bench.set("ip table add 7");
    rig.bench.set("app ns add id web secret 1234 ip4-fib-id 0");
    let web = Message { namespace: "web".to_owned(), number: 1234, ..Message::new(talk::HELLO) };
    let mut peer = rig.hello(&Message { flags: talk::LOCAL | talk::GLOBAL, ..web }).unwrap();
    let end = "127.0.0.1:80".parse().unwrap();
    assert!(rig.ask(&peer, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
    let connect = Message { end, number: 77, ..Message::new(talk::CONNECT) };
    assert_eq!(rig.ask(&peer, &connect), 0);
    rig.turns(3);
    let lines = [peer.adopt().unwrap(), peer.adopt().unwrap()];
    let udp = "0.0.0.0:9".parse().unwrap();
    let request = Message { transport: 1, end: udp, number: 9, ..Message::new(talk::LISTEN) };
    assert!(rig.ask(&peer, &request) >= 0);
    let line = std::iter::from_fn(|| peer.adopt()).find(|line| !lines.contains(line)).unwrap();
    rig.turns(2);
    for table in [7, 0] {
        rig.bench.set(&format!("app ns add id web secret 1234 ip4-fib-id {table}"));
    }
    let (pg0, strange) =
        (rig.bench.pg0, crate::data::tests::datagram("10.0.0.2:1000", "10.0.0.1:9", b"strange"));
    rig.bench.receive(pg0, &[strange]);
    rig.turns(3);
    let written = |line| peer.lane.other.get(line, Word::Written);
    assert_eq!(lines.map(written), [0, 0], "no stream has it");
    assert_eq!(written(line), talk::DATAGRAM as u64 + 7);
}

#[test]
fn both_ends_of_a_session_learn_that_it_is_withdrawn() {
    let mut rig = rig();
    let (mut server, mut client, there, here) = rig.pair();
    rig.bench.control(|router, _| crate::data::withdraw_all(router));
    rig.turns(3);
    for (peer, line) in [(&mut server, there), (&mut client, here)] {
        let said = peer.lane.state(line);
        assert!(said.has(state::DEAD) && said.error > 0, "{said:?}");
    }
    assert_eq!(rig.sessions(), 0);
}

#[test]
fn after_a_wrong_secret_nothing_is_heard_and_four_are_the_most_of_a_user() {
    let mut rig = rig();
    rig.bench.set("app ns add id red secret 1234 ip4-fib-id 0");
    let namespace = "red".to_owned();
    let name = "x\nforged".to_owned();
    let right = Message { namespace, name, number: 1234, ..Message::new(talk::HELLO) };
    let wrong = Message { number: 1235, ..right.clone() };
    let mut all = Vec::new();
    for _ in 0..4 {
        let socket = rig.dial();
        talk::send(&socket, &wrong, &[]).unwrap();
        talk::send(&socket, &right, &[]).unwrap();
        rig.turns(2);
        assert!(receive(&socket).is_none());
        all.push(socket);
    }
    assert_eq!((rig.attached(), rig.hello(&right).err()), (0, Some(0)), "not even the right one");
    rig.attach("in a namespace without a secret");
    rig.bench.wait(1.5);
    rig.turns(2);
    assert!(rig.hello(&right).is_ok());
}

#[test]
fn threads_that_come_and_go_leave_no_lanes_behind_and_take_datagrams() {
    let mut rig = rig_on(2);
    let flags = talk::LOCAL | talk::GLOBAL;
    let socket = rig.dial();
    talk::send(&socket, &Message { flags, ..Message::new(talk::HELLO) }, &[]).unwrap();
    let udp = "0.0.0.0:9".parse().unwrap();
    let listen = Message { transport: 1, end: udp, number: 9, ..Message::new(talk::LISTEN) };
    rig.turns(3);
    talk::send(&socket, &listen, &[]).unwrap();
    rig.turns(4);
    let mut lanes = Vec::new();
    let hear_lanes = |lanes: &mut Vec<Lane>| {
        while let Some((message, files)) = hear(&socket) {
            if message.kind == talk::LANE {
                lanes.push(Lane::open(&files[0], &files[1]).unwrap());
            }
        }
    };
    hear_lanes(&mut lanes);
    assert_eq!(lanes.len(), 2);
    for round in 0..4u64 {
        rig.bench.set_threads(0..1);
        rig.turns(2);
        rig.bench.set_threads(0..2);
        rig.turns(3);
        hear_lanes(&mut lanes);
        assert_eq!(lanes.len(), 2, "round {round}");
        let pg0 = rig.bench.pg0;
        let datagram = crate::data::tests::datagram("10.0.0.2:1000", "10.0.0.1:9", b"x");
        for lane in &mut lanes {
            while let Some(line) = lane.take().unwrap() {
                let generation = lane.state(line).generation;
                lane.set_state(line, State { generation, error: 0, bits: 0 });
                lane.post(line).unwrap();
            }
        }
        for thread in 0..2 {
            rig.bench.receive_at(thread, pg0, std::slice::from_ref(&datagram));
        }
        rig.turns(3);
        let written: u64 = lanes
            .iter()
            .flat_map(|lane| (0..LINES).map(|line| lane.other.get(line, Word::Written)))
            .sum();
        assert_eq!(written, 2 * (round + 1) * (talk::DATAGRAM as u64 + 1), "round {round}");
    }
}

#[test]
fn a_session_whose_whole_thread_has_another_number_goes_on() {
    let mut rig = rig_on(2);
    rig.bench.set_threads(0..1);
    let (server, mut client, there, here) = rig.pair();
    rig.bench.set_threads(1..2);
    rig.turns(3);
    let generation = client.lane.state(here).generation;
    let mut out = Out::new(50_000);
    out.write(&mut client.lane, here, b"answer").unwrap();
    out.publish(&client.lane, here);
    client.say(here, generation, 0);
    rig.turns(4);
    assert_eq!(In::default().available(&server.lane, there), Ok(6));
    client.say(here, generation, state::RESET);
    rig.turns(4);
    assert!(server.lane.state(there).has(state::DEAD), "the other end is told");
}

#[test]
fn a_turn_of_requests_ends_and_each_program_has_one() {
    let mut rig = rig();
    let peers = ["one", "two", "three", "four"].map(|name| rig.attach(name));
    // Each listener is a copy of all others, so all that are asked for take longer than a turn.
    let app = peers[0].app;
    rig.bench.control(|router, _| {
        for port in 1000..3000 {
            let uri = format!("tcp://0.0.0.0:{port}").parse().unwrap();
            crate::data::apps::listen(router, app, uri, true).unwrap();
        }
    });
    let ask = 60;
    for (peer, first) in peers.iter().zip([3000, 4000, 5000, 6000]) {
        for port in first..first + ask {
            let end = format!("0.0.0.0:{port}").parse().unwrap();
            talk::send(&peer.socket, &Message { end, ..Message::new(talk::LISTEN) }, &[]).unwrap();
        }
    }
    let mut heard = [0; 4];
    let hear_all = |heard: &mut [u16; 4]| {
        for (heard, peer) in heard.iter_mut().zip(&peers) {
            *heard += std::iter::from_fn(|| hear(&peer.socket)).count() as u16;
        }
    };
    rig.turns(1);
    hear_all(&mut heard);
    assert!((1..4 * ask).contains(&heard.iter().sum()), "{heard:?} in the first turn");
    for _ in 0..3 {
        rig.turns(1);
        hear_all(&mut heard);
    }
    assert!(heard.iter().all(|heard| *heard > 0), "{heard:?} after four turns");
    for _ in 0..4 * ask {
        rig.turns(1);
        hear_all(&mut heard);
    }
    assert_eq!(heard, [ask; 4], "all are answered");
}
