//! Addresses of interfaces, as nodes read them.

use std::net::{Ipv4Addr, Ipv6Addr};

use infra::rcu::{Epoch, SlabReader};

use wire::Ip6Prefix;

use super::{AddressState, OnInterface};

/// The scope of groups on one link (RFC 4291 section 2.7).
const LINK: u8 = 2;

/// Addresses by interface, for a node.
#[derive(Clone, Debug)]
pub struct AddressReader(SlabReader<OnInterface>);

impl AddressReader {
    pub(super) fn new(all: SlabReader<OnInterface>) -> Self {
        Self(all)
    }
    fn of<'e>(&'e self, interface: u32, epoch: Epoch<'e>) -> Option<&'e OnInterface> {
        self.0.read(interface, epoch)
    }
    /// The first IPv4 address of an interface, or of the one whose addresses it uses.
    pub fn source4(&self, interface: u32, epoch: Epoch<'_>) -> Option<Ipv4Addr> {
        let all = self.of(interface, epoch)?;
        let borrowed = all.borrowed.as_ref().and_then(|b| b.ip4.first());
        all.ip4.first().or(borrowed).map(|p| p.addr())
    }
    /// The address to send from to `dst` over an interface, by RFC 6724 section 5: `dst` itself if
    /// it is one of them (rule 1), link-local to what is of one link (2), rather one that is not
    /// deprecated (3), and then the one whose network has most leading bits in common with `dst`
    /// (8), the first of several. One that is not known to be ours alone is none of them; a
    /// link-local one is the last resort.
    pub fn source6(&self, interface: u32, dst: Ipv6Addr, epoch: Epoch<'_>) -> Option<Ipv6Addr> {
        let all = self.of(interface, epoch)?;
        let link_local = all.link_local.filter(|a| all.may_send_from(*a));
        let scope = wire::ip6::multicast_scope(dst);
        if dst.is_unicast_link_local() || scope.is_some_and(|scope| scope <= LINK) {
            return link_local;
        }
        let borrowed = all.borrowed.iter().flat_map(|b| &b.ip6);
        let own = all.ip6.iter().chain(borrowed).filter(|p| all.may_send_from(p.addr()));
        let common = |p: &Ip6Prefix| {
            let bits = (p.addr().to_bits() ^ dst.to_bits()).leading_zeros();
            bits.min(p.prefix_len().into())
        };
        let is_good = |p: &Ip6Prefix| all.standing(p.addr()) != Some(AddressState::Deprecated);
        let rank = |p: &Ip6Prefix| (p.addr() == dst, is_good(p), common(p));
        let best = own.reduce(|best, p| if rank(p) > rank(best) { p } else { best });
        best.map(|p| p.addr()).or(link_local)
    }
    /// The link-local address of an interface.
    pub fn link_local(&self, interface: u32, epoch: Epoch<'_>) -> Option<Ipv6Addr> {
        self.of(interface, epoch)?.link_local
    }
    /// Whether an interface has this address, or uses it.
    pub fn owns4(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        self.of(interface, epoch).is_some_and(|a| {
            let borrowed = a.borrowed.iter().flat_map(|b| &b.ip4);
            a.ip4.iter().chain(borrowed).any(|p| p.addr() == addr)
        })
    }
    /// Whether an interface has this address, or uses it.
    pub fn owns6(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        self.of(interface, epoch).is_some_and(|a| {
            let borrowed = a.borrowed.iter().flat_map(|b| &b.ip6);
            a.link_local == Some(addr) || a.ip6.iter().chain(borrowed).any(|p| p.addr() == addr)
        })
    }
    /// Whether an interface uses the addresses of another one.
    pub fn is_unnumbered(&self, interface: u32, epoch: Epoch<'_>) -> bool {
        self.of(interface, epoch).is_some_and(|a| a.borrowed.is_some())
    }
    /// Whether `addr` is in a network of the interface whose addresses this one uses.
    pub fn shares4(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        let borrowed = self.of(interface, epoch).and_then(|a| a.borrowed.as_ref());
        borrowed.is_some_and(|b| b.ip4.iter().any(|p| p.contains(addr)))
    }
    /// Whether `addr` is in a network of the interface whose addresses this one uses.
    pub fn shares6(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let borrowed = self.of(interface, epoch).and_then(|a| a.borrowed.as_ref());
        borrowed.is_some_and(|b| b.ip6.iter().any(|p| p.contains(addr)))
    }
    /// Our address whose network contains `addr`.
    pub fn covering4(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> Option<Ipv4Addr> {
        let all = self.of(interface, epoch)?;
        all.ip4.iter().find(|p| p.contains(addr)).map(|p| p.addr())
    }
    /// Our address whose network contains `addr`.
    pub fn covering6(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> Option<Ipv6Addr> {
        let all = self.of(interface, epoch)?;
        let own = all.ip6.iter().filter(|p| all.may_send_from(p.addr()));
        let covers = own.filter(|p| p.contains(addr)).map(|p| p.addr()).next();
        covers.or(all.link_local.filter(|_| addr.is_unicast_link_local()))
    }
}
