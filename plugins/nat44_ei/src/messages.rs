//! Messages of the module `nat44_ei`.

use std::net::Ipv4Addr;

use control::api::Message;
use net::InterfaceIndex;
use translation::messages::Worker;
use translation::numbers::{NatLogLevel, NatTimeouts};

control::numbers! {
    /// Properties of NAT, mappings, interfaces and sessions.
    pub enum Nat44EiConfigFlags: u8 = "nat44_ei_config_flags" in "" {
        NONE = 0 => "NAT44_EI_NONE",
        STATIC_MAPPING_ONLY = 1 => "NAT44_EI_STATIC_MAPPING_ONLY",
        CONNECTION_TRACKING = 2 => "NAT44_EI_CONNECTION_TRACKING",
        OUT2IN_DPO = 4 => "NAT44_EI_OUT2IN_DPO",
        ADDR_ONLY_MAPPING = 8 => "NAT44_EI_ADDR_ONLY_MAPPING",
        IF_INSIDE = 16 => "NAT44_EI_IF_INSIDE",
        IF_OUTSIDE = 32 => "NAT44_EI_IF_OUTSIDE",
        STATIC_MAPPING = 64 => "NAT44_EI_STATIC_MAPPING",
    }
}

/// Enable NAT44, or disable it: all settings and sessions go then.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiPluginEnableDisable {
    /// the table of hosts
    pub inside_vrf: u32,
    /// the table of far ends
    pub outside_vrf: u32,
    /// hosts of a thread at most; 0 for the usual number
    pub users: u32,
    /// not used
    pub user_memory: u32,
    /// sessions of a thread at most; 0 for the usual number
    pub sessions: u32,
    /// not used
    pub session_memory: u32,
    /// sessions of a host at most; 0 for the usual number
    pub user_sessions: u32,
    /// on, else off
    pub enable: bool,
    /// what it is
    pub flags: Nat44EiConfigFlags,
}

/// Ask for the settings.
#[derive(Message)]
#[reply(Nat44EiShowRunningConfigReply)]
#[option("in_progress")]
pub struct Nat44EiShowRunningConfig {}

/// The settings.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiShowRunningConfigReply {
    /// the table of hosts
    pub inside_vrf: u32,
    /// the table of far ends
    pub outside_vrf: u32,
    /// hosts of a thread at most; 0 for the usual number
    pub users: u32,
    /// sessions of a thread at most; 0 for the usual number
    pub sessions: u32,
    /// sessions of a host at most; 0 for the usual number
    pub user_sessions: u32,
    /// not used
    pub user_buckets: u32,
    /// not used
    pub translation_buckets: u32,
    /// whether packets without a translation pass
    pub forwarding_enabled: bool,
    /// whether sessions are exported
    pub ipfix_logging_enabled: bool,
    /// the timeouts
    pub timeouts: NatTimeouts,
    /// how much is logged
    pub log_level: NatLogLevel,
    /// what it is
    pub flags: Nat44EiConfigFlags,
}

/// Set which events are noted in the event log.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiSetLogLevel {
    /// how much is logged
    pub log_level: NatLogLevel,
}

/// Spread sessions over some workers.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetWorkers {
    /// a bit for each, from the lowest on
    pub worker_mask: u64,
}

/// List the threads that translate.
#[derive(Message)]
#[details(Nat44EiWorkerDetails)]
#[option("in_progress")]
pub struct Nat44EiWorkerDump {}

/// A thread that translates.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiWorkerDetails {
    /// the thread
    #[flatten]
    pub worker: Worker,
}

/// Set the timeouts of sessions, in seconds.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetTimeouts {
    /// of UDP
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
    pub icmp: u32,
}

/// Set the ports that packets get.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetAddrAndPortAllocAlg {
    /// 0 all, 1 those of a PSID (RFC 7597), 2 a range
    pub alg: u8,
    /// bits in front of the PSID
    pub psid_offset: u8,
    /// bits of the PSID
    pub psid_length: u8,
    /// the PSID
    pub psid: u16,
    /// the first port
    pub start_port: u16,
    /// the last port
    pub end_port: u16,
}

/// Ask for the ports that packets get.
#[derive(Message)]
#[reply(Nat44EiGetAddrAndPortAllocAlgReply)]
#[option("deprecated")]
pub struct Nat44EiGetAddrAndPortAllocAlg {}

/// The ports that packets get.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiGetAddrAndPortAllocAlgReply {
    /// 0 all, 1 those of a PSID (RFC 7597), 2 a range
    pub alg: u8,
    /// bits in front of the PSID
    pub psid_offset: u8,
    /// bits of the PSID
    pub psid_length: u8,
    /// the PSID
    pub psid: u16,
    /// the first port
    pub start_port: u16,
    /// the last port
    pub end_port: u16,
}

/// Set the maximum segment size of TCP.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetMssClamping {
    /// in bytes
    pub mss_value: u16,
    /// on, else off
    pub enable: bool,
}

/// Ask for the maximum segment size of TCP.
#[derive(Message)]
#[reply(Nat44EiGetMssClampingReply)]
#[option("deprecated")]
pub struct Nat44EiGetMssClamping {}

/// The maximum segment size of TCP.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiGetMssClampingReply {
    /// in bytes
    pub mss_value: u16,
    /// on, else off
    pub enable: bool,
}

/// Add addresses that packets get, or take them out.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddDelAddressRange {
    /// the first one
    pub first_ip_address: Ipv4Addr,
    /// the last one
    pub last_ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
    /// added, else taken away
    pub is_add: bool,
}

/// List the addresses that packets get.
#[derive(Message)]
#[details(Nat44EiAddressDetails)]
#[option("in_progress")]
pub struct Nat44EiAddressDump {}

/// An address that packets get.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
}

/// Make an interface inside or outside, or no longer.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiInterfaceAddDelFeature {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that are inside or outside.
#[derive(Message)]
#[details(Nat44EiInterfaceDetails)]
#[option("in_progress")]
pub struct Nat44EiInterfaceDump {}

/// An interface.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiInterfaceDetails {
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Translate packets when an interface sends them, or no longer.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddDelOutputFeature {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that translate what they send.
#[derive(Message)]
#[details(Nat44EiInterfaceOutputFeatureDetails)]
#[option("deprecated")]
pub struct Nat44EiInterfaceOutputFeatureDump {}

/// An interface that translates what it sends.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceOutputFeatureDetails {
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Translate packets when an interface sends them, or no longer.
#[derive(Message)]
pub struct Nat44EiAddDelOutputInterface {
    /// added, else taken away
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that translate what they send.
#[derive(Message)]
#[stream(Nat44EiOutputInterfaceDetails, Nat44EiOutputInterfaceGetReply)]
pub struct Nat44EiOutputInterfaceGet {
    /// where to go on
    pub cursor: u32,
}

/// The end of an answer.
#[derive(Message)]
pub struct Nat44EiOutputInterfaceGetReply {
    /// where to go on
    pub cursor: u32,
}

/// An interface that translates what it sends.
#[derive(Message)]
pub struct Nat44EiOutputInterfaceDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Have packets get the address of an interface, or not.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiAddDelInterfaceAddr {
    /// added, else taken away
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// what it is
    pub flags: Nat44EiConfigFlags,
}

/// List the interfaces whose addresses packets get.
#[derive(Message)]
#[details(Nat44EiInterfaceAddrDetails)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddrDump {}

/// An interface whose address packets get.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddrDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Have packets without a translation pass, or not.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiForwardingEnableDisable {
    /// on, else off
    pub enable: bool,
}

/// Have sessions and limits exported as IPFIX records, or no longer.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiIpfixEnableDisable {
    /// the observation domain
    pub domain_id: u32,
    /// the source port of records
    pub src_port: u16,
    /// on, else off
    pub enable: bool,
}
