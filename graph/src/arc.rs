//! Feature arcs: optional nodes in a declared order between two fixed points of the graph.
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::buffer::Buffer;

/// An arc, declared once by the crate of the node it starts at.
#[derive(Debug)]
pub struct FeatureArc {
    /// Name as `show features` prints it.
    pub name: &'static str,
    /// Nodes where it starts; nodes made for one interface say so when they are added.
    pub starts: &'static [&'static str],
    /// The catalogue: every feature that has a place on the arc, in order, built or not.
    pub order: &'static [&'static str],
    /// Where packets go when no feature is left.
    pub end: &'static str,
    /// The interface that decides which features a packet meets.
    pub side: Side,
}

/// Which interface of a packet selects the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one it came in on.
    Receive,
    /// The one it goes out on.
    Transmit,
}

/// Features enabled on one interface, as positions in the arc's list of built features; the last
/// entry is the end. Immutable: a change makes a new list, so a packet's cursor stays valid for its
/// loop.
pub type Chain = Arc<[u8]>;

/// The chains of every arc, by interface.
#[derive(Clone, Debug, Default)]
pub struct ArcTable {
    pub(crate) arcs: Vec<Vec<Option<Chain>>>,
}

impl ArcTable {
    pub(crate) fn chains(&self, arc: Option<usize>) -> &[Option<Chain>] {
        arc.and_then(|a| self.arcs.get(a)).map_or(&[], Vec::as_slice)
    }
}

/// One arc as the node at its start sees it for one frame.
#[derive(Clone, Copy, Debug)]
pub struct Start<'f> {
    pub(crate) chains: &'f [Option<Chain>],
    pub(crate) base: u16,
}

impl Start<'_> {
    /// Whether any interface has a feature on this arc.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        !self.chains.is_empty()
    }
    /// The edge to the first feature of `interface` for packets that an input node has just filled,
    /// whose cursor is at the start; `None` when it has none.
    #[inline(always)]
    pub fn entrance(&self, interface: u32) -> Option<crate::Slot> {
        let chain = self.chains.get(interface as usize)?.as_ref()?;
        Some(crate::Slot(self.base + u16::from(*chain.first()?)))
    }
    /// The edge to the first feature of `interface`, or `None` when it has none.
    #[inline(always)]
    pub fn first(&self, interface: u32, p: &mut Buffer<'_>) -> Option<crate::Slot> {
        p.set_cursor(0);
        self.entrance(interface)
    }
}

/// The arcs a feature node is on, for one frame: one, or two that share the node (those of IPv4 and
/// IPv6).
#[derive(Clone, Copy, Debug)]
pub struct Along<'f> {
    pub(crate) first: Stretch<'f>,
    pub(crate) second: Stretch<'f>,
}

/// One arc that a feature node is on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'f> {
    pub arc: Option<&'static FeatureArc>,
    pub chains: &'f [Option<Chain>],
    pub base: u16,
    pub side: Side,
    /// Position of the arc's end in the edges from `base` on.
    pub end: u16,
}

impl Stretch<'_> {
    /// Of a node that is on no arc.
    pub const NONE: Self = Self { arc: None, chains: &[], base: 0, side: Side::Receive, end: 0 };

    #[inline(always)]
    fn next(&self, p: &mut Buffer<'_>) -> u16 {
        let interface = match self.side {
            Side::Receive => p.rx(),
            Side::Transmit => p.tx(),
        };
        let cursor = p.cursor().wrapping_add(1);
        p.set_cursor(cursor);
        let chain = self.chains.get(interface as usize).and_then(Option::as_ref);
        let step =
            chain.and_then(|c| c.get(usize::from(cursor))).map_or(self.end, |s| u16::from(*s));
        self.base + step
    }
}

impl Along<'_> {
    /// Of a node that is on no arc.
    pub(crate) const NONE: Self = Self { first: Stretch::NONE, second: Stretch::NONE };

    /// The edge to the next feature, or to the end of the arc; of a node that is on one arc.
    #[inline(always)]
    pub fn next(&self, p: &mut Buffer<'_>) -> u16 {
        self.first.next(p)
    }
    /// As [`Along::next`], of a node that is on two arcs, for a packet on `arc`.
    #[inline(always)]
    pub fn next_on(&self, arc: &'static FeatureArc, p: &mut Buffer<'_>) -> u16 {
        let is_second = self.second.arc.is_some_and(|a| std::ptr::eq(a, arc));
        if is_second { self.second.next(p) } else { self.first.next(p) }
    }
}
