//! Declared state: the configuration of a feature, as the commands that make it again.
//!
//! `show configuration` prints the commands of all features in an order that a freshly started
//! router accepts. Learned state and defaults are not included.

mod hash;
pub mod undo;

use std::any::Any;
use std::fmt;

use infra::order::Order;
use serde::Serialize;

use crate::cli::{Cli, Command, Error, Line, Output, Print, Step, Task};
use crate::secret::Secrets;

pub use hash::{CHANGED, Hash, NoHash};

/// Commands of a feature after which others get their turn.
const SLICE: usize = 500;
/// Commands put in order in one turn.
const ORDERED: usize = 10_000;

/// The stage of a command: after those that create the objects it names. Commands of one stage are
/// in the order of their features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Makes what needs no interface: tables, policers, bridge domains.
    Objects,
    /// Makes interfaces.
    Interfaces,
    /// Makes interfaces on others.
    SubInterfaces,
    /// Sets what addresses depend on, and everything that depends on nothing else.
    Settings,
    /// Gives addresses.
    Addresses,
    /// Attaches objects and features to interfaces.
    Attachments,
    /// Adds neighbours and routes.
    Routes,
    /// Switches on what is complete.
    State,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; STAGES] = [
        Self::Objects,
        Self::Interfaces,
        Self::SubInterfaces,
        Self::Settings,
        Self::Addresses,
        Self::Attachments,
        Self::Routes,
        Self::State,
    ];
}

const STAGES: usize = Stage::State as usize + 1;

/// The configuration of a feature in a router whose state is a `C`.
pub enum Configuration<C> {
    /// Puts in the commands that make the feature's state again.
    Commands(fn(&C, &mut Lines<'_>)),
    /// There is none, and why.
    None(&'static str),
}

impl<C> Clone for Configuration<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Configuration<C> {}

impl<C: 'static> Configuration<C> {
    /// The first of its commands, if there are any.
    pub fn first(&self, cx: &C) -> Option<String> {
        let Self::Commands(commands) = self else { return None };
        let mut found = Collected::default();
        commands(cx, &mut Lines { context: cx, feature: "", found: &mut found, left: SLICE });
        found.rows.into_iter().flatten().next().map(|(_, row)| row.command)
    }
}

/// A command of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the feature.
    pub feature: &'static str,
    /// The command.
    pub command: String,
    /// The command that takes it back, where this was asked for and there is one.
    #[serde(skip)]
    pub undo: Option<undo::Undo>,
    /// Hidden arguments of the command.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl Row {
    /// The command as it may be shown.
    pub fn shown(&self) -> String {
        self.secrets.hide(&self.command, 0).into_owned()
    }
}

/// A part of the configuration: commands with those that take them back, in the order in which they
/// can run.
///
/// # Errors
/// That of `commands`.
pub fn part<C: 'static>(
    cx: &C,
    commands: impl FnOnce(&mut Lines<'_>) -> Result<(), Error>,
) -> Result<Vec<Row>, Error> {
    let mut found = Collected { with_undo: true, ..Collected::default() };
    commands(&mut Lines { context: cx, feature: "", found: &mut found, left: SLICE })?;
    Ok(found.in_order())
}

/// The commands of a configuration, filled by features.
pub struct Lines<'a> {
    context: &'a dyn Any,
    feature: &'static str,
    found: &'a mut Collected,
    left: usize,
}

/// The commands collected so far.
#[derive(Default)]
struct Collected {
    /// By stage, with the place among those of one stage.
    rows: [Vec<(u64, Row)>; STAGES],
    /// Position of a feature in its configuration, between two slices.
    cursor: Option<Box<dyn Any>>,
    /// Whether commands come with what takes them back.
    with_undo: bool,
    /// Whether their secrets are hidden.
    is_hidden: bool,
    /// Whether only their hash is wanted.
    is_hash: bool,
    /// The hash of the commands so far, and of those of the features before.
    hash: Hash,
    hash_before: Hash,
    /// Rows in order, once all were collected; those of the current stage that follow; and the
    /// next stage.
    ordered: Vec<Row>,
    taking: std::vec::IntoIter<(u64, Row)>,
    stage: usize,
}

impl Lines<'_> {
    /// Puts a command in.
    pub fn push<T: Print>(&mut self, command: &T) {
        self.push_at(0, command);
    }

    /// Puts a command in, among those of its stage at this place: such as the number of the
    /// interface that it makes.
    pub fn push_at<T: Print>(&mut self, place: u32, command: &T) {
        self.push_in(T::STAGE, u64::from(place) << 1, command);
    }

    /// Puts a command in that makes an interface.
    pub fn push_interface<T: Print>(&mut self, (stage, place): (Stage, u32), command: &T) {
        self.push_in(stage, u64::from(place) << 1, command);
    }

    /// The place right after all of a place.
    pub fn behind(place: u32) -> u64 {
        u64::from(place) << 1 | 1
    }

    /// Puts a command into another stage than its own.
    pub fn push_in<T: Print>(&mut self, stage: Stage, place: u64, command: &T) {
        let command = Line::of(command, self.context);
        let undo = self.found.with_undo.then(|| undo::of::<T>(&command)).flatten();
        self.add(stage, place, command, undo, Secrets::of::<T>());
    }

    /// Puts in a command that is not compiled with the router.
    pub fn push_text(&mut self, stage: Stage, command: &str) {
        self.push_row(stage, command, None);
    }

    /// Puts in a command that is no value of a type, and what takes it back: as [`Print::UNDO`],
    /// for a command without a path.
    pub fn push_undone(&mut self, stage: Stage, command: &str, undo: &str) {
        self.push_row(stage, command, undo::filled(undo, "", command));
    }

    /// Puts in a command that is not compiled with the router, and the one that takes it back.
    pub fn push_row(&mut self, stage: Stage, command: &str, undo: Option<undo::Undo>) {
        self.add(stage, 0, command.to_owned(), undo, Secrets::NONE);
    }

    fn add(
        &mut self,
        stage: Stage,
        place: u64,
        command: String,
        undo: Option<undo::Undo>,
        secrets: Secrets,
    ) {
        let mut row = Row { feature: self.feature, command, undo, secrets };
        self.left = self.left.saturating_sub(1);
        if self.found.is_hidden {
            row.command = row.shown();
        }
        match self.found.is_hash {
            true => self.found.hash.add(&row.shown()),
            false => self.found.rows[stage as usize].push((place, row)),
        }
    }

    /// Whether the feature should let others have their turn: it calls [`pause`](Self::pause) and
    /// returns.
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Calls the feature again, where [`resumed`](Self::resumed) gives it `cursor`.
    pub fn pause(&mut self, cursor: impl Any) {
        self.found.cursor = Some(Box::new(cursor));
    }

    /// The position at which the feature paused; `None` when it begins.
    pub fn resumed<T: Any>(&mut self) -> Option<T> {
        Some(*self.found.cursor.take()?.downcast().ok()?)
    }
}

/// The features that have a configuration, by name.
pub type Configured<C> = Vec<(&'static str, Configuration<C>)>;

/// Show the configuration as commands.
#[derive(Command)]
#[command("show configuration")]
struct Show {
    /// only the commands of this feature
    #[positional]
    feature: Option<String>,
    /// include keys and other secrets, which are hidden otherwise
    secrets: bool,
}

/// A configuration that is being collected.
pub struct Collection<C> {
    /// The features that there are now: one may be unloaded between two slices.
    present: fn(&C) -> &Configured<C>,
    left: std::vec::IntoIter<(&'static str, Configuration<C>)>,
    current: Option<(&'static str, Configuration<C>)>,
    found: Collected,
}

impl<C: 'static> Collection<C> {
    /// Begins with the first of the features that `present` lists. The commands come with those
    /// that take them back.
    pub fn new(cx: &C, present: fn(&C) -> &Configured<C>) -> Self {
        let found = Collected { with_undo: true, ..Collected::default() };
        Self { present, left: present(cx).clone().into_iter(), current: None, found }
    }

    /// As [`new`](Self::new), for the hash alone: no command is kept.
    pub fn for_hash(cx: &C, present: fn(&C) -> &Configured<C>) -> Self {
        let mut collection = Self::new(cx, present);
        (collection.found.is_hash, collection.found.with_undo) = (true, false);
        collection
    }

    /// The commands, in the order in which they can run, once complete.
    pub fn rows(self) -> Vec<Row> {
        self.found.in_order()
    }

    /// The hash of the commands, once complete, if it was begun for that.
    pub fn hash(&self) -> Hash {
        self.found.hash
    }

    /// Continues with the current feature, or the next one, then puts the commands in order;
    /// whether there is more.
    pub fn advance(&mut self, cx: &C) -> bool {
        self.current = self.current.take().or_else(|| self.left.next());
        let Some((feature, configuration)) = self.current else { return self.found.order() };
        let present = (self.present)(cx);
        if !present.iter().any(|(name, _)| *name == feature) {
            self.found.cursor = None;
            self.found.rows.iter_mut().for_each(|rows| rows.retain(|(_, r)| r.feature != feature));
            self.found.hash = self.found.hash_before;
            self.current = None;
            return true;
        }
        if let Configuration::Commands(commands) = configuration {
            commands(cx, &mut Lines { context: cx, feature, found: &mut self.found, left: SLICE });
        }
        if self.found.cursor.is_none() {
            self.found.hash_before = self.found.hash;
            self.current = None;
        }
        true
    }
}

impl<C: 'static> Task<C> for Collection<C> {
    fn step(&mut self, cx: &mut C, out: &mut Output) -> Step {
        if self.advance(cx) {
            return Step::Again;
        }
        out.append(Output::rows(std::mem::take(&mut self.found).in_order(), write_rows));
        Step::Done(Ok(()))
    }
}

impl Collected {
    /// Puts rows in the order in which they can run, some at a time; whether there are more.
    fn order(&mut self) -> bool {
        if self.taking.len() == 0
            && let Some(rows) = self.rows.get_mut(self.stage)
        {
            let mut rows = std::mem::take(rows);
            rows.order_by_key(|(place, _)| *place);
            self.stage += 1;
            if self.ordered.is_empty() {
                let later: usize = self.rows.iter().map(Vec::len).sum();
                self.ordered.reserve(rows.len() + later);
            }
            self.taking = rows.into_iter();
        }
        self.ordered.extend(self.taking.by_ref().take(ORDERED).map(|(_, row)| row));
        self.stage < STAGES || self.taking.len() > 0
    }

    /// The rows in the order in which they can run.
    fn in_order(mut self) -> Vec<Row> {
        while self.order() {}
        self.ordered
    }
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| writeln!(f, "{}", row.command))
}

/// Adds `show configuration` for the features that the context lists.
pub fn register<C: 'static>(cli: &mut Cli<C>, features: fn(&C) -> &Configured<C>) {
    cli.values("feature", move |cx: &C| {
        features(cx).iter().map(|(name, _)| (*name).to_owned()).collect()
    });
    cli.task(move |cx: &mut C, show: Show| {
        let mut all = features(cx).clone();
        if let Some(only) = &show.feature {
            all.retain(|(name, _)| name == only);
            if all.is_empty() {
                return Err(Error::new(format!("unknown feature `{only}'")));
            }
        }
        let found = Collected { is_hidden: !show.secrets, ..Collected::default() };
        let (left, current) = (all.into_iter(), None);
        Ok(Box::new(Collection { present: features, left, current, found }) as _)
    });
}
