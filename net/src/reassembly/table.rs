//! A bounded table whose entries are also in order of age. Each belongs to its receive interface.
#![forbid(unsafe_code)]

use std::hash::Hash;

use hashbrown::HashMap;

use super::shares::Shares;

const NONE: u32 = u32::MAX;

/// Entries of a full table that are looked at for one to give way.
const LOOKED_AT: usize = 256;

/// Entries by key, oldest first. It allocates only in [`Table::set_capacity`].
pub(super) struct Table<K, T> {
    by_key: HashMap<K, u32>,
    slots: Vec<Slot<K, T>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    capacity: usize,
    shares: Shares,
}

struct Slot<K, T> {
    key: K,
    from: u32,
    value: Option<T>,
    older: u32,
    newer: u32,
}

impl<K: Copy + Eq + Hash, T> Table<K, T> {
    pub(super) fn new(capacity: usize) -> Self {
        let (by_key, slots, free) = (HashMap::new(), Vec::new(), Vec::new());
        let (oldest, newest, shares) = (NONE, NONE, Shares::new(0));
        let mut table = Self { by_key, slots, free, oldest, newest, capacity: 0, shares };
        table.set_capacity(capacity);
        table
    }
    /// Makes room for so many entries; those there are stay.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.by_key.reserve(capacity.saturating_sub(self.by_key.len()));
        self.slots.reserve(capacity.saturating_sub(self.slots.len()));
        self.free.reserve(capacity.saturating_sub(self.free.len()));
        self.shares.reserve(capacity);
        self.capacity = capacity;
    }
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.by_key.get(key).copied()
    }
    /// An entry; its number comes from [`Table::find`] or [`Table::insert`].
    pub(super) fn at(&mut self, at: u32) -> Option<&mut T> {
        self.slots.get_mut(at as usize)?.value.as_mut()
    }
    /// Adds a newest entry, of an interface, with a new key; returns its number.
    pub(super) fn insert(&mut self, key: K, from: u32, value: T) -> u32 {
        let slot = Slot { key, from, value: Some(value), older: NONE, newer: NONE };
        self.shares.add(from);
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.by_key.insert(key, at);
        self.append(at);
        at
    }
    pub(super) fn remove(&mut self, at: u32) -> Option<T> {
        let slot = self.slots.get_mut(at as usize)?;
        let (key, from, value) = (slot.key, slot.from, slot.value.take()?);
        self.by_key.remove(&key);
        self.shares.remove(from);
        self.unlink(at);
        self.free.push(at);
        Some(value)
    }
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }
    /// Usage by interface.
    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }
    /// An entry to give way: the first among the oldest, or the newest, that is of an interface
    /// with more than `share` of what `shares` counts.
    pub(super) fn giving_way(&self, shares: &Shares, share: usize, is_oldest: bool) -> Option<u32> {
        let mut at = if is_oldest { self.oldest } else { self.newest };
        let all = std::iter::from_fn(|| {
            let slot = self.slots.get(at as usize)?;
            let this = std::mem::replace(&mut at, if is_oldest { slot.newer } else { slot.older });
            Some((this, slot.from))
        });
        let mut some = all.take(LOOKED_AT);
        some.find(|(_, from)| shares.count(*from) > share).map(|(at, _)| at)
    }
    /// Makes an entry the newest.
    pub(super) fn touch(&mut self, at: u32) {
        self.unlink(at);
        self.append(at);
    }
    /// All keys and entries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            at = slot.newer;
            Some((&slot.key, slot.value.as_ref()?))
        })
    }
    /// Numbers of all entries, in no order.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.by_key.values().copied().collect()
    }
    fn append(&mut self, at: u32) {
        let newest = std::mem::replace(&mut self.newest, at);
        (self.slots[at as usize].older, self.slots[at as usize].newer) = (newest, NONE);
        match self.slots.get_mut(newest as usize) {
            Some(before) => before.newer = at,
            None => self.oldest = at,
        }
    }
    fn unlink(&mut self, at: u32) {
        let (older, newer) = (self.slots[at as usize].older, self.slots[at as usize].newer);
        match self.slots.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_and_leave_in_order_of_age() {
        let mut table = Table::new(4);
        let at: Vec<_> = (0..4).map(|k| table.insert(k, 0, k * 10)).collect();
        table.touch(at[1]);
        assert_eq!(table.remove(at[2]), Some(20));
        assert_eq!((table.find(&2), table.find(&3), table.len()), (None, Some(at[3]), 3));
        table.insert(9, 0, 90);
        let order: Vec<_> = table.iter().map(|(k, v)| (*k, *v)).collect();
        assert_eq!(order, [(0, 0), (3, 30), (1, 10), (9, 90)]);
        let mut left = Vec::new();
        while let Some(oldest) = table.oldest() {
            left.extend(table.remove(oldest));
        }
        assert_eq!((left, table.len(), table.remove(at[0])), (vec![0, 30, 10, 90], 0, None));
    }

    #[test]
    fn the_first_or_last_of_an_interface_with_more_than_its_share_gives_way() {
        let mut table = Table::new(8);
        let flood: Vec<_> = (0..8).map(|k| table.insert(k, 1, ())).collect();
        let giving_way = |table: &Table<i32, ()>, from, is_oldest| {
            let (shares, share) = (table.shares(), table.shares().share(from, 8));
            (shares.count(from) < share)
                .then(|| table.giving_way(shares, share, is_oldest))
                .flatten()
        };
        assert_eq!(giving_way(&table, 1, true), None, "it has all there is");
        assert_eq!(giving_way(&table, 2, true), Some(flood[0]));
        for k in 8..12 {
            let gone = giving_way(&table, 2, false).unwrap();
            assert_eq!(gone, flood[15 - k as usize]);
            table.remove(gone);
            table.insert(k, 2, ());
        }
        assert_eq!(giving_way(&table, 2, false), None, "both have their share");
        assert_eq!(giving_way(&table, 1, false), None);
        assert_eq!(giving_way(&table, 3, true), Some(flood[0]));
    }
}
