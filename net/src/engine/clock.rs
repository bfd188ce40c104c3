//! `show clock` and `set clock adjust`: the router's time, which every timer follows.

use std::fmt;
use std::time::Duration;

use control::cli::{Cli, Command, Error, Output};
use control::wall::{self, Civil};
use serde::Serialize;

use super::no_answer;
use crate::router::Router;

/// End of the clock, in seconds: some thirty years.
const END: f64 = 1e9;

/// Show the router's clock.
#[derive(Command)]
#[command("show clock")]
struct ShowClock {
    /// accepted; the output is the same
    verbose: bool,
}

/// Advance the router's clock and all timers.
#[derive(Command)]
#[command("set clock adjust")]
struct SetClockAdjust {
    /// seconds to advance
    #[positional]
    seconds: f64,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowClock| {
        let _ = show.verbose;
        let infos = router.engine.thread_infos();
        let threads = infos.iter().map(|thread| (thread.id, router.now())).collect();
        Ok(Output::of(Clock { now: router.now(), wall: wall::now(), threads }))
    });
    cli.command(|router, set: SetClockAdjust| {
        let seconds = set.seconds;
        if !seconds.is_finite() {
            return Err(Error::new("seconds must be a finite number"));
        }
        if seconds < 0.0 {
            return Err(Error::new(format!("the clock cannot go back by {seconds}")));
        }
        let most = END - router.now();
        if seconds > most {
            let text = format!(
                "at most {most:.0} seconds, not {seconds:e}: the clock would \
                overflow"
            );
            return Err(Error::new(text));
        }
        // What waits for a time that is skipped is done before the answer: who asked relies on it.
        router.run_due();
        router.engine.clock().adjust(seconds);
        router.processes.clock_moved();
        router.run_due();
        router.engine.fence().map_err(no_answer)?;
        router.note(format_args!("clock moved by {seconds} s"));
        Ok(())
    });
}

#[derive(Serialize)]
struct Clock {
    now: f64,
    wall: Duration,
    /// One clock for all, read in turn.
    threads: Vec<(usize, f64)>,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Time now {:.6}, {}", self.now, Civil::from_unix(self.wall))?;
        for (thread, now) in &self.threads {
            writeln!(f, "{thread}: Time now {now:.6}")?;
            writeln!(f, "Thread {thread} offset 0.000000000 error 0.000000000")?;
        }
        Ok(())
    }
}
