//! A bound on the entries of one class in a second.

use std::time::Duration;

/// Counts entries of the current second and those cut off.
#[derive(Default)]
pub(super) struct Throttle {
    start: Duration,
    count: u32,
    missed: u32,
}

/// Whether an entry may be logged.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Yes; `missed` entries before it were not.
    Pass { missed: u32 },
    /// No.
    Drop,
}

impl Throttle {
    /// At most `rate` entries a second; a class that wants more is cut off for `pause`.
    pub fn ask(&mut self, now: Duration, rate: u32, pause: Duration) -> Verdict {
        let window = if self.missed > 0 { pause } else { Duration::from_secs(1) };
        // A clock set back starts a new window too.
        if now < self.start || now - self.start >= window {
            let missed = self.missed;
            *self = Self { start: now, count: 1, missed: 0 };
            return Verdict::Pass { missed };
        }
        if self.count >= rate {
            self.missed = self.missed.saturating_add(1);
            return Verdict::Drop;
        }
        self.count += 1;
        Verdict::Pass { missed: 0 }
    }
}
