//! The configuration of a policer, as clients give it, and the meter that follows from it.

use infra::meter::{Algorithm, Color, Fill, Meter, Profile};
use wire::Dscp;

/// The action on packets of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are dropped.
    Drop,
    /// They go on.
    Transmit,
    /// They go on with this DSCP.
    Mark(Dscp),
}

/// The unit of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Thousands of bits a second; bursts are bytes.
    #[default]
    Kbps,
    /// Packets a second; bursts are milliseconds at that rate.
    Pps,
}

/// The rounding of rates where not every rate can be had. Here each can: it is kept for those who
/// ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest one.
    #[default]
    Closest,
    /// To the next higher one.
    Up,
    /// To the next lower one.
    Down,
}

/// A policer's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Committed rate.
    pub cir: u32,
    /// Excess or peak rate.
    pub eir: u32,
    /// Committed burst.
    pub cb: u64,
    /// Excess or peak burst.
    pub eb: u64,
    /// Unit of the rates.
    pub unit: Unit,
    /// Rounding of the rates; they are kept as they are.
    pub rounding: Rounding,
    /// Whether it counts what a policer before, such as that of the interface a packet came in by,
    /// found the packet to be. What no policer saw is green.
    pub is_color_aware: bool,
    /// Actions on green, yellow and red packets.
    pub actions: [Action; 3],
}

impl Default for Config {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::OneBucket,
            cir: 0,
            eir: 0,
            cb: 0,
            eb: 0,
            unit: Unit::Kbps,
            rounding: Rounding::Closest,
            is_color_aware: false,
            actions: [Action::Transmit, Action::Drop, Action::Drop],
        }
    }
}

impl Config {
    /// Colour of a packet of so many bytes that comes at `now`, in seconds, and was found to be
    /// `before`.
    #[inline(always)]
    pub(super) fn color(&self, meter: &Meter, now: f64, bytes: usize, before: Color) -> Color {
        let before = if self.is_color_aware { before } else { Color::Green };
        meter.take_colored(now, self.tokens(bytes), before)
    }
    /// Action on packets of a colour.
    #[inline(always)]
    pub fn action(&self, color: Color) -> Action {
        self.actions[color as usize]
    }
    /// Whether there is one rate for both buckets.
    pub fn has_one_rate(&self) -> bool {
        matches!(self.algorithm, Algorithm::OneBucket | Algorithm::SingleRate)
    }
    /// Parameters of its meter.
    ///
    /// # Errors
    /// What does not fit together, in words.
    pub fn profile(&self) -> Result<Profile, &'static str> {
        let committed = self.fill(self.cir, self.cb);
        let excess = match self.algorithm {
            Algorithm::OneBucket => Fill::default(),
            Algorithm::SingleRate => self.fill(self.cir, self.eb),
            _ => self.fill(self.eir, self.eb),
        };
        if self.has_one_rate() && self.cir == 0 {
            return Err("cir is 0");
        }
        if self.cir == 0 && self.eir == 0 {
            return Err("cir and eir are 0");
        }
        if self.algorithm == Algorithm::TwoRate && self.eir < self.cir {
            return Err("eir is below cir");
        }
        if committed.burst == 0.0 && excess.burst == 0.0 {
            return Err("no packet passes without a burst");
        }
        // Clients expect of RFC 4115, too, that its second rate is that of all packets.
        let algorithm = match self.algorithm {
            Algorithm::Differentiated => Algorithm::TwoRate,
            algorithm => algorithm,
        };
        Ok(Profile { algorithm, committed, excess })
    }
    /// A bucket: tokens are bytes or packets.
    fn fill(&self, rate: u32, burst: u64) -> Fill {
        let (rate, burst) = (f64::from(rate), burst as f64);
        match self.unit {
            Unit::Kbps => Fill { rate: rate * 125.0, burst },
            Unit::Pps if burst == 0.0 => Fill { rate, burst },
            Unit::Pps => Fill { rate, burst: (rate * burst / 1000.0).max(1.0) },
        }
    }
    /// Tokens that a packet of so many bytes needs.
    #[inline(always)]
    pub fn tokens(&self, bytes: usize) -> f64 {
        match self.unit {
            Unit::Kbps => bytes as f64,
            Unit::Pps => 1.0,
        }
    }
}
