//! Messages of the modules `sfdp`, `interface_input`, `tcp_check` and `nat`: their fields.

use std::net::Ipv4Addr;

use control::api::types::{Address, IpProto};
use control::api::{Message, Record, Text};
use net::InterfaceIndex;

control::numbers! {
    /// A direction of a session.
    pub enum SfdpSessionDirection: u8 = "sfdp_session_direction" in "vnet/sfdp/sfdp_types.api" {
        FORWARD = 0 => "SFDP_API_FORWARD",
        REVERSE = 1 => "SFDP_API_REVERSE",
    }
    /// The state of a session.
    pub enum SfdpSessionState: u8 = "sfdp_session_state" in "vnet/sfdp/sfdp_types.api" {
        FSOL = 0 => "SFDP_API_SESSION_STATE_FSOL",
        ESTABLISHED = 1 => "SFDP_API_SESSION_STATE_ESTABLISHED",
        TIME_WAIT = 2 => "SFDP_API_SESSION_STATE_TIME_WAIT",
    }
    /// Packets that go to a node instead of services.
    pub enum SfdpSpNode: u8 = "sfdp_sp_node" in "vnet/sfdp/sfdp_types.api" {
        IP4_REASS = 0 => "SFDP_API_SP_NODE_IP4_REASS",
        IP6_REASS = 1 => "SFDP_API_SP_NODE_IP6_REASS",
        IP4_UNKNOWN_PROTO = 2 => "SFDP_API_SP_NODE_IP4_UNKNOWN_PROTO",
        IP6_UNKNOWN_PROTO = 3 => "SFDP_API_SP_NODE_IP6_UNKNOWN_PROTO",
        IP4_ICMP4_ERROR = 4 => "SFDP_API_SP_NODE_IP4_ICMP4_ERROR",
        IP6_ICMP6_ERROR = 5 => "SFDP_API_SP_NODE_IP6_ICMP6_ERROR",
    }
    /// The kind of a session.
    pub enum SfdpSessionType: u8 = "sfdp_session_type" in "vnet/sfdp/sfdp_types.api" {
        IP4 = 0 => "SFDP_API_SESSION_TYPE_IP4",
        IP6 = 1 => "SFDP_API_SESSION_TYPE_IP6",
        USER = 2 => "SFDP_API_SESSION_TYPE_USER",
    }
}

/// The name of a service.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("vnet/sfdp/sfdp_types.api")]
pub struct SfdpServiceName {
    /// its node
    pub data: Text<32>,
}

/// What packets of a session are found by.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/sfdp/sfdp_types.api")]
pub struct SfdpSessionKey {
    /// the context
    pub context_id: u32,
    /// the initiator
    pub init_addr: Address,
    /// its port
    pub init_port: u16,
    /// the responder
    pub resp_addr: Address,
    /// its port
    pub resp_port: u16,
}

/// Add a tenant, or delete it.
#[derive(Message)]
pub struct SfdpTenantAddDel {
    /// its id
    pub tenant_id: u32,
    /// its context; 4294967295 for that of the same number
    #[preset(4294967295)]
    pub context_id: u32,
    /// deleted, else added
    pub is_del: bool,
}

/// Set the services of new sessions of a tenant.
#[derive(Message)]
pub struct SfdpSetServices {
    /// the tenant
    pub tenant_id: u32,
    /// the direction
    pub dir: SfdpSessionDirection,
    /// the services
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
    /// its id
    pub session_id: u64,
    /// its thread
    pub thread_index: u32,
    /// its tenant
    pub tenant_id: u32,
    /// its number among those there are
    pub session_idx: u32,
    /// its kind
    pub session_type: SfdpSessionType,
    /// the protocol
    pub protocol: IpProto,
    /// its state
    pub state: SfdpSessionState,
    /// seconds until it is over
    pub remaining_time: f64,
    /// services of packets of the initiator, by bit
    pub forward_bitmap: u64,
    /// services of answers, by bit
    pub reverse_bitmap: u64,
    /// what its packets are found by
    #[counted(n_keys: u8)]
    pub keys: Vec<SfdpSessionKey>,
}

/// End a session, or all.
#[derive(Message)]
pub struct SfdpKillSession {
    /// its number
    pub session_index: u32,
    /// whether all end
    pub is_all: bool,
}

/// List the tenants.
#[derive(Message)]
#[details(SfdpTenantDetails)]
pub struct SfdpTenantDump {}

/// A tenant.
#[derive(Message)]
pub struct SfdpTenantDetails {
    /// its number
    pub index: u32,
    /// its context
    pub context_id: u32,
    /// services of packets of the initiator, by bit
    pub forward_bitmap: u64,
    /// services of answers, by bit
    pub reverse_bitmap: u64,
    /// timeouts in seconds, by number
    #[counted(n_timeout: u32)]
    pub timeout: Vec<u32>,
}

/// List the timeouts.
#[derive(Message)]
#[details(SfdpTimeoutDetails)]
pub struct SfdpTimeoutDump {
    /// those of a tenant; 4294967295 for those that tenants begin with
    #[preset(4294967295)]
    pub tenant_id: u32,
}

/// A timeout.
#[derive(Message)]
pub struct SfdpTimeoutDetails {
    /// its number
    pub index: u32,
    /// its name
    pub name: Text<32>,
    /// seconds
    pub timeout_value: u32,
}

/// Set a timeout of a tenant.
#[derive(Message)]
pub struct SfdpSetTimeout {
    /// the tenant
    pub tenant_id: u32,
    /// seconds
    pub timeout_value: u32,
    /// the number of the timeout
    pub timeout_id: u32,
}

/// Have packets of a tenant go to a node instead of services.
#[derive(Message)]
pub struct SfdpSetSpNode {
    /// the tenant
    pub tenant_id: u32,
    /// which packets
    pub sp_node: SfdpSpNode,
    /// the node
    pub node_index: u32,
}

/// Have ICMP errors of a tenant go to a node.
#[derive(Message)]
pub struct SfdpSetIcmpErrorNode {
    /// the tenant
    pub tenant_id: u32,
    /// of IPv6, else of IPv4
    pub is_ip6: bool,
    /// the node
    pub node_index: u32,
}

/// List the services.
#[derive(Message)]
#[details(SfdpServiceDetails)]
pub struct SfdpServiceDump {}

/// A service.
#[derive(Message)]
pub struct SfdpServiceDetails {
    /// its node
    pub node_name: Text<32>,
    /// the services that it is one of
    pub scope: Text<32>,
    /// whether chains end with it
    pub is_terminal: bool,
    /// its bit
    pub index: u8,
}

/// Have packets of an interface be those of a tenant, or no longer.
#[derive(Message)]
pub struct SfdpInterfaceInputSet {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the tenant
    pub tenant_id: u32,
    /// packets of IPv6, else of IPv4
    #[preset(0)]
    pub is_ip6: u8,
    /// or no longer
    pub is_disable: u8,
}

control::numbers! {
    /// What has passed of a connection.
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

/// List the sessions whose handshakes are checked.
#[derive(Message)]
#[details(SfdpTcpSessionDetails)]
pub struct SfdpTcpSessionDump {}

/// A session of TCP.
#[derive(Message)]
pub struct SfdpTcpSessionDetails {
    /// its id
    pub session_id: u64,
    /// its thread
    pub thread_index: u32,
    /// its tenant
    pub tenant_id: u32,
    /// its number among those there are
    pub session_idx: u32,
    /// its kind
    pub session_type: SfdpSessionType,
    /// what has passed
    pub flags: SfdpTcpCheckSessionFlags,
    /// what its packets are found by
    #[counted(n_keys: u8)]
    pub keys: Vec<SfdpSessionKey>,
}

/// Have an interface receive answers to translated sessions, or no longer.
#[derive(Message)]
pub struct SfdpNatSetExternalInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the tenant in whose context they are looked up
    pub tenant_id: u32,
    /// or no longer
    pub is_disable: u8,
}

/// Add a pool of addresses, or take it away.
#[derive(Message)]
pub struct SfdpNatAllocPoolAddDel {
    /// its number
    pub alloc_pool_id: u32,
    /// taken away, else added
    pub is_del: u8,
    /// the addresses
    #[counted(n_addr: u32)]
    pub addr: Vec<Ipv4Addr>,
}

/// Translate sources of a tenant, or no longer.
#[derive(Message)]
pub struct SfdpNatSnatSetUnset {
    /// the tenant
    pub tenant_id: u32,
    /// the tenant in whose context answers are looked up
    pub outside_tenant_id: u32,
    /// the table that translated packets go on in
    pub table_id: u32,
    /// the pool
    pub alloc_pool_id: u32,
    /// or no longer
    pub is_disable: u8,
}
