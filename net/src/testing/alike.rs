//! Comparison of a fast path with its nodes one by one: packets end alike, and are counted alike.

use std::collections::BTreeMap;

use graph::Monitored;
use graph::testing::Caught;

use super::Rig;

/// Results of some frames: what was sent and dropped, and all that was counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// Packets, in an order of their own.
    pub caught: Vec<Caught>,
    /// Packets by node.
    pub nodes: BTreeMap<String, u64>,
    /// Those that passed each node in the hands of another.
    pub passed: BTreeMap<String, u64>,
    edges: BTreeMap<(String, String), u64>,
    counters: Vec<(String, &'static str, u64)>,
    texts: Vec<String>,
}

/// Runs at most of a comparison in which neighbours are asked for: IPv4 repeats a question after
/// 5 ms, which a busy machine may take between two nodes.
const RUNS: usize = 20;

impl Seen {
    /// Whether all but the path is alike.
    fn is_like(&self, other: &Self) -> bool {
        let Self { caught, nodes, edges, counters, texts, passed: _ } = self;
        (caught, nodes, edges) == (&other.caught, &other.nodes, &other.edges)
            && (counters, texts) == (&other.counters, &other.texts)
    }
    /// Whether a neighbour was asked for.
    fn asks(&self) -> bool {
        self.counters.iter().any(|(_, counter, _)| *counter == "request_sent")
    }
}

/// Numbers that look random.
pub fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let next =
        |n: &u64| Some(n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    std::iter::successors(Some(seed), next).map(|n| n >> 33)
}

/// Calls `expect` with each of some settings and a number that says what frames it is about, for
/// frames of all kinds of sizes: how many.
pub fn settings<'s>(all: &[&'s [&'s str]], mut expect: impl FnMut(&'s [&'s str], u64, usize)) {
    for (seed, lines) in (1..).zip(all) {
        for count in [1, 3, 4, 64, 65, 255, 256] {
            expect(lines, seed * 1000 + count as u64, count);
        }
    }
}

impl Rig {
    /// Sends frames to `ethernet-input`, by the interfaces that `rx` chooses, with or without fast
    /// paths; what commands `show` then is compared too.
    pub fn see(
        &mut self,
        frames: &[Vec<u8>],
        rx: impl Fn(&[u8]) -> u32 + Clone + Send + 'static,
        (is_node_by_node, show): (bool, &[&str]),
    ) -> Seen {
        self.graph.engine.monitor(Monitored::Fields, is_node_by_node);
        self.graph.run();
        self.graph.moved_counters();
        self.graph.engine.clear_runtime();
        self.run("clear interfaces");
        let mut caught = self.graph.send("ethernet-input", frames, move |p| {
            let rx = rx(p.bytes());
            p.set_rx(rx);
        });
        caught.sort_by(|a, b| (&a.at, a.tx, &a.bytes).cmp(&(&b.at, b.tx, &b.bytes)));
        let engine = &mut self.graph.engine;
        let rows = engine.runtime_rows().unwrap();
        let nodes = rows.iter().flat_map(|row| &row.nodes).filter(|n| n.stats.vectors > 0);
        let nodes: Vec<_> = nodes.map(|n| (n.name.clone(), n.stats)).collect();
        let passed = nodes.iter().map(|(name, n)| (name.clone(), n.passed)).collect();
        let nodes = nodes.into_iter().map(|(name, n)| (name, n.vectors)).collect();
        let taken = engine.edges_taken().unwrap();
        let name = |node| engine.name_of(node).to_owned();
        let edges = taken.into_iter().map(|((from, to), n)| ((name(from), name(to)), n)).collect();
        let counters = self.graph.moved_counters();
        let texts = show.iter().map(|line| self.run(line)).collect();
        Seen { caught, nodes, passed, edges, counters, texts }
    }
}

/// Sends frames through a rig with fast paths and one without, and compares all that is seen. Where
/// neighbours are asked for, which depends on the time, it may take [`RUNS`] until they agree.
///
/// # Panics
/// Where they differ.
pub fn expect_alike(what: &str, mut see: impl FnMut(bool) -> Seen) -> Seen {
    let mut runs = (0..RUNS).map(|_| [false, true].map(&mut see));
    let [fast, mut slow] =
        runs.find(|[fast, slow]| fast.is_like(slow) || !fast.asks()).unwrap_or_else(|| {
            panic!("{what}: they differ each time");
        });
    assert_eq!(fast.counters, slow.counters, "{what}");
    assert_eq!(fast.nodes, slow.nodes, "{what}");
    assert_eq!(slow.passed.values().sum::<u64>(), 0, "{what}: node by node");
    slow.passed.clone_from(&fast.passed);
    assert_eq!(fast, slow, "{what}");
    fast
}
