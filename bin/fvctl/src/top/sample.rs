//! Counters of a router at one moment.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Instant;

use serde_json::Value;

use crate::link::{Link, Outcome};

/// Counts of a node on a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeCounts {
    pub calls: u64,
    pub vectors: u64,
    pub clocks: u64,
}

/// Counts of a data-plane thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadCounts {
    pub name: String,
    pub cpu: Option<u64>,
    pub loops: u64,
    pub input: u64,
    pub output: u64,
    pub drop: u64,
    pub sleeps: u64,
}

/// An interface and its counts, by their names.
#[derive(Clone, Debug, Default)]
pub struct InterfaceCounts {
    pub is_up: bool,
    pub counts: BTreeMap<String, u64>,
}

/// All that is counted.
#[derive(Clone, Debug)]
pub struct Sample {
    pub at: Instant,
    /// Seconds since the router's start.
    pub uptime: f64,
    pub version: String,
    /// Time-stamps a second.
    pub hz: f64,
    pub threads: BTreeMap<u64, ThreadCounts>,
    /// By name and thread.
    pub nodes: BTreeMap<String, BTreeMap<u64, NodeCounts>>,
    /// Nodes that bring packets in.
    pub inputs: HashMap<String, bool>,
    pub interfaces: BTreeMap<String, InterfaceCounts>,
    /// By node and reason.
    pub drops: BTreeMap<(String, String), u64>,
    pub buffers: (u64, u64),
}

/// Takes samples from a router.
pub struct Sampler {
    link: Link,
    version: String,
    hz: f64,
    inputs: HashMap<String, bool>,
}

impl Sampler {
    pub fn new(link: Link) -> Self {
        Self { link, version: String::new(), hz: 0.0, inputs: HashMap::new() }
    }

    /// The answer to a command as JSON.
    pub fn ask(&mut self, command: &str) -> io::Result<Value> {
        let mut text = String::new();
        let outcome = self.link.run(command, true, &mut |piece| {
            text.push_str(piece);
            Ok(())
        })?;
        match outcome {
            Outcome::Failed(why) => Err(io::Error::other(format!("{command}: {why}"))),
            _ if text.is_empty() => Ok(Value::Null),
            _ => serde_json::from_str(&text).map_err(io::Error::other),
        }
    }

    /// Takes a sample.
    pub fn take(&mut self) -> io::Result<Sample> {
        if self.version.is_empty() {
            self.version = text(&self.ask("show version")?["version"]);
            self.hz = self.ask("show cpu")?["base_frequency_hz"].as_f64().unwrap_or(0.0);
        }
        let runtime = self.ask("show runtime")?;
        let at = Instant::now();
        let mut sample = Sample {
            at,
            uptime: 0.0,
            version: self.version.clone(),
            hz: self.hz,
            threads: BTreeMap::new(),
            nodes: BTreeMap::new(),
            inputs: HashMap::new(),
            interfaces: interfaces(&self.ask("show interface")?),
            drops: drops(&self.ask("show errors")?),
            buffers: (0, 0),
        };
        for thread in rows(&runtime["threads"]) {
            sample.add_thread(thread);
        }
        for thread in rows(&self.ask("show threads")?) {
            if let Some(of) = sample.threads.get_mut(&number(&thread["id"])) {
                of.sleeps = number(&thread["sleeps"]);
            }
        }
        for pool in rows(&self.ask("show buffers")?) {
            sample.buffers.0 += number(&pool["used"]);
            sample.buffers.1 += number(&pool["total"]);
        }
        for name in sample.nodes.keys() {
            if !self.inputs.contains_key(name) {
                // A node may have gone meanwhile.
                let node = self.ask(&format!("show node {name}")).unwrap_or(Value::Null);
                self.inputs.insert(name.clone(), node["kind"] == "input");
            }
        }
        sample.inputs = self.inputs.clone();
        Ok(sample)
    }
}

impl Sample {
    fn add_thread(&mut self, thread: &Value) {
        let id = number(&thread["thread"]);
        self.uptime = self.uptime.max(thread["now"].as_f64().unwrap_or(0.0));
        let counts = ThreadCounts {
            name: text(&thread["name"]),
            cpu: thread["cpu"].as_u64(),
            loops: number(&thread["loops"]),
            input: number(&thread["input"]),
            output: number(&thread["output"]),
            drop: number(&thread["drop"]),
            sleeps: 0,
        };
        self.threads.insert(id, counts);
        for node in rows(&thread["nodes"]) {
            let counts = NodeCounts {
                calls: number(&node["calls"]),
                vectors: number(&node["vectors"]),
                clocks: number(&node["clocks"]),
            };
            if counts.calls > 0 {
                self.nodes.entry(text(&node["name"])).or_default().insert(id, counts);
            }
        }
    }
}

fn interfaces(all: &Value) -> BTreeMap<String, InterfaceCounts> {
    let one = |row: &Value| {
        let is_up = row["admin_up"] == true && row["link_up"] == true;
        let mut counts = BTreeMap::new();
        for (name, value) in row["counters"].as_object().into_iter().flatten() {
            if let Some(count) = value.as_u64() {
                counts.insert(name.clone(), count);
            }
            for (unit, value) in value.as_object().into_iter().flatten() {
                counts.insert(format!("{name} {unit}"), number(value));
            }
        }
        (text(&row["name"]), InterfaceCounts { is_up, counts })
    };
    rows(all).map(one).collect()
}

fn drops(all: &Value) -> BTreeMap<(String, String), u64> {
    let one = |row: &Value| ((text(&row["node"]), text(&row["reason"])), number(&row["count"]));
    rows(all).map(one).collect()
}

pub fn rows(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
