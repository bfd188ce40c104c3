//! Probes, and what answers to them mean.

use net::prelude::*;
use ping::{Header, echo_request};

use super::Answer;

/// Place of the checksum in UDP.
const UDP_CHECKSUM: usize = 6;
/// Headers of an echo request and the time in it.
const ECHO: usize = 16;

/// Kind of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// UDP, the first probe to this port, each further one to the next.
    Udp(u16),
    /// Echo requests.
    Echo,
}

impl Kind {
    /// Length in bytes of the shortest probe to an address.
    pub fn headers(self, dst: IpAddr) -> usize {
        let ip = if dst.is_ipv4() { size_of::<ip4::Header>() } else { size_of::<ip6::Header>() };
        ip + if self == Self::Echo { ECHO } else { size_of::<udp::Header>() }
    }
    /// Number that tells a probe, counted from 0, from the others.
    pub fn seq(self, number: usize) -> u16 {
        match self {
            Self::Udp(port) => port.wrapping_add(number as u16),
            Self::Echo => number as u16,
        }
    }
    /// A probe with `data` bytes behind the headers.
    pub fn packet(self, ip: Header, id: u16, seq: u16, data: usize) -> Vec<u8> {
        match self {
            Self::Echo => echo_request(ip, id, seq, data),
            Self::Udp(_) => {
                let header = udp::Header::new(id, seq, (size_of::<udp::Header>() + data) as u16);
                let mut message = header.as_bytes().to_vec();
                message.extend((0..data).map(|i| i as u8));
                ip.packet(Protocol::UDP, message, UDP_CHECKSUM)
            }
        }
    }
}

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HopResult {
    /// It goes on behind this router.
    OnTheWay,
    /// This is the host.
    Arrived,
    /// It ends here.
    Unreachable(Why),
}

/// Reasons why a way ends before the host, as the letter that operators know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// `!N`
    Network,
    /// `!H`
    Host,
    /// `!P`
    Protocol,
    /// `!F`
    TooBig,
    /// `!X`
    Prohibited,
    /// `!S`
    Scope,
    /// `!` and the code.
    Code(u8),
}

impl HopResult {
    /// Meaning of `answer` to a probe to `dst`.
    pub fn of(answer: &Answer, dst: IpAddr) -> Self {
        let Some((kind, code)) = answer.error else { return Self::Arrived };
        let why = if dst.is_ipv4() { meaning4(kind, code) } else { meaning6(kind, code) };
        match why {
            None => Self::OnTheWay,
            // A protocol error means the host itself.
            Some(Why::Protocol) if answer.from == dst => Self::Arrived,
            Some(Why::Code(PORT)) => Self::Arrived,
            Some(why) => Self::Unreachable(why),
        }
    }
    /// Mark behind the time.
    pub fn mark(self) -> String {
        let letter = match self {
            Self::OnTheWay | Self::Arrived => return String::new(),
            Self::Unreachable(Why::Network) => 'N',
            Self::Unreachable(Why::Host) => 'H',
            Self::Unreachable(Why::Protocol) => 'P',
            Self::Unreachable(Why::TooBig) => 'F',
            Self::Unreachable(Why::Prohibited) => 'X',
            Self::Unreachable(Why::Scope) => 'S',
            Self::Unreachable(Why::Code(code)) => return format!(" !{code}"),
        };
        format!(" !{letter}")
    }
}

/// Stands for an unreachable port: no code has this number.
const PORT: u8 = u8::MAX;

/// Reason for which an ICMP error ends the way; `None` if it does not.
fn meaning4(kind: u8, code: u8) -> Option<Why> {
    use icmp4::code::*;
    match (icmp4::Type(kind), code) {
        (icmp4::Type::TIME_EXCEEDED, _) => None,
        (icmp4::Type::PARAMETER_PROBLEM, _) => Some(Why::Protocol),
        (_, NETWORK_UNREACHABLE) => Some(Why::Network),
        (_, HOST_UNREACHABLE) => Some(Why::Host),
        (_, PROTOCOL_UNREACHABLE) => Some(Why::Protocol),
        (_, PORT_UNREACHABLE) => Some(Why::Code(PORT)),
        (_, FRAGMENTATION_NEEDED) => Some(Why::TooBig),
        (_, NETWORK_PROHIBITED | HOST_PROHIBITED | ADMINISTRATIVELY_PROHIBITED) => {
            Some(Why::Prohibited)
        }
        (_, code) => Some(Why::Code(code)),
    }
}

/// The same for ICMPv6.
fn meaning6(kind: u8, code: u8) -> Option<Why> {
    use icmp6::code::*;
    match (icmp6::Type(kind), code) {
        (icmp6::Type::TIME_EXCEEDED, _) => None,
        (icmp6::Type::PARAMETER_PROBLEM, _) => Some(Why::Protocol),
        (icmp6::Type::PACKET_TOO_BIG, _) => Some(Why::TooBig),
        (_, NO_ROUTE) => Some(Why::Network),
        (_, ADMINISTRATIVELY_PROHIBITED) => Some(Why::Prohibited),
        (_, BEYOND_SCOPE) => Some(Why::Scope),
        (_, ADDRESS_UNREACHABLE) => Some(Why::Host),
        (_, PORT_UNREACHABLE) => Some(Why::Code(PORT)),
        (_, code) => Some(Why::Code(code)),
    }
}
