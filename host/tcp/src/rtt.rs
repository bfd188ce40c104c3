//! Round-trip time and retransmission timeout (RFC 6298), in microseconds.

use crate::time::us;
use crate::{Config, Time};

/// Clock granularity for timeouts.
const GRANULARITY_US: u32 = 1000;
/// Window of the minimum round-trip time (not specified in RFC 8985; as in Linux).
const MIN_WINDOW_US: u32 = 300_000_000;

/// Estimate of the round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rtt {
    /// Smoothed round-trip time; 0 before the first sample.
    pub(crate) smoothed: u32,
    /// Mean deviation.
    pub(crate) variation: u32,
    /// Retransmission timeout without backoff.
    pub(crate) timeout: u32,
}

impl Rtt {
    pub(crate) fn new(config: &Config) -> Self {
        let timeout = us(config.rto_initial).min(u64::from(u32::MAX)) as u32;
        Self { smoothed: 0, variation: 0, timeout }
    }

    /// Adds a measured round-trip time.
    #[inline]
    pub(crate) fn add(&mut self, sample: u32, config: &Config) {
        let sample = sample.max(1);
        if self.smoothed == 0 {
            self.smoothed = sample;
            self.variation = sample / 2;
        } else {
            let deviation = self.smoothed.abs_diff(sample);
            self.variation =
                (u64::from(self.variation) * 3 + u64::from(deviation)).div_ceil(4) as u32;
            self.smoothed = (u64::from(self.smoothed) * 7 + u64::from(sample)).div_ceil(8) as u32;
        }
        let margin = self.variation.saturating_mul(4).max(GRANULARITY_US);
        let timeout = u64::from(self.smoothed) + u64::from(margin);
        let (least, most) = (us(config.rto_min), us(config.rto_max));
        self.timeout = timeout.max(least).min(most) as u32;
    }
}

/// Minimum round-trip time of the last minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Least {
    us: u32,
    at: Time,
}

impl Least {
    #[inline]
    pub(crate) fn add(&mut self, sample: u32, now: Time) {
        if self.us == 0 || sample <= self.us || now.since(self.at) > MIN_WINDOW_US {
            *self = Self { us: sample.max(1), at: now };
        }
    }

    /// Microseconds; 0 before the first sample.
    #[inline]
    pub(crate) fn us(self) -> u32 {
        self.us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_and_those_that_follow() {
        let config = Config::default();
        let mut rtt = Rtt::new(&config);
        assert_eq!(rtt.timeout, 1_000_000);
        rtt.add(400_000, &config);
        // RFC 6298 section 2.2: R, R/2, R + 4 * R/2.
        assert_eq!((rtt.smoothed, rtt.variation, rtt.timeout), (400_000, 200_000, 1_200_000));
        rtt.add(800_000, &config);
        // Section 2.3: 3/4 of 200 ms and 1/4 of 400 ms; 7/8 of 400 ms and 1/8 of 800 ms.
        assert_eq!((rtt.smoothed, rtt.variation, rtt.timeout), (450_000, 250_000, 1_450_000));
    }

    #[test]
    fn timeouts_stay_in_their_bounds() {
        let config = Config::default();
        let mut rtt = Rtt::new(&config);
        (0..100).for_each(|_| rtt.add(50, &config));
        assert_eq!(rtt.timeout, 200_000);
        (0..100).for_each(|_| rtt.add(u32::MAX, &config));
        assert_eq!(rtt.timeout, 60_000_000);
    }

    #[test]
    fn the_least_round_trip_is_forgotten_after_minutes() {
        let mut least = Least::default();
        least.add(100, Time::from_us(0));
        least.add(200, Time::from_us(299_000_000));
        assert_eq!(least.us(), 100);
        least.add(200, Time::from_us(301_000_000));
        assert_eq!(least.us(), 200);
    }
}
