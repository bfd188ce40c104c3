//! The command line: a command is a struct, its grammar, help and completion follow from its
//! fields.
//!
//! A [`Cli`] holds the commands in a tree of words. A [`Run`] carries out one text (a line, several
//! lines, or through `exec` a file) in slices; [`Cli::run`] does it in one go.

mod args;
mod builtin;
mod command;
mod complete;
mod error;
mod macros;
mod output;
mod pattern;
mod run;
mod sessions;
mod source;
mod terminal;
mod tree;

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

pub use control_derive::Command;

pub use args::{Args, Value, Word};
pub use command::{ArgInfo, Command, Kind};
pub use complete::{Candidate, Page};
pub use error::{Error, io_text};
pub use output::Output;
pub use run::{Reply, Run, Step, Task};
pub use sessions::{Session, Sessions};
pub use source::is_open;
pub use terminal::Wish;

use command::{Effect, Entry};
use macros::Macros;
use tree::Tree;

use crate::events::{EventLog, Topic};

/// Why the commands do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two commands have this path.
    DuplicatePath(&'static str),
    /// The brackets in the usage line of the command with this path do not match.
    Usage(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicatePath(path) => write!(f, "two commands have the path `{path}'"),
            Self::Usage(path) => write!(f, "the usage line of `{path}' cannot be read"),
        }
    }
}

impl std::error::Error for Fault {}

/// Live names of one kind, for completion.
type Names<C> = Box<dyn Fn(&C) -> Vec<String>>;

/// All commands of a router whose state is a `C`.
pub struct Cli<C> {
    tree: Tree<Entry<C>>,
    names: HashMap<&'static str, Names<C>>,
    macros: Rc<Macros>,
    events: Option<EventLog>,
    sessions: Sessions,
    fault: Option<Fault>,
}

impl<C: 'static> Cli<C> {
    /// Only the built-in commands: `help`, `echo`, `exec`, `wait`, `define`, `quit` and such.
    pub fn new() -> Self {
        let mut cli = Self {
            tree: Tree::new(),
            names: HashMap::new(),
            macros: Rc::default(),
            events: None,
            sessions: Sessions::default(),
            fault: None,
        };
        builtin::register(&mut cli);
        macros::register(&mut cli);
        terminal::register(&mut cli);
        sessions::register(&mut cli);
        cli
    }

    /// Adds a command that is carried out at once, in well under 2 ms.
    pub fn command<T, O, F>(&mut self, handler: F) -> &mut Self
    where
        T: Command,
        O: Into<Output>,
        F: Fn(&mut C, T) -> Result<O, Error> + 'static,
    {
        self.add::<T>(move |cx, command| Ok(Effect::Done(handler(cx, command)?.into())))
    }

    /// Adds a command whose work is done in slices of at most 2 ms.
    pub fn task<T, F>(&mut self, handler: F) -> &mut Self
    where
        T: Command,
        F: Fn(&mut C, T) -> Result<Box<dyn Task<C>>, Error> + 'static,
    {
        self.add::<T>(move |cx, command| Ok(Effect::Task(handler(cx, command)?)))
    }

    /// Says how to list live names of `kind`: of values called so, or `something-kind`, and
    /// of fields with `#[values("kind")]`.
    pub fn values(
        &mut self,
        kind: &'static str,
        names: impl Fn(&C) -> Vec<String> + 'static,
    ) -> &mut Self {
        self.names.insert(kind, Box::new(names));
        self
    }

    /// Who gives commands now.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Notes in the event log, if there is one.
    pub(crate) fn note(&self, what: impl fmt::Display) {
        if let Some(events) = &self.events {
            events.note(Topic::Cli, what);
        }
    }

    /// Notes each command in this log when it begins.
    pub(crate) fn note_in(&mut self, events: EventLog) {
        self.events = Some(events);
    }

    /// The first fault of the commands, if any. Call it once all are registered.
    pub fn check(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The paths of all commands, in no particular order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.tree.entries().map(|(path, _)| path)
    }

    fn add<T: Command>(
        &mut self,
        effect: impl Fn(&mut C, T) -> Result<Effect<C>, Error> + 'static,
    ) -> &mut Self {
        let entry = std::rc::Rc::new(Entry::new::<T>(effect));
        for path in T::PATHS {
            if self.tree.insert(path, entry.clone()).is_err() {
                self.fault.get_or_insert(Fault::DuplicatePath(path));
            }
            if entry.pattern().is_none() {
                self.fault.get_or_insert(Fault::Usage(path));
            }
        }
        self
    }
}

impl<C: 'static> Default for Cli<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
