//! Atomics for models: as those of loom, but they may be constants and zeroed memory.
//!
//! Loom needs its atomics created in each execution. Ours are a position in a list of those of the
//! current execution, to which an atomic is added when it is first used. A model uses everything
//! once before it starts threads: a later creation is a race in loom's eyes.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{self, Ordering, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

pub use loom::sync::atomic::fence;
use zerocopy::FromZeros;

use crate::rcu::{self, Epoch, Participant};

/// Statics take part, so there is one model at a time.
static ALONE: Mutex<()> = Mutex::new(());
static EXECUTIONS: atomic::AtomicU64 = atomic::AtomicU64::new(1);

thread_local! {
    /// Loom's threads take turns on one thread of the system.
    static CELLS: RefCell<Vec<Rc<loom::sync::atomic::AtomicU64>>> = const { RefCell::new(vec![]) };
}

/// Tries all executions of a model in which threads are interrupted at most `preemptions` times.
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    let before = EXECUTIONS.load(Relaxed);
    builder.check(move || {
        EXECUTIONS.fetch_add(1, Relaxed);
        CELLS.take();
        model();
    });
    println!("{} executions", EXECUTIONS.load(Relaxed) - before);
}

/// A participant in read-copy-update whose epoch has no other.
pub fn participant() -> Participant {
    rcu::end_epoch();
    Participant::join()
}

/// A thread that looks two keys up, `times` times, whose leaves are 1 and 4 or one more.
pub fn reader(
    mut me: Participant,
    times: usize,
    find: impl Fn(&mut [u32; 2], Epoch<'_>) + 'static,
) -> loom::thread::JoinHandle<()> {
    loom::thread::spawn(move || {
        for _ in 0..times {
            let mut leaves = [0; 2];
            find(&mut leaves, me.epoch());
            let [one, other] = leaves;
            assert!((1..=2).contains(&one), "{one} is no leaf of the one");
            assert!((4..=5).contains(&other), "{other} is no leaf of the other");
            me.quiescent();
        }
    })
}

/// The atomic at a place, which is an execution and the number of an atomic in it.
fn cell(place: &atomic::AtomicU64, start: u64) -> Rc<loom::sync::atomic::AtomicU64> {
    let (execution, at) = (EXECUTIONS.load(Relaxed), place.load(Relaxed));
    CELLS.with_borrow_mut(|cells| {
        if at >> 32 != execution {
            place.store(execution << 32 | cells.len() as u64, Relaxed);
            cells.push(Rc::new(loom::sync::atomic::AtomicU64::new(start)));
            return Rc::clone(&cells[cells.len() - 1]);
        }
        Rc::clone(&cells[at as u32 as usize])
    })
}

macro_rules! atomics {
    ($($name:ident $int:ty),*) => {$(
        #[derive(Debug, Default, FromZeros)]
        pub struct $name {
            place: atomic::AtomicU64,
            start: $int,
        }

        #[allow(dead_code, reason = "not every one is used as any other")]
        impl $name {
            pub const fn new(start: $int) -> Self {
                Self { place: atomic::AtomicU64::new(0), start }
            }
            fn cell(&self) -> Rc<loom::sync::atomic::AtomicU64> {
                cell(&self.place, self.start as u64)
            }
            pub fn load(&self, order: Ordering) -> $int {
                self.cell().load(order) as $int
            }
            pub fn store(&self, value: $int, order: Ordering) {
                self.cell().store(value as u64, order);
            }
            pub fn swap(&self, value: $int, order: Ordering) -> $int {
                self.cell().swap(value as u64, order) as $int
            }
            pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                self.cell().fetch_add(value as u64, order) as $int
            }
            pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                self.cell().fetch_max(value as u64, order) as $int
            }
            pub fn compare_exchange(
                &self,
                old: $int,
                new: $int,
                done: Ordering,
                not: Ordering,
            ) -> Result<$int, $int> {
                let result = self.cell().compare_exchange(old as u64, new as u64, done, not);
                result.map(|value| value as $int).map_err(|value| value as $int)
            }
        }
    )*};
}

atomics!(AtomicU32 u32, AtomicU64 u64, AtomicUsize usize);
