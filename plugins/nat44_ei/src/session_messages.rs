//! Messages of the module `nat44_ei` about mappings and sessions.

use std::net::Ipv4Addr;

use control::api::Message;
use translation::messages::{IdentityFields, SessionHost, SessionTraffic, StaticFields, User};

use crate::messages::Nat44EiConfigFlags;

/// End all sessions of a host.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiDelUser {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the index of its table
    pub fib_index: u32,
}

/// Add a mapping that stays, or take it away.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddDelStaticMapping {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// List the mappings that stay.
#[derive(Message)]
#[details(Nat44EiStaticMappingDetails)]
#[option("in_progress")]
pub struct Nat44EiStaticMappingDump {}

/// A mapping.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiStaticMappingDetails {
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Have an address stay as it is, or no longer.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiAddDelIdentityMapping {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List the addresses that stay as they are.
#[derive(Message)]
#[details(Nat44EiIdentityMappingDetails)]
#[option("deprecated")]
pub struct Nat44EiIdentityMappingDump {}

/// An address.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiIdentityMappingDetails {
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List the hosts that have sessions.
#[derive(Message)]
#[details(Nat44EiUserDetails)]
#[option("in_progress")]
pub struct Nat44EiUserDump {}

/// A host.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiUserDetails {
    /// the host
    #[flatten]
    pub user: User,
}

/// List the sessions of a host.
#[derive(Message)]
#[details(Nat44EiUserSessionDetails)]
#[option("in_progress")]
pub struct Nat44EiUserSessionDump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiUserSessionDetails {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// when a packet passed last, in seconds
    pub last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
}

/// List the sessions of a host.
#[derive(Message)]
#[details(Nat44EiUserSessionV2Details)]
#[option("in_progress")]
pub struct Nat44EiUserSessionV2Dump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiUserSessionV2Details {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// when a packet passed last, in seconds
    pub last_heard: u64,
    /// seconds since a packet passed
    pub time_since_last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
}

/// End a session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiDelSession {
    /// the address
    pub address: Ipv4Addr,
    /// the protocol, by number
    pub protocol: u8,
    /// the port
    pub port: u16,
    /// the table
    pub vrf_id: u32,
    /// what it is
    pub flags: Nat44EiConfigFlags,
    /// not used
    pub ext_host_address: Ipv4Addr,
    /// not used
    pub ext_host_port: u16,
}
