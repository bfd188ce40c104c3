//! Wall-clock time as dates, UTC.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Time since 1970-01-01 00:00:00 UTC; zero if the machine's clock is before that.
#[allow(clippy::disallowed_methods, reason = "wall time is what this is for")]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Processor time that all threads of the process have used.
pub fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
}

/// A date and time of day in the proleptic Gregorian calendar, UTC. Prints as in RFC 9110 5.6.7:
/// `Sat, 21 Nov 2026 20:58:59 GMT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, such as 2026.
    pub year: u64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999.
    pub millisecond: u16,
    weekday: u8,
}

impl Civil {
    /// The date of a time since 1970-01-01 00:00:00 UTC.
    pub fn from_unix(time: Duration) -> Self {
        let (days, seconds) = (time.as_secs() / 86_400, time.as_secs() % 86_400);
        // Years counted from March put the leap day last.
        let from_march_0000 = days + 719_468;
        let (era, day_of_era) = (from_march_0000 / 146_097, from_march_0000 % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            millisecond: time.subsec_millis() as u16,
            weekday: (days % 7) as u8,
        }
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weekday = WEEKDAYS[usize::from(self.weekday)];
        let month = MONTHS[usize::from(self.month - 1)];
        write!(f, "{weekday}, {:02} {month} {}", self.day, self.year)?;
        write!(f, " {:02}:{:02}:{:02} GMT", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(seconds: u64) -> String {
        Civil::from_unix(Duration::from_secs(seconds)).to_string()
    }

    #[test]
    fn dates_are_right_at_the_edges() {
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(date(1_795_294_739), "Sat, 21 Nov 2026 20:58:59 GMT");
        assert_eq!(date(4_107_542_399), "Sun, 28 Feb 2100 23:59:59 GMT");
        assert_eq!(date(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
    }
}
