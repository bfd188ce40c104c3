//! A frame: the loop over its packets, and where they go.

use std::marker::PhantomData;
use std::ptr::NonNull;

use infra::cpu::{Baseline, Cpu, prefetch_ptr};
use infra::rcu::Epoch;

use super::ahead::BEYOND;
use super::core::{ArcEdges, Core};
use super::{Packet, Passes};
use crate::arc::{Along, ArcPart, FeatureArc, Start};
use crate::buffer::{Buffer, FRAME, Flags};
use crate::node::{Count, Next, Node, Reason};

/// Distance, in packets, at which first lines are fetched ahead.
pub(super) const AHEAD: usize = 8;
/// Packets at most to do a step of a lookup for before the next step: enough to have as many memory
/// accesses under way as the processor can, few enough to stay in the nearest cache.
pub const BLOCK: usize = 64;

/// Up to 256 packets on their way through node `N`.
#[repr(C)]
pub struct Frame<'f, N: Node, On = Baseline> {
    pub(super) core: &'f mut Core,
    pub(super) node: u32,
    pub(super) indices: &'f [u32],
    pub(super) epoch: Epoch<'f>,
    pub(super) of: PhantomData<(N, On)>,
    /// Whether the packets have gone on already.
    pub(super) done: bool,
}

impl<'f, N: Node, On> Frame<'f, N, On> {
    /// The same frame in the hands of a body compiled for another processor.
    #[inline(always)]
    pub(super) fn on<Other>(&mut self) -> &mut Frame<'f, N, Other> {
        // SAFETY: the layout is C's and `On` only marks a type of no size, so the two are laid out
        // alike.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
    /// The kind of processor this body is compiled for, for what is compiled along with it.
    #[inline(always)]
    pub fn cpu(&self) -> On
    where
        On: Cpu,
    {
        // SAFETY: the engine runs a body only where `Variant::is_supported` says that this
        // processor is of its kind.
        unsafe { On::assume() }
    }
    /// The right to read shared state while the frame is processed.
    #[inline(always)]
    pub fn epoch(&self) -> Epoch<'f> {
        self.epoch
    }
    /// The number of packets.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.indices.len()
    }
    /// Number of the thread, to find its row of counters.
    #[inline(always)]
    pub fn thread(&self) -> usize {
        self.core.thread
    }
    /// Seconds on the router's clock.
    #[inline(always)]
    pub fn now(&self) -> f64 {
        self.core.clock.now()
    }
    /// Shows the first packet.
    #[inline(always)]
    pub fn look_first(&mut self, look: impl FnOnce(&Buffer<'_>)) {
        if let Some(&index) = self.waiting().first() {
            // SAFETY: the packet lies in this frame, and this is the only handle to it.
            look(&unsafe { Buffer::new(self.core.base, index) });
        }
    }
    /// Whether the packets are only explained: what would change anything but them is left.
    #[inline(always)]
    pub fn is_explained(&self) -> bool {
        self.core.explains
    }
    /// Adds `n` to a counter of this node.
    #[inline(always)]
    pub fn count(&mut self, what: N::Count, n: u64) {
        if n > 0 {
            let base = self.core.nodes[self.node as usize].count_base as usize;
            self.core.counter(base + what.index()).add(n);
        }
    }
    /// Adds `n` to the counter of a reason, for what is no drop.
    #[inline(always)]
    pub fn count_as(&mut self, reason: N::Error, n: u64) {
        if n > 0 {
            let base = self.core.nodes[self.node as usize].error_base as usize;
            self.core.counter(base + reason.index()).add(n);
        }
    }
    /// The features on an arc that starts at this node.
    pub fn start(&self, arc: &'static FeatureArc) -> Start<'f> {
        self.arcs().iter().find(|a| std::ptr::eq(a.arc, arc)).map_or(Start::NONE, Start::of)
    }
    /// The arcs this feature node is on (of a node that is on none: one without features).
    pub(super) fn along(&self) -> Along<'f> {
        let arcs = self.arcs();
        let stretch = |which| arcs.get(which).map_or(ArcPart::NONE, ArcPart::of);
        Along { first: stretch(0), second: stretch(1) }
    }
    fn arcs(&self) -> &'f [ArcEdges] {
        // SAFETY: the list belongs to the node's entry in the core, which 'f borrows, and is
        // replaced only between loops.
        unsafe { &*std::ptr::from_ref(self.core.nodes[self.node as usize].arcs.as_slice()) }
    }
    /// Runs `verdict` on every packet in order: `Ok` sends it along an edge, `Err` drops and counts
    /// it.
    #[inline(always)]
    pub fn each(
        &mut self,
        mut verdict: impl FnMut(&mut Packet<'_, N>) -> Result<N::Next, N::Error>,
    ) {
        let along = self.along();
        let drop_slot = self.core.nodes[self.node as usize].drop_slot;
        let mut slots = [0u32; FRAME];
        // In locals, so that stores into packets do not make the compiler read them again.
        let (base, indices) = (self.core.base, self.waiting());
        for (i, (&index, slot)) in indices.iter().zip(&mut slots).enumerate() {
            if let Some(&ahead) = indices.get(i + AHEAD) {
                fetch(base, ahead, N::READS_BYTES);
            }
            // SAFETY: the packet lies in this frame and nothing else refers to it.
            let mut p = unsafe { self.packet(base, index) };
            *slot = match verdict(&mut p) {
                Ok(next) => next.slot(&along, &mut p),
                Err(reason) => {
                    p.error(reason);
                    drop_slot
                }
            };
        }
        self.scatter(&slots);
    }
    /// As [`Frame::each`], but `work` goes over the packets as often as it likes: for nodes that
    /// tell usual packets from others, and for those bound by lookups, so that a step of all is
    /// done before the next step of any needs what it fetched. What no pass says the way of is
    /// dropped.
    #[inline(always)]
    pub fn passes(&mut self, work: impl FnOnce(&mut Passes<'_, N>)) {
        let (along, indices) = (self.along(), self.waiting());
        let mut passes = Passes::new(&mut *self.core, self.node, along, indices);
        work(&mut passes);
        self.done = true;
        passes.scatter();
    }
    /// Sends the whole frame one way, untouched.
    #[inline(always)]
    pub fn forward_all(&mut self, next: N::Next) {
        self.each(|_| Ok(next));
    }
    /// Runs `take` on every packet and then gives all of them back to the pool: what a transmit or
    /// a drop node does. `Err` counts the reason, and the packet as dropped.
    #[inline(always)]
    pub fn consume(&mut self, mut take: impl FnMut(&mut Packet<'_, N>) -> Result<(), N::Error>) {
        let (base, indices) = (self.core.base, self.waiting());
        let mut flags = Flags::default();
        for (i, &index) in indices.iter().enumerate() {
            if let Some(&ahead) = indices.get(i + AHEAD) {
                fetch(base, ahead, N::READS_BYTES);
            }
            // SAFETY: the packet lies in this frame and nothing else refers to it.
            let mut p = unsafe { self.packet(base, index) };
            let taken = take(&mut p);
            flags = flags.with(p.flags());
            if let Err(reason) = taken {
                p.error(reason);
                self.core.vectors_drop += 1;
            }
        }
        self.done = true;
        self.core.free_with(indices, flags);
    }
    /// Counts packets as sent (`show runtime`'s `out`).
    pub fn count_out(&mut self, n: u64) {
        self.core.vectors_out += n;
    }
    /// Counts packets as dropped (`show runtime`'s `drop`).
    pub fn count_dropped(&mut self, n: u64) {
        self.core.vectors_drop += n;
    }
    /// Counts packets as punted (`show runtime`'s `punt`).
    pub fn count_punted(&mut self, n: u64) {
        self.core.vectors_punt += n;
    }
    /// Raises counter number `index` of the whole graph, as a packet's `error` names it.
    pub fn count_global(&mut self, index: u32, n: u64) {
        self.core.counter(index as usize).add(n);
    }
    /// The packets, unless they have gone on already: nothing may send one twice.
    #[inline(always)]
    pub(super) fn waiting(&self) -> &'f [u32] {
        if self.done { &[] } else { self.indices }
    }
    /// # Safety
    /// `index` lies in this frame, `base` is its pool's, and no other packet made for it is alive.
    #[inline(always)]
    pub(super) unsafe fn packet(&mut self, base: NonNull<u8>, index: u32) -> Packet<'_, N> {
        // SAFETY: the frame owns its packets; see the function's contract.
        let buffer = unsafe { Buffer::new(base, index) };
        Packet { buffer, core: self.core, node: self.node, of: PhantomData }
    }
    #[inline(always)]
    fn scatter(&mut self, slots: &[u32; FRAME]) {
        let indices = self.waiting();
        self.done = true;
        scatter(self.core, self.node, indices, slots);
    }
}

/// Asks for what is known of a packet, and for the start of its bytes if those are read.
#[inline(always)]
pub(super) fn fetch(base: NonNull<u8>, index: u32, reads_bytes: bool) {
    let at = base.as_ptr().wrapping_add(index as usize * 64);
    prefetch_ptr(at);
    if reads_bytes {
        prefetch_ptr(at.wrapping_add(256));
    }
}

/// Sends packet `i` along edge `slots[i]`, keeping the order on each edge.
#[inline(always)]
pub(super) fn scatter(core: &mut Core, node: u32, indices: &[u32], slots: &[u32; FRAME]) {
    let n = indices.len().min(FRAME);
    if !core.followers.is_empty() {
        return scatter_led(core, node, &indices[..n], slots);
    }
    let Some(&first) = slots[..n].first() else { return };
    if slots[..n].iter().fold(0, |d, s| d | (s ^ first)) == 0 {
        send(core, node, first, &indices[..n]);
        return;
    }
    scatter_mixed(core, node, &indices[..n], slots);
}

/// Sends packets along an edge, or to the node that they wait for behind others that they passed.
#[inline(always)]
fn send(core: &mut Core, node: u32, slot: u32, indices: &[u32]) {
    let to = slot & !BEYOND;
    if slot != to && (to as usize) < core.nodes.len() {
        core.enqueue(to, indices);
    } else {
        core.send(node, slot, indices);
    }
}

/// Packet by packet, each with its followers, which lie in the order of their leaders.
#[cold]
fn scatter_led(core: &mut Core, node: u32, indices: &[u32], slots: &[u32; FRAME]) {
    let followers = std::mem::take(&mut core.followers);
    let mut waiting = followers.iter().peekable();
    for (index, slot) in indices.iter().zip(slots) {
        send(core, node, *slot, &[*index]);
        while let Some((_, follower)) = waiting.next_if(|f| f.0 == *index) {
            send(core, node, *slot, &[*follower]);
        }
    }
    core.followers = followers;
    core.followers.clear();
}

/// For each edge in use: which packets take it (a vector compare), then pick them out.
fn scatter_mixed(core: &mut Core, node: u32, indices: &[u32], slots: &[u32; FRAME]) {
    let mut left = [0u64; FRAME / 64];
    for (word, chunk) in left.iter_mut().zip(indices.chunks(64)) {
        *word = u64::MAX >> (64 - chunk.len());
    }
    let mut picked = [0u32; FRAME];
    while let Some(w) = left.iter().position(|w| *w != 0) {
        let slot = slots[w * 64 + left[w].trailing_zeros() as usize];
        let mut count = 0;
        for (w, lane) in slots.chunks_exact(64).enumerate() {
            let mut mine = 0u64;
            for (bit, s) in lane.iter().enumerate() {
                mine |= u64::from(*s == slot) << bit;
            }
            mine &= left[w];
            left[w] &= !mine;
            while mine != 0 {
                picked[count] = indices[w * 64 + mine.trailing_zeros() as usize];
                count += 1;
                mine &= mine - 1;
            }
        }
        send(core, node, slot, &picked[..count]);
    }
}
