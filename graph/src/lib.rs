//! The vector engine: buffers, frames, nodes, threads, trace and counters.
//!
//! Life of a packet: an [`Input`] node fills buffers and sends them to a next node; packets for the
//! same node gather in a frame of at most 256; each frame is dispatched once, [`Frame::each`] calls
//! the node's closure for every packet, and the verdicts scatter the packets to the frames of the
//! next nodes.

extern crate self as graph;

pub use graph_derive::{Count, Next, Reason};

pub mod arc;
mod buffer;
mod control;
mod engine;
pub mod explain;
mod hand_off;
mod node;
pub mod show;
pub mod testing;
mod trace;
mod watch;
mod worker;

pub use buffer::{
    Buffer, Claim, DATA_SIZES, FIELDS, FRAME, Flags, HEADROOM, Inner, Metadata, NONE, Pool,
    PoolUse, Ports, SizeError, choose_data_size, data_size,
};
pub use control::{
    BuildError, CounterChange, Engine, MOST_COUNTERS, MOST_NODES, NodeIndex, NodeSamples, Plan,
    Samples, Settings, UntilDone,
};
pub use engine::{
    Ahead, Apart, Arrival, BLOCK, Foreign, ForeignFrame, Frame, Growing, Handled, Held, Intake,
    Lent, MOST_SLICES, Monitored, NewPacket, NodeStats, Packet, Part, Passes, ROOM, Taken,
    Together,
};
pub use hand_off::{Congestion, HandOff, HandsOff};
pub use infra::cpu::Cpu;
pub use node::{
    Continue, Count, CounterText, Edge, Input, InputState, Next, Node, Payload, Reason, Slot,
};
pub use trace::{Names, Record, TracedPacket, explained, time_of_day};
pub use watch::{Filter, PacketContext, Watch, Watcher};
pub use worker::{NoAnswer, Spent, ThreadInfo};
