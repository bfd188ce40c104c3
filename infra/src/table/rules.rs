//! First match in an ordered list of patterns, at a cost that does not grow with the list.
//!
//! Patterns with like masks are in a group: a hash table of the bits that all of them compare
//! (tuple space). A lookup asks the groups in the order of their first patterns, and no further
//! once nothing there can come before what is found. Lists with many kinds of masks share groups
//! with coarser masks, at most [`GROUPS`]. Patterns that are alike in the bits of their group, such
//! as ranges of ports between the same hosts, are told apart by a tree of cuts down to a few.
//!
//! It is made once and does not change, so that readers of an old one and a new one never see a
//! mixture: by a [`Builder`] in slices, or at once by [`Rules::of`].
#![forbid(unsafe_code)]

mod build;
mod cuts;
#[cfg(test)]
mod tests;

use crate::cpu::prefetch;

pub use build::Builder;

/// Groups at most.
pub const GROUPS: usize = 12;
/// Groups whose places are asked for ahead.
const FETCHED: usize = 3;

/// A number in a key that patterns compare by a prefix or a range.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The word it is in.
    pub word: usize,
    /// Bits below it.
    pub shift: u32,
    /// Its bits.
    pub bits: u32,
    /// Lengths of prefixes are rounded down to multiples of this where groups are many.
    pub step: u32,
}

impl Field {
    const fn most(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
    /// Its bits in its word.
    const fn mask(&self) -> u64 {
        self.most() << self.shift
    }
    #[inline(always)]
    fn of<const W: usize>(&self, key: &[u64; W]) -> u64 {
        key[self.word] >> self.shift & self.most()
    }
}

/// What a key is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<const W: usize> {
    /// Bits that count.
    pub mask: [u64; W],
    /// Their values; others are 0.
    pub value: [u64; W],
    /// Ranges of the bits from 16 on and from 0 on of the last word, 16 each; both ends count.
    pub ranges: [(u16, u16); 2],
    /// Bits that count of the byte beside the key, and their values.
    pub flags: (u8, u8),
}

impl<const W: usize> Pattern<W> {
    /// The pattern of all keys.
    pub const ANY: Self =
        Self { mask: [0; W], value: [0; W], ranges: [(0, u16::MAX); 2], flags: (0, 0) };

    /// Whether a key with a byte beside it is like this.
    #[inline(always)]
    pub fn matches(&self, key: &[u64; W], flags: u8) -> bool {
        let mut other = 0;
        for ((key, mask), value) in key.iter().zip(&self.mask).zip(&self.value) {
            other |= key & mask ^ value;
        }
        let ports = key[W - 1];
        let is_in = |(low, high): (u16, u16), port: u16| low <= port && port <= high;
        other == 0
            && is_in(self.ranges[0], (ports >> 16) as u16)
            && is_in(self.ranges[1], ports as u16)
            && flags & self.flags.0 == self.flags.1
    }
    /// The same with ranges of one value among the bits that count.
    fn with_exact_ranges(mut self) -> Self {
        for ((low, high), shift) in self.ranges.into_iter().zip([16, 0]) {
            if low == high {
                self.mask[W - 1] |= 0xffff << shift;
                self.value[W - 1] |= u64::from(low) << shift;
            }
        }
        self
    }
}

/// A pattern in a run of them, in the order of the list.
#[derive(Clone, Copy, Debug)]
struct Entry<const W: usize> {
    pattern: Pattern<W>,
    /// Place in the list.
    number: u32,
    /// Whether the run ends here.
    is_last: bool,
}

/// Where a lookup goes on: at a run of entries, or at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct To(u32);

impl To {
    const NOWHERE: Self = Self(u32::MAX);
    const CUT: u32 = 1 << 31;
}

/// A value of a field at which patterns are told apart.
#[derive(Clone, Copy, Debug)]
struct Cut {
    field: Field,
    at: u64,
    below: To,
    from: To,
}

/// A place of a group's hash table.
#[derive(Clone, Copy, Debug)]
struct Place {
    tag: u32,
    to: To,
}

/// Patterns that are found by the same bits.
#[derive(Clone, Copy, Debug)]
struct Group<const W: usize> {
    mask: [u64; W],
    /// The first pattern's place in the list.
    first: u32,
    /// Places in the hash table less one, and where they begin.
    last_place: u32,
    start: u32,
}

/// A list of patterns, ready for lookups.
#[derive(Clone, Debug)]
pub struct Rules<const W: usize> {
    groups: Vec<Group<W>>,
    places: Vec<Place>,
    entries: Vec<Entry<W>>,
    cuts: Vec<Cut>,
}

/// The size of [`Rules`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Groups.
    pub groups: usize,
    /// Entries: patterns, in all runs that they are in.
    pub entries: usize,
    /// Cuts.
    pub cuts: usize,
    /// Bytes.
    pub bytes: usize,
}

#[inline(always)]
fn hash<const W: usize>(key: &[u64; W], mask: &[u64; W]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15u64;
    for (key, mask) in key.iter().zip(mask) {
        let product = u128::from(hash ^ key & mask) * 0xd6e8_feb8_6659_fd93_u128;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    hash
}

impl<const W: usize> Group<W> {
    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        (self.start + (hash as u32 & self.last_place)) as usize
    }
}

impl<const W: usize> Default for Rules<W> {
    fn default() -> Self {
        let (groups, places) = (Vec::new(), Vec::new());
        Self { groups, places, entries: Vec::new(), cuts: Vec::new() }
    }
}

impl<const W: usize> Rules<W> {
    /// Makes them at once.
    pub fn of(patterns: Vec<Pattern<W>>, fields: &'static [Field]) -> Self {
        let mut builder = Builder::new(patterns, fields);
        loop {
            if let Some(rules) = builder.step() {
                return rules;
            }
        }
    }
    /// Asks for the memory in which a lookup of a key begins.
    #[inline(always)]
    pub fn fetch(&self, key: &[u64; W]) {
        for group in self.groups.iter().take(FETCHED) {
            if let Some(place) = self.places.get(group.place(hash(key, &group.mask))) {
                prefetch(place);
            }
        }
    }
    /// The place in the list of the first pattern that a key with a byte beside it is like.
    #[inline(always)]
    pub fn find(&self, key: &[u64; W], flags: u8) -> Option<u32> {
        let mut best = u32::MAX;
        for group in &self.groups {
            if group.first > best {
                break;
            }
            let hash = hash(key, &group.mask);
            let tag = (hash >> 32) as u32;
            let mut at = group.place(hash);
            while let Some(place) = self.places.get(at) {
                if place.to == To::NOWHERE {
                    break;
                }
                if place.tag == tag {
                    best = best.min(self.run(place.to, key, flags, best));
                }
                // There is always a free place.
                at = group.place((at as u64 - u64::from(group.start)) + 1);
            }
        }
        (best != u32::MAX).then_some(best)
    }
    /// The first entry of a run, or of that to which cuts lead, that comes before `best`.
    #[inline(always)]
    fn run(&self, mut to: To, key: &[u64; W], flags: u8, best: u32) -> u32 {
        while to.0 & To::CUT != 0 {
            if to == To::NOWHERE {
                return u32::MAX;
            }
            let Some(cut) = self.cuts.get((to.0 & !To::CUT) as usize) else { return u32::MAX };
            to = if cut.field.of(key) < cut.at { cut.below } else { cut.from };
        }
        let run = self.entries.get(to.0 as usize..).unwrap_or(&[]);
        for entry in run {
            if entry.number >= best {
                break;
            }
            if entry.pattern.matches(key, flags) {
                return entry.number;
            }
            if entry.is_last {
                break;
            }
        }
        u32::MAX
    }
    /// Its size.
    pub fn size(&self) -> Size {
        let bytes = self.groups.len() * size_of::<Group<W>>()
            + self.places.len() * size_of::<Place>()
            + self.entries.len() * size_of::<Entry<W>>()
            + self.cuts.len() * size_of::<Cut>();
        let (groups, entries) = (self.groups.len(), self.entries.len());
        Size { groups, entries, cuts: self.cuts.len(), bytes }
    }
    /// The masks of its groups, with the place in the list of the first pattern of each and the
    /// places in the hash table.
    pub fn groups(&self) -> impl Iterator<Item = (&[u64; W], u32, u32)> {
        self.groups.iter().map(|group| (&group.mask, group.first, group.last_place + 1))
    }
}
