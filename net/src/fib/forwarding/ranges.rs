//! IPv6 tables: the address space cut into ranges that share a leaf.
//!
//! A tree of [spans](infra::table::spans) over the first 64 bits of an address decides nearly all
//! lookups: what the Internet routes is no longer than a /64 ends. Where longer prefixes begin with
//! the same 64 bits (hosts, that is, such as every known neighbour), the leaf of this one /64 is a
//! *fork*: spans over the other 64 bits, one line for up to eight of them, a tree of their own for
//! more.
//!
//! Beside each span stands the length of the prefix that wrote it, so that a shorter prefix leaves
//! it alone. Leaf 0 means the default leaf, so a change of the default route is one store.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::Release};

use graph::BLOCK;
use infra::cpu::Cpu;
use infra::rcu::{Epoch, SharedSlab, SlabReader};
use infra::table::spans::{self, Few, Row, Span, Spans, Store};

use super::lpm::{Full, LpmReader, LpmWriter};
use crate::fib::family::{Family, Ip6};

/// Mark of a leaf that is the number of a fork.
const FORK: u32 = 1 << 31;
/// Most forks of a table.
const MAX_FORKS: usize = 1 << 20;
/// Most segments of a table. Prefixes make two spans each at most; a segment has room for 567, for
/// 162 where all are single numbers far apart.
const MAX_SEGMENTS: usize = 1 << 16;

/// The reading half of a table.
#[derive(Clone, Debug)]
pub struct Ranges {
    spans: Spans,
    forks: SlabReader<Fork>,
    default: Arc<AtomicU32>,
}

/// Second halves of addresses behind one first half, and their leaves.
#[derive(Debug)]
enum Fork {
    /// A few spans.
    Few(Few),
    /// More.
    Many(Spans),
}

impl LpmReader for Ranges {
    type Bits = u128;
    type Step<'e> = Option<&'e Row>;
    #[inline(always)]
    fn start<'e, On: Cpu>(
        &'e self,
        cpu: On,
        keys: &[u128],
        steps: &mut [Option<&'e Row>; BLOCK],
        epoch: Epoch<'e>,
    ) {
        let mut highs = [0; BLOCK];
        let highs = &mut highs[..keys.len()];
        highs.iter_mut().zip(keys).for_each(|(high, key)| *high = halves(*key).0);
        self.spans.rows(cpu, highs, steps, epoch);
    }
    #[inline(always)]
    fn finish<On: Cpu>(
        &self,
        cpu: On,
        keys: &[u128],
        steps: &[Option<&Row>; BLOCK],
        leaves: &mut [u32; BLOCK],
        epoch: Epoch<'_>,
    ) {
        let (leaves, mut all) = (&mut leaves[..keys.len()], 0);
        for ((leaf, key), row) in leaves.iter_mut().zip(keys).zip(steps) {
            *leaf = spans::leaf_of(cpu, *row, halves(*key).0);
            all |= *leaf;
        }
        if all & FORK != 0 {
            self.follow_forks(cpu, keys, leaves, epoch);
        }
        let default = self.default.load(Relaxed);
        leaves.iter_mut().filter(|leaf| **leaf == 0).for_each(|leaf| *leaf = default);
    }
}

impl Ranges {
    /// Goes on where the first halves of addresses do not decide.
    #[inline(always)]
    fn follow_forks<On: Cpu>(&self, cpu: On, keys: &[u128], leaves: &mut [u32], epoch: Epoch<'_>) {
        let (mut lows, mut found) = ([0; BLOCK], [0; BLOCK]);
        // Spans of a fork are never forks, so each packet is met once.
        for at in 0..leaves.len() {
            let fork = leaves[at];
            if fork & FORK == 0 {
                continue;
            }
            let spans = match self.forks.read(fork & !FORK, epoch) {
                Some(Fork::Many(spans)) => spans,
                Some(Fork::Few(few)) => {
                    leaves[at] = few.leaf(cpu, halves(keys[at]).1);
                    continue;
                }
                None => {
                    leaves[at] = 0;
                    continue;
                }
            };
            // All packets behind this fork at once.
            let mut count = 0;
            for (key, _) in keys.iter().zip(leaves.iter()).filter(|(_, leaf)| **leaf == fork) {
                lows[count] = halves(*key).1;
                count += 1;
            }
            spans.find(cpu, &lows[..count], &mut found[..count], epoch);
            let mine = leaves.iter_mut().filter(|leaf| **leaf == fork);
            mine.zip(&found).for_each(|(leaf, found)| *leaf = *found);
        }
    }
}

/// The one that changes a table.
#[derive(Debug)]
pub struct Writer {
    spans: spans::Writer,
    store: Store,
    forks: SharedSlab<Fork>,
    /// The same forks by their numbers, as they are changed.
    forking: Vec<Option<Forking>>,
    default: Arc<AtomicU32>,
}

#[derive(Debug)]
enum Forking {
    Few(Vec<Span>),
    Many(spans::Writer),
}

/// The halves of an address.
fn halves(key: u128) -> (u64, u64) {
    ((key >> 64) as u64, key as u64)
}

impl LpmWriter for Writer {
    type Bits = u128;
    type LpmReader = Ranges;
    const MAX_PREFIXES: usize = 1 << 21;
    fn new() -> io::Result<Self> {
        let mut store = Store::new(MAX_SEGMENTS)?;
        let spans = spans::Writer::new(&mut store, &[Span { start: 0, leaf: 0, len: 0 }]);
        Ok(Self {
            spans: spans.map_err(|_| io::ErrorKind::OutOfMemory)?,
            store,
            forks: SharedSlab::new(MAX_FORKS)?,
            forking: Vec::new(),
            default: Arc::default(),
        })
    }
    fn reader(&self) -> Ranges {
        Ranges {
            spans: self.spans.reader(),
            forks: self.forks.reader(),
            default: Arc::clone(&self.default),
        }
    }
    fn insert(&mut self, key: u128, len: u8, leaf: u32) -> Result<(), Full> {
        if len == 0 {
            self.default.store(leaf, Release);
            return Ok(());
        }
        let set = |old, old_len| if old_len <= len { (leaf, len) } else { (old, old_len) };
        if len <= 64 {
            return self.rewrite(key, len, set);
        }
        let (high, _) = halves(key);
        let span = self.spans.span(high);
        if span.leaf & FORK != 0 {
            return self.rewrite_fork(span.leaf & !FORK, within(key, len), set);
        }
        self.fork(key, len, span, set)
    }
    fn remove(&mut self, key: u128, len: u8, cover: Option<(u8, u32)>) {
        if len == 0 {
            self.default.store(0, Release);
            return;
        }
        let (up_len, up) = cover.filter(|c| c.0 > 0).unwrap_or((0, 0));
        let set = |old, old_len| if old_len == len { (up, up_len) } else { (old, old_len) };
        while self.try_remove(key, len, set).is_err() {
            // Taking out needs a little room for a moment; readers give it back soon.
            std::thread::yield_now();
        }
    }
    fn memory(&self) -> usize {
        let fork = size_of::<Fork>() + size_of::<Option<Forking>>() + size_of::<usize>();
        self.store.memory() + self.forks.len() * fork
    }
    fn shape(&self) -> String {
        let forks = self.forks.len();
        format!("ranges of first halves, {forks} of second, memory usage {} bytes", self.memory())
    }
}

/// First and last second half of the addresses in a prefix longer than 64 bits.
fn within(key: u128, len: u8) -> (u64, u64) {
    (halves(Ip6::masked(key, len)).1, halves(Ip6::last(key, len)).1)
}

impl Writer {
    /// Segments in use.
    #[cfg(test)]
    pub fn segment_count(&self) -> usize {
        self.spans.segment_count()
    }
    fn try_remove(
        &mut self,
        key: u128,
        len: u8,
        set: impl Fn(u32, u8) -> (u32, u8),
    ) -> Result<(), Full> {
        if len <= 64 {
            return self.rewrite(key, len, set);
        }
        let (high, _) = halves(key);
        let span = self.spans.span(high);
        if span.leaf & FORK == 0 {
            return Ok(());
        }
        let fork = span.leaf & !FORK;
        self.rewrite_fork(fork, within(key, len), &set)?;
        self.join(high, fork)
    }
    /// Rewrites leaf and length of all within a prefix of at most 64 bits with `set`.
    fn rewrite(
        &mut self,
        key: u128,
        len: u8,
        set: impl Fn(u32, u8) -> (u32, u8),
    ) -> Result<(), Full> {
        let within = (halves(Ip6::masked(key, len)).0, halves(Ip6::last(key, len)).0);
        let mut forks = Vec::new();
        let work = |leaf, leaf_len| {
            if leaf & FORK == 0 {
                return set(leaf, leaf_len);
            }
            forks.push(leaf & !FORK);
            (leaf, leaf_len)
        };
        self.spans.rewrite(&mut self.store, within, work)?;
        for fork in forks {
            self.relabel_fork(fork, &set);
        }
        Ok(())
    }
    /// Makes the first fork after what begins with the first half of `key`, all of which was one
    /// span.
    fn fork(
        &mut self,
        key: u128,
        len: u8,
        span: Span,
        set: impl Fn(u32, u8) -> (u32, u8),
    ) -> Result<(), Full> {
        let whole = [Span { start: 0, ..span }];
        let new = spans::rewritten(&whole, u64::MAX, within(key, len), set);
        let few = Few::of(&new).expect("one prefix makes three spans at most");
        let fork = self.forks.insert(Fork::Few(few)).map_err(|_| Full)?;
        let at = fork as usize;
        self.forking.resize_with(self.forking.len().max(at + 1), || None);
        self.forking[at] = Some(Forking::Few(new));
        let high = halves(key).0;
        let done = self.spans.rewrite(&mut self.store, (high, high), |_, _| (fork | FORK, 64));
        if done.is_err() {
            self.drop_fork(fork);
        }
        done
    }
    /// Rewrites leaf and length within these second halves with `set`.
    fn rewrite_fork(
        &mut self,
        fork: u32,
        within: (u64, u64),
        set: impl Fn(u32, u8) -> (u32, u8),
    ) -> Result<(), Full> {
        let Some(Some(forking)) = self.forking.get_mut(fork as usize) else { return Ok(()) };
        let few = match forking {
            Forking::Many(writer) => return writer.rewrite(&mut self.store, within, set),
            Forking::Few(few) => few,
        };
        let new = spans::rewritten(few, u64::MAX, within, set);
        if let Some(published) = Few::of(&new) {
            self.forks.replace(fork, Fork::Few(published));
            *few = new;
        } else {
            let writer = spans::Writer::new(&mut self.store, &new)?;
            self.forks.replace(fork, Fork::Many(writer.reader()));
            *forking = Forking::Many(writer);
        }
        Ok(())
    }
    /// Rewrites with `set` all entries of a fork that belong to a covering prefix.
    fn relabel_fork(&mut self, fork: u32, set: impl Fn(u32, u8) -> (u32, u8)) {
        if let Some(Some(Forking::Many(writer))) = self.forking.get_mut(fork as usize) {
            writer.relabel(set);
        } else {
            let done = self.rewrite_fork(fork, (0, u64::MAX), set);
            done.expect("new leaves for existing spans make no more spans");
        }
    }
    /// Does without a fork all of which has become one span.
    fn join(&mut self, high: u64, fork: u32) -> Result<(), Full> {
        let only = match self.forking.get(fork as usize) {
            Some(Some(Forking::Few(spans))) => Some(spans[0]).filter(|_| spans.len() == 1),
            Some(Some(Forking::Many(writer))) => writer.only(),
            _ => None,
        };
        let Some(Span { leaf, len, .. }) = only else { return Ok(()) };
        self.spans.rewrite(&mut self.store, (high, high), |_, _| (leaf, len))?;
        self.drop_fork(fork);
        Ok(())
    }
    fn drop_fork(&mut self, fork: u32) {
        self.forks.remove(fork);
        if let Some(Forking::Many(writer)) = self.forking[fork as usize].take() {
            writer.free(&mut self.store);
        }
    }
}
