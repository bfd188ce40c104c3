//! Numbers by index that any thread counts up and down: how much of something there is.
#![forbid(unsafe_code)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::memory::{HugePages, Reserved};
use crate::sync::AtomicU64;

/// The numbers; all are 0 at first. Clones are the same numbers.
#[derive(Clone, Debug)]
pub struct Tally(Arc<Reserved<AtomicU64>>);

impl Tally {
    /// Room for `len` numbers; memory is used as they are counted.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(len: usize) -> io::Result<Self> {
        Ok(Self(Arc::new(Reserved::new(len, HugePages::No)?.named("tallies"))))
    }
    /// Number `index`; 0 where there is none.
    #[inline]
    pub fn at(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |number| number.load(Relaxed))
    }
    /// Adds to a number, or takes away; what it is then. 0 where there is none.
    #[inline]
    pub fn add(&self, index: usize, change: i64) -> u64 {
        let change = change as u64;
        self.0.get(index).map_or(0, |n| n.fetch_add(change, Relaxed).wrapping_add(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_and_down() {
        let tally = Tally::new(3).unwrap();
        let other = tally.clone();
        assert_eq!([tally.add(2, 5), other.add(2, -3), other.add(3, 1)], [5, 2, 0]);
        assert_eq!([0, 2, 3].map(|i| tally.at(i)), [0, 2, 0]);
    }
}
