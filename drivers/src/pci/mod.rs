//! Devices on the PCI bus: `show pci`, and the answers of `create interface virtio` and `device
//! attach`. None of them is driven here; the answer says what the device is and who drives it, so
//! that an operator knows which interface to make instead.
#![forbid(unsafe_code)]

mod bus;
mod commands;
pub mod dev;
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
    Ok(())
}

#[cfg(test)]
mod tests;
