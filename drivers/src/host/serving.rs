//! Placement of a device's receive queues on threads, as control knows it.

use std::any::Any;
use std::fmt::{self, Display};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use graph::{InputState, NoAnswer, NodeIndex};
use net::interface::{Place, RxQueue};
use net::{InterfaceIndex, Router};

use super::input::{DeviceInput, Queue, Waking};

/// The receive queues of one interface, by number. A queue itself belongs to its thread.
#[derive(Debug, Default)]
pub struct Serving {
    /// The thread that serves each, and what wakes it.
    pub queues: Vec<(usize, Arc<OwnedFd>)>,
}

/// Modes of the receive queues of an interface when it was connected last, and their configured
/// threads.
#[derive(Debug, Default)]
pub struct Kept(Vec<(InputState, Option<usize>)>);

impl Kept {
    /// Those that they have.
    pub fn of(router: &Router, interface: InterfaceIndex) -> Self {
        let queues = router.interfaces.at(interface).map_or(&[][..], |i| &i.queues);
        Self(queues.iter().map(|q| (q.mode, q.is_placed.then_some(q.thread))).collect())
    }
    /// Gives the queues what they had, as far as there are as many queues and threads.
    pub fn restore(self, router: &mut Router, interface: InterfaceIndex) {
        for (number, (mode, thread)) in self.0.into_iter().enumerate() {
            let _ = router.set_rx_mode(interface, Some(number), mode);
            if let Some(thread) = thread {
                let _ = router.place_rx_queue(interface, number, thread);
            }
        }
    }
}

/// Reasons why a queue cannot be given to a thread or taken from it.
#[derive(Debug)]
pub enum Failed {
    /// There is none with this number.
    NoQueue,
    /// A thread does not answer.
    NoAnswer(NoAnswer),
    /// The kernel says no.
    System(io::Error),
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQueue => f.write_str("no such queue"),
            Self::NoAnswer(e) => e.fmt(f),
            Self::System(e) => f.write_str(&control::cli::io_text(e)),
        }
    }
}
impl std::error::Error for Failed {}

impl From<NoAnswer> for Failed {
    fn from(e: NoAnswer) -> Self {
        Self::NoAnswer(e)
    }
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Self {
        Self::System(e)
    }
}

/// The interfaces of a driver whose receive queues threads serve.
pub trait Served: Any {
    /// A receive queue.
    type Queue: Queue;
    /// Reasons why the driver refuses.
    type Error: From<Failed> + Display + Send + 'static;
    /// There is no such interface.
    const UNKNOWN: Self::Error;
    /// The driver's input node and the queues of an interface.
    fn serving(&mut self, index: InterfaceIndex) -> Option<(NodeIndex, &mut Serving)>;
}

/// Declares the interfaces of a driver, which are in a `list` beside the number of its `node`.
macro_rules! served {
    ($all:ty, $queue:ty, $error:ident::$unknown:ident) => {
        impl $crate::host::serving::Served for $all {
            type Queue = $queue;
            type Error = $error;
            const UNKNOWN: $error = $error::$unknown;

            fn serving(&mut self, index: InterfaceIndex) -> Option<(NodeIndex, &mut Serving)> {
                let found = self.list.iter_mut().find(|i| i.index == index)?;
                Some((self.node, &mut found.serving))
            }
        }
    };
}
pub(crate) use served;

/// Moves a receive queue of a driver's interface to another thread.
///
/// # Errors
/// The driver's text.
pub fn place<D: Served>(
    router: &mut Router,
    index: InterfaceIndex,
    number: usize,
    thread: usize,
) -> Result<(), String> {
    let work = |all: &mut D, router: &mut Router| {
        let (node, serving) = all.serving(index).ok_or(D::UNKNOWN)?;
        Ok(serving.place::<D::Queue>(router, (node, index), number, thread)?)
    };
    router.with(work).unwrap_or(Err(D::UNKNOWN)).map_err(|e: D::Error| e.to_string())
}

impl Serving {
    /// Number of the thread of each queue.
    pub fn threads(&self) -> Vec<usize> {
        self.queues.iter().map(|q| q.0).collect()
    }
    /// Gives new queues, in the order of their numbers and each with what wakes its thread, to
    /// those threads that serve fewest. `node` is the input node's number.
    ///
    /// # Errors
    /// [`Failed`]; [`Serving::end`] takes back those that threads have.
    pub fn begin<Q: Queue>(
        &mut self,
        router: &mut Router,
        (node, interface, place): (NodeIndex, InterfaceIndex, Place),
        queues: Vec<(Q, Arc<OwnedFd>)>,
    ) -> Result<(), Failed> {
        let threads = router.threads_for_queues(interface, queues.len());
        for ((queue, fd), thread) in queues.into_iter().zip(threads) {
            self.queues.push((thread, Arc::clone(&fd)));
            hand_over(router, thread, node, &fd, queue)?;
        }
        let queues = self.queues.iter().map(|q| RxQueue::new(q.0, node, place));
        router.set_rx_queues(interface, queues.collect());
        Ok(())
    }
    /// Moves a queue to another thread.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn place<Q: Queue>(
        &mut self,
        router: &mut Router,
        (node, interface): (NodeIndex, InterfaceIndex),
        number: usize,
        thread: usize,
    ) -> Result<(), Failed> {
        let (from, fd) = self.queues.get_mut(number).ok_or(Failed::NoQueue)?;
        let take = move |n: &mut DeviceInput<Q>| n.take(interface.0, Some(number));
        let (queues, _) = router.engine.with_node(*from, node, take)?;
        router.engine.unwatch(*from, fd.as_fd())?;
        for queue in queues {
            hand_over(router, thread, node, fd, queue)?;
        }
        *from = thread;
        Ok(())
    }
    /// Puts queues in place of those there are, on the same threads; returns the old ones.
    ///
    /// # Errors
    /// [`Failed`]; some may be replaced then.
    pub fn replace<Q: Queue>(
        &mut self,
        router: &mut Router,
        (node, interface): (NodeIndex, InterfaceIndex),
        queues: Vec<(Q, Arc<OwnedFd>)>,
    ) -> Result<Vec<Q>, Failed> {
        let mut old = Vec::new();
        for ((thread, fd), (queue, new)) in self.queues.iter_mut().zip(queues) {
            let number = queue.key().1;
            // What is gone may not be watched any more.
            let _ = router.engine.unwatch(*thread, fd.as_fd());
            watch::<Q>(router, *thread, node, &new)?;
            let swap = move |n: &mut DeviceInput<Q>| {
                let gone = n.take(interface.0, Some(number)).0;
                n.add(queue);
                gone
            };
            old.extend(router.engine.with_node(*thread, node, swap)?);
            *fd = new;
        }
        Ok(old)
    }
    /// Takes all queues from their threads.
    ///
    /// # Errors
    /// A thread does not answer; it can be done again.
    pub fn end<Q: Queue>(
        &self,
        router: &mut Router,
        (node, interface): (NodeIndex, InterfaceIndex),
    ) -> Result<Vec<Q>, NoAnswer> {
        let mut queues = Vec::new();
        for thread in router.engine.data_threads() {
            let take = move |n: &mut DeviceInput<Q>| n.take(interface.0, None);
            let (taken, left) = router.engine.with_node(thread, node, take)?;
            if left == 0 {
                router.engine.set_input_state(thread, node, InputState::Disabled);
            }
            queues.extend(taken);
        }
        self.unwatch(router);
        Ok(queues)
    }
    /// Stops the queues from waking threads.
    pub fn unwatch(&self, router: &mut Router) {
        for (thread, fd) in &self.queues {
            // It may not be watched, if making the interface failed half-way.
            let _ = router.engine.unwatch(*thread, fd.as_fd());
        }
    }
}

/// Assigns a queue to a thread. The list of queues sets when it is polled.
fn hand_over<Q: Queue>(
    router: &mut Router,
    thread: usize,
    node: NodeIndex,
    fd: &OwnedFd,
    queue: Q,
) -> Result<(), Failed> {
    let mode = router.interfaces.default_rx_mode;
    watch::<Q>(router, thread, node, fd)?;
    router.engine.with_node(thread, node, |n: &mut DeviceInput<Q>| n.add(queue))?;
    router.engine.set_input_state(thread, node, mode);
    Ok(())
}

/// Wakes a thread when packets arrive at a queue.
fn watch<Q: Queue>(
    router: &mut Router,
    thread: usize,
    node: NodeIndex,
    fd: &OwnedFd,
) -> io::Result<()> {
    match Q::WAKING {
        Waking::While => router.engine.watch(thread, node, fd.as_fd()),
        Waking::Once => router.engine.watch_rings(thread, node, fd.as_fd()),
    }
}
