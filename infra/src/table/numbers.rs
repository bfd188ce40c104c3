//! Numbers by index, each published with one store: setting one copies no other.
//!
//! Whoever reads a number sees all that the owner wrote before setting it.
#![forbid(unsafe_code)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::memory::{HugePages, Reserved};
use crate::sync::AtomicU64;

/// Numbers that their owner sets one by one; all are zero at first.
#[derive(Debug)]
pub struct Numbers(Arc<Reserved<AtomicU64>>);

/// The reading side of [`Numbers`]. Clones read the same numbers.
#[derive(Clone, Debug)]
pub struct NumbersReader(Arc<Reserved<AtomicU64>>);

/// Numbers as a node reads them during a frame.
#[derive(Clone, Copy, Debug)]
pub struct View<'r>(&'r [AtomicU64]);

impl Numbers {
    /// Room for `len` numbers; memory is used as they are set.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(len: usize) -> io::Result<Self> {
        Ok(Self(Arc::new(Reserved::new(len, HugePages::Beyond)?.named("numbers"))))
    }
    /// A handle for a node.
    pub fn reader(&self) -> NumbersReader {
        NumbersReader(Arc::clone(&self.0))
    }
    /// Number `index`; zero where there is none.
    pub fn at(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |number| number.load(Relaxed))
    }
    /// Sets a number. False when there is no room for so many.
    pub fn set(&mut self, index: usize, value: u64) -> bool {
        let place = self.0.get(index).filter(|place| place.load(Relaxed) != value);
        // What has the value already stays untouched: its memory may not be there yet.
        place.into_iter().for_each(|place| place.store(value, Release));
        index < self.0.len()
    }
}

impl NumbersReader {
    /// The numbers, for a frame.
    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View(&self.0)
    }
}

impl View<'_> {
    /// No numbers.
    pub const EMPTY: Self = Self(&[]);

    /// Number `index`; zero where there is none.
    #[inline(always)]
    pub fn at(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |number| number.load(Acquire))
    }
    /// Asks for number `index`, which is read soon.
    #[inline(always)]
    pub fn fetch(&self, index: usize) {
        if let Some(number) = self.0.get(index) {
            crate::cpu::prefetch(number);
        }
    }
    /// Whether there is room for none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zero_until_set_and_seen_by_all_readers() {
        let mut numbers = Numbers::new(4).unwrap();
        let reader = numbers.reader();
        assert!(numbers.set(3, 7) && !numbers.set(4, 7));
        assert_eq!([0, 3, 4].map(|i| numbers.at(i)), [0, 7, 0]);
        assert_eq!([0, 3, 4].map(|i| reader.view().at(i)), [0, 7, 0]);
        assert!(numbers.set(3, 0));
        assert_eq!((reader.clone().view().at(3), View::EMPTY.at(0)), (0, 0));
    }
}
