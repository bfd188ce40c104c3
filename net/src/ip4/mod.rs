//! IPv4 (RFC 791, RFC 1812): input, and its own parts of the nodes of
//! [`crate::ip`].

mod arcs;
mod error;
mod input;
mod options;
#[cfg(test)]
mod tests;
mod version;

use control::feature::Refused;

use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use arcs::{IP4_DROP, IP4_LOCAL, IP4_MULTICAST, IP4_OUTPUT, IP4_PUNT, IP4_UNICAST};
pub use error::Error;
pub use input::{Checksum, Input, TrustChecksum, VerifyChecksum};
pub use options::Options;
pub use version::V4;

/// IPv4.
pub const FEATURE: Feature = Feature {
    name: "ip4",
    about: "IPv4 forwarding",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "address", "ethernet", "icmp", "fragment", "reassembly", "neighbor"],
    register,
    configuration: Configuration::None("interface settings are saved with the addresses"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    arcs::ALL.into_iter().for_each(|arc| router.engine.declare(arc));
    router.engine.add(Input::<VerifyChecksum>::new(&router.interfaces)).map_err(refuse)?;
    router.engine.add(Input::<TrustChecksum>::new(&router.interfaces)).map_err(refuse)?;
    router.engine.add(Options).map_err(refuse)?;
    crate::ip::add_nodes::<V4>(router)
}
