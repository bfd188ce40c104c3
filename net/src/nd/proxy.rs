//! Hosts behind one interface that are answered for there and on the others (RFC 4861 section
//! 7.2.8), and interfaces on which everybody is ([`super::Mirror`]).
//!
//! A host that is answered for gets a route to its interface, so that it counts as a neighbour
//! there and packets for it go there.

use std::net::Ipv6Addr;

use control::feature::Refusal;
use graph::Node;
use infra::rcu::{Epoch, Shared, SlabReader};
use wire::Prefix;
use wire::prefix::IpPrefix;

use super::mirror::{Mirror, Multicast, Unicast};
use crate::fib::{self, Path, Source, Target};
use crate::interface::{InterfaceIndex, Port};
use crate::ip6::{IP6_MULTICAST, IP6_UNICAST};
use crate::router::Router;

/// Most hosts that are answered for: a solicitation is compared with each.
pub const MAX_PROXIED: usize = 1024;

/// An ND proxy entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proxied {
    /// Interface of the host.
    pub interface: InterfaceIndex,
    /// MAC address.
    pub addr: Ipv6Addr,
}

/// Proxied addresses.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// Hosts, sorted.
    pub proxied: Vec<Proxied>,
    /// Interfaces on which everybody is, by number.
    pub mirrored: Vec<InterfaceIndex>,
}

impl Answered {
    /// Whether a host is answered for on an interface that looks up in the same table as the
    /// host's. On that one itself a host that is about to use the address hears nothing.
    pub(super) fn has(
        &self,
        ports: &SlabReader<Port>,
        (on, asker): (u32, Ipv6Addr),
        host: Ipv6Addr,
        epoch: Epoch<'_>,
    ) -> bool {
        let table = |i: u32| ports.read(i, epoch).and_then(|p| p.ip6);
        let is_other = !asker.is_unspecified() && asker != host;
        let is_at = |at: u32| if at == on { is_other } else { table(at) == table(on) };
        self.proxied.iter().any(|p| p.addr == host && is_at(p.interface.0))
    }
    /// Whether a host is behind an interface and answered for on others.
    pub(super) fn is_behind(&self, on: u32, host: Ipv6Addr) -> bool {
        let host = Proxied { interface: InterfaceIndex(on), addr: host };
        self.proxied.binary_search(&host).is_ok()
    }
    /// Whether everybody is answered for on an interface.
    pub fn is_mirrored(&self, on: u32) -> bool {
        self.mirrored.binary_search(&InterfaceIndex(on)).is_ok()
    }
}

/// The same, to be changed.
pub(super) struct Proxies(pub Shared<Answered>);

/// Reasons why a proxy is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum ProxyError {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// IPv6 is not enabled on the interface
    #[retval(IP6_NOT_ENABLED)]
    NotEnabled,
    /// not a host address
    #[retval(INVALID_VALUE)]
    Invalid,
    /// no such proxy
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// at most {MAX_PROXIED} hosts
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// {0}
    #[retval(TABLE_TOO_BIG)]
    Route(fib::Error),
}

impl Router {
    /// Hosts that are answered for, by interface and address.
    pub fn nd_proxied(&self) -> &[Proxied] {
        &self.nd_answered().proxied
    }
    /// Interfaces on which solicitations for anybody are answered, by number.
    pub fn nd_mirrored(&self) -> &[InterfaceIndex] {
        &self.nd_answered().mirrored
    }
    /// Starts answering for a host at `interface`.
    ///
    /// # Errors
    /// [`ProxyError`]; nothing has changed then. Adding an existing one is no error.
    pub fn add_nd_proxy(
        &mut self,
        interface: InterfaceIndex,
        addr: Ipv6Addr,
    ) -> Result<(), ProxyError> {
        self.interfaces.at(interface).ok_or(ProxyError::NoInterface)?;
        let on = self.addresses.of(interface);
        if !on.has_ip6() {
            return Err(ProxyError::NotEnabled);
        }
        if addr.is_multicast() || addr.is_unspecified() || addr.is_unicast_link_local() {
            return Err(ProxyError::Invalid);
        }
        let (host, table) = (Proxied { interface, addr }, on.table6);
        let mut new = self.nd_answered().clone();
        let Err(at) = new.proxied.binary_search(&host) else { return Ok(()) };
        if new.proxied.len() == MAX_PROXIED {
            return Err(ProxyError::Full);
        }
        let target = Target::Neighbor { interface, addr: addr.into() };
        self.add_route(table, route(addr), Source::IP6_ND_PROXY, &[Path::to(target)])
            .map_err(ProxyError::Route)?;
        new.proxied.insert(at, host);
        self.publish_nd_answered(new);
        Ok(())
    }
    /// No longer answers for a host, and forgets it as a neighbour.
    ///
    /// # Errors
    /// [`ProxyError::Unknown`].
    pub fn remove_nd_proxy(
        &mut self,
        interface: InterfaceIndex,
        addr: Ipv6Addr,
    ) -> Result<(), ProxyError> {
        let (host, mut new) = (Proxied { interface, addr }, self.nd_answered().clone());
        let at = new.proxied.binary_search(&host).map_err(|_| ProxyError::Unknown)?;
        new.proxied.remove(at);
        self.publish_nd_answered(new);
        let target = Target::Neighbor { interface, addr: addr.into() };
        let table = self.addresses.of(interface).table6;
        // Gone already when the interface has taken its table along.
        let _ = self.remove_route(table, route(addr), Source::IP6_ND_PROXY, &[Path::to(target)]);
        // It need not have been learned.
        let _ = self.remove_neighbor((interface, addr.into()));
        Ok(())
    }
    /// Enables or disables answering all solicitations on an interface.
    ///
    /// # Errors
    /// [`ProxyError::NoInterface`].
    pub fn set_nd_mirror(&mut self, interface: InterfaceIndex, on: bool) -> Result<(), ProxyError> {
        self.interfaces.at(interface).ok_or(ProxyError::NoInterface)?;
        if self.nd_answered().is_mirrored(interface.0) == on {
            return Ok(());
        }
        let mut new = self.nd_answered().clone();
        new.mirrored.retain(|i| *i != interface);
        if on {
            new.mirrored.push(interface);
            new.mirrored.sort_unstable();
        }
        self.publish_nd_answered(new);
        Ok(())
    }
    pub(super) fn forget_nd_proxies(&mut self, interface: InterfaceIndex) {
        let mine = self.nd_proxied().iter().filter(|h| h.interface == interface).copied();
        for host in mine.collect::<Vec<_>>() {
            let gone = self.remove_nd_proxy(host.interface, host.addr);
            gone.expect("it was there just now");
        }
        self.set_nd_mirror(interface, false).expect("the interface exists until all are notified");
        set(self, interface, false);
    }
    fn nd_answered(&self) -> &Answered {
        let proxies: &Proxies = self.own();
        proxies.0.current()
    }
    fn publish_nd_answered(&mut self, new: Answered) {
        let proxies: &mut Proxies = self.own_mut();
        proxies.0.publish(new);
        let all: Vec<_> = self.interfaces.iter().map(|i| i.index).collect();
        all.into_iter().for_each(|interface| follow(self, interface));
    }
}

/// Switches the nodes on for an interface with proxied addresses. Others pay
/// nothing.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex) {
    let answered = router.nd_answered();
    let is_on = !answered.proxied.is_empty() || answered.is_mirrored(interface.0);
    set(router, interface, is_on);
}

fn set(router: &mut Router, interface: InterfaceIndex, on: bool) {
    for (arc, node) in
        [(&IP6_UNICAST, Mirror::<Unicast>::NAME), (&IP6_MULTICAST, Mirror::<Multicast>::NAME)]
    {
        let done = router.engine.set_feature(arc, node, interface.0, on);
        done.expect("the node is on the arc since the feature registered");
    }
}

fn route(addr: Ipv6Addr) -> Prefix {
    IpPrefix::host(addr).into()
}
