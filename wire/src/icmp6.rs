//! ICMPv6 (RFC 4443). Neighbour discovery messages are in [`crate::nd`].

use std::fmt;

use zerocopy::byteorder::network_endian::{U16, U32};
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
    /// Checksum over the IPv6 pseudo header and from here to the end of the packet.
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
    /// MTU of the next hop in bytes (packet too big), octet pointed at (parameter problem), or 0.
    pub value: U32,
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
    /// Destination unreachable.
    pub const DESTINATION_UNREACHABLE: Self = Self(1);
    /// Longer than the MTU.
    pub const PACKET_TOO_BIG: Self = Self(2);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(3);
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: Self = Self(4);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(128);
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(129);
    /// Multicast listener query (RFC 2710).
    pub const MULTICAST_LISTENER_QUERY: Self = Self(130);
    /// Multicast listener report (RFC 2710).
    pub const MULTICAST_LISTENER_REPORT: Self = Self(131);
    /// Multicast listener done (RFC 2710).
    pub const MULTICAST_LISTENER_DONE: Self = Self(132);
    /// Router solicitation (RFC 4861).
    pub const ROUTER_SOLICITATION: Self = Self(133);
    /// Router advertisement (RFC 4861).
    pub const ROUTER_ADVERTISEMENT: Self = Self(134);
    /// Neighbour solicitation (RFC 4861).
    pub const NEIGHBOR_SOLICITATION: Self = Self(135);
    /// Neighbour advertisement (RFC 4861).
    pub const NEIGHBOR_ADVERTISEMENT: Self = Self(136);
    /// Redirect (RFC 4861).
    pub const REDIRECT: Self = Self(137);
    /// Multicast listener report version 2 (RFC 3810).
    pub const MULTICAST_LISTENER_REPORT_V2: Self = Self(143);

    /// Whether such messages answer a packet that failed; none may be sent about one of these
    /// (RFC 4443 section 2.4).
    #[inline]
    pub fn is_error(self) -> bool {
        self.0 < 128
    }
}

/// Names as in packet traces, else the number: `echo_request`, `type 200`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::DESTINATION_UNREACHABLE => "destination_unreachable",
            Self::PACKET_TOO_BIG => "packet_too_big",
            Self::TIME_EXCEEDED => "time_exceeded",
            Self::PARAMETER_PROBLEM => "parameter_problem",
            Self::ECHO_REQUEST => "echo_request",
            Self::ECHO_REPLY => "echo_reply",
            Self::MULTICAST_LISTENER_QUERY => "multicast_listener_request",
            Self::MULTICAST_LISTENER_REPORT => "multicast_listener_report",
            Self::MULTICAST_LISTENER_DONE => "multicast_listener_done",
            Self::ROUTER_SOLICITATION => "router_solicitation",
            Self::ROUTER_ADVERTISEMENT => "router_advertisement",
            Self::NEIGHBOR_SOLICITATION => "neighbor_solicitation",
            Self::NEIGHBOR_ADVERTISEMENT => "neighbor_advertisement",
            Self::REDIRECT => "redirect",
            Self::MULTICAST_LISTENER_REPORT_V2 => "multicast_listener_report_v2",
            Self(number) => return write!(f, "type {number}"),
        })
    }
}

/// Values of [`Header::code`], those of each type from zero.
pub mod code {
    use super::Type;

    /// Destination unreachable: no route.
    pub const NO_ROUTE: u8 = 0;
    /// Destination unreachable: filtered.
    pub const ADMINISTRATIVELY_PROHIBITED: u8 = 1;
    /// Destination unreachable: the source address has a smaller scope.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Destination unreachable: no neighbour.
    pub const ADDRESS_UNREACHABLE: u8 = 3;
    /// Destination unreachable: nobody listens on the port.
    pub const PORT_UNREACHABLE: u8 = 4;
    /// Time exceeded: hop limit used up.
    pub const HOP_LIMIT_EXCEEDED: u8 = 0;
    /// Time exceeded: fragments missing.
    pub const REASSEMBLY_TIME_EXCEEDED: u8 = 1;
    /// Parameter problem: a field is wrong.
    pub const ERRONEOUS_HEADER: u8 = 0;
    /// Parameter problem: the first fragment has not all headers (RFC 7112).
    pub const INCOMPLETE_HEADER_CHAIN: u8 = 3;
    /// Parameter problem: next header not understood.
    pub const UNKNOWN_NEXT_HEADER: u8 = 1;

    /// Name as in packet traces; `None` for other codes and for types without codes.
    pub fn name(kind: Type, code: u8) -> Option<&'static str> {
        Some(match (kind, code) {
            (Type::DESTINATION_UNREACHABLE, NO_ROUTE) => "no_route_to_destination",
            (Type::DESTINATION_UNREACHABLE, ADMINISTRATIVELY_PROHIBITED) => {
                "destination_administratively_prohibited"
            }
            (Type::DESTINATION_UNREACHABLE, BEYOND_SCOPE) => "beyond_scope_of_source_address",
            (Type::DESTINATION_UNREACHABLE, ADDRESS_UNREACHABLE) => "address_unreachable",
            (Type::DESTINATION_UNREACHABLE, PORT_UNREACHABLE) => "port_unreachable",
            (Type::TIME_EXCEEDED, HOP_LIMIT_EXCEEDED) => "ttl_exceeded_in_transit",
            (Type::TIME_EXCEEDED, REASSEMBLY_TIME_EXCEEDED) => "fragment_reassembly_time_exceeded",
            (Type::PARAMETER_PROBLEM, ERRONEOUS_HEADER) => "erroneous_header_field",
            (Type::PARAMETER_PROBLEM, INCOMPLETE_HEADER_CHAIN) => "incomplete_header_chain",
            (Type::PARAMETER_PROBLEM, UNKNOWN_NEXT_HEADER) => "unrecognized_next_header",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let icmp = Header::new(Type::ECHO_REPLY, 0);
        let echo = Echo { icmp, id: 1.into(), seq: 2.into() };
        assert_eq!(echo.as_bytes(), [129, 0, 0, 0, 0, 1, 0, 2]);
        let error = Error { icmp: Header::new(Type::PACKET_TOO_BIG, 0), value: 1280.into() };
        assert_eq!(error.as_bytes(), [2, 0, 0, 0, 0, 0, 5, 0]);
        assert!(error.icmp.kind.is_error() && !echo.icmp.kind.is_error());
    }
}
