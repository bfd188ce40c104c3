//! IPv6 tables: the address space cut into ranges that share a leaf, in two levels.
//!
//! A multibit trie spends several plies of 1.3 KB on each of the scattered /48s that make up the global
//! table (480 MB for 220,000), a list of ranges some forty bytes, and it is searched in as many steps
//! whatever the length of the prefixes. Ranges lie in *chunks* of at most 256; a *directory* names the
//! chunks by their first address. A change copies one chunk and publishes the copy in its place; a split
//! or merge makes new chunks and publishes a new directory, while the old chunks stay until no reader
//! can have the old directory.
//!
//! Beside each range stands the length of the prefix that wrote it, so that a shorter prefix leaves it
//! alone. Leaf 0 means the default leaf, so a change of the default route is one store.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::Release};

use infra::rcu::{self, Epoch, Reader, Shared, SharedSlab, SlabReader};

use super::family::{Family, Ip6};
use super::finder::{Finder, Full, Keeper};

/// Most ranges of a chunk.
const ROOM: usize = 256;
/// Neighbouring chunks that have no more ranges together become one.
const SPARSE: usize = 96;
/// Chunks that there may be, half of them in use: 700 MB.
const MAX_CHUNKS: usize = 1 << 18;

/// Ranges next to each other: where each starts, its leaf, and the length of the prefix it is from.
#[derive(Clone, Debug, Default)]
struct Chunk {
    starts: Vec<u128>,
    leaves: Vec<u32>,
    lens: Vec<u8>,
}

/// The chunks of a table, by first address; the first starts at 0.
#[derive(Clone, Debug)]
struct Directory {
    firsts: Vec<u128>,
    slots: Vec<u32>,
}

/// What readers see of a table.
#[derive(Clone, Debug)]
pub struct Ranges {
    directory: Reader<Directory>,
    chunks: SlabReader<Chunk>,
    default: Arc<AtomicU32>,
}

impl Finder for Ranges {
    type Bits = u128;
    #[inline(always)]
    fn lookup(&self, key: u128, epoch: Epoch<'_>) -> u32 {
        let directory = self.directory.read(epoch);
        let slot = directory.slots.get(last_at_most(&directory.firsts, key));
        let chunk = slot.and_then(|slot| self.chunks.read(*slot, epoch));
        let leaf = chunk.and_then(|c| c.leaves.get(last_at_most(&c.starts, key)));
        match leaf {
            Some(&leaf) if leaf != 0 => leaf,
            _ => self.default.load(Relaxed),
        }
    }
    #[inline(always)]
    fn prefetch(&self, _: u128) {}
}

/// Position of the last of the ascending `starts` that is at most `key`; the first one always is.
#[inline(always)]
fn last_at_most(starts: &[u128], key: u128) -> usize {
    starts.partition_point(|s| *s <= key).wrapping_sub(1)
}

impl Chunk {
    fn push(&mut self, start: u128, leaf: u32, len: u8) {
        // A range that says the same as the one before is part of it.
        if (self.leaves.last(), self.lens.last()) == (Some(&leaf), Some(&len)) {
            return;
        }
        self.starts.push(start);
        self.leaves.push(leaf);
        self.lens.push(len);
    }
    fn ranges(&self) -> impl Iterator<Item = (u128, u32, u8)> {
        self.starts
            .iter()
            .zip(&self.leaves)
            .zip(&self.lens)
            .map(|((s, leaf), len)| (*s, *leaf, *len))
    }
    /// A copy in which `change` has rewritten what lies within `first..=last`; `end` is the last address
    /// of the chunk.
    fn rewritten(
        &self,
        (first, last): (u128, u128),
        end: u128,
        change: &impl Fn(u32, u8) -> (u32, u8),
    ) -> Self {
        let room = self.starts.len() + 2;
        let mut new = Self {
            starts: Vec::with_capacity(room),
            leaves: Vec::with_capacity(room),
            lens: Vec::with_capacity(room),
        };
        for (i, (start, leaf, len)) in self.ranges().enumerate() {
            let stop = self.starts.get(i + 1).map_or(end, |next| next - 1);
            if stop < first || last < start {
                new.push(start, leaf, len);
                continue;
            }
            if start < first {
                new.push(start, leaf, len);
            }
            let (new_leaf, new_len) = change(leaf, len);
            new.push(start.max(first), new_leaf, new_len);
            if last < stop {
                new.push(last + 1, leaf, len);
            }
        }
        new
    }
    fn split(mut self) -> [Self; 2] {
        let half = self.starts.len() / 2;
        let upper = Self {
            starts: self.starts.split_off(half),
            leaves: self.leaves.split_off(half),
            lens: self.lens.split_off(half),
        };
        [self, upper]
    }
}

/// The one that changes a table.
#[derive(Debug)]
pub struct Writer {
    directory: Shared<Directory>,
    chunks: SharedSlab<Chunk>,
    default: Arc<AtomicU32>,
    /// Chunks that readers of an older directory may still look for.
    leaving: VecDeque<(u64, u32)>,
}

impl Keeper for Writer {
    type Bits = u128;
    type Finder = Ranges;
    fn new() -> io::Result<Self> {
        let mut chunks = SharedSlab::new(MAX_CHUNKS)?;
        let mut all = Chunk::default();
        all.push(0, 0, 0);
        let slot = chunks.insert(all).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let directory = Shared::new(Directory { firsts: vec![0], slots: vec![slot] });
        Ok(Self { directory, chunks, default: Arc::default(), leaving: VecDeque::new() })
    }
    fn finder(&self) -> Ranges {
        Ranges {
            directory: self.directory.reader(),
            chunks: self.chunks.reader(),
            default: Arc::clone(&self.default),
        }
    }
    fn has_room(&self) -> bool {
        self.directory.current().slots.len() < MAX_CHUNKS / 2
    }
    fn insert(&mut self, key: u128, len: u8, leaf: u32) -> Result<(), Full> {
        if len == 0 {
            self.default.store(leaf, Release);
            return Ok(());
        }
        self.rewrite(
            key,
            len,
            |old, old_len| if old_len <= len { (leaf, len) } else { (old, old_len) },
        );
        Ok(())
    }
    fn remove(&mut self, key: u128, len: u8, cover: Option<(u8, u32)>) {
        if len == 0 {
            self.default.store(0, Release);
            return;
        }
        let (up_len, up_leaf) = cover.filter(|c| c.0 > 0).unwrap_or((0, 0));
        self.rewrite(
            key,
            len,
            |old, old_len| {
                if old_len == len { (up_leaf, up_len) } else { (old, old_len) }
            },
        );
    }
    fn memory(&self) -> usize {
        let each = size_of::<u128>() + size_of::<u32>() + size_of::<u8>();
        let ranges: usize = self.chunks.iter().map(|(_, c)| c.starts.capacity()).sum();
        ranges * each + self.chunks.len() * (size_of::<Chunk>() + 3 * size_of::<u128>())
    }
}

impl Writer {
    /// Has `change` rewrite leaf and length of every range within a prefix, chunk by chunk.
    fn rewrite(&mut self, key: u128, len: u8, change: impl Fn(u32, u8) -> (u32, u8)) {
        while self.leaving.front().is_some_and(|(epoch, _)| rcu::passed(*epoch)) {
            let gone = self.leaving.pop_front();
            gone.into_iter().for_each(|(_, slot)| self.chunks.remove(slot));
        }
        let within = (Ip6::masked(key, len), Ip6::last(key, len));
        let mut at = last_at_most(&self.directory.current().firsts, within.0);
        while let Some(&first) = self.directory.current().firsts.get(at)
            && first <= within.1
        {
            at += self.rewrite_chunk(at, within, &change);
        }
    }
    /// Does so in one chunk; returns how many chunks stand there now.
    fn rewrite_chunk(
        &mut self,
        at: usize,
        within: (u128, u128),
        change: &impl Fn(u32, u8) -> (u32, u8),
    ) -> usize {
        let directory = self.directory.current();
        let slot = directory.slots[at];
        let end = directory.firsts.get(at + 1).map_or(u128::MAX, |next| next - 1);
        let Some(old) = self.chunks.at(slot) else { return 1 };
        let shrank = old.starts.len();
        let new = old.rewritten(within, end, change);
        if new.starts.len() > ROOM && self.chunks.len() + 2 <= MAX_CHUNKS {
            self.replace(at, 1, new.split().into());
            return 2;
        }
        let shrank = new.starts.len() < shrank;
        self.chunks.replace(slot, new);
        if shrank && at > 0 && self.merge(at - 1) {
            return 0;
        }
        1
    }
    /// Joins a chunk with the next one if both are sparse.
    fn merge(&mut self, at: usize) -> bool {
        let slots = &self.directory.current().slots[at..at + 2];
        let [Some(left), Some(right)] = [slots[0], slots[1]].map(|s| self.chunks.at(s)) else {
            return false;
        };
        let together = left.starts.len() + right.starts.len();
        if together > SPARSE || self.chunks.len() == MAX_CHUNKS {
            return false;
        }
        let mut both = left.clone();
        right.ranges().for_each(|(start, leaf, len)| both.push(start, leaf, len));
        self.replace(at, 2, vec![both]);
        true
    }
    /// Puts new chunks in the place of `count` old ones.
    fn replace(&mut self, at: usize, count: usize, new: Vec<Chunk>) {
        let mut directory = self.directory.current().clone();
        let firsts: Vec<_> = new.iter().map(|c| c.starts[0]).collect();
        let slots: Vec<_> = new.into_iter().filter_map(|c| self.chunks.insert(c).ok()).collect();
        assert_eq!(firsts.len(), slots.len(), "the caller has made sure of room");
        directory.firsts.splice(at..at + count, firsts);
        let gone: Vec<_> = directory.slots.splice(at..at + count, slots).collect();
        self.directory.publish(directory);
        let epoch = rcu::end_epoch();
        self.leaving.extend(gone.into_iter().map(|slot| (epoch, slot)));
    }
}
