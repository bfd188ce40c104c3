//! Settings of an interface from a lease: address, routes and MTU, all of them learned.

use net::fib::{Path, Source};
use net::prelude::*;
use wire::dhcp::{address, addresses, classless_routes, find, number, option};

use super::Dhcp;

/// Seconds of a lease that says nothing.
const SECONDS: u32 = 3600;
/// Name servers that are kept.
const MOST_SERVERS: usize = 8;
/// Routes that are kept.
const MOST_ROUTES: usize = 64;
/// The least MTU of IPv4 that an option may name (RFC 2132 section 5.1).
const LEAST_MTU: u16 = 68;

/// A route: a prefix and a router, [`Ipv4Addr::UNSPECIFIED`] for what is on the link.
pub type Route = (Ip4Prefix, Ipv4Addr);

/// An address that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub addr: Ip4Prefix,
    /// Routes: classless ones, or else the default route.
    pub routes: Vec<Route>,
    /// Name servers.
    pub servers: Vec<Ipv4Addr>,
    /// MTU of the network.
    pub mtu: Option<u16>,
}

impl Lease {
    /// Reads the lease of an address; `None` where its mask is none.
    pub fn read(addr: Ipv4Addr, options: &[u8]) -> Option<Self> {
        let mask = number(options, option::SUBNET_MASK).unwrap_or(u32::MAX);
        let addr = Ip4Prefix::new(addr, mask.leading_ones() as u8).ok()?;
        let mut routes = classless_routes(options);
        routes.truncate(MOST_ROUTES);
        if routes.is_empty() {
            // Where there are classless routes this option does not count (RFC 3442).
            routes.extend(address(options, option::ROUTER).map(|router| (everywhere(), router)));
        }
        let mtu = find(options, option::INTERFACE_MTU).and_then(|value| value.try_into().ok());
        Some(Self {
            addr,
            routes,
            servers: addresses(options, option::DOMAIN_SERVER).take(MOST_SERVERS).collect(),
            mtu: mtu.map(u16::from_be_bytes).filter(|mtu| *mtu >= LEAST_MTU),
        })
    }
    /// Router of the default route.
    pub fn router(&self) -> Option<Ipv4Addr> {
        let default = self.routes.iter().find(|(prefix, _)| *prefix == everywhere());
        default.map(|(_, router)| *router).filter(|router| !router.is_unspecified())
    }
}

/// Seconds of a lease: until its server is asked for more time, until any server is, and in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// T1.
    pub renewal: f64,
    /// T2.
    pub rebinding: f64,
    /// The end.
    pub end: f64,
}

impl Times {
    /// Reads them. What is missing or out of order is what RFC 2131 section 4.4.5 says.
    pub fn read(options: &[u8]) -> Self {
        let seconds = number(options, option::LEASE_TIME).unwrap_or(SECONDS).max(1);
        let end = f64::from(seconds);
        let told = |code, before: f64| {
            number(options, code).map(f64::from).filter(|told| (1.0..before).contains(told))
        };
        let rebinding = told(option::REBINDING_TIME, end).unwrap_or(end * 0.875);
        let renewal = told(option::RENEWAL_TIME, rebinding).unwrap_or(end * 0.5).min(rebinding);
        let end = if seconds == u32::MAX { f64::INFINITY } else { end };
        Self { renewal, rebinding, end }
    }
}

/// All addresses.
fn everywhere() -> Ip4Prefix {
    Ip4Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("no bits are not too many")
}

/// Gives an interface what a lease says.
///
/// # Errors
/// Those of the address; nothing has changed then.
pub fn take(
    router: &mut Router,
    on: InterfaceIndex,
    lease: &Lease,
) -> Result<(), net::address::Error> {
    router.add_learned_address(on, Prefix::Ip4(lease.addr))?;
    router.set_learned_mtu(on, lease.mtu);
    lead(router, on, lease, true);
    Ok(())
}

/// Takes away what the lease of an interface gave.
pub fn give_up(router: &mut Router, on: InterfaceIndex) {
    let client = router.own_mut::<Dhcp>().clients.get_mut(&on);
    let Some(lease) = client.and_then(|client| client.lease.take()) else { return };
    lead(router, on, &lease, false);
    router.set_learned_mtu(on, None);
    // The address may have been removed meanwhile.
    let _ = router.remove_address(on, Prefix::Ip4(lease.addr));
}

/// Adds the routes of a lease, or removes them.
fn lead(router: &mut Router, on: InterfaceIndex, lease: &Lease, is_on: bool) {
    let Some(table) = table_of(router, on) else { return };
    for (prefix, by) in &lease.routes {
        let target = match by.is_unspecified() {
            true => Target::Attached { interface: on, own: lease.addr.addr().into() },
            false => Target::Neighbor { interface: on, addr: (*by).into() },
        };
        let (prefix, path) = (Prefix::Ip4(*prefix), Path::to(target));
        // Without room the network of the address is reached all the same.
        let _ = match is_on {
            true => router.add_route(table, prefix, Source::DHCP, &[path]).map(|_| ()),
            false => router.remove_route(table, prefix, Source::DHCP, &[path]),
        };
    }
}

/// The table of an interface.
pub fn table_of(router: &Router, on: InterfaceIndex) -> Option<TableIndex> {
    router.addresses.of(on).table(Link::Ip4)
}
