//! Routing as data-plane threads see it: lookups, load balances and the nodes that follow them.

pub(super) mod load_balance;
mod load_balance_node;
pub(super) mod lookup;
pub(super) mod lookup_dpo;
pub(super) mod lpm;
mod next_node;
pub(super) mod objects;
pub(super) mod ranges;
pub(super) mod trie4;

use infra::counter::VolumeCounter;
use infra::rcu::{Epoch, Reader, SlabReader};

use self::load_balance::{Balances, LoadBalance, Swap};
use self::objects::{Object, ObjectEdges};
use super::family::{Family, Ip4, Ip6};
use crate::adjacency::AdjacencyIndex;
use crate::flow_hash::{self, FlowHash, HashReader};

/// Tables and load balances of one family, for a node; each thread has a clone.
#[derive(Clone, Debug)]
pub struct Forwarding<F: Family> {
    pub(super) tables: SlabReader<F::LpmReader>,
    pub(super) balances: Balances,
    /// Link-local table of each interface.
    pub(super) link_local: Reader<Vec<u16>>,
    pub(super) hashes: HashReader,
    pub(super) objects: ObjectEdges,
}

/// IPv4.
pub type Forwarding4 = Forwarding<Ip4>;
/// IPv6.
pub type Forwarding6 = Forwarding<Ip6>;

impl<F: Family> Forwarding<F> {
    /// With edges to the objects of features, for a node that leads packets there.
    #[must_use]
    pub fn leading_to(self, objects: ObjectEdges) -> Self {
        Self { objects, ..self }
    }
    /// The table with this index; `None` once it is deleted.
    #[inline(always)]
    pub fn table<'e>(&'e self, fib: u16, epoch: Epoch<'e>) -> Option<&'e F::LpmReader> {
        self.tables.read(u32::from(fib), epoch)
    }
    /// The load balance with this number; one that leads nowhere if there is none.
    #[inline(always)]
    pub fn load_balance<'e>(&'e self, index: u32, epoch: Epoch<'e>) -> LoadBalance<'e> {
        self.balances.at(index, epoch)
    }
    /// Asks for the load balance with this number, which is read soon.
    #[inline(always)]
    pub fn fetch(&self, index: u32) {
        self.balances.fetch(index);
    }
    /// The neighbour that the load balance with this number leads to, if it leads there only.
    #[inline(always)]
    pub fn only_neighbor(&self, index: u32) -> Option<AdjacencyIndex> {
        self.balances.only_neighbor(index)
    }
    /// The adjacency into a tunnel that the load balance with this number leads to, if it leads
    /// there only.
    #[inline(always)]
    pub fn only_tunnel(&self, index: u32) -> Option<AdjacencyIndex> {
        self.balances.only_tunnel(index)
    }
    /// The object of a feature that the load balance with this number leads to, if it leads there
    /// only.
    #[inline(always)]
    pub fn only_object(&self, index: u32) -> Option<Object> {
        self.balances.only_object(index)
    }
    /// The label that packets of the load balance with this number get, if that is all.
    #[inline(always)]
    pub fn only_swap(&self, index: u32) -> Option<Swap> {
        self.balances.only_swap(index)
    }
    /// Counters by load balance of packets that a lookup sent there, to be raised by thread
    /// `thread`.
    #[inline(always)]
    pub fn count_to(&self, thread: usize) -> &[VolumeCounter] {
        self.balances.counters.to.row(thread)
    }
    /// The same of packets that came there another way.
    #[inline(always)]
    pub fn count_via(&self, thread: usize) -> &[VolumeCounter] {
        self.balances.counters.via.row(thread)
    }
    /// Flow hash of a table's packets, and the router's seed.
    pub fn hashing(&self, fib: u16, epoch: Epoch<'_>) -> (FlowHash, u64) {
        flow_hash::config(&self.hashes, fib, epoch)
    }
    /// The table with the link-local addresses of an interface.
    #[inline(always)]
    pub fn link_local(&self, interface: u32, epoch: Epoch<'_>) -> Option<u16> {
        let tables = self.link_local.read(epoch);
        tables.get(interface as usize).copied().filter(|table| *table != 0)
    }
}
