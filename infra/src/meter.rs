//! Meters: two token buckets that fill with time decide whether a packet is within its rate.
//!
//! Tokens are bytes or packets, as the caller likes. Buckets are full at first. They are worked
//! with by one thread at a time and may be looked at by any: each number is read and stored whole,
//! and without a locked instruction.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The colour that a meter gives a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Within the committed rate.
    Green,
    /// Beyond it, within what is allowed in excess.
    Yellow,
    /// Beyond both.
    Red,
}

impl Color {
    /// All, by number.
    pub const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];
}

/// The algorithm of two buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// There is only the first: green or red.
    OneBucket,
    /// One rate, three colours (RFC 2697): what overflows the first bucket fills the second.
    SingleRate,
    /// Two rates, three colours (RFC 2698): the second, at the peak rate, limits all packets.
    TwoRate,
    /// Two rates, three colours (RFC 4115): the second holds only what is beyond the first.
    Differentiated,
    /// As RFC 4115, and what overflows the first fills the second, too (MEF 10.3, coupling flag
    /// 1).
    Coupled,
}

/// The rate and size of one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fill {
    /// Tokens a second.
    pub rate: f64,
    /// Tokens at most.
    pub burst: f64,
}

/// The profile of a meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Algorithm that couples the buckets.
    pub algorithm: Algorithm,
    /// The first bucket.
    pub committed: Fill,
    /// The second one; its rate is not looked at where there is one rate.
    pub excess: Fill,
}

/// A profile and its buckets. A clone has buckets of its own, as full as these are now.
#[derive(Clone, Debug)]
pub struct Meter {
    profile: Profile,
    committed: Cell,
    excess: Cell,
    /// Time at which they were filled last, in seconds.
    filled: Cell,
}

/// A number that one thread writes.
#[derive(Debug)]
struct Cell(AtomicU64);

impl Clone for Cell {
    fn clone(&self) -> Self {
        Self::new(self.value())
    }
}

impl Cell {
    fn new(value: f64) -> Self {
        Self(AtomicU64::new(value.to_bits()))
    }
    #[inline(always)]
    fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
    #[inline(always)]
    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }
}

impl Meter {
    /// Creates a meter whose buckets are full at `now`, in seconds.
    pub fn new(profile: Profile, now: f64) -> Self {
        let level = |fill: Fill| Cell::new(fill.burst);
        let (committed, excess) = (level(profile.committed), level(profile.excess));
        Self { profile, committed, excess, filled: Cell::new(now) }
    }
    /// Tokens in the buckets when they were filled last.
    pub fn levels(&self) -> (f64, f64) {
        (self.committed.value(), self.excess.value())
    }
    /// Time at which they were filled last, in seconds.
    pub fn filled_at(&self) -> f64 {
        self.filled.value()
    }
    /// Takes the tokens of a packet that arrives at `now`, in seconds, and returns how it was
    /// found. A red packet needs nothing.
    #[inline]
    pub fn take(&self, now: f64, tokens: f64) -> Color {
        self.take_colored(now, tokens, Color::Green)
    }
    /// As [`Meter::take`], for a packet with a color: it cannot improve (the color-aware modes of
    /// RFC 2697, 2698 and 4115).
    #[inline]
    pub fn take_colored(&self, now: f64, tokens: f64, before: Color) -> Color {
        let (mut committed, mut excess) = self.fill(now);
        let algorithm = self.profile.algorithm;
        let is_green = before == Color::Green && committed >= tokens;
        let is_within = before != Color::Red && excess >= tokens;
        let color = match algorithm {
            Algorithm::TwoRate if !is_within => Color::Red,
            _ if is_green => Color::Green,
            Algorithm::OneBucket => Color::Red,
            _ if is_within => Color::Yellow,
            _ => Color::Red,
        };
        if color == Color::Green {
            committed -= tokens;
        }
        let is_from_peak = color == Color::Green && algorithm == Algorithm::TwoRate;
        if color == Color::Yellow || is_from_peak {
            excess -= tokens;
        }
        self.committed.set(committed);
        self.excess.set(excess);
        color
    }
    /// Contents of the buckets at `now`, in units.
    #[inline(always)]
    fn fill(&self, now: f64) -> (f64, f64) {
        let (old, extra) = self.levels();
        let seconds = now - self.filled.value();
        if seconds == 0.0 {
            return (old, extra);
        }
        self.filled.set(now);
        // A clock that was set back fills nothing.
        let seconds = seconds.max(0.0);
        let Profile { algorithm, committed, excess } = &self.profile;
        let full = old + seconds * committed.rate;
        let over = (full - committed.burst).max(0.0);
        let more = match algorithm {
            Algorithm::OneBucket => 0.0,
            Algorithm::SingleRate => over,
            Algorithm::TwoRate | Algorithm::Differentiated => seconds * excess.rate,
            Algorithm::Coupled => seconds * excess.rate + over,
        };
        (full.min(committed.burst), (extra + more).min(excess.burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(algorithm: Algorithm, committed: (f64, f64), excess: (f64, f64)) -> Meter {
        let fill = |(rate, burst)| Fill { rate, burst };
        let (committed, excess) = (fill(committed), fill(excess));
        Meter::new(Profile { algorithm, committed, excess }, 0.0)
    }

    /// Colours of `count` packets of 100 tokens at `now`: green, yellow, red.
    fn colors(meter: &Meter, now: f64, count: usize) -> [usize; 3] {
        let mut found = [0; 3];
        for _ in 0..count {
            found[meter.take(now, 100.0) as usize] += 1;
        }
        found
    }

    #[test]
    fn what_was_found_before_is_found_no_better() {
        let all = [
            Algorithm::OneBucket,
            Algorithm::SingleRate,
            Algorithm::TwoRate,
            Algorithm::Differentiated,
            Algorithm::Coupled,
        ];
        for algorithm in all {
            let m = meter(algorithm, (0.0, 200.0), (0.0, 300.0));
            let take = |before| m.take_colored(0.0, 100.0, before);
            assert_eq!(take(Color::Red), Color::Red);
            assert_eq!(m.levels(), (200.0, 300.0), "red needs nothing");
            let yellow = take(Color::Yellow);
            let (committed, excess) = m.levels();
            assert_eq!(committed, 200.0, "yellow leaves the first bucket alone");
            if algorithm == Algorithm::OneBucket {
                assert_eq!((yellow, excess), (Color::Red, 300.0));
            } else {
                assert_eq!((yellow, excess), (Color::Yellow, 200.0));
            }
            assert_eq!(take(Color::Green), Color::Green);
        }
    }

    #[test]
    fn one_bucket_knows_two_colors() {
        let m = meter(Algorithm::OneBucket, (1000.0, 500.0), (0.0, 5000.0));
        assert_eq!(colors(&m, 0.0, 10), [5, 0, 5]);
        assert_eq!(colors(&m, 0.25, 10), [2, 0, 8]);
        assert_eq!(m.levels().0, 50.0, "half a packet waits");
        assert_eq!(colors(&m, 100.0, 10), [5, 0, 5], "never more than the burst");
    }

    #[test]
    fn a_single_rate_fills_the_excess_bucket_with_what_is_left_over() {
        let m = meter(Algorithm::SingleRate, (1000.0, 500.0), (0.0, 300.0));
        assert_eq!(colors(&m, 0.0, 10), [5, 3, 2]);
        assert_eq!(colors(&m, 0.5, 0), [0; 3]);
        assert_eq!(colors(&m, 0.7, 10), [5, 2, 3], "700 tokens: 500 and 200 left over");
    }

    #[test]
    fn two_rates_limit_all_packets_by_the_peak() {
        let m = meter(Algorithm::TwoRate, (1000.0, 300.0), (2000.0, 500.0));
        assert_eq!(colors(&m, 0.0, 10), [3, 2, 5]);
        assert_eq!(colors(&m, 0.1, 10), [1, 1, 8]);
        let low = meter(Algorithm::TwoRate, (1000.0, 500.0), (1000.0, 200.0));
        assert_eq!(colors(&low, 0.0, 10), [2, 0, 8], "red is decided first");
    }

    #[test]
    fn differentiated_service_counts_the_excess_apart() {
        let m = meter(Algorithm::Differentiated, (1000.0, 300.0), (2000.0, 500.0));
        assert_eq!(colors(&m, 0.0, 10), [3, 5, 2]);
        assert_eq!(colors(&m, 0.1, 10), [1, 2, 7]);
        let full = meter(Algorithm::Differentiated, (1000.0, 300.0), (0.0, 500.0));
        assert_eq!(colors(&full, 0.0, 8), [3, 5, 0]);
        assert_eq!(colors(&full, 9.0, 10), [3, 0, 7], "nothing flows over");
        let coupled = meter(Algorithm::Coupled, (1000.0, 300.0), (0.0, 500.0));
        assert_eq!(colors(&coupled, 0.0, 8), [3, 5, 0]);
        assert_eq!(colors(&coupled, 9.0, 10), [3, 5, 2]);
    }

    #[test]
    fn a_clock_set_back_fills_nothing_and_stops_nothing() {
        let m = meter(Algorithm::OneBucket, (1000.0, 500.0), (0.0, 0.0));
        assert_eq!(colors(&m, 1000.0, 5), [5, 0, 0]);
        assert_eq!(colors(&m, 10.0, 5), [0, 0, 5]);
        assert_eq!(colors(&m, 10.3, 5), [3, 0, 2]);
    }
}
