//! Messages of the module `ct6`.

use control::api::{Api, Message};
use net::{InterfaceIndex, Router};

/// Track connections on an interface, or no longer.
#[derive(Message)]
pub struct Ct6EnableDisable {
    /// or no longer
    pub enable_disable: bool,
    /// connections that it begins are remembered, or else what it receives is checked
    pub is_inside: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("ct6", "1.0.0").call(|router: &mut Router, m: Ct6EnableDisable| {
        Ok(super::set_side(router, m.sw_if_index, m.is_inside, m.enable_disable)?)
    });
}
