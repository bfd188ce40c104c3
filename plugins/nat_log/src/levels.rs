//! Levels of logging: the events of a translator that are noted in the event log.

use std::str::FromStr;

use net::prelude::*;

use crate::{Log, NatLog, Record, log, refresh, vrf_of};

/// A translator with a level of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translator {
    /// NAT44 by sessions with both ends.
    Nat44Ed,
    /// NAT44 by sessions without far ends.
    Nat44Ei,
}

/// A level: events of it and of all below are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Nothing is noted.
    pub const NONE: Self = Self(0);
    /// All ports are in use.
    pub const ERROR: Self = Self(1);
    /// Another limit is reached.
    pub const WARNING: Self = Self(2);
    /// Sessions come and go.
    pub const INFO: Self = Self(4);

    /// Words, from 0 on.
    const WORDS: [&'static str; 6] = ["none", "error", "warning", "notice", "info", "debug"];

    /// That of a number; `None` when there is none.
    pub fn of(number: u8) -> Option<Self> {
        (usize::from(number) < Self::WORDS.len()).then_some(Self(number))
    }
    /// Number.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let by_word = Self::WORDS.iter().position(|word| *word == text);
        let number = by_word.and_then(|at| u8::try_from(at).ok());
        number.or_else(|| text.parse().ok()).and_then(Self::of).ok_or(())
    }
}

/// Listeners, as nodes see them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listeners {
    /// A collector.
    pub collects: bool,
    /// The event log, by translator.
    pub levels: [Level; 2],
}

impl Listeners {
    /// Whether anybody may want an event.
    #[inline]
    pub fn hear(&self, by: Option<Translator>) -> bool {
        self.collects || by.is_some_and(|by| self.levels[by as usize] > Level::NONE)
    }
}

impl Translator {
    fn name(self) -> &'static str {
        match self {
            Self::Nat44Ed => "nat44-ed",
            Self::Nat44Ei => "nat44-ei",
        }
    }
    /// The level.
    pub fn level(self, router: &Router) -> Level {
        router.own::<NatLog>().levels[self as usize]
    }
    /// Sets the level.
    pub fn set_level(self, router: &mut Router, level: Level) {
        router.own_mut::<NatLog>().levels[self as usize] = level;
        refresh(router);
    }
    /// Whether anybody wants events.
    pub fn is_heard(self, router: &Router) -> bool {
        router.own::<NatLog>().listeners.current().hear(Some(self))
    }
    /// Logs an event.
    pub fn log(self, router: &mut Router, record: Record) {
        if record.level() <= self.level(router) {
            let table = match record {
                Record::Session(_, ends, _)
                | Record::Binding(_, ends)
                | Record::Mapping(_, ends) => {
                    format!(", table {}", vrf_of(router, &ends))
                }
                _ => String::new(),
            };
            router.note(format_args!("{}: {record}{table}", self.name()));
        }
        log(router, record);
    }
}

impl Record {
    fn level(&self) -> Level {
        match self {
            Self::Exhausted(_) => Level::ERROR,
            Self::MaxSessions(_) | Self::MaxBindings(_) | Self::MaxOfHost(..) => Level::WARNING,
            Self::Session(..) | Self::Binding(..) | Self::Mapping(..) => Level::INFO,
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(is_new, ends, far) => {
                let (addr, port) = far.outside;
                let end = if *is_new { "begins" } else { "ends" };
                write!(f, "session {end}: {ends} with {addr} port {port}")
            }
            Self::Binding(is_new, ends) | Self::Mapping(is_new, ends) => {
                let end = if *is_new { "begins" } else { "ends" };
                write!(f, "session {end}: {ends}")
            }
            Self::MaxSessions(limit) => write!(f, "a thread reached its limit of {limit} sessions"),
            Self::MaxBindings(limit) => write!(f, "a thread reached its limit of {limit} bindings"),
            Self::MaxOfHost(limit, host) => {
                write!(f, "host {host} reached its limit of {limit} sessions")
            }
            Self::Exhausted(_) => write!(f, "all ports are in use"),
        }
    }
}

impl fmt::Display for crate::Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host: (addr, port), outside: (outside, outside_port), protocol, .. } = self;
        write!(f, "protocol {} {addr} port {port} as {outside} port {outside_port}", protocol.0)
    }
}

impl Log {
    /// Logs an event if anybody may want it. Lost, and counted as an event that is, when control
    /// has too much to do.
    #[inline]
    pub fn send(&mut self, epoch: Epoch<'_>, record: impl FnOnce() -> Record) {
        if self.listeners.read(epoch).hear(self.by) {
            self.events.send(crate::Told { by: self.by, record: record() });
        }
    }
}
