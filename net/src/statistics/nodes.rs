//! `/sys/node` and `/nodes`: what each node did, when the configuration wants it.

use control::stats::{Columns, Error, Segment};
use graph::{MOST_NODES, NodeSamples};

use crate::router::Router;

const BY_NODE: Columns = Columns::growing("node", MOST_NODES);
const NAMES: &str = "/sys/node/names";
const KINDS: [&str; 4] = ["clocks", "vectors", "calls", "suspends"];

/// The entries, and the names they were made for.
pub(super) struct Nodes {
    samples: NodeSamples,
    names: Vec<Option<String>>,
}

impl Nodes {
    pub fn new(stats: &mut Segment) -> Result<Self, Error> {
        stats.names(NAMES, MOST_NODES)?;
        let mut vector = |kind: &str| stats.simple(&format!("/sys/node/{kind}"), BY_NODE);
        let [clocks, vectors, calls] = [vector("clocks")?, vector("vectors")?, vector("calls")?];
        // Nodes of the graph never suspend.
        vector("suspends")?;
        Ok(Self { samples: NodeSamples { clocks, vectors, calls }, names: Vec::new() })
    }
    pub fn samples(&self) -> NodeSamples {
        self.samples.clone()
    }
    /// Makes entries for nodes that came, and removes those of nodes that went.
    pub fn follow(&mut self, router: &mut Router) {
        let mut now = Vec::new();
        for (index, name) in router.engine.node_names() {
            now.resize(now.len().max(usize::from(index.0) + 1), None);
            now[usize::from(index.0)] = Some(name.to_owned());
        }
        if now == self.names {
            return;
        }
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
