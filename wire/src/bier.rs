//! The header of bit-indexed explicit replication (RFC 8296 section 2), after its first word: that
//! one is a label, or looks like it ([`Entry`](crate::mpls::Entry)).
//!
//! The length of the bit string is encoded as the original does: 0 says 64 bits, each further
//! number twice as many. So are the protocols: IPv6 is 5.

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// UDP port of packets with a BIER header.
pub const UDP_PORT: u16 = 8138;
/// Shortest bit string in bytes.
const SHORTEST: usize = 8;
/// Longest bit string in bytes.
pub const LONGEST: usize = 512;

/// Payload behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload(pub u8);

impl Payload {
    /// A label that the receiver chose.
    pub const MPLS_DOWN: Self = Self(1);
    /// A label that the sender chose.
    pub const MPLS_UP: Self = Self(2);
    /// A frame.
    pub const ETHERNET: Self = Self(3);
    /// An IPv4 packet.
    pub const IP4: Self = Self(4);
    /// An IPv6 packet.
    pub const IP6: Self = Self(5);
    /// Most that are known.
    pub const COUNT: usize = 9;
}

/// The header without its first word and without the bit string.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    first: U32,
    kind: U16,
    /// Router that put the header on.
    pub source: U16,
}

/// Marks the header; labelled IP packets cannot begin so.
const NIBBLE: u32 = 5;

impl Header {
    /// A header; of `entropy` 20 bits count.
    pub fn new(length: u8, entropy: u32, payload: Payload, source: u16) -> Self {
        let first = NIBBLE << 28 | u32::from(length & 0xf) << 20 | entropy & 0xf_ffff;
        let kind = u16::from(payload.0 & 0x3f);
        Self { first: first.into(), kind: kind.into(), source: source.into() }
    }
    /// Whether it begins as a header of the known version does.
    pub fn is_valid(&self) -> bool {
        self.first.get() >> 24 == NIBBLE << 4
    }
    /// Code of the length of the bit string.
    pub fn length(&self) -> u8 {
        (self.first.get() >> 20) as u8 & 0xf
    }
    /// Entropy, which tells flows apart: 20 bits.
    pub fn entropy(&self) -> u32 {
        self.first.get() & 0xf_ffff
    }
    /// Payload behind the header.
    pub fn payload(&self) -> Payload {
        Payload(self.kind.get() as u8 & 0x3f)
    }
}

/// Bytes of a bit string whose length has this code; `None` for a code that is not known.
pub fn string_len(code: u8) -> Option<usize> {
    let len = SHORTEST.checked_shl(code.into())?;
    (len <= LONGEST).then_some(len)
}

/// The code of a number of bits.
pub fn code_of(bits: u32) -> Option<u8> {
    (0..7).find(|code| string_len(*code).is_some_and(|len| len as u32 * 8 == bits))
}

/// Header of a packet, its bit string and the bytes after it; `None` for a packet cut short.
pub fn parse(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let (header, rest) = Header::read_from_prefix(bytes).ok()?;
    let len = string_len(header.length()).filter(|_| header.is_valid())?;
    let (string, rest) = rest.split_at_checked(len)?;
    Some((header, string, rest))
}

/// The positions that are set in a bit string, least first; the first position is 1.
pub fn positions(string: &[u8]) -> impl Iterator<Item = u32> {
    string.iter().rev().enumerate().flat_map(|(at, byte)| {
        let set = (0..8).filter(move |bit| byte & 1 << bit != 0);
        set.map(move |bit| at as u32 * 8 + bit + 1)
    })
}

/// Sets a position in a bit string; one that it does not have is left out.
pub fn set_position(string: &mut [u8], position: u32) {
    let at = position.wrapping_sub(1);
    let place = string.len().checked_sub(1 + at as usize / 8);
    if let Some(byte) = place.and_then(|place| string.get_mut(place)) {
        *byte |= 1 << (at % 8);
    }
}

/// The first word of a packet that no label led to (RFC 8296 section 2.2.1.1): length, sub-domain
/// and set.
pub fn table_number(length: u8, sub_domain: u8, set: u8) -> u32 {
    u32::from(length & 0xf) << 16 | u32::from(sub_domain) << 8 | u32::from(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_rfc_says() {
        let header = Header::new(2, 0xabcde, Payload::IP4, 0x1234);
        assert_eq!(header.as_bytes(), [0x50, 0x2a, 0xbc, 0xde, 0, 4, 0x12, 0x34]);
        assert_eq!((header.length(), header.entropy()), (2, 0xabcde));
        assert_eq!((header.payload(), header.is_valid()), (Payload::IP4, true));
    }

    #[test]
    fn a_string_has_the_positions_that_were_set() {
        let mut string = [0; 8];
        for position in [1, 8, 9, 64, 65, 0] {
            set_position(&mut string, position);
        }
        assert_eq!(string, [0x80, 0, 0, 0, 0, 0, 1, 0x81]);
        assert_eq!(positions(&string).collect::<Vec<_>>(), [1, 8, 9, 64]);
    }

    #[test]
    fn short_packets_and_unknown_lengths_are_none() {
        let mut bytes = Header::new(0, 0, Payload::IP4, 0).as_bytes().to_vec();
        bytes.extend([0xff; 8]);
        let (_, string, rest) = parse(&bytes).unwrap();
        assert_eq!((string.len(), rest.len()), (8, 0));
        assert!(parse(&bytes[..15]).is_none());
        bytes[1] = 0x70;
        assert!(parse(&bytes).is_none());
        assert_eq!((code_of(64), code_of(4096), code_of(65)), (Some(0), Some(6), None));
    }
}
