//! The writing half of a multibit trie.
//!
//! Beside each slot stands the length of the prefix that wrote it, so that a shorter prefix leaves
//! it alone, and beside each ply the number of slots that need it: references and leaves of
//! prefixes longer than the path to the ply. When few do, the ply gives way to a tail, and a node
//! all of whose slots are alike to one leaf.

use std::collections::VecDeque;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{FANOUT, Full, MAX_LEAF, Mtrie, NODE, PARTS, Relaxed, Release, TAIL, byte, first_slot};
use crate::cpu::prefetch;
use crate::memory::{HugePages, Reserved};
use crate::rcu;

/// Nodes of each kind that insertions leave for removals, which must not fail: changed nodes are
/// rewritten before the old ones are free.
const RESERVE: usize = 64;
/// Needs of a ply at which it becomes a tail.
const FEW: u16 = 3;
/// Nodes that wait before it is asked whether readers have gone on: asking takes some time, too.
const MANY: usize = if cfg!(all(test, loom)) { 1 } else { 32 };
/// Longest wait of an insertion for nodes that readers may still be in.
const PATIENCE: Duration = Duration::from_millis(20);

/// A slot, and the length of the prefix that wrote it: 0 for none, and for references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    value: u32,
    len: u8,
}

/// A run of equal slots of a node, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    start: u8,
    slot: Slot,
}

/// A change of leaves.
type Change<'c> = &'c dyn Fn(Slot) -> Slot;

/// The one that changes a table.
#[derive(Debug)]
pub struct Writer<const ROOT_BITS: u8> {
    table: Arc<Mtrie<ROOT_BITS>>,
    /// Length of the prefix that wrote each slot; 0 if none did.
    lens: Reserved<u8>,
    /// Slots that need each ply; as many entries as plies were ever used.
    needs: Vec<u16>,
    /// Tails that were ever used.
    tails_used: usize,
    free_plies: Vec<u32>,
    free_tails: Vec<u32>,
    /// References to nodes that the change under way replaces; readers may still find them.
    replaced: Vec<u32>,
    /// References to nodes that readers may still be in, with the epoch whose end frees them.
    leaving: VecDeque<(u64, u32)>,
}

impl<const ROOT_BITS: u8> Writer<ROOT_BITS> {
    pub(super) fn new(table: Mtrie<ROOT_BITS>, pages: HugePages) -> io::Result<Self> {
        Ok(Self {
            lens: Reserved::new(table.slots.len(), pages)?.named("trie lengths"),
            needs: Vec::new(),
            tails_used: 0,
            free_plies: Vec::new(),
            free_tails: Vec::new(),
            replaced: Vec::new(),
            leaving: VecDeque::new(),
            table: Arc::new(table),
        })
    }

    /// The half that readers share.
    pub fn table(&self) -> &Arc<Mtrie<ROOT_BITS>> {
        &self.table
    }

    /// Asks for what a change of prefixes of `key` reads first.
    pub fn fetch(&self, key: u32) {
        self.table.fetch(&[key]);
        prefetch(&self.lens[(key >> (32 - ROOT_BITS)) as usize]);
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
    pub fn insert(&mut self, key: u32, len: u8, leaf: u32) -> Result<(), Full> {
        assert!(len <= 32, "a prefix is no longer than a key");
        if len == 0 {
            self.set_default(leaf);
            return Ok(());
        }
        assert!(0 < leaf && leaf <= MAX_LEAF, "a leaf has 31 bits, and 0 means the default");
        if !self.has_place(key, len) {
            self.make_room()?;
        }
        let new = Slot { value: leaf, len };
        self.rewrite(key, len, &|old| if old.len <= len { new } else { old });
        Ok(())
    }

    /// Takes a prefix out; nothing happens if it is not in the table.
    ///
    /// `covering` is the length and leaf of the longest other prefix that contains this one; `None`
    /// or length 0 if only the default does. Removing length 0 sets the default to 0.
    ///
    /// # Panics
    /// If `len` is more than a key has, or `covering` is not shorter or has no valid leaf.
    pub fn remove(&mut self, key: u32, len: u8, covering: Option<(u8, u32)>) {
        assert!(len <= 32, "a prefix is no longer than a key");
        if len == 0 {
            self.set_default(0);
            return;
        }
        let (up_len, value) = covering.filter(|&(len, _)| len > 0).unwrap_or((0, 0));
        assert!(up_len < len && value <= MAX_LEAF, "the covering prefix is shorter and has a leaf");
        assert_eq!(up_len == 0, value == 0, "leaf 0 means the default");
        let up = Slot { value, len: up_len };
        self.rewrite(key, len, &|old| if old.len == len { up } else { old });
    }

    /// Nodes that are part of the table, without its root.
    pub fn node_count(&self) -> usize {
        let idle = self.free_plies.len() + self.free_tails.len() + self.leaving.len();
        self.needs.len() + self.tails_used - idle
    }

    /// Bytes of memory used for the root and for all nodes used so far, with the writer's notes.
    pub fn memory(&self) -> usize {
        let slots = Mtrie::<ROOT_BITS>::ROOT + self.needs.len() * FANOUT;
        slots * (size_of::<u32>() + size_of::<u8>())
            + self.tails_used * size_of::<super::Tail>()
            + self.needs.capacity() * size_of::<u16>()
            + (self.free_plies.capacity() + self.free_tails.capacity()) * size_of::<u32>()
            + self.leaving.capacity() * size_of::<(u64, u32)>()
    }

    /// Rewrites all leaves within a prefix with `change`.
    fn rewrite(&mut self, key: u32, len: u8, change: Change<'_>) {
        let at = (key >> (32 - ROOT_BITS)) as usize;
        if len > ROOT_BITS {
            let new = self.below(self.slot(at), 1, (key, len), change);
            self.write(at, new);
            self.retire();
            return;
        }
        let count = 1 << (ROOT_BITS - len);
        let first = at & !(count - 1);
        for at in first..first + count {
            let new = self.whole(self.slot(at), 0, change);
            self.write(at, new);
        }
    }

    /// Does so in the node at `depth` that a slot refers to, or is to refer to, where the prefix
    /// ends or goes on from. Returns the slot as it is to be.
    fn below(&mut self, old: Slot, depth: u8, prefix: (u32, u8), change: Change<'_>) -> Slot {
        let (range, goes_on) =
            (range::<ROOT_BITS>(prefix, depth), prefix.1 > bits::<ROOT_BITS>(depth));
        let inner = |this: &mut Self, slot| {
            if goes_on {
                this.below(slot, depth + 1, prefix, change)
            } else {
                this.whole(slot, depth, change)
            }
        };
        if is_ply(old.value) {
            for byte in range {
                let at = first_slot(old.value) + usize::from(byte);
                let new = inner(self, self.slot(at));
                self.write_in_ply(at, new, depth);
            }
            return self.shrunk(old);
        }
        let had = self.parts(old);
        let mut parts = Vec::with_capacity(had.len() + 2);
        for (i, part) in had.iter().enumerate() {
            let end = had.get(i + 1).map_or(u8::MAX, |next| next.start - 1);
            if end < *range.start() || *range.end() < part.start {
                push(&mut parts, *part);
                continue;
            }
            if part.start < *range.start() {
                push(&mut parts, *part);
            }
            let slot = inner(self, part.slot);
            push(&mut parts, Part { start: part.start.max(*range.start()), slot });
            if *range.end() < end {
                push(&mut parts, Part { start: range.end() + 1, slot: part.slot });
            }
        }
        self.replace(old, depth, &had, &parts)
    }

    /// Puts a node of other runs in the place of a leaf or a tail; returns the reference to it.
    fn replace(&mut self, old: Slot, depth: u8, had: &[Part], parts: &[Part]) -> Slot {
        if parts.iter().map(|p| p.start).eq(had.iter().map(|p| p.start)) {
            if !is_tail(old.value) {
                return parts[0].slot;
            }
            self.relabel(old.value, parts);
            return old;
        }
        self.replaced.extend(Some(old.value).filter(|value| value & NODE != 0));
        match parts {
            [one] => one.slot,
            _ if parts.len() <= PARTS && self.has_tails() => self.add_tail(parts),
            _ => self.add_ply(parts, depth),
        }
    }

    /// Rewrites a slot of a node at `depth` and all below it with `change`: the runs stay, since
    /// the leaves of a shorter prefix never equal those of its longer neighbors.
    fn whole(&mut self, old: Slot, depth: u8, change: Change<'_>) -> Slot {
        if old.value & NODE == 0 {
            return change(old);
        }
        if is_tail(old.value) {
            let mut parts = self.parts(old);
            parts.iter_mut().for_each(|part| part.slot = self.whole(part.slot, depth + 1, change));
            self.relabel(old.value, &parts);
            return old;
        }
        let first = first_slot(old.value);
        for at in first..first + FANOUT {
            let new = self.whole(self.slot(at), depth + 1, change);
            self.write_in_ply(at, new, depth + 1);
        }
        old
    }

    /// The same ply, or what takes its place when few slots need it.
    fn shrunk(&mut self, old: Slot) -> Slot {
        let few = if self.has_tails() { FEW } else { 0 };
        if self.needs[note::<ROOT_BITS>(old.value)] > few {
            return old;
        }
        let first = first_slot(old.value);
        let mut parts = Vec::new();
        for byte in 0..=u8::MAX {
            push(&mut parts, Part { start: byte, slot: self.slot(first + usize::from(byte)) });
        }
        if parts.len() > PARTS {
            return old;
        }
        self.replaced.push(old.value);
        if let [one] = *parts { one.slot } else { self.add_tail(&parts) }
    }

    fn has_tails(&self) -> bool {
        !self.table.tails.is_empty()
    }

    fn slot(&self, at: usize) -> Slot {
        Slot { value: self.table.slots[at].load(Relaxed), len: self.lens[at] }
    }

    fn write(&mut self, at: usize, new: Slot) {
        if self.slot(at) != new {
            self.lens[at] = new.len;
            self.table.slots[at].store(new.value, Release);
        }
    }

    /// Writes a slot of a ply at `depth` and keeps the count of its needs.
    fn write_in_ply(&mut self, at: usize, new: Slot, depth: u8) {
        let is_need = |slot: Slot| u16::from(needs_node::<ROOT_BITS>(slot, depth));
        let old = is_need(self.slot(at));
        let needs = &mut self.needs[at / FANOUT - first_ply::<ROOT_BITS>()];
        *needs = *needs + is_need(new) - old;
        self.write(at, new);
    }

    /// The runs of a tail; a leaf is one run.
    fn parts(&self, slot: Slot) -> Vec<Part> {
        if !is_tail(slot.value) {
            return vec![Part { start: 0, slot }];
        }
        let tail = &self.table.tails[(slot.value & !TAIL) as usize];
        let starts = tail.starts.load(Relaxed).to_le_bytes();
        let part = |i: usize| Part {
            start: i.checked_sub(1).map_or(0, |i| starts[i]),
            slot: Slot { value: tail.slots[i].load(Relaxed), len: tail.lens[i].load(Relaxed) },
        };
        (0..usize::from(tail.count.load(Relaxed))).map(part).collect()
    }

    /// Writes slots and lengths of a tail's runs, and the last slot into what is not used.
    fn relabel(&mut self, reference: u32, parts: &[Part]) {
        let tail = &self.table.tails[(reference & !TAIL) as usize];
        let last = parts.last().expect("a node has slots");
        for i in 0..PARTS {
            let Slot { value, len } = parts.get(i).unwrap_or(last).slot;
            tail.lens[i].store(len, Relaxed);
            tail.slots[i].store(value, Release);
        }
    }

    fn add_tail(&mut self, parts: &[Part]) -> Slot {
        let number = self.tail();
        let mut starts = [u8::MAX; PARTS - 1];
        starts.iter_mut().zip(&parts[1..]).for_each(|(start, part)| *start = part.start);
        let tail = &self.table.tails[number as usize];
        tail.starts.store(u64::from_le_bytes(starts), Relaxed);
        tail.count.store(parts.len() as u8, Relaxed);
        self.relabel(number | TAIL, parts);
        Slot { value: number | TAIL, len: 0 }
    }

    fn add_ply(&mut self, parts: &[Part], depth: u8) -> Slot {
        let number = self.ply();
        let first = first_slot(number);
        let mut needs = 0;
        for (i, part) in parts.iter().enumerate() {
            let end = parts.get(i + 1).map_or(FANOUT, |next| usize::from(next.start));
            let start = usize::from(part.start);
            needs += if needs_node::<ROOT_BITS>(part.slot, depth) { end - start } else { 0 };
            for at in first + start..first + end {
                self.lens[at] = part.slot.len;
                self.table.slots[at].store(part.slot.value, Relaxed);
            }
        }
        self.needs[note::<ROOT_BITS>(number)] = needs as u16;
        Slot { value: number | NODE, len: 0 }
    }

    /// Whether a prefix ends at bounds of runs that exist, so that its leaf needs no room.
    fn has_place(&self, key: u32, len: u8) -> bool {
        let mut slot = self.slot((key >> (32 - ROOT_BITS)) as usize);
        let mut depth = 0;
        while len > bits::<ROOT_BITS>(depth) {
            depth += 1;
            let range = range::<ROOT_BITS>((key, len), depth);
            if is_ply(slot.value) {
                slot = self.slot(first_slot(slot.value) + usize::from(*range.start()));
                continue;
            }
            let parts = self.parts(slot);
            let at = parts.partition_point(|part| part.start <= *range.start()) - 1;
            let next = parts.get(at + 1).map_or(FANOUT, |next| usize::from(next.start));
            let is_alone = parts[at].start == *range.start();
            if !is_alone || next > usize::from(*range.end()) + 1 {
                return false;
            }
            slot = parts[at].slot;
        }
        true
    }

    /// Waits until a change can be sure of its nodes.
    fn make_room(&mut self) -> Result<(), Full> {
        let mut waited = Duration::ZERO;
        let needed = usize::from(Mtrie::<ROOT_BITS>::DEPTH) + RESERVE;
        loop {
            let plies = self.table.slots.len() / FANOUT - first_ply::<ROOT_BITS>();
            let plies = plies - self.needs.len() + self.free_plies.len();
            let tails = self.table.tails.len() - self.tails_used + self.free_tails.len();
            if plies >= needed && (tails >= needed || !self.has_tails()) {
                return Ok(());
            }
            if self.leaving.is_empty() || waited > PATIENCE {
                return Err(Full);
            }
            if !self.reclaim() {
                thread::sleep(Duration::from_micros(100));
                waited += Duration::from_micros(100);
            }
        }
    }

    /// Number of a tail without readers.
    fn tail(&mut self) -> u32 {
        loop {
            if self.free_tails.is_empty() && self.leaving.len() >= MANY {
                self.reclaim();
            }
            if let Some(free) = self.free_tails.pop() {
                return free;
            }
            if self.tails_used < self.table.tails.len() {
                self.tails_used += 1;
                return self.tails_used as u32 - 1;
            }
            self.wait();
        }
    }

    /// Number of a ply without readers.
    fn ply(&mut self) -> u32 {
        loop {
            if self.free_plies.is_empty() && self.leaving.len() >= MANY {
                self.reclaim();
            }
            if let Some(free) = self.free_plies.pop() {
                return free;
            }
            let number = first_ply::<ROOT_BITS>() + self.needs.len();
            if number < self.table.slots.len() / FANOUT {
                self.needs.push(0);
                return number as u32;
            }
            self.wait();
        }
    }

    fn wait(&mut self) {
        assert!(!self.leaving.is_empty(), "insertions leave room for rewritten nodes");
        if !self.reclaim() {
            thread::sleep(Duration::from_micros(100));
        }
    }

    /// Lets go what a change has replaced: the stores that make it unreachable come first, since a
    /// reader of the next epoch may still have found it before them.
    fn retire(&mut self) {
        if !self.replaced.is_empty() {
            let epoch = rcu::end_epoch();
            self.leaving.extend(self.replaced.drain(..).map(|reference| (epoch, reference)));
        }
    }

    /// Frees nodes that no reader can be in; returns whether there were any.
    fn reclaim(&mut self) -> bool {
        let before = self.leaving.len();
        while let Some(&(_, reference)) = self.leaving.front().filter(|l| rcu::passed(l.0)) {
            self.leaving.pop_front();
            if is_tail(reference) {
                self.free_tails.push(reference & !TAIL);
            } else {
                self.free_plies.push(reference & !NODE);
            }
        }
        self.leaving.len() < before
    }
}

fn is_tail(value: u32) -> bool {
    value & TAIL == TAIL
}

fn is_ply(value: u32) -> bool {
    value & TAIL == NODE
}

/// Adds a run, or extends the previous one if it is equal.
fn push(parts: &mut Vec<Part>, new: Part) {
    if parts.last().is_none_or(|last| last.slot != new.slot) {
        parts.push(new);
    }
}

/// Number of the first ply below the root, which takes as many numbers as it has room for plies.
const fn first_ply<const ROOT_BITS: u8>() -> usize {
    (1 << ROOT_BITS) / FANOUT
}

/// Position of the writer's notes on a ply.
fn note<const ROOT_BITS: u8>(reference: u32) -> usize {
    (reference & !NODE) as usize - first_ply::<ROOT_BITS>()
}

/// Bits of a key that slots at `depth` have used up.
fn bits<const ROOT_BITS: u8>(depth: u8) -> u8 {
    ROOT_BITS + 8 * depth
}

/// Whether a slot of a node at `depth` could not be one with the slot that refers to the node.
fn needs_node<const ROOT_BITS: u8>(slot: Slot, depth: u8) -> bool {
    slot.value & NODE != 0 || slot.len > bits::<ROOT_BITS>(depth - 1)
}

/// Bytes in a node at `depth` that a prefix covers or goes on from.
fn range<const ROOT_BITS: u8>((key, len): (u32, u8), depth: u8) -> RangeInclusive<u8> {
    let rest = (bits::<ROOT_BITS>(depth).saturating_sub(len)).min(8);
    let low = ((1u16 << rest) - 1) as u8;
    let byte = byte::<ROOT_BITS>(key, depth);
    byte & !low..=byte | low
}
