//! The mark of a packet: how it is to be treated, beside it while it is in the router.

use graph::{Flags, Metadata};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A mark and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct PacketMark {
    /// Number of the source.
    pub source: u8,
    /// Mark.
    pub mark: u8,
}

impl PacketMark {
    /// The type of service of a packet of the router's own.
    pub fn of_ip(mark: u8) -> Self {
        Self { source: 3, mark }
    }
}

/// The place of a packet's mark. Fragments and copies of the packet have it too.
pub const MARK: Metadata<PacketMark> = Metadata::new("qos", 8, Flags::inherited(3));
