//! Trace records of the IP nodes.

use std::fmt;
use std::marker::PhantomData;

use graph::{Buffer, Flags, Names, Record};

use super::Version;

/// Bytes of a packet that are kept to be shown.
const SHOWN: usize = 128;

/// The headers of a packet.
pub struct Headers<V> {
    bytes: Vec<u8>,
    version: PhantomData<V>,
}

impl<V> Headers<V> {
    /// Ports at the current position.
    #[cold]
    #[inline(never)]
    pub fn of(p: &Buffer<'_>) -> Self {
        Self::of_bytes(p.bytes())
    }
    /// Ports at the start of `packet`.
    pub fn of_bytes(packet: &[u8]) -> Self {
        Self { bytes: packet[..packet.len().min(SHOWN)].to_vec(), version: PhantomData }
    }
}

impl<V: Version> Record for Headers<V> {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", V::print(&self.bytes, 2))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

/// Table, adjacency and flow of a packet, and its headers.
pub struct Forwarding<V> {
    fib: u16,
    adjacency: u32,
    flow: u32,
    headers: Headers<V>,
}

impl<V> Forwarding<V> {
    /// As the packet has them.
    #[cold]
    #[inline(never)]
    pub fn of(p: &Buffer<'_>) -> Self {
        let flow = if p.flags().has(Flags::HASH) { p.flow_hash() } else { 0 };
        Self { fib: p.fib(), adjacency: p.adjacency(), flow, headers: Headers::of(p) }
    }
}

impl<V: Version> Record for Forwarding<V> {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    fib:{} adj:{} flow:{:#010x}", self.fib, self.adjacency, self.flow)?;
        self.headers.write(names, f)
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
