//! The directory: a vector of named entries whose places never move.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use infra::memory::shared::{Block, Region};
use infra::table::names::Names;

use super::layout::{ENTRY, ENTRY_NAME, ENTRY_VALUE, Kind, LEAD, NAME_LEN};
use super::{Error, value::Content};

/// Most entries there may be.
const CAPACITY: usize = 1 << 21;
/// Memory is given back by so many entries.
const MANY: usize = 1024;

/// Control-plane state of an entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: Box<str>,
    pub content: Content,
}

#[derive(Debug)]
pub(super) struct Directory {
    block: Block,
    entries: Vec<Option<Entry>>,
    by_name: Names,
    /// Places of removed entries, the lowest first. Those after the end are out of date, and then
    /// all others are.
    free: BinaryHeap<Reverse<u32>>,
    /// No place from here on has memory.
    touched: usize,
}

impl Directory {
    /// An empty one; `None` when the region is too small.
    pub fn new(region: &Arc<Region>) -> Option<Self> {
        let block = region.block(8 * (LEAD + CAPACITY * ENTRY))?;
        Some(Self {
            block,
            entries: Vec::new(),
            by_name: Names::default(),
            free: BinaryHeap::new(),
            touched: 0,
        })
    }
    /// Pointer to the vector.
    pub fn pointer(&self) -> u64 {
        self.block.address(LEAD)
    }
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.find(name, |place| name_of(&self.entries, place))
    }
    pub fn at(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize)?.as_ref()
    }
    pub fn at_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)?.as_mut()
    }
    /// All, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.entries.iter().enumerate().filter_map(|(i, e)| Some((i as u32, e.as_ref()?)))
    }
    /// Contents of all entries.
    pub fn contents_mut(&mut self) -> impl Iterator<Item = &mut Content> {
        self.entries.iter_mut().flatten().map(|entry| &mut entry.content)
    }
    /// Whether `name` may be given to a new entry.
    pub fn check(&self, name: &str) -> Result<(), Error> {
        if name.is_empty() || name.len() > NAME_LEN || !name.bytes().all(|b| (32..127).contains(&b))
        {
            return Err(Error::BadName(name.to_owned()));
        }
        if self.find(name).is_some() {
            return Err(Error::NameInUse(name.to_owned()));
        }
        if self.free.is_empty() && self.entries.len() == CAPACITY {
            return Err(Error::Full(8 * ENTRY as u64, 0));
        }
        Ok(())
    }
    /// Puts an entry in; its name was checked.
    pub fn insert(&mut self, name: &str, kind: Kind, value: u64, content: Content) -> u32 {
        let end = self.entries.len();
        let index = match self.free.pop() {
            Some(Reverse(index)) if (index as usize) < end => index,
            _ => {
                self.free.clear();
                end as u32
            }
        };
        self.touched = self.touched.max(end + 1);
        self.write_name(index, name);
        self.set(index, value);
        self.block.store(Self::word(index), kind as u64);
        let entry = Some(Entry { name: name.into(), content });
        match self.entries.get_mut(index as usize) {
            Some(place) => *place = entry,
            None => {
                self.entries.push(entry);
                self.block.store(LEAD - 1, self.entries.len() as u64);
            }
        }
        self.note_name(index);
        index
    }
    pub fn remove(&mut self, index: u32) -> Option<Entry> {
        self.forget_name(index);
        let entry = self.entries.get_mut(index as usize)?.take()?;
        self.write_name(index, "");
        self.set(index, u64::MAX);
        self.block.store(Self::word(index), Kind::Empty as u64);
        self.free.push(Reverse(index));
        if index as usize + 1 == self.entries.len() {
            self.cut();
        }
        Some(entry)
    }
    /// Ends the vector after the last entry. The memory of many places is given back.
    fn cut(&mut self) {
        let end = self.entries.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.entries.truncate(end);
        self.block.store(LEAD - 1, end as u64);
        if self.touched - end >= MANY {
            self.block.clear(Self::word(end as u32)..Self::word(self.touched as u32));
            self.touched = end;
            self.free.retain(|Reverse(index)| (*index as usize) < end);
            self.free.shrink_to(MANY);
            self.entries.shrink_to(2 * end);
        }
    }
    /// Gives an entry another name, which was checked.
    pub fn rename(&mut self, index: u32, name: &str) {
        self.forget_name(index);
        self.write_name(index, name);
        if let Some(entry) = self.at_mut(index) {
            entry.name = name.into();
            self.note_name(index);
        }
    }
    fn note_name(&mut self, index: u32) {
        self.by_name.insert(index, |place| name_of(&self.entries, place));
    }
    fn forget_name(&mut self, index: u32) {
        self.by_name.remove(index, |place| name_of(&self.entries, place));
    }
    pub fn set(&self, index: u32, value: u64) {
        self.block.store(Self::word(index) + ENTRY_VALUE, value);
    }
    pub fn value(&self, index: u32) -> u64 {
        self.block.load(Self::word(index) + ENTRY_VALUE)
    }
    fn word(index: u32) -> usize {
        LEAD + index as usize * ENTRY
    }
    fn write_name(&self, index: u32, name: &str) {
        let mut bytes = [0; NAME_LEN + 1];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        store_bytes(&self.block, Self::word(index) + ENTRY_NAME, &bytes);
    }
}

fn name_of(entries: &[Option<Entry>], place: u32) -> &str {
    entries.get(place as usize).and_then(Option::as_ref).map_or("", |entry| &entry.name)
}

/// Writes bytes from a word on; what is missing to a whole word is zero.
pub(super) fn store_bytes(block: &Block, word: usize, bytes: &[u8]) {
    for (i, chunk) in bytes.chunks(8).enumerate() {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        block.store(word + i, u64::from_ne_bytes(whole));
    }
}
