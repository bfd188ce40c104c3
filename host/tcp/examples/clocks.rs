//! Clocks of the machine for each segment: data in order, acknowledgments, sending.

use std::time::Instant;

use infra::cpu;
use tcp_machine::{
    Config, Connection, Flags, Flow, Machine, Options, Outgoing, Segment, Seq, Settings, Sink,
    State, Time, Timestamp,
};

const ROUNDS: u32 = 200_000;
/// Connections that take turns, so that records come from the second cache at best.
const CONNECTIONS: usize = 256;

/// A sink that is always read at once.
struct Room(u32);

impl Sink for Room {
    fn space(&self) -> u32 {
        1 << 20
    }
    fn unread(&self) -> u32 {
        0
    }
    fn keep(&mut self, _: u32, _: u32, _: u32) -> bool {
        true
    }
    fn deliver(&mut self, len: u32) {
        self.0 = self.0.wrapping_add(len);
    }
}

fn open(machine: &mut Machine, port: u16) -> Connection {
    let flow = Flow { local_port: port, remote_port: 80, ..Flow::default() };
    let now = Time::from_us(0);
    let settings = Settings { is_undelayed: true, ..Settings::default() };
    let mut connection = Connection::open(machine, now, &flow, 1460, 1 << 20, settings);
    let mut syn = Segment::default();
    let out = &mut |out: &Outgoing| {
        syn = out.segment;
        true
    };
    connection.send(machine, now, 0, 1, out);
    let value = syn.options.timestamp.unwrap().value;
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        is_sack_permitted: true,
        timestamp: Some(Timestamp { value: 1, echo: value }),
        ..Options::default()
    };
    let flags = Flags::SYN | Flags::ACK;
    let (seq, ack, window) = (Seq(0), syn.seq + 1, 60_000);
    let answer = Segment { seq, ack, flags, window, options, ..Segment::default() };
    let now = Time::from_us(1000);
    connection.segment(machine, now, &answer, &mut Room(0));
    connection.send(machine, now, 0, 1, &mut |_: &Outgoing| true);
    assert_eq!(connection.state(), State::Established);
    connection
}

/// Clocks for each of `count` calls in each round.
fn measure(name: &str, count: u32, mut call: impl FnMut(u32)) {
    let mut best = f64::MAX;
    for turn in 0..5 {
        let begin = cpu::time_stamp().unwrap_or_default();
        for round in 0..ROUNDS {
            call(turn * ROUNDS + round);
        }
        let clocks = cpu::time_stamp().unwrap_or_default() - begin;
        best = best.min(clocks as f64 / f64::from(ROUNDS * count));
    }
    println!("{name:44} {best:7.1} clocks");
}

fn main() {
    let mut machine = Machine::new(Config::default(), [1; 16], CONNECTIONS);
    let begin = Instant::now();
    let all: Vec<_> = (0..CONNECTIONS).map(|n| open(&mut machine, n as u16 + 1)).collect();
    println!("{CONNECTIONS} connections opened in {:?}", begin.elapsed());
    let stamp = |connection: &Connection, now: Time| {
        let echo = connection.details().ts_recent;
        Options { timestamp: Some(Timestamp { value: 1, echo }), ..Options::default() }
            .timestamp
            .map(|timestamp| Timestamp { value: (now.us() / 1000) as u32 + 2, ..timestamp })
    };

    let mut connections = all.clone();
    let mut next = vec![Seq(1); CONNECTIONS];
    let mut room = Room(0);
    let mut acks = 0_u32;
    let out = &mut |_: &Outgoing| {
        acks += 1;
        true
    };
    measure("data in order, every second acknowledged", 1, |round| {
        let at = round as usize % CONNECTIONS;
        let now = Time::from_us(2000 + u64::from(round));
        let connection = &mut connections[at];
        let options = Options { timestamp: stamp(connection, now), ..Options::default() };
        let ack = connection.next_seq();
        let (len, flags, window) = (1448, Flags::ACK, 60_000);
        let segment =
            Segment { seq: next[at], ack, flags, window, len, options, ..Segment::default() };
        next[at] += len;
        connection.segment(&mut machine, now, &segment, &mut room);
        if connection.is_ack_due() {
            connection.send(&mut machine, now, 0, 8, out);
        }
    });

    let mut connections = all.clone();
    let out = &mut |_: &Outgoing| true;
    measure("2 segments sent as one, and acknowledged", 1, |round| {
        let at = round as usize % CONNECTIONS;
        let now = Time::from_us(2000 + u64::from(round));
        let connection = &mut connections[at];
        connection.send(&mut machine, now, 2 * 1448, 8, out);
        let options = Options { timestamp: stamp(connection, now), ..Options::default() };
        let (ack, flags, window) = (connection.next_seq(), Flags::ACK, 60_000);
        let segment = Segment { seq: Seq(1), ack, flags, window, options, ..Segment::default() };
        let effects = connection.segment(&mut machine, now + 50, &segment, &mut room);
        assert_eq!(effects.acked, 2 * 1448);
    });

    let mut connections = all.clone();
    let mut next = vec![Seq(1); CONNECTIONS];
    measure("request of 64 B and answer, both acknowledged", 2, |round| {
        let at = round as usize % CONNECTIONS;
        let now = Time::from_us(2000 + u64::from(round));
        let connection = &mut connections[at];
        let options = Options { timestamp: stamp(connection, now), ..Options::default() };
        let (ack, len, window) = (connection.next_seq(), 64, 60_000);
        let flags = Flags::ACK | Flags::PSH;
        let request =
            Segment { seq: next[at], ack, flags, window, len, options, ..Segment::default() };
        next[at] += len;
        connection.segment(&mut machine, now, &request, &mut room);
        connection.send(&mut machine, now, 64, 8, out);
        let (seq, ack, flags) = (next[at], connection.next_seq(), Flags::ACK);
        let answer = Segment { seq, ack, flags, window, options, ..Segment::default() };
        connection.segment(&mut machine, now, &answer, &mut room);
    });

    let (mut bytes, mut sum) = ([0; tcp_machine::MAX_HEADER], 0);
    let options =
        Options { timestamp: Some(Timestamp { value: 1, echo: 2 }), ..Options::default() };
    let segment = Segment { options, flags: Flags::ACK, ..Segment::default() };
    measure("header written and read", 1, |round| {
        let segment = Segment { seq: Seq(round), ..segment };
        let len = segment.write_header(1, 2, &mut bytes);
        sum += Segment::parse(&bytes[..len]).unwrap().seq.0 as u64;
    });
    println!("({acks} acknowledgments, {} bytes, {sum})", room.0);
    println!("record {} bytes", size_of::<Connection>());
}
