//! The fast path after a feature: packets that it passes on to the lookup of their version pass
//! that, the rewrite node and the output of an interface in the hands of the feature's node.

use std::ops::Range;
use std::sync::Arc;

use graph::{Ahead, BLOCK, Buffer, Cpu, Flags, Next, Node, Passes, Slot};
use infra::counter::{Rows, Volume, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};

use super::block::Block;
use super::edge;
use super::outputs::{Egress, Outputs, Pause};
use crate::adjacency::Adjacency;
use crate::fib::{Family, Forwarding, Headers, Steps, are_alike, in_blocks};
use crate::interface::{Counters, Port};
use crate::ip::{Version, may_go, send_over};
use crate::router::Router;

/// Length of an Ethernet header.
const ETHERNET: usize = super::through::ETHERNET;
/// Flags of packets that go node by node: made here, bound to their link.
const UNUSUAL: Flags = Flags::LOCAL.with(Flags::ONE_LINK);

/// Keys of a version's addresses.
type Bits<V> = <<V as Version>::Family as Family>::Bits;

/// Share of a packet's clocks by node, in thousandths, the feature having the rest.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// The lookup.
    pub lookup: u64,
    /// The rewrite node.
    pub rewrite: u64,
    /// The output of an interface.
    pub output: u64,
}

/// The path after a feature, on one thread.
#[derive(Clone)]
pub struct Routed<V: Version> {
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    forwarding: Forwarding<V::Family>,
    adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    by_adjacency: Rows<VolumeCounter>,
    to_rewrite: Slot,
    shares: Shares,
    /// The table of the last packets.
    fib: u16,
    pause: Pause,
}

/// Packets of a block that go on to the lookup: their destinations, if they look up in the table of
/// most.
pub struct Routable<'k, V: Version> {
    keys: &'k mut [Bits<V>; BLOCK],
    /// A bit for each packet that continues.
    ready: u64,
    fib: u16,
    /// The table of the last packet that looks up in another one.
    other: Option<u16>,
}

impl<V: Version> Routable<'_, V> {
    /// Notes that the packet at a place continues.
    #[inline(always)]
    pub fn note(&mut self, place: usize, fib: u16, destination: Bits<V>) {
        self.keys[place % BLOCK] = destination;
        self.ready |= u64::from(fib == self.fib) << (place % BLOCK);
        if fib != self.fib {
            self.other = Some(fib);
        }
    }
}

/// One frame on its way.
struct Pass<'a, V: Version, T> {
    routed: &'a Routed<V>,
    treat: T,
    epoch: Epoch<'a>,
    /// Packets of the blocks under way that go on, a bit each.
    ready: [u64; 4],
    fib: u16,
    other: Option<u16>,
    /// The edge to the lookup, that node, and the one after it.
    end: Slot,
    lookup: u32,
    rewrite: u32,
    routes: &'a [VolumeCounter],
    by_adjacency: &'a [VolumeCounter],
    /// The last adjacency, and the exit there.
    index: u32,
    egress: Option<Egress<'a>>,
    outputs: Outputs<'a>,
}

impl<V: Version> Routed<V> {
    /// Behind the features of a router.
    pub fn new(router: &Router, shares: Shares) -> Self {
        let lookup = <V::Family as Headers>::LookupNext::EDGES;
        Self {
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            forwarding: router.fib.forwarding::<V::Family>(),
            adjacencies: router.adjacencies.reader(),
            by_adjacency: router.adjacencies.counters(),
            to_rewrite: edge(lookup, V::NODES.rewrite),
            shares,
            fib: 0,
            pause: Pause::default(),
        }
    }
    /// Does the feature's work with `treat`, one block of packets after the other. Those that it
    /// sends along the arc to its end and notes then continue here, as far as they need nothing
    /// else; the others take their edges.
    #[inline(always)]
    pub fn follow<N: Node, On: Cpu>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (cpu, epoch, thread): (On, Epoch<'_>, usize),
        mut treat: impl FnMut(&mut Passes<'_, N>, Range<usize>, &mut Routable<'_, V>),
    ) {
        let nodes = self.nodes(packets).filter(|_| !packets.are_watched());
        let nodes = nodes.filter(|_| self.pause.is_over());
        let Some([lookup, rewrite]) = nodes else {
            let end = packets.all().end;
            for first in (0..end).step_by(BLOCK) {
                let mut keys = [Bits::<V>::default(); BLOCK];
                let mut onward = Routable { keys: &mut keys, ready: 0, fib: 0, other: None };
                treat(packets, first..(first + BLOCK).min(end), &mut onward);
            }
            return;
        };
        let mut pass = Pass {
            routed: self,
            treat,
            epoch,
            ready: [0; 4],
            fib: self.fib,
            other: None,
            end: packets.end_of_arc(),
            lookup,
            rewrite,
            routes: self.forwarding.count_to(thread),
            by_adjacency: self.by_adjacency.row(thread),
            index: u32::MAX,
            egress: None,
            outputs: Outputs::new(&self.ports, epoch),
        };
        in_blocks(&self.forwarding, packets, (cpu, epoch, thread, self.fib), &mut pass);
        let other = pass.other;
        let went = pass.leave(packets, thread);
        self.fib = other.unwrap_or(self.fib);
        if other.is_none() {
            self.pause.after(went, packets.all().len());
        }
    }
    /// The nodes of the path: the lookup and the one after it.
    fn nodes<N: Node>(&self, packets: &Passes<'_, N>) -> Option<[u32; 2]> {
        let (node, ahead) = packets.ahead();
        let lookup = ahead.target(node, packets.end_of_arc())?;
        Some([lookup, ahead.target(lookup, self.to_rewrite)?])
    }
}

impl<V: Version, N: Node, T> Steps<V::Family, N> for Pass<'_, V, T>
where
    T: FnMut(&mut Passes<'_, N>, Range<usize>, &mut Routable<'_, V>),
{
    #[inline(always)]
    fn read(
        &mut self,
        packets: &mut Passes<'_, N>,
        block: Range<usize>,
        keys: &mut [Bits<V>; BLOCK],
    ) {
        let at = block.start / BLOCK % self.ready.len();
        if block.is_empty() {
            return;
        }
        let mut onward = Routable { keys, ready: 0, fib: self.fib, other: None };
        (self.treat)(packets, block, &mut onward);
        (self.ready[at], self.other) = (onward.ready, onward.other.or(self.other));
    }
    #[inline(always)]
    fn judge(&mut self, packets: &mut Passes<'_, N>, block: Range<usize>, leaves: &[u32]) {
        let (ready, end) = (self.ready[block.start / BLOCK % self.ready.len()], self.end);
        if ready == 0 {
            return;
        }
        let block = Block { places: block, ready, edge: Some(end), routes: self.routes };
        let forwarding = &self.routed.forwarding;
        if are_alike(leaves) {
            let leaf = leaves.first().copied().unwrap_or(0);
            let Some(neighbor) = forwarding.only_neighbor(leaf) else { return };
            let went = block.send_alike(
                packets,
                (leaf, neighbor.0),
                #[inline(always)]
                |ahead, p, index| self.send(ahead, p, index),
            );
            self.count(went);
        } else {
            block.send_each(
                packets,
                (leaves, forwarding),
                #[inline(always)]
                |ahead, p, index| {
                    let (to, bytes) = self.send(ahead, p, index)?;
                    self.count(Volume { packets: 1, bytes });
                    Some((to, bytes))
                },
            );
        }
    }
}

impl<'a, V: Version, T> Pass<'a, V, T> {
    /// Sends a packet over an adjacency: the driver's node, and the length of the IP packet.
    /// `None`, and nothing has changed, when it has to go node by node.
    #[inline(always)]
    fn send(&mut self, ahead: Ahead<'_>, p: &mut Buffer<'_>, index: u32) -> Option<(u32, u64)> {
        if index != self.index {
            let adjacency = self.routed.adjacencies.read(index, self.epoch);
            let behind = (self.rewrite, V::OUTPUT_ARC);
            (self.index, self.egress) = (index, self.outputs.egress(ahead, behind, adjacency));
        }
        let Egress { adjacency, exit } = self.egress.as_ref()?;
        let is_special = p.flags().has(exit.todo.with(UNUSUAL));
        if is_special || p.headroom() < ETHERNET || !may_go::<V>(p, adjacency.mtu) {
            return None;
        }
        let len = p.len();
        V::spend_hop(p);
        p.set_adjacency(index);
        send_over(p, adjacency, self.by_adjacency);
        Some((exit.tx, len as u64))
    }
    /// Counts packets that left over the last adjacency, by the lengths of IP.
    #[inline(always)]
    fn count(&mut self, Volume { packets, bytes }: Volume) {
        if let Some(Egress { exit, .. }) = self.egress.as_ref().filter(|_| packets > 0) {
            let bytes = bytes + packets * ETHERNET as u64;
            self.outputs.count_all(exit, Volume { packets, bytes });
        }
    }
    /// Counts for each node of the path as if it had been called; the number of packets passed.
    fn leave<N: Node>(self, packets: &mut Passes<'_, N>, thread: usize) -> u64 {
        let (routed, shares, end) = (self.routed, self.routed.shares, self.end);
        let (lookup, rewrite, node) = (self.lookup, self.rewrite, packets.ahead().0);
        let went = self.outputs.end(packets, shares.output, (&routed.counters, thread));
        packets.sent(node, end, went);
        packets.sent(lookup, routed.to_rewrite, went);
        packets.passed(lookup, went, shares.lookup);
        packets.passed(rewrite, went, shares.rewrite);
        went
    }
}
