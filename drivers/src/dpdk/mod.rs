//! Interfaces on devices that DPDK drives: `dpdk { … }` in startup.conf, `create interface dpdk`.
//!
//! DPDK is not linked in: a shared object built against it ([`shim::FILE`]) is loaded when the
//! first interface or the stanza asks for it. Packets are copied between DPDK's memory and buffers.
//! DPDK's devices are polled: where a thread may sleep, it looks at them every 100 µs.

mod commands;
mod input;
mod interface;
mod shim;
mod startup;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

pub use input::DpdkInput;

/// Interfaces on devices that DPDK drives.
pub const FEATURE: Feature = Feature {
    name: "dpdk",
    about: "Data Plane Development Kit (DPDK)",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let wanted = startup::read(&parts.router.stanzas).map_err(refuse)?;
    let router = &mut *parts.router;
    let node = router.engine.add_input(DpdkInput::new(&router.interfaces)).map_err(refuse)?;
    router.insert(interface::Dpdks::new(node, wanted));
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    router.on_start(interface::make_all);
    commands::register(&mut parts.cli);
    Ok(())
}
