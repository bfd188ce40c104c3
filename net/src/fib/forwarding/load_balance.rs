//! Load balances: what a lookup finds, one number for each route or path list.
//!
//! A load balance is one 64-bit word: the target of its only path, or the *group* of buckets to
//! choose from. It is replaced by one store under its number, so a table need not change when paths
//! do, and a packet reads one word of an array that stays in cache. Groups belong to path lists:
//! all load balances of a list hold the same word. The word of a label that is swapped for one
//! towards a neighbor has all the information ([`Swap`]).

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};

use control::stats::{Columns, Segment};
use infra::counter::{Rows, Volume, VolumeCounter};
use infra::memory::{HUGE_PAGE, HugePages, Reserved};
use infra::rcu::{self, Epoch, SharedSlab, SlabReader};
use infra::table::numbers::Numbers;
use wire::mpls::LABELS;

use super::objects::{Object, ObjectKind};
use crate::adjacency::{AdjacencyIndex, MAX_ADJACENCIES};
use crate::fib::control::path::Label;

/// Most load balances there may be: one for each label, and others.
pub const MAX_BALANCES: usize = (1 << 20) + (1 << 18);
/// Columns of vectors in the statistics segment that have one for each load balance.
pub const COLUMNS: Columns = Columns::growing("route", MAX_BALANCES);
/// A load balance that leads nowhere, always.
pub(super) const NOWHERE: u32 = MAX_BALANCES as u32 - 1;
/// Most groups of buckets.
const MAX_GROUPS: usize = 1 << 18;

/// The bucket of a load balance: the next step of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// Nowhere.
    Drop,
    /// To control.
    Punt,
    /// To this router, whose address is one of this interface; `u32::MAX`: of none.
    Receive(u32),
    /// Back as an ICMP error: host unreachable.
    Unreachable,
    /// Back as an ICMP error: prohibited.
    Prohibit,
    /// To a neighbour.
    Adjacency(AdjacencyIndex),
    /// Into a tunnel.
    Midchain(AdjacencyIndex),
    /// To a connected network, as the neighbour its destination names.
    Glean(AdjacencyIndex),
    /// On through another load balance.
    LoadBalance(u32),
    /// Another lookup, in this table.
    Lookup(u16),
    /// Another lookup, in the link-local table of its interface.
    LinkLocal,
    /// A lookup of its source, in this table.
    SourceLookup(u16),
    /// Input of this interface.
    InterfaceRx(u32),
    /// Nowhere; but as a source its addresses pass a loose reverse-path check.
    Exempt,
    /// To an object of a feature.
    Object(Object),
}

/// A [`Via`], or a group of them, as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fib) struct Word(u64);

/// A label that is put on packets towards a neighbour, in one number: the label, traffic class and
/// time to live as they are sent in the lower half, the neighbour's adjacency in the upper one.
#[derive(Clone, Copy, Debug)]
pub struct Brief(u64);

impl Brief {
    /// Tells it from none.
    const IS: u64 = 1 << 63;
    const UNIFORM: u64 = 1 << 62;

    /// Of a label towards a neighbour.
    pub fn new(label: &Label, adjacency: AdjacencyIndex) -> Self {
        let entry = label.value << 12 | u32::from(label.exp & 7) << 9 | u32::from(label.hops());
        let uniform = if label.is_uniform { Self::UNIFORM } else { 0 };
        Self(Self::IS | uniform | u64::from(adjacency.0) << 32 | u64::from(entry))
    }
    /// From its number; `None` for none.
    #[inline(always)]
    pub fn of(number: u64) -> Option<Self> {
        (number & Self::IS != 0).then_some(Self(number))
    }
    /// Its number, which is not 0.
    pub fn number(self) -> u64 {
        self.0
    }
    /// Neighbor.
    #[inline(always)]
    pub fn adjacency(self) -> u32 {
        (self.0 >> 32) as u32 & (MAX_ADJACENCIES as u32 - 1)
    }
    /// 1 if time to live and traffic class are those of the packet.
    #[inline(always)]
    pub fn is_uniform(self) -> usize {
        (self.0 >> 62 & 1) as usize
    }
    /// The entry of a label stack, not marked as the last.
    #[inline(always)]
    pub fn entry(self) -> u32 {
        self.0 as u32
    }
}

/// Most numbers of labels to put on.
pub const MOST_BRIEFS: usize = 1 << 22;

/// A label that takes another one's place, towards a neighbour: what most labels lead to, so that a
/// word says it whole. From its highest bit on: 1; 1 if it is uniform; the adjacency, 20 bits; the
/// label, 20; the object's number, 22.
#[derive(Clone, Copy, Debug)]
pub struct Swap(u64);

impl Swap {
    const IS: u64 = 1 << 63;

    fn new(object: Object, brief: Brief) -> Self {
        let uniform = u64::from(object.kind.0) << 62;
        let label = u64::from(brief.entry() >> 12) << 22;
        let adjacency = u64::from(brief.adjacency()) << 42;
        Self(Self::IS | uniform | adjacency | label | u64::from(object.index))
    }
    /// From its number; `None` for another word's.
    #[inline(always)]
    fn of(number: u64) -> Option<Self> {
        (number & Self::IS != 0).then_some(Self(number))
    }
    /// Neighbor.
    #[inline(always)]
    pub fn adjacency(self) -> u32 {
        (self.0 >> 42) as u32 & (MAX_ADJACENCIES as u32 - 1)
    }
    /// Label.
    #[inline(always)]
    pub fn label(self) -> u32 {
        (self.0 >> 22) as u32 & (LABELS - 1)
    }
    /// 1 if time to live and traffic class of all labels are those of the packet.
    #[inline(always)]
    pub fn is_uniform(self) -> usize {
        (self.0 >> 62 & 1) as usize
    }
    #[inline(always)]
    fn object(self) -> Object {
        let kind = ObjectKind::LABELS[self.is_uniform()];
        Object { kind, index: self.0 as u32 & (MOST_BRIEFS as u32 - 1) }
    }
}

const ADJACENCY: u32 = 5;
const MIDCHAIN: u32 = 13;
const GROUP: u32 = 0x80;
/// Kinds of objects count from here.
const OBJECTS: u32 = 0x100;

impl Word {
    pub const DROP: Self = Self(0);

    const fn new(kind: u32, value: u32) -> Self {
        Self((kind as u64) << 32 | value as u64)
    }
    pub fn one(via: Via) -> Self {
        match via {
            Via::Drop => Self::DROP,
            Via::Punt => Self::new(1, 0),
            Via::Receive(interface) => Self::new(2, interface),
            Via::Unreachable => Self::new(3, 0),
            Via::Prohibit => Self::new(4, 0),
            Via::Adjacency(a) => Self::new(ADJACENCY, a.0),
            Via::Glean(a) => Self::new(6, a.0),
            Via::LoadBalance(index) => Self::new(7, index),
            Via::Lookup(table) => Self::new(8, table.into()),
            Via::LinkLocal => Self::new(9, 0),
            Via::SourceLookup(table) => Self::new(10, table.into()),
            Via::InterfaceRx(interface) => Self::new(11, interface),
            Via::Exempt => Self::new(12, 0),
            Via::Midchain(a) => Self::new(MIDCHAIN, a.0),
            Via::Object(Object { kind, index }) => Self::new(OBJECTS + u32::from(kind.0), index),
        }
    }
    pub fn group(index: u32) -> Self {
        Self::new(GROUP, index)
    }
    #[inline(always)]
    fn kind(self) -> u32 {
        (self.0 >> 32) as u32
    }
    #[inline(always)]
    fn via(self) -> Via {
        if let Some(swap) = Swap::of(self.0) {
            return Via::Object(swap.object());
        }
        let value = self.0 as u32;
        match self.kind() {
            1 => Via::Punt,
            2 => Via::Receive(value),
            3 => Via::Unreachable,
            4 => Via::Prohibit,
            ADJACENCY => Via::Adjacency(AdjacencyIndex(value)),
            6 => Via::Glean(AdjacencyIndex(value)),
            7 => Via::LoadBalance(value),
            8 => Via::Lookup(value as u16),
            9 => Via::LinkLocal,
            10 => Via::SourceLookup(value as u16),
            11 => Via::InterfaceRx(value),
            12 => Via::Exempt,
            MIDCHAIN => Via::Midchain(AdjacencyIndex(value)),
            kind if kind >= OBJECTS => {
                Via::Object(Object { kind: ObjectKind((kind - OBJECTS) as u16), index: value })
            }
            _ => Via::Drop,
        }
    }
}

/// A load balance as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBalance<'e> {
    /// There is one bucket.
    One(Via),
    /// There are several: a power of two of buckets.
    Many(&'e [Via]),
}

impl LoadBalance<'_> {
    /// The bucket of a flow. A hash is needed only for [`LoadBalance::Many`].
    #[inline(always)]
    pub fn choose(self, hash: u32) -> Via {
        match self {
            Self::One(via) => via,
            Self::Many(buckets) => {
                let mask = buckets.len().wrapping_sub(1);
                buckets.get(hash as usize & mask).copied().unwrap_or(Via::Drop)
            }
        }
    }
    /// The bucket, when there is only one.
    #[inline(always)]
    pub fn single(self) -> Option<Via> {
        match self {
            Self::One(via) => Some(via),
            Self::Many(_) => None,
        }
    }
    /// All its buckets.
    pub fn buckets(&self) -> &[Via] {
        match self {
            Self::One(via) => std::slice::from_ref(via),
            Self::Many(buckets) => buckets,
        }
    }
}

/// Packets and bytes by load balance: a row for each thread.
#[derive(Debug)]
pub struct RouteCounters {
    /// Found by a lookup (`/net/route/to`).
    pub to: Rows<VolumeCounter>,
    /// Reached through another load balance, or sent back by a glean (`/net/route/via`).
    pub via: Rows<VolumeCounter>,
}

/// The load balances, as nodes read them.
#[derive(Clone, Debug)]
pub struct Balances {
    words: Arc<Reserved<AtomicU64>>,
    groups: SlabReader<Box<[Via]>>,
    pub(in crate::fib) counters: Arc<RouteCounters>,
}

impl Balances {
    /// The neighbor that the load balance with this number leads to, if it is the only one: the
    /// usual case, detected by one comparison.
    #[inline(always)]
    pub fn only_neighbor(&self, index: u32) -> Option<AdjacencyIndex> {
        let word = Word(self.words.get(index as usize)?.load(Acquire));
        (word.kind() == ADJACENCY).then_some(AdjacencyIndex(word.0 as u32))
    }
    /// The same of an adjacency into a tunnel.
    #[inline(always)]
    pub fn only_tunnel(&self, index: u32) -> Option<AdjacencyIndex> {
        let word = Word(self.words.get(index as usize)?.load(Acquire));
        (word.kind() == MIDCHAIN).then_some(AdjacencyIndex(word.0 as u32))
    }
    /// The object of a feature that the load balance with this number leads to, if it leads there
    /// only.
    #[inline(always)]
    pub fn only_object(&self, index: u32) -> Option<Object> {
        let word = Word(self.words.get(index as usize)?.load(Acquire));
        if let Some(swap) = Swap::of(word.0) {
            return Some(swap.object());
        }
        let kind = word.kind().checked_sub(OBJECTS)?;
        Some(Object { kind: ObjectKind(kind as u16), index: word.0 as u32 })
    }
    /// The label that packets of the load balance with this number get, if that is all.
    #[inline(always)]
    pub fn only_swap(&self, index: u32) -> Option<Swap> {
        Swap::of(self.words.get(index as usize)?.load(Acquire))
    }
    /// Asks for the word of the load balance with this number.
    #[inline(always)]
    pub fn fetch(&self, index: u32) {
        self.words.get(index as usize).into_iter().for_each(infra::cpu::prefetch);
    }
    /// The load balance with this number; one that leads nowhere if there is none.
    #[inline(always)]
    pub fn at<'e>(&'e self, index: u32, epoch: Epoch<'e>) -> LoadBalance<'e> {
        let Some(word) = self.words.get(index as usize) else { return LoadBalance::One(Via::Drop) };
        let word = Word(word.load(Acquire));
        if word.kind() != GROUP {
            return LoadBalance::One(word.via());
        }
        match self.groups.read(word.0 as u32, epoch) {
            Some(group) => LoadBalance::Many(group),
            None => LoadBalance::One(Via::Drop),
        }
    }
}

/// All load balances, for control.
pub(in crate::fib) struct LoadBalances {
    words: Arc<Reserved<AtomicU64>>,
    groups: SharedSlab<Box<[Via]>>,
    counters: Arc<RouteCounters>,
    /// [Briefs](Brief) of labels to put on, by number of the object; 0 for others.
    pub(in crate::fib) briefs: Numbers,
    /// The path list that each load balance follows.
    lists: Vec<u32>,
    /// Numbers that readers may still know, with the epoch whose end frees them.
    free: VecDeque<(u64, u32)>,
    /// Words written because of what changed elsewhere.
    written: u64,
}

const NO_LIST: u32 = u32::MAX;

impl LoadBalances {
    pub fn new(stats: &mut Segment) -> io::Result<Self> {
        let mut rows = |name| stats.combined(name, COLUMNS).map_err(io::Error::other);
        let counters = RouteCounters { to: rows("/net/route/to")?, via: rows("/net/route/via")? };
        Ok(Self {
            words: Arc::new(Reserved::new(MAX_BALANCES, HugePages::Beyond)?.named("load balances")),
            groups: SharedSlab::new(MAX_GROUPS)?,
            counters: Arc::new(counters),
            briefs: Numbers::new(MOST_BRIEFS)?,
            // A leaf of 0 means the default, so number 0 is never given out.
            lists: vec![NO_LIST],
            free: VecDeque::new(),
            written: 0,
        })
    }
    pub fn reader(&self) -> Balances {
        Balances {
            words: Arc::clone(&self.words),
            groups: self.groups.reader(),
            counters: Arc::clone(&self.counters),
        }
    }
    /// A new load balance that follows a path list; `None` when there are too many.
    pub fn make(&mut self, list: u32, word: Word) -> Option<u32> {
        let index = match self.free.front() {
            Some(&(epoch, index)) if rcu::passed(epoch) => {
                self.free.pop_front();
                self.zero(index as usize);
                index
            }
            _ if self.lists.len() < NOWHERE as usize => {
                self.lists.push(NO_LIST);
                if self.lists.len() == HUGE_PAGE / size_of::<AtomicU64>() {
                    self.words.enlarge();
                    self.briefs.enlarge();
                }
                self.lists.len() as u32 - 1
            }
            _ => return None,
        };
        self.follow(index, list, word);
        Some(index)
    }
    /// Makes a load balance follow another path list.
    pub fn follow(&mut self, index: u32, list: u32, word: Word) {
        self.lists[index as usize] = list;
        self.words[index as usize].store(self.told(word), Release);
    }
    /// A word as nodes read it.
    fn told(&self, word: Word) -> u64 {
        let Via::Object(object) = word.via() else { return word.0 };
        let brief = Brief::of(self.briefs.at(object.index as usize));
        let brief = brief.filter(|_| ObjectKind::LABELS.contains(&object.kind));
        brief.map_or(word.0, |brief| Swap::new(object, brief).0)
    }
    /// Gives up a load balance that no lookup finds any more; its number is not used again, and
    /// leads where it did, while packets may be on their way there.
    pub fn free(&mut self, index: u32) {
        self.lists[index as usize] = NO_LIST;
        self.free.push_back((rcu::end_epoch(), index));
    }
    /// Puts new words into all load balances that follow one of these lists, in one go over all.
    pub fn rewrite(&mut self, new: &[(u32, Word)]) {
        if let [(list, word)] = *new {
            return self.rewrite_where(|l| (l == list).then_some(word));
        }
        let most = new.iter().map(|(list, _)| *list as usize + 1).max().unwrap_or(0);
        let mut by_list = vec![None; most];
        new.iter().for_each(|(list, word)| by_list[*list as usize] = Some(*word));
        self.rewrite_where(|l| by_list.get(l as usize).copied().flatten());
    }
    fn rewrite_where(&mut self, new: impl Fn(u32) -> Option<Word>) {
        let mut written = 0;
        for (list, word) in self.lists.iter().zip(self.words.iter()) {
            if let Some(new) = new(*list) {
                word.store(self.told(new), Release);
                written += 1;
            }
        }
        self.written += written;
    }
    /// Packets and bytes that a load balance counted: found by a lookup, reached otherwise.
    pub fn counted(&self, index: u32) -> (Volume, Volume) {
        (self.counters.to.sum(index as usize), self.counters.via.sum(index as usize))
    }
    /// Resets the counters of a number that no thread uses, so that there are no other writers.
    fn zero(&self, index: usize) {
        for counters in [&self.counters.to, &self.counters.via] {
            (0..counters.threads()).for_each(|thread| counters.zero(thread, index..index + 1));
        }
    }
    /// Makes a group of buckets, or `None` when there are too many.
    pub fn make_group(&mut self, buckets: Box<[Via]>) -> Option<u32> {
        self.groups.insert(buckets).ok()
    }
    pub fn replace_group(&mut self, index: u32, buckets: Box<[Via]>) {
        self.groups.replace(index, buckets);
    }
    pub fn group(&self, index: u32) -> &[Via] {
        self.groups.at(index).map_or(&[], |group| group)
    }
    /// The load balance with this number, as it is now.
    pub fn at(&self, index: u32) -> LoadBalance<'_> {
        let word = Word(self.words.get(index as usize).map_or(0, |word| word.load(Acquire)));
        if word.kind() == GROUP {
            LoadBalance::Many(self.group(word.0 as u32))
        } else {
            LoadBalance::One(word.via())
        }
    }
    /// Above all numbers of load balances.
    pub fn end(&self) -> u32 {
        self.lists.len() as u32
    }
    /// The path list that a load balance follows.
    pub fn list_of(&self, index: u32) -> Option<u32> {
        self.lists.get(index as usize).copied().filter(|list| *list != NO_LIST)
    }
    /// Gives up a group that no word names any more but those of load balances that were given up.
    pub fn free_group(&mut self, index: u32) {
        self.groups.remove(index);
    }
    /// Number of words written so far because of changes elsewhere.
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Number of load balances.
    pub fn len(&self) -> usize {
        self.lists.len() - 1 - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_they_say() {
        let a = AdjacencyIndex(77);
        for via in [
            Via::Drop,
            Via::Punt,
            Via::Receive(3),
            Via::Unreachable,
            Via::Prohibit,
            Via::Adjacency(a),
            Via::Glean(a),
            Via::LoadBalance(u32::MAX),
            Via::Lookup(65535),
            Via::LinkLocal,
            Via::SourceLookup(7),
            Via::InterfaceRx(9),
            Via::Exempt,
            Via::Midchain(a),
            Via::Object(Object { kind: ObjectKind(0), index: 5 }),
            Via::Object(Object { kind: ObjectKind(u16::MAX), index: u32::MAX }),
        ] {
            assert_eq!(Word::one(via).via(), via);
        }
    }

    #[test]
    fn a_word_says_a_swap_whole() {
        let mut all = LoadBalances::new(&mut Segment::new(1, None).unwrap()).unwrap();
        let index = MOST_BRIEFS as u32 - 1;
        let (label, adjacency) = (LABELS - 1, MAX_ADJACENCIES as u32 - 1);
        for is_uniform in [false, true] {
            let label = Label { value: label, ttl: 3, exp: 2, is_uniform };
            let brief = Brief::new(&label, AdjacencyIndex(adjacency));
            all.briefs.set(index as usize, brief.number());
            let object = Object { kind: ObjectKind::LABELS[usize::from(is_uniform)], index };
            let balance = all.make(1, Word::one(Via::Object(object))).unwrap();
            let reader = all.reader();
            let swap = reader.only_swap(balance).unwrap();
            assert_eq!((swap.label(), swap.adjacency()), (label.value, adjacency));
            assert_eq!(swap.is_uniform(), usize::from(is_uniform));
            assert_eq!(reader.only_object(balance), Some(object));
            assert_eq!(all.at(balance), LoadBalance::One(Via::Object(object)));
            assert_eq!(reader.only_neighbor(balance), None);
            all.briefs.set(index as usize, 0);
            all.follow(balance, 1, Word::one(Via::Object(object)));
            assert!(reader.only_swap(balance).is_none(), "labels that no word has room for");
            assert_eq!(reader.only_object(balance), Some(object));
        }
    }

    #[test]
    fn a_number_that_serves_again_counts_from_zero() {
        let mut all = LoadBalances::new(&mut Segment::new(1, None).unwrap()).unwrap();
        let index = all.make(1, Word::one(Via::Receive(1))).unwrap();
        all.counters.to.row(0)[index as usize].add(3, 150);
        assert_eq!(all.counted(index).0, Volume { packets: 3, bytes: 150 });
        all.free(index);
        let again = (0..1000).find_map(|_| {
            // Readers of other tests may hold the number back for a while.
            let new = all.make(2, Word::DROP)?;
            (new == index).then_some(new)
        });
        if let Some(again) = again {
            assert_eq!(all.counted(again).0, Volume::default());
        }
    }
}
