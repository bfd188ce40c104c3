//! Exact match: a number for each 64-bit key, looked up without waiting by all threads and changed
//! by any of them.
//!
//! A bucket is one cache line of four keys and their values. A key is in one of two buckets, nearly
//! always the first, which can be prefetched. An entry is written value first, key second, and
//! removed key first: a reader that finds the key, reads the value and finds the key again has a
//! value of that key. An existing value is changed in place by compare and exchange
//! ([`View::refresh`]). Everything else is done by the holder of the table's one lock, which
//! threads of the data plane only try ([`View::try_change`]): a thread that finds it taken
//! continues without.
//!
//! The table grows while in use: the owner publishes a bigger one in front of the old one, in which
//! what is not found is looked for as long as its entries are copied, slice by slice.
#![forbid(unsafe_code)]

mod owner;

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::keys::{Compare, Place};
use crate::cpu::prefetch;
use crate::memory::{HUGE_PAGE, HugePages, Reserved};
use crate::rcu::{Epoch, Reader};
use crate::sync::AtomicU64;

pub use owner::{Exact, Verdict};

/// Entries of a bucket.
pub const WAYS: usize = 4;
/// Numbers of a bucket: keys, then values.
const LINE: usize = 2 * WAYS;

/// Entries that are moved at most to make room for another.
const DEPTH: usize = 3;

/// A change that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Another thread is changing the table, or it has begun to grow since the view was taken.
    Busy,
    /// Neither bucket has room.
    Full,
}

/// A change of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Leaves things as they are.
    Nothing,
    /// Sets the value, which is not 0.
    Set(u64),
    /// Takes the entry out.
    Remove,
}

/// State that all holders of a table share beside its buckets.
#[derive(Debug)]
struct Guard {
    /// 1 while the table is changed.
    lock: AtomicU64,
    /// Entries; written under the lock.
    len: AtomicU64,
    /// Number of times the table began to grow; written under the lock.
    growths: AtomicU64,
}

/// The buckets of one size of the table.
#[derive(Debug)]
struct Buckets {
    numbers: Reserved<AtomicU64>,
    /// One less than the number of buckets, a power of two.
    mask: usize,
    seed: u64,
    /// Numbers that keys are multiplied by for their first and second bucket: it is the highest
    /// bits of the product (Dietzfelbinger et al. 1997), which many keys find at once.
    factors: [u64; 2],
    /// Bits of a product below those.
    shift: u32,
    compare: Compare,
}

/// The buckets in use, and those they take the place of.
#[derive(Clone, Debug)]
struct Tables {
    new: Arc<Buckets>,
    old: Option<Arc<Buckets>>,
    /// [`Guard::growths`] at the time they came into use.
    growths: u64,
}

/// The table in the hands of a node.
#[derive(Clone, Debug)]
pub struct ExactReader {
    tables: Reader<Tables>,
    guard: Arc<Guard>,
}

/// The table for one frame.
#[derive(Clone, Copy, Debug)]
pub struct View<'e> {
    tables: &'e Tables,
    guard: &'e Guard,
}

impl ExactReader {
    /// The table, while the epoch lasts.
    #[inline(always)]
    pub fn read<'e>(&'e self, epoch: Epoch<'e>) -> View<'e> {
        View { tables: self.tables.read(epoch), guard: &self.guard }
    }
}

impl View<'_> {
    /// Asks for the line where a key is most likely.
    #[inline(always)]
    pub fn fetch(&self, key: u64) {
        let buckets = &*self.tables.new;
        buckets.numbers.get(buckets.first(key) * LINE).into_iter().for_each(prefetch);
    }
    /// The value of a key, which is not 0; 0 if the key is missing.
    #[inline(always)]
    pub fn find(&self, key: u64) -> u64 {
        let value = self.tables.new.find(key);
        if value != 0 { value } else { self.find_old(key) }
    }
    /// Prefetches the lines where keys most likely are, and returns their buckets.
    #[inline(always)]
    pub fn fetch_all(&self, keys: &[u64], firsts: &mut [u32]) {
        let Buckets { numbers, factors: [factor, _], shift, .. } = &*self.tables.new;
        let (numbers, factor, shift) = (&numbers[..], *factor, *shift);
        for (key, first) in keys.iter().zip(&mut *firsts) {
            *first = (key.wrapping_mul(factor) >> shift) as u32;
        }
        for first in firsts {
            numbers.as_chunks::<LINE>().0.get(*first as usize).into_iter().for_each(prefetch);
        }
    }
    /// The values of keys that were asked for, each as [`View::find`] says it; that of key 0
    /// means nothing. Beside each key stands the bucket that [`View::fetch_all`] said.
    #[inline(always)]
    pub fn find_all(&self, (keys, firsts): (&[u64], &[u32]), values: &mut [u64]) {
        let Buckets { numbers, compare, .. } = &*self.tables.new;
        match *compare {
            Compare::Avx(avx) => find_each(numbers, avx, (keys, firsts), values),
            Compare::Singly(singly) => find_each(numbers, singly, (keys, firsts), values),
        }
        if values.iter().fold(false, |any, value| any | (*value == 0)) {
            self.find_missing(keys, values);
        }
    }
    /// Looks for keys without a value where they are less likely.
    #[inline(never)]
    fn find_missing(&self, keys: &[u64], values: &mut [u64]) {
        let buckets = &*self.tables.new;
        for (key, _) in keys.iter().zip(&*values).filter(|(_, value)| **value == 0) {
            let [_, second] = buckets.both(*key);
            buckets.numbers.get(second * LINE).into_iter().for_each(prefetch);
        }
        for (key, value) in keys.iter().zip(values).filter(|(_, value)| **value == 0) {
            *value = self.find(*key);
        }
    }
    #[inline(always)]
    fn find_old(&self, key: u64) -> u64 {
        self.tables.old.as_ref().map_or(0, |old| old.find(key))
    }
    /// Changes a value in place, if it is still `from`. Who takes out the entry meanwhile and puts
    /// in another one with the same value finds that one changed: so only what may be said of
    /// either.
    pub fn refresh(&self, key: u64, from: u64, to: u64) -> bool {
        let tables = [Some(&self.tables.new), self.tables.old.as_ref()];
        let place = tables.into_iter().flatten().find_map(|b| Some((b, b.place(key)?)));
        let value = place.and_then(|(buckets, at)| buckets.value(at));
        value.is_some_and(|value| value.compare_exchange(from, to, AcqRel, Relaxed).is_ok())
    }
    /// Lets `change` decide about a key, given its current value, 0 if it is missing. It runs for
    /// one thread at a time. Does not wait.
    ///
    /// # Errors
    /// [`Missed`]; nothing has changed then.
    pub fn try_change(&self, key: u64, change: impl FnOnce(u64) -> Change) -> Result<(), Missed> {
        if self.guard.lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            return Err(Missed::Busy);
        }
        // A thread that does not see the bigger buckets yet would learn again keys that are only
        // there.
        let is_current = self.guard.growths.load(Relaxed) == self.tables.growths;
        let done = if is_current { self.change_locked(key, change) } else { Err(Missed::Busy) };
        self.guard.lock.store(0, Release);
        done
    }
    fn change_locked(&self, key: u64, change: impl FnOnce(u64) -> Change) -> Result<(), Missed> {
        let new = &self.tables.new;
        let now = self.find(key);
        match change(now) {
            Change::Nothing => {}
            Change::Set(value) => match new.place(key) {
                Some(at) => new.value(at).into_iter().for_each(|v| v.store(value, Release)),
                // What is still to be copied must find room, too.
                None if self.tables.old.is_some() && self.len() * 4 > self.room() * 3 => {
                    return Err(Missed::Full);
                }
                None => {
                    new.insert(key, value)?;
                    self.guard.count(i64::from(now == 0));
                }
            },
            Change::Remove => {
                let tables = [Some(new), self.tables.old.as_ref()];
                let removed = tables.into_iter().flatten().filter(|t| t.remove(key)).count();
                self.guard.count(-i64::from(removed > 0));
            }
        }
        Ok(())
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.guard.len.load(Relaxed) as usize
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Room for entries, of which no more than about half is to be used.
    pub fn room(&self) -> usize {
        (self.tables.new.mask + 1) * WAYS
    }
}

impl Guard {
    fn count(&self, change: i64) {
        let len = self.len.load(Relaxed).wrapping_add_signed(change);
        self.len.store(len, Relaxed);
    }
}

/// An odd number without a pattern.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The values of keys in their buckets.
#[inline(always)]
fn find_each(
    numbers: &[AtomicU64],
    compare: impl Place,
    (keys, buckets): (&[u64], &[u32]),
    values: &mut [u64],
) {
    for ((key, bucket), value) in keys.iter().zip(buckets).zip(values) {
        *value = find_in(numbers, compare, *bucket as usize, *key);
    }
}

/// The value of a key in a bucket, 0 if it is missing.
#[inline(always)]
fn find_in(numbers: &[AtomicU64], compare: impl Place, bucket: usize, key: u64) -> u64 {
    let Some(line) = numbers.as_chunks::<LINE>().0.get(bucket) else { return 0 };
    let Some(keys) = line.first_chunk() else { return 0 };
    // All places are looked at, without a branch: which one it is cannot be foretold.
    let at = compare.place(keys, key);
    // Acquire: a value of the next entry shows that the key was taken out.
    let value = line[at + WAYS].load(Acquire);
    if line[at].load(Relaxed) == key { value } else { 0 }
}

impl Buckets {
    /// Room for `buckets`, a power of two. The seed keeps those who choose keys from choosing
    /// buckets.
    fn new(buckets: usize, seed: u64) -> io::Result<Self> {
        // A table is made that big because it gets that full.
        let is_large = buckets * LINE * size_of::<AtomicU64>() > HUGE_PAGE;
        let pages = if is_large { HugePages::Advise } else { HugePages::No };
        let numbers = Reserved::new(buckets * LINE, pages)?.named("exact match");
        let shift = u64::BITS - buckets.trailing_zeros().max(1);
        let factors = [seed, seed.rotate_left(32).wrapping_mul(MIX)].map(|n| n ^ MIX | 1);
        Ok(Self { numbers, mask: buckets - 1, seed, factors, shift, compare: Compare::new() })
    }
    #[inline(always)]
    fn first(&self, key: u64) -> usize {
        (key.wrapping_mul(self.factors[0]) >> self.shift) as usize
    }
    /// Both buckets of a key.
    #[inline(always)]
    fn both(&self, key: u64) -> [usize; 2] {
        let first = self.first(key);
        let second = (key.wrapping_mul(self.factors[1]) >> self.shift) as usize;
        [first, second ^ usize::from(second == first)]
    }
    #[inline(always)]
    fn find(&self, key: u64) -> u64 {
        let [first, second] = self.both(key);
        match self.find_in(first, key) {
            0 => self.find_in(second, key),
            value => value,
        }
    }
    #[inline(always)]
    fn find_in(&self, bucket: usize, key: u64) -> u64 {
        find_in(&self.numbers, self.compare, bucket, key)
    }
    /// Position of a key, for the holder of the lock.
    fn place(&self, key: u64) -> Option<usize> {
        self.both(key).into_iter().flat_map(Self::places).find(|at| self.key(*at) == key)
    }
    /// The keys of a bucket.
    fn places(bucket: usize) -> Range<usize> {
        bucket * LINE..bucket * LINE + WAYS
    }
    fn key(&self, at: usize) -> u64 {
        self.numbers.get(at).map_or(0, |key| key.load(Acquire))
    }
    fn value(&self, at: usize) -> Option<&AtomicU64> {
        self.numbers.get(at + WAYS)
    }
    fn free_in(&self, bucket: usize) -> Option<usize> {
        Self::places(bucket).find(|at| self.key(*at) == 0)
    }
    /// Inserts a missing key, under the lock.
    fn insert(&self, key: u64, value: u64) -> Result<(), Missed> {
        let both = self.both(key);
        let free = both.into_iter().find_map(|bucket| self.free_in(bucket));
        let at = free.or_else(|| self.make_room(both, DEPTH)).ok_or(Missed::Full)?;
        self.write(at, key, value);
        Ok(())
    }
    fn write(&self, at: usize, key: u64, value: u64) {
        self.value(at).into_iter().for_each(|v| v.store(value, Release));
        self.numbers.get(at).into_iter().for_each(|k| k.store(key, Release));
    }
    /// Frees a place of full buckets: entries move to their other buckets, at most `depth` in a
    /// row.
    fn make_room(&self, full: [usize; 2], depth: usize) -> Option<usize> {
        full.into_iter().flat_map(Self::places).find(|at| self.move_away(*at, depth))
    }
    /// Moves an entry to its other bucket: it is inserted there before it is removed here.
    fn move_away(&self, at: usize, depth: usize) -> bool {
        let (key, here) = (self.key(at), at / LINE);
        let Some(other) = self.both(key).into_iter().find(|bucket| *bucket != here) else {
            return false;
        };
        let deeper = || Self::places(other).find(|at| depth > 1 && self.move_away(*at, depth - 1));
        let Some(to) = self.free_in(other).or_else(deeper) else { return false };
        if self.key(at) != key {
            return self.key(at) == 0; // it was in the way of another
        }
        let value = self.value(at).map_or(0, |v| v.load(Acquire));
        self.write(to, key, value);
        self.clear(at);
        true
    }
    fn clear(&self, at: usize) {
        self.numbers.get(at).into_iter().for_each(|k| k.store(0, Release));
    }
    fn remove(&self, key: u64) -> bool {
        let place = self.place(key);
        place.into_iter().for_each(|at| self.clear(at));
        place.is_some()
    }
}
