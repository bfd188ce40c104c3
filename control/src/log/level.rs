//! Levels of the log (the severities of RFC 5424 6.2.1).

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// From nothing at all to everything: an entry is kept when its level is at most the class's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As a class's level: nothing is kept.
    Disabled,
    /// The router is unusable.
    Emerg,
    /// Immediate action required.
    Alert,
    /// A part is unusable.
    Crit,
    /// Something does not work.
    Error,
    /// Something may stop working.
    Warn,
    /// Normal but worth knowing.
    Notice,
    /// Explains what happened.
    Info,
    /// For developers.
    Debug,
}

const NAMES: [(Level, &str); 9] = [
    (Level::Disabled, "disabled"),
    (Level::Emerg, "emerg"),
    (Level::Alert, "alert"),
    (Level::Crit, "crit"),
    (Level::Error, "error"),
    (Level::Warn, "warn"),
    (Level::Notice, "notice"),
    (Level::Info, "info"),
    (Level::Debug, "debug"),
];

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(NAMES[*self as usize].1)
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = if text == "err" { "error" } else { text };
        NAMES.iter().find(|(_, name)| *name == text).map(|(level, _)| *level).ok_or(())
    }
}
