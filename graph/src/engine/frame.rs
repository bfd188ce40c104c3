//! A frame: the loop over its packets, and where they go.

use std::marker::PhantomData;
use std::ptr::NonNull;

use infra::cpu::{Baseline, Cpu, prefetch_ptr};
use infra::rcu::Epoch;

use super::Packet;
use super::core::Core;
use crate::arc::{Along, FeatureArc, Side, Start};
use crate::buffer::{Buffer, FRAME};
use crate::node::{Count, Next, Node};

/// How many packets ahead their first lines are fetched.
const AHEAD: usize = 8;
/// Packets at most in a block of [`Frame::blocks`]: enough to have as many memory accesses under
/// way as the processor can, few enough to stay in the nearest cache.
pub const BLOCK: usize = 64;

/// Up to 256 packets on their way through node `N`.
#[repr(C)]
pub struct Frame<'f, N: Node, On = Baseline> {
    pub(super) core: &'f mut Core,
    pub(super) node: u16,
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
    /// How many packets there are.
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
    /// Adds `n` to a counter of this node.
    #[inline(always)]
    pub fn count(&mut self, what: N::Count, n: u64) {
        if n > 0 {
            let base = usize::from(self.core.nodes[usize::from(self.node)].error_base);
            self.core
                .counter(base + <N::Error as crate::Reason>::TEXTS.len() + what.index())
                .add(n);
        }
    }
    /// The features on an arc that starts at this node.
    pub fn start(&self, arc: &'static FeatureArc) -> Start<'f> {
        let arcs = &self.core.nodes[usize::from(self.node)].arcs;
        match arcs.iter().find(|a| std::ptr::eq(a.arc, arc)) {
            Some(a) => Start { chains: self.chains(a.number), base: a.base },
            None => Start { chains: &[], base: 0 },
        }
    }
    /// The arc this feature node is on (of a node that is on none: one without features).
    pub(super) fn along(&self) -> Along<'f> {
        match self.core.nodes[usize::from(self.node)].arcs.first() {
            Some(a) => {
                Along { chains: self.chains(a.number), base: a.base, side: a.arc.side, end: a.end }
            }
            None => Along { chains: &[], base: 0, side: Side::Receive, end: 0 },
        }
    }
    fn chains(&self, arc: usize) -> &'f [Option<crate::arc::Chain>] {
        // SAFETY: the table is valid for the epoch 'f; the reader it is found through lives in the
        // core, which 'f borrows, and is replaced only between loops.
        let table = unsafe { &*std::ptr::from_ref(self.core.arcs.read(self.epoch)) };
        table.chains(Some(arc))
    }
    /// Runs `verdict` on every packet in order: `Ok` sends it along an edge, `Err` drops and counts
    /// it.
    #[inline(always)]
    pub fn each(
        &mut self,
        mut verdict: impl FnMut(&mut Packet<'_, N>) -> Result<N::Next, N::Error>,
    ) {
        let along = self.along();
        let drop_slot = self.core.nodes[usize::from(self.node)].drop_slot;
        let mut slots = [0u16; FRAME];
        // In locals, so that stores into packets do not make the compiler read them again.
        let (base, indices) = (self.core.base, self.waiting());
        for (i, (&index, slot)) in indices.iter().zip(&mut slots).enumerate() {
            fetch(base, indices, i + AHEAD);
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
    /// As [`Frame::each`], for nodes bound by lookups: `work` is given blocks of at most [`BLOCK`]
    /// packets and goes over each several times, so that a step of all lookups is done before the
    /// next step of any needs what it fetched. It ends with [`Block::judge`].
    #[inline(always)]
    pub fn blocks(&mut self, mut work: impl FnMut(&mut Block<'_, N>)) {
        let along = self.along();
        let (base, node) = (self.core.base, self.node);
        let drop_slot = self.core.nodes[usize::from(node)].drop_slot;
        let mut slots = [drop_slot; FRAME];
        let indices = self.waiting();
        for (i, slots) in slots[..indices.len().min(FRAME)].chunks_mut(BLOCK).enumerate() {
            let core = &mut *self.core;
            let first = i * BLOCK;
            work(&mut Block {
                core,
                base,
                node,
                drop_slot,
                along,
                indices,
                first,
                slots,
                of: PhantomData,
            });
        }
        self.scatter(&slots);
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
        for (i, &index) in indices.iter().enumerate() {
            fetch(base, indices, i + AHEAD);
            // SAFETY: the packet lies in this frame and nothing else refers to it.
            let mut p = unsafe { self.packet(base, index) };
            if let Err(reason) = take(&mut p) {
                p.error(reason);
                self.core.vectors_drop += 1;
            }
        }
        self.done = true;
        self.core.free(indices);
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
    pub fn count_global(&mut self, index: u16, n: u64) {
        self.core.counter(usize::from(index)).add(n);
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
    fn scatter(&mut self, slots: &[u16; FRAME]) {
        let indices = self.waiting();
        self.done = true;
        scatter(self.core, self.node, indices, slots);
    }
}

/// Some of the packets of a frame: see [`Frame::blocks`].
pub struct Block<'b, N: Node> {
    core: &'b mut Core,
    base: NonNull<u8>,
    node: u16,
    drop_slot: u16,
    along: Along<'b>,
    /// Of the whole frame.
    indices: &'b [u32],
    /// The first of the block among them.
    first: usize,
    slots: &'b mut [u16],
    of: PhantomData<N>,
}

impl<N: Node> Block<'_, N> {
    /// How many packets there are.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.slots.len()
    }
    /// Shows `look` every packet with its place in the block, in order.
    #[inline(always)]
    pub fn look(&mut self, mut look: impl FnMut(usize, &mut Packet<'_, N>)) {
        for i in 0..self.slots.len() {
            fetch(self.base, self.indices, self.first + i + AHEAD);
            look(i, &mut self.packet(i));
        }
    }
    /// Runs `verdict` on every packet and its place in the block, as [`Frame::each`] does. A packet
    /// that is never judged is dropped.
    #[inline(always)]
    pub fn judge(
        &mut self,
        mut verdict: impl FnMut(usize, &mut Packet<'_, N>) -> Result<N::Next, N::Error>,
    ) {
        for i in 0..self.slots.len() {
            let (along, drop_slot) = (self.along, self.drop_slot);
            let mut p = self.packet(i);
            let slot = match verdict(i, &mut p) {
                Ok(next) => next.slot(&along, &mut p),
                Err(reason) => {
                    p.error(reason);
                    drop_slot
                }
            };
            self.slots[i] = slot;
        }
    }
    #[inline(always)]
    fn packet(&mut self, i: usize) -> Packet<'_, N> {
        // SAFETY: the packet lies in this block, which `&mut self` borrows for as long as the
        // handle lives; `base` is its pool's.
        let buffer = unsafe { Buffer::new(self.base, self.indices[self.first + i]) };
        Packet { buffer, core: self.core, node: self.node, of: PhantomData }
    }
}

/// Asks for the first lines of packet `i`, if there is one.
#[inline(always)]
fn fetch(base: NonNull<u8>, indices: &[u32], i: usize) {
    if let Some(&index) = indices.get(i) {
        let at = base.as_ptr().wrapping_add(index as usize * 64);
        prefetch_ptr(at);
        prefetch_ptr(at.wrapping_add(256));
    }
}

/// Sends packet `i` along edge `slots[i]`, keeping the order on each edge.
#[inline(always)]
pub(super) fn scatter(core: &mut Core, node: u16, indices: &[u32], slots: &[u16; FRAME]) {
    let n = indices.len().min(FRAME);
    if !core.followers.is_empty() {
        return scatter_led(core, node, &indices[..n], slots);
    }
    let Some(&first) = slots[..n].first() else { return };
    if slots[..n].iter().fold(0, |d, s| d | (s ^ first)) == 0 {
        core.send(node, first, &indices[..n]);
        return;
    }
    scatter_mixed(core, node, &indices[..n], slots);
}

/// Packet by packet, each with its followers, which lie in the order of their leaders.
#[cold]
fn scatter_led(core: &mut Core, node: u16, indices: &[u32], slots: &[u16; FRAME]) {
    let followers = std::mem::take(&mut core.followers);
    let mut waiting = followers.iter().peekable();
    for (index, slot) in indices.iter().zip(slots) {
        core.send(node, *slot, &[*index]);
        while let Some((_, follower)) = waiting.next_if(|f| f.0 == *index) {
            core.send(node, *slot, &[*follower]);
        }
    }
    core.followers = followers;
    core.followers.clear();
}

/// For each edge in use: which packets take it (a vector compare), then pick them out.
fn scatter_mixed(core: &mut Core, node: u16, indices: &[u32], slots: &[u16; FRAME]) {
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
        core.send(node, slot, &picked[..count]);
    }
}
