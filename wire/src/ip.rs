//! What IPv4 and IPv6 share: protocol numbers, DSCP (RFC 2474) and ECN (RFC 3168).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An IP protocol number (IANA), also the "next header" of IPv6.
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
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// IGMP.
    pub const IGMP: Self = Self(2);
    /// IPv4 encapsulation.
    pub const IP4: Self = Self(4);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// IPv6 encapsulation.
    pub const IP6: Self = Self(41);
    /// IPv6 routing header.
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header.
    pub const FRAGMENT: Self = Self(44);
    /// GRE.
    pub const GRE: Self = Self(47);
    /// Encapsulating security payload.
    pub const ESP: Self = Self(50);
    /// Authentication header.
    pub const AH: Self = Self(51);
    /// ICMPv6.
    pub const ICMP6: Self = Self(58);
    /// Nothing follows.
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// IPv6 destination options.
    pub const DESTINATION_OPTIONS: Self = Self(60);
    /// EIGRP.
    pub const EIGRP: Self = Self(88);
    /// OSPF.
    pub const OSPF: Self = Self(89);
    /// PIM.
    pub const PIM: Self = Self(103);
    /// VRRP.
    pub const VRRP: Self = Self(112);
    /// L2TP version 3.
    pub const L2TP: Self = Self(115);
    /// SCTP.
    pub const SCTP: Self = Self(132);
    /// IPv6 mobility header.
    pub const MOBILITY: Self = Self(135);
    /// UDP-Lite.
    pub const UDP_LITE: Self = Self(136);
    /// MPLS in IP.
    pub const MPLS: Self = Self(137);
    /// Host identity protocol, an IPv6 extension header.
    pub const HIP: Self = Self(139);
    /// Shim6, an IPv6 extension header.
    pub const SHIM6: Self = Self(140);
    /// An Ethernet frame (RFC 8986).
    pub const ETHERNET: Self = Self(143);

    /// Whether the header starts with a source and a destination port of 16 bits each.
    #[inline]
    pub fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::SCTP | Self::UDP_LITE)
    }
}

/// The name operators know from packet traces, else the number: `UDP`, `253`.
impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::HOP_BY_HOP => "IP6_HOP_BY_HOP_OPTIONS",
            Self::ICMP => "ICMP",
            Self::IGMP => "IGMP",
            Self::IP4 => "IP_IN_IP",
            Self::TCP => "TCP",
            Self::UDP => "UDP",
            Self::IP6 => "IPV6",
            Self::ROUTING => "IPV6_ROUTE",
            Self::FRAGMENT => "IPV6_FRAGMENTATION",
            Self::GRE => "GRE",
            Self::ESP => "IPSEC_ESP",
            Self::AH => "IPSEC_AH",
            Self::ICMP6 => "ICMP6",
            Self::NO_NEXT_HEADER => "IP6_NONXT",
            Self::DESTINATION_OPTIONS => "IP6_DESTINATION_OPTIONS",
            Self::EIGRP => "EIGRP",
            Self::OSPF => "OSPF",
            Self::PIM => "PIM",
            Self::VRRP => "VRRP",
            Self::L2TP => "L2TP",
            Self::SCTP => "SCTP",
            Self::MOBILITY => "MOBILITY",
            Self::UDP_LITE => "UDP_LITE",
            Self::MPLS => "MPLS_IN_IP",
            Self::HIP => "HIP",
            Self::SHIM6 => "SHIM6",
            Self::ETHERNET => "ETHERNET",
            Self(number) => return number.fmt(f),
        })
    }
}

/// Differentiated services code point: the upper six bits of the TOS or traffic class byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Default forwarding.
    pub const CS0: Self = Self(0);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Self = Self(46);
    /// Network control, what routing protocols use.
    pub const CS6: Self = Self(48);

    /// `None` when `value` does not fit 6 bits.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// The code point of a TOS or traffic class byte.
    #[inline]
    pub const fn of_traffic_class(byte: u8) -> Self {
        Self(byte >> 2)
    }

    /// Its value, 0..=63.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Name of the class (RFC 2474, 2597, 3246), else the number: `AF21`, `44`.
impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, precedence) = (self.0 >> 3, self.0 & 7);
        match (class, precedence) {
            (_, 0) => write!(f, "CS{class}"),
            (1..=4, 2 | 4 | 6) => write!(f, "AF{class}{}", precedence / 2),
            (5, 6) => f.write_str("EF"),
            _ => self.0.fmt(f),
        }
    }
}

/// Explicit congestion notification: the lower two bits of the TOS or traffic class byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand ECN.
    NotCapable = 0,
    /// Capable, code 1.
    Capable1 = 1,
    /// Capable, code 0.
    Capable0 = 2,
    /// Congestion experienced.
    Congestion = 3,
}

impl Ecn {
    /// The notification of a TOS or traffic class byte.
    #[inline]
    pub const fn of_traffic_class(byte: u8) -> Self {
        match byte & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Congestion,
        }
    }
}

/// As packet traces spell it: `NON_ECN`.
impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotCapable => "NON_ECN",
            Self::Capable1 => "ECT_1",
            Self::Capable0 => "ECT_0",
            Self::Congestion => "CE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_known_and_unknown() {
        assert_eq!(Protocol(17).to_string(), "UDP");
        assert_eq!(Protocol(253).to_string(), "253");
        assert_eq!(format!("{:>6}", Protocol::TCP), "   TCP");
    }

    #[test]
    fn code_points() {
        let names = |byte| Dscp::of_traffic_class(byte).to_string();
        // RFC 4594 figure 3
        assert_eq!(names(0), "CS0");
        assert_eq!(names(18 << 2), "AF21");
        assert_eq!(names(38 << 2), "AF43");
        assert_eq!(names(46 << 2), "EF");
        assert_eq!(names(56 << 2), "CS7");
        assert_eq!(names(42 << 2), "42");
        assert_eq!(names(44 << 2), "44");
        assert_eq!(Ecn::of_traffic_class(0xfe).to_string(), "ECT_0");
        assert_eq!(Dscp::new(64), None);
    }
}
