//! Messages of the module `adl`.

use control::api::{Api, Message};
use net::{InterfaceIndex, Router};

/// Have an interface's packets looked at, or no longer.
#[derive(Message)]
pub struct AdlInterfaceEnableDisable {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// or no longer
    pub enable_disable: bool,
}

/// Set the lists of an interface.
#[derive(Message)]
pub struct AdlAllowlistEnableDisable {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the table that allowed sources are in
    pub fib_id: u32,
    /// sources of IPv4 are looked up
    pub ip4: bool,
    /// sources of IPv6 are looked up
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
