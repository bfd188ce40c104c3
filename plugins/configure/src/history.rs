//! Revisions: configurations that were committed, with time and origin.

use std::collections::VecDeque;
use std::rc::Rc;

use control::configuration::Row;
use control::process::Timer;
use control::{origin, wall};
use serde::Serialize;

/// Most revisions that are kept.
const MOST: usize = 50;
/// Most commands of all revisions together, beside those of the last one.
const MOST_COMMANDS: usize = 2_000_000;

/// The configuration at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Revision {
    /// Seconds since 1970-01-01 UTC.
    pub time: u64,
    /// The one who committed it.
    pub origin: String,
    /// Those who may have changed something since the revision before.
    pub changed_by: Vec<String>,
    /// What for.
    pub reason: String,
    /// Its commands.
    #[serde(skip)]
    pub rows: Rc<[Row]>,
}

/// The last revisions, the newest at the front.
#[derive(Default)]
pub struct History {
    pub revisions: VecDeque<Revision>,
}

/// A commit that is undone unless it is confirmed.
pub struct Awaited {
    pub timer: Timer,
    /// Seconds of the router's clock at which it is undone.
    pub due: f64,
    /// The configuration that comes back.
    pub base: Rc<[Row]>,
}

impl History {
    /// Adds a revision.
    pub fn push(&mut self, reason: String, rows: Rc<[Row]>) {
        let (time, origin) = (wall::now().as_secs(), origin::current().to_string());
        let changed_by = origin::take_changes().iter().map(|o| o.to_string()).collect();
        self.revisions.push_front(Revision { time, origin, changed_by, reason, rows });
        let mut commands = 0;
        let older = self.revisions.iter().skip(1).take(MOST - 1);
        let count = 1 + older
            .take_while(|r| {
                commands += r.rows.len();
                commands <= MOST_COMMANDS
            })
            .count();
        self.revisions.truncate(count);
    }

    /// The revision `back` steps before the last one.
    pub fn at(&self, back: usize) -> Option<&Revision> {
        self.revisions.get(back)
    }
}
