//! Blocks of frames on the fast path: their addresses, and what is known of them.

use graph::BLOCK;
use infra::table::exact::View;
use net::prelude::*;

use super::fib::{self, Entry};

/// Keys of source and destination of a frame; 0 for one that goes node by node.
pub type Keys = [u64; 2];

/// Keys of a block of frames.
#[derive(Clone, Copy)]
pub struct Block {
    /// Whether all of them have keys.
    pub have_keys: bool,
    /// Flags that any of them has.
    pub flags: Flags,
    /// All of them.
    pub volume: Volume,
    pub sources: Lookups,
    pub destinations: Lookups,
    /// The port of all of them, when they have one.
    pub port: Option<u32>,
    /// Whether they have one source.
    pub has_one_source: bool,
}

impl Block {
    pub const EMPTY: Self = Self {
        have_keys: false,
        flags: Flags(0),
        volume: Volume { packets: 0, bytes: 0 },
        sources: Lookups::NONE,
        destinations: Lookups::NONE,
        port: None,
        has_one_source: false,
    };

    /// Whether all of them come from one host, by one port.
    #[inline(always)]
    pub fn is_from_one_host(&self) -> bool {
        self.has_one_source && self.port.is_some()
    }
}

/// Lookups of the addresses of a block of frames: those of sources, or of destinations.
#[derive(Clone, Copy)]
pub struct Lookups {
    pub keys: [u64; BLOCK],
    /// Buckets of the keys.
    pub buckets: [u32; BLOCK],
    /// Entries that were found.
    pub entries: [u64; BLOCK],
}

impl Lookups {
    pub const NONE: Self = Self { keys: [0; BLOCK], buckets: [0; BLOCK], entries: [0; BLOCK] };

    /// Asks for what is known of the first ones.
    #[inline(always)]
    pub fn fetch(&mut self, len: usize, view: View<'_>) {
        view.fetch_all(&self.keys[..len], &mut self.buckets[..len]);
    }
    /// Looks the first ones up.
    #[inline(always)]
    pub fn find(&mut self, len: usize, view: View<'_>) {
        let keys = (&self.keys[..len], &self.buckets[..len]);
        view.find_all(keys, &mut self.entries[..len]);
    }
    /// The egress of the first entries, if all agree.
    #[inline(always)]
    pub fn one_egress(&self, len: usize) -> Option<Entry> {
        let entries = &self.entries[..len];
        let first = *entries.first()?;
        let differ = entries.iter().fold(0, |bits, entry| bits | (entry ^ first));
        Entry(differ).is_same_egress().then_some(Entry(first))
    }
}

/// The first fourteen bytes of a frame: its addresses, destination first, and what follows them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Head(u64, u64);

impl Head {
    /// Bits that are alike in all unicast frames.
    pub const UNICAST: Self = Self(1, 0);
    /// Bits that are alike in all frames of a protocol between two hosts.
    pub const BOTH: Self = Self(u64::MAX, u64::MAX >> 16);

    /// Bits of the source.
    pub const SOURCE: Self = Self(u64::MAX << 48, u64::MAX >> 32);
    /// Bits of the protocol.
    pub const PROTOCOL: Self = Self(0, 0xffff << 32);
    /// No bits.
    pub const NOTHING: Self = Self(0, 0);
    /// Of none: for several.
    pub const NONE: Self = Self(1, 0);

    /// Of a frame; `None` when it is cut off.
    #[inline(always)]
    pub fn of(p: &Buffer<'_>) -> Option<Self> {
        let (first, rest) = p.bytes().first_chunk::<16>()?.split_first_chunk::<8>()?;
        Some(Self(u64::from_le_bytes(*first), u64::from_le_bytes(*rest.first_chunk()?)))
    }
    #[inline(always)]
    pub fn and(self, mask: Self) -> Self {
        Self(self.0 & mask.0, self.1 & mask.1)
    }
    /// Bits in which another one differs from it.
    #[inline(always)]
    pub fn differs(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
    #[inline(always)]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1 | other.1)
    }
    /// Whether any of the bits of another one are set in it.
    #[inline(always)]
    pub fn has(self, mask: Self) -> bool {
        self.and(mask) != Self::NOTHING
    }
    #[inline(always)]
    pub fn is_multicast(self) -> bool {
        self.0 & 1 != 0
    }
    /// Whether a VLAN tag follows the addresses.
    #[inline(always)]
    pub fn is_tagged(self) -> bool {
        EtherType::new(((self.1 >> 32) as u16).swap_bytes()).is_vlan()
    }
    /// The key of the source in a domain.
    #[inline(always)]
    pub fn source(self, domain: u16) -> u64 {
        fib::key(domain, self.0 >> 48 | (self.1 & u64::from(u32::MAX)) << 16)
    }
    /// The key of the destination in a domain.
    #[inline(always)]
    pub fn destination(self, domain: u16) -> u64 {
        fib::key(domain, self.0)
    }
    /// Keys of both in a domain.
    #[inline(always)]
    pub fn keys(self, domain: u16) -> Keys {
        [self.source(domain), self.destination(domain)]
    }
}
