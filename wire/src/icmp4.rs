//! ICMP for IPv4 (RFC 792, RFC 1191).

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

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
    /// Octet pointed at (parameter problem), length of the original datagram in 32-bit words
    /// (second byte, RFC 4884), or zero.
    pub pointer: [u8; 2],
    /// MTU of the next hop in bytes with [`code::FRAGMENTATION_NEEDED`] (RFC 1191), or zero.
    pub mtu: U16,
}

number! {
    /// Message type.
    pub struct Type, else "type {}";
    /// Echo reply.
    ECHO_REPLY = 0, "echo_reply";
    /// Destination unreachable.
    DESTINATION_UNREACHABLE = 3, "destination_unreachable";
    /// Source quench, deprecated by RFC 6633.
    SOURCE_QUENCH = 4, "source_quench";
    /// Redirect.
    REDIRECT = 5, "redirect";
    /// Echo request.
    ECHO_REQUEST = 8, "echo_request";
    /// Router advertisement (RFC 1256).
    ROUTER_ADVERTISEMENT = 9, "router_advertisement";
    /// Router solicitation (RFC 1256).
    ROUTER_SOLICITATION = 10, "router_solicitation";
    /// Time exceeded.
    TIME_EXCEEDED = 11, "time_exceeded";
    /// Parameter problem.
    PARAMETER_PROBLEM = 12, "parameter_problem";
    /// Timestamp request.
    TIMESTAMP_REQUEST = 13, "timestamp_request";
    /// Timestamp reply.
    TIMESTAMP_REPLY = 14, "timestamp_reply";
    /// Information request, deprecated by RFC 6918.
    INFORMATION_REQUEST = 15, "information_request";
    /// Information reply, deprecated by RFC 6918.
    INFORMATION_REPLY = 16, "information_reply";
    /// Address mask request, deprecated by RFC 6918.
    ADDRESS_MASK_REQUEST = 17, "address_mask_request";
    /// Address mask reply, deprecated by RFC 6918.
    ADDRESS_MASK_REPLY = 18, "address_mask_reply";
}

impl Type {
    /// Whether a query, which has an identifier where echoes have it (RFC 5508 section 3), is a
    /// reply; `None` for other messages.
    #[inline]
    pub fn query(self) -> Option<bool> {
        match self {
            Self::ECHO_REQUEST
            | Self::TIMESTAMP_REQUEST
            | Self::INFORMATION_REQUEST
            | Self::ADDRESS_MASK_REQUEST => Some(false),
            Self::ECHO_REPLY
            | Self::TIMESTAMP_REPLY
            | Self::INFORMATION_REPLY
            | Self::ADDRESS_MASK_REPLY => Some(true),
            _ => None,
        }
    }
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
/// Values of [`Header::code`], those of each type from zero.
pub mod code {
    use super::Type;

    /// Destination unreachable: no route.
    pub const NETWORK_UNREACHABLE: u8 = 0;
    /// Destination unreachable: no neighbour.
    pub const HOST_UNREACHABLE: u8 = 1;
    /// Destination unreachable: unknown protocol.
    pub const PROTOCOL_UNREACHABLE: u8 = 2;
    /// Destination unreachable: closed port.
    pub const PORT_UNREACHABLE: u8 = 3;
    /// Destination unreachable: longer than the MTU and may not be fragmented.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Destination unreachable: packets to the network are filtered (RFC 1122).
    pub const NETWORK_PROHIBITED: u8 = 9;
    /// Destination unreachable: packets to the host are filtered (RFC 1122).
    pub const HOST_PROHIBITED: u8 = 10;
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
