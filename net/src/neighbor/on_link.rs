//! The on-link check of neighbours. An address is on the link of an interface when its longest
//! prefix is connected there (RFC 4861 section 2.1, RFC 1122 section 3.3.1.1): by the interface's
//! own network, or by a route to the interface without a next hop, which is how hosts behind an
//! unnumbered interface are reached.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, Ipv6Addr};

use infra::rcu::{Epoch, SlabReader};

use super::answers::AnswersReader;
use crate::adjacency::{Adjacency, Role};
use crate::fib::{Family, Forwarding, Ip4, Ip6, LpmReader, Via};
use crate::interface::Port;
use crate::neighbor::Strict;
use crate::router::Router;

/// The on-link check, for a node; each thread has a clone.
#[derive(Clone)]
pub struct OnLink<F: Family> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    ports: SlabReader<Port>,
    answers: AnswersReader,
    strict: SlabReader<Strict>,
}

impl<F: Family> OnLink<F> {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        Self {
            forwarding: router.fib.forwarding::<F>(),
            adjacencies: router.adjacencies.reader(),
            ports: router.interfaces.ports(),
            answers: AnswersReader::new(router),
            strict: router.neighbors().strict.clone(),
        }
    }
    /// Whether a question of a host that is not on the link, as far as routes say, is answered: a
    /// host with several addresses asks from any of them, and so do routers whose links have none.
    fn may_ask(&self, interface: u32, table: u16, bits: F::Bits, epoch: Epoch<'_>) -> bool {
        let is_strict = self.strict.read(interface, epoch).is_some_and(|strict| strict.0);
        !is_strict && !self.is_router(table, bits, epoch)
    }
    /// Whether an address is of this router.
    fn is_router(&self, table: u16, bits: F::Bits, epoch: Epoch<'_>) -> bool {
        let Some(table) = self.forwarding.table(table, epoch) else { return false };
        let balance = self.forwarding.load_balance(table.lookup(bits, epoch), epoch);
        balance.buckets().iter().any(|via| matches!(via, Via::Receive(_)))
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
    /// Whether `addr`, of no neighbour on an interface, may ask for one of ours there: a host's
    /// that is not this router's own.
    pub fn answers(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        let is_host = !addr.is_multicast() && !addr.is_broadcast() && !addr.is_loopback();
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip4);
        is_host && table.is_some_and(|t| self.may_ask(interface, t, addr.to_bits(), epoch))
    }
    /// Whether `addr` is ours on an interface because a route or a feature says so.
    pub fn is_ours(&self, interface: u32, addr: Ipv4Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip4);
        table.is_some_and(|table| self.ends_here(interface, table, addr.to_bits(), epoch))
            || self.answers.has(interface, addr.into(), epoch)
    }
}

impl OnLink<Ip6> {
    /// Whether `addr` is one of this router, on whatever interface that looks up in the same table.
    pub fn is_of_router(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        table.is_some_and(|table| self.is_router(table, addr.to_bits(), epoch))
    }
    /// Whether `addr` can be one of a neighbour on an interface. Link-local addresses always can.
    pub fn has(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        table.is_some_and(|table| {
            addr.is_unicast_link_local() || self.leads_to(interface, table, addr.to_bits(), epoch)
        })
    }
    /// Whether `addr`, of no neighbour on an interface, may ask for one of ours there: a host's
    /// that is not this router's own.
    pub fn answers(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let is_host = !addr.is_multicast() && !addr.is_unspecified() && !addr.is_loopback();
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        is_host && table.is_some_and(|t| self.may_ask(interface, t, addr.to_bits(), epoch))
    }
    /// Whether `addr` is ours on an interface because a route or a feature says so.
    pub fn is_ours(&self, interface: u32, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let table = self.ports.read(interface, epoch).and_then(|p| p.ip6);
        table.is_some_and(|table| self.ends_here(interface, table, addr.to_bits(), epoch))
            || self.answers.has(interface, addr.into(), epoch)
    }
}
