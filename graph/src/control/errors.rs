//! The catalogue of counters: which number is which counter of which node.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use infra::counter::{Counter, Rows};

use super::BuildError;
use crate::node::CounterText;

/// Most counters there may be: a dozen for each of 65,536 interfaces and more.
pub const MOST_COUNTERS: usize = 1 << 20;
/// The counter of packets that a route discards on purpose (`error` 0 of a packet).
const BLACKHOLED: CounterText =
    CounterText { name: "blackholed packets", text: "blackholed packets", severity: "error" };
/// The counter of packets that reach a node whose interface is gone.
pub(crate) const DELETED: u32 = 1;
const GONE: CounterText =
    CounterText { name: "deleted", text: "interface deleted", severity: "error" };
/// The counter of packets that ran in circles until they were dropped.
pub(crate) const IN_CIRCLES: u32 = 2;
const CIRCLES: CounterText = CounterText {
    name: "in_circles",
    text: "dropped because of a loop in the graph",
    severity: "error",
};
const PANIC: CounterText =
    CounterText { name: "node_failed", text: "dropped because the node failed", severity: "error" };

/// A counter that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterChange {
    /// Index.
    pub index: u32,
    /// The node it is counted at.
    pub node: Arc<str>,
    /// Its name there.
    pub name: &'static str,
    /// Whether it came.
    pub is_new: bool,
}

#[derive(Clone)]
struct Row {
    node: Arc<str>,
    text: CounterText,
}

pub(super) struct Errors {
    rows: Vec<Option<Row>>,
    /// Numbers that are free again, by how many are together.
    free: HashMap<u32, Vec<u32>>,
    changes: Vec<CounterChange>,
}

impl Errors {
    pub fn new() -> Self {
        let row = |text| Some(Row { node: "null-node".into(), text });
        let rows = vec![row(BLACKHOLED), row(GONE), row(CIRCLES)];
        let mut this = Self { rows, free: HashMap::new(), changes: Vec::new() };
        this.note(0..3, true);
        this
    }
    fn note(&mut self, range: Range<usize>, is_new: bool) {
        for (index, row) in range.clone().zip(&self.rows[range]) {
            if let Some(Row { node, text }) = row
                && text.name != PANIC.name
            {
                let (node, index) = (Arc::clone(node), index as u32);
                self.changes.push(CounterChange { index, node, name: text.name, is_new });
            }
        }
    }
    /// Counters that came or went since it was asked last.
    pub fn take_changes(&mut self) -> Vec<CounterChange> {
        std::mem::take(&mut self.changes)
    }
    /// All numbers that are or were in use.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Numbers for the counters of a node: reasons, counts, and one for its panics.
    pub fn add(
        &mut self,
        node: &Arc<str>,
        texts: (&[CounterText], &[CounterText]),
    ) -> Result<(u32, u32), BuildError> {
        let count = texts.0.len() + texts.1.len() + 1;
        let base = match self.free.get_mut(&(count as u32)).and_then(Vec::pop) {
            Some(base) => base as usize,
            None if self.rows.len() + count <= MOST_COUNTERS => {
                self.rows.resize(self.rows.len() + count, None);
                self.rows.len() - count
            }
            None => return Err(BuildError::TooManyCounters(node.to_string())),
        };
        for (i, text) in texts.0.iter().chain(texts.1).chain([&PANIC]).enumerate() {
            self.rows[base + i] = Some(Row { node: Arc::clone(node), text: *text });
        }
        self.note(base..base + count, true);
        Ok((base as u32, count as u32))
    }
    pub fn remove(&mut self, base: u32, count: u32) {
        let range = base as usize..(base + count) as usize;
        self.note(range.clone(), false);
        self.rows[range].fill(None);
        self.free.entry(count).or_default().push(base);
    }
    /// Gives back the memory of counters after the last one in use.
    pub fn give_back(&mut self) {
        let end = self.rows.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.rows.truncate(end);
        self.rows.shrink_to_fit();
        self.free.values_mut().for_each(|bases| bases.retain(|base| (*base as usize) < end));
        self.free.retain(|_, bases| !bases.is_empty());
        self.changes.shrink_to_fit();
    }
    /// Says that a node with these counters has another name.
    pub fn rename(&mut self, base: u32, count: u32, node: &Arc<str>) {
        let range = base as usize..(base + count) as usize;
        self.note(range.clone(), false);
        self.rows[range.clone()].iter_mut().flatten().for_each(|row| row.node = Arc::clone(node));
        self.note(range, true);
    }
    /// Number of a counter.
    pub fn position(&self, node: &str, name: &str) -> Option<usize> {
        let is_it = |row: &Row| &*row.node == node && row.text.name == name;
        self.rows.iter().position(|row| row.as_ref().is_some_and(is_it))
    }
    /// Number, node, text and value.
    pub fn iter<'a>(
        &'a self,
        counters: &'a Rows<Counter>,
    ) -> impl Iterator<Item = (u32, &'a str, CounterText, u64)> {
        self.rows.iter().enumerate().filter_map(|(i, row)| {
            let row = row.as_ref()?;
            Some((i as u32, &*row.node, row.text, counters.sum(i)))
        })
    }
    /// Node and text of a counter.
    pub fn text(&self, index: u32) -> Option<(&str, CounterText)> {
        self.rows.get(index as usize)?.as_ref().map(|row| (&*row.node, row.text))
    }
    /// `node: text` of a counter.
    pub fn describe(&self, index: u32) -> String {
        match self.rows.get(index as usize) {
            Some(Some(row)) => format!("{}: {}", row.node, row.text.text),
            _ => format!("counter {index}"),
        }
    }
}
