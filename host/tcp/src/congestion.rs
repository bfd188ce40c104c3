//! Congestion control (RFC 5681): what decides how much is in flight.
//!
//! A controller is plain data. The machine finds losses, counts what is in flight and does
//! proportional rate reduction; a controller says what the window is before and after.

mod cubic;
mod new_reno;

pub use cubic::Cubic;
pub use new_reno::NewReno;

use crate::Time;

/// Most that a congestion window grows to.
const MAX_CWND: u32 = 1 << 30;

/// Congestion window and slow-start threshold, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

/// Measurement that comes with an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// Round trip just measured, in microseconds; 0 if none was.
    pub rtt_us: u32,
    /// Smoothed round trip in microseconds.
    pub srtt_us: u32,
    /// Whether the window has limited what was sent; it does not grow otherwise.
    pub is_limited: bool,
    /// A round trip has ended since the last sample.
    pub is_new_round: bool,
}

/// A congestion controller.
pub trait Controller {
    /// Data was acknowledged outside of recovery.
    fn on_ack(&mut self, now: Time, sample: &Sample, mss: u32, window: &mut Window);
    /// A loss was found with `flight` bytes outstanding: sets `ssthresh`. The machine sets `cwnd`.
    fn on_loss(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window);
    /// The retransmission timer expired: sets `ssthresh`. The machine sets `cwnd`.
    fn on_timeout(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window);
    /// The last reduction was unnecessary; the machine has restored `window`.
    fn on_undo(&mut self);
    /// Nothing was sent for long.
    fn on_idle(&mut self, now: Time);
}

/// Controllers that are built in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406).
    #[default]
    Cubic,
    /// NewReno (RFC 5681, RFC 6582).
    NewReno,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::NewReno];

    /// The name that commands and the configuration use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "newreno",
        }
    }

    /// The algorithm of a name.
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

/// Slow start (RFC 5681 section 3.1): grows by what was acknowledged, up to the threshold. Returns
/// the bytes that are left for congestion avoidance.
fn slow_start(acked: u32, window: &mut Window) -> u32 {
    let grown = acked.min(window.ssthresh.saturating_sub(window.cwnd));
    window.cwnd += grown;
    acked - grown
}

#[cfg(test)]
mod tests;
