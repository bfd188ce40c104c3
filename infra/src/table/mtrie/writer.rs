//! The writing half of a multibit trie.
//!
//! Beside each slot stands the length of the prefix that wrote it, so that a shorter prefix leaves
//! it alone, and beside each ply the number of slots that need it: references and leaves of
//! prefixes longer than the path to the ply. At zero all slots are alike and the ply gives way to
//! one leaf.

#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::mem;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::Release};

use super::{FANOUT, Key, MAX_LEAF, Mtrie, PLY, first_slot};
use crate::memory::{HugePages, Reserved};

/// Mark of a ply, instead of its count, that readers may still be in.
const RETIRED: u16 = u16::MAX;

/// All plies that the table may have are in use or waiting to be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table is full")
    }
}

impl std::error::Error for Full {}

/// A ply that is out of the table, but that a reader may have entered before.
#[derive(Debug, PartialEq, Eq)]
pub struct PlyIndex(u32);

/// The one that changes a table.
#[derive(Debug)]
pub struct Writer<const ROOT_BITS: u8, K> {
    table: Arc<Mtrie<ROOT_BITS, K>>,
    /// Length of the prefix that wrote each slot; 0 if none did.
    lengths: Reserved<u8>,
    /// Slots that need each ply, or [`RETIRED`]; as many entries as plies were ever used.
    needs: Vec<u16>,
    free: Vec<u32>,
    garbage: Vec<PlyIndex>,
    in_use: usize,
}

/// A slot on the way of a key.
#[derive(Clone, Copy)]
struct Place {
    slot: usize,
    depth: u8,
}

impl<const ROOT_BITS: u8, K: Key> Writer<ROOT_BITS, K> {
    pub(super) fn new(table: Mtrie<ROOT_BITS, K>, pages: HugePages) -> io::Result<Self> {
        Ok(Self {
            lengths: Reserved::new(table.slots.len(), pages)?.named("trie lengths"),
            needs: Vec::new(),
            free: Vec::new(),
            garbage: Vec::new(),
            in_use: 0,
            table: Arc::new(table),
        })
    }

    /// The half that readers share.
    pub fn table(&self) -> &Arc<Mtrie<ROOT_BITS, K>> {
        &self.table
    }

    /// Sets the leaf of keys that no prefix covers: one store, however large the table.
    ///
    /// # Panics
    /// If `leaf` is above [`MAX_LEAF`].
    pub fn set_default(&mut self, leaf: u32) {
        assert!(leaf <= MAX_LEAF, "a leaf has 31 bits");
        self.table.default.store(leaf, Release);
    }

    /// Adds the first `len` bits of `key` as a prefix with this leaf, or changes its leaf.
    ///
    /// Length 0 sets the default. `Full` changes nothing.
    ///
    /// # Panics
    /// If `len` is more than a key has, or `leaf` is 0 or is above [`MAX_LEAF`].
    pub fn insert(&mut self, key: K, len: u8, leaf: u32) -> Result<(), Full> {
        assert!(len <= K::BITS, "a prefix is no longer than a key");
        if len == 0 {
            self.set_default(leaf);
            return Ok(());
        }
        assert!(0 < leaf && leaf <= MAX_LEAF, "a leaf has 31 bits, and 0 means the default");
        let (_, mut place) = self.descend(key, len);
        let missing = depth_of::<ROOT_BITS>(len) - place.depth;
        if self.available() < usize::from(missing) {
            return Err(Full);
        }
        for _ in 0..missing {
            place = self.deepen(key, place);
        }
        self.cover(place, len, &(0..=len), leaf, len);
        Ok(())
    }

    /// Takes a prefix out; nothing happens if it is not in the table.
    ///
    /// `covering` is the length and leaf of the longest other prefix that contains this one; `None`
    /// or length 0 if only the default does. Removing length 0 sets the default to 0.
    ///
    /// # Panics
    /// If `len` is more than a key has, or `covering` is not shorter or has no valid leaf.
    pub fn remove(&mut self, key: K, len: u8, covering: Option<(u8, u32)>) {
        assert!(len <= K::BITS, "a prefix is no longer than a key");
        if len == 0 {
            self.set_default(0);
            return;
        }
        let (up_len, up_leaf) = covering.filter(|&(len, _)| len > 0).unwrap_or((0, 0));
        assert!(
            up_len < len && up_leaf <= MAX_LEAF,
            "the covering prefix is shorter and has a leaf"
        );
        assert_eq!(up_len == 0, up_leaf == 0, "leaf 0 means the default");
        let (path, place) = self.descend(key, len);
        if place.depth == depth_of::<ROOT_BITS>(len) {
            self.cover(place, len, &(len..=len), up_leaf, up_len);
            self.collapse(&path[..usize::from(place.depth)]);
        }
    }

    /// Plies that are part of the table, without its root.
    pub fn ply_count(&self) -> usize {
        self.in_use
    }

    /// Bytes of memory used for the root and for all plies used so far, with the writer's notes.
    pub fn memory(&self) -> usize {
        let slots = Mtrie::<ROOT_BITS, K>::ROOT + self.needs.len() * FANOUT;
        slots * (size_of::<u32>() + size_of::<u8>())
            + self.needs.capacity() * size_of::<u16>()
            + self.free.capacity() * size_of::<u32>()
    }

    /// Plies taken out since the last call. After a grace period, when every reader has finished
    /// the lookups it was in, each is to be given to [`reclaim`](Self::reclaim).
    pub fn take_garbage(&mut self) -> Vec<PlyIndex> {
        mem::take(&mut self.garbage)
    }

    /// Makes a ply available again.
    ///
    /// # Panics
    /// If it was not taken out of this table.
    pub fn reclaim(&mut self, ply: PlyIndex) {
        let needs = self.needs.get_mut(note::<ROOT_BITS>(ply.0));
        let needs = needs.filter(|needs| **needs == RETIRED);
        *needs.expect("a ply is reclaimed by the table that it was taken out of") = 0;
        self.free.push(ply.0);
    }

    fn available(&self) -> usize {
        let limit = (self.table.slots.len() - Mtrie::<ROOT_BITS, K>::ROOT) / FANOUT;
        self.free.len() + limit - self.needs.len()
    }

    /// Follows `key` to the depth that `len` belongs to, or less deep where a leaf ends the way.
    /// Also returns the references passed, from the root on.
    fn descend(&self, key: K, len: u8) -> ([Place; 16], Place) {
        let mut place = Place { slot: key.root(ROOT_BITS), depth: 0 };
        let mut path = [place; 16];
        while place.depth < depth_of::<ROOT_BITS>(len) {
            let value = self.table.slots[place.slot].load(Relaxed);
            if value & PLY == 0 {
                break;
            }
            path[usize::from(place.depth)] = place;
            let depth = place.depth + 1;
            place = Place { slot: first_slot(value) + key.byte(ROOT_BITS, depth), depth };
        }
        (path, place)
    }

    /// Puts a ply where a leaf is, all of whose slots are that leaf, and steps into it.
    ///
    /// Readers rely on the ply being inside `slots`, which the slice of it checks.
    fn deepen(&mut self, key: K, place: Place) -> Place {
        let leaf = self.table.slots[place.slot].load(Relaxed);
        let len = self.lengths[place.slot];
        let ply = self.free.pop().unwrap_or_else(|| {
            self.needs.push(0);
            (first_ply::<ROOT_BITS>() + self.needs.len() - 1) as u32
        });
        let first = first_slot(ply);
        for slot in &self.table.slots[first..first + FANOUT] {
            slot.store(leaf, Relaxed);
        }
        self.lengths[first..first + FANOUT].fill(len);
        self.in_use += 1;
        self.write(place, PLY | ply, len);
        let depth = place.depth + 1;
        Place { slot: first + key.byte(ROOT_BITS, depth), depth }
    }

    /// Writes a leaf to the slots around `at` that a prefix of `len` covers, as far as the lengths
    /// beside them are `within` a range, and `new_len` as their length.
    fn cover(&mut self, at: Place, len: u8, within: &RangeInclusive<u8>, leaf: u32, new_len: u8) {
        let count = 1 << (bits_at::<ROOT_BITS>(at.depth) - len);
        let first = Place { slot: at.slot & !(count - 1), ..at };
        self.fill(first, count, within, leaf, new_len);
    }

    /// Does so for `count` slots from `first` on and all below them.
    fn fill(
        &mut self,
        first: Place,
        count: usize,
        within: &RangeInclusive<u8>,
        leaf: u32,
        len: u8,
    ) {
        for slot in first.slot..first.slot + count {
            let value = self.table.slots[slot].load(Relaxed);
            if value & PLY != 0 {
                let below = Place { slot: first_slot(value), depth: first.depth + 1 };
                self.fill(below, FANOUT, within, leaf, len);
            } else if within.contains(&self.lengths[slot]) {
                self.write(Place { slot, ..first }, leaf, len);
            }
        }
    }

    /// Stores a slot and its length and keeps the count of its ply.
    fn write(&mut self, at: Place, value: u32, len: u8) {
        if let Some(above) = at.depth.checked_sub(1) {
            let base = bits_at::<ROOT_BITS>(above);
            let is_need = |value: u32, len: u8| u16::from(value & PLY != 0 || len > base);
            let old = is_need(self.table.slots[at.slot].load(Relaxed), self.lengths[at.slot]);
            let needs = &mut self.needs[note::<ROOT_BITS>((at.slot / FANOUT) as u32)];
            *needs = *needs + is_need(value, len) - old;
        }
        self.lengths[at.slot] = len;
        self.table.slots[at.slot].store(value, Release);
    }

    /// Takes plies out that no slot needs, from the end of a path of references upwards.
    fn collapse(&mut self, path: &[Place]) {
        for &place in path.iter().rev() {
            let reference = self.table.slots[place.slot].load(Relaxed);
            let ply = reference ^ PLY;
            let note = note::<ROOT_BITS>(ply);
            if self.needs[note] > 0 {
                return;
            }
            let first = first_slot(reference);
            self.write(place, self.table.slots[first].load(Relaxed), self.lengths[first]);
            self.needs[note] = RETIRED;
            self.garbage.push(PlyIndex(ply));
            self.in_use -= 1;
        }
    }
}

/// Number of the first ply below the root, which takes as many numbers as it has room for plies.
fn first_ply<const ROOT_BITS: u8>() -> usize {
    (1 << ROOT_BITS) / FANOUT
}

/// Where the writer keeps its notes of a ply.
fn note<const ROOT_BITS: u8>(ply: u32) -> usize {
    ply as usize - first_ply::<ROOT_BITS>()
}

/// Bits of a key that slots at `depth` have used up.
fn bits_at<const ROOT_BITS: u8>(depth: u8) -> u8 {
    ROOT_BITS + 8 * depth
}

/// Depth of the slots that a prefix of `len` ends in.
fn depth_of<const ROOT_BITS: u8>(len: u8) -> u8 {
    len.saturating_sub(ROOT_BITS).div_ceil(8)
}
