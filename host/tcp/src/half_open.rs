//! Half-open connections of listeners, from the SYN to the ACK, in 64 bytes.

use wire::tcp::{Flags, Options, Timestamp};

use crate::time::us;
use crate::{
    Connection, Effects, Emit, Events, Flow, Machine, Segment, Seq, Settings, Sink, State, Time,
};

/// No window scale in [`HalfOpen::shift`].
const NONE: u8 = u8::MAX;

/// A half-open connection: a SYN was received, and a SYN-ACK sent.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct HalfOpen {
    /// When the SYN-ACK was sent; [`Time::NEVER`] if nothing is remembered of that.
    pub(crate) sent_at: Time,
    begun_at: Time,
    deadline: Time,
    pub(crate) iss: Seq,
    pub(crate) irs: Seq,
    pub(crate) ts_offset: u32,
    ts_recent: u32,
    pub(crate) window: u16,
    mss: u16,
    pub(crate) own_mss: u16,
    pub(crate) default_mss: u16,
    shift: u8,
    has_timestamp: bool,
    is_sack_permitted: bool,
    pub(crate) retries: u8,
}

/// Outcome of a segment for a half-open connection.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "moved once in the life of a connection")]
pub enum Answer {
    /// No change.
    Wait,
    /// The open connection, with the effects of the segment that opened it.
    Open(Connection, Effects),
    /// Answer the segment with [`crate::reset_for`]; no other change.
    Reset,
    /// The peer has aborted: the record can be freed.
    Gone,
}

impl HalfOpen {
    /// Creates it from a SYN; `None` for other segments (answer those with ACK by
    /// [`crate::reset_for`], RFC 9293 section 3.10.7.2). `mss` is the largest payload for the path
    /// to the peer. `min_iss` is that of [`crate::Late::Reopen`].
    pub fn new(
        machine: &mut Machine,
        now: Time,
        flow: &Flow,
        syn: &Segment,
        mss: u16,
        min_iss: Option<Seq>,
    ) -> Option<Self> {
        if syn.flags.0 & (Flags::SYN | Flags::ACK | Flags::RST).0 != Flags::SYN.0 {
            return None;
        }
        let iss = machine.isn(now, flow);
        let iss = min_iss.map_or(iss, |least| iss.max(least));
        let mut this = Self::of(machine, now, flow, &syn.options, mss);
        (this.iss, this.irs, this.window) = (iss, syn.seq, syn.window);
        Some(this)
    }

    pub(crate) fn of(
        machine: &Machine,
        now: Time,
        flow: &Flow,
        options: &Options,
        mss: u16,
    ) -> Self {
        Self {
            sent_at: now,
            begun_at: now,
            deadline: now + machine.config.rto_initial,
            iss: Seq(0),
            irs: Seq(0),
            ts_offset: machine.clock_offset(flow),
            ts_recent: options.timestamp.unwrap_or_default().value,
            window: 0,
            mss: options.mss.unwrap_or(flow.default_mss()),
            own_mss: mss,
            default_mss: flow.default_mss(),
            shift: options.window_scale.map_or(NONE, |shift| shift.min(14)),
            has_timestamp: options.timestamp.is_some(),
            is_sack_permitted: options.is_sack_permitted,
            retries: 0,
        }
    }

    /// Options of the SYN.
    pub(crate) fn options(&self) -> Options {
        let timestamp = Timestamp { value: self.ts_recent, echo: 0 };
        Options {
            mss: Some(self.mss),
            window_scale: (self.shift != NONE).then_some(self.shift),
            is_sack_permitted: self.is_sack_permitted,
            timestamp: self.has_timestamp.then_some(timestamp),
            ..Options::default()
        }
    }

    /// Drops options that a cookie without timestamps cannot encode.
    pub(crate) fn forget_options(&mut self) {
        (self.shift, self.is_sack_permitted, self.has_timestamp) = (NONE, false, false);
    }

    /// Sends the SYN-ACK, for the first time or again.
    pub fn send(&mut self, machine: &mut Machine, now: Time, space: u32, out: &mut impl Emit) {
        let syn = Connection::passive(machine, now, self, space, Settings::default());
        let syn = { syn }.syn(machine, now);
        if out.emit(&syn) {
            machine.counters.out_segs += 1;
            machine.counters.rxt_segs += u64::from(self.retries > 0);
        } else {
            machine.counters.no_buffer += 1;
        }
    }

    /// Handles a further segment. A retransmitted SYN is answered through `out`.
    pub fn segment(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        settings: Settings,
        rx: &mut impl Sink,
        out: &mut impl Emit,
    ) -> Answer {
        let space = rx.space();
        let mut connection = Connection::passive(machine, now, self, space, settings);
        // Sets the values that the SYN-ACK has announced.
        connection.syn(machine, now);
        let effects = connection.segment(machine, now, segment, rx);
        match connection.state() {
            State::SynRcvd => {
                connection.send(machine, now, 0, u32::MAX, out);
                if effects.events.contains(Events::ANSWER_RESET) {
                    Answer::Reset
                } else {
                    Answer::Wait
                }
            }
            State::Closed => Answer::Gone,
            _ => {
                machine.counters.passive_opens += 1;
                Answer::Open(connection, effects)
            }
        }
    }

    /// Time of the next call of [`HalfOpen::timer`].
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Retransmits the SYN-ACK; false if the record is to be freed.
    pub fn timer(
        &mut self,
        machine: &mut Machine,
        now: Time,
        space: u32,
        out: &mut impl Emit,
    ) -> bool {
        if now < self.deadline {
            return true;
        }
        machine.counters.timer_expirations += 1;
        let config = &machine.config;
        let limit = config.syn_rcvd_time;
        if now - self.begun_at >= limit {
            machine.counters.to_establish += 1;
            machine.counters.attempt_fails += 1;
            return false;
        }
        self.retries = self.retries.saturating_add(1);
        let wait = us(config.rto_initial) << self.retries.min(16);
        self.deadline = (now + wait.min(us(config.rto_max))).min(self.begun_at + limit);
        self.send(machine, now, space, out);
        true
    }
}
