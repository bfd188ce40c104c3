//! Telling clients of interfaces that go up, go down, or go.

use control::api::{Api, Message};

use super::super::{Change, InterfaceIndex};
use super::types::IfStatusFlags;
use crate::router::Router;

/// Register or unregister for interface events.
#[derive(Message)]
#[events(SwInterfaceEvent)]
pub struct WantInterfaceEvents {
    /// nonzero to register, 0 to unregister
    pub enable_disable: u32,
    /// process ID, echoed in events
    pub pid: u32,
}

/// An interface changed.
#[derive(Message)]
pub struct SwInterfaceEvent {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// administrative and link state
    pub flags: IfStatusFlags,
    /// true if deleted
    pub deleted: bool,
}

pub(super) fn register(api: &mut Api<Router>) {
    super::module(api).call_by(|router: &mut Router, caller, m: WantInterfaceEvents| {
        router.clients.want::<SwInterfaceEvent>(caller.client, m.pid, m.enable_disable != 0)
    });
}

/// Follows changes of interfaces.
pub fn tell(router: &mut Router, index: InterfaceIndex, change: Change) {
    let deleted = change == Change::Deleting;
    if !deleted && change != Change::State {
        return;
    }
    let Some(i) = router.interfaces.at(index) else { return };
    let flags = IfStatusFlags::default()
        .with(IfStatusFlags::ADMIN_UP, i.admin_up && !deleted)
        .with(IfStatusFlags::LINK_UP, i.link_up && !deleted);
    router.clients.send(&SwInterfaceEvent { sw_if_index: index, flags, deleted });
}
