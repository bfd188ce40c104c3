//! The writing half of a tree of spans.

use std::collections::VecDeque;
use std::io;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::time::Duration;

use super::{Arena, FAN, Few, Full, KEYS, Line, ROOM, Segment, Spans, Top};
use crate::memory::{HugePages, Reserved};
use crate::rcu::{self, Shared};
use crate::sync::AtomicU32;

/// Segments that one change may need: its first and its last are split at most.
const NEEDED: usize = 4;
/// Free segments that are kept before the first is used again; models have it used at once.
const MANY: usize = if cfg!(all(loom, test)) { 1 } else { 4 * NEEDED };
/// How long a change waits for segments that readers may still be in.
const PATIENCE: Duration = Duration::from_millis(20);
/// Neighbouring segments that have no more spans together become one.
const SPARSE: usize = ROOM / 3;

/// A span as its tree keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first key.
    pub start: u64,
    /// Its leaf.
    pub leaf: u32,
    /// Length of the prefix it is from.
    pub len: u8,
}

impl Span {
    fn is_like(&self, other: &Self) -> bool {
        (self.leaf, self.len) == (other.leaf, other.len)
    }
}

/// The segments of any number of trees, for the one who changes them.
#[derive(Debug)]
pub struct Store {
    arena: Arc<Arena>,
    /// Segments that were ever used, from the start of the arena.
    used: usize,
    /// Segments that no tree needs, with the epoch whose end frees them.
    free: VecDeque<(u64, u32)>,
}

impl Store {
    /// Address space for `max` segments of 9 KB, used as it is needed. All but the first 2 MB are
    /// in huge pages where the system has them.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(max: usize) -> io::Result<Self> {
        let arena = Arena(Reserved::new(max, HugePages::Beyond)?.named("ranges"));
        Ok(Self { arena: Arc::new(arena), used: 0, free: VecDeque::new() })
    }
    /// Segments in use or waiting for readers.
    pub fn used(&self) -> usize {
        self.used
    }
    /// Bytes of segments ever used.
    pub fn memory(&self) -> usize {
        self.used * size_of::<Segment>()
    }
    /// Waits until a change can be sure of its segments.
    fn make_sure(&mut self) -> Result<(), Full> {
        let mut waited = Duration::ZERO;
        let unused = self.arena.0.len() - self.used;
        while unused < NEEDED && !self.free.get(NEEDED - 1).is_some_and(|f| rcu::passed(f.0)) {
            if waited > PATIENCE {
                return Err(Full);
            }
            thread::sleep(Duration::from_micros(100));
            waited += Duration::from_micros(100);
        }
        Ok(())
    }
    /// Writes a segment and returns its number.
    fn add(&mut self, spans: &[Span]) -> u32 {
        // Asking whether readers have gone on takes some time: it pays once many wait.
        let is_free = |f: &(u64, u32)| rcu::passed(f.0);
        let may_ask = self.free.len() >= MANY || self.used == self.arena.0.len();
        let slot = match self.free.front().filter(|f| may_ask && is_free(f)) {
            Some(&(_, slot)) => {
                self.free.pop_front();
                slot
            }
            None => {
                self.used += 1;
                self.used as u32 - 1
            }
        };
        // SAFETY: the segment was never in use or its epoch has passed, so nobody reads it; `self`
        // is the only one who writes.
        unsafe { &mut *self.arena.0[slot as usize].get() }.fill(spans);
        slot
    }
    fn remove(&mut self, slots: &[u32]) {
        let epoch = rcu::end_epoch();
        self.free.extend(slots.iter().map(|slot| (epoch, *slot)));
    }
}

impl Segment {
    fn fill(&mut self, spans: &[Span]) {
        let last = spans.last().expect("a segment has spans");
        let pads = iter::repeat(Span { start: u64::MAX, ..*last });
        for (i, span) in spans.iter().copied().chain(pads).take(ROOM).enumerate() {
            self.starts[i / KEYS].0[i % KEYS] = span.start;
            self.leaves[i].store(span.leaf, Relaxed);
            *self.lens[i].get_mut() = span.len;
        }
        self.count = spans.len() as u32;
        let first = |line: usize| self.starts.get(line).map_or(u64::MAX, |line| line.0[0]);
        for group in 0..FAN {
            self.middle[group] = Line(std::array::from_fn(|i| first(group * FAN + i + 1)));
        }
        self.head = Line(std::array::from_fn(|i| first((i + 1) * FAN)));
    }
    fn span(&self, i: usize) -> Span {
        let start = self.starts[i / KEYS].0[i % KEYS];
        Span { start, leaf: self.leaves[i].load(Relaxed), len: self.lens[i].load(Relaxed) }
    }
    fn count(&self) -> usize {
        self.count as usize
    }
    fn spans(&self, range: Range<usize>) -> impl Iterator<Item = Span> {
        range.map(|i| self.span(i))
    }
    /// The span that a key is in which is not before the segment.
    fn place(&self, key: u64) -> usize {
        let used = &self.starts[..self.count().div_ceil(KEYS)];
        let line = used.partition_point(|line| line.0[0] <= key).saturating_sub(1);
        let found = line * KEYS + self.starts[line].0.partition_point(|start| *start <= key);
        found.min(self.count()).saturating_sub(1)
    }
}

impl Top {
    fn of(firsts: &[u64], slots: &[u32]) -> Self {
        let mut levels = 0;
        while FAN.pow(levels) < firsts.len() {
            levels += 1;
        }
        let first = |at: usize| firsts.get(at).copied().unwrap_or(u64::MAX);
        let mut lines = Vec::new();
        for level in 0..levels {
            let width = FAN.pow(levels - level - 1);
            let line = |n| Line(std::array::from_fn(|i| first((n * FAN + i + 1) * width)));
            lines.extend((0..FAN.pow(level)).map(line));
        }
        let segments = slots.iter().map(|slot| AtomicU32::new(*slot)).collect();
        Self { lines, levels: levels as usize, segments }
    }
    fn slots(&self) -> Vec<u32> {
        self.segments.iter().map(|slot| slot.load(Relaxed)).collect()
    }
}

/// The one that changes a tree.
#[derive(Debug)]
pub struct Writer {
    top: Shared<Top>,
    /// First key of each segment.
    firsts: Vec<u64>,
    arena: Arc<Arena>,
}

impl Writer {
    /// A tree of these spans, which are in ascending order from key 0 on and fit into one segment.
    ///
    /// # Errors
    /// [`Full`].
    pub fn new(store: &mut Store, spans: &[Span]) -> Result<Self, Full> {
        store.make_sure()?;
        let slot = store.add(spans);
        let top = Shared::new(Top::of(&[0], &[slot]));
        Ok(Self { top, firsts: vec![0], arena: Arc::clone(&store.arena) })
    }
    /// The half for readers.
    pub fn reader(&self) -> Spans {
        Spans { top: self.top.reader(), arena: Arc::clone(&self.arena) }
    }
    /// Gives all segments back; no reader may find the tree any more.
    pub fn free(self, store: &mut Store) {
        store.remove(&self.top.current().slots());
    }
    /// The span that a key is in.
    pub fn span(&self, key: u64) -> Span {
        let segment = self.segment(self.place(key));
        segment.span(segment.place(key))
    }
    /// The only span, if all keys are in one.
    pub fn only(&self) -> Option<Span> {
        let first = self.segment(0);
        (self.firsts.len() == 1 && first.count() == 1).then(|| first.span(0))
    }
    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.firsts.len()
    }
    /// Has `change` rewrite leaf and length of every span within `first..=last`, in order.
    ///
    /// # Errors
    /// [`Full`]; nothing has changed then, and `change` was not called. Where spans start and end
    /// there already, it needs no room.
    pub fn rewrite(
        &mut self,
        store: &mut Store,
        (first, last): (u64, u64),
        mut change: impl FnMut(u32, u8) -> (u32, u8),
    ) -> Result<(), Full> {
        let has_room = store.make_sure();
        if !self.has_bounds(first, last) {
            has_room?;
        }
        let mut at = self.place(first);
        while self.firsts.get(at).is_some_and(|start| *start <= last) {
            let room = has_room.is_ok().then_some(&mut *store);
            at += self.rewrite_segment(room, at, (first, last), &mut change);
        }
        Ok(())
    }
    /// Whether spans start at `first` and behind `last`.
    fn has_bounds(&self, first: u64, last: u64) -> bool {
        let starts = |key| self.span(key).start == key;
        starts(first) && last.checked_add(1).is_none_or(starts)
    }
    /// Has `change` rewrite leaf and length of every span, in a way that makes no two neighbours
    /// alike: where spans start stays, so it needs no segment.
    pub fn relabel(&mut self, mut change: impl FnMut(u32, u8) -> (u32, u8)) {
        for at in 0..self.firsts.len() {
            let segment = self.segment(at);
            for (i, old) in segment.spans(0..segment.count()).enumerate() {
                let (leaf, len) = change(old.leaf, old.len);
                segment.leaves[i].store(leaf, Relaxed);
                segment.lens[i].store(len, Relaxed);
            }
            self.pad(at);
        }
    }
    fn place(&self, key: u64) -> usize {
        self.firsts.partition_point(|first| *first <= key).saturating_sub(1)
    }
    fn slot(&self, at: usize) -> u32 {
        self.top.current().segments[at].load(Relaxed)
    }
    fn segment(&self, at: usize) -> &Segment {
        self.arena.at(self.slot(at))
    }
    /// Returns how many segments stand there now. Without room, spans that became alike stay apart.
    fn rewrite_segment(
        &mut self,
        store: Option<&mut Store>,
        at: usize,
        (first, last): (u64, u64),
        change: &mut impl FnMut(u32, u8) -> (u32, u8),
    ) -> usize {
        let (start, segment) = (self.firsts[at], self.segment(at));
        let end = self.firsts.get(at + 1).map_or(u64::MAX, |next| next - 1);
        let count = segment.count();
        let (from, to) = (segment.place(first.max(start)), segment.place(last.min(end)) + 1);
        let end = if to < count { segment.span(to).start - 1 } else { end };
        let old: Vec<Span> = segment.spans(from..to).collect();
        let new = rewritten(&old, end, (first, last), change);
        let before = from.checked_sub(1).map(|i| segment.span(i));
        let after = (to < count).then(|| segment.span(to));
        let joins_before = before.is_some_and(|before| before.is_like(&new[0]));
        let joins_after = after.is_some_and(|after| after.is_like(&new[new.len() - 1]));
        let keeps_starts = new.iter().map(|span| span.start).eq(old.iter().map(|span| span.start));
        let is_in_place = keeps_starts && !joins_before && !joins_after;
        let Some(store) = store.filter(|_| !is_in_place) else {
            debug_assert!(keeps_starts, "what has bounds already splits no span");
            for (i, span) in (from..to).zip(&new) {
                segment.leaves[i].store(span.leaf, Relaxed);
                segment.lens[i].store(span.len, Relaxed);
            }
            self.pad(at);
            return 1;
        };
        let new = new.into_iter().skip(usize::from(joins_before));
        let tail = segment.spans(to + usize::from(joins_after)..count);
        let all: Vec<Span> = segment.spans(0..from).chain(new).chain(tail).collect();
        self.put(store, at, &all, count)
    }
    /// Has what is not used of a segment repeat its last leaf.
    fn pad(&self, at: usize) {
        let segment = self.segment(at);
        let last = segment.span(segment.count() - 1);
        segment.leaves[segment.count()..].iter().for_each(|leaf| leaf.store(last.leaf, Relaxed));
    }
    /// Puts these spans in the place of a segment that had `count`; returns how many segments stand
    /// there now.
    fn put(&mut self, store: &mut Store, at: usize, spans: &[Span], count: usize) -> usize {
        if spans.len() > ROOM {
            let (left, right) = spans.split_at(spans.len() / 2);
            self.replace(store, at, 1, &[left, right]);
            return 2;
        }
        let (old, new) = (self.slot(at), store.add(spans));
        self.top.current().segments[at].store(new, Release);
        store.remove(&[old]);
        let shrank = spans.len() < count;
        if shrank && at > 0 && self.merge(store, at - 1) { 0 } else { 1 }
    }
    /// Joins a segment with the next one if both are sparse.
    fn merge(&mut self, store: &mut Store, at: usize) -> bool {
        let pair = [self.segment(at), self.segment(at + 1)];
        if pair.iter().map(|segment| segment.count()).sum::<usize>() > SPARSE {
            return false;
        }
        let mut both = Vec::with_capacity(SPARSE);
        pair.iter().flat_map(|s| s.spans(0..s.count())).for_each(|span| push(&mut both, span));
        self.replace(store, at, 2, &[&both]);
        true
    }
    /// Puts new segments in the place of `count` old ones.
    fn replace(&mut self, store: &mut Store, at: usize, count: usize, new: &[&[Span]]) {
        let mut slots = self.top.current().slots();
        let added: Vec<u32> = new.iter().map(|spans| store.add(spans)).collect();
        self.firsts.splice(at..at + count, new.iter().map(|spans| spans[0].start));
        let gone: Vec<u32> = slots.splice(at..at + count, added).collect();
        self.top.publish(Top::of(&self.firsts, &slots));
        store.remove(&gone);
    }
}

/// Neighbouring spans, the last of which ends at `end`, after `change` has rewritten leaf and
/// length of what lies within `first..=last`.
pub fn rewritten(
    old: &[Span],
    end: u64,
    (first, last): (u64, u64),
    mut change: impl FnMut(u32, u8) -> (u32, u8),
) -> Vec<Span> {
    let mut new = Vec::with_capacity(old.len() + 2);
    for (i, span) in old.iter().enumerate() {
        let stop = old.get(i + 1).map_or(end, |next| next.start - 1);
        if stop < first || last < span.start {
            push(&mut new, *span);
            continue;
        }
        if span.start < first {
            push(&mut new, *span);
        }
        let (leaf, len) = change(span.leaf, span.len);
        push(&mut new, Span { start: span.start.max(first), leaf, len });
        if last < stop {
            push(&mut new, Span { start: last + 1, ..*span });
        }
    }
    new
}

impl Few {
    /// As many spans as fit, the first of which starts at key 0; `None` if there are more.
    pub fn of(spans: &[Span]) -> Option<Self> {
        let last = spans.last().filter(|_| spans.len() <= KEYS)?;
        let at = |i: usize| spans.get(i).unwrap_or(last);
        let start = |i: usize| spans.get(i).map_or(u64::MAX, |span| span.start);
        let starts = Line(std::array::from_fn(start));
        Some(Self { starts, leaves: std::array::from_fn(|i| at(i).leaf) })
    }
}

/// Adds a span, unless it says the same as the one before: then that one goes on.
fn push(spans: &mut Vec<Span>, new: Span) {
    if spans.last().is_none_or(|last| !last.is_like(&new)) {
        spans.push(new);
    }
}
