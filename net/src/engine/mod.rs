//! Commands about the router as a whole: its program, its threads, its graph and what passes through it.

mod about;

use crate::router::{Feature, Parts};

pub use about::Program;

/// Commands about the graph and its threads.
pub const FEATURE: Feature = Feature {
    name: "engine",
    about: "Commands about graph, threads, counters, trace and memory",
    default_enabled: true,
    register,
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    about::register(&mut parts.cli);
    Ok(())
}
