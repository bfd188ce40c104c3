//! ICMP for IPv4 (RFC 792, RFC 1191).

use std::fmt;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What every message starts with: 4 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// What the message is.
    pub kind: Type,
    /// More about it; the module `code` names some.
    pub code: u8,
    /// Checksum from here to the end of the packet.
    pub checksum: U16,
}

impl Header {
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
pub struct Echo {
    /// Type [`Type::ECHO_REQUEST`] or [`Type::ECHO_REPLY`], code 0.
    pub icmp: Header,
    /// Which run of ping it belongs to.
    pub id: U16,
    /// Counts up in a run.
    pub seq: U16,
}

/// Error message: 8 bytes before the packet it is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Error {
    /// Type and code.
    pub icmp: Header,
    /// Octet pointed at (parameter problem), length of the original datagram in 32-bit words
    /// (second byte, RFC 4884), or zero.
    pub pointer: [u8; 2],
    /// MTU of the next hop in bytes with [`code::FRAGMENTATION_NEEDED`] (RFC 1191), or zero.
    pub mtu: U16,
}

/// Message type.
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
pub struct Type(pub u8);

impl Type {
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(0);
    /// Destination unreachable.
    pub const DESTINATION_UNREACHABLE: Self = Self(3);
    /// Source quench, deprecated by RFC 6633.
    pub const SOURCE_QUENCH: Self = Self(4);
    /// Redirect.
    pub const REDIRECT: Self = Self(5);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(8);
    /// Router advertisement (RFC 1256).
    pub const ROUTER_ADVERTISEMENT: Self = Self(9);
    /// Router solicitation (RFC 1256).
    pub const ROUTER_SOLICITATION: Self = Self(10);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(11);
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: Self = Self(12);
    /// Timestamp request.
    pub const TIMESTAMP_REQUEST: Self = Self(13);
    /// Timestamp reply.
    pub const TIMESTAMP_REPLY: Self = Self(14);
    /// Information request, deprecated by RFC 6918.
    pub const INFORMATION_REQUEST: Self = Self(15);
    /// Information reply, deprecated by RFC 6918.
    pub const INFORMATION_REPLY: Self = Self(16);

    /// Whether such messages answer a packet that failed; none may be sent about one of these
    /// (RFC 1122 section 3.2.2).
    #[inline]
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Self::DESTINATION_UNREACHABLE
                | Self::SOURCE_QUENCH
                | Self::REDIRECT
                | Self::TIME_EXCEEDED
                | Self::PARAMETER_PROBLEM
        )
    }
}

/// Names as in packet traces, else the number: `echo_request`, `type 42`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::ECHO_REPLY => "echo_reply",
            Self::DESTINATION_UNREACHABLE => "destination_unreachable",
            Self::SOURCE_QUENCH => "source_quench",
            Self::REDIRECT => "redirect",
            Self::ECHO_REQUEST => "echo_request",
            Self::ROUTER_ADVERTISEMENT => "router_advertisement",
            Self::ROUTER_SOLICITATION => "router_solicitation",
            Self::TIME_EXCEEDED => "time_exceeded",
            Self::PARAMETER_PROBLEM => "parameter_problem",
            Self::TIMESTAMP_REQUEST => "timestamp_request",
            Self::TIMESTAMP_REPLY => "timestamp_reply",
            Self::INFORMATION_REQUEST => "information_request",
            Self::INFORMATION_REPLY => "information_reply",
            Self(number) => return write!(f, "type {number}"),
        })
    }
}

/// Values of [`Header::code`], those of each type from zero.
pub mod code {
    use super::Type;

    /// Destination unreachable: no route.
    pub const NETWORK_UNREACHABLE: u8 = 0;
    /// Destination unreachable: no neighbour.
    pub const HOST_UNREACHABLE: u8 = 1;
    /// Destination unreachable: nobody takes the protocol.
    pub const PROTOCOL_UNREACHABLE: u8 = 2;
    /// Destination unreachable: nobody listens on the port.
    pub const PORT_UNREACHABLE: u8 = 3;
    /// Destination unreachable: longer than the MTU and may not be fragmented.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Destination unreachable: filtered (RFC 1812).
    pub const ADMINISTRATIVELY_PROHIBITED: u8 = 13;
    /// Time exceeded: TTL used up.
    pub const TTL_EXCEEDED: u8 = 0;
    /// Time exceeded: fragments missing.
    pub const REASSEMBLY_TIME_EXCEEDED: u8 = 1;

    /// Name as in packet traces; `None` for other codes and for types without codes.
    pub fn name(kind: Type, code: u8) -> Option<&'static str> {
        Some(match (kind, code) {
            (Type::DESTINATION_UNREACHABLE, NETWORK_UNREACHABLE) => "network_unreachable",
            (Type::DESTINATION_UNREACHABLE, HOST_UNREACHABLE) => "host_unreachable",
            (Type::DESTINATION_UNREACHABLE, PROTOCOL_UNREACHABLE) => "protocol_unreachable",
            (Type::DESTINATION_UNREACHABLE, PORT_UNREACHABLE) => "port_unreachable",
            (Type::DESTINATION_UNREACHABLE, FRAGMENTATION_NEEDED) => "fragmentation_needed",
            (Type::DESTINATION_UNREACHABLE, ADMINISTRATIVELY_PROHIBITED) => {
                "administratively_prohibited"
            }
            (Type::TIME_EXCEEDED, TTL_EXCEEDED) => "ttl_exceeded_in_transit",
            (Type::TIME_EXCEEDED, REASSEMBLY_TIME_EXCEEDED) => "fragment_reassembly_time_exceeded",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let icmp = Header::new(Type::ECHO_REQUEST, 0);
        let echo = Echo { icmp, id: 1.into(), seq: 2.into() };
        assert_eq!(echo.as_bytes(), [8, 0, 0, 0, 0, 1, 0, 2]);
        let icmp = Header::new(Type::DESTINATION_UNREACHABLE, code::FRAGMENTATION_NEEDED);
        let error = Error { icmp, pointer: [0; 2], mtu: 1400.into() };
        assert_eq!(error.as_bytes(), [3, 4, 0, 0, 0, 0, 5, 0x78]);
        assert!(error.icmp.kind.is_error() && !echo.icmp.kind.is_error());
    }
}
