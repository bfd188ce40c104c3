//! Two configurations, and the commands that lead from one to the other.

use std::collections::{HashSet, VecDeque};

use control::configuration::Row;
use net::prelude::*;

use crate::trial;

/// Most commands that an error names.
const NAMED: usize = 5;

/// A configuration, which many have.
pub type Rows = Arc<Vec<Row>>;

/// Both configurations.
pub struct Known {
    /// The one there is; after a replacement, the new one.
    pub running: Rows,
    /// The one that was wanted.
    pub target: Rows,
    /// The one there was at the beginning.
    pub before: Option<Rows>,
}

/// Commands that are different.
#[derive(Debug, Default, Serialize)]
pub struct Difference {
    /// Commands that go, in the order in which they stand.
    pub removed: Vec<String>,
    /// Commands that come.
    pub added: Vec<String>,
}

impl Difference {
    /// Differences that remain.
    pub fn left(&self) -> String {
        let named = |commands: &[String]| {
            let first: Vec<_> = commands.iter().take(NAMED).map(|c| format!("`{c}'")).collect();
            first.join(", ")
        };
        match (self.removed.is_empty(), self.added.is_empty()) {
            (false, true) => format!("no command undoes {}", named(&self.removed)),
            (true, _) => format!("no effect: {}", named(&self.added)),
            (false, false) => {
                let (removed, added) = (named(&self.removed), named(&self.added));
                format!("no effect: {added}; and no command undoes {removed}")
            }
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.removed.iter().try_for_each(|command| writeln!(f, "- {command}"))?;
        self.added.iter().try_for_each(|command| writeln!(f, "+ {command}"))
    }
}

impl Known {
    /// Missing commands of the wanted configuration, and superfluous ones.
    pub fn difference(&self) -> Difference {
        let text = |rows: Vec<&Row>| rows.into_iter().map(Row::shown).collect();
        let removed = text(only_in(&self.running, &self.target));
        Difference { removed, added: text(only_in(&self.target, &self.running)) }
    }
}

/// Commands of one configuration that are not in another one.
pub fn only_in<'a>(rows: &'a [Row], other: &[Row]) -> Vec<&'a Row> {
    let there: HashSet<&str> = other.iter().map(|row| row.command.as_str()).collect();
    rows.iter().filter(|row| !there.contains(row.command.as_str())).collect()
}

/// The commands of a text as what is wanted.
pub fn rows_of(text: &str, cli: &Cli<Router>) -> Rows {
    let row = |(_, command): (_, String)| {
        let secrets = cli.secrets(&command);
        Row { feature: "", command, undo: None, secrets }
    };
    Arc::new(trial::commands(text).into_iter().map(row).collect())
}

/// The commands that lead from one configuration to the other. Settings that can be overwritten are
/// not undone first, unless that was tried already; in later rounds everything behind the first
/// difference is recreated.
pub fn plan(known: &Known, round: u32) -> VecDeque<String> {
    let wanted: HashSet<&str> = known.target.iter().map(|row| row.command.as_str()).collect();
    let new = only_in(&known.target, &known.running);
    let set_anew: HashSet<&str> = match round {
        1 => {
            let settings = new.iter().filter_map(|row| row.undo.as_ref());
            settings.filter(|undo| undo.is_setting).map(|undo| undo.command.as_str()).collect()
        }
        _ => HashSet::new(),
    };
    let mut first_gone = false;
    let mut taken_back = Vec::new();
    let mut seen: HashMap<&str, ()> = HashMap::new();
    for row in known.running.iter() {
        let stays = wanted.contains(row.command.as_str());
        first_gone |= !stays;
        let goes = !stays || round > 2 && first_gone;
        let Some(undo) = row.undo.as_ref().filter(|_| goes) else { continue };
        let is_set_anew = undo.is_setting && set_anew.contains(undo.command.as_str());
        if !is_set_anew && seen.insert(&undo.command, ()).is_none() {
            taken_back.push((undo.command.clone(), stays.then(|| row.command.clone())));
        }
    }
    let again: HashSet<String> = taken_back.iter().filter_map(|(_, row)| row.clone()).collect();
    let there: HashSet<&str> = known.running.iter().map(|row| row.command.as_str()).collect();
    let made = known.target.iter().map(|row| &row.command);
    let is_new = |command: &String| !there.contains(command.as_str());
    let made = made.filter(|command| is_new(command) || again.contains(*command));
    taken_back.iter().rev().map(|(undo, _)| undo.clone()).chain(made.cloned()).collect()
}
