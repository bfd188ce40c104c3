//! The difference between a router's configuration and a state.

use std::collections::{BTreeSet, HashSet};

use crate::desired::{Goal, Line};
use crate::state::Running;

/// A line as a status shows it, which more people may read than the configuration.
pub fn shown(line: &Line) -> String {
    let Line { section, number, text } = line;
    let is_secret = ["secret", "key", "password", "psk"].iter().any(|word| text.contains(word));
    format!("{section}:{number}: {}", if is_secret { control::HIDDEN } else { text })
}

/// Identity of a state.
pub fn key(goal: &Goal) -> (u64, String) {
    (goal.revision, goal.digest.clone())
}

/// The name of a change to a state, for its confirmation: one word.
pub fn name(goal: &Goal) -> String {
    let digest = goal.digest.get(..16).unwrap_or(&goal.digest);
    format!("fleet-{}-{digest}", goal.revision)
}

/// The lines of a state, without their places.
pub fn texts(goal: &Goal) -> BTreeSet<String> {
    goal.lines.iter().map(|line| line.text.clone()).collect()
}

/// Lines that turn the running configuration into a state.
#[derive(Default)]
pub struct Difference {
    /// Lines to remove.
    pub removed: Vec<String>,
    /// Lines to add.
    pub added: Vec<Line>,
}

impl Difference {
    /// `own` are the lines that may be removed.
    pub fn of(goal: &Goal, own: &BTreeSet<String>, running: &Running) -> Self {
        let wanted: HashSet<&str> = goal.lines.iter().map(|line| line.text.as_str()).collect();
        let goes =
            |line: &&String| running.lines.contains(*line) && !wanted.contains(line.as_str());
        let removed = own.iter().filter(goes).cloned().collect();
        let is_new = |line: &&Line| !running.lines.contains(&line.text);
        Self { removed, added: goal.lines.iter().filter(is_new).cloned().collect() }
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// The patch.
    pub fn text(&self) -> String {
        let removed = self.removed.iter().map(|line| format!("- {line}\n"));
        removed.chain(self.added.iter().map(|line| format!("+ {}\n", line.text))).collect()
    }

    /// Its lines: whether each adds, and where it comes from.
    pub fn lines(&self) -> Vec<(bool, Line)> {
        let removed = self
            .removed
            .iter()
            .map(|text| (false, Line { section: String::new(), number: 0, text: text.clone() }));
        removed.chain(self.added.iter().map(|line| (true, line.clone()))).collect()
    }
}
