//! Mid-chain adjacencies: what it takes to send a packet into a tunnel.
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

use graph::{Buffer, Slot};
use wire::{ip4, ip6};

use super::{AdjacencyIndex, Link};
use crate::fib::{Gateway, Path, TableIndex, Target, Through};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// The node that packets take behind the headers of their tunnel.
pub(crate) const TRANSMIT: &str = "adj-midchain-tx";
/// Most bytes of headers: what a buffer has room for in front, with those of layer 2.
pub const MAX_HEADER: usize = 96;

/// What a tunnel puts in front of packets to one next hop.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The headers, outermost first, with everything in them that is the same for all packets.
    /// At most [`MAX_HEADER`] bytes.
    pub header: Box<[u8]>,
    /// What is written for each packet.
    pub fixup: Fixup,
    /// How packets go on behind the headers.
    pub to: Onward,
}

/// How packets go on behind the headers of a tunnel.
#[derive(Clone, Debug)]
pub enum Onward {
    /// As the route to the far end leads, in this table; the outer header is of the address's
    /// family.
    Route(TableIndex, IpAddr),
    /// Over paths of the tunnel's own, as packets of this kind.
    Paths(Link, Box<[Path]>),
}

impl From<(TableIndex, IpAddr)> for Onward {
    fn from((table, addr): (TableIndex, IpAddr)) -> Self {
        Self::Route(table, addr)
    }
}

/// Writes into headers of a tunnel, which are in front of the packet, what depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Fixup {
    /// The length of an outer IPv4 header without options, and its checksum, which is right for
    /// the length it has in [`Chain::header`].
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

/// A kind of tunnel, as its adjacencies need it.
pub trait Encapsulation {
    /// What is put in front of packets of a family to a next hop, which is unspecified for routes
    /// that name none; `None` while the far end is not known: then they are dropped.
    fn chain(&self, link: Link, next_hop: IpAddr) -> Option<Chain>;
}

/// What nodes read of a [`Chain`].
#[derive(Clone, Debug)]
pub struct Hop {
    /// Put in front.
    pub header: Box<[u8]>,
    /// Written then.
    pub fixup: Fixup,
    /// The load balance that the route to the far end is followed by.
    pub stacked: u32,
    /// Table of that route.
    pub fib: u16,
    /// Edge to the node that sends to the neighbour on the way there.
    pub rewrite: Slot,
    /// Edge to the node that follows the load balance.
    pub balance: Slot,
}

/// Which interfaces are tunnels, and the path list that each of their adjacencies is stacked on.
#[derive(Default)]
pub(super) struct Encapsulations {
    by_interface: HashMap<InterfaceIndex, Rc<dyn Encapsulation>>,
    stacks: HashMap<AdjacencyIndex, u32>,
}

impl Encapsulations {
    pub fn has(&self, interface: InterfaceIndex) -> bool {
        self.by_interface.contains_key(&interface)
    }
}

impl super::Adjacencies {
    /// The path list that an adjacency is stacked on.
    pub(crate) fn stack_of(&self, index: AdjacencyIndex) -> Option<u32> {
        self.encapsulations.stacks.get(&index).copied()
    }
    pub(crate) fn forget_encapsulation(&mut self, interface: InterfaceIndex) {
        self.encapsulations.by_interface.remove(&interface);
    }
}

impl Router {
    /// Makes an interface a tunnel, before routes lead over it; or has what it puts in front asked
    /// for anew, because it changed.
    pub fn encapsulate(&mut self, interface: InterfaceIndex, tunnel: Rc<dyn Encapsulation>) {
        let before = self.adjacencies.encapsulations.by_interface.insert(interface, tunnel);
        if before.is_none() {
            crate::ip::lead_output(self, interface, TRANSMIT);
        }
        self.encapsulate_anew(interface, None);
    }
    /// Has what a tunnel puts in front asked for anew: of packets to a next hop, or all.
    pub fn encapsulate_anew(&mut self, interface: InterfaceIndex, next_hop: Option<IpAddr>) {
        let mine = self
            .adjacencies
            .on(interface)
            .filter(|((.., hop), _)| next_hop.is_none_or(|wanted| *hop == wanted));
        let mine: Vec<_> = mine.map(|(_, index)| *index).collect();
        mine.into_iter().for_each(|index| self.stack(index));
        self.resolve_interface(interface);
    }
    /// Asks for what an adjacency puts in front, and stacks it on the route to the far end.
    pub(super) fn stack(&mut self, index: AdjacencyIndex) {
        let Some(a) = self.adjacencies.at(index) else { return };
        let Some(tunnel) = self.adjacencies.encapsulations.by_interface.get(&a.interface) else {
            return;
        };
        let chain = Rc::clone(tunnel).chain(a.link, a.next_hop);
        let chain = chain.filter(|c| c.header.len() <= MAX_HEADER);
        let new = chain.and_then(|chain| {
            let Chain { header, fixup, to } = chain;
            let (link, table, paths) = match to {
                Onward::Route(table, addr) => {
                    let (to, through) = (Gateway::of(table, addr), Through::Any);
                    (to.link, table, [Path::to(Target::Recursive { to, through })].into())
                }
                Onward::Paths(link, paths) => (link, TableIndex::DEFAULT, paths),
            };
            let rewrite = self.engine.connect(TRANSMIT, link.rewrite_node()).ok()?;
            let balance = self.engine.connect(TRANSMIT, link.load_balance_node()).ok()?;
            let (list, stacked) = self.stack_list(index, &paths)?;
            let hop = Hop { header, fixup, stacked, fib: table.0, rewrite, balance };
            Some((list, Arc::new(hop)))
        });
        let (list, hop) = new.unzip();
        self.adjacencies.change(index, |a| a.hop = hop);
        let stacks = &mut self.adjacencies.encapsulations.stacks;
        let old = match list {
            Some(list) => stacks.insert(index, list),
            None => stacks.remove(&index),
        };
        old.into_iter().for_each(|old| self.unstack_list(index, old, list));
    }
    /// Forgets what an adjacency that is gone was stacked on.
    pub(super) fn unstack(&mut self, index: AdjacencyIndex) {
        if let Some(list) = self.adjacencies.encapsulations.stacks.remove(&index) {
            self.unstack_list(index, list, None);
        }
    }
}
