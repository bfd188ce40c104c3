//! Congestion control (RFC 5681).
//!
//! A controller is plain data. The machine detects losses, counts the bytes in flight and does
//! proportional rate reduction; the controller sets the window before and after.

mod cubic;
mod new_reno;

pub use cubic::Cubic;
pub use new_reno::NewReno;

use crate::Time;

/// Largest congestion window in bytes.
const MAX_CWND: u32 = 1 << 30;

/// Congestion window and slow-start threshold, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

/// Measurements of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// Measured round-trip time in microseconds; 0 if none was measured.
    pub rtt_us: u32,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: u32,
    /// Whether the window has limited sending; otherwise it does not grow.
    pub is_limited: bool,
    /// Whether a round trip has ended since the last sample.
    pub is_new_round: bool,
}

/// A congestion controller.
pub trait Controller {
    /// Data was acknowledged outside of recovery.
    fn on_ack(&mut self, now: Time, sample: &Sample, mss: u32, window: &mut Window);
    /// A loss was detected with `flight` bytes outstanding: sets `ssthresh`. The machine sets
    /// `cwnd`.
    fn on_loss(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window);
    /// The retransmission timer expired: sets `ssthresh`. The machine sets `cwnd`.
    fn on_timeout(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window);
    /// The last reduction was unnecessary; the machine has restored `window`.
    fn on_undo(&mut self);
    /// The connection has been idle for a long time.
    fn on_idle(&mut self, now: Time);
}

/// Congestion control algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406).
    #[default]
    Cubic,
    /// NewReno (RFC 5681, RFC 6582).
    NewReno,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::NewReno];

    /// Its name in commands and the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "newreno",
        }
    }

    /// The algorithm with the given name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// The controller of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Congestion {
    Cubic(Cubic),
    NewReno(NewReno),
}

impl Default for Congestion {
    fn default() -> Self {
        Algorithm::default().into()
    }
}

impl From<Algorithm> for Congestion {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Cubic => Self::Cubic(Cubic::default()),
            Algorithm::NewReno => Self::NewReno(NewReno::default()),
        }
    }
}

impl Congestion {
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Cubic(_) => Algorithm::Cubic,
            Self::NewReno(_) => Algorithm::NewReno,
        }
    }

    fn with<R>(&mut self, call: impl FnOnce(&mut dyn Controller) -> R) -> R {
        match self {
            Self::Cubic(cubic) => call(cubic),
            Self::NewReno(new_reno) => call(new_reno),
        }
    }
}

impl Controller for Congestion {
    #[inline]
    fn on_ack(&mut self, now: Time, sample: &Sample, mss: u32, window: &mut Window) {
        match self {
            Self::Cubic(cubic) => cubic.on_ack(now, sample, mss, window),
            Self::NewReno(new_reno) => new_reno.on_ack(now, sample, mss, window),
        }
        window.cwnd = window.cwnd.min(MAX_CWND);
    }

    fn on_loss(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window) {
        self.with(|controller| controller.on_loss(now, flight, mss, window));
    }

    fn on_timeout(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window) {
        self.with(|controller| controller.on_timeout(now, flight, mss, window));
    }

    fn on_undo(&mut self) {
        self.with(|controller| controller.on_undo());
    }

    fn on_idle(&mut self, now: Time) {
        self.with(|controller| controller.on_idle(now));
    }
}

/// Slow start (RFC 5681 section 3.1): grows by the acknowledged bytes, up to the threshold. Returns
/// the bytes left for congestion avoidance.
fn slow_start(acked: u32, window: &mut Window) -> u32 {
    let grown = acked.min(window.ssthresh.saturating_sub(window.cwnd));
    window.cwnd += grown;
    acked - grown
}

#[cfg(test)]
mod tests;
