//! The log of the control plane: a ring in memory, copied to a file and to standard error.
//!
//! Entries belong to a class and subclass, each with its own level and rate limit. The data plane
//! never logs; it counts.

mod classes;
mod commands;
mod level;
mod throttle;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use serde::{Serialize, Serializer};

pub use level::Level;

use crate::config::{ClassLevel, Logging};
use crate::wall::{self, Civil};
use throttle::{Throttle, Verdict};

/// Bytes of an entry's text at most.
const LONGEST: usize = 64 << 10;
/// Entries kept when nothing else is configured.
const DEFAULT_SIZE: usize = 512;
/// Entries a second of one class when nothing else is configured.
const DEFAULT_RATE: u32 = 50;
/// Entries a second of a class without a limit, as clients see it.
const UNLIMITED_RATE: u32 = i32::MAX as u32;
/// Seconds a class is cut off for when nothing else is configured.
const DEFAULT_UNTHROTTLE: u32 = 3;

/// The log. Clones are the same log.
#[derive(Clone)]
pub struct Log(Rc<RefCell<Ring>>);

/// The log seen from one class.
#[derive(Clone)]
pub struct Logger {
    log: Log,
    class: usize,
}

/// One line of the log. Prints as `show logging` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Time since 1970-01-01 UTC.
    #[serde(serialize_with = "as_seconds")]
    pub time: Duration,
    /// Severity.
    pub level: Level,
    /// `class/subclass`.
    pub class: String,
    /// The event.
    pub text: String,
}

struct Ring {
    entries: VecDeque<Entry>,
    size: usize,
    unthrottle_time: u32,
    /// Before any setting.
    first_size: usize,
    first_unthrottle_time: u32,
    level: Level,
    syslog_level: Level,
    classes: Vec<Class>,
    /// Settings for classes that do not exist yet.
    configured: Vec<(String, ClassLevel)>,
    file: Option<File>,
}

struct Class {
    name: &'static str,
    subclass: &'static str,
    set: ClassLevel,
    /// Before any setting.
    first: ClassLevel,
    throttle: Throttle,
}

impl Log {
    /// An empty log that is copied to standard error only.
    pub fn new() -> Self {
        let mut ring = Ring {
            entries: VecDeque::new(),
            size: DEFAULT_SIZE,
            unthrottle_time: DEFAULT_UNTHROTTLE,
            first_size: DEFAULT_SIZE,
            first_unthrottle_time: DEFAULT_UNTHROTTLE,
            level: Level::Notice,
            syslog_level: Level::Warn,
            classes: Vec::new(),
            configured: Vec::new(),
            file: None,
        };
        for (name, subclasses) in classes::KNOWN {
            for subclass in *subclasses {
                let class = ring.add_class(name, subclass);
                let is_unlimited = classes::UNLIMITED.contains(&(name, subclass));
                ring.classes[class].set.rate_limit = is_unlimited.then_some(UNLIMITED_RATE);
                ring.classes[class].first = ring.classes[class].set.clone();
            }
        }
        Self(Rc::new(RefCell::new(ring)))
    }

    /// Applies `logging { … }`.
    pub fn configure(&self, config: &Logging) {
        let mut ring = self.0.borrow_mut();
        ring.level = config.default_log_level.unwrap_or(ring.level);
        ring.syslog_level = config.default_syslog_log_level.unwrap_or(ring.syslog_level);
        ring.unthrottle_time = config.unthrottle_time.unwrap_or(ring.unthrottle_time);
        if let Some(size) = config.size {
            ring.resize(size);
        }
        for (name, set) in &config.classes {
            ring.set_class(name, set);
            ring.configured.push((name.clone(), set.clone()));
        }
        (ring.first_size, ring.first_unthrottle_time) = (ring.size, ring.unthrottle_time);
        ring.classes.iter_mut().for_each(|class| class.first = class.set.clone());
    }

    /// Appends all entries from now on to a file.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        self.0.borrow_mut().file = Some(file);
        Ok(())
    }

    /// A part of the program that logs, made known when asked for first.
    pub fn class(&self, name: &'static str, subclass: &'static str) -> Logger {
        let mut ring = self.0.borrow_mut();
        let known = ring.classes.iter().position(|c| (c.name, c.subclass) == (name, subclass));
        let class = known.unwrap_or_else(|| ring.add_class(name, subclass));
        Logger { log: self.clone(), class }
    }

    /// An existing class, by name.
    fn find(&self, name: &str, subclass: &str) -> Option<Logger> {
        let ring = self.0.borrow();
        let class = ring.classes.iter().position(|c| (c.name, c.subclass) == (name, subclass))?;
        Some(Logger { log: self.clone(), class })
    }

    /// A copy of all entries, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.borrow().entries.iter().cloned().collect()
    }

    /// Forgets all entries.
    pub fn clear(&self) {
        self.0.borrow_mut().entries.clear();
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Logger {
    /// Something does not work.
    pub fn error(&self, text: impl Display) {
        self.log(Level::Error, text);
    }

    /// Something will not work, or not well.
    pub fn warn(&self, text: impl Display) {
        self.log(Level::Warn, text);
    }

    /// Something an operator wants to know.
    pub fn notice(&self, text: impl Display) {
        self.log(Level::Notice, text);
    }

    /// Something that explains what happened.
    pub fn info(&self, text: impl Display) {
        self.log(Level::Info, text);
    }

    /// Something for developers.
    pub fn debug(&self, text: impl Display) {
        self.log(Level::Debug, text);
    }

    /// Adds an entry if the class's level and rate allow it. `text` is not formatted otherwise.
    pub fn log(&self, level: Level, text: impl Display) {
        self.log.0.borrow_mut().log(self.class, level, &text, wall::now());
    }
}

impl Ring {
    fn add_class(&mut self, name: &'static str, subclass: &'static str) -> usize {
        let full = format!("{name}/{subclass}");
        let applies = |(to, _): &&(String, ClassLevel)| *to == full || to == name;
        let mut set = ClassLevel::default();
        for (_, configured) in self.configured.iter().filter(applies) {
            set.take(configured);
        }
        let first = set.clone();
        self.classes.push(Class { name, subclass, set, first, throttle: Throttle::default() });
        self.classes.len() - 1
    }

    /// Changes all classes called `name` or `name/subclass`; returns how many.
    fn set_class(&mut self, name: &str, set: &ClassLevel) -> usize {
        let (class, subclass) =
            name.split_once('/').map_or((name, None), |(class, sub)| (class, Some(sub)));
        let is_it =
            |c: &&mut Class| c.name == class && subclass.is_none_or(|sub| sub == c.subclass);
        let changed = self.classes.iter_mut().filter(is_it);
        changed.map(|class| class.set.take(set)).count()
    }

    fn resize(&mut self, size: usize) {
        self.size = size.max(1);
        let surplus = self.entries.len().saturating_sub(self.size);
        self.entries.drain(..surplus);
    }

    fn log(&mut self, class: usize, level: Level, text: &dyn Display, now: Duration) {
        let known = &mut self.classes[class];
        let keep = level <= known.set.level.unwrap_or(self.level);
        let print = level <= known.set.syslog_level.unwrap_or(self.syslog_level);
        if !keep && !print {
            return;
        }
        let rate = known.set.rate_limit.unwrap_or(DEFAULT_RATE);
        let pause = Duration::from_secs(self.unthrottle_time.into());
        let missed = match known.throttle.ask(now, rate, pause) {
            Verdict::Pass { missed } => missed,
            Verdict::Drop => return,
        };
        let class = format!("{}/{}", known.name, known.subclass);
        if missed > 0 {
            let text = format!("{missed} messages were not logged because of the rate limit");
            let entry = Entry { time: now, level: Level::Warn, class: class.clone(), text };
            self.put(entry, keep, print);
        }
        self.put(Entry { time: now, level, class, text: plain(text.to_string()) }, keep, print);
    }

    fn put(&mut self, entry: Entry, keep: bool, print: bool) {
        if print {
            // Standard error is closed: nowhere to report this.
            let _ = writeln!(io::stderr(), "{entry}");
        }
        if !keep {
            return;
        }
        if let Some(file) = &mut self.file
            && writeln!(file, "{entry}").is_err()
        {
            self.file = None;
        }
        if self.entries.len() == self.size {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }
}

impl ClassLevel {
    /// Applies the levels and limits that `from` sets.
    fn take(&mut self, from: &Self) {
        self.level = from.level.or(self.level);
        self.syslog_level = from.syslog_level.or(self.syslog_level);
        self.rate_limit = from.rate_limit.or(self.rate_limit);
    }
}

/// Text of an entry, without control characters: after an end of line it is indented, so that no
/// peer writes entries of its own.
fn plain(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST));
    if !text.contains(char::is_control) {
        return text;
    }
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let lines = text.lines().map(|line| line.chars().map(plain).collect::<String>());
    lines.collect::<Vec<_>>().join("\n  ")
}

impl Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = Civil::from_unix(self.time);
        write!(f, "{}/{:02}/{:02} ", t.year, t.month, t.day)?;
        write!(f, "{:02}:{:02}:{:02}:{:03} ", t.hour, t.minute, t.second, t.millisecond)?;
        write!(f, "{:<10} {:<14} {}", self.level, self.class, self.text)
    }
}

pub(crate) fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests;
