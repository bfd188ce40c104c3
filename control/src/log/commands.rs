//! `show logging`, `show logging configuration`, `set logging …`, `clear logging`.

use std::fmt;

use serde::Serialize;

use super::{ClassLevel, DEFAULT_RATE, Level, Log};
use crate::cli::{Cli, Command, Error, Output, Print, Word};
use crate::configuration::Lines;

/// Show the log.
#[derive(Command)]
#[command("show logging")]
struct Show;

/// Show log levels and the number of entries kept.
#[derive(Command)]
#[command("show logging configuration")]
struct ShowConfiguration;

/// Clear the log.
#[derive(Command)]
#[command("clear logging")]
struct Clear;

/// Set the number of log entries kept.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set logging size")]
#[undo("=set logging size default")]
#[stage(Objects)]
struct SetSize {
    /// value from the startup configuration
    default: bool,
    /// number of entries
    #[positional]
    size: Option<usize>,
}

/// Set how long a class that logs too much is silenced.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set logging unthrottle-time")]
#[undo("=set logging unthrottle-time default")]
#[stage(Objects)]
struct SetUnthrottleTime {
    /// value from the startup configuration
    default: bool,
    /// seconds
    #[positional]
    seconds: Option<u32>,
}

/// Set the log level of a class.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set logging class")]
#[stage(Objects)]
struct SetClass {
    /// class or class/subclass
    #[positional]
    #[values("log-class")]
    class: Word,
    /// entries per second
    rate_limit: Option<u32>,
    /// minimum severity kept in memory
    #[values("disabled|emerg|alert|crit|error|warn|notice|info|debug")]
    level: Option<Level>,
    /// minimum severity sent to the system log
    #[values("disabled|emerg|alert|crit|error|warn|notice|info|debug")]
    syslog_level: Option<Level>,
    /// accepted; nothing is sent to the kernel log
    #[values("disabled|emerg|alert|crit|error|warn|notice|info|debug")]
    #[keyword("kmsg-level")]
    _kmsg_level: Option<Level>,
}

/// Write a log entry.
#[derive(Command)]
#[command("test log")]
struct TestLog {
    /// severity
    #[positional]
    #[values("emerg|alert|crit|error|warn|notice|info|debug")]
    level: Level,
    /// class
    #[positional]
    class: Word,
    /// subclass
    #[positional]
    subclass: Word,
    /// text of the entry
    #[rest]
    text: String,
}

#[derive(Serialize)]
struct Configuration {
    size: usize,
    level: Level,
    syslog_level: Level,
    rate_limit: u32,
    classes: Vec<ClassRow>,
}

#[derive(Serialize)]
struct ClassRow {
    class: &'static str,
    subclass: &'static str,
    level: Level,
    syslog_level: Level,
    rate_limit: u32,
}

impl Log {
    /// Adds the settings since the start.
    pub fn configuration(&self, lines: &mut Lines<'_>) {
        let ring = self.0.borrow();
        if ring.size != ring.first_size {
            lines.push(&SetSize { default: false, size: Some(ring.size) });
        }
        if ring.unthrottle_time != ring.first_unthrottle_time {
            let seconds = Some(ring.unthrottle_time);
            lines.push(&SetUnthrottleTime { default: false, seconds });
        }
        for class in ring.classes.iter().filter(|class| class.set != class.first) {
            let ClassLevel { level, syslog_level, rate_limit } = class.set.clone();
            let first = &class.first;
            lines.push(&SetClass {
                class: Word::from(&*format!("{}/{}", class.name, class.subclass)),
                rate_limit: rate_limit.filter(|rate| Some(*rate) != first.rate_limit),
                level: level.filter(|level| Some(*level) != first.level),
                syslog_level: syslog_level.filter(|level| Some(*level) != first.syslog_level),
                _kmsg_level: None,
            });
        }
    }

    /// Adds the commands that show and set this log.
    pub fn register<C: 'static>(&self, cli: &mut Cli<C>) {
        let log = self.clone();
        cli.command(move |_, _: Show| Ok(Output::list(log.entries())));
        let log = self.clone();
        cli.command(move |_, _: ShowConfiguration| Ok(Output::of(log.shown())));
        let log = self.clone();
        cli.command(move |_, _: Clear| {
            log.clear();
            Ok(())
        });
        let log = self.clone();
        cli.values("log-class", move |_| {
            let ring = log.0.borrow();
            let names = ring.classes.iter().flat_map(|class| {
                [class.name.to_owned(), format!("{}/{}", class.name, class.subclass)]
            });
            let names: std::collections::BTreeSet<_> = names.collect();
            names.into_iter().collect()
        });
        let log = self.clone();
        cli.command(move |_, set: SetSize| {
            let mut ring = log.0.borrow_mut();
            let size =
                if set.default { ring.first_size } else { set.size.ok_or("missing size")? };
            ring.resize(size);
            Ok::<_, Error>(())
        });
        let log = self.clone();
        cli.command(move |_, set: SetUnthrottleTime| {
            let mut ring = log.0.borrow_mut();
            ring.unthrottle_time = match set.default {
                true => ring.first_unthrottle_time,
                false => set.seconds.ok_or("missing seconds")?,
            };
            Ok::<_, Error>(())
        });
        let log = self.clone();
        cli.command(move |_, set: SetClass| {
            let SetClass { class, rate_limit, level, syslog_level, .. } = set;
            let change = ClassLevel { level, syslog_level, rate_limit };
            let changed = log.0.borrow_mut().set_class(&class, &change);
            if changed == 0 { Err(class.unknown("log class")) } else { Ok(()) }
        });
        let log = self.clone();
        cli.command(move |_, TestLog { level, class, subclass, text }: TestLog| {
            let found = log.find(&class, &subclass).ok_or_else(|| class.unknown("log class"))?;
            if level == Level::Disabled {
                return Err(Error::new("`disabled' is not the severity of an entry"));
            }
            found.log(level, text);
            Ok(())
        });
    }

    fn shown(&self) -> Configuration {
        let ring = self.0.borrow();
        let row = |class: &super::Class| ClassRow {
            class: class.name,
            subclass: class.subclass,
            level: class.set.level.unwrap_or(ring.level),
            syslog_level: class.set.syslog_level.unwrap_or(ring.syslog_level),
            rate_limit: class.set.rate_limit.unwrap_or(DEFAULT_RATE),
        };
        Configuration {
            size: ring.size,
            level: ring.level,
            syslog_level: ring.syslog_level,
            rate_limit: DEFAULT_RATE,
            classes: ring.classes.iter().map(row).collect(),
        }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Buffer Size:         {} entries", self.size)?;
        writeln!(f, "Defaults:")?;
        writeln!(f, "  Log Level:         {}", self.level)?;
        writeln!(f, "  Syslog Log Level:  {}", self.syslog_level)?;
        writeln!(f, "  Kmsg Log Level:    disabled")?;
        writeln!(f, "  Rate Limit:        {} msgs/sec\n", self.rate_limit)?;
        writeln!(
            f,
            "Class/Subclass         Level          Syslog Level   Kmsg Log Level Rate Limit"
        )?;
        for (index, row) in self.classes.iter().enumerate() {
            if self.classes[..index].iter().any(|c| c.class == row.class) {
                continue;
            }
            writeln!(f, "{}", row.class)?;
            for row in self.classes[index..].iter().filter(|c| c.class == row.class) {
                let ClassRow { subclass, level, syslog_level, rate_limit, .. } = row;
                write!(f, "  {subclass:<20} {level:<14} {syslog_level:<14} ")?;
                writeln!(f, "{:<14} {rate_limit}", "disabled")?;
            }
        }
        Ok(())
    }
}
