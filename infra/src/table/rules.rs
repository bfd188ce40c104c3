//! First match in an ordered list of patterns, at a cost that does not grow with the list.
//!
//! Patterns with like masks are in a group: a hash table of the bits that all of them compare
//! (tuple space). Lists with many kinds of masks share groups with coarser masks, at most
//! [`GROUPS`]. Patterns that are alike in the bits of their group, such as ranges of ports between
//! the same hosts, are distinguished by a tree of cuts down to a few. Groups and places in them
//! know the first pattern there: an earlier match spares a lookup places without better ones.
//!
//! [`Rules::find_all`] takes a block of keys through one group after the other, so that what they
//! wait for comes at once.
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
/// Keys at most that are looked up together.
pub const KEYS: usize = 64;
/// Groups whose lines are asked for ahead of a lookup of one key.
const FETCHED: usize = 3;
/// Places in a line.
const PLACES: usize = 6;

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

/// A pattern that keys are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<const W: usize> {
    /// Prefix length.
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

/// Next step of a lookup: a run of entries, or a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct To(u32);

impl To {
    const NOWHERE: Self = Self(u32::MAX);
    const CUT: u32 = 1 << 31;

    const fn is_run(self) -> bool {
        self.0 & Self::CUT == 0
    }
    const fn is_cut(self) -> bool {
        !self.is_run() && self.0 != Self::NOWHERE.0
    }
    /// The cut's place; beyond all for what is none.
    const fn cut(self) -> usize {
        if self.is_run() { usize::MAX } else { (self.0 & !Self::CUT) as usize }
    }
}

/// A value of a field that distinguishes patterns.
#[derive(Clone, Copy, Debug)]
struct Cut {
    at: u64,
    /// Next steps below it, and from it on.
    to: [To; 2],
    /// The field: its word, and how far up and down its bits are shifted.
    word: u8,
    up: u8,
    down: u8,
}

impl Cut {
    fn new(field: &Field, at: u64) -> Self {
        let down = 64 - field.bits as u8;
        let up = down - field.shift as u8;
        Self { at, to: [To::NOWHERE; 2], word: field.word as u8, up, down }
    }
    /// Next step of a key.
    #[inline(always)]
    fn of<const W: usize>(&self, key: &[u64; W]) -> To {
        let value = key.get(usize::from(self.word)).map_or(0, |word| word << self.up >> self.down);
        self.to[usize::from(value >= self.at)]
    }
}

/// Places of a group's hash table that are read together.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line {
    /// A tag of 16 bits, odd, for each place that is taken, and [`Line::MORE`] on top where places
    /// are on the next line as well.
    tags: [u64; 2],
    to: [To; PLACES],
    /// The first pattern there.
    first: [u32; PLACES],
}

impl Line {
    const FREE: Self = Self { tags: [0; 2], to: [To::NOWHERE; PLACES], first: [0; PLACES] };
    const MORE: u64 = 2 << 48;

    /// The top bit of each tag of four that is this one.
    #[inline(always)]
    fn like(tags: u64, tag: u64) -> u64 {
        const LOW: u64 = 0x7fff_7fff_7fff_7fff;
        let differ = tags ^ (tag * 0x0001_0001_0001_0001);
        !(((differ & LOW) + LOW) | differ | LOW)
    }
    /// A bit for each place with this tag, and the first of these places.
    #[inline(always)]
    fn find(&self, tag: u64) -> (u64, usize) {
        let like = Self::like(self.tags[0], tag) | Self::like(self.tags[1], tag) >> 1;
        let at = like.trailing_zeros() as usize;
        (like, (at / 16 + if at.is_multiple_of(2) { 4 } else { 0 }).min(PLACES - 1))
    }
    /// Takes a free place, if there is one.
    fn take(&mut self, hash: u64, first: u32) -> Option<usize> {
        let place = (0..PLACES).find(|n| self.tags[n / 4] >> (n % 4 * 16) & 0xffff == 0)?;
        self.tags[place / 4] |= tag(hash) << (place % 4 * 16);
        // Any value for as long as it is not known.
        (self.to[place], self.first[place]) = (To(0), first);
        Some(place)
    }
}

/// The tag of a hash.
#[inline(always)]
fn tag(hash: u64) -> u64 {
    hash >> 48 | 1
}

/// Patterns that are found by the same bits.
#[derive(Clone, Copy, Debug)]
struct Group<const W: usize> {
    mask: [u64; W],
    /// The first pattern's place in the list.
    first: u32,
    /// Lines of the hash table less one, and where they begin.
    last_line: u32,
    start: u32,
}

/// A list of patterns, ready for lookups.
#[derive(Clone, Debug)]
pub struct Rules<const W: usize> {
    groups: Vec<Group<W>>,
    lines: Vec<Line>,
    entries: Vec<Entry<W>>,
    cuts: Vec<Cut>,
    /// The place in the list of the first pattern of all keys, which is in no group;
    /// [`u32::MAX`] without one.
    any: u32,
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
    /// The line where a hash belongs, so many further on.
    #[inline(always)]
    fn line(&self, hash: u64, further: usize) -> usize {
        (self.start + ((hash as u32).wrapping_add(further as u32) & self.last_line)) as usize
    }
}

impl<const W: usize> Default for Rules<W> {
    fn default() -> Self {
        let (groups, lines) = (Vec::new(), Vec::new());
        Self { groups, lines, entries: Vec::new(), cuts: Vec::new(), any: u32::MAX }
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
            if let Some(line) = self.lines.get(group.line(hash(key, &group.mask), 0)) {
                prefetch(line);
            }
        }
    }
    /// The place in the list of the first pattern that a key with a byte beside it is like.
    #[inline(always)]
    pub fn find(&self, key: &[u64; W], flags: u8) -> Option<u32> {
        let mut best = self.any;
        for group in &self.groups {
            if group.first < best {
                best = self.probe(group, hash(key, &group.mask), (key, flags), best);
            }
        }
        (best != u32::MAX).then_some(best)
    }
    /// The same for up to [`KEYS`] keys, each given by its number; [`u32::MAX`] for none.
    #[inline(always)]
    pub fn find_all<'k>(&self, key: impl Fn(usize) -> (&'k [u64; W], u8), found: &mut [u32]) {
        let count = found.len().min(KEYS);
        let found = &mut found[..count];
        found.fill(self.any);
        let (mut hashes, mut going) = ([0; KEYS], [(0, To::NOWHERE); KEYS]);
        for group in &self.groups {
            if found.iter().all(|best| *best <= group.first) {
                continue;
            }
            for (n, place) in hashes.iter_mut().take(count).enumerate() {
                *place = hash(key(n).0, &group.mask);
                if let Some(line) = self.lines.get(group.line(*place, 0)) {
                    prefetch(line);
                }
            }
            let mut hits = 0;
            for (n, (best, hash)) in found.iter_mut().zip(hashes).enumerate() {
                let Some(line) = self.lines.get(group.line(hash, 0)) else { break };
                let (like, place) = line.find(tag(hash));
                let more = line.tags[1] & Line::MORE;
                if like | more == 0 {
                    continue;
                }
                if more != 0 || like & (like - 1) != 0 {
                    *best = self.probe(group, hash, key(n), *best);
                    continue;
                }
                // Whether it precedes the match so far is unpredictable: no branch.
                going[hits] = (n as u32, line.to[place]);
                hits += usize::from(line.first[place] < *best);
            }
            self.walk(&key, &mut going, hits, found);
        }
    }
    /// Takes keys from where their places lead down to runs, all a cut further at a time, and
    /// through these.
    #[inline(always)]
    fn walk<'k>(
        &self,
        key: &impl Fn(usize) -> (&'k [u64; W], u8),
        going: &mut [(u32, To); KEYS],
        mut left: usize,
        found: &mut [u32],
    ) {
        // One more, which is written and not read.
        let (mut runs, mut ready) = ([(0, To::NOWHERE); KEYS + 1], 0);
        while left > 0 {
            let mut on = 0;
            for at in 0..left {
                let (n, from) = going[at];
                runs[ready.min(KEYS)] = (n, from);
                ready += usize::from(from.is_run());
                let cut = self.cuts.get(from.cut());
                let to = cut.map_or(To::NOWHERE, |cut| cut.of(key(n as usize).0));
                going[on] = (n, to);
                on += usize::from(from.is_cut());
            }
            left = on;
        }
        for (_, to) in &runs[..ready] {
            for next in [0, 2] {
                if let Some(entry) = self.entries.get(to.0 as usize + next) {
                    prefetch(entry);
                }
            }
        }
        for (n, to) in &runs[..ready] {
            let (key, flags) = key(*n as usize);
            if let Some(best) = found.get_mut(*n as usize) {
                *best = self.run(*to, key, flags, *best).min(*best);
            }
        }
    }
    /// The first pattern of a group that a key is like and that comes before `best`, else `best`.
    #[inline(always)]
    fn probe(
        &self,
        group: &Group<W>,
        hash: u64,
        (key, flags): (&[u64; W], u8),
        mut best: u32,
    ) -> u32 {
        for further in 0..=group.last_line as usize {
            let Some(line) = self.lines.get(group.line(hash, further)) else { break };
            let tag = tag(hash);
            let [low, high] = line.tags.map(|tags| Line::like(tags, tag));
            if low | high != 0 {
                best = self.runs(line, [low, high], (key, flags), best);
            }
            if line.tags[1] & Line::MORE == 0 {
                break;
            }
        }
        best
    }
    /// The same for the places of a line that have the key's tag.
    #[inline(always)]
    fn runs(
        &self,
        line: &Line,
        like: [u64; 2],
        (key, flags): (&[u64; W], u8),
        mut best: u32,
    ) -> u32 {
        for (half, mut like) in like.into_iter().enumerate() {
            while like != 0 {
                let place = half * 4 + like.trailing_zeros() as usize / 16;
                like &= like - 1;
                if let (Some(first), Some(to)) = (line.first.get(place), line.to.get(place))
                    && *first < best
                {
                    best = best.min(self.run(*to, key, flags, best));
                }
            }
        }
        best
    }
    /// The first entry of a run, or of that to which cuts lead, that comes before `best`.
    #[inline(always)]
    fn run(&self, mut to: To, key: &[u64; W], flags: u8, best: u32) -> u32 {
        while to.0 & To::CUT != 0 {
            if to == To::NOWHERE {
                return u32::MAX;
            }
            let Some(cut) = self.cuts.get((to.0 & !To::CUT) as usize) else { return u32::MAX };
            to = cut.of(key);
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
            + self.lines.len() * size_of::<Line>()
            + self.entries.len() * size_of::<Entry<W>>()
            + self.cuts.len() * size_of::<Cut>();
        let any = usize::from(self.any != u32::MAX);
        let (groups, entries) = (self.groups.len() + any, self.entries.len() + any);
        Size { groups, entries, cuts: self.cuts.len(), bytes }
    }
    /// The masks of its groups, with the place in the list of the first pattern of each and the
    /// places in the hash table; last the pattern of all keys, which needs no place.
    pub fn groups(&self) -> impl Iterator<Item = (&[u64; W], u32, u32)> {
        let any = (self.any != u32::MAX).then_some((&Pattern::<W>::ANY.mask, self.any, 0));
        self.groups
            .iter()
            .map(|group| (&group.mask, group.first, (group.last_line + 1) * PLACES as u32))
            .chain(any)
    }
}
