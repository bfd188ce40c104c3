//! Lookups by flows that may be of either direction, of one packet or of many together.

use std::hint::select_unpredictable;

use infra::cpu::prefetch;
use zerocopy::FromZeros;

use crate::flow::Direction;
use crate::flow::Key;
use crate::table::{SessionIndex, Table, named};

/// Keys that are looked up together.
pub const KEYS: usize = 64;
/// No value of a session: there are fewer than this.
const NO_VALUE: u32 = u32::MAX;

/// Result of a lookup.
pub type Found = Option<(SessionIndex, Direction)>;

/// Lookups of up to [`KEYS`] keys under way: each is [asked](Table::ask) for, then all are
/// [sought](Table::seek), and each is [found](Table::sought).
pub struct Sought {
    hashes: [u64; KEYS],
    values: [u32; KEYS],
}

impl Sought {
    /// None yet.
    #[inline(always)]
    pub fn new() -> Self {
        Self { hashes: [0; KEYS], values: [NO_VALUE; KEYS] }
    }
}

impl Default for Sought {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, D: Copy + FromZeros> Table<K, K, D> {
    /// The session one of whose flows this is, and in which direction it goes.
    #[inline(always)]
    pub fn find_any(&self, key: &K) -> Found {
        self.find_hashed(key, key.hash(self.seed))
    }
    #[inline(always)]
    fn find_hashed(&self, key: &K, hash: u64) -> Found {
        self.flows.find(hash, |value| self.is_of(value, key)).map(named)
    }
    #[inline(always)]
    fn is_of(&self, value: u32, key: &K) -> bool {
        let (at, direction) = named(value);
        // Which flow it is cannot be foretold.
        self.records.sessions.get(at.0 as usize).is_some_and(|record| {
            let is_forward = direction == Direction::Forward;
            key.is(select_unpredictable(is_forward, &record.forward, &record.reverse))
        })
    }
    /// The same for many keys: what one step of the lookups asks for comes while it is made for the
    /// others.
    #[inline(always)]
    pub fn find_all(&self, keys: &[K], found: &mut [Found]) {
        let mut sought = Sought::new();
        for (keys, found) in keys.chunks(KEYS).zip(found.chunks_mut(KEYS)) {
            for (n, key) in keys.iter().enumerate() {
                self.ask(&mut sought, n, key);
            }
            self.seek(&mut sought, keys.len());
            for (n, (key, found)) in keys.iter().zip(found).enumerate() {
                *found = self.sought(&sought, n, key);
            }
        }
    }
    /// Begins the lookup of a key, which gets number `n`.
    #[inline(always)]
    pub fn ask(&self, sought: &mut Sought, n: usize, key: &K) {
        let hash = key.hash(self.seed);
        sought.hashes[n % KEYS] = hash;
        self.flows.fetch(hash);
    }
    /// Goes on with the lookups of the first `count` keys.
    #[inline(always)]
    pub fn seek(&self, sought: &mut Sought, count: usize) {
        let count = count.min(KEYS);
        // Keys whose first line has nothing like them are few.
        let (mut others, mut left) = ([0u8; KEYS], 0);
        for n in 0..count {
            let value = self.flows.likely(sought.hashes[n]).unwrap_or(NO_VALUE);
            sought.values[n] = value;
            others[left] = n as u8;
            left += usize::from(value == NO_VALUE);
            self.fetch_record(value);
        }
        for n in &others[..left] {
            self.flows.fetch_other(sought.hashes[usize::from(*n) % KEYS]);
        }
        for n in &others[..left] {
            let n = usize::from(*n) % KEYS;
            if let Some(value) = self.flows.likely_other(sought.hashes[n]) {
                sought.values[n] = value;
                self.fetch_record(value);
            }
        }
    }
    /// Prefetches the lines of the counts of the sessions sought, for a user that counts most of
    /// them.
    #[inline(always)]
    pub fn fetch_counts(&self, sought: &Sought, count: usize) {
        for value in &sought.values[..count.min(KEYS)] {
            if let Some(rest) = self.records.rests.get(named(*value).0.0 as usize) {
                prefetch(rest);
            }
        }
    }
    /// The end of the lookup of the key with number `n`.
    #[inline(always)]
    pub fn sought(&self, sought: &Sought, n: usize, key: &K) -> Found {
        let value = sought.values[n % KEYS];
        match self.is_of(value, key) {
            true => Some(named(value)),
            false => self.find_again(key, sought.hashes[n % KEYS]),
        }
    }
    #[cold]
    #[inline(never)]
    fn find_again(&self, key: &K, hash: u64) -> Found {
        self.find_hashed(key, hash)
    }
    #[inline(always)]
    fn fetch_record(&self, value: u32) {
        if let Some(record) = self.records.sessions.get(named(value).0.0 as usize) {
            prefetch(record);
        }
    }
}
