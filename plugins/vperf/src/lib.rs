//! Measures the host stack from inside: a server and a client over TCP, UDP, or between two
//! applications here.
#![forbid(unsafe_code)]

mod cli;
mod client;
mod plan;
mod run;
mod server;

use control::feature::Refused;
use net::{Configuration, Feature, Origin, Parts};

pub use run::Results;

/// The server and the client.
pub const FEATURE: Feature = Feature {
    name: "vperf",
    about: "Measures the host stack: a server and a client",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["session"],
    register,
    configuration: Configuration::None("a server and a client for measurements"),
};

/// The application of the server that runs.
struct Servers(Option<u32>);

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Servers(None));
    cli::register(&mut parts.cli);
    Ok(())
}
