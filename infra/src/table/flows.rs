//! Values by the hashes of their keys, which are elsewhere: the flows of a table of sessions.
//!
//! A bucket is one cache line with ten places: a tag of 16 bits of the hash and a value each. All
//! tags of a bucket are compared at once. An entry is in one of two buckets, mostly the first; the
//! other one follows from it and the tag, so that entries move without their keys. The record that
//! a value names says whether the flow is meant: tags only keep away from most others. The table
//! belongs to one thread.
//!
//! It grows while in use: entries go from the old buckets to twice as many new ones, a few buckets
//! for each new session, and what is not found in the new ones is looked for in the old ones. Those
//! that find no room there are set aside, so that growing always ends.
#![forbid(unsafe_code)]

use std::io;

use zerocopy::FromZeros;

use super::tags::{Places, Tags};
use crate::cpu::prefetch;
use crate::memory::{HUGE_PAGE, HugePages, Reserved};

/// Places of a bucket.
const PLACES: usize = 10;
/// Entries that may move for a new one. With one alone some hundred thousandth of the new ones
/// found no place where 13 of 16 were taken, as when there is no memory to grow.
const MOVES: usize = 2;
/// Old buckets whose entries move for each new session.
const SLICE: usize = 2;
/// Entries that are set aside at most.
const MOST_ASIDE: usize = 64;
/// Buckets that give their memory back together.
const RETURNED: usize = HUGE_PAGE / size_of::<Bucket>();

/// Tags and values. A tag of 0 is that of a free place.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
struct Bucket {
    tags: Tags,
    values: [u32; PLACES],
}

impl Bucket {
    #[inline(always)]
    fn alike(&self, tag: u16) -> Places {
        self.tags.alike(tag, PLACES)
    }
    #[inline(always)]
    fn value(&self, place: usize) -> u32 {
        self.values.get(place).copied().unwrap_or(0)
    }
    fn tag(&self, place: usize) -> u16 {
        self.tags.get(place)
    }
    fn set(&mut self, place: usize, tag: u16, value: u32) {
        self.tags.set(place, tag);
        self.values[place] = value;
    }
}

/// A hash, cut into what is used of it.
#[derive(Clone, Copy)]
struct Cut {
    first: usize,
    tag: u16,
}

#[inline(always)]
fn cut(hash: u64) -> Cut {
    Cut { first: hash as usize, tag: ((hash >> 48) as u16).max(1) }
}

/// The distance between the two buckets of a tag; odd, so that there are two.
#[inline(always)]
fn apart(tag: u16) -> usize {
    (usize::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) | 1
}

/// Buckets of one size, a power of two.
#[derive(Debug)]
struct Buckets(Reserved<Bucket>);

impl Buckets {
    fn new(count: usize) -> io::Result<Self> {
        Ok(Self(Reserved::new(count, HugePages::Beyond)?.named("flows")))
    }
    #[inline(always)]
    fn at(&self, bucket: usize) -> &Bucket {
        &self.0[bucket & (self.0.len() - 1)]
    }
    fn at_mut(&mut self, bucket: usize) -> &mut Bucket {
        let mask = self.0.len() - 1;
        &mut self.0[bucket & mask]
    }
    #[inline(always)]
    fn find(&self, cut: Cut, is: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        for bucket in [cut.first, cut.first ^ apart(cut.tag)] {
            let bucket = self.at(bucket);
            for place in bucket.alike(cut.tag) {
                let value = bucket.value(place);
                if is(value) {
                    return Some(value);
                }
            }
        }
        None
    }
    /// Puts an entry into a free place of one of its buckets.
    fn put(&mut self, cut: Cut, value: u32) -> bool {
        for bucket in [cut.first, cut.first ^ apart(cut.tag)] {
            let bucket = self.at_mut(bucket);
            if let Some(free) = bucket.alike(0).next() {
                bucket.set(free, cut.tag, value);
                return true;
            }
        }
        false
    }
    /// The same; where both are full, an entry moves to its other bucket, which another one may
    /// have to leave for that.
    fn insert(&mut self, cut: Cut, value: u32) -> bool {
        self.put(cut, value) || (1..=MOVES).any(|moves| self.put_by_moving(cut, value, moves))
    }
    #[cold]
    fn put_by_moving(&mut self, cut: Cut, value: u32, moves: usize) -> bool {
        for here in [cut.first, cut.first ^ apart(cut.tag)] {
            if let Some(free) = self.make_free(here, moves) {
                self.at_mut(here).set(free, cut.tag, value);
                return true;
            }
        }
        false
    }
    /// A free place of a bucket, for which so many entries may move.
    fn make_free(&mut self, here: usize, moves: usize) -> Option<usize> {
        let free = self.at(here).alike(0).next();
        if free.is_some() || moves == 0 {
            return free;
        }
        (0..PLACES).find(|place| {
            let (tag, moved) = (self.at(here).tag(*place), self.at(here).value(*place));
            let there = here ^ apart(tag);
            let free = self.make_free(there, moves - 1);
            free.map(|free| self.at_mut(there).set(free, tag, moved)).is_some()
        })
    }
    fn remove(&mut self, cut: Cut, value: u32) -> bool {
        for bucket in [cut.first, cut.first ^ apart(cut.tag)] {
            let bucket = self.at_mut(bucket);
            let found = bucket.alike(cut.tag).find(|place| bucket.value(*place) == value);
            if let Some(place) = found {
                bucket.set(place, 0, 0);
                return true;
            }
        }
        false
    }
}

/// Buckets whose entries move to new ones.
#[derive(Debug)]
struct Old {
    buckets: Buckets,
    /// Buckets that are empty, from the first on.
    moved: usize,
}

/// The flows of a table. Values have 32 bits.
#[derive(Debug)]
pub struct Flows {
    new: Buckets,
    old: Option<Old>,
    /// Hashes and values of entries that found no room when they were to move.
    aside: Vec<(u64, u32)>,
    len: usize,
}

impl Flows {
    /// An empty table with room for some entries before it grows.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(entries: usize) -> io::Result<Self> {
        let buckets = (entries / PLACES).next_power_of_two().max(2);
        Ok(Self { new: Buckets::new(buckets)?, old: None, aside: Vec::new(), len: 0 })
    }
    /// Prefetches the most likely line of a hash.
    #[inline(always)]
    pub fn fetch(&self, hash: u64) {
        prefetch(self.new.at(cut(hash).first));
    }
    /// The value in its first bucket that may be that of a hash.
    #[inline(always)]
    pub fn likely(&self, hash: u64) -> Option<u32> {
        let Cut { first, tag } = cut(hash);
        self.likely_in(first, tag)
    }
    /// Prefetches the other line.
    #[inline(always)]
    pub fn fetch_other(&self, hash: u64) {
        let Cut { first, tag } = cut(hash);
        prefetch(self.new.at(first ^ apart(tag)));
    }
    /// The value in its other bucket that may be that of a hash.
    #[inline(always)]
    pub fn likely_other(&self, hash: u64) -> Option<u32> {
        let Cut { first, tag } = cut(hash);
        self.likely_in(first ^ apart(tag), tag)
    }
    #[inline(always)]
    fn likely_in(&self, bucket: usize, tag: u16) -> Option<u32> {
        let bucket = self.new.at(bucket);
        bucket.alike(tag).next().map(|place| bucket.value(place))
    }
    /// The value of a hash for which `is` holds.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = self.new.find(cut(hash), &mut is);
        if found.is_some() || (self.old.is_none() && self.aside.is_empty()) {
            return found;
        }
        let old = self.old.as_ref().and_then(|old| old.buckets.find(cut(hash), &mut is));
        old.or_else(|| {
            let alike = self.aside.iter().filter(|(other, _)| *other == hash);
            alike.map(|(_, value)| *value).find(|value| is(*value))
        })
    }
    /// Adds an entry, unless there is no room.
    pub fn insert(&mut self, hash: u64, value: u32) -> bool {
        let done = self.new.insert(cut(hash), value);
        self.len += usize::from(done);
        done
    }
    /// Takes an entry out.
    pub fn remove(&mut self, hash: u64, value: u32) {
        let old = |old: &mut Option<Old>| {
            old.as_mut().is_some_and(|old| old.buckets.remove(cut(hash), value))
        };
        let mut aside = || {
            let at = self.aside.iter().position(|entry| *entry == (hash, value));
            at.map(|at| self.aside.swap_remove(at)).is_some()
        };
        let is_gone = self.new.remove(cut(hash), value) || old(&mut self.old) || aside();
        self.len -= usize::from(is_gone);
    }
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let old = self.old.as_ref().map_or(0, |old| old.buckets.0.len() - old.moved);
        (self.new.0.len() + old) * size_of::<Bucket>()
    }
    /// Goes on growing, or begins to when more than 9 of 16 places are taken: the fuller, the more
    /// lookups read both lines of their flow. `hash_of` says the hash of a value, `fetch` asks for
    /// what that reads.
    pub fn grow(&mut self, hash_of: impl Fn(u32) -> u64, fetch: impl Fn(u32)) {
        if let Some((hash, value)) = self.aside.pop()
            && !self.new.insert(cut(hash), value)
        {
            self.aside.push((hash, value));
        }
        let Self { new, old, aside, .. } = self;
        if let Some(old) = old {
            let is_done = (0..SLICE).any(|_| move_one(old, (new, aside), &hash_of, &fetch));
            if is_done {
                self.old = None;
            }
            return;
        }
        let buckets = self.new.0.len();
        // Without memory there is no growth, and what finds no room is refused.
        if self.len * 16 > buckets * PLACES * 9
            && let Ok(more) = Buckets::new(buckets * 2)
        {
            let buckets = std::mem::replace(&mut self.new, more);
            self.old = Some(Old { buckets, moved: 0 });
        }
    }
}

/// Moves the entries of one old bucket; whether that was the last one.
fn move_one(
    old: &mut Old,
    (new, aside): (&mut Buckets, &mut Vec<(u64, u32)>),
    hash_of: &impl Fn(u32) -> u64,
    fetch: &impl Fn(u32),
) -> bool {
    let at = old.moved;
    for place in 0..PLACES {
        let bucket = old.buckets.at(at);
        let (tag, value) = (bucket.tag(place), bucket.value(place));
        if tag != 0 {
            let hash = hash_of(value);
            if !new.insert(cut(hash), value) {
                if aside.len() == MOST_ASIDE {
                    return false; // it is tried again once there is room
                }
                aside.push((hash, value));
            }
            old.buckets.at_mut(at).set(place, 0, 0);
        }
    }
    old.moved += 1;
    if old.moved.is_multiple_of(RETURNED) {
        old.buckets.0.release(old.moved - RETURNED, old.moved);
    }
    if old.moved == old.buckets.0.len() {
        return true;
    }
    let next = old.buckets.at(old.moved);
    let is_used = |place: &usize| next.tag(*place) != 0;
    (0..PLACES).filter(is_used).for_each(|place| fetch(next.value(place)));
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Hashes of values; many share buckets and tags.
    fn hash_of(value: u32) -> u64 {
        let mixed = u64::from(value / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    #[test]
    fn it_is_full_when_no_entry_can_move_and_grows_out_of_it() {
        let mut flows = Flows::new(PLACES).unwrap();
        let made = (0..40).take_while(|n| flows.insert(hash_of(n * 3), *n)).count();
        assert!((17..=20).contains(&made), "{made} of 20 places");
        for _ in 0..=3 {
            flows.grow(|value| hash_of(value * 3), |_| ());
        }
        assert!(flows.old.is_none());
        assert!((0..made as u32).all(|n| flows.find(hash_of(n * 3), |v| v == n) == Some(n)));
        assert_eq!((flows.len, flows.bytes()), (made, 4 * 64));
    }

    #[test]
    fn growing_ends_whatever_shares_a_bucket() {
        // As many as two buckets hold, and while they move as many that belong there as well.
        let (mut flows, same) = (Flows::new(PLACES).unwrap(), |_| 7);
        assert!((0..20).all(|n| flows.insert(7, n)));
        flows.grow(same, |_| ());
        assert!((20..40).all(|n| flows.insert(7, n)) && !flows.insert(7, 40));
        (0..4).for_each(|_| flows.grow(same, |_| ()));
        assert!(flows.old.is_none());
        let is_there = |flows: &Flows, n| flows.find(7, |v| v == n) == Some(n);
        assert!((0..40).all(|n| is_there(&flows, n)) && flows.len == 40);
        // Each goes, wherever it is, and what is set aside takes the place of others.
        for n in (0..10).chain(30..40) {
            flows.remove(7, n);
            flows.grow(same, |_| ());
        }
        assert!((0..40).all(|n| is_there(&flows, n) == (10..30).contains(&n)));
        (0..100).for_each(|_| flows.grow(same, |_| ()));
        assert!(flows.aside.is_empty() && flows.old.is_none() && flows.len == 20);
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(
            steps in prop::collection::vec((0u32..120, any::<bool>()), 1..600),
        ) {
            let (mut flows, mut map) = (Flows::new(PLACES).unwrap(), HashMap::new());
            for (value, goes) in steps {
                if goes && map.remove(&value).is_some() {
                    flows.remove(hash_of(value), value);
                } else if !map.contains_key(&value) && flows.insert(hash_of(value), value) {
                    map.insert(value, ());
                }
                flows.grow(hash_of, |_| ());
                prop_assert_eq!(flows.len, map.len());
                for value in 0..120 {
                    let found = flows.find(hash_of(value), |other| other == value);
                    prop_assert_eq!(found.is_some(), map.contains_key(&value));
                }
            }
        }
    }
}
