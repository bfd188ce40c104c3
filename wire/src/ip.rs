//! Common fields of IPv4 and IPv6: protocol numbers, DSCP (RFC 2474) and ECN (RFC 3168).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use zerocopy::FromBytes;

use crate::number::number;
use crate::{Prefix, ip4, ip6};

/// Host of an address where strangers have shares: an IPv4 address, and of IPv6 a /64, as one
/// host may have all addresses of it.
#[inline(always)]
pub fn source_of(addr: IpAddr) -> IpAddr {
    match addr {
        IpAddr::V4(_) => addr,
        IpAddr::V6(addr) => Ipv6Addr::from_bits(addr.to_bits() >> 64 << 64).into(),
    }
}

/// An IP version. As a number, an index: 0 for IPv4, 1 for IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// IPv6 if it is that, else IPv4.
    pub const fn six(is_six: bool) -> Self {
        if is_six { Self::V6 } else { Self::V4 }
    }
    /// `ip4`.
    pub const fn name(self) -> &'static str {
        ["ip4", "ip6"][self as usize]
    }
    /// The address of no host.
    pub const fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Self::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }
    /// Bits of an address.
    pub const fn bits(self) -> u8 {
        [32, 128][self as usize]
    }
    /// `ipv4`.
    pub const fn long_name(self) -> &'static str {
        ["ipv4", "ipv6"][self as usize]
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IpVersion {
    type Err = ();
    fn from_str(word: &str) -> Result<Self, ()> {
        let is_it = |name: &str| name.eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(|v| is_it(v.name()) || is_it(v.long_name())).ok_or(())
    }
}

impl From<IpAddr> for IpVersion {
    fn from(addr: IpAddr) -> Self {
        Self::six(addr.is_ipv6())
    }
}

impl From<Prefix> for IpVersion {
    fn from(prefix: Prefix) -> Self {
        prefix.addr().into()
    }
}

/// The traffic class of an IP packet of either version: DSCP and ECN.
#[inline(always)]
pub fn traffic_class(packet: &[u8]) -> Option<u8> {
    let [first, second] = *packet.first_chunk()?;
    match first >> 4 {
        4 => Some(second),
        6 => Some(first << 4 | second >> 4),
        _ => None,
    }
}

/// Writes the traffic class of an IP packet of either version; leaves what is none alone.
#[inline(always)]
pub fn set_traffic_class(packet: &mut [u8], class: u8) {
    match packet.first().map(|b| b >> 4) {
        Some(4) => {
            if let Ok((header, _)) = ip4::Header::mut_from_prefix(packet) {
                header.set_tos(class);
            }
        }
        Some(6) => {
            if let Ok((header, _)) = ip6::Header::mut_from_prefix(packet) {
                header.set_traffic_class(class);
            }
        }
        _ => (),
    }
}

number! {
    /// An IP protocol number (IANA), also the "next header" of IPv6.
    pub struct Protocol, else "{}";
    /// IPv6 hop-by-hop options.
    HOP_BY_HOP = 0, "IP6_HOP_BY_HOP_OPTIONS";
    /// ICMP for IPv4.
    ICMP = 1, "ICMP";
    /// IGMP.
    IGMP = 2, "IGMP";
    /// IPv4 encapsulation.
    IP4 = 4, "IP_IN_IP";
    /// TCP.
    TCP = 6, "TCP";
    /// UDP.
    UDP = 17, "UDP";
    /// IPv6 encapsulation.
    IP6 = 41, "IPV6";
    /// IPv6 routing header.
    ROUTING = 43, "IPV6_ROUTE";
    /// IPv6 fragment header.
    FRAGMENT = 44, "IPV6_FRAGMENTATION";
    /// GRE.
    GRE = 47, "GRE";
    /// Encapsulating security payload.
    ESP = 50, "IPSEC_ESP";
    /// Authentication header.
    AH = 51, "IPSEC_AH";
    /// ICMPv6.
    ICMP6 = 58, "ICMP6";
    /// Nothing follows.
    NO_NEXT_HEADER = 59, "IP6_NONXT";
    /// IPv6 destination options.
    DESTINATION_OPTIONS = 60, "IP6_DESTINATION_OPTIONS";
    /// EIGRP.
    EIGRP = 88, "EIGRP";
    /// OSPF.
    OSPF = 89, "OSPF";
    /// PIM.
    PIM = 103, "PIM";
    /// VRRP.
    VRRP = 112, "VRRP";
    /// L2TP version 3.
    L2TP = 115, "L2TP";
    /// SCTP.
    SCTP = 132, "SCTP";
    /// IPv6 mobility header.
    MOBILITY = 135, "MOBILITY";
    /// UDP-Lite.
    UDP_LITE = 136, "UDP_LITE";
    /// MPLS in IP.
    MPLS = 137, "MPLS_IN_IP";
    /// Host identity protocol, an IPv6 extension header.
    HIP = 139, "HIP";
    /// Shim6, an IPv6 extension header.
    SHIM6 = 140, "SHIM6";
    /// An Ethernet frame (RFC 8986).
    ETHERNET = 143, "ETHERNET";
}

impl Protocol {
    /// Whether the header starts with a source and a destination port of 16 bits each.
    #[inline]
    pub fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::SCTP | Self::UDP_LITE)
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

/// By name, in capitals or not, or by number.
impl FromStr for Dscp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.parse().ok().and_then(Self::new);
        let named = |dscp: &Self| dscp.to_string().eq_ignore_ascii_case(text);
        number.or_else(|| (0..64).map(Self).find(named)).ok_or(())
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
        assert_eq!(
            ["ef", "AF21", "44", "64", "AF9"].map(|t| t.parse::<Dscp>().ok().map(Dscp::get)),
            [Some(46), Some(18), Some(44), None, None]
        );
    }
}
