//! A packet as a trace keeps it: its buffer and its first bytes.
#![forbid(unsafe_code)]

use std::fmt;

use graph::{Buffer, Flags, Names, Record};
use wire::print;

/// Bytes of a packet that are kept.
const KEPT: usize = 128;

/// The buffer of a packet and its first bytes.
pub struct Snapshot {
    offset: i16,
    len: usize,
    total: usize,
    handle: u16,
    flags: Flags,
    layers: [i16; 3],
    bytes: Vec<u8>,
}

impl Snapshot {
    /// Of a packet as it is now.
    pub fn of(p: &Buffer<'_>) -> Self {
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
    /// Length of the whole packet in bytes.
    pub fn total_len(&self) -> usize {
        self.total
    }
    /// Starts of its layers, as far as they are known: `l2-hdr-offset 0 l3-hdr-offset 14 `.
    pub fn layers(&self) -> String {
        let known = [(Flags::L2, "l2"), (Flags::L3, "l3"), (Flags::L4, "l4")];
        (known.iter().zip(self.layers))
            .filter(|((flag, _), _)| self.flags.has(*flag))
            .map(|((_, layer), offset)| format!("{layer}-hdr-offset {offset} "))
            .collect()
    }
    /// Writes what the packet says, which starts with an Ethernet header or else with IP.
    ///
    /// # Errors
    /// The formatter's.
    pub fn write_packet(&self, is_ethernet: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// The record of a packet that came by a receive queue.
pub struct FromQueue {
    interface: &'static str,
    queue: &'static str,
    rx: u32,
    number: usize,
    len: usize,
}

impl FromQueue {
    /// Of a packet from the queue of this number; what numbers of interfaces and of queues are
    /// called before them.
    pub fn of(interface: &'static str, queue: &'static str, number: usize, p: &Buffer<'_>) -> Self {
        Self { interface, queue, rx: p.rx(), number, len: p.total_len() }
    }
}

impl Record for FromQueue {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, queue, rx, number, len } = self;
        write!(f, "  {interface} {rx} {queue} {number} len {len}")
    }
}

/// The record of a packet that is being sent.
pub struct Sent {
    index: u32,
    is_ethernet: bool,
    snapshot: Snapshot,
}

impl Sent {
    /// Of a packet that starts with an Ethernet header, or else with IP.
    #[cold]
    #[inline(never)]
    pub fn of(p: &Buffer<'_>, is_ethernet: bool) -> Self {
        Self { index: p.index(), is_ethernet, snapshot: Snapshot::of(p) }
    }
}

impl Record for Sent {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("    buffer {:#x}: ", self.index);
        writeln!(f, "{name}{}", self.snapshot)?;
        let offsets = self.snapshot.layers();
        if !offsets.is_empty() {
            writeln!(f, "{:1$}{offsets}", "", name.len())?;
        }
        self.snapshot.write_packet(self.is_ethernet, f)
    }
}
