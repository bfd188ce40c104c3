//! Feature arcs: optional nodes in a declared order between two fixed points of the graph.
#![forbid(unsafe_code)]

use std::io;

use infra::table::numbers::{Numbers, NumbersReader, View};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::buffer::Buffer;
use crate::node::Payload;

/// An arc, declared once by the crate of the node it starts at.
#[derive(Debug)]
pub struct FeatureArc {
    /// Name as `show features` prints it.
    pub name: &'static str,
    /// Nodes where it starts; nodes made for one interface say so when they are added.
    pub starts: &'static [&'static str],
    /// The catalogue: every feature that has a place on the arc, in order, built or not.
    pub order: &'static [&'static str],
    /// The end of the arc, when no feature is left.
    pub end: &'static str,
    /// The interface that decides which features a packet meets.
    pub side: Side,
}

/// The interface of a packet that selects the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The receive interface.
    Receive,
    /// The transmit interface.
    Transmit,
    /// None: the packet carries what it has still to meet ([`Carried`]). The node at the start of
    /// the arc puts it there ([`Start::bits`]), and every node on the way may take some out.
    Carried,
}

/// Features that a packet has still to meet on an arc of [`Side::Carried`], a bit for each position
/// on the arc, 64 at most. The first thing in the payload of such a packet.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Carried(pub u64);

impl Payload for Carried {
    const NAME: &'static str = "carried features";
}

/// Interfaces there may be.
pub const MOST_INTERFACES: usize = 1 << 16;

/// Place of a node that no catalogue knows, beside one that is on the arc or in its catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Right before it; the arc's end is a name too.
    Before(&'static str),
    /// Right after it.
    After(&'static str),
}

/// Features that are on, by interface: a bit for each feature in the arc's order. A change is a
/// store, whatever the number of interfaces, and packets take what is on when they get there.
#[derive(Debug)]
pub(crate) struct Enabled {
    /// First the number of interfaces with features, then the words of each interface.
    words: Numbers,
    /// Words of an interface.
    stride: usize,
}

/// [`Enabled`] as a thread has it.
#[derive(Clone, Debug)]
pub(crate) struct EnabledReader {
    words: NumbersReader,
    stride: usize,
}

/// [`Enabled`] as a node has it for one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features<'f> {
    words: View<'f>,
    stride: usize,
}

impl Enabled {
    /// Room for `count` features.
    pub fn new(count: usize) -> io::Result<Self> {
        let stride = count.div_ceil(64).max(1);
        Ok(Self { words: Numbers::new(1 + MOST_INTERFACES * stride)?, stride })
    }
    pub fn reader(&self) -> EnabledReader {
        EnabledReader { words: self.words.reader(), stride: self.stride }
    }
    pub fn is_on(&self, interface: u32, position: usize) -> bool {
        let word = self.words.at(1 + interface as usize * self.stride + position / 64);
        word >> (position % 64) & 1 == 1
    }
    /// Whether an interface has any feature.
    fn has_any(&self, interface: u32) -> bool {
        let first = 1 + interface as usize * self.stride;
        (first..first + self.stride).any(|word| self.words.at(word) != 0)
    }
    pub fn set(&mut self, interface: u32, position: usize, on: bool) {
        let had_any = self.has_any(interface);
        let (at, bit) = (1 + interface as usize * self.stride + position / 64, position % 64);
        let word = self.words.at(at) & !(1 << bit) | u64::from(on) << bit;
        assert!(self.words.set(at, word), "interfaces have numbers below MOST_INTERFACES");
        self.count(interface, had_any);
    }
    /// The same features at other positions: `from` has the old position of each, if it had one.
    pub fn moved(&self, from: &[Option<usize>]) -> io::Result<Self> {
        let mut new = Self::new(from.len())?;
        if self.words.at(0) > 0 {
            for interface in (0..MOST_INTERFACES as u32).filter(|i| self.has_any(*i)) {
                let is_on = |old: Option<usize>| old.is_some_and(|at| self.is_on(interface, at));
                let on = from.iter().enumerate().filter(|(_, old)| is_on(**old));
                on.for_each(|(position, _)| new.set(interface, position, true));
            }
        }
        Ok(new)
    }
    /// Switches all features of an interface off.
    pub fn clear(&mut self, interface: u32) {
        let had_any = self.has_any(interface);
        let first = 1 + interface as usize * self.stride;
        (first..first + self.stride).for_each(|word| {
            self.words.set(word, 0);
        });
        self.count(interface, had_any);
    }
    /// An unused arc costs its start nothing, so the number of users is known.
    fn count(&mut self, interface: u32, had_any: bool) {
        let has_any = u64::from(self.has_any(interface));
        self.words.set(0, self.words.at(0) + has_any - u64::from(had_any));
    }
}

impl EnabledReader {
    #[inline(always)]
    pub fn features(&self) -> Features<'_> {
        let words = self.words.view();
        let is_used = words.at(0) > 0;
        Features { words: if is_used { words } else { View::EMPTY }, stride: self.stride }
    }
}

impl Features<'_> {
    /// Of an arc without features.
    pub const NONE: Self = Self { words: View::EMPTY, stride: 0 };

    /// The first feature of an interface at `position` or after it.
    #[inline(always)]
    fn from(&self, interface: u32, position: u32) -> Option<u32> {
        let first = 1 + interface as usize * self.stride;
        let mut wanted = u64::MAX << (position % 64);
        for word in position / 64..self.stride as u32 {
            let bits = self.words.at(first + word as usize) & wanted;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros());
            }
            wanted = u64::MAX;
        }
        None
    }
}

/// One arc as the node at its start sees it for one frame.
#[derive(Clone, Copy, Debug)]
pub struct Start<'f> {
    pub(crate) features: Features<'f>,
    pub(crate) base: u32,
    /// Whether any interface has a feature on this arc.
    pub(crate) is_used: bool,
}

impl<'f> Start<'f> {
    /// Of an arc that does not start here.
    pub(crate) const NONE: Self = Self { features: Features::NONE, base: 0, is_used: false };

    #[inline]
    pub(crate) fn of(edges: &'f crate::engine::ArcEdges) -> Self {
        let features = edges.features.features();
        Self { features, base: edges.base, is_used: !features.words.is_empty() }
    }
    /// Whether any interface has a feature on this arc.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        self.is_used
    }
    /// The features of an interface on an arc of [`Side::Carried`].
    #[inline(always)]
    pub fn bits(&self, interface: u32) -> u64 {
        self.features.words.at(1 + interface as usize * self.features.stride)
    }
    /// The edge to the feature at a position of the arc.
    #[inline(always)]
    pub fn at(&self, position: u32) -> crate::Slot {
        crate::Slot(self.base + position)
    }
    /// The edge to the first feature of `interface`, or `None` when it has none.
    #[inline(always)]
    pub fn first(&self, interface: u32) -> Option<crate::Slot> {
        Some(crate::Slot(self.base + self.features.from(interface, 0)?))
    }
}

/// The arcs a feature node is on, for one frame: one, or two that share the node (those of IPv4 and
/// IPv6).
#[derive(Clone, Copy, Debug)]
pub struct Along<'f> {
    pub(crate) first: ArcPart<'f>,
    pub(crate) second: ArcPart<'f>,
}

/// One arc that a feature node is on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArcPart<'f> {
    pub arc: Option<&'static FeatureArc>,
    pub features: Features<'f>,
    pub base: u32,
    /// The position after the node's own.
    pub after: u32,
    pub side: Side,
    /// Position of the arc's end in the edges from `base` on.
    pub end: u32,
}

impl<'f> ArcPart<'f> {
    /// Of a node that is on no arc.
    pub const NONE: Self = Self {
        arc: None,
        features: Features::NONE,
        base: 0,
        after: 0,
        side: Side::Receive,
        end: 0,
    };

    #[inline]
    pub fn of(edges: &'f crate::engine::ArcEdges) -> Self {
        let features = edges.features.features();
        let (arc, side) = (Some(edges.arc), edges.arc.side);
        Self { arc, features, base: edges.base, after: edges.after, side, end: edges.end }
    }
    #[inline(always)]
    pub fn next(&self, p: &Buffer<'_>) -> u32 {
        let interface = match self.side {
            Side::Receive => p.rx(),
            Side::Transmit => p.tx(),
            Side::Carried => {
                let bits = p.payload::<Carried>().0 & (u64::MAX << (self.after % 64));
                return self.base + if bits == 0 { self.end } else { bits.trailing_zeros() };
            }
        };
        self.next_of(interface)
    }
    /// The next one of packets of an interface.
    #[inline(always)]
    pub fn next_of(&self, interface: u32) -> u32 {
        self.base + self.features.from(interface, self.after).unwrap_or(self.end)
    }
}

impl Along<'_> {
    /// Of a node that is on no arc.
    pub(crate) const NONE: Self = Self { first: ArcPart::NONE, second: ArcPart::NONE };

    /// The edge to the next feature, or to the end of the arc; of a node that is on one arc.
    #[inline(always)]
    pub fn next(&self, p: &mut Buffer<'_>) -> u32 {
        self.first.next(p)
    }
    /// The interface that decides about a packet; `None` where it carries its features itself.
    #[inline(always)]
    pub(crate) fn interface(&self, p: &Buffer<'_>) -> Option<u32> {
        match self.first.side {
            Side::Receive => Some(p.rx()),
            Side::Transmit => Some(p.tx()),
            Side::Carried => None,
        }
    }
    /// The edge to the end of the arc; of a node that is on one arc.
    #[inline(always)]
    pub(crate) fn end(&self) -> u32 {
        self.first.base + self.first.end
    }
    /// As [`Along::next`], of a node that is on two arcs, for a packet on `arc`.
    #[inline(always)]
    pub fn next_on(&self, arc: &'static FeatureArc, p: &mut Buffer<'_>) -> u32 {
        let is_second = self.second.arc.is_some_and(|a| std::ptr::eq(a, arc));
        if is_second { self.second.next(p) } else { self.first.next(p) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_in_order_in_any_word() {
        let mut enabled = Enabled::new(130).unwrap();
        let reader = enabled.reader();
        assert!(reader.features().words.is_empty());
        for position in [3, 63, 64, 129] {
            enabled.set(7, position, true);
            enabled.set(8, position, true);
        }
        enabled.clear(8);
        let after = |position| reader.features().from(7, position);
        assert_eq!([0, 3, 4, 64, 65].map(after), [3, 3, 63, 64, 129].map(Some));
        assert_eq!((after(130), reader.features().from(8, 0)), (None, None));
        assert_eq!(reader.features().from(u32::MAX, 0), None);
        enabled.clear(7);
        assert!(reader.features().words.is_empty(), "an arc nobody uses costs its start nothing");
    }
}
