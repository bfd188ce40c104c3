//! Reverse paths: where the route to a source leads, followed as a packet would be.

use graph::{Buffer, Flags};
use infra::rcu::{Epoch, SlabReader};
use wire::{ip4, ip6};
use zerocopy::FromBytes;

use crate::address::AddressReader;
use crate::adjacency::Adjacency;
use crate::fib::{Forwarding, Headers, Ip4, Ip6, LpmReader, Via};
use crate::interface::Port;
use crate::router::Router;

/// Most load balances in a row that are followed.
const DEPTH: usize = 8;

/// A family whose sources can be checked.
pub trait SourceFamily: Headers {
    /// Source address in an IP header.
    fn source_in(packet: &[u8]) -> Option<Self::Bits>;
    /// Whether an interface has this address, or uses it.
    fn owns(all: &AddressReader, interface: u32, addr: Self::Bits, epoch: Epoch<'_>) -> bool;
    /// The table of packets received on an interface.
    fn table(port: &Port) -> Option<u16>;
}

impl SourceFamily for Ip4 {
    #[inline(always)]
    fn source_in(packet: &[u8]) -> Option<u32> {
        ip4::Header::ref_from_prefix(packet).ok().map(|(h, _)| u32::from_be_bytes(h.src))
    }
    fn owns(all: &AddressReader, interface: u32, addr: u32, epoch: Epoch<'_>) -> bool {
        all.owns4(interface, addr.into(), epoch)
    }
    fn table(port: &Port) -> Option<u16> {
        port.ip4
    }
}

impl SourceFamily for Ip6 {
    #[inline(always)]
    fn source_in(packet: &[u8]) -> Option<u128> {
        ip6::Header::ref_from_prefix(packet).ok().map(|(h, _)| u128::from_be_bytes(h.src))
    }
    fn owns(all: &AddressReader, interface: u32, addr: u128, epoch: Epoch<'_>) -> bool {
        all.owns6(interface, addr.into(), epoch)
    }
    fn table(port: &Port) -> Option<u16> {
        port.ip6
    }
}

/// The reverse path to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReversePath {
    /// No route, or none that is accepted.
    Nowhere,
    /// Away from this router.
    Away,
    /// Here: the address is our own.
    Here,
    /// This router, as a proxy for the address.
    Proxied,
}

/// The lookup of reverse paths, for a node; each thread has a clone.
#[derive(Clone)]
pub struct ReversePaths<F: SourceFamily> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    addresses: AddressReader,
}

impl<F: SourceFamily> ReversePaths<F> {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        Self {
            forwarding: router.fib.forwarding(),
            adjacencies: router.adjacencies.reader(),
            addresses: router.addresses.reader(),
        }
    }
    /// The bytes in front of the IP header of a packet that is sent ([`Adjacency::front`]).
    #[inline(always)]
    pub fn front(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> usize {
        self.adjacencies.read(p.adjacency(), epoch).map_or(0, Adjacency::front)
    }
    /// Whether a packet that is sent is the router's own ([`Adjacency::sends_own`]).
    #[inline(always)]
    pub fn sends_own(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> bool {
        let adjacency = self.adjacencies.read(p.adjacency(), epoch);
        adjacency.map_or(p.flags().has(Flags::LOCAL), |a| a.sends_own(p))
    }
    /// The reverse path to a source. With an interface, only paths over it count.
    #[inline(always)]
    pub fn find(
        &self,
        table: u16,
        source: F::Bits,
        over: Option<u32>,
        epoch: Epoch<'_>,
    ) -> ReversePath {
        let Some(lpm) = self.forwarding.table(table, epoch) else { return ReversePath::Nowhere };
        let leaf = lpm.lookup(source, epoch);
        match self.forwarding.only_neighbor(leaf) {
            Some(adjacency) if self.counts(adjacency.0, over, epoch) => ReversePath::Away,
            Some(_) => ReversePath::Nowhere,
            None => self.look_closer(leaf, source, over, epoch),
        }
    }
    #[inline(never)]
    fn look_closer(
        &self,
        leaf: u32,
        source: F::Bits,
        over: Option<u32>,
        epoch: Epoch<'_>,
    ) -> ReversePath {
        let balance = self.forwarding.load_balance(leaf, epoch);
        if let Some(Via::Receive(interface)) = balance.single() {
            let is_own =
                interface == u32::MAX || F::owns(&self.addresses, interface, source, epoch);
            return if is_own { ReversePath::Here } else { ReversePath::Proxied };
        }
        if self.leads_away(leaf, (source, over), epoch, DEPTH) {
            ReversePath::Away
        } else {
            ReversePath::Nowhere
        }
    }
    /// Whether packets leave, over an interface if one is given: by way of other tables as well.
    #[inline(never)]
    fn leads_away(
        &self,
        index: u32,
        (source, over): (F::Bits, Option<u32>),
        epoch: Epoch<'_>,
        depth: usize,
    ) -> bool {
        let balance = self.forwarding.load_balance(index, epoch);
        let follow = |next| depth > 0 && self.leads_away(next, (source, over), epoch, depth - 1);
        balance.buckets().iter().any(|via| match *via {
            Via::Adjacency(a) | Via::Midchain(a) | Via::Glean(a) => self.counts(a.0, over, epoch),
            Via::LoadBalance(next) => follow(next),
            Via::Lookup(table) if over.is_some() => {
                let lpm = self.forwarding.table(table, epoch);
                lpm.is_some_and(|lpm| follow(lpm.lookup(source, epoch)))
            }
            Via::Lookup(_) | Via::SourceLookup(_) | Via::Exempt | Via::Object(_) => over.is_none(),
            _ => false,
        })
    }
    #[inline(always)]
    fn counts(&self, adjacency: u32, over: Option<u32>, epoch: Epoch<'_>) -> bool {
        over.is_none_or(|interface| {
            self.adjacencies.read(adjacency, epoch).is_some_and(|a| a.interface.0 == interface)
        })
    }
}
