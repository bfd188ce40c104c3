//! Messages of the module `nsim`.

use control::api::{Api, Message};
use net::{InterfaceIndex, Router};

use super::Link;

/// Connect two interfaces by a link, or no longer.
#[derive(Message)]
pub struct NsimCrossConnectEnableDisable {
    /// or no longer
    pub enable_disable: bool,
    /// one interface
    pub sw_if_index0: InterfaceIndex,
    /// the other
    pub sw_if_index1: InterfaceIndex,
}

/// Have a link behind an interface, or no longer.
#[derive(Message)]
pub struct NsimOutputFeatureEnableDisable {
    /// or no longer
    pub enable_disable: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set what links are like.
#[derive(Message)]
#[option("deprecated")]
pub struct NsimConfigure {
    /// delay in microseconds
    pub delay_in_usec: u32,
    /// usual length of packets, in bytes
    pub average_packet_size: u32,
    /// bandwidth in bits per second
    pub bandwidth_in_bits_per_second: u64,
    /// one packet of so many is lost; 0 for none
    pub packets_per_drop: u32,
}

/// Set what links are like.
#[derive(Message)]
pub struct NsimConfigure2 {
    /// delay in microseconds
    pub delay_in_usec: u32,
    /// usual length of packets, in bytes
    pub average_packet_size: u32,
    /// bandwidth in bits per second
    pub bandwidth_in_bits_per_second: u64,
    /// one packet of so many is lost; 0 for none
    pub packets_per_drop: u32,
    /// one packet of so many is not late; 0 for none
    pub packets_per_reorder: u32,
}

/// The part that one of so many is; 0 of none.
pub(super) fn one_of(count: u32) -> f64 {
    if count == 0 { 0.0 } else { 1.0 / f64::from(count) }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nsim", "2.2.1")
        .call(|router: &mut Router, m: NsimCrossConnectEnableDisable| {
            Ok(super::connect(router, [m.sw_if_index0, m.sw_if_index1], m.enable_disable)?)
        })
        .call(|router, m: NsimOutputFeatureEnableDisable| {
            Ok(super::set_late(router, m.sw_if_index, m.enable_disable)?)
        })
        .call(|router, m: NsimConfigure| {
            let link = Link {
                delay: f64::from(m.delay_in_usec) * 1e-6,
                bandwidth: m.bandwidth_in_bits_per_second,
                packet_size: m.average_packet_size,
                drop_fraction: one_of(m.packets_per_drop),
                reorder_fraction: 0.0,
            };
            Ok(super::set_link(router, link)?)
        })
        .call(|router, m: NsimConfigure2| {
            let link = Link {
                delay: f64::from(m.delay_in_usec) * 1e-6,
                bandwidth: m.bandwidth_in_bits_per_second,
                packet_size: m.average_packet_size,
                drop_fraction: one_of(m.packets_per_drop),
                reorder_fraction: one_of(m.packets_per_reorder),
            };
            Ok(super::set_link(router, link)?)
        });
}
