//! Briefs of interfaces: one number with all that loops over packets need; those of thousands of
//! sub-interfaces stay in the cache.

use infra::rcu::Epoch;
use infra::table::numbers::{Numbers, NumbersReader, View};

use super::{Mode, Port, Tags};

/// Places of the bits; the lowest ones are the number of the interface whose nodes it uses.
const UP: u32 = 32;
const ROUTES: u32 = 33;
const BRIDGES: u32 = 34;
const TAGS: u32 = 35;

/// A summary of an interface; empty for a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief(u64);

/// The same of all interfaces, for a node.
#[derive(Clone, Debug)]
pub struct Briefs(NumbersReader);

/// The same for a frame of the node.
#[derive(Clone, Copy, Debug)]
pub struct BriefsView<'e>(View<'e>);

impl Brief {
    fn of(index: u32, port: &Port) -> Self {
        let bit = |place, is_set| u64::from(is_set) << place;
        // What a sub-interface receives is counted by kind of destination in the closer look.
        let is_counted = port.detailed && port.sup.0 != index;
        let is_usual = port.up && !port.punts && !is_counted;
        let is_routed = port.mode == Mode::Layer3;
        Self(
            u64::from(port.sup.0)
                | bit(UP, port.up)
                | bit(ROUTES, is_usual && is_routed)
                | bit(BRIDGES, is_usual && !is_routed)
                | port.tags.to_bits() << TAGS,
        )
    }
    /// Publishes what is said of an interface; `None` when it is gone.
    pub(super) fn publish(all: &mut Numbers, index: u32, port: Option<&Port>) {
        all.set(index as usize, port.map_or(0, |port| Self::of(index, port).0));
    }
    /// Whether received frames go to their protocol without further checks.
    #[inline(always)]
    pub fn routes(self) -> bool {
        self.0 >> ROUTES & 1 != 0
    }
    /// Whether received frames are bridged or cross-connected without further checks.
    #[inline(always)]
    pub fn bridges(self) -> bool {
        self.0 >> BRIDGES & 1 != 0
    }
    /// Whether it is a sub-interface of `parent`, or itself, and up.
    #[inline(always)]
    pub fn sends_by(self, parent: u32) -> bool {
        self.0 & ((1 << ROUTES) - 1) == u64::from(parent) | 1 << UP
    }
    /// The tags of what it sends.
    #[inline(always)]
    pub fn tags(self) -> Tags {
        Tags::from_bits(self.0 >> TAGS)
    }
}

impl Briefs {
    pub(super) fn new(all: &Numbers) -> Self {
        Self(all.reader())
    }
    /// All of them, for a frame.
    #[inline(always)]
    pub fn read<'e>(&'e self, _: Epoch<'e>) -> BriefsView<'e> {
        BriefsView(self.0.view())
    }
}

impl BriefsView<'_> {
    /// Record of an interface.
    #[inline(always)]
    pub fn of(&self, interface: u32) -> Brief {
        Brief(self.0.at(interface as usize))
    }
}
