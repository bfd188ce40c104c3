//! The on-link check of neighbours. An address is on the link of an interface when its longest
//! prefix is connected there (RFC 4861 section 2.1, RFC 1122 section 3.3.1.1): by the interface's
//! own network, or by a route to the interface without a next hop, which is how hosts behind an
//! unnumbered interface are reached.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, Ipv6Addr};

use infra::rcu::{Epoch, SlabReader};

use crate::adjacency::{Adjacency, Role};
use crate::fib::{Family, Forwarding, Ip4, Ip6, LpmReader, Via};
use crate::interface::Port;
use crate::router::Router;

/// The on-link check, for a node; each thread has a clone.
#[derive(Clone)]
pub struct OnLink<F: Family> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    ports: SlabReader<Port>,
}

impl<F: Family> OnLink<F> {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        Self {
            forwarding: router.fib.forwarding::<F>(),
            adjacencies: router.adjacencies.reader(),
            ports: router.interfaces.ports(),
        }
    }
    /// Whether the route to an address is one to this router, on an interface.
    fn ends_here(&self, interface: u32, table: u16, bits: F::Bits, epoch: Epoch<'_>) -> bool {
        let Some(table) = self.forwarding.table(table, epoch) else { return false };
        let balance = self.forwarding.load_balance(table.lookup(bits, epoch), epoch);
        balance.buckets().contains(&Via::Receive(interface))
    }
    fn leads_to(&self, interface: u32, table: u16, bits: F::Bits, epoch: Epoch<'_>) -> bool {
        let Some(table) = self.forwarding.table(table, epoch) else { return false };
        let balance = self.forwarding.load_balance(table.lookup(bits, epoch), epoch);
        balance.buckets().iter().any(|via| {
            let (Via::Glean(index) | Via::Adjacency(index) | Via::Midchain(index)) = *via else {
                return false;
            };
            self.adjacencies.read(index.0, epoch).is_some_and(|a| {
                let is_it = a.role == Role::Glean || a.next_hop == F::addr(bits);
                a.interface.0 == interface && is_it
            })
        })
    }
}

impl OnLink<Ip4> {
    /// Whether `addr` can be one of a neighbour on an interface.
    pub fn has(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip4);
        table.is_some_and(|table| self.leads_to(interface, table, addr.to_bits(), epoch))
    }
    /// Whether `addr` is ours on an interface because a route says so.
    pub fn is_ours(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip4);
        table.is_some_and(|table| self.ends_here(interface, table, addr.to_bits(), epoch))
    }
}

impl OnLink<Ip6> {
    /// Whether `addr` can be one of a neighbour on an interface. Link-local addresses always can.
    pub fn has(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        table.is_some_and(|table| {
            addr.is_unicast_link_local() || self.leads_to(interface, table, addr.to_bits(), epoch)
        })
    }
    /// Whether `addr` is ours on an interface because a route says so.
    pub fn is_ours(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        table.is_some_and(|table| self.ends_here(interface, table, addr.to_bits(), epoch))
    }
}
