//! The event log: what happened and when, for those who look for causes.
//!
//! It is a ring of texts with the router's time. Changes of the router are always recorded;
//! activity of control (requests, commands, processes, timers) only on request. Only control
//! records: a data-plane thread would wait for memory. Its activity is counted, traced and
//! captured.

mod commands;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::{self, Display, Write};
use std::rc::Rc;

use infra::time::Clock;
use serde::Serialize;

use crate::cli::Cli;

/// Default number of events kept.
const DEFAULT_SIZE: usize = 1 << 17;
/// Most bytes of a text; the rest is cut off.
const LONGEST: usize = 256;

/// The topic of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The router has changed. Noted always, all others only when asked for.
    State,
    /// A request of the binary API runs.
    Api,
    /// A command runs, a session starts or ends.
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

/// An event in the ring; its text is among those of the ring.
struct Noted {
    time: f64,
    topic: Topic,
    len: u16,
}

struct Ring {
    clock: Clock,
    events: VecDeque<Noted>,
    /// All texts, one behind the other: pieces of memory of their own, among those of what is soon
    /// gone, would keep its pages.
    texts: VecDeque<u8>,
    size: usize,
    is_running: bool,
    /// By topic.
    is_noted: [bool; TOPICS.len()],
}

impl EventLog {
    /// An empty log with the times of this clock.
    pub fn new(clock: Clock) -> Self {
        let is_noted = TOPICS.map(|(topic, _)| topic == Topic::State);
        let (events, texts, size) = (VecDeque::new(), VecDeque::new(), DEFAULT_SIZE);
        let ring = Ring { clock, events, texts, size, is_running: true, is_noted };
        Self(Rc::new(RefCell::new(ring)))
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
            self.0.borrow_mut().put(topic, &text);
        }
    }

    /// A copy of the newest events, the oldest first.
    pub fn newest(&self, most: usize) -> Vec<Event> {
        self.0.borrow().newest(most).collect()
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
    fn put(&mut self, topic: Topic, text: &str) {
        self.forget(self.size.saturating_sub(1));
        self.texts.extend(text.as_bytes());
        let len = text.len() as u16; // LONGEST at most
        self.events.push_back(Noted { time: self.clock.now(), topic, len });
    }

    /// The newest events, the oldest first.
    fn newest(&self, most: usize) -> impl Iterator<Item = Event> {
        let older = self.events.len().saturating_sub(most);
        let mut at = self.len_of(older);
        self.events.range(older..).map(move |Noted { time, topic, len }| {
            let end = at + usize::from(*len);
            let bytes: Vec<_> = self.texts.range(at..end).copied().collect();
            at = end;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Event { time: *time, topic: *topic, text }
        })
    }

    /// Forgets the oldest events, but for so many.
    fn forget(&mut self, but: usize) {
        let surplus = self.events.len().saturating_sub(but);
        if surplus > 0 {
            self.texts.drain(..self.len_of(surplus));
            self.events.drain(..surplus);
        }
    }

    /// Bytes of the texts of so many of the oldest events.
    fn len_of(&self, count: usize) -> usize {
        self.events.range(..count).map(|event| usize::from(event.len)).sum()
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        self.forget(size);
        self.events.shrink_to(size);
        self.texts.shrink_to_fit();
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
