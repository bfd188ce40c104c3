//! Receive queues: which thread and node serve them, and when they are looked at.

use std::fmt;
use std::ops::Range;

use graph::{InputState, NodeIndex};

use super::{Interface, InterfaceIndex};
use crate::router::Router;

/// Moves a receive queue, given by its number, from the thread that serves it to another one; all
/// or nothing. A driver's; the text of an error is its own.
pub type Place = fn(&mut Router, InterfaceIndex, usize, usize) -> Result<(), String>;

/// A receive queue of an interface; its number is its place in the interface's list.
#[derive(Clone, Copy, Debug)]
pub struct RxQueue {
    /// Number of the thread that serves it.
    pub thread: usize,
    /// The input node that reads it.
    pub node: NodeIndex,
    /// Whether it is polled, waits for interrupts, or does either.
    pub mode: InputState,
    /// Whether the thread was configured.
    pub is_placed: bool,
    place: Place,
}

impl RxQueue {
    /// A queue that a thread looks at when there is traffic.
    pub fn new(thread: usize, node: NodeIndex, place: Place) -> Self {
        Self { thread, node, mode: InputState::Adaptive, is_placed: false, place }
    }
}

/// Reasons why a receive queue cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// The interface has no such queue.
    NoQueue,
    /// No data-plane thread has this number.
    NoThread(usize),
    /// The interface has no such send queue.
    NoTxQueue,
    /// No data-plane thread that sends has this number.
    NoTxThread(usize),
    /// The driver refuses.
    Refused(String),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQueue => f.write_str("the interface has no such receive queue"),
            Self::NoThread(0) => f.write_str("with workers, the main thread receives no packets"),
            Self::NoThread(thread) => write!(f, "no worker {}", thread - 1),
            Self::NoTxQueue => f.write_str("the interface has no such transmit queue"),
            Self::NoTxThread(thread) => write!(f, "no transmitting thread {thread}"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}
impl std::error::Error for QueueError {}

/// Thread of these that serves fewest queues, given the thread of each, which is one more then.
fn serve(threads: &[usize], served: &mut Vec<usize>) -> usize {
    let load = |thread: &&usize| served.iter().filter(|t| t == thread).count();
    let thread = *threads.iter().min_by_key(load).expect("there is a thread");
    served.push(thread);
    thread
}

impl Router {
    /// Sets when a receive queue of an interface, or all of them, are looked at.
    ///
    /// # Errors
    /// [`QueueError::NoQueue`].
    pub fn set_rx_mode(
        &mut self,
        interface: InterfaceIndex,
        only: Option<usize>,
        mode: InputState,
    ) -> Result<(), QueueError> {
        let queues = self.interfaces.queues_mut(interface).into_iter().flatten().enumerate();
        let chosen = queues.filter(|(number, _)| only.is_none_or(|o| o == *number));
        let changed = chosen.map(|(_, queue)| {
            queue.mode = mode;
            *queue
        });
        let changed: Vec<_> = changed.collect();
        changed.iter().for_each(|q| self.tend_input(q.thread, q.node));
        if changed.is_empty() { Err(QueueError::NoQueue) } else { Ok(()) }
    }
    /// Assigns a receive queue to another thread.
    ///
    /// # Errors
    /// A missing queue or thread; the driver's.
    pub fn place_rx_queue(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
        thread: usize,
    ) -> Result<(), QueueError> {
        self.move_rx_queue(interface, number, thread)?;
        if let Some(queues) = self.interfaces.queues_mut(interface) {
            queues[number].is_placed = true;
        }
        Ok(())
    }
    /// Lets the router choose the thread of a receive queue again.
    ///
    /// # Errors
    /// As [`Router::place_rx_queue`].
    pub(super) fn choose_rx_thread(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
    ) -> Result<(), QueueError> {
        let chosen = self.threads_for_queues(interface, 1).first().copied().unwrap_or(0);
        self.move_rx_queue(interface, number, chosen)?;
        if let Some(queues) = self.interfaces.queues_mut(interface) {
            queues[number].is_placed = false;
        }
        Ok(())
    }
    fn move_rx_queue(
        &mut self,
        interface: InterfaceIndex,
        number: usize,
        thread: usize,
    ) -> Result<(), QueueError> {
        let queue = self.interfaces.at(interface).and_then(|i| i.queues.get(number)).copied();
        let queue = queue.ok_or(QueueError::NoQueue)?;
        if !self.engine.data_threads().contains(&thread) {
            return Err(QueueError::NoThread(thread));
        }
        if queue.thread != thread {
            (queue.place)(self, interface, number, thread).map_err(QueueError::Refused)?;
            if let Some(queues) = self.interfaces.queues_mut(interface) {
                queues[number].thread = thread;
            }
            self.tend_input(queue.thread, queue.node);
            self.tend_input(thread, queue.node);
        }
        Ok(())
    }
    /// Threads for `count` new receive queues of an interface: those near its device that serve
    /// fewest so far.
    ///
    /// # Panics
    /// Before the threads run.
    pub fn threads_for_queues(&self, interface: InterfaceIndex, count: usize) -> Vec<usize> {
        let near = self.threads_near(interface, self.engine.data_threads());
        let mut served: Vec<_> = self.interfaces.queues().map(|q| q.thread).collect();
        (0..count).map(|_| serve(&near, &mut served)).collect()
    }
    /// Those of these threads that run on the NUMA node of an interface's device; all where it is
    /// on none, or no thread is there.
    fn threads_near(&self, interface: InterfaceIndex, threads: Range<usize>) -> Vec<usize> {
        let node = self.interfaces.at(interface).and_then(|i| i.numa_node);
        let near: Vec<_> = match node {
            Some(node) => self.engine.threads_on(node).filter(|t| threads.contains(t)).collect(),
            None => Vec::new(),
        };
        if near.is_empty() { threads.collect() } else { near }
    }
    /// Redistributes the receive queues over these threads. Those configured for one of them stay
    /// there.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn spread_rx_queues(&mut self, threads: &Range<usize>) -> Result<(), QueueError> {
        let of = |i: &Interface| {
            let (index, queues) = (i.index, i.queues.clone());
            queues.into_iter().enumerate().map(move |(number, q)| (index, number, q))
        };
        let queues: Vec<_> = self.interfaces.iter().flat_map(of).collect();
        let stays = |q: &RxQueue| q.is_placed && threads.contains(&q.thread);
        let (stay, go): (Vec<_>, Vec<_>) = queues.into_iter().partition(|(.., q)| stays(q));
        let mut served = stay.iter().map(|(.., q)| q.thread).collect();
        for (interface, number, _) in go {
            let thread = serve(&self.threads_near(interface, threads.clone()), &mut served);
            self.move_rx_queue(interface, number, thread)?;
        }
        Ok(())
    }
    /// Says which threads and nodes serve the receive queues of an interface, from now on or until
    /// it is deleted.
    pub fn set_rx_queues(&mut self, interface: InterfaceIndex, queues: Vec<RxQueue>) {
        let mode = self.interfaces.default_rx_mode;
        let queues: Vec<_> = queues.into_iter().map(|q| RxQueue { mode, ..q }).collect();
        let Some(old) = self.interfaces.queues_mut(interface) else { return };
        old.clone_from(&queues);
        self.interfaces.receiving.insert(interface);
        queues.iter().for_each(|q| self.tend_input(q.thread, q.node));
    }
    /// An input node is called as often as the most demanding of its queues on the thread wants.
    fn tend_input(&mut self, thread: usize, node: NodeIndex) {
        let modes = self
            .interfaces
            .queues()
            .filter(|q| (q.thread, q.node) == (thread, node))
            .map(|q| q.mode);
        let urgency = |mode: &InputState| match mode {
            InputState::Disabled => 0,
            InputState::Interrupt => 1,
            InputState::Adaptive => 2,
            InputState::Polling => 3,
        };
        let mode = modes.max_by_key(urgency).unwrap_or(InputState::Disabled);
        self.engine.set_input_state(thread, node, mode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_go_to_the_threads_that_serve_fewest_of_those_near() {
        let mut served = vec![1, 1, 3];
        let threads: Vec<_> = (0..4).map(|_| serve(&[2, 3], &mut served)).collect();
        assert_eq!(threads, [2, 2, 3, 2]);
        assert_eq!(serve(&[1, 2, 3, 4], &mut served), 4);
    }
}
