//! Messages of the module `nat44_ed` about mappings and sessions.

use std::net::Ipv4Addr;

use control::api::{Fields, Message, Text};
use translation::messages::{IdentityFields, SessionHost, SessionTraffic, StaticFields, User};
use translation::numbers::NatConfigFlags;

use crate::messages::Nat44LbAddrPort;

/// Add a mapping that stays, or take it away.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44AddDelStaticMapping {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Add a mapping that stays, or take it away.
#[derive(Message)]
pub struct Nat44AddDelStaticMappingV2 {
    /// added, else taken away
    pub is_add: bool,
    /// whether far ends get a certain address
    pub match_pool: bool,
    /// what it is
    pub flags: NatConfigFlags,
    /// that address
    pub pool_ip_address: Ipv4Addr,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// List the mappings that stay.
#[derive(Message)]
#[details(Nat44StaticMappingDetails)]
pub struct Nat44StaticMappingDump {}

/// A mapping.
#[derive(Message)]
pub struct Nat44StaticMappingDetails {
    /// what it is
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: StaticFields,
}

/// Have an address stay as it is, or no longer.
#[derive(Message)]
pub struct Nat44AddDelIdentityMapping {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// List the addresses that stay as they are.
#[derive(Message)]
#[details(Nat44IdentityMappingDetails)]
pub struct Nat44IdentityMappingDump {}

/// An address.
#[derive(Message)]
pub struct Nat44IdentityMappingDetails {
    /// what it is
    pub flags: NatConfigFlags,
    /// the mapping
    #[flatten]
    pub mapping: IdentityFields,
}

/// Add a mapping to several hosts, or take it away.
#[derive(Message)]
pub struct Nat44AddDelLbStaticMapping {
    /// added, else taken away
    pub is_add: bool,
    /// what it is
    pub flags: NatConfigFlags,
    /// the address outside
    pub external_addr: Ipv4Addr,
    /// its port outside
    pub external_port: u16,
    /// the protocol, by number
    pub protocol: u8,
    /// seconds for which a client stays with its host; 0 for not
    pub affinity: u32,
    /// what the operator calls it
    pub tag: Text<64>,
    /// the hosts
    #[counted(local_num: u32)]
    pub locals: Vec<Nat44LbAddrPort>,
}

/// Add a host to a mapping, or take it away.
#[derive(Message)]
pub struct Nat44LbStaticMappingAddDelLocal {
    /// added, else taken away
    pub is_add: bool,
    /// the address outside
    pub external_addr: Ipv4Addr,
    /// its port outside
    pub external_port: u16,
    /// the protocol, by number
    pub protocol: u8,
    /// the host
    pub local: Nat44LbAddrPort,
}

/// List the mappings to several hosts.
#[derive(Message)]
#[details(Nat44LbStaticMappingDetails)]
pub struct Nat44LbStaticMappingDump {}

/// A mapping.
#[derive(Message)]
pub struct Nat44LbStaticMappingDetails {
    /// the address outside
    pub external_addr: Ipv4Addr,
    /// its port outside
    pub external_port: u16,
    /// the protocol, by number
    pub protocol: u8,
    /// what it is
    pub flags: NatConfigFlags,
    /// seconds for which a client stays with its host; 0 for not
    pub affinity: u32,
    /// what the operator calls it
    pub tag: Text<64>,
    /// the hosts
    #[counted(local_num: u32)]
    pub locals: Vec<Nat44LbAddrPort>,
}

/// End a session.
#[derive(Message)]
pub struct Nat44DelSession {
    /// the address
    pub address: Ipv4Addr,
    /// the protocol, by number
    pub protocol: u8,
    /// the port
    pub port: u16,
    /// the table
    pub vrf_id: u32,
    /// what it is
    pub flags: NatConfigFlags,
    /// the far end
    pub ext_host_address: Ipv4Addr,
    /// its port
    pub ext_host_port: u16,
}

/// List the hosts that have sessions.
#[derive(Message)]
#[details(Nat44UserDetails)]
pub struct Nat44UserDump {}

/// A host.
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
    /// what it is
    pub flags: NatConfigFlags,
    /// when a packet passed last, in seconds
    pub last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
    /// the far end as the host sees it
    pub ext_host_nat_address: Ipv4Addr,
    /// its port as the host sees it
    pub ext_host_nat_port: u16,
}

/// List the sessions of a host.
#[derive(Message)]
#[option("deprecated")]
#[details(Nat44UserSessionDetails)]
pub struct Nat44UserSessionDump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44UserSessionDetails {
    /// the session
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
    /// the table
    pub vrf_id: u32,
}

/// A session.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44UserSessionV2Details {
    /// the session
    #[flatten]
    pub session: SessionFields,
    /// whether it is over
    pub is_timed_out: bool,
}

/// A session.
#[derive(Message)]
pub struct Nat44UserSessionV3Details {
    /// its host
    #[flatten]
    pub host: SessionHost,
    /// what it is
    pub flags: NatConfigFlags,
    /// when a packet passed last, in seconds
    pub last_heard: u64,
    /// seconds since a packet passed
    pub time_since_last_heard: u64,
    /// its packets and far end
    #[flatten]
    pub traffic: SessionTraffic,
    /// the far end as the host sees it
    pub ext_host_nat_address: Ipv4Addr,
    /// its port as the host sees it
    pub ext_host_nat_port: u16,
    /// whether it is over
    pub is_timed_out: bool,
}

/// List the sessions of a host.
#[derive(Message)]
#[details(Nat44UserSessionV3Details)]
pub struct Nat44UserSessionV3Dump {
    /// the address
    pub ip_address: Ipv4Addr,
    /// the table
    pub vrf_id: u32,
}
