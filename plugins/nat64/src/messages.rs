//! Messages of the module `nat64`.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::Message;
use control::api::types::Ip6Prefix;
use net::InterfaceIndex;
use translation::numbers::NatConfigFlags;

/// Enable NAT64, or disable it: all settings and sessions go then.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Nat64PluginEnableDisable {
    /// a tenth of the bindings of a thread at most; 0 for the usual number
    pub bib_buckets: u32,
    /// not used
    pub bib_memory_size: u32,
    /// a tenth of the sessions of a thread at most; 0 for the usual number
    pub st_buckets: u32,
    /// not used
    pub st_memory_size: u32,
    /// on, else off
    pub enable: bool,
}

/// Set timeouts of sessions, in seconds.
#[derive(Message)]
pub struct Nat64SetTimeouts {
    /// of UDP
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
    pub icmp: u32,
}

/// Show timeouts of sessions.
#[derive(Message)]
#[reply(Nat64GetTimeoutsReply)]
pub struct Nat64GetTimeouts {}

/// Timeouts of sessions, in seconds.
#[derive(Message)]
pub struct Nat64GetTimeoutsReply {
    /// of UDP
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
    pub icmp: u32,
}

/// Add addresses that hosts get, or take them out.
#[derive(Message)]
pub struct Nat64AddDelPoolAddrRange {
    /// the first
    pub start_addr: Ipv4Addr,
    /// the last
    pub end_addr: Ipv4Addr,
    /// the table of hosts that they are for; 4294967295 for all
    pub vrf_id: u32,
    /// or taken out
    pub is_add: bool,
}

/// List the addresses that hosts get.
#[derive(Message)]
#[details(Nat64PoolAddrDetails)]
pub struct Nat64PoolAddrDump {}

/// An address that hosts get.
#[derive(Message)]
pub struct Nat64PoolAddrDetails {
    /// the address
    pub address: Ipv4Addr,
    /// the table of hosts that it is for; 4294967295 for all
    pub vrf_id: u32,
}

/// Say on which side an interface is, or no longer.
#[derive(Message)]
pub struct Nat64AddDelInterface {
    /// or no longer
    pub is_add: bool,
    /// the side: inside, otherwise outside
    pub flags: NatConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that have a side.
#[derive(Message)]
#[details(Nat64InterfaceDetails)]
pub struct Nat64InterfaceDump {}

/// An interface that has a side.
#[derive(Message)]
pub struct Nat64InterfaceDetails {
    /// the sides
    pub flags: NatConfigFlags,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Give an end of a host an end outside that stays, or no longer.
#[derive(Message)]
pub struct Nat64AddDelStaticBib {
    /// address of the host
    pub i_addr: Ipv6Addr,
    /// address outside
    pub o_addr: Ipv4Addr,
    /// port of the host
    pub i_port: u16,
    /// port outside
    pub o_port: u16,
    /// the host's table
    pub vrf_id: u32,
    /// the protocol, by number
    pub proto: u8,
    /// or no longer
    pub is_add: bool,
}

/// List ends of hosts with those outside.
#[derive(Message)]
#[details(Nat64BibDetails)]
pub struct Nat64BibDump {
    /// of this protocol; 255 for all
    pub proto: u8,
}

/// An end of a host and that outside.
#[derive(Message)]
pub struct Nat64BibDetails {
    /// address of the host
    pub i_addr: Ipv6Addr,
    /// address outside
    pub o_addr: Ipv4Addr,
    /// port of the host
    pub i_port: u16,
    /// port outside
    pub o_port: u16,
    /// the host's table
    pub vrf_id: u32,
    /// the protocol, by number
    pub proto: u8,
    /// whether it stays
    pub flags: NatConfigFlags,
    /// sessions
    pub ses_num: u32,
}

/// List sessions.
#[derive(Message)]
#[details(Nat64StDetails)]
pub struct Nat64StDump {
    /// of this protocol; 255 for all
    pub proto: u8,
}

/// A session.
#[derive(Message)]
pub struct Nat64StDetails {
    /// address of the host
    pub il_addr: Ipv6Addr,
    /// address of the host outside
    pub ol_addr: Ipv4Addr,
    /// port of the host
    pub il_port: u16,
    /// port of the host outside
    pub ol_port: u16,
    /// the far end as the host sees it
    pub ir_addr: Ipv6Addr,
    /// the far end
    pub or_addr: Ipv4Addr,
    /// port of the far end
    pub r_port: u16,
    /// the host's table
    pub vrf_id: u32,
    /// the protocol, by number
    pub proto: u8,
}

/// Set the prefix that stands for IPv4 in a table, or take it away.
#[derive(Message)]
pub struct Nat64AddDelPrefix {
    /// the prefix: of 32, 40, 48, 56, 64 or 96 bits
    pub prefix: Ip6Prefix,
    /// the table
    pub vrf_id: u32,
    /// or taken away
    pub is_add: bool,
}

/// List the prefixes that stand for IPv4.
#[derive(Message)]
#[details(Nat64PrefixDetails)]
pub struct Nat64PrefixDump {}

/// A prefix that stands for IPv4.
#[derive(Message)]
pub struct Nat64PrefixDetails {
    /// the prefix
    pub prefix: Ip6Prefix,
    /// the table
    pub vrf_id: u32,
}

/// Have hosts get the address of an interface, or no longer.
#[derive(Message)]
pub struct Nat64AddDelInterfaceAddr {
    /// or no longer
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}
