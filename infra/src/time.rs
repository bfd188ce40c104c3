//! The router's clock: the processor's time-stamp counter, calibrated, plus an offset.
//!
//! Everything that ages or expires reads this clock, so moving the offset moves all of it.
//! A reading costs one instruction and a multiplication. Where the processor has no counter of
//! constant rate, CLOCK_MONOTONIC in nanoseconds takes its place.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::cpu;

/// Duration of a measurement of the rate: two readings a few tens of ns off make it wrong by some
/// ppm.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Time since start. All clones are one clock.
#[derive(Clone, Debug)]
pub struct Clock {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    start: u64,
    hz: f64,
    seconds_per_tick: f64,
    started_at: SystemTime,
    /// Ticks to add, modulo 2^64, so that it may be negative.
    offset: AtomicU64,
}

impl Clock {
    /// A clock that now reads zero. The first one in a process takes 20 ms to calibrate.
    pub fn start() -> Self {
        let hz = hz();
        let shared = Shared {
            start: raw(),
            hz,
            seconds_per_tick: hz.recip(),
            started_at: SystemTime::now(),
            offset: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Seconds since start, plus all adjustments. Not negative.
    #[inline]
    pub fn now(&self) -> f64 {
        self.seconds(self.ticks())
    }

    /// Ticks since start, plus all adjustments; they last `1 / hz()` seconds each.
    #[inline]
    pub fn ticks(&self) -> u64 {
        let offset = self.shared.offset.load(Relaxed);
        let ticks = raw().wrapping_sub(self.shared.start).wrapping_add(offset);
        // Another CPU's counter may be a little behind the one read at start.
        ticks.cast_signed().max(0).cast_unsigned()
    }

    /// Ticks as seconds.
    #[inline]
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * self.shared.seconds_per_tick
    }

    /// Moves this clock and all its clones forward by `seconds`, or back if negative.
    pub fn adjust(&self, seconds: f64) {
        let ticks = (seconds * self.shared.hz) as i64;
        self.shared.offset.fetch_add(ticks.cast_unsigned(), Relaxed);
    }

    /// Ticks in a second.
    pub fn hz(&self) -> f64 {
        self.shared.hz
    }

    /// The time of day at which the clock read zero, without adjustments.
    pub fn started_at(&self) -> SystemTime {
        self.shared.started_at
    }
}

/// Rate of [`raw`], measured once.
fn hz() -> f64 {
    static HZ: OnceLock<f64> = OnceLock::new();
    *HZ.get_or_init(|| {
        let (ticks, ns) = reading();
        thread::sleep(CALIBRATION);
        let (later_ticks, later_ns) = reading();
        (later_ticks - ticks) as f64 * 1e9 / (later_ns - ns) as f64
    })
}

/// Counter and nanoseconds at the same moment: of several attempts the least interrupted.
fn reading() -> (u64, u64) {
    let attempt = |_| {
        let before = raw();
        let ns = monotonic_ns();
        let took = raw().saturating_sub(before);
        (took, before + took / 2, ns)
    };
    let (_, ticks, ns) = (0..16).map(attempt).min().expect("16 attempts are more than none");
    (ticks, ns)
}

#[inline(always)]
fn raw() -> u64 {
    cpu::time_stamp().unwrap_or_else(monotonic_ns)
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_pass_at_the_rate_of_the_system() {
        let clock = Clock::start();
        // The system's time before and after each reading: others may run in between.
        let reading = || (monotonic_ns(), clock.now(), monotonic_ns());
        let first = reading();
        thread::sleep(Duration::from_millis(50));
        let last = reading();

        let (took, [least, most]) =
            (last.1 - first.1, [last.0 - first.2, last.2 - first.0].map(|ns| ns as f64 / 1e9));
        assert!((least * 0.95..most * 1.05).contains(&took), "{took}, not {least} to {most}");
    }

    #[test]
    fn adjusting_moves_every_clone() {
        let clock = Clock::start();
        let other = clock.clone();

        clock.adjust(86_400.0);
        let day = thread::spawn(move || other.now()).join().unwrap();
        assert!((86_400.0..86_410.0).contains(&day), "{day}");

        clock.adjust(-86_400.0);
        assert!(clock.now() < 10.0);
    }

    #[test]
    fn time_before_the_start_reads_zero() {
        let clock = Clock::start();
        clock.adjust(-1000.0);
        assert_eq!((clock.now(), clock.ticks()), (0.0, 0));
    }
}
