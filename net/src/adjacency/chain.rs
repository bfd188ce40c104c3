//! Mid-chain adjacencies: rewrites for sending packets into a tunnel.
//!
//! Such an adjacency puts the headers of its tunnel in front of a packet, writes into them what
//! depends on the packet, and sends it on as the route to the tunnel's far end leads: it is
//! *stacked* on that route. It follows the route as a recursive path does, by a path list of its
//! own, so that a change of the route is a change of one load balance, and routes over the tunnel
//! whose far end cannot be reached, or only through the tunnel itself, count as not usable.
//!
//! A kind of tunnel adds an interface of [`Kind::Ip`](crate::interface::Kind::Ip) and calls
//! [`Router::encapsulate`] before routes lead over it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use graph::{Buffer, Flags, Node, Packet, Slot};
use wire::{Protocol, ip4, ip6};

use super::AdjacencyIndex;
use crate::gso::{self, UNDONE};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// The next node of packets after the headers of their tunnel are added.
pub(crate) const TRANSMIT: &str = "adj-midchain-tx";
/// Most bytes of headers: what a buffer has room for in front, with those of layer 2.
pub const MAX_HEADER: usize = 96;

/// Writes into headers of a tunnel, which are in front of the packet, what depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Fixup {
    /// The length of an outer IPv4 header without options, and its checksum, which is right for
    /// the length it has in [`Hop::header`].
    Ip4,
    /// The length of an outer IPv6 header.
    Ip6,
    /// The tunnel's own, with a number of its choice.
    Own(fn(&mut Buffer<'_>, u64), u64),
}

impl Fixup {
    /// Does so.
    #[inline(always)]
    pub fn apply(self, p: &mut Buffer<'_>) {
        let len = p.total_len();
        match self {
            Self::Ip4 => {
                if let Some(outer) = p.header_mut::<ip4::Header>() {
                    outer.set_total_len(len as u16);
                }
            }
            Self::Ip6 => {
                if let Some(outer) = p.header_mut::<ip6::Header>() {
                    let len = len.saturating_sub(size_of::<ip6::Header>());
                    outer.payload_len = (len as u16).into();
                }
            }
            Self::Own(write, number) => write(p, number),
        }
    }
}

/// The headers of a tunnel to one next hop, as nodes read them.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Put in front.
    pub header: Box<[u8]>,
    /// Written then.
    pub fixup: Fixup,
    /// Whether what is to be done for a packet can wait.
    pub carries_offloads: bool,
    /// The load balance that the route to the far end is followed by.
    pub stacked: u32,
    /// Table of that route.
    pub fib: u16,
    /// Edge to the node that sends to the neighbour on the way there.
    pub rewrite: Slot,
    /// Edge to the node that follows the load balance.
    pub balance: Slot,
}

impl Hop {
    /// Whether a packet is processed again before it gets the headers: it had to be segmented or
    /// its checksum completed first, as requested or as the headers need it, or follows such a
    /// packet in its frame (`is_behind`).
    ///
    /// # Errors
    /// The packet is to be dropped.
    #[inline(always)]
    pub fn comes_again<N: Node>(
        &self,
        p: &mut Packet<'_, N>,
        is_asked: impl FnOnce(Flags) -> bool,
        is_behind: &mut bool,
    ) -> Result<bool, gso::Failure> {
        if p.flags().has(UNDONE) {
            let can_wait = self.carries_offloads && gso::can_wait(p, self.header.len());
            if !can_wait || is_asked(p.flags()) {
                gso::apply(UNDONE, p)?;
                *is_behind = true;
            }
        }
        Ok(*is_behind)
    }
    /// Puts the headers in front of a packet, and marks it; `None` without headroom.
    ///
    /// The outer header is made here: it has all its hops, and may be cut. As in VPP, it has a hop
    /// more around a packet of the router's own: others have spent one on the way to the tunnel.
    #[inline(always)]
    pub fn enclose(&self, p: &mut Buffer<'_>) -> Option<()> {
        let is_own = is_own(p.flags());
        let mark = if is_own { ENCLOSED.with(Flags::LOCAL_INSIDE) } else { ENCLOSED };
        p.clear_flags(Flags::LOCAL_INSIDE);
        p.add_flags(mark);
        self.put_in_front(p)?;
        if is_own {
            add_hop(p);
        }
        Some(())
    }
    /// Puts the headers in front of a packet; `None` without headroom.
    #[inline(always)]
    pub fn put_in_front(&self, p: &mut Buffer<'_>) -> Option<()> {
        gso::enclose(p, self.header.len());
        copy(&self.header, p.prepend(self.header.len())?);
        self.fixup.apply(p);
        Some(())
    }
}

impl super::Adjacency {
    /// Bytes in front of the IP header of packets on the output arc: the layer 2 header, or the
    /// headers of a tunnel.
    #[inline(always)]
    pub fn front(&self) -> usize {
        self.hop.as_ref().map_or(usize::from(self.header_len), |hop| hop.header.len())
    }
    /// Whether a packet on the output arc was made by this router, apart from a tunnel's headers.
    #[inline(always)]
    pub fn sends_own(&self, p: &Buffer<'_>) -> bool {
        let is_enclosed = self.hop.as_ref().is_some_and(|hop| !hop.header.is_empty());
        p.flags().has(if is_enclosed { Flags::LOCAL_INSIDE } else { Flags::LOCAL })
    }
}

/// Marks of the headers of a tunnel.
pub(crate) const ENCLOSED: Flags = Flags::LOCAL.with(Flags::ENCLOSED);

/// Whether this router made a packet, and not only the headers of a tunnel around it.
#[inline(always)]
fn is_own(flags: Flags) -> bool {
    flags.has(Flags::LOCAL) && (!flags.has(Flags::ENCLOSED) || flags.has(Flags::LOCAL_INSIDE))
}

/// Gives an outer header one hop more. That of IP in IPv6 spends none, as in VPP.
#[cold]
#[inline(never)]
fn add_hop(p: &mut Buffer<'_>) {
    match p.bytes().first().map(|byte| byte >> 4) {
        Some(4) => {
            if let Some(outer) = p.header_mut::<ip4::Header>() {
                outer.ttl = outer.ttl.saturating_add(1);
                outer.update_checksum();
            }
        }
        Some(6) => {
            let outer = p.header_mut::<ip6::Header>();
            if let Some(outer) = outer.filter(|outer| !keeps_hops(outer.next_header)) {
                outer.hop_limit = outer.hop_limit.saturating_add(1);
            }
        }
        _ => (),
    }
}

/// Whether an outer IPv6 header in front of this protocol spends no hop.
pub(crate) fn keeps_hops(carried: Protocol) -> bool {
    matches!(carried, Protocol::IP4 | Protocol::IP6)
}

/// Copies a header into room of its length, in pieces: a call takes longer than copying so little.
#[inline(always)]
fn copy(header: &[u8], room: &mut [u8]) {
    let (header, room) = copy_piece::<32>(header, room);
    let (header, room) = copy_piece::<16>(header, room);
    let (header, room) = copy_piece::<8>(header, room);
    let (header, room) = copy_piece::<4>(header, room);
    if !header.is_empty() {
        room.copy_from_slice(header);
    }
}

/// Copies `N` bytes, if there are as many; what is left.
#[inline(always)]
fn copy_piece<'a, const N: usize>(
    header: &'a [u8],
    room: &'a mut [u8],
) -> (&'a [u8], &'a mut [u8]) {
    if header.len() < N || room.len() < N {
        return (header, room);
    }
    let ((piece, header), (to, room)) = (header.split_at(N), room.split_at_mut(N));
    to.copy_from_slice(piece);
    (header, room)
}

/// Stacks an adjacency of a tunnel on the way to the tunnel's far end.
pub(crate) type Stack = Rc<dyn Fn(&mut Router, AdjacencyIndex)>;

/// The path list that an adjacency is stacked on, and how it is given up.
#[derive(Clone, Copy)]
pub(crate) struct Stacked {
    pub list: u32,
    pub release: fn(&mut Router, AdjacencyIndex, u32),
}

/// Interfaces that are tunnels, and the path list that each of their adjacencies is stacked on.
#[derive(Default)]
pub(super) struct Encapsulations {
    by_interface: HashMap<InterfaceIndex, Stack>,
    stacks: HashMap<AdjacencyIndex, Stacked>,
    /// Load balances that all packets of an interface go to, by interface.
    carriers: HashMap<InterfaceIndex, u32>,
}

impl Encapsulations {
    /// Stack for adjacencies of an interface; `None` where it is no tunnel.
    pub fn of(&self, interface: InterfaceIndex) -> Option<Stack> {
        self.by_interface.get(&interface).map(Rc::clone)
    }
    pub fn remove(&mut self, index: AdjacencyIndex) -> Option<Stacked> {
        self.stacks.remove(&index)
    }
}

impl super::Adjacencies {
    /// The path list that an adjacency is stacked on.
    pub(crate) fn stack_of(&self, index: AdjacencyIndex) -> Option<u32> {
        self.encapsulations.stacks.get(&index).map(|stacked| stacked.list)
    }
    /// The load balance that all packets of an interface go to, when its output node puts the
    /// headers of a tunnel in front.
    pub(crate) fn carrier_of(&self, interface: InterfaceIndex) -> Option<u32> {
        self.encapsulations.carriers.get(&interface).copied()
    }
    pub(crate) fn set_carrier(&mut self, interface: InterfaceIndex, balance: Option<u32>) {
        let carriers = &mut self.encapsulations.carriers;
        match balance {
            Some(balance) => carriers.insert(interface, balance),
            None => carriers.remove(&interface),
        };
    }
    /// Makes an interface a tunnel; whether it was none.
    pub(crate) fn add_encapsulation(&mut self, interface: InterfaceIndex, stack: Stack) -> bool {
        self.encapsulations.by_interface.insert(interface, stack).is_none()
    }
    pub(crate) fn forget_encapsulation(&mut self, interface: InterfaceIndex) {
        self.encapsulations.by_interface.remove(&interface);
    }
    /// Restacks the adjacencies of a tunnel: those to a next hop, or all.
    pub(crate) fn stack(router: &mut Router, interface: InterfaceIndex, next_hop: Option<IpAddr>) {
        let all = &router.adjacencies;
        let Some(stack) = all.encapsulations.of(interface) else { return };
        let mine = all.on(interface).filter(|((.., hop), _)| next_hop.is_none_or(|to| *hop == to));
        let mine: Vec<_> = mine.map(|(_, index)| *index).collect();
        mine.into_iter().for_each(|index| stack(router, index));
    }
    /// Says by which edge packets leave an adjacency's node.
    pub(crate) fn lead(&mut self, index: AdjacencyIndex, output: Slot, is_led: bool) {
        self.change(index, |a| (a.output, a.is_led) = (output, is_led));
    }
    /// The adjacencies of an interface.
    pub fn of_interface(&self, interface: InterfaceIndex) -> Vec<AdjacencyIndex> {
        self.on(interface).map(|(_, index)| *index).collect()
    }
    /// Says what an adjacency puts in front, and what it is stacked on; returns what it was.
    pub(crate) fn set_hop(
        &mut self,
        index: AdjacencyIndex,
        new: Option<(Arc<Hop>, Stacked)>,
    ) -> Option<Stacked> {
        let (hop, stacked) = new.unzip();
        self.change(index, |a| a.hop = hop);
        let stacks = &mut self.encapsulations.stacks;
        match stacked {
            Some(stacked) => stacks.insert(index, stacked),
            None => stacks.remove(&index),
        }
    }
}
