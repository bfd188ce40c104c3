//! A bitmap of the short prefixes of a table: one bit for each that there could be.
//!
//! What is around a prefix is found by going through a few bits, all but the first of which stay in
//! cache. A search among the entries goes to another end of the table for each bit fewer.

use std::io;

use infra::cpu::prefetch;
use infra::memory::{HugePages, Reserved};

/// Most bits of prefixes that are noted here.
pub const SHORT: u8 = 24;

/// Levels of bits that are not in the cache anyway.
const FAR: u8 = 6;

/// The bits: that of a prefix of `n` bits has the number of the prefix's bits after a 1.
pub struct PrefixBitmap(Reserved<u64>);

impl PrefixBitmap {
    /// Of no prefixes.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Reserved::new((2 << SHORT) / 64, HugePages::No)?.named("covers")))
    }
    /// Notes whether there is the prefix of the first `len` bits of `top`, which are [`SHORT`];
    /// nothing for longer ones.
    pub fn note(&mut self, top: u32, len: u8, is_there: bool) {
        if len <= SHORT {
            let at = number(top, len);
            let bit = 1 << (at % 64);
            let word = &mut self.0[at / 64];
            *word = if is_there { *word | bit } else { *word & !bit };
        }
    }
    /// Asks for what [`PrefixBitmap::note`] changes and [`PrefixBitmap::longest`] looks at first.
    pub fn fetch(&self, top: u32, len: u8) {
        let at = number(top, len.min(SHORT));
        (0..FAR).for_each(|up| prefetch(&self.0[(at >> up) / 64]));
    }
    /// The length of the longest prefix around the first `len` bits of `top`, or of these.
    pub fn longest(&self, top: u32, len: u8) -> Option<u8> {
        let mut at = number(top, len);
        while at > 0 {
            if self.0[at / 64] >> (at % 64) & 1 != 0 {
                return Some(at.ilog2() as u8);
            }
            at >>= 1;
        }
        None
    }
}

fn number(top: u32, len: u8) -> usize {
    1 << len | (top >> (SHORT - len)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_around_is_found() {
        let mut all = PrefixBitmap::new().unwrap();
        assert_eq!(all.longest(0xab_cdef, 24), None);
        for len in [0, 7, 8, 24, 25] {
            all.note(0xab_cdef, len, true);
        }
        let longest =
            |all: &PrefixBitmap, top| [24, 23, 8, 7, 6, 0].map(|len| all.longest(top, len));
        let want = [Some(24), Some(8), Some(8), Some(7), Some(0), Some(0)];
        assert_eq!(longest(&all, 0xab_cdef), want);
        let beside = [Some(8), Some(8), Some(8), Some(7), Some(0), Some(0)];
        assert_eq!(longest(&all, 0xab_cdee), beside);
        assert_eq!(longest(&all, 0), [Some(0); 6]);
        all.note(0xab_cdef, 8, false);
        assert_eq!(all.longest(0xab_0000, 24), Some(7));
    }
}
