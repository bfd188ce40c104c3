//! Longest-prefix match over 64-bit keys: the key space cut into *spans* that share a leaf.
//!
//! The starts of all spans are the lowest level of a tree whose nodes are cache lines of eight
//! keys, which one comparison of vectors (two with AVX2) tells apart from nine children. Lookups go
//! down level by level, a block of keys at a time, so that what one level fetches has come when
//! the next needs it: 20 to 30 clocks a key among 400,000 spans, whatever the lengths of the
//! prefixes, where one key at a time takes ten times as long.
//!
//! The lower three levels lie in *segments* of up to [`ROOM`] spans, the upper ones in one *top* of
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

/// Most keys of one [`Spans::find`] that are on their way at a time.
const BLOCK: usize = 64;
/// Keys of a line.
const KEYS: usize = 8;
/// Children that the keys of a line tell apart.
const FAN: usize = KEYS + 1;
/// Lines with starts in a segment; one is enough for models.
const LINES: usize = if cfg!(all(loom, test)) { 1 } else { FAN * FAN };
/// Most spans of a segment.
pub const ROOM: usize = LINES * KEYS;

/// Keys in ascending order; those that are not used are the greatest there is.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; KEYS]);

/// Neighbouring spans. Lines above the starts hold the first start of each child but the first.
/// What is not used of the leaves repeats the last one, because the greatest key may find it.
#[derive(Debug, FromZeros)]
#[repr(C, align(64))]
struct Segment {
    head: Line,
    middle: [Line; FAN],
    starts: [Line; LINES],
    leaves: [AtomicU32; ROOM],
    /// Length of the prefix that each leaf is from; the writer's.
    lens: [AtomicU8; ROOM],
    count: u32,
}

/// Memory for the segments of any number of trees.
#[derive(Debug)]
struct Arena(Reserved<UnsafeCell<Segment>>);

// SAFETY: the plain parts of a segment are written only while nobody can read it: see the module's
// contract.
unsafe impl Sync for Arena {}

impl Arena {
    /// A segment that a top names.
    #[inline(always)]
    fn at(&self, slot: u32) -> &Segment {
        // SAFETY: whoever knows the number has it from a top that readers may use, so nobody writes
        // the segment's plain parts.
        unsafe { &*self.0[slot as usize].get() }
    }
}

/// The upper levels of a tree.
#[derive(Debug)]
struct Top {
    /// Lines of all levels, from the root; level `n` has `FAN` to the power of `n`.
    lines: Vec<Line>,
    levels: usize,
    /// The segments, by their starts; at least one.
    segments: Vec<AtomicU32>,
}

/// What readers see of a tree.
#[derive(Clone, Debug)]
pub struct Spans {
    top: Reader<Top>,
    arena: Arc<Arena>,
}

impl Spans {
    /// Puts the leaf of each key's span into `leaves`, as many as there are keys.
    #[inline(always)]
    pub fn find<On: Cpu>(&self, cpu: On, keys: &[u64], leaves: &mut [u32], epoch: Epoch<'_>) {
        let top = self.top.read(epoch);
        for (keys, leaves) in keys.chunks(BLOCK).zip(leaves.chunks_mut(BLOCK)) {
            self.find_block(cpu, top, keys, leaves);
        }
    }
    #[inline(always)]
    fn find_block<On: Cpu>(&self, cpu: On, top: &Top, keys: &[u64], leaves: &mut [u32]) {
        let mut at = [0u32; BLOCK];
        let mut level = &top.lines[..];
        let mut width = 1;
        for _ in 0..top.levels {
            let (lines, below) = level.split_at(width);
            for (at, key) in at.iter_mut().zip(keys) {
                *at = down(cpu, lines, *at, *key);
            }
            (level, width) = (below, width * FAN);
        }
        let last = top.segments.len() - 1;
        let segment = |at: u32| self.arena.at(top.segments[last.min(at as usize)].load(Acquire));
        let mut segments = [segment(0); BLOCK];
        let (at, segments) = (&mut at[..keys.len()], &mut segments[..keys.len()]);
        for (at, found) in at.iter().zip(segments.iter_mut()) {
            *found = segment(*at);
            prefetch(&found.head);
        }
        for ((at, key), segment) in at.iter_mut().zip(keys).zip(segments.iter()) {
            *at = rank(cpu, &segment.head, *key);
            prefetch(&segment.middle[*at as usize]);
        }
        for ((at, key), segment) in at.iter_mut().zip(keys).zip(segments.iter()) {
            *at = down(cpu, &segment.middle, *at, *key);
            prefetch(&segment.starts[*at as usize]);
        }
        for ((at, key), segment) in at.iter_mut().zip(keys).zip(segments.iter()) {
            let count = *at * KEYS as u32 + rank(cpu, &segment.starts[*at as usize], *key);
            *at = count.saturating_sub(1);
            prefetch(&segment.leaves[*at as usize]);
        }
        for ((leaf, at), segment) in leaves.iter_mut().zip(at).zip(segments.iter()) {
            *leaf = segment.leaves[*at as usize].load(Relaxed);
        }
    }
}

/// A tree of one line: up to eight spans.
#[derive(Debug)]
pub struct Few {
    starts: Line,
    leaves: [u32; KEYS],
}

impl Few {
    /// Puts the leaf of each key's span into `leaves`, as many as there are keys.
    #[inline(always)]
    pub fn find<On: Cpu>(&self, cpu: On, keys: &[u64], leaves: &mut [u32]) {
        for (key, leaf) in keys.iter().zip(leaves) {
            let at = rank(cpu, &self.starts, *key).saturating_sub(1);
            *leaf = self.leaves[at as usize % KEYS];
        }
    }
}

/// From a line to the child that `key` is in.
#[inline(always)]
fn down<On: Cpu>(cpu: On, lines: &[Line], at: u32, key: u64) -> u32 {
    at * FAN as u32 + rank(cpu, &lines[at as usize], key)
}

/// How many keys of a line are not above `key`.
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
