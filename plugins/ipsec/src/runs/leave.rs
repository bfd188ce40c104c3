//! Sealed packets of runs on their way: as far as nothing else is on it, they pass the nodes to a
//! driver in the hands of the one that sealed them.

use std::sync::Arc;

use graph::{Apart, Flags, Node, Passes, Slot};
use infra::counter::{Volume, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};
use net::Router;
use net::adjacency::chain::Hop;
use net::fast_path::{Lane, Neighbors, Outputs, Underlay};
use net::interface::{Counters, Port};
use net::ip::{Onward, Stacked};

use crate::encrypt::CLEAR;
use crate::select::SEALED;

/// Share of a packet's clocks by node, in thousandths, the one that seals having the rest: of a
/// packet without bytes.
mod share {
    pub const TRANSMIT: u64 = 140;
    pub const REWRITE: u64 = 200;
    /// The output of an interface.
    pub const OUTPUT: u64 = 100;
    /// Bytes that take as long to seal as all the rest takes.
    pub const BYTES: u64 = 128;
}

/// The tables of that way, on one thread.
#[derive(Clone)]
pub struct Onwards {
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    neighbors: Neighbors,
}

impl Onwards {
    /// For the tables of a router.
    pub fn new(router: &Router) -> Self {
        Self {
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            neighbors: Neighbors::new(router),
        }
    }
}

/// Where the packets of a run go.
#[derive(Clone, Copy)]
pub enum To<'e> {
    /// By an edge, on along what they were taken from.
    Edge(Slot),
    /// As the route to the far end of a tunnel leads.
    Route(&'e Hop),
    /// By an edge to the node that sends what a tunnel's headers are in front of, and from there
    /// as the route to its far end leads; for an interface.
    Chained(Slot, &'e Hop, u32),
}

/// The way there.
#[derive(Clone, Copy)]
enum Way<'a> {
    Edge(Slot),
    Onward(Onward),
    Lane(Onward, Lane<'a>),
    /// Past the node at the end of an edge.
    Past(Onward, Lane<'a>),
}

/// The packets of a frame that leave.
pub struct Leave<'a> {
    epoch: Epoch<'a>,
    stacked: &'a Stacked,
    /// Bytes and packets sent, by interface.
    sent: &'a [VolumeCounter],
    counters: (&'a Counters, usize),
    outputs: Outputs<'a>,
    underlay: Underlay<'a>,
    /// The number by which the way of the last run is known.
    known: Option<u32>,
    way: Way<'a>,
    /// The node that seals, its edge past which packets went, and the node there.
    past: (u32, Slot, u32),
    passed: u64,
    run: Volume,
    /// All packets that were sealed.
    all: Volume,
    /// Flags that packets get.
    pub flags: Flags,
}

impl<'a> Leave<'a> {
    /// For a frame.
    pub fn new(
        onwards: &'a Onwards,
        stacked: &'a Stacked,
        (epoch, thread): (Epoch<'a>, usize),
    ) -> Self {
        let counters = (&*onwards.counters, thread);
        Self {
            epoch,
            stacked,
            sent: onwards.counters.tx.row(thread),
            counters,
            outputs: Outputs::new(&onwards.ports, epoch),
            underlay: Underlay::new(&onwards.neighbors, false, (epoch, thread)),
            known: None,
            way: Way::Edge(Slot(0)),
            past: (0, Slot(0), 0),
            passed: 0,
            run: Volume::default(),
            all: Volume::default(),
            flags: Flags::default(),
        }
    }
    /// Begins a run whose way is known by a number.
    #[inline(always)]
    pub fn begin<N: Node>(&mut self, packets: &Passes<'_, N>, number: u32, to: To<'_>) {
        if self.known != Some(number) {
            (self.known, self.way) = (Some(number), self.way_of(packets, to));
        }
    }
    #[inline(never)]
    fn way_of<N: Node>(&mut self, packets: &Passes<'_, N>, to: To<'_>) -> Way<'a> {
        let (node, ahead) = packets.ahead();
        let mut lane = |from, hop| {
            let onward = self.stacked.onward(hop, self.epoch);
            (onward, self.underlay.lane(ahead, from, &onward, &mut self.outputs))
        };
        match to {
            To::Edge(slot) => Way::Edge(slot),
            To::Route(hop) => match lane(node, hop) {
                (onward, Some(lane)) => Way::Lane(onward, lane),
                (onward, None) => Way::Onward(onward),
            },
            To::Chained(slot, hop, _) => {
                let transmit = ahead.target(node, slot);
                let found = transmit.map(|transmit| (transmit, lane(transmit, hop)));
                let Some((transmit, (onward, Some(lane)))) = found else { return Way::Edge(slot) };
                self.past = (node, slot, transmit);
                Way::Past(onward, lane)
            }
        }
    }
    /// Ends a run of so many packets and bytes.
    #[inline(always)]
    pub fn end_run(&mut self, to: To<'_>, sealed: Volume) {
        self.all += sealed;
        let (To::Chained(.., interface), Volume { packets, bytes }) = (to, self.run) else {
            return;
        };
        if let Some(counter) = self.sent.get(interface as usize).filter(|_| packets > 0) {
            counter.add(packets, bytes);
        }
        self.passed += packets;
        self.run = Volume::default();
    }
    /// Counts for each node of the way as if it had been called.
    pub fn end<N: Node>(self, packets: &mut Passes<'_, N>) {
        let (node, edge, transmit) = self.past;
        let len = self.all.bytes / self.all.packets.max(1);
        let share = |of: u64| of * share::BYTES / (share::BYTES + len);
        packets.sent(node, edge, self.passed);
        packets.passed(transmit, self.passed, share(share::TRANSMIT));
        self.underlay.end(packets, share(share::REWRITE));
        self.outputs.end(packets, share(share::OUTPUT), self.counters);
    }
    /// Sends a packet on.
    #[inline(always)]
    pub fn leave(&mut self, packet: &mut Apart<'_>) {
        let p = &mut packet.packet;
        p.set_flags(p.flags().without(CLEAR).with(self.flags));
        match &self.way {
            Way::Edge(slot) => packet.take(*slot),
            Way::Onward(onward) => {
                let slot = onward.take(p);
                packet.take(slot);
            }
            Way::Lane(onward, lane) | Way::Past(onward, lane) => {
                if matches!(self.way, Way::Past(..)) {
                    self.run += Volume { packets: 1, bytes: p.len() as u64 };
                }
                onward.take(p);
                let node = self.underlay.send(lane, p, &mut self.outputs);
                packet.wait_for(node);
            }
        }
    }
}

/// The flags of packets that leave: of those in transport mode along an arc, and of others.
pub fn flags(is_tunnel: bool, is_along: bool) -> Flags {
    match (is_tunnel, is_along) {
        // The outer header is made here: it has all its hops, and may be cut.
        (true, _) => Flags::LOCAL,
        (false, true) => SEALED,
        (false, false) => Flags::default(),
    }
}
