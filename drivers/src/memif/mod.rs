//! Interfaces whose packets pass through memory that is shared with another program: `create
//! interface memif`, version 2.0 of the protocol ([`wire::memif`]).
//!
//! One side listens on a socket, the master; the other connects, the slave. The slave makes the
//! memory, rings and slots for packets, and hands it over on the socket; from then on packets need
//! no system call but to wake who sleeps. Each ring has a receiver that says whether it wants to be
//! woken: a thread does when it has found nothing.
//!
//! Packets are copied both ways. The original lets a slave give its own buffers to the master
//! (`zero-copy`), which then may write to all of them. Here what is known of a packet stands beside
//! its bytes: a peer with access to it could have the router read or write anywhere.
//!
//! The peer is not trusted. Its messages are checked when they are used ([`queue`]), its shared
//! memory cannot be unmapped ([`crate::shared`]), and it may disappear at any moment: the
//! connection ends, and a slave tries again every second.
#![forbid(unsafe_code)]

pub mod api;
pub mod channel;
mod commands;
mod input;
mod interface;
mod process;
pub mod queue;
pub mod ring;
pub mod session;
mod show;
mod tx;

use std::path::PathBuf;

use net::{Configuration, Feature, Origin, Parts, refuse};

use crate::host::losses_for;

pub use input::MemifInput;

/// Interfaces to other programs over shared memory.
pub const FEATURE: Feature = Feature {
    name: "memif",
    about: "Packet Memory Interface (memif) -- Shared Memory Packet Interface",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

/// Folder of sockets whose names do not say it: the runtime folder. Put into the router before
/// features register.
pub struct Folder(pub PathBuf);

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let node = router.engine.add_input(MemifInput::new(&router.interfaces)).map_err(refuse)?;
    let folder = router.state::<Folder>().map_or_else(|| "/run/vpp".into(), |f| f.0.clone());
    router.processes.spawn(process::NAME, Box::new(process::run));
    let losses = losses_for(router, process::NAME).map_err(refuse)?;
    router.insert(interface::Memifs::new(node, folder, losses));
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    show::register(&mut parts.cli);
    Ok(())
}

#[cfg(test)]
mod tests;
