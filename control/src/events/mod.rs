//! The event log: what happened and when, for those who look for causes.
//!
//! It is a ring of texts with the router's time. What changes the router is noted always; what
//! control does all day long (requests, commands, processes, timers) only when somebody wants it.
//! Only control notes: a data-plane thread would wait for memory. What that does is counted, traced
//! and captured.

mod commands;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::{self, Display, Write};
use std::rc::Rc;

use infra::time::Clock;
use serde::Serialize;

use crate::cli::Cli;

/// Events that are kept unless somebody wants more or fewer.
const DEFAULT_SIZE: usize = 1 << 17;
/// Most bytes of a text; the rest is cut off.
const LONGEST: usize = 256;

/// The topic of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The router has changed. Noted always, all others only when asked for.
    State,
    /// A request of the binary API is carried out.
    Api,
    /// A command is carried out, a session begins or ends.
    Cli,
    /// A process of control runs.
    Dispatch,
    /// A timer fires.
    Timer,
}

/// All topics, in the order of their declaration, with their words.
const TOPICS: [(Topic, &str); 5] = [
    (Topic::State, "state"),
    (Topic::Api, "api"),
    (Topic::Cli, "cli"),
    (Topic::Dispatch, "dispatch"),
    (Topic::Timer, "tw_timer"),
];

/// The event log. Clones are the same one.
#[derive(Clone)]
pub struct EventLog(Rc<RefCell<Ring>>);

/// One event. Prints as `show event-logger` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Seconds on the router's clock.
    pub time: f64,
    /// Its topic.
    pub topic: Topic,
    /// The event.
    pub text: String,
}

struct Ring {
    clock: Clock,
    events: VecDeque<Event>,
    size: usize,
    is_running: bool,
    /// By topic.
    is_noted: [bool; TOPICS.len()],
}

impl EventLog {
    /// An empty log with the times of this clock.
    pub fn new(clock: Clock) -> Self {
        let is_noted = TOPICS.map(|(topic, _)| topic == Topic::State);
        let (events, size) = (VecDeque::new(), DEFAULT_SIZE);
        Self(Rc::new(RefCell::new(Ring { clock, events, size, is_running: true, is_noted })))
    }

    /// Notes an event if its topic is noted now; `text` is not formatted otherwise. Line ends
    /// become blanks, and what is longer than 256 bytes is cut.
    pub fn note(&self, topic: Topic, text: impl Display) {
        let is_wanted = {
            let ring = self.0.borrow();
            ring.is_running && ring.is_noted[topic as usize]
        };
        // Formatting may look at what is noted, so nothing is borrowed meanwhile.
        if is_wanted {
            let text = one_line(&text);
            self.0.borrow_mut().put(topic, text);
        }
    }

    /// A copy of the newest events, the oldest first.
    pub fn newest(&self, most: usize) -> Vec<Event> {
        let ring = self.0.borrow();
        let older = ring.events.len().saturating_sub(most);
        ring.events.range(older..).cloned().collect()
    }

    /// Adds the commands that show and set this log, and notes commands from now on.
    pub fn register<C: 'static>(&self, cli: &mut Cli<C>) {
        cli.note_in(self.clone());
        commands::register(self, cli);
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new(Clock::start())
    }
}

impl Ring {
    fn put(&mut self, topic: Topic, text: String) {
        if self.events.len() >= self.size {
            self.events.pop_front();
        }
        self.events.push_back(Event { time: self.clock.now(), topic, text });
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        let surplus = self.events.len().saturating_sub(size);
        self.events.drain(..surplus);
        self.events.shrink_to(size);
    }
}

/// At most [`LONGEST`] bytes of a text, on one line.
fn one_line(text: &dyn Display) -> String {
    struct Short(String);
    impl Write for Short {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                if self.0.len() + c.len_utf8() > LONGEST {
                    return Err(fmt::Error);
                }
                self.0.push(if c.is_control() { ' ' } else { c });
            }
            Ok(())
        }
    }
    let mut short = Short(String::new());
    // It fails when there is enough of it.
    let _ = write!(short, "{text}");
    short.0.shrink_to_fit();
    short.0
}

impl Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(TOPICS[*self as usize].1)
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>18.9}: {}: {}", self.time, self.topic, self.text)
    }
}

#[cfg(test)]
mod tests;
