//! `loopN-tx`: turns what is sent around.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use graph::{Flags, Frame, Node};
use net::interface::Counters;
use net::{InterfaceIndex, Interfaces};

/// Sends packets back into Ethernet input, received on the interface they were sent on.
#[derive(Clone)]
pub struct LoopbackTx {
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Edges of [`LoopbackTx`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Received again.
    #[to("ethernet-input")]
    Ethernet,
}

/// What stays true of a packet that turned around.
const KEPT: Flags = Flags::CHAINED
    .with(Flags::TRACED)
    .with(Flags::GSO)
    .with(Flags::CHECKSUM_TODO)
    .with(Flags::CHECKSUM_OK);

impl LoopbackTx {
    /// The node of the interface that `index` will tell.
    pub(super) fn new(index: Arc<OnceLock<InterfaceIndex>>, interfaces: &Interfaces) -> Self {
        Self { index, counters: interfaces.counters() }
    }
}

impl Node for LoopbackTx {
    const NAME: &'static str = "loopback-tx";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let index = self.index.get().map_or(0, |i| i.0);
        let (packets, mut bytes) = (frame.len() as u64, 0);
        frame.each(|p| {
            bytes += p.total_len() as u64;
            p.set_rx(index);
            p.set_error(0);
            let flags = p.flags();
            p.set_flags(Flags(flags.0 & KEPT.0));
            Ok(Next::Ethernet)
        });
        self.counters.rx.row(frame.thread())[index as usize].add(packets, bytes);
        frame.count_out(packets);
    }
}
