//! Places by name, where the names are kept elsewhere: for tables of hundreds of thousands of
//! objects that control looks up by name.
//!
//! The table is many small ones, each of which grows and shrinks by itself. So adding a name moves
//! some thousands of others at most, never all of them.

#![forbid(unsafe_code)]

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Small tables; a name's is chosen by its hash.
const PARTS: usize = 256;
/// Fewer places than these are kept for the next names of a part.
const FEW: usize = 16;

/// Places by name. What is called `name_of` says the name that is kept for a place.
#[derive(Debug)]
pub struct Names {
    parts: Box<[HashTable<u32>]>,
    hasher: DefaultHashBuilder,
}

impl Default for Names {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| HashTable::new()).collect();
        Self { parts, hasher: DefaultHashBuilder::default() }
    }
}

impl Names {
    /// The place of a name.
    pub fn find<'n>(&self, name: &str, name_of: impl Fn(u32) -> &'n str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.parts[part(hash)].find(hash, |place| name_of(*place) == name).copied()
    }
    /// Notes a place under its name, which no other has.
    pub fn insert<'n>(&mut self, place: u32, name_of: impl Fn(u32) -> &'n str) {
        let Self { parts, hasher } = self;
        let hash_of = |place: &u32| hasher.hash_one(name_of(*place));
        let hash = hash_of(&place);
        parts[part(hash)].insert_unique(hash, place, hash_of);
    }
    /// Forgets a place, while its name is still kept.
    pub fn remove<'n>(&mut self, place: u32, name_of: impl Fn(u32) -> &'n str) {
        let Self { parts, hasher } = self;
        let hash_of = |place: &u32| hasher.hash_one(name_of(*place));
        let hash = hash_of(&place);
        let part = &mut parts[part(hash)];
        if let Ok(found) = part.find_entry(hash, |other| *other == place) {
            found.remove();
        }
        if part.capacity() > FEW.max(8 * part.len()) {
            part.shrink_to(2 * part.len(), hash_of);
        }
    }
    /// Places that there is memory for.
    pub fn capacity(&self) -> usize {
        self.parts.iter().map(HashTable::capacity).sum()
    }
}

/// The part of a hash: bits that the small tables do not use first.
fn part(hash: u64) -> usize {
    (hash >> 32) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_until_they_are_forgotten_and_memory_returns() {
        const COUNT: u32 = 50_000;
        let mut kept: Vec<String> = (0..COUNT).map(|n| format!("name-{n}")).collect();
        let mut names = Names::default();
        for place in 0..COUNT {
            assert_eq!(names.find(&kept[place as usize], |at| &kept[at as usize]), None);
            names.insert(place, |at| &kept[at as usize]);
        }
        let all: Vec<_> = kept.iter().map(|n| names.find(n, |at| &kept[at as usize])).collect();
        assert_eq!(all, (0..COUNT).map(Some).collect::<Vec<_>>());
        let most = names.parts.iter().map(HashTable::len).max().unwrap();
        assert!(most < 2 * COUNT as usize / PARTS, "{most} in one part");
        names.remove(7, |at| &kept[at as usize]);
        kept[7] = "other".to_owned();
        names.insert(7, |at| &kept[at as usize]);
        assert_eq!(names.find("name-7", |at| &kept[at as usize]), None);
        assert_eq!(names.find("other", |at| &kept[at as usize]), Some(7));
        let full = names.capacity();
        (0..COUNT - 100).for_each(|place| names.remove(place, |at| &kept[at as usize]));
        assert!(names.capacity() < full / 8, "{} of {full}", names.capacity());
        assert_eq!(names.find("name-49999", |at| &kept[at as usize]), Some(49_999));
    }
}
