//! The host stack: sessions of TCP and UDP for applications.
//!
//! [`control`] owns the configuration: applications, namespaces, rules, listeners. [`data`] owns
//! connections: tables of each thread, nodes, ports, and the interface for applications inside the
//! daemon. [`apps`] attaches programs outside the daemon. The control thread publishes state, the
//! data plane reads it; see the modules.
#![forbid(unsafe_code)]

mod apps;
pub mod control;
pub mod data;

pub use apps::{Attached, Folder, attached};
pub use data::app::{Application, Ends, Stream};
pub use data::apps::{Error, Options, ask_parts, attach, detach, listen, serve, unlisten};
pub use data::connecting::{Connect, connect};
pub use data::endpoint::{BadEndpoint, Endpoint, Transport};
pub use data::session::{Failure, SessionId};

use ::control::feature::Refused;
use net::{Configuration, Feature, Origin, Parts};

/// The session layer.
pub const FEATURE: Feature = Feature {
    name: "session",
    about: "Sessions of TCP and UDP for applications",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "icmp"],
    register,
    configuration: Configuration::Commands(control::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    control::register(parts)?;
    data::register(parts)?;
    apps::register(parts)
}
