//! `monitor interface`: rates of an interface, repeatedly.

use std::fmt;
use std::time::Duration;

use control::cli::{Cli, Command, Error, Output, Step, Task, Word};
use serde::Serialize;

use super::{InterfaceIndex, Traffic, find};
use crate::router::Router;

/// Shortest time between two lines.
const SHORTEST: f64 = 0.01;

/// Show an interface's receive and transmit rates every second, until stopped.
#[derive(Command)]
#[command("monitor interface")]
struct Monitor {
    /// interface
    #[positional]
    interface: Word,
    /// seconds between lines; default 1
    interval: Option<f64>,
    /// number of lines; default no limit
    count: Option<u32>,
}

/// A `monitor interface` in progress.
struct Watch {
    index: InterfaceIndex,
    interval: Duration,
    /// Lines to come; `None` for no end.
    left: Option<u32>,
    /// Time of the last line, and traffic received and sent until then.
    last: Option<(f64, Traffic, Traffic)>,
}

impl Task<Router> for Watch {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if router.interfaces.at(self.index).is_none() {
            return Step::Done(Err(Error::new("the interface was deleted")));
        }
        let (now, values) = (router.now(), router.interfaces.values(self.index));
        if let Some((then, rx, tx)) = self.last.replace((now, values.rx, values.tx)) {
            let seconds = (now - then).max(SHORTEST);
            let rx = Rate::between(rx, values.rx, seconds);
            out.append(Output::of(Line { rx, tx: Rate::between(tx, values.tx, seconds) }));
            self.left = self.left.map(|left| left - 1);
        }
        if self.left == Some(0) { Step::Done(Ok(())) } else { Step::Sleep(self.interval) }
    }
}

/// Traffic in a second.
#[derive(Serialize)]
struct Rate {
    packets: f64,
    bits: f64,
}

impl Rate {
    fn between(then: Traffic, now: Traffic, seconds: f64) -> Self {
        // Counters cleared meanwhile restart.
        let moved = |then: u64, now: u64| now.checked_sub(then).unwrap_or(now) as f64 / seconds;
        let packets = moved(then.packets, now.packets);
        Self { packets, bits: 8.0 * moved(then.bytes, now.bytes) }
    }
}

/// A line of the list.
#[derive(Serialize)]
struct Line {
    rx: Rate,
    tx: Rate,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rx, tx } = self;
        write!(f, "rx: {}pps {}bps  ", short(rx.packets), short(rx.bits))?;
        writeln!(f, "tx: {}pps {}bps", short(tx.packets), short(tx.bits))
    }
}

/// A number with two decimals and a letter for its magnitude.
fn short(number: f64) -> String {
    let letters = [(1e9, "G"), (1e6, "M"), (1e3, "K")];
    let (unit, letter) = letters.into_iter().find(|(unit, _)| number >= *unit).unwrap_or((1.0, ""));
    format!("{:.2}{letter}", number / unit)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, c: Monitor| {
        let index = find(router, &c.interface)?;
        let interval = c.interval.unwrap_or(1.0);
        let time = Duration::try_from_secs_f64(interval).ok().filter(|_| interval >= SHORTEST);
        let interval = time.ok_or_else(|| Error::new(format!("invalid interval `{interval}'")))?;
        if c.count == Some(0) {
            return Err(Error::new("invalid count `0'"));
        }
        Ok(Box::new(Watch { index, interval, left: c.count, last: None }))
    });
}

#[cfg(test)]
mod tests {
    use crate::ip::testing::Bench;

    #[test]
    fn what_passes_is_shown_line_by_line() {
        let mut bench = Bench::new();
        let text = bench.run("monitor interface pg0 interval 0.01 count 2").unwrap();
        let line = "rx: 0.00pps 0.00bps  tx: 0.00pps 0.00bps\n";
        assert_eq!(text, line.repeat(2));
        assert_eq!(super::short(1_234_567.0), "1.23M");
        for (line, error) in [
            ("pg0 interval 0", "invalid interval `0'"),
            ("pg0 count 0", "invalid count `0'"),
            ("nosuch", "unknown interface `nosuch'"),
        ] {
            let text = bench.run(&format!("monitor interface {line}")).unwrap_err();
            assert_eq!(text, format!("monitor interface: {error}\n"));
        }
    }
}
