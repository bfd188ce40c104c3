//! IPv6 tables: the address space cut into ranges that share a leaf, in two levels.
//!
//! A multibit trie spends several plies of 1.3 KB on each of the scattered /48s that make up the global
//! table (480 MB for 220,000 prefixes); a list of ranges takes some eighty bytes for each, and its search
//! as many steps whatever the length of the prefixes. Ranges lie in *chunks* of at most 128, which a
//! *directory* names by their first address. A change copies one chunk and publishes the copy in its
//! place; a split or merge makes new chunks and publishes a new directory, while the old chunks stay until
//! no reader can have the old directory.
//!
//! Addresses are compared by their first 64 bits, eight to a cache line, and by the rest only where those
//! are equal. Beside each range stands the length of the prefix that wrote it, so that a shorter prefix
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

/// First halves of addresses in a cache line.
const LINE: usize = 8;
/// Most ranges of a chunk.
const ROOM: usize = 128;
/// Neighbouring chunks that have no more ranges together become one.
const SPARSE: usize = 48;
/// Chunks that there may be. Prefixes make two ranges each at most, and neighbouring chunks have more than
/// [`SPARSE`] together, so a third is never used, but by chunks that wait for readers.
const MAX_CHUNKS: usize = 1 << 18;

/// A range: where it starts, its leaf, and the length of the prefix it is from.
type Range = (u128, u32, u8);

/// Ranges next to each other, ascending. What is not used has the greatest address.
#[derive(Debug)]
#[repr(align(64))]
struct Chunk {
    /// Every eighth of `highs`.
    pivots: [u64; ROOM / LINE],
    highs: [u64; ROOM],
    lows: [u64; ROOM],
    leaves: [u32; ROOM],
    lens: [u8; ROOM],
    count: u8,
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
    /// Slot of the chunk.
    type Hint = u32;
    #[inline(always)]
    fn start(&self, key: u128, epoch: Epoch<'_>) -> u32 {
        let directory = self.directory.read(epoch);
        let slot = directory.slots.get(directory.place(key)).copied().unwrap_or(u32::MAX);
        if let Some(chunk) = self.chunks.read(slot, epoch) {
            prefetch(&chunk.pivots[0]);
            prefetch(&chunk.pivots[LINE]);
        }
        slot
    }
    #[inline(always)]
    fn finish(&self, key: u128, slot: u32, epoch: Epoch<'_>) -> u32 {
        match self.chunks.read(slot, epoch).map_or(0, |chunk| chunk.leaf(key)) {
            0 => self.default.load(Relaxed),
            leaf => leaf,
        }
    }
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
        let mut new = Self {
            pivots: [u64::MAX; ROOM / LINE],
            highs: [u64::MAX; ROOM],
            lows: [u64::MAX; ROOM],
            leaves: [0; ROOM],
            lens: [0; ROOM],
            count: ranges.len() as u8,
        };
        for (i, &(start, leaf, len)) in ranges.iter().enumerate() {
            (new.highs[i], new.lows[i]) = halves(start);
            (new.leaves[i], new.lens[i]) = (leaf, len);
        }
        for (pivot, line) in new.pivots.iter_mut().zip(new.highs.chunks(LINE)) {
            *pivot = line[0];
        }
        new
    }
    /// The leaf of the range that `key` is in, which is not before the chunk.
    #[inline(always)]
    fn leaf(&self, key: u128) -> u32 {
        let (high, low) = halves(key);
        let lines = self.pivots.iter().map(|p| usize::from(*p <= high)).sum::<usize>();
        let line = lines.saturating_sub(1) % (ROOM / LINE) * LINE;
        let within: usize =
            self.highs[line..line + LINE].iter().map(|h| usize::from(*h <= high)).sum();
        let at = (line + within).saturating_sub(1);
        if self.highs[at] == high && (self.lows[at] > low || at >= usize::from(self.count)) {
            return self.leaf_before(at, key);
        }
        self.leaves[at]
    }
    /// Looks through those that start with the same 64 bits.
    #[cold]
    fn leaf_before(&self, at: usize, key: u128) -> u32 {
        let ranges = self.highs[..=at].iter().zip(&self.lows[..=at]).zip(&self.leaves[..=at]);
        let used = ranges.take(self.count.into());
        let found = used.rev().find(|((high, low), _)| (**high, **low) <= halves(key));
        found.map_or(0, |(_, leaf)| *leaf)
    }
    fn ranges(&self) -> impl Iterator<Item = Range> {
        (0..usize::from(self.count)).map(|i| {
            let start = u128::from(self.highs[i]) << 64 | u128::from(self.lows[i]);
            (start, self.leaves[i], self.lens[i])
        })
    }
    /// Its ranges after `change` has rewritten leaf and length of what lies within `first..=last`; `end` is
    /// the last address of the chunk.
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
        self.chunks.len() * (size_of::<Chunk>() + size_of::<usize>() + entry)
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
        let count = usize::from(old.count);
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
