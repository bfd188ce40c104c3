//! The intake of an input node: fresh buffers, and the edges its packets leave by.

use std::io::IoSliceMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use infra::cpu::{Baseline, prefetch_ptr};
use infra::rcu::Epoch;

use super::core::{ArcEdges, Core};
use super::frame::scatter;
use crate::arc::{Along, FeatureArc, Start};
use crate::buffer::{Buffer, FRAME};
use crate::node::{Count, Input, Next, Reason};
use crate::trace::Record;

/// Segments at most that [`Arrival::extend_with`] fills at a time.
pub const MOST_SLICES: usize = 40;

/// One call of input node `N`.
#[repr(C)]
pub struct Intake<'i, N: Input, On = Baseline> {
    pub(super) core: &'i mut Core,
    pub(super) node: u32,
    pub(super) epoch: Epoch<'i>,
    pub(super) received: u64,
    pub(super) of: PhantomData<(N, On)>,
}

impl<'i, N: Input, On> Intake<'i, N, On> {
    /// The same call in the hands of a body compiled for another processor.
    #[inline(always)]
    pub(super) fn on<Other>(&mut self) -> &mut Intake<'i, N, Other> {
        // SAFETY: the layout is C's and `On` only marks a type of no size, so the two are laid out
        // alike.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
    /// The right to read shared state during this call.
    #[inline(always)]
    pub fn epoch(&self) -> Epoch<'i> {
        self.epoch
    }
    /// Number of the thread.
    pub fn thread(&self) -> usize {
        self.core.thread
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.core.clock.now()
    }
    /// Asks to be called again in `seconds`, even if the thread would sleep by then.
    pub fn wake_in(&mut self, seconds: f64) {
        let at = super::core::stamp() + (seconds.max(0.0) * self.core.clock.hz()) as u64;
        self.core.wake_at = self.core.wake_at.min(at);
    }
    /// Adds `n` to a counter of this node.
    pub fn count(&mut self, what: N::Count, n: u64) {
        self.raise(N::Error::TEXTS.len() + what.index(), n);
    }
    /// Adds `n` to the counter of a reason, for what is no loss.
    pub fn count_as(&mut self, why: N::Error, n: u64) {
        self.raise(why.index(), n);
    }
    /// Adds `n` to a reason for packets that were lost before they had a buffer.
    pub fn count_lost(&mut self, why: N::Error, n: u64) {
        self.raise(why.index(), n);
        self.core.vectors_drop += n;
    }
    fn raise(&mut self, offset: usize, n: u64) {
        if n > 0 {
            let base = self.core.nodes[self.node as usize].error_base as usize;
            self.core.counter(base + offset).add(n);
        }
    }
    /// Whether this thread calls the node in every loop and never sleeps.
    pub fn never_sleeps(&self) -> bool {
        self.state() == crate::InputState::Polling
    }
    /// Whether this thread calls the node only when a descriptor is ready.
    pub fn is_interrupted(&self) -> bool {
        self.state() == crate::InputState::Interrupt
    }
    fn state(&self) -> crate::InputState {
        self.core.nodes[self.node as usize].state
    }
    /// Switches the node off on this thread until control switches it on again.
    pub fn disable(&mut self) {
        self.core.set_state(self.node, crate::InputState::Disabled);
    }
    /// The features on an arc that starts at this node.
    pub fn start(&self, arc: &'static FeatureArc) -> Start<'i> {
        // SAFETY: the list belongs to the node's entry in the core, which 'i borrows, and is
        // replaced only between loops.
        let arcs: &'i [ArcEdges] =
            unsafe { &*std::ptr::from_ref(self.core.nodes[self.node as usize].arcs.as_slice()) };
        arcs.iter().find(|a| std::ptr::eq(a.arc, arc)).map_or(Start::NONE, Start::of)
    }
    /// Fills up to `n` fresh packets of interface `rx`, at most a frame, as far as there are
    /// buffers.
    ///
    /// `fill` says where each goes, or `None` to end before this one. Returns how many were filled;
    /// fewer than `n` without a `None` means that buffers ran out.
    #[inline(always)]
    pub fn each(
        &mut self,
        n: usize,
        rx: u32,
        mut fill: impl FnMut(&mut Arrival<'_>) -> Option<N::Next>,
    ) -> usize {
        let n = self.core.cache.ensure(n.min(FRAME));
        let mut indices = [0u32; FRAME];
        let mut slots = [0u32; FRAME];
        let along = Along::NONE;
        for slot in indices[..n].iter_mut() {
            *slot = self.core.cache.take().unwrap_or_default();
        }
        let mut filled = 0;
        while filled < n {
            let ahead = self
                .core
                .base
                .as_ptr()
                .wrapping_add(indices[(filled + 4).min(n - 1)] as usize * 64);
            prefetch_ptr(ahead);
            prefetch_ptr(ahead.wrapping_add(256));
            // SAFETY: the index came from the free list and is ours alone.
            let mut buffer = unsafe { Buffer::new(self.core.base, indices[filled]) };
            buffer.reset(rx);
            let mut p = Arrival { buffer, core: self.core, last: None };
            match fill(&mut p) {
                Some(next) => slots[filled] = next.slot(&along, &mut p.buffer),
                None => break,
            }
            filled += 1;
        }
        // Whatever a refused packet had gathered goes back with it.
        self.core.free(&indices[filled..n]);
        let indices = &indices[..filled];
        if self.core.nodes[self.node as usize].to_trace > 0 {
            self.mark(indices);
        }
        self.received += filled as u64;
        scatter(self.core, self.node, indices, &slots);
        filled
    }
    /// Whether [`Intake::record`] would do something for packets just filled.
    #[inline(always)]
    pub fn is_tracing(&self) -> bool {
        self.core.nodes[self.node as usize].to_trace > 0
    }
    #[cold]
    fn mark(&mut self, indices: &[u32]) {
        let now = self.core.clock.now();
        for &index in indices {
            // SAFETY: filled just now, not yet sent.
            let mut p = unsafe { Buffer::new(self.core.base, index) };
            let Some(handle) =
                self.core.start_trace((self.node, self.node), &mut p, now, self.epoch)
            else {
                continue;
            };
            let mut dispatch = None;
            std::mem::swap(&mut dispatch, &mut self.core.trace.arrival);
            if let Some(arrival) = &dispatch {
                let record = arrival(&p);
                self.core.trace.record_shared(handle, self.node, now, record);
            }
            self.core.trace.arrival = dispatch;
        }
    }
    /// Says what the trace of packets filled next shows for this node.
    pub fn record<R: Record>(&mut self, what: impl Fn(&Buffer<'_>) -> R + Send + 'static) {
        self.core.trace.arrival = Some(Box::new(move |p| std::sync::Arc::new(what(p))));
    }
}

/// A packet being filled by an input node.
pub struct Arrival<'a> {
    pub(super) buffer: Buffer<'a>,
    core: &'a mut Core,
    /// Index of the last segment, when there are several.
    last: Option<u32>,
}

impl<'a> Deref for Arrival<'a> {
    type Target = Buffer<'a>;
    #[inline(always)]
    fn deref(&self) -> &Buffer<'a> {
        &self.buffer
    }
}

impl DerefMut for Arrival<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.buffer
    }
}

impl Arrival<'_> {
    /// Puts bytes after what is there, in as many further segments as it takes; `None` when
    /// buffers ran out (end the call with `None`: the packet is given back).
    #[inline(always)]
    pub fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        if self.last.is_none() && bytes.len() <= self.buffer.tailroom() {
            return self.buffer.append(bytes);
        }
        self.extend_chain(bytes)
    }
    fn extend_chain(&mut self, bytes: &[u8]) -> Option<()> {
        let (core, first) = (&mut *self.core, self.buffer.index());
        // SAFETY: the chain is being filled here; `self.buffer` is not touched meanwhile.
        unsafe { core.extend_chain(first, &mut self.last, bytes) }
    }
    /// Cuts the packet to `n` bytes, giving back segments it no longer needs. Nothing is put after
    /// them then.
    pub fn truncate_chain(&mut self, n: usize) {
        self.last = None;
        self.core.truncate_chain(&mut self.buffer, n);
    }
    /// Adds `n` bytes, in as many further segments as it takes, and has `fill` write them: slices
    /// in the order of the packet. Contents are unspecified before. `None` when buffers ran out,
    /// when it is more than [`MOST_SLICES`] segments, or when `fill` says so.
    pub fn extend_with(
        &mut self,
        n: usize,
        fill: impl FnOnce(&mut [IoSliceMut<'_>]) -> Option<()>,
    ) -> Option<()> {
        let mut slices = [const { None }; MOST_SLICES];
        let (mut count, mut left) = (0, n);
        while left > 0 {
            // SAFETY: the chain belongs to this packet; each segment's new bytes are lent out once,
            // and metadata lies outside of them.
            let end = self.last.map(|i| unsafe { Buffer::new(self.core.base, i) });
            // SAFETY: as above, for the first segment.
            let end = end.unwrap_or_else(|| unsafe { Buffer::new(self.core.base, self.index()) });
            let mut at = if end.tailroom() > 0 { end } else { self.add_segment()? };
            let k = left.min(at.tailroom());
            let room = std::ptr::from_mut(at.append_with(k)?);
            // SAFETY: the bytes stay the packet's, which `self` borrows for longer than `fill`
            // runs.
            *slices.get_mut(count)? = Some(IoSliceMut::new(unsafe { &mut *room }));
            if self.last.is_some() {
                self.buffer.add_rest(k as u32);
            }
            (count, left) = (count + 1, left - k);
        }
        let mut slices = slices.map(|s| s.unwrap_or_else(|| IoSliceMut::new(&mut [])));
        fill(&mut slices[..count])
    }
    fn add_segment<'b>(&mut self) -> Option<Buffer<'b>> {
        let new = self.core.fresh()?;
        match self.last.replace(new.index()) {
            None => self.buffer.set_next(new.index(), 0),
            // SAFETY: the last segment belongs to this packet.
            Some(i) => unsafe { Buffer::new(self.core.base, i) }.set_next(new.index(), 0),
        }
        Some(new)
    }
}
