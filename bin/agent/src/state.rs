//! Interface of the agent's state machine: events, orders, states.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use crate::desired::{Goal, Refusal};
use crate::difference::texts;

/// Reaction to a store that has no desired state any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orphan {
    /// Remove nothing.
    #[default]
    Keep,
    /// Remove the fleet's lines.
    Empty,
}

/// Reaction to lines of the fleet that others removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drift {
    /// Report them.
    #[default]
    Report,
    /// Add them again.
    Repair,
}

/// Knowledge that outlasts the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Own {
    /// The state that was applied last.
    pub goal: Option<Goal>,
    /// The state that is being applied.
    pub pending: Option<Goal>,
    /// Lines that may be the fleet's.
    pub lines: BTreeSet<String>,
    /// The run of the router in which it was applied.
    pub instance: String,
}

/// The configuration of a router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Its lines.
    pub lines: HashSet<String>,
    /// Their hash.
    pub hash: String,
    /// Identifier of its process, which changes with each start.
    pub instance: String,
}

/// Why the router did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its configuration is not the one that was named.
    Changed,
    /// It refuses a line of the patch, by its number, or all of it.
    Refused(Option<usize>, String),
    /// It does not answer, and may have done it or not.
    Gone(String),
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The store desires this state.
    Desired(Goal),
    /// The desired state in the store is invalid.
    Wrong(Refusal),
    /// The store desires nothing.
    Nothing,
    /// The store answered a question asked at this time; the name is this agent's.
    Alive(f64),
    /// Another agent has the name.
    Taken(String),
    /// The store does not answer.
    Lost(String),
    /// The agent was stopped for longer than the store keeps its name.
    Stale,
    /// The router runs this.
    Running(Running),
    /// It runs what it did when it was looked at last.
    Same,
    /// The patch is applied; the hash of the configuration, if it is known.
    Patched(Option<String>),
    /// The change is confirmed.
    Confirmed,
    /// The router did not do what it was asked.
    Trouble(Trouble),
    /// Time has passed.
    Tick,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Read the router's configuration; [`Event::Same`] if it has this run and hash.
    Read(Option<(String, String)>),
    /// Apply a patch to the configuration with a hash.
    Patch {
        /// Its lines.
        text: String,
        /// The hash.
        base: String,
        /// Minutes to confirm it, and the name of the change for that.
        confirm: Option<(f64, String)>,
    },
    /// Confirm the change with a name.
    Confirm(String),
    /// Write this to the disk, before anything else.
    Keep(Own),
}

/// State for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The router is in the desired state.
    Converged,
    /// A change is under way.
    Applying,
    /// Something is missing.
    #[default]
    Waiting,
    /// The desired state is refused; the router is unchanged.
    Refused,
    /// Others have removed lines.
    Drifted,
}

/// The state of a router as others see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// State.
    pub state: State,
    /// Reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Revision that is desired.
    pub desired: Option<u64>,
    /// Revision that was applied.
    pub applied: Option<u64>,
    /// Hash of the router's configuration.
    pub hash: Option<String>,
    /// Place and reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
    /// Lines that others removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Why the store does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl Own {
    /// The knowledge once a state has been applied.
    pub fn applied(goal: Goal, instance: String) -> Self {
        Self { lines: texts(&goal), goal: Some(goal), pending: None, instance }
    }
}
