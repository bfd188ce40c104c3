//! Whether a change leaves nothing behind, found out before anything changes.

use std::collections::HashSet;

use control::configuration::Row;
use net::prelude::*;

use crate::difference::{Difference, Known, Rows, only_in, plan};
use crate::trial::Script;

/// A change in which commands have to go that no other one takes back, to be rehearsed by a trial:
/// they may go with something else.
pub struct Rehearsal {
    change: Known,
    /// Commands that have to go and that no command takes back.
    lasting: Vec<Row>,
    /// The text after the reason if they stay.
    consequence: &'static str,
}

impl Rehearsal {
    pub fn of(from: &Rows, to: &Rows, consequence: &'static str) -> Option<Self> {
        let goes = only_in(from, to).into_iter();
        let lasting: Vec<_> = goes.filter(|row| row.undo.is_none()).cloned().collect();
        let change = Known { running: Arc::clone(from), target: Arc::clone(to), before: None };
        (!lasting.is_empty()).then_some(Self { change, lasting, consequence })
    }

    /// The script of its trial.
    pub fn script(&self) -> Result<Script, Error> {
        let plan = plan(&self.change, 1).into_iter().map(Into::into).collect();
        Script::rehearsal(&self.change.running, plan)
    }

    /// The error of commands that are still there.
    pub fn result(&self, rows: &[Row]) -> Result<(), Error> {
        let there: HashSet<&str> = rows.iter().map(|row| row.command.as_str()).collect();
        let stays = |lasting: &&Row| there.contains(lasting.command.as_str());
        let removed: Vec<_> = self.lasting.iter().filter(stays).map(Row::shown).collect();
        if removed.is_empty() {
            return Ok(());
        }
        let left = Difference { removed, added: Vec::new() }.left();
        Err(Error::new(format!("{left}; {}", self.consequence)))
    }
}
