//! Interfaces to virtual machines and containers: `create vhost-user`, the back end of QEMU's
//! vhost-user protocol ([`wire::vhost_user`]) for virtio network devices.
//!
//! The owner of the machine's memory, the front end, passes it over a socket, with the positions of
//! the rings that the machine's driver fills. From then on packets are copied out of and into that
//! memory, and need no system call except to wake a sleeper. Either end of the socket may listen
//! (`server`); the connecting end tries again every second, and the listening one accepts the next
//! connection, so that machine and router may restart in any order.
//!
//! Odd rings bring packets in, even ones take them out. What the front end changes, memory that
//! comes and goes as well, is done while no thread uses the rings: they are taken from the threads,
//! and go on where they were.
//!
//! Neither front end nor driver is trusted. What a descriptor says is read once, checked, and used
//! only then ([`ring`]); all accesses are within memory that was handed over ([`crate::shared`]).
#![forbid(unsafe_code)]

pub mod api;
mod channel;
mod commands;
mod input;
mod interface;
pub mod memory;
mod process;
pub mod queue;
pub mod ring;
pub mod session;
mod show;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

use crate::host::losses_for;

pub use input::VhostInput;

/// Interfaces to virtual machines.
pub const FEATURE: Feature = Feature {
    name: "vhost",
    about: "Vhost-User",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut parts.router;
    let node = router.engine.add_input(VhostInput::new(&router.interfaces)).map_err(refuse)?;
    router.processes.spawn(process::NAME, Box::new(process::run));
    let losses = losses_for(router, process::NAME).map_err(refuse)?;
    router.insert(interface::Vhosts::new(node, losses));
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    show::register(&mut parts.cli);
    Ok(())
}

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;
