//! Lookups by flows that may be of either direction, of one packet or of many together.

use infra::cpu::prefetch;
use zerocopy::FromZeros;

use crate::flow::Key;
use crate::table::{Direction, SessionIndex, Table, named};

/// Keys between the steps of a lookup of many.
const STEP: usize = 8;
/// Keys on their way at most: some more than three steps.
const RING: usize = 32;
/// No value of a session: there are fewer than this.
const NO_VALUE: u32 = u32::MAX;

/// What a lookup found.
pub type Found = Option<(SessionIndex, Direction)>;

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
        self.flow(value).is_some_and(|flow| match flow {
            Ok(flow) | Err(flow) => flow == key,
        })
    }
    /// The same for many keys, as a pipeline: a few keys ahead of the one that is compared its
    /// record is fetched, a few more ahead its line.
    #[inline(always)]
    pub fn find_all(&self, keys: &[K], found: &mut [Found]) {
        let (mut hashes, mut values) = ([0; RING], [NO_VALUE; RING]);
        for turn in 0..keys.len() + 3 * STEP {
            let before = |steps: usize| turn.checked_sub(steps * STEP).filter(|k| *k < keys.len());
            if let Some(key) = keys.get(turn) {
                let hash = key.hash(self.seed);
                hashes[turn % RING] = hash;
                self.flows.fetch(hash);
            }
            if let Some(key) = before(1) {
                let hash = hashes[key % RING];
                let value = self.flows.likely(hash);
                match value {
                    Some(value) => self.fetch_record(value),
                    None => self.flows.fetch_other(hash),
                }
                values[key % RING] = value.unwrap_or(NO_VALUE);
            }
            if let Some(key) = before(2).filter(|key| values[key % RING] == NO_VALUE)
                && let Some(value) = self.flows.likely_other(hashes[key % RING])
            {
                values[key % RING] = value;
                self.fetch_record(value);
            }
            if let Some(key) = before(3)
                && let Some(found) = found.get_mut(key)
            {
                let value = values[key % RING];
                *found = match self.is_of(value, &keys[key]) {
                    true => Some(named(value)),
                    false => self.find_hashed(&keys[key], hashes[key % RING]),
                };
            }
        }
    }
    #[inline(always)]
    fn fetch_record(&self, value: u32) {
        if let Some(record) = self.records.get(named(value).0.0 as usize) {
            prefetch(record);
            // What has passed is counted on the next line, where the first one is full.
            prefetch(&record.bytes);
        }
    }
}
