//! The nodes: they find messages for clients, proxies and servers, and hand them to control.

use net::prelude::*;
use wire::dhcp::{CLIENT_PORT, SERVER_PORT, kind, kind_of, read};
use wire::dhcp6;

/// Longest message.
pub const LONGEST: usize = 1500;

/// The destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The client of the receive interface.
    Client,
    /// The same, without the number of the exchange and by unicast, so perhaps not from the link.
    Unnumbered,
    /// Servers, over IPv4 and over IPv6.
    Server4,
    /// The client of another router's or host's.
    Behind4,
    /// Servers.
    Server6,
    /// The client behind a proxy.
    Behind6,
    /// The DHCPv6 client of the receive interface.
    Client6,
}

/// A received message.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Its destination.
    pub to: To,
    /// Receive interface.
    pub interface: u32,
    /// Sender.
    pub from: IpAddr,
    /// Address of the sender's link.
    pub mac: MacAddr,
    len: u16,
    bytes: [u8; LONGEST],
}

impl Event for Arrived {
    const ROOM: usize = 128;
}

impl Arrived {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

/// Drops of nodes, and what control has against a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// no dhcp server configured.
    #[name("no dhcp server configured")]
    NoServer,
    /// DHCP no interface address.
    #[name("DHCP no interface address")]
    NoAddress,
    /// DHCP option 82 missing.
    #[name("DHCP option 82 missing")]
    NoOption,
    /// Bad DHCP option 82 address value.
    #[name("Bad DHCP option 82 address value")]
    BadAddress,
    /// Bad DHCP option 82 interface value.
    #[name("Bad DHCP option 82 interface value")]
    BadInterface,
    /// DHCP packets not from DHCP server or server FIB.
    #[name("DHCP packets not from DHCP server or server FIB.")]
    NotServer,
    /// DHCP packets which are too big.
    #[name("DHCP packets which are too big.")]
    TooBig,
    /// DHCP buffer allocation failures: more messages than control has room for.
    #[name("DHCP buffer allocation failures.")]
    NoRoom,
    /// DHCP packets with bad your_ip_address fields, or that are no DHCP.
    #[name("DHCP packets with bad your_ip_address fields")]
    Bad,
    /// DHCP option 82 of no relay: the message names none, or this router.
    #[name("DHCP option 82 of no relay")]
    Untrusted,
}

/// Further counters.
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum Count {
    /// DHCP packets relayed to the server.
    #[name("DHCP packets relayed to the server")]
    ToServer,
    /// DHCP packets relayed to clients.
    #[name("DHCP packets relayed to clients")]
    ToClient,
}

/// As [`Error`], of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error6 {
    /// DHCPv6 packets not from DHCPv6 server or server FIB.
    #[name("DHCPv6 packets not from DHCPv6 server or server FIB.")]
    NotServer,
    /// no dhcpv6 server configured.
    #[name("no dhcpv6 server configured")]
    NoServer,
    /// DHCPV6 no interface address.
    #[name("DHCPV6 no interface address")]
    NoAddress,
    /// DHCPV6 wrong message type.
    #[name("DHCPV6 wrong message type.")]
    Kind,
    /// DHCPv6 reply packets without circuit ID option.
    #[name("DHCPv6 reply packets without circuit ID option")]
    NoCircuit,
    /// DHCPv6 reply packets without relay message option.
    #[name("DHCPv6 reply packets without relay message option")]
    NoRelayed,
    /// DHCPv6 reply to invalid interface.
    #[name("DHCPv6 reply to invalid interface.")]
    BadInterface,
    /// DHCPv6 packets which are too big.
    #[name("DHCPv6 packets which are too big.")]
    TooBig,
    /// DHCPv6 buffer allocation failures: more messages than control has room for.
    #[name("DHCPv6 buffer allocation failures.")]
    NoRoom,
}

/// Further counters of IPv6.
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum Count6 {
    /// DHCPV6 packets relayed to the server.
    #[name("DHCPV6 packets relayed to the server")]
    ToServer,
    /// DHCPV6 packets relayed to clients.
    #[name("DHCPV6 packets relayed to clients")]
    ToClient,
}

/// Reasons that a message is not handed over.
pub trait Overflow {
    /// Too long.
    const TOO_BIG: Self;
    /// Others wait already.
    const NO_ROOM: Self;
}

impl Overflow for Error {
    const TOO_BIG: Self = Self::TooBig;
    const NO_ROOM: Self = Self::NoRoom;
}

impl Overflow for Error6 {
    const TOO_BIG: Self = Self::TooBig;
    const NO_ROOM: Self = Self::NoRoom;
}

/// Hands a message, behind its UDP header at this place of the packet, to control.
pub fn hand_over<N, E: Overflow>(
    p: &mut Packet<'_, N>,
    events: &mut EventSender<Arrived>,
    (to, skip, from): (To, usize, IpAddr),
) -> Result<(), E> {
    let len = p.total_len().saturating_sub(skip);
    if len > LONGEST {
        return Err(E::TOO_BIG);
    }
    let mac = ethernet::Header::ref_from_prefix(p.bytes_from(p.l2_offset()));
    let mac = mac.map_or(MacAddr::ZERO, |(header, _)| header.src);
    let mut bytes = [0; LONGEST];
    let (mut at, mut skip) = (0, skip);
    for segment in p.segments() {
        let segment = segment.get(skip..).unwrap_or_default();
        skip = skip.saturating_sub(segment.len());
        let place = bytes.get_mut(at..at + segment.len()).ok_or(E::TOO_BIG)?;
        place.copy_from_slice(segment);
        at += segment.len();
    }
    let interface = p.rx();
    let arrived = Arrived { to, interface, from, mac, len: at as u16, bytes };
    if events.send(arrived) { Ok(()) } else { Err(E::NO_ROOM) }
}

fn source4(p: &Buffer<'_>) -> IpAddr {
    let outer = ip4::Header::ref_from_prefix(p.bytes_from(p.l3_offset()));
    outer.map_or(Ipv4Addr::UNSPECIFIED, |(header, _)| header.src.into()).into()
}

/// The sender of an IPv6 packet.
pub fn source6(p: &Buffer<'_>) -> IpAddr {
    let outer = ip6::Header::ref_from_prefix(p.bytes_from(p.l3_offset()));
    outer.map_or(Ipv6Addr::UNSPECIFIED, |(header, _)| header.src.into()).into()
}

/// `dhcp-proxy-to-server`, `dhcp-proxy-to-client`: messages of clients, and of servers.
#[derive(Clone)]
pub struct Proxy4<const TO_CLIENT: bool>(pub(super) EventSender<Arrived>);

/// Names of [`Proxy4`].
pub const PROXY4: [&str; 2] = ["dhcp-proxy-to-server", "dhcp-proxy-to-client"];

/// Edges of [`Proxy4`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next4 {
    /// It comes from a server.
    #[to(PROXY4[1])]
    ToClient,
}

/// Whether a message is a server's: some say that they are a client's and are not.
fn is_servers(bytes: &[u8]) -> bool {
    let Some((header, options)) = read(bytes) else { return false };
    matches!(kind_of(options), Some(kind::OFFER | kind::ACK | kind::NAK)) || header.op == 2
}

impl<const TO_CLIENT: bool> Node for Proxy4<TO_CLIENT> {
    const NAME: &'static str = PROXY4[TO_CLIENT as usize];
    type Next = Next4;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let to = if TO_CLIENT { To::Behind4 } else { To::Server4 };
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            if !TO_CLIENT && is_servers(p.bytes()) {
                frame.send(held, Next4::ToClient);
                continue;
            }
            let from = source4(&p);
            match hand_over::<_, Error>(&mut p, &mut self.0, (to, 0, from)) {
                Ok(()) => frame.release(held),
                Err(why) => frame.discard(held, why),
            }
        }
    }
}

/// `dhcpv6-proxy-to-server`, `dhcpv6-proxy-to-client`: messages of clients, and of servers.
#[derive(Clone)]
pub struct Proxy6<const TO_CLIENT: bool>(pub(super) EventSender<Arrived>);

/// Names of [`Proxy6`].
pub const PROXY6: [&str; 2] = ["dhcpv6-proxy-to-server", "dhcpv6-proxy-to-client"];

/// Edges of [`Proxy6`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next6 {
    /// It comes from a server: those answer to the port of relays (RFC 8415 section 7.2).
    #[to(PROXY6[1])]
    ToClient,
}

impl<const TO_CLIENT: bool> Node for Proxy6<TO_CLIENT> {
    const NAME: &'static str = PROXY6[TO_CLIENT as usize];
    type Next = Next6;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let to = if TO_CLIENT { To::Behind6 } else { To::Server6 };
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            if !TO_CLIENT && p.bytes().first() == Some(&dhcp6::kind::RELAY_REPLY) {
                frame.send(held, Next6::ToClient);
                continue;
            }
            let from = source6(&p);
            match hand_over::<_, Error6>(&mut p, &mut self.0, (to, 0, from)) {
                Ok(()) => frame.release(held),
                Err(why) => frame.discard(held, why),
            }
        }
    }
}

/// `ip4-dhcp-client-detect`: messages for the client of an interface, whatever address they are
/// for: it has none yet.
#[derive(Clone)]
pub struct Detect(pub(super) EventSender<Arrived>);

/// Name of [`Detect`].
pub const DETECT: &str = "ip4-dhcp-client-detect";

/// Counters of [`Detect`].
#[derive(Clone, Copy, graph::Count)]
pub enum Detected {
    /// Extract: messages for a client.
    #[name("Extract")]
    Extracted,
}

/// Drops of [`Detect`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Lost {
    /// DHCP message too long.
    #[name("DHCP message too long")]
    TooBig,
    /// too many DHCP messages queued.
    #[name("more DHCP messages than there is room for")]
    NoRoom,
}

impl Overflow for Lost {
    const TOO_BIG: Self = Self::TooBig;
    const NO_ROOM: Self = Self::NoRoom;
}

/// Place of a server's message for a client in an IPv4 packet, and how it is for it.
#[inline(always)]
fn place(p: &Buffer<'_>) -> Option<(To, usize)> {
    let header = p.header::<ip4::Header>()?;
    if header.protocol != Protocol::UDP || header.is_fragment() {
        return None;
    }
    let at = header.header_len();
    let (udp, _) = udp::Header::ref_from_prefix(p.bytes().get(at..)?).ok()?;
    let place = at + size_of::<udp::Header>();
    let is_answer = udp.dst_port.get() == CLIENT_PORT && udp.src_port.get() == SERVER_PORT;
    let is_broadcast = header.dst == [0xff; 4];
    let has_number = || p.bytes().get(place + 4..place + 8).is_some_and(|xid| xid != [0; 4]);
    let to = if is_broadcast || has_number() { To::Client } else { To::Unnumbered };
    is_answer.then_some((to, place))
}

impl Node for Detect {
    const NAME: &'static str = DETECT;
    type Next = Continue;
    type Error = Lost;
    type Count = Detected;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut extracted = 0;
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            let Some((to, at)) = place(&p) else {
                frame.send(held, Continue);
                continue;
            };
            extracted += 1;
            let l3 = p.offset();
            p.set_l3_offset(l3);
            let from = source4(&p);
            match hand_over::<_, Lost>(&mut p, &mut self.0, (to, at, from)) {
                Ok(()) => frame.release(held),
                Err(why) => frame.discard(held, why),
            }
        }
        frame.count(Detected::Extracted, extracted);
    }
}
