//! What nodes see of interfaces' addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use infra::rcu::{Epoch, Reader};

use super::OnInterface;

/// Addresses by interface, for a node.
#[derive(Clone, Debug)]
pub struct AddressReader(Reader<Vec<Option<Arc<OnInterface>>>>);

impl AddressReader {
    pub(super) fn new(all: Reader<Vec<Option<Arc<OnInterface>>>>) -> Self {
        Self(all)
    }
    fn of<'e>(&'e self, interface: u32, epoch: Epoch<'e>) -> Option<&'e OnInterface> {
        self.0.read(epoch).get(interface as usize)?.as_deref()
    }
    /// The first IPv4 address of an interface, or of the one whose addresses it uses.
    pub fn source4(&self, interface: u32, epoch: Epoch<'_>) -> Option<Ipv4Addr> {
        let all = self.of(interface, epoch)?;
        let borrowed = all.borrowed.as_ref().and_then(|b| b.ip4.first());
        all.ip4.first().or(borrowed).map(|p| p.addr())
    }
    /// The address to send from to `dst`: link-local to what is link-local, otherwise the one whose
    /// network `dst` is in, or the one with most leading bits in common (RFC 6724 section 5, rules
    /// 2, 8).
    pub fn source6(&self, interface: u32, dst: Ipv6Addr, epoch: Epoch<'_>) -> Option<Ipv6Addr> {
        let all = self.of(interface, epoch)?;
        let stays = dst.is_unicast_link_local() || wire::ip6::multicast_scope(dst) == Some(2);
        let common = |a: Ipv6Addr| (a.to_bits() ^ dst.to_bits()).leading_zeros();
        let borrowed = all.borrowed.iter().flat_map(|b| &b.ip6);
        let own = all.ip6.iter().chain(borrowed);
        let best = own.map(|p| p.addr()).max_by_key(|a| common(*a));
        best.filter(|_| !stays).or(all.link_local)
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
    /// Our address whose network contains `addr`.
    pub fn covering4(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> Option<Ipv4Addr> {
        let all = self.of(interface, epoch)?;
        all.ip4.iter().find(|p| p.contains(addr)).map(|p| p.addr())
    }
    /// Our address whose network contains `addr`.
    pub fn covering6(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> Option<Ipv6Addr> {
        let all = self.of(interface, epoch)?;
        let covers = all.ip6.iter().find(|p| p.contains(addr)).map(|p| p.addr());
        covers.or(all.link_local.filter(|_| addr.is_unicast_link_local()))
    }
}
