//! The API trace: recorded requests, to be shown, saved and replayed; and recorded replies.

mod commands;
mod file;

use std::collections::VecDeque;

use super::outgoing::split;

pub(super) use commands::{readdress, register};

/// Requests kept when nothing else is said.
const DEFAULT_ITEMS: usize = 256 << 10;

/// The messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Requests.
    Rx,
    /// Answers and events.
    Tx,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Rx => "RX",
            Self::Tx => "TX",
        }
    }
}

/// Recorded messages of one direction.
#[derive(Debug)]
pub(super) struct Trace {
    is_on: bool,
    /// Most messages that are kept.
    limit: usize,
    /// Each begins with its number.
    kept: VecDeque<Box<[u8]>>,
    /// Whether older ones had to go.
    has_wrapped: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self { is_on: false, limit: DEFAULT_ITEMS, kept: VecDeque::new(), has_wrapped: false }
    }
}

impl Trace {
    /// Keeps the messages in `bytes`, each after its header, if it is on.
    pub fn record_all(&mut self, bytes: &[u8]) {
        if self.is_on {
            split(bytes).into_iter().for_each(|message| self.record(message));
        }
    }

    /// Keeps a message if it is on.
    pub fn record(&mut self, message: &[u8]) {
        if !self.is_on {
            return;
        }
        if self.kept.len() >= self.limit {
            self.kept.pop_front();
            self.has_wrapped = true;
        }
        self.kept.push_back(message.into());
    }

    /// Starts or stops; at most `limit` messages are kept from now on.
    pub fn configure(&mut self, is_on: bool, limit: Option<usize>) {
        self.is_on = is_on;
        self.limit = limit.unwrap_or(self.limit).max(1);
        let surplus = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..surplus);
        self.has_wrapped |= surplus > 0;
    }

    fn free(&mut self) {
        self.kept.clear();
        self.has_wrapped = false;
    }

    /// A line of `show api trace-status`.
    fn status(&self, direction: Direction) -> String {
        let name = direction.name();
        if !self.is_on && self.kept.is_empty() {
            return format!("{name} Trace disabled\n");
        }
        let state = if self.is_on { "enabled" } else { "disabled" };
        let wrapped = if self.has_wrapped { "has wrapped" } else { "has not wrapped" };
        let (used, limit) = (self.kept.len(), self.limit);
        format!("{name} Trace {state}: used {used} of {limit} items, {wrapped}\n")
    }
}
