//! Reports of the engine: rows, and the text of `show runtime` and its like.
#![forbid(unsafe_code)]

use std::fmt;

use infra::order::Order;
use serde::Serialize;

use crate::engine::NodeStats;
use crate::node::InputState;

/// One node on one thread.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Number of the node.
    pub index: u32,
    /// Name.
    pub name: String,
    /// State of an input node.
    #[serde(skip)]
    pub state: Option<InputState>,
    /// Its counters.
    #[serde(flatten)]
    pub stats: NodeStats,
}

/// One thread, since statistics were cleared.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadRow {
    /// Number of the thread.
    pub thread: usize,
    /// Name.
    pub name: String,
    /// CPU it is pinned to.
    pub cpu: Option<usize>,
    /// Seconds since cleared.
    pub seconds: f64,
    /// Seconds on the router's clock.
    pub now: f64,
    /// Loops since cleared.
    pub loops: u64,
    /// Packets brought in.
    pub input: u64,
    /// Packets sent.
    pub output: u64,
    /// Packets dropped.
    pub drop: u64,
    /// Packets given to control.
    pub punt: u64,
    /// The nodes.
    pub nodes: Vec<NodeRow>,
}

/// A control process, shown among the nodes.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessRow {
    /// Name.
    pub name: String,
    /// The state of its wait: `any wait`, `event wait`.
    pub state: String,
    /// Times it ran.
    pub calls: u64,
    /// Times it went to wait.
    pub suspends: u64,
    /// Clocks it used.
    pub clocks: u64,
}

/// Packets over one edge.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeCount {
    /// Number of the edge.
    pub slot: u32,
    /// Number of the node at its end.
    pub node: u32,
    /// Name of the node at its end.
    pub name: String,
    /// Packets.
    pub vectors: u64,
}

/// `show runtime`.
#[derive(Clone, Debug, Serialize)]
pub struct Runtime {
    /// Data-plane threads.
    pub threads: Vec<ThreadRow>,
    /// Control's processes.
    pub processes: Vec<ProcessRow>,
    /// Level of detail of the text form.
    #[serde(skip)]
    pub detail: Detail,
}

/// The detail of `show runtime`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nodes that did something.
    #[default]
    Busy,
    /// All nodes.
    All,
    /// Largest frames of nodes that did something.
    Largest,
    /// No nodes.
    Summary,
}

/// `text` in the middle of `width` columns, as scripts know it: what cannot be shared evenly is on
/// the left.
pub fn centered(text: &str, width: usize) -> String {
    let left = (width.saturating_sub(text.chars().count())).div_ceil(2);
    format!("{:left$}{text:<1$}", "", width.saturating_sub(left))
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = self.threads.len() > 1;
        for (i, t) in self.threads.iter().enumerate() {
            if many {
                let cpu = t.cpu.map_or_else(|| "any".to_owned(), |c| c.to_string());
                writeln!(f, "Thread {} {} (lcore {cpu})", t.thread, t.name)?;
            }
            let processes = if i == 0 { self.processes.as_slice() } else { &[] };
            t.write(processes, self.detail, f)?;
            if many && i + 1 < self.threads.len() {
                writeln!(f, "---------------")?;
            }
        }
        Ok(())
    }
}

impl ThreadRow {
    fn write(
        &self,
        processes: &[ProcessRow],
        detail: Detail,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let seconds = self.seconds.max(1e-9);
        let busy = self.nodes.iter().filter(|n| n.state.is_none() && n.stats.calls > 0);
        let (calls, vectors) =
            busy.fold((0, 0), |(c, v), n| (c + n.stats.calls, v + n.stats.vectors));
        writeln!(
            f,
            "Time {:.1}, {seconds:.6} sec internal node vector rate {:.2} loops/sec {:.2}",
            self.now,
            ratio(vectors, calls),
            self.loops as f64 / seconds,
        )?;
        let rate = |n: u64| exponent(n as f64 / seconds, 4);
        let [input, output] = [self.input, self.output].map(rate);
        let [drop, punt] = [self.drop, self.punt].map(rate);
        writeln!(f, "  vector rates in {input}, out {output}, drop {drop}, punt {punt}")?;
        match detail {
            Detail::Summary => Ok(()),
            Detail::Largest => self.write_largest(f),
            Detail::Busy => self.write_nodes(processes, false, f),
            Detail::All => self.write_nodes(processes, true, f),
        }
    }
    fn write_nodes(
        &self,
        processes: &[ProcessRow],
        all: bool,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let titles = ["Calls", "Vectors", "Suspends", "Packet-Clocks", "Vectors/Call"];
        write!(f, "{}{}", centered("Name", 30), centered("State", 12))?;
        titles.iter().try_for_each(|title| write!(f, "{}", centered(title, 16)))?;
        writeln!(f)?;
        let mut rows: Vec<(&str, String)> = Vec::new();
        for n in self.nodes.iter().filter(|n| all || n.stats.vectors > 0) {
            let s = &n.stats;
            let clocks = ratio(s.clocks, if s.vectors > 0 { s.vectors } else { s.calls });
            let state = state_text(n.state);
            rows.push((&n.name, line(&n.name, state, [s.calls, s.vectors, 0], clocks)));
        }
        for p in processes {
            let clocks = ratio(p.clocks, p.suspends.max(p.calls));
            let state = format!("\"{}\"", p.state);
            rows.push((&p.name, line(&p.name, &state, [p.calls, 0, p.suspends], clocks)));
        }
        rows.order_by_key(|r| r.0);
        rows.iter().try_for_each(|(_, line)| writeln!(f, "{line}"))
    }
    fn write_largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", centered("Name", 30))?;
        for title in ["Calls", "Vectors", "Vectors/Call", "Max Vectors"] {
            write!(f, "{}", centered(title, 16))?;
        }
        writeln!(f)?;
        let mut busy: Vec<_> = self.nodes.iter().filter(|n| n.stats.vectors > 0).collect();
        busy.order_by_key(|n| &n.name);
        busy.iter().try_for_each(|n| {
            let (s, name) = (&n.stats, shortened(&n.name, 30));
            let per_call = ratio(s.vectors, s.calls);
            writeln!(f, "{name:<30}{:>16}{:>16}{per_call:>16.2}{:>16}", s.calls, s.vectors, s.most)
        })
    }
}

fn line(name: &str, state: &str, [calls, vectors, suspends]: [u64; 3], clocks: f64) -> String {
    let (name, state) = (shortened(name, 30), shortened(&centered(state, 12), 12));
    let (clocks, per_call) = (exponent(clocks, 2), ratio(vectors, calls));
    format!("{name:<30}{state}{calls:>16}{vectors:>16}{suspends:>16}{clocks:>16}{per_call:>16.2}")
}

fn ratio(of: u64, to: u64) -> f64 {
    of as f64 / to.max(1) as f64
}

fn shortened(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// State of a node in text; nodes that are not inputs are `active`.
pub fn state_text(state: Option<InputState>) -> &'static str {
    match state {
        None => "active",
        Some(InputState::Polling) => "polling",
        Some(InputState::Adaptive | InputState::Interrupt) => "interrupt wa",
        Some(InputState::Disabled) => "disabled",
    }
}

/// `1.71e-1`: a number with one digit before the point, as operators' scripts read it.
pub fn exponent(value: f64, digits: usize) -> String {
    format!("{value:.digits$e}")
}

/// `show node <name>`.
#[derive(Clone, Debug, Serialize)]
pub struct NodeDetail {
    /// Name.
    pub name: String,
    /// `input` or `internal`.
    pub kind: &'static str,
    /// `active`, or how an input node is called.
    pub state: &'static str,
    /// Number.
    pub index: u32,
    /// CPU variants: name, priority, whether it is the one in use, description.
    pub variants: Vec<(&'static str, u32, bool, &'static str)>,
    /// Edges.
    pub next: Vec<EdgeCount>,
    /// Nodes with an edge to this one.
    pub previous: Vec<(String, u32)>,
}

impl fmt::Display for NodeDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "node {}, type {}, state {}, index {}",
            self.name, self.kind, self.state, self.index
        )?;
        writeln!(f, "  node function variants:")?;
        writeln!(f, "    {:<16} {:>8}  {:<6}  Description", "Name", "Priority", "Active")?;
        for (name, priority, active, about) in &self.variants {
            let active = centered(if *active { "yes" } else { "" }, 6);
            writeln!(f, "    {name:<16} {priority:>8}  {active}  {about}")?;
        }
        writeln!(f, "\n  next nodes:")?;
        let columns = |[slot, node, name, vectors]: [&str; 4]| {
            let (slot, node) = (centered(slot, 10), centered(node, 14));
            format!("    {slot}{node}{} {}", centered(name, 30), centered(vectors, 8))
        };
        writeln!(f, "{}", columns(["next-index", "node-index", "Node", "Vectors"]))?;
        for e in &self.next {
            let [slot, node] = [e.slot, e.node].map(|n| n.to_string());
            writeln!(f, "{}", columns([&slot, &node, &e.name, &e.vectors.to_string()]))?;
        }
        write!(f, "\n  known previous nodes:")?;
        for (i, (name, index)) in self.previous.iter().enumerate() {
            if i % 3 == 0 {
                write!(f, "\n    ")?;
            }
            write!(f, "{:<35}", shortened(&format!("{name} ({index})"), 35))?;
        }
        writeln!(f)
    }
}

/// `show vlib graph`: each node with what comes after and before it.
#[derive(Clone, Debug, Serialize)]
pub struct GraphRows(pub Vec<NodeDetail>);

impl fmt::Display for GraphRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = |name: &str, next: &str, previous: &str| {
            let [next, previous] = [next, previous].map(|t| centered(&shortened(t, 26), 26));
            format!("{name:<26}{next}{previous}")
        };
        writeln!(f, "{}", columns(&centered("Name", 26), "Next", "Previous"))?;
        for n in &self.0 {
            let rows = n.next.len().max(n.previous.len()).max(1);
            for i in 0..rows {
                let name = if i == 0 { n.name.as_str() } else { "" };
                let next = n.next.get(i).map(|e| format!("{} [{}]", e.name, e.slot));
                let previous = n.previous.get(i).map_or("", |p| p.0.as_str());
                writeln!(f, "{}", columns(name, next.as_deref().unwrap_or_default(), previous))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
