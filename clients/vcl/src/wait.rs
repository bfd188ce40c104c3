//! Waiting: one thread of the process polls the router's bell, others wait for that one.
//!
//! The thread that polls says in all lanes that the process sleeps. The thread that takes events
//! out of the rings wakes the others, since these may be theirs.
#![forbid(unsafe_code)]

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::state::{self, State};

/// Something has come, or no thread polls.
static COME: Condvar = Condvar::new();
/// Longest wait at a time.
const LONGEST: Duration = Duration::from_secs(3600);

/// A time as the kernel takes it; `None` for one without end.
pub fn timespec(seconds: f64) -> Option<Timespec> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Timespec::try_from(time).ok()
}

/// When a wait of so many seconds ends; never for negative numbers.
pub fn deadline(seconds: f64) -> Option<Instant> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Instant::now().checked_add(time)
}

/// Wakes the threads that wait.
pub fn wake_all() {
    COME.notify_all();
}

/// Waits until `ready` has a result, or for the deadline.
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
        let Some((bell, socket)) = guard.fall_asleep() else { continue };
        guard.is_polled = true;
        drop(guard);
        let mut set = [PollFd::new(&*bell, PollFlags::IN), PollFd::new(&*socket, PollFlags::IN)];
        // A signal ends the wait as a bell does: all is looked at again.
        let _ = poll(&mut set, Timespec::try_from(left).ok().as_ref());
        let has_news = !set[1].revents().is_empty();
        guard = state::lock();
        guard.is_polled = false;
        guard.wake_up(has_news);
        if guard.waiters > 0 {
            COME.notify_all();
        }
    }
}
