//! The interface of node authors: traits of nodes, their edges and their counters.
#![forbid(unsafe_code)]

use std::convert::Infallible;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::arc::Along;
use crate::buffer::Buffer;
use crate::engine::{Frame, Intake};

/// One step of the packet graph: takes a frame of packets, sends each along an edge or drops it.
///
/// Each data-plane thread runs its own clone. Write `#[inline(always)]` above `process`: the engine
/// compiles it once, or for each CPU variant ([`HOT`](Self::HOT)).
pub trait Node: Clone + Send + 'static {
    /// Unique in the graph, e.g. `ip4-lookup`; the name `show runtime` prints.
    const NAME: &'static str;
    /// The edges out of this node; `Infallible` when no packet leaves it.
    type Next: Next;
    /// Reasons for which this node drops packets; `Infallible` when it never does.
    type Error: Reason;
    /// Its further counters; `Infallible` for none.
    type Count: Count;
    /// Payload it expects on arriving packets, by [`Payload::NAME`]; empty for none.
    const INPUT: &'static str = "";
    /// Whether it is compiled for each CPU variant, not only for the baseline processor: for nodes
    /// that most packets of a busy router visit, since each variant is a copy of the code.
    const HOT: bool = false;
    /// The node that gets what this one drops.
    const DROP: &'static str = "error-drop";
    /// The node, added before, under whose name reasons are counted; it has the same. Empty: its
    /// own. What is counted besides has the node's own name, unless both nodes count the same.
    const COUNTED_AT: &'static str = "";
    /// Whether it starts traces, as input nodes do ([`Packet::start_trace`](crate::Packet)).
    const STARTS_TRACES: bool = false;
    /// Whether it reads the bytes of usual packets: their first line is fetched ahead.
    const READS_BYTES: bool = true;
    /// Whether packets that are no fragments pass it untouched and uncounted, along its arc: a node
    /// in front may take them past it.
    const FRAGMENTS_ONLY: bool = false;

    /// Whether it may process packets that are only explained ([`Engine::explain`]). Then it
    /// changes, for these, nothing but the packet, per-clone fields, and counters in the row of its
    /// thread; its events are discarded. Other effects (learn, create a session, send) are skipped
    /// when [`Frame::is_explained`]. An explanation ends at a node without this.
    ///
    /// [`Engine::explain`]: crate::Engine::explain
    const EXPLAINABLE: bool = false;

    /// Processes one frame: 1 to 256 packets, all for this node, or none when it has asked for that
    /// ([`Frame::recall_in`]).
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>);

    /// The thread ends: a node that holds packets drops and counts them, in a frame without any.
    fn end(&mut self, _: &mut Frame<'_, Self>) {}
}

/// A node that brings packets in.
pub trait Input: Clone + Send + 'static {
    /// Unique in the graph, e.g. `pg-input`.
    const NAME: &'static str;
    /// The edges out of this node.
    type Next: Next;
    /// Reasons for which it drops received packets.
    type Error: Reason;
    /// Its further counters.
    type Count: Count;
    /// State at start; drivers switch their node on when the first queue comes up.
    const STATE: InputState = InputState::Disabled;
    /// Whether it is compiled for each CPU variant, as [`Node::HOT`].
    const HOT: bool = false;
    /// The node that gets what this one drops.
    const DROP: &'static str = "error-drop";

    /// Receives pending packets, at most about a frame for each queue.
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>);
}

/// The state of an input node: polled or waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputState {
    /// Every loop; the thread never sleeps.
    Polling,
    /// Every loop while there is traffic; the thread sleeps on file descriptors when there is none.
    Adaptive,
    /// Only when one of its file descriptors is readable.
    Interrupt,
    /// Never.
    Disabled,
}

/// One edge: where it leads and what travels along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Name of the node at its end.
    pub to: &'static str,
    /// [`Payload::NAME`] of what travels along; empty for nothing.
    pub payload: &'static str,
}

/// A typed value of at most 16 bytes that travels with a packet along one edge.
pub trait Payload: FromBytes + IntoBytes + Immutable + KnownLayout + Copy {
    /// Compared at both ends when the graph is built.
    const NAME: &'static str;
}

/// Number of an edge of one particular node, as [`crate::Engine::connect`] returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// The edges of a node. Derive it.
pub trait Next: Copy + 'static {
    /// The edges known when the node was written, in variant order.
    const EDGES: &'static [Edge];
    /// Number of the edge to take.
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32;
}

/// The edge of a feature node that passes packets on: to the next feature, or to the arc's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continue;

impl Next for Continue {
    const EDGES: &'static [Edge] = &[];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        along.next(p)
    }
}

impl Next for Infallible {
    const EDGES: &'static [Edge] = &[];
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        match self {}
    }
}

/// The texts of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterText {
    /// Name in the stats segment.
    pub name: &'static str,
    /// `show errors` text.
    pub text: &'static str,
    /// `error`, `warn` or `info`.
    pub severity: &'static str,
}

/// Reasons for drops. Derive it.
pub trait Reason: Copy + 'static {
    /// In variant order.
    const TEXTS: &'static [CounterText];
    /// Variant number.
    fn index(self) -> usize;
}

/// Counters that are not drops. Derive it.
pub trait Count: Copy + 'static {
    /// In variant order.
    const TEXTS: &'static [CounterText];
    /// Variant number.
    fn index(self) -> usize;
}

impl Reason for Infallible {
    const TEXTS: &'static [CounterText] = &[];
    fn index(self) -> usize {
        match self {}
    }
}

impl Count for Infallible {
    const TEXTS: &'static [CounterText] = &[];
    fn index(self) -> usize {
        match self {}
    }
}
