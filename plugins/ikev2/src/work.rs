//! A thread for public-key work: control waits for nobody's signatures.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;

use net::events::{Event, EventSender};

use super::crypto::job::{Done, Job};

/// Jobs that wait at most.
const MOST: usize = 1024;

/// Some work is done.
#[derive(Clone, Copy, Debug)]
pub struct Worked;

impl Event for Worked {
    const ROOM: usize = 16;
}

/// Control's end of the thread.
pub struct Worker {
    jobs: Option<SyncSender<(u32, Job)>>,
    done: Receiver<(u32, Done)>,
}

impl Worker {
    /// The thread, which ends with this.
    pub fn new(mut told: EventSender<Worked>) -> Self {
        let (jobs, waiting) = sync_channel::<(u32, Job)>(MOST);
        let (results, done) = channel();
        let body = move || {
            for (sa, job) in waiting {
                if results.send((sa, job.run())).is_err() {
                    return;
                }
                // Where there is no room control has not looked yet, and will.
                let _ = told.send(Worked);
            }
        };
        let thread = thread::Builder::new().name("ikev2".to_owned()).spawn(body);
        Self { jobs: thread.is_ok().then_some(jobs), done }
    }
    /// Has a job done for an association; what became of it if it is done at once.
    pub fn give(&self, sa: u32, job: Job) -> Option<Done> {
        let Some(jobs) = self.jobs.as_ref().filter(|_| job.is_slow()) else {
            return Some(job.run());
        };
        match jobs.try_send((sa, job)) {
            Ok(()) => None,
            // What began waits in vain and ends in its time.
            Err(TrySendError::Full(_)) => Some(Done::Failed),
            Err(TrySendError::Disconnected((_, job))) => Some(job.run()),
        }
    }
    /// The next result.
    pub fn take(&self) -> Option<(u32, Done)> {
        self.done.try_recv().ok()
    }
}
