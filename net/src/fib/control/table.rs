//! Control-plane routing tables: prefixes and the sources that installed them, in address order.
//!
//! An [ordered map](super::ordered_map), not a hash: listings and dumps of a million routes go in
//! slices and pick up where they stopped, a covering prefix is found in a few steps, and routes
//! that are added in order cost less.

use std::collections::BTreeMap;
use std::io;

use infra::rcu::SharedSlab;

use super::ordered_map::{OrderedMap, Place};
use super::path::TableIndex;
use super::prefix_bitmap::{PrefixBitmap, SHORT};
use super::source::Source;
use super::tracking::Follower;
use crate::fib::family::Family;
use crate::fib::forwarding::lpm::{Full, LpmWriter};
use crate::interface::InterfaceIndex;

/// Most tables of a family.
pub const MAX_TABLES: usize = 1 << 16;

/// A prefix in a table: address and length.
pub(in crate::fib) type Key<F> = (<F as Family>::Bits, u8);

/// A prefix's sources and forwarding.
#[derive(Debug)]
pub(in crate::fib) struct Entry {
    /// The best source.
    pub source: Source,
    /// Whether `balance` is this entry's alone, or its path list's.
    pub own: bool,
    /// The replacement of clients' routes during or since which it was given.
    pub round: u8,
    /// Number of its load balance: the leaf.
    pub balance: u32,
    /// The path list of the best source.
    pub list: u32,
    /// Number as `show ip fib` prints it.
    pub number: u32,
    /// Other sources and their path lists, best first. Boxed, because nearly no entry has any.
    #[allow(clippy::box_collection)]
    pub others: Option<Box<Vec<(Source, u32)>>>,
}

impl Entry {
    /// Sources and their path lists, best first.
    pub fn sources(&self) -> impl Iterator<Item = (Source, u32)> {
        let others = self.others.as_ref().map_or(&[][..], |o| o.as_slice());
        std::iter::once((self.source, self.list)).chain(others.iter().copied())
    }
    /// The path list of one source.
    pub fn list_of(&self, source: Source) -> Option<u32> {
        self.sources().find(|s| s.0 == source).map(|s| s.1)
    }
    /// Sets the path list of a source; returns the one it had.
    fn put(&mut self, source: Source, list: u32) -> Option<u32> {
        if source == self.source {
            return Some(std::mem::replace(&mut self.list, list));
        }
        let mut new = (source, list);
        if source < self.source {
            std::mem::swap(&mut new.0, &mut self.source);
            std::mem::swap(&mut new.1, &mut self.list);
        }
        let others = self.others.get_or_insert_default();
        match others.binary_search_by_key(&new.0, |o| o.0) {
            Ok(at) => Some(std::mem::replace(&mut others[at].1, new.1)),
            Err(at) => {
                others.insert(at, new);
                None
            }
        }
    }
    /// Takes a source away; returns its list. The last one stays: then the entry is to be removed.
    fn take(&mut self, source: Source) -> Option<u32> {
        let others = self.others.as_mut()?;
        let gone = if source == self.source {
            let next = others.remove(0);
            self.source = next.0;
            std::mem::replace(&mut self.list, next.1)
        } else {
            let at = others.iter().position(|o| o.0 == source)?;
            others.remove(at).1
        };
        if others.is_empty() {
            self.others = None;
        }
        Some(gone)
    }
    /// Whether no other source is left.
    pub fn is_only(&self, source: Source) -> bool {
        self.source == source && self.others.is_none()
    }
}

/// The longest prefix that covers `bits` and has at most `len` bits, in a map of which `last_until`
/// finds the last entry whose key is not above another. None, when there is none of at least
/// `least` bits, where there may be shorter ones.
pub(crate) fn longest<F: Family, T>(
    last_until: impl Fn(Key<F>) -> Option<(Key<F>, T)>,
    bits: F::Bits,
    mut len: u8,
    least: u8,
) -> Option<(Key<F>, T)> {
    loop {
        // The closest entry before: if it does not cover the address, none with more bits than the
        // two have in common does.
        let (key, entry) = last_until((F::masked(bits, len), len))?;
        let common = F::common(key.0, bits);
        if common >= key.1 {
            return Some((key, entry));
        }
        if common < least {
            return None;
        }
        len = common;
    }
}

/// One routing table.
pub(in crate::fib) struct Table<F: Family> {
    /// The number that the operator gave it.
    pub id: u32,
    /// Its identifier, as operators give it.
    pub name: String,
    /// Whether it was created explicitly; otherwise it is deleted with its last user.
    pub is_wanted: bool,
    /// The interface whose link-local addresses it holds, if it is such a table.
    pub link_local: Option<InterfaceIndex>,
    pub entries: OrderedMap<Key<F>, Entry>,
    /// Addresses that recursive paths lead to, with the path lists of those.
    pub vias: BTreeMap<F::Bits, Vec<u32>>,
    /// Prefixes with subscribers to their changes.
    pub watched: BTreeMap<Key<F>, Vec<Follower>>,
    /// Prefixes by length.
    lens: Vec<u32>,
    prefix_bitmap: PrefixBitmap,
    /// Prefixes by source.
    sources: Vec<u32>,
    /// Interfaces that look up here, and others who keep it.
    pub interfaces: u32,
    /// Most prefixes it may have.
    pub budget: usize,
    /// Whether clients replace their routes.
    pub is_replacing: bool,
    /// Number of the last replacement, which routes of clients have that were given since.
    pub round: u8,
    writer: F::LpmWriter,
    next_number: u32,
}

impl<F: Family> Table<F> {
    /// The longest prefix that covers `bits` and has at most `len` bits.
    pub fn longest(&self, bits: F::Bits, len: u8) -> Option<(Key<F>, &Entry)> {
        let (key, place) = self.find_longest(bits, len)?;
        Some((key, self.entries.at(place)?))
    }
    fn find_longest(&self, bits: F::Bits, len: u8) -> Option<(Key<F>, Place)> {
        // What is behind the short ones is sought there, if there is any.
        let long = self.lens.get(usize::from(SHORT) + 1..=usize::from(len)).unwrap_or(&[]);
        if long.iter().any(|count| *count > 0)
            && let Some(found) =
                longest::<F, _>(|key| self.entries.last_until(&key), bits, len, SHORT + 1)
        {
            return Some(found);
        }
        let len = self.prefix_bitmap.longest(F::top(bits), len.min(SHORT))?;
        let key = (F::masked(bits, len), len);
        Some((key, self.entries.find(&key)?))
    }
    /// Asks for what is read and changed when a prefix comes or goes, so that memory is waited for
    /// once.
    pub fn fetch(&self, key: Key<F>) {
        self.writer.fetch(key.0);
        self.prefix_bitmap.fetch(F::top(key.0), key.1);
        self.entries.fetch(&key);
    }
    /// The longest other prefix around `key`.
    pub fn cover(&self, key: Key<F>) -> Option<(Key<F>, &Entry)> {
        self.longest(key.0, key.1.checked_sub(1)?)
    }
    /// Number of an entry, as `show ip fib` prints it.
    pub fn number_of(&self, key: Key<F>) -> Option<u32> {
        self.entries.get(&key).map(|e| e.number)
    }
    /// Adds a missing entry.
    pub fn add(&mut self, key: Key<F>, source: Source, list: u32, balance: u32, own: bool) {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.lens[usize::from(key.1)] += 1;
        self.prefix_bitmap.note(F::top(key.0), key.1, true);
        *self.count_mut(source) += 1;
        let round = self.round;
        let entry = Entry { source, own, round, balance, list, number, others: None };
        self.entries.add(key, entry);
    }
    /// Sets the path list of a source of an existing entry; returns the previous one.
    pub fn put(&mut self, key: Key<F>, source: Source, list: u32) -> Option<u32> {
        let old = self.entries.at_mut(&key)?.put(source, list);
        *self.count_mut(source) += u32::from(old.is_none());
        old
    }
    /// Takes a source away from an entry, not its last; returns its list.
    pub fn take(&mut self, key: Key<F>, source: Source) -> Option<u32> {
        let gone = self.entries.at_mut(&key)?.take(source);
        *self.count_mut(source) -= u32::from(gone.is_some());
        gone
    }
    fn count_mut(&mut self, source: Source) -> &mut u32 {
        let at = usize::from(source.id());
        self.sources.resize(self.sources.len().max(at + 1), 0);
        &mut self.sources[at]
    }
    /// Number of prefixes of a source.
    pub fn count(&self, source: Source) -> u32 {
        self.sources.get(usize::from(source.id())).copied().unwrap_or(0)
    }
    /// Prefixes by length.
    pub fn lens(&self) -> &[u32] {
        &self.lens
    }
    /// Removes an entry and its leaf.
    pub fn remove(&mut self, key: Key<F>) -> Option<Entry> {
        // Where what is around it leads is read last: by then it has come.
        let around = key.1.checked_sub(1).and_then(|len| self.find_longest(key.0, len));
        let gone = self.entries.remove(&key)?;
        self.lens[usize::from(key.1)] -= 1;
        self.prefix_bitmap.note(F::top(key.0), key.1, false);
        gone.sources().for_each(|(source, _)| *self.count_mut(source) -= 1);
        let cover = around.and_then(|(k, place)| Some((k.1, self.entries.at(place)?.balance)));
        self.writer.remove(key.0, key.1, cover);
        Some(gone)
    }
    /// Whether there is room for a new prefix.
    pub fn has_room(&self) -> bool {
        self.entries.len() < self.budget
    }
    /// Shape of what the forwarding side looks up in.
    pub fn shape(&self) -> String {
        self.writer.shape()
    }
    /// Bytes that the forwarding side uses.
    pub fn memory(&self) -> usize {
        self.writer.memory()
    }
}

/// The tables of a family.
pub struct Tables<F: Family> {
    all: Vec<Option<Table<F>>>,
    by_id: BTreeMap<u32, TableIndex>,
    pub(in crate::fib) lpm: SharedSlab<F::LpmReader>,
}

impl<F: Family> Tables<F> {
    pub(in crate::fib) fn new() -> io::Result<Self> {
        Ok(Self { all: Vec::new(), by_id: BTreeMap::new(), lpm: SharedSlab::new(MAX_TABLES)? })
    }
    /// Adds an empty table, of which `id` is the name unless it is an interface's.
    pub(in crate::fib) fn add(
        &mut self,
        id: u32,
        link_local: Option<InterfaceIndex>,
    ) -> io::Result<TableIndex> {
        let (writer, prefix_bitmap) = (F::LpmWriter::new()?, PrefixBitmap::new()?);
        let index = self.lpm.insert(writer.reader());
        let index = TableIndex(index.map_err(|_| io::ErrorKind::OutOfMemory)? as u16);
        let table = Table {
            id,
            name: format!("{}-VRF:{id}", F::LONG_NAME),
            is_wanted: true,
            link_local,
            entries: OrderedMap::new(),
            vias: BTreeMap::new(),
            watched: BTreeMap::new(),
            lens: vec![0; usize::from(F::BITS) + 1],
            prefix_bitmap,
            sources: Vec::new(),
            budget: F::LpmWriter::MAX_PREFIXES,
            is_replacing: false,
            round: 0,
            interfaces: 0,
            writer,
            next_number: 1,
        };
        let at = usize::from(index.0);
        self.all.resize_with(self.all.len().max(at + 1), || None);
        self.all[at] = Some(table);
        if link_local.is_none() {
            self.by_id.insert(id, index);
        }
        Ok(index)
    }
    /// Takes an empty table away.
    pub(in crate::fib) fn remove(&mut self, index: TableIndex) {
        if let Some(gone) = self.all[usize::from(index.0)].take() {
            if gone.link_local.is_none() {
                self.by_id.remove(&gone.id);
            }
            self.lpm.remove(index.0.into());
        }
    }
    /// Sets the leaf of a prefix that has an entry, in a larger shape of the table if need be.
    pub(super) fn set_leaf(
        &mut self,
        index: TableIndex,
        key: Key<F>,
        leaf: u32,
    ) -> Result<(), Full> {
        let Some(Some(table)) = self.all.get_mut(usize::from(index.0)) else { return Err(Full) };
        let Table { writer, entries, .. } = table;
        let done = writer.insert(key.0, key.1, leaf);
        if done.is_ok() && !writer.is_outgrown() {
            return Ok(());
        }
        let all = entries.iter().map(|(k, e)| (k.0, k.1, if *k == key { leaf } else { e.balance }));
        if writer.grow(all).is_err() {
            return done;
        }
        let reader = writer.reader();
        self.lpm.replace(index.0.into(), reader);
        Ok(())
    }
    /// The table that the operator calls `id`.
    pub fn named(&self, id: u32) -> Option<TableIndex> {
        self.by_id.get(&id).copied()
    }
    pub(in crate::fib) fn at(&self, index: TableIndex) -> Option<&Table<F>> {
        self.all.get(usize::from(index.0))?.as_ref()
    }
    pub(in crate::fib) fn at_mut(&mut self, index: TableIndex) -> Option<&mut Table<F>> {
        self.all.get_mut(usize::from(index.0))?.as_mut()
    }
    /// All tables but those of interfaces, in order.
    pub(in crate::fib) fn iter(&self) -> impl Iterator<Item = (TableIndex, &Table<F>)> {
        self.every().filter(|(_, t)| t.link_local.is_none())
    }
    pub(in crate::fib) fn every(&self) -> impl Iterator<Item = (TableIndex, &Table<F>)> {
        let numbered = self.all.iter().enumerate();
        numbered.filter_map(|(i, t)| Some((TableIndex(i as u16), t.as_ref()?)))
    }
}
