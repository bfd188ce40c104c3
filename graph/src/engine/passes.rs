//! Going over the packets of a frame more than once.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use super::Packet;
use super::core::{Core, NodeRuntime};
use super::frame::{AHEAD, fetch, scatter};
use crate::arc::Along;
use crate::buffer::{Buffer, FRAME, Flags};
use crate::node::{Next, Node, Slot};

/// The mark of a packet that [`Passes::usual`] left alone: no node has so many edges.
const OTHER: u32 = u32::MAX;
/// Flags that make a packet unusual for every node.
const SPECIAL: Flags = Flags::TRACED.with(Flags::CHAINED);

/// The packets of a frame by their places in it, from 0 on: see
/// [`Frame::passes`](super::Frame::passes).
pub struct Passes<'p, N: Node> {
    pub(super) core: &'p mut Core,
    pub(super) base: NonNull<u8>,
    pub(super) node: u32,
    drop_slot: u32,
    along: Along<'p>,
    len: usize,
    /// The last one is repeated after the end, for what is fetched ahead.
    pub(super) indices: [u32; FRAME + AHEAD],
    pub(super) slots: [u32; FRAME],
    of: PhantomData<N>,
}

impl<'p, N: Node> Passes<'p, N> {
    /// Over packets that all take the drop edge unless a pass says otherwise. They lie in a frame
    /// that is this node's for `'p`.
    #[inline(always)]
    pub(super) fn new(core: &'p mut Core, node: u32, along: Along<'p>, packets: &[u32]) -> Self {
        let len = packets.len().min(FRAME);
        let last = packets.last().copied().unwrap_or_default();
        let drop_slot = core.nodes[node as usize].drop_slot;
        let (base, slots) = (core.base, [drop_slot; FRAME]);
        let mut indices = [last; FRAME + AHEAD];
        indices[..len].copy_from_slice(&packets[..len]);
        Self { core, base, node, drop_slot, along, len, indices, slots, of: PhantomData }
    }
    /// Sends them on.
    #[inline(always)]
    pub(super) fn scatter(&mut self) {
        scatter(self.core, self.node, &self.indices[..self.len], &self.slots);
    }
    /// The number of the thread.
    #[inline(always)]
    pub fn thread(&self) -> usize {
        self.core.thread
    }
    /// Seconds on the router's clock.
    #[inline(always)]
    pub fn now(&self) -> f64 {
        self.core.clock.now()
    }
    /// All places.
    #[inline(always)]
    pub fn all(&self) -> Range<usize> {
        0..self.len
    }
    /// Shows `look` packets with their places, in order.
    #[inline(always)]
    pub fn look(&mut self, places: Range<usize>, look: impl FnMut(usize, &mut Buffer<'_>)) {
        self.show::<true>(places, look);
    }
    /// The same, of packets that were not read yet if they are `NEW`.
    #[inline(always)]
    pub(super) fn show<const NEW: bool>(
        &mut self,
        places: Range<usize>,
        mut look: impl FnMut(usize, &mut Buffer<'_>),
    ) {
        let ahead = &self.indices[places.start + AHEAD..places.end + AHEAD];
        let (indices, base) = (&self.indices[places.clone()], self.base);
        for ((place, &index), &ahead) in places.zip(indices).zip(ahead) {
            if NEW {
                fetch(base, ahead, true);
            }
            // SAFETY: the packet lies in this frame, and this is the only handle to it.
            look(place, &mut unsafe { Buffer::new(base, index) });
        }
    }
    /// Says where the usual packets go, in a loop that has room for nothing else: so `None` leaves
    /// a packet to [`Passes::others`], and what happens before must be no change of it. Packets of
    /// several segments and traced ones are left right away.
    #[inline(always)]
    pub fn usual(
        &mut self,
        places: Range<usize>,
        mut verdict: impl FnMut(usize, &mut Buffer<'_>) -> Option<N::Next>,
    ) {
        let along = self.along;
        self.go_over::<true>(
            places,
            #[inline(always)]
            |i, p| Some(verdict(i, p)?.slot(&along, p)),
        );
    }
    /// As [`Passes::usual`], where all usual packets take one edge: which that is costs no packet
    /// anything, however many edges there are.
    #[inline(always)]
    pub fn usual_to(
        &mut self,
        places: Range<usize>,
        edge: N::Next,
        mut verdict: impl FnMut(usize, &mut Buffer<'_>) -> Option<()>,
    ) {
        let along = self.along;
        self.go_over::<true>(
            places,
            #[inline(always)]
            |i, p| {
                verdict(i, p)?;
                Some(edge.slot(&along, p))
            },
        );
    }
    /// As [`Passes::usual`], where all usual packets go on along the arc of this node: which edge
    /// that is is looked up when the interface changes.
    #[inline(always)]
    pub fn usual_along(
        &mut self,
        places: Range<usize>,
        mut verdict: impl FnMut(usize, &mut Buffer<'_>) -> Option<()>,
    ) {
        let along = self.along;
        let (mut known, mut slot) = (None, 0);
        self.go_over::<true>(
            places,
            #[inline(always)]
            |i, p| {
                verdict(i, p)?;
                let interface = along.interface(p);
                if interface != known || interface.is_none() {
                    (known, slot) = (interface, along.next(p));
                }
                Some(slot)
            },
        );
    }
    /// The edge to the end of the arc that this node is on.
    #[inline(always)]
    pub fn end_of_arc(&self) -> Slot {
        Slot(self.along.end())
    }
    /// Over all packets, or over those that are left.
    #[inline(always)]
    fn go_over<const ALL: bool>(
        &mut self,
        places: Range<usize>,
        mut slot_of: impl FnMut(usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        self.go_over_with::<ALL, true, false>(
            places,
            #[inline(always)]
            |_, place, p| slot_of(place, p),
        );
    }
    /// The same, with the nodes of the thread beside each packet, and with unusual packets too if
    /// `SPECIAL_TOO`; packets that were not read yet are `NEW`.
    #[inline(always)]
    pub(super) fn go_over_with<const ALL: bool, const NEW: bool, const SPECIAL_TOO: bool>(
        &mut self,
        places: Range<usize>,
        mut slot_of: impl FnMut(&[NodeRuntime], usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        let (base, nodes) = (self.base, &self.core.nodes);
        let ahead = &self.indices[places.start + AHEAD..places.end + AHEAD];
        let indices = &self.indices[places.clone()];
        let slots = &mut self.slots[places.clone()];
        for (((place, &index), &ahead), slot) in places.zip(indices).zip(ahead).zip(slots) {
            // SAFETY: as in `look`.
            let mut p = unsafe { Buffer::new(base, index) };
            if NEW {
                fetch(base, ahead, N::READS_BYTES);
            }
            if ALL {
                *slot = OTHER;
            } else if *slot != OTHER {
                continue;
            }
            if !SPECIAL_TOO && p.flags().has(SPECIAL) {
                continue;
            }
            if let Some(edge) = slot_of(nodes, place, &mut p) {
                *slot = edge;
            }
        }
    }
    /// Over usual packets that are to take an edge.
    #[inline(always)]
    pub(super) fn go_over_those(
        &mut self,
        places: Range<usize>,
        edge: u32,
        mut slot_of: impl FnMut(&[NodeRuntime], usize, &mut Buffer<'_>) -> Option<u32>,
    ) {
        let (base, nodes) = (self.base, &self.core.nodes);
        let indices = &self.indices[places.clone()];
        let slots = &mut self.slots[places.clone()];
        for ((place, &index), slot) in places.zip(indices).zip(slots) {
            // SAFETY: as in `look`.
            let mut p = unsafe { Buffer::new(base, index) };
            if *slot != edge || p.flags().has(SPECIAL) {
                continue;
            }
            if let Some(to) = slot_of(nodes, place, &mut p) {
                *slot = to;
            }
        }
    }
    /// Leaves all packets to [`Passes::rest`] and [`Passes::others`].
    #[inline(always)]
    pub fn leave(&mut self, places: Range<usize>) {
        self.slots[places].fill(OTHER);
    }
    /// Whether packets are left.
    #[inline(always)]
    pub fn are_left(&self, places: Range<usize>) -> bool {
        self.slots[places].iter().fold(false, |any, slot| any | (*slot == OTHER))
    }
    /// As [`Passes::usual`], for packets that it left: those that are usual in another way.
    #[inline(always)]
    pub fn rest(
        &mut self,
        places: Range<usize>,
        mut verdict: impl FnMut(usize, &mut Buffer<'_>) -> Option<N::Next>,
    ) {
        let along = self.along;
        self.go_over::<false>(
            places,
            #[inline(always)]
            |i, p| Some(verdict(i, p)?.slot(&along, p)),
        );
    }
    /// Runs `verdict` on the packets that [`Passes::usual`] left, as
    /// [`Frame::each`](super::Frame::each) does on all.
    #[inline(always)]
    pub fn others(
        &mut self,
        places: Range<usize>,
        mut verdict: impl FnMut(usize, &mut Packet<'_, N>) -> Result<N::Next, N::Error>,
    ) {
        if !self.are_left(places.clone()) {
            return;
        }
        for place in places {
            if self.slots[place] != OTHER {
                continue;
            }
            // SAFETY: as in `look`.
            let buffer = unsafe { Buffer::new(self.base, self.indices[place]) };
            let mut p = Packet { buffer, core: self.core, node: self.node, of: PhantomData };
            self.slots[place] = match verdict(place, &mut p) {
                Ok(next) => next.slot(&self.along, &mut p),
                Err(reason) => {
                    p.error(reason);
                    self.drop_slot
                }
            };
        }
    }
}
