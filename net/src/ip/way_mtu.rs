//! MTUs of ways: how long a packet to a destination may be where it leaves.
//!
//! A node that translates a packet to the other version, or takes headers off that its sender is
//! known by, has to know before: after it, an ICMP error would go to the translated address.

use graph::{Buffer, Flags};
use infra::rcu::{Epoch, SlabReader};
use wire::{icmp6, ip4, ip6};

use super::{V6, Version};
use crate::adjacency::{Adjacency, AdjacencyIndex};
use crate::fib::{Family, Forwarding, LpmReader, Via};
use crate::gso;
use crate::router::Router;

/// Bytes that an IPv6 header is longer than one of IPv4.
const GROWTH: usize = size_of::<ip6::Header>() - size_of::<ip4::Header>();

/// Most load balances and lookups in a row that are followed.
const DEPTH: usize = 8;

/// The lookup of MTUs, for a node; each thread has a clone.
#[derive(Clone)]
pub struct WayMtus<F: Family> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
}

/// The lookup for one frame: neighbouring packets often have one destination.
pub struct FrameMtus<'e, F: Family> {
    all: &'e WayMtus<F>,
    epoch: Epoch<'e>,
    last: Option<(u16, F::Bits, usize)>,
}

impl<F: Family> WayMtus<F> {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        let (forwarding, adjacencies) = (router.fib.forwarding(), router.adjacencies.reader());
        Self { forwarding, adjacencies }
    }
    /// For the packets of a frame.
    pub fn in_frame<'e>(&'e self, epoch: Epoch<'e>) -> FrameMtus<'e, F> {
        FrameMtus { all: self, epoch, last: None }
    }
    /// The MTU of an adjacency in bytes, IP header included.
    pub fn of(&self, adjacency: AdjacencyIndex, epoch: Epoch<'_>) -> Option<u16> {
        self.adjacencies.read(adjacency.0, epoch).map(|a| a.mtu)
    }
    fn to(&self, table: u16, dst: F::Bits, epoch: Epoch<'_>, depth: usize) -> Option<u16> {
        let leaf = self.forwarding.table(table, epoch)?.lookup(dst, epoch);
        match self.forwarding.only_neighbor(leaf) {
            Some(adjacency) => self.of(adjacency, epoch),
            None => self.least(leaf, dst, epoch, depth),
        }
    }
    /// The least MTU of the ways that a load balance has.
    #[inline(never)]
    fn least(&self, index: u32, dst: F::Bits, epoch: Epoch<'_>, depth: usize) -> Option<u16> {
        let depth = depth.checked_sub(1)?;
        let balance = self.forwarding.load_balance(index, epoch);
        let mtu = |via: &Via| match *via {
            Via::Adjacency(a) | Via::Midchain(a) | Via::Glean(a) => self.of(a, epoch),
            Via::LoadBalance(next) => self.least(next, dst, epoch, depth),
            Via::Lookup(table) => self.to(table, dst, epoch, depth),
            _ => None,
        };
        balance.buckets().iter().filter_map(mtu).min()
    }
}

impl<F: Family> FrameMtus<'_, F> {
    /// The least MTU of a table's paths to a destination, or of this load balance: in bytes, IP
    /// header included. Unpredictable paths have no limit.
    #[inline(never)]
    pub fn find(&mut self, table: u16, dst: F::Bits, balance: Option<u32>) -> usize {
        if let Some((_, _, mtu)) = self.last.filter(|(t, d, _)| (*t, *d) == (table, dst)) {
            return mtu;
        }
        let found = match balance {
            Some(balance) => self.all.least(balance, dst, self.epoch, DEPTH),
            None => self.all.to(table, dst, self.epoch, DEPTH),
        };
        let mtu = found.map_or(usize::MAX, usize::from);
        self.last = Some((table, dst, mtu));
        mtu
    }
}

/// The length that an IPv4 packet may have which becomes one of IPv6 that is `growth` bytes longer,
/// its segments `of_segments`; `None` for one that fits into `own` bytes and its `way`. The way is
/// asked for only where some link could be too small.
#[inline(always)]
pub fn room_in_ip6(
    p: &Buffer<'_>,
    (growth, of_segments): (usize, usize),
    own: usize,
    way: impl FnOnce() -> usize,
) -> Option<usize> {
    let len = match p.flags().has(Flags::GSO) {
        true => gso::longest_segment(p)? + of_segments,
        false => p.total_len() + growth,
    };
    if len <= own.min(icmp6::LEAST_MTU) {
        return None;
    }
    let mtu = own.min(way());
    (len > mtu).then(|| mtu.saturating_sub(growth))
}

/// The length that an IPv6 packet may have which is translated to IPv4; `None` for one that fits
/// its `way`, or may be cut there (RFC 7915 section 5.1).
#[inline(always)]
pub fn room_as_ip4(p: &Buffer<'_>, way: impl FnOnce() -> usize) -> Option<usize> {
    let len = match p.flags().has(Flags::GSO) {
        true => gso::longest_segment(p)? + GROWTH,
        false => p.total_len(),
    };
    if len <= icmp6::LEAST_MTU || V6::is_fragment(p) {
        return None;
    }
    let mtu = way().saturating_add(GROWTH);
    (len > mtu).then_some(mtu)
}
