//! Nodes that hand packets to the thread with their state, in front of the node that needs it.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::arc::Along;
use crate::{Buffer, Cpu, Edge, Frame, Next, Node};

/// Declaration of a node that hands packets over: [`HandOff`].
pub trait HandsOff: Clone + Send + 'static {
    /// Node name.
    const NAME: &'static str;
    /// Next node, on the thread of the packet.
    const TO: &'static str;
    /// As [`Node::DROP`].
    const DROP: &'static str = "error-drop";
    /// As [`Node::INPUT`].
    const INPUT: &'static str = "";
    /// Payload that the next node expects: the one of `INPUT`, or none.
    const OUTPUT: &'static str = "";
    /// As [`Node::READS_BYTES`].
    const READS_BYTES: bool = true;

    /// The thread of each packet of a frame.
    fn threads<'a, On: Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, Self, On>;
}

/// Node that hands packets over.
#[derive(Clone)]
pub struct HandOff<H>(pub H);

/// The edge of [`HandOff`].
pub struct There<H>(PhantomData<H>);

impl<H> Clone for There<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for There<H> {}

/// Drops of nodes that hand packets over: the other thread has no room.
#[derive(Clone, Copy, graph::Reason)]
pub enum Congestion {
    /// congestion drop.
    #[name("congestion drop")]
    Drop,
}

impl<H: HandsOff> Next for There<H> {
    const EDGES: &'static [Edge] = &[Edge { to: H::TO, payload: H::OUTPUT }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

impl<H: HandsOff> Node for HandOff<H> {
    const NAME: &'static str = H::NAME;
    const EXPLAINABLE: bool = true;
    const INPUT: &'static str = H::INPUT;
    type Next = There<H>;
    type Error = Congestion;
    type Count = Infallible;
    const DROP: &'static str = H::DROP;
    const READS_BYTES: bool = H::READS_BYTES;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut thread = self.0.threads(frame);
        frame.hand_off(Congestion::Drop, |p| Ok((thread(p), There(PhantomData))));
    }
}
