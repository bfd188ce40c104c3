//! One version's packets through all nodes from `ethernet-input` to an interface's driver.

use std::ops::Range;
use std::sync::Arc;

use graph::{Ahead, BLOCK, Buffer, Cpu, Flags, Next, Node, Passes, Slot};
use infra::counter::{Counter, Rows, Volume, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};
use wire::ethernet::{EtherType, Header};

use super::block::Block;
use super::edge;
use super::objects::ToObjects;
use super::outputs::{Egress, Outputs, Pause};
use super::tunnels::Tunnels;
use super::underlay::Neighbors;
use crate::adjacency::Adjacency;
use crate::ethernet::{NOBODY, Next as EthernetNext, for_own, own_untagged};
use crate::fib::{Forwarding, Headers, ObjectEdges, Steps, are_alike, in_blocks};
use crate::interface::{Counters, Port};
use crate::ip::{SourceFamily, Stacked, Version, count};
use crate::router::Router;

/// Length of an Ethernet header.
pub(super) const ETHERNET: usize = size_of::<Header>();
/// Flags of packets that go node by node: traced, in segments, made here, bound to their link.
const UNUSUAL: Flags = Flags::TRACED.with(Flags::CHAINED).with(Flags::LOCAL).with(Flags::ONE_LINK);

/// Share of a packet's clocks by node, in thousandths, `ethernet-input` having the rest: what each
/// costs when it is called by itself, with one route.
pub(super) mod share {
    pub const INPUT: u64 = 240;
    pub const LOOKUP: u64 = 230;
    pub const REWRITE: u64 = 250;
    pub const OUTPUT: u64 = 110;

    /// The same of packets to objects.
    pub mod object {
        pub const INPUT: u64 = 330;
        pub const LOOKUP: u64 = 330;
    }

    /// The same of packets into tunnels.
    pub mod tunnel {
        pub const INPUT: u64 = 130;
        pub const LOOKUP: u64 = 130;
        pub const MIDCHAIN: u64 = 250;
        pub const TRANSMIT: u64 = 120;
        pub const REWRITE: u64 = 140;
    }
}

/// Edges of the path, as nodes number them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges {
    pub to_input: Slot,
    to_lookup: Slot,
    to_rewrite: Slot,
    pub to_midchain: Slot,
}

/// Numbers of the nodes of the path.
#[derive(Clone, Copy)]
pub(super) struct Nodes {
    ethernet: u32,
    input: u32,
    pub lookup: u32,
    rewrite: u32,
}

/// Packets of version `V`, on one thread.
#[derive(Clone)]
pub(super) struct Through<V: Version> {
    pub ethertype: EtherType,
    pub ports: SlabReader<Port>,
    pub counters: Arc<Counters>,
    forwarding: Forwarding<V::Family>,
    pub adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    by_adjacency: Rows<VolumeCounter>,
    pub edges: Edges,
    /// Edges of the lookup to objects.
    pub objects: ObjectEdges,
    pub stacked: Stacked,
    pub neighbors: Neighbors,
    pub pause: Pause,
}

/// A receive interface.
#[derive(Clone, Copy)]
pub(super) struct Ingress {
    pub rx: u32,
    /// Their table; `None` where a feature or nothing awaits them.
    pub fib: Option<u16>,
    pub packets: u64,
}

impl<V: Version> Through<V> {
    /// From `ethernet-input` by frames of a type, through input node `I`.
    pub fn new<I: Node>(router: &mut Router, ethertype: EtherType) -> Self {
        let lookup = <V::Family as Headers>::LookupNext::EDGES;
        Self {
            ethertype,
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            forwarding: router.fib.forwarding::<V::Family>(),
            adjacencies: router.adjacencies.reader(),
            by_adjacency: router.adjacencies.counters(),
            edges: Edges {
                to_input: edge(EthernetNext::EDGES, V::NODES.input),
                to_lookup: edge(I::Next::EDGES, V::Family::LOOKUP),
                to_rewrite: edge(lookup, V::NODES.rewrite),
                to_midchain: edge(lookup, V::NODES.midchain),
            },
            objects: router.fib.edges_to_objects(V::Family::LOOKUP),
            stacked: Stacked::new(router),
            neighbors: Neighbors::new(router),
            pause: Pause::default(),
        }
    }
    /// The nodes of the path, by the edges that lead there.
    fn nodes(&self, ethernet: u32, ahead: Ahead<'_>) -> Option<Nodes> {
        let input = ahead.target(ethernet, self.edges.to_input)?;
        let lookup = ahead.target(input, self.edges.to_lookup)?;
        let rewrite = ahead.target(lookup, self.edges.to_rewrite)?;
        Some(Nodes { ethernet, input, lookup, rewrite })
    }
    /// Whether a frame is not to be tried.
    #[inline(always)]
    pub fn is_paused(&mut self) -> bool {
        !self.pause.is_over()
    }
    /// Takes packets of one table, that of the first; says whether it went over them.
    #[inline(always)]
    pub fn take<N: Node, On: Cpu>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (cpu, epoch, thread): (On, Epoch<'_>, usize),
    ) -> bool {
        let (ethernet, ahead) = packets.ahead();
        let Some(nodes) = self.nodes(ethernet, ahead) else { return false };
        let mut fib = None;
        packets.look(0..1, |_, p| {
            fib = self.ports.read(p.rx(), epoch).and_then(V::Family::table);
        });
        let Some(fib) = fib else { return false };
        let mut pass: Pass<'_, V> = Pass {
            through: self,
            ports: &self.ports,
            forwarding: &self.forwarding,
            ethertype: self.ethertype,
            nodes,
            epoch,
            thread,
            fib,
            received: V::received(&self.counters).row(thread),
            routes: self.forwarding.count_to(thread),
            by_adjacency: self.by_adjacency.row(thread),
            rx: u32::MAX,
            own: NOBODY,
            plain: [0; 4],
            ingress: Ingress { rx: u32::MAX, fib: None, packets: 0 },
            egress: None,
            index: u32::MAX,
            outputs: Outputs::new(&self.ports, epoch),
            tunnels: None,
            objects: ToObjects::NONE,
        };
        in_blocks(&self.forwarding, packets, (cpu, epoch, thread, fib), &mut pass);
        let went = pass.end(packets);
        self.pause.after(went, packets.all().len());
        true
    }
}

/// One frame on its way.
pub(super) struct Pass<'a, V: Version> {
    pub through: &'a Through<V>,
    ports: &'a SlabReader<Port>,
    forwarding: &'a Forwarding<V::Family>,
    ethertype: EtherType,
    pub nodes: Nodes,
    pub epoch: Epoch<'a>,
    pub thread: usize,
    /// Table of all packets that are taken.
    fib: u16,
    received: &'a [Counter],
    pub routes: &'a [VolumeCounter],
    by_adjacency: &'a [VolumeCounter],
    /// The interface of the last packet that was read, and its address.
    rx: u32,
    own: u64,
    /// Packets of a block whose headers are plain, a bit each; of the blocks under way.
    plain: [u64; 4],
    pub ingress: Ingress,
    egress: Option<Egress<'a>>,
    /// The adjacency of `egress`.
    index: u32,
    pub outputs: Outputs<'a>,
    /// Data for packets into tunnels; `None` while there are none.
    pub tunnels: Option<Tunnels<'a>>,
    pub objects: ToObjects,
}

impl<V: Version, N: Node> Steps<V::Family, N> for Pass<'_, V> {
    #[inline(always)]
    fn read(
        &mut self,
        packets: &mut Passes<'_, N>,
        block: Range<usize>,
        keys: &mut [<V::Family as crate::fib::Family>::Bits; BLOCK],
    ) {
        let (mut rx, mut own, mut plain) = (self.rx, self.own, 0);
        // Others look up what the packet before does, so that a block is of one route all the same.
        let mut last = <V::Family as crate::fib::Family>::Bits::default();
        let at = block.start / BLOCK % self.plain.len();
        packets.look(
            block,
            #[inline(always)]
            |i, p| {
                if p.rx() != rx {
                    rx = p.rx();
                    let port = self.ports.read(rx, self.epoch);
                    let port = port.filter(|port| V::Family::table(port) == Some(self.fib));
                    own = port.map_or(NOBODY, own_untagged);
                }
                let frame = p.bytes();
                let is_own = for_own(frame, own) == Some(self.ethertype) && !p.flags().has(UNUSUAL);
                let packet = frame.get(ETHERNET..).filter(|_| is_own);
                if let Some(key) = packet.and_then(V::plain) {
                    last = key;
                    plain |= 1 << (i % BLOCK);
                }
                keys[i % BLOCK] = last;
            },
        );
        (self.rx, self.own, self.plain[at]) = (rx, own, plain);
    }
    #[inline(always)]
    fn judge(&mut self, packets: &mut Passes<'_, N>, block: Range<usize>, leaves: &[u32]) {
        let plain = self.plain[block.start / BLOCK % self.plain.len()];
        let places = block.clone();
        let ready = Block { places, ready: plain, edge: None, routes: self.routes };
        if are_alike(leaves) {
            let leaf = leaves.first().copied().unwrap_or(0);
            let Some(neighbor) = self.forwarding.only_neighbor(leaf) else {
                if let Some(tunnel) = self.forwarding.only_tunnel(leaf) {
                    return self.send_into(packets, block, plain, (leaf, tunnel.0));
                }
                return match self.forwarding.only_object(leaf) {
                    Some(object) => self.send_to(packets, block, plain, (leaf, object)),
                    None => packets.leave(block),
                };
            };
            let went = ready.send_alike(
                packets,
                (leaf, neighbor.0),
                #[inline(always)]
                |ahead, p, index| self.send(ahead, p, index),
            );
            self.count(went);
        } else {
            let forwarding = self.forwarding;
            ready.send_each(
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

impl<'a, V: Version> Pass<'a, V> {
    /// Sends a packet over an adjacency: the driver's node, and the length of the IP packet.
    /// `None`, and nothing has changed, when it has to go node by node.
    #[inline(always)]
    fn send(&mut self, ahead: Ahead<'_>, p: &mut Buffer<'_>, index: u32) -> Option<(u32, u64)> {
        if p.rx() != self.ingress.rx {
            self.enter_by(ahead, p.rx());
        }
        if index != self.index {
            let adjacency = self.through.adjacencies.read(index, self.epoch);
            let behind = (self.nodes.rewrite, V::OUTPUT_ARC);
            (self.index, self.egress) = (index, self.outputs.egress(ahead, behind, adjacency));
        }
        let (fib, to) = (self.ingress.fib?, self.egress.as_ref()?);
        let a = to.adjacency;
        let (flags, offset) = (p.flags(), p.offset());
        let frame = p.bytes_mut();
        let (header, packet) = frame.split_at_mut_checked(ETHERNET)?;
        let len = packet.len();
        let has_hop = V::hops_of(packet).is_some_and(|hops| hops > 1);
        if !has_hop | (len > usize::from(a.mtu)) | flags.has(to.exit.todo) {
            return None;
        }
        V::spend_hop_of(packet);
        header.copy_from_slice(&a.header[..ETHERNET]);
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + ETHERNET as i16);
        p.set_flags(flags.with(Flags::L2).with(Flags::L3));
        p.set_fib(fib);
        p.set_adjacency(index);
        p.set_tx(a.interface.0);
        self.ingress.packets += 1;
        Some((to.exit.tx, len as u64))
    }
    /// Counts packets that were sent over the last adjacency, by the lengths of IP.
    #[inline(always)]
    fn count(&mut self, Volume { packets, bytes }: Volume) {
        let Some(to) = self.egress.as_ref().filter(|_| packets > 0) else { return };
        let bytes = bytes + packets * ETHERNET as u64;
        self.outputs.count_all(&to.exit, Volume { packets, bytes });
        if to.adjacency.is_counted
            && let Some(counter) = self.by_adjacency.get(self.index as usize)
        {
            counter.add(packets, bytes);
        }
    }
    /// Goes on with packets of another interface.
    #[inline(never)]
    pub(super) fn enter_by(&mut self, ahead: Ahead<'_>, rx: u32) {
        count(self.received, self.ingress.rx, self.ingress.packets);
        let has_features = ahead.feature(self.nodes.input, V::UNICAST_ARC, rx).is_some();
        self.ingress = Ingress { rx, fib: (!has_features).then_some(self.fib), packets: 0 };
    }
    /// Counts for each node of the path as if it had been called; the number of packets passed.
    fn end<N: Node>(mut self, packets: &mut Passes<'_, N>) -> u64 {
        count(self.received, self.ingress.rx, self.ingress.packets);
        let (nodes, edges) = (self.nodes, self.through.edges);
        let (into, behind) = self.tunnels.take().map_or((0, 0), |tunnels| tunnels.end(packets));
        let counters = (&*self.through.counters, self.thread);
        let went = self.outputs.end(packets, share::OUTPUT, counters) - behind;
        packets.sent(nodes.ethernet, edges.to_input, went + into);
        packets.sent(nodes.input, edges.to_lookup, went + into);
        packets.sent(nodes.lookup, edges.to_rewrite, went);
        packets.passed(nodes.input, went, share::INPUT);
        packets.passed(nodes.lookup, went, share::LOOKUP);
        packets.passed(nodes.rewrite, went, share::REWRITE);
        packets.passed(nodes.input, into, share::tunnel::INPUT);
        packets.passed(nodes.lookup, into, share::tunnel::LOOKUP);
        let to_objects = self.objects.end(packets, nodes.lookup);
        packets.sent(nodes.ethernet, edges.to_input, to_objects);
        packets.sent(nodes.input, edges.to_lookup, to_objects);
        packets.passed(nodes.input, to_objects, share::object::INPUT);
        packets.passed(nodes.lookup, to_objects, share::object::LOOKUP);
        went + into + to_objects
    }
}
