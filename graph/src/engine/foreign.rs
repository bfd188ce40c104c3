//! Nodes whose code is not compiled with the engine: one call for a frame, which is given buffers
//! by number and answers with an edge for each.
//!
//! Safety contract: as of the engine: the packets of a frame are this thread's until they have been
//! scattered. The user of [`ForeignFrame::pool`] guarantees that only buffers of the frame and
//! segments after them are touched, and that offset and length stay within a buffer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use infra::cpu::Variant;
use infra::rcu::Epoch;

use super::core::{Batch, Core};
use super::dispatch::{Dispatch, lost};
use super::frame::scatter;
use crate::arc::ArcPart;
use crate::buffer::{Buffer, FRAME, Flags};
use crate::trace::Record;

/// A node whose body is called through a pointer.
pub trait Foreign: Send + 'static {
    /// The node of another thread.
    fn on_thread(&self, thread: usize) -> Box<dyn Foreign>;
    /// Says for each packet where it goes, in [`ForeignFrame::verdicts`].
    fn process(&mut self, frame: &mut ForeignFrame<'_>);
}

/// Up to 256 packets in the hands of a [`Foreign`] node.
pub struct ForeignFrame<'f> {
    core: &'f mut Core,
    node: u32,
    indices: &'f [u32],
    verdicts: &'f mut [u32; FRAME],
}

impl ForeignFrame<'_> {
    /// The packet goes to the next feature of its arc, or to the arc's end: what is said of all
    /// packets before the node is asked.
    pub const CONTINUE: u32 = u32::MAX;
    /// The packet is given back to the pool: it was sent.
    pub const CONSUMED: u32 = u32::MAX - 1;
    /// The packet is the node's own, or was sent on by [`ForeignFrame::send`].
    pub const TAKEN: u32 = u32::MAX - 2;
    /// The packet is dropped; the reason's number is added.
    pub const DROP: u32 = 1 << 31;

    /// Start of the buffers; one is as many cache lines after it as its number says.
    pub fn pool(&self) -> *mut u8 {
        self.core.base.as_ptr()
    }
    /// Numbers of the packets' buffers.
    pub fn indices(&self) -> &[u32] {
        self.indices
    }
    /// Packet number `at` of the frame.
    pub fn packet(&mut self, at: usize) -> Option<Buffer<'_>> {
        let index = *self.indices.get(at)?;
        // SAFETY: the packet lies in this frame, which is borrowed as long as the buffer.
        Some(unsafe { Buffer::new(self.core.base, index) })
    }
    /// Verdict on each packet: the number of an edge, or a constant above.
    pub fn verdicts(&mut self) -> &mut [u32; FRAME] {
        self.verdicts
    }
    /// Number of the thread.
    pub fn thread(&self) -> usize {
        self.core.thread
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.core.clock.now()
    }
    /// Adds `n` to a counter of the node: reasons first, then what else it counts. Others are left
    /// alone.
    pub fn count(&mut self, counter: u32, n: u64) {
        let at = &self.core.nodes[self.node as usize];
        // The last one is that of panics.
        if n > 0 && counter + 1 < at.error_count {
            self.core.counter((at.error_base + counter) as usize).add(n);
        }
    }
    /// New packets without bytes, as many as there are places, and buffers for; the node frees them
    /// or sends them on.
    pub fn alloc(&mut self, to: &mut [u32]) -> usize {
        let mut count = 0;
        for place in to {
            let Some(new) = self.core.fresh() else { break };
            *place = new.index();
            count += 1;
        }
        count
    }
    /// Gives packets of the node back to the pool.
    pub fn free(&mut self, indices: &[u32]) {
        self.core.free(indices);
    }
    /// Sends packets of the node along one of its edges, to go on on another thread if that is
    /// there; returns how many. There is no room on the way for the others, which stay the node's.
    pub fn send(&mut self, thread: usize, edge: u32, indices: &[u32]) -> usize {
        let edge = edge.min(self.core.nodes[self.node as usize].drop_slot);
        if thread == self.core.thread || !self.core.has_way_to(thread) {
            self.core.send(self.node, edge, indices);
            return indices.len();
        }
        let taken = |index: &&u32| self.core.pass(thread, self.node, edge, **index);
        indices.iter().take_while(taken).count()
    }
    /// Adds a record to the trace of packet number `at` in the frame, if it is traced.
    pub fn trace<R: Record>(&mut self, at: usize, record: impl FnOnce() -> R) {
        let Some(buffer) = self.packet(at) else { return };
        let (flags, handle) = (buffer.flags(), buffer.trace_handle());
        if flags.has(Flags::TRACED) {
            let now = self.core.clock.now();
            self.core.trace.record(handle, self.node, now, record());
        }
    }
}

/// A foreign node on one thread.
pub(crate) struct ForeignAdapter {
    /// As it was added; made for the thread when it runs there first.
    template: Box<dyn Foreign>,
    node: Option<Box<dyn Foreign>>,
    nothing: (),
}

impl ForeignAdapter {
    pub fn new(template: Box<dyn Foreign>) -> Self {
        Self { template, node: None, nothing: () }
    }
}

impl Dispatch for ForeignAdapter {
    fn run(&mut self, core: &mut Core, node: u32, batch: Option<&Batch>, _: Epoch<'_>) -> u64 {
        let Some(batch) = batch.filter(|batch| batch.len > 0) else { return 0 };
        let indices = &batch.indices[..batch.len];
        let mut verdicts = [ForeignFrame::CONTINUE; FRAME];
        let own = self.node.get_or_insert_with(|| self.template.on_thread(core.thread));
        let mut frame = ForeignFrame { core, node, indices, verdicts: &mut verdicts };
        if catch_unwind(AssertUnwindSafe(|| own.process(&mut frame))).is_err() {
            lost(core, node, indices);
            return indices.len() as u64;
        }
        if resolve(core, node, indices, &mut verdicts) {
            scatter_some(core, node, indices, &verdicts);
        } else {
            scatter(core, node, indices, &verdicts);
        }
        indices.len() as u64
    }
    fn node(&mut self) -> &mut dyn Any {
        &mut self.nothing
    }
    fn choose(&mut self, _: Variant) {
        // It is compiled for one.
    }
    fn end(&mut self, _: &mut Core, _: u32, _: Epoch<'_>) {
        // It holds no packets between frames.
    }
}

/// Makes numbers of edges from verdicts, and says whether packets are consumed. A verdict that
/// means nothing drops its packet as a failed node does.
fn resolve(core: &mut Core, node: u32, indices: &[u32], verdicts: &mut [u32; FRAME]) -> bool {
    let n = &core.nodes[node as usize];
    let along = n.arcs.first().map_or(ArcPart::NONE, ArcPart::of);
    let is_on_arc = along.arc.is_some();
    let (drop_slot, reasons) = (n.drop_slot, n.error_count - 1);
    let mut consumes = false;
    for (index, verdict) in indices.iter().zip(verdicts.iter_mut()) {
        if *verdict < drop_slot {
            continue;
        }
        // SAFETY: the packet lies in this frame, and the node has given it back.
        let mut p = unsafe { Buffer::new(core.base, *index) };
        *verdict = match *verdict {
            ForeignFrame::CONTINUE if is_on_arc => along.next(&p),
            ForeignFrame::CONSUMED | ForeignFrame::TAKEN => {
                consumes = true;
                continue;
            }
            other => {
                let reason = other.wrapping_sub(ForeignFrame::DROP).min(reasons);
                let error = n.error_base + reason;
                p.set_error(error);
                core.counter(error as usize).add(1);
                drop_slot
            }
        };
    }
    consumes
}

/// Gives back what is consumed, leaves what is taken, and sends the others on, in their order.
#[cold]
fn scatter_some(core: &mut Core, node: u32, indices: &[u32], verdicts: &[u32; FRAME]) {
    let (mut left, mut slots, mut count) = ([0; FRAME], [0; FRAME], 0);
    for (index, slot) in indices.iter().zip(verdicts) {
        if *slot == ForeignFrame::CONSUMED {
            core.free(&[*index]);
        } else if *slot != ForeignFrame::TAKEN {
            (left[count], slots[count]) = (*index, *slot);
            count += 1;
        }
    }
    scatter(core, node, &left[..count], &slots);
}
