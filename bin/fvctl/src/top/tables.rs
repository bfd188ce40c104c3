//! Rates between two samples, as tables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::sample::{NodeCounts, Sample};

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A rate or count, with K, M or G behind it when it is large.
    Number(f64),
    /// A share of all.
    Percent(f64),
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    pub title: &'static str,
    /// The first one is the name of its row.
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
    /// The column it is sorted by, and whether the largest come first.
    pub sort: (usize, bool),
}

/// All tables of an interval.
pub struct Tables {
    pub seconds: f64,
    pub nodes: Table,
    pub interfaces: Table,
    pub threads: Table,
    pub drops: Table,
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Percent(share) => format!("{:.1}%", share * 100.0),
            Self::Number(n) => scaled(*n),
        }
    }
    fn value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(n) | Self::Percent(n) => (*n).into(),
        }
    }
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(one) | Self::Percent(one), Self::Number(n) | Self::Percent(n)) => {
                one.total_cmp(n)
            }
            (Self::Text(_), _) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

/// A number in at most seven characters.
fn scaled(n: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "K")];
    match units.iter().find(|(unit, _)| n.abs() >= *unit) {
        Some((_, "K")) => format!("{:.1}K", n / 1e3),
        Some((unit, name)) => format!("{:.2}{name}", n / unit),
        None if n.fract() == 0.0 => format!("{n}"),
        None if n.abs() < 10.0 => format!("{n:.2}"),
        None if n.abs() < 100.0 => format!("{n:.1}"),
        None => format!("{n:.0}"),
    }
}

impl Table {
    pub fn new(title: &'static str, columns: &[&'static str], sort: usize) -> Self {
        Self { title, columns: columns.to_vec(), rows: Vec::new(), sort: (sort, true) }
    }
    /// Its rows as they are sorted.
    pub fn order(&self) -> Vec<&Vec<Cell>> {
        let (column, is_reverse) = self.sort;
        let mut rows: Vec<_> = self.rows.iter().collect();
        // Rows that are equal keep the order of their names.
        rows.sort_by(|one, other| {
            let order = one[column].compare(&other[column]);
            if is_reverse { order.reverse() } else { order }
        });
        rows
    }
    /// Lines of these rows, below one with the names of columns.
    pub fn lines(&self, rows: &[&Vec<Cell>]) -> Vec<String> {
        let texts: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let width = |column: usize| {
            let cells = texts.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let is_name = |column: usize| {
            column == 0 || self.rows.iter().any(|row| matches!(row[column], Cell::Text(_)))
        };
        let names: Vec<_> = (0..self.columns.len()).map(is_name).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (column, cell) in cells.enumerate() {
                let width = widths[column];
                match names[column] {
                    true => line += &format!("{cell:<width$}  "),
                    false => line += &format!("{cell:>width$}  "),
                }
            }
            line
        };
        let head = line(&mut self.columns.iter().copied());
        let rows = texts.iter().map(|row| line(&mut row.iter().map(String::as_str)));
        std::iter::once(head).chain(rows).collect()
    }
    /// An object for each row.
    pub fn to_json(&self) -> Value {
        let row = |row: &&Vec<Cell>| {
            let key = |name: &&str| name.replace('/', "_per_").replace(' ', "_");
            let cells = self.columns.iter().map(key).zip(row.iter().map(Cell::value));
            Value::Object(cells.collect::<Map<_, _>>())
        };
        self.order().iter().map(row).collect()
    }
}

impl Tables {
    /// The rates between two samples.
    pub fn between(old: &Sample, new: &Sample) -> Self {
        let seconds = new.at.duration_since(old.at).as_secs_f64().max(1e-3);
        Self {
            seconds,
            nodes: nodes(old, new, seconds),
            interfaces: interfaces(old, new, seconds),
            threads: threads(old, new, seconds),
            drops: drops(old, new, seconds),
        }
    }
    /// All tables, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Table)> {
        let Self { nodes, interfaces, threads, drops, .. } = self;
        [("threads", threads), ("nodes", nodes), ("interfaces", interfaces), ("drops", drops)]
            .into_iter()
    }
}

/// A rate of what only grows, but for being cleared.
fn rate(old: u64, new: u64, seconds: f64) -> f64 {
    new.saturating_sub(old) as f64 / seconds
}

/// A ratio; 0 when it is of nothing.
fn per(n: f64, of: f64) -> f64 {
    if of > 0.0 { n / of } else { 0.0 }
}

/// Rates of nodes between two samples, thread by thread.
pub fn node_rates(old: &Sample, new: &Sample, node: &str) -> BTreeMap<u64, NodeCounts> {
    let (before, nothing) = (old.nodes.get(node), NodeCounts::default());
    let threads = new.nodes.get(node).into_iter().flatten();
    let rates = threads.map(|(thread, now)| {
        let before = before.and_then(|of| of.get(thread)).unwrap_or(&nothing);
        let between = NodeCounts {
            calls: now.calls.saturating_sub(before.calls),
            vectors: now.vectors.saturating_sub(before.vectors),
            clocks: now.clocks.saturating_sub(before.clocks),
        };
        (*thread, between)
    });
    rates.collect()
}

/// The columns of what nodes did.
pub const NODE: [&str; 6] =
    ["node", "clocks/packet", "packets/s", "vectors/call", "calls/s", "share"];

/// A row of these.
pub fn node_row(name: String, did: NodeCounts, clocks: f64, seconds: f64) -> Vec<Cell> {
    let vectors = did.vectors as f64;
    vec![
        Cell::Text(name),
        Cell::Number(per(did.clocks as f64, vectors)),
        Cell::Number(vectors / seconds),
        Cell::Number(per(vectors, did.calls as f64)),
        Cell::Number(did.calls as f64 / seconds),
        Cell::Percent(per(did.clocks as f64, clocks)),
    ]
}

fn nodes(old: &Sample, new: &Sample, seconds: f64) -> Table {
    let mut table = Table::new("Nodes", &NODE, 5);
    let clocks = new.hz * seconds * new.threads.len() as f64;
    for name in new.nodes.keys() {
        let mut sum = NodeCounts::default();
        for did in node_rates(old, new, name).values() {
            sum.calls += did.calls;
            sum.vectors += did.vectors;
            sum.clocks += did.clocks;
        }
        if sum.calls > 0 {
            table.rows.push(node_row(name.clone(), sum, clocks, seconds));
        }
    }
    table
}

fn interfaces(old: &Sample, new: &Sample, seconds: f64) -> Table {
    let columns = [
        "interface",
        "state",
        "rx packets/s",
        "rx bits/s",
        "tx packets/s",
        "tx bits/s",
        "drops/s",
        "errors/s",
    ];
    let mut table = Table::new("Interfaces", &columns, 2);
    for (name, now) in &new.interfaces {
        let before = old.interfaces.get(name);
        let rate = |counter: &str| {
            let value = |of: &BTreeMap<String, u64>| of.get(counter).copied().unwrap_or(0);
            let old = before.map_or_else(|| value(&now.counts), |of| value(&of.counts));
            rate(old, value(&now.counts), seconds)
        };
        let errors = ["rx_error", "rx_miss", "rx_no_buf", "tx_error"].map(rate).iter().sum();
        table.rows.push(vec![
            Cell::Text(name.clone()),
            Cell::Text(if now.is_up { "up" } else { "down" }.to_owned()),
            Cell::Number(rate("rx packets")),
            Cell::Number(rate("rx bytes") * 8.0),
            Cell::Number(rate("tx packets")),
            Cell::Number(rate("tx bytes") * 8.0),
            Cell::Number(rate("drops")),
            Cell::Number(errors),
        ]);
    }
    table
}

fn threads(old: &Sample, new: &Sample, seconds: f64) -> Table {
    let columns = [
        "thread",
        "cpu",
        "load",
        "in packets/s",
        "out packets/s",
        "drops/s",
        "vectors/call",
        "loops/s",
        "sleeps/s",
    ];
    let mut table = Table::new("Threads (load: time spent on packets)", &columns, 0);
    table.sort = (0, false);
    for (id, now) in &new.threads {
        let before = old.threads.get(id).unwrap_or(now);
        // Calls of nodes that bring packets in are waiting when there are none.
        let (mut clocks, mut sum) = (0, NodeCounts::default());
        for name in new.nodes.keys() {
            let Some(did) = node_rates(old, new, name).remove(id) else { continue };
            let is_input = new.inputs.get(name) == Some(&true);
            if !is_input {
                sum.calls += did.calls;
                sum.vectors += did.vectors;
                clocks += did.clocks;
            }
        }
        table.rows.push(vec![
            Cell::Text(format!("{id} {}", now.name)),
            Cell::Text(now.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string())),
            Cell::Percent(per(clocks as f64, new.hz * seconds)),
            Cell::Number(rate(before.input, now.input, seconds)),
            Cell::Number(rate(before.output, now.output, seconds)),
            Cell::Number(rate(before.drop, now.drop, seconds)),
            Cell::Number(per(sum.vectors as f64, sum.calls as f64)),
            Cell::Number(rate(before.loops, now.loops, seconds)),
            Cell::Number(rate(before.sleeps, now.sleeps, seconds)),
        ]);
    }
    table
}

fn drops(old: &Sample, new: &Sample, seconds: f64) -> Table {
    let mut table =
        Table::new("Drops and other counts", &["node", "reason", "count/s", "count"], 2);
    for ((node, reason), count) in &new.drops {
        let before = old.drops.get(&(node.clone(), reason.clone())).copied().unwrap_or(0);
        table.rows.push(vec![
            Cell::Text(node.clone()),
            Cell::Text(reason.clone()),
            Cell::Number(rate(before, *count, seconds)),
            Cell::Number(*count as f64),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1.5, 12.34, 999.4, 9999.0, 12_345.0, 1.5e6, 2.5e9, 3.5e12].map(scaled);
        assert_eq!(texts, ["0", "1.50", "12.3", "999", "9999", "12.3K", "1.50M", "2.50G", "3.50T"]);
    }

    #[test]
    fn rows_are_sorted_and_columns_aligned() {
        let mut table = Table::new("Test", &["name", "count"], 1);
        let row = |name: &str, n| vec![Cell::Text(name.to_owned()), Cell::Number(n)];
        table.rows = vec![row("one", 5.0), row("second", 20_000.0), row("third", 5.0)];
        let lines = table.lines(&table.order());
        assert_eq!(
            lines,
            ["name    count  ", "second  20.0K  ", "one         5  ", "third       5  "]
        );
        table.sort = (0, false);
        assert_eq!(table.order()[0][0], Cell::Text("one".to_owned()));
        assert_eq!(table.to_json()[1]["count"], 20_000.0);
    }
}
