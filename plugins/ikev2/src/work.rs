//! A thread for slow public-key computations, so that the control thread does not wait for them.
//!
//! Jobs of established associations, and of those initiated here, run first. Those of
//! unauthenticated initiators have a queue of their own, in which source addresses take turns.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use net::events::{Event, EventSender};

use super::crypto::job::{Done, Job};

/// Limits of queued jobs: of associations, of unauthenticated initiators, and of one source of
/// these.
const MOST: usize = 1024;
const MOST_STRANGERS: usize = 256;
const MOST_OF_SOURCE: usize = 16;

/// Event: a computation is finished.
#[derive(Clone, Copy, Debug)]
pub struct Worked;

impl Event for Worked {
    const ROOM: usize = 16;
}

/// Queued jobs.
#[derive(Default)]
struct Queue {
    known: VecDeque<(u32, Job)>,
    strangers: VecDeque<(IpAddr, u32, Job)>,
    /// The source address whose job ran last.
    last: Option<IpAddr>,
    is_over: bool,
}

impl Queue {
    /// Queues a job, or returns it if there is no room.
    fn put(&mut self, sa: u32, job: Job, from: Option<IpAddr>) -> Option<Job> {
        let Some(from) = from else {
            if self.known.len() >= MOST {
                return Some(job);
            }
            self.known.push_back((sa, job));
            return None;
        };
        let same = self.strangers.iter().filter(|(other, ..)| *other == from).count();
        if self.strangers.len() >= MOST_STRANGERS || same >= MOST_OF_SOURCE {
            return Some(job);
        }
        self.strangers.push_back((from, sa, job));
        None
    }
    /// The next job; of unauthenticated initiators, one of another source than the last.
    fn next(&mut self) -> Option<(u32, Job)> {
        if let Some(next) = self.known.pop_front() {
            return Some(next);
        }
        let is_other = |(from, ..): &(IpAddr, u32, Job)| Some(*from) != self.last;
        let at = self.strangers.iter().position(is_other).unwrap_or(0);
        let (from, sa, job) = self.strangers.remove(at)?;
        self.last = Some(from);
        Some((sa, job))
    }
}

/// The queue, and the condition that wakes the thread.
#[derive(Default)]
struct Bench {
    queue: Mutex<Queue>,
    bell: Condvar,
}

impl Bench {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits for a job; `None` when the daemon ends.
    fn next(&self) -> Option<(u32, Job)> {
        let mut queue = self.queue();
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(next) = queue.next() {
                return Some(next);
            }
            queue = self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The control thread's handle of the worker thread.
pub struct Worker {
    bench: Arc<Bench>,
    has_thread: bool,
    done: Receiver<(u32, Done)>,
}

impl Worker {
    /// Starts the thread; it ends when the handle is dropped.
    pub fn new(mut told: EventSender<Worked>) -> Self {
        let bench = Arc::<Bench>::default();
        let (results, done) = channel();
        let jobs = Arc::clone(&bench);
        let body = move || {
            while let Some((sa, job)) = jobs.next() {
                let result = catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or(Done::Failed);
                if results.send((sa, result)).is_err() {
                    return;
                }
                // A full queue means that the control thread has not looked yet, but will.
                let _ = told.send(Worked);
            }
        };
        let thread = thread::Builder::new().name("ikev2".to_owned()).spawn(body);
        Self { bench, has_thread: thread.is_ok(), done }
    }
    /// Queues a job for an association, or for an unauthenticated initiator from a source address;
    /// returns the result if it was run at once.
    pub fn give(&self, sa: u32, job: Job, from: Option<IpAddr>) -> Option<Done> {
        if !self.has_thread || !(job.is_slow() || from.is_some()) {
            return Some(job.run());
        }
        let refused = self.bench.queue().put(sa, job, from);
        if refused.is_none() {
            self.bench.bell.notify_one();
        }
        refused.map(|job| Done::Busy(Box::new(job)))
    }
    /// The next result.
    pub fn take(&self) -> Option<(u32, Done)> {
        self.done.try_recv().ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.bench.queue().is_over = true;
        self.bench.bell.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::group::Group;

    fn job() -> Job {
        Job::Generate(Group::of(18).unwrap())
    }

    #[test]
    fn associations_come_first_and_sources_take_turns() {
        let mut queue = Queue::default();
        let [greedy, honest] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let taken = (0..100).filter(|n| queue.put(*n, job(), Some(greedy)).is_none()).count();
        assert_eq!(taken, MOST_OF_SOURCE);
        assert!(queue.put(1000, job(), Some(honest)).is_none());
        assert!(queue.put(2000, job(), None).is_none());
        let order: Vec<_> = std::iter::from_fn(|| queue.next()).map(|(sa, _)| sa).collect();
        assert_eq!(order[..4], [2000, 0, 1000, 1]);
        assert_eq!(order.len(), MOST_OF_SOURCE + 2);
    }

    #[test]
    fn strangers_that_fill_their_queue_leave_that_of_associations_alone() {
        let mut queue = Queue::default();
        let from = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
        let taken = (0..1000).filter(|n| queue.put(*n, job(), from(*n)).is_none()).count();
        assert_eq!(taken, MOST_STRANGERS);
        assert_eq!((0..2000).filter(|n| queue.put(*n, job(), None).is_none()).count(), MOST);
    }

    /// The sender of events of the worker, and the events.
    fn worker() -> Worker {
        let mut events = net::events::Events::default();
        Worker::new(events.sender())
    }

    #[test]
    fn control_runs_no_computation_for_strangers_and_no_slow_one() {
        let from = Some(IpAddr::from([10, 0, 0, 1]));
        for number in [14, 15, 16, 19, 20, 21, 31] {
            let group = Group::of(number).unwrap();
            let jobs = || {
                let Done::Generated(private, public) = Job::Generate(group).run() else {
                    panic!("group {number}");
                };
                [
                    Job::Generate(group),
                    Job::Respond(group, public.clone()),
                    Job::Agree(group, private, public),
                ]
            };
            for job in jobs() {
                assert!(worker().give(1, job, from).is_none(), "group {number}");
            }
            for job in jobs() {
                let is_here = worker().give(1, job, None).is_some();
                assert_eq!(is_here, !group.is_slow(), "group {number}");
            }
        }
    }
}
