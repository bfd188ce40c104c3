//! `loopN-tx`: turns what is sent around.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use graph::{Buffer, Flags, Frame, Node};
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

/// Flags that hold for a packet that turned around.
const KEPT: Flags = Flags::CHAINED
    .with(Flags::TRACED)
    .with(Flags::GSO)
    .with(Flags::CHECKSUM_TODO)
    .with(Flags::L4)
    .with(Flags::TUNNEL)
    .with(Flags::CHECKSUM_OK);

/// Makes a packet that was sent one that an interface received.
#[inline(always)]
pub fn turn_around(p: &mut Buffer<'_>, rx: u32) {
    p.set_rx(rx);
    p.set_error(0);
    p.set_flags(Flags(p.flags().0 & KEPT.0));
}

impl LoopbackTx {
    /// The node of the interface that `index` will tell.
    pub(super) fn new(index: Arc<OnceLock<InterfaceIndex>>, interfaces: &Interfaces) -> Self {
        Self { index, counters: interfaces.counters() }
    }
}

impl Node for LoopbackTx {
    const NAME: &'static str = "loopback-tx";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let index = self.index.get().map_or(0, |i| i.0);
        let (packets, mut bytes) = (frame.len() as u64, 0);
        frame.each(|p| {
            bytes += p.total_len() as u64;
            turn_around(p, index);
            Ok(Next::Ethernet)
        });
        self.counters.rx.row(frame.thread())[index as usize].add(packets, bytes);
        frame.count_out(packets);
    }
}
