//! The four keys of a bucket, compared all at once.
//!
//! Safety contract: the only unsafe code reads 32 bytes that a reference lends, by instructions of
//! AVX, which the caller has found in the processor. The compiler does not see through them, so
//! they may read concurrent writes.

use std::sync::atomic::Ordering::Acquire;

use super::exact::WAYS;
use crate::sync::AtomicU64;

/// How this processor compares keys.
#[derive(Clone, Copy, Debug)]
pub enum Compare {
    /// By AVX.
    Avx(Avx),
    /// One by one.
    Singly(Singly),
}

/// A way to compare keys.
pub trait Place: Copy {
    /// The place of a key, or any where it is not among them. The keys are read once each, by
    /// loads that acquire, while others write them: who then reads something at the place finds it
    /// as it was when the key was written, or later.
    fn place(self, keys: &[AtomicU64; WAYS], key: u64) -> usize;
}

/// The processor has AVX.
#[derive(Clone, Copy, Debug)]
pub struct Avx(());

/// Comparison one by one, on any processor.
#[derive(Clone, Copy, Debug)]
pub struct Singly;

impl Compare {
    /// The best this processor has.
    pub fn new() -> Self {
        if avx::is_there() { Self::Avx(Avx(())) } else { Self::Singly(Singly) }
    }
}

impl Place for Compare {
    #[inline(always)]
    fn place(self, keys: &[AtomicU64; WAYS], key: u64) -> usize {
        match self {
            Self::Avx(avx) => avx.place(keys, key),
            Self::Singly(singly) => singly.place(keys, key),
        }
    }
}

impl Place for Avx {
    #[inline(always)]
    fn place(self, keys: &[AtomicU64; WAYS], key: u64) -> usize {
        // SAFETY: it was found when this was made.
        let found = unsafe { avx::compare(keys, key) };
        found.trailing_zeros() as usize % WAYS
    }
}

impl Place for Singly {
    #[inline(always)]
    fn place(self, keys: &[AtomicU64; WAYS], key: u64) -> usize {
        let is_it = |at: usize| keys[at].load(Acquire) == key;
        let found = (0..WAYS).fold(0, |found, at| found | u32::from(is_it(at)) << at);
        found.trailing_zeros() as usize % WAYS
    }
}

#[cfg(all(target_arch = "x86_64", not(miri), not(all(loom, test))))]
mod avx {
    use super::{AtomicU64, WAYS};

    pub fn is_there() -> bool {
        is_x86_feature_detected!("avx")
    }

    /// A bit for each key that is alike.
    ///
    /// # Safety
    /// [`is_there`] says so.
    #[inline(always)]
    pub unsafe fn compare(keys: &[AtomicU64; WAYS], key: u64) -> u32 {
        let found: u64;
        // SAFETY: it reads the four words that are lent, and writes only registers. x86 reads each
        // of them at once (they are aligned), in the order of other loads, so what other threads
        // write meanwhile is seen as by an atomic load of each that acquires.
        unsafe {
            core::arch::asm!(
                "vmovq {both}, {key}",
                "vpunpcklqdq {both}, {both}, {both}",
                "vpcmpeqq {other}, {both}, [{keys}]",
                "vpcmpeqq {both}, {both}, [{keys} + 16]",
                "vpackssdw {both}, {other}, {both}",
                "vmovmskps {found:e}, {both}",
                keys = in(reg) keys.as_ptr(),
                key = in(reg) key,
                both = out(xmm_reg) _,
                other = out(xmm_reg) _,
                found = lateout(reg) found,
                options(readonly, nostack, preserves_flags),
            );
        }
        found as u32
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri), not(all(loom, test)))))]
mod avx {
    use super::{AtomicU64, WAYS};

    pub fn is_there() -> bool {
        false
    }

    /// # Safety
    /// None is needed.
    pub unsafe fn compare(_: &[AtomicU64; WAYS], _: u64) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_by_all_of_their_bits() {
        let base = 0x0123_4567_89ab_cdef_u64;
        for at in 0..WAYS {
            for bit in 0..64 {
                let keys = std::array::from_fn(|n| {
                    AtomicU64::new(if n == at { base } else { base ^ 1 << bit })
                });
                for how in [Compare::new(), Compare::Singly(Singly)] {
                    assert_eq!(how.place(&keys, base), at, "bit {bit}");
                }
            }
        }
    }
}
