//! IPv6 tables: the address space cut into ranges that share a leaf, in three levels.
//!
//! A multibit trie would spend several plies of 1.3 KB on each of the scattered /48s that make up
//! the global table: some 480 MB for 220,000 prefixes, by calculation. Ranges take 34 MB with
//! everything that control keeps, and the search as many steps whatever the length of the prefixes.
//! Ranges lie in *blocks* of one cache line, blocks in *chunks*, which a *directory* names by their
//! first address. The first step of a lookup searches directory and head of the chunk and starts to
//! fetch the block; the second reads it after other packets' lookups have run. Heads are fetched by
//! nobody: with 220,000 prefixes most of the 230 clocks a packet are spent waiting, where one route
//! takes 36.
//!
//! A change copies one chunk and publishes the copy in its place; a split or merge makes new chunks
//! and publishes a new directory, while the old chunks stay until no reader can have the old
//! directory. Addresses are compared by their first 64 bits, and by the rest only where those are
//! equal. Beside each range stands the length of the prefix that wrote it, so that a shorter prefix
//! leaves it alone. Leaf 0 means the default leaf, so a change of the default route is one store.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

use infra::cpu::prefetch;
use infra::rcu::{self, Epoch, Reader, Shared, SharedSlab, SlabReader};

use super::family::{Family, Ip6};
use super::finder::{Finder, Full, Keeper};

/// Ranges of a block.
const LINE: usize = 5;
/// Blocks of a chunk: as many as five comparisons tell apart.
const BLOCKS: usize = 32;
/// Most ranges of a chunk.
const ROOM: usize = LINE * BLOCKS;
/// Neighbouring chunks that have no more ranges together become one.
const SPARSE: usize = 48;
/// Chunks that there may be. Prefixes make two ranges each at most, and neighbouring chunks have
/// more than [`SPARSE`] together, so a third is never used, but by chunks that wait for readers.
const MAX_CHUNKS: usize = 1 << 18;

/// A range: where it starts, its leaf, and the length of the prefix it is from.
type Range = (u128, u32, u8);

/// Ranges next to each other: the first halves of their first addresses, ascending, and their
/// leaves.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Block {
    highs: [u64; LINE],
    leaves: [u32; LINE],
    /// Bits of those whose first address has a second half, too, and of those that are not used.
    has_low: u32,
}

impl Block {
    const UNUSED: Self = Self { highs: [u64::MAX; LINE], leaves: [0; LINE], has_low: u32::MAX };
}

/// Ranges next to each other, ascending. What is not used has the greatest address.
#[derive(Debug)]
#[repr(align(64))]
struct Chunk {
    /// The first of each block.
    pivots: [u64; BLOCKS],
    blocks: Box<[Block; BLOCKS]>,
    rest: Box<Rest>,
}

/// What lookups seldom need.
#[derive(Debug)]
struct Rest {
    lows: [u64; ROOM],
    lens: [u8; ROOM],
    count: usize,
}

/// The chunks of a table, by first address; the first starts at 0.
#[derive(Clone, Debug)]
struct Directory {
    highs: Vec<u64>,
    lows: Vec<u64>,
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
    type Hint = Place;
    #[inline(always)]
    fn start(&self, key: u128, epoch: Epoch<'_>) -> Place {
        let directory = self.directory.read(epoch);
        let Some(&slot) = directory.slots.get(directory.place(key)) else {
            return Place::default();
        };
        let Some(chunk) = self.chunks.read(slot, epoch) else { return Place::default() };
        let block = chunk.block(key);
        prefetch(&chunk.blocks[block]);
        Place { slot, block: block as u32 }
    }
    #[inline(always)]
    fn finish(&self, key: u128, place: Place, epoch: Epoch<'_>) -> u32 {
        let leaf = match self.chunks.read(place.slot, epoch) {
            Some(chunk) => chunk.leaf(key, place.block as usize),
            None => 0,
        };
        if leaf == 0 { self.default.load(Relaxed) } else { leaf }
    }
}

/// Where the first step of a lookup found the key to be. A chunk that changes until the second step
/// only makes the answer the one of a moment before, or of the ranges beside: see
/// [`Ranges::finish`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    slot: u32,
    block: u32,
}

#[inline(always)]
fn halves(key: u128) -> (u64, u64) {
    ((key >> 64) as u64, key as u64)
}

impl Directory {
    /// The last chunk that starts at `key` or before.
    #[inline(always)]
    fn place(&self, key: u128) -> usize {
        let (high, low) = halves(key);
        let mut at = self.highs.partition_point(|h| *h <= high).saturating_sub(1);
        while at > 0 && self.highs[at] == high && self.lows[at] > low {
            at = self.earlier(at, key);
        }
        at
    }
    /// Several chunks start with the same 64 bits: those of a network full of hosts.
    #[cold]
    fn earlier(&self, at: usize, key: u128) -> usize {
        let (high, low) = halves(key);
        let start = self.highs[..at].partition_point(|h| *h < high);
        (start + self.lows[start..at].partition_point(|l| *l <= low)).saturating_sub(1)
    }
    fn first(&self, at: usize) -> Option<u128> {
        Some(u128::from(*self.highs.get(at)?) << 64 | u128::from(*self.lows.get(at)?))
    }
}

impl Chunk {
    fn of(ranges: &[Range]) -> Self {
        let mut pivots = [u64::MAX; BLOCKS];
        let mut blocks = Box::new([Block::UNUSED; BLOCKS]);
        let mut rest =
            Box::new(Rest { lows: [u64::MAX; ROOM], lens: [0; ROOM], count: ranges.len() });
        for (i, &(start, leaf, len)) in ranges.iter().enumerate() {
            let (high, low) = halves(start);
            let block = &mut blocks[i / LINE];
            (block.highs[i % LINE], block.leaves[i % LINE]) = (high, leaf);
            if low == 0 {
                block.has_low &= !(1 << (i % LINE));
            }
            (rest.lows[i], rest.lens[i]) = (low, len);
        }
        pivots.iter_mut().zip(blocks.iter()).for_each(|(pivot, block)| *pivot = block.highs[0]);
        Self { pivots, blocks, rest }
    }
    /// The last block that starts at `key` or before, by the first 64 bits.
    #[inline(always)]
    fn block(&self, key: u128) -> usize {
        let high = halves(key).0;
        let mut at = 0;
        for step in [16, 8, 4, 2, 1] {
            if self.pivots[at + step] <= high {
                at += step;
            }
        }
        at
    }
    /// The leaf of the range that `key` is in, which is not before the chunk.
    #[inline(always)]
    fn leaf(&self, key: u128, block: usize) -> u32 {
        let high = halves(key).0;
        let Some(found) = self.blocks.get(block) else { return 0 };
        let count: usize = found.highs.iter().map(|start| usize::from(*start <= high)).sum();
        let at = count.wrapping_sub(1);
        let (Some(start), Some(leaf)) = (found.highs.get(at), found.leaves.get(at)) else {
            return self.leaf_slowly(key);
        };
        let is_further = self.pivots.get(block + 1).is_some_and(|next| *next <= high);
        if is_further || *start == high && found.has_low >> at & 1 != 0 {
            return self.leaf_slowly(key);
        }
        *leaf
    }
    /// Where the first 64 bits do not decide, or the chunk has changed since the block was found.
    #[cold]
    #[inline(never)]
    fn leaf_slowly(&self, key: u128) -> u32 {
        let mut leaf = 0;
        for (start, range_leaf, _) in self.ranges() {
            if start > key {
                break;
            }
            leaf = range_leaf;
        }
        leaf
    }
    fn ranges(&self) -> impl Iterator<Item = Range> {
        (0..self.rest.count).map(|i| {
            let Block { highs, leaves, .. } = &self.blocks[i / LINE];
            let start = u128::from(highs[i % LINE]) << 64 | u128::from(self.rest.lows[i]);
            (start, leaves[i % LINE], self.rest.lens[i])
        })
    }
    /// Its ranges after `change` has rewritten leaf and length of what lies within `first..=last`;
    /// `end` is the last address of the chunk.
    fn rewritten(
        &self,
        (first, last): (u128, u128),
        end: u128,
        change: &impl Fn(u32, u8) -> (u32, u8),
    ) -> Vec<Range> {
        let mut new = Vec::with_capacity(ROOM + 2);
        let mut ranges = self.ranges().peekable();
        while let Some((start, leaf, len)) = ranges.next() {
            let stop = ranges.peek().map_or(end, |next| next.0 - 1);
            if stop < first || last < start {
                push(&mut new, (start, leaf, len));
                continue;
            }
            if start < first {
                push(&mut new, (start, leaf, len));
            }
            let (new_leaf, new_len) = change(leaf, len);
            push(&mut new, (start.max(first), new_leaf, new_len));
            if last < stop {
                push(&mut new, (last + 1, leaf, len));
            }
        }
        new
    }
}

/// Adds a range, unless it says the same as the one before: then that one goes on.
fn push(ranges: &mut Vec<Range>, new: Range) {
    if ranges.last().is_none_or(|last| (last.1, last.2) != (new.1, new.2)) {
        ranges.push(new);
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
    const MAX_PREFIXES: usize = 1 << 21;
    fn new() -> io::Result<Self> {
        let mut chunks = SharedSlab::new(MAX_CHUNKS)?;
        let slot = chunks.insert(Chunk::of(&[(0, 0, 0)]));
        let slot = slot.map_err(|_| io::ErrorKind::OutOfMemory)?;
        let directory = Directory { highs: vec![0], lows: vec![0], slots: vec![slot] };
        let directory = Shared::new(directory);
        Ok(Self { directory, chunks, default: Arc::default(), leaving: VecDeque::new() })
    }
    fn finder(&self) -> Ranges {
        Ranges {
            directory: self.directory.reader(),
            chunks: self.chunks.reader(),
            default: Arc::clone(&self.default),
        }
    }
    fn insert(&mut self, key: u128, len: u8, leaf: u32) -> Result<(), Full> {
        if len == 0 {
            self.default.store(leaf, Release);
            return Ok(());
        }
        self.rewrite(
            key,
            len,
            |old, old_len| {
                if old_len <= len { (leaf, len) } else { (old, old_len) }
            },
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
        let entry = 2 * size_of::<u64>() + size_of::<u32>();
        let chunk = size_of::<Chunk>() + size_of::<[Block; BLOCKS]>() + size_of::<Rest>();
        self.chunks.len() * (chunk + size_of::<usize>() + entry)
    }
}

impl Writer {
    /// Chunks in the directory.
    #[cfg(test)]
    pub fn chunk_count(&self) -> usize {
        self.directory.current().slots.len()
    }
    /// Has `change` rewrite leaf and length of every range within a prefix, chunk by chunk.
    fn rewrite(&mut self, key: u128, len: u8, change: impl Fn(u32, u8) -> (u32, u8)) {
        self.reclaim();
        let within = (Ip6::masked(key, len), Ip6::last(key, len));
        let mut at = self.directory.current().place(within.0);
        while self.directory.current().first(at).is_some_and(|first| first <= within.1) {
            at += self.rewrite_chunk(at, within, &change);
        }
    }
    fn reclaim(&mut self) {
        while self.leaving.front().is_some_and(|(epoch, _)| rcu::passed(*epoch)) {
            let gone = self.leaving.pop_front();
            gone.into_iter().for_each(|(_, slot)| self.chunks.remove(slot));
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
        let end = directory.first(at + 1).map_or(u128::MAX, |next| next - 1);
        let old = self.chunks.at(slot).expect("the directory names chunks that are there");
        let count = old.rest.count;
        let new = old.rewritten(within, end, change);
        if new.len() > ROOM {
            let (left, right) = new.split_at(new.len() / 2);
            self.replace(at, 1, &[left, right]);
            return 2;
        }
        let shrank = new.len() < count;
        self.chunks.replace(slot, Chunk::of(&new));
        if shrank && at > 0 && self.merge(at - 1) {
            return 0;
        }
        1
    }
    /// Joins a chunk with the next one if both are sparse.
    fn merge(&mut self, at: usize) -> bool {
        let slots = &self.directory.current().slots[at..at + 2];
        let mut both = Vec::with_capacity(2 * ROOM);
        for range in slots.iter().filter_map(|slot| self.chunks.at(*slot)).flat_map(Chunk::ranges) {
            push(&mut both, range);
        }
        let is_sparse = both.len() <= SPARSE;
        if is_sparse {
            self.replace(at, 2, &[&both]);
        }
        is_sparse
    }
    /// Puts new chunks in the place of `count` old ones.
    fn replace(&mut self, at: usize, count: usize, new: &[&[Range]]) {
        let mut directory = self.directory.current().clone();
        let slots: Vec<_> = new.iter().map(|ranges| self.add(ranges)).collect();
        let firsts = || new.iter().map(|ranges| halves(ranges[0].0));
        directory.highs.splice(at..at + count, firsts().map(|f| f.0));
        directory.lows.splice(at..at + count, firsts().map(|f| f.1));
        let gone: Vec<_> = directory.slots.splice(at..at + count, slots).collect();
        self.directory.publish(directory);
        let epoch = rcu::end_epoch();
        self.leaving.extend(gone.into_iter().map(|slot| (epoch, slot)));
    }
    /// A new chunk. Waits for readers when the ones they may be in are all that is left.
    fn add(&mut self, ranges: &[Range]) -> u32 {
        let mut chunk = Chunk::of(ranges);
        loop {
            match self.chunks.insert(chunk) {
                Ok(slot) => return slot,
                Err(back) => chunk = back,
            }
            std::thread::sleep(Duration::from_micros(50));
            self.reclaim();
        }
    }
}
