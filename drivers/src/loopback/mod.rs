//! Loopback interfaces: what is sent on one is received on it.
#![forbid(unsafe_code)]

pub mod api;
mod commands;
mod interface;
mod tx;

use net::{Configuration, Feature, Origin, Parts};

pub use interface::make;
pub use tx::turn_around;

/// Loopback interfaces.
pub const FEATURE: Feature = Feature {
    name: "loopback",
    about: "Loopback interfaces",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    interface::register(parts.router);
    commands::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
