//! The end of a fast path: packets pass the output nodes of their interfaces and wait for drivers.

use graph::arc::FeatureArc;
use graph::{Ahead, Flags, Node, Passes, Slot};
use infra::counter::Volume;
use infra::rcu::{Epoch, SlabReader};

use super::few::Few;
use crate::adjacency::Adjacency;
use crate::interface::{Counters, INTERFACE_OUTPUT, InterfaceOutput, Port};
use crate::ip::is_usual;

/// Interfaces at most that packets of one frame leave by; others go node by node.
const MOST_OUTPUTS: usize = 8;
/// Frames that go node by node after one that had little to gain.
const PAUSE: u32 = 32;

/// Frames that still go node by node, after one of which less than half took the fast path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause(u32);

impl Pause {
    /// Whether the next frame is to be tried.
    #[inline(always)]
    pub fn is_over(&mut self) -> bool {
        let is_over = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        is_over
    }
    /// Pauses after a frame of which too few packets went.
    #[inline(always)]
    pub fn after(&mut self, went: u64, all: usize) {
        if went * 2 < all as u64 {
            self.0 = PAUSE;
        }
    }
}

/// An interface whose output has nothing to do but to count.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Place among the outputs of the frame.
    output: usize,
    /// The driver's node.
    pub tx: u32,
    /// Flags of packets that something is still to be done for.
    pub todo: Flags,
}

/// An adjacency whose packets need nothing else, and the interface behind it.
#[derive(Clone, Copy)]
pub struct Egress<'e> {
    /// Neighbor.
    pub adjacency: &'e Adjacency,
    /// The exit there.
    pub exit: Exit,
}

/// An output node that packets passed.
#[derive(Clone, Copy)]
struct Output {
    /// The node before it.
    from: u32,
    interface: u32,
    node: u32,
    edge: Slot,
    /// Packets in the upper half, their bytes in the lower one, which those of a frame fit into:
    /// counted by one addition.
    sent: u64,
}

impl Output {
    const NONE: Self = Self { from: 0, interface: 0, node: 0, edge: Slot(0), sent: 0 };

    fn packets(&self) -> u64 {
        self.sent >> 32
    }
}

/// Output nodes that packets of a frame passed.
pub struct Outputs<'a> {
    ports: &'a SlabReader<Port>,
    epoch: Epoch<'a>,
    all: Few<Output, MOST_OUTPUTS>,
}

impl<'a> Outputs<'a> {
    /// None yet.
    pub fn new(ports: &'a SlabReader<Port>, epoch: Epoch<'a>) -> Self {
        Self { ports, epoch, all: Few::new(Output::NONE) }
    }
    /// The exit by an interface, over an edge of node `from`; `None` where packets have to go node
    /// by node.
    pub fn exit(
        &mut self,
        ahead: Ahead<'_>,
        from: u32,
        edge: Slot,
        interface: u32,
    ) -> Option<Exit> {
        let port = self.ports.read(interface, self.epoch).filter(|port| port.up)?;
        let node = ahead.target(from, edge).filter(|node| port.output == Some(*node))?;
        if ahead.feature(node, &INTERFACE_OUTPUT, interface).is_some() {
            return None;
        }
        let tx = ahead.target(node, InterfaceOutput::TX)?;
        let is_it = |o: &Output| (o.from, o.node, o.edge) == (from, node, edge);
        let output = Output { from, interface, node, edge, ..Output::NONE };
        let output = self.all.place(is_it, output)?;
        Some(Exit { output, tx, todo: port.todo })
    }
    /// The egress over an adjacency after a rewrite node, if that is usual and no feature of
    /// `arc` is on the path.
    #[inline(never)]
    pub fn egress(
        &mut self,
        ahead: Ahead<'_>,
        (rewrite, arc): (u32, &'static FeatureArc),
        adjacency: Option<&'a Adjacency>,
    ) -> Option<Egress<'a>> {
        let adjacency = adjacency.filter(|a| is_usual(a))?;
        let interface = adjacency.interface.0;
        if ahead.feature(rewrite, arc, interface).is_some() {
            return None;
        }
        let exit = self.exit(ahead, rewrite, adjacency.output, interface)?;
        Some(Egress { adjacency, exit })
    }
    /// Counts a packet that leaves.
    #[inline(always)]
    pub fn count(&mut self, exit: &Exit, bytes: usize) {
        if let Some(output) = self.all.at(exit.output) {
            output.sent += 1 << 32 | bytes as u64;
        }
    }
    /// Counts packets that leave.
    #[inline(always)]
    pub fn count_all(&mut self, exit: &Exit, run: Volume) {
        if let Some(output) = self.all.at(exit.output) {
            output.sent += run.packets << 32 | run.bytes;
        }
    }
    /// Counts for each output node as if it had been called, with its share of the clocks in
    /// thousandths; the number of packets passed.
    pub fn end<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        share: u64,
        (counters, thread): (&Counters, usize),
    ) -> u64 {
        for output in self.all.iter() {
            let all = output.packets();
            packets.sent(output.from, output.edge, all);
            packets.sent(output.node, InterfaceOutput::TX, all);
            packets.passed(output.node, all, share);
            let sent = &counters.tx.row(thread)[output.interface as usize];
            sent.add(all, output.sent & u64::from(u32::MAX));
        }
        self.all.iter().map(Output::packets).sum()
    }
}
