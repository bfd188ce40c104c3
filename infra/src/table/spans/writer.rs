//! The writing half of a tree of spans.

use std::collections::VecDeque;
use std::io;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::time::Duration;

use super::{Arena, FAN, Few, Full, KEYS, Line, ROOT, ROWS, SPANS, Segment, Spans, Top};
use crate::memory::{HUGE_PAGE, HugePages, Reserved};
use crate::rcu::{self, Shared};
use crate::sync::AtomicU32;

/// Segments that one change may need: its first and its last are split at most.
const NEEDED: usize = 4;
/// Free segments that are kept before the first is used again; models have it used at once.
const MANY: usize = if cfg!(all(loom, test)) { 1 } else { 4 * NEEDED };
/// Longest wait of a change for segments that readers may still be in.
const PATIENCE: Duration = Duration::from_millis(20);
/// Neighbouring segments that have no more rows together become one.
const SPARSE: usize = ROWS / 3;

/// Places for the spans of a row: one more than it may have, so that their numbers are bits.
const PLACES: usize = SPANS + 1;

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

/// Spans that one row takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    spans: &'a [Span],
    shift: u32,
}

/// As few runs as spans can be cut into.
pub(super) fn cut(mut spans: &[Span]) -> Vec<Run<'_>> {
    let mut runs = Vec::with_capacity(spans.len().div_ceil(SPANS));
    while let Some(first) = spans.first() {
        let (mut len, mut all, mut shift) = (1, 0, 0);
        for span in spans.iter().take(SPANS).skip(1) {
            let behind = span.start - first.start;
            all |= behind;
            if behind >> all.trailing_zeros() >= u64::from(u32::MAX) {
                break;
            }
            (len, shift) = (len + 1, all.trailing_zeros());
        }
        let (run, rest) = spans.split_at(len);
        runs.push(Run { spans: run, shift });
        spans = rest;
    }
    runs
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
    /// Address space for `max` segments of 6 KB, used as it is needed. Once there are more than
    /// 2 MB, they are in huge pages where the system has them.
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
    fn add(&mut self, runs: &[Run<'_>]) -> u32 {
        // Asking whether readers have gone on takes some time: it pays once many wait.
        let is_free = |f: &(u64, u32)| rcu::passed(f.0);
        let may_ask = self.free.len() >= MANY || self.used == self.arena.0.len();
        let slot = match self.free.front().filter(|f| may_ask && is_free(f)) {
            Some(&(_, slot)) => {
                self.free.pop_front();
                slot
            }
            None => {
                let was_small = self.memory() < HUGE_PAGE;
                self.used += 1;
                if was_small && self.memory() >= HUGE_PAGE {
                    self.arena.0.enlarge();
                }
                self.used as u32 - 1
            }
        };
        // SAFETY: the segment was never in use or its epoch has passed, so it has no readers;
        // `self` is the only writer.
        unsafe { &mut *self.arena.0[slot as usize].get() }.fill(runs);
        slot
    }
    fn remove(&mut self, slots: &[u32]) {
        let epoch = rcu::end_epoch();
        self.free.extend(slots.iter().map(|slot| (epoch, *slot)));
    }
}

impl Segment {
    fn fill(&mut self, runs: &[Run<'_>]) {
        self.used = runs.len() as u32;
        let last = runs.last().expect("a segment has spans");
        let copy = iter::once((ROWS - 1, last)).filter(|_| runs.len() < ROWS);
        for (at, run) in runs.iter().enumerate().chain(copy) {
            let (row, first) = (&mut self.rows[at], run.spans[0]);
            (row.start, row.shift) = (first.start, run.shift);
            row.behind = [u32::MAX; SPANS - 1];
            for (behind, span) in row.behind.iter_mut().zip(&run.spans[1..]) {
                *behind = ((span.start - first.start) >> run.shift) as u32;
            }
            for (i, span) in run.spans.iter().enumerate() {
                row.leaves[i].store(span.leaf, Relaxed);
                *self.lens[at][i].get_mut() = span.len;
            }
        }
        let start = |row: usize| runs.get(row).map_or(u64::MAX, |run| run.spans[0].start);
        for group in 0..FAN {
            self.middle[group] = Line(std::array::from_fn(|i| start(group * FAN + i + 1)));
        }
        self.head = Line(std::array::from_fn(|i| start((i + 1) * FAN)));
    }
    fn used(&self) -> usize {
        self.used as usize
    }
    /// One past the last place of a span.
    fn end(&self) -> usize {
        self.used() * PLACES
    }
    /// The span that has a place; in the last places of a row there is none.
    fn get(&self, place: usize) -> Option<Span> {
        let (at, i) = (place / PLACES, place % PLACES);
        let row = &self.rows[at];
        let behind = if i == 0 { 0 } else { *row.behind.get(i - 1)? };
        (behind != u32::MAX).then(|| Span {
            start: row.start + (u64::from(behind) << row.shift),
            leaf: row.leaves[i].load(Relaxed),
            len: self.lens[at][i].load(Relaxed),
        })
    }
    /// All spans, in a loop that a processor likes.
    fn read(&self) -> Vec<Span> {
        let mut all = Vec::with_capacity(self.end() + 2);
        for row in 0..self.used() {
            for place in row * PLACES..row * PLACES + SPANS {
                let Some(span) = self.get(place) else { break };
                all.push(span);
            }
        }
        all
    }
    fn spans(&self, places: Range<usize>) -> impl DoubleEndedIterator<Item = Span> {
        places.filter_map(|place| self.get(place))
    }
    /// Place of the span that a key is in which is not before the segment.
    fn place(&self, key: u64) -> usize {
        let rows = &self.rows[..self.used()];
        let at = rows.partition_point(|row| row.start <= key).saturating_sub(1);
        let is_before = |i: &usize| self.get(*i).is_some_and(|span| span.start <= key);
        (at * PLACES..(at + 1) * PLACES).rev().find(is_before).unwrap_or(at * PLACES)
    }
    /// Gives the spans in these places other leaves and lengths.
    fn store(&self, places: Range<usize>, new: impl IntoIterator<Item = (u32, u8)>) {
        let used = places.filter(|place| self.get(*place).is_some());
        for (place, (leaf, len)) in used.zip(new) {
            self.rows[place / PLACES].leaves[place % PLACES].store(leaf, Relaxed);
            self.lens[place / PLACES][place % PLACES].store(len, Relaxed);
        }
        let (last, copy) = (&self.rows[self.used() - 1], &self.rows[ROWS - 1]);
        for (copy, leaf) in copy.leaves.iter().zip(&last.leaves) {
            copy.store(leaf.load(Relaxed), Relaxed);
        }
    }
}

impl Top {
    fn of(firsts: &[u64], slots: &[u32]) -> Self {
        let (mut levels, mut width) = (0, 1);
        while ROOT * width < firsts.len() {
            (levels, width) = (levels + 1, width * FAN);
        }
        let root: Vec<u64> = firsts.iter().copied().step_by(width).skip(1).collect();
        let first = |at: usize| firsts.get(at).copied().unwrap_or(u64::MAX);
        let mut lines = Vec::with_capacity((root.len() + 1) * (width - 1) / KEYS);
        let mut count = root.len() + 1;
        for _ in 0..levels {
            width /= FAN;
            let line = |n| Line(std::array::from_fn(|i| first((n * FAN + i + 1) * width)));
            lines.extend((0..count).map(line));
            count *= FAN;
        }
        let segments = slots.iter().map(|slot| AtomicU32::new(*slot)).collect();
        Self { root, lines, levels, segments }
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
    /// A tree of these spans, which are in ascending order from key 0 on: as many at most as there
    /// are rows in a segment.
    ///
    /// # Errors
    /// [`Full`].
    pub fn new(store: &mut Store, spans: &[Span]) -> Result<Self, Full> {
        store.make_sure()?;
        let slot = store.add(&cut(spans));
        let top = Shared::new(Top::of(&[0], &[slot]));
        Ok(Self { top, firsts: vec![0], arena: Arc::clone(&store.arena) })
    }
    /// The half for readers.
    pub fn reader(&self) -> Spans {
        Spans { top: self.top.reader(), arena: Arc::clone(&self.arena) }
    }
    /// Frees all segments; no reader may find the tree any longer.
    pub fn free(self, store: &mut Store) {
        store.remove(&self.top.current().slots());
    }
    /// The span that a key is in.
    pub fn span(&self, key: u64) -> Span {
        let segment = self.segment(self.place(key));
        segment.get(segment.place(key)).expect("there is a span where a key is")
    }
    /// The only span, if all keys are in one.
    pub fn only(&self) -> Option<Span> {
        let first = self.segment(0);
        let mut spans = first.spans(0..first.end());
        spans.next().filter(|_| self.firsts.len() == 1 && spans.next().is_none())
    }
    /// Number of segments.
    pub fn segment_count(&self) -> usize {
        self.firsts.len()
    }
    /// Rewrites leaf and length of every span within `first..=last` with `change`, in order.
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
    /// Whether spans start at `first` and after `last`.
    fn has_bounds(&self, first: u64, last: u64) -> bool {
        let starts = |key| self.span(key).start == key;
        starts(first) && last.checked_add(1).is_none_or(starts)
    }
    /// Rewrites leaf and length of every span with `change`, so that no two neighbors become equal:
    /// starts of spans stay, so it needs no segment.
    pub fn relabel(&mut self, mut change: impl FnMut(u32, u8) -> (u32, u8)) {
        for at in 0..self.firsts.len() {
            let segment = self.segment(at);
            let all = 0..segment.end();
            segment.store(all.clone(), segment.spans(all).map(|old| change(old.leaf, old.len)));
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
        let (from, to) = (segment.place(first.max(start)), segment.place(last.min(end)) + 1);
        let before = segment.spans(0..from).next_back();
        let after = segment.spans(to..segment.end()).next();
        let end = after.map_or(end, |after| after.start - 1);
        let old: Vec<Span> = segment.spans(from..to).collect();
        let new = rewritten(&old, end, (first, last), change);
        let joins_before = before.is_some_and(|before| before.is_like(&new[0]));
        let joins_after = after.is_some_and(|after| after.is_like(&new[new.len() - 1]));
        let keeps_starts = new.iter().map(|span| span.start).eq(old.iter().map(|span| span.start));
        let is_in_place = keeps_starts && !joins_before && !joins_after;
        let Some(store) = store.filter(|_| !is_in_place) else {
            debug_assert!(keeps_starts, "what has bounds already splits no span");
            segment.store(from..to, new.iter().map(|span| (span.leaf, span.len)));
            return 1;
        };
        let mut all = segment.read();
        let at_old = all.partition_point(|span| span.start < old[0].start);
        let gone = at_old..at_old + old.len() + usize::from(joins_after);
        all.splice(gone, new.into_iter().skip(usize::from(joins_before)));
        let used = segment.used();
        self.put(store, at, &cut(&all), used)
    }
    /// Puts these spans in the place of a segment that had `used` rows; returns how many segments
    /// stand there now.
    fn put(&mut self, store: &mut Store, at: usize, runs: &[Run<'_>], used: usize) -> usize {
        if runs.len() > ROWS {
            let (left, right) = runs.split_at(runs.len() / 2);
            self.replace(store, at, 1, &[left, right]);
            return 2;
        }
        let (old, new) = (self.slot(at), store.add(runs));
        self.top.current().segments[at].store(new, Release);
        store.remove(&[old]);
        let shrank = runs.len() < used;
        if shrank && at > 0 && self.merge(store, at - 1) { 0 } else { 1 }
    }
    /// Joins a segment with the next one if both are sparse.
    fn merge(&mut self, store: &mut Store, at: usize) -> bool {
        let pair = [self.segment(at), self.segment(at + 1)];
        if pair.iter().map(|segment| segment.used()).sum::<usize>() > SPARSE {
            return false;
        }
        let mut both = Vec::with_capacity(SPARSE * SPANS);
        pair.iter().flat_map(|s| s.spans(0..s.end())).for_each(|span| push(&mut both, span));
        self.replace(store, at, 2, &[&cut(&both)]);
        true
    }
    /// Puts new segments in the place of `count` old ones.
    fn replace(&mut self, store: &mut Store, at: usize, count: usize, new: &[&[Run<'_>]]) {
        let mut slots = self.top.current().slots();
        let added: Vec<u32> = new.iter().map(|runs| store.add(runs)).collect();
        self.firsts.splice(at..at + count, new.iter().map(|runs| runs[0].spans[0].start));
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

/// Adds a span, or extends the previous one if it is equal.
fn push(spans: &mut Vec<Span>, new: Span) {
    if spans.last().is_none_or(|last| !last.is_like(&new)) {
        spans.push(new);
    }
}
