//! `wg4-output-tun`, `wg6-output-tun`: packets into data messages, by the version of the packet,
//! without padding as in the original.
//! They find the peer; if another thread has it the packet goes on there, at
//! `wg4-output-tun-post-node` or `wg6-output-tun-post-node`.

use graph::Edge;
use net::adjacency::chain::Hop;
use net::prelude::*;
use net::tunnel::forget_outer;
use translation::handoff::Threads;
use wire::wireguard::{Data, TAG, kind};

use super::events::{Notice, What};
use super::keypair::Keypair;
use super::tables::{ForPeer, Readers, Sending};

/// The nodes: those that find the peer, and those on its thread.
pub const NAMES: [[&str; 2]; 2] = [
    ["wg4-output-tun", "wg6-output-tun"],
    ["wg4-output-tun-post-node", "wg6-output-tun-post-node"],
];
/// The nodes between them.
pub const HANDOFF: [&str; 2] = ["wg4-output-tun-handoff", "wg6-output-tun-handoff"];
/// Room in front that a packet must have left behind its headers, for those of the link.
const LINK_ROOM: usize = 48;
/// Seconds between two requests for new keys.
const ASKING: f64 = 0.1;

/// Encrypts packets.
#[derive(Clone)]
pub struct Output<const IS_6: bool, const POST: bool> {
    tables: Readers,
    keys: Asking,
}

/// The end of a node that asks control for new keys.
#[derive(Clone)]
struct Asking {
    notices: EventSender<Notice>,
    /// The peer that control was asked for last, and when.
    last: (u32, f64),
}

impl Asking {
    fn ask(&mut self, peer: u32, now: f64) {
        if self.last.0 != peer || super::apart(now, self.last.1) >= ASKING {
            self.last = (peer, now);
            self.notices.send(Notice { peer, what: What::Wanted });
        }
    }
    /// The session to use for a peer, and the number of the message.
    #[inline(always)]
    fn keypair<'e>(
        &mut self,
        to: &'e Sending,
        peer: u32,
        now: f64,
    ) -> Result<(&'e Keypair, u64), Error> {
        let keypair = to.keypair.as_deref().filter(|keypair| !keypair.is_over(now));
        let taken = keypair.and_then(|keypair| {
            let (counter, should_renew) = keypair.session()?.take_next().ok()?;
            Some((keypair, counter, should_renew))
        });
        if taken.is_none_or(|(.., should_renew)| should_renew) {
            self.ask(peer, now);
        }
        taken.map(|(keypair, counter, _)| (keypair, counter)).ok_or(Error::Keypair)
    }
}

/// Edges of [`Output`].
#[derive(Clone, Copy)]
pub enum Next<const IS_6: bool> {
    /// Behind the outer headers: to the neighbour on the way to the peer, or as the route leads.
    To(Slot),
    /// To the thread that has the peer.
    Elsewhere,
}

/// Edges by which a message leaves, over IPv4 and over IPv6, as [`Hop`] has them.
pub const REWRITE: [Slot; 2] = [Slot(1), Slot(3)];
/// Edges on which a load balance chooses.
pub const BALANCE: [Slot; 2] = [Slot(2), Slot(4)];

impl<const IS_6: bool> graph::Next for Next<IS_6> {
    const EDGES: &'static [Edge] = &[
        Edge { to: HANDOFF[IS_6 as usize], payload: <ForPeer as graph::Payload>::NAME },
        Edge { to: "ip4-rewrite", payload: "" },
        Edge { to: "ip4-load-balance", payload: "" },
        Edge { to: "ip6-rewrite", payload: "" },
        Edge { to: "ip6-load-balance", payload: "" },
    ];
    #[inline(always)]
    fn slot(self, _: &graph::arc::Along<'_>, _: &mut Buffer<'_>) -> u32 {
        match self {
            Self::To(slot) => slot.0,
            Self::Elsewhere => 0,
        }
    }
}

/// Drops of [`Output`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// Peer error: no peer for the address, no endpoint, or a routing loop.
    #[name("Peer error")]
    Peer,
    /// Keypair error: no session yet.
    #[name("Keypair error")]
    Keypair,
    /// No buffers.
    #[name("No buffers")]
    NoBuffers,
    /// crypto engine error (packet dropped).
    #[name("crypto engine error (packet dropped)")]
    Crypto,
}

impl<const IS_6: bool, const POST: bool> Output<IS_6, POST> {
    pub(super) fn new(tables: Readers, notices: EventSender<Notice>) -> Self {
        Self { tables, keys: Asking { notices, last: (0, f64::NEG_INFINITY) } }
    }
    /// Turns a packet into a message to a peer.
    fn send(
        &mut self,
        p: &mut Packet<'_, Self>,
        peer: u32,
        now: f64,
        epoch: Epoch<'_>,
    ) -> Result<Next<IS_6>, Error> {
        let to = self.tables.sending.read(peer, epoch).filter(|to| to.interface == p.tx());
        let to = to.ok_or(Error::Peer)?;
        let hop = to.hop.as_ref().filter(|hop| !is_own(p.bytes(), hop)).ok_or(Error::Peer)?;
        let (keypair, counter) = self.keys.keypair(to, peer, now)?;
        let header = data(keypair.remote, counter);
        let front = size_of::<Data>() + hop.header.len() + LINK_ROOM;
        let fits = p.next_segment().is_none() && p.tailroom() >= TAG && p.headroom() >= front;
        if fits {
            let tag = keypair.seal(counter, p.bytes_mut()).ok_or(Error::Crypto)?;
            p.append(&tag).ok_or(Error::NoBuffers)?;
        } else {
            rebuild(p, keypair, counter, front)?;
        }
        p.prepend(size_of::<Data>()).ok_or(Error::NoBuffers)?.copy_from_slice(header.as_bytes());
        forget_outer(p);
        hop.put_in_front(p).ok_or(Error::NoBuffers)?;
        p.add_flags(Flags::LOCAL);
        let time = super::milliseconds(now);
        to.activity.sent.set(time);
        to.activity.data_sent.set(time);
        p.trace(|_| Encrypted { peer, counter });
        Ok(Next::To(self.tables.stacked.onward(hop, epoch).take(p)))
    }
    /// Sends a peer a message without a packet; false without a session.
    pub(super) fn keepalive(&mut self, frame: &mut Frame<'_, Self>, peer: u32) -> bool {
        let (now, epoch) = (frame.now(), frame.epoch());
        let Some(to) = self.tables.sending.read(peer, epoch) else { return false };
        let Some(hop) = &to.hop else { return false };
        let Ok((keypair, counter)) = self.keys.keypair(to, peer, now) else { return false };
        let Some(tag) = keypair.seal(counter, &mut []) else { return false };
        let mut message = [0; size_of::<Data>() + TAG];
        let (front, back) = message.split_at_mut(size_of::<Data>());
        front.copy_from_slice(data(keypair.remote, counter).as_bytes());
        back.copy_from_slice(&tag);
        let Some(mut new) = frame.fresh() else { return false };
        if new.extend(&message).is_none() || hop.put_in_front(&mut new).is_none() {
            return false;
        }
        new.add_flags(Flags::LOCAL);
        new.set_tx(to.interface);
        to.activity.sent.set(super::milliseconds(now));
        let slot = self.tables.stacked.onward(hop, epoch).take(&mut new);
        new.send_to(slot);
        true
    }
}

fn data(remote: u32, counter: u64) -> Data {
    Data { kind: kind::DATA.into(), receiver: remote.into(), counter: counter.into() }
}

/// Encrypts a packet of several segments, or one without room around it.
fn rebuild<const IS_6: bool, const POST: bool>(
    p: &mut Packet<'_, Output<IS_6, POST>>,
    keypair: &Keypair,
    counter: u64,
    front: usize,
) -> Result<(), Error> {
    p.with_room(|p, room| {
        let mut len = 0;
        for segment in p.segments() {
            let place = room.get_mut(len..len + segment.len()).ok_or(Error::NoBuffers)?;
            place.copy_from_slice(segment);
            len += segment.len();
        }
        let tag = keypair.seal(counter, &mut room[..len]).ok_or(Error::Crypto)?;
        room.get_mut(len..len + TAG).ok_or(Error::NoBuffers)?.copy_from_slice(&tag);
        len += TAG;
        p.truncate_chain(0);
        let missing = front.saturating_sub(p.headroom());
        p.append_with(missing).ok_or(Error::NoBuffers)?;
        p.advance(missing).ok_or(Error::NoBuffers)?;
        p.extend(&room[..len]).ok_or(Error::NoBuffers)
    })
}

/// Whether a packet has the outer header of messages to a peer already: the route to its endpoint
/// leads into the tunnel.
#[inline(always)]
fn is_own(packet: &[u8], hop: &Hop) -> bool {
    let ends = |bytes: &[u8]| match bytes.first().map(|b| b >> 4) {
        Some(4) => {
            let (ip, rest) = ip4::Header::read_from_prefix(bytes).ok()?;
            let (udp, _) = udp::Header::read_from_prefix(rest).ok()?;
            let addrs = [ip.src, ip.dst].map(|addr| u32::from_be_bytes(addr).into());
            Some((ip.protocol, addrs, udp.src_port, udp.dst_port))
        }
        _ => {
            let (ip, rest) = ip6::Header::read_from_prefix(bytes).ok()?;
            let (udp, _) = udp::Header::read_from_prefix(rest).ok()?;
            let addrs = [ip.src, ip.dst].map(u128::from_be_bytes);
            Some((ip.next_header, addrs, udp.src_port, udp.dst_port))
        }
    };
    let own = ends(packet).filter(|(protocol, ..)| *protocol == Protocol::UDP);
    own.is_some() && own == ends(&hop.header)
}

/// Destination of a packet.
#[inline(always)]
fn destination(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => {
            let (ip, _) = ip4::Header::ref_from_prefix(bytes).ok()?;
            Some(Ipv4Addr::from(ip.dst).into())
        }
        _ => {
            let (ip, _) = ip6::Header::ref_from_prefix(bytes).ok()?;
            Some(Ipv6Addr::from(ip.dst).into())
        }
    }
}

impl<const IS_6: bool, const POST: bool> Node for Output<IS_6, POST> {
    const NAME: &'static str = NAMES[POST as usize][IS_6 as usize];
    type Next = Next<IS_6>;
    type Error = Error;
    type Count = std::convert::Infallible;
    const INPUT: &'static str = if POST { <ForPeer as graph::Payload>::NAME } else { "" };
    const DROP: &'static str = if IS_6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let threads = Threads::of(frame);
        let mut known = None;
        frame.each(|p| {
            if POST {
                let ForPeer { peer, .. } = p.payload();
                return self.send(p, peer, now, epoch);
            }
            let route = (p.tx(), p.adjacency(), destination(p.bytes()));
            let peer = match known {
                Some((same, peer)) if same == route => peer,
                _ => self.tables.peer_of(route.0, route.1, || route.2, epoch),
            };
            known = Some((route, peer));
            let peer = peer.ok_or(Error::Peer)?;
            let owner = threads.at(peer.into());
            if owner != thread {
                p.set_payload(ForPeer { peer, thread: owner as u32 });
                return Ok(Next::Elsewhere);
            }
            self.send(p, peer, now, epoch)
        });
    }
}

struct Encrypted {
    peer: u32,
    counter: u64,
}

impl Record for Encrypted {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  peer: {}, message {}", self.peer, self.counter)
    }
}
