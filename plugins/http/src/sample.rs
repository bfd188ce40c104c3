//! A sample of the statistics: threads, nodes, edges, interfaces and counters at one moment, and
//! rates since the one before.

use graph::NodeIndex;
use net::prelude::*;

/// Everything at one moment. Numbers count since they were cleared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds on the router's clock.
    pub time: f64,
    /// Seconds since the sample that rates are from; 0 when there are none.
    pub interval: f64,
    /// Data-plane threads.
    pub threads: Vec<Thread>,
    /// Nodes that were called.
    pub nodes: Vec<Node>,
    /// Edges that packets took.
    pub edges: Vec<Edge>,
    /// Interfaces.
    pub interfaces: Vec<Interface>,
    /// Nonzero node counters.
    pub counters: Vec<Counter>,
}

/// A data-plane thread.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    pub thread: usize,
    pub name: String,
    pub cpu: Option<usize>,
    pub loops: u64,
    /// Packets that input nodes brought in.
    pub packets: u64,
    /// Calls of nodes that had packets, and these packets: a quotient is packets a vector.
    pub calls: u64,
    pub vectors: u64,
    /// Packets a second.
    pub rate: f64,
    /// Packets a call of a node since the last sample.
    pub vector: f64,
}

/// A node, all threads together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Node {
    pub index: u32,
    pub name: String,
    /// Whether it brings packets in.
    pub input: bool,
    pub calls: u64,
    pub packets: u64,
    pub clocks: u64,
    /// Packets a second.
    pub rate: f64,
    /// Clocks a packet since the last sample.
    pub clocks_per_packet: f64,
    /// Packets a call since the last sample.
    pub vector: f64,
}

/// An edge, all threads together.
#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub packets: u64,
    /// Packets a second.
    pub rate: f64,
}

/// An interface.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    pub index: u32,
    pub name: String,
    pub up: bool,
    pub link: bool,
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub drops: u64,
    pub punt: u64,
    /// Packets and bytes a second.
    pub rx_rate: f64,
    pub rx_byte_rate: f64,
    pub tx_rate: f64,
    pub tx_byte_rate: f64,
    pub drop_rate: f64,
}

/// A counter of a node.
#[derive(Clone, Debug, Serialize)]
pub struct Counter {
    pub node: String,
    pub reason: String,
    /// `error`, `warn`, `info` …
    pub severity: String,
    pub count: u64,
    /// A second.
    pub rate: f64,
}

/// Takes a sample. The data-plane threads are asked, as `show runtime` does.
pub fn take(router: &mut Router) -> Result<Sample, String> {
    let rows = router.engine.runtime_rows().map_err(|e| e.to_string())?;
    let taken = router.engine.edges_taken().map_err(|e| e.to_string())?;
    let mut nodes: HashMap<u32, Node> = HashMap::new();
    let mut threads = Vec::new();
    for row in rows {
        let (mut calls, mut vectors) = (0, 0);
        for of in row.nodes {
            let input = of.state.is_some();
            if of.stats.calls == 0 || (input && of.stats.vectors == 0) {
                continue;
            }
            if !input {
                calls += of.stats.calls;
                vectors += of.stats.vectors;
            }
            let new = Node { index: of.index, name: of.name, input, ..Node::default() };
            let node = nodes.entry(of.index).or_insert(new);
            node.calls += of.stats.calls;
            node.packets += of.stats.vectors;
            node.clocks += of.stats.clocks;
        }
        let (thread, name, cpu, loops) = (row.thread, row.name, row.cpu, row.loops);
        let (packets, rate, vector) = (row.input, 0.0, 0.0);
        threads.push(Thread { thread, name, cpu, loops, packets, calls, vectors, rate, vector });
    }
    let mut nodes: Vec<_> = nodes.into_values().collect();
    nodes.order_by_key(|node| node.index);
    let name = |node: NodeIndex| router.engine.name_of(node).to_owned();
    let edges = taken.into_iter().map(|((from, to), packets)| Edge {
        from: name(from),
        to: name(to),
        packets,
        rate: 0.0,
    });
    let counters = router.engine.errors().into_iter().map(|(_, node, text, count)| Counter {
        node,
        reason: text.text.to_owned(),
        severity: text.severity.to_owned(),
        count,
        rate: 0.0,
    });
    Ok(Sample {
        time: router.now(),
        interval: 0.0,
        threads,
        nodes,
        edges: edges.collect(),
        interfaces: interfaces(router),
        counters: counters.collect(),
    })
}

fn interfaces(router: &Router) -> Vec<Interface> {
    let interface = |i: &net::Interface| {
        let now = router.interfaces.values(i.index);
        Interface {
            index: i.index.0,
            name: i.name.clone(),
            up: i.admin_up,
            link: i.link_up,
            rx_packets: now.rx.packets,
            rx_bytes: now.rx.bytes,
            tx_packets: now.tx.packets,
            tx_bytes: now.tx.bytes,
            drops: now.drops,
            punt: now.punt,
            rx_rate: 0.0,
            rx_byte_rate: 0.0,
            tx_rate: 0.0,
            tx_byte_rate: 0.0,
            drop_rate: 0.0,
        }
    };
    router.interfaces.iter().map(interface).collect()
}

impl Sample {
    /// Fills in rates since an earlier sample. What was cleared meanwhile begins at zero.
    pub fn rate_since(&mut self, before: &Self) {
        self.interval = self.time - before.time;
        if self.interval <= 0.0 {
            self.interval = 0.0;
            return;
        }
        let seconds = self.interval;
        let rate = |now: u64, before: u64| since(now, before) as f64 / seconds;
        for t in &mut self.threads {
            let Some(b) = before.threads.iter().find(|b| b.thread == t.thread) else { continue };
            t.rate = rate(t.packets, b.packets);
            t.vector = quotient(since(t.vectors, b.vectors), since(t.calls, b.calls));
        }
        let known: HashMap<_, _> = before.nodes.iter().map(|n| (n.index, n)).collect();
        let none = Node::default();
        for n in &mut self.nodes {
            let b = known.get(&n.index).copied().unwrap_or(&none);
            let packets = since(n.packets, b.packets);
            n.rate = packets as f64 / seconds;
            n.clocks_per_packet = quotient(since(n.clocks, b.clocks), packets);
            n.vector = quotient(packets, since(n.calls, b.calls));
        }
        let known: HashMap<_, _> =
            before.edges.iter().map(|e| ((&e.from, &e.to), e.packets)).collect();
        for e in &mut self.edges {
            e.rate = rate(e.packets, known.get(&(&e.from, &e.to)).copied().unwrap_or(0));
        }
        for i in &mut self.interfaces {
            let is_same = |b: &&Interface| b.index == i.index && b.name == i.name;
            let Some(b) = before.interfaces.iter().find(is_same) else { continue };
            i.rx_rate = rate(i.rx_packets, b.rx_packets);
            i.rx_byte_rate = rate(i.rx_bytes, b.rx_bytes);
            i.tx_rate = rate(i.tx_packets, b.tx_packets);
            i.tx_byte_rate = rate(i.tx_bytes, b.tx_bytes);
            i.drop_rate = rate(i.drops, b.drops);
        }
        let known: HashMap<_, _> =
            before.counters.iter().map(|c| ((&c.node, &c.reason), c.count)).collect();
        for c in &mut self.counters {
            c.rate = rate(c.count, known.get(&(&c.node, &c.reason)).copied().unwrap_or(0));
        }
    }
}

/// The difference; a cleared number starts at zero.
fn since(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

fn quotient(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: f64, packets: u64, clocks: u64) -> Sample {
        let node = Node {
            index: 3,
            name: "a".into(),
            calls: packets / 4,
            packets,
            clocks,
            ..Node::default()
        };
        let edge = Edge { from: "a".into(), to: "b".into(), packets, rate: 0.0 };
        Sample { time, nodes: vec![node], edges: vec![edge], ..Sample::default() }
    }

    #[test]
    fn rates_are_differences() {
        let (before, mut now) = (at(10.0, 100, 5000), at(12.0, 300, 9000));
        now.rate_since(&before);
        let node = &now.nodes[0];
        assert_eq!((now.interval, node.rate, node.clocks_per_packet), (2.0, 100.0, 20.0));
        assert_eq!((node.vector, now.edges[0].rate), (4.0, 100.0));
        let mut cleared = at(13.0, 40, 400);
        cleared.rate_since(&now);
        assert_eq!((cleared.nodes[0].rate, cleared.edges[0].rate), (40.0, 40.0));
        let mut same = at(13.0, 40, 400);
        same.rate_since(&cleared);
        assert_eq!((same.interval, same.nodes[0].rate), (0.0, 0.0));
    }
}
