//! `<name>-output`: the last node that is ours before the driver's `<name>-tx`.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use graph::arc::{FeatureArc, Side};
use graph::{Buffer, Flags, Frame, Names, Node, Packet, Record, Slot};
use infra::rcu::{Epoch, SlabReader};
use wire::print;

use super::{Briefs, BriefsView, Counters, EdgesReader, InterfaceIndex, Interfaces, Port};
use crate::gso::{self, Failure};

/// Features on everything an interface sends.
pub static INTERFACE_OUTPUT: FeatureArc = FeatureArc {
    name: "interface-output",
    starts: &[],
    order: &[
        "sflow-egress",
        "nsim-output-feature",
        "mactime-tx",
        "flowprobe-output-l2",
        "ct6-in2out",
        "stats-collect-tx",
        "ipsec-if-output",
        "span-output",
    ],
    end: "interface-output-arc-end",
    side: Side::Transmit,
};

/// Features on everything an interface brings in, before Ethernet input.
pub static DEVICE_INPUT: FeatureArc = FeatureArc {
    name: "device-input",
    starts: &["pg-input", "af-packet-input", "tap-input"],
    order: &[
        "srv6-as2-rewrite",
        "srv6-ad2-rewrite",
        "soft-rss",
        "sflow",
        "sfdp-dummy-dot1q-input",
        "pppoe-input",
        "nsim",
        "mactime",
        "flowprobe-input-l2",
        "adl-input",
        "pg-input-mac-filter",
        "sr-pl-rewrite-encaps-l2",
        "bond-input",
        "stats-collect-rx",
        "p2p-ethernet-input",
        "span-input",
        "worker-handoff",
        "l2-patch",
    ],
    end: "ethernet-input",
    side: Side::Receive,
};

/// Counts what an interface sends and hands it to the driver.
#[derive(Clone)]
pub struct InterfaceOutput {
    index: InterfaceIndex,
    ports: SlabReader<Port>,
    briefs: Briefs,
    counters: Arc<Counters>,
}

/// Edges of [`InterfaceOutput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The driver's node, or a feature.
    #[dynamic]
    To(Slot),
}

/// Drops of [`InterfaceOutput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Interface is down.
    #[name("interface is down")]
    Down,
    /// no buffers to segment GSO.
    #[name("no buffers to segment GSO")]
    NoBuffers,
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoBuffers => Self::NoBuffers,
            Failure::Unfit => Self::Unfit,
        }
    }
}

impl InterfaceOutput {
    /// The edge to `<name>-tx`: after the drop, the first that is connected.
    pub(crate) const TX: Slot = Slot(1);

    pub(super) fn new(index: InterfaceIndex, all: &Interfaces) -> Self {
        Self { index, ports: all.ports(), briefs: all.briefs(), counters: all.counters() }
    }
}

/// Outcome of a closer look at a packet. One byte: a pair as in a `Result` is returned by different
/// rules on different processors, which keeps the loop's closure from being compiled for each.
enum Seen {
    /// It may be sent, and is counted.
    Good,
    /// A reason to drop it.
    Bad(Error),
}

impl InterfaceOutput {
    /// Puts in the tags of the sub-interface that a packet is sent by, and counts it there; its
    /// length. `None` when that is down or no sub-interface.
    #[inline(always)]
    fn tag(&self, p: &mut Buffer<'_>, briefs: BriefsView<'_>, thread: usize) -> Option<u64> {
        let from = p.tx();
        let sub = briefs.of(from);
        if from == self.index.0 || !sub.sends_by(self.index.0) {
            return None;
        }
        sub.tags().insert(p)?;
        let len = p.len() as u64;
        self.counters.tx.row(thread)[from as usize].add(1, len);
        Some(len)
    }
    /// Makes a packet ready that is more than bytes to send: its sub-interface puts tags in, what
    /// the driver cannot do is done, its trace goes on. Adds packets and bytes to `sent`.
    #[cold]
    #[inline(never)]
    fn prepare(
        &mut self,
        p: &mut Packet<'_, Self>,
        (mut up, todo): (bool, Flags),
        epoch: Epoch<'_>,
        (thread, sent): (usize, &mut (u64, u64)),
    ) -> Seen {
        let mut from = p.tx();
        if from != self.index.0 {
            match self.ports.read(from, epoch) {
                Some(sub) if sub.sup == self.index => up = sub.up && sub.tags.insert(p).is_some(),
                _ => from = self.index.0,
            }
            p.set_tx(from);
        }
        p.trace(|p| Sending::of(from, p));
        if !up {
            return Seen::Bad(Error::Down);
        }
        let mut new = (1, p.total_len() as u64);
        if p.flags().has(todo) {
            match gso::apply(todo, p) {
                Ok(done) => new = done,
                Err(why) => return Seen::Bad(why.into()),
            }
        }
        *sent = (sent.0 + new.0, sent.1 + new.1);
        if from != self.index.0 {
            self.counters.tx.row(thread)[from as usize].add(new.0, new.1);
        }
        Seen::Good
    }
}

impl Node for InterfaceOutput {
    const NAME: &'static str = "interface-output";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(&INTERFACE_OUTPUT);
        let index = self.index.0;
        let port = self.ports.read(index, frame.epoch());
        let (up, todo) = port.map_or((false, Flags::default()), |p| (p.up, p.todo));
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let (mut packets_sent, mut bytes_sent, mut sent) = (0, 0, (0, 0));
        let first = |p: &mut Buffer<'_>| {
            let first = if arc.is_used() { arc.first(p.tx()) } else { None };
            Next::To(first.unwrap_or(Self::TX))
        };
        frame.passes(|packets| {
            // The interface of the first packet decides which pass handles most of them.
            let mut is_own = false;
            packets.look(0..packets.all().end.min(1), |_, p| is_own = p.tx() == index);
            if is_own {
                packets.usual(packets.all(), |_, p| {
                    if !up || p.tx() != index || p.flags().has(todo) {
                        return None;
                    }
                    packets_sent += 1;
                    bytes_sent += p.len() as u64;
                    Some(first(p))
                });
            } else {
                packets.leave(packets.all());
            }
            if packets.are_left(packets.all()) {
                let briefs = self.briefs.read(epoch);
                packets.rest(packets.all(), |_, p| {
                    if p.flags().has(todo) {
                        return None;
                    }
                    let len = self.tag(p, briefs, thread)?;
                    sent = (sent.0 + 1, sent.1 + len);
                    Some(first(p))
                });
                packets.others(
                    packets.all(),
                    #[inline(always)]
                    |_, p| match self.prepare(p, (up, todo), epoch, (thread, &mut sent)) {
                        Seen::Good => Ok(first(p)),
                        Seen::Bad(why) => Err(why),
                    },
                );
            }
        });
        let (packets, bytes) = (packets_sent + sent.0, bytes_sent + sent.1);
        self.counters.tx.row(frame.thread())[index as usize].add(packets, bytes);
    }
}

/// `interface-output-arc-end`: where packets leave the features on what an interface sends.
#[derive(Clone)]
pub(super) struct ArcEnd {
    /// The edge to `<name>-tx`, by interface.
    pub edges: EdgesReader,
}

/// Edges of [`ArcEnd`].
#[derive(Clone, Copy, graph::Next)]
pub(super) enum EndNext {
    /// The driver's node.
    #[dynamic]
    Tx(Slot),
}

/// Drops of [`ArcEnd`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum EndError {
    /// Interface is gone.
    Gone,
}

impl Node for ArcEnd {
    const NAME: &'static str = INTERFACE_OUTPUT.end;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = EndNext;
    type Error = EndError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let edges = self.edges.read(frame.epoch());
        frame.each(|p| edges.to(p.tx()).map(EndNext::Tx).ok_or(EndError::Gone));
    }
}

struct Sending {
    index: u32,
    flags: u32,
    bytes: Vec<u8>,
}

impl Sending {
    fn of(index: u32, p: &Buffer<'_>) -> Self {
        Self { index, flags: p.flags().0, bytes: p.bytes()[..p.len().min(128)].to_vec() }
    }
}

impl Record for Sending {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {} flags {:#010x}", names.name("interface", self.index), self.flags)?;
        write!(f, "{}", print::ethernet(&self.bytes, 2))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

/// `local0-tx`: nothing can be sent there.
#[derive(Clone)]
pub(super) struct LocalTx;

/// Drops of [`LocalTx`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum LocalError {
    /// Packets sent to the local interface.
    Sent,
}

impl Node for LocalTx {
    const NAME: &'static str = "local0-tx";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = LocalError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(LocalError::Sent));
    }
}
