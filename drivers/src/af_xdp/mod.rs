//! Interfaces on Linux devices by AF_XDP sockets: `create interface af_xdp`. What a queue of the
//! device receives goes to a socket and no further; the kernel's stack gets nothing of it.
//!
//! A socket has memory in frames, which the kernel or the device itself (zero copy) fills, and four
//! rings of addresses. Packets are copied between frames and buffers. A small program on the device
//! hands packets to sockets ([`kernel::Program`]); it goes when the interface or the process does,
//! and the device is as it was.

pub mod api;
mod commands;
mod input;
mod interface;
mod kernel;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

pub use input::AfXdpInput;

/// Interfaces on Linux devices, past the kernel's stack.
pub const FEATURE: Feature = Feature {
    name: "af_xdp",
    about: "AF_XDP Device Plugin",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let node = router.engine.add_input(AfXdpInput::new(&router.interfaces)).map_err(refuse)?;
    router.insert(interface::AfXdps::new(node));
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    Ok(())
}
