//! Samples of the threads' statistics, published by the threads themselves.

use infra::counter::{Counter, Rows};

use super::spec::Engine;
use crate::engine::{Core, Sampled};

/// Columns for what a thread tells of each node.
pub const MOST_NODES: usize = 1 << 18;

/// The statistics that threads publish. All are set, not counted.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Loops a second since the last sample; one row, a column for each thread.
    pub loops: Rows<Counter>,
    /// Packets in a call of a node that is no input, on average; likewise.
    pub vectors: Rows<Counter>,
    /// Packets brought in a second; likewise.
    pub input: Rows<Counter>,
    /// Free buffers that threads keep; a row for each NUMA node that has some.
    pub cached: Rows<Counter>,
    /// By thread and node, since `show runtime` was cleared, if wanted.
    pub nodes: Option<NodeSamples>,
}

/// Statistics of nodes: rows by thread, columns by node.
#[derive(Clone, Debug)]
pub struct NodeSamples {
    /// Clocks of the time-stamp counter.
    pub clocks: Rows<Counter>,
    /// Packets.
    pub vectors: Rows<Counter>,
    /// Calls.
    pub calls: Rows<Counter>,
}

impl Engine {
    /// Makes every thread store its activity there, soon; does not wait.
    pub fn sample(&mut self, samples: &Samples) {
        self.post_all(|_| {
            let samples = samples.clone();
            Box::new(move |core| core.sample(&samples))
        });
    }
}

impl Core {
    fn sample(&mut self, to: &Samples) {
        let mut now =
            Sampled { stamp: crate::engine::stamp(), loops: self.loops, ..Sampled::default() };
        for (at, node) in self.nodes.iter().enumerate() {
            let stats = &node.stats;
            if self.inputs.contains(&(at as u32)) {
                now.input += stats.vectors;
            } else {
                now.calls += stats.calls;
                now.vectors += stats.vectors;
            }
            if let Some(nodes) = &to.nodes {
                nodes.clocks.row(self.thread)[at].set(stats.clocks);
                nodes.vectors.row(self.thread)[at].set(stats.vectors);
                nodes.calls.row(self.thread)[at].set(stats.calls);
            }
        }
        let before = std::mem::replace(&mut self.sampled, now);
        let seconds = now.stamp.wrapping_sub(before.stamp) as f64 / self.clock.hz();
        // Numbers that were cleared meanwhile start at zero.
        let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        let rate = |n: u64| if seconds > 0.0 { (n as f64 / seconds).round() as u64 } else { 0 };
        let calls = since(now.calls, before.calls);
        let vectors = since(now.vectors, before.vectors).checked_div(calls).unwrap_or(0);
        let put = |rows: &Rows<Counter>, value| rows.row(0)[self.thread].set(value);
        put(&to.loops, rate(since(now.loops, before.loops)));
        put(&to.input, rate(since(now.input, before.input)));
        put(&to.vectors, vectors);
        for at in 0..self.cache.pool().nodes().len() {
            to.cached.row(at)[self.thread].set(self.cache.kept(at) as u64);
        }
    }
}
