//! `esp4-decrypt`, `ah4-decrypt` and their siblings: decrypt packets (RFC 4303 section 3.4, RFC
//! 4302 section 3.4).

use graph::{HandOff, HandsOff, Passes, Payload};
use infra::counter::Rows;
use net::prelude::*;
use net::tunnel::{forget_outer, take_congestion};

use super::ah;
use super::esp::{Flaw, HEADER, Opened};
use super::outside::Inside;
use super::protect::{Carried, gre};
use super::runs::{MOST, OpenRun};
use super::sa::Sa;
use super::said::Said;
use super::seal::{gather, replace};
use super::select::OPENED;
use super::selector::Content;
use super::{Associations, Work};

/// The nodes.
pub const NODES: [&str; 6] = [
    "esp4-decrypt",
    "esp6-decrypt",
    "ah4-decrypt",
    "ah6-decrypt",
    "esp4-decrypt-tun",
    "esp6-decrypt-tun",
];
/// The nodes that hand packets to the thread of their SA.
pub const HANDOFFS: [&str; 6] = [
    "esp4-decrypt-handoff",
    "esp6-decrypt-handoff",
    "ah4-decrypt-handoff",
    "ah6-decrypt-handoff",
    "esp4-decrypt-tun-handoff",
    "esp6-decrypt-tun-handoff",
];
/// Indices of the nodes for AH.
const AH: [usize; 2] = [2, 3];
/// First index of the nodes for tunnels.
pub const TUNNELS: usize = 4;
/// IP protocol of MPLS packets (RFC 4023).
pub const MPLS: Protocol = Protocol(137);

/// Edges of [`Decrypt`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const AT: usize> {
    /// The SA belongs to another thread.
    #[to(HANDOFFS[AT], payload = Work)]
    HandOff,
    /// An IPv4 packet.
    #[to("ip4-input")]
    Ip4,
    /// An IPv6 packet.
    #[to("ip6-input")]
    Ip6,
    /// An MPLS packet.
    #[to("mpls-input")]
    Mpls,
    /// An Ethernet frame.
    #[to("ethernet-input")]
    Ethernet,
}

impl<const AT: usize> Next<AT> {
    /// Content of a packet of a tunnel.
    #[inline(always)]
    fn content(self) -> Content {
        match self {
            Self::Ip4 => Content::Ip4,
            Self::Ip6 => Content::Ip6,
            _ => Content::Other,
        }
    }
    /// Copies ECN marks of the outer header to the inner packet (RFC 6040).
    #[inline(always)]
    fn take_congestion(self, class: Option<u8>, p: &mut Buffer<'_>) {
        match (class, self) {
            (Some(class), Self::Ip4) => take_congestion(class, Link::Ip4, p),
            (Some(class), Self::Ip6) => take_congestion(class, Link::Ip6, p),
            _ => (),
        }
    }
}

/// Drops of [`Decrypt`].
#[derive(Clone, Copy, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// decryption failed.
    #[name("decryption_failed")]
    Decryption,
    /// integrity check failed.
    #[name("integ_error")]
    Integrity,
    /// crypto engine error (packet dropped).
    #[name("crypto_engine_error")]
    Engine,
    /// SA replayed packet.
    #[name("replay")]
    Replay,
    /// undersized packet.
    #[name("runt")]
    Runt,
    /// no buffers (packet dropped).
    #[name("no_buffers")]
    NoBuffers,
    /// no enough buffer tail space (dropped).
    #[name("no_tail_space")]
    NoTail,
    /// no tunnel protocol.
    #[name("tun_no_proto")]
    NoTunnelProtocol,
    /// unsupported payload.
    #[name("unsup_payload")]
    Unsupported,
    /// IP fragments drop.
    #[name("drop_fragments")]
    Fragment,
    /// packet outside the traffic selectors (dropped).
    #[name("not_selected")]
    NotSelected,
}

/// Counters of [`Decrypt`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// pkts received.
    #[name("rx_pkts")]
    Received,
    /// Hand-off.
    #[name("handoff")]
    HandOff,
}

impl From<Flaw> for Error {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Runt => Self::Runt,
            Flaw::Integrity => Self::Integrity,
            Flaw::Decryption => Self::Decryption,
            Flaw::Length => Self::NoTail,
        }
    }
}

/// The node that decrypts packets.
#[derive(Clone)]
pub struct Decrypt<const AT: usize> {
    pub(super) all: Associations,
    /// Protected tunnels by number.
    pub(super) carried: SlabReader<Carried>,
    /// Receive counters of interfaces.
    pub(super) received: Rows<VolumeCounter>,
}

/// Result for a packet decrypted in a run: the packet or its flaw, and its sequence number.
type Done = (Result<Opened, Flaw>, u64);

/// A decrypted packet.
struct Clear {
    next_header: u8,
    /// Length of the IP header that is kept, in bytes.
    kept: usize,
}

/// Updates the IP header for its new payload.
fn patch(bytes: &mut [u8], kept: usize, announced_at: usize, next: u8) -> Option<()> {
    let total = bytes.len();
    *bytes.get_mut(announced_at)? = next;
    let header = bytes.get_mut(..kept)?;
    if header.first()? >> 4 == 6 {
        let (ip, _) = ip6::Header::mut_from_prefix(header).ok()?;
        ip.payload_len = (total.checked_sub(size_of::<ip6::Header>())? as u16).into();
        return Some(());
    }
    let (ip, options) = ip4::Header::mut_from_prefix(header).ok()?;
    ip.total_len = (total as u16).into();
    ip.update_checksum_with(options);
    Some(())
}

/// Offset of the protocol field that contains ESP or AH in an IP packet.
fn announcement(packet: &[u8], is_ah: bool) -> Option<usize> {
    if packet.first()? >> 4 == 4 {
        return Some(9);
    }
    if is_ah {
        return ip6::extensions(packet)
            .find(|e| e.protocol == Protocol::AH)
            .map(|e| e.announced_at);
    }
    let last = ip6::extensions(packet).last();
    Some(last.map_or(ip6::NEXT_HEADER, |e| e.offset))
}

/// Whether an IP packet is a fragment.
fn is_fragment(packet: &[u8]) -> bool {
    match packet.first().map(|b| b >> 4) {
        Some(4) => ip4::Header::ref_from_prefix(packet).is_ok_and(|(h, _)| h.is_fragment()),
        _ => ip6::extensions(packet).any(|e| e.protocol == Protocol::FRAGMENT),
    }
}

/// Decrypts a packet that begins with its IP header and has `front` bytes of headers before ESP, AH
/// or UDP. Headers that are kept end up in front of the payload.
fn open_bytes(
    bytes: &mut [u8],
    sa: &Sa,
    (front, has_udp): (usize, bool),
) -> Result<(Opened, u64), Error> {
    if sa.is_ah() {
        let low = ah::number(bytes, front).ok_or(Error::NoTail)?;
        let number = sa.number_of(low).ok_or(Error::Replay)?;
        let opened = ah::verify(&sa.keys, bytes, front, number)?;
        return Ok((opened, number));
    }
    let esp = front + if has_udp { size_of::<udp::Header>() } else { 0 };
    let header = bytes.get(esp..).and_then(<[u8]>::first_chunk::<HEADER>).ok_or(Error::Runt)?;
    let low = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let number = sa.number_of(low).ok_or(Error::Replay)?;
    let opened = sa.keys.open(bytes, esp, number)?;
    Ok((opened, number))
}

/// Removes everything but the inner packet at `start` to `end`, and the IP header if it is kept.
#[inline(always)]
fn uncover(
    bytes: &mut [u8],
    opened: &Opened,
    (sa, front, announced_at): (&Sa, usize, usize),
) -> Option<(usize, usize)> {
    if sa.outside.is_tunnel() {
        return Some((opened.start, opened.end));
    }
    let start = opened.start.checked_sub(front)?;
    bytes.copy_within(..front, start);
    let packet = bytes.get_mut(start..opened.end)?;
    patch(packet, front, announced_at, opened.next_header)?;
    Some((start, opened.end))
}

/// Decapsulates a decrypted packet in one segment.
#[inline(always)]
fn unwrap(p: &mut Buffer<'_>, opened: &Opened, at: (&Sa, usize, usize)) -> Result<(), Error> {
    let (start, end) = uncover(p.bytes_mut(), opened, at).ok_or(Error::Runt)?;
    p.truncate(end);
    p.advance(start).ok_or(Error::Runt)
}

/// Decrypts a packet; it then begins with the inner packet, or with the IP header that is kept.
fn open<N: Node>(p: &mut Packet<'_, N>, sa: &Sa, front: usize) -> Result<(Opened, u64), Error> {
    if sa.is_ah() && is_fragment(p.bytes()) {
        return Err(Error::Fragment);
    }
    let announced_at = announcement(p.bytes(), sa.is_ah()).ok_or(Error::Runt)?;
    // The peer detects whether there is a NAT on the path, and may omit UDP.
    let place = (front, p.bytes().get(announced_at) == Some(&Protocol::UDP.0));
    // Link-layer padding is not part of the packet.
    let total = total_len(p.bytes()).ok_or(Error::Runt)?;
    if total < p.total_len() {
        p.truncate_chain(total);
    }
    let at = (sa, front, announced_at);
    if p.next_segment().is_none() {
        let (opened, number) = open_bytes(p.bytes_mut(), sa, place)?;
        unwrap(p, &opened, at)?;
        return Ok((opened, number));
    }
    p.with_room(|p, room| {
        let len = gather(p, room).ok_or(Error::NoBuffers)?;
        let bytes = room.get_mut(..len).ok_or(Error::NoBuffers)?;
        let (opened, number) = open_bytes(bytes, sa, place)?;
        let (start, end) = uncover(bytes, &opened, at).ok_or(Error::Runt)?;
        replace(p, bytes.get(start..end).unwrap_or(&[])).ok_or(Error::NoBuffers)?;
        Ok((opened, number))
    })
}

/// Length of an IP packet according to its header.
fn total_len(packet: &[u8]) -> Option<usize> {
    if packet.first()? >> 4 == 4 {
        return Some(usize::from(ip4::Header::ref_from_prefix(packet).ok()?.0.total_len.get()));
    }
    let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
    Some(usize::from(h.payload_len.get()) + size_of::<ip6::Header>())
}

impl<const AT: usize> Decrypt<AT> {
    /// Next node of a packet of a policy.
    fn next(p: &mut Buffer<'_>, clear: &Clear) -> Result<Next<AT>, Error> {
        let is_6 = p.bytes().first().map(|b| b >> 4);
        if clear.kept > 0 {
            return Ok(if is_6 == Some(6) { Next::Ip6 } else { Next::Ip4 });
        }
        match Protocol(clear.next_header) {
            Protocol::IP4 => Ok(Next::Ip4),
            Protocol::IP6 => Ok(Next::Ip6),
            MPLS => Ok(Next::Mpls),
            _ if AH.contains(&AT) => Err(Error::Decryption),
            _ => Err(Error::Unsupported),
        }
    }
    /// Next node of a packet of a tunnel, after its own headers are removed.
    fn inner(p: &mut Buffer<'_>, clear: &Clear, by: &Carried) -> Result<Next<AT>, Error> {
        // The tunnel's header may be inside that of the SA.
        let enclosed = if by.is_enclosed { by.enclosed(p.bytes()) } else { None };
        let (next_header, skip) = enclosed.unwrap_or((Protocol(clear.next_header), clear.kept));
        p.advance(skip).ok_or(Error::Runt)?;
        match next_header {
            Protocol::IP4 => Ok(Next::Ip4),
            Protocol::IP6 => Ok(Next::Ip6),
            MPLS => Ok(Next::Mpls),
            Protocol::GRE => {
                let (len, kind) = gre(p.bytes()).ok_or(Error::Unsupported)?;
                p.advance(len).ok_or(Error::Runt)?;
                match kind {
                    EtherType::IP4 => Ok(Next::Ip4),
                    EtherType::IP6 => Ok(Next::Ip6),
                    EtherType::MPLS => Ok(Next::Mpls),
                    EtherType::TRANSPARENT_BRIDGING => Ok(Next::Ethernet),
                    _ => Err(Error::Unsupported),
                }
            }
            _ => Err(Error::Unsupported),
        }
    }
    /// Decrypts a packet, or completes one that was decrypted in a run.
    #[inline(always)]
    fn take(
        &self,
        p: &mut Packet<'_, Self>,
        (sa, work, done): (&Sa, Work, Option<Done>),
        (thread, epoch): (usize, Epoch<'_>),
    ) -> Result<Next<AT>, Error> {
        let (len, front) = (p.total_len() as u64, work.front as usize);
        let class = sa.outside.takes_congestion().then(|| Inside::of(p.bytes()).class());
        let (opened, number) = match done {
            Some((opened, number)) => {
                let opened = opened?;
                let announced_at =
                    if p.bytes().first().is_some_and(|b| b >> 4 == 4) { 9 } else { 6 };
                unwrap(p, &opened, (sa, front, announced_at))?;
                (opened, number)
            }
            None => open(p, sa, front)?,
        };
        let lost = sa.state.received.take(number);
        let kept = if sa.outside.is_tunnel() { 0 } else { front };
        let clear = Clear { next_header: opened.next_header, kept };
        self.all.count(thread, work.sa, len);
        self.all.count_lost(thread, work.sa, lost);
        p.trace(|_| Said::of(work.sa, sa, number));
        forget_outer(p);
        if AT < TUNNELS {
            p.add_flags(OPENED);
            let next = Self::next(p, &clear)?;
            next.take_congestion(class, p);
            return Ok(next);
        }
        let by = self.carried.read(work.via, epoch).ok_or(Error::NoTunnelProtocol)?;
        let next = Self::inner(p, &clear, by)?;
        if !sa.open.has(next.content()) {
            let limits = sa.limits();
            if limits.is_some_and(|limits| !limits.may_enter(p.bytes(), next.content())) {
                return Err(Error::NotSelected);
            }
        }
        next.take_congestion(class, p);
        p.set_rx(by.interface.0);
        if let Some(counter) = self.received.row(thread).get(by.interface.0 as usize) {
            counter.add(1, p.total_len() as u64);
        }
        Ok(next)
    }
    /// Verifies and decrypts the run of common packets of one SA at the beginning of the given
    /// packets, if there is one: returns a bit for each valid packet.
    #[inline(always)]
    fn open_run<'e>(
        &'e self,
        packets: &mut Passes<'_, Self>,
        places: Range<usize>,
        (thread, epoch): (usize, Epoch<'e>),
    ) -> Option<(Work, &'e Sa, OpenRun<'e>, u64)> {
        if AH.contains(&AT) || packets.are_watched() {
            return None;
        }
        let mut first = None;
        packets.look(places.start..places.start + 1, |_, p| {
            let work = p.payload::<Work>();
            first = self.all.sas.read(work.sa, epoch).and_then(|sa| {
                let mut run = OpenRun::new(sa, work.front as usize)?;
                run.add(p)?;
                let is_here = self.all.thread_of(sa, thread, epoch) == thread;
                is_here.then_some((work, sa, run))
            });
        });
        let (work, sa, mut run) = first?;
        // Most runs have either one packet or many.
        for end in [2, MOST] {
            let more = places.start + run.count()..places.end.min(places.start + end);
            let (mut is_over, all) = (false, run.count() + more.len());
            packets.look(
                more,
                #[inline(always)]
                |_, p| is_over = is_over || p.payload::<Work>() != work || run.add(p).is_none(),
            );
            if run.count() < all {
                break;
            }
        }
        let (_, together) = packets.apart(places.start..places.start + run.count());
        let right = run.open(together);
        Some((work, sa, run, right))
    }
}

impl<const AT: usize> Node for Decrypt<AT> {
    const NAME: &'static str = NODES[AT];
    const INPUT: &'static str = Work::NAME;
    const HOT: bool = true;
    type Next = Next<AT>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][AT % 2];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &*self);
        let (mut received, mut elsewhere) = (0, 0);
        frame.passes(
            #[inline(always)]
            |packets| {
                let (mut place, end) = (0, packets.all().end);
                while place < end {
                    let places = place..(place + MOST).min(end);
                    let run = this.open_run(packets, places, (thread, epoch));
                    let places = place..place + run.as_ref().map_or(1, |(.., run, _)| run.count());
                    packets.leave(places.clone());
                    packets.others(
                        places.clone(),
                        #[inline(always)]
                        |at, p| {
                            let (work, sa, done) = match &run {
                                Some((work, sa, run, right)) => {
                                    (*work, *sa, Some(run.opened(at - places.start, p, *right)))
                                }
                                None => {
                                    let work = p.payload::<Work>();
                                    let sa = this.all.sas.read(work.sa, epoch);
                                    (work, sa.ok_or(Error::Engine)?, None)
                                }
                            };
                            let is_here = this.all.thread_of(sa, thread, epoch) == thread;
                            if done.is_none() && !is_here {
                                elsewhere += 1;
                                p.set_payload(work);
                                return Ok(Next::HandOff);
                            }
                            received += 1;
                            this.take(p, (sa, work, done), (thread, epoch)).inspect_err(|why| {
                                this.all.refuse(thread, work.sa, *why);
                            })
                        },
                    );
                    place = places.end;
                }
            },
        );
        frame.count(Count::Received, received);
        frame.count(Count::HandOff, elsewhere);
    }
}

/// Hands packets to the thread of their SA.
#[derive(Clone)]
pub struct ByAssociation<const AT: usize>(pub Associations);

impl<const AT: usize> HandsOff for ByAssociation<AT> {
    const NAME: &'static str = HANDOFFS[AT];
    const TO: &'static str = NODES[AT];
    const DROP: &'static str = Decrypt::<AT>::DROP;
    const INPUT: &'static str = Work::NAME;
    const OUTPUT: &'static str = Work::NAME;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, AT> {
        let (epoch, thread, all) = (frame.epoch(), frame.thread(), &self.0);
        move |p| {
            let sa = all.sas.read(p.payload::<Work>().sa, epoch);
            sa.map_or(thread, |sa| all.thread_of(sa, thread, epoch))
        }
    }
}
