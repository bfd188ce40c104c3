//! Packets on their way to the thread that has their session.

use graph::Congestion;
use net::prelude::*;
use sessions::{Affinity, Strays};

use crate::workers::Workers;

/// Threads at most.
const MOST: usize = 256;

/// The threads that packets can be handed to.
pub struct Threads {
    all: [usize; MOST],
    count: u64,
}

impl Threads {
    /// Threads that the node of a frame can hand packets to.
    pub fn of<N: Node, On>(frame: &Frame<'_, N, On>) -> Self {
        // Threads are chosen by remainders: their count is where they wrap around.
        let mut all = [frame.thread_of(0); MOST];
        let mut count = 1;
        while count < MOST && frame.thread_of(count as u64) != all[0] {
            all[count] = frame.thread_of(count as u64);
            count += 1;
        }
        Self { all, count: count as u64 }
    }
    /// The same, or the workers that are named.
    pub fn among<N: Node, On>(frame: &Frame<'_, N, On>, workers: &Workers) -> Self {
        let named = if frame.is_explained() { &[] } else { workers.named() };
        let Some(first) = named.first() else { return Self::of(frame) };
        let mut all = [*first; MOST];
        let count = named.len().min(MOST);
        all[..count].copy_from_slice(&named[..count]);
        Self { all, count: count as u64 }
    }
    /// Whether there is one only.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.count == 1
    }
    /// The thread that has the session of packets.
    #[inline(always)]
    pub fn to(&self, affinity: Affinity, strays: Option<&Strays>) -> usize {
        strays
            .map_or_else(|| self.at(affinity.hash()), |s| s.thread(affinity, |hash| self.at(hash)))
    }
    /// The thread for a hash, as `Frame::thread_of` returns it.
    #[inline(always)]
    pub fn at(&self, hash: u64) -> usize {
        self.all[(hash % self.count) as usize]
    }
}

/// A place where packets are handed over, in front of the node that translates them.
pub trait Place: Clone + Send + 'static {
    /// The node that hands over.
    const HANDOFF: &'static str;
    /// The node that they go on at.
    const NODE: &'static str;
    /// The node for those that find no room.
    const DROP: &'static str = "ip4-drop";
    /// The affinity of a packet; `None` when it stays on its thread and goes on along the arc.
    fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Affinity>;
    /// Packets that go elsewhere, while there are sessions.
    fn strays<'e>(&'e self, epoch: Epoch<'e>) -> Option<&'e Strays>;
    /// The workers that have sessions.
    fn workers<'e>(&'e self, _: Epoch<'e>) -> &'e Workers {
        Workers::ALL
    }
}

/// Hands packets over.
#[derive(Clone)]
pub struct HandOff<P>(pub P);

/// Edges of [`HandOff`].
#[derive(graph::Next)]
pub enum Next<P: Place> {
    /// On its thread now.
    #[to(P::NODE)]
    There(PhantomData<P>),
    /// Not to be translated.
    #[along]
    On,
}

impl<P: Place> Clone for Next<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Place> Copy for Next<P> {}

/// Counters of [`HandOff`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// same worker.
    #[name("same worker")]
    Same,
    /// do handoff.
    #[name("do handoff")]
    Other,
}

impl<P: Place> Node for HandOff<P> {
    const NAME: &'static str = P::HANDOFF;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<P>;
    type Error = Congestion;
    type Count = Count;
    const DROP: &'static str = P::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let threads = Threads::among(frame, self.0.workers(epoch));
        let strays = self.0.strays(epoch);
        let mut counts = [0, 0];
        frame.hand_off(Congestion::Drop, |p| {
            let Some(affinity) = self.0.affinity(p, epoch) else { return Ok((thread, Next::On)) };
            let to = threads.to(affinity, strays);
            counts[usize::from(to != thread)] += 1;
            Ok((to, Next::There(PhantomData)))
        });
        frame.count(Count::Same, counts[0]);
        frame.count(Count::Other, counts[1]);
    }
}
