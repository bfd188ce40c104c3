//! MTUs of tunnels: how long packets may be that go into one whose outer packets must not be cut.
//!
//! Where the outer IPv4 header has "don't fragment", or copies that from the inner packet, a packet
//! too big for the path to the remote address would be lost inside the tunnel, without an error to
//! its sender. So the adjacency of the tunnel has an MTU with which the outer packet fits: the
//! sender gets that one, and fragmentable packets are fragmented before encapsulation (RFC 4459
//! section 3.2). A path MTU to the remote address, set by an operator or program, counts for all
//! tunnels.

use std::net::IpAddr;

use wire::{ip4, ip6};
use zerocopy::FromBytes;

use super::path::TableIndex;
use crate::adjacency::chain::Hop;
use crate::adjacency::{AdjacencyIndex, Link};
use crate::fib::forwarding::load_balance::Via;
use crate::router::Router;

/// Load balances that lead to one another, at most; and tunnels in one another.
const DEPTH: usize = 8;
/// Least MTU of a link, of IPv4 (RFC 791) and IPv6 (RFC 8200 section 5).
const LEAST: [u16; 2] = [68, 1280];

impl Router {
    /// The MTU that the way behind a tunnel's headers leaves, given that of its interface.
    pub(crate) fn mtu_in_chain(&self, hop: &Hop, link: Link, own: u16) -> u16 {
        let Some((far_end, is_whole)) = outer(&hop.header) else { return own };
        let known = self.path_mtu_to(TableIndex(hop.fib), far_end);
        let link_mtu = if is_whole { self.least_mtu(hop.stacked, DEPTH) } else { None };
        let Some(path) = known.into_iter().chain(link_mtu).min() else { return own };
        let least = LEAST[usize::from(link == Link::Ip6)].min(own);
        own.min(path.saturating_sub(hop.header.len() as u16)).max(least)
    }
    /// The least MTU of the adjacencies that a load balance leads to.
    fn least_mtu(&self, balance: u32, depth: usize) -> Option<u16> {
        let next = depth.checked_sub(1)?;
        let balance = self.fib.balances.at(balance);
        let mtu = |via: &Via| match *via {
            Via::Adjacency(a) | Via::Midchain(a) | Via::Glean(a) => {
                self.adjacencies.at(a).map(|a| a.mtu)
            }
            Via::LoadBalance(to) => self.least_mtu(to, next),
            _ => None,
        };
        balance.buckets().iter().filter_map(mtu).min()
    }
    /// Updates the MTUs of tunnels that are stacked on path lists, directly or indirectly.
    pub(super) fn follow_mtus(&mut self, lists: &[u32]) {
        let chains = lists.iter().flat_map(|list| self.fib.lists.at(*list).chains.iter().copied());
        let chains: Vec<AdjacencyIndex> = chains.collect();
        // A tunnel in another one may come before it.
        for _ in 0..DEPTH {
            let changed = chains.iter().filter(|chain| self.refresh_mtu(**chain)).count();
            if changed == 0 {
                break;
            }
        }
    }
    /// Updates the MTU of tunnels whose packets leave by an interface.
    pub(crate) fn follow_mtu_over(&mut self, interface: crate::interface::InterfaceIndex) {
        let lists = self.upstream(self.fib.lists.over(interface));
        self.follow_mtus(&lists);
    }
    /// Updates the path MTU of tunnels to a remote address.
    pub(crate) fn follow_path_mtu(&mut self, far_end: IpAddr) {
        let is_there = |hop: &Hop| outer(&hop.header).is_some_and(|(addr, _)| addr == far_end);
        let all = self.adjacencies.iter().filter(|(_, a)| a.hop.as_deref().is_some_and(is_there));
        let all: Vec<_> = all.map(|(index, _)| index).collect();
        for chain in all {
            let on = self.adjacencies.at(chain).map(|a| a.interface);
            if self.refresh_mtu(chain)
                && let Some(on) = on
            {
                self.follow_mtu_over(on);
            }
        }
    }
}

/// The far end that an outer IP header names, and whether packets behind it must not be cut.
fn outer(header: &[u8]) -> Option<(IpAddr, bool)> {
    match header.first()? >> 4 {
        4 => {
            let (outer, _) = ip4::Header::ref_from_prefix(header).ok()?;
            Some((outer.dst_addr().into(), outer.dont_fragment()))
        }
        6 => Some((ip6::Header::ref_from_prefix(header).ok()?.0.dst_addr().into(), false)),
        _ => None,
    }
}
