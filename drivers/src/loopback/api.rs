//! Messages about loopbacks, in the module `interface`.

use control::api::{Api, Message};
use net::{InterfaceIndex, InterfaceReply, Router, interface};
use wire::MacAddr;

use super::interface as loopback;

/// Create a loopback interface.
#[derive(Message)]
#[reply(CreateLoopbackReply)]
pub struct CreateLoopback {
    /// MAC address; zero for one derived from the instance number
    pub mac_address: MacAddr,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct CreateLoopbackReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Create a loopback interface with a given instance number.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct CreateLoopbackInstance {
    /// MAC address; zero for one derived from the instance number
    pub mac_address: MacAddr,
    /// true if `user_instance` is valid
    pub is_specified: bool,
    /// instance number in the interface name
    pub user_instance: u32,
}

/// Delete a loopback interface.
#[derive(Message)]
pub struct DeleteLoopback {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

fn given(mac: MacAddr) -> Option<MacAddr> {
    (mac != MacAddr::ZERO).then_some(mac)
}

pub(super) fn register(api: &mut Api<Router>) {
    interface::api::module(api)
        .call(|router: &mut Router, m: CreateLoopback| {
            let sw_if_index = loopback::create(router, given(m.mac_address), None)?;
            Ok(CreateLoopbackReply { sw_if_index })
        })
        .call(|router: &mut Router, m: CreateLoopbackInstance| {
            let instance = m.is_specified.then_some(m.user_instance);
            let sw_if_index = loopback::create(router, given(m.mac_address), instance)?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: DeleteLoopback| {
            Ok(loopback::delete(router, m.sw_if_index)?)
        });
}
