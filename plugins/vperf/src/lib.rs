//! Performance measurements of the host stack: a server and a client over TCP, UDP, or between two
//! applications of this router.
#![forbid(unsafe_code)]

mod cli;
mod client;
mod plan;
mod run;
mod server;

use net::prelude::*;

pub use run::Results;

/// The vperf server and client.
pub const FEATURE: Feature = Feature {
    name: "vperf",
    about: "Performance measurements of the host stack",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["session"],
    register,
    configuration: Configuration::None("a server and a client for measurements"),
};

/// The application of the running server.
struct Servers(Option<u32>);

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Servers(None));
    cli::register(&mut parts.cli);
    Ok(())
}
