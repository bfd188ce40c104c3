//! Sequence numbers (RFC 9293 section 3.4): 32 bits that wrap, compared within half the space.

use std::ops::{Add, AddAssign, Sub};

/// Sequence number of a byte, or of a SYN or FIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// Whether this number is before `other`.
    #[inline(always)]
    pub fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0)).cast_signed() < 0
    }

    /// Whether this number is after `other`.
    #[inline(always)]
    pub fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }

    /// The later of two numbers.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of two numbers.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        if other.is_before(self) { other } else { self }
    }

    /// Number of bytes from `other` to this number; 0 if this is the earlier one.
    #[inline(always)]
    pub fn beyond(self, other: Self) -> u32 {
        if self.is_before(other) { 0 } else { self - other }
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    #[inline(always)]
    fn add(self, len: u32) -> Self {
        Self(self.0.wrapping_add(len))
    }
}

impl AddAssign<u32> for Seq {
    #[inline(always)]
    fn add_assign(&mut self, len: u32) {
        *self = *self + len;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    #[inline(always)]
    fn sub(self, len: u32) -> Self {
        Self(self.0.wrapping_sub(len))
    }
}

/// Distance, modulo 2^32.
impl Sub for Seq {
    type Output = u32;
    #[inline(always)]
    fn sub(self, other: Self) -> u32 {
        self.0.wrapping_sub(other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_across_the_wrap() {
        let (late, early) = (Seq(5), Seq(u32::MAX - 5));
        assert!(early.is_before(late) && late.is_after(early) && !early.is_before(early));
        assert_eq!((late - early, late.beyond(early), early.beyond(late)), (11, 11, 0));
        assert_eq!((early.max(late), early.min(late)), (late, early));
    }
}
