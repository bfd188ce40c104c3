//! Interfaces that are devices of the host: `create tap` makes `tap0` here and a network device
//! there. What the host sends on its device is received here and the other way round.
//!
//! A packet is read straight into a buffer, what does not fit after it; a virtio header in front
//! ([`crate::virtio_header`]) tells what is left to do about checksum and segmentation, so that 64
//! KB of TCP pass in one piece both ways.

pub mod api;
mod commands;
mod device;
mod input;
mod interface;
mod link;
mod open;
mod show;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

pub use device::Leaves;
pub use input::TapInput;
pub use interface::{Error, Host, Parameters, Tap, Taps};
pub use open::Opened;

/// TAP and TUN interfaces.
pub const FEATURE: Feature = Feature {
    name: "tap",
    about: "TAP/TUN device",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let node = router.engine.add_input(TapInput::new(&router.interfaces)).map_err(refuse)?;
    router.insert(interface::Taps::new(node));
    link::register(router);
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    show::register(&mut parts.cli);
    Ok(())
}
