//! Trace records of generated packets.

use std::fmt;
use std::sync::Arc;

use graph::{Buffer, Names, Record};

use crate::snapshot::Snapshot;

/// The origin of a stream's packets.
#[derive(Debug)]
pub struct Origin {
    /// Name of the stream.
    pub stream: String,
    /// Node that they are sent to.
    pub next: String,
    /// Whether they start with an Ethernet header.
    pub is_ethernet: bool,
}

/// A packet as the generator made it.
pub struct Generated {
    origin: Arc<Origin>,
    rx: u32,
    snapshot: Snapshot,
}

impl Origin {
    /// The record of a packet that was just made.
    pub fn generated(self: &Arc<Self>, p: &Buffer<'_>) -> Generated {
        Generated { origin: Arc::clone(self), rx: p.rx(), snapshot: Snapshot::of(p) }
    }
}

impl Record for Generated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { stream, next, is_ethernet } = &*self.origin;
        let (len, rx) = (self.snapshot.total_len(), self.rx);
        writeln!(f, "  stream {stream}, {len} bytes, sw_if_index {rx}, next_node {next}")?;
        writeln!(f, "  {}", self.snapshot)?;
        self.snapshot.write_packet(*is_ethernet, f)
    }
}
