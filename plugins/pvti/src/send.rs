//! `pvtiN-tx`: to the node that all tunnels share.

use net::prelude::*;

/// The edge to that node: behind the drop, the first that is connected.
pub const OUTPUT: Slot = Slot(1);

/// Sends packets there.
#[derive(Clone)]
pub struct ToOutput;

/// The edge of [`ToOutput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The output node.
    #[dynamic]
    To(Slot),
}

impl Node for ToOutput {
    const NAME: &'static str = "pvti-tx";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const READS_BYTES: bool = false;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(Next::To(OUTPUT));
    }
}
