//! Turns of a driver's process that talks with peers over sockets. As it is notified once of
//! received data, a turn with work is followed by another.

use std::fmt;
use std::io;
use std::time::Duration;

use control::process::Wake;

/// Seconds between two attempts to do what failed.
pub const RETRY: f64 = 1.0;

/// The reason why a connection ends.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<io::Error> for Refused {
    fn from(e: io::Error) -> Self {
        Self(control::cli::io_text(&e))
    }
}

/// Work that a turn leaves.
#[derive(Debug)]
pub struct Turn<A> {
    /// There was something to do: there may be more.
    pub is_busy: bool,
    /// A connection could not be ended.
    pub has_failed: bool,
    /// Interfaces that connected again.
    pub again: Vec<A>,
}

impl<A> Default for Turn<A> {
    fn default() -> Self {
        Self { is_busy: false, has_failed: false, again: Vec::new() }
    }
}

impl<A> Turn<A> {
    /// The next turn: now if this one leaves work, else at one of some times, in seconds of the
    /// clock that reads `now`, or on received data.
    pub fn next(&self, now: f64, times: impl Iterator<Item = f64>) -> Wake {
        let again = [(self.is_busy, 0.0), (self.has_failed, RETRY)];
        let again = again.into_iter().filter(|(is_so, _)| *is_so).map(|(_, pause)| now + pause);
        match times.chain(again).min_by(f64::total_cmp) {
            Some(at) => Wake::AfterOrEvent(Duration::from_secs_f64((at - now).max(0.0))),
            None => Wake::OnEvent,
        }
    }
}
