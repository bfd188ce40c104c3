//! The configuration of a policer, as clients give it, and the meter that follows from it.

use infra::meter::{Algorithm, Color, Fill, Meter, Profile};
use net::prelude::*;
use wire::Dscp;

use super::{PolicerType, RateType, RoundType};

/// The algorithm of a policer.
#[derive(Words, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[number(PolicerType)]
pub enum Kind {
    /// One rate, two colours.
    #[default]
    #[word("1r2c")]
    OneBucket,
    /// One rate, three colours (RFC 2697).
    #[word("1r3c")]
    SingleRate,
    /// Two rates, three colours (RFC 2698).
    #[word("2r3c-2698")]
    TwoRate,
    /// Two rates, three colours (RFC 4115).
    #[word("2r3c-4115")]
    Differentiated,
    /// As RFC 4115, coupled (MEF 10.3).
    #[word("2r3c-mef5cf1")]
    Coupled,
}

/// The action on packets of one colour.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Drop.
    Drop,
    /// They go on.
    Transmit,
    /// They go on with this DSCP.
    #[word("mark-and-transmit")]
    Mark(Dscp),
}

/// The unit of rates.
#[derive(Words, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[number(RateType)]
pub enum Unit {
    /// Thousands of bits a second; bursts are bytes.
    #[default]
    Kbps,
    /// Packets a second; bursts are milliseconds at that rate.
    Pps,
}

/// The rounding of rates where not every rate can be had. Here each can: it is kept for those who
/// ask.
#[derive(Words, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[number(RoundType)]
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
#[derive(Arguments, Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// algorithm
    #[keyword("type")]
    #[words]
    #[default]
    #[serde(rename = "type")]
    pub kind: Kind,
    /// committed rate
    #[default]
    pub cir: u32,
    /// excess or peak rate
    #[default]
    pub eir: u32,
    /// committed burst in bytes or milliseconds
    #[default]
    pub cb: u64,
    /// excess or peak burst in bytes or milliseconds
    #[default]
    pub eb: u64,
    /// unit of rates
    #[words]
    #[default]
    pub rate: Unit,
    /// rounding of rates; stored and reported, rates are exact
    #[words]
    #[default]
    pub round: Rounding,
    /// honor colors set by earlier policers; packets without a color are green
    pub color_aware: bool,
    /// action for green packets
    #[words]
    #[default(Action::Transmit)]
    pub conform_action: Action,
    /// action for yellow packets
    #[words]
    #[default(Action::Drop)]
    pub exceed_action: Action,
    /// action for red packets
    #[words]
    #[default(Action::Drop)]
    pub violate_action: Action,
}

impl Default for Config {
    fn default() -> Self {
        Self::finish(Default::default()).expect("every argument has a default")
    }
}

impl Config {
    /// Colour of a packet of so many bytes that comes at `now`, in seconds, and was found to be
    /// `before`.
    #[inline(always)]
    pub(super) fn color(&self, meter: &Meter, now: f64, bytes: usize, before: Color) -> Color {
        let before = if self.color_aware { before } else { Color::Green };
        meter.take_colored(now, self.tokens(bytes), before)
    }
    /// Actions on green, yellow and red packets.
    pub fn actions(&self) -> [Action; 3] {
        [self.conform_action, self.exceed_action, self.violate_action]
    }
    /// Whether there is one rate for both buckets.
    pub fn has_one_rate(&self) -> bool {
        matches!(self.kind, Kind::OneBucket | Kind::SingleRate)
    }
    /// Parameters of its meter.
    ///
    /// # Errors
    /// What does not fit together, in words.
    pub fn profile(&self) -> Result<Profile, &'static str> {
        let committed = self.fill(self.cir, self.cb);
        let peak = self.fill(self.eir, self.eb);
        let (algorithm, excess) = match self.kind {
            Kind::OneBucket => (Algorithm::OneBucket, Fill::default()),
            Kind::SingleRate => (Algorithm::SingleRate, self.fill(self.cir, self.eb)),
            // Clients expect of RFC 4115, too, that its second rate is that of all packets.
            Kind::TwoRate | Kind::Differentiated => (Algorithm::TwoRate, peak),
            Kind::Coupled => (Algorithm::Coupled, peak),
        };
        if self.has_one_rate() && self.cir == 0 {
            return Err("cir is 0");
        }
        if self.cir == 0 && self.eir == 0 {
            return Err("cir and eir are 0");
        }
        if self.kind == Kind::TwoRate && self.eir < self.cir {
            return Err("eir is below cir");
        }
        if committed.burst == 0.0 && excess.burst == 0.0 {
            return Err("no packet conforms without a burst");
        }
        Ok(Profile { algorithm, committed, excess })
    }
    /// A bucket: tokens are bytes or packets.
    fn fill(&self, rate: u32, burst: u64) -> Fill {
        let (rate, burst) = (f64::from(rate), burst as f64);
        match self.rate {
            Unit::Kbps => Fill { rate: rate * 125.0, burst },
            Unit::Pps if burst == 0.0 => Fill { rate, burst },
            Unit::Pps => Fill { rate, burst: (rate * burst / 1000.0).max(1.0) },
        }
    }
    /// Tokens that a packet of so many bytes needs.
    #[inline(always)]
    pub fn tokens(&self, bytes: usize) -> f64 {
        match self.rate {
            Unit::Kbps => bytes as f64,
            Unit::Pps => 1.0,
        }
    }
}
