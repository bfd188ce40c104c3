//! TCP header (RFC 9293 section 3.1).

use std::fmt;
use std::ops::BitOr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum;

pub mod options;

pub use options::{Options, Timestamp};

/// The 20-byte header without options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Sequence number of the first byte.
    pub seq: U32,
    /// Next sequence number expected; valid with [`Flags::ACK`].
    pub ack: U32,
    /// Header length in 32-bit words (upper four bits), reserved bits.
    pub data_offset: u8,
    /// Control bits.
    pub flags: Flags,
    /// Receive window in (scaled) bytes.
    pub window: U16,
    /// Checksum over pseudo header, header and data.
    pub checksum: U16,
    /// Urgent pointer; valid with [`Flags::URG`].
    pub urgent: U16,
}

impl Header {
    /// A header without options, checksum and urgent pointer.
    pub fn new(src_port: u16, dst_port: u16, seq: u32, ack: u32, flags: Flags) -> Self {
        Self {
            src_port: src_port.into(),
            dst_port: dst_port.into(),
            seq: seq.into(),
            ack: ack.into(),
            data_offset: 5 << 4,
            flags,
            window: U16::MAX_VALUE,
            checksum: U16::ZERO,
            urgent: U16::ZERO,
        }
    }

    /// Length of header and options in bytes, as the packet says: below 20 it is malformed.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.data_offset >> 4) * 4
    }
}

/// Control bits of a segment.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// Congestion was experienced (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether every bit of `other` is set here.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Names of the bits set, lowest first: `SYN ACK`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut separator = "";
        for (bit, name) in names.iter().enumerate() {
            if self.0 & 1 << bit != 0 {
                write!(f, "{separator}{name}")?;
                separator = " ";
            }
        }
        Ok(())
    }
}

/// Option: nothing follows.
const END: u8 = 0;
/// Option: padding.
const NO_OPERATION: u8 = 1;
/// Option: maximum segment size.
const MSS: u8 = 2;

/// Lowers the maximum segment size option of a SYN (RFC 9293 section 3.7.1) to `most` bytes, and
/// updates the checksum unless it is offloaded (`is_summed` is false). Returns the old size, if it
/// was higher. `segment` begins with the TCP header.
pub fn clamp_mss(segment: &mut [u8], most: u16, is_summed: bool) -> Option<u16> {
    let (header, rest) = Header::mut_from_prefix(segment).ok()?;
    if !header.flags.contains(Flags::SYN) {
        return None;
    }
    let len = header.header_len().checked_sub(size_of::<Header>())?;
    let options = rest.get_mut(..len)?;
    let place = mss_place(options)?;
    let [high, low] = options.get_mut(place..)?.first_chunk_mut()?;
    let told = u16::from_be_bytes([*high, *low]);
    if told <= most {
        return None;
    }
    [*high, *low] = most.to_be_bytes();
    if is_summed {
        // At an odd place the bytes of a word of the sum are swapped.
        let is_odd = place % 2 == 1;
        let word = |value: u16| U16::new(if is_odd { value.swap_bytes() } else { value });
        header.checksum = checksum::update(header.checksum, word(told), word(most));
    }
    Some(told)
}

/// Position of the maximum segment size in the options of a header.
fn mss_place(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let len = match *options.get(at)? {
            END => return None,
            NO_OPERATION => 1,
            MSS if options.get(at + 1) == Some(&4) => return Some(at + 2),
            _ => usize::from(*options.get(at + 1)?).max(2),
        };
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_print_lowest_first() {
        let flags = Flags::ACK | Flags::SYN;
        assert_eq!(flags.to_string(), "SYN ACK");
        assert!(flags.contains(Flags::SYN) && !flags.contains(Flags::SYN | Flags::FIN));
        assert_eq!(Flags::default().to_string(), "");
    }

    #[test]
    fn layout_of_a_syn() {
        let header = Header::new(43756, 80, 0x3d1b_a2cc, 0, Flags::SYN);
        let bytes = header.as_bytes();
        assert_eq!(bytes[..14], [0xaa, 0xec, 0, 80, 0x3d, 0x1b, 0xa2, 0xcc, 0, 0, 0, 0, 0x50, 2]);
        assert_eq!((bytes.len(), header.header_len()), (20, 20));
    }
}
