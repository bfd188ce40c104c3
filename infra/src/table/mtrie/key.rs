//! Keys of a multibit trie: unsigned integers, first bit of the address on top.

#![forbid(unsafe_code)]

/// An address: `u32` for IPv4, `u128` for IPv6.
pub trait Key: Copy + sealed::Sealed {
    /// Length of an address.
    const BITS: u8;

    /// The first `root_bits` bits.
    fn root(self, root_bits: u8) -> usize;

    /// The byte that indexes the ply at `depth`, which counts from 1 below a root of `root_bits`.
    fn byte(self, root_bits: u8, depth: u8) -> usize;
}

impl Key for u32 {
    const BITS: u8 = 32;

    #[inline(always)]
    fn root(self, root_bits: u8) -> usize {
        (self >> (32 - root_bits)) as usize
    }

    #[inline(always)]
    fn byte(self, root_bits: u8, depth: u8) -> usize {
        usize::from((self >> (32 - root_bits - 8 * depth)) as u8)
    }
}

impl Key for u128 {
    const BITS: u8 = 128;

    #[inline(always)]
    fn root(self, root_bits: u8) -> usize {
        (self >> (128 - root_bits)) as usize
    }

    #[inline(always)]
    fn byte(self, root_bits: u8, depth: u8) -> usize {
        usize::from((self >> (128 - root_bits - 8 * depth)) as u8)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u128 {}
}
