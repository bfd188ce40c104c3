//! The nodes: `dns4-request` and `dns6-request` hand requests to control, `dns46_reply` answers of
//! name servers.

use net::prelude::*;

/// Longest message that is looked at.
pub const LONGEST: usize = 1232;

/// Names of [`Request`] for IPv4 and IPv6.
pub const REQUEST: [&str; 2] = ["dns4-request", "dns6-request"];
/// Name of [`Reply`].
pub const REPLY: &str = "dns46_reply";

/// A received message.
#[derive(Clone, Copy)]
pub struct Arrived {
    /// Whether a name server sent it.
    pub is_reply: bool,
    /// Receive interface.
    pub interface: u32,
    /// The sender, with its port.
    pub from: (IpAddr, u16),
    /// The address it was sent to, with its port.
    pub to: (IpAddr, u16),
    len: u16,
    bytes: [u8; LONGEST],
}

impl Event for Arrived {
    const ROOM: usize = 256;
}

impl Arrived {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

/// Drops of [`Request`], and reasons of control to disregard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// DNS pkts with ip options (dropped).
    #[name("DNS pkts with ip options (dropped)")]
    Options,
    /// DNS pkts with serious discrepancies (dropped).
    #[name("DNS pkts with serious discrepancies (dropped)")]
    Bad,
    /// DNS pkts asking too many questions.
    #[name("DNS pkts asking too many questions")]
    Questions,
    /// DNS pkts from hosts that are not clients (dropped).
    #[name("DNS pkts from hosts that are not clients (dropped)")]
    Stranger,
    /// too many DNS messages queued.
    #[name("more DNS messages than there is room for")]
    NoRoom,
}

/// Counters of [`Request`].
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum Count {
    /// DNS request pkts processed.
    #[name("DNS request pkts processed")]
    Processed,
    /// DNS pkts pending upstream name resolution.
    #[name("DNS pkts pending upstream name resolution")]
    Pending,
    /// Unimplemented.
    #[name("Unimplemented")]
    Unimplemented,
}

/// Drops of [`Reply`], and reasons of control to disregard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum ReplyError {
    /// DNS format errors.
    #[name("DNS format errors")]
    Bad,
    /// No unresolved entry for pkt.
    #[name("No unresolved entry for pkt")]
    NotAsked,
    /// DNS multiple reply packets: more than there is room for.
    #[name("DNS multiple reply packets")]
    NoRoom,
}

/// Counters of [`Reply`].
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum ReplyCount {
    /// DNS reply pkts processed.
    #[name("DNS reply pkts processed")]
    Processed,
}

/// Ends of a datagram, whose bytes begin behind its UDP header; whether it has IP options.
fn ends(p: &Buffer<'_>) -> Option<([(IpAddr, u16); 2], bool)> {
    let front = p.bytes_from(p.l3_offset());
    let (udp, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
    let ports = [udp.src_port.get(), udp.dst_port.get()];
    if front.first()? >> 4 == 6 {
        let (header, _) = ip6::Header::ref_from_prefix(front).ok()?;
        let ends = [(header.src_addr().into(), ports[0]), (header.dst_addr().into(), ports[1])];
        return Some((ends, false));
    }
    let (header, _) = ip4::Header::ref_from_prefix(front).ok()?;
    let addr = |octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets));
    let has_options = header.header_len() > size_of::<ip4::Header>();
    Some(([(addr(header.src), ports[0]), (addr(header.dst), ports[1])], has_options))
}

/// Copies a message; `None` for one that is too long.
fn copied(p: &Buffer<'_>, [from, to]: [(IpAddr, u16); 2], is_reply: bool) -> Option<Arrived> {
    let (mut bytes, mut at) = ([0; LONGEST], 0);
    for segment in p.segments() {
        bytes.get_mut(at..at + segment.len())?.copy_from_slice(segment);
        at += segment.len();
    }
    Some(Arrived { is_reply, interface: p.rx(), from, to, len: at as u16, bytes })
}

/// Takes requests.
#[derive(Clone)]
pub struct Request<const IS_IP6: bool>(pub(super) EventSender<Arrived>);

impl<const IS_IP6: bool> Node for Request<IS_IP6> {
    const NAME: &'static str = REQUEST[IS_IP6 as usize];
    type Next = std::convert::Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = if IS_IP6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|p| {
            let (ends, has_options) = ends(p).ok_or(Error::Bad)?;
            if has_options {
                return Err(Error::Options);
            }
            let arrived = copied(p, ends, false).ok_or(Error::Bad)?;
            self.0.send(arrived).then_some(()).ok_or(Error::NoRoom)
        });
    }
}

/// Takes answers of name servers.
#[derive(Clone)]
pub struct Reply(pub(super) EventSender<Arrived>);

impl Node for Reply {
    const NAME: &'static str = REPLY;
    type Next = std::convert::Infallible;
    type Error = ReplyError;
    type Count = ReplyCount;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|p| {
            let (ends, _) = ends(p).ok_or(ReplyError::Bad)?;
            let arrived = copied(p, ends, true).ok_or(ReplyError::Bad)?;
            self.0.send(arrived).then_some(()).ok_or(ReplyError::NoRoom)
        });
    }
}
