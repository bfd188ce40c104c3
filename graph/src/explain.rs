//! The fate of a packet that is not sent: it goes through the live graph alone, and control is told
//! what happened at each node.
//!
//! The packet is on no data-plane thread. Control runs the nodes itself, as clones made for the
//! occasion, as for a new thread: with the tables that all threads read, counters that are in no
//! sum, and events that nobody hears. Only nodes that say they may be
//! ([`Node::EXPLAINABLE`](crate::Node::EXPLAINABLE)) are run; any other is where the explanation
//! ends.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::Arc;

use infra::rcu::Participant;

use crate::buffer::{Buffer, Flags};
use crate::control::{Engine, NodeIndex};
use crate::engine::Walk;
use crate::trace::Record;

thread_local! {
    static IS_EXPLAINING: Cell<bool> = const { Cell::new(false) };
}

/// Whether nodes that are cloned now are to explain a packet: what a clone would tell others, it
/// is to keep to itself.
pub fn is_explaining() -> bool {
    IS_EXPLAINING.get()
}

/// One packet: the one that was given, or one that a node made of another.
pub struct ExplainedPacket {
    /// Origin; `None` for the packet that was given.
    pub made: Option<MadeAt>,
    /// Nodes that it visited, in order.
    pub steps: Vec<Step>,
    /// Its end at the last of them.
    pub end: End,
}

/// The node that made a packet, and of which one, by its place in the list of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeAt {
    /// The other packet.
    pub packet: usize,
    /// The node.
    pub node: NodeIndex,
}

/// Ends of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The node did not send it on.
    Ended,
    /// The node is none that may be run for packets that are only explained.
    Stopped,
    /// The node cannot say what would become of it, for this reason.
    Unknown(&'static str),
    /// It went on and on.
    TooLong,
}

/// A visit of a node.
pub struct Step {
    /// The node.
    pub node: NodeIndex,
    /// The packet as the node was given it.
    pub before: Snapshot,
    /// As it was sent on; `None` if it was not.
    pub after: Option<Snapshot>,
    /// Records of the node.
    pub records: Vec<Arc<dyn Record>>,
    /// Counters of nodes that it would raise.
    pub counted: Vec<Counted>,
    /// The node that it was sent on to.
    pub next: Option<NodeIndex>,
}

/// A counter that a node would raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its number.
    pub index: u32,
    /// By how much.
    pub by: u64,
}

/// A packet between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes of its first segment, from where the next node begins to read.
    pub bytes: Vec<u8>,
    /// Offset of these from the start of the data area.
    pub offset: i16,
    /// Bytes of all segments.
    pub len: usize,
    /// Start of its headers, from the start of the data area: layer 2 and 3, where they are known.
    pub headers: [Option<i16>; 2],
    /// Interface it came in on.
    pub rx: u32,
    /// Interface it is to go out of.
    pub tx: u32,
    /// Table for its lookup.
    pub fib: u16,
    /// Number of the counter of its error; 0 for none.
    pub error: u32,
}

impl ExplainedPacket {
    pub(crate) fn new(made: Option<MadeAt>) -> Self {
        Self { made, steps: Vec::new(), end: End::Ended }
    }
}

impl Step {
    pub(crate) fn new(node: NodeIndex, before: Snapshot) -> Self {
        let (records, counted) = (Vec::new(), Vec::new());
        Self { node, before, after: None, records, counted, next: None }
    }
}

impl Snapshot {
    pub(crate) fn of(p: &Buffer<'_>) -> Self {
        let known = |flag, at| p.flags().has(flag).then_some(at);
        Self {
            bytes: p.bytes().to_vec(),
            offset: p.offset(),
            len: p.total_len(),
            headers: [known(Flags::L2, p.l2_offset()), known(Flags::L3, p.l3_offset())],
            rx: p.rx(),
            tx: p.tx(),
            fib: p.fib(),
            error: Buffer::error(p),
        }
    }
}

/// Takes back, also after a panic, that nodes are cloned to explain.
struct Explaining;

impl Explaining {
    fn begin() -> Self {
        IS_EXPLAINING.set(true);
        Self
    }
}

impl Drop for Explaining {
    fn drop(&mut self) {
        IS_EXPLAINING.set(false);
    }
}

impl Engine {
    /// Says what would happen to a packet that enters at a node: it, and what nodes make of it, in
    /// the order they were met. Nobody else notices. No packets when there is no buffer for it.
    pub fn explain(
        &self,
        entrance: NodeIndex,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Buffer<'_>),
    ) -> Vec<ExplainedPacket> {
        let _explaining = Explaining::begin();
        let me = Participant::join();
        let make = |node| self.runtime_to_explain(NodeIndex(node));
        let walk = Walk::new(self.bare_core(), self.node_count(), self.counter_count(), &make);
        walk.run(entrance, bytes, prepare, me.epoch())
    }
}
