//! Peers with half-open connections, counted and then denied, each with an expiry time.

use net::prelude::*;

/// Limit of peers.
pub const MOST: usize = 1 << 16;

/// A peer: an address in a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// Routing table.
    pub table: TableIndex,
    /// Address.
    pub addr: IpAddr,
}

/// State of a peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Number of half-open connections.
    pub count: u32,
    /// Whether it is denied.
    pub is_denied: bool,
    /// Expiry time on the router's clock.
    pub until: f64,
}

/// All peers.
#[derive(Debug, Default)]
pub(super) struct Peers {
    all: BTreeMap<Peer, State>,
    /// Peers in the order of their expiry, with the time in microseconds.
    expiring: BTreeSet<(u64, Peer)>,
}

fn micros(time: f64) -> u64 {
    (time * 1e6) as u64
}

impl Peers {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (Peer, State)> {
        self.all.iter().map(|(peer, state)| (*peer, *state))
    }
    /// Counts a half-open connection until the given time; returns whether the peer is to be denied
    /// now.
    pub(super) fn count(&mut self, peer: Peer, threshold: u32, until: f64) -> bool {
        if self.all.len() >= MOST && !self.all.contains_key(&peer) {
            return false;
        }
        let new = State { count: 0, is_denied: false, until };
        let state = self.all.entry(peer).or_insert(new);
        state.count += 1;
        if state.is_denied {
            return false;
        }
        self.expiring.remove(&(micros(state.until), peer));
        state.until = until;
        self.expiring.insert((micros(until), peer));
        state.is_denied = state.count >= threshold;
        state.is_denied
    }
    /// Removes expired peers, and returns the denied ones among them.
    pub(super) fn expire(&mut self, now: f64) -> Vec<Peer> {
        let left = self.expiring.split_off(&(micros(now) + 1, FIRST));
        let expired = std::mem::replace(&mut self.expiring, left);
        let gone = expired.into_iter().filter_map(|(_, peer)| {
            let state = self.all.remove(&peer)?;
            state.is_denied.then_some(peer)
        });
        gone.collect()
    }
    /// Removes all peers, and returns the denied ones.
    pub(super) fn clear(&mut self) -> Vec<Peer> {
        self.expiring.clear();
        let all = std::mem::take(&mut self.all).into_iter();
        all.filter(|(_, state)| state.is_denied).map(|(peer, _)| peer).collect()
    }
}

/// Sorts before all peers.
const FIRST: Peer =
    Peer { table: TableIndex(0), addr: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED) };
