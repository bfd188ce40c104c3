//! `wg4-input`, `wg6-input`: data messages into packets, by the version of the outer header;
//! messages of handshakes go to control. A message whose peer another thread has goes on there, at
//! `wg4-input-post-node` or `wg6-input-post-node`.

use graph::Payload;
use net::prelude::*;
use net::tunnel::forget_outer;
use translation::handoff::Threads;
use wire::wireguard::{Data, Handshake, kind};

use super::Endpoint;
use super::events::{Arrived, Notice, What};
use super::tables::{ForPeer, Readers, Receiving};

/// The nodes: those that messages come to, and those on the thread of their peer.
pub const NAMES: [[&str; 2]; 2] =
    [["wg4-input", "wg6-input"], ["wg4-input-post-node", "wg6-input-post-node"]];
/// The nodes between them.
pub const HANDOFF: [&str; 2] = ["wg4-input-data-handoff", "wg6-input-data-handoff"];

/// Takes messages.
#[derive(Clone)]
pub struct Input<const IS_6: bool, const POST: bool> {
    tables: Readers,
    notices: EventSender<Notice>,
    arrived: EventSender<Arrived>,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const IS_6: bool> {
    /// An IPv4 packet.
    #[to("ip4-input")]
    Ip4,
    /// An IPv6 packet.
    #[to("ip6-input")]
    Ip6,
    /// To the thread that has the peer.
    #[to(HANDOFF[IS_6 as usize], payload = ForPeer)]
    Elsewhere,
}

/// Drops of [`Input`], and what control has against a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// Invalid MAC handshake.
    #[name("Invalid MAC handshake")]
    Mac,
    /// Peer error: unknown key or session, or source not in allowed IPs.
    #[name("Peer error")]
    Peer,
    /// Interface error: interface is down.
    #[name("Interface error")]
    Interface,
    /// Failed during decryption.
    #[name("Failed during decryption")]
    Decryption,
    /// Failed while sending Keepalive.
    #[name("Failed while sending Keepalive")]
    Keepalive,
    /// Failed while sending Handshake.
    #[name("Failed while sending Handshake")]
    SendHandshake,
    /// Failed while receiving Handshake.
    #[name("Failed while receiving Handshake")]
    Handshake,
    /// Handshake ratelimited.
    #[name("Handshake ratelimited")]
    Ratelimited,
    /// Failed during Cookie decryption.
    #[name("Failed during Cookie decryption")]
    Cookie,
    /// No buffers.
    #[name("No buffers")]
    NoBuffers,
    /// Undefined error: not a WireGuard message.
    #[name("Undefined error")]
    Unknown,
}

/// Result for a message.
enum Taken<const IS_6: bool> {
    On(Next<IS_6>),
    Consumed,
}

impl<const IS_6: bool, const POST: bool> Input<IS_6, POST> {
    pub(super) fn new(
        tables: Readers,
        notices: EventSender<Notice>,
        arrived: EventSender<Arrived>,
    ) -> Self {
        Self { tables, notices, arrived }
    }
    /// Hands a message of a handshake to control.
    fn handshake(&mut self, p: &mut Packet<'_, Self>, now: f64) -> Result<Taken<IS_6>, Error> {
        let mut bytes = [0; Handshake::LONGEST];
        let mut len = 0;
        for segment in p.segments() {
            let place = bytes.get_mut(len..len + segment.len()).ok_or(Error::Unknown)?;
            place.copy_from_slice(segment);
            len += segment.len();
        }
        let message = Handshake::read(&bytes[..len]).ok_or(Error::Unknown)?;
        let (from, port) = ends::<IS_6>(p).ok_or(Error::Unknown)?;
        p.trace(|_| Read { what: "handshake", number: len as u64 });
        let is_taken = self.arrived.send(Arrived { message, from, port, at: now });
        if is_taken { Ok(Taken::Consumed) } else { Err(Error::Ratelimited) }
    }
    /// Opens a data message.
    fn data(
        &mut self,
        p: &mut Packet<'_, Self>,
        (now, thread): (f64, usize),
        threads: &Threads,
        epoch: Epoch<'_>,
    ) -> Result<Taken<IS_6>, Error> {
        let header: Data = *p.header().ok_or(Error::Unknown)?;
        let Self { tables, notices, .. } = self;
        let of = tables.session(header.receiver.get(), epoch).ok_or(Error::Peer)?;
        let peer = of.keypair.peer;
        let owner = threads.at(peer.into());
        if !POST && owner != thread {
            p.set_payload(ForPeer { peer, thread: owner as u32 });
            return Ok(Taken::On(Next::Elsewhere));
        }
        let port = tables.ports.read(of.interface, epoch);
        port.filter(|port| port.up).ok_or(Error::Interface)?;
        let from = ends::<IS_6>(p).ok_or(Error::Unknown)?.0;
        let counter = header.counter.get();
        let len = open(p, notices, of, (counter, from), now)?;
        let received = super::milliseconds(now);
        of.activity.received.set(received);
        p.trace(|_| Read { what: "message", number: counter });
        let counters = tables.counters.rx.row(thread);
        if let Some(count) = counters.get(of.interface as usize) {
            count.add(1, len as u64);
        }
        if len == 0 {
            return Ok(Taken::Consumed);
        }
        of.activity.data_received.set(received);
        let (src, whole) =
            inner(p.bytes()).filter(|(_, len)| *len <= p.total_len()).ok_or(Error::Peer)?;
        if !of.allowed.iter().any(|allowed| allowed.contains(src)) {
            return Err(Error::Peer);
        }
        p.truncate_chain(whole);
        p.set_rx(of.interface);
        forget_outer(p);
        Ok(Taken::On(if src.is_ipv4() { Next::Ip4 } else { Next::Ip6 }))
    }
}

/// Decrypts a message in place, and notes whom it came from; how long it was.
fn open<const IS_6: bool, const POST: bool>(
    p: &mut Packet<'_, Input<IS_6, POST>>,
    notices: &mut EventSender<Notice>,
    of: &Receiving,
    (counter, from): (u64, Endpoint),
    now: f64,
) -> Result<usize, Error> {
    let keypair = &of.keypair;
    let mut session = keypair.session().ok_or(Error::Decryption)?;
    if keypair.is_over(now) || !session.may_accept(counter) {
        return Err(Error::Decryption);
    }
    let len = match p.next_segment() {
        None => {
            p.advance(size_of::<Data>()).ok_or(Error::Unknown)?;
            let len = keypair.open(counter, p.bytes_mut()).ok_or(Error::Decryption)?;
            p.truncate(len);
            len
        }
        Some(_) => p.with_room(|p, room| {
            let mut len = 0;
            for segment in p.segments() {
                let place = room.get_mut(len..len + segment.len()).ok_or(Error::NoBuffers)?;
                place.copy_from_slice(segment);
                len += segment.len();
            }
            let sealed = room.get_mut(size_of::<Data>()..len).ok_or(Error::Unknown)?;
            let len = keypair.open(counter, sealed).ok_or(Error::Decryption)?;
            p.truncate_chain(0);
            p.extend(&sealed[..len]).ok_or(Error::NoBuffers)?;
            Ok(len)
        })?,
    };
    session.accept(counter);
    let peer = keypair.peer;
    if !session.is_confirmed {
        let what = What::Confirmed { local: keypair.local };
        session.is_confirmed = notices.send(Notice { peer, what });
    }
    if session.from != from && notices.send(Notice { peer, what: What::Roamed { to: from } }) {
        session.from = from;
    }
    Ok(len)
}

/// Source of a message, and the port it is for.
#[inline(always)]
fn ends<const IS_6: bool>(p: &graph::Buffer<'_>) -> Option<(Endpoint, u16)> {
    let (udp, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
    let outer = p.bytes_from(p.l3_offset());
    let src: IpAddr = if IS_6 {
        Ipv6Addr::from(ip6::Header::ref_from_prefix(outer).ok()?.0.src).into()
    } else {
        Ipv4Addr::from(ip4::Header::ref_from_prefix(outer).ok()?.0.src).into()
    };
    Some(((src, udp.src_port.get()), udp.dst_port.get()))
}

/// Source and length of the packet in a message.
#[inline(always)]
fn inner(bytes: &[u8]) -> Option<(IpAddr, usize)> {
    match bytes.first()? >> 4 {
        4 => {
            let (ip, _) = ip4::Header::ref_from_prefix(bytes).ok()?;
            Some((Ipv4Addr::from(ip.src).into(), ip.total_len.get().into()))
        }
        6 => {
            let (ip, _) = ip6::Header::ref_from_prefix(bytes).ok()?;
            let len = size_of::<ip6::Header>() + usize::from(ip.payload_len.get());
            Some((Ipv6Addr::from(ip.src).into(), len))
        }
        _ => None,
    }
}

impl<const IS_6: bool, const POST: bool> Node for Input<IS_6, POST> {
    const NAME: &'static str = NAMES[POST as usize][IS_6 as usize];
    type Next = Next<IS_6>;
    type Error = Error;
    type Count = std::convert::Infallible;
    const INPUT: &'static str = if POST { ForPeer::NAME } else { "" };
    const DROP: &'static str = if IS_6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let threads = Threads::of(frame);
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            let is_data = p.bytes().starts_with(&kind::DATA.to_le_bytes());
            let taken = match is_data {
                true => self.data(&mut p, (now, thread), &threads, epoch),
                false => self.handshake(&mut p, now),
            };
            match taken {
                Ok(Taken::On(next)) => frame.send(held, next),
                Ok(Taken::Consumed) => frame.release(held),
                Err(reason) => frame.discard(held, reason),
            }
        }
    }
}

struct Read {
    what: &'static str,
    number: u64,
}

impl Record for Read {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} {}", self.what, self.number)
    }
}
