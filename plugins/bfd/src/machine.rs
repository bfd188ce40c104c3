//! The state machine of a session (RFC 5880 section 6.8): pure, time is given to it.
//!
//! Intervals are microseconds, as on the wire; times are seconds on the router's clock.

use control::process::between;
use wire::bfd::{Header, State, VERSION, diagnostic, flag};

/// Least interval between packets of a session that is not up, and advertised while echo packets
/// watch the path (RFC 5880 sections 6.8.3 and 6.8.9).
const SLOW_US: u32 = 1_000_000;
/// Time by which a timer may be late, kept free in front of the end of an interval.
const LATENESS: f64 = 0.002;

/// Parameters that an operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Least interval between packets that are sent.
    pub desired_min_tx_us: u32,
    /// Least interval between packets that can be received.
    pub required_min_rx_us: u32,
    /// Intervals without a packet until the other end finds the session down.
    pub detect_mult: u8,
}

/// The last state sent by the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Its number of the session; 0 if it is not known.
    pub discriminator: u32,
    /// State.
    pub state: State,
    /// Reason of its last change.
    pub diagnostic: u8,
    /// Interval at which it would like to send.
    pub desired_min_tx_us: u32,
    /// Interval at which it can receive; 0 to be sent nothing.
    pub required_min_rx_us: u32,
    /// Interval at which it returns echo packets; 0 for none.
    pub required_min_echo_rx_us: u32,
    /// Its detection multiplier.
    pub detect_mult: u8,
    /// Whether it wants no periodic packets.
    pub is_demanding: bool,
}

/// Poll sequences (RFC 5880 section 6.5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Poll {
    /// One is to begin.
    is_wanted: bool,
    /// Beginning of the one in progress.
    since: Option<f64>,
    /// The next one begins no earlier: an answer to the one before may still be on its way.
    not_before: f64,
}

/// Echo packets of a session that sends them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Echo {
    /// When the last one came back, or they began.
    heard: f64,
    /// When the last one was sent.
    sent: Option<f64>,
    jitter: f64,
}

/// Packets that are to be sent now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToSend {
    /// A control packet.
    pub control: bool,
    /// An echo packet.
    pub echo: bool,
}

/// A session.
#[derive(Clone, Debug)]
pub struct Machine {
    /// This end's number of the session.
    pub discriminator: u32,
    /// Parameters.
    pub parameters: Parameters,
    /// Whether the path has several hops: echo packets are for one only (RFC 5883 section 3).
    is_multihop: bool,
    /// State.
    pub state: State,
    /// Reason of its last change.
    pub diagnostic: u8,
    /// Peer.
    pub remote: Remote,
    /// Interval from which that of packets is computed.
    tx_us: u32,
    /// Interval from which the detection time is computed.
    rx_us: u32,
    /// The last packet's values of both.
    said_us: [u32; 2],
    poll: Poll,
    echo: Option<Echo>,
    /// When the last packet came.
    heard: Option<f64>,
    /// When the last packet came that names this end's number of the session.
    confirmed: Option<f64>,
    /// When the last packet was sent.
    sent: Option<f64>,
    /// Share of the interval after which the next one is sent.
    jitter: f64,
    /// One is to be sent at once: what it says has changed.
    is_hurried: bool,
}

fn seconds(us: u32) -> f64 {
    f64::from(us) / 1e6
}

impl Machine {
    /// A session that is down.
    pub fn new(discriminator: u32, parameters: Parameters, is_multihop: bool) -> Self {
        let tx_us = parameters.desired_min_tx_us.max(SLOW_US);
        let rx_us = parameters.required_min_rx_us;
        Self {
            discriminator,
            parameters,
            is_multihop,
            state: State::Down,
            diagnostic: diagnostic::NONE,
            remote: Remote { required_min_rx_us: 1, ..Remote::default() },
            tx_us,
            rx_us,
            said_us: [tx_us, rx_us],
            poll: Poll::default(),
            echo: None,
            heard: None,
            confirmed: None,
            sent: None,
            jitter: 1.0,
            is_hurried: false,
        }
    }
    /// When the last packets came and were sent.
    pub fn last(&self) -> [Option<f64>; 2] {
        [self.heard, self.sent]
    }
    /// Intervals that packets say: those of sending and of receiving (section 6.8.3).
    fn says_us(&self) -> [u32; 2] {
        let Parameters { desired_min_tx_us: tx, required_min_rx_us: rx, .. } = self.parameters;
        let is_up = self.state == State::Up;
        let rx = if self.echo.is_some() { rx.max(SLOW_US) } else { rx };
        [if is_up { tx } else { tx.max(SLOW_US) }, rx]
    }
    /// Follows a change of what packets say. One that makes the other end's timers wrong waits for
    /// its answer, while the session is up.
    fn follow(&mut self, is_polled: bool) {
        let [tx, rx] = self.says_us();
        let is_up = self.state == State::Up;
        if [tx, rx] != self.said_us && is_up && is_polled {
            self.poll.is_wanted = true;
        }
        self.said_us = [tx, rx];
        let waits = is_up && (self.poll.is_wanted || self.poll.since.is_some());
        self.tx_us = if waits { self.tx_us.min(tx) } else { tx };
        self.rx_us = if waits { self.rx_us.max(rx) } else { rx };
    }
    /// Sets other parameters. The peer is informed at once if the session is up, otherwise at the
    /// slow pace.
    pub fn modify(&mut self, parameters: Parameters) {
        self.is_hurried |= self.state == State::Up && parameters != self.parameters;
        self.parameters = parameters;
        self.follow(true);
    }
    /// Puts the session up or down as its operator says (section 6.8.16).
    pub fn set_admin(&mut self, is_up: bool) {
        if is_up && self.state == State::AdminDown {
            self.enter(State::Down, diagnostic::NONE);
        } else if !is_up && self.state != State::AdminDown {
            self.enter(State::AdminDown, diagnostic::ADMIN_DOWN);
        }
    }
    fn enter(&mut self, state: State, why: u8) {
        self.state = state;
        self.diagnostic = why;
        self.is_hurried = true;
        if state != State::Up {
            self.poll = Poll::default();
            self.echo = None;
        }
        self.follow(false);
    }
    /// Seconds without a packet after which the session is down (section 6.8.4).
    pub fn detection_time(&self) -> f64 {
        let interval = self.rx_us.max(self.remote.desired_min_tx_us);
        f64::from(self.remote.detect_mult) * seconds(interval)
    }
    /// Whether the peer was silent for so long that it may have restarted its numbers (section
    /// 6.8.1, `bfd.AuthSeqKnown`).
    pub fn is_forgotten(&self, now: f64) -> bool {
        self.heard.is_none_or(|heard| now > heard + 2.0 * self.detection_time())
    }
    /// Seconds between two packets, before jitter (section 6.8.7).
    pub fn tx_interval(&self) -> f64 {
        seconds(self.tx_us.max(self.remote.required_min_rx_us))
    }
    /// Seconds between two echo packets, before jitter, while they are sent.
    pub fn echo_interval(&self) -> Option<f64> {
        let us = self.parameters.desired_min_tx_us.max(self.remote.required_min_echo_rx_us);
        self.echo.map(|_| seconds(us))
    }
    /// Whether an answer to a poll is awaited.
    pub fn is_polling(&self) -> bool {
        self.poll.since.is_some()
    }
    fn may_poll(&self, now: f64) -> bool {
        self.poll.since.is_some() || self.poll.is_wanted && now >= self.poll.not_before
    }
    /// Whether it sends periodically (section 6.8.7).
    fn is_periodic(&self, now: f64) -> bool {
        let is_up = self.state == State::Up && self.remote.state == State::Up;
        let is_silenced = self.remote.is_demanding && is_up && !self.may_poll(now);
        self.remote.required_min_rx_us != 0 && !is_silenced
    }
    /// Whether a packet says that the peer knows nothing of the session, as one that has restarted
    /// does, while packets still come that show that it does: anybody may have sent it, as it
    /// names no number that only the peer knows.
    pub fn is_contradicted(&self, packet: &Header, now: f64) -> bool {
        let lately = |at| now < at + self.detection_time() / 2.0;
        self.state == State::Up
            && packet.your_discriminator.get() == 0
            && self.confirmed.is_some_and(lately)
    }
    /// Takes a packet for the session, which is not held down and whose packet is authentic
    /// (section 6.8.6). Returns whether an answer is wanted.
    pub fn receive(&mut self, packet: &Header, now: f64) -> bool {
        self.remote = Remote {
            discriminator: packet.my_discriminator.get(),
            state: packet.state(),
            diagnostic: packet.version_diagnostic & 0x1f,
            desired_min_tx_us: packet.desired_min_tx_us.get(),
            required_min_rx_us: packet.required_min_rx_us.get(),
            required_min_echo_rx_us: packet.required_min_echo_rx_us.get(),
            detect_mult: packet.detect_mult,
            is_demanding: packet.has(flag::DEMAND),
        };
        self.heard = Some(now);
        if packet.your_discriminator.get() == self.discriminator {
            self.confirmed = Some(now);
        }
        if packet.has(flag::FINAL)
            && let Some(since) = self.poll.since.take()
        {
            self.poll.not_before = now + (now - since);
            self.follow(false);
        }
        match (self.state, packet.state()) {
            (State::AdminDown | State::Down, State::AdminDown) => (),
            (State::Init | State::Up, State::AdminDown) | (State::Up, State::Down) => {
                self.enter(State::Down, diagnostic::NEIGHBOR_SIGNALED);
            }
            (State::Down, State::Down) => self.enter(State::Init, self.diagnostic),
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => {
                self.enter(State::Up, diagnostic::NONE);
            }
            _ => (),
        }
        packet.has(flag::POLL)
    }
    /// Takes an echo packet that came back.
    pub fn receive_echo(&mut self, now: f64) {
        if let Some(echo) = &mut self.echo {
            echo.heard = now;
        }
    }
    /// Begins or ends to send echo packets, as both ends allow (section 6.8.9).
    fn follow_echo(&mut self, has_source: bool, now: f64) {
        let wants = has_source
            && !self.is_multihop
            && self.state == State::Up
            && self.remote.required_min_echo_rx_us != 0;
        if wants != self.echo.is_some() {
            self.echo = wants.then_some(Echo { heard: now, sent: None, jitter: 1.0 });
            self.follow(true);
            self.is_hurried = true;
        }
    }
    fn echo_failed(&self) -> Option<f64> {
        let time = f64::from(self.parameters.detect_mult) * self.echo_interval()?;
        Some(self.echo?.heard + time)
    }
    /// When the other end is gone. One that does not keep to its slow pace before the session is up
    /// gets the time of that.
    fn detected(&self) -> Option<f64> {
        let is_known = self.remote.discriminator != 0;
        let slow = f64::from(self.remote.detect_mult) * seconds(SLOW_US);
        let least = if self.state == State::Up { 0.0 } else { slow };
        Some(self.heard.filter(|_| is_known)? + self.detection_time().max(least))
    }
    fn next_control(&self, now: f64) -> Option<f64> {
        if self.is_hurried {
            return Some(now);
        }
        let after = self.sent.map_or(now, |sent| sent + self.jitter * self.tx_interval());
        self.is_periodic(now).then_some(after)
    }
    fn next_echo(&self, now: f64) -> Option<f64> {
        let (echo, interval) = (self.echo?, self.echo_interval()?);
        Some(echo.sent.map_or(now, |sent| sent + echo.jitter * interval))
    }
    /// The time at which something is due.
    pub fn due(&self, now: f64) -> Option<f64> {
        // A peer that wants no packets has no poll either.
        let hears = self.remote.required_min_rx_us != 0;
        let is_quiet = self.poll.is_wanted && hears && !self.is_periodic(now);
        let poll = is_quiet.then_some(self.poll.not_before);
        let all = [
            self.detected(),
            self.echo_failed(),
            self.next_control(now),
            self.next_echo(now),
            poll,
        ];
        all.into_iter().flatten().min_by(f64::total_cmp)
    }
    /// Runs due actions: detects that the peer is down, and returns which packets to send.
    /// `has_source` is true if echo packets can be sent.
    pub fn run(&mut self, now: f64, has_source: bool) -> ToSend {
        if self.detected().is_some_and(|time| now >= time) {
            self.remote.discriminator = 0;
            if self.state > State::Down {
                self.enter(State::Down, diagnostic::TIME_EXPIRED);
            }
        }
        if self.echo_failed().is_some_and(|time| now >= time) {
            self.enter(State::Down, diagnostic::ECHO_FAILED);
        }
        self.follow_echo(has_source, now);
        let control = self.next_control(now).is_some_and(|time| now >= time);
        let echo = self.next_echo(now).is_some_and(|time| now >= time);
        if let Some(of) = self.echo.as_mut().filter(|_| echo) {
            of.sent = Some(now);
            of.jitter = between(0.75, 1.0);
        }
        if control {
            self.is_hurried = false;
            self.sent = Some(now);
            let interval = self.tx_interval();
            let most = if self.parameters.detect_mult == 1 { 0.9 } else { 1.0 };
            self.jitter = between(0.75, (most - LATENESS / interval).max(0.76));
        }
        // One that the other end does not want is not sent, whatever has changed.
        ToSend { control: control && self.remote.required_min_rx_us != 0, echo }
    }
    /// The packet to send now (section 6.8.7): periodic, or the answer to a poll.
    pub fn packet(&mut self, now: f64, is_final: bool) -> Header {
        if !is_final && self.may_poll(now) && self.poll.since.is_none() {
            self.poll.since = Some(now);
            self.poll.is_wanted = false;
        }
        let is_poll = !is_final && self.poll.since.is_some();
        let flags = [(is_final, flag::FINAL), (is_poll, flag::POLL)];
        let flags = flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag);
        let [tx, rx] = self.says_us();
        Header {
            version_diagnostic: VERSION << 5 | self.diagnostic,
            state_flags: (self.state as u8) << 6 | flags.sum::<u8>(),
            detect_mult: self.parameters.detect_mult,
            len: size_of::<Header>() as u8,
            my_discriminator: self.discriminator.into(),
            your_discriminator: self.remote.discriminator.into(),
            desired_min_tx_us: tx.into(),
            required_min_rx_us: rx.into(),
            required_min_echo_rx_us: u32::from(!self.is_multihop).into(),
        }
    }
}
