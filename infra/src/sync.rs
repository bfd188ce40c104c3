//! Atomics: those of the standard library, or, in models, ones whose every order is tried.
//!
//! A model (`make loom`) is a small program of two or three threads that [loom] runs again and
//! again: in each possible order of its steps, each load with every value that the memory model of
//! C11 permits. Its atomics replace those of `rcu`, `ring`, `memory::lane` and the tables, so the
//! models run the same code as the router.
//!
//! [loom]: https://docs.rs/loom

#![forbid(unsafe_code)]

#[cfg(all(loom, test))]
pub mod model;

#[cfg(all(loom, test))]
pub use loom::{cell::UnsafeCell, sync::atomic::AtomicPtr};
#[cfg(all(loom, test))]
pub use model::{AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(not(all(loom, test)))]
pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

/// A place that one thread at a time uses, which a model watches over.
#[cfg(not(all(loom, test)))]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(loom, test)))]
impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }
    /// Lends its address to the code that changes it.
    #[inline(always)]
    pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
        change(self.0.get())
    }
}

/// Lets another thread go on, which this one waits for.
pub fn pause() {
    #[cfg(all(loom, test))]
    loom::thread::yield_now();
    #[cfg(not(all(loom, test)))]
    std::thread::yield_now();
}
