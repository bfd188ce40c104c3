//! Packets as sessions see them: their flow, and for ICMP errors that of the packet they quote.

use graph::Ports;
use net::prelude::*;
use wire::tcp::Flags;

use crate::flow::{Address, Flow};

/// Bytes of an ICMP header.
pub const ICMP_HEADER: usize = 8;

/// The upper layer of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP with these flags; fragments but the first have none.
    Tcp(Flags),
    /// UDP.
    Udp,
    /// An ICMP echo request or, if true, reply.
    Echo(bool),
    /// An ICMP error; the packet that it quotes starts so many bytes from the IP header.
    Error(usize),
    /// Another ICMP message.
    Icmp,
    /// Another protocol.
    Other,
}

/// A packet as sessions see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<A> {
    /// Its flow. Of an ICMP error it is the flow of the quoted packet with ends exchanged, which is
    /// the direction in which the error goes: so it finds the session in the right direction.
    pub flow: Flow<A>,
    /// The upper layer.
    pub kind: Kind,
    /// Where the upper layer's header is, in bytes from the IP header.
    pub upper: usize,
    /// Whether the upper layer's header is in this packet, not in an earlier fragment.
    pub has_upper: bool,
}

/// An IP version whose packets can be seen so.
pub trait Look: Address {
    /// A packet that starts with its IP header, in a table. `ports` are those of the first
    /// fragment, if there was one ([`graph::Buffer::ports`]). `None` if the packet ends within the
    /// fields read, or is a fragment with unknown ports.
    fn look(packet: &[u8], ports: Option<Ports>, scope: u32) -> Option<Seen<Self>>;
}

/// The ports, echo identifier or TCP flags of an upper layer.
fn upper(protocol: Protocol, bytes: &[u8]) -> Option<(Ports, Kind)> {
    let number = |at: usize| {
        let pair = bytes.get(at..at + 2)?;
        Some(u16::from_be_bytes([pair[0], pair[1]]))
    };
    let ports = || Some(Ports { src: number(0)?, dst: number(2)? });
    let echo = |is_reply| Some((Ports { src: number(4)?, dst: number(4)? }, Kind::Echo(is_reply)));
    let none = Ports { src: 0, dst: 0 };
    match protocol {
        Protocol::TCP => Some((ports()?, Kind::Tcp(Flags(*bytes.get(13).unwrap_or(&0))))),
        Protocol::UDP => Some((ports()?, Kind::Udp)),
        Protocol::ICMP => match icmp4::Type(*bytes.first()?) {
            kind if kind.is_error() => Some((none, Kind::Error(0))),
            kind => kind.query().map_or(Some((none, Kind::Icmp)), echo),
        },
        Protocol::ICMP6 => match icmp6::Type(*bytes.first()?) {
            icmp6::Type::ECHO_REQUEST => echo(false),
            icmp6::Type::ECHO_REPLY => echo(true),
            kind if kind.is_error() => Some((none, Kind::Error(0))),
            _ => Some((none, Kind::Icmp)),
        },
        _ => Some((none, Kind::Other)),
    }
}

/// The kind of a fragment without its upper layer's header.
fn kind_of(protocol: Protocol) -> Kind {
    match protocol {
        Protocol::TCP => Kind::Tcp(Flags(0)),
        Protocol::UDP => Kind::Udp,
        Protocol::ICMP | Protocol::ICMP6 => Kind::Echo(false),
        _ => Kind::Other,
    }
}

/// Ends, protocol and offset of the upper layer of a packet, whether that is in it.
struct Network<A> {
    src: A,
    dst: A,
    protocol: Protocol,
    offset: usize,
    has_upper: bool,
}

#[inline]
fn network4(packet: &[u8]) -> Option<Network<[u8; 4]>> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    Some(Network {
        src: header.src,
        dst: header.dst,
        protocol: header.protocol,
        offset: header.header_len(),
        has_upper: header.fragment_offset() == 0,
    })
}

#[inline]
fn network6(packet: &[u8]) -> Option<Network<[u8; 16]>> {
    let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
    let upper = ip6::upper_layer(packet)?;
    Some(Network {
        src: header.src,
        dst: header.dst,
        protocol: upper.protocol,
        offset: upper.offset,
        has_upper: upper.fragment.is_none_or(|f| f.offset() == 0),
    })
}

#[inline(always)]
fn look<A: Address>(
    packet: &[u8],
    ports: Option<Ports>,
    scope: u32,
    network: impl Fn(&[u8]) -> Option<Network<A>>,
) -> Option<Seen<A>> {
    let n = network(packet)?;
    let (ports, kind) = match (n.has_upper, ports) {
        (true, _) => upper(n.protocol, packet.get(n.offset..)?)?,
        (false, Some(ports)) => (ports, kind_of(n.protocol)),
        (false, None) if kind_of(n.protocol) == Kind::Other => {
            (Ports { src: 0, dst: 0 }, Kind::Other)
        }
        (false, None) => return None,
    };
    let flow = Flow::new((n.src, ports.src), (n.dst, ports.dst), n.protocol, scope);
    let seen = Seen { flow, kind, upper: n.offset, has_upper: n.has_upper };
    if kind == Kind::Error(0) { quoted(packet, seen, scope, network) } else { Some(seen) }
}

/// An ICMP error with the flow of the packet that it quotes. One that quotes an error, or a
/// fragment without ports, belongs to nothing.
#[cold]
fn quoted<A: Address>(
    packet: &[u8],
    seen: Seen<A>,
    scope: u32,
    network: impl Fn(&[u8]) -> Option<Network<A>>,
) -> Option<Seen<A>> {
    let at = seen.upper + ICMP_HEADER;
    let inner = packet.get(at..)?;
    let n = network(inner).filter(|n| n.has_upper)?;
    let (ports, kind) = upper(n.protocol, inner.get(n.offset..)?)?;
    if matches!(kind, Kind::Error(_)) {
        return None;
    }
    let flow = Flow::new((n.src, ports.src), (n.dst, ports.dst), n.protocol, scope).reversed();
    Some(Seen { flow, kind: Kind::Error(at), ..seen })
}

impl Look for [u8; 4] {
    #[inline(always)]
    fn look(packet: &[u8], ports: Option<Ports>, scope: u32) -> Option<Seen<Self>> {
        look(packet, ports, scope, network4)
    }
}

impl Look for [u8; 16] {
    #[inline(always)]
    fn look(packet: &[u8], ports: Option<Ports>, scope: u32) -> Option<Seen<Self>> {
        look(packet, ports, scope, network6)
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::*;

    const HOST: [u8; 4] = [10, 0, 0, 1];
    const SERVER: [u8; 4] = [192, 0, 2, 1];

    fn udp(src: [u8; 4], dst: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
        let header = ip4::Header::new(src.into(), dst.into(), Protocol::UDP, 28);
        let udp = wire::udp::Header::new(ports[0], ports[1], 8);
        [header.as_bytes(), udp.as_bytes()].concat()
    }

    #[test]
    fn an_icmp_error_is_of_the_flow_that_answers_the_quoted_packet() {
        let sent = udp(HOST, SERVER, [1000, 53]);
        let reply = <[u8; 4]>::look(&udp(SERVER, HOST, [53, 1000]), None, 0).unwrap();
        let router = [198, 51, 100, 1];
        let header = ip4::Header::new(router.into(), HOST.into(), Protocol::ICMP, 56);
        let error = [header.as_bytes(), &[11, 0, 0, 0, 0, 0, 0, 0], &sent].concat();
        let seen = <[u8; 4]>::look(&error, None, 0).unwrap();
        assert_eq!((seen.flow, seen.kind), (reply.flow, Kind::Error(28)));
        for len in 0..56 {
            let cut = <[u8; 4]>::look(&error[..len], None, 0);
            assert!(len >= 52 || cut.is_none(), "{len}");
        }
    }

    #[test]
    fn a_later_fragment_has_the_ports_of_the_first_or_no_flow() {
        let mut later = udp(HOST, SERVER, [0xdead, 0xbeef]);
        later[7] = 1;
        assert_eq!(<[u8; 4]>::look(&later, None, 0), None);
        let ports = Ports { src: 1000, dst: 53 };
        let seen = <[u8; 4]>::look(&later, Some(ports), 0).unwrap();
        let whole = <[u8; 4]>::look(&udp(HOST, SERVER, [1000, 53]), None, 0).unwrap();
        assert_eq!((seen.flow, seen.has_upper), (whole.flow, false));
    }

    #[test]
    fn an_error_about_an_error_belongs_to_nothing() {
        let header = ip4::Header::new(SERVER.into(), HOST.into(), Protocol::ICMP, 84);
        let inner = ip4::Header::new(HOST.into(), SERVER.into(), Protocol::ICMP, 56);
        let unreachable = [3, 3, 0, 0, 0, 0, 0, 0];
        let all = [header.as_bytes(), &unreachable, inner.as_bytes(), &unreachable].concat();
        assert_eq!(<[u8; 4]>::look(&all, None, 0), None);
    }
}
