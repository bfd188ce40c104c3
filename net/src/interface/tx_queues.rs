//! Send queues: which threads send on which.
//!
//! A thread sends on the queues it is placed on, the packets of a flow all on one of them; where it
//! is on none, what it sends is dropped and counted. Threads that share a queue are a matter of the
//! driver's.

use std::collections::BTreeSet;

use graph::{Buffer, Flags};
use infra::rcu::{Epoch, Reader, Shared};

use super::queues::QueueError;
use super::{InterfaceIndex, Interfaces};
use crate::flow_hash;
use crate::router::Router;

/// The send queues of an interface.
pub struct TxQueues {
    /// Threads of each queue.
    threads: Vec<BTreeSet<usize>>,
    /// Queues that were placed by an operator.
    placed: BTreeSet<usize>,
    /// Queues of each thread.
    chosen: Shared<Vec<Vec<u16>>>,
}

/// For transmit nodes: the queues that a thread sends on.
#[derive(Clone)]
pub struct TxChoice(Reader<Vec<Vec<u16>>>);

/// The queues of one thread, one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSet<'e>(&'e [u16]);

impl TxChoice {
    /// The queues of this thread, if it may send.
    #[inline(always)]
    pub fn of<'e>(&'e self, thread: usize, epoch: Epoch<'e>) -> Option<QueueSet<'e>> {
        let queues = self.0.read(epoch).get(thread)?;
        (!queues.is_empty()).then_some(QueueSet(queues))
    }
}

impl QueueSet<'_> {
    /// Their numbers.
    #[cfg(test)]
    pub(super) fn to_vec(self) -> Vec<u16> {
        self.0.to_vec()
    }
    /// The queue for a packet: one of those, the same for all packets of a flow, and the first for
    /// what is no IP.
    #[inline(always)]
    pub fn queue(self, p: &Buffer<'_>) -> usize {
        match self.0 {
            [one] => usize::from(*one),
            many => spread(many, p),
        }
    }
}

#[inline(never)]
fn spread(queues: &[u16], p: &Buffer<'_>) -> usize {
    let flags = p.flags();
    let hash = match () {
        // Another one than what chose the way here, or only some queues would get something.
        () if flags.has(Flags::HASH) => flow_hash::next(p.flow_hash()),
        () if flags.has(Flags::L3) => flow_hash::flow(p.bytes_from(p.l3_offset())),
        () => 0,
    };
    queues.get(hash as usize % queues.len()).copied().unwrap_or(0).into()
}

impl TxQueues {
    /// Queues, `count` of them but at least one, for threads below `threads`, dealt out one by one.
    pub fn new(count: usize, threads: usize) -> Self {
        let count = count.max(1);
        let of = |queue| (0..threads).filter(|t| t % count == queue).collect();
        let mut this = Self {
            threads: (0..count).map(of).collect(),
            placed: BTreeSet::new(),
            chosen: Shared::new(vec![]),
        };
        this.publish();
        this
    }
    /// For the transmit node.
    pub fn choice(&self) -> TxChoice {
        TxChoice(self.chosen.reader())
    }
    /// Sets the threads that send on an existing queue, and no others.
    pub(super) fn place(&mut self, number: usize, threads: &[usize]) {
        self.threads[number] = threads.iter().copied().collect();
        self.placed.insert(number);
        self.publish();
    }
    /// Deals a queue out again to the threads below `threads`, as [`TxQueues::new`].
    fn choose(&mut self, number: usize, threads: usize) {
        let count = self.threads.len();
        self.threads[number] = (0..threads).filter(|t| t % count == number).collect();
        self.placed.remove(&number);
        self.publish();
    }
    fn publish(&mut self) {
        let end = self.threads.iter().flatten().max().map_or(0, |last| last + 1);
        let of = |thread| {
            let queues = self.threads.iter().enumerate();
            let its = queues.filter(|(_, threads)| threads.contains(&thread));
            its.map(|(queue, _)| queue as u16).collect()
        };
        let chosen = (0..end).map(of).collect();
        self.chosen.publish(chosen);
    }
}

/// A send queue as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxQueue {
    /// Number.
    pub number: usize,
    /// Data-plane threads that are placed on it.
    pub threads: Vec<usize>,
}

impl Interfaces {
    /// The send queues of an interface with configured threads, and these.
    pub(super) fn placed_tx_queues(
        &self,
        interface: InterfaceIndex,
    ) -> impl Iterator<Item = (usize, &BTreeSet<usize>)> {
        let queues = self.tx_queues.get(&interface);
        queues.into_iter().flat_map(|q| q.placed.iter().map(|n| (*n, &q.threads[*n])))
    }
}

impl Router {
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
    /// A missing queue or thread.
    pub fn place_tx_queue(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
        threads: &[usize],
    ) -> Result<(), QueueError> {
        let there = self.engine.data_threads();
        let queues = self.interfaces.tx_queues.get_mut(&interface).ok_or(QueueError::NoTxQueue)?;
        queues.threads.get(number).ok_or(QueueError::NoTxQueue)?;
        if let Some(thread) = threads.iter().find(|t| !there.contains(t)) {
            return Err(QueueError::NoTxThread(*thread));
        }
        queues.place(number, threads);
        Ok(())
    }
    /// Lets the router choose the threads of a send queue again.
    ///
    /// # Errors
    /// A missing queue.
    pub(super) fn choose_tx_threads(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
    ) -> Result<(), QueueError> {
        let end = self.engine.data_threads().end;
        let queues = self.interfaces.tx_queues.get_mut(&interface).ok_or(QueueError::NoTxQueue)?;
        queues.threads.get(number).ok_or(QueueError::NoTxQueue)?;
        queues.choose(number, end);
        Ok(())
    }
}

impl Interfaces {
    /// Says how an interface is sent on, until it is deleted.
    pub fn set_tx_queues(&mut self, interface: InterfaceIndex, queues: TxQueues) {
        self.tx_queues.insert(interface, queues);
    }
}
