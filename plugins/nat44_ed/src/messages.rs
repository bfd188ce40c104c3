//! Messages of the module `nat44_ed`.

use std::net::Ipv4Addr;

use control::api::{Message, Record};
use net::InterfaceIndex;
use translation::messages::Worker;
use translation::numbers::{NatConfigFlags, NatLogLevel, NatTimeouts};

control::numbers! {
    /// Kinds of NAT.
    pub enum Nat44ConfigFlags: u8 = "nat44_config_flags" in "" {
        ENDPOINT_INDEPENDENT = 0 => "NAT44_IS_ENDPOINT_INDEPENDENT",
        ENDPOINT_DEPENDENT = 1 => "NAT44_IS_ENDPOINT_DEPENDENT",
        STATIC_MAPPING_ONLY = 2 => "NAT44_IS_STATIC_MAPPING_ONLY",
        CONNECTION_TRACKING = 4 => "NAT44_IS_CONNECTION_TRACKING",
        OUT2IN_DPO = 8 => "NAT44_IS_OUT2IN_DPO",
    }
}

/// A host that shares the load.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct Nat44LbAddrPort {
    /// its address
    pub addr: Ipv4Addr,
    /// its port
    pub port: u16,
    /// its part of the load
    pub probability: u8,
    /// its table
    pub vrf_id: u32,
}

/// Enable NAT44, or disable it: all settings and sessions go then.
#[derive(Message)]
pub struct Nat44EdPluginEnableDisable {
    /// the table of hosts
    pub inside_vrf: u32,
    /// the table of far ends
    pub outside_vrf: u32,
    /// sessions of a thread at most; 0 for the usual number
    pub sessions: u32,
    /// not used
    pub session_memory: u32,
    /// on, else off
    pub enable: bool,
    /// what it is
    pub flags: Nat44ConfigFlags,
}

/// Have packets without a translation pass, or not.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44ForwardingEnableDisable {
    /// on, else off
    pub enable: bool,
}

/// Set the timeouts of sessions.
#[derive(Message)]
#[option("deprecated")]
pub struct NatSetTimeouts {
    /// of UDP, in seconds
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
    pub icmp: u32,
}

/// Set how many sessions a table may have.
#[derive(Message)]
pub struct Nat44SetSessionLimit {
    /// sessions at most
    pub session_limit: u32,
    /// the table
    pub vrf_id: u32,
}

/// Ask for the settings.
#[derive(Message)]
#[reply(Nat44ShowRunningConfigReply)]
pub struct Nat44ShowRunningConfig {}

/// The answer.
#[derive(Message)]
pub struct Nat44ShowRunningConfigReply {
    /// the table of hosts
    pub inside_vrf: u32,
    /// the table of far ends
    pub outside_vrf: u32,
    /// not used
    pub users: u32,
    /// sessions of a thread at most; 0 for the usual number
    pub sessions: u32,
    /// not used
    pub user_sessions: u32,
    /// not used
    pub user_buckets: u32,
    /// not used
    pub translation_buckets: u32,
    /// whether packets without a translation pass
    pub forwarding_enabled: bool,
    /// whether sessions are logged
    pub ipfix_logging_enabled: bool,
    /// timeouts
    pub timeouts: NatTimeouts,
    /// how much is logged
    pub log_level: NatLogLevel,
    /// what it is
    pub flags: Nat44ConfigFlags,
}

/// Spread sessions over some workers.
#[derive(Message)]
pub struct NatSetWorkers {
    /// a bit for each, from the lowest on
    pub worker_mask: u64,
}

/// List the threads that have sessions.
#[derive(Message)]
#[details(NatWorkerDetails)]
pub struct NatWorkerDump {}

/// A thread that has sessions.
#[derive(Message)]
pub struct NatWorkerDetails {
    /// the thread
    #[flatten]
    pub worker: Worker,
}

/// Add a table of hosts whose far ends are in certain tables, or take it away.
#[derive(Message)]
pub struct Nat44EdAddDelVrfTable {
    /// the table of hosts
    pub table_vrf_id: u32,
    /// added, else taken away
    pub is_add: bool,
}

/// Add a table of far ends, or take it away.
#[derive(Message)]
pub struct Nat44EdAddDelVrfRoute {
    /// the table of hosts
    pub table_vrf_id: u32,
    /// the table
    pub vrf_id: u32,
    /// added, else taken away
    pub is_add: bool,
}

/// List the tables of hosts with those of their far ends.
#[derive(Message)]
#[option("deprecated")]
#[details(Nat44EdVrfTablesDetails)]
pub struct Nat44EdVrfTablesDump {}

/// A table of hosts.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EdVrfTablesDetails {
    /// the table of hosts
    pub table_vrf_id: u32,
    /// tables of far ends
    #[counted(n_vrf_ids: u32)]
    pub vrf_ids: Vec<u32>,
}

/// List the tables of hosts with those of their far ends.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(Nat44EdVrfTablesV2Details)]
pub struct Nat44EdVrfTablesV2Dump {}

/// A table of hosts.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Nat44EdVrfTablesV2Details {
    /// the table of hosts
    pub table_vrf_id: u32,
    /// tables of far ends
    #[counted(n_vrf_ids: u32)]
    pub vrf_ids: Vec<u32>,
}

/// Set the maximum segment size of TCP.
#[derive(Message)]
pub struct NatSetMssClamping {
    /// in bytes
    pub mss_value: u16,
    /// on, else off
    pub enable: bool,
}

/// Ask for the maximum segment size of TCP.
#[derive(Message)]
#[reply(NatGetMssClampingReply)]
pub struct NatGetMssClamping {}

/// The answer.
#[derive(Message)]
pub struct NatGetMssClampingReply {
    /// in bytes
    pub mss_value: u16,
    /// on, else off
    pub enable: bool,
}

/// Have packets get the address of an interface, or not.
#[derive(Message)]
pub struct Nat44AddDelInterfaceAddr {
    /// added, else taken away
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// what it is
    pub flags: NatConfigFlags,
}

/// List the interfaces whose addresses packets get.
#[derive(Message)]
#[details(Nat44InterfaceAddrDetails)]
pub struct Nat44InterfaceAddrDump {}

/// An interface whose address packets get.
#[derive(Message)]
pub struct Nat44InterfaceAddrDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// what it is
    pub flags: NatConfigFlags,
}

/// Add addresses that packets get, or take them out.
#[derive(Message)]
pub struct Nat44AddDelAddressRange {
    /// the first one
    pub first_ip_address: Ipv4Addr,
    /// the last one
    pub last_ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: NatConfigFlags,
}

/// List the addresses that packets get.
#[derive(Message)]
#[details(Nat44AddressDetails)]
pub struct Nat44AddressDump {}

/// An address that packets get.
#[derive(Message)]
pub struct Nat44AddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
    /// what it is
    pub flags: NatConfigFlags,
    /// the table
    pub vrf_id: u32,
}

/// Make an interface inside or outside, or no longer.
#[derive(Message)]
pub struct Nat44InterfaceAddDelFeature {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: NatConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that are inside or outside.
#[derive(Message)]
#[details(Nat44InterfaceDetails)]
pub struct Nat44InterfaceDump {}

/// An interface.
#[derive(Message)]
pub struct Nat44InterfaceDetails {
    /// what it is
    pub flags: NatConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Translate packets when an interface sends them, or no longer.
#[derive(Message)]
pub struct Nat44EdAddDelOutputInterface {
    /// added, else taken away
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that translate what they send.
#[derive(Message)]
#[stream(Nat44EdOutputInterfaceDetails, Nat44EdOutputInterfaceGetReply)]
pub struct Nat44EdOutputInterfaceGet {
    /// where to go on
    pub cursor: u32,
}

/// The end of an answer.
#[derive(Message)]
pub struct Nat44EdOutputInterfaceGetReply {
    /// where to go on
    pub cursor: u32,
}

/// An interface.
#[derive(Message)]
pub struct Nat44EdOutputInterfaceDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}
