//! Fast path of encrypted packets: the encryption node does the work of the nodes up to the driver,
//! if there are no other features in between.

use graph::{Apart, Passes};
use net::adjacency::chain::Hop;
use net::fast_path::{Lane, Neighbors, Outputs, Underlay};
use net::interface::{Counters, Port};
use net::ip::{Onward, Stacked};
use net::prelude::*;

use crate::encrypt::CLEAR;
use crate::select::SEALED;

/// Share of each node in the clocks of an empty packet, in thousandths; the encryption node has the
/// rest.
mod share {
    pub const TRANSMIT: u64 = 140;
    pub const REWRITE: u64 = 200;
    /// The output of an interface.
    pub const OUTPUT: u64 = 100;
    /// Number of bytes whose encryption takes as long as everything else.
    pub const BYTES: u64 = 128;
}

/// Tables of the fast path, on one thread.
#[derive(Clone)]
pub struct Onwards {
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    neighbors: Neighbors,
}

impl Onwards {
    /// Creates it for the tables of a router.
    pub fn new(router: &Router) -> Self {
        Self {
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            neighbors: Neighbors::new(router),
        }
    }
}

/// Destination of the packets of a run.
#[derive(Clone, Copy)]
pub enum To<'e> {
    /// Along an edge, with the features of the arc they left.
    Edge(Slot),
    /// Along the route to the remote endpoint of a tunnel.
    Route(&'e Hop),
    /// Along an edge to the node that sends tunnelled packets of an interface, and from there along
    /// the route to the remote endpoint.
    Chained(Slot, &'e Hop, u32),
}

/// The path to the destination.
#[derive(Clone, Copy)]
enum Way<'a> {
    Edge(Slot),
    Onward(Onward),
    Lane(Onward, Lane<'a>),
    /// Bypassing the node at the end of an edge.
    Past(Onward, Lane<'a>),
}

/// Transmission of the packets of a frame.
pub struct Leave<'a> {
    epoch: Epoch<'a>,
    stacked: &'a Stacked,
    /// Bytes and packets sent by interface.
    sent: &'a [VolumeCounter],
    counters: (&'a Counters, usize),
    outputs: Outputs<'a>,
    underlay: Underlay<'a>,
    /// Number of the cached path of the last run.
    known: Option<u32>,
    way: Way<'a>,
    /// The encryption node, its bypassed edge, and the node at its end.
    past: (u32, Slot, u32),
    passed: u64,
    run: Volume,
    /// Total of encrypted packets.
    all: Volume,
    /// Flags set on the packets.
    pub flags: Flags,
}

impl<'a> Leave<'a> {
    /// Creates it for a frame.
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
    /// Starts a run whose path is cached under a number.
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
    /// Ends a run with the given packets and bytes.
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
    /// Counts calls and clocks for each bypassed node.
    pub fn end<N: Node>(self, packets: &mut Passes<'_, N>) {
        let (node, edge, transmit) = self.past;
        let len = self.all.bytes / self.all.packets.max(1);
        let share = |of: u64| of * share::BYTES / (share::BYTES + len);
        packets.sent(node, edge, self.passed);
        packets.passed(transmit, self.passed, share(share::TRANSMIT));
        self.underlay.end(packets, share(share::REWRITE));
        self.outputs.end(packets, share(share::OUTPUT), self.counters);
    }
    /// Sends a packet along the path.
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

/// Flags of sent packets: for transport mode along an arc, and for others.
pub fn flags(is_tunnel: bool, is_along: bool) -> Flags {
    match (is_tunnel, is_along) {
        // The outer header is created here: its TTL is complete, and it may be fragmented.
        (true, _) => Flags::LOCAL,
        (false, true) => SEALED,
        (false, false) => Flags::default(),
    }
}
