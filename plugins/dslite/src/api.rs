//! Messages of the module `dslite`.

use net::prelude::*;

use crate::state::{self, DsLite};

/// Add or delete addresses of the pool.
#[derive(Message)]
pub struct DsliteAddDelPoolAddrRange {
    /// first
    pub start_addr: Ipv4Addr,
    /// last
    pub end_addr: Ipv4Addr,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List the addresses of the pool.
#[derive(Message)]
#[details(DsliteAddressDetails)]
pub struct DsliteAddressDump {}

/// An address of the pool.
#[derive(Message)]
pub struct DsliteAddressDetails {
    /// the address
    pub ip_address: Ipv4Addr,
}

/// Set the AFTR address: the provider's end of tunnels.
#[derive(Message)]
pub struct DsliteSetAftrAddr {
    /// IPv4 address
    pub ip4_addr: Ipv4Addr,
    /// IPv6 address; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Get the AFTR address.
#[derive(Message)]
#[reply(DsliteGetAftrAddrReply)]
pub struct DsliteGetAftrAddr {}

/// AFTR address.
#[derive(Message)]
pub struct DsliteGetAftrAddrReply {
    /// IPv4 address
    pub ip4_addr: Ipv4Addr,
    /// IPv6 address; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Set the B4 address: the customer's end of the tunnel.
#[derive(Message)]
pub struct DsliteSetB4Addr {
    /// IPv4 address
    pub ip4_addr: Ipv4Addr,
    /// IPv6 address; :: for none
    pub ip6_addr: Ipv6Addr,
}

/// Get the B4 address.
#[derive(Message)]
#[reply(DsliteGetB4AddrReply)]
pub struct DsliteGetB4Addr {}

/// B4 address.
#[derive(Message)]
pub struct DsliteGetB4AddrReply {
    /// IPv4 address
    pub ip4_addr: Ipv4Addr,
    /// IPv6 address; :: for none
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
