//! The tables of all threads, and control's end of them.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use graph::explain::Copied;
use graph::{Engine, NoAnswer};
use infra::counter::Counter;
use net::prelude::*;
use zerocopy::FromZeros;

use crate::flow::{Key, seed};
use crate::rehome::Strays;
use crate::session::Counted;
use crate::table::{Class, End, GRACE, Table};
use crate::usage::Usage;

/// Records that control looks at in one visit to a thread.
pub const VISIT: usize = 4096;
/// Sessions that are copied to explain a packet, at most.
const COPIED: u64 = 1 << 18;

/// The sessions of a feature: a table on each thread. Nodes have clones.
pub struct Sessions<F, R, D>(Arc<All<F, R, D>>);

struct All<F, R, D> {
    /// By thread. Only that thread takes the lock, and control for threads that do not run: so it
    /// is always free.
    tables: Vec<Mutex<Table<F, R, D>>>,
    /// Numbers of their sessions.
    counts: Vec<Arc<Counter>>,
    seed: u64,
    strays: Reader<Strays>,
    /// Control's end of it.
    all_strays: Mutex<Shared<Strays>>,
    /// Sessions of all threads, for explanations of packets.
    copy: Arc<Copied<Table<F, R, D>>>,
}

impl<F, R, D> Clone for Sessions<F, R, D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A thread's table, for as long as a node works on a frame.
pub type Lent<'t, F, R, D> = MutexGuard<'t, Table<F, R, D>>;

impl<F: Key, R: Key, D: Copy + FromZeros + Send + 'static> Sessions<F, R, D> {
    /// Tables of `limit` sessions each for all threads there can be.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(router: &Router, limit: usize, classes: &[Class]) -> io::Result<Self> {
        let seed = seed();
        let rows = 0..router.engine.thread_rows();
        let tables = rows.map(|_| Table::new(limit, classes, seed));
        let tables = tables.collect::<io::Result<Vec<_>>>()?;
        let counts = tables.iter().map(Table::count).collect();
        let tables = tables.into_iter().map(Mutex::new).collect();
        let all_strays = Shared::new(Strays::default());
        let strays = all_strays.reader();
        let all_strays = Mutex::new(all_strays);
        let copy = Arc::new(Copied::new(Table::new(1, classes, seed)?));
        Ok(Self(Arc::new(All { tables, counts, seed, strays, all_strays, copy })))
    }
    /// The table of the thread that asks. Once a frame. For a packet that is only explained, which
    /// is on no thread, it is a copy with the sessions of all.
    #[inline(always)]
    pub fn lend(&self, thread: usize) -> Option<Lent<'_, F, R, D>> {
        let Some(table) = self.0.tables.get(thread) else { return self.lend_copy() };
        match table.try_lock() {
            Ok(lent) => Some(lent),
            // A panic is caught at the frame; each step leaves the table whole.
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    #[cold]
    fn lend_copy(&self) -> Option<Lent<'_, F, R, D>> {
        let all = self.clone();
        self.0.copy.lend(move |engine| all.copy(engine))
    }
    /// A table with copies of all sessions, and as much room as a thread has at most.
    fn copy(&self, engine: &mut Engine) -> Option<Table<F, R, D>> {
        if self.0.counts.iter().map(|count| count.value()).sum::<u64>() > COPIED {
            return None;
        }
        let (now, threads) = (engine.clock().now(), engine.data_threads());
        let like = Arc::new(Mutex::new((0, Vec::new())));
        let seen = Arc::clone(&like);
        let look = move |thread: usize, table: &mut Table<F, R, D>| {
            if threads.contains(&thread) {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = (seen.0.max(table.room()), table.classes());
            }
        };
        self.visit_by(engine, look).ok()?;
        let mut sessions = Vec::new();
        for thread in self.occupied() {
            let copy = |_, session: &mut Counted<F, R, D>| Walked::keep(Some(*session));
            sessions.extend(self.walk_by(engine, thread, copy).ok()?);
        }
        sessions.sort_by(|a, b| a.heard().total_cmp(&b.heard()));
        let (room, classes) =
            std::mem::take(&mut *like.lock().unwrap_or_else(PoisonError::into_inner));
        let mut table = Table::new(sessions.len() + room, &classes, self.0.seed).ok()?;
        for session in &sessions {
            // What is over long ago may go meanwhile.
            let _ = table.adopt(session, now, |_, _| ());
        }
        Some(table)
    }
    /// The seed of the hashes of all tables.
    #[inline(always)]
    pub fn seed(&self) -> u64 {
        self.0.seed
    }
    #[inline(always)]
    pub(crate) fn strays_reader(&self) -> &Reader<Strays> {
        &self.0.strays
    }
    pub(crate) fn publish_strays(&self, strays: Strays) {
        let mut all = self.0.all_strays.lock().unwrap_or_else(PoisonError::into_inner);
        if !(all.current().is_empty() && strays.is_empty()) {
            all.publish(strays);
        }
    }
    /// Threads that have sessions, seen from control without a visit.
    pub(crate) fn occupied(&self) -> Vec<usize> {
        let has_some = |thread: &usize| self.0.counts[*thread].value() > 0;
        (0..self.0.counts.len()).filter(has_some).collect()
    }
    /// Sessions of each thread, seen without a visit.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.0.counts.iter().map(|count| count.value()).collect()
    }
    /// Whether no thread has a session, seen without a visit.
    pub fn is_empty(&self) -> bool {
        self.0.counts.iter().all(|count| count.value() == 0)
    }
    /// Runs work on each thread's table, between two of its loops, and waits for it.
    ///
    /// # Errors
    /// When a thread does not answer; others have done it.
    pub fn visit(
        &self,
        router: &mut Router,
        work: impl Fn(usize, &mut Table<F, R, D>) + Clone + Send + 'static,
    ) -> Result<(), NoAnswer> {
        self.visit_by(&mut router.engine, work)
    }
    fn visit_by(
        &self,
        engine: &mut Engine,
        work: impl Fn(usize, &mut Table<F, R, D>) + Clone + Send + 'static,
    ) -> Result<(), NoAnswer> {
        let all = self.clone();
        engine.on_threads(move |thread| {
            if let Some(mut table) = all.lend(thread) {
                work(thread, &mut table);
            }
        })
    }
    /// Sets the classes' timeouts; sessions have the new ones at once. There may be more classes
    /// than before, 255 at most.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn set_classes(&self, router: &mut Router, classes: Vec<Class>) -> Result<(), NoAnswer> {
        self.visit(router, move |_, table| table.set_classes(&classes))
    }
    /// Ends what is over, a slice on each thread, and says whether there may be more. A control
    /// process calls it every few seconds, and again soon while there is more.
    pub fn expire(
        &self,
        router: &mut Router,
        gone: impl Fn(usize, End, &Counted<F, R, D>) + Clone + Send + 'static,
    ) -> bool {
        self.expire_after(router, GRACE, 0, gone)
    }
    /// The same for what was over `grace` seconds ago, and so that each thread has room for `room`
    /// more sessions.
    pub fn expire_after(
        &self,
        router: &mut Router,
        grace: f64,
        room: usize,
        gone: impl Fn(usize, End, &Counted<F, R, D>) + Clone + Send + 'static,
    ) -> bool {
        // Threads that have none are not woken.
        if self.is_empty() {
            return false;
        }
        let now = router.engine.clock().now();
        let more = Arc::new(Mutex::new(false));
        let seen = Arc::clone(&more);
        let done = self.visit(router, move |thread, table| {
            let gone = |end, session: &Counted<F, R, D>| gone(thread, end, session);
            let is_long = table.expire_after(grace, now, VISIT / 16, gone);
            if table.evict(room, now, VISIT / 16, gone) || is_long {
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = true;
            }
        });
        done.is_err() || *more.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The results of `judge` for the sessions, in slices; it may change their data, and end a
    /// session ([`Walked::Remove`]).
    ///
    /// # Errors
    /// When a thread does not answer; others have been there.
    pub fn walk<T: Send + 'static>(
        &self,
        router: &mut Router,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>, NoAnswer> {
        let mut found = Vec::new();
        for thread in 0..self.0.tables.len() {
            found.extend(self.walk_on(router, thread, judge.clone())?);
        }
        Ok(found)
    }
    /// The same of the sessions of one thread.
    pub(crate) fn walk_on<T: Send + 'static>(
        &self,
        router: &mut Router,
        thread: usize,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>, NoAnswer> {
        self.walk_by(&mut router.engine, thread, judge)
    }
    fn walk_by<T: Send + 'static>(
        &self,
        engine: &mut Engine,
        thread: usize,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>, NoAnswer> {
        let found = Arc::new(Mutex::new(Vec::new()));
        let mut from = Some(0);
        while let Some(at) = from {
            let next = Arc::new(Mutex::new(None));
            let (found, next_of, judge) = (found.clone(), next.clone(), judge.clone());
            self.visit_by(engine, move |visited, table| {
                if visited != thread {
                    return;
                }
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                let end = table.walk(at, VISIT, |_, session| {
                    let Walked { keep, say } = judge(thread, session);
                    found.extend(say);
                    keep
                });
                *next_of.lock().unwrap_or_else(PoisonError::into_inner) = end;
            })?;
            from = *next.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(found)
    }
    /// The results of `judge` for some of the sessions, from a place on: `most` at most, so that a
    /// control process may do something else in between. The place to go on at, `None` at the end.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn walk_some<T: Send + 'static>(
        &self,
        router: &mut Router,
        from: Place,
        most: usize,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
    ) -> Result<(Vec<T>, Option<Place>), NoAnswer> {
        let (mut all, mut place, mut left) = (Vec::new(), from, most);
        while left > 0 && place.thread < self.0.tables.len() {
            if self.0.counts[place.thread].value() == 0 {
                place = Place { thread: place.thread + 1, at: 0 };
                continue;
            }
            let slice = Arc::new(Mutex::new((Vec::new(), 0, None)));
            let (to, judge, Place { thread, at }) = (Arc::clone(&slice), judge.clone(), place);
            self.visit(router, move |visited, table| {
                if visited != thread {
                    return;
                }
                let mut slice = to.lock().unwrap_or_else(PoisonError::into_inner);
                let (found, seen, next) = &mut *slice;
                *next = table.walk(at, left, |_, session| {
                    *seen += 1;
                    let Walked { keep, say } = judge(thread, session);
                    found.extend(say);
                    keep
                });
            })?;
            let mut slice = slice.lock().unwrap_or_else(PoisonError::into_inner);
            let (found, seen, next) = std::mem::take(&mut *slice);
            all.extend(found);
            match next {
                Some(at) => return Ok((all, Some(Place { thread, at }))),
                None => {
                    (place, left) = (Place { thread: thread + 1, at: 0 }, left - seen.min(left))
                }
            }
        }
        let is_end = place.thread >= self.0.tables.len();
        Ok((all, (!is_end).then_some(place)))
    }
    /// Totals of the tables, by thread.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn usage(&self, router: &mut Router) -> Result<Vec<Usage>, NoAnswer> {
        let rows = Arc::new(Mutex::new(vec![Usage::default(); self.0.tables.len()]));
        let to = Arc::clone(&rows);
        self.visit(router, move |thread, table| {
            let mut rows = to.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(row) = rows.get_mut(thread) {
                *row = table.usage();
            }
        })?;
        let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(rows.clone())
    }
}

/// A place in the tables of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    thread: usize,
    at: usize,
}

/// The fate of a session in a walk, and the item to return.
pub struct Walked<T> {
    keep: bool,
    say: Option<T>,
}

impl<T> Walked<T> {
    /// It stays.
    pub fn keep(say: Option<T>) -> Self {
        Self { keep: true, say }
    }
    /// It ends.
    pub fn remove(say: Option<T>) -> Self {
        Self { keep: false, say }
    }
}
