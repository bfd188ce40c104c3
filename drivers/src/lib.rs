//! Packets in and out: the packet generator, loopbacks, and devices of the host.

pub mod af_packet;
pub mod af_xdp;
pub mod capture;
pub mod dpdk;
pub mod flow;
pub mod gro;
pub mod host;
pub mod loopback;
pub mod memif;
pub mod netmap;
pub mod pcap;
pub mod pcap_trace;
pub mod pci;
pub mod pg;
pub mod shared;
mod snapshot;
pub mod tap;
pub mod vhost_user;
pub mod virtio_header;

use net::Feature;

/// Features of this crate, in the order of registration.
pub const FEATURES: &[Feature] = &[
    loopback::FEATURE,
    pg::FEATURE,
    af_packet::FEATURE,
    af_xdp::FEATURE,
    tap::FEATURE,
    memif::FEATURE,
    vhost_user::FEATURE,
    netmap::FEATURE,
    dpdk::FEATURE,
    capture::FEATURE,
    pcap_trace::FEATURE,
    pci::FEATURE,
    flow::FEATURE,
];

#[cfg(test)]
mod tests;
