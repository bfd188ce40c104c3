//! Messages of the module `l2` about addresses: their fields.

use control::api::{Message, Record};
use net::InterfaceIndex;
use wire::MacAddr;

control::numbers! {
    /// Change of an address.
    pub enum MacEventAction: u32 = "mac_event_action" in "vnet/l2/l2.api" {
        ADD = 0 => "MAC_EVENT_ACTION_API_ADD",
        DELETE = 1 => "MAC_EVENT_ACTION_API_DELETE",
        MOVE = 2 => "MAC_EVENT_ACTION_API_MOVE",
    }
}

/// An address in an event.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct MacEntry {
    /// interface that it is behind
    pub sw_if_index: InterfaceIndex,
    /// the address
    pub mac_addr: MacAddr,
    /// change
    pub action: MacEventAction,
    /// nothing
    pub flags: u8,
}

/// List the addresses of a domain.
#[derive(Message)]
#[details(L2FibTableDetails)]
pub struct L2FibTableDump {
    /// the domain
    pub bd_id: u32,
}

/// An address.
#[derive(Message)]
pub struct L2FibTableDetails {
    /// its domain
    pub bd_id: u32,
    /// the address
    pub mac: MacAddr,
    /// interface that it is behind
    pub sw_if_index: InterfaceIndex,
    /// it was set, not learned
    pub static_mac: bool,
    /// its frames are dropped
    pub filter_mac: bool,
    /// it is the router's own
    pub bvi_mac: bool,
}

/// Forget all addresses.
#[derive(Message)]
pub struct L2FibClearTable {}

/// Forget what was learned.
#[derive(Message)]
pub struct L2fibFlushAll {}

/// Forget what was learned in a domain.
#[derive(Message)]
pub struct L2fibFlushBd {
    /// the domain
    pub bd_id: u32,
}

/// Forget what was learned on an interface.
#[derive(Message)]
pub struct L2fibFlushInt {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set an address, or take it out.
#[derive(Message)]
pub struct L2fibAddDel {
    /// the address
    pub mac: MacAddr,
    /// its domain
    pub bd_id: u32,
    /// interface that it is behind
    pub sw_if_index: InterfaceIndex,
    /// set
    #[preset("true")]
    pub is_add: bool,
    /// never forgotten
    pub static_mac: bool,
    /// its frames are dropped
    pub filter_mac: bool,
    /// it is the router's own
    pub bvi_mac: bool,
}

/// Register for events about learned addresses, or withdraw.
#[derive(Message)]
#[option("deprecated")]
#[reply(WantL2MacsEventsReply)]
#[events(L2MacsEvent)]
pub struct WantL2MacsEvents {
    /// addresses learned at most
    #[preset(1000)]
    pub learn_limit: u32,
    /// hundredths of a second between two events
    #[preset(10)]
    pub scan_delay: u8,
    /// tens of addresses in an event at most
    #[preset(10)]
    pub max_macs_in_event: u8,
    /// register
    #[preset("true")]
    pub enable_disable: bool,
    /// returned in each event
    pub pid: u32,
}

/// It will be so.
#[derive(Message)]
#[option("deprecated")]
pub struct WantL2MacsEventsReply {}

/// Register for events about learned addresses, or withdraw.
#[derive(Message)]
pub struct WantL2MacsEvents2 {
    /// tens of addresses in an event at most
    #[preset(10)]
    pub max_macs_in_event: u8,
    /// register
    #[preset("true")]
    pub enable_disable: bool,
    /// returned in each event
    pub pid: u32,
}

/// Set the interval between events about learned addresses.
#[derive(Message)]
pub struct L2fibSetScanDelay {
    /// hundredths of a second
    #[preset(10)]
    pub scan_delay: u16,
}

/// Addresses were learned, moved or forgotten.
#[derive(Debug, PartialEq, Message)]
pub struct L2MacsEvent {
    /// addresses
    #[counted(n_macs: u32)]
    pub mac: Vec<MacEntry>,
}
