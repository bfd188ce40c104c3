//! What the engine tells of itself: rows, and the text of `show runtime` and its like.
#![forbid(unsafe_code)]

use std::fmt;

use serde::Serialize;

use crate::engine::NodeStats;
use crate::node::InputState;

/// One node on one thread.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Number of the node.
    pub index: u16,
    /// Its name.
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
    /// Its name.
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
    /// What it waits for: `any wait`, `event wait`.
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
    pub slot: u16,
    /// Number of the node at its end.
    pub node: u16,
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
    /// Also show nodes that did nothing.
    #[serde(skip)]
    pub verbose: bool,
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
            t.write(processes, self.verbose, f)?;
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
        verbose: bool,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let seconds = self.seconds.max(1e-9);
        let busy = self.nodes.iter().filter(|n| n.state.is_none() && n.stats.calls > 0);
        let (calls, vectors) =
            busy.fold((0, 0), |(c, v), n| (c + n.stats.calls, v + n.stats.vectors));
        let per_call = if calls == 0 { 0.0 } else { vectors as f64 / calls as f64 };
        writeln!(
            f,
            "Time {:.1}, {seconds:.6} sec internal node vector rate {per_call:.2} loops/sec {:.2}",
            self.now,
            self.loops as f64 / seconds,
        )?;
        let rate = |n: u64| exponent(n as f64 / seconds, 4);
        writeln!(
            f,
            "  vector rates in {}, out {}, drop {}, punt {}",
            rate(self.input),
            rate(self.output),
            rate(self.drop),
            rate(self.punt)
        )?;
        writeln!(
            f,
            "{:^30}{:^17}{:^16}{:^16}{:^16}{:^16}{:^16}",
            "Name", "State", "Calls", "Vectors", "Suspends", "Packet-Clocks", "Vectors/Call"
        )?;
        self.lines(processes, verbose).iter().try_for_each(|line| writeln!(f, "{line}"))
    }
    fn lines(&self, processes: &[ProcessRow], verbose: bool) -> Vec<String> {
        let mut rows: Vec<(&str, String)> = Vec::new();
        for n in self.nodes.iter().filter(|n| verbose || n.stats.vectors > 0) {
            let s = &n.stats;
            let per = |n: u64| s.clocks as f64 / n.max(1) as f64;
            let clocks = if s.vectors > 0 { per(s.vectors) } else { per(s.calls) };
            let state = state_text(n.state);
            rows.push((&n.name, line(&n.name, state, [s.calls, s.vectors, 0], clocks)));
        }
        for p in processes {
            let clocks = p.clocks as f64 / p.suspends.max(p.calls).max(1) as f64;
            let state = format!("\"{}\"", p.state);
            rows.push((&p.name, line(&p.name, &state, [p.calls, 0, p.suspends], clocks)));
        }
        rows.sort_by_key(|r| r.0);
        rows.into_iter().map(|r| r.1).collect()
    }
}

fn line(name: &str, state: &str, [calls, vectors, suspends]: [u64; 3], clocks: f64) -> String {
    let name: String = name.chars().take(30).collect();
    let per_call = if calls == 0 { 0.0 } else { vectors as f64 / calls as f64 };
    // Process states begin one column to the left, as scripts know them.
    let state =
        if state.starts_with('"') { format!("{state:<12}") } else { format!("  {state:^10}") };
    let clocks = exponent(clocks, 2);
    format!(
        "{name:<30}{state:<13}{calls:>16}{vectors:>16}{suspends:>16}{clocks:>16}{per_call:>16.2}"
    )
}

fn state_text(state: Option<InputState>) -> &'static str {
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
    /// Number.
    pub index: u16,
    /// CPU variants: name, priority, whether it is the one in use, description.
    pub variants: Vec<(&'static str, u32, bool, &'static str)>,
    /// Edges.
    pub next: Vec<EdgeCount>,
    /// Nodes with an edge to this one.
    pub previous: Vec<(String, u16)>,
}

impl fmt::Display for NodeDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "node {}, type {}, state active, index {}", self.name, self.kind, self.index)?;
        writeln!(f, "  node function variants:")?;
        writeln!(f, "    {:<16}{:<10}{:<8}Description", "Name", "Priority", "Active")?;
        for (name, priority, active, about) in &self.variants {
            let active = if *active { "yes" } else { "" };
            writeln!(f, "    {name:<16}{priority:>8}  {active:>5}   {about}")?;
        }
        writeln!(f, "\n  next nodes:")?;
        writeln!(f, "    {:>10}{:>12}{:^26}{:>15}", "next-index", "node-index", "Node", "Vectors")?;
        for e in &self.next {
            writeln!(f, "    {:>10}{:>13}{:^30}{:>10}   ", e.slot, e.node, e.name, e.vectors)?;
        }
        write!(f, "\n  known previous nodes:")?;
        for (i, (name, index)) in self.previous.iter().enumerate() {
            if i % 3 == 0 {
                write!(f, "\n    ")?;
            }
            write!(f, "{:<35}", format!("{name} ({index})"))?;
        }
        writeln!(f)
    }
}

/// `show vlib graph`: each node with what comes after and before it.
#[derive(Clone, Debug, Serialize)]
pub struct GraphRows(pub Vec<NodeDetail>);

impl fmt::Display for GraphRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:^26}{:^26}{:^26}", "Name", "Next", "Previous")?;
        for n in &self.0 {
            let rows = n.next.len().max(n.previous.len()).max(1);
            for i in 0..rows {
                let name = if i == 0 { n.name.as_str() } else { "" };
                let next = n.next.get(i).map(|e| format!("{} [{}]", e.name, e.slot));
                let previous = n.previous.get(i).map_or("", |p| p.0.as_str());
                let previous: String = previous.chars().take(26).collect();
                writeln!(f, "{name:<26}{:^26}{previous:^26}", next.unwrap_or_default())?;
            }
        }
        Ok(())
    }
}
