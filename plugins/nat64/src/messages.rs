//! Messages of the module `nat64`.

use control::api::types::Ip6Prefix;
use net::prelude::*;
use translation::numbers::NatConfigFlags;

/// Enable or disable NAT64; disabling deletes its settings and sessions.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Nat64PluginEnableDisable {
    /// a tenth of the maximum bindings per thread; 0 for the default
    pub bib_buckets: u32,
    /// ignored
    pub bib_memory_size: u32,
    /// a tenth of the maximum sessions per thread; 0 for the default
    pub st_buckets: u32,
    /// ignored
    pub st_memory_size: u32,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Set session timeouts, in seconds.
#[derive(Message)]
pub struct Nat64SetTimeouts {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// Show session timeouts.
#[derive(Message)]
#[reply(Nat64GetTimeoutsReply)]
pub struct Nat64GetTimeouts {}

/// Session timeouts, in seconds.
#[derive(Message)]
pub struct Nat64GetTimeoutsReply {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// Add or delete pool addresses.
#[derive(Message)]
pub struct Nat64AddDelPoolAddrRange {
    /// first
    pub start_addr: Ipv4Addr,
    /// last
    pub end_addr: Ipv4Addr,
    /// table of the hosts that use them; 4294967295 for all
    pub vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List pool addresses.
#[derive(Message)]
#[details(Nat64PoolAddrDetails)]
pub struct Nat64PoolAddrDump {}

/// A pool address.
#[derive(Message)]
pub struct Nat64PoolAddrDetails {
    /// the address
    pub address: Ipv4Addr,
    /// table of the hosts that use it; 4294967295 for all
    pub vrf_id: u32,
}

/// Set an interface as inside or outside, or remove it.
#[derive(Message)]
pub struct Nat64AddDelInterface {
    /// true to add, false to delete
    pub is_add: bool,
    /// inside, or outside by default
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List inside and outside interfaces.
#[derive(Message)]
#[details(Nat64InterfaceDetails)]
pub struct Nat64InterfaceDump {}

/// An inside or outside interface.
#[derive(Message)]
pub struct Nat64InterfaceDetails {
    /// inside and outside flags
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a static binding.
#[derive(Message)]
pub struct Nat64AddDelStaticBib {
    /// inside address
    pub i_addr: Ipv6Addr,
    /// outside address
    pub o_addr: Ipv4Addr,
    /// inside port
    pub i_port: u16,
    /// outside port
    pub o_port: u16,
    /// table of the host
    pub vrf_id: u32,
    /// IP protocol number
    pub proto: u8,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List bindings.
#[derive(Message)]
#[details(Nat64BibDetails)]
pub struct Nat64BibDump {
    /// only this protocol; 255 for all
    pub proto: u8,
}

/// A binding of an inside address and port to an outside address and port.
#[derive(Message)]
pub struct Nat64BibDetails {
    /// inside address
    pub i_addr: Ipv6Addr,
    /// outside address
    pub o_addr: Ipv4Addr,
    /// inside port
    pub i_port: u16,
    /// outside port
    pub o_port: u16,
    /// table of the host
    pub vrf_id: u32,
    /// IP protocol number
    pub proto: u8,
    /// true if static
    pub flags: NatConfigFlags,
    /// sessions
    pub ses_num: u32,
}

/// List sessions.
#[derive(Message)]
#[details(Nat64StDetails)]
pub struct Nat64StDump {
    /// only this protocol; 255 for all
    pub proto: u8,
}

/// A session.
#[derive(Message)]
pub struct Nat64StDetails {
    /// inside address
    pub il_addr: Ipv6Addr,
    /// translated address of the external host
    pub ol_addr: Ipv4Addr,
    /// inside port
    pub il_port: u16,
    /// translated port of the external host
    pub ol_port: u16,
    /// translated external host, as the inside host sees it
    pub ir_addr: Ipv6Addr,
    /// external host
    pub or_addr: Ipv4Addr,
    /// remote port
    pub r_port: u16,
    /// table of the host
    pub vrf_id: u32,
    /// IP protocol number
    pub proto: u8,
}

/// Set or delete the NAT64 prefix of a table.
#[derive(Message)]
pub struct Nat64AddDelPrefix {
    /// prefix: length 32, 40, 48, 56, 64 or 96
    pub prefix: Ip6Prefix,
    /// table ID
    pub vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List NAT64 prefixes.
#[derive(Message)]
#[details(Nat64PrefixDetails)]
pub struct Nat64PrefixDump {}

/// A NAT64 prefix.
#[derive(Message)]
pub struct Nat64PrefixDetails {
    /// prefix
    pub prefix: Ip6Prefix,
    /// table ID
    pub vrf_id: u32,
}

/// Use an interface's address as the pool, or stop.
#[derive(Message)]
pub struct Nat64AddDelInterfaceAddr {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}
