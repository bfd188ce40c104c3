//! Types and codes of ICMP messages for the other version (RFC 7915 sections 4.2 and 5.2).

use super::Error;
use crate::{icmp4, icmp6};

/// Type, code and the four bytes after the checksum of an ICMP message, for ICMPv6 (section 4.2).
///
/// # Errors
/// [`Error::Dropped`].
pub fn icmp4_to_6(
    kind: icmp4::Type,
    code: u8,
    value: u32,
) -> Result<(icmp6::Type, u8, u32), Error> {
    use icmp4::Type as T4;
    use icmp6::Type as T6;
    Ok(match (kind, code) {
        (T4::ECHO_REQUEST, _) => (T6::ECHO_REQUEST, 0, value),
        (T4::ECHO_REPLY, _) => (T6::ECHO_REPLY, 0, value),
        (T4::DESTINATION_UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => {
            (T6::DESTINATION_UNREACHABLE, icmp6::code::NO_ROUTE, 0)
        }
        (T4::DESTINATION_UNREACHABLE, icmp4::code::PROTOCOL_UNREACHABLE) => {
            (T6::PARAMETER_PROBLEM, icmp6::code::UNKNOWN_NEXT_HEADER, 6)
        }
        (T4::DESTINATION_UNREACHABLE, icmp4::code::PORT_UNREACHABLE) => {
            (T6::DESTINATION_UNREACHABLE, icmp6::code::PORT_UNREACHABLE, 0)
        }
        (T4::DESTINATION_UNREACHABLE, icmp4::code::FRAGMENTATION_NEEDED) => {
            (T6::PACKET_TOO_BIG, 0, ((value & 0xffff) + 20).max(1280))
        }
        (T4::DESTINATION_UNREACHABLE, 9 | 10 | 13 | 15) => {
            (T6::DESTINATION_UNREACHABLE, icmp6::code::ADMINISTRATIVELY_PROHIBITED, 0)
        }
        (T4::TIME_EXCEEDED, code) => (T6::TIME_EXCEEDED, code, 0),
        (T4::PARAMETER_PROBLEM, 0 | 2) => {
            let pointer = match value >> 24 {
                same @ 0..=1 => same,
                2 | 3 => 4,
                8 => 7,
                9 => 6,
                12..=15 => 8,
                16..=19 => 24,
                _ => return Err(Error::Dropped),
            };
            (T6::PARAMETER_PROBLEM, icmp6::code::ERRONEOUS_HEADER, pointer)
        }
        _ => return Err(Error::Dropped),
    })
}

/// As [`icmp4_to_6`], the other way round (section 5.2).
///
/// # Errors
/// [`Error::Dropped`].
pub fn icmp6_to_4(
    kind: icmp6::Type,
    code: u8,
    value: u32,
) -> Result<(icmp4::Type, u8, u32), Error> {
    use icmp4::Type as T4;
    use icmp6::Type as T6;
    Ok(match (kind, code) {
        (T6::ECHO_REQUEST, _) => (T4::ECHO_REQUEST, 0, value),
        (T6::ECHO_REPLY, _) => (T4::ECHO_REPLY, 0, value),
        (T6::DESTINATION_UNREACHABLE, 0 | 2 | 3) => {
            (T4::DESTINATION_UNREACHABLE, icmp4::code::HOST_UNREACHABLE, 0)
        }
        (T6::DESTINATION_UNREACHABLE, icmp6::code::ADMINISTRATIVELY_PROHIBITED) => {
            // The standard has "host prohibited" (10), which RFC 1812 replaced by this one.
            (T4::DESTINATION_UNREACHABLE, icmp4::code::ADMINISTRATIVELY_PROHIBITED, 0)
        }
        (T6::DESTINATION_UNREACHABLE, icmp6::code::PORT_UNREACHABLE) => {
            (T4::DESTINATION_UNREACHABLE, icmp4::code::PORT_UNREACHABLE, 0)
        }
        (T6::PACKET_TOO_BIG, _) => {
            let mtu = value.saturating_sub(20).min(0xffff);
            (T4::DESTINATION_UNREACHABLE, icmp4::code::FRAGMENTATION_NEEDED, mtu)
        }
        (T6::TIME_EXCEEDED, code) => (T4::TIME_EXCEEDED, code, 0),
        (T6::PARAMETER_PROBLEM, icmp6::code::ERRONEOUS_HEADER) => {
            let pointer = match value {
                same @ 0..=1 => same,
                4 | 5 => 2,
                6 => 9,
                7 => 8,
                8..=23 => 12,
                24..=39 => 16,
                _ => return Err(Error::Dropped),
            };
            (T4::PARAMETER_PROBLEM, 0, pointer << 24)
        }
        (T6::PARAMETER_PROBLEM, icmp6::code::UNKNOWN_NEXT_HEADER) => {
            (T4::DESTINATION_UNREACHABLE, icmp4::code::PROTOCOL_UNREACHABLE, 0)
        }
        _ => return Err(Error::Dropped),
    })
}
