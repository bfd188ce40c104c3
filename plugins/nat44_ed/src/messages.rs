//! Messages of the module `nat44_ed`.

use control::api::Record;
use net::prelude::*;
use translation::messages::Worker;
use translation::numbers::{NatConfigFlags, NatLogLevel, NatTimeouts};

control::numbers! {
    /// NAT flags.
    pub enum Nat44ConfigFlags: u8 = "nat44_config_flags" in "" {
        ENDPOINT_INDEPENDENT = 0 => "NAT44_IS_ENDPOINT_INDEPENDENT",
        ENDPOINT_DEPENDENT = 1 => "NAT44_IS_ENDPOINT_DEPENDENT",
        STATIC_MAPPING_ONLY = 2 => "NAT44_IS_STATIC_MAPPING_ONLY",
        CONNECTION_TRACKING = 4 => "NAT44_IS_CONNECTION_TRACKING",
        OUT2IN_DPO = 8 => "NAT44_IS_OUT2IN_DPO",
    }
}

/// A server of a load-balanced mapping.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct Nat44LbAddrPort {
    /// MAC address
    pub addr: Ipv4Addr,
    /// port
    pub port: u16,
    /// share of the load
    pub probability: u8,
    /// table
    pub vrf_id: u32,
}

/// Enable or disable NAT44; disabling deletes its settings and sessions.
#[derive(Message)]
pub struct Nat44EdPluginEnableDisable {
    /// inside table
    pub inside_vrf: u32,
    /// outside table
    pub outside_vrf: u32,
    /// maximum sessions per thread; 0 for the default
    pub sessions: u32,
    /// ignored
    pub session_memory: u32,
    /// true to enable, false to disable
    pub enable: bool,
    /// identification
    pub flags: Nat44ConfigFlags,
}

/// Enable or disable forwarding of packets without a translation.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44ForwardingEnableDisable {
    /// true to enable, false to disable
    pub enable: bool,
}

/// Set session timeouts.
#[derive(Message)]
#[option("deprecated")]
pub struct NatSetTimeouts {
    /// UDP timeout in seconds
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// Set the session limit of a table.
#[derive(Message)]
pub struct Nat44SetSessionLimit {
    /// maximum sessions
    pub session_limit: u32,
    /// table ID
    pub vrf_id: u32,
}

/// Get the configuration.
#[derive(Message)]
#[reply(Nat44ShowRunningConfigReply)]
pub struct Nat44ShowRunningConfig {}

/// Reply.
#[derive(Message)]
pub struct Nat44ShowRunningConfigReply {
    /// inside table
    pub inside_vrf: u32,
    /// outside table
    pub outside_vrf: u32,
    /// ignored
    pub users: u32,
    /// maximum sessions per thread; 0 for the default
    pub sessions: u32,
    /// ignored
    pub user_sessions: u32,
    /// ignored
    pub user_buckets: u32,
    /// ignored
    pub translation_buckets: u32,
    /// true if packets without a translation are forwarded
    pub forwarding_enabled: bool,
    /// true if sessions are logged
    pub ipfix_logging_enabled: bool,
    /// timeouts
    pub timeouts: NatTimeouts,
    /// log level
    pub log_level: NatLogLevel,
    /// identification
    pub flags: Nat44ConfigFlags,
}

/// Assign sessions to some workers.
#[derive(Message)]
pub struct NatSetWorkers {
    /// worker bit mask
    pub worker_mask: u64,
}

/// List threads with sessions.
#[derive(Message)]
#[details(NatWorkerDetails)]
pub struct NatWorkerDump {}

/// A thread with sessions.
#[derive(Message)]
pub struct NatWorkerDetails {
    /// the thread
    #[flatten]
    pub worker: Worker,
}

/// Add or delete a table of inside hosts, with the tables of their external hosts.
#[derive(Message)]
pub struct Nat44EdAddDelVrfTable {
    /// inside table
    pub table_vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// Add or delete a table of external hosts.
#[derive(Message)]
pub struct Nat44EdAddDelVrfRoute {
    /// inside table
    pub table_vrf_id: u32,
    /// table ID
    pub vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List tables of inside hosts with those of their external hosts.
#[derive(Message)]
#[option("deprecated")]
#[details(Nat44EdVrfTablesDetails)]
pub struct Nat44EdVrfTablesDump {}

/// A table of inside hosts.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EdVrfTablesDetails {
    /// inside table
    pub table_vrf_id: u32,
    /// tables of external hosts
    #[counted(n_vrf_ids: u32)]
    pub vrf_ids: Vec<u32>,
}

/// List tables of inside hosts with those of their external hosts.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(Nat44EdVrfTablesV2Details)]
pub struct Nat44EdVrfTablesV2Dump {}

/// A table of inside hosts.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Nat44EdVrfTablesV2Details {
    /// inside table
    pub table_vrf_id: u32,
    /// tables of external hosts
    #[counted(n_vrf_ids: u32)]
    pub vrf_ids: Vec<u32>,
}

/// Set the TCP MSS clamp.
#[derive(Message)]
pub struct NatSetMssClamping {
    /// in bytes
    pub mss_value: u16,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Get the TCP MSS clamp.
#[derive(Message)]
#[reply(NatGetMssClampingReply)]
pub struct NatGetMssClamping {}

/// Reply.
#[derive(Message)]
pub struct NatGetMssClampingReply {
    /// in bytes
    pub mss_value: u16,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Use an interface's addresses as the NAT pool, or stop.
#[derive(Message)]
pub struct Nat44AddDelInterfaceAddr {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// identification
    pub flags: NatConfigFlags,
}

/// List interfaces whose addresses are used as the pool.
#[derive(Message)]
#[details(Nat44InterfaceAddrDetails)]
pub struct Nat44InterfaceAddrDump {}

/// An interface whose addresses are used as the pool.
#[derive(Message)]
pub struct Nat44InterfaceAddrDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// identification
    pub flags: NatConfigFlags,
}

/// Set the frame queue size, while NAT is disabled.
#[derive(Message)]
pub struct Nat44EdSetFqOptions {
    /// elements, a power of two
    pub frame_queue_nelts: u32,
}

/// Get the frame queue size.
#[derive(Message)]
#[reply(Nat44EdShowFqOptionsReply)]
pub struct Nat44EdShowFqOptions {}

/// Frame queue size.
#[derive(Message)]
pub struct Nat44EdShowFqOptionsReply {
    /// elements
    pub frame_queue_nelts: u32,
}

/// Add or delete addresses of the pool.
#[derive(Message)]
pub struct Nat44AddDelAddressRange {
    /// first address
    pub first_ip_address: Ipv4Addr,
    /// last of the range
    pub last_ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: NatConfigFlags,
}

/// List pool addresses.
#[derive(Message)]
#[details(Nat44AddressDetails)]
pub struct Nat44AddressDump {}

/// A pool address.
#[derive(Message)]
pub struct Nat44AddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
    /// identification
    pub flags: NatConfigFlags,
    /// table ID
    pub vrf_id: u32,
}

/// Set an interface as inside or outside, or remove it.
#[derive(Message)]
pub struct Nat44InterfaceAddDelFeature {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List inside and outside interfaces.
#[derive(Message)]
#[details(Nat44InterfaceDetails)]
pub struct Nat44InterfaceDump {}

/// An interface.
#[derive(Message)]
pub struct Nat44InterfaceDetails {
    /// identification
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable NAT as an output feature of an interface.
#[derive(Message)]
pub struct Nat44EdAddDelOutputInterface {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List interfaces with NAT as an output feature.
#[derive(Message)]
#[stream(Nat44EdOutputInterfaceDetails, Nat44EdOutputInterfaceGetReply)]
pub struct Nat44EdOutputInterfaceGet {
    /// cursor
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct Nat44EdOutputInterfaceGetReply {
    /// cursor
    pub cursor: u32,
}

/// An interface.
#[derive(Message)]
pub struct Nat44EdOutputInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}
