//! The TCP machine: segments of a hostile peer, calls of the application and time, in any order.

use std::time::Duration;

use tcp_machine::{
    Answer, Config, Connection, Effects, Events, Flags, Flow, HalfOpen, Late, Machine, Options,
    Outgoing, Segment, Seq, Settings, Sink, State, Time, TimeWait, Timestamp, cookie_for,
    cookie_of,
};

use crate::Target;

/// Bytes that the sink has room for.
const ROOM: u32 = 5000;
/// Calls of one input at most.
const MOST_CALLS: usize = 500;

/// Each input is a configuration, the way a connection begins, and calls.
pub struct Tcp;

/// The input, byte by byte; zeros behind its end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    fn word(&mut self) -> u32 {
        u32::from_le_bytes([(); 4].map(|()| self.byte()))
    }
    /// A number near one that matters, or any.
    fn near(&mut self, of: [Seq; 4]) -> Seq {
        let choice = self.byte();
        let place = of[usize::from(choice & 3)];
        match choice >> 2 & 7 {
            0..=4 => place,
            5 => place + u32::from(choice >> 5) * 50 - 100,
            6 => place + self.word() % 100_000 - 50_000,
            _ => Seq(self.word()),
        }
    }
}

/// A sink that knows which bytes it has.
#[derive(Default)]
struct Room {
    unread: u32,
    /// Bytes after the next expected one that have arrived.
    kept: Vec<bool>,
    broken: Option<String>,
}

impl Sink for Room {
    fn space(&self) -> u32 {
        ROOM - self.unread
    }
    fn unread(&self) -> u32 {
        self.unread
    }
    fn keep(&mut self, ahead: u32, _: u32, len: u32) -> bool {
        let end = ahead as usize + len as usize;
        if len == 0 || end > (ROOM - self.unread) as usize {
            self.broken = Some(format!("{len} bytes at {ahead} have no room"));
            return false;
        }
        if self.kept.len() < end {
            self.kept.resize(end, false);
        }
        self.kept[ahead as usize..end].fill(true);
        true
    }
    fn deliver(&mut self, len: u32) {
        let len = len as usize;
        if self.kept.len() < len || self.kept.drain(..len).any(|is_there| !is_there) {
            self.broken = Some(format!("{len} bytes are not all there"));
        }
        self.unread += len as u32;
    }
}

enum Slot {
    Half(HalfOpen),
    Open(Box<Connection>),
    Lingers(TimeWait),
    Over,
}

/// A host with one connection.
struct World<'a> {
    bytes: Bytes<'a>,
    machine: Machine,
    now: Time,
    slot: Slot,
    room: Room,
    written: u32,
    is_closed: bool,
    sent: Vec<Outgoing>,
}

fn flow() -> Flow {
    Flow { local_port: 1, remote_port: 2, ..Flow::default() }
}

impl<'a> World<'a> {
    fn new(input: &'a [u8]) -> Self {
        let mut bytes = Bytes(input);
        let bits = bytes.byte();
        let mut config = Config {
            timestamps: bits & 1 == 0,
            sack: bits & 2 == 0,
            dsack: bits & 4 == 0,
            window_scale: bits & 8 == 0,
            max_burst: if bits & 16 == 0 { 65_536 } else { 1 },
            rcv_buffer: if bits & 32 == 0 { 65_536 } else { 1000 },
            ..Config::default()
        };
        config.algorithm = tcp_machine::Algorithm::ALL[usize::from(bits >> 6 & 1)];
        let machine = Machine::new(config, [bits; 16], 1);
        let now = Time::from_us(u64::from(bytes.word()) << 12);
        let (room, slot) = (Room::default(), Slot::Over);
        let is_closed = false;
        Self { bytes, machine, now, slot, room, written: 0, is_closed, sent: Vec::new() }
    }

    fn settings(&mut self) -> Settings {
        let bits = self.bytes.byte();
        Settings {
            is_undelayed: bits & 1 != 0,
            is_corked: bits & 2 != 0,
            keepalive_idle_s: u16::from(bits >> 2 & 3),
            keepalive_interval_s: 1,
            keepalive_probes: 2,
            user_timeout_ms: u32::from(bits >> 4) * 1000,
        }
    }

    /// Numbers that matter to the peer.
    fn places(&self) -> ([Seq; 4], [Seq; 4], u32) {
        match &self.slot {
            Slot::Open(connection) => {
                let d = connection.details();
                let seqs = [d.rcv_nxt, d.rcv_nxt + d.rcv_wnd, d.irs, d.ack_sent];
                (seqs, [d.snd_una, d.snd_nxt, d.iss, d.snd_una + 1], d.ts_recent)
            }
            _ => {
                let last = self.sent.last().map(|out| out.segment).unwrap_or_default();
                ([last.ack; 4], [last.seq + 1; 4], 1)
            }
        }
    }

    fn segment(&mut self) -> Segment {
        let (seqs, acks, recent) = self.places();
        let bits = self.bytes.byte();
        let flags = match bits & 7 {
            0..=3 => Flags::ACK,
            4 => Flags::ACK | Flags::FIN,
            5 => Flags::RST,
            6 => Flags::SYN | Flags::ACK,
            _ => Flags(self.bytes.byte()),
        };
        let (seq, ack) = (self.bytes.near(seqs), self.bytes.near(acks));
        let mut options = Options::default();
        if bits & 8 == 0 {
            let value = recent.wrapping_add(u32::from(self.bytes.byte() & 15)).wrapping_sub(4);
            let echo = self.sent.last().and_then(|out| out.segment.options.timestamp);
            let echo = echo.map_or(0, |timestamp| timestamp.value);
            options.timestamp = Some(Timestamp { value, echo });
        }
        for _ in 0..bits >> 4 & 3 {
            let (start, end) = (self.bytes.near(acks), self.bytes.near(acks));
            options.sack.push(start.0, end.0);
        }
        if flags.contains(Flags::SYN) {
            options.mss = Some(self.bytes.word() as u16);
            options.window_scale = (bits & 64 == 0).then(|| self.bytes.byte());
            options.is_sack_permitted = bits & 128 == 0;
        }
        let len = match self.bytes.byte() {
            len @ 0..=99 => u32::from(len),
            len => u32::from(len) * 20,
        };
        let (window, urgent) = (self.bytes.word() as u16 >> (bits & 15), 3);
        Segment { seq, ack, flags, window, urgent, len, options }
    }

    /// A call of the application, a segment, or time.
    fn step(&mut self) -> Result<(), String> {
        let Self { machine, now, sent, room, .. } = self;
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        let choice = self.bytes.byte();
        let available = self.written;
        let mut effects = Effects::default();
        match choice {
            0..=119 => {
                let segment = self.segment();
                return self.take(&segment);
            }
            120..=149 => {
                let ms = u64::from(choice - 119).pow(3);
                self.now = self.now + Duration::from_millis(ms);
                return self.expire();
            }
            150..=179 if !self.is_closed => {
                self.written += u32::from(choice - 149) * 300;
                effects.events = Events::SEND;
            }
            180..=209 => {
                room.unread -= (u32::from(choice - 179) * 100).min(room.unread);
                if let Slot::Open(connection) = &mut self.slot {
                    effects = connection.consumed(machine, *now, room);
                }
            }
            210..=219 => {
                if let Slot::Open(connection) = &mut self.slot {
                    let more = connection.send(machine, *now, available, 1, out);
                    effects.events = if more { Events::SEND } else { Events::default() };
                }
            }
            220..=229 => {
                let settings = self.settings();
                if let Slot::Open(connection) = &mut self.slot {
                    connection.set(settings);
                    connection.urge(available);
                }
            }
            230..=239 => {
                self.is_closed = true;
                if let Slot::Open(connection) = &mut self.slot {
                    effects = connection.shut_down(machine, *now);
                }
            }
            240..=247 => {
                self.is_closed = true;
                if let Slot::Open(connection) = &mut self.slot {
                    effects = connection.close(machine, *now, room.unread, out);
                }
            }
            248 => {
                if let Slot::Open(connection) = &mut self.slot {
                    effects = connection.abort(machine, *now, out);
                }
            }
            _ => {}
        }
        self.apply(&effects)
    }

    fn take(&mut self, segment: &Segment) -> Result<(), String> {
        let settings = Settings::default();
        let Self { machine, now, sent, room, .. } = self;
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        let effects = match &mut self.slot {
            Slot::Open(connection) => connection.segment(machine, *now, segment, room),
            Slot::Half(half) => match half.segment(machine, *now, segment, settings, room, out) {
                Answer::Open(connection, effects) => {
                    self.slot = Slot::Open(Box::new(connection));
                    effects
                }
                Answer::Gone => {
                    self.slot = Slot::Over;
                    return Ok(());
                }
                Answer::Wait | Answer::Reset => return Ok(()),
            },
            Slot::Lingers(record) => {
                if let Late::Reopen(least) = record.segment(machine, *now, segment) {
                    let half = HalfOpen::new(machine, *now, &flow(), segment, 1460, Some(least));
                    self.slot = half.map_or(Slot::Over, Slot::Half);
                }
                return Ok(());
            }
            Slot::Over => {
                let half = cookie_of(machine, *now, &flow(), segment, 1460);
                if half.is_none() {
                    cookie_for(machine, *now, &flow(), segment, 1460, ROOM);
                }
                return Ok(());
            }
        };
        self.apply(&effects)
    }

    fn expire(&mut self) -> Result<(), String> {
        let Self { machine, now, sent, .. } = self;
        let out = &mut |out: &Outgoing| {
            sent.push(*out);
            true
        };
        match &mut self.slot {
            Slot::Open(connection) => {
                let effects = connection.timer(machine, *now, self.written);
                self.apply(&effects)
            }
            Slot::Half(half) => {
                if !half.timer(machine, *now, ROOM, out) {
                    self.slot = Slot::Over;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, effects: &Effects) -> Result<(), String> {
        if let Some(why) = self.room.broken.take() {
            return Err(why);
        }
        let left = self.written.checked_sub(effects.acked);
        self.written = left.ok_or("more is acknowledged than was written")?;
        let has = |event| effects.events.contains(event);
        let Slot::Open(connection) = &mut self.slot else { return Ok(()) };
        if has(Events::SEND) {
            let (sent, available) = (&mut self.sent, self.written);
            let mut lost = None;
            let out = &mut |out: &Outgoing| {
                if out.segment.len > 0 && out.ahead + out.segment.len > available {
                    lost = Some("bytes are sent that do not exist");
                }
                sent.push(*out);
                true
            };
            connection.send(&mut self.machine, self.now, available, 10_000, out);
            if let Some(why) = lost {
                return Err(why.into());
            }
            connection.check(&self.machine, Some(available))?;
        }
        connection.check(&self.machine, None)?;
        if has(Events::TIME_WAIT) {
            let record = connection.time_wait(&self.machine, self.now);
            connection.release(&mut self.machine);
            self.slot = Slot::Lingers(record);
        } else if has(Events::ENDED) != (connection.state() == State::Closed) {
            return Err("an end that is none".into());
        } else if has(Events::ENDED) {
            self.slot = Slot::Over;
        }
        let is_over = matches!(self.slot, Slot::Over | Slot::Lingers(_));
        if is_over && self.machine.blocks_taken() != (0, 0) {
            return Err("memory is not returned".into());
        }
        self.sent.drain(..self.sent.len().saturating_sub(1));
        Ok(())
    }

    /// Begins as one of both sides.
    fn begin(&mut self) -> Result<(), String> {
        let settings = self.settings();
        let (machine, now) = (&mut self.machine, self.now);
        if self.bytes.byte() & 1 == 0 {
            let connection = Connection::open(machine, now, &flow(), 1460, ROOM, settings);
            self.slot = Slot::Open(Box::new(connection));
            return self.apply(&Effects { events: Events::SEND, ..Effects::default() });
        }
        let mut syn = self.segment();
        syn.flags = Flags::SYN;
        let (machine, sent) = (&mut self.machine, &mut self.sent);
        let half = HalfOpen::new(machine, now, &flow(), &syn, 1460, None);
        let mut half = half.ok_or("a SYN is one")?;
        half.send(machine, now, ROOM, &mut |out: &Outgoing| {
            sent.push(*out);
            true
        });
        self.slot = Slot::Half(half);
        Ok(())
    }
}

impl Target for Tcp {
    const NAME: &'static str = "tcp";

    fn seeds(&self) -> Vec<Vec<u8>> {
        // Handshakes of both sides, data both ways, the end; numbers are those that matter.
        let open = [&[0; 7][..], &[0, 0x26, 0x22, 0x21, 4, 180, 5, 0, 0, 7, 0, 0, 250, 250, 0, 0]];
        let listen = [&[0, 0, 0, 0, 0, 0, 1][..], &[7, 2, 0, 0, 0, 5, 180, 5, 0, 0, 3, 0, 250, 0]];
        let rest: Vec<u8> = (0..200).map(|n: u8| n.wrapping_mul(37) >> (n & 3)).collect();
        [open, listen].map(|begin| [begin.concat(), rest.clone()].concat()).into()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let mut world = World::new(input);
        world.begin()?;
        for _ in 0..MOST_CALLS {
            if world.bytes.0.is_empty() {
                break;
            }
            world.step()?;
        }
        Ok(())
    }
}
