//! Time in microseconds since a start chosen by the caller.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Point in time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// No deadline; after all other times.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates it from microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us)
    }

    /// Microseconds.
    pub const fn us(self) -> u64 {
        self.0
    }

    /// Milliseconds, modulo 2^32: the clock of timestamp options.
    #[inline]
    pub(crate) const fn ms(self) -> u32 {
        (self.0 / 1000) as u32
    }

    /// Whether this is [`Time::NEVER`].
    #[inline]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// Microseconds since `earlier`, at most 2^32 - 1; 0 if that is later.
    #[inline]
    pub(crate) fn since(self, earlier: Self) -> u32 {
        u32::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(u32::MAX)
    }
}

/// Later by microseconds.
impl Add<u64> for Time {
    type Output = Self;
    #[inline]
    fn add(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, duration: Duration) -> Self {
        self + us(duration)
    }
}

/// Time between two points; zero if the second is later.
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A duration in microseconds.
#[inline]
pub(crate) fn us(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000);
    seconds.saturating_add(u64::from(duration.subsec_micros()))
}
