//! VLAN tags (IEEE 802.1Q clause 9).

use std::fmt;
use std::str::FromStr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ethernet::EtherType;

/// Tag after an [`EtherType::VLAN`] or [`EtherType::QINQ`]: 4 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Tag {
    /// Priority (3 bits), drop eligible (1 bit), VLAN identifier (12 bits).
    pub control: U16,
    /// Type of the payload after the tag.
    pub ethertype: EtherType,
}

impl Tag {
    /// A tag with priority 0, not drop eligible.
    pub fn new(id: Id, ethertype: EtherType) -> Self {
        Self { control: id.0.into(), ethertype }
    }

    /// The VLAN identifier; 0 means only the priority counts.
    #[inline]
    pub fn id(&self) -> Id {
        Id(self.control.get() & Id::MAX.0)
    }

    /// Priority code point, 0..=7.
    #[inline]
    pub fn priority(&self) -> u8 {
        (self.control.get() >> 13) as u8
    }

    /// Whether the frame may be dropped first under congestion.
    #[inline]
    pub fn is_drop_eligible(&self) -> bool {
        self.control.get() & 0x1000 != 0
    }
}

/// A VLAN identifier: 12 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u16);

impl Id {
    /// The largest number that fits the field; reserved by the standard, used by some.
    pub const MAX: Self = Self(0x0fff);

    /// `None` when `number` does not fit 12 bits.
    pub const fn new(number: u16) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// Its number in host order, 0..=4095.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is no VLAN identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a VLAN ID must be below 4096")
    }
}

impl std::error::Error for InvalidId {}

impl FromStr for Id {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.parse().ok().and_then(Self::new).ok_or(InvalidId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_control_word() {
        let tag = Tag::read_from_bytes(&[0xb0, 0x64, 0x08, 0x00]).unwrap();
        assert_eq!((tag.priority(), tag.is_drop_eligible(), tag.id().get()), (5, true, 100));
        assert_eq!(tag.ethertype, EtherType::IP4);
        assert_eq!(Tag::new(tag.id(), EtherType::ARP).as_bytes(), [0, 0x64, 8, 6]);
    }

    #[test]
    fn identifiers_are_12_bits() {
        assert_eq!("4095".parse(), Ok(Id::MAX));
        assert_eq!("4096".parse::<Id>(), Err(InvalidId));
        assert_eq!("x".parse::<Id>(), Err(InvalidId));
    }
}
