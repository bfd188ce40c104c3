//! What the trace shows of generated and of sent packets.

use std::fmt;
use std::sync::Arc;

use graph::{Buffer, Flags, Names, Record};
use wire::print;

/// Bytes of a packet that are kept.
const KEPT: usize = 128;

/// Where the packets of a stream come from.
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

/// A packet as it is sent.
pub struct Sent {
    index: u32,
    is_ethernet: bool,
    snapshot: Snapshot,
}

/// The buffer of a packet and its first bytes.
struct Snapshot {
    offset: i16,
    len: usize,
    total: usize,
    handle: u16,
    flags: Flags,
    layers: [i16; 3],
    bytes: Vec<u8>,
}

impl Snapshot {
    fn of(p: &Buffer<'_>) -> Self {
        Self {
            offset: p.offset(),
            len: p.len(),
            total: p.total_len(),
            handle: p.trace_handle(),
            flags: p.flags(),
            layers: [p.l2_offset(), p.l3_offset(), p.l4_offset()],
            bytes: p.bytes()[..p.len().min(KEPT)].to_vec(),
        }
    }
    fn write_packet(&self, is_ethernet: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = &self.bytes;
        match bytes.first() {
            _ if is_ethernet => write!(f, "{}", print::ethernet(bytes, 2)),
            Some(first) if first >> 4 == 4 => write!(f, "{}", print::ip4(bytes, 2)),
            Some(first) if first >> 4 == 6 => write!(f, "{}", print::ip6(bytes, 2)),
            _ => write!(f, "{}", print::hex(bytes, 2)),
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, len, total, handle, .. } = self;
        write!(f, "current data {offset}, length {len}, buffer-pool 0, ref-count 1")?;
        if total > len {
            write!(f, ", totlen-nifb {}", total - len)?;
        }
        write!(f, ", trace handle {handle:#x}")
    }
}

impl Origin {
    /// The record of a packet that was just made.
    pub fn generated(self: &Arc<Self>, p: &Buffer<'_>) -> Generated {
        Generated { origin: Arc::clone(self), rx: p.rx(), snapshot: Snapshot::of(p) }
    }
}

impl Sent {
    /// The record of a packet that is being sent.
    #[cold]
    #[inline(never)]
    pub fn of(p: &Buffer<'_>, is_ethernet: bool) -> Self {
        Self { index: p.index(), is_ethernet, snapshot: Snapshot::of(p) }
    }
}

impl Record for Generated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { stream, next, is_ethernet } = &*self.origin;
        let (len, rx) = (self.snapshot.total, self.rx);
        writeln!(f, "  stream {stream}, {len} bytes, sw_if_index {rx}, next_node {next}")?;
        writeln!(f, "  {}", self.snapshot)?;
        self.snapshot.write_packet(*is_ethernet, f)
    }
}

impl Record for Sent {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("    buffer {:#x}: ", self.index);
        writeln!(f, "{name}{}", self.snapshot)?;
        let known = [(Flags::L2, "l2"), (Flags::L3, "l3"), (Flags::L4, "l4")];
        let offsets: String = (known.iter().zip(self.snapshot.layers))
            .filter(|((flag, _), _)| self.snapshot.flags.has(*flag))
            .map(|((_, layer), offset)| format!("{layer}-hdr-offset {offset} "))
            .collect();
        if !offsets.is_empty() {
            writeln!(f, "{:1$}{offsets}", "", name.len())?;
        }
        self.snapshot.write_packet(self.is_ethernet, f)
    }
}
