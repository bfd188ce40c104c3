//! Interfaces on ports of netmap: `create netmap`. A port is a device of the host, taken from the
//! host's stack as long as the interface is there, a port of a VALE switch (`vale0:1`) or an end of
//! a pipe (`vale0:1{2`, `vale0:1}2`). Needs a kernel with netmap's module: API version 14, which
//! has requests with a header.
//!
//! A port has rings of slots, each of which names a buffer; rings and buffers are in memory that
//! the kernel shares. Packets are copied between its buffers and those of the router
//! ([`memory::Ring`]). The kernel looks at a ring when it is asked to ([`kernel::Socket::sync`]).

pub mod api;
mod commands;
mod input;
mod interface;
mod kernel;
mod memory;
#[cfg(test)]
mod tests;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

pub use input::NetmapInput;

/// Interfaces on ports of netmap.
pub const FEATURE: Feature = Feature {
    name: "netmap",
    about: "netmap Device Plugin",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let node = router.engine.add_input(NetmapInput::new(&router.interfaces)).map_err(refuse)?;
    router.insert(interface::Netmaps::new(node));
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    Ok(())
}
