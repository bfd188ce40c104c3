//! `ip4-replicate` and `ip6-replicate`: a copy of the packet for each path of its multicast route.
//! Whatever the route says, link-local groups reach only this router.

use std::fmt;
use std::marker::PhantomData;

use graph::{Buffer, BuildError, Flags, Frame, Names, Node, Packet, Record, Slot};
use infra::rcu::SlabReader;

use super::kind::Multicast;
use super::table::{Copy, MRoute};
use crate::fib::{Ip4, Ip6, Object, ObjectEdges, ObjectKind};
use crate::gso::Description;
use crate::ip::Version;
use crate::router::Router;

/// Longest packet that is copied, in bytes.
const LONGEST: usize = 1 << 16;

/// Makes copies of packets.
#[derive(Clone)]
pub struct Replicate<F> {
    routes: SlabReader<MRoute>,
    objects: ObjectEdges,
    /// The packet being copied.
    bytes: Box<[u8]>,
    of: PhantomData<F>,
}

/// Edges of [`Replicate`].
#[derive(Clone, Copy, graph::Next)]
pub enum To<F: Multicast> {
    /// To this router.
    #[to(<F::Version as Version>::NODES.receive)]
    Receive(PhantomData<F>),
    /// To the group on an interface, unless it is the receive interface.
    #[to(<F::Version as Version>::NODES.rewrite_mcast)]
    Multicast,
    /// To one neighbour.
    #[to(<F::Version as Version>::NODES.rewrite)]
    Neighbor,
    /// To an object.
    #[dynamic]
    Object(Slot),
    /// To an object that takes no such packets.
    #[to(<F::Version as Version>::NODES.drop)]
    Drop,
}

/// Drops of [`Replicate`], and copies that could not be made.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Buffer Allocation Failure.
    #[name("Buffer Allocation Failure")]
    NoBuffer,
    /// groups of one link are not forwarded.
    #[name("group of one link")]
    OneLink,
}

impl<F: Multicast> Node for Replicate<F> {
    const NAME: &'static str = F::NODES.replicate;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = To<F>;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = <F::Version as Version>::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let Self { bytes, objects, .. } = self;
        let slot = |kind| objects.slot(kind, epoch);
        frame.each(|p| {
            let index = p.adjacency();
            let copies = self.routes.read(index, epoch).map_or(&[][..], |r| &r.copies);
            if F::is_of_link(F::destination(p)) {
                p.trace(|p| Copied { route: index, count: 1, adjacency: p.adjacency() });
                let is_ours = copies.contains(&Copy::Receive);
                return if is_ours {
                    Ok(lead(p, Copy::Receive, slot))
                } else {
                    Err(Error::OneLink)
                };
            }
            let (last, others) = copies.split_last().ok_or(Error::NoBuffer)?;
            if !others.is_empty() {
                let len = gather(p, bytes);
                for to in others {
                    if copy(p, bytes.get(..len).unwrap_or(&[]), *to, slot).is_none() {
                        p.error(Error::NoBuffer);
                    }
                }
            }
            let next = lead(p, *last, slot);
            p.trace(|p| Copied { route: index, count: copies.len(), adjacency: p.adjacency() });
            Ok(next)
        });
    }
}

/// Writes all bytes of a packet in one piece; returns how many.
fn gather(p: &Buffer<'_>, bytes: &mut [u8]) -> usize {
    let mut len = 0;
    for segment in p.segments() {
        let Some(place) = bytes.get_mut(len..len + segment.len()) else { return 0 };
        place.copy_from_slice(segment);
        len += segment.len();
    }
    len
}

/// Sends a copy of a packet one way; `None` without buffers, or when the packet is too long.
fn copy<F: Multicast>(
    p: &mut Packet<'_, Replicate<F>>,
    bytes: &[u8],
    to: Copy,
    slot: impl Fn(ObjectKind) -> Option<Slot>,
) -> Option<()> {
    let description = Description::of(p);
    let mut new = p.fresh().filter(|_| !bytes.is_empty())?;
    new.extend(bytes)?;
    description.give(&mut new);
    let next = lead(&mut new, to, slot);
    new.send(next);
    Some(())
}

/// Notes on a packet where it goes.
#[inline(always)]
fn lead<F: Multicast>(
    p: &mut Buffer<'_>,
    to: Copy,
    slot: impl Fn(ObjectKind) -> Option<Slot>,
) -> To<F> {
    match to {
        Copy::Receive => {
            p.set_adjacency(0);
            To::Receive(PhantomData)
        }
        Copy::Multicast(adjacency) => {
            p.set_adjacency(adjacency.0);
            To::Multicast
        }
        Copy::Neighbor(adjacency, interface) => {
            p.set_adjacency(adjacency.0);
            // No copy is sent back to the receive interface: the node for groups ensures that.
            let comes_back = interface.0 == p.rx() && !p.flags().has(Flags::LOCAL);
            if comes_back { To::Multicast } else { To::Neighbor }
        }
        Copy::Object(Object { kind, index }) => {
            p.set_adjacency(index);
            slot(kind).map_or(To::Drop, To::Object)
        }
    }
}

struct Copied {
    route: u32,
    count: usize,
    adjacency: u32,
}

impl Record for Copied {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  replicate: {} buckets:{} via {}", self.route, self.count, self.adjacency)
    }
}

pub(super) fn register(router: &mut Router) -> Result<(), BuildError> {
    add::<Ip4>(router)?;
    add::<Ip6>(router)
}

fn add<F: Multicast>(router: &mut Router) -> Result<(), BuildError> {
    let (routes, bytes) = (router.mfib.routes.reader(), vec![0; LONGEST].into());
    let of = PhantomData;
    router.add_forwarder(F::LINK, F::NODES.replicate, |_, objects| Replicate::<F> {
        routes,
        objects,
        bytes,
        of,
    })?;
    Ok(())
}
