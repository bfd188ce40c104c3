//! Traffic selectors (RFC 7296 section 2.9): the packets that the SAs of a tunnel may carry. They
//! are compared with the packets inside the tunnel (RFC 4301 sections 5.1 and 5.2).

use net::prelude::*;

use super::decrypt::MPLS;
use super::protect::gre;
use super::select::Seen;

/// A traffic selector: a range of addresses, a range of ports and a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The protocol; 0 for any.
    pub protocol: u8,
    /// First and last port, or type and code of ICMP messages. A first port above the last one
    /// selects packets whose ports are not known.
    pub ports: (u16, u16),
    /// First and last address, of one IP version.
    pub addrs: (IpAddr, IpAddr),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, ports, addrs } = self;
        write!(f, "addr {} - {} port {} - {}", addrs.0, addrs.1, ports.0, ports.1)?;
        write!(f, " protocol {protocol}")
    }
}

impl Selector {
    /// Selects all traffic of one address.
    pub fn of(addr: IpAddr) -> Self {
        Self { protocol: 0, ports: (0, u16::MAX), addrs: (addr, addr) }
    }
    /// Selects all traffic of an IP version.
    pub fn any(version: IpVersion) -> Self {
        let addrs: (IpAddr, IpAddr) = match version {
            IpVersion::V4 => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into()),
            IpVersion::V6 => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from([0xff; 16]).into()),
        };
        Self { protocol: 0, ports: (0, u16::MAX), addrs }
    }
    /// Intersection with another selector.
    pub fn narrow(&self, other: &Self) -> Option<Self> {
        if self.addrs.0.is_ipv4() != other.addrs.0.is_ipv4() {
            return None;
        }
        let protocol = match (self.protocol, other.protocol) {
            (0, protocol) | (protocol, 0) => protocol,
            (a, b) if a == b => a,
            _ => return None,
        };
        let addrs = (self.addrs.0.max(other.addrs.0), self.addrs.1.min(other.addrs.1));
        let ports = (self.ports.0.max(other.ports.0), self.ports.1.min(other.ports.1));
        (addrs.0 <= addrs.1 && ports.0 <= ports.1).then_some(Self { protocol, ports, addrs })
    }
    /// Whether this selector includes all traffic of another one.
    pub fn covers(&self, other: &Self) -> bool {
        self.narrow(other) == Some(*other)
    }
    fn has(&self, protocol: Protocol, addr: IpAddr, port: Option<u16>) -> bool {
        let is_protocol = self.protocol == 0 || self.protocol == protocol.0;
        let is_port = match self.ports {
            (0, u16::MAX) => true,
            (first, last) if first > last => port.is_none(),
            (first, last) => port.is_some_and(|port| (first..=last).contains(&port)),
        };
        is_protocol
            && is_port
            && self.addrs.0.is_ipv4() == addr.is_ipv4()
            && (self.addrs.0..=self.addrs.1).contains(&addr)
    }
}

/// Content of a packet of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An IPv4 packet.
    Ip4,
    /// An IPv6 packet.
    Ip6,
    /// An MPLS packet, an Ethernet frame, or anything else without addresses to compare.
    Other,
}

impl Content {
    /// Content of a packet before encryption, and its offset behind the tunnel's headers.
    fn of(packet: &[u8], is_bare: bool) -> (Self, usize) {
        let version = packet.first().map_or(0, |first| first >> 4);
        if is_bare {
            return match version {
                4 => (Self::Ip4, 0),
                6 => (Self::Ip6, 0),
                _ => (Self::Other, 0),
            };
        }
        let outer = match version {
            4 => ip4::Header::ref_from_prefix(packet).map(|(h, _)| (h.protocol, h.header_len())),
            _ => {
                let header = ip6::Header::ref_from_prefix(packet);
                return header.map_or((Self::Other, 0), |(h, _)| {
                    Self::behind(packet, h.next_header, size_of::<ip6::Header>())
                });
            }
        };
        outer.map_or((Self::Other, 0), |(protocol, len)| Self::behind(packet, protocol, len))
    }
    fn behind(packet: &[u8], protocol: Protocol, len: usize) -> (Self, usize) {
        match protocol {
            Protocol::IP4 => (Self::Ip4, len),
            Protocol::IP6 => (Self::Ip6, len),
            MPLS => (Self::Other, len),
            Protocol::GRE => match packet.get(len..).and_then(gre) {
                Some((more, EtherType::IP4)) => (Self::Ip4, len + more),
                Some((more, EtherType::IP6)) => (Self::Ip6, len + more),
                _ => (Self::Other, len),
            },
            _ => (Self::Other, len),
        }
    }
}

/// Whether all packets of each content are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open([bool; 3]);

impl Open {
    /// Without selectors.
    pub const ALL: Self = Self([true; 3]);

    /// Whether nothing has to be compared.
    #[inline(always)]
    pub fn is_all(self) -> bool {
        self == Self::ALL
    }
    /// Whether nothing has to be compared in packets of this content.
    #[inline(always)]
    pub fn has(self, content: Content) -> bool {
        self.0[content as usize]
    }
}

/// Traffic selectors of an SA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selectors {
    local: Box<[Selector]>,
    remote: Box<[Selector]>,
    open: Open,
}

impl Selectors {
    /// Creates them from those of this end and of the remote end.
    pub fn new(local: &[Selector], remote: &[Selector]) -> Self {
        let is_open = |version: IpVersion| {
            let has = |all: &[Selector]| all.iter().any(|s| s.covers(&Selector::any(version)));
            has(local) && has(remote)
        };
        let [four, six] = [IpVersion::V4, IpVersion::V6].map(is_open);
        let open = Open([four, six, four && six]);
        Self { local: local.into(), remote: remote.into(), open }
    }
    /// Contents of which all packets are selected.
    pub fn open(&self) -> Open {
        self.open
    }
    /// The selectors of this end, and those of the remote end.
    pub fn ends(&self) -> [&[Selector]; 2] {
        [&self.local, &self.remote]
    }
    /// Whether a packet with the given protocol between two addresses is selected, whatever its
    /// ports.
    pub fn has_between(&self, protocol: Protocol, local: IpAddr, remote: IpAddr) -> bool {
        let has = |all: &[Selector], addr: IpAddr| all.iter().any(|s| s.has(protocol, addr, None));
        has(&self.local, local) && has(&self.remote, remote)
    }
    /// Whether a packet may be sent; it begins with the headers of its tunnel, unless it is bare.
    #[inline(never)]
    pub fn may_leave(&self, packet: &[u8], is_bare: bool) -> bool {
        let (content, offset) = Content::of(packet, is_bare);
        self.open.has(content)
            || packet.get(offset..).is_some_and(|packet| self.select(packet, content, true))
    }
    /// Whether a decrypted packet behind the headers of its tunnel may be received.
    #[inline(never)]
    pub fn may_enter(&self, packet: &[u8], content: Content) -> bool {
        self.open.has(content) || self.select(packet, content, false)
    }
    fn select(&self, packet: &[u8], content: Content, is_outbound: bool) -> bool {
        let is_6 = content == Content::Ip6;
        let Some(seen) = Seen::of(packet, is_6).filter(|_| content != Content::Other) else {
            return false;
        };
        self.has(&seen, packet, is_6, is_outbound)
            || cause(packet, &seen, is_6).is_some_and(|cause| {
                let quoted = Seen::of(cause, is_6);
                quoted.is_some_and(|quoted| self.has(&quoted, cause, is_6, !is_outbound))
            })
    }
    fn has(&self, seen: &Seen, packet: &[u8], is_6: bool, is_outbound: bool) -> bool {
        let addr = |bits: u128| match is_6 {
            true => IpAddr::V6(Ipv6Addr::from(bits)),
            false => IpAddr::V4(Ipv4Addr::from(bits as u32)),
        };
        let message = message(packet, seen);
        let port = |of: fn((u16, u16)) -> u16| message.or(seen.ports.map(of));
        let src = (addr(seen.src), port(|ports| ports.0));
        let dst = (addr(seen.dst), port(|ports| ports.1));
        let (local, remote) = if is_outbound { (src, dst) } else { (dst, src) };
        let any = |all: &[Selector], (addr, port): (IpAddr, Option<u16>)| {
            all.iter().any(|s| s.has(seen.protocol, addr, port))
        };
        any(&self.local, local) && any(&self.remote, remote)
    }
}

/// Traffic selectors that packets of a tunnel are compared with before encryption, if not all are
/// selected.
#[derive(Clone, Copy)]
pub struct Limits<'e> {
    pub selectors: Option<&'e Selectors>,
    /// Whether the tunnel prepends no headers.
    pub is_bare: bool,
}

impl<'e> Limits<'e> {
    /// Those of an SA for the run that a packet begins. Its packets are of one adjacency, and so of
    /// one content.
    #[inline(always)]
    pub fn of_run(selectors: Option<&'e Selectors>, p: &Buffer<'_>, is_bare: bool) -> Self {
        let has_all = |all: &&Selectors| all.open.has(Content::of(p.bytes(), is_bare).0);
        Self { selectors: selectors.filter(|all| !has_all(all)), is_bare }
    }
    /// Whether a packet may be sent.
    #[inline(always)]
    pub fn may_leave(&self, p: &Buffer<'_>) -> bool {
        self.selectors.is_none_or(|all| all.may_leave(p.bytes(), self.is_bare))
    }
}

/// Type and code of an ICMP message, which stand for its ports (RFC 7296 section 3.13.1).
fn message(packet: &[u8], seen: &Seen) -> Option<u16> {
    let is_icmp = matches!(seen.protocol, Protocol::ICMP | Protocol::ICMP6);
    let bytes = packet.get(seen.offset..)?.first_chunk::<2>()?;
    (is_icmp && !seen.is_later).then_some(u16::from_be_bytes(*bytes))
}

/// The packet that an ICMP error quotes: routers on the path send errors about packets of others,
/// so the selectors apply to the reverse of it (RFC 4301 section 6.2).
fn cause<'a>(packet: &'a [u8], seen: &Seen, is_6: bool) -> Option<&'a [u8]> {
    /// Length of the header of an ICMP error in bytes.
    const HEADER: usize = 8;
    let kind = (message(packet, seen)? >> 8) as u8;
    let is_error = match (seen.protocol, is_6) {
        (Protocol::ICMP, false) => {
            let kinds = [
                icmp4::Type::DESTINATION_UNREACHABLE,
                icmp4::Type::TIME_EXCEEDED,
                icmp4::Type::PARAMETER_PROBLEM,
            ];
            kinds.contains(&icmp4::Type(kind))
        }
        (Protocol::ICMP6, true) => kind < 128,
        _ => false,
    };
    packet.get(seen.offset + HEADER..).filter(|_| is_error)
}

#[cfg(test)]
mod tests {
    use net::testing::packets::{udp4, udp6};

    use super::*;

    fn range(from: &str, to: &str) -> Selector {
        let addrs = (from.parse().unwrap(), to.parse().unwrap());
        Selector { addrs, ..Selector::of(addrs.0) }
    }

    #[test]
    fn packets_are_compared_in_both_directions() {
        let nets = [range("10.1.0.0", "10.1.0.255"), range("10.2.0.0", "10.2.0.255")];
        let all = Selectors::new(&nets[..1], &nets[1..]);
        let one = |src, dst| udp4(src, dst, 7, b"data");
        for (src, dst, leaves, enters) in [
            ("10.1.0.1", "10.2.0.255", true, false),
            ("10.2.0.0", "10.1.0.0", false, true),
            ("10.1.1.0", "10.2.0.1", false, false),
            ("10.1.0.1", "10.2.1.0", false, false),
            ("10.1.0.1", "10.1.0.2", false, false),
        ] {
            let packet = one(src, dst);
            assert_eq!(all.may_leave(&packet, true), leaves, "{src} to {dst}");
            assert_eq!(all.may_enter(&packet, Content::Ip4), enters, "{src} to {dst}");
        }
        let six = udp6("2001:db8::1", "2001:db8::2", 7, b"data");
        assert!(!all.may_leave(&six, true) && !all.may_enter(&six, Content::Ip6));
        assert!(!all.may_enter(&[0; 64], Content::Other), "nothing can be compared");
        assert!(!all.may_enter(&one("10.2.0.1", "10.1.0.1")[..19], Content::Ip4));
    }

    #[test]
    fn ports_and_protocols_are_compared() {
        let four = Selector::any(IpVersion::V4);
        let dns = Selector { protocol: 17, ports: (53, 53), ..four };
        let all = Selectors::new(&[four], &[dns]);
        // From port 7 to port 53, and back.
        let mut packet = udp4("10.1.0.1", "10.2.0.1", 53, b"data");
        packet[20..22].copy_from_slice(&7u16.to_be_bytes());
        assert!(all.may_leave(&packet, true) && !all.may_enter(&packet, Content::Ip4));
        packet[22..24].copy_from_slice(&54u16.to_be_bytes());
        assert!(!all.may_leave(&packet, true));
        packet[22..24].copy_from_slice(&53u16.to_be_bytes());
        packet[9] = 6;
        assert!(!all.may_leave(&packet, true), "not UDP");
        packet[9] = 17;
        packet[7] = 1;
        assert!(!all.may_leave(&packet, true), "a later fragment has no ports");
        let without = Selector { ports: (u16::MAX, 0), ..dns };
        assert!(Selectors::new(&[four], &[dns, without]).may_leave(&packet, true));
        // Echo requests, by their type.
        let echo = Selector { protocol: 1, ports: (8 << 8, 8 << 8 | 255), ..four };
        let all = Selectors::new(&[echo], &[echo]);
        let mut ping = udp4("10.1.0.1", "10.2.0.1", 7, b"data");
        (ping[9], ping[20], ping[21]) = (1, 8, 0);
        assert!(all.may_leave(&ping, true));
        ping[20] = 0;
        assert!(!all.may_leave(&ping, true), "a reply");
    }

    #[test]
    fn errors_of_routers_go_by_the_packet_that_they_quote() {
        let nets = [range("10.1.0.0", "10.1.0.255"), range("10.2.0.0", "10.2.0.255")];
        let all = Selectors::new(&nets[..1], &nets[1..]);
        let error = |kind: u8, src: &str, cause: (&str, &str)| {
            let mut data = udp4(cause.0, cause.1, 7, b"data");
            data.truncate(28);
            let mut packet = udp4(src, cause.0, 7, &data);
            (packet[9], packet[20]) = (1, kind);
            packet
        };
        let of = ("10.1.0.1", "10.2.0.1");
        assert!(all.may_enter(&error(11, "203.0.113.1", of), Content::Ip4));
        assert!(!all.may_leave(&error(11, "203.0.113.1", of), true), "the other way");
        assert!(!all.may_enter(&error(8, "203.0.113.1", of), Content::Ip4), "an echo request");
        assert!(!all.may_enter(&error(11, "203.0.113.1", ("10.1.0.1", "10.3.0.1")), Content::Ip4));
    }

    #[test]
    fn what_is_selected_as_a_whole_is_not_compared() {
        let [four, six] = [IpVersion::V4, IpVersion::V6].map(Selector::any);
        let open = |local: &[Selector], remote: &[Selector]| Selectors::new(local, remote).open();
        assert!(open(&[six, four], &[four, six]).is_all());
        let only4 = open(&[four], &[four, six]);
        assert!(only4.has(Content::Ip4) && !only4.has(Content::Ip6) && !only4.has(Content::Other));
        let ports = Selector { ports: (1, u16::MAX), ..four };
        assert!(!open(&[ports], &[four]).has(Content::Ip4));
    }
}
