//! Ethernet: the node every frame enters by (IEEE 802.3 §3, RFC 894), and VLAN tags.

mod ethertypes;
mod input;
mod layer2;
mod subs;
mod vlan;

use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use input::EthernetInput;
pub use layer2::{L2_INPUT, L2_OUTPUT};
pub use subs::SubTable;
pub use vlan::{Tagged, Tags};

/// Ethernet input.
pub const FEATURE: Feature = Feature {
    name: "ethernet",
    about: "Ethernet input",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "arp", "ip4", "ip6"],
    register,
    configuration: Configuration::None("what interfaces are told is kept with them"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut parts.router;
    let types = ethertypes::EtherTypes::default();
    let input = EthernetInput::new(&router.interfaces, &types);
    router.engine.add(input).map_err(refuse)?;
    router.insert(types);
    Ok(())
}

#[cfg(test)]
mod tests;
