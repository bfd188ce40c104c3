//! The host stack: sessions of TCP and UDP for applications.
//!
//! [`control`] owns names: applications, namespaces, rules, listeners as operators see them.
//! [`data`] owns connections: tables by thread, nodes, ports, and what applications inside the
//! daemon are written on. [`apps`] attaches programs outside of it. Control publishes, the data
//! plane reads; see each module.
#![forbid(unsafe_code)]

mod apps;
pub mod control;
pub mod data;

pub use apps::{Attached, Folder, attached};
pub use data::app::{Application, Ends, Stream};
pub use data::apps::{Error, Options, ask_parts, attach, detach, listen, unlisten};
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
