//! CUBIC (RFC 9438), with HyStart++ (RFC 9406) in slow start.

use super::{Controller, Sample, Window, slow_start};
use crate::Time;

/// Constant C, in segments per second cubed (section 5).
const C: f64 = 0.4;
/// Multiplicative decrease (section 4.6).
const BETA: f64 = 0.7;
/// Additive increase in the Reno-friendly region (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC state. Windows are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// Window before the last reduction.
    w_max: f32,
    /// Estimated window of Reno.
    w_est: f32,
    /// Time for growing back to `w_max`, in seconds.
    k: f32,
    /// Window at the start of the epoch, after the reduction.
    cwnd_prior: f32,
    /// Start of congestion avoidance; `None` before it.
    epoch: Option<Time>,
    /// Pending growth of the window, a fraction of a byte.
    rest: f32,
    /// `w_max` and `epoch` before the last reduction.
    before: (f32, f32, f32, Option<Time>),
    start: HyStart,
}

impl Cubic {
    fn grow(&mut self, now: Time, sample: &Sample, acked: u32, mss: u32, window: &mut Window) {
        let segment = f64::from(mss);
        let cwnd = f64::from(window.cwnd) / segment;
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(now, cwnd),
        };
        let acked = f64::from(acked) / segment;
        // Section 4.3: like Reno until the window before the reduction, then one segment a round.
        let w_est = f64::from(self.w_est);
        let alpha = if w_est < f64::from(self.cwnd_prior) { ALPHA } else { 1.0 };
        let w_est = w_est + alpha * acked / cwnd;
        self.w_est = w_est as f32;
        let seconds = f64::from(now.since(epoch)) / 1e6;
        let w_cubic = |t: f64| C * (t - f64::from(self.k)).powi(3) + f64::from(self.w_max);
        let grown = if w_cubic(seconds) < w_est {
            (w_est - cwnd).max(0.0)
        } else {
            // Section 4.2: the window one round trip later, at most 1.5 times the current one.
            let target = w_cubic(seconds + f64::from(sample.srtt_us) / 1e6);
            (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd * acked
        };
        let bytes = grown * segment + f64::from(self.rest);
        self.rest = bytes.fract() as f32;
        window.cwnd = window.cwnd.saturating_add(bytes as u32);
    }

    fn begin(&mut self, now: Time, cwnd: f64) -> Time {
        self.epoch = Some(now);
        self.w_est = cwnd as f32;
        if f64::from(self.w_max) > cwnd {
            self.k = ((f64::from(self.w_max) - cwnd) / C).cbrt() as f32;
        } else {
            (self.k, self.w_max, self.cwnd_prior) = (0.0, cwnd as f32, cwnd as f32);
        }
        now
    }
}

#[cfg(test)]
impl Cubic {
    pub(super) fn w_max(&self) -> f32 {
        self.w_max
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, now: Time, sample: &Sample, mss: u32, window: &mut Window) {
        if !sample.is_limited {
            // Section 5.8: application-limited time does not count.
            self.epoch = None;
            return;
        }
        let mut acked = sample.acked;
        if window.cwnd < window.ssthresh {
            acked = self.start.allowed(sample, window);
            acked = slow_start(acked, window);
        }
        if window.cwnd >= window.ssthresh && acked > 0 {
            self.grow(now, sample, acked, mss, window);
        }
    }

    fn on_loss(&mut self, _: Time, flight: u32, mss: u32, window: &mut Window) {
        self.before = (self.w_max, self.cwnd_prior, self.k, self.epoch);
        let cwnd = window.cwnd.min(flight.max(mss)) as f32 / mss as f32;
        // Section 4.7: fast convergence.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA as f32) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.start = HyStart::default();
        let reduced = f64::from(flight) * BETA;
        window.ssthresh = (reduced as u32).max(2 * mss);
    }

    fn on_timeout(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window) {
        self.on_loss(now, flight, mss, window);
    }

    fn on_undo(&mut self) {
        (self.w_max, self.cwnd_prior, self.k, self.epoch) = self.before;
    }

    fn on_idle(&mut self, _: Time) {
        self.epoch = None;
    }
}

/// Exit from slow start when the round-trip time grows (RFC 9406 section 4).
#[derive(Clone, Copy, Debug)]
struct HyStart {
    /// Minimum round-trip times of the last and of this round, in microseconds.
    last: u32,
    current: u32,
    /// Number of samples in this round.
    samples: u8,
    /// Remaining rounds of conservative slow start; 0 outside of it.
    rounds: u8,
    /// Minimum round-trip time when it started.
    baseline: u32,
}

const MIN_THRESHOLD_US: u32 = 4_000;
const MAX_THRESHOLD_US: u32 = 16_000;
const SAMPLES: u8 = 8;
const ROUNDS: u8 = 5;
const GROWTH_DIVISOR: u32 = 4;

impl Default for HyStart {
    fn default() -> Self {
        Self { last: u32::MAX, current: u32::MAX, samples: 0, rounds: 0, baseline: 0 }
    }
}

impl HyStart {
    /// Allowed growth in slow start for a sample; sets `ssthresh` to end slow start.
    fn allowed(&mut self, sample: &Sample, window: &mut Window) -> u32 {
        if sample.is_new_round {
            (self.last, self.current, self.samples) = (self.current, u32::MAX, 0);
            if self.rounds > 0 {
                self.rounds -= 1;
                if self.rounds == 0 {
                    window.ssthresh = window.cwnd;
                    return sample.acked;
                }
            }
        }
        if sample.rtt_us > 0 {
            self.current = self.current.min(sample.rtt_us);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples >= SAMPLES && self.current != u32::MAX && self.last != u32::MAX {
            let threshold = (self.last / 8).clamp(MIN_THRESHOLD_US, MAX_THRESHOLD_US);
            if self.rounds == 0 && self.current >= self.last.saturating_add(threshold) {
                (self.rounds, self.baseline) = (ROUNDS, self.current);
            } else if self.rounds > 0 && self.current < self.baseline {
                self.rounds = 0;
            }
        }
        if self.rounds > 0 { sample.acked / GROWTH_DIVISOR } else { sample.acked }
    }
}
