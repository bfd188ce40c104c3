//! Tags of the places of a bucket, 16 bits each, compared all at once.
//!
//! Safety contract: the only unsafe code is the call of a function of SSE2, which every x86-64 has.

use zerocopy::FromZeros;

/// Tags there are.
const TAGS: usize = 12;

/// Tags of up to 12 places.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(8))]
pub struct Tags([u16; TAGS]);

/// Places that are alike, one bit each, from the first on.
#[derive(Clone, Copy, Debug)]
pub struct Places(u32);

impl Iterator for Places {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (place < TAGS).then_some(place)
    }
}

impl Tags {
    /// Those of the first `count` places that have a tag.
    #[inline(always)]
    pub fn alike(&self, tag: u16, count: usize) -> Places {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE2 is part of the x86-64 baseline.
        let all = unsafe { compare(&self.0, tag) };
        #[cfg(not(target_arch = "x86_64"))]
        let all = (0..TAGS).fold(0, |all, at| all | u32::from(self.0[at] == tag) << at);
        Places(all & ((1 << count.min(TAGS)) - 1))
    }
    /// The tag of a place.
    pub fn get(&self, place: usize) -> u16 {
        self.0[place]
    }
    /// Gives a place its tag.
    pub fn set(&mut self, place: usize, tag: u16) {
        self.0[place] = tag;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn compare(tags: &[u16; TAGS], tag: u16) -> u32 {
    use core::arch::x86_64::{
        _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16,
    };
    let word = |at: usize| {
        let four = [tags[at], tags[at + 1], tags[at + 2], tags[at + 3]].map(u64::from);
        (four[0] | four[1] << 16 | four[2] << 32 | four[3] << 48) as i64
    };
    let tag = _mm_set1_epi16(tag as i16);
    let low = _mm_cmpeq_epi16(_mm_set_epi64x(word(4), word(0)), tag);
    let high = _mm_cmpeq_epi16(_mm_set_epi64x(0, word(8)), tag);
    _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_apart_in_every_place() {
        let mut tags = Tags::new_zeroed();
        assert_eq!(tags.alike(0, 10).count(), 10);
        for place in 0..TAGS {
            tags.set(place, 0x7ffc + place as u16);
        }
        for place in 0..TAGS {
            let found: Vec<_> = tags.alike(0x7ffc + place as u16, TAGS).collect();
            assert_eq!((found, tags.get(place)), (vec![place], 0x7ffc + place as u16));
        }
        assert_eq!(tags.alike(0, TAGS).count() + tags.alike(0x7ffb, TAGS).count(), 0);
        tags.set(4, 0x7ffc);
        assert_eq!(tags.alike(0x7ffc, TAGS).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(tags.alike(0x7ffc, 4).collect::<Vec<_>>(), [0]);
    }
}
