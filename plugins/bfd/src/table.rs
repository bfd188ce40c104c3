//! Sessions as nodes find them.

use std::hash::{BuildHasher, RandomState};

use net::prelude::*;

use super::keys::Authentication;

/// The name of a session: what its packets have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The interface; `None` for several hops.
    pub interface: Option<InterfaceIndex>,
    /// This end.
    pub local: IpAddr,
    /// Peer.
    pub peer: IpAddr,
}

impl Key {
    /// Whether the path has several hops.
    pub fn is_multihop(&self) -> bool {
        self.interface.is_none()
    }
}

/// A session.
#[derive(Clone)]
pub struct Entry {
    /// Its number, also the place of its counters.
    pub index: u32,
    /// Name.
    pub key: Key,
    /// Whether it is held down.
    pub is_admin_down: bool,
    /// Authentication of its packets; `None` for none.
    pub authentication: Option<Authentication>,
    /// The one that is to follow when the other end uses it.
    pub next: Option<Option<Authentication>>,
    /// Makes echo packets its own.
    pub echo: EchoKey,
}

/// A secret that no other router has: who sends an echo packet can tell that it is its own.
#[derive(Clone, Default)]
pub struct EchoKey(RandomState);

impl EchoKey {
    /// The checksum of an echo packet.
    pub fn checksum(&self, discriminator: u32, expires: u64) -> u64 {
        self.0.hash_one((discriminator, expires))
    }
}

/// All sessions.
#[derive(Clone, Default)]
pub struct Table {
    /// By this end's discriminator.
    pub by_discriminator: HashMap<u32, Entry>,
    /// Discriminators by name.
    pub by_key: HashMap<Key, u32>,
    /// Least TTL of packets of several hops.
    pub least_ttl: u8,
}
