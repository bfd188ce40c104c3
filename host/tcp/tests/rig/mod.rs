//! One connection, and a peer that is written down segment by segment.
#![allow(dead_code, reason = "each test needs a part")]

use std::time::Duration;

use tcp_machine::{
    Config, Connection, Details, Effects, Events, Flags, Flow, Machine, Options, Outgoing, Segment,
    Seq, Settings, Sink, State, Time, Timestamp,
};

pub const ACK: Flags = Flags::ACK;
pub const SYN: Flags = Flags::SYN;
pub const RST: Flags = Flags::RST;
/// The peer's initial sequence number.
pub const PEER: Seq = Seq(u32::MAX - 1000);
pub const MSS: u16 = 1000;

/// A sink that counts.
#[derive(Debug)]
pub struct Room {
    pub capacity: u32,
    pub unread: u32,
    pub delivered: u32,
    /// Ranges kept out of order: start and length.
    pub kept: Vec<(u32, u32)>,
}

impl Sink for Room {
    fn space(&self) -> u32 {
        self.capacity - self.unread
    }
    fn unread(&self) -> u32 {
        self.unread
    }
    fn keep(&mut self, ahead: u32, _: u32, len: u32) -> bool {
        if ahead > 0 {
            self.kept.push((ahead, len));
        }
        true
    }
    fn deliver(&mut self, len: u32) {
        self.unread += len;
        self.delivered += len;
    }
}

pub struct Rig {
    pub machine: Machine,
    pub now: Time,
    pub connection: Connection,
    pub room: Room,
    pub available: u32,
    /// Effects of all calls.
    pub effects: Effects,
    /// Bytes acknowledged by the peer.
    pub acked: u32,
    /// Timestamp of the peer; none if it has none.
    pub stamp: Option<u32>,
    /// Last timestamp that was sent to it.
    pub echo: u32,
    pub window: u16,
}

/// Options of a peer's SYN that has everything but a window scale, and segments of `MSS` bytes.
pub fn all_options() -> Options {
    Options {
        mss: Some(MSS + 12),
        is_sack_permitted: true,
        timestamp: Some(Timestamp { value: 1, echo: 0 }),
        ..Options::default()
    }
}

pub fn plain_options() -> Options {
    Options { mss: Some(MSS), ..Options::default() }
}

impl Rig {
    /// A connection that has sent its SYN.
    pub fn opening(config: Config, settings: Settings) -> (Self, Segment) {
        let mut machine = Machine::new(config, [1; 16], 2);
        let now = Time::from_us(1_000_000_000);
        let flow = Flow { local_port: 1, remote_port: 2, ..Flow::default() };
        let room = Room { capacity: 1 << 20, unread: 0, delivered: 0, kept: Vec::new() };
        let connection = Connection::open(&mut machine, now, &flow, 9000, room.capacity, settings);
        let mut rig = Self {
            machine,
            now,
            connection,
            room,
            available: 0,
            effects: Effects::default(),
            acked: 0,
            stamp: None,
            echo: 0,
            window: 60_000,
        };
        let sent = rig.send();
        (rig, sent[0].segment)
    }

    /// An open connection to a peer with these options.
    pub fn with(options: Options, config: Config, settings: Settings) -> Self {
        let (mut rig, syn) = Self::opening(config, settings);
        rig.stamp = options.timestamp.map(|t| t.value);
        let options = Options {
            timestamp: rig.stamp.map(|value| Timestamp { value, echo: rig.echo }),
            ..options
        };
        let answer = Segment {
            seq: PEER,
            ack: syn.seq + 1,
            flags: SYN | ACK,
            window: rig.window,
            options,
            ..Segment::default()
        };
        rig.pass(10);
        let sent = rig.raw(&answer);
        assert_eq!((sent.len(), rig.state()), (1, State::Established));
        rig
    }

    pub fn open() -> Self {
        Self::with(all_options(), Config::default(), Settings::default())
    }

    /// Without timestamps and SACK.
    pub fn plain() -> Self {
        Self::with(plain_options(), Config::default(), Settings::default())
    }

    /// Without delays of short segments.
    pub fn undelayed() -> Self {
        let settings = Settings { is_undelayed: true, ..Settings::default() };
        Self::with(all_options(), Config::default(), settings)
    }

    pub fn state(&self) -> State {
        self.connection.state()
    }

    pub fn details(&self) -> Details {
        self.connection.details()
    }

    /// A segment of the peer: `at` bytes after its SYN, that acknowledges `acked` bytes.
    pub fn segment(&self, at: u32, acked: u32, len: u32, flags: Flags) -> Segment {
        let timestamp = self.stamp.map(|value| Timestamp { value, echo: self.echo });
        Segment {
            seq: PEER + 1 + at,
            ack: self.details().iss + 1 + acked,
            flags,
            window: self.window,
            len,
            options: Options { timestamp, ..Options::default() },
            ..Segment::default()
        }
    }

    /// An acknowledgment of so many bytes.
    pub fn ack(&mut self, acked: u32) -> Vec<Outgoing> {
        let at = self.room.delivered;
        let segment = self.segment(at, acked, 0, ACK);
        self.raw(&segment)
    }

    /// An acknowledgment with SACK blocks, in bytes after our SYN.
    pub fn sack(&mut self, acked: u32, blocks: &[(u32, u32)]) -> Vec<Outgoing> {
        let mut segment = self.segment(self.room.delivered, acked, 0, ACK);
        let first = self.details().iss + 1;
        for (start, end) in blocks {
            segment.options.sack.push((first + *start).0, (first + *end).0);
        }
        self.raw(&segment)
    }

    /// Data of the peer.
    pub fn data(&mut self, at: u32, len: u32) -> Vec<Outgoing> {
        let segment = self.segment(at, self.acked, len, ACK);
        self.raw(&segment)
    }

    /// Gives a segment to the connection; returns what is sent in answer.
    pub fn raw(&mut self, segment: &Segment) -> Vec<Outgoing> {
        self.stamp = self.stamp.map(|stamp| stamp + 1);
        let effects = self.connection.segment(&mut self.machine, self.now, segment, &mut self.room);
        self.apply(&effects)
    }

    fn apply(&mut self, effects: &Effects) -> Vec<Outgoing> {
        self.available -= effects.acked;
        self.acked += effects.acked;
        self.effects.add(effects);
        if effects.events.contains(Events::SEND) { self.send() } else { Vec::new() }
    }

    pub fn send(&mut self) -> Vec<Outgoing> {
        let mut sent = Vec::new();
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        self.connection.send(&mut self.machine, self.now, self.available, 1000, out);
        if let Some(timestamp) = sent.last().and_then(|out| out.segment.options.timestamp) {
            self.echo = timestamp.value;
        }
        let waits = Some(self.available);
        self.connection.check(&self.machine, waits).unwrap();
        sent
    }

    pub fn write(&mut self, len: u32) -> Vec<Outgoing> {
        self.available += len;
        self.send()
    }

    /// The application reads everything.
    pub fn read(&mut self) -> Vec<Outgoing> {
        self.room.unread = 0;
        let effects = self.connection.consumed(&mut self.machine, self.now, &self.room);
        self.apply(&effects)
    }

    pub fn shut_down(&mut self) -> Vec<Outgoing> {
        let effects = self.connection.shut_down(&mut self.machine, self.now);
        self.apply(&effects)
    }

    pub fn close(&mut self) -> Vec<Outgoing> {
        let mut sent = Vec::new();
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        let unread = self.room.unread;
        let effects = self.connection.close(&mut self.machine, self.now, unread, out);
        sent.extend(self.apply(&effects));
        sent
    }

    pub fn abort(&mut self) -> Vec<Outgoing> {
        let mut sent = Vec::new();
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        let effects = self.connection.abort(&mut self.machine, self.now, out);
        self.apply(&effects);
        sent
    }

    /// Lets time pass; returns what is sent, with its time in milliseconds after the begin.
    pub fn pass(&mut self, ms: u64) -> Vec<(u64, Outgoing)> {
        let begin = self.now;
        let until = begin + Duration::from_millis(ms);
        let mut sent = Vec::new();
        while self.connection.deadline() <= until {
            self.now = self.now.max(self.connection.deadline());
            let effects = self.connection.timer(&mut self.machine, self.now, self.available);
            let at = (self.now - begin).as_millis() as u64;
            sent.extend(self.apply(&effects).into_iter().map(|out| (at, out)));
        }
        self.now = until;
        sent
    }
}

/// Positions and lengths of what was sent.
pub fn ranges(sent: &[Outgoing]) -> Vec<(u32, u32)> {
    sent.iter().map(|out| (out.ahead, out.segment.len)).collect()
}
