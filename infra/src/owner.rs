//! A value with one owning thread at a time: the first to request it becomes its owner.
//!
//! Owning says where work is to be done; it protects nothing. What belongs to it is built of cells
//! of its own.
#![forbid(unsafe_code)]

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const NOBODY: usize = usize::MAX;

/// The thread that something belongs to.
#[derive(Debug)]
pub struct Owner(AtomicUsize);

impl Owner {
    /// `thread`, or the first that asks.
    pub fn new(thread: Option<usize>) -> Self {
        Self(AtomicUsize::new(thread.unwrap_or(NOBODY)))
    }
    /// The thread it belongs to, if there is one.
    pub fn thread(&self) -> Option<usize> {
        Some(self.0.load(Relaxed)).filter(|thread| *thread != NOBODY)
    }
    /// The thread it belongs to: thread `by` from now on if there was none, or one that
    /// `is_there` says is gone.
    #[inline(always)]
    pub fn claim(&self, by: usize, is_there: impl FnOnce(usize) -> bool) -> usize {
        let now = self.0.load(Acquire);
        if now == by || (now != NOBODY && is_there(now)) {
            return now;
        }
        match self.0.compare_exchange(now, by, Acquire, Relaxed) {
            Ok(_) => by,
            Err(other) => other,
        }
    }
    /// Gives it to a thread, or to the first that asks. If the owning thread calls this, the next
    /// owner sees all that it has written.
    pub fn set(&self, thread: Option<usize>) {
        self.0.store(thread.unwrap_or(NOBODY), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_owns_it_until_it_is_gone_or_another_is_named() {
        let owner = Owner::new(None);
        assert_eq!(owner.thread(), None);
        assert_eq!(owner.claim(2, |_| true), 2);
        assert_eq!(owner.claim(1, |_| true), 2);
        assert_eq!(owner.claim(1, |thread| thread != 2), 1);
        owner.set(Some(3));
        assert_eq!((owner.claim(1, |_| true), owner.thread()), (3, Some(3)));
        owner.set(None);
        assert_eq!(owner.claim(4, |_| true), 4);
    }
}
