//! Edges of one node by interface: to `<name>-output` or `<name>-tx`.

use std::io;

use graph::Slot;
use infra::rcu::Epoch;
use infra::table::numbers::{Numbers, NumbersReader, View};

use super::{InterfaceIndex, MAX_INTERFACES};

/// The edges, as control sets them one by one. A number is one more than the edge's.
#[derive(Debug)]
pub struct Edges(Numbers);

/// The same for the node.
#[derive(Clone, Debug)]
pub struct EdgesReader(NumbersReader);

/// The same for a frame of the node.
#[derive(Clone, Copy, Debug)]
pub struct EdgesView<'e>(View<'e>);

impl Edges {
    /// Room for those to all interfaces there may be.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Numbers::new(MAX_INTERFACES)?))
    }
    /// For the node.
    pub fn reader(&self) -> EdgesReader {
        EdgesReader(self.0.reader())
    }
    /// Sets the edge to an interface, which has a number below [`MAX_INTERFACES`].
    pub fn set(&mut self, index: InterfaceIndex, edge: Option<Slot>) {
        self.0.set(index.0 as usize, edge.map_or(0, |Slot(slot)| u64::from(slot) + 1));
    }
}

impl EdgesReader {
    /// The edges, for a frame.
    #[inline(always)]
    pub fn read<'e>(&'e self, _: Epoch<'e>) -> EdgesView<'e> {
        EdgesView(self.0.view())
    }
}

impl EdgesView<'_> {
    /// The edge to an interface, if there is one.
    #[inline(always)]
    pub fn to(&self, interface: u32) -> Option<Slot> {
        self.0.at(interface as usize).checked_sub(1).map(|slot| Slot(slot as u32))
    }
}
