//! IPv6 (RFC 8200): input, and its own parts of the nodes of [`crate::ip`].

mod arcs;
mod error;
mod input;
#[cfg(test)]
mod tests;
mod version;

use control::feature::Refused;

use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use arcs::{IP6_DROP, IP6_LOCAL, IP6_MULTICAST, IP6_OUTPUT, IP6_PUNT, IP6_UNICAST};
pub use error::Error;
pub use input::Input;
pub use version::V6;

/// IPv6.
pub const FEATURE: Feature = Feature {
    name: "ip6",
    about: "IPv6 forwarding",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "address", "ethernet", "icmp", "fragment", "reassembly", "neighbor"],
    register,
    configuration: Configuration::None("interface settings are saved with the addresses"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    arcs::ALL.into_iter().for_each(|arc| router.engine.declare(arc));
    router.engine.add(Input::new(&router.interfaces)).map_err(refuse)?;
    crate::ip::add_nodes::<V6>(router)
}
