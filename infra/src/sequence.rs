//! Numbers in a row that several threads take.
#![forbid(unsafe_code)]

use std::sync::atomic::Ordering;

use crate::sync::AtomicU32;

/// The next of which each taker gets, from 0 on.
#[derive(Debug, Default)]
pub struct Sequence(AtomicU32);

impl Sequence {
    /// The next number; after the last one comes 0.
    #[inline]
    pub fn take(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_numbers() {
        let all = Sequence::default();
        let take = || (0..1000).map(|_| all.take()).collect::<Vec<_>>();
        let mut taken = std::thread::scope(|scope| {
            let other = scope.spawn(take);
            [take(), other.join().unwrap()].concat()
        });
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..2000));
    }
}
