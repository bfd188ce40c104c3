//! ICMPv6 (RFC 4443). Neighbour discovery messages are in [`crate::nd`].

use zerocopy::byteorder::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes that every link of IPv6 takes in one piece (RFC 8200 section 5).
pub const LEAST_MTU: usize = 1280;

use crate::icmp;
use crate::number::number;

/// The head of every message: 4 bytes.
pub type Header = icmp::Header<Type>;
/// Echo request or reply: 8 bytes before the data.
pub type Echo = icmp::Echo<Type>;

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

number! {
    /// Message type.
    pub struct Type, else "type {}";
    /// Destination unreachable.
    DESTINATION_UNREACHABLE = 1, "destination_unreachable";
    /// Longer than the MTU.
    PACKET_TOO_BIG = 2, "packet_too_big";
    /// Time exceeded.
    TIME_EXCEEDED = 3, "time_exceeded";
    /// Parameter problem.
    PARAMETER_PROBLEM = 4, "parameter_problem";
    /// Echo request.
    ECHO_REQUEST = 128, "echo_request";
    /// Echo reply.
    ECHO_REPLY = 129, "echo_reply";
    /// Multicast listener query (RFC 2710).
    MULTICAST_LISTENER_QUERY = 130, "multicast_listener_request";
    /// Multicast listener report (RFC 2710).
    MULTICAST_LISTENER_REPORT = 131, "multicast_listener_report";
    /// Multicast listener done (RFC 2710).
    MULTICAST_LISTENER_DONE = 132, "multicast_listener_done";
    /// Router solicitation (RFC 4861).
    ROUTER_SOLICITATION = 133, "router_solicitation";
    /// Router advertisement (RFC 4861).
    ROUTER_ADVERTISEMENT = 134, "router_advertisement";
    /// Neighbour solicitation (RFC 4861).
    NEIGHBOR_SOLICITATION = 135, "neighbor_solicitation";
    /// Neighbour advertisement (RFC 4861).
    NEIGHBOR_ADVERTISEMENT = 136, "neighbor_advertisement";
    /// Redirect (RFC 4861).
    REDIRECT = 137, "redirect";
    /// Multicast listener report version 2 (RFC 3810).
    MULTICAST_LISTENER_REPORT_V2 = 143, "multicast_listener_report_v2";
}

impl Type {
    /// Whether such messages answer a packet that failed; none may be sent about one of these
    /// (RFC 4443 section 2.4).
    #[inline]
    pub fn is_error(self) -> bool {
        self.0 < 128
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
    /// Destination unreachable: closed port.
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
