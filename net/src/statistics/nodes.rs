//! `/sys/node` and `/nodes`: what each node did, when the configuration wants it. Behind the nodes
//! of the graph come control's processes: they are what suspends.

use control::stats::{Columns, Error, Segment};
use graph::{MOST_NODES, NodeSamples};
use infra::counter::{Counter, Rows};

use crate::router::Router;

const BY_NODE: Columns = Columns::growing("node", MOST_NODES);
const NAMES: &str = "/sys/node/names";
const KINDS: [&str; 4] = ["clocks", "vectors", "calls", "suspends"];

/// The entries, and the names they were made for.
pub(super) struct Nodes {
    samples: NodeSamples,
    suspends: Rows<Counter>,
    names: Vec<Option<String>>,
}

impl Nodes {
    pub fn new(stats: &mut Segment) -> Result<Self, Error> {
        stats.names(NAMES, MOST_NODES)?;
        let mut vector = |kind: &str| stats.simple(&format!("/sys/node/{kind}"), BY_NODE);
        let [clocks, vectors, calls] = [vector("clocks")?, vector("vectors")?, vector("calls")?];
        let suspends = vector("suspends")?;
        let samples = NodeSamples { clocks, vectors, calls };
        Ok(Self { samples, suspends, names: Vec::new() })
    }
    pub fn samples(&self) -> NodeSamples {
        self.samples.clone()
    }
    /// Adds entries for new nodes, and removes those of removed nodes.
    pub fn follow(&mut self, router: &mut Router) {
        let mut now = Vec::new();
        for (index, name) in router.engine.node_names() {
            now.resize(now.len().max(index.0 as usize + 1), None);
            now[index.0 as usize] = Some(name.to_owned());
        }
        let processes: Vec<_> = router.processes.status().collect();
        let first = now.len();
        now.extend(processes.iter().map(|p| Some(p.name.to_owned())));
        // Missing entries have to be cleared explicitly.
        now.resize(now.len().max(self.names.len()), None);
        if now != self.names {
            self.rename(router, now);
        }
        let NodeSamples { clocks, vectors, calls } = &self.samples;
        for (process, at) in processes.iter().zip(first..) {
            let values = [process.clocks, 0, process.calls, process.suspends];
            for (rows, value) in [clocks, vectors, calls, &self.suspends].iter().zip(values) {
                rows.row(0)[at].set(value);
            }
        }
        // A node may have the number that a process had.
        self.suspends.row(0)[..first].iter().for_each(|counter| counter.set(0));
    }

    fn rename(&mut self, router: &mut Router, now: Vec<Option<String>>) {
        let before = std::mem::replace(&mut self.names, now);
        let names = &self.names;
        let changed = |(index, new): (usize, &Option<String>)| {
            let old = before.get(index).cloned().flatten();
            (old != *new).then(|| (index, old, new.clone()))
        };
        let changed: Vec<_> = names.iter().enumerate().filter_map(changed).collect();
        let done = router.stats.change(|stats| {
            // A name may have moved to another number, so old ones go first.
            for name in changed.iter().filter_map(|(_, old, _)| old.as_ref()) {
                KINDS.iter().try_for_each(|kind| stats.remove(&path(name, kind)))?;
            }
            stats.grow(BY_NODE, names.len())?;
            changed.iter().try_for_each(|(index, _, new)| show(stats, *index, new.as_deref()))
        });
        if let Err(why) = done {
            router.log.class("stats", "nodes").warn(why);
        }
    }
}

fn show(stats: &mut Segment, index: usize, name: Option<&str>) -> Result<(), Error> {
    stats.set_name(NAMES, index, name.unwrap_or("deleted"))?;
    let Some(name) = name else { return Ok(()) };
    KINDS.iter().try_for_each(|kind| {
        stats.symlink(&path(name, kind), &format!("/sys/node/{kind}"), index as u32)
    })
}

/// `/nodes/<node>/<kind>`, where the name has no `/`.
fn path(name: &str, kind: &str) -> String {
    format!("/nodes/{}/{kind}", name.replace('/', "_"))
}
