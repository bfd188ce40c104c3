//! The router's own entries in the statistics segment (`/sys`, `/mem`, `/buffer-pools`, nodes),
//! brought up to date now and then, and commands about the segment.
//!
//! Counters are in the segment already and need no update. What is computed is computed here, by
//! each thread for itself; the sums over threads are those of the update before.

mod cli;
mod collector;
mod detailed;
mod fresh;
mod gauges;
mod memory;
mod nodes;
mod ring_test;

use std::time::Duration;

use control::feature::Refused;

use crate::router::{Configuration, Feature, Origin, Parts, refuse};

/// The configuration of the statistics (`statseg { … }`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether calls, vectors and clocks of each node are there (`per-node-counters on`).
    pub per_node: bool,
    /// Time between updates (`update-interval`).
    pub interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { per_node: false, interval: Duration::from_secs(10) }
    }
}

/// Entries about the router as a whole, and commands. Takes [`Settings`] from the router, if they
/// are there.
pub const FEATURE: Feature = Feature {
    name: "statistics",
    about: "Statistics segment: what other programs read",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::None("it is set in startup.conf"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let settings = parts.router.state::<Settings>().copied().unwrap_or_default();
    collector::register(parts.router, settings).map_err(refuse)?;
    detailed::register(parts).map_err(refuse)?;
    gauges::register(parts.router);
    cli::register(&mut parts.cli);
    ring_test::register(parts);
    Ok(())
}

#[cfg(test)]
mod tests;
