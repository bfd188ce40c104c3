//! Times of the week: ranges in seconds since the night to Sunday.

use std::time::Duration;

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Seconds of a week.
pub const WEEK: f64 = 7.0 * DAY;
/// The day of the week of 1970-01-01, Sunday being 0: a Thursday.
const FIRST_DAY: f64 = 4.0;

/// A range, its end not in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Start.
    pub start: f64,
    /// Its end; not after its start when the week ends within it.
    pub end: f64,
}

impl Range {
    /// Whether both are times of the week.
    pub fn is_valid(&self) -> bool {
        let of_week = |time: f64| (0.0..=WEEK).contains(&time);
        of_week(self.start) && of_week(self.end)
    }
    /// Whether a time of the week is in it.
    pub fn has(&self, time: f64) -> bool {
        if self.start < self.end {
            (self.start..self.end).contains(&time)
        } else {
            time >= self.start || time < self.end
        }
    }
}

/// The time of the week, `hours` from UTC.
pub fn time_of_week(unix: Duration, hours: f64) -> f64 {
    (unix.as_secs_f64() + FIRST_DAY * DAY + hours * 3600.0).rem_euclid(WEEK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_week_begins_with_sunday() {
        assert_eq!(time_of_week(Duration::ZERO, 0.0), 4.0 * DAY);
        // 2026-11-24 12:00:00 UTC, a Tuesday.
        let tuesday = Duration::from_secs(1_795_521_600);
        assert_eq!(time_of_week(tuesday, 0.0), 2.5 * DAY);
        assert_eq!(time_of_week(tuesday, -5.0), 2.5 * DAY - 18_000.0);
        assert_eq!(time_of_week(Duration::from_secs(3 * 86_400), -1.0), WEEK - 3600.0);
    }

    #[test]
    fn a_range_may_go_over_the_end_of_the_week() {
        let night = Range { start: WEEK - 3600.0, end: 3600.0 };
        assert!(night.has(WEEK - 1.0) && night.has(0.0) && !night.has(3600.0));
        let day = Range { start: 100.0, end: 200.0 };
        assert!(day.has(100.0) && !day.has(200.0) && !day.has(99.0));
        assert!(day.is_valid() && !Range { start: -1.0, ..day }.is_valid());
        assert!(!Range { end: f64::NAN, ..day }.is_valid());
    }
}
