//! Revisions: configurations that were committed, with time and origin.

use std::collections::VecDeque;
use std::rc::Rc;

use control::configuration::Row;
use control::process::Timer;
use control::{origin, wall};
use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// Most revisions that are kept.
const MOST: usize = 50;
/// Most commands of all revisions together, beside those of the last one.
const MOST_COMMANDS: usize = 2_000_000;

/// The configuration at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// Seconds since 1970-01-01 UTC.
    pub time: u64,
    /// Milliseconds of that second.
    pub millisecond: u32,
    /// The one who committed it.
    pub origin: String,
    /// Origins of changes since the revision before.
    pub changed_by: Vec<String>,
    /// Reason.
    pub reason: String,
    /// Number of its commands.
    pub commands: usize,
    /// Its commands, each with an end of line.
    #[serde(skip)]
    pub text: Rc<str>,
    /// Number of its file.
    #[serde(skip)]
    pub file: u64,
    /// Whether an earlier start made it, perhaps of another version with other words.
    #[serde(skip)]
    pub is_earlier: bool,
}

/// The last revisions, the newest at the front.
#[derive(Default)]
pub struct History {
    pub revisions: VecDeque<Revision>,
    /// Files in which they outlast the process.
    pub kept: Kept,
}

/// A commit that is undone unless it is confirmed.
pub struct Awaited {
    pub timer: Timer,
    /// Seconds of the router's clock at which it is undone.
    pub due: f64,
    /// The configuration that comes back.
    pub base: Revision,
    /// The name of the change, if only a commit with it confirms it.
    pub id: Option<String>,
}

/// The commands of a configuration, each with an end of line.
pub fn text(rows: &[Row]) -> String {
    rows.iter().fold(String::new(), |text, row| text + &row.command + "\n")
}

impl History {
    /// Adds a revision unless it is that of before; whether it is new.
    pub fn push(&mut self, reason: &str, rows: &[Row]) -> bool {
        let text = text(rows);
        if let Some(last) = self.revisions.front_mut().filter(|last| *last.text == *text) {
            last.is_earlier = false;
            return false;
        }
        let now = wall::now();
        let revision = Revision {
            time: now.as_secs(),
            millisecond: now.subsec_millis(),
            origin: origin::current().to_string(),
            changed_by: origin::take_changes().iter().map(|o| o.to_string()).collect(),
            reason: reason.to_owned(),
            commands: rows.len(),
            text: text.into(),
            file: self.revisions.front().map_or(0, |last| last.file) + 1,
            is_earlier: false,
        };
        self.kept.write(&revision);
        self.revisions.push_front(revision);
        self.trim();
        true
    }

    /// Forgets the oldest ones that are too many.
    pub fn trim(&mut self) {
        let mut commands = 0;
        let older = self.revisions.iter().skip(1).take(MOST - 1);
        let count = 1 + older
            .take_while(|r| {
                commands += r.commands;
                commands <= MOST_COMMANDS
            })
            .count();
        for gone in self.revisions.drain(count.min(self.revisions.len())..) {
            self.kept.remove(&gone);
        }
    }

    /// The revision `back` steps before the last one.
    pub fn at(&self, back: usize) -> Option<&Revision> {
        self.revisions.get(back)
    }
}
