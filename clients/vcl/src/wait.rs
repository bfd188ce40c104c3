//! Waiting: one thread of the process polls the router's bell, others wait for that thread.
//!
//! The polling thread announces in all lanes that the process sleeps. The thread that takes events
//! out of the rings wakes the others, since the events may be theirs.
#![forbid(unsafe_code)]

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::state::{self, State};

/// Signalled when there are events, or when no thread polls.
static COME: Condvar = Condvar::new();
/// Longest wait at a time.
const LONGEST: Duration = Duration::from_secs(3600);

/// Converts a timeout for the kernel; `None` for no timeout.
pub fn timespec(seconds: f64) -> Option<Timespec> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Timespec::try_from(time).ok()
}

/// Deadline of a wait; `None` for negative times, which never end.
pub fn deadline(seconds: f64) -> Option<Instant> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Instant::now().checked_add(time)
}

/// Wakes all waiting threads.
pub fn wake_all() {
    COME.notify_all();
}

/// Waits until `ready` has a result, or until the deadline.
pub fn until<T>(
    mut guard: MutexGuard<'static, State>,
    deadline: Option<Instant>,
    mut ready: impl FnMut(&mut State) -> Option<T>,
) -> (MutexGuard<'static, State>, Option<T>) {
    loop {
        guard.pump();
        if let Some(result) = ready(&mut guard) {
            return (guard, Some(result));
        }
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return (guard, None);
        }
        let left = left.unwrap_or(LONGEST).min(LONGEST);
        if guard.is_polled {
            guard.waiters += 1;
            let waited = COME.wait_timeout(guard, left);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
            guard.waiters -= 1;
            continue;
        }
        let Some(all) = guard.fall_asleep() else { continue };
        guard.is_polled = true;
        drop(guard);
        let mut set = all.each_ref().map(|fd| PollFd::new(&**fd, PollFlags::IN));
        // A signal ends the wait like a bell; everything is checked again.
        let _ = poll(&mut set, Timespec::try_from(left).ok().as_ref());
        let has_news = !set[2].revents().is_empty();
        guard = state::lock();
        guard.is_polled = false;
        guard.wake_up(has_news);
        if guard.waiters > 0 {
            COME.notify_all();
        }
    }
}
