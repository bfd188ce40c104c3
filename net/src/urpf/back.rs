//! Ways back: what the route to a source leads to, followed as a packet would be.

use infra::rcu::{Epoch, SlabReader};

use super::Checked;
use crate::address::AddressReader;
use crate::adjacency::Adjacency;
use crate::fib::{Finder, Forwarding, Via};
use crate::router::Router;

/// How many load balances in a row are followed.
const DEPTH: usize = 8;

/// Where the route to a source leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Nowhere, or nowhere that counts.
    Nowhere,
    /// Away from this router.
    Away,
    /// Here: the address is our own.
    Here,
    /// Here, but the address is another's, which this router stands in for.
    Proxied,
}

/// What a node needs to find ways back; each thread has a clone.
#[derive(Clone)]
pub struct WaysBack<F: Checked> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    addresses: AddressReader,
}

impl<F: Checked> WaysBack<F> {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        Self {
            forwarding: router.fib.forwarding(),
            adjacencies: router.adjacencies.reader(),
            addresses: router.addresses.reader(),
        }
    }
    /// The header length of an adjacency; 0 when there is none.
    #[inline(always)]
    pub fn header_len(&self, adjacency: u32, epoch: Epoch<'_>) -> usize {
        self.adjacencies.read(adjacency, epoch).map_or(0, |a| a.header_len.into())
    }
    /// Where the route to a source leads. With an interface, only ways over it count.
    #[inline(always)]
    pub fn find(&self, table: u16, source: F::Bits, over: Option<u32>, epoch: Epoch<'_>) -> Back {
        let Some(finder) = self.forwarding.table(table, epoch) else { return Back::Nowhere };
        let leaf = finder.lookup(source, epoch);
        match self.forwarding.only_neighbor(leaf) {
            Some(adjacency) if self.counts(adjacency.0, over, epoch) => Back::Away,
            Some(_) => Back::Nowhere,
            None => self.look_closer(leaf, source, over, epoch),
        }
    }
    #[inline(never)]
    fn look_closer(&self, leaf: u32, source: F::Bits, over: Option<u32>, epoch: Epoch<'_>) -> Back {
        let balance = self.forwarding.load_balance(leaf, epoch);
        if let Some(Via::Receive(interface)) = balance.single() {
            let is_own =
                interface == u32::MAX || F::owns(&self.addresses, interface, source, epoch);
            return if is_own { Back::Here } else { Back::Proxied };
        }
        if self.leads_away(leaf, over, epoch, DEPTH) { Back::Away } else { Back::Nowhere }
    }
    #[inline(never)]
    fn leads_away(&self, index: u32, over: Option<u32>, epoch: Epoch<'_>, depth: usize) -> bool {
        let balance = self.forwarding.load_balance(index, epoch);
        balance.buckets().iter().any(|via| match *via {
            Via::Adjacency(a) | Via::Midchain(a) | Via::Glean(a) => self.counts(a.0, over, epoch),
            Via::LoadBalance(next) => depth > 0 && self.leads_away(next, over, epoch, depth - 1),
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
