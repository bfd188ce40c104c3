//! The sessions that one thread owns.

use infra::counter::Counter;
use infra::cpu::prefetch;
use infra::table::flows::Flows;
use net::prelude::*;
use zerocopy::FromZeros;

use crate::ages::{Ages, Link, State};
use crate::flow::{Direction, Key};
use crate::session::{Counted, Records, Rest, Session};
use crate::usage::Usage;

/// Seconds by which memory may be freed later than a session expires. It is not found then, but
/// still counts and is listed.
pub const GRACE: f64 = 5.0;
/// Sessions that a new one looks at to take back what is over.
const A_FEW: usize = 2;
/// Sessions that are looked at when there is no room.
const SOME: usize = 32;
/// Sessions that have a number.
const MOST: usize = 1 << 30;
/// Entries that a new table has room for.
const FIRST: usize = 4096;

/// Names a session of a thread during its lifetime.
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
    /// Whether it does so before those of other classes, however long they were silent.
    pub goes_first: bool,
}

/// A new session.
#[derive(Clone, Copy, Debug)]
pub struct New<F, R, D> {
    /// Common fields of its received packets.
    pub forward: F,
    /// Common fields of the received replies.
    pub reverse: R,
    /// The feature's data.
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
    /// On request.
    Removed,
}

/// The sessions of one thread.
pub struct Table<F, R, D> {
    pub(crate) flows: Flows,
    pub(crate) records: Records<F, R, D>,
    ages: Ages,
    pub(crate) seed: u64,
    /// The first free record, if any was given back: they are chained.
    free: Option<u32>,
    /// Records that were ever used.
    used: u32,
    usage: Usage,
    /// Sessions there are, for those who do not have the table.
    count: Arc<Counter>,
}

impl<F: Key, R: Key, D: Copy + FromZeros> Table<F, R, D> {
    /// An empty table for `limit` sessions. Records take memory as they are used.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(limit: usize, classes: &[Class], seed: u64) -> io::Result<Self> {
        Ok(Self {
            flows: Flows::new(FIRST.min(limit.saturating_mul(4)))?,
            records: Records::new(limit.min(MOST))?,
            ages: Ages::new(classes),
            seed,
            free: None,
            used: 0,
            usage: Usage { limit, ..Usage::default() },
            count: Arc::default(),
        })
    }
    /// The seed of all hashes of keys in this table, the same on all threads.
    #[inline(always)]
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// The session whose forward flow this is.
    #[inline(always)]
    pub fn find(&self, key: &F) -> Option<SessionIndex> {
        let is = |value| matches!(self.flow(value), Some(Ok(forward)) if forward == key);
        self.flows.find(key.hash(self.seed), is).map(|value| named(value).0)
    }
    /// The session whose reverse flow this is.
    #[inline(always)]
    pub fn find_reverse(&self, key: &R) -> Option<SessionIndex> {
        let is = |value| matches!(self.flow(value), Some(Err(reverse)) if reverse == key);
        self.flows.find(key.hash(self.seed), is).map(|value| named(value).0)
    }
    /// The flow that a value of the table of flows means, forward or else reverse.
    #[inline(always)]
    pub(crate) fn flow(&self, value: u32) -> Option<Result<&F, &R>> {
        let (at, direction) = named(value);
        let record = self.records.sessions.get(at.0 as usize)?;
        Some(match direction {
            Direction::Forward => Ok(&record.forward),
            Direction::Reverse => Err(&record.reverse),
        })
    }
    /// A session.
    #[inline(always)]
    pub fn at(&self, at: SessionIndex) -> Option<&Session<F, R, D>> {
        self.records.sessions.get(at.0 as usize).filter(|r| r.state.is_used())
    }
    /// The session with a number.
    #[inline(always)]
    pub fn numbered(&self, number: u32) -> Option<SessionIndex> {
        self.at(SessionIndex(number)).map(|_| SessionIndex(number))
    }
    /// A session and what has passed of it.
    pub fn with_counts(&self, at: SessionIndex) -> Option<Counted<F, R, D>> {
        let (session, rest) = (*self.at(at)?, self.records.rests.get(at.0 as usize)?);
        Some(Counted { session, packets: rest.packets, bytes: rest.bytes })
    }
    /// The feature's data of a session, for changing.
    #[inline(always)]
    pub fn data_mut(&mut self, at: SessionIndex) -> Option<&mut D> {
        self.records.sessions.get_mut(at.0 as usize).map(|r| &mut r.data)
    }
    /// A session that is not over, for a packet of it.
    #[inline(always)]
    pub fn living(&mut self, at: SessionIndex, now: f64) -> Option<&mut Session<F, R, D>> {
        let record = self.records.sessions.get_mut(at.0 as usize)?;
        let is_over = self.ages.is_over(record.state, now);
        (record.state.is_used() & !is_over).then_some(record)
    }
    /// Counts a packet of a session, which is not over for its timeout from now on.
    #[inline(always)]
    pub fn passed(&mut self, at: SessionIndex, bytes: usize, now: f64) {
        if let Some(record) = self.records.sessions.get_mut(at.0 as usize) {
            record.state = record.state.heard_at(now);
        }
        self.counted(at, bytes);
    }
    /// Counts a packet of a session, which lasts no longer for it.
    #[inline(always)]
    pub fn counted(&mut self, at: SessionIndex, bytes: usize) {
        if let Some(rest) = self.records.rests.get_mut(at.0 as usize) {
            rest.packets += 1;
            rest.bytes += bytes as u64;
        }
    }
    /// Restarts the timeout of a session, as one of a class.
    #[inline(always)]
    pub fn renew(&mut self, at: SessionIndex, class: u8, now: f64) {
        if let Some(record) = self.records.sessions.get_mut(at.0 as usize) {
            record.state = record.state.heard_at(now);
            self.set_class(at, class);
        }
    }
    /// Notes what has passed of a session elsewhere; it is not over for its timeout from now on.
    pub fn note(&mut self, at: SessionIndex, packets: u64, bytes: u64, now: f64) {
        if let Some(record) = self.records.sessions.get_mut(at.0 as usize) {
            record.state = record.state.heard_at(now);
        }
        if let Some(rest) = self.records.rests.get_mut(at.0 as usize) {
            (rest.packets, rest.bytes) = (packets, bytes);
        }
    }
    /// Moves a session to a class. Nothing happens when it is in it.
    #[inline(always)]
    pub fn set_class(&mut self, at: SessionIndex, class: u8) {
        if self.at(at).is_some_and(|r| r.class() != class) {
            self.ages.remove(&mut self.records, at.0);
            self.ages.append(&mut self.records, at.0, class);
        }
    }
    /// Whether a session is over: nothing passed for its timeout.
    #[inline(always)]
    pub fn is_over(&self, at: SessionIndex, now: f64) -> bool {
        self.at(at).is_none_or(|r| self.ages.is_over(r.state, now))
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
        mut gone: impl FnMut(End, &Counted<F, R, D>),
    ) -> Result<SessionIndex, Refused> {
        self.expire(now, A_FEW, &mut gone);
        if self.usage.sessions >= self.usage.limit && !self.make_room(now, &mut gone) {
            self.usage.refused += 1;
            return Err(Refused::Full);
        }
        if self.is_taken(&new) {
            self.usage.clashes += 1;
            return Err(Refused::Clash);
        }
        let hashes = [new.forward.hash(self.seed), new.reverse.hash(self.seed)];
        let at = self.take_record().ok_or(Refused::Full)?;
        let values =
            [Direction::Forward, Direction::Reverse].map(|direction| value_of(at, direction));
        for n in 0..2 {
            if !self.flows.insert(hashes[n], values[n]) {
                if n == 1 {
                    self.flows.remove(hashes[0], values[0]);
                }
                self.give_record_back(at);
                self.usage.refused += 1;
                self.grow();
                return Err(Refused::Full);
            }
        }
        let New { forward, reverse, data, class } = new;
        let state = State::default().heard_at(now);
        self.records.sessions[at as usize] = Session { forward, reverse, state, data };
        self.records.rests[at as usize] = Rest { packets: 0, bytes: 0, link: Link::default() };
        self.ages.append(&mut self.records, at, class);
        self.usage.sessions += 1;
        self.count.set(self.usage.sessions as u64);
        self.usage.made += 1;
        self.grow();
        Ok(SessionIndex(at))
    }
    /// Takes over a session of another thread, with all that is known of it. The order by age is
    /// that of [`Table::sort`], after the last.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub(crate) fn adopt(
        &mut self,
        session: &Counted<F, R, D>,
        now: f64,
        gone: impl FnMut(End, &Counted<F, R, D>),
    ) -> Result<SessionIndex, Refused> {
        let Session { forward, reverse, data, .. } = **session;
        let new = New { forward, reverse, data, class: session.class() };
        let at = self.insert(new, now, gone)?;
        self.note(at, session.packets, session.bytes, session.heard());
        self.usage.made -= 1;
        Ok(at)
    }
    /// Brings the order by age up to date.
    pub(crate) fn sort(&mut self) {
        let is_used = |at: &u32| self.at(SessionIndex(*at)).is_some();
        let mut all: Vec<_> = (0..self.used).filter(is_used).collect();
        all.sort_by(|a, b| {
            self.records.sessions[*a as usize]
                .heard()
                .total_cmp(&self.records.sessions[*b as usize].heard())
        });
        for at in all {
            let class = self.records.sessions[at as usize].class();
            self.ages.remove(&mut self.records, at);
            self.ages.append(&mut self.records, at, class);
        }
    }
    /// Ends a session; what it was.
    pub fn remove(&mut self, at: SessionIndex) -> Option<Counted<F, R, D>> {
        let gone = self.with_counts(at)?;
        self.flows.remove(gone.forward.hash(self.seed), value_of(at.0, Direction::Forward));
        self.flows.remove(gone.reverse.hash(self.seed), value_of(at.0, Direction::Reverse));
        self.ages.remove(&mut self.records, at.0);
        self.give_record_back(at.0);
        self.usage.sessions -= 1;
        self.count.set(self.usage.sessions as u64);
        Some(gone)
    }
    /// Looks at up to `most` of the oldest sessions, ends those that were over [`GRACE`] ago, and
    /// says whether there may be more.
    pub fn expire(
        &mut self,
        now: f64,
        most: usize,
        gone: impl FnMut(End, &Counted<F, R, D>),
    ) -> bool {
        self.expire_after(GRACE, now, most, gone)
    }
    /// The same for those that were over `grace` seconds ago.
    pub fn expire_after(
        &mut self,
        grace: f64,
        now: f64,
        most: usize,
        mut gone: impl FnMut(End, &Counted<F, R, D>),
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
        mut gone: impl FnMut(End, &Counted<F, R, D>),
    ) -> bool {
        let is_short = |usage: &Usage| usage.sessions + room > usage.limit;
        for _ in 0..most {
            if !is_short(&self.usage) || !self.make_room(now, &mut gone) {
                return false;
            }
        }
        is_short(&self.usage)
    }
    /// Ends the session of a class that was silent longest, if it was since before a time.
    pub fn evict_silent(
        &mut self,
        class: u8,
        before: f64,
        mut gone: impl FnMut(End, &Counted<F, R, D>),
    ) -> bool {
        let found = self.ages.silent(&mut self.records, class, before, SOME);
        found.inspect(|at| self.end(*at, End::Evicted, &mut gone)).is_some()
    }
    /// Room for one more, if a session can be freed.
    fn make_room(&mut self, now: f64, gone: &mut impl FnMut(End, &Counted<F, R, D>)) -> bool {
        let found = self.ages.dispensable(&mut self.records, now, SOME);
        let end = |is_over| if is_over { End::Expired } else { End::Evicted };
        found.inspect(|(at, is_over)| self.end(*at, end(*is_over), gone)).is_some()
    }
    fn end(&mut self, at: u32, end: End, gone: &mut impl FnMut(End, &Counted<F, R, D>)) {
        let Some(record) = self.remove(SessionIndex(at)) else { return };
        match end {
            End::Expired => self.usage.expired += 1,
            End::Evicted => self.usage.evicted += 1,
            End::Removed => {}
        }
        gone(end, &record);
    }
    /// Lets `keep` judge sessions from position `from` on, `most` at most, and ends those it does
    /// not keep; the position where to go on, `None` at the end. A session that exists all the
    /// while is met once.
    pub fn walk(
        &mut self,
        from: usize,
        most: usize,
        mut keep: impl FnMut(SessionIndex, &mut Counted<F, R, D>) -> bool,
    ) -> Option<usize> {
        let to = (self.used as usize).min(from + most);
        for at in from..to {
            let at = SessionIndex(at as u32);
            let Some(mut session) = self.with_counts(at) else { continue };
            if keep(at, &mut session) {
                self.records.sessions[at.0 as usize] = session.session;
            } else {
                self.remove(at);
            }
        }
        (to < self.used as usize).then_some(to)
    }
    /// Totals of the table.
    pub fn usage(&self) -> Usage {
        let records = self.used as usize * (size_of::<Session<F, R, D>>() + size_of::<Rest>());
        Usage { bytes: self.flows.bytes() + records, ..self.usage }
    }
    /// Sessions that there is room for.
    pub(crate) fn room(&self) -> usize {
        self.usage.limit.saturating_sub(self.usage.sessions)
    }
    /// The classes.
    pub(crate) fn classes(&self) -> Vec<Class> {
        self.ages.all()
    }
    /// The number of sessions, which others may read at any time.
    pub(crate) fn count(&self) -> Arc<Counter> {
        Arc::clone(&self.count)
    }
    /// Sets the timeouts of the classes; sessions have the new ones at once. There may be more
    /// classes than before.
    pub(crate) fn set_classes(&mut self, classes: &[Class]) {
        self.ages.set_classes(classes);
    }
    /// Whether another session has one of these flows, or they are one.
    fn is_taken(&self, new: &New<F, R, D>) -> bool {
        let (forward, reverse) = (new.forward.hash(self.seed), new.reverse.hash(self.seed));
        // Where both are of one type, a flow clashes whichever way the other session has it.
        let is = |hash, own: &dyn Fn(Result<&F, &R>) -> bool| {
            self.flows.find(hash, |value| self.flow(value).is_some_and(own)).is_some()
        };
        forward == reverse
            || is(forward, &|flow| self.hash_of_either(flow) == forward)
            || is(reverse, &|flow| self.hash_of_either(flow) == reverse)
    }
    #[inline(always)]
    fn hash_of_either(&self, flow: Result<&F, &R>) -> u64 {
        match flow {
            Ok(forward) => forward.hash(self.seed),
            Err(reverse) => reverse.hash(self.seed),
        }
    }
    fn grow(&mut self) {
        let (records, seed) = (&self.records.sessions, self.seed);
        let hash = |value| {
            let (at, direction) = named(value);
            records.get(at.0 as usize).map_or(0, |record| match direction {
                Direction::Forward => record.forward.hash(seed),
                Direction::Reverse => record.reverse.hash(seed),
            })
        };
        let fetch = |value| {
            if let Some(record) = records.get(named(value).0.0 as usize) {
                prefetch(record);
            }
        };
        self.flows.grow(hash, fetch);
    }
    fn take_record(&mut self) -> Option<u32> {
        match self.free {
            Some(at) => {
                self.free = self.records.rests.get(at as usize)?.link.free();
                Some(at)
            }
            None if (self.used as usize) < self.records.sessions.len() => {
                self.used += 1;
                Some(self.used - 1)
            }
            None => None,
        }
    }
    fn give_record_back(&mut self, at: u32) {
        if let (Some(record), Some(rest)) =
            (self.records.sessions.get_mut(at as usize), self.records.rests.get_mut(at as usize))
        {
            (rest.link, record.state) = (Link::freed(self.free), State::default());
            self.free = Some(at);
        }
    }
}

/// The session and direction that a value of the table of flows means.
#[inline(always)]
pub(crate) fn named(value: u32) -> (SessionIndex, Direction) {
    let direction = if value & 1 == 0 { Direction::Forward } else { Direction::Reverse };
    (SessionIndex(value >> 1), direction)
}

#[inline(always)]
fn value_of(at: u32, direction: Direction) -> u32 {
    at << 1 | direction as u32
}
