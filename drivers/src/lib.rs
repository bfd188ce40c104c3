//! Packets in and out: the packet generator, loopbacks, and devices of the host.

pub mod af_packet;
pub mod gro;
pub mod host;
pub mod loopback;
mod pcap;
pub mod pcap_trace;
pub mod pg;
mod snapshot;
pub mod tap;
pub mod virtio_header;

use net::Feature;

/// What this crate brings, in the order it registers.
pub const FEATURES: &[Feature] =
    &[loopback::FEATURE, pg::FEATURE, af_packet::FEATURE, tap::FEATURE, pcap_trace::FEATURE];

#[cfg(test)]
mod tests;
