//! Looks at packets in front of nodes: traces, and watchers.

use std::sync::Arc;

use infra::rcu::Epoch;

use super::core::Core;
use crate::buffer::{Buffer, Flags};
use crate::watch::{Filter, PacketContext};

impl Core {
    /// Records which node traced packets visit, and shows all packets to observers.
    #[cold]
    pub(super) fn show(&mut self, node: u32, indices: &[u32], epoch: Epoch<'_>) {
        if !self.trace.is_live() && !self.watches.iter().any(|watch| watch.is_at(node)) {
            return;
        }
        let context = PacketContext { thread: self.thread, now: self.clock.now(), epoch };
        for &index in indices {
            // SAFETY: the frame was taken off the node's queue: its packets are this thread's.
            let p = unsafe { Buffer::new(self.base, index) };
            if p.flags().has(Flags::TRACED) {
                self.trace.visit(p.trace_handle(), node, context.now);
            }
            self.watches.iter().for_each(|watch| watch.show(node, &p, context));
        }
    }
    /// Starts the trace of a packet at a node, if any are still to be traced of those of node `of`
    /// and, where the filter decides, this one is chosen.
    #[cold]
    pub(super) fn start_trace(
        &mut self,
        (node, of): (u32, u32),
        p: &mut Buffer<'_>,
        now: f64,
        epoch: Epoch<'_>,
    ) -> Option<u16> {
        let of = &mut self.nodes[of as usize];
        let left = of.to_trace.checked_sub(1)?;
        let context = PacketContext { thread: self.thread, now, epoch };
        let is_chosen = |filter: &Arc<dyn Filter>| filter.chooses(p.rx(), p.bytes(), context);
        if of.filters_trace && !self.trace_filter.as_ref().is_some_and(is_chosen) {
            return None;
        }
        of.to_trace = left;
        let handle = self.trace.begin()?;
        p.set_trace_handle(handle);
        p.set_flags(p.flags().with(Flags::TRACED));
        self.trace.visit(handle, node, now);
        Some(handle)
    }
}
