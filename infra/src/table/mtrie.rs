//! Longest-prefix match: a multibit trie that is changed in place under its readers.
//!
//! The first `ROOT_BITS` of a key index the root, every further byte a *ply* of 256 slots. A slot
//! is one `u32`: a reference to a ply (top bit set), a leaf of the user (31 bits), or 0 where no
//! prefix reaches, which means the default leaf. With 24 root bits and IPv4 keys this is DIR-24-8.
//!
//! Readers hold an [`Mtrie`] shared and only load; the one [`Writer`] only stores single slots, so
//! that a lookup sees each slot as it was before or after a change. A ply is filled before the
//! store that makes it reachable. One that is no longer needed is unlinked and then belongs to the
//! caller ([`Writer::take_garbage`]) until no reader can be inside it.
//!
//! Safety contract: a slot with the mark `PLY` names a ply inside `slots`. Leaves never have the
//! mark, and the one place that makes references, `Writer::deepen`, has before indexed the whole
//! ply as a checked slice. `slots` neither moves nor shrinks while the table lives.

mod key;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed};

use crate::cpu;
use crate::memory::{HugePages, Reserved};

pub use key::Key;
pub use writer::{Full, PlyIndex, Writer};

/// The greatest value a leaf may have.
pub const MAX_LEAF: u32 = PLY - 1;

/// Set in a slot that refers to a ply.
const PLY: u32 = 1 << 31;

/// Slots of a ply: one for each value of a byte.
const FANOUT: usize = 256;

/// What readers see of a table: lookups only.
#[derive(Debug)]
pub struct Mtrie<const ROOT_BITS: u8, K> {
    /// The root, then the plies. A ply's number is that of its first slot divided by `FANOUT`.
    slots: Reserved<AtomicU32>,
    default: AtomicU32,
    key: PhantomData<fn(K)>,
}

impl<const ROOT_BITS: u8, K: Key> Mtrie<ROOT_BITS, K> {
    /// Slots of the root.
    const ROOT: usize = {
        assert!(8 <= ROOT_BITS && ROOT_BITS <= 24, "the root is made of whole plies, and not big");
        assert!((K::BITS - ROOT_BITS).is_multiple_of(8), "plies consume whole bytes");
        1 << ROOT_BITS
    };

    /// Plies that a key can pass.
    const DEPTH: u8 = (K::BITS - ROOT_BITS) / 8;

    /// Makes an empty table that may grow to `max_plies` below its root, whose default leaf is 0.
    ///
    /// Memory is reserved now and used when it is touched; `pages` should be [`HugePages::Advise`]
    /// only for tables expected to be large. The readers' half is [`Writer::table`].
    ///
    /// # Errors
    /// `InvalidInput` if plies could not be numbered, else the kernel's.
    pub fn writer(max_plies: usize, pages: HugePages) -> io::Result<Writer<ROOT_BITS, K>> {
        let slots = max_plies
            .checked_mul(FANOUT)
            .and_then(|slots| slots.checked_add(Self::ROOT))
            .filter(|&slots| slots <= FANOUT << 24)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let table = Self {
            slots: Reserved::new(slots, pages)?.named("tries"),
            default: AtomicU32::new(0),
            key: PhantomData,
        };
        Writer::new(table, pages)
    }

    /// The leaf of the longest prefix that covers `key`, or the default leaf.
    #[inline(always)]
    pub fn lookup(&self, key: K) -> u32 {
        // JUSTIFICATION: checked, a lookup among a million prefixes costs 42 clocks instead of 35
        // (`examples/mtrie_clocks.rs`, 16 root bits), and 24 instead of 21 (24 root bits).
        // SAFETY: `root` is below 2^ROOT_BITS, and `slots` begins with a root of that many.
        let mut slot = unsafe { self.slots.get_unchecked(key.root(ROOT_BITS)) }.load(Acquire);
        let mut depth = 0;
        while slot & PLY != 0 && depth < Self::DEPTH {
            depth += 1;
            let index = first_slot(slot) + key.byte(ROOT_BITS, depth);
            // SAFETY: `slot` names a ply, all of which is inside `slots` by the module's contract,
            // and a byte is below its 256 slots.
            slot = unsafe { self.slots.get_unchecked(index) }.load(Acquire);
        }
        if slot == 0 { self.default.load(Relaxed) } else { slot }
    }

    /// Puts the leaf of each key into `leaves`.
    #[inline(always)]
    pub fn find(&self, keys: &[K], leaves: &mut [u32]) {
        for (key, leaf) in keys.iter().zip(leaves) {
            *leaf = self.lookup(*key);
        }
    }

    /// Brings the part of the root near that a lookup of `key` will read first.
    #[inline(always)]
    pub fn prefetch(&self, key: K) {
        cpu::prefetch(&self.slots[key.root(ROOT_BITS)]);
    }

    /// The leaf of keys that no prefix covers.
    pub fn default(&self) -> u32 {
        self.default.load(Relaxed)
    }
}

/// First slot of the ply that `reference` names. The shift drops the mark of a reference.
#[inline(always)]
fn first_slot(reference: u32) -> usize {
    (reference << 8) as usize
}
