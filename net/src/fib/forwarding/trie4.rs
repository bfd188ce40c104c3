//! IPv4 tables: a multibit trie whose root has 8 bits, then 16, and 24 once there are many long
//! prefixes.
//!
//! A table of a few routes touches a few kilobytes. Past [`TINY_NODES`] it takes a root of 256 KB,
//! past [`SMALL_NODES`] one of 64 MB in huge pages, which saves most prefixes one level. Only then
//! does it need nodes in one cache line; until then all of it stays in the cache.

use std::io;
use std::sync::Arc;

use graph::BLOCK;
use infra::cpu::Cpu;
use infra::memory::HugePages;
use infra::rcu::Epoch;
use infra::table::mtrie::{Mtrie, Writer};

use super::lpm::{Full, LpmReader, LpmWriter};

/// Nodes at which a table takes a root of 16 bits.
const TINY_NODES: usize = 64;
/// Nodes at which it takes a root of 24 bits.
const SMALL_NODES: usize = 500;
/// Nodes of 1.3 KB that a large table may have: a hundred thousand full /24s and more. Nodes of 64
/// bytes, of which a /24 with few hosts needs one: all there can be.
const LARGE: (usize, usize) = (1 << 18, 1 << 24);

/// The reading half of a table.
#[derive(Clone, Debug)]
pub enum Trie4 {
    /// A root of 8 bits.
    Tiny(Arc<Mtrie<8>>),
    /// A root of 16 bits.
    Small(Arc<Mtrie<16>>),
    /// A root of 24 bits.
    Large(Arc<Mtrie<24>>),
}

impl LpmReader for Trie4 {
    type Bits = u32;
    #[inline(always)]
    fn fetch(&self, keys: &[u32]) {
        // The other roots are in the cache soon.
        if let Self::Large(trie) = self {
            trie.fetch(keys);
        }
    }
    type Step<'e> = u32;
    #[inline(always)]
    fn start<'e, On: Cpu>(
        &'e self,
        _: On,
        keys: &[u32],
        steps: &mut [u32; BLOCK],
        epoch: Epoch<'e>,
    ) {
        let steps = &mut steps[..keys.len()];
        match self {
            Self::Tiny(trie) => trie.start(keys, steps, epoch),
            Self::Small(trie) => trie.start(keys, steps, epoch),
            Self::Large(trie) => trie.start(keys, steps, epoch),
        }
    }
    #[inline(always)]
    fn finish<On: Cpu>(
        &self,
        _: On,
        keys: &[u32],
        steps: &[u32; BLOCK],
        leaves: &mut [u32; BLOCK],
        epoch: Epoch<'_>,
    ) {
        *leaves = *steps;
        let leaves = &mut leaves[..keys.len()];
        match self {
            Self::Tiny(trie) => trie.finish(keys, leaves, epoch),
            Self::Small(trie) => trie.finish(keys, leaves, epoch),
            Self::Large(trie) => trie.finish(keys, leaves, epoch),
        }
    }
}

/// The one that changes a table.
#[derive(Debug)]
pub enum Trie4Writer {
    Tiny(Writer<8>),
    Small(Writer<16>),
    Large(Writer<24>),
}

/// Runs the same code on any shape.
macro_rules! with {
    ($shape:expr, $writer:ident => $work:expr) => {
        match $shape {
            Trie4Writer::Tiny($writer) => $work,
            Trie4Writer::Small($writer) => $work,
            Trie4Writer::Large($writer) => $work,
        }
    };
}

impl Trie4Writer {
    /// The next larger shape, empty.
    fn larger(&self) -> Option<io::Result<Self>> {
        // Twice what it grows at, for nodes that wait for readers.
        let small = || Mtrie::writer(2 * SMALL_NODES, 0, HugePages::Beyond);
        match self {
            Self::Tiny(_) => Some(small().map(Self::Small)),
            Self::Small(_) => {
                Some(Mtrie::writer(LARGE.0, LARGE.1, HugePages::Advise).map(Self::Large))
            }
            Self::Large(_) => None,
        }
    }
}

impl LpmWriter for Trie4Writer {
    type Bits = u32;
    type LpmReader = Trie4;
    // A full /8 of hosts beside what else a router has.
    const MAX_PREFIXES: usize = (1 << 24) + (1 << 20);
    fn new() -> io::Result<Self> {
        Mtrie::writer(4 * TINY_NODES, 0, HugePages::No).map(Self::Tiny)
    }
    fn reader(&self) -> Trie4 {
        match self {
            Self::Tiny(writer) => Trie4::Tiny(Arc::clone(writer.table())),
            Self::Small(writer) => Trie4::Small(Arc::clone(writer.table())),
            Self::Large(writer) => Trie4::Large(Arc::clone(writer.table())),
        }
    }
    fn fetch(&self, key: u32) {
        with!(self, w => w.fetch(key));
    }
    fn insert(&mut self, key: u32, len: u8, leaf: u32) -> Result<(), Full> {
        with!(self, w => w.insert(key, len, leaf)).map_err(|_| Full)
    }
    fn remove(&mut self, key: u32, len: u8, cover: Option<(u8, u32)>) {
        with!(self, w => w.remove(key, len, cover));
    }
    fn is_outgrown(&self) -> bool {
        match self {
            Self::Tiny(writer) => writer.node_count() > TINY_NODES,
            Self::Small(writer) => writer.node_count() > SMALL_NODES,
            Self::Large(_) => false,
        }
    }
    fn grow(&mut self, all: impl Iterator<Item = (u32, u8, u32)>) -> Result<(), Full> {
        let larger = self.larger().ok_or(Full)?;
        let mut next = larger.map_err(|_| Full)?;
        for (key, len, leaf) in all {
            next.insert(key, len, leaf)?;
        }
        // The old one goes when the last reader has let go of it.
        *self = next;
        Ok(())
    }
    fn memory(&self) -> usize {
        with!(self, w => w.memory())
    }
    fn shape(&self) -> String {
        let levels = match self {
            Self::Tiny(_) => "8-8-8-8",
            Self::Small(_) => "16-8-8",
            Self::Large(_) => "24-8",
        };
        let nodes = with!(self, w => w.node_count());
        format!("{levels}: {nodes} plies, memory usage {} bytes", self.memory())
    }
}
