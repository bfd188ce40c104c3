//! `ip4-full-reass-feature-hoff` and the like: fragments on their way to the thread where the
//! others of their packet are.
#![forbid(unsafe_code)]

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Node, Payload};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::place::PLACES;
use super::version::Reassemble;

/// The thread a fragment is for, on its way to the node that hands it over.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Owner {
    /// Its number.
    pub(super) thread: u32,
}

impl Payload for Owner {
    const NAME: &'static str = "reassembly-owner";
}

/// Hands fragments over, back to the node they came from.
#[derive(Clone)]
pub(super) struct HandOff<V: Reassemble, const PLACE: usize> {
    pub(super) version: V,
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy)]
pub(super) enum Next<V, const PLACE: usize> {
    /// To the node that gathers.
    Back(V),
}

/// Drops of [`HandOff`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum Error {
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

impl<V: Reassemble, const PLACE: usize> graph::Next for Next<V, PLACE> {
    const EDGES: &'static [Edge] = &[Edge { to: PLACES[PLACE].nodes[V::FAMILY], payload: "" }];
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Back(_) = self;
        0
    }
}

impl<V: Reassemble, const PLACE: usize> Node for HandOff<V, PLACE> {
    const NAME: &'static str = PLACES[PLACE].handoffs[V::FAMILY];
    type Next = Next<V, PLACE>;
    type Error = Error;
    type Count = std::convert::Infallible;
    const INPUT: &'static str = Owner::NAME;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let back = Next::Back(self.version);
        frame.hand_off(Error::Congestion, |p| {
            let Owner { thread } = p.payload();
            Ok((thread as usize, back))
        });
    }
}
