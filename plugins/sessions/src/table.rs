//! The sessions that one thread owns.

use std::io;

use infra::cpu::prefetch;
use infra::memory::{HugePages, Reserved};
use infra::table::exact::{Change, Exact};
use zerocopy::FromZeros;

use crate::ages::{Ages, Link};
use crate::flow::Key;
use crate::usage::Usage;

/// Seconds by which memory may be taken back later than a session is over. Nobody finds it any
/// more, but it still counts and is listed.
pub const GRACE: f64 = 5.0;
/// Sessions that a new one looks at to take back what is over.
const A_FEW: usize = 2;
/// Sessions that are looked at when there is no room.
const SOME: usize = 32;
/// Buckets that are copied for each new session while the table grows.
const SLICE: usize = 16;
/// Keys at most that are looked up together.
pub const BLOCK: usize = 64;
/// Entries that a new table has room for.
const FIRST: usize = 4096;

/// A direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// That of the packet that began it.
    Forward = 0,
    /// That of the answers.
    Reverse = 1,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

/// Names a session of a thread while it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionIndex(pub(crate) u32);

impl SessionIndex {
    /// Its number, below the limit of its table.
    #[inline(always)]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Sessions with one timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Seconds of silence after which a session is over.
    pub timeout: f64,
    /// Whether the oldest makes room for a new session when the table is full.
    pub may_be_evicted: bool,
}

/// A new session.
#[derive(Clone, Copy, Debug)]
pub struct New<F, R, D> {
    /// What its packets have in common, as they come.
    pub forward: F,
    /// What the answers have in common, as they come.
    pub reverse: R,
    /// What the feature knows of it.
    pub data: D,
    /// Its class, by position.
    pub class: u8,
}

/// Reasons why there is no new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Another one has one of its flows.
    Clash,
    /// There are as many as there may be, or there is no memory.
    Full,
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing passed for its timeout.
    Expired,
    /// It made room for another.
    Evicted,
    /// Somebody asked for it.
    Removed,
}

/// A session. What a lookup compares is on one cache line where flows are short.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Session<F, R, D> {
    /// Its packets, as they come.
    pub forward: F,
    /// The answers, as they come.
    pub reverse: R,
    pub(crate) link: Link,
    /// What the feature knows of it.
    pub data: D,
    /// When a packet passed last, in seconds on the router's clock.
    pub heard: f64,
    /// Packets that passed.
    pub packets: u64,
    /// Bytes that passed.
    pub bytes: u64,
}

impl<F, R, D> Session<F, R, D> {
    /// Its class, by position.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        self.link.class
    }
}

/// The sessions of one thread.
pub struct Table<F, R, D> {
    flows: Exact,
    records: Reserved<Session<F, R, D>>,
    ages: Ages,
    seed: u64,
    /// The first free record, if any was given back: they are chained.
    free: Option<u32>,
    /// Records that were ever used.
    used: u32,
    usage: Usage,
}

impl<F: Key, R: Key, D: Copy + FromZeros> Table<F, R, D> {
    /// An empty table for `limit` sessions. Records take memory as they are used.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(limit: usize, classes: &[Class], seed: u64) -> io::Result<Self> {
        Ok(Self {
            flows: Exact::new(FIRST.min(limit.saturating_mul(4)))?,
            records: Reserved::new(limit, HugePages::Beyond)?.named("sessions"),
            ages: Ages::new(classes),
            seed,
            free: None,
            used: 0,
            usage: Usage { limit, ..Usage::default() },
        })
    }
    /// The seed of all hashes of keys in this table, the same on all threads.
    #[inline(always)]
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// Has the line of a key fetched.
    #[inline(always)]
    pub fn fetch(&self, key: &F) {
        self.flows.view().fetch(hash_of(key, self.seed));
    }
    /// The session whose forward flow this is.
    #[inline(always)]
    pub fn find(&self, key: &F) -> Option<SessionIndex> {
        let (at, direction) = self.named(hash_of(key, self.seed))?;
        let found = self.at(at)?;
        (direction == Direction::Forward && found.forward == *key).then_some(at)
    }
    /// The session whose reverse flow this is.
    #[inline(always)]
    pub fn find_reverse(&self, key: &R) -> Option<SessionIndex> {
        let (at, direction) = self.named(hash_of(key, self.seed))?;
        let found = self.at(at)?;
        (direction == Direction::Reverse && found.reverse == *key).then_some(at)
    }
    #[inline(always)]
    fn named(&self, hash: u64) -> Option<(SessionIndex, Direction)> {
        let value = self.flows.view().find(hash);
        let direction = if value & 1 == 0 { Direction::Forward } else { Direction::Reverse };
        Some((SessionIndex(u32::try_from(value >> 1).ok()?.checked_sub(1)?), direction))
    }
    /// A session.
    #[inline(always)]
    pub fn at(&self, at: SessionIndex) -> Option<&Session<F, R, D>> {
        self.records.get(at.0 as usize).filter(|r| r.link.is_used())
    }
    /// The session with a number.
    #[inline(always)]
    pub fn numbered(&self, number: u32) -> Option<SessionIndex> {
        self.at(SessionIndex(number)).map(|_| SessionIndex(number))
    }
    /// What the feature knows of a session, to change it.
    #[inline(always)]
    pub fn data_mut(&mut self, at: SessionIndex) -> Option<&mut D> {
        self.records.get_mut(at.0 as usize).map(|r| &mut r.data)
    }
    /// Counts a packet of a session, which is not over for its timeout from now on.
    #[inline(always)]
    pub fn passed(&mut self, at: SessionIndex, bytes: usize, now: f64) {
        if let Some(record) = self.records.get_mut(at.0 as usize) {
            record.heard = now;
            record.packets += 1;
            record.bytes += bytes as u64;
        }
    }
    /// Counts a packet of a session, which lasts no longer for it.
    #[inline(always)]
    pub fn counted(&mut self, at: SessionIndex, bytes: usize) {
        if let Some(record) = self.records.get_mut(at.0 as usize) {
            record.packets += 1;
            record.bytes += bytes as u64;
        }
    }
    /// Has a session begin its timeout anew, as one of a class.
    #[inline(always)]
    pub fn renew(&mut self, at: SessionIndex, class: u8, now: f64) {
        if let Some(record) = self.records.get_mut(at.0 as usize) {
            record.heard = now;
            self.set_class(at, class);
        }
    }
    /// Notes what has passed of a session elsewhere; it is not over for its timeout from now on.
    pub fn note(&mut self, at: SessionIndex, packets: u64, bytes: u64, now: f64) {
        if let Some(record) = self.records.get_mut(at.0 as usize) {
            (record.heard, record.packets, record.bytes) = (now, packets, bytes);
        }
    }
    /// Moves a session to a class. Nothing happens when it is in it.
    #[inline(always)]
    pub fn set_class(&mut self, at: SessionIndex, class: u8) {
        if self.at(at).is_some_and(|r| r.link.class != class) {
            self.ages.remove(&mut self.records, at.0);
            self.ages.append(&mut self.records, at.0, class);
        }
    }
    /// Whether a session is over: nothing passed for its timeout.
    #[inline(always)]
    pub fn is_over(&self, at: SessionIndex, now: f64) -> bool {
        self.at(at).is_none_or(|r| now - r.heard > self.ages.timeout(r.link.class))
    }
    /// Makes a session. Some that are over go for it, and when there is no room the oldest of a
    /// class that may be evicted; `gone` gets these.
    ///
    /// # Errors
    /// [`Refused`]; nothing has changed then.
    pub fn insert(
        &mut self,
        new: New<F, R, D>,
        now: f64,
        mut gone: impl FnMut(End, &Session<F, R, D>),
    ) -> Result<SessionIndex, Refused> {
        self.expire(now, A_FEW, &mut gone);
        if self.usage.sessions >= self.usage.limit && !self.make_room(now, &mut gone) {
            self.usage.refused += 1;
            return Err(Refused::Full);
        }
        let hashes = [hash_of(&new.forward, self.seed), hash_of(&new.reverse, self.seed)];
        let view = self.flows.view();
        if hashes[0] == hashes[1] || hashes.into_iter().any(|hash| view.find(hash) != 0) {
            self.usage.clashes += 1;
            return Err(Refused::Clash);
        }
        let at = self.take_record().ok_or(Refused::Full)?;
        let values = [Direction::Forward, Direction::Reverse]
            .map(|direction| u64::from(at + 1) << 1 | direction as u64);
        for n in 0..2 {
            let set = |_| Change::Set(values[n]);
            if self.flows.view().try_change(hashes[n], set).is_err() {
                // The only thread that changes it: there is no room.
                if n == 1 {
                    let _ = self.flows.view().try_change(hashes[0], |_| Change::Remove);
                }
                self.give_record_back(at);
                self.usage.refused += 1;
                // A thread that stood still may have held up the growth: there is room soon.
                self.grow();
                return Err(Refused::Full);
            }
        }
        let New { forward, reverse, data, class } = new;
        let (packets, bytes, link) = (0, 0, Link::default());
        self.records[at as usize] =
            Session { forward, reverse, data, heard: now, packets, bytes, link };
        self.ages.append(&mut self.records, at, class);
        self.usage.sessions += 1;
        self.usage.made += 1;
        self.grow();
        Ok(SessionIndex(at))
    }
    /// Ends a session; what it was.
    pub fn remove(&mut self, at: SessionIndex) -> Option<Session<F, R, D>> {
        let gone = *self.at(at)?;
        for hash in [hash_of(&gone.forward, self.seed), hash_of(&gone.reverse, self.seed)] {
            let _ = self.flows.view().try_change(hash, |_| Change::Remove);
        }
        self.ages.remove(&mut self.records, at.0);
        self.give_record_back(at.0);
        self.usage.sessions -= 1;
        Some(gone)
    }
    /// Looks at up to `most` of the oldest sessions, ends those that were over [`GRACE`] ago, and
    /// says whether there may be more.
    pub fn expire(
        &mut self,
        now: f64,
        most: usize,
        gone: impl FnMut(End, &Session<F, R, D>),
    ) -> bool {
        self.expire_after(GRACE, now, most, gone)
    }
    /// The same for those that were over `grace` seconds ago.
    pub fn expire_after(
        &mut self,
        grace: f64,
        now: f64,
        most: usize,
        mut gone: impl FnMut(End, &Session<F, R, D>),
    ) -> bool {
        let mut left = most;
        for class in 0..self.ages.classes() {
            while let Some(oldest) = self.ages.due(&mut self.records, class, now, grace, &mut left)
            {
                self.end(oldest, End::Expired, &mut gone);
            }
        }
        left == 0
    }
    /// Ends sessions until there is room for `room` more, those that are over first, and the oldest
    /// of classes that may be evicted then; `most` at most. Whether there may be more to end.
    pub fn evict(
        &mut self,
        room: usize,
        now: f64,
        most: usize,
        mut gone: impl FnMut(End, &Session<F, R, D>),
    ) -> bool {
        let is_short = |usage: &Usage| usage.sessions + room > usage.limit;
        for _ in 0..most {
            if !is_short(&self.usage) || !self.make_room(now, &mut gone) {
                return false;
            }
        }
        is_short(&self.usage)
    }
    /// Room for one more, if somebody can go.
    fn make_room(&mut self, now: f64, gone: &mut impl FnMut(End, &Session<F, R, D>)) -> bool {
        let found = self.ages.dispensable(&mut self.records, now, SOME);
        let end = |is_over| if is_over { End::Expired } else { End::Evicted };
        found.inspect(|(at, is_over)| self.end(*at, end(*is_over), gone)).is_some()
    }
    fn end(&mut self, at: u32, end: End, gone: &mut impl FnMut(End, &Session<F, R, D>)) {
        let Some(record) = self.remove(SessionIndex(at)) else { return };
        match end {
            End::Expired => self.usage.expired += 1,
            End::Evicted => self.usage.evicted += 1,
            End::Removed => {}
        }
        gone(end, &record);
    }
    /// Lets `keep` judge sessions from position `from` on, `most` at most, and ends those it does
    /// not keep; the position where to go on, `None` at the end. A session that is there all the
    /// while is met once.
    pub fn walk(
        &mut self,
        from: usize,
        most: usize,
        mut keep: impl FnMut(SessionIndex, &mut Session<F, R, D>) -> bool,
    ) -> Option<usize> {
        let to = (self.used as usize).min(from + most);
        for at in from..to {
            let record = &mut self.records[at];
            if record.link.is_used() && !keep(SessionIndex(at as u32), record) {
                self.remove(SessionIndex(at as u32));
            }
        }
        (to < self.used as usize).then_some(to)
    }
    /// What the table has done.
    pub fn usage(&self) -> Usage {
        let records = self.used as usize * size_of::<Session<F, R, D>>();
        Usage { bytes: self.flows.bytes() + records, ..self.usage }
    }
    /// Sets the timeouts of the classes; sessions have the new ones at once. There may be more
    /// classes than before.
    pub(crate) fn set_classes(&mut self, classes: &[Class]) {
        self.ages.set_classes(classes);
    }
    fn grow(&mut self) {
        if self.flows.is_growing() {
            self.flows.go_on_growing(SLICE);
        } else if self.flows.is_crowded() {
            // Without memory there is no growth, and what finds no room is refused.
            let _ = self.flows.grow();
        }
    }
    fn take_record(&mut self) -> Option<u32> {
        match self.free {
            Some(at) => {
                self.free = self.records.get(at as usize)?.link.free();
                Some(at)
            }
            None if (self.used as usize) < self.records.len() => {
                self.used += 1;
                Some(self.used - 1)
            }
            None => None,
        }
    }
    fn give_record_back(&mut self, at: u32) {
        if let Some(record) = self.records.get_mut(at as usize) {
            record.link = Link::freed(self.free);
            self.free = Some(at);
        }
    }
}

impl<K: Key, D: Copy + FromZeros> Table<K, K, D> {
    /// The session one of whose flows this is, and in which direction it goes.
    #[inline(always)]
    pub fn find_any(&self, key: &K) -> Option<(SessionIndex, Direction)> {
        let (at, direction) = self.named(hash_of(key, self.seed))?;
        let found = self.at(at)?;
        let flow = if direction == Direction::Forward { &found.forward } else { &found.reverse };
        (flow == key).then_some((at, direction))
    }
    /// The same for up to [`BLOCK`] keys, whose lines and records are waited for together.
    #[inline(always)]
    pub fn find_block(&self, keys: &[K], found: &mut [Option<(SessionIndex, Direction)>]) {
        let (view, mut hashes) = (self.flows.view(), [0; BLOCK]);
        for (key, hash) in keys.iter().zip(&mut hashes) {
            *hash = hash_of(key, self.seed);
            view.fetch(*hash);
        }
        for (hash, found) in hashes.iter().zip(&mut *found).take(keys.len()) {
            *found = self.named(*hash);
            if let Some((at, _)) = *found
                && let Some(record) = self.records.get(at.0 as usize)
            {
                prefetch(&record.forward);
                prefetch(&record.heard);
            }
        }
        for (key, found) in keys.iter().zip(found).take(BLOCK) {
            *found = found.filter(|(at, direction)| {
                self.at(*at).is_some_and(|record| {
                    [&record.forward, &record.reverse][*direction as usize] == key
                })
            });
        }
    }
}

/// A hash that is not 0.
#[inline(always)]
fn hash_of<K: Key>(key: &K, seed: u64) -> u64 {
    key.hash(seed).max(1)
}

impl<F: Key, R: Key, D: Copy + FromZeros> crate::ages::Aged for Reserved<Session<F, R, D>> {
    fn link(&mut self, at: u32) -> Option<&mut Link> {
        self.get_mut(at as usize).map(|r| &mut r.link)
    }
    fn heard(&self, at: u32) -> f64 {
        self.get(at as usize).map_or(0.0, |r| r.heard)
    }
}
