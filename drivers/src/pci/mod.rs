//! Devices on the PCI bus: `show pci`, and the answers of `create interface virtio`, `device
//! attach` and what else asks for a card to be driven. None of them is driven here; the answer says
//! what the device is and who drives it, so that an operator knows which interface to make instead.
#![forbid(unsafe_code)]

mod bus;
mod cards;
mod commands;
pub mod dev;
pub mod messages;
pub mod rdma;
pub mod virtio;

use net::{Configuration, Feature, Origin, Parts};

/// Devices on the PCI bus.
pub const FEATURE: Feature = Feature {
    name: "pci",
    about: "Devices on the PCI bus",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::None("nothing can be set"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    virtio::register(&mut parts.api);
    dev::register(&mut parts.api);
    commands::register(&mut parts.cli);
    cards::register(&mut parts.cli);
    messages::register(&mut parts.api);
    Ok(())
}

#[cfg(test)]
mod tests;
