//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
//!
//! A [`Sum`] adds the packet's 16-bit words as the machine loads them: ones' complement addition
//! does not care about byte order, only the folded result does.

use zerocopy::byteorder::network_endian::U16;

use crate::Protocol;

/// A running ones' complement sum. Good for 16 GB of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    words: u64,
    is_odd: bool,
}

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self { words: 0, is_odd: false };

    /// The sum of `bytes`, which stand where the last ones ended, even at an odd place.
    #[inline]
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        let folded = sum_native(bytes);
        let sum = if self.is_odd { u64::from(fold_native(folded).swap_bytes()) } else { folded };
        Self { words: self.words + sum, is_odd: self.is_odd ^ (bytes.len() % 2 == 1) }
    }

    /// The sum with one more word, in host order. Only at an even place.
    #[inline]
    #[must_use]
    pub fn add_word(self, word: u16) -> Self {
        debug_assert!(!self.is_odd, "a word at an odd place");
        Self { words: self.words + u64::from(word.to_be()), ..self }
    }

    /// The sum in 16 bits, host order; 0xffff over data whose checksum is right.
    #[inline]
    pub fn fold(self) -> u16 {
        u16::from_be(fold_native(self.words))
    }

    /// Value of the checksum field, which counted as zero.
    #[inline]
    pub fn checksum(self) -> U16 {
        U16::new(!self.fold())
    }

    /// As [`Sum::checksum`] for UDP, where zero means "none" and is sent as 0xffff (RFC 768).
    #[inline]
    pub fn udp_checksum(self) -> U16 {
        match self.checksum() {
            U16::ZERO => U16::MAX_VALUE,
            checksum => checksum,
        }
    }

    /// Whether data that includes its checksum field is right.
    #[inline]
    pub fn is_valid(self) -> bool {
        self.fold() == 0xffff
    }
}

/// Sum of the IPv4 pseudo header (RFC 793, RFC 768); `len` in bytes is that of header and data.
#[inline]
pub fn ip4_pseudo(src: [u8; 4], dst: [u8; 4], protocol: Protocol, len: u16) -> Sum {
    Sum::ZERO.add_bytes(&src).add_bytes(&dst).add_word(protocol.0.into()).add_word(len)
}

/// Sum of the IPv6 pseudo header (RFC 8200 section 8.1); `len` in bytes is that of the upper-layer
/// header and data, `protocol` the upper layer's, whatever extension headers come before.
#[inline]
pub fn ip6_pseudo(src: [u8; 16], dst: [u8; 16], protocol: Protocol, len: u32) -> Sum {
    let len = len.to_be_bytes();
    Sum::ZERO.add_bytes(&src).add_bytes(&dst).add_bytes(&len).add_word(protocol.0.into())
}

/// Sum of an upper-layer packet scattered over `segments` of any length on top of `pseudo`.
#[inline]
pub fn upper_layer<'a>(pseudo: Sum, segments: impl IntoIterator<Item = &'a [u8]>) -> Sum {
    segments.into_iter().fold(pseudo, Sum::add_bytes)
}

/// `checksum` after a 16-bit word of its data changed from `old` to `new` (RFC 1624 equation 3).
#[inline]
pub fn update(checksum: U16, old: U16, new: U16) -> U16 {
    let sum = Sum { words: u64::from(!ne(checksum)), is_odd: false };
    let words = sum.words + u64::from(!ne(old)) + u64::from(ne(new));
    Sum { words, ..sum }.checksum()
}

/// As [`update`] for two stretches of equal, even length at an even place, such as addresses.
#[inline]
pub fn update_bytes(checksum: U16, old: &[u8], new: &[u8]) -> U16 {
    debug_assert!(
        old.len() == new.len() && old.len().is_multiple_of(2),
        "unequal or odd stretches"
    );
    let gone = !fold_native(sum_native(old));
    let words = u64::from(!ne(checksum)) + u64::from(gone) + sum_native(new);
    Sum { words, is_odd: false }.checksum()
}

/// Data of a packet that are replaced, for all checksums over them (RFC 1624 equation 3): a sum of
/// what goes, complemented, and what comes.
#[derive(Clone, Copy, Debug)]
pub struct Change(u64);

impl Change {
    /// Of eight bytes at an even place, such as both addresses of IPv4.
    #[inline(always)]
    pub fn of(old: [u8; 8], new: [u8; 8]) -> Self {
        Self(halves(!u64::from_ne_bytes(old)) + halves(u64::from_ne_bytes(new)))
    }
    /// And of four more, such as both ports.
    #[inline(always)]
    #[must_use]
    pub fn and(self, old: [u8; 4], new: [u8; 4]) -> Self {
        let gone = u64::from(!u32::from_ne_bytes(old));
        Self(self.0 + gone + u64::from(u32::from_ne_bytes(new)))
    }
    /// A checksum after it.
    #[inline(always)]
    pub fn apply(self, checksum: U16) -> U16 {
        Sum { words: self.0 + u64::from(!ne(checksum)), is_odd: false }.checksum()
    }
    /// The same of UDP: a missing checksum (0) stays missing, and a computed 0 becomes 0xffff
    /// (RFC 768).
    #[inline(always)]
    pub fn apply_udp(self, checksum: U16) -> U16 {
        let new = Sum { words: self.0 + u64::from(!ne(checksum)), is_odd: false }.udp_checksum();
        if checksum == U16::ZERO { checksum } else { new }
    }
}

fn ne(word: U16) -> u16 {
    u16::from_ne_bytes(word.to_bytes())
}

/// Sum of the 16-bit words of `bytes` as loaded, an odd last byte padded with zero.
///
/// 32-bit halves are added to 64-bit lanes, so no carry is lost and the loop vectorises.
#[inline]
fn sum_native(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [0u64; 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += halves(u64::from_ne_bytes(*word));
        }
    }
    let (words, tail) = rest.as_chunks::<8>();
    let mut sum: u64 = lanes.iter().sum();
    for word in words {
        sum += halves(u64::from_ne_bytes(*word));
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    sum + halves(u64::from_ne_bytes(last))
}

#[inline]
fn halves(word: u64) -> u64 {
    (word >> 32) + (word & 0xffff_ffff)
}

/// Ones' complement sum of the four 16-bit words of `sum`: the upper half of a number plus its
/// rotation by half is the sum of both halves with the carry brought around.
#[inline]
fn fold_native(sum: u64) -> u16 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 section 4.1, word by word.
    fn naive(bytes: &[u8]) -> u16 {
        let word = |w: &[u8]| u32::from(w[0]) << 8 | w.get(1).map_or(0, |&b| b.into());
        let mut sum: u32 = bytes.chunks(2).map(word).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn example_of_rfc_1071() {
        let sum = Sum::ZERO.add_bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), 0xddf2);
        assert_eq!(sum.checksum().get(), 0x220d);
    }

    #[test]
    fn examples_of_rfc_1624() {
        // Section 4: the corner case that equation 4 gets wrong.
        let updated = update(0xdd2f.into(), 0x5555.into(), 0x3285.into());
        assert_eq!(updated.get(), 0x0000);
    }

    #[test]
    fn udp_never_sends_zero() {
        let sum = Sum::ZERO.add_word(0xffff);
        assert_eq!((sum.checksum().get(), sum.udp_checksum().get()), (0, 0xffff));
        assert_eq!(Sum::ZERO.add_word(1).udp_checksum().get(), 0xfffe);
    }

    #[test]
    fn largest_lanes_keep_their_carries() {
        for len in [1, 2, 7, 8, 31, 32, 33, 64, 9000] {
            let bytes = vec![0xff; len];
            assert_eq!(Sum::ZERO.add_bytes(&bytes).fold(), naive(&bytes), "{len} bytes");
        }
    }

    #[test]
    fn pseudo_headers_are_what_the_rfcs_draw() {
        let mut bytes = vec![10, 0, 0, 2, 16, 0, 0, 1, 0, 17, 0, 30];
        let sum = ip4_pseudo([10, 0, 0, 2], [16, 0, 0, 1], Protocol::UDP, 30);
        assert_eq!(sum.fold(), naive(&bytes));

        bytes = [[1; 16], [2; 16]].concat();
        bytes.extend([0, 1, 0xff, 0xff, 0, 0, 0, 58]);
        let sum = ip6_pseudo([1; 16], [2; 16], Protocol::ICMP6, 0x1_ffff);
        assert_eq!(sum.fold(), naive(&bytes));
    }

    proptest! {
        #[test]
        fn equals_the_naive_sum(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Sum::ZERO.add_bytes(&bytes).fold(), naive(&bytes));
        }

        #[test]
        fn cuts_do_not_matter(
            segments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)
        ) {
            let sum = upper_layer(Sum::ZERO, segments.iter().map(Vec::as_slice));
            prop_assert_eq!(sum.fold(), naive(&segments.concat()));
        }

        #[test]
        fn a_packet_with_its_checksum_is_valid(
            mut bytes in prop::collection::vec(any::<u8>(), 2..100)
        ) {
            bytes[..2].fill(0);
            let checksum = Sum::ZERO.add_bytes(&bytes).checksum();
            bytes[..2].copy_from_slice(&checksum.to_bytes());
            prop_assert!(Sum::ZERO.add_bytes(&bytes).is_valid());
        }

        #[test]
        fn update_equals_summing_again(
            mut bytes in prop::collection::vec(any::<u8>(), 40),
            new: [u8; 16],
        ) {
            bytes[0] = 0x45; // some word is not zero, as in any packet
            let before = Sum::ZERO.add_bytes(&bytes).checksum();
            let updated = update_bytes(before, &bytes[8..24], &new);
            let old_word = U16::from_bytes([bytes[8], bytes[9]]);
            let word = update(before, old_word, U16::from_bytes([new[0], new[1]]));
            bytes[8..10].copy_from_slice(&new[..2]);
            prop_assert_eq!(word, Sum::ZERO.add_bytes(&bytes).checksum());
            bytes[8..24].copy_from_slice(&new);
            prop_assert_eq!(updated, Sum::ZERO.add_bytes(&bytes).checksum());
        }
    }
}
