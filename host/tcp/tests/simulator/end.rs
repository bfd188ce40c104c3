//! An end: a host with one port, and its application.

use std::fmt;
use std::sync::LazyLock;

use tcp_machine::{
    Answer, Config, Connection, Details, Effects, Emit, Error, Events, Flow, HalfOpen, Late,
    Machine, Outgoing, Settings, Sink, State, Time, TimeWait, cookie_for, cookie_of, reset_for,
};

use super::{Packet, Random, Source, Stream};

/// Whether segments are printed: with the variable TRACE, to look at one seed.
static TRACE: LazyLock<bool> = LazyLock::new(|| std::env::var_os("TRACE").is_some());

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Open,
    Listen,
    Cookies,
}

/// Behavior of the application.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    goal: u64,
    chunk: u64,
    read: u64,
    pause_us: u64,
    capacity: u32,
    /// It ends the connection in the middle, by closing or aborting.
    quits_after: Option<u64>,
    is_short: bool,
    settings: Settings,
}

impl Plan {
    pub fn new(random: &mut Random, is_rude: bool) -> Self {
        let (is_undelayed, is_corked) = (random.permille(300), random.permille(100));
        let mut settings = Settings { is_undelayed, is_corked, ..Settings::default() };
        if random.permille(100) {
            settings = settings.with_keepalive();
            settings.keepalive_idle_s = 1 + random.below(20) as u16;
            settings.keepalive_interval_s = 1 + random.below(5) as u16;
        }
        let most = random.one_of(&[0, 1, 100, 10_000, 300_000, 3_000_000]);
        let pause_us = random.one_of(&[0, 1, 50, 1000, 30_000, 100_000]);
        // Slow, but not for days.
        let least = (most / 2000).max(most * pause_us / 100_000_000);
        Self {
            goal: random.below(most + 1),
            chunk: random.one_of(&[1, 10, 1000, 20_000, 1 << 20]).max(least),
            read: random.one_of(&[1, 100, 5000, 1 << 20]).max(least),
            pause_us,
            capacity: random.one_of(&[2000, 8000, 64 << 10, 4 << 20]),
            quits_after: is_rude.then(|| random.below(most * 2 + 10)),
            is_short: random.permille(50),
            settings,
        }
    }
}

impl Plan {
    /// So many bytes as fast as they go, to a reader that is as fast.
    pub fn bulk(goal: u64) -> Self {
        Self {
            goal,
            chunk: 1 << 20,
            read: 1 << 20,
            pause_us: 0,
            capacity: 4 << 20,
            quits_after: None,
            is_short: false,
            settings: Settings::default(),
        }
    }
}

enum Slot {
    Over,
    Listening { has_cookies: bool },
    Half(HalfOpen),
    Open(Box<Connection>),
    TimeWait(TimeWait),
}

pub struct End {
    pub machine: Machine,
    pub source: Source,
    pub sink: Stream,
    pub sent: Vec<Packet>,
    pub error: Option<Error>,
    pub generation: u32,
    pub reopened: u64,
    slot: Slot,
    flow: Flow,
    plan: Plan,
    mss: u16,
    app_at: Time,
    send_at: Time,
    is_shut: bool,
    is_closed: bool,
    has_finished: bool,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = match &self.slot {
            Slot::Over => "over".into(),
            Slot::Listening { .. } => "listening".into(),
            Slot::Half(half) => format!("{half:?}"),
            Slot::Open(connection) => format!("{connection:?}"),
            Slot::TimeWait(_) => "time wait".into(),
        };
        write!(f, "{slot} {:?} {:?} {:?}", self.source, self.sink, self.error)
    }
}

/// Segments on their way out, cut as a driver would.
struct Out<'a> {
    sent: &'a mut Vec<Packet>,
    source: &'a Source,
    generation: u32,
    random: &'a mut Random,
}

impl Emit for Out<'_> {
    fn emit(&mut self, out: &Outgoing) -> bool {
        if self.random.permille(3) {
            return false; // no buffer
        }
        let (mut done, len, mss) = (0, out.segment.len, u32::from(out.mss).max(1));
        assert!(out.ahead + len <= self.source.available() || len == 0, "nothing is there");
        let last = tcp_machine::Flags::FIN.0 | tcp_machine::Flags::PSH.0;
        loop {
            let mut segment = out.segment;
            segment.len = (len - done).min(mss);
            segment.seq += done;
            let position = self.source.position(out.ahead) + u64::from(done);
            done += segment.len;
            if done < len {
                segment.flags.0 &= !last;
            }
            self.sent.push(Packet { segment, position, generation: self.generation });
            if done == len {
                return true;
            }
        }
    }
}

impl End {
    pub fn new(config: Config, flow: Flow, random: &mut Random) -> Self {
        let plan = Plan::new(random, false);
        Self {
            machine: Machine::new(config, [flow.local[0]; 16], 4),
            source: Source::default(),
            sink: Stream::default(),
            sent: Vec::new(),
            error: None,
            generation: 0,
            reopened: 0,
            slot: Slot::Over,
            flow,
            plan,
            mss: random.one_of(&[1460, 1460, 1440, 536, 100, 8960]),
            app_at: Time::NEVER,
            send_at: Time::NEVER,
            is_shut: false,
            is_closed: false,
            has_finished: false,
        }
    }

    /// With segments of 1460 bytes at most.
    pub fn with_usual_mss(self) -> Self {
        Self { mss: 1460, ..self }
    }

    /// Begins a round.
    pub fn begin(&mut self, now: Time, role: Role, plan: Plan, random: &mut Random) {
        self.plan = plan;
        self.generation += 1;
        self.source = Source::new(plan.goal);
        self.sink = Stream::new(plan.capacity, self.generation);
        self.sink.is_short = plan.is_short;
        self.error = None;
        self.reopened = 0;
        (self.is_shut, self.is_closed, self.has_finished) = (false, false, false);
        self.send_at = Time::NEVER;
        self.app_at = Time::NEVER;
        if role != Role::Open {
            if !matches!(self.slot, Slot::TimeWait(_)) {
                self.slot = Slot::Listening { has_cookies: role == Role::Cookies };
            }
            return;
        }
        let space = self.sink.space();
        let settings = plan.settings;
        let (machine, flow, mss) = (&mut self.machine, &self.flow, self.mss);
        let connection = Connection::open(machine, now, flow, mss, space, settings);
        self.slot = Slot::Open(Box::new(connection));
        self.send(now, random);
    }

    /// Nothing is left but TIME_WAIT.
    pub fn is_over(&self) -> bool {
        match self.slot {
            Slot::Over => true,
            Slot::TimeWait(_) => self.is_closed,
            // A listener that was never reached, of a connection that its peer gave up.
            Slot::Listening { .. } => self.app_at.is_never(),
            _ => false,
        }
    }

    pub fn details(&self) -> Option<Details> {
        match &self.slot {
            Slot::Open(connection) => Some(connection.details()),
            _ => None,
        }
    }

    pub fn next_event(&self) -> Time {
        let slot = match &self.slot {
            Slot::Over | Slot::Listening { .. } => Time::NEVER,
            Slot::Half(half) => half.deadline(),
            Slot::Open(connection) => connection.deadline(),
            Slot::TimeWait(record) => record.deadline(),
        };
        slot.min(self.app_at).min(self.send_at)
    }

    pub fn check(&self, seed: u64) {
        if let Slot::Open(connection) = &self.slot {
            let waits = self.send_at.is_never();
            let available = self.source.available();
            if let Err(why) = connection.check(&self.machine, waits.then_some(available)) {
                panic!("seed {seed}: {why}: {self:?}");
            }
        }
    }
}

impl End {
    fn out<'a>(
        sent: &'a mut Vec<Packet>,
        source: &'a Source,
        generation: u32,
        random: &'a mut Random,
    ) -> Out<'a> {
        Out { sent, source, generation, random }
    }

    /// Takes a packet, as a host's lookup does.
    pub fn receive(&mut self, now: Time, packet: &Packet, random: &mut Random) {
        self.sink.payload = (packet.position, packet.generation);
        let segment = &packet.segment;
        match &mut self.slot {
            Slot::Over => self.answer_reset(packet),
            Slot::Listening { has_cookies } => {
                let has_cookies = *has_cookies;
                self.listen(now, packet, None, has_cookies, random);
            }
            Slot::Half(half) => {
                let mut half = *half;
                self.half(now, packet, &mut half, random);
            }
            Slot::Open(connection) => {
                if *TRACE {
                    let (at, own) = (now.us(), self.flow.local[0]);
                    eprintln!("{at} {own} gets {segment:?} in {:?}", connection.details());
                }
                let effects = connection.segment(&mut self.machine, now, segment, &mut self.sink);
                self.apply(now, &effects, Some(packet), random);
            }
            Slot::TimeWait(record) => match record.segment(&mut self.machine, now, segment) {
                Late::Ignore => {}
                Late::Answer(out) => {
                    let (position, generation) = (0, self.generation);
                    self.sent.push(Packet { segment: out.segment, position, generation });
                }
                Late::Reopen(_) if packet.generation != self.generation => {
                    self.answer_reset(packet); // of a round that is over
                }
                Late::Reopen(least) => {
                    self.reopened += 1;
                    self.listen(now, packet, Some(least), false, random);
                }
            },
        }
    }

    fn answer_reset(&mut self, packet: &Packet) {
        if let Some(out) = reset_for(&packet.segment) {
            let (position, generation) = (0, self.generation);
            self.sent.push(Packet { segment: out.segment, position, generation });
        }
    }

    fn listen(
        &mut self,
        now: Time,
        packet: &Packet,
        least: Option<tcp_machine::Seq>,
        has_cookies: bool,
        random: &mut Random,
    ) {
        let (machine, flow, mss) = (&mut self.machine, &self.flow, self.mss);
        let (segment, space) = (&packet.segment, self.sink.space());
        if has_cookies {
            if let Some(out) = cookie_for(machine, now, flow, segment, mss, space) {
                Self::out(&mut self.sent, &self.source, self.generation, random).emit(&out);
            } else if packet.generation != self.generation {
                // A cookie is good for two minutes, and opens again what was closed since.
                self.answer_reset(packet);
            } else if let Some(mut half) = cookie_of(machine, now, flow, segment, mss) {
                self.half(now, packet, &mut half, random);
            } else {
                self.answer_reset(packet);
            }
            return;
        }
        match HalfOpen::new(machine, now, flow, segment, mss, least) {
            Some(mut half) => {
                let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
                half.send(machine, now, space, &mut out);
                self.slot = Slot::Half(half);
            }
            None => self.answer_reset(packet),
        }
    }

    fn half(&mut self, now: Time, packet: &Packet, half: &mut HalfOpen, random: &mut Random) {
        let settings = self.plan.settings;
        let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
        let (machine, sink) = (&mut self.machine, &mut self.sink);
        match half.segment(machine, now, &packet.segment, settings, sink, &mut out) {
            Answer::Wait => {}
            Answer::Open(connection, effects) => {
                self.slot = Slot::Open(Box::new(connection));
                self.apply(now, &effects, Some(packet), random);
            }
            Answer::Reset => self.answer_reset(packet),
            Answer::Gone => self.slot = Slot::Listening { has_cookies: false },
        }
    }

    fn apply(
        &mut self,
        now: Time,
        effects: &Effects,
        packet: Option<&Packet>,
        random: &mut Random,
    ) {
        self.source.acked(effects.acked);
        let has = |event| effects.events.contains(event);
        if has(Events::ANSWER_RESET) {
            self.answer_reset(packet.expect("only segments are answered"));
        }
        if has(Events::CONNECTED) {
            self.app_at = now + random.below(self.plan.pause_us + 1);
        }
        if has(Events::FINISHED) {
            self.has_finished = true;
        }
        if effects.delivered > 0 || effects.acked > 0 || has(Events::FINISHED) {
            self.app_at = self.app_at.min(now + random.below(self.plan.pause_us + 1));
        }
        if has(Events::SEND) {
            // At the end of a frame, or some frames later.
            let wait = if random.permille(900) { 0 } else { random.below(100) };
            self.send_at = self.send_at.min(now + wait);
        }
        if has(Events::ENDED) {
            self.error = self.error.or(effects.error);
            self.over();
        } else if has(Events::TIME_WAIT) {
            self.send(now, random);
            if let Slot::Open(connection) = &mut self.slot {
                let record = connection.time_wait(&self.machine, now);
                connection.release(&mut self.machine);
                self.slot = Slot::TimeWait(record);
                self.is_closed = true;
                (self.app_at, self.send_at) = (Time::NEVER, Time::NEVER);
            }
        }
    }

    fn over(&mut self) {
        self.slot = Slot::Over;
        (self.app_at, self.send_at) = (Time::NEVER, Time::NEVER);
    }

    fn send(&mut self, now: Time, random: &mut Random) {
        self.send_at = Time::NEVER;
        if let Slot::Open(connection) = &mut self.slot {
            let available = self.source.available();
            let budget = random.one_of(&[1, 3, 64]);
            let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
            let more = connection.send(&mut self.machine, now, available, budget, &mut out);
            if more {
                self.send_at = now + 1;
            }
        }
    }

    /// Runs due actions: timers, the application, sending.
    pub fn work(&mut self, now: Time, random: &mut Random) {
        let available = self.source.available();
        match &mut self.slot {
            Slot::Half(half) if half.deadline() <= now => {
                let space = self.sink.space();
                let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
                if !half.timer(&mut self.machine, now, space, &mut out) {
                    self.slot = Slot::Listening { has_cookies: false };
                }
            }
            Slot::Open(connection) if connection.deadline() <= now => {
                let effects = connection.timer(&mut self.machine, now, available);
                self.apply(now, &effects, None, random);
            }
            Slot::TimeWait(record) if record.deadline() <= now => self.slot = Slot::Over,
            _ => {}
        }
        if self.app_at <= now {
            self.app(now, random);
        }
        if self.send_at <= now {
            self.send(now, random);
        }
    }

    /// Reads and writes some, closes when all is done.
    fn app(&mut self, now: Time, random: &mut Random) {
        self.app_at = Time::NEVER;
        let Slot::Open(connection) = &mut self.slot else { return };
        if !connection.state().is_synchronized() {
            return;
        }
        let pause = self.plan.pause_us;
        let taken = self.sink.read(1 + random.below(self.plan.read));
        let mut effects = Effects::default();
        if taken > 0 {
            effects.add(&connection.consumed(&mut self.machine, now, &self.sink));
            self.app_at = now + random.below(pause + 1) + 1;
        }
        let room = u64::from(self.plan.capacity.saturating_sub(self.source.available()));
        if !self.source.is_finished() && room > 0 && !self.is_shut && !self.is_closed {
            self.source.write((1 + random.below(self.plan.chunk)).min(room));
            effects.events |= Events::SEND;
            self.app_at = now + random.below(pause + 1) + 1;
        }
        let quits =
            self.plan.quits_after.is_some_and(|n| self.sink.next() + self.source.written() >= n);
        let unread = self.sink.unread();
        let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
        if quits && !self.is_closed {
            self.is_closed = true;
            effects.add(&if now.us().is_multiple_of(2) {
                connection.abort(&mut self.machine, now, &mut out)
            } else {
                connection.close(&mut self.machine, now, unread, &mut out)
            });
        } else if self.source.is_finished() && !self.is_shut {
            self.is_shut = true;
            effects.add(&connection.shut_down(&mut self.machine, now));
        }
        if self.is_shut && self.has_finished && unread == 0 && !self.is_closed {
            self.is_closed = true;
            effects.add(&connection.close(&mut self.machine, now, 0, &mut out));
        }
        self.apply(now, &effects, None, random);
    }

    /// The user has waited long enough.
    pub fn give_up(&mut self, now: Time, random: &mut Random) {
        if let Slot::Open(connection) = &mut self.slot {
            let mut out = Self::out(&mut self.sent, &self.source, self.generation, random);
            let effects = connection.abort(&mut self.machine, now, &mut out);
            self.apply(now, &effects, None, random);
        }
    }

    pub fn state(&self) -> Option<State> {
        self.details().map(|details| details.state)
    }
}
