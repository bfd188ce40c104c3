//! Timers (RFC 6298 section 5, RFC 8985 section 7, RFC 9293 section 3.8.3, 3.8.4 and 3.8.6.1).
//!
//! Retransmission, tail loss, reordering and zero windows exclude each other and share one deadline
//! with a name. Two more deadlines are for delayed acknowledgments, and for keepalive or the end of
//! a state.

use super::{Connection, Flags, Phase};
use crate::time::us;
use crate::{Effects, Error, Events, Machine, Settings, State, Time, Timer};

/// Minimum time until a tail loss probe, and the extra time for a delayed acknowledgment.
const TAIL_MIN_US: u64 = 10_000;
const TAIL_DELAY_US: u64 = 200_000;
/// Longest wait of short segments (RFC 9293 section 3.8.6.2.1: 0.1 to 1 s).
const OVERRIDE_US: u64 = 200_000;
/// Limit of doublings of a timeout.
const MAX_BACKOFF: u8 = 16;
/// Longest timeout.
const MOST_US: u64 = 60_000_000;

impl Connection {
    /// Time of the next call of [`Connection::timer`]; earlier calls have no effect.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.retransmit_at.min(self.ack_at).min(self.idle_at)
    }

    /// Retransmission timeout with backoff, in microseconds.
    pub(super) fn backed_off(&self) -> u64 {
        (u64::from(self.rtt.timeout) << self.backoff.min(MAX_BACKOFF)).min(MOST_US)
    }

    pub(super) fn persist_interval(&self) -> u64 {
        if self.snd_wnd > 0 { OVERRIDE_US } else { self.backed_off() }
    }

    /// Restarts the timer for segments in flight (RFC 6298 section 5.1 to 5.3), or stops it. Data
    /// that waits for a window continues to wait.
    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        let out = self.outstanding();
        if out == 0 {
            if self.timer != Timer::Persist {
                (self.timer, self.retransmit_at) = (Timer::None, Time::NEVER);
            }
            return;
        }
        if self.snd_wnd == 0 {
            self.timer = Timer::Persist;
            self.retransmit_at = now + self.persist_interval();
            return;
        }
        let timeout = self.backed_off();
        (self.timer, self.retransmit_at) = (Timer::Retransmit, now + timeout);
        let may_probe = self.flags.has(Flags::SACK)
            && self.phase == Phase::Open
            && self.totals.sacked == 0
            && self.backoff == 0
            && !self.flags.has(Flags::PROBE_OUT)
            && self.rtt.smoothed > 0;
        if may_probe {
            let delay = if out <= self.segment_size() { TAIL_DELAY_US } else { 0 };
            let wait = (2 * u64::from(self.rtt.smoothed) + delay).max(TAIL_MIN_US);
            if wait < timeout {
                (self.timer, self.retransmit_at) = (Timer::TailLoss, now + wait);
            }
        }
    }

    /// Handles expired deadlines. `available` is as for [`Connection::send`], which has to be
    /// called if the effects say so.
    pub fn timer(&mut self, machine: &mut Machine, now: Time, available: u32) -> Effects {
        let mut effects = Effects::default();
        if now < self.deadline() {
            return effects;
        }
        if now >= self.ack_at {
            machine.counters.timer_expirations += 1;
            machine.counters.delayed_acks += 1;
            self.ack_at = Time::NEVER;
            self.flags.clear(Flags::ACK_LATER.or(Flags::INTERACTIVE));
            self.acknowledge_now(&mut effects);
        }
        if now >= self.retransmit_at {
            machine.counters.timer_expirations += 1;
            let timer = std::mem::take(&mut self.timer);
            self.retransmit_at = Time::NEVER;
            self.expired(machine, now, timer, available, &mut effects);
        }
        if now >= self.idle_at {
            machine.counters.timer_expirations += 1;
            self.idle_at = Time::NEVER;
            self.idle_expired(machine, now, &mut effects);
        }
        effects
    }

    fn expired(
        &mut self,
        machine: &mut Machine,
        now: Time,
        timer: Timer,
        available: u32,
        effects: &mut Effects,
    ) {
        effects.events |= Events::SEND;
        match timer {
            Timer::RetransmitSyn => self.syn_expired(machine, now, effects),
            Timer::Persist => self.persist_expired(machine, now, available, effects),
            Timer::TailLoss => {
                self.flags.set(Flags::TAIL_DUE);
                self.set_timer_without_probe(now);
            }
            Timer::Reorder => {
                self.detect(machine, now);
                self.enter_recovery_if_lost(machine, now);
                if self.timer == Timer::None {
                    self.set_timer(now);
                }
            }
            _ if self.outstanding() == 0 => {}
            _ if self.is_overdue(machine, now) => {
                machine.counters.tr_abort += 1;
                self.end(machine, Some(Error::TimedOut), effects);
            }
            _ => {
                self.lose_flight(machine, now);
                self.set_timer(now);
            }
        }
    }

    /// Starts the retransmission timer without another tail loss probe.
    pub(super) fn set_timer_without_probe(&mut self, now: Time) {
        (self.timer, self.retransmit_at) = (Timer::Retransmit, now + self.backed_off());
    }

    /// Whether there has been no progress for longer than the user timeout.
    fn is_overdue(&self, machine: &Machine, now: Time) -> bool {
        let limit = match self.settings.user_timeout_ms {
            0 => us(machine.config.user_timeout),
            ms => u64::from(ms) * 1000,
        };
        us(now - self.progress_at) >= limit
    }

    fn syn_expired(&mut self, machine: &mut Machine, now: Time, effects: &mut Effects) {
        let config = &machine.config;
        let limit = if self.state == State::SynSent {
            config.connect_timeout
        } else {
            config.syn_rcvd_time
        };
        let limit = match self.settings.user_timeout_ms {
            0 => us(limit),
            ms => us(limit).min(u64::from(ms) * 1000),
        };
        if us(now - self.progress_at) >= limit {
            machine.counters.to_establish += 1;
            machine.counters.attempt_fails += 1;
            return self.end(machine, Some(Error::TimedOut), effects);
        }
        self.backoff = self.backoff.saturating_add(1);
        self.flags.set(Flags::SYN_DUE.or(Flags::SYN_RESENT));
        (self.timer, self.retransmit_at) = (Timer::RetransmitSyn, now + self.backed_off());
    }

    /// Handles the persist timer. A window may stay closed as long as the peer answers (MUST-37),
    /// unless the application has closed.
    fn persist_expired(
        &mut self,
        machine: &mut Machine,
        now: Time,
        available: u32,
        effects: &mut Effects,
    ) {
        let is_fin_due = self.flags.has(Flags::FIN_QUEUED) && !self.flags.has(Flags::FIN_SENT);
        if available == 0 && !is_fin_due && self.outstanding() == 0 {
            return;
        }
        machine.counters.to_persist += u64::from(self.snd_wnd == 0);
        let is_silent = us(now - self.heard_at) >= us(machine.config.user_timeout);
        let is_orphan = self.flags.has(Flags::DETACHED) || self.settings.user_timeout_ms > 0;
        if self.snd_wnd == 0 && (is_silent || (is_orphan && self.is_overdue(machine, now))) {
            machine.counters.tr_abort += 1;
            return self.end(machine, Some(Error::TimedOut), effects);
        }
        self.flags.set(Flags::PERSIST_DUE);
        if self.snd_wnd == 0 {
            self.backoff = self.backoff.saturating_add(1);
        }
        self.timer = Timer::Persist;
        self.retransmit_at = now + self.persist_interval();
    }

    fn idle_expired(&mut self, machine: &mut Machine, now: Time, effects: &mut Effects) {
        let counters = &mut machine.counters;
        let (limit, counter) = match self.state {
            State::FinWait1 => (machine.config.finwait1_time, &mut counters.to_finwait1),
            State::Closing => (machine.config.closing_time, &mut counters.to_closing),
            State::LastAck => (machine.config.lastack_time, &mut counters.to_lastack),
            State::FinWait2 if self.flags.has(Flags::DETACHED) => {
                counters.to_finwait2 += 1;
                return self.end(machine, Some(Error::TimedOut), effects);
            }
            State::TimeWait => return self.end(machine, None, effects),
            _ => return self.ask_peer(machine, now, effects),
        };
        let until = self.progress_at + limit;
        if now < until {
            self.idle_at = until;
            return;
        }
        *counter += 1;
        self.end(machine, Some(Error::TimedOut), effects);
    }

    /// Starts keepalive, if enabled.
    pub(super) fn watch_peer(&mut self) {
        let idle = u64::from(self.settings.keepalive_idle_s) * 1_000_000;
        self.idle_at = if idle > 0 { self.heard_at + idle } else { Time::NEVER };
    }

    /// Sends a keepalive probe if the peer has been silent.
    fn ask_peer(&mut self, machine: &mut Machine, now: Time, effects: &mut Effects) {
        let settings = self.settings;
        if settings.keepalive_idle_s == 0 || !self.state.is_synchronized() {
            return;
        }
        let until = self.heard_at + u64::from(settings.keepalive_idle_s) * 1_000_000;
        if now < until {
            self.idle_at = until;
            return;
        }
        let is_spent = self.keepalives >= settings.keepalive_probes;
        if is_spent || (settings.user_timeout_ms > 0 && self.is_silent(now)) {
            return self.end(machine, Some(Error::TimedOut), effects);
        }
        self.keepalives += 1;
        self.flags.set(Flags::KEEPALIVE_DUE);
        effects.events |= Events::SEND;
        self.idle_at = now + u64::from(settings.keepalive_interval_s.max(1)) * 1_000_000;
    }

    fn is_silent(&self, now: Time) -> bool {
        us(now - self.heard_at) >= u64::from(self.settings.user_timeout_ms) * 1000
    }

    /// Changes settings. Call [`Connection::send`] afterwards.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
        if matches!(self.state, State::Established | State::CloseWait) {
            self.watch_peer();
        }
    }
}
