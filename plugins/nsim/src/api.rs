//! Messages of the module `nsim`.

use net::prelude::*;

use super::Link;

/// Cross-connect two interfaces over a simulated link, or disconnect them.
#[derive(Message)]
pub struct NsimCrossConnectEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// one interface
    pub sw_if_index0: InterfaceIndex,
    /// second interface
    pub sw_if_index1: InterfaceIndex,
}

/// Enable or disable a simulated link on an interface's output.
#[derive(Message)]
pub struct NsimOutputFeatureEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Set the parameters of simulated links.
#[derive(Message)]
#[option("deprecated")]
pub struct NsimConfigure {
    /// delay in microseconds
    pub delay_in_usec: u32,
    /// average packet size in bytes
    pub average_packet_size: u32,
    /// bandwidth in bits per second
    pub bandwidth_in_bits_per_second: u64,
    /// packets per dropped packet; 0 for no loss
    pub packets_per_drop: u32,
}

/// Set the parameters of simulated links.
#[derive(Message)]
pub struct NsimConfigure2 {
    /// delay in microseconds
    pub delay_in_usec: u32,
    /// average packet size in bytes
    pub average_packet_size: u32,
    /// bandwidth in bits per second
    pub bandwidth_in_bits_per_second: u64,
    /// packets per dropped packet; 0 for no loss
    pub packets_per_drop: u32,
    /// packets per reordered packet; 0 for none
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
                ..Link::default()
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
                ..Link::default()
            };
            Ok(super::set_link(router, link)?)
        });
}
