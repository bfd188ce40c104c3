//! IPv4 header (RFC 791 section 3.1).

use std::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::{self, Sum};
use crate::ip::{Dscp, Ecn, Protocol};

/// The 20-byte header without options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Version (4) and header length in 32-bit words.
    pub version_ihl: u8,
    /// DSCP (6 bits) and ECN (2 bits).
    pub tos: u8,
    /// Total length in bytes, this header included.
    pub total_len: U16,
    /// Identification, the same in all fragments of a packet.
    pub id: U16,
    /// [`DONT_FRAGMENT`], [`MORE_FRAGMENTS`] and the offset in units of 8 bytes.
    pub fragment: U16,
    /// Time to live in hops.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Checksum over header and options.
    pub checksum: U16,
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
}

/// Bit of [`Header::fragment`]: routers may not fragment.
pub const DONT_FRAGMENT: u16 = 0x4000;
/// Bit of [`Header::fragment`]: not the last fragment.
pub const MORE_FRAGMENTS: u16 = 0x2000;
/// Bits of [`Header::fragment`]: the offset in units of 8 bytes.
pub const OFFSET_MASK: u16 = 0x1fff;
/// [`Header::version_ihl`] without options.
pub const VERSION_IHL: u8 = 0x45;
/// TTL of packets made here.
pub const DEFAULT_TTL: u8 = 64;

impl Header {
    /// A header with [`DEFAULT_TTL`] and a correct checksum, the rest zero; `total_len` in bytes,
    /// this header included.
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, total_len: u16) -> Self {
        Self {
            version_ihl: VERSION_IHL,
            tos: 0,
            total_len: total_len.into(),
            id: U16::ZERO,
            fragment: U16::ZERO,
            ttl: DEFAULT_TTL,
            protocol,
            checksum: U16::ZERO,
            src: src.octets(),
            dst: dst.octets(),
        }
        .with_checksum()
    }

    /// The header (without options) with the right checksum.
    pub fn with_checksum(mut self) -> Self {
        self.update_checksum();
        self
    }

    /// IP version: 4 unless malformed.
    #[inline]
    pub fn version(&self) -> u8 {
        self.version_ihl >> 4
    }

    /// Length of header and options in bytes, as the packet says: below 20 it is malformed.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.version_ihl & 0xf) * 4
    }

    /// Differentiated services code point.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        Dscp::of_traffic_class(self.tos)
    }

    /// Explicit congestion notification.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::of_traffic_class(self.tos)
    }

    /// Whether routers may not fragment.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.fragment.get() & DONT_FRAGMENT != 0
    }

    /// Whether this is a fragment and not the last.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.fragment.get() & MORE_FRAGMENTS != 0
    }

    /// Offset of the payload in the whole packet's payload, in bytes.
    #[inline]
    pub fn fragment_offset(&self) -> usize {
        usize::from(self.fragment.get() & OFFSET_MASK) * 8
    }

    /// Whether this is a fragment, the first included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.fragment.get() & (MORE_FRAGMENTS | OFFSET_MASK) != 0
    }

    /// Source address.
    #[inline]
    pub fn src_addr(&self) -> Ipv4Addr {
        self.src.into()
    }

    /// Destination address.
    #[inline]
    pub fn dst_addr(&self) -> Ipv4Addr {
        self.dst.into()
    }

    /// Whether the checksum of a header without options is right; free of branches.
    #[inline]
    pub fn is_checksum_valid(&self) -> bool {
        // Every packet that is routed comes by here: the sum of ten words, in three additions, is
        // right when it is a multiple of 0xffff but not zero. Multiples are what times the inverse
        // of 0xffff is no greater than the quotient of the greatest number of all.
        const QUOTIENT: u64 = u64::MAX / 0xffff;
        const INVERSE: u64 = QUOTIENT.wrapping_neg();
        const { assert!(INVERSE.wrapping_mul(0xffff) == 1) };
        let bytes: [u8; 20] = zerocopy::transmute!(*self);
        let [first, second]: [u64; 2] =
            zerocopy::transmute!(*bytes.first_chunk::<16>().expect("of 20"));
        let third = u32::from_ne_bytes(*bytes.last_chunk().expect("of 20"));
        let (sum, carry) = first.overflowing_add(second);
        let (sum, more) = sum.overflowing_add(u64::from(third) + u64::from(carry));
        let sum = sum + u64::from(more);
        sum.wrapping_mul(INVERSE).wrapping_sub(1) < QUOTIENT
    }

    /// Whether the checksum is right over this header and `options`.
    #[inline]
    pub fn is_checksum_valid_with(&self, options: &[u8]) -> bool {
        self.sum(options).is_valid()
    }

    /// Sets the checksum of a header without options.
    #[inline]
    pub fn update_checksum(&mut self) {
        self.update_checksum_with(&[]);
    }

    /// Sets the checksum over this header and `options`.
    #[inline]
    pub fn update_checksum_with(&mut self, options: &[u8]) {
        self.checksum = U16::ZERO;
        self.checksum = self.sum(options).checksum();
    }

    /// One hop less, checksum included. The caller made sure that the TTL is not zero.
    #[inline]
    pub fn decrement_ttl(&mut self) {
        debug_assert!(self.ttl > 0, "TTL already zero");
        self.ttl = self.ttl.wrapping_sub(1);
        // As `checksum::update` does it, in fewer steps: one more in the machine's order of bytes,
        // one's complement, whose other zero is not used.
        let sum = u16::from_ne_bytes(self.checksum.to_bytes());
        let one = u16::from_ne_bytes([1, 0]);
        let (sum, carry) = sum.overflowing_add(one);
        let again = carry | (sum == u16::MAX);
        self.checksum = U16::from_bytes(sum.wrapping_add(u16::from(again)).to_ne_bytes());
    }

    /// Sets the total length in bytes and updates the checksum incrementally.
    #[inline]
    pub fn set_total_len(&mut self, len: u16) {
        let len = U16::new(len);
        self.checksum = checksum::update(self.checksum, self.total_len, len);
        self.total_len = len;
    }

    /// Sets the DSCP and updates the checksum incrementally.
    #[inline]
    pub fn set_dscp(&mut self, dscp: Dscp) {
        self.set_tos(dscp.get() << 2 | self.tos & 3);
    }

    /// Sets DSCP and ECN and updates the checksum incrementally.
    #[inline]
    pub fn set_tos(&mut self, tos: u8) {
        let word = |tos| U16::new(u16::from_be_bytes([self.version_ihl, tos]));
        self.checksum = checksum::update(self.checksum, word(self.tos), word(tos));
        self.tos = tos;
    }

    #[inline]
    fn sum(&self, options: &[u8]) -> Sum {
        Sum::ZERO.add_bytes(self.as_bytes()).add_bytes(options)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A header captured from a live network; the usual example of the checksum's calculation.
    const CAPTURED: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn captured_header_decodes() {
        let header = Header::read_from_bytes(&CAPTURED).unwrap();
        assert_eq!((header.version(), header.header_len()), (4, 20));
        assert_eq!((header.total_len.get(), header.ttl), (115, 64));
        assert_eq!(header.protocol, Protocol::UDP);
        assert_eq!(header.src_addr(), Ipv4Addr::new(192, 168, 0, 1));
        assert_eq!(header.dst_addr(), Ipv4Addr::new(192, 168, 0, 199));
        assert!(header.dont_fragment() && !header.more_fragments() && !header.is_fragment());
        assert!(header.is_checksum_valid());
    }

    proptest! {
        #[test]
        fn short_ways_to_the_checksum_agree_with_the_long_ones(mut bytes: [u8; 20], right: bool) {
            let mut header = Header::read_from_bytes(&bytes).unwrap();
            if right {
                header.update_checksum();
                bytes = zerocopy::transmute!(header);
            }
            let long = Sum::ZERO.add_bytes(&bytes).is_valid();
            prop_assert_eq!(header.is_checksum_valid(), long);
            prop_assert!(long || !right);
            header.ttl = header.ttl.max(1);
            for value in [header.checksum, U16::new(0xfeff), U16::new(0xff00), U16::new(0xfefe)] {
                header.checksum = value;
                let expected = checksum::update(value, U16::new(0x0100), U16::ZERO);
                let mut next = header;
                next.decrement_ttl();
                prop_assert_eq!(next.checksum, expected);
            }
        }
    }

    #[test]
    fn new_header_equals_the_captured_one() {
        let captured = Header::read_from_bytes(&CAPTURED).unwrap();
        let (src, dst) = (captured.src_addr(), captured.dst_addr());
        let mut header = Header::new(src, dst, Protocol::UDP, 20);
        header.fragment = DONT_FRAGMENT.into();
        header = header.with_checksum();
        header.set_total_len(115);
        assert_eq!(header, captured);
    }

    #[test]
    fn options_count_in_the_checksum() {
        let mut header =
            Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Protocol::ICMP, 24);
        header.version_ihl = 0x46;
        let options = [0x94, 0x04, 0x00, 0x00]; // router alert, RFC 2113
        header.update_checksum_with(&options);
        assert!(header.is_checksum_valid_with(&options));
        assert!(!header.is_checksum_valid());
    }

    #[test]
    fn fragment_fields() {
        let mut header = Header::read_from_bytes(&CAPTURED).unwrap();
        header.fragment = (MORE_FRAGMENTS | 185).into();
        assert!(header.is_fragment() && header.more_fragments() && !header.dont_fragment());
        assert_eq!(header.fragment_offset(), 1480);
    }

    proptest! {
        #[test]
        fn decrement_keeps_the_checksum_right(mut bytes: [u8; 20]) {
            bytes[0] = 0x45;
            bytes[8] = bytes[8].max(1);
            let mut header = Header::read_from_bytes(&bytes).unwrap().with_checksum();
            header.decrement_ttl();
            prop_assert_eq!(header.ttl, bytes[8] - 1);
            prop_assert_eq!(header, header.with_checksum());
        }

        #[test]
        fn any_single_bit_error_is_seen(bytes: [u8; 20], bit in 0..160usize) {
            let mut header = Header::read_from_bytes(&bytes).unwrap();
            header.version_ihl = 0x45;
            header = header.with_checksum();
            prop_assert!(header.is_checksum_valid());
            header.as_mut_bytes()[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!header.is_checksum_valid());
        }
    }
}
