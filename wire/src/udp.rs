//! UDP header (RFC 768).

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The 8-byte header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Length in bytes, this header included.
    pub len: U16,
    /// Checksum; zero over IPv4 means none was computed.
    pub checksum: U16,
}

impl Header {
    /// A header without checksum; `len` in bytes, this header included.
    pub fn new(src_port: u16, dst_port: u16, len: u16) -> Self {
        Self {
            src_port: src_port.into(),
            dst_port: dst_port.into(),
            len: len.into(),
            checksum: U16::ZERO,
        }
    }
}
