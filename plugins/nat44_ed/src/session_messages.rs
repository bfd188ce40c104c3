//! Messages of the module `nat44_ed` about mappings and sessions.

use std::net::Ipv4Addr;

use control::api::{Fields, Message, Text};
use translation::messages::{IdentityFields, SessionHost, SessionTraffic, StaticFields, User};
use translation::numbers::NatConfigFlags;

use crate::messages::Nat44LbAddrPort;

/// Add or delete a static mapping.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44AddDelStaticMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Add or delete a static mapping.
#[derive(Message)]
pub struct Nat44AddDelStaticMappingV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// true to use a given pool address for external hosts
    pub match_pool: bool,
    /// identification
    pub flags: NatConfigFlags,
    /// pool address for external hosts
    pub pool_ip_address: Ipv4Addr,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// List static mappings.
#[derive(Message)]
#[details(Nat44StaticMappingDetails)]
pub struct Nat44StaticMappingDump {}

/// A mapping.
#[derive(Message)]
pub struct Nat44StaticMappingDetails {
    /// identification
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Add or delete an identity mapping: an address exempt from translation.
#[derive(Message)]
pub struct Nat44AddDelIdentityMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List identity mappings.
#[derive(Message)]
#[details(Nat44IdentityMappingDetails)]
pub struct Nat44IdentityMappingDump {}

/// An address.
#[derive(Message)]
pub struct Nat44IdentityMappingDetails {
    /// identification
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// Add or delete a load-balanced static mapping.
#[derive(Message)]
pub struct Nat44AddDelLbStaticMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// identification
    pub flags: NatConfigFlags,
    /// outside address
    pub external_addr: Ipv4Addr,
    /// outside port
    pub external_port: u16,
    /// IP protocol number
    pub protocol: u8,
    /// client affinity timeout in seconds; 0 for no affinity
    pub affinity: u32,
    /// tag
    pub tag: Text<64>,
    /// inside hosts
    #[counted(local_num: u32)]
    pub locals: Vec<Nat44LbAddrPort>,
}

/// Add or delete a server of a load-balanced mapping.
#[derive(Message)]
pub struct Nat44LbStaticMappingAddDelLocal {
    /// true to add, false to delete
    pub is_add: bool,
    /// outside address
    pub external_addr: Ipv4Addr,
    /// outside port
    pub external_port: u16,
    /// IP protocol number
    pub protocol: u8,
    /// the host
    pub local: Nat44LbAddrPort,
}

/// List load-balanced mappings.
#[derive(Message)]
#[details(Nat44LbStaticMappingDetails)]
pub struct Nat44LbStaticMappingDump {}

/// A mapping.
#[derive(Message)]
pub struct Nat44LbStaticMappingDetails {
    /// outside address
    pub external_addr: Ipv4Addr,
    /// outside port
    pub external_port: u16,
    /// IP protocol number
    pub protocol: u8,
    /// identification
    pub flags: NatConfigFlags,
    /// client affinity timeout in seconds; 0 for no affinity
    pub affinity: u32,
    /// tag
    pub tag: Text<64>,
    /// inside hosts
    #[counted(local_num: u32)]
    pub locals: Vec<Nat44LbAddrPort>,
}

/// Delete a session.
#[derive(Message)]
pub struct Nat44DelSession {
    /// the address
    pub address: Ipv4Addr,
    /// IP protocol number
    pub protocol: u8,
    /// port
    pub port: u16,
    /// table ID
    pub vrf_id: u32,
    /// identification
    pub flags: NatConfigFlags,
    /// external host
    pub ext_host_address: Ipv4Addr,
    /// port
    pub ext_host_port: u16,
}

/// List inside hosts with sessions.
#[derive(Message)]
#[details(Nat44UserDetails)]
pub struct Nat44UserDump {}

/// An inside host.
#[derive(Message)]
pub struct Nat44UserDetails {
    /// the host
    #[flatten]
    pub user: User,
}

/// A session, in earlier forms.
#[derive(Fields)]
pub struct SessionFields {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// identification
    pub flags: NatConfigFlags,
    /// time of the last packet, in seconds
    pub last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
    /// translated external host, as the inside host sees it
    pub ext_host_nat_address: Ipv4Addr,
    /// translated port of the external host
    pub ext_host_nat_port: u16,
}

/// List the sessions of a host.
#[derive(Message)]
#[option("deprecated")]
#[details(Nat44UserSessionDetails)]
pub struct Nat44UserSessionDump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44UserSessionDetails {
    /// session
    #[flatten]
    pub session: SessionFields,
}

/// List the sessions of a host.
#[derive(Message)]
#[option("deprecated")]
#[details(Nat44UserSessionV2Details)]
pub struct Nat44UserSessionV2Dump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44UserSessionV2Details {
    /// session
    #[flatten]
    pub session: SessionFields,
    /// true if timed out
    pub is_timed_out: bool,
}

/// A session.
#[derive(Message)]
pub struct Nat44UserSessionV3Details {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// identification
    pub flags: NatConfigFlags,
    /// time of the last packet, in seconds
    pub last_heard: u64,
    /// seconds since the last packet
    pub time_since_last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
    /// translated external host, as the inside host sees it
    pub ext_host_nat_address: Ipv4Addr,
    /// translated port of the external host
    pub ext_host_nat_port: u16,
    /// true if timed out
    pub is_timed_out: bool,
}

/// List the sessions of a host.
#[derive(Message)]
#[details(Nat44UserSessionV3Details)]
pub struct Nat44UserSessionV3Dump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// table ID
    pub vrf_id: u32,
}
