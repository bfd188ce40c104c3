//! Messages of the module `ct6`.

use net::prelude::*;

/// Enable or disable IPv6 connection tracking on an interface.
#[derive(Message)]
pub struct Ct6EnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// true to record connections from this side, false to check received packets against them
    pub is_inside: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("ct6", "1.0.0").call(|router: &mut Router, m: Ct6EnableDisable| {
        Ok(super::set_side(router, m.sw_if_index, m.is_inside, m.enable_disable)?)
    });
}
