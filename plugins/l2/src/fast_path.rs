//! The fast path of layer 2: frames between two known hosts, and those of a cross-connect, pass
//! `l2-input`, `l2-learn`, `l2-fwd`, `l2-output` and the output of an interface in the hands of
//! `ethernet-input`, which a part of it is lent to, and wait for its driver; those of
//! sub-interfaces and tunnels pass all but the first of them in the hands of `l2-input`.
//!
//! A frame takes it when it is for one address, no other feature is on its path, nothing is to be
//! learned of its source, its destination is known, and its tags stay as they are. Another is left
//! as it came, unchanged and uncounted, and goes node by node; so addresses that move do it behind
//! the other frames of their vector. What nodes count is counted as if each had been called.

use graph::{Ahead, Next, Part, Passes};
use net::ethernet::L2_INPUT;
use net::fast_path::{EthernetInput, Outputs, Pause, edge};
use net::interface::{Counters, EdgesReader, Port};
use net::prelude::*;

use super::block::{Block, Head};
use super::fib::{Entry, minute};
use super::input::Input;
use super::pass::{EXITS, Egress, Pass, Stages, met};
use super::state::{PortSeen, Tables};
use super::{forward, output};

/// The fast path, on one thread.
#[derive(Clone)]
pub struct FastPath {
    tables: Tables,
    /// Edges of `l2-output` to the output of each interface.
    edges: Edges,
    interfaces: SlabReader<Port>,
    counters: Arc<Counters>,
    /// Edge of `l2-fwd` to `l2-output`.
    to_output: Slot,
    /// The block under way and the next one.
    blocks: [Block; 2],
    pause: Pause,
}

impl Part<EthernetInput> for FastPath {
    #[inline(always)]
    fn take(
        &mut self,
        packets: &mut Passes<'_, EthernetInput>,
        epoch: Epoch<'_>,
        edge: Slot,
    ) -> bool {
        let (before, ahead) = packets.ahead();
        let Some(node) = ahead.target(before, edge) else { return false };
        self.take_from(packets, epoch, (node, Some((before, edge))))
    }
}

/// Edges of `l2-output`, once it exists.
type Edges = Reader<Option<EdgesReader>>;

impl FastPath {
    /// With the edges of `l2-output` to the output of each interface.
    pub fn new(
        tables: &Tables,
        edges: Edges,
        interfaces: SlabReader<Port>,
        counters: Arc<Counters>,
    ) -> Self {
        let to_output = edge(forward::Next::EDGES, output::Output::NAME);
        let (tables, blocks, pause) = (tables.clone(), [Block::EMPTY; 2], Pause::default());
        Self { tables, edges, interfaces, counters, to_output, blocks, pause }
    }
    /// Takes frames that `l2-input` has in its hands and that pass the same nodes as the first
    /// one; says whether it went over them.
    #[inline(always)]
    pub fn take(&mut self, packets: &mut Passes<'_, Input>, epoch: Epoch<'_>) -> bool {
        let (node, _) = packets.ahead();
        self.take_from(packets, epoch, (node, None))
    }
    /// Takes frames that are in front of `l2-input`, which is `node`: in its hands, or in those of
    /// the node before it, which they would leave by an edge. That one has those of the first
    /// frame's interface taken alone.
    #[inline(always)]
    fn take_from<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        epoch: Epoch<'_>,
        (node, before): (u32, Option<(u32, Slot)>),
    ) -> bool {
        let all = packets.all();
        if packets.are_watched() || all.is_empty() || !self.pause.is_over() {
            return false;
        }
        let mut ends = [(0, None, [0; 2]); 2];
        for (place, end) in [0, all.end - 1].into_iter().zip(&mut ends) {
            packets.look(place..place + 1, |_, p| {
                let domain = self.tables.ports.read(p.rx(), epoch).map_or(0, |port| port.domain);
                let head = Head::of(p);
                *end = (p.rx(), head, head.map_or([0; 2], |head| head.keys(domain)));
            });
        }
        let [(rx, first, keys), (last_rx, last, _)] = ends;
        let Some(start) = packets.start(node, &L2_INPUT) else { return false };
        let (_, ahead) = packets.ahead();
        let port = self.tables.ports.read(rx, epoch);
        let (minute, thread) = (minute(packets.now()), packets.thread());
        let stages = port.and_then(|port| self.stages(port, start.bits(rx), (node, ahead)));
        let Some(stages) = stages else { return false };
        let sequence = port.map_or(0, |port| port.sequence);
        let mut pass = Pass {
            tables: &self.tables,
            view: self.tables.fib.read(epoch),
            edges: self.edges.read(epoch).as_ref(),
            start,
            epoch,
            minute,
            stages,
            only: before.map(|_| rx),
            notes: before.is_some(),
            rx,
            port,
            expected: Entry::learned(rx, sequence, minute),
            known: 0,
            exits: [Egress::NONE; EXITS],
            outputs: Outputs::new(&self.interfaces, epoch),
        };
        // Where the first and the last frame are of one flow, most of them are.
        let mask = if stages.forward.is_some() { Head::BOTH } else { Head::UNICAST };
        let [first, last] = [first, last].map(|head| head.map(|head| head.and(mask)));
        let flow = first.filter(|a| rx == last_rx && first == last && !a.is_multicast());
        match flow.and_then(|flow| Some((flow, pass.exit_of(ahead, keys)?))) {
            Some((flow, exit)) => {
                pass.take_flow(packets, (flow, mask), exit);
                if packets.are_left(all.clone()) {
                    pass.take_left(packets, &mut self.blocks, false);
                }
            }
            None => {
                packets.leave(all.clone());
                pass.take_left(packets, &mut self.blocks, true);
            }
        }
        let went = pass.end(packets, (node, before, self.to_output), (&self.counters, thread));
        self.pause.after(went, all.len());
        true
    }
    /// The nodes that usual frames of a port pass, when no others are among them.
    #[inline(never)]
    fn stages(
        &self,
        port: &PortSeen,
        bits: u64,
        (node, ahead): (u32, Ahead<'_>),
    ) -> Option<Stages> {
        let ([learn, forward, output], met) = (port.usual, met(port, bits));
        let first = ahead.start(node, &L2_INPUT)?.at(met.trailing_zeros());
        let next = ahead.target(node, first)?;
        let (learn, forward) = if met == output && met != 0 {
            (None, None)
        } else if met == forward {
            (None, Some(next))
        } else if met == learn | forward {
            let edge = ahead.start(next, &L2_INPUT)?.at(forward.trailing_zeros());
            (Some((next, edge)), Some(ahead.target(next, edge)?))
        } else {
            return None;
        };
        let output = forward.map_or(Some(next), |node| ahead.target(node, self.to_output))?;
        Some(Stages { met, first, learn, forward, output })
    }
}
