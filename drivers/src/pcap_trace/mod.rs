//! Captures of what the router receives, sends and drops (`pcap trace`), and of every packet at
//! every node (`pcap dispatch trace`), in files that Wireshark reads.
//!
//! Received packets are seen where `ethernet-input` gets them, sent ones at `<name>-output`,
//! dropped ones at `error-drop`, or where an ICMP error answers them, whole again as they came in
//! and with the reason behind them. The engine shows them ([`graph::Watch`]): nodes know nothing of
//! captures, and while there is none nothing is done. Packets are kept in memory; control writes
//! the file when the capture ends.
#![forbid(unsafe_code)]

pub mod api;
mod captures;
mod commands;
mod dispatch;
mod points;
mod store;

use net::{Configuration, Feature, Origin, Parts};

/// Captures of packets.
pub const FEATURE: Feature = Feature {
    name: "pcap_trace",
    about: "Captures of received, sent and dropped packets",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::None("packets are captured for a while"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    parts.router.insert(captures::Captures::default());
    parts.router.interfaces.observe(captures::follow);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    Ok(())
}
