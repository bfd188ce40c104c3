//! Messages about loopbacks, in the module `interface`.

use control::api::{Api, Message};
use net::{InterfaceIndex, InterfaceReply, Router, interface};
use wire::MacAddr;

use super::interface as loopback;

/// Make a loopback.
#[derive(Message)]
#[reply(CreateLoopbackReply)]
pub struct CreateLoopback {
    /// its address; zero for one made from its number
    pub mac_address: MacAddr,
}

/// It is made.
#[derive(Message)]
pub struct CreateLoopbackReply {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Make a loopback of a certain number.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct CreateLoopbackInstance {
    /// its address; zero for one made from its number
    pub mac_address: MacAddr,
    /// whether the number counts
    pub is_specified: bool,
    /// the number in its name
    pub user_instance: u32,
}

/// Delete a loopback.
#[derive(Message)]
pub struct DeleteLoopback {
    /// its number
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
