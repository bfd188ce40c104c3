//! Messages of the module `l2` about addresses: their fields.

use control::api::Record;
use net::prelude::*;

control::numbers! {
    /// MAC address event.
    pub enum MacEventAction: u32 = "mac_event_action" in "vnet/l2/l2.api" {
        ADD = 0 => "MAC_EVENT_ACTION_API_ADD",
        DELETE = 1 => "MAC_EVENT_ACTION_API_DELETE",
        MOVE = 2 => "MAC_EVENT_ACTION_API_MOVE",
    }
}

/// A MAC address in an event.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct MacEntry {
    /// interface of the address
    pub sw_if_index: InterfaceIndex,
    /// the address
    pub mac_addr: MacAddr,
    /// event
    pub action: MacEventAction,
    /// nothing
    pub flags: u8,
}

/// List the MAC addresses of a bridge domain.
#[derive(Message)]
#[details(L2FibTableDetails)]
pub struct L2FibTableDump {
    /// bridge domain
    pub bd_id: u32,
}

/// An address.
#[derive(Message)]
pub struct L2FibTableDetails {
    /// bridge domain ID
    pub bd_id: u32,
    /// the address
    pub mac: MacAddr,
    /// interface of the address
    pub sw_if_index: InterfaceIndex,
    /// static, not learned
    pub static_mac: bool,
    /// drop frames to or from it
    pub filter_mac: bool,
    /// the router's own
    pub bvi_mac: bool,
}

/// Delete all MAC addresses.
#[derive(Message)]
pub struct L2FibClearTable {}

/// Delete all learned MAC addresses.
#[derive(Message)]
pub struct L2fibFlushAll {}

/// Delete the learned MAC addresses of a bridge domain.
#[derive(Message)]
pub struct L2fibFlushBd {
    /// bridge domain
    pub bd_id: u32,
}

/// Delete the learned MAC addresses of an interface.
#[derive(Message)]
pub struct L2fibFlushInt {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a MAC address.
#[derive(Message)]
pub struct L2fibAddDel {
    /// the address
    pub mac: MacAddr,
    /// bridge domain ID
    pub bd_id: u32,
    /// interface of the address
    pub sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    #[preset("true")]
    pub is_add: bool,
    /// static: never aged
    pub static_mac: bool,
    /// drop frames to or from it
    pub filter_mac: bool,
    /// the router's own
    pub bvi_mac: bool,
}

/// Register or unregister for MAC learning events.
#[derive(Message)]
#[option("deprecated")]
#[reply(WantL2MacsEventsReply)]
#[events(L2MacsEvent)]
pub struct WantL2MacsEvents {
    /// maximum learned addresses
    #[preset(1000)]
    pub learn_limit: u32,
    /// hundredths of a second between events
    #[preset(10)]
    pub scan_delay: u8,
    /// maximum addresses in an event, in tens
    #[preset(10)]
    pub max_macs_in_event: u8,
    /// true to register, false to unregister
    #[preset("true")]
    pub enable_disable: bool,
    /// process ID, echoed in events
    pub pid: u32,
}

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
pub struct WantL2MacsEventsReply {}

/// Register or unregister for MAC learning events.
#[derive(Message)]
pub struct WantL2MacsEvents2 {
    /// maximum addresses in an event, in tens
    #[preset(10)]
    pub max_macs_in_event: u8,
    /// true to register, false to unregister
    #[preset("true")]
    pub enable_disable: bool,
    /// process ID, echoed in events
    pub pid: u32,
}

/// Set the interval of MAC learning events.
#[derive(Message)]
pub struct L2fibSetScanDelay {
    /// hundredths of a second
    #[preset(10)]
    pub scan_delay: u16,
}

/// MAC addresses were learned, moved or aged out.
#[derive(Debug, PartialEq, Message)]
pub struct L2MacsEvent {
    /// addresses
    #[counted(n_macs: u32)]
    pub mac: Vec<MacEntry>,
}
