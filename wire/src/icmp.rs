//! ICMP (RFC 792) and ICMPv6 (RFC 4443): the common layout of messages, their types apart.

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The head of every message: 4 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header<Type> {
    /// Message type.
    pub kind: Type,
    /// More about it; the modules `code` of the versions name some.
    pub code: u8,
    /// Checksum from here to the end of the packet; of ICMPv6 over the pseudo header as well.
    pub checksum: U16,
}

impl<Type> Header<Type> {
    /// A header without checksum.
    pub fn new(kind: Type, code: u8) -> Self {
        Self { kind, code, checksum: U16::ZERO }
    }
}

/// Echo request or reply: 8 bytes before the data.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Echo<Type> {
    /// Type echo request or echo reply, code 0.
    pub icmp: Header<Type>,
    /// Identifier of the run of ping that it belongs to.
    pub id: U16,
    /// Counts up in a run.
    pub seq: U16,
}
