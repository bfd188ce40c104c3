//! `sr-pl-rewrite-encaps` and its siblings: headers of policies put in front of packets and frames
//! (RFC 8986 section 5), or a routing header put into IPv6 packets.

use graph::arc::Along;
use graph::{Edge, Payload};
use net::ethernet::L2_INPUT;
use net::fib::{flow, next};
use net::gso;
use net::icmp::Problem;
use net::interface::DEVICE_INPUT;
use net::prelude::*;
use wire::ip6::{Header, NEXT_HEADER};
use wire::srh;

use super::end;
use super::policy::Rewrite;
use super::steer::Frames;

/// Node of IPv6 packets that are steered.
pub const ENCAPS: &str = "sr-pl-rewrite-encaps";
/// Node of IPv4 packets that are steered.
pub const ENCAPS4: &str = "sr-pl-rewrite-encaps-v4";
/// Node of frames that are steered.
pub const ENCAPS_L2: &str = "sr-pl-rewrite-encaps-l2";
/// Node of packets to a binding SID.
pub const BOUND_ENCAPS: &str = "sr-pl-rewrite-b-encaps";
/// Node of IPv6 packets that a routing header is put into.
pub const INSERT: &str = "sr-pl-rewrite-insert";
/// The same, for packets to a binding SID.
pub const BOUND_INSERT: &str = "sr-pl-rewrite-b-insert";

/// Offloads that are completed before other headers are in front.
const UNDONE: Flags = Flags::CHECKSUM_TODO.with(Flags::GSO);
/// Longest packet that is copied, in bytes.
const LONGEST: usize = 1 << 16;

/// Drops of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// Segment Routing undefined error.
    #[name("Segment Routing undefined error")]
    Undefined,
    /// BSID with SL = 0.
    #[name("BSID with SL = 0")]
    NoSegment,
}

/// Counters of the nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// SR steered IPv6 packets.
    #[name("SR steered IPv6 packets")]
    Steered,
    /// SR: Encaps packets.
    #[name("SR: Encaps packets")]
    Encaps,
    /// SR: SRH inserted packets.
    #[name("SR: SRH inserted packets")]
    Inserted,
    /// SR: BindingSID steered packets.
    #[name("SR: BindingSID steered packets")]
    Bound,
}

/// First header of packets before, and the operation.
pub trait Imposition: Copy + Send + 'static {
    /// Node.
    const NAME: &'static str;
    /// The node that tells senders what is wrong, and what it takes along.
    const PROBLEMS: Edge;
    /// Error for the sender of a packet whose last hop is used up.
    const EXPIRED: Problem;
    /// Counter besides drops.
    const COUNT: Count;
    /// Protocol of the inner packet; `None` for one that a header is put into.
    const INSIDE: Option<Protocol>;
    /// Whether packets came to the binding SID.
    const IS_BOUND: bool = false;
    /// Spends a hop, unless this router made the packet; false when the last one is used up.
    fn spend(p: &mut Buffer<'_>) -> bool;
    /// The traffic class that the outer header gets.
    fn class(_: &Buffer<'_>) -> u8 {
        0
    }
    /// Hash that tells flows apart.
    fn hash(p: &Buffer<'_>) -> u32 {
        flow(p.bytes())
    }
}

/// IPv6 packets.
#[derive(Clone, Copy)]
pub struct Packets6;
/// IPv4 packets.
#[derive(Clone, Copy)]
pub struct Packets4;
/// Frames.
#[derive(Clone, Copy)]
pub struct Framed;
/// IPv6 packets to a binding SID.
#[derive(Clone, Copy)]
pub struct Bound;
/// IPv6 packets that a header is put into.
#[derive(Clone, Copy)]
pub struct Inserted;
/// The same, to a binding SID.
#[derive(Clone, Copy)]
pub struct BoundInserted;

/// Spends a hop of an IP packet.
#[inline(always)]
fn spend<V: Version>(p: &mut Buffer<'_>) -> bool {
    if p.flags().has(Flags::LOCAL) {
        return true;
    }
    let is_left = V::hops(p).is_some_and(|hops| hops > 1);
    if is_left {
        V::spend_hop(p);
    }
    is_left
}

const PROBLEMS6: Edge = Edge { to: V6::NODES.icmp_error, payload: Problem::NAME };

fn class6(p: &Buffer<'_>) -> u8 {
    p.header::<Header>().map_or(0, Header::traffic_class)
}

impl Imposition for Packets6 {
    const NAME: &'static str = ENCAPS;
    const PROBLEMS: Edge = PROBLEMS6;
    const EXPIRED: Problem = V6::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Encaps;
    const INSIDE: Option<Protocol> = Some(Protocol::IP6);
    fn spend(p: &mut Buffer<'_>) -> bool {
        spend::<V6>(p)
    }
    fn class(p: &Buffer<'_>) -> u8 {
        class6(p)
    }
}

impl Imposition for Packets4 {
    const NAME: &'static str = ENCAPS4;
    const PROBLEMS: Edge = Edge { to: V4::NODES.icmp_error, payload: Problem::NAME };
    const EXPIRED: Problem = V4::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Encaps;
    const INSIDE: Option<Protocol> = Some(Protocol::IP4);
    fn spend(p: &mut Buffer<'_>) -> bool {
        spend::<V4>(p)
    }
    fn class(p: &Buffer<'_>) -> u8 {
        p.header::<ip4::Header>().map_or(0, |h| h.tos)
    }
}

impl Imposition for Framed {
    const NAME: &'static str = ENCAPS_L2;
    const PROBLEMS: Edge = PROBLEMS6;
    const EXPIRED: Problem = V6::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Encaps;
    const INSIDE: Option<Protocol> = Some(super::ETHERNET);
    fn spend(_: &mut Buffer<'_>) -> bool {
        true
    }
    fn hash(p: &Buffer<'_>) -> u32 {
        let addresses = p.bytes().iter().take(12);
        let hash = addresses.fold(0, |hash, byte| next(hash ^ u32::from(*byte)));
        let inside = wire::upper::ip_offset(p.bytes()).and_then(|at| p.bytes().get(at..));
        inside.map_or(hash, |inside| next(hash ^ flow(inside)))
    }
}

impl Imposition for Bound {
    const NAME: &'static str = BOUND_ENCAPS;
    const PROBLEMS: Edge = PROBLEMS6;
    const EXPIRED: Problem = V6::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Encaps;
    const INSIDE: Option<Protocol> = Some(Protocol::IP6);
    const IS_BOUND: bool = true;
    fn spend(p: &mut Buffer<'_>) -> bool {
        spend::<V6>(p)
    }
    fn class(p: &Buffer<'_>) -> u8 {
        class6(p)
    }
}

impl Imposition for Inserted {
    const NAME: &'static str = INSERT;
    const PROBLEMS: Edge = PROBLEMS6;
    const EXPIRED: Problem = V6::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Inserted;
    const INSIDE: Option<Protocol> = None;
    fn spend(_: &mut Buffer<'_>) -> bool {
        true
    }
}

impl Imposition for BoundInserted {
    const NAME: &'static str = BOUND_INSERT;
    const PROBLEMS: Edge = PROBLEMS6;
    const EXPIRED: Problem = V6::EXPIRED_PROBLEM;
    const COUNT: Count = Count::Inserted;
    const INSIDE: Option<Protocol> = None;
    const IS_BOUND: bool = true;
    fn spend(_: &mut Buffer<'_>) -> bool {
        true
    }
}

/// Puts headers on.
#[derive(Clone)]
struct Put<W> {
    rewrites: SlabReader<Box<[Rewrite]>>,
    /// Segment lists of frames of each interface.
    frames: SlabReader<Frames>,
    /// The packet being copied.
    bytes: Box<[u8]>,
    of: PhantomData<W>,
}

/// Edges of [`Put`].
#[derive(Clone, Copy)]
enum Next<W> {
    /// To the first segment.
    Lookup(PhantomData<W>),
    /// To an ICMP error for the sender.
    Problem,
    /// Was cut into segments, which come one by one, or follows such a packet.
    Again,
}

impl<W: Imposition> graph::Next for Next<W> {
    const EDGES: &'static [Edge] =
        &[Edge { to: "ip6-lookup", payload: "" }, W::PROBLEMS, Edge { to: W::NAME, payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Lookup(_) => 0,
            Self::Problem => 1,
            Self::Again => 2,
        }
    }
}

/// Puts headers in front of what is `inside`.
fn put_in_front(
    p: &mut Buffer<'_>,
    headers: &[u8],
    inside: Protocol,
    class: u8,
    hash: u32,
) -> Option<()> {
    const LAST_BYTE: usize = size_of::<Header>();
    let len = u16::try_from(p.total_len() + headers.len() - LAST_BYTE).ok()?;
    let room = p.make_room(headers.len())?;
    room.copy_from_slice(headers);
    let at = if headers.len() > LAST_BYTE { LAST_BYTE } else { NEXT_HEADER };
    *room.get_mut(at)? = inside.0;
    let header = p.header_mut::<Header>()?;
    header.payload_len = len.into();
    header.set_traffic_class(class);
    header.set_flow_label(hash & 0xf_ffff);
    Some(())
}

/// Puts a routing header into an IPv6 packet, behind what every router on the way looks at.
fn put_in(p: &mut Buffer<'_>, header: &[u8], first: [u8; 16], is_bound: bool) -> Option<()> {
    let hop_by_hop = ip6::extensions(p.bytes()).take_while(|e| e.protocol == Protocol::HOP_BY_HOP);
    let (announced_at, at) = hop_by_hop
        .last()
        .map_or((NEXT_HEADER, size_of::<Header>()), |e| (e.offset, e.offset + e.len));
    let next = *p.bytes().get(announced_at)?;
    p.make_room(header.len())?;
    let bytes = p.bytes_mut();
    bytes.copy_within(header.len()..header.len() + at, 0);
    let place = bytes.get_mut(at..at + header.len())?;
    place.copy_from_slice(header);
    *place.first_mut()? = next;
    *bytes.get_mut(announced_at)? = Protocol::ROUTING.0;
    let ip = p.header_mut::<Header>()?;
    let own = std::mem::replace(&mut ip.dst, first);
    ip.payload_len = ip.payload_len.get().checked_add(header.len() as u16)?.into();
    if !is_bound {
        let segment = at + size_of::<srh::Header>();
        p.bytes_mut().get_mut(segment..segment + srh::SEGMENT)?.copy_from_slice(&own);
    }
    Some(())
}

/// Puts on a packet what a policy says.
#[inline(always)]
fn put<W: Imposition>(p: &mut Buffer<'_>, rewrite: &Rewrite, class: u8, hash: u32) -> Option<()> {
    let headers = if W::IS_BOUND { &rewrite.bound } else { &rewrite.steered };
    match W::INSIDE {
        Some(inside) => put_in_front(p, headers, inside, class, hash)?,
        None => put_in(p, headers, rewrite.first.octets(), W::IS_BOUND)?,
    }
    p.set_fib(rewrite.table);
    let at = p.offset();
    p.set_l3_offset(at);
    p.clear_flags(Flags::L4.with(Flags::HASH).with(Flags::L2));
    p.add_flags(Flags::L3);
    Some(())
}

/// A packet to a binding SID goes on to its next segment, below the headers that are put in front;
/// one that a header is put into does so behind that.
fn unbind<W: Imposition>(p: &mut Buffer<'_>) -> Result<(), Error> {
    if W::INSIDE.is_some() {
        return end::next_segment(p, false).map_err(|_| Error::NoSegment);
    }
    let place = srh::find(p.bytes()).filter(|place| place.segments_left > 0);
    place.map(drop).ok_or(Error::NoSegment)
}

impl<W: Imposition> Put<W> {
    /// Segment list of a packet.
    #[inline(always)]
    fn index(&self, p: &Buffer<'_>, hash: u32, epoch: infra::rcu::Epoch<'_>) -> Option<u32> {
        if W::NAME != ENCAPS_L2 {
            return Some(p.adjacency());
        }
        let shares = &self.frames.read(p.rx(), epoch)?.0;
        shares.get(hash as usize % shares.len().max(1)).copied()
    }
}

impl<W: Imposition> Node for Put<W> {
    const NAME: &'static str = W::NAME;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<W>;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut count = 0;
        // What comes behind a packet that was cut stays behind its segments.
        let mut is_behind = false;
        frame.each(
            #[inline(always)]
            |p| {
                if p.flags().has(UNDONE) {
                    gso::apply(UNDONE, p).map_err(|_| Error::Undefined)?;
                    is_behind = true;
                }
                if is_behind {
                    return Ok(Next::Again);
                }
                let hash = W::hash(p);
                let index = self.index(p, hash, epoch).ok_or(Error::Undefined)?;
                let rewrites = self.rewrites.read(index, epoch).ok_or(Error::Undefined)?;
                let (last, others) = rewrites.split_last().ok_or(Error::Undefined)?;
                if !W::spend(p) {
                    p.set_payload(W::EXPIRED);
                    return Ok(Next::Problem);
                }
                if W::IS_BOUND {
                    unbind::<W>(p)?;
                }
                let class = W::class(p);
                let bytes = &mut self.bytes;
                others.iter().for_each(|to| copy::<W>(p, bytes, to, class, hash));
                put::<W>(p, last, class, hash).ok_or(Error::Undefined)?;
                count += rewrites.len() as u64;
                p.trace(|p| Rewritten::of(p, index));
                Ok(Next::Lookup(PhantomData))
            },
        );
        frame.count(W::COUNT, count);
        if W::PROBLEMS.to == PROBLEMS6.to && !W::IS_BOUND && W::INSIDE != Some(super::ETHERNET) {
            frame.count(Count::Steered, count);
        }
        if W::IS_BOUND {
            frame.count(Count::Bound, count);
        }
    }
}

/// Sends a copy of a packet on over another list.
#[cold]
fn copy<W: Imposition>(
    p: &mut Packet<'_, Put<W>>,
    bytes: &mut [u8],
    rewrite: &Rewrite,
    class: u8,
    hash: u32,
) {
    let mut len = 0;
    for segment in p.segments() {
        let Some(place) = bytes.get_mut(len..len + segment.len()) else { return };
        place.copy_from_slice(segment);
        len += segment.len();
    }
    let local = Flags(p.flags().0 & Flags::LOCAL.0);
    let made = p.fresh().and_then(|mut new| {
        new.extend(bytes.get(..len)?)?;
        new.add_flags(local);
        put::<W>(&mut new, rewrite, class, hash)?;
        new.send(Next::Lookup(PhantomData));
        Some(())
    });
    if made.is_none() {
        p.error(Error::Undefined);
    }
}

struct Rewritten {
    index: u32,
    src: std::net::Ipv6Addr,
    dst: std::net::Ipv6Addr,
}

impl Rewritten {
    fn of(p: &Buffer<'_>, index: u32) -> Self {
        let none = std::net::Ipv6Addr::UNSPECIFIED;
        let header = p.header::<Header>();
        let (src, dst) = header.map_or((none, none), |h| (h.src_addr(), h.dst_addr()));
        Self { index, src, dst }
    }
}

impl Record for Rewritten {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  SR-policy-rewrite: sl {} src {} dst {}", self.index, self.src, self.dst)
    }
}

fn add_one<W: Imposition>(
    router: &mut Router,
    rewrites: &infra::rcu::SharedSlab<Box<[Rewrite]>>,
    frames: &SlabReader<Frames>,
) -> Result<(), BuildError> {
    let (rewrites, frames, bytes) = (rewrites.reader(), frames.clone(), vec![0; LONGEST].into());
    router.engine.add(Put::<W> { rewrites, frames, bytes, of: PhantomData })?;
    Ok(())
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    rewrites: &infra::rcu::SharedSlab<Box<[Rewrite]>>,
    frames: &SlabReader<Frames>,
) -> Result<(), BuildError> {
    add_one::<Packets6>(router, rewrites, frames)?;
    add_one::<Packets4>(router, rewrites, frames)?;
    add_one::<Bound>(router, rewrites, frames)?;
    add_one::<Inserted>(router, rewrites, frames)?;
    add_one::<BoundInserted>(router, rewrites, frames)?;
    add_one::<Framed>(router, rewrites, frames)?;
    router.engine.place(&DEVICE_INPUT, ENCAPS_L2)?;
    router.engine.place(&L2_INPUT, ENCAPS_L2)
}
