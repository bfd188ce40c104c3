//! Packet trace for operators and programs: what is traced, which of it is shown, as text and as
//! messages of the module `tracedump`.

mod api;
mod commands;
mod functions;
pub mod timestamps;

use control::cli::Error;
use graph::{NodeIndex, TracedPacket};

use crate::engine::no_answer;
use crate::router::{Configuration, Feature, Origin, Parts, Router};
pub use functions::{Compiler, USUAL, Use};

/// Trace of packets.
pub const FEATURE: Feature = Feature {
    name: "trace",
    about: "Trace of single packets through the graph",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["engine"],
    register,
    configuration: Configuration::Commands(functions::configuration),
};

/// Messages about traces.
pub const TRACEDUMP: Feature = Feature {
    name: "tracedump",
    about: "Streaming packet trace dump plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["trace"],
    register: register_messages,
    configuration: Configuration::None("packets are traced for a while"),
};

/// Filter of the traced packets that are shown.
#[derive(Clone, Copy, Debug, Default)]
struct Filter(Option<Rule>);

/// Packets that visited `node` (or did not), at most `count` of them.
#[derive(Clone, Copy, Debug)]
struct Rule {
    includes: bool,
    node: NodeIndex,
    count: usize,
}

/// The packets of a data-plane thread.
pub struct Thread {
    /// Its number, as `show threads` has it.
    pub id: usize,
    /// Its name.
    pub name: String,
    /// Traced packets.
    pub packets: Vec<TracedPacket>,
}

impl Filter {
    fn apply(self, packets: &mut Vec<TracedPacket>) {
        let Some(rule) = self.0 else { return };
        packets.retain(|packet| {
            let visited = packet.visits.iter().any(|visit| visit.0 == rule.node.0);
            visited == rule.includes
        });
        packets.truncate(rule.count);
    }
}

impl Router {
    /// Traces the next `count` packets of a node where traces start, on each thread, or only those
    /// that the filter chooses; false for other nodes.
    fn start_trace(&mut self, node: NodeIndex, count: u32, filters: bool) -> bool {
        let starts = self.engine.starts_traces(node);
        if starts {
            self.engine.trace_filtered(node, count, filters);
        }
        starts
    }

    /// Traced packets that pass the filter, thread by thread.
    pub fn traced_packets(&mut self) -> Result<Vec<Thread>, Error> {
        let filter = self.state::<Filter>().copied().unwrap_or_default();
        let infos = self.engine.thread_infos();
        let mut threads = Vec::new();
        for at in self.engine.data_threads() {
            let mut packets = self.engine.traced(at).map_err(no_answer)?;
            filter.apply(&mut packets);
            let (id, name) = match infos.iter().find(|info| info.id == at) {
                Some(info) => (info.id, info.name.clone()),
                None => (at, "vpp_main".to_owned()),
            };
            threads.push(Thread { id, name, packets });
        }
        Ok(threads)
    }
}

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    parts.router.insert(Filter::default());
    parts.router.insert(functions::Functions::default());
    parts.router.on_leaving.push(|router, _| functions::forget(router));
    functions::register(&mut parts.cli);
    commands::register(&mut parts.cli);
    timestamps::register(&mut parts.cli);
    Ok(())
}

fn register_messages(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    api::register(&mut parts.api);
    Ok(())
}

#[cfg(test)]
mod tests;
