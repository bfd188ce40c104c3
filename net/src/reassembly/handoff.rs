//! `ip4-full-reass-feature-hoff` and the like: fragments on their way to the thread where the
//! others of their packet are.
#![forbid(unsafe_code)]

use graph::{Buffer, Frame, HandOff, HandsOff, Payload};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::place::PLACES;
use super::version::Reassemble;

/// The thread a fragment is for, on its way to the node that hands it over.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Owner {
    /// Index.
    pub(super) thread: u32,
}

impl Payload for Owner {
    const NAME: &'static str = "reassembly-owner";
}

/// Hands fragments over, back to the node they came from.
#[derive(Clone)]
pub(super) struct ToOwner<V: Reassemble, const PLACE: usize>(pub(super) V);

impl<V: Reassemble, const PLACE: usize> HandsOff for ToOwner<V, PLACE> {
    const NAME: &'static str = PLACES[PLACE].handoffs[V::INDEX];
    const TO: &'static str = PLACES[PLACE].nodes[V::INDEX];
    const DROP: &'static str = V::NODES.drop;
    const INPUT: &'static str = Owner::NAME;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        _: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, V, On, PLACE> {
        |p| p.payload::<Owner>().thread as usize
    }
}
