//! Messages of the module `nat44_ei` about mappings and sessions.

use net::prelude::*;
use translation::messages::{IdentityFields, SessionHost, SessionTraffic, StaticFields, User};

use crate::messages::Nat44EiConfigFlags;

/// Delete all sessions of a host.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiDelUser {
    /// the address
    pub ip_address: Ipv4Addr,
    /// table index
    pub fib_index: u32,
}

/// Add or delete a static mapping.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiAddDelStaticMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// List static mappings.
#[derive(Message)]
#[details(Nat44EiStaticMappingDetails)]
#[option("in_progress")]
pub struct Nat44EiStaticMappingDump {}

/// A mapping.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiStaticMappingDetails {
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Add or delete an identity mapping: an address exempt from translation.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiAddDelIdentityMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List identity mappings.
#[derive(Message)]
#[details(Nat44EiIdentityMappingDetails)]
#[option("deprecated")]
pub struct Nat44EiIdentityMappingDump {}

/// An address.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiIdentityMappingDetails {
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List inside hosts with sessions.
#[derive(Message)]
#[details(Nat44EiUserDetails)]
#[option("in_progress")]
pub struct Nat44EiUserDump {}

/// An inside host.
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
    /// table ID
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiUserSessionDetails {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// time of the last packet, in seconds
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
    /// table ID
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiUserSessionV2Details {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// time of the last packet, in seconds
    pub last_heard: u64,
    /// seconds since the last packet
    pub time_since_last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
}

/// Delete a session.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiDelSession {
    /// the address
    pub address: Ipv4Addr,
    /// IP protocol number
    pub protocol: u8,
    /// port
    pub port: u16,
    /// table ID
    pub vrf_id: u32,
    /// identification
    pub flags: Nat44EiConfigFlags,
    /// ignored
    pub ext_host_address: Ipv4Addr,
    /// ignored
    pub ext_host_port: u16,
}
