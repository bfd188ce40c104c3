//! Packet trace: for chosen packets, each node they visited and what it said.
//!
//! Traced packets are few and chosen by a person, so their records are ordinary heap values: the
//! path of all other packets costs one test of a flag.
#![forbid(unsafe_code)]

use std::any::Any;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::control::{Engine, NodeIndex};

/// Most records a thread keeps; later ones are left out until the trace is cleared.
const MOST: usize = 1 << 20;

/// Names that a record shows, known to control only: `("interface", 2)` is `pg1`.
pub trait Names {
    /// The name of number `index` of a `kind`.
    fn name(&self, kind: &str, index: u32) -> String;
    /// The router, for records that look up the objects of their numbers.
    fn router(&self) -> Option<&dyn Any> {
        None
    }
}

/// A trace record of a packet: a small value, made into text when it is shown.
pub trait Record: Send + Sync + 'static {
    /// Writes it, without a newline at the end.
    ///
    /// # Errors
    /// The formatter's.
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// Findings in words, one per line, for operators who follow a packet: the
    /// lookup and the matching entry, but no headers. `None`: the text of [`Record::write`].
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let _ = names;
        None
    }
}

type SharedRecord = Arc<dyn Record>;

/// The trace record of an input node.
pub(crate) type Arrived = Box<dyn Fn(&Buffer<'_>) -> SharedRecord + Send>;

#[derive(Clone)]
struct Step {
    handle: u16,
    node: u32,
    at: f64,
    record: Option<SharedRecord>,
}

/// The records of one thread.
#[derive(Default)]
pub(crate) struct Recorder {
    steps: Vec<Step>,
    begun: u16,
    live: usize,
    pub(crate) arrival: Option<Arrived>,
}

/// A packet that another thread handed over: its number there, and the trace's.
pub(crate) struct HandedOver {
    pub thread: usize,
    pub packet: u16,
}

impl Record for HandedOver {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HANDED-OFF: from thread {} trace index {}", self.thread, self.packet)
    }
}

/// One traced packet: the nodes it visited in order, with the time in seconds and their records.
#[derive(Clone, Default)]
pub struct TracedPacket {
    /// In order of the visits.
    pub visits: Vec<Visit>,
}

/// One node that a traced packet visited: its number, when in seconds, and what it said.
pub type Visit = (u32, f64, Vec<Arc<dyn Record>>);

impl TracedPacket {
    /// Its text: a line with time since start and name for each node, and its records.
    pub fn text(&self, engine: &Engine, names: &dyn Names) -> String {
        self.text_at(engine, names, &time_of_day)
    }
    /// Its text with times, which are in seconds since start, as `time` writes them.
    pub fn text_at(
        &self,
        engine: &Engine,
        names: &dyn Names,
        time: &dyn Fn(f64) -> String,
    ) -> String {
        let mut out = String::new();
        for (node, at, records) in &self.visits {
            let _ = writeln!(out, "{}: {}", time(*at), engine.name_of(NodeIndex(*node)));
            for r in records {
                let _ = writeln!(out, "{}", Shown(r.as_ref(), names));
            }
        }
        out
    }
}

/// `00:00:50:686468`: hours, minutes, seconds and microseconds since start.
pub fn time_of_day(seconds: f64) -> String {
    let us = (seconds * 1e6) as u64;
    let s = us / 1_000_000;
    format!("{:02}:{:02}:{:02}:{:06}", s / 3600, s / 60 % 60, s % 60, us % 1_000_000)
}

/// A record that is words, for packets that are explained.
pub(crate) struct Said<W>(pub W);

impl<W: Fn(&dyn Names) -> String + Send + Sync + 'static> Record for Said<W> {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0(names))
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        Some(vec![self.0(names)])
    }
}

/// A record in words, a line each.
pub fn explained(record: &dyn Record, names: &dyn Names) -> Vec<String> {
    record.explain(names).unwrap_or_else(|| {
        let text = Shown(record, names).to_string();
        text.lines().map(|line| line.trim().to_owned()).collect()
    })
}

struct Shown<'a>(&'a dyn Record, &'a dyn Names);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(self.1, f)
    }
}

impl Recorder {
    /// Whether a traced packet is on its way.
    #[inline(always)]
    pub fn is_live(&self) -> bool {
        self.live > 0
    }
    /// Starts the trace of one more packet.
    pub fn begin(&mut self) -> Option<u16> {
        let handle = self.begun;
        self.begun = handle.checked_add(1)?;
        self.live += 1;
        Some(handle)
    }
    /// A traced packet is gone.
    pub fn end(&mut self) {
        self.live = self.live.saturating_sub(1);
    }
    pub fn visit(&mut self, handle: u16, node: u32, at: f64) {
        self.push(Step { handle, node, at, record: None });
    }
    #[cold]
    pub fn record(&mut self, handle: u16, node: u32, at: f64, record: impl Record) {
        self.record_shared(handle, node, at, Arc::new(record));
    }
    pub fn record_shared(&mut self, handle: u16, node: u32, at: f64, record: SharedRecord) {
        self.push(Step { handle, node, at, record: Some(record) });
    }
    fn push(&mut self, step: Step) {
        // A packet held since before the trace was cleared has a handle that is not known any more.
        if step.handle < self.begun && self.steps.len() < MOST {
            self.steps.push(step);
        }
    }
    /// The records since a number of steps, without the nodes visited.
    pub fn records_since(&self, steps: usize) -> Vec<(u16, SharedRecord)> {
        let said = self.steps[steps..].iter();
        said.filter_map(|s| Some((s.handle, s.record.clone()?))).collect()
    }
    /// Number of steps so far.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
    /// The packets so far, in the order they were met.
    pub fn packets(&self) -> Vec<TracedPacket> {
        let mut packets = vec![TracedPacket::default(); usize::from(self.begun)];
        for s in &self.steps {
            let visits = &mut packets[usize::from(s.handle)].visits;
            match &s.record {
                None => visits.push((s.node, s.at, Vec::new())),
                Some(r) => match visits.iter_mut().rev().find(|v| v.0 == s.node) {
                    Some(v) => v.2.push(Arc::clone(r)),
                    None => visits.push((s.node, s.at, vec![Arc::clone(r)])),
                },
            }
        }
        packets.retain(|p| !p.visits.is_empty());
        packets
    }
    /// Clears everything and returns it, to be freed elsewhere.
    pub fn clear(&mut self) -> impl Send + use<> {
        self.begun = 0;
        std::mem::take(&mut self.steps)
    }
}
