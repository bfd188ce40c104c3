//! Random numbers for the packet path: cheap, unpredictable from outside, no secrets.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, RandomState};

/// A row of random numbers (xorshift64*, Vigna 2016). A clone has another one, so that what a node
/// chooses on one thread says nothing of what it chooses on another.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A fresh seed.
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        Self(RandomState::new().hash_one(()) | 1)
    }
    /// The next of 48 bits.
    #[inline(always)]
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
    /// The next from 0 to less than 1.
    #[inline(always)]
    pub fn fraction(&mut self) -> f64 {
        self.number() as f64 / (1u64 << 48) as f64
    }
}

impl Clone for Random {
    fn clone(&self) -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_draw_different_numbers() {
        let mut first = Random::new();
        let mut other = first.clone();
        assert_ne!([(); 4].map(|()| first.number()), [(); 4].map(|()| other.number()));
    }

    #[test]
    fn fractions_fill_the_unit_evenly() {
        let (mut random, mut tenths) = (Random::new(), [0u32; 10]);
        for _ in 0..100_000 {
            tenths[(random.fraction() * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (9_000..11_000).contains(count)), "{tenths:?}");
    }
}
