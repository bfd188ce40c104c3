//! The command line: a command is a struct, its grammar, help and completion follow from its
//! fields.
//!
//! A [`Cli`] holds the commands in a tree of words. A [`Run`] runs one text (a line, several lines,
//! or through `exec` a file) in slices; [`Cli::run`] runs it in one go.

mod args;
mod builtin;
mod command;
mod complete;
mod error;
mod filter;
mod hex;
mod macros;
mod matching;
mod output;
mod pattern;
mod print;
mod run;
mod sessions;
mod source;
mod terminal;
mod tree;

use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

pub use control_derive::{Arguments, Command, Print, Words};
pub use serde::{Serialize, Serializer};

pub(crate) use args::may_follow;
pub use args::{Args, Below, Pair, Rest, Text, Value, Word};
pub use command::{ArgInfo, Arguments, Command, Described, Kind, Words, count, join};
pub use complete::{Candidate, Page};
pub use error::{Error, io_text};
pub use filter::is_unpaged;
pub use hex::{Hex, hex};
pub use output::{Output, centred, in_columns};
pub use print::{Line, Print, PrintValue, is_printable, is_word};
pub use run::{Reply, Run, Step, Task};
pub use sessions::{Session, Sessions};
pub use source::{Joining, joined};
pub use terminal::SessionRequest;

pub(crate) use error::{Place, nearest};

use command::{Effect, Entry};
use macros::Macros;
use tree::Tree;

use crate::events::{EventLog, Topic};
use crate::feature::Owner;
use crate::secret::{self, Secrets};

/// Reasons why the commands do not fit together.
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
            Self::DuplicatePath(path) => write!(f, "duplicate command `{path}'"),
            Self::Usage(path) => write!(f, "the usage line of `{path}' is invalid"),
        }
    }
}

impl std::error::Error for Fault {}

/// Bytes of a command that are looked at where not all of it is shown.
pub(crate) const SHOWN: usize = 1024;

/// Lists names that there are.
type List<C> = Rc<dyn Fn(&C) -> Vec<String>>;

/// Live names of one kind, for completion, and whose they are.
struct Names<C> {
    list: List<C>,
    owner: Owner,
}

/// All commands of a router whose state is a `C`. Clones are the same: commands are added and
/// removed while others run.
pub struct Cli<C> {
    commands: Rc<RefCell<Commands<C>>>,
    macros: Rc<Macros>,
    events: Option<EventLog>,
    sessions: Sessions,
    /// The state as values of arguments look it up. These two are pointers, so that crates that add
    /// commands need not compile them, with all that a `C` consists of.
    context: fn(&C) -> &dyn Any,
    insert: fn(&mut Commands<C>, &[&'static str], Entry<C>),
}

struct Commands<C> {
    /// The tree of commands; a run keeps the one that its command was found in.
    tree: Rc<Tree<Entry<C>>>,
    names: HashMap<&'static str, Names<C>>,
    fault: Option<Fault>,
    limit: Option<Limit>,
    /// Whether the command with a path may change the configuration.
    changes: Option<fn(&str) -> bool>,
}

/// Decides whether the command with a path may run.
type Limit = fn(&str) -> Result<(), Error>;

impl<C> Clone for Cli<C> {
    fn clone(&self) -> Self {
        Self {
            commands: Rc::clone(&self.commands),
            macros: Rc::clone(&self.macros),
            events: self.events.clone(),
            sessions: self.sessions.clone(),
            context: self.context,
            insert: self.insert,
        }
    }
}

impl<C: 'static> Cli<C> {
    /// Only the built-in commands: `help`, `echo`, `exec`, `wait`, `define`, `quit` and such.
    pub fn new() -> Self {
        let (tree, names) = (Rc::new(Tree::new()), HashMap::new());
        let commands = Commands { tree, names, fault: None, limit: None, changes: None };
        let mut cli = Self {
            commands: Rc::new(RefCell::new(commands)),
            macros: Rc::default(),
            events: None,
            sessions: Sessions::default(),
            context: |cx| cx,
            insert: Commands::insert,
        };
        builtin::register(&mut cli);
        macros::register(&mut cli);
        terminal::register(&mut cli);
        sessions::register(&mut cli);
        cli
    }

    /// Adds a command that runs at once, in well under 2 ms.
    pub fn command<T, O, F>(&mut self, handler: F) -> &mut Self
    where
        T: Command,
        O: Into<Output>,
        F: Fn(&mut C, T) -> Result<O, Error> + 'static,
    {
        self.add::<T>(move |cx, command| Ok(Effect::Done(handler(cx, command)?.into())))
    }

    /// Adds a command that several parts have, at the path of one of them.
    pub fn command_at<T, O, F>(&mut self, path: &'static str, handler: F) -> &mut Self
    where
        T: Command,
        O: Into<Output>,
        F: Fn(&mut C, T) -> Result<O, Error> + 'static,
    {
        let effect = move |cx: &mut C, command| Ok(Effect::Done(handler(cx, command)?.into()));
        self.insert(&[path], Entry::new::<T>(self.context, effect));
        self
    }

    /// Adds a command whose work is done in slices of at most 2 ms.
    pub fn task<T, F>(&mut self, handler: F) -> &mut Self
    where
        T: Command,
        F: Fn(&mut C, T) -> Result<Box<dyn Task<C>>, Error> + 'static,
    {
        self.add::<T>(move |cx, command| Ok(Effect::Task(handler(cx, command)?)))
    }

    /// Adds a task at a path, with its own line of help: of several with the same arguments.
    pub fn task_at<T, F>(
        &mut self,
        path: &'static str,
        about: &'static str,
        handler: F,
    ) -> &mut Self
    where
        T: Command,
        F: Fn(&mut C, T) -> Result<Box<dyn Task<C>>, Error> + 'static,
    {
        let effect = move |cx: &mut C, command| Ok(Effect::Task(handler(cx, command)?));
        let mut entry = Entry::new::<T>(self.context, effect);
        entry.about = about;
        self.insert(&[path], entry);
        self
    }

    /// Adds a command that is known only at run time, whose handler reads its arguments itself.
    pub fn command_of(
        &mut self,
        command: Described,
        handler: impl Fn(&mut C, &mut Args<'_>) -> Result<Output, Error> + 'static,
    ) -> &mut Self {
        self.insert(std::slice::from_ref(&command.path), Entry::described(&command, handler));
        self
    }

    /// Says how to list live names of `kind`: of values called so, or `something-kind`, and
    /// of fields with `#[values("kind")]`.
    pub fn values(
        &mut self,
        kind: &'static str,
        names: impl Fn(&C) -> Vec<String> + 'static,
    ) -> &mut Self {
        let names = Names { list: Rc::new(names), owner: Owner::current() };
        self.commands.borrow_mut().names.insert(kind, names);
        self
    }

    /// Says which commands may change the configuration: all but `show` by default.
    pub fn changes(&mut self, changes: fn(&str) -> bool) {
        self.commands.borrow_mut().changes = Some(changes);
    }

    /// Limits commands to paths that `limit` allows; help is checked as `help`.
    pub fn limit(&mut self, limit: fn(&str) -> Result<(), Error>) {
        self.commands.borrow_mut().limit = Some(limit);
    }

    /// Path of the command that a line gives, and the text after it; `None` if there is none.
    pub fn command_on(&self, line: &str) -> Option<(String, String)> {
        let line = self.macros.expand(line);
        let (tree, mut args) = (self.tree(), Args::new(&line));
        let node = tree.node(tree.descend(&mut args).ok()?);
        node.entry.as_ref()?;
        Some((node.path.to_string(), args.rest().to_owned()))
    }

    /// Whether the command of a line takes the name of a file.
    pub fn takes_file(&self, line: &str) -> bool {
        let line = self.macros.expand(line);
        let (tree, mut args) = (self.tree(), Args::new(&line));
        let entry = tree.descend(&mut args).ok().and_then(|at| tree.node(at).entry.as_ref());
        entry.is_some_and(|entry| entry.usage().contains("file>"))
    }

    /// Sessions that give commands.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Notes a command in the event log, if there is one.
    pub(crate) fn note(&self, line: &str) {
        if let Some(events) = &self.events {
            let first = &line[..line.floor_char_boundary(SHOWN)];
            events.note(Topic::Cli, fmt::from_fn(|f| f.write_str(&self.shown(first))));
        }
    }

    /// Commands, one per line, without hidden values.
    pub fn shown(&self, text: &str) -> String {
        let values = |line| self.secret_values(line, |secrets| secrets);
        let shown = text.split('\n').map(|line| secret::hide(line, values(line)));
        shown.collect::<Vec<_>>().join("\n")
    }

    /// Hidden arguments of a command; none if it is unknown.
    pub fn secrets(&self, line: &str) -> Secrets {
        self.known(line).map_or(Secrets::NONE, |(entry, _)| entry.secrets)
    }

    /// Places of hidden values in a command. An unknown command may be a misspelled one, with the
    /// arguments of any.
    fn secret_values(&self, line: &str, of: fn(Secrets) -> Secrets) -> Vec<Range<usize>> {
        if let Some((entry, path)) = self.known(line) {
            let secrets = of(entry.secrets);
            if secrets.is_none() {
                return Vec::new();
            }
            let usage = entry.usage();
            let is_end = |c: char| !c.is_alphanumeric() && c != '-';
            let known: HashSet<_> = usage.split(is_end).collect();
            return secrets.values(line, path, |word| known.contains(word));
        }
        let tree = self.tree();
        let path = tree.descend(&mut Args::new(line)).map_or("", |at| &tree.node(at).path);
        let below = tree.entries().filter(|(known, _)| known.starts_with(path));
        let keywords: HashSet<_> = below.flat_map(|(_, entry)| entry.secrets.keywords()).collect();
        secret::values(line, usize::MAX, |word| keywords.contains(word))
    }

    /// The error of a command without hidden values.
    fn without_secrets(&self, error: Error, line: &str) -> Error {
        // Where any word may be one, the line around the wrong word is not shown.
        let secrets = self.secrets(line);
        let error = if secrets.are_rest() { error.without_line() } else { error };
        if line.len() > SHOWN && !secrets.in_errors().is_none() {
            return error.without_words();
        }
        let places = self.secret_values(line, Secrets::in_errors);
        if line.len() > SHOWN && !places.is_empty() {
            return error.without_words();
        }
        error.hiding(places.into_iter().map(|place| &line[place]))
    }

    /// The command of a line, and the number of words in its path.
    fn known(&self, line: &str) -> Option<(Rc<Entry<C>>, usize)> {
        let (tree, mut args) = (self.tree(), Args::new(line));
        let node = tree.node(tree.descend(&mut args).ok()?);
        Some((Rc::clone(node.entry.as_ref()?), node.path.split(' ').count()))
    }

    /// Notes each command in this log when it begins.
    pub(crate) fn note_in(&mut self, events: EventLog) {
        self.events = Some(events);
    }

    /// The first fault of the commands, if any. Call it once all are registered.
    pub fn check(&self) -> Result<(), Fault> {
        self.commands.borrow().fault.clone().map_or(Ok(()), Err)
    }

    /// The paths of all commands, in no particular order.
    pub fn paths(&self) -> Vec<String> {
        self.tree().entries().map(|(path, _)| path.to_owned()).collect()
    }

    /// Removes all commands and names of an owner, and the fault that its commands caused. Running
    /// commands of it end with an error at their next slice.
    pub fn remove_all_of(&mut self, owner: Owner) {
        let mut commands = self.commands.borrow_mut();
        Rc::make_mut(&mut commands.tree).remove(|entry| entry.owner == owner);
        commands.names.retain(|_, names| names.owner != owner);
        commands.fault = None;
    }

    /// All commands as they are now.
    fn tree(&self) -> Rc<Tree<Entry<C>>> {
        Rc::clone(&self.commands.borrow().tree)
    }

    /// List of the live names of a kind.
    fn names_of(&self, kind: &str) -> Option<List<C>> {
        self.commands.borrow().names.get(kind).map(|names| Rc::clone(&names.list))
    }

    fn add<T: Command>(
        &mut self,
        effect: impl Fn(&mut C, T) -> Result<Effect<C>, Error> + 'static,
    ) -> &mut Self {
        self.insert(T::PATHS, Entry::new::<T>(self.context, effect));
        self
    }

    fn insert(&mut self, paths: &[&'static str], entry: Entry<C>) {
        (self.insert)(&mut self.commands.borrow_mut(), paths, entry);
    }
}

impl<C> Commands<C> {
    fn insert(&mut self, paths: &[&'static str], entry: Entry<C>) {
        let entry = Rc::new(entry);
        for path in paths {
            if Rc::make_mut(&mut self.tree).insert(path, entry.clone()).is_err() {
                self.fault.get_or_insert(Fault::DuplicatePath(path));
            }
            if entry.pattern().is_none() {
                self.fault.get_or_insert(Fault::Usage(path));
            }
        }
    }
}

impl<C: 'static> Default for Cli<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
