//! Commands about the router as a whole: its program, its threads, its graph and what passes
//! through it.

mod about;
mod arcs;
mod clock;
mod energy;
mod errors;
mod features;
mod files;
mod graph_nodes;
mod handoff;
mod health;
mod heaps;
mod memory;
mod nodes;
mod runtime;
mod threads;
mod vlib;
mod vpe;
mod workers;

use crate::router::{Configuration, Feature, Origin, Parts};

pub use crate::router::no_answer;
pub use about::{Plugin, Program};
pub use workers::ThreadsError;

/// Commands about the graph and its threads.
pub const FEATURE: Feature = Feature {
    name: "engine",
    about: "Commands about graph, threads, counters, trace and memory",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["drops"],
    register,
    configuration: Configuration::Commands(|router, lines| router.log.configuration(lines)),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    features::register(parts);
    health::register(parts.router);
    parts.router.engine.add(handoff::HandoffTrace).map_err(crate::refuse)?;
    let cli = &mut parts.cli;
    about::register(cli);
    clock::register(cli);
    energy::register(parts.router, cli);
    errors::register(cli);
    graph_nodes::register_command(cli);
    files::register(cli);
    heaps::register(cli);
    memory::register(cli);
    nodes::register(cli);
    runtime::register(cli);
    threads::register(cli);
    arcs::register(&mut parts.api);
    control::api::register_commands(cli, |router| &router.clients);
    graph_nodes::register(&mut parts.api);
    vlib::register(&mut parts.api);
    vpe::register(&mut parts.api);
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
