//! Messages and their text (RFC 5424 section 6).

use std::fmt::Write;
use std::str::FromStr;

use control::wall::Civil;
use net::prelude::*;

use super::Severity;

/// The kind of program that an event is of, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facility(pub u8);

/// Names of the facilities by their numbers (RFC 5424 table 1).
const FACILITIES: [&str; 24] = [
    "kernel", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "clock",
    "authpriv", "ftp", "ntp", "audit", "alert", "cron", "local0", "local1", "local2", "local3",
    "local4", "local5", "local6", "local7",
];

/// The same in the words of that table; those of some numbers are the same.
const LONG: [(&str, u8); 13] = [
    ("kern", 0),
    ("user-level", 1),
    ("mail-system", 2),
    ("system-daemons", 3),
    ("security-authorization", 4),
    ("syslogd", 5),
    ("line-printer", 6),
    ("network-news", 7),
    ("clock-daemon", 9),
    ("ftp-daemon", 11),
    ("ntp-subsystem", 12),
    ("log-audit", 13),
    ("log-alert", 14),
];

impl FromStr for Facility {
    type Err = ();

    /// Reads a name, such as `local0` or `mail-system`.
    fn from_str(word: &str) -> Result<Self, ()> {
        let short = FACILITIES.iter().position(|name| *name == word).map(|at| at as u8);
        let long = || LONG.iter().find(|(name, _)| *name == word).map(|(_, at)| *at);
        short.or_else(long).map(Self).ok_or(())
    }
}

impl Facility {
    /// Other daemons.
    pub const DAEMON: Self = Self(3);
    /// The first of those for local use.
    pub const LOCAL0: Self = Self(16);
}

/// An element of structured data: its name and parameters.
#[derive(Clone)]
pub struct Structured<'a> {
    /// The name, such as `nat@1`.
    pub id: &'a str,
    /// Names and values.
    pub parameters: &'a [(&'a str, &'a dyn fmt::Display)],
}

/// An event.
#[derive(Clone)]
pub struct Message<'a> {
    /// Of which kind of program.
    pub facility: Facility,
    /// Its severity.
    pub severity: Severity,
    /// The application; empty for none.
    pub application: &'a str,
    /// The kind of message, such as `SADD`; empty for none.
    pub id: &'a str,
    /// Structured data.
    pub data: &'a [Structured<'a>],
    /// The text; empty for none.
    pub text: &'a str,
}

impl Message<'_> {
    /// The message as it is sent by a host at a time since 1970.
    pub fn text(&self, host: Ipv4Addr, time: Duration, process: u32) -> String {
        let mut out = String::new();
        let _ = self.write(&mut out, host, time, process);
        out
    }
    fn write(&self, out: &mut String, host: Ipv4Addr, time: Duration, process: u32) -> fmt::Result {
        let priority = u32::from(self.facility.0) * 8 + self.severity as u32;
        let Civil { year, month, day, hour, minute, second, .. } = Civil::from_unix(time);
        let micros = time.subsec_micros();
        write!(out, "<{priority}>1 {year:04}-{month:02}-{day:02}")?;
        write!(out, "T{hour:02}:{minute:02}:{second:02}.{micros:06}Z {host}")?;
        write!(out, " {} {process} {} ", name(self.application), name(self.id))?;
        if self.data.is_empty() {
            out.push('-');
        }
        for Structured { id, parameters } in self.data {
            write!(out, "[{id}")?;
            for (name, value) in *parameters {
                write!(out, " {name}=\"")?;
                for c in value.to_string().chars() {
                    if "\"\\]".contains(c) {
                        out.push('\\');
                    }
                    out.push(c);
                }
                out.push('"');
            }
            out.push(']');
        }
        if !self.text.is_empty() {
            write!(out, " {}", self.text)?;
        }
        Ok(())
    }
}

/// A name, or the sign for none.
fn name(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}
