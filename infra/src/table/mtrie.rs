//! Longest-prefix match: a multibit trie over 32-bit keys that is changed in place under its
//! readers.
//!
//! The first `ROOT_BITS` of a key index the root, every further byte a node. A slot is one `u32`: a
//! leaf of the user (31 bits), 0 without a prefix, which means the default leaf, or a reference to
//! a node, which is one of two kinds:
//! * a *ply* of 256 slots, written in place;
//! * a *tail*, one cache line for a node whose slots form at most [`PARTS`] runs: most nodes of a
//!   large table hold one or two prefixes. It takes a sixteenth of the memory and is found with the
//!   same one access. A tail whose runs change is rewritten beside the old one.
//!
//! Small tables have plies only: these stay in the processor's cache, where going down them costs
//! a few clocks a level, without a branch and without sorting keys by kinds of nodes.
//!
//! With 24 root bits this is DIR-24-8. Lookups go over a block of keys level by level, so that what
//! they fetch comes while others are looked at.
//!
//! Readers hold an [`Mtrie`] shared and only load; the one [`Writer`] stores single slots, so that
//! a lookup sees each slot as it was before or after a change. A node is filled before the store
//! that makes it reachable; what is no longer reachable is used again when no reader can be inside.

#![forbid(unsafe_code)]

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use zerocopy::FromZeros;

use crate::cpu::{prefetch, prefetch_ptr};
use crate::memory::{HugePages, Reserved};
use crate::rcu::Epoch;
use crate::sync::{AtomicU32, AtomicU64};

pub use super::Full;
pub use writer::Writer;

/// The greatest value a leaf may have.
pub const MAX_LEAF: u32 = NODE - 1;

/// Runs of equal slots that a tail has room for.
pub const PARTS: usize = 9;

/// Set in a slot that refers to a node.
const NODE: u32 = 1 << 31;
/// Set in a slot that refers to a tail.
const TAIL: u32 = NODE | 1 << 30;
/// Slots of a ply: one for each value of a byte.
const FANOUT: usize = 256;
/// Most keys that are on their way at a time.
const BLOCK: usize = 64;

/// A node in one cache line. What is not used of the starts is 255, and of the slots the last one
/// again.
#[derive(Debug, FromZeros)]
#[repr(C, align(64))]
struct Tail {
    /// Start of each run but the first, a byte each.
    starts: AtomicU64,
    slots: [AtomicU32; PARTS],
    /// Length of the prefix that wrote each; the writer's.
    lens: [AtomicU8; PARTS],
    count: AtomicU8,
}

/// The reading half of a table: lookups only.
#[derive(Debug)]
pub struct Mtrie<const ROOT_BITS: u8> {
    /// The root, then the plies. A ply's number is that of its first slot divided by `FANOUT`.
    slots: Reserved<AtomicU32>,
    tails: Reserved<Tail>,
    default: AtomicU32,
}

impl<const ROOT_BITS: u8> Mtrie<ROOT_BITS> {
    /// Slots of the root.
    const ROOT: usize = {
        assert!(ROOT_BITS == 8 || ROOT_BITS == 16 || ROOT_BITS == 24, "nodes consume whole bytes");
        1 << ROOT_BITS
    };

    /// Nodes that a key can pass.
    const DEPTH: u8 = (32 - ROOT_BITS) / 8;

    /// Makes an empty table that may grow to `plies` and `tails` below its root, whose default leaf
    /// is 0. Without any `tails` all its nodes are plies: for tables that stay in the cache.
    ///
    /// Memory is reserved now and used when it is touched; `pages` should be [`HugePages::Advise`]
    /// only for tables expected to be large. The readers' half is [`Writer::table`].
    ///
    /// # Errors
    /// `InvalidInput` if nodes could not be numbered, else the kernel's.
    pub fn writer(plies: usize, tails: usize, pages: HugePages) -> io::Result<Writer<ROOT_BITS>> {
        let slots = plies
            .checked_mul(FANOUT)
            .and_then(|slots| slots.checked_add(Self::ROOT))
            .filter(|&slots| slots <= FANOUT << 24 && tails <= 1 << 30)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let table = Self {
            slots: Reserved::new(slots, pages)?.named("tries"),
            tails: Reserved::new(tails, HugePages::Beyond)?.named("tries"),
            default: AtomicU32::new(0),
        };
        Writer::new(table, pages)
    }

    /// Puts the leaf of the longest prefix that covers each key, or the default leaf, into
    /// `leaves`, as many as there are keys.
    #[inline(always)]
    pub fn find(&self, keys: &[u32], leaves: &mut [u32], epoch: Epoch<'_>) {
        for (keys, leaves) in keys.chunks(BLOCK).zip(leaves.chunks_mut(BLOCK)) {
            self.start(keys, leaves, epoch);
            self.finish(keys, leaves, epoch);
        }
    }

    /// Asks for the slots of the root that [`Mtrie::start`] reads.
    #[inline(always)]
    pub fn fetch(&self, keys: &[u32]) {
        keys.iter().for_each(|key| prefetch(&self.slots[(key >> (32 - ROOT_BITS)) as usize]));
    }

    /// The first step of [`Mtrie::find`] for at most 64 keys: what it puts into `leaves` is
    /// for [`Mtrie::finish`] in the same epoch. Asks for what that reads first.
    #[inline(always)]
    pub fn start(&self, keys: &[u32], leaves: &mut [u32], _: Epoch<'_>) {
        let nodes = self.nodes();
        for (key, leaf) in keys.iter().zip(leaves.iter_mut()) {
            *leaf = nodes.slots[(key >> (32 - ROOT_BITS)) as usize].load(Acquire);
        }
        if !self.tails.is_empty() && has_nodes(leaves) {
            nodes.fetch(keys, leaves, |key| byte::<ROOT_BITS>(key, 1));
        }
    }

    /// The steps after [`Mtrie::start`].
    #[inline(always)]
    pub fn finish(&self, keys: &[u32], leaves: &mut [u32], _: Epoch<'_>) {
        let nodes = self.nodes();
        for depth in 1..=Self::DEPTH {
            if !has_nodes(leaves) {
                break;
            }
            let byte = |key| byte::<ROOT_BITS>(key, depth);
            if self.tails.is_empty() {
                nodes.descend_plies(keys, leaves, byte);
                continue;
            }
            if depth > 1 {
                nodes.fetch(keys, leaves, byte);
            }
            nodes.descend(keys, leaves, byte);
        }
        let default = self.default.load(Relaxed);
        leaves.iter_mut().for_each(|leaf| *leaf = if *leaf == 0 { default } else { *leaf });
    }

    /// The reading half.
    #[inline(always)]
    fn nodes(&self) -> Nodes<'_> {
        Nodes { slots: &self.slots, tails: &self.tails }
    }

    /// The leaf of keys that no prefix covers.
    pub fn default(&self) -> u32 {
        self.default.load(Relaxed)
    }
}

/// Parts of a table that lookups read, held where nothing that they write can have changed them.
#[derive(Clone, Copy)]
struct Nodes<'t> {
    slots: &'t [AtomicU32],
    tails: &'t [Tail],
}

impl<'t> Nodes<'t> {
    /// Asks for what [`Nodes::descend`] reads, without branches either.
    #[inline(always)]
    fn fetch(self, keys: &[u32], slots: &[u32], byte: impl Fn(u32) -> u8) {
        let (start, tails) = (self.slots.as_ptr(), self.tails.as_ptr().cast::<u8>());
        for (key, slot) in keys.iter().zip(slots) {
            let in_ply = first_slot(*slot) + usize::from(byte(*key));
            let in_ply = if slot & NODE == 0 { 0 } else { in_ply };
            let tail = (slot & !TAIL) as usize * size_of::<Tail>();
            let in_ply = start.wrapping_add(in_ply).cast();
            prefetch_ptr(if slot & TAIL == TAIL { tails.wrapping_add(tail) } else { in_ply });
        }
    }

    /// Goes on from slots that refer to nodes, at most a block of them. Which do is sorted out
    /// without branches: the processor cannot know what is next.
    #[inline(always)]
    fn descend(self, keys: &[u32], slots: &mut [u32], byte: impl Fn(u32) -> u8) {
        let (mut in_plies, mut in_tails) = ([0; BLOCK], [0; BLOCK]);
        let (mut plies, mut tails) = (0, 0);
        for (i, slot) in slots.iter().enumerate() {
            in_plies[plies % BLOCK] = i as u8;
            in_tails[tails % BLOCK] = i as u8;
            plies += usize::from(slot & TAIL == NODE);
            tails += usize::from(slot & TAIL == TAIL);
        }
        let (in_plies, in_tails) = (&in_plies[..plies.min(BLOCK)], &in_tails[..tails.min(BLOCK)]);
        let byte = |i: u8| byte(keys[usize::from(i)]);
        for i in in_tails {
            let tail = self.tail(slots[usize::from(*i)]);
            let part = not_above(tail.starts.load(Relaxed), byte(*i));
            slots[usize::from(*i)] = tail.slots[part].load(Acquire);
        }
        for i in in_plies {
            slots[usize::from(*i)] = self.in_ply(slots[usize::from(*i)], byte(*i)).load(Acquire);
        }
    }

    /// The same where all nodes are plies: a leaf stays what it is, though something is read for it
    /// as well.
    #[inline(always)]
    fn descend_plies(self, keys: &[u32], slots: &mut [u32], byte: impl Fn(u32) -> u8) {
        for (key, slot) in keys.iter().zip(slots) {
            let is_node = (slot.cast_signed() >> 31).cast_unsigned();
            let at = (first_slot(*slot) + usize::from(byte(*key))) & is_node as usize;
            *slot = self.slots[at].load(Acquire) & is_node | *slot & !is_node;
        }
    }

    /// The tail that a slot refers to.
    #[inline(always)]
    fn tail(self, reference: u32) -> &'t Tail {
        &self.tails[(reference & !TAIL) as usize]
    }

    /// The slot of a byte in the ply that a slot refers to.
    #[inline(always)]
    fn in_ply(self, reference: u32, byte: u8) -> &'t AtomicU32 {
        &self.slots[first_slot(reference) + usize::from(byte)]
    }
}

/// Whether any of these slots refers to a node.
#[inline(always)]
fn has_nodes(slots: &[u32]) -> bool {
    slots.iter().fold(0, |all, slot| all | slot) & NODE != 0
}

/// The byte of a key that indexes the node at `depth`, which counts from 1 below the root.
#[inline(always)]
fn byte<const ROOT_BITS: u8>(key: u32, depth: u8) -> u8 {
    (key >> (32 - ROOT_BITS - 8 * depth)) as u8
}

/// First slot of the ply that `reference` names. The shift drops the mark of a reference.
#[inline(always)]
fn first_slot(reference: u32) -> usize {
    (reference << 8) as usize
}

/// Count of those of eight bytes that are not above `byte`: all compared at once, as bits 7 of
/// their sums.
#[inline(always)]
fn not_above(bytes: u64, byte: u8) -> usize {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let all = u64::from(byte) * 0x0101_0101_0101_0101;
    let by_low_bits = (all | TOPS) - (bytes & !TOPS);
    let not_above = (all & !bytes) | (!(all ^ bytes) & by_low_bits);
    (not_above & TOPS).count_ones() as usize
}
