//! Read-copy-update for state that control writes and data-plane threads read without waiting.
//!
//! Quiescent-state based reclamation: a data-plane thread is a [`Participant`] and says at the top
//! of each loop that it holds no reference any more. What a writer replaced is freed once every
//! participant has said so after the replacement; a sleeping participant is offline and holds
//! nothing.
//!
//! Safety contract: the set of participants is process-wide, so that an [`Epoch`] (borrowed from a
//! participant, which only moves on through `&mut self`) proves that whatever was reachable while
//! it exists is not freed. Writers unlink first and retire afterwards.

#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::memory::{HugePages, Reserved};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, fence};

/// Largest number of participants at one time.
pub const MAX_PARTICIPANTS: usize = 1024;

/// Largest number of objects freed at a time: more than are added in between.
pub const MOST_FREED: usize = 16;

const OFFLINE: u64 = 0;
const FREE: u64 = u64::MAX;

static EPOCH: AtomicU64 = AtomicU64::new(1);
/// Slots that were ever taken, from the first on.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static SEEN: [AtomicU64; MAX_PARTICIPANTS] = [const { AtomicU64::new(FREE) }; MAX_PARTICIPANTS];
static RETIRED: Mutex<VecDeque<(u64, Retired)>> = Mutex::new(VecDeque::new());

type Retired = Box<dyn Send>;

/// A thread that reads shared state.
#[derive(Debug)]
pub struct Participant {
    slot: &'static AtomicU64,
}

/// Proof that what is read now stays valid for `'e`.
#[derive(Clone, Copy, Debug)]
pub struct Epoch<'e>(PhantomData<&'e Participant>);

impl Participant {
    /// Joins, online.
    ///
    /// # Panics
    /// If there are more than [`MAX_PARTICIPANTS`]; the number of threads is far below.
    pub fn join() -> Self {
        let take = |s: &AtomicU64| {
            s.compare_exchange(FREE, OFFLINE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        let at = SEEN.iter().position(take);
        let at = at.expect("more reader threads than rcu::MAX_PARTICIPANTS");
        // Before it is online: a writer that does not look there yet is one whose work it sees.
        TAKEN.fetch_max(at + 1, Ordering::SeqCst);
        let mut new = Self { slot: &SEEN[at] };
        new.online();
        new
    }
    /// Announces that references obtained before are no longer held.
    #[inline(always)]
    pub fn quiescent(&mut self) {
        // Acquire: what a writer did before it raised the epoch is seen after. Release: our reads
        // are over.
        self.slot.store(EPOCH.load(Ordering::Acquire), Ordering::Release);
    }
    /// Stops taking part until [`Participant::online`]: nothing may be read meanwhile.
    pub fn offline(&mut self) {
        self.slot.store(OFFLINE, Ordering::Release);
    }
    /// Takes part again.
    pub fn online(&mut self) {
        self.slot.store(EPOCH.load(Ordering::Acquire), Ordering::Relaxed);
        // Either a writer that retires from now on sees us online, or we see what it published.
        fence(Ordering::SeqCst);
    }
    /// The right to read.
    #[inline(always)]
    pub fn epoch(&self) -> Epoch<'_> {
        Epoch(PhantomData)
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.slot.store(FREE, Ordering::Release);
    }
}

/// Ends the current epoch; what was unlinked before may be freed once [`passed`] says so.
pub fn end_epoch() -> u64 {
    EPOCH.fetch_add(1, Ordering::SeqCst) + 1
}

/// Whether every participant has been quiescent since `epoch` began.
pub fn passed(epoch: u64) -> bool {
    fence(Ordering::SeqCst);
    SEEN[..TAKEN.load(Ordering::SeqCst)].iter().all(|s| match s.load(Ordering::Acquire) {
        OFFLINE | FREE => true,
        seen => seen >= epoch,
    })
}

/// Frees `garbage`, which no reader can newly find, once every participant has moved on.
pub fn retire(garbage: impl Send + 'static) {
    let epoch = end_epoch();
    let mut list = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    list.push_back((epoch, Box::new(garbage)));
    let full = list.len() > 10_000;
    drop(list);
    reclaim();
    while full && RETIRED.lock().is_ok_and(|l| l.len() > 10_000) {
        std::thread::sleep(Duration::from_micros(50)); // memory waiting to be freed is bounded
        reclaim();
    }
}

/// Frees some of what can be freed now; returns how much still waits. Who retires little at a time
/// pays for little, whatever waits since a thread was late.
pub fn reclaim() -> usize {
    let retired = || RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut list, mut done) = (retired(), Vec::new());
    while done.len() < MOST_FREED && list.front().is_some_and(|(epoch, _)| passed(*epoch)) {
        done.extend(list.pop_front());
    }
    drop(list);
    drop(done); // outside the lock: a destructor may retire more
    retired().len()
}

/// State written whole by one owner and read by many: small tables, settings.
#[derive(Debug)]
pub struct Shared<T: Send + Sync + 'static>(Arc<Slot<T>>);

/// The reading side of a [`Shared`].
#[derive(Debug)]
pub struct Reader<T: Send + Sync + 'static>(Arc<Slot<T>>);

#[derive(Debug)]
struct Slot<T>(AtomicPtr<T>);

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` and the last handle is gone: every
        // reference handed out borrowed a handle.
        drop(unsafe { Box::from_raw(self.0.load(Ordering::Relaxed)) });
    }
}

impl<T: Send + Sync + 'static> Clone for Reader<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// Starts with `value`.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Slot(AtomicPtr::new(Box::into_raw(Box::new(value))))))
    }
    /// A handle for a node.
    pub fn reader(&self) -> Reader<T> {
        Reader(Arc::clone(&self.0))
    }
    /// The current value, for the owner.
    pub fn current(&self) -> &T {
        // SAFETY: only the owner replaces the value, through `&mut self`, which `&self` excludes.
        unsafe { &*self.0.0.load(Ordering::Relaxed) }
    }
    /// Replaces the value; readers see it from their next read on.
    pub fn publish(&mut self, value: T) {
        let old = self.0.0.swap(Box::into_raw(Box::new(value)), Ordering::SeqCst);
        // SAFETY: the pointer came from `Box::into_raw`, and it is no longer reachable; `retire`
        // keeps it until the readers that may still hold it have moved on.
        retire(unsafe { Box::from_raw(old) });
    }
    /// Publishes a changed copy, or nothing at all when `change` fails.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn update<R, E>(&mut self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Clone,
    {
        let mut next = self.current().clone();
        let done = change(&mut next)?;
        self.publish(next);
        Ok(done)
    }
}

impl<T: Send + Sync + 'static> Reader<T> {
    /// The value now, valid while the epoch lasts.
    #[inline(always)]
    pub fn read<'e>(&'e self, _: Epoch<'e>) -> &'e T {
        // SAFETY: the pointer is valid when loaded, and a writer that replaces it keeps the old
        // value until this thread's epoch ends.
        unsafe { &*self.0.0.load(Ordering::Acquire) }
    }
}

/// Many objects named by index, each published on its own: adding one does not copy the others.
#[derive(Debug)]
pub struct SharedSlab<T: Send + Sync + 'static> {
    slots: Arc<Slots<T>>,
    used: usize,
    free: VecDeque<(u64, u32)>,
}

/// The reading side of a [`SharedSlab`].
#[derive(Debug)]
pub struct SlabReader<T: Send + Sync + 'static>(Arc<Slots<T>>);

#[derive(Debug)]
struct Slots<T> {
    slots: Reserved<AtomicUsize>,
    /// Number of slots ever given out, from the bottom; the owner's.
    given: AtomicUsize,
    of: PhantomData<T>,
}

/// Set in a slot whose object has been removed: for readers it is still there.
const LEAVING: usize = 1;

impl<T> Slots<T> {
    fn swap(&self, index: u32, new: Option<T>) -> Option<Box<T>> {
        let new = new.map_or(0, |v| Box::into_raw(Box::new(v)).expose_provenance());
        let old = self.slots[index as usize].swap(new, Ordering::SeqCst) & !LEAVING;
        // SAFETY: a non-zero slot holds a pointer from `Box::into_raw` that is only turned back
        // here.
        (old != 0).then(|| unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(old)) })
    }
}

/// The end of a removed object, when no reader can reach it any longer.
struct Leaving<T: Send + Sync + 'static> {
    slots: Arc<Slots<T>>,
    index: u32,
}

impl<T: Send + Sync + 'static> Drop for Leaving<T> {
    fn drop(&mut self) {
        // A reader with an outdated index holds it up to the end of its epoch.
        self.slots.swap(self.index, None).into_iter().for_each(retire);
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        for i in 0..self.given.load(Ordering::Relaxed) {
            drop(self.swap(i as u32, None));
        }
    }
}

impl<T: Send + Sync + 'static> Clone for SlabReader<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> SharedSlab<T> {
    /// Room for `max` objects; memory is used as they come.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(max: usize) -> io::Result<Self> {
        let slots = Reserved::new(max, HugePages::No)?.named("slabs");
        let slots = Slots { slots, given: AtomicUsize::new(0), of: PhantomData };
        Ok(Self { slots: Arc::new(slots), used: 0, free: VecDeque::new() })
    }
    /// A handle for a node.
    pub fn reader(&self) -> SlabReader<T> {
        SlabReader(Arc::clone(&self.slots))
    }
    /// Adds an object and returns its index, or gives it back when the slab is full.
    ///
    /// # Errors
    /// The object itself.
    pub fn insert(&mut self, value: T) -> Result<u32, T> {
        // Some may have been given an object by number meanwhile.
        while self.free.front().is_some_and(|(_, index)| self.at(*index).is_some()) {
            self.free.pop_front();
        }
        let index = match self.free.front() {
            // An index in flight must not mean another object: reuse it after a grace period only.
            Some(&(epoch, index)) if passed(epoch) && self.has_left(index) => {
                self.free.pop_front();
                index
            }
            _ if self.given() < self.slots.slots.len() => {
                self.slots.given.fetch_add(1, Ordering::Relaxed) as u32
            }
            _ => return Err(value),
        };
        self.slots.swap(index, Some(value));
        self.used += 1;
        Ok(index)
    }
    /// Replaces an existing object.
    pub fn replace(&mut self, index: u32, value: T) {
        if let Some(old) = self.slots.swap(index, Some(value)) {
            retire(old);
        }
    }
    /// Puts an object at an index of the owner's choice, or takes the one there out; readers see it
    /// from their next read on. For slabs without [`SharedSlab::insert`].
    ///
    /// # Panics
    /// If the index is beyond the capacity.
    pub fn put(&mut self, index: u32, value: Option<T>) {
        let is_new = value.is_some();
        // A slot that was never used stays untouched: its memory may not be there yet.
        if !is_new && self.slot(index) == 0 {
            return;
        }
        self.slots.given.fetch_max(index as usize + 1, Ordering::Relaxed);
        let old = self.slots.swap(index, value);
        self.used = self.used + usize::from(is_new) - usize::from(old.is_some());
        old.into_iter().for_each(retire);
    }
    /// Removes an object that no reader can newly find: those who know its index already find it
    /// until they move on, so that what they do with it is still done. Its index is not given out
    /// again before.
    pub fn remove(&mut self, index: u32) {
        const { assert!(align_of::<T>() > LEAVING, "pointers have room for a mark") };
        let p = self.slot(index);
        if p != 0 && p & LEAVING == 0 {
            self.slots.slots[index as usize].store(p | LEAVING, Ordering::Release);
            retire(Leaving { slots: Arc::clone(&self.slots), index });
            self.used -= 1;
            self.free.push_back((end_epoch(), index));
        }
    }
    /// Waits until the index that was removed first may be given out again, `patience` at most: a
    /// reader may be late, and who adds an object may count on the index of the one before it.
    pub fn settle(&self, patience: Duration) {
        const STEP: Duration = Duration::from_micros(50);
        #[allow(clippy::disallowed_methods, reason = "real time, as threads take it")]
        let start = Instant::now();
        let waits = |&(epoch, index): &(u64, u32)| !(passed(epoch) && self.has_left(index));
        while self.free.front().is_some_and(waits) && start.elapsed() < patience {
            std::thread::sleep(STEP);
        }
    }
    /// Whether a removed object has come to its end, which it does now if it may.
    fn has_left(&self, index: u32) -> bool {
        if self.slot(index) != 0 {
            reclaim();
        }
        self.slot(index) == 0
    }
    /// The value of a slot, for the owner.
    fn slot(&self, index: u32) -> usize {
        self.slots.slots.get(index as usize).map_or(0, |slot| slot.load(Ordering::Relaxed))
    }
    /// The object at `index`, for the owner.
    pub fn at(&self, index: u32) -> Option<&T> {
        let p = self.slot(index);
        // SAFETY: a non-zero slot points to a live object, which only the owner replaces or, when
        // it is not marked, marks for its end: through `&mut self`.
        (p != 0 && p & LEAVING == 0).then(|| unsafe { &*std::ptr::with_exposed_provenance(p) })
    }
    /// Indices and objects in use.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.iter_from(0)
    }
    /// Indices and objects in use, from an index on.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        (first..self.given() as u32).filter_map(|i| Some((i, self.at(i)?)))
    }
    fn given(&self) -> usize {
        self.slots.given.load(Ordering::Relaxed)
    }
    /// Number of objects.
    pub fn len(&self) -> usize {
        self.used
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }
}

impl<T: Send + Sync + 'static> SlabReader<T> {
    /// The object at `index`, valid while the epoch lasts.
    #[inline(always)]
    pub fn read<'e>(&'e self, index: u32, _: Epoch<'e>) -> Option<&'e T> {
        let p = self.0.slots.get(index as usize)?.load(Ordering::Acquire) & !LEAVING;
        // SAFETY: a non-zero slot points to a live object, kept until this thread's epoch ends.
        (p != 0).then(|| unsafe { &*std::ptr::with_exposed_provenance(p) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_reader_never_sees_freed_memory() {
        let mut shared = Shared::new(vec![0u64; 64]);
        let reader = shared.reader();
        let [stop, has_read] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (seen_stop, first) = (Arc::clone(&stop), Arc::clone(&has_read));
        let thread = std::thread::spawn(move || {
            let mut me = Participant::join();
            while !seen_stop.load(Ordering::Relaxed) {
                let v = reader.read(me.epoch());
                assert!(v.iter().all(|x| *x == v[0]));
                first.store(true, Ordering::Relaxed);
                me.quiescent();
            }
        });
        while !has_read.load(Ordering::Relaxed) && !thread.is_finished() {
            std::thread::yield_now();
        }
        for n in 1..2000 {
            shared.publish(vec![n; 64]);
        }
        std::thread::sleep(Duration::from_millis(5));
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap();
    }

    #[test]
    fn an_index_is_given_out_again_once_a_late_reader_has_moved_on() {
        let mut slab = SharedSlab::new(8).unwrap();
        let (index, [is_there, may_go]) =
            (slab.insert(7u64).unwrap(), [(); 2].map(|()| Arc::new(AtomicBool::new(false))));
        let (there, go) = (Arc::clone(&is_there), Arc::clone(&may_go));
        let late = std::thread::spawn(move || {
            let mut me = Participant::join();
            there.store(true, Ordering::SeqCst);
            while !go.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(5));
            me.quiescent();
            me.offline();
        });
        while !is_there.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        slab.remove(index);
        slab.settle(Duration::from_millis(1));
        let other = slab.insert(8).unwrap();
        assert_ne!(other, index, "the reader may still hold it");
        slab.remove(other);
        may_go.store(true, Ordering::SeqCst);
        slab.settle(Duration::from_secs(60));
        assert_eq!(slab.insert(9), Ok(index));
        late.join().unwrap();
    }

    #[test]
    fn a_failed_update_publishes_nothing() {
        let mut shared = Shared::new(1);
        assert_eq!(
            shared.update(|v| {
                *v = 2;
                Err::<(), _>("no")
            }),
            Err("no")
        );
        assert_eq!(*shared.current(), 1);
        assert_eq!(
            shared.update(|v| {
                *v = 2;
                Ok::<_, ()>(*v)
            }),
            Ok(2)
        );
        assert_eq!(*shared.current(), 2);
    }

    #[test]
    fn a_slab_frees_what_lies_behind_a_hole() {
        let kept = Arc::new(());
        let mut slab = SharedSlab::new(2000).unwrap();
        for _ in 0..1500 {
            slab.insert(Arc::clone(&kept)).unwrap();
        }
        (0..1024).for_each(|i| slab.remove(i));
        drop(slab);
        while reclaim() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[test]
    fn a_slab_gives_indices_and_returns_what_does_not_fit() {
        let mut slab = SharedSlab::new(2).unwrap();
        let me = Participant::join();
        let reader = slab.reader();
        assert_eq!(
            (slab.insert("a"), slab.insert("b"), slab.insert("c")),
            (Ok(0), Ok(1), Err("c"))
        );
        assert_eq!(reader.read(1, me.epoch()), Some(&"b"));
        slab.replace(1, "d");
        slab.remove(0);
        assert_eq!((slab.at(0), slab.at(1), slab.len()), (None, Some(&"d"), 1));
        assert_eq!(slab.insert("e"), Err("e"), "the index may still be in flight");
        drop(me);
        while slab.insert("e").is_err() {
            std::thread::yield_now(); // other tests of this process take part too
        }
        assert_eq!(slab.at(0), Some(&"e"));
    }

    #[test]
    fn who_knows_a_removed_object_finds_it_until_it_moves_on() {
        let kept = Arc::new(5);
        let mut slab = SharedSlab::new(1).unwrap();
        slab.insert(Arc::clone(&kept)).unwrap();
        let (mut me, reader) = (Participant::join(), slab.reader());
        slab.remove(0);
        slab.remove(0);
        assert_eq!((slab.at(0), slab.len()), (None, 0));
        reclaim();
        assert_eq!(reader.read(0, me.epoch()), Some(&kept));
        assert!(slab.insert(Arc::new(6)).is_err(), "the index is still in flight");
        while reader.read(0, me.epoch()).is_some() {
            me.quiescent();
            reclaim(); // other tests of this process take part too
        }
        assert_eq!(slab.insert(Arc::new(7)), Ok(0));
        while Arc::strong_count(&kept) > 1 {
            me.quiescent();
            reclaim();
        }
    }
}
