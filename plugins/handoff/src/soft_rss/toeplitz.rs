//! Toeplitz's hash: the key, shifted by the position of each bit that is set in the input, added up
//! without carries. Tables have it for each byte at each position.

/// A key.
pub type Key = [u8; 40];

/// The key that network cards have unless they are given another one.
pub const KEY: Key = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Bytes of the longest input: two addresses of IPv6 and two ports.
const LONGEST: usize = 36;

/// Tables of a key.
#[derive(Debug, PartialEq)]
pub struct Toeplitz(Box<[[u32; 256]]>);

impl Toeplitz {
    /// Tables of this key.
    pub fn new(key: &Key) -> Self {
        // Four bytes of the key from bit `at` on.
        let window = |at: usize| {
            let word = (0..5).fold(0u64, |n, i| n << 8 | u64::from(key[at / 8 + i]));
            (word >> (8 - at % 8)) as u32
        };
        let of_byte = |position: usize, byte: usize| {
            let bits = (0..8).filter(|bit| byte >> (7 - bit) & 1 != 0);
            bits.fold(0, |sum, bit| sum ^ window(position * 8 + bit))
        };
        let table = |position| std::array::from_fn(|byte| of_byte(position, byte));
        Self((0..LONGEST).map(table).collect())
    }
    /// Hash of these parts, one behind the other; what is too long does not count.
    #[inline(always)]
    pub fn hash(&self, parts: &[&[u8]]) -> u32 {
        let bytes = parts.iter().flat_map(|part| part.iter());
        self.0.iter().zip(bytes).fold(0, |sum, (table, byte)| sum ^ table[usize::from(*byte)])
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// Examples of the specification of receive-side scaling.
    #[test]
    fn hashes_are_those_of_cards() {
        let toeplitz = Toeplitz::new(&KEY);
        let four = |src: &str, sport: u16, dst: &str, dport: u16| {
            let [src, dst] = [src, dst].map(|text| text.parse::<Ipv4Addr>().unwrap().octets());
            let ports = [sport.to_be_bytes(), dport.to_be_bytes()];
            [&[&src[..], &dst], &[&src[..], &dst, &ports[0], &ports[1]][..]]
                .map(|parts: &[&[u8]]| toeplitz.hash(parts))
        };
        let shown = four("66.9.149.187", 2794, "161.142.100.80", 1766);
        assert_eq!(shown, [0x323e_8fc2, 0x51cc_c178]);
        let shown = four("199.92.111.2", 14230, "65.69.140.83", 4739);
        assert_eq!(shown, [0xd718_262a, 0xc626_b0ea]);
        let [src, dst] = ["3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1"]
            .map(|text| text.parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(toeplitz.hash(&[&src, &dst]), 0x2cc1_8cd5);
        let ports = [2794u16.to_be_bytes(), 1766u16.to_be_bytes()];
        assert_eq!(toeplitz.hash(&[&src, &dst, &ports[0], &ports[1]]), 0x4020_7d3d);
    }
}
