//! Other data-plane threads while packets flow.

use std::{fmt, io};

use graph::{NoAnswer, Plan};

use crate::interface::QueueError;
use crate::router::Router;

/// Reasons why the threads cannot be changed as wanted. Those that were there go on, with new ones
/// beside them.
#[derive(Debug)]
pub enum ThreadsError {
    /// The kernel starts no more threads.
    System(io::Error),
    /// A receive queue cannot be served by another thread.
    Queue(QueueError),
    /// A feature cannot go on at another thread.
    Feature(String),
    /// A thread does not answer.
    NoAnswer(NoAnswer),
}

impl fmt::Display for ThreadsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(e) => f.write_str(&control::cli::io_text(e)),
            Self::Queue(e) => e.fmt(f),
            Self::Feature(why) => f.write_str(why),
            Self::NoAnswer(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for ThreadsError {}

impl Router {
    /// Makes the data-plane threads those with the numbers `first`, `first + 1`… as planned, not
    /// empty. First nothing more is received, and threads finish what they have. Then new ones
    /// start, receive queues and what features have go over to them, and old ones end; what comes
    /// meanwhile waits in the receive queues. What waits for a neighbour or for other fragments on
    /// a thread that ends is dropped and counted.
    ///
    /// # Errors
    /// See [`ThreadsError`].
    pub fn set_threads(&mut self, first: usize, plans: &[Plan]) -> Result<(), ThreadsError> {
        let stay = first..first + plans.len();
        for is_refused in self.before_threads.clone().iter() {
            is_refused(self, &stay).map_err(ThreadsError::Feature)?;
        }
        let held = self.engine.hold_inputs(true).map_err(ThreadsError::NoAnswer);
        let done = held.and_then(|()| self.go_over(first, plans));
        let freed = self.engine.hold_inputs(false).map_err(ThreadsError::NoAnswer);
        done.and(freed)
    }
    fn go_over(&mut self, first: usize, plans: &[Plan]) -> Result<(), ThreadsError> {
        let stay = first..first + plans.len();
        self.engine.add_threads(first, plans).map_err(ThreadsError::System)?;
        self.stats.show_threads(stay.end);
        self.spread_rx_queues(&stay).map_err(ThreadsError::Queue)?;
        for move_to in self.on_threads.clone().iter() {
            move_to(self, &stay).map_err(ThreadsError::Feature)?;
        }
        self.engine.keep_threads(stay.clone()).map_err(ThreadsError::NoAnswer)?;
        let numbers: Vec<_> = stay.collect();
        self.note(format_args!("data-plane threads are {numbers:?}"));
        Ok(())
    }
}
