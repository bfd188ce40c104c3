//! Numbers by index, each published with one store: setting one copies no other.
//!
//! A reader of a number sees all that the owner wrote before setting it.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use zerocopy::FromZeros;

use crate::memory::{HugePages, Reserved};
use crate::sync::{AtomicU32, AtomicU64};

/// A number that is stored and loaded in one piece, from 0 on.
pub trait Number: FromZeros + Debug + Send + Sync {
    /// Its value.
    type Value: Copy + Default + PartialEq;
    /// The value stored last.
    fn get(&self) -> Self::Value;
    /// Publishes a value.
    fn put(&self, value: Self::Value);
}

macro_rules! numbers {
    ($($atomic:ty: $value:ty),*) => {$(
        impl Number for $atomic {
            type Value = $value;
            #[inline(always)]
            fn get(&self) -> $value {
                self.load(Acquire)
            }
            #[inline(always)]
            fn put(&self, value: $value) {
                // What has the value already stays untouched: its memory may not be there yet.
                if self.load(Relaxed) != value {
                    self.store(value, Release);
                }
            }
        }
    )*};
}

numbers!(AtomicU32: u32, AtomicU64: u64);

/// Numbers that their owner sets one by one; all are zero at first.
#[derive(Debug)]
pub struct Numbers<N = AtomicU64>(Arc<Reserved<N>>);

/// The reading side of [`Numbers`]. Clones read the same numbers.
#[derive(Debug)]
pub struct NumbersReader<N = AtomicU64>(Arc<Reserved<N>>);

/// Numbers as a node reads them during a frame.
#[derive(Debug)]
pub struct View<'r, N = AtomicU64>(&'r [N]);

/// Those of 32 bits.
pub type Numbers32 = Numbers<AtomicU32>;
/// Their reading side.
pub type Numbers32Reader = NumbersReader<AtomicU32>;

impl<N: Number> Numbers<N> {
    /// Room for `len` numbers; memory is used as they are set.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(len: usize) -> io::Result<Self> {
        Ok(Self(Arc::new(Reserved::new(len, HugePages::No)?.named("numbers"))))
    }
    /// A handle for a node.
    pub fn reader(&self) -> NumbersReader<N> {
        NumbersReader(Arc::clone(&self.0))
    }
    /// Number `index`; zero where there is none.
    pub fn at(&self, index: usize) -> N::Value {
        self.0.get(index).map_or_else(N::Value::default, N::get)
    }
    /// Sets a number. False when there is no room for so many.
    pub fn set(&mut self, index: usize, value: N::Value) -> bool {
        self.0.get(index).into_iter().for_each(|number| number.put(value));
        index < self.0.len()
    }
    /// Places those set from now on on huge pages: there are many, side by side.
    pub fn enlarge(&self) {
        self.0.enlarge();
    }
}

impl<N> Clone for NumbersReader<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<N> Clone for View<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for View<'_, N> {}

impl<N: Number> NumbersReader<N> {
    /// The numbers, for a frame.
    #[inline(always)]
    pub fn view(&self) -> View<'_, N> {
        View(&self.0)
    }
}

impl<N: Number> View<'_, N> {
    /// No numbers.
    pub const EMPTY: Self = Self(&[]);

    /// Number `index`; zero where there is none.
    #[inline(always)]
    pub fn at(&self, index: usize) -> N::Value {
        self.0.get(index).map_or_else(N::Value::default, N::get)
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
        let mut numbers = Numbers::<AtomicU32>::new(4).unwrap();
        let reader = numbers.reader();
        assert!(numbers.set(3, 7) && !numbers.set(4, 7));
        assert_eq!([0, 3, 4].map(|i| numbers.at(i)), [0, 7, 0]);
        assert_eq!([0, 3, 4].map(|i| reader.view().at(i)), [0, 7, 0]);
        assert!(numbers.set(3, 0));
        assert_eq!((reader.clone().view().at(3), View::<AtomicU32>::EMPTY.at(0)), (0, 0));
    }
}
