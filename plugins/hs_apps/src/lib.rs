//! Applications on the host stack: a command line over HTTP.
#![forbid(unsafe_code)]

pub mod cli_server;

use net::prelude::*;

/// Applications on the host stack.
pub const FEATURE: Feature = Feature {
    name: "hs_apps",
    about: "Host Stack Applications",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["session"],
    register,
    configuration: Configuration::Commands(cli_server::configuration),
};

fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    cli_server::register(parts);
    Ok(())
}
