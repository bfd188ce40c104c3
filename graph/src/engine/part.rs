//! Parts of nodes: code of one feature that a node of another one runs, compiled for the kind of
//! processor as the node is.

#![forbid(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use infra::cpu::{Cpu, Variant};
use infra::rcu::Epoch;

use super::{Passes, dispatch};
use crate::node::{Node, Slot};

/// Threads that have a part of their own.
const THREADS: usize = 256;

/// A part of a node: it takes packets through the nodes ahead that it knows.
pub trait Part<N: Node>: Clone + Send + 'static {
    /// Takes packets that would go along `edge`, as many as it can, before the node has changed
    /// anything of them. Says whether it went over all packets: those that are left are marked so.
    /// It is to be compiled in line.
    fn take(&mut self, packets: &mut Passes<'_, N>, epoch: Epoch<'_>, edge: Slot) -> bool;
}

/// A part on one thread.
trait Compiled<N: Node>: Send {
    fn take(
        &mut self,
        variant: Variant,
        packets: &mut Passes<'_, N>,
        at: (Epoch<'_>, Slot),
    ) -> bool;
    fn copy(&self) -> Box<dyn Compiled<N>>;
}

impl<N: Node, P: Part<N>> Compiled<N> for P {
    #[inline]
    fn take(
        &mut self,
        variant: Variant,
        packets: &mut Passes<'_, N>,
        (epoch, edge): (Epoch<'_>, Slot),
    ) -> bool {
        dispatch::take::<N, P>(variant)(self, packets, epoch, edge)
    }
    fn copy(&self) -> Box<dyn Compiled<N>> {
        Box::new(self.clone())
    }
}

/// The part that a thread has.
type Own<N> = Mutex<Option<Box<dyn Compiled<N>>>>;

/// A part that a feature has lent to a node, in the hands of all threads.
pub struct Lent<N> {
    part: Mutex<Box<dyn Compiled<N>>>,
    threads: Box<[Own<N>]>,
}

impl<N: Node> Lent<N> {
    /// Lends a part.
    pub fn new(part: impl Part<N>) -> Self {
        let threads = (0..THREADS).map(|_| Mutex::new(None)).collect();
        Self { part: Mutex::new(Box::new(part)), threads }
    }
    /// Passes packets to this thread's instance of the part, as described at [`Part::take`].
    #[inline(always)]
    pub fn take<On: Cpu>(
        &self,
        _: On,
        packets: &mut Passes<'_, N>,
        epoch: Epoch<'_>,
        edge: Slot,
    ) -> bool {
        // The lock is only taken by this thread, unless it panicked with it.
        let Some(Ok(mut own)) = self.threads.get(packets.thread()).map(Mutex::try_lock) else {
            return false;
        };
        let own = own.get_or_insert_with(|| self.copy());
        own.take(On::VARIANT, packets, (epoch, edge))
    }
    #[cold]
    fn copy(&self) -> Box<dyn Compiled<N>> {
        self.part.lock().unwrap_or_else(PoisonError::into_inner).copy()
    }
}
