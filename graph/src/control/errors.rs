//! The catalogue of counters: which number is which counter of which node.

use std::sync::Arc;

use infra::counter::{Counter, Rows};

use super::BuildError;
use crate::node::CounterText;

/// Most counters there may be: a packet names its own in 16 bits.
pub(super) const MOST: usize = 65536;
/// The counter of packets that a route discards on purpose (`error` 0 of a packet).
const BLACKHOLED: CounterText =
    CounterText { name: "blackholed packets", text: "blackholed packets", severity: "error" };
/// The counter of packets that reach a node whose interface is gone.
pub(super) const DELETED: u16 = 1;
const GONE: CounterText =
    CounterText { name: "deleted", text: "interface deleted", severity: "error" };
const PANIC: CounterText =
    CounterText { name: "node_failed", text: "dropped because the node failed", severity: "error" };

#[derive(Clone)]
struct Row {
    node: Arc<str>,
    text: CounterText,
    /// Value when it was cleared.
    cleared: u64,
}

pub(super) struct Errors {
    rows: Vec<Option<Row>>,
    free: Vec<(u16, u16)>,
}

impl Errors {
    pub fn new() -> Self {
        let row = |node: &str, text| Some(Row { node: node.into(), text, cleared: 0 });
        Self { rows: vec![row("null-node", BLACKHOLED), row("null-node", GONE)], free: Vec::new() }
    }
    /// Numbers for the counters of a node: reasons, counts, and one for its panics.
    pub fn add(
        &mut self,
        node: &Arc<str>,
        texts: (&[CounterText], &[CounterText]),
        counters: &Rows<Counter>,
    ) -> Result<(u16, u16), BuildError> {
        let count = texts.0.len() + texts.1.len() + 1;
        let base = match self.free.iter().position(|f| usize::from(f.1) == count) {
            Some(at) => usize::from(self.free.swap_remove(at).0),
            None if self.rows.len() + count <= MOST => {
                self.rows.resize(self.rows.len() + count, None);
                self.rows.len() - count
            }
            None => return Err(BuildError::TooManyCounters(node.to_string())),
        };
        for (i, text) in texts.0.iter().chain(texts.1).chain([&PANIC]).enumerate() {
            let cleared = counters.sum(base + i);
            self.rows[base + i] = Some(Row { node: Arc::clone(node), text: *text, cleared });
        }
        Ok((base as u16, count as u16))
    }
    pub fn remove(&mut self, base: u16, count: u16) {
        let range = usize::from(base)..usize::from(base) + usize::from(count);
        self.rows[range].fill(None);
        self.free.push((base, count));
    }
    /// Says that a node with these counters has another name.
    pub fn rename(&mut self, base: u16, count: u16, node: &Arc<str>) {
        let range = usize::from(base)..usize::from(base) + usize::from(count);
        self.rows[range].iter_mut().flatten().for_each(|row| row.node = Arc::clone(node));
    }
    pub fn clear(&mut self, counters: &Rows<Counter>) {
        for (i, row) in self.rows.iter_mut().enumerate() {
            if let Some(row) = row {
                row.cleared = counters.sum(i);
            }
        }
    }
    /// Number, node, text and value since cleared, thread by thread where asked.
    pub fn iter<'a>(
        &'a self,
        counters: &'a Rows<Counter>,
    ) -> impl Iterator<Item = (u16, &'a str, CounterText, u64)> {
        self.rows.iter().enumerate().filter_map(|(i, row)| {
            let row = row.as_ref()?;
            Some((i as u16, &*row.node, row.text, counters.sum(i).wrapping_sub(row.cleared)))
        })
    }
    /// `node: text` of a counter.
    pub fn describe(&self, index: u16) -> String {
        match self.rows.get(usize::from(index)) {
            Some(Some(row)) => format!("{}: {}", row.node, row.text.text),
            _ => format!("counter {index}"),
        }
    }
}
