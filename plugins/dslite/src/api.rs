//! Messages of the module `dslite`.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::{Api, Message};
use net::Router;

use crate::state::{self, DsLite};

/// Add addresses that hosts share, or take them out.
#[derive(Message)]
pub struct DsliteAddDelPoolAddrRange {
    /// the first
    pub start_addr: Ipv4Addr,
    /// the last
    pub end_addr: Ipv4Addr,
    /// or taken out
    pub is_add: bool,
}

/// List the addresses that hosts share.
#[derive(Message)]
#[details(DsliteAddressDetails)]
pub struct DsliteAddressDump {}

/// An address that hosts share.
#[derive(Message)]
pub struct DsliteAddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
}

/// Set the end of tunnels at the provider.
#[derive(Message)]
pub struct DsliteSetAftrAddr {
    /// its address of IPv4
    pub ip4_addr: Ipv4Addr,
    /// its address of IPv6; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Ask for the end of tunnels at the provider.
#[derive(Message)]
#[reply(DsliteGetAftrAddrReply)]
pub struct DsliteGetAftrAddr {}

/// The end of tunnels at the provider.
#[derive(Message)]
pub struct DsliteGetAftrAddrReply {
    /// its address of IPv4
    pub ip4_addr: Ipv4Addr,
    /// its address of IPv6; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Set the end of the tunnel at the customer.
#[derive(Message)]
pub struct DsliteSetB4Addr {
    /// its address of IPv4
    pub ip4_addr: Ipv4Addr,
    /// its address of IPv6; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Ask for the end of the tunnel at the customer.
#[derive(Message)]
#[reply(DsliteGetB4AddrReply)]
pub struct DsliteGetB4Addr {}

/// The end of the tunnel at the customer.
#[derive(Message)]
pub struct DsliteGetB4AddrReply {
    /// its address of IPv4
    pub ip4_addr: Ipv4Addr,
    /// its address of IPv6; :: for none
    pub ip6_addr: Ipv6Addr,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("dslite", "1.0.0")
        .call(|router: &mut Router, m: DsliteAddDelPoolAddrRange| {
            Ok(state::set_addresses(router, [m.start_addr, m.end_addr], m.is_add)?)
        })
        .dump(|router, _: DsliteAddressDump| {
            let pool = &router.own::<DsLite>().config.current().pool;
            pool.iter().map(|addr| DsliteAddressDetails { ip_address: *addr }).collect()
        })
        .call(|router, m: DsliteSetAftrAddr| Ok(state::set_aftr(router, (m.ip4_addr, m.ip6_addr))?))
        .call(|router, _: DsliteGetAftrAddr| {
            let (ip4_addr, ip6_addr) = router.own::<DsLite>().aftr;
            Ok(DsliteGetAftrAddrReply { ip4_addr, ip6_addr })
        })
        .call(|router, m: DsliteSetB4Addr| Ok(state::set_b4(router, (m.ip4_addr, m.ip6_addr))?))
        .call(|router, _: DsliteGetB4Addr| {
            let (ip4_addr, ip6_addr) = router.own::<DsLite>().b4;
            Ok(DsliteGetB4AddrReply { ip4_addr, ip6_addr })
        });
}
