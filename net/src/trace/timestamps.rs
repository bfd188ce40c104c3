//! Timestamps of the trace: since start, as seconds since 1970, or as dates.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use control::cli::{Cli, Command, Error, Output};
use control::wall::{self, Civil};
use graph::time_of_day;
use serde::Serialize;

use crate::router::Router;

/// A way to write times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Timestamps {
    /// `00:00:50:686468` since start.
    #[default]
    Relative,
    /// `1795296539.617123`.
    Unix,
    /// `2026-11-21T20:58:59.617123Z` (RFC 3339 5.6).
    DateTime,
}

const NAMES: [(Timestamps, &str); 3] = [
    (Timestamps::Relative, "relative"),
    (Timestamps::Unix, "unix"),
    (Timestamps::DateTime, "datetime"),
];

impl fmt::Display for Timestamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NAMES.iter().filter(|(kind, _)| kind == self).try_for_each(|(_, name)| f.write_str(name))
    }
}

impl FromStr for Timestamps {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        NAMES.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind).ok_or(())
    }
}

impl Timestamps {
    /// A function that writes times, given in seconds since the router's start.
    pub fn writer(self, router: &Router) -> impl Fn(f64) -> String + use<> {
        // What the wall showed when the router's clock stood at 0.
        let start = wall::now().as_secs_f64() - router.now();
        move |at| {
            let wall = Duration::try_from_secs_f64(start + at).unwrap_or_default();
            match self {
                Self::Relative => time_of_day(at),
                Self::Unix => format!("{}.{:06}", wall.as_secs(), wall.subsec_micros()),
                Self::DateTime => {
                    let Civil { year, month, day, hour, minute, second, .. } =
                        Civil::from_unix(wall);
                    let us = wall.subsec_micros();
                    format!(
                        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z"
                    )
                }
            }
        }
    }
}

/// Set the timestamp format of traces.
#[derive(Command)]
#[command("set trace timestamp-format")]
struct Set {
    /// time since start, seconds since 1970, or dates
    #[positional]
    #[values("relative|unix|datetime")]
    format: Timestamps,
}

/// Show the timestamp format of traces.
#[derive(Command)]
#[command("show trace timestamp-format")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: Set| {
        router.insert(set.format);
        Ok(())
    });
    cli.command(|router: &mut Router, _: Show| -> Result<_, Error> {
        let format = of(router);
        let json = BTreeMap::from([("format", format)]);
        Ok(Output::both(format!("Trace timestamp format: {format}"), json))
    });
}

/// The way that was set.
pub fn of(router: &Router) -> Timestamps {
    router.state::<Timestamps>().copied().unwrap_or_default()
}
