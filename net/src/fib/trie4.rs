//! IPv4 tables: a multibit trie with a root of 16 bits, and of 24 once there are many long
//! prefixes.
//!
//! A small table touches a few kilobytes. Past [`SMALL_PLIES`] it moves to huge pages, past
//! [`MEDIUM_PLIES`] to a root of 64 MB, which saves most prefixes one level of plies.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use infra::cpu::Cpu;
use infra::memory::HugePages;
use infra::rcu::{self, Epoch};
use infra::table::mtrie::{Mtrie, PlyIndex, Writer};

use super::finder::{Finder, Full, Keeper};

/// Plies of a small table at which it moves to huge pages.
const SMALL_PLIES: usize = 500;
/// Plies at which it takes a root of 24 bits.
const MEDIUM_PLIES: usize = 10_000;
/// Plies that a large table may have: 2.7 GB.
const LARGE_PLIES: usize = 1 << 21;
/// How long an insertion waits for plies that readers may still be in.
const PATIENCE: Duration = Duration::from_millis(20);

/// What readers see of a table.
#[derive(Clone, Debug)]
pub enum Trie4 {
    /// A root of 16 bits.
    Small(Arc<Mtrie<16, u32>>),
    /// A root of 24 bits.
    Large(Arc<Mtrie<24, u32>>),
}

impl Finder for Trie4 {
    type Bits = u32;
    #[inline(always)]
    fn find<On: Cpu>(&self, _: On, keys: &[u32], leaves: &mut [u32], _: Epoch<'_>) {
        match self {
            Self::Small(trie) => trie.find(keys, leaves),
            Self::Large(trie) => trie.find(keys, leaves),
        }
    }
}

/// The one that changes a table.
#[derive(Debug)]
pub struct Keeper4 {
    shape: Shape,
    /// Plies at which the next shape is better.
    limit: usize,
    /// Plies that readers may still be in, with the epoch whose end frees them.
    leaving: VecDeque<(u64, Vec<PlyIndex>)>,
}

#[derive(Debug)]
enum Shape {
    Small(Writer<16, u32>),
    Large(Writer<24, u32>),
}

/// Runs the same code on either shape.
macro_rules! with {
    ($shape:expr, $writer:ident => $work:expr) => {
        match $shape {
            Shape::Small($writer) => $work,
            Shape::Large($writer) => $work,
        }
    };
}

impl Shape {
    /// Somewhat more than the limit, for plies that wait for readers.
    fn small(plies: usize, pages: HugePages) -> io::Result<Self> {
        Mtrie::writer(plies * 5 / 4, pages).map(Self::Small)
    }
    fn large() -> io::Result<Self> {
        Mtrie::writer(LARGE_PLIES, HugePages::Advise).map(Self::Large)
    }
}

impl Keeper4 {
    /// Makes plies usable again that no reader can be in any more.
    fn reclaim(&mut self) {
        while self.leaving.front().is_some_and(|(epoch, _)| rcu::passed(*epoch)) {
            let (_, plies) = self.leaving.pop_front().unwrap_or_default();
            with!(&mut self.shape, w => plies.into_iter().for_each(|ply| w.reclaim(ply)));
        }
    }
}

impl Keeper for Keeper4 {
    type Bits = u32;
    type Finder = Trie4;
    const MAX_PREFIXES: usize = 1 << 24;
    fn new() -> io::Result<Self> {
        let shape = Shape::small(SMALL_PLIES, HugePages::No)?;
        Ok(Self { shape, limit: SMALL_PLIES, leaving: VecDeque::new() })
    }
    fn finder(&self) -> Trie4 {
        match &self.shape {
            Shape::Small(writer) => Trie4::Small(Arc::clone(writer.table())),
            Shape::Large(writer) => Trie4::Large(Arc::clone(writer.table())),
        }
    }
    fn insert(&mut self, key: u32, len: u8, leaf: u32) -> Result<(), Full> {
        self.reclaim();
        let mut waited = Duration::ZERO;
        while with!(&mut self.shape, w => w.insert(key, len, leaf)).is_err() {
            if self.leaving.is_empty() || waited > PATIENCE {
                return Err(Full);
            }
            std::thread::sleep(Duration::from_micros(100));
            waited += Duration::from_micros(100);
            self.reclaim();
        }
        Ok(())
    }
    fn remove(&mut self, key: u32, len: u8, cover: Option<(u8, u32)>) {
        let garbage = with!(&mut self.shape, w => {
            w.remove(key, len, cover);
            w.take_garbage()
        });
        if !garbage.is_empty() {
            self.leaving.push_back((rcu::end_epoch(), garbage));
            self.reclaim();
        }
    }
    fn is_outgrown(&self) -> bool {
        with!(&self.shape, w => w.ply_count() > self.limit)
    }
    fn grow(&mut self, all: impl Iterator<Item = (u32, u8, u32)>) -> Result<(), Full> {
        let (next, limit) = match self.limit {
            SMALL_PLIES => (Shape::small(MEDIUM_PLIES, HugePages::Advise), MEDIUM_PLIES),
            MEDIUM_PLIES => (Shape::large(), LARGE_PLIES),
            _ => return Err(Full),
        };
        let mut next = next.map_err(|_| Full)?;
        for (key, len, leaf) in all {
            with!(&mut next, w => w.insert(key, len, leaf)).map_err(|_| Full)?;
        }
        // The old one's plies are freed with it, when the last reader has let go of it.
        self.leaving.clear();
        (self.shape, self.limit) = (next, limit);
        Ok(())
    }
    fn memory(&self) -> usize {
        with!(&self.shape, w => w.memory())
    }
}
