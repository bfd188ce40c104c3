//! The owner's side of an exact-match table: it waits for the lock, walks and grows the table.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{Buckets, Change, ExactReader, Guard, Missed, Tables, View};
use crate::rcu::{Shared, end_epoch, passed};
use crate::sync::AtomicU64;

/// Buckets that are walked or copied at a time while others wait.
const TURN: usize = 16;

/// The verdict on an entry in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays as it is.
    Keep,
    /// Its value becomes another, not 0, unless it has changed meanwhile.
    Set(u64),
    /// It goes.
    Remove,
}

/// An exact-match table; control's end.
#[derive(Debug)]
pub struct Exact {
    tables: Shared<Tables>,
    guard: Arc<Guard>,
    growth: Option<Growth>,
}

/// A table that is being copied.
#[derive(Debug)]
struct Growth {
    /// The old buckets are unchanged once all threads have passed this epoch.
    since: u64,
    /// Old buckets that are copied.
    done: usize,
}

impl Exact {
    /// An empty table with room for `entries`, used by half.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(entries: usize) -> io::Result<Self> {
        let count = (entries / super::WAYS).next_power_of_two().max(2);
        let new = Arc::new(Buckets::new(count, RandomState::new().build_hasher().finish())?);
        let zero = || AtomicU64::new(0);
        let guard = Arc::new(Guard { lock: zero(), len: zero(), growths: zero() });
        let tables = Shared::new(Tables { new, old: None, growths: 0 });
        Ok(Self { tables, guard, growth: None })
    }
    /// A handle for a node.
    pub fn reader(&self) -> ExactReader {
        ExactReader { tables: self.tables.reader(), guard: Arc::clone(&self.guard) }
    }
    /// The table as nodes see it.
    pub fn view(&self) -> View<'_> {
        View { tables: self.tables.current(), guard: &self.guard }
    }
    /// As [`View::try_change`], but waits for threads that are changing the table, and has it grow
    /// when there is no room; `change` may run more than once.
    ///
    /// # Errors
    /// [`Missed::Full`] when there is no memory; nothing has changed then.
    pub fn change(&mut self, key: u64, change: impl Fn(u64) -> Change) -> Result<(), Missed> {
        loop {
            match self.locked(|view| view.change_locked(key, &change)) {
                Ok(()) => return Ok(()),
                Err(_) if self.growth.is_none() => self.grow().map_err(|_| Missed::Full)?,
                Err(_) => {
                    if self.go_on_growing(usize::MAX / 2) {
                        crate::sync::pause();
                    }
                }
            }
        }
    }
    fn locked<R>(&self, work: impl FnOnce(View<'_>) -> R) -> R {
        self.lock();
        let done = work(self.view());
        self.unlock();
        done
    }
    fn lock(&self) {
        while self.guard.lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            crate::sync::pause();
        }
    }
    fn unlock(&self) {
        self.guard.lock.store(0, Release);
    }
    /// Buckets to walk over.
    pub fn buckets(&self) -> usize {
        self.tables.current().new.mask + 1
    }
    /// Bytes that its buckets take.
    pub fn bytes(&self) -> usize {
        let tables = self.tables.current();
        let all = std::iter::once(&tables.new).chain(&tables.old);
        all.map(|buckets| (buckets.mask + 1) * size_of::<[u64; super::LINE]>()).sum()
    }
    /// Calls `judge` on the entries of buckets `from..to`. One that is moved or changed meanwhile
    /// may be missed or visited twice; while the table grows, those not yet copied are missed.
    pub fn walk(&mut self, from: usize, to: usize, mut judge: impl FnMut(u64, u64) -> Verdict) {
        let to = to.min(self.buckets());
        for turn in (from..to).step_by(TURN) {
            self.locked(|view| {
                for bucket in turn..to.min(turn + TURN) {
                    walk_bucket(view, bucket, &mut judge);
                }
            });
        }
    }
    /// Shows all entries, one that is changed meanwhile before or after; while the table grows also
    /// those not yet copied.
    pub fn each(&self, mut show: impl FnMut(u64, u64)) {
        let tables = self.tables.current();
        let mut all = |buckets: &Buckets, is_old: bool| {
            for turn in (0..buckets.mask + 1).step_by(TURN) {
                self.locked(|_| {
                    let line = turn..(turn + TURN).min(buckets.mask + 1);
                    for at in line.flat_map(Buckets::places) {
                        let key = buckets.key(at);
                        if key != 0 && !(is_old && tables.new.place(key).is_some()) {
                            show(key, buckets.value(at).map_or(0, |v| v.load(Acquire)));
                        }
                    }
                });
            }
        };
        all(&tables.new, false);
        tables.old.iter().for_each(|old| all(old, true));
    }
    /// Whether it is to grow: more than half full.
    pub fn is_crowded(&self) -> bool {
        self.view().len() * 2 > self.view().room()
    }
    /// Whether it is growing.
    pub fn is_growing(&self) -> bool {
        self.growth.is_some()
    }
    /// Begins to grow to twice the room, or four times when it is nearly full.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn grow(&mut self) -> io::Result<()> {
        if self.growth.is_some() {
            return Ok(());
        }
        let now = Arc::clone(&self.tables.current().new);
        let times = if self.view().len() * 4 > self.view().room() * 3 { 4 } else { 2 };
        let new = Arc::new(Buckets::new((now.mask + 1) * times, now.seed)?);
        let growths = self.tables.current().growths + 1;
        self.lock();
        self.guard.growths.store(growths, Relaxed);
        self.tables.publish(Tables { new, old: Some(now), growths });
        self.unlock();
        self.growth = Some(Growth { since: end_epoch(), done: 0 });
        Ok(())
    }
    /// Copies some more of a table that grows; false when it is done.
    pub fn go_on_growing(&mut self, buckets: usize) -> bool {
        let Some(Growth { since, done }) = self.growth else { return false };
        let Some(old) = self.tables.current().old.clone() else { return false };
        if !passed(since) {
            return true;
        }
        let to = (done + buckets).min(old.mask + 1);
        for turn in (done..to).step_by(TURN) {
            self.locked(|view| {
                (turn..to.min(turn + TURN)).for_each(|bucket| copy_bucket(view, &old, bucket));
            });
        }
        self.growth = Some(Growth { since, done: to });
        if to == old.mask + 1 {
            let Tables { new, growths, .. } = self.tables.current().clone();
            self.tables.publish(Tables { new, old: None, growths });
            self.growth = None;
        }
        self.growth.is_some()
    }
}

fn walk_bucket(view: View<'_>, bucket: usize, judge: &mut impl FnMut(u64, u64) -> Verdict) {
    let new = &view.tables.new;
    for at in Buckets::places(bucket) {
        let (key, value) = (new.key(at), new.value(at));
        let (true, Some(value)) = (key != 0, value) else { continue };
        let now = value.load(Acquire);
        match judge(key, now) {
            Verdict::Keep => {}
            Verdict::Set(then) => {
                // Who refreshed it meanwhile is right.
                let _ = value.compare_exchange(now, then, Release, Relaxed);
            }
            Verdict::Remove => {
                new.clear(at);
                view.tables.old.iter().for_each(|old| {
                    old.remove(key);
                });
                view.guard.count(-1);
            }
        }
    }
}

/// Puts what is only in the old buckets into the new ones.
fn copy_bucket(view: View<'_>, old: &Buckets, bucket: usize) {
    for at in Buckets::places(bucket) {
        let key = old.key(at);
        let value = old.value(at).map_or(0, |v| v.load(Acquire));
        if key != 0
            && view.tables.new.place(key).is_none()
            && view.tables.new.insert(key, value).is_err()
        {
            // No room in a table with a quarter of its load: it is learned again.
            view.guard.count(-1);
        }
    }
}
