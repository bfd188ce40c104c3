//! Patches: lines of the configuration that go, and lines that come.
//!
//! A patch whose lines all belong to kinds of commands that can be looked up by themselves
//! ([`net::Router::finders`]) is applied to these alone. Any other one is rehearsed by a trial
//! first; of kinds with many commands the trial has only those that share a word with the patch,
//! and all of them if it fails.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use control::cli::{Cli, Error};
use control::configuration::{CHANGED, Hash, Row, part};
use control::{HIDDEN, Secrets};
use net::{Finder, Router};

use crate::allowed;
use crate::difference::{Known, plan};
use crate::own;
use crate::trial::{Planned, Script};

/// Commands of a kind from which on a trial has only those that a patch may need.
const MANY: usize = 200;
/// Lines that are read in one turn of control.
const LINES: usize = 200;
/// Commands that an error names.
const NAMED: usize = 3;

/// A line of a patch.
struct Change {
    line: usize,
    is_added: bool,
    command: String,
    secrets: Secrets,
}

/// A patch as it was read.
pub struct Patch {
    /// Name of its file.
    name: String,
    /// The hash of the configuration that it was made for.
    base: Option<Hash>,
    changes: Vec<Change>,
}

/// A patch that is being read.
pub struct Reading {
    patch: Patch,
    /// Commands of the text that follow, with their lines.
    rest: std::vec::IntoIter<(usize, String)>,
    /// The line of each command so far.
    seen: HashMap<String, usize>,
}

impl Reading {
    /// Begins with the commands of a text.
    pub fn new(name: String, base: Option<Hash>, commands: Vec<(usize, String)>) -> Self {
        let patch = Patch { name, base, changes: Vec::new() };
        Self { patch, rest: commands.into_iter(), seen: HashMap::new() }
    }

    /// Reads some lines: one begins with `+` or `-` and a blank, with `#`, or is empty. The patch
    /// once it is complete.
    ///
    /// # Errors
    /// A line that does not begin so, or a command that stands there twice.
    pub fn advance(&mut self, cli: &Cli<Router>) -> Result<Option<Patch>, Error> {
        let Self { patch, rest, seen } = self;
        for (line, text) in rest.by_ref().take(LINES) {
            let text = text.trim();
            let sign = text.split_at_checked(2).filter(|(_, rest)| !rest.trim().is_empty());
            let (is_added, command) = match sign {
                Some(("+ ", command)) => (true, command),
                Some(("- ", command)) => (false, command),
                _ => return Err(patch.wrong(line, "a line must begin with `+ ' or `- '")),
            };
            let command = command.trim().to_owned();
            if let Some(first) = seen.insert(command.clone(), line) {
                return Err(patch.wrong(line, &format!("repeats the command of line {first}")));
            }
            let secrets = cli.secrets(&command);
            patch.changes.push(Change { line, is_added, command, secrets });
        }
        let none = Patch { name: String::new(), base: None, changes: Vec::new() };
        Ok((rest.len() == 0).then(|| std::mem::replace(patch, none)))
    }
}

impl Patch {
    /// The error of a line.
    fn wrong(&self, line: usize, why: &str) -> Error {
        Error::bare(format!("{}:{line}: {why}", self.name))
    }

    /// Numbers of its lines that remove and that add.
    pub fn counts(&self) -> [usize; 2] {
        let added = self.changes.iter().filter(|change| change.is_added).count();
        [self.changes.len() - added, added]
    }

    /// The hash of the configuration that it was made for.
    pub fn base(&self) -> Option<Hash> {
        self.base
    }

    /// Refuses it for another configuration than the one it was made for.
    pub fn check_base(&self, hash: Hash) -> Result<(), Error> {
        match self.base.filter(|base| *base != hash) {
            Some(_) => Err(Error::new(format!("{CHANGED}: its hash is {hash}"))),
            None => Ok(()),
        }
    }

    /// Whether it can be applied without a look at the whole configuration.
    pub fn is_plain(&self, router: &Router) -> bool {
        let is_known = own(router).fresh_hash().is_some();
        let has_finder = |change: &Change| finder(router, &change.command).is_some();
        (self.base.is_none() || is_known) && self.changes.iter().all(has_finder)
    }

    /// The commands of the configuration that have to do with its lines, where all of these can be
    /// looked up by themselves.
    ///
    /// # Errors
    /// That of a line.
    pub fn part(&self, router: &Router) -> Option<Result<Vec<Row>, Error>> {
        let finders = self.changes.iter().map(|change| finder(router, &change.command));
        let finders: Vec<_> = finders.collect::<Option<_>>()?;
        let mut seen = HashSet::new();
        let mut rows = Vec::new();
        for (change, find) in self.changes.iter().zip(finders) {
            match part(router, |lines| find(router, &change.command, lines)) {
                Ok(found) => {
                    rows.extend(found.into_iter().filter(|row| seen.insert(row.command.clone())));
                }
                Err(error) => return Some(Err(self.wrong(change.line, &error.to_string()))),
            }
        }
        Some(Ok(rows))
    }

    /// Checks that the commands that go are there and that those that come are not; secrets of the
    /// former are filled in.
    ///
    /// # Errors
    /// That of the first line.
    pub fn check(&mut self, running: &[Row]) -> Result<(), Error> {
        let there: HashSet<&str> = running.iter().map(|row| row.command.as_str()).collect();
        let hides = |change: &Change| change.command.split(' ').any(|word| word == HIDDEN);
        let secret = running.iter().filter(|row| !row.secrets.is_none());
        let secret: HashMap<String, &Row> = match self.changes.iter().any(hides) {
            true => secret.map(|row| (row.shown(), row)).collect(),
            false => HashMap::new(),
        };
        for at in 0..self.changes.len() {
            let change = &self.changes[at];
            let (line, is_there) = (change.line, there.contains(change.command.as_str()));
            if change.is_added && is_there {
                return Err(self.wrong(line, "is part of the configuration already"));
            }
            if change.is_added && hides(change) {
                let why = format!("`{HIDDEN}' must be replaced by the secret");
                return Err(self.wrong(line, &why));
            }
            if change.is_added || is_there {
                continue;
            }
            let Some(row) = secret.get(&change.command) else {
                return Err(self.wrong(line, "is not in the configuration"));
            };
            self.changes[at].command.clone_from(&row.command);
        }
        Ok(())
    }

    /// The commands that go.
    fn removed(&self) -> HashSet<&str> {
        let removed = self.changes.iter().filter(|change| !change.is_added);
        removed.map(|change| change.command.as_str()).collect()
    }

    /// The configuration that it makes of another one. `made` are commands of a trial.
    pub fn applied(&self, running: &[Row], made: &[Row]) -> Vec<Row> {
        let removed = self.removed();
        let made: HashMap<_, _> = made.iter().map(|row| (row.command.as_str(), row)).collect();
        let stays = running.iter().filter(|row| !removed.contains(row.command.as_str()));
        let comes = self.changes.iter().filter(|change| change.is_added).map(|change| {
            let Change { command, secrets, .. } = change;
            let (feature, command, secrets) = ("", command.clone(), *secrets);
            let plain = || Row { feature, command, undo: None, secrets };
            made.get(change.command.as_str()).map_or_else(plain, |row| (*row).clone())
        });
        stays.cloned().chain(comes).collect()
    }

    /// The place of each command that carries it out, as errors begin.
    pub fn places(&self, rows: &[Row]) -> HashMap<String, String> {
        let undo: HashMap<_, _> =
            rows.iter().map(|row| (row.command.as_str(), row.undo.as_ref())).collect();
        let place = |change: &Change| format!("{}:{}: ", self.name, change.line);
        let ran = |change: &Change| match change.is_added {
            true => Some((change.command.clone(), place(change))),
            false => Some(((*undo.get(change.command.as_str())?)?.command.clone(), place(change))),
        };
        self.changes.iter().filter_map(ran).collect()
    }

    /// The commands among which it is tried: all, or without most of those that are many.
    pub fn context(&self, running: &[Row], is_reduced: bool) -> Vec<Row> {
        if !is_reduced {
            return running.to_vec();
        }
        let mut count: HashMap<&str, usize> = HashMap::new();
        running.iter().for_each(|row| *count.entry(kind(&row.command)).or_default() += 1);
        let near: HashSet<&str> =
            self.changes.iter().flat_map(|change| names(&change.command)).collect();
        let is_few = |row: &&Row| count.get(kind(&row.command)).is_some_and(|n| *n <= MANY);
        let is_near = |row: &&Row| names(&row.command).any(|name| near.contains(name));
        running.iter().filter(|row| is_few(row) || is_near(row)).cloned().collect()
    }

    /// The script of a trial of it among these commands.
    ///
    /// # Errors
    /// A command hides a secret.
    pub fn script(&self, context: &[Row]) -> Result<Script, Error> {
        let target = Arc::new(self.applied(context, &[]));
        let known = Known { running: Arc::new(context.to_vec()), target, before: None };
        let places = self.places(context);
        let planned = plan(&known, 1).into_iter().map(|command| {
            let place = places.get(&command).cloned().unwrap_or_else(|| format!("{}: ", self.name));
            Planned { place: Some(place), command }
        });
        Script::rehearsal(context, planned.collect())
    }

    /// Compares the outcome of a trial with what the lines say.
    ///
    /// # Errors
    /// A line without the effect that it should have, or a command that it does not name.
    pub fn judge(&self, context: &[Row], outcome: &[Row]) -> Result<(), Error> {
        let of = |rows: &[Row]| -> HashSet<String> {
            rows.iter().map(|row| row.command.clone()).collect()
        };
        let (was, is, removed) = (of(context), of(outcome), self.removed());
        let added: HashSet<&str> = self.changes.iter().map(|c| c.command.as_str()).collect();
        let is_new =
            |row: &&Row| !was.contains(&row.command) && !added.contains(row.command.as_str());
        let new: Vec<String> =
            outcome.iter().filter(is_new).map(|row| format!("`{}'", row.shown())).collect();
        for change in &self.changes {
            match (change.is_added, is.contains(&change.command)) {
                (true, false) if new.is_empty() => {
                    return Err(self.wrong(change.line, "has no effect"));
                }
                (true, false) => {
                    let new: Vec<_> = new.into_iter().take(NAMED).collect();
                    let why = "is written differently in the configuration:";
                    return Err(self.wrong(change.line, &format!("{why} {}", new.join(", "))));
                }
                (false, true) => {
                    return Err(self.wrong(change.line, "no command undoes this"));
                }
                _ => {}
            }
        }
        let goes =
            |row: &&Row| !is.contains(&row.command) && !removed.contains(row.command.as_str());
        if let Some(row) = context.iter().find(goes) {
            let why = "would also be removed, but is not in the patch";
            return Err(Error::bare(format!("{}: `{}' {why}", self.name, row.shown())));
        }
        match new.first() {
            Some(new) => {
                let why = "would also be added, but is not in the patch";
                Err(Error::bare(format!("{}: {new} {why}", self.name)))
            }
            None => Ok(()),
        }
    }
}

/// The function that looks up what a command is about, where there is one.
fn finder(router: &Router, command: &str) -> Option<Finder> {
    let mut all = router.finders.iter();
    all.find(|(path, _)| allowed::begins(command, path)).map(|(_, find)| *find)
}

/// The words before the first that names something.
fn kind(command: &str) -> &str {
    let names = names(command).next();
    let at = names.map_or(command.len(), |name| name.as_ptr().addr() - command.as_ptr().addr());
    &command[..at]
}

/// The words of a command that name something: those with a digit in them.
fn names(command: &str) -> impl Iterator<Item = &str> {
    command.split(' ').filter(|word| word.bytes().any(|b| b.is_ascii_digit()))
}
