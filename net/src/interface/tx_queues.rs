//! Send queues: which threads send on which.
//!
//! A thread sends on the first queue it is placed on; where it is on none, what it sends is dropped
//! and counted. Threads that share a queue are a matter of the driver's.

use std::collections::BTreeSet;

use infra::rcu::{Epoch, Reader, Shared};

use super::InterfaceIndex;
use super::queues::QueueError;
use crate::router::Router;

/// The send queues of an interface.
pub struct TxQueues {
    /// Threads of each queue.
    threads: Vec<BTreeSet<usize>>,
    /// Queue of each thread.
    chosen: Shared<Vec<Option<u16>>>,
}

/// For transmit nodes: the queue that a thread sends on.
#[derive(Clone)]
pub struct TxChoice(Reader<Vec<Option<u16>>>);

impl TxChoice {
    /// The queue of this thread, if it may send.
    #[inline(always)]
    pub fn of(&self, thread: usize, epoch: Epoch<'_>) -> Option<usize> {
        self.0.read(epoch).get(thread).copied().flatten().map(usize::from)
    }
}

impl TxQueues {
    /// So many queues (one at least) for threads below `threads`, dealt out one by one.
    pub fn new(count: usize, threads: usize) -> Self {
        let count = count.max(1);
        let of = |queue| (0..threads).filter(|t| t % count == queue).collect();
        let mut this = Self { threads: (0..count).map(of).collect(), chosen: Shared::new(vec![]) };
        this.publish();
        this
    }
    /// For the transmit node.
    pub fn choice(&self) -> TxChoice {
        TxChoice(self.chosen.reader())
    }
    fn publish(&mut self) {
        let end = self.threads.iter().flatten().max().map_or(0, |last| last + 1);
        let first = |thread| {
            let at = self.threads.iter().position(|queue| queue.contains(&thread));
            at.map(|queue| queue as u16)
        };
        let chosen = (0..end).map(first).collect();
        self.chosen.publish(chosen);
    }
}

/// A send queue as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxQueue {
    /// Its number.
    pub number: usize,
    /// Data-plane threads that are placed on it.
    pub threads: Vec<usize>,
}

impl Router {
    /// Says how an interface is sent on, until it is deleted.
    pub fn set_tx_queues(&mut self, interface: InterfaceIndex, queues: TxQueues) {
        self.interfaces.tx_queues.insert(interface, queues);
    }
    /// The send queues of an interface; none if it has no choice.
    pub fn tx_queues(&self, interface: InterfaceIndex) -> Vec<TxQueue> {
        let there = self.engine.data_threads();
        let row = |(number, threads): (usize, &BTreeSet<usize>)| TxQueue {
            number,
            threads: threads.iter().copied().filter(|t| there.contains(t)).collect(),
        };
        let queues = self.interfaces.tx_queues.get(&interface);
        queues.map_or_else(Vec::new, |q| q.threads.iter().enumerate().map(row).collect())
    }
    /// Says which threads send on a queue of an interface, and no others.
    ///
    /// # Errors
    /// A queue or thread that is not there.
    pub fn place_tx_queue(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
        threads: &[usize],
    ) -> Result<(), QueueError> {
        let there = self.engine.data_threads();
        let queues = self.interfaces.tx_queues.get_mut(&interface).ok_or(QueueError::NoTxQueue)?;
        let queue = queues.threads.get_mut(number).ok_or(QueueError::NoTxQueue)?;
        if let Some(thread) = threads.iter().find(|t| !there.contains(t)) {
            return Err(QueueError::NoTxThread(*thread));
        }
        *queue = threads.iter().copied().collect();
        queues.publish();
        Ok(())
    }
}
