//! Messages of the module `nat44_ei`.

use net::prelude::*;
use translation::messages::Worker;
use translation::numbers::{NatLogLevel, NatTimeouts};

control::numbers! {
    /// NAT, mapping, interface and session flags.
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

/// Enable or disable NAT44; disabling deletes its settings and sessions.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiPluginEnableDisable {
    /// inside table
    pub inside_vrf: u32,
    /// outside table
    pub outside_vrf: u32,
    /// maximum hosts per thread; 0 for the default
    pub users: u32,
    /// ignored
    pub user_memory: u32,
    /// maximum sessions per thread; 0 for the default
    pub sessions: u32,
    /// ignored
    pub session_memory: u32,
    /// maximum sessions per host; 0 for the default
    pub user_sessions: u32,
    /// true to enable, false to disable
    pub enable: bool,
    /// identification
    pub flags: Nat44EiConfigFlags,
}

/// Get the configuration.
#[derive(Message)]
#[reply(Nat44EiShowRunningConfigReply)]
#[option("in_progress")]
pub struct Nat44EiShowRunningConfig {}

/// Configuration.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiShowRunningConfigReply {
    /// inside table
    pub inside_vrf: u32,
    /// outside table
    pub outside_vrf: u32,
    /// maximum hosts per thread; 0 for the default
    pub users: u32,
    /// maximum sessions per thread; 0 for the default
    pub sessions: u32,
    /// maximum sessions per host; 0 for the default
    pub user_sessions: u32,
    /// ignored
    pub user_buckets: u32,
    /// ignored
    pub translation_buckets: u32,
    /// true if packets without a translation are forwarded
    pub forwarding_enabled: bool,
    /// true if sessions are exported
    pub ipfix_logging_enabled: bool,
    /// timeouts
    pub timeouts: NatTimeouts,
    /// log level
    pub log_level: NatLogLevel,
    /// identification
    pub flags: Nat44EiConfigFlags,
}

/// Set the log level.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiSetLogLevel {
    /// log level
    pub log_level: NatLogLevel,
}

/// Assign sessions to some workers.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetWorkers {
    /// worker bit mask
    pub worker_mask: u64,
}

/// List threads with NAT44.
#[derive(Message)]
#[details(Nat44EiWorkerDetails)]
#[option("in_progress")]
pub struct Nat44EiWorkerDump {}

/// A thread with NAT44.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiWorkerDetails {
    /// the thread
    #[flatten]
    pub worker: Worker,
}

/// Set session timeouts, in seconds.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetTimeouts {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// Set the port allocation algorithm.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetAddrAndPortAllocAlg {
    /// 0 for all ports, 1 for MAP-E (RFC 7597), 2 for a port range
    pub alg: u8,
    /// PSID offset in bits
    pub psid_offset: u8,
    /// PSID length in bits
    pub psid_length: u8,
    /// PSID
    pub psid: u16,
    /// first port
    pub start_port: u16,
    /// last port
    pub end_port: u16,
}

/// Get the port allocation algorithm.
#[derive(Message)]
#[reply(Nat44EiGetAddrAndPortAllocAlgReply)]
#[option("deprecated")]
pub struct Nat44EiGetAddrAndPortAllocAlg {}

/// Port allocation algorithm.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiGetAddrAndPortAllocAlgReply {
    /// 0 for all ports, 1 for MAP-E (RFC 7597), 2 for a port range
    pub alg: u8,
    /// PSID offset in bits
    pub psid_offset: u8,
    /// PSID length in bits
    pub psid_length: u8,
    /// PSID
    pub psid: u16,
    /// first port
    pub start_port: u16,
    /// last port
    pub end_port: u16,
}

/// Set the TCP MSS clamp.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetMssClamping {
    /// in bytes
    pub mss_value: u16,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Get the TCP MSS clamp.
#[derive(Message)]
#[reply(Nat44EiGetMssClampingReply)]
#[option("deprecated")]
pub struct Nat44EiGetMssClamping {}

/// TCP MSS.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiGetMssClampingReply {
    /// in bytes
    pub mss_value: u16,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Set the frame queue size, while NAT is disabled.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiSetFqOptions {
    /// elements, a power of two
    pub frame_queue_nelts: u32,
}

/// Get the frame queue size.
#[derive(Message)]
#[reply(Nat44EiShowFqOptionsReply)]
#[option("in_progress")]
pub struct Nat44EiShowFqOptions {}

/// Frame queue size.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiShowFqOptionsReply {
    /// elements
    pub frame_queue_nelts: u32,
}

/// Add or delete addresses of the pool.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddDelAddressRange {
    /// first address
    pub first_ip_address: Ipv4Addr,
    /// last of the range
    pub last_ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List pool addresses.
#[derive(Message)]
#[details(Nat44EiAddressDetails)]
#[option("in_progress")]
pub struct Nat44EiAddressDump {}

/// A pool address.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
}

/// Set an interface as inside or outside, or remove it.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiInterfaceAddDelFeature {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List inside and outside interfaces.
#[derive(Message)]
#[details(Nat44EiInterfaceDetails)]
#[option("in_progress")]
pub struct Nat44EiInterfaceDump {}

/// An interface.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiInterfaceDetails {
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable NAT as an output feature of an interface.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddDelOutputFeature {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List interfaces with NAT as an output feature.
#[derive(Message)]
#[details(Nat44EiInterfaceOutputFeatureDetails)]
#[option("deprecated")]
pub struct Nat44EiInterfaceOutputFeatureDump {}

/// An interface with NAT as an output feature.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceOutputFeatureDetails {
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable NAT as an output feature of an interface.
#[derive(Message)]
pub struct Nat44EiAddDelOutputInterface {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List interfaces with NAT as an output feature.
#[derive(Message)]
#[stream(Nat44EiOutputInterfaceDetails, Nat44EiOutputInterfaceGetReply)]
pub struct Nat44EiOutputInterfaceGet {
    /// cursor
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct Nat44EiOutputInterfaceGetReply {
    /// cursor
    pub cursor: u32,
}

/// An interface with NAT as an output feature.
#[derive(Message)]
pub struct Nat44EiOutputInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Use an interface's addresses as the NAT pool, or stop.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiAddDelInterfaceAddr {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// identification
    pub flags: Nat44EiConfigFlags,
}

/// List interfaces whose addresses are used as the pool.
#[derive(Message)]
#[details(Nat44EiInterfaceAddrDetails)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddrDump {}

/// An interface whose addresses are used as the pool.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiInterfaceAddrDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable forwarding of packets without a translation.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiForwardingEnableDisable {
    /// true to enable, false to disable
    pub enable: bool,
}

/// Enable or disable IPFIX logging of sessions and limits.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiIpfixEnableDisable {
    /// observation domain
    pub domain_id: u32,
    /// source port of IPFIX messages
    pub src_port: u16,
    /// true to enable, false to disable
    pub enable: bool,
}
