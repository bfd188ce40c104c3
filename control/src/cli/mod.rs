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
mod output;
mod run;
mod source;
mod tree;

use std::collections::HashMap;

pub use control_derive::Command;

pub use args::{Args, Value, Word};
pub use command::{ArgInfo, Command, Kind};
pub use complete::Candidate;
pub use error::{Error, io_text};
pub use output::Output;
pub use run::{Reply, Run, Step, Task};
pub use source::is_open;

use command::{Effect, Entry};
use tree::Tree;

/// A command path that cannot be registered because another command has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicatePath(pub &'static str);

impl std::fmt::Display for DuplicatePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "two commands have the path `{}'", self.0)
    }
}

impl std::error::Error for DuplicatePath {}

/// Live names of one kind, for completion.
type Names<C> = Box<dyn Fn(&C) -> Vec<String>>;

/// All commands of a router whose state is a `C`.
pub struct Cli<C> {
    tree: Tree<Entry<C>>,
    names: HashMap<&'static str, Names<C>>,
    duplicate: Option<DuplicatePath>,
}

impl<C: 'static> Cli<C> {
    /// Only the built-in commands: `help`, `comment`, `echo`, `exec`, `quit`, `exit`.
    pub fn new() -> Self {
        let mut cli = Self { tree: Tree::new(), names: HashMap::new(), duplicate: None };
        builtin::register(&mut cli);
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

    /// Says how to list live names of `kind` (what a field's `#[values("kind")]` refers to).
    pub fn values(
        &mut self,
        kind: &'static str,
        names: impl Fn(&C) -> Vec<String> + 'static,
    ) -> &mut Self {
        self.names.insert(kind, Box::new(names));
        self
    }

    /// The first path that two commands claimed, if any. Call it once all are registered.
    pub fn check(&self) -> Result<(), DuplicatePath> {
        self.duplicate.clone().map_or(Ok(()), Err)
    }

    fn add<T: Command>(
        &mut self,
        effect: impl Fn(&mut C, T) -> Result<Effect<C>, Error> + 'static,
    ) -> &mut Self {
        let entry = std::rc::Rc::new(Entry::new::<T>(effect));
        for path in T::PATHS {
            if self.tree.insert(path, entry.clone()).is_err() {
                self.duplicate.get_or_insert(DuplicatePath(path));
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
