//! Captures as the original has them: of what the router receives, sends and drops (`pcap trace`),
//! and of every packet at every node (`pcap dispatch trace`), in classic files.
//!
//! Both are captures of [`capture`](crate::capture) under names of their own. Received packets are
//! captured where `ethernet-input` gets them, transmitted ones at `<name>-output`, dropped ones at
//! `error-drop`, or where an ICMP error answers them, whole as received and followed by the reason.
//! The file exists from its first packet on.
#![forbid(unsafe_code)]

pub mod api;
mod commands;
mod start;

use net::{Configuration, Feature, Origin, Parts};

/// Captures of packets.
pub const FEATURE: Feature = Feature {
    name: "pcap_trace",
    about: "Captures of received, sent and dropped packets",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["capture"],
    register,
    configuration: Configuration::None("packets are captured for a while"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    Ok(())
}
