//! Two machines and a network between them that loses, delays, repeats and reorders.
//!
//! Time is simulated. There are no bytes: a packet says which positions of the stream it carries,
//! and of which connection, so what is delivered is compared exactly.
#![allow(dead_code, reason = "each user needs a part")]

mod end;
mod fifo;
mod network;

pub use end::{End, Plan, Role};
pub use fifo::{Source, Stream};
pub use network::{Link, Network, Packet};

use tcp_machine::{Algorithm, Config, Events, Flow, Segment, Seq, Time};

/// Random numbers of a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
    /// From 0 to less than `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.number() % below.max(1)
    }
    /// Whether something of so many in 1000 happens.
    pub fn permille(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Numbers of a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub segments: u64,
    pub connections: u64,
    pub errors: u64,
    pub bytes: u64,
    pub retransmitted: u64,
    pub recoveries: u64,
    pub timeouts: u64,
    pub undone: u64,
    pub probes: u64,
    pub cookies: u64,
    pub reopened: u64,
}

/// Two ends and a network.
pub struct World {
    pub now: Time,
    pub random: Random,
    pub ends: [End; 2],
    pub network: Network,
    pub report: Report,
    is_hostile: bool,
}

/// Simulated time that a round may take: longer than all timeouts that follow each other.
const ROUND_US: u64 = 48 * 3600 * 1_000_000;

fn config(random: &mut Random) -> Config {
    let [timestamps, sack, dsack, window_scale] = [(); 4].map(|()| !random.permille(250));
    let rcv_buffer = random.one_of(&[64 << 10, 64 << 10, 3000, 20_000, 1 << 20]);
    Config {
        timestamps,
        sack,
        dsack,
        window_scale,
        rcv_buffer,
        rcv_buffer_max: rcv_buffer.max(random.one_of(&[64 << 10, 1 << 20, 32 << 20])),
        max_burst: random.one_of(&[1, 64 << 10, 8000]),
        algorithm: random.one_of(&Algorithm::ALL),
        initial_cwnd: random.one_of(&[10, 10, 1, 4]),
        ..Config::default()
    }
}

impl World {
    /// A random world.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let network = Network::new(&mut random);
        let flows = [flow(1, 2), flow(2, 1)];
        let ends = flows.map(|flow| End::new(config(&mut random), flow, &mut random));
        let is_hostile = random.permille(200);
        // Clocks of timestamps and sequence numbers wrap in some worlds.
        let now = Time::from_us(random.below(1 << 44));
        Self { now, random, ends, network, report: Report::default(), is_hostile }
    }

    /// Runs rounds until so many segments were received.
    pub fn run(seed: u64, rounds: u32) -> Report {
        let mut world = Self::new(seed);
        for _ in 0..rounds {
            world.round(seed);
        }
        let [a, b] = &world.ends;
        let mut report = world.report;
        for counters in [&a.machine.counters, &b.machine.counters] {
            report.segments += counters.in_segs;
            report.retransmitted += counters.rxt_segs;
            report.recoveries += counters.recoveries;
            report.timeouts += counters.tr_events;
            report.undone += counters.undone;
            report.probes += counters.tail_loss_probes;
            report.cookies += counters.cookies_accepted;
        }
        report
    }

    /// Sends so many bytes from one end to the other over two such links; returns the seconds that
    /// this takes, and the sender's retransmission timeouts.
    pub fn transfer(seed: u64, link: &Link, config: Config, goal: u64) -> (f64, u64) {
        let mut random = Random::new(seed);
        let mut network = Network::new(&mut random);
        network.links = [link.clone(), link.clone()];
        let flows = [flow(1, 2), flow(2, 1)];
        let ends = flows.map(|flow| End::new(config, flow, &mut random).with_usual_mss());
        let (now, report) = (Time::from_us(1), Report::default());
        let mut world = Self { now, random, ends, network, report, is_hostile: false };
        let roles = [(Role::Open, Plan::bulk(goal)), (Role::Listen, Plan::bulk(0))];
        for (end, (role, plan)) in world.ends.iter_mut().zip(roles) {
            end.begin(now, role, plan, &mut world.random);
        }
        world.flush();
        while world.ends[1].sink.next() < goal {
            world.now = world.now.max(world.next_event());
            world.step(seed);
        }
        ((world.now - now).as_secs_f64(), world.ends[0].machine.counters.tr_events)
    }

    /// One connection from the SYN to the end of both records.
    fn round(&mut self, seed: u64) {
        // What the old connection has sent is older by its timestamps at least.
        self.now = self.now + 2_000;
        if !self.ends.iter().all(|end| end.machine.config.timestamps) {
            // Nothing tells old data from new but time (RFC 9293 section 3.4.3).
            self.network.clear();
        }
        let random = &mut self.random;
        let is_simultaneous = random.permille(100);
        let now = self.now;
        let roles = if is_simultaneous {
            [Role::Open, Role::Open]
        } else {
            [Role::Open, if random.permille(300) { Role::Cookies } else { Role::Listen }]
        };
        let is_rude = random.permille(150);
        for (end, role) in self.ends.iter_mut().zip(roles) {
            end.begin(now, role, Plan::new(random, is_rude), random);
        }
        self.network.change(random, now);
        let limit = now + ROUND_US;
        self.flush();
        while !self.ends.iter().all(End::is_over) {
            let next = self.next_event();
            if next.is_never() && self.ends.iter().any(|end| end.error.is_some()) {
                // One has given up, and the other has nothing to send that would tell it.
                let now = self.now;
                self.ends.iter_mut().for_each(|end| end.give_up(now, &mut self.random));
                continue;
            }
            assert!(!next.is_never(), "seed {seed}: nothing will happen: {:?}", self.states());
            assert!(next < limit, "seed {seed}: it takes too long: {:?}", self.states());
            self.now = self.now.max(next);
            self.step(seed);
        }
        self.judge(seed, is_rude);
    }

    fn next_event(&self) -> Time {
        let ends = self.ends.iter().map(End::next_event).min().unwrap();
        ends.min(self.network.next_event())
    }

    fn step(&mut self, seed: u64) {
        let now = self.now;
        while let Some((to, packet)) = self.network.arrived(now) {
            let end = &mut self.ends[to];
            end.receive(now, &packet, &mut self.random);
            if self.is_hostile && self.random.permille(20) {
                let segment = self.forged(to);
                let hostile = Packet { segment, position: u64::MAX, generation: u32::MAX };
                self.ends[to].receive(now, &hostile, &mut self.random);
            }
        }
        for end in &mut self.ends {
            end.work(now, &mut self.random);
        }
        self.flush();
        self.check(seed);
    }

    /// A segment of an attacker who guesses, as well as RFC 5961 allows.
    fn forged(&mut self, to: usize) -> Segment {
        let random = &mut self.random;
        let mut segment = Segment {
            seq: Seq(random.number() as u32),
            ack: Seq(random.number() as u32),
            flags: tcp_machine::Flags(random.one_of(&[4, 2, 0x12, 0x14, 0x10, 1, 0x11, 0, 0x3f])),
            window: random.number() as u16,
            ..Segment::default()
        };
        if let Some(details) = self.ends[to].details() {
            let is_stamped = details.has_timestamps && random.permille(500);
            if is_stamped {
                let value = details.ts_recent.wrapping_sub(random.below(2000) as u32 + 1);
                let echo = random.number() as u32;
                segment.options.timestamp = Some(tcp_machine::Timestamp { value, echo });
            }
            // In the window, but not at its begin: answered with a challenge. Not with data or an
            // acknowledgment that is right: who guesses these is in the connection.
            if random.permille(500) && details.rcv_wnd > 1 {
                let ahead = 1 + random.below(u64::from(details.rcv_wnd) - 1) as u32;
                segment.seq = details.rcv_nxt + ahead;
                segment.flags = tcp_machine::Flags(random.one_of(&[4, 2, 6, 0]));
            } else if random.permille(500) {
                segment.ack = details.snd_nxt + 1 + random.below(1 << 20) as u32;
                segment.seq = details.rcv_nxt;
                segment.flags = tcp_machine::Flags(random.one_of(&[0x10, 0x18]));
                segment.len = random.below(100) as u32;
                // To a connection that is being opened this is a reason for a reset.
            } else if segment.seq - details.rcv_nxt < 1 << 30
                || details.rcv_nxt - segment.seq < 1 << 30
            {
                segment.seq = details.rcv_nxt + (1 << 31);
            }
        }
        segment
    }

    /// Gives to the network what the ends have sent.
    fn flush(&mut self) {
        for (from, end) in self.ends.iter_mut().enumerate() {
            for packet in end.sent.drain(..) {
                self.network.send(self.now, 1 - from, packet, &mut self.random);
            }
        }
    }

    fn check(&self, seed: u64) {
        for (this, other) in [(0, 1), (1, 0)] {
            let (end, peer) = (&self.ends[this], &self.ends[other]);
            end.check(seed);
            let (Some(a), Some(b)) = (end.details(), peer.details()) else { continue };
            let is_one = a.iss == b.irs && a.state.is_synchronized() && b.state.is_synchronized();
            // No more than the largest window that was announced, and a byte to probe it, or a FIN.
            let limit = b.rcv_nxt + b.rcv_wnd + 1;
            let is_known = end.generation == peer.generation;
            assert!(
                !is_one || !is_known || !a.snd_nxt.is_after(limit),
                "seed {seed}: sent beyond the window: {a:?} {b:?}"
            );
        }
    }

    fn states(&self) -> Vec<String> {
        self.ends.iter().map(|end| format!("{end:?}")).collect()
    }

    /// Checks that bytes written have arrived, or that both know that they have not.
    fn judge(&mut self, seed: u64, is_rude: bool) {
        self.report.connections += 1;
        let [a, b] = &self.ends;
        for (end, peer) in [(a, b), (b, a)] {
            let is_complete = peer.source.is_finished() && end.sink.next() == peer.source.written();
            let is_error = end.error.is_some() || peer.error.is_some();
            assert!(
                is_complete || is_error || is_rude,
                "seed {seed}: bytes are missing: {end:?} {peer:?}"
            );
            assert!(end.sink.next() <= peer.source.written());
            assert_eq!(end.machine.blocks_taken(), (0, 0), "seed {seed}: memory is not returned");
            self.report.bytes += end.sink.next();
        }
        let is_error = a.error.is_some() || b.error.is_some();
        self.report.errors += u64::from(is_error && !is_rude);
        self.report.reopened += a.reopened + b.reopened;
    }
}

fn flow(local: u8, remote: u8) -> Flow {
    let mut flow = Flow { local_port: 1000, remote_port: 1000, ..Flow::default() };
    (flow.local[0], flow.remote[0]) = (local, remote);
    flow
}

/// Whether effects have an event.
pub fn has(events: Events, event: Events) -> bool {
    events.contains(event)
}
