//! Longest-prefix match over 64-bit keys: the key space cut into *spans* that share a leaf.
//!
//! The lowest level of a tree are *rows* of up to seven spans with their leaves. A row says where
//! it starts, and how far behind that its other spans do: distances of 32 bits, in units as large
//! as all of them allow. Where spans are too far apart for that, rows hold fewer. The nodes above
//! are cache lines of eight keys, which one comparison of vectors (two with AVX2) tells apart from
//! nine children. Lookups go down level by level, a block of keys at a time, so that what one level
//! fetches has come when the next needs it, whatever the lengths of the prefixes.
//!
//! The lower three levels lie in *segments* of up to [`ROWS`] rows, the upper ones in one *top* of
//! each tree. A change of leaves alone is made in place; one of starts writes a new segment beside
//! the old one and publishes it with one store in the top; only a split or merge makes a new top.
//! Old segments are used again when no reader can be in them. Many trees may share one [`Arena`].
//!
//! Safety contract: a segment is written only while no top names it and no reader can know it from
//! an older one: it comes either from the never used end of the arena or from the list of free
//! segments, whose epoch has passed. After that only its atomic parts change. Segments belong to
//! one [`Store`], which is never shared. A top names segments below the end of the arena only.

#[cfg(all(loom, test))]
mod models;
#[cfg(test)]
mod tests;
mod writer;

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Relaxed};

use zerocopy::FromZeros;

use crate::cpu::{Cpu, prefetch};
use crate::memory::Reserved;
use crate::rcu::{Epoch, Reader};
use crate::sync::AtomicU32;

pub use super::Full;
pub use writer::{Span, Store, Writer, rewritten};

/// Most keys of one [`Spans::rows`].
pub const BLOCK: usize = 64;
/// Keys of a line.
const KEYS: usize = 8;
/// Children that the keys of a line tell apart.
const FAN: usize = KEYS + 1;
/// Rows of a segment; one is enough for models.
const ROWS: usize = if cfg!(all(loom, test)) { 1 } else { FAN * FAN };
/// Most spans of a row.
const SPANS: usize = 7;
/// Most children of a top's root.
const ROOT: usize = 33;

/// Keys in ascending order; those that are not used are the greatest there is.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; KEYS]);

/// Neighbouring spans with their leaves.
#[derive(Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Row {
    /// Distance of each span but the first after `start`, in units of `1 << shift`; [`u32::MAX`]
    /// for spans that do not exist.
    behind: [u32; SPANS - 1],
    start: u64,
    leaves: [AtomicU32; SPANS],
    shift: u32,
}

/// Neighbouring rows. Lines above them hold the start of each child but the first. What is not used
/// is not found either, but for the very last row by the greatest key: it repeats the last one that
/// is used.
#[derive(Debug, FromZeros)]
#[repr(C, align(64))]
struct Segment {
    head: Line,
    middle: [Line; FAN],
    rows: [Row; ROWS],
    /// Length of the prefix that each leaf is from; the writer's.
    lens: [[AtomicU8; SPANS]; ROWS],
    /// Number of rows in use.
    used: u32,
}

/// Memory for the segments of any number of trees.
#[derive(Debug)]
struct Arena(Reserved<UnsafeCell<Segment>>);

// SAFETY: the plain parts of a segment are written only without readers: see the module's contract.
unsafe impl Sync for Arena {}

impl Arena {
    /// A segment that a top names.
    #[inline(always)]
    fn at(&self, slot: u32) -> &Segment {
        // SAFETY: the number is from a top that readers may use, so the segment's plain parts are
        // not being written.
        unsafe { &*self.0[slot as usize].get() }
    }
}

/// The upper levels of a tree.
#[derive(Debug)]
struct Top {
    /// Start of each of the root's children but the first; fewer than [`ROOT`].
    root: Vec<u64>,
    /// Lines of the levels below the root, as many as children there, each of which has `FAN` times
    /// as many as the one above.
    lines: Vec<Line>,
    levels: usize,
    /// The segments, by their starts; at least one.
    segments: Vec<AtomicU32>,
}

/// The reading half of a tree.
#[derive(Clone, Debug)]
pub struct Spans {
    top: Reader<Top>,
    arena: Arc<Arena>,
}

impl Spans {
    /// Puts the leaf of each key's span into `leaves`, as many as there are keys.
    #[inline(always)]
    pub fn find<On: Cpu>(&self, cpu: On, keys: &[u64], leaves: &mut [u32], epoch: Epoch<'_>) {
        let mut rows = [None; BLOCK];
        for (keys, leaves) in keys.chunks(BLOCK).zip(leaves.chunks_mut(BLOCK)) {
            self.rows(cpu, keys, &mut rows, epoch);
            for ((leaf, key), row) in leaves.iter_mut().zip(keys).zip(&rows) {
                *leaf = leaf_of(cpu, *row, *key);
            }
        }
    }
    /// Finds the row of each of at most [`BLOCK`] keys and asks for it.
    #[inline(always)]
    pub fn rows<'e, On: Cpu>(
        &'e self,
        cpu: On,
        keys: &[u64],
        rows: &mut [Option<&'e Row>; BLOCK],
        epoch: Epoch<'e>,
    ) {
        let top = self.top.read(epoch);
        let mut at = [0u32; BLOCK];
        let at = &mut at[..keys.len()];
        let (eights, others) = keys.as_chunks();
        let (at_eights, at_others) = at.as_chunks_mut();
        for (at, keys) in at_eights.iter_mut().zip(eights) {
            *at = ranks(cpu, &top.root, keys);
        }
        for (at, key) in at_others.iter_mut().zip(others) {
            *at = top.root.iter().map(|start| u32::from(start <= key)).sum();
        }
        let (mut level, mut width) = (&top.lines[..], top.root.len() + 1);
        for _ in 0..top.levels {
            let (lines, below) = level.split_at(width);
            for (at, key) in at.iter_mut().zip(keys) {
                *at = down(cpu, lines, *at, *key);
            }
            (level, width) = (below, width * FAN);
        }
        let (slots, arena) = (&top.segments[..], &*self.arena);
        let mut segments = [arena.at(slots[0].load(Acquire)); BLOCK];
        let segments = &mut segments[..keys.len()];
        if slots.len() > 1 {
            for (at, segment) in at.iter().zip(&mut *segments) {
                *segment = arena.at(slots[slots.len().min(*at as usize + 1) - 1].load(Acquire));
                prefetch(&segment.head);
            }
        }
        for ((at, key), segment) in at.iter_mut().zip(keys).zip(segments.iter()) {
            *at = rank(cpu, &segment.head, *key);
            prefetch(&segment.middle[*at as usize]);
        }
        for (((at, key), row), segment) in at.iter().zip(keys).zip(rows).zip(segments.iter()) {
            let found = &segment.rows[down(cpu, &segment.middle, *at, *key) as usize];
            prefetch(found);
            *row = Some(found);
        }
    }
}

/// The leaf of the span that `key` is in, by its row; 0 without one.
#[inline(always)]
pub fn leaf_of<On: Cpu>(cpu: On, row: Option<&Row>, key: u64) -> u32 {
    match row {
        Some(row) => row.leaf(cpu, key),
        None => 0,
    }
}

impl Row {
    /// The leaf of the span that `key`, which is not before the row, is in.
    #[inline(always)]
    fn leaf<On: Cpu>(&self, cpu: On, key: u64) -> u32 {
        let behind = key.wrapping_sub(self.start) >> (self.shift % u64::BITS);
        let nth = self.rank(cpu, behind.min(u64::from(u32::MAX - 1)) as u32);
        self.leaves[nth as usize].load(Relaxed)
    }
    /// Count of spans, but the first, that are not further behind the start than this.
    #[inline(always)]
    fn rank<On: Cpu>(&self, _: On, behind: u32) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if On::HAS_AVX512 {
            use std::arch::x86_64::{
                _mm256_cmple_epu32_mask, _mm256_load_si256, _mm256_set1_epi32,
            };
            // SAFETY: a value of `On` proves that the processor has AVX-512 VL; the first half of a
            // row is 32 bytes, aligned.
            let mask = unsafe {
                let keys = _mm256_load_si256(std::ptr::from_ref(self).cast());
                _mm256_cmple_epu32_mask(keys, _mm256_set1_epi32(behind.cast_signed()))
            };
            return (u32::from(mask) & 0x3f).count_ones();
        }
        self.behind.iter().map(|start| u32::from(*start <= behind)).sum()
    }
}

/// A tree of one line: up to eight spans.
#[derive(Debug)]
pub struct Few {
    starts: Line,
    leaves: [u32; KEYS],
}

impl Few {
    /// The leaf of the span that `key` is in.
    #[inline(always)]
    pub fn leaf<On: Cpu>(&self, cpu: On, key: u64) -> u32 {
        let at = rank(cpu, &self.starts, key).saturating_sub(1);
        self.leaves[at as usize % KEYS]
    }
}

/// From a line to the child that `key` is in.
#[inline(always)]
fn down<On: Cpu>(cpu: On, lines: &[Line], at: u32, key: u64) -> u32 {
    at * FAN as u32 + rank(cpu, &lines[at as usize], key)
}

/// Count of keys of a line that are not above `key`.
#[inline(always)]
fn rank<On: Cpu>(_: On, line: &Line, key: u64) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if On::HAS_AVX512 {
        use std::arch::x86_64::{_mm512_cmple_epu64_mask, _mm512_load_si512, _mm512_set1_epi64};
        // SAFETY: a value of `On` proves that the processor has AVX-512 F, and a line is 64 bytes,
        // aligned.
        let mask = unsafe {
            let keys = _mm512_load_si512(line.0.as_ptr().cast());
            _mm512_cmple_epu64_mask(keys, _mm512_set1_epi64(key.cast_signed()))
        };
        return mask.count_ones();
    }
    line.0.iter().map(|start| u32::from(*start <= key)).sum()
}

/// Count of these starts that are not above each key.
#[inline(always)]
fn ranks<On: Cpu>(_: On, starts: &[u64], keys: &[u64; KEYS]) -> [u32; KEYS] {
    #[cfg(target_arch = "x86_64")]
    if On::HAS_AVX512 {
        use std::arch::x86_64::{
            _mm512_cmple_epu64_mask, _mm512_cvtepi64_epi32, _mm512_loadu_si512,
            _mm512_mask_sub_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
        };
        let mut ranks = [0; KEYS];
        // SAFETY: a value of `On` proves that the processor has AVX-512 F; eight keys are 64 bytes,
        // eight ranks 32.
        unsafe {
            let (keys, minus_one) =
                (_mm512_loadu_si512(keys.as_ptr().cast()), _mm512_set1_epi64(-1));
            let mut count = _mm512_setzero_si512();
            // No closure: its code would not be for this processor.
            for start in starts {
                let mask = _mm512_cmple_epu64_mask(_mm512_set1_epi64(start.cast_signed()), keys);
                count = _mm512_mask_sub_epi64(count, mask, count, minus_one);
            }
            std::ptr::write_unaligned(ranks.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(count));
        }
        return ranks;
    }
    keys.map(|key| starts.iter().map(|start| u32::from(*start <= key)).sum())
}
