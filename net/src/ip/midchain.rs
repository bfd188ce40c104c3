//! `ip4-midchain`, `ip6-midchain`: as [`super::Rewrite`], into a tunnel: one hop less, not too big
//! for the tunnel, and the tunnel's headers in front. `adj-midchain-tx` counts the packet for the
//! tunnel's interface and sends it on as the route to the far end leads.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use graph::{Buffer, Flags, Frame, Names, Node, Record, Slot};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};

use super::Version;
use super::rewrite::{CheckResult, Rewritten, count, look_closer, may_go, may_leave, spend_hop};
use crate::adjacency::chain::{Hop, TRANSMIT};
use crate::adjacency::{Adjacencies, Adjacency, AdjacencyIndex};
use crate::drops::Problem;
use crate::fib::{Forwarding4, Via};
use crate::fragment::Limit;
use crate::gso;
use crate::interface::{Counters, Port};
use crate::router::Router;

/// Load balances that lead to one another, at most.
const DEPTH: usize = 4;

/// Sends packets into tunnels.
#[derive(Clone)]
pub struct Midchain<V> {
    version: V,
    adjacencies: SlabReader<Adjacency>,
    ports: SlabReader<Port>,
    counters: Rows<VolumeCounter>,
}

impl<V: Version> Midchain<V> {
    pub(super) fn new(all: &Adjacencies, ports: SlabReader<Port>) -> Self {
        let (adjacencies, counters) = (all.reader(), all.counters());
        Self { version: V::SELF, adjacencies, ports, counters }
    }
}

/// Edges of [`Midchain`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// An ICMP error to the sender.
    #[to(V::NODES.icmp_error, payload = Problem)]
    IcmpError(V),
    /// To be cut into fragments, which come back.
    #[to(V::NODES.fragment, payload = Limit)]
    Fragment(V),
    /// Was cut into segments, which come one by one, or follows such a packet.
    #[to(V::NODES.midchain)]
    Again(V),
    /// On after the headers, or a feature before that.
    #[dynamic]
    Output(Slot),
}

impl<V: Version> Node for Midchain<V> {
    const NAME: &'static str = V::NODES.midchain;
    const COUNTED_AT: &'static str = V::NODES.input;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, version) = (frame.epoch(), self.version);
        let arc = frame.start(V::OUTPUT_ARC);
        let adjacencies = &self.adjacencies;
        let counters = self.counters.row(frame.thread());
        let (mut known, mut adjacency) = (u32::MAX, None);
        // Packets after one that was segmented stay after its segments.
        let mut is_behind = false;
        frame.passes(
            #[inline(always)]
            |packets| {
                let is_any_undone = gso::is_any_undone(packets);
                packets.usual(packets.all(), |_, p| {
                    if is_any_undone {
                        return None;
                    }
                    let index = p.adjacency();
                    if index != known {
                        let a = adjacencies.read(index, epoch);
                        (known, adjacency) = (index, a.and_then(with_hop));
                    }
                    let (a, hop) = adjacency?;
                    let is_special = p.flags().has(Flags::LOCAL.with(Flags::ONE_LINK));
                    let len = hop.header.len();
                    if is_special || len == 0 || !may_go::<V>(p, a.mtu) || p.headroom() < len {
                        return None;
                    }
                    V::spend_hop(p);
                    hop.enclose(p)?;
                    p.set_tx(a.interface.0);
                    if a.is_counted {
                        count(counters, p, index);
                    }
                    Some(Next::Output(arc.first(a.interface.0).unwrap_or(a.output)))
                });
                packets.others(packets.all(), |_, p| {
                    let index = p.adjacency();
                    let found = adjacencies.read(index, epoch).and_then(with_hop);
                    let (a, hop) = found.ok_or(V::DROPPED)?;
                    let port = self.ports.read(a.interface.0, epoch);
                    let asks = |flags| port.is_some_and(|p| p.todo.has(flags));
                    if hop.comes_again(p, asks, &mut is_behind).map_err(|_| V::DROPPED)? {
                        return Ok(Next::Again(version));
                    }
                    if !may_leave::<V>(p, a) {
                        match look_closer::<V, _>(p, a) {
                            CheckResult::Good => (),
                            CheckResult::Bad(why) => return Err(why),
                            CheckResult::IcmpError => return Ok(Next::IcmpError(version)),
                            CheckResult::Big => return Ok(Next::Fragment(version)),
                        }
                    }
                    let enclosed = if hop.header.is_empty() {
                        hop.put_in_front(p) // a hop is spent where the packet goes on as it is
                    } else {
                        spend_hop::<V>(p);
                        hop.enclose(p)
                    };
                    enclosed.ok_or(V::DROPPED)?;
                    p.set_tx(a.interface.0);
                    if a.is_counted {
                        count(counters, p, index);
                    }
                    p.trace(|p| Rewritten::of(p, a));
                    Ok(Next::Output(arc.first(a.interface.0).unwrap_or(a.output)))
                });
            },
        );
    }
}

/// An adjacency and the headers of its tunnel.
#[inline(always)]
pub(crate) fn with_hop(a: &Adjacency) -> Option<(&Adjacency, &Hop)> {
    a.hop.as_deref().map(|hop| (a, hop))
}

/// Sends on what has the headers of a tunnel in front.
#[derive(Clone)]
pub struct Transmit {
    adjacencies: SlabReader<Adjacency>,
    stacked: Stacked,
    counters: Arc<Counters>,
}

/// The next step of packets after the headers of a tunnel are added.
#[derive(Clone)]
pub struct Stacked {
    /// Load balances are the same for both families.
    balances: Forwarding4,
}

/// The next step of packets after the headers of one tunnel: the same for all of a frame.
#[derive(Clone, Copy)]
pub struct Onward {
    fib: u16,
    adjacency: u32,
    /// Whether that is a neighbour's.
    is_neighbor: bool,
    edge: Slot,
}

impl Onward {
    /// Over an adjacency of the underlay.
    #[inline(always)]
    pub fn over(adjacency: AdjacencyIndex, hop: &Hop) -> Self {
        Self { fib: hop.fib, adjacency: adjacency.0, is_neighbor: true, edge: hop.rewrite }
    }
    /// To a node that finds a number where that of an adjacency is.
    #[inline(always)]
    pub fn led(mark: u32, edge: Slot) -> Self {
        Self { fib: 0, adjacency: mark, is_neighbor: false, edge }
    }
    /// The edge that packets take.
    pub fn edge(&self) -> Slot {
        self.edge
    }
    /// The neighbour that they go to, if it is one only.
    pub fn neighbor(&self) -> Option<AdjacencyIndex> {
        self.is_neighbor.then_some(AdjacencyIndex(self.adjacency))
    }
    /// Sends a packet on: by this edge.
    #[inline(always)]
    pub fn take(self, p: &mut Buffer<'_>) -> Slot {
        p.set_fib(self.fib);
        p.set_adjacency(self.adjacency);
        self.edge
    }
}

/// Edges of [`Transmit`].
#[derive(Clone, Copy, graph::Next)]
pub enum TransmitNext {
    /// To the neighbour on the way to the far end, or wherever else the route to it leads.
    #[dynamic]
    Onward(Slot),
}

/// Drops of [`Transmit`].
#[derive(Clone, Copy, graph::Reason)]
pub enum TransmitError {
    /// tunnel is gone.
    #[name("tunnel is gone")]
    Gone,
}

impl Transmit {
    pub(super) fn new(router: &Router) -> Self {
        let counters = router.interfaces.counters();
        Self { adjacencies: router.adjacencies.reader(), stacked: Stacked::new(router), counters }
    }
}

impl Stacked {
    /// For a router's load balances.
    pub fn new(router: &Router) -> Self {
        Self { balances: router.fib.forwarding() }
    }
    /// The next step after these headers, by the current route to the remote endpoint.
    #[inline(always)]
    pub fn onward(&self, hop: &Hop, epoch: Epoch<'_>) -> Onward {
        match self.neighbor(hop.stacked, epoch) {
            Some(a) => Onward::over(a, hop),
            None => {
                let (fib, adjacency, edge) = (hop.fib, hop.stacked, hop.balance);
                Onward { fib, adjacency, is_neighbor: false, edge }
            }
        }
    }
    /// The neighbour that a load balance leads to, if it leads to one only.
    #[inline(always)]
    fn neighbor(&self, mut index: u32, epoch: Epoch<'_>) -> Option<AdjacencyIndex> {
        for _ in 0..DEPTH {
            match self.balances.load_balance(index, epoch).single()? {
                Via::Adjacency(a) => return Some(a),
                Via::LoadBalance(next) => index = next,
                _ => return None,
            }
        }
        None
    }
}

impl Node for Transmit {
    const NAME: &'static str = TRANSMIT;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = TransmitNext;
    type Error = TransmitError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this) = (frame.epoch(), &*self);
        let sent = this.counters.tx.row(frame.thread());
        let (mut known, mut found) = (u32::MAX, None);
        frame.each(|p| {
            let index = p.adjacency();
            if index != known {
                let read = this.adjacencies.read(index, epoch).and_then(with_hop);
                found = read.map(|(a, hop)| (a, hop, this.stacked.onward(hop, epoch)));
                known = index;
            }
            let (a, hop, onward) = found.ok_or(TransmitError::Gone)?;
            count(sent, p, a.interface.0);
            p.trace(|_| Chained { index, interface: a.interface.0, stacked: hop.stacked });
            Ok(TransmitNext::Onward(onward.take(p)))
        });
    }
}

/// Trace of a packet in [`Transmit`].
struct Chained {
    index: u32,
    interface: u32,
    stacked: u32,
}

impl Record for Chained {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = names.name("interface", self.interface);
        write!(
            f,
            "  adj-midchain:[{}]: {name}, stacked on load-balance {}",
            self.index, self.stacked
        )
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let name = names.name("interface", self.interface);
        Some(vec![format!("tunnel {name}: continues on the route to its remote address")])
    }
}
