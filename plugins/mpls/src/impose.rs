//! `ip4-mpls-label-imposition-pipe` and its siblings: labels put on IP packets, on labelled packets
//! and on frames (RFC 3032). In the pipe model a label has a time to live and a traffic class of
//! its own, in the uniform model those of the packet (RFC 3443). Where a label was taken off by the
//! lookup, the innermost new one takes its place: a swap.

use graph::arc::Along;
use graph::{Edge, Payload};
use net::fib::Popped;
use net::gso;
use net::icmp::Problem;
use net::ip::Linked;
use net::prelude::*;
use wire::mpls::Entry;

use super::error::Error;
use super::fast_path::FastPath;
use super::lookup::{Lead, To};
use super::objects::Imposition;

/// Offloads that are completed before labels are in front.
pub(super) const UNDONE: Flags = Flags::CHECKSUM_TODO.with(Flags::GSO);

/// The kind of packets below imposed labels.
pub trait Carried: Linked {
    /// The nodes that put labels on, for the pipe and the uniform model.
    const IMPOSE: [&'static str; 2];
    /// The node that tells senders what is wrong, and what it takes along.
    const PROBLEMS: Edge;
    /// Error for the sender of a packet whose last hop is used up.
    const EXPIRED: Option<Problem>;
    /// The innermost label's fields for a packet that spends a hop, unless this router created it.
    /// `None` when the last hop is used up.
    fn inner(p: &Buffer<'_>, popped: Option<Popped>) -> Option<Inner>;
    /// Spends the hop, unless this router made the packet.
    fn spend(_: &mut Buffer<'_>) {}
}

/// Fields of the packet below the innermost label.
#[derive(Clone, Copy)]
pub struct Inner {
    /// Time to live; 0 for what has none, so that labels keep their own.
    pub ttl: u8,
    /// Traffic class.
    pub exp: u8,
    /// Whether no label is below.
    pub is_last: bool,
    /// Whether the label takes the place of one that was taken off.
    pub is_swap: bool,
}

impl Inner {
    /// Of a packet whose label was taken off; `None` when the last hop is used up.
    #[inline(always)]
    pub fn below(Popped { ttl, exp, is_last, .. }: Popped) -> Option<Self> {
        let ttl = ttl.checked_sub(1).filter(|left| *left > 0)?;
        Some(Self { ttl, exp, is_last: is_last != 0, is_swap: true })
    }
}

/// Labelled packets.
#[derive(Clone, Copy)]
pub struct Labelled;
/// Frames.
#[derive(Clone, Copy)]
pub struct Framed;

impl Linked for Labelled {
    const LINK: Link = Link::Mpls;
}

impl Linked for Framed {
    const LINK: Link = Link::Ethernet;
}

/// Hops left of an IP packet; `None` when the last one is used up.
#[inline(always)]
fn hops_of<V: Version>(p: &Buffer<'_>) -> Option<u8> {
    let hops = V::hops(p)?;
    if p.flags().has(Flags::LOCAL) {
        return Some(hops);
    }
    hops.checked_sub(1).filter(|left| *left > 0)
}

/// Spends a hop of an IP packet.
#[inline(always)]
fn spend<V: Version>(p: &mut Buffer<'_>) {
    if !p.flags().has(Flags::LOCAL) {
        V::spend_hop(p);
    }
}

impl Carried for V4 {
    const IMPOSE: [&'static str; 2] =
        ["ip4-mpls-label-imposition-pipe", "ip4-mpls-label-imposition-uniform"];
    const PROBLEMS: Edge = Edge { to: V4::NODES.icmp_error, payload: Problem::NAME };
    const EXPIRED: Option<Problem> = Some(V4::EXPIRED_PROBLEM);
    #[inline(always)]
    fn inner(p: &Buffer<'_>, _: Option<Popped>) -> Option<Inner> {
        let (ttl, exp) = (hops_of::<V4>(p)?, p.header::<ip4::Header>()?.tos >> 5);
        Some(Inner { ttl, exp, is_last: true, is_swap: false })
    }
    #[inline(always)]
    fn spend(p: &mut Buffer<'_>) {
        spend::<V4>(p);
    }
}

impl Carried for V6 {
    const IMPOSE: [&'static str; 2] =
        ["ip6-mpls-label-imposition-pipe", "ip6-mpls-label-imposition-uniform"];
    const PROBLEMS: Edge = Edge { to: V6::NODES.icmp_error, payload: Problem::NAME };
    const EXPIRED: Option<Problem> = Some(V6::EXPIRED_PROBLEM);
    #[inline(always)]
    fn inner(p: &Buffer<'_>, _: Option<Popped>) -> Option<Inner> {
        let (ttl, exp) = (hops_of::<V6>(p)?, p.header::<ip6::Header>()?.traffic_class() >> 5);
        Some(Inner { ttl, exp, is_last: true, is_swap: false })
    }
    #[inline(always)]
    fn spend(p: &mut Buffer<'_>) {
        spend::<V6>(p);
    }
}

impl Carried for Labelled {
    const IMPOSE: [&'static str; 2] =
        ["mpls-label-imposition-pipe", "mpls-label-imposition-uniform"];
    const PROBLEMS: Edge = Edge { to: "mpls-drop", payload: "" };
    const EXPIRED: Option<Problem> = None;
    #[inline(always)]
    fn inner(p: &Buffer<'_>, popped: Option<Popped>) -> Option<Inner> {
        if let Some(popped) = popped {
            return Inner::below(popped);
        }
        let top = p.header::<Entry>()?;
        Some(Inner { ttl: top.ttl(), exp: top.exp(), is_last: false, is_swap: false })
    }
}

impl Carried for Framed {
    const IMPOSE: [&'static str; 2] =
        ["ethernet-mpls-label-imposition-pipe", "ethernet-mpls-label-imposition-uniform"];
    const PROBLEMS: Edge = Edge { to: "mpls-drop", payload: "" };
    const EXPIRED: Option<Problem> = None;
    #[inline(always)]
    fn inner(_: &Buffer<'_>, _: Option<Popped>) -> Option<Inner> {
        Some(Inner { ttl: 0, exp: 0, is_last: true, is_swap: false })
    }
}

/// Puts labels on.
#[derive(Clone)]
pub struct Impose<C> {
    impositions: SlabReader<Imposition>,
    lead: Lead,
    fast: FastPath,
    of: PhantomData<C>,
}

/// Edges of [`Impose`].
#[derive(Clone, Copy)]
pub enum Next<C> {
    /// On, labelled.
    To(To),
    /// An ICMP error to the sender.
    Problem(PhantomData<C>),
    /// Was cut into segments, which come one by one, or follows such a packet.
    Again,
}

impl<C: Carried> graph::Next for Next<C> {
    const EDGES: &'static [Edge] = &[
        To::EDGES[0],
        To::EDGES[1],
        To::EDGES[2],
        To::EDGES[3],
        To::EDGES[4],
        To::EDGES[5],
        C::PROBLEMS,
        Edge { to: C::IMPOSE[0], payload: "" },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::To(to) => to.slot(along, p),
            Self::Problem(_) => 6,
            Self::Again => 7,
        }
    }
}

impl<C: Carried> Node for Impose<C> {
    const NAME: &'static str = C::IMPOSE[0];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<C>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";
    const COUNTED_AT: &'static str = "mpls-lookup";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        frame.passes(
            #[inline(always)]
            |packets| {
                self.fast.impose::<C, _>(packets, (epoch, thread));
                let (mut known, mut imposition) = (u32::MAX, None);
                // What comes behind a packet that was cut stays behind its segments.
                let mut is_behind = false;
                packets.others(packets.all(), |_, p| {
                    let index = p.adjacency();
                    if index != known {
                        (known, imposition) = (index, self.impositions.read(index, epoch));
                    }
                    let imposition = imposition.ok_or(Error::BadLabel)?;
                    if p.flags().has(UNDONE) {
                        gso::apply(UNDONE, p).map_err(|_| Error::Drop)?;
                        is_behind = true;
                    }
                    if is_behind {
                        return Ok(Next::Again);
                    }
                    let inner = C::inner(p, Popped::of(p));
                    C::spend(p);
                    let Some(inner) = inner else {
                        let Some(problem) = C::EXPIRED else { return Err(Error::TtlExpired) };
                        p.error(Error::TtlExpired);
                        p.set_payload(problem);
                        return Ok(Next::Problem(PhantomData));
                    };
                    push(p, &imposition.labels, inner).ok_or(Error::Drop)?;
                    p.clear_flags(Flags::POPPED.with(Flags::L3).with(Flags::L4));
                    p.trace(super::input::Shown::of);
                    Ok(Next::To(self.lead.to(p, imposition.next, epoch)))
                });
            },
        );
    }
}

/// Puts labels in front of a packet.
#[inline(always)]
fn push<C>(p: &mut Packet<'_, Impose<C>>, labels: &[net::fib::Label], inner: Inner) -> Option<()> {
    let Some(last) = labels.len().checked_sub(1) else {
        // The next label takes the place of the one that was taken off.
        let next = p.header_mut::<Entry>()?;
        *next = Entry::new(next.label(), inner.exp, next.is_last(), inner.ttl);
        return Some(());
    };
    let entry = |(i, label): (usize, &net::fib::Label)| {
        let takes = inner.ttl != 0 && (label.is_uniform || (inner.is_swap && i == last));
        let (ttl, exp) = if takes { (inner.ttl, inner.exp) } else { (label.hops(), label.exp) };
        Entry::new(label.value, exp, inner.is_last && i == last, ttl)
    };
    let room = p.prepend(size_of::<Entry>() * labels.len())?;
    for (place, label) in room.chunks_exact_mut(size_of::<Entry>()).zip(labels.iter().enumerate()) {
        place.copy_from_slice(entry(label).as_bytes());
    }
    Some(())
}

/// Adds the nodes for packets of a link.
pub(super) fn add<C: Carried>(
    router: &mut Router,
    (impositions, fast): (&SlabReader<Imposition>, &FastPath),
) -> Result<(), BuildError> {
    for name in C::IMPOSE {
        router.add_forwarder(Link::Mpls, name, |_, objects| Impose::<C> {
            impositions: impositions.clone(),
            lead: Lead(objects),
            fast: fast.clone(),
            of: PhantomData,
        })?;
    }
    Ok(())
}
