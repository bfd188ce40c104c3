//! The header in front of packets of a virtio network device (VIRTIO 1.2 section 5.1.6), in the
//! 10-byte little-endian form that tap, af_packet and legacy vhost exchange.

use zerocopy::byteorder::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The 10-byte header without `num_buffers`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// [`NEEDS_CSUM`], [`DATA_VALID`].
    pub flags: u8,
    /// Kind of segments, perhaps with the ECN bit.
    pub gso_type: GsoType,
    /// Length in bytes of the headers to copy in front of each segment.
    pub hdr_len: U16,
    /// Payload bytes of a segment.
    pub gso_size: U16,
    /// Start of the sum, in bytes from the start of the packet.
    pub csum_start: U16,
    /// Place of the checksum, in bytes from `csum_start`.
    pub csum_offset: U16,
}

/// Bytes of the header where it ends with the number of buffers that a packet is in.
pub const COUNTED: usize = 12;

/// Bit of [`Header::flags`]: the checksum from `csum_start` on is still to be computed; its field
/// holds the sum of the pseudo header.
pub const NEEDS_CSUM: u8 = 1;
/// Bit of [`Header::flags`]: the checksum was verified.
pub const DATA_VALID: u8 = 2;

/// Kind of segments that a large packet is cut into.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct GsoType(pub u8);

impl GsoType {
    /// Not a large packet.
    pub const NONE: Self = Self(0);
    /// TCP over IPv4.
    pub const TCPV4: Self = Self(1);
    /// IP fragments of one UDP datagram.
    pub const UDP: Self = Self(3);
    /// TCP over IPv6.
    pub const TCPV6: Self = Self(4);
    /// UDP datagrams.
    pub const UDP_L4: Self = Self(5);

    const ECN: u8 = 0x80;

    /// The type with the bit that says the TCP segment has CWR set.
    pub fn with_ecn(self) -> Self {
        Self(self.0 | Self::ECN)
    }

    /// Whether the ECN bit is set.
    pub fn has_ecn(self) -> bool {
        self.0 & Self::ECN != 0
    }

    /// The type without the ECN bit.
    pub fn without_ecn(self) -> Self {
        Self(self.0 & !Self::ECN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_little_endian() {
        let header = Header {
            flags: NEEDS_CSUM,
            gso_type: GsoType::TCPV6.with_ecn(),
            hdr_len: 74.into(),
            gso_size: 1440.into(),
            csum_start: 54.into(),
            csum_offset: 16.into(),
        };
        assert_eq!(header.as_bytes(), [1, 0x84, 74, 0, 0xa0, 5, 54, 0, 16, 0]);
        assert!(header.gso_type.has_ecn());
        assert_eq!(header.gso_type.without_ecn(), GsoType::TCPV6);
    }
}
