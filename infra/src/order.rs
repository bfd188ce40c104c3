//! Sorting of short lists, outside of the packet path.
//!
//! The machine code of `[T]::sort_by` is some 10 KB for each type. This has one copy of it, which
//! sorts the places of the elements, and moves the elements there afterwards.
#![forbid(unsafe_code)]

use std::cmp::Ordering;

/// Stable sorting of slices; takes a list of places from the heap.
pub trait Order<T> {
    /// As [`slice::sort_by`].
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// As [`slice::sort_by_key`].
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
    /// As [`slice::sort`].
    fn order(&mut self)
    where
        T: Ord;
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        for start in 0..places.len() {
            // Along the circle of places: each element is swapped to where it belongs.
            let mut at = start;
            loop {
                let from = std::mem::replace(&mut places[at], at);
                if from == start {
                    break;
                }
                self.swap(at, from);
                at = from;
            }
        }
    }
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }
}

/// The places of elements, in order.
fn places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Order;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_library(all: Vec<(u8, String)>) {
            let (mut ours, mut expected) = (all.clone(), all.clone());
            ours.order_by_key(|one| one.0);
            expected.sort_by_key(|one| one.0);
            prop_assert_eq!(&ours, &expected);
            ours.order();
            expected.sort();
            prop_assert_eq!(&ours, &expected);
            ours.order_by(|a, b| b.cmp(a));
            expected.sort_by(|a, b| b.cmp(a));
            prop_assert_eq!(&ours, &expected);
        }
    }
}
