//! `logging { size 512 default-log-level notice class ip4 { rate-limit 100 level debug } }`.

use super::stanza::{Error, Section, block};
use crate::cli::Args;
use crate::log::Level;

/// Settings of the log: levels, and entries kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logging {
    /// Entries kept in memory.
    pub size: Option<usize>,
    /// Seconds after which a class that was cut off may log again.
    pub unthrottle_time: Option<u32>,
    /// Entries of this level and the more severe ones are kept.
    pub default_log_level: Option<Level>,
    /// Entries of this level and the more severe ones go to the system's log.
    pub default_syslog_log_level: Option<Level>,
    /// For single classes, by `class` or `class/subclass`.
    pub classes: Vec<(String, ClassLevel)>,
}

/// The level of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassLevel {
    /// Minimum severity kept in memory.
    pub level: Option<Level>,
    /// Minimum severity sent to the system log.
    pub syslog_level: Option<Level>,
    /// Entries per second.
    pub rate_limit: Option<u32>,
}

impl Section for Logging {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "size" => self.size = Some(args.value(word)?),
            "unthrottle-time" | "nthrottle-time" => self.unthrottle_time = Some(args.value(word)?),
            "default-log-level" => self.default_log_level = Some(args.value(word)?),
            "default-syslog-log-level" => self.default_syslog_log_level = Some(args.value(word)?),
            "add-to-elog" => {}
            "default-kmsg-log-level" => drop(args.value::<Level>(word)?),
            "class" => {
                let name = args.value(word)?;
                let mut class = ClassLevel::default();
                super::stanza::read(&mut block(args, word)?, &mut class)?;
                self.classes.push((name, class));
            }
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

impl Section for ClassLevel {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "level" => self.level = Some(args.value(word)?),
            "syslog-level" => self.syslog_level = Some(args.value(word)?),
            "kmsg-level" => drop(args.value::<Level>(word)?),
            "rate-limit" => self.rate_limit = Some(args.value(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}
