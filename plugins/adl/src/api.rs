//! Messages of the module `adl`.

use net::prelude::*;

/// Enable or disable source checks on an interface.
#[derive(Message)]
pub struct AdlInterfaceEnableDisable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable_disable: bool,
}

/// Table of allowed sources.
#[derive(Message)]
pub struct AdlAllowlistEnableDisable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// check IPv4 sources
    pub fib_id: u32,
    /// check IPv6 sources
    pub ip4: bool,
    /// apply the default list to other protocols
    pub ip6: bool,
    /// other protocols go by the default list
    pub default_adl: bool,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("adl", "1.0.1")
        .call(|router: &mut Router, m: AdlInterfaceEnableDisable| {
            Ok(super::enable(router, m.sw_if_index, m.enable_disable)?)
        })
        .call(|router: &mut Router, m: AdlAllowlistEnableDisable| {
            let versions = [m.ip4, m.ip6];
            Ok(super::set_lists(router, m.sw_if_index, m.fib_id, versions, m.default_adl)?)
        });
}
