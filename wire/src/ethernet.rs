//! Ethernet II (IEEE 802.3 clause 3).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::MacAddr;

/// Destination, source, type: 14 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// Payload type.
    pub ethertype: EtherType,
}

impl Header {
    /// A header in wire order of its arguments.
    pub fn new(dst: MacAddr, src: MacAddr, ethertype: EtherType) -> Self {
        Self { dst, src, ethertype }
    }
}

/// Type of the payload of an Ethernet header or a VLAN tag; below 1536 it is an IEEE 802.3 length
/// in bytes.
///
/// Kept in network order, so comparing with a constant needs no byte swap.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct EtherType([u8; 2]);

impl EtherType {
    /// No type but a length: less than 0x600. LLC follows (IEEE 802.2).
    pub const LENGTH: Self = Self::new(0);
    /// IPv4.
    pub const IP4: Self = Self::new(0x0800);
    /// Address resolution (RFC 826).
    pub const ARP: Self = Self::new(0x0806);
    /// Transparent Ethernet bridging, a frame inside GRE or NSH.
    pub const TRANSPARENT_BRIDGING: Self = Self::new(0x6558);
    /// Customer VLAN tag (IEEE 802.1Q).
    pub const VLAN: Self = Self::new(0x8100);
    /// IPv6.
    pub const IP6: Self = Self::new(0x86dd);
    /// Link aggregation and other slow protocols (IEEE 802.3 annex 57A).
    pub const SLOW_PROTOCOLS: Self = Self::new(0x8809);
    /// MPLS (RFC 3032).
    pub const MPLS: Self = Self::new(0x8847);
    /// MPLS with upstream-assigned labels (RFC 5332).
    pub const MPLS_UPSTREAM: Self = Self::new(0x8848);
    /// PPPoE discovery stage (RFC 2516).
    pub const PPPOE_DISCOVERY: Self = Self::new(0x8863);
    /// PPPoE session stage (RFC 2516).
    pub const PPPOE_SESSION: Self = Self::new(0x8864);
    /// Port authentication, EAPOL (IEEE 802.1X).
    pub const EAPOL: Self = Self::new(0x888e);
    /// Service VLAN tag (IEEE 802.1ad).
    pub const QINQ: Self = Self::new(0x88a8);
    /// Link layer discovery (IEEE 802.1AB).
    pub const LLDP: Self = Self::new(0x88cc);
    /// MAC security (IEEE 802.1AE).
    pub const MACSEC: Self = Self::new(0x88e5);
    /// Network service header (RFC 8300).
    pub const NSH: Self = Self::new(0x894f);

    /// From its number in host order.
    pub const fn new(number: u16) -> Self {
        Self(number.to_be_bytes())
    }

    /// Itself, or [`EtherType::LENGTH`] for any length.
    pub fn or_length(self) -> Self {
        if self.get() < 0x600 { Self::LENGTH } else { self }
    }
    /// Its number in host order.
    #[inline]
    pub const fn get(self) -> u16 {
        u16::from_be_bytes(self.0)
    }

    /// Whether a [`crate::vlan::Tag`] follows.
    #[inline]
    pub fn is_vlan(self) -> bool {
        self == Self::VLAN || self == Self::QINQ
    }
}

/// The name operators know from packet traces, else hexadecimal: `IP4`, `0x88b5`.
impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::IP4 => "IP4",
            Self::ARP => "ARP",
            Self::TRANSPARENT_BRIDGING => "BRIDGING",
            Self::VLAN => "VLAN",
            Self::IP6 => "IP6",
            Self::SLOW_PROTOCOLS => "SLOW_PROTOCOLS",
            Self::MPLS => "MPLS",
            Self::MPLS_UPSTREAM => "MPLS_UPSTREAM_ASSIGNED",
            Self::PPPOE_DISCOVERY => "PPPOE_DISCOVERY",
            Self::PPPOE_SESSION => "PPPOE_SESSION",
            Self::EAPOL => "802_1X_AUTHENTICATION",
            Self::QINQ => "DOT1AD",
            Self::LLDP => "802_1_LLDP",
            Self::MACSEC => "MACSEC",
            Self::NSH => "NSH",
            _ => return write!(f, "{:#06x}", self.get()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_reads_in_place() {
        let bytes = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60];
        let (header, rest) = Header::ref_from_prefix(&bytes).unwrap();
        assert_eq!(header.dst, MacAddr([2, 0, 0, 0, 0, 0xaa]));
        assert_eq!(header.src, MacAddr([2, 0, 0, 0, 0, 1]));
        assert_eq!(header.ethertype, EtherType::IP6);
        assert_eq!(header.ethertype.get(), 0x86dd);
        assert_eq!(rest, [0x60]);
    }

    #[test]
    fn names_known_and_unknown() {
        assert_eq!(EtherType::IP4.to_string(), "IP4");
        assert_eq!(EtherType::new(0x88b5).to_string(), "0x88b5");
        assert_eq!(EtherType::new(0x26).to_string(), "0x0026");
    }
}
