//! Multicast tables: entries as control keeps them, and what nodes look up in.
//!
//! Nodes find a *group* by longest match in the same structure that unicast routes use, and in the
//! group the source, or else the route for any source.

use std::collections::BTreeMap;
use std::io;

use infra::rcu::{Epoch, Reader, Shared, SharedSlab, SlabReader};

use super::{EntryFlags, ItfFlags, MPath};
use crate::adjacency::AdjacencyIndex;
use crate::fib::{Family, LpmReader, LpmWriter, Object, Source, TableIndex, longest};
use crate::interface::InterfaceIndex;

/// Most groups of a family.
const MAX_GROUPS: usize = 1 << 20;

/// Group, length of its prefix, source.
pub(super) type MKey<F> = (<F as Family>::Bits, u8, Option<<F as Family>::Bits>);

/// The target of a packet's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// To this router.
    Receive,
    /// To the group, on the interface of this adjacency.
    Multicast(AdjacencyIndex),
    /// To one neighbour, behind this interface.
    Neighbor(AdjacencyIndex, InterfaceIndex),
    /// To an object of a feature.
    Object(Object),
}

/// A multicast route, as nodes read it.
#[derive(Clone, Debug)]
pub struct MRoute {
    /// Flags for all its packets.
    pub flags: EntryFlags,
    /// Packets with this number are accepted on any interface; 0 is none.
    pub rpf_id: u32,
    /// Purposes of its paths over each interface, by interface.
    pub interfaces: Box<[(u32, ItfFlags)]>,
    /// The targets of copies.
    pub copies: Box<[Copy]>,
    /// The table it is of.
    pub table: TableIndex,
}

impl MRoute {
    pub(super) fn nowhere(table: TableIndex) -> Self {
        let (interfaces, copies) = (Box::default(), Box::default());
        Self { flags: EntryFlags::DROP, rpf_id: 0, interfaces, copies, table }
    }
    /// Purposes of its paths over an interface.
    #[inline(always)]
    pub fn flags_of(&self, interface: u32) -> Option<ItfFlags> {
        let at = self.interfaces.binary_search_by_key(&interface, |i| i.0).ok()?;
        self.interfaces.get(at).map(|i| i.1)
    }
}

/// The route of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRoute {
    /// Flags for all packets.
    pub flags: EntryFlags,
    /// See [`MRoute::rpf_id`].
    pub rpf_id: u32,
    /// Paths.
    pub paths: Vec<MPath>,
}

impl SourceRoute {
    /// Adds paths; an existing path takes the new flags.
    pub(super) fn add(&mut self, paths: &[MPath]) {
        for new in paths {
            match self.paths.iter_mut().find(|p| p.path.target == new.path.target) {
                Some(same) => *same = new.clone(),
                None => self.paths.push(new.clone()),
            }
        }
    }
}

/// A route as control keeps it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Sources and their routes, best first.
    pub sources: Vec<(Source, SourceRoute)>,
    /// Index.
    pub route: u32,
    /// Adjacencies of its copies.
    pub adjacencies: Vec<AdjacencyIndex>,
    /// Whether it is deleted unless added again ([`super::routes`]).
    pub is_stale: bool,
}

impl Entry {
    /// Route of the best source.
    pub fn best(&self) -> &SourceRoute {
        &self.sources[0].1
    }
}

/// The routes of a multicast group, as nodes read them.
#[derive(Clone, Debug)]
pub(super) struct GroupRoutes<F: Family> {
    /// The route for any source.
    any: u32,
    /// Routes by source.
    sources: Box<[(F::Bits, u32)]>,
}

/// One table.
pub(super) struct MTable<F: Family> {
    pub entries: BTreeMap<MKey<F>, Entry>,
    /// Groups that have a leaf, with the number of it.
    leaves: BTreeMap<(F::Bits, u8), u32>,
    writer: F::LpmWriter,
}

impl<F: Family> MTable<F> {
    /// Shape and bytes of what nodes look up in.
    pub fn size(&self) -> (String, usize) {
        (self.writer.shape(), self.writer.memory())
    }
}

/// The tables of a family, by the number of their unicast twins.
pub struct MTables<F: Family> {
    all: Vec<Option<MTable<F>>>,
    lpm: Shared<Vec<Option<F::LpmReader>>>,
    groups: SharedSlab<GroupRoutes<F>>,
}

/// The table that nodes look up in.
#[derive(Clone, Debug)]
pub(super) struct MfibReader<F: Family> {
    lpm: Reader<Vec<Option<F::LpmReader>>>,
    groups: SlabReader<GroupRoutes<F>>,
}

impl<F: Family> MfibReader<F> {
    /// Number of the route for packets of a source to a group; 0 for none. The first table serves
    /// unicast tables without a multicast twin.
    #[inline(always)]
    pub fn find(&self, table: u16, source: F::Bits, group: F::Bits, epoch: Epoch<'_>) -> u32 {
        let all = self.lpm.read(epoch);
        let of = |table: u16| all.get(usize::from(table)).and_then(Option::as_ref);
        let Some(reader) = of(table).or_else(|| of(TableIndex::DEFAULT.0)) else { return 0 };
        let leaf = reader.lookup(group, epoch);
        let Some(group) = self.groups.read(leaf, epoch) else { return 0 };
        match group.sources.binary_search_by_key(&source, |s| s.0) {
            Ok(at) => group.sources.get(at).map_or(0, |s| s.1),
            Err(_) => group.any,
        }
    }
}

impl<F: Family> MTables<F> {
    pub fn new() -> io::Result<Self> {
        let mut groups = SharedSlab::new(MAX_GROUPS)?;
        // A leaf of 0 is none.
        let none = GroupRoutes { any: 0, sources: Box::default() };
        groups.insert(none).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self { all: Vec::new(), lpm: Shared::new(Vec::new()), groups })
    }
    pub(super) fn reader(&self) -> MfibReader<F> {
        MfibReader { lpm: self.lpm.reader(), groups: self.groups.reader() }
    }
    pub(super) fn at(&self, table: TableIndex) -> Option<&MTable<F>> {
        self.all.get(usize::from(table.0))?.as_ref()
    }
    pub(super) fn at_mut(&mut self, table: TableIndex) -> Option<&mut MTable<F>> {
        self.all.get_mut(usize::from(table.0))?.as_mut()
    }
    /// Creates a missing table.
    pub(super) fn make(&mut self, table: TableIndex) -> io::Result<()> {
        let at = usize::from(table.0);
        self.all.resize_with(self.all.len().max(at + 1), || None);
        let writer = F::LpmWriter::new()?;
        self.publish(at, Some(writer.reader()));
        let (entries, leaves) = (BTreeMap::new(), BTreeMap::new());
        self.all[at] = Some(MTable { entries, leaves, writer });
        Ok(())
    }
    /// Forgets a table without entries.
    pub(super) fn forget(&mut self, table: TableIndex) {
        let at = usize::from(table.0);
        if self.all.get_mut(at).and_then(Option::take).is_some() {
            self.publish(at, None);
        }
    }
    fn publish(&mut self, at: usize, reader: Option<F::LpmReader>) {
        let mut all = self.lpm.current().clone();
        all.resize(all.len().max(at + 1), None);
        all[at] = reader;
        self.lpm.publish(all);
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (TableIndex, &MTable<F>)> {
        let numbered = self.all.iter().enumerate();
        numbered.filter_map(|(i, t)| Some((TableIndex(i as u16), t.as_ref()?)))
    }
    /// Shows nodes the current entries of a group, or of groups in a range. Returns whether there
    /// was room.
    pub(super) fn refresh(&mut self, table: TableIndex, group: F::Bits, len: u8) -> bool {
        let done = self.refresh_one(table, (group, len));
        let Some(t) = self.at(table).filter(|_| len < F::BITS) else { return done };
        // Groups inside that only have sources fall back to what is around them.
        let inside = t.leaves.range((group, len)..=(F::last(group, len), F::BITS));
        let hosts = inside.map(|(key, _)| *key).filter(|key| key.1 == F::BITS);
        let hosts: Vec<_> = hosts.collect();
        hosts.into_iter().fold(done, |done, key| self.refresh_one(table, key) && done)
    }
    fn refresh_one(&mut self, table: TableIndex, key: (F::Bits, u8)) -> bool {
        let Self { all, groups, lpm } = self;
        let Some(Some(t)) = all.get_mut(usize::from(table.0)) else { return true };
        let of = t.entries.range((key.0, key.1, None)..);
        let of = of.take_while(|(k, _)| (k.0, k.1) == key);
        let sources: Box<[_]> = of.filter_map(|(k, e)| Some((k.2?, e.route))).collect();
        let own = t.entries.get(&(key.0, key.1, None)).map(|e| e.route);
        if own.is_none() && sources.is_empty() {
            if let Some(gone) = t.leaves.remove(&key) {
                let until =
                    |key| t.leaves.range(..=key).next_back().map(|(key, leaf)| (*key, *leaf));
                let cover = longest::<F, _>(until, key.0, key.1, 0);
                t.writer.remove(key.0, key.1, cover.map(|(k, leaf)| (k.1, leaf)));
                groups.remove(gone);
            }
            return true;
        }
        let around = || {
            let all = (0..key.1).rev().map(|len| (F::masked(key.0, len), len, None));
            all.filter_map(|k| t.entries.get(&k)).map(|e| e.route).next()
        };
        let new = GroupRoutes { any: own.or_else(around).unwrap_or(0), sources };
        if let Some(leaf) = t.leaves.get(&key) {
            groups.replace(*leaf, new);
            return true;
        }
        let Ok(leaf) = groups.insert(new) else { return false };
        t.leaves.insert(key, leaf);
        let done = t.writer.insert(key.0, key.1, leaf);
        if done.is_ok() && !t.writer.is_outgrown() {
            return true;
        }
        if t.writer.grow(t.leaves.iter().map(|(k, leaf)| (k.0, k.1, *leaf))).is_ok() {
            let mut new = lpm.current().clone();
            new[usize::from(table.0)] = Some(t.writer.reader());
            lpm.publish(new);
        } else if done.is_err() {
            t.leaves.remove(&key);
            groups.remove(leaf);
            return false;
        }
        true
    }
}
