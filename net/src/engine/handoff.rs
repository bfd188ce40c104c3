//! `handoff_trace`: the name under which the trace of a packet goes on that another thread handed
//! over. No packet goes there.

use std::convert::Infallible;

use graph::{Frame, Node};

/// Takes no packets.
#[derive(Clone)]
pub(super) struct HandoffTrace;

/// Drops of [`HandoffTrace`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum Error {
    /// Warning: packets sent to the handoff trace node!
    #[name("Warning: packets sent to the handoff trace node!")]
    Sent,
}

impl Node for HandoffTrace {
    const NAME: &'static str = "handoff_trace";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(Error::Sent));
    }
}
