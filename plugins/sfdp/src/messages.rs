//! Messages of the modules `sfdp`, `interface_input`, `tcp_check` and `nat`: their fields.

use control::api::Record;
use control::api::types::{Address, IpProto};
use net::prelude::*;

control::numbers! {
    /// One direction of a session.
    pub enum SfdpSessionDirection: u8 = "sfdp_session_direction" in "vnet/sfdp/sfdp_types.api" {
        FORWARD = 0 => "SFDP_API_FORWARD",
        REVERSE = 1 => "SFDP_API_REVERSE",
    }
    /// Session state.
    pub enum SfdpSessionState: u8 = "sfdp_session_state" in "vnet/sfdp/sfdp_types.api" {
        FSOL = 0 => "SFDP_API_SESSION_STATE_FSOL",
        ESTABLISHED = 1 => "SFDP_API_SESSION_STATE_ESTABLISHED",
        TIME_WAIT = 2 => "SFDP_API_SESSION_STATE_TIME_WAIT",
    }
    /// Slow-path node types.
    pub enum SfdpSpNode: u8 = "sfdp_sp_node" in "vnet/sfdp/sfdp_types.api" {
        IP4_REASS = 0 => "SFDP_API_SP_NODE_IP4_REASS",
        IP6_REASS = 1 => "SFDP_API_SP_NODE_IP6_REASS",
        IP4_UNKNOWN_PROTO = 2 => "SFDP_API_SP_NODE_IP4_UNKNOWN_PROTO",
        IP6_UNKNOWN_PROTO = 3 => "SFDP_API_SP_NODE_IP6_UNKNOWN_PROTO",
        IP4_ICMP4_ERROR = 4 => "SFDP_API_SP_NODE_IP4_ICMP4_ERROR",
        IP6_ICMP6_ERROR = 5 => "SFDP_API_SP_NODE_IP6_ICMP6_ERROR",
    }
    /// Session type.
    pub enum SfdpSessionType: u8 = "sfdp_session_type" in "vnet/sfdp/sfdp_types.api" {
        IP4 = 0 => "SFDP_API_SESSION_TYPE_IP4",
        IP6 = 1 => "SFDP_API_SESSION_TYPE_IP6",
        USER = 2 => "SFDP_API_SESSION_TYPE_USER",
    }
}

/// Service name.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("vnet/sfdp/sfdp_types.api")]
pub struct SfdpServiceName {
    /// node
    pub data: Text<32>,
}

/// Lookup key of a session.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/sfdp/sfdp_types.api")]
pub struct SfdpSessionKey {
    /// context
    pub context_id: u32,
    /// initiator
    pub init_addr: Address,
    /// port
    pub init_port: u16,
    /// responder
    pub resp_addr: Address,
    /// port
    pub resp_port: u16,
}

/// Add or delete a tenant.
#[derive(Message)]
pub struct SfdpTenantAddDel {
    /// ID
    pub tenant_id: u32,
    /// context; 4294967295 for the tenant ID
    #[preset(4294967295)]
    pub context_id: u32,
    /// true to delete, false to add
    pub is_del: bool,
}

/// Set the services of a tenant's new sessions.
#[derive(Message)]
pub struct SfdpSetServices {
    /// tenant
    pub tenant_id: u32,
    /// direction
    pub dir: SfdpSessionDirection,
    /// services
    #[counted(n_services: u8)]
    pub services: Vec<SfdpServiceName>,
}

/// List the sessions.
#[derive(Message)]
#[details(SfdpSessionDetails)]
pub struct SfdpSessionDump {}

/// A session.
#[derive(Message)]
pub struct SfdpSessionDetails {
    /// ID
    pub session_id: u64,
    /// thread index
    pub thread_index: u32,
    /// tenant
    pub tenant_id: u32,
    /// session index
    pub session_idx: u32,
    /// kind
    pub session_type: SfdpSessionType,
    /// protocol
    pub protocol: IpProto,
    /// state
    pub state: SfdpSessionState,
    /// seconds until expiry
    pub remaining_time: f64,
    /// services in the forward direction, as bits
    pub forward_bitmap: u64,
    /// services in the reverse direction, as bits
    pub reverse_bitmap: u64,
    /// lookup keys
    #[counted(n_keys: u8)]
    pub keys: Vec<SfdpSessionKey>,
}

/// Delete a session, or all.
#[derive(Message)]
pub struct SfdpKillSession {
    /// index
    pub session_index: u32,
    /// true to delete all
    pub is_all: bool,
}

/// List tenants.
#[derive(Message)]
#[details(SfdpTenantDetails)]
pub struct SfdpTenantDump {}

/// A tenant.
#[derive(Message)]
pub struct SfdpTenantDetails {
    /// index
    pub index: u32,
    /// context
    pub context_id: u32,
    /// services in the forward direction, as bits
    pub forward_bitmap: u64,
    /// services in the reverse direction, as bits
    pub reverse_bitmap: u64,
    /// timeouts in seconds, by index
    #[counted(n_timeout: u32)]
    pub timeout: Vec<u32>,
}

/// List timeouts.
#[derive(Message)]
#[details(SfdpTimeoutDetails)]
pub struct SfdpTimeoutDump {
    /// of this tenant; 4294967295 for the defaults
    #[preset(4294967295)]
    pub tenant_id: u32,
}

/// A timeout.
#[derive(Message)]
pub struct SfdpTimeoutDetails {
    /// index
    pub index: u32,
    /// name
    pub name: Text<32>,
    /// seconds
    pub timeout_value: u32,
}

/// Set a timeout of a tenant.
#[derive(Message)]
pub struct SfdpSetTimeout {
    /// tenant
    pub tenant_id: u32,
    /// seconds
    pub timeout_value: u32,
    /// timeout index
    pub timeout_id: u32,
}

/// Set the slow-path node of a tenant.
#[derive(Message)]
pub struct SfdpSetSpNode {
    /// tenant
    pub tenant_id: u32,
    /// type of packets
    pub sp_node: SfdpSpNode,
    /// node
    pub node_index: u32,
}

/// Set the ICMP error node of a tenant.
#[derive(Message)]
pub struct SfdpSetIcmpErrorNode {
    /// tenant
    pub tenant_id: u32,
    /// true for IPv6, false for IPv4
    pub is_ip6: bool,
    /// node
    pub node_index: u32,
}

/// List services.
#[derive(Message)]
#[details(SfdpServiceDetails)]
pub struct SfdpServiceDump {}

/// A service.
#[derive(Message)]
pub struct SfdpServiceDetails {
    /// node
    pub node_name: Text<32>,
    /// scope
    pub scope: Text<32>,
    /// true if it ends service chains
    pub is_terminal: bool,
    /// bit
    pub index: u8,
}

/// Assign an interface's packets to a tenant, or stop.
#[derive(Message)]
pub struct SfdpInterfaceInputSet {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// tenant
    pub tenant_id: u32,
    /// true for IPv6, false for IPv4
    #[preset(0)]
    pub is_ip6: u8,
    /// true to enable, false to disable
    pub is_disable: u8,
}

control::numbers! {
    /// Connection flags.
    pub flags SfdpTcpCheckSessionFlags: u32 = "sfdp_tcp_check_session_flags" in "" {
        WAIT_FOR_RESP_SYN = 1 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_RESP_SYN",
        WAIT_FOR_INIT_ACK_TO_SYN = 2 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_INIT_ACK_TO_SYN",
        WAIT_FOR_RESP_ACK_TO_SYN = 4 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_RESP_ACK_TO_SYN",
        SEEN_FIN_INIT = 8 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_FIN_INIT",
        SEEN_FIN_RESP = 16 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_FIN_RESP",
        SEEN_ACK_TO_FIN_INIT = 32 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_ACK_TO_FIN_INIT",
        SEEN_ACK_TO_FIN_RESP = 64 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_ACK_TO_FIN_RESP",
        ESTABLISHED = 128 => "SFDP_API_TCP_CHECK_SESSION_FLAG_ESTABLISHED",
        REMOVING = 256 => "SFDP_API_TCP_CHECK_SESSION_FLAG_REMOVING",
        BLOCKED = 512 => "SFDP_API_TCP_CHECK_SESSION_FLAG_BLOCKED",
    }
}

/// List sessions with TCP state checks.
#[derive(Message)]
#[details(SfdpTcpSessionDetails)]
pub struct SfdpTcpSessionDump {}

/// A TCP session.
#[derive(Message)]
pub struct SfdpTcpSessionDetails {
    /// ID
    pub session_id: u64,
    /// thread index
    pub thread_index: u32,
    /// tenant
    pub tenant_id: u32,
    /// session index
    pub session_idx: u32,
    /// kind
    pub session_type: SfdpSessionType,
    /// traffic
    pub flags: SfdpTcpCheckSessionFlags,
    /// lookup keys
    #[counted(n_keys: u8)]
    pub keys: Vec<SfdpSessionKey>,
}

/// Enable or disable reception of replies to translated sessions on an interface.
#[derive(Message)]
pub struct SfdpNatSetExternalInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// tenant whose context they are looked up in
    pub tenant_id: u32,
    /// true to enable, false to disable
    pub is_disable: u8,
}

/// Add or delete an address pool.
#[derive(Message)]
pub struct SfdpNatAllocPoolAddDel {
    /// index
    pub alloc_pool_id: u32,
    /// true to delete, false to add
    pub is_del: u8,
    /// addresses
    #[counted(n_addr: u32)]
    pub addr: Vec<Ipv4Addr>,
}

/// Enable or disable source NAT of a tenant.
#[derive(Message)]
pub struct SfdpNatSnatSetUnset {
    /// tenant
    pub tenant_id: u32,
    /// tenant whose context replies are looked up in
    pub outside_tenant_id: u32,
    /// table to route translated packets in
    pub table_id: u32,
    /// pool
    pub alloc_pool_id: u32,
    /// true to enable, false to disable
    pub is_disable: u8,
}
