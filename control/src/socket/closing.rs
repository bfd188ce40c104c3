//! Closing of descriptors on other threads. The kernel may take long to close one: a socket may
//! wait for its peer, a device for its driver. No thread of the router waits for that.

use std::collections::VecDeque;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Limit of threads that close descriptors of others at a time. Further ones wait for them, so
/// neither the number of threads nor the time to start one is up to others. The number of waiting
/// descriptors is limited by that of open files of this process.
const MOST_CLOSERS: usize = 16;

/// Closes what the kernel may take long to close, such as devices, on a thread of its own. It is
/// closed when the thread has ended.
pub fn close_elsewhere(what: impl Send + 'static) -> Option<JoinHandle<()>> {
    elsewhere(move || drop(what))
}

/// Does what may take long on a thread of its own; if there is none to be had, what is to be closed
/// is dropped here.
pub fn elsewhere(close: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    Builder::new().name("closer".to_owned()).spawn(close).ok()
}

/// Closes descriptors of others, which may be anything, and sockets with such descriptors in their
/// queues, on one of a few threads; here if there is none to be had.
pub fn close_of_others(what: impl Send + 'static) {
    let mut closers = closers();
    closers.waiting.push_back(Box::new(what));
    if closers.count < MOST_CLOSERS && elsewhere(close_all).is_some() {
        closers.count += 1;
    }
    if closers.count == 0 {
        let waiting = std::mem::take(&mut closers.waiting);
        drop(closers);
        drop(waiting);
    }
}

/// The threads, and what waits for them.
struct Closers {
    waiting: VecDeque<Box<dyn Send>>,
    count: usize,
}

static CLOSERS: Mutex<Closers> = Mutex::new(Closers { waiting: VecDeque::new(), count: 0 });

fn closers() -> MutexGuard<'static, Closers> {
    CLOSERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close_all() {
    loop {
        let mut closers = closers();
        let Some(next) = closers.waiting.pop_front() else {
            closers.count -= 1;
            return;
        };
        // Others may add to the queue while this is closed.
        drop(closers);
        drop(next);
    }
}

/// Descriptors of others, closed on another thread whenever this is dropped. A socket is closed so
/// when others may send descriptors to it: unreceived ones are closed with it.
#[derive(Debug)]
pub struct ClosedElsewhere<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> ClosedElsewhere<T> {
    /// Of these.
    pub fn new(what: T) -> Self {
        Self(Some(what))
    }
    /// Leaves them to others.
    pub fn into_inner(mut self) -> T {
        self.0.take().expect("it is taken once")
    }
}

impl<T: AsFd + Send + 'static> AsFd for ClosedElsewhere<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: Send + 'static> Deref for ClosedElsewhere<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is taken last")
    }
}

impl<T: Send + 'static> Drop for ClosedElsewhere<T> {
    fn drop(&mut self) {
        if let Some(what) = self.0.take() {
            close_of_others(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{ThreadId, current};
    use std::time::Duration;

    use super::*;

    /// Takes as long to close as the test likes, and says where it is closed.
    struct Slow(Receiver<()>, Sender<ThreadId>);

    impl Drop for Slow {
        fn drop(&mut self) {
            self.1.send(current().id()).unwrap();
            let _ = self.0.recv();
        }
    }

    #[test]
    fn a_few_threads_close_what_others_sent_however_long_that_takes() {
        let (started, starts) = channel();
        let mut held = Vec::new();
        for _ in 0..100 {
            let (release, wait) = channel();
            close_of_others(Slow(wait, started.clone()));
            held.push(release);
        }
        let mut threads = Vec::new();
        while threads.len() < MOST_CLOSERS {
            threads.push(starts.recv().unwrap());
        }
        assert!(starts.recv_timeout(Duration::from_millis(50)).is_err(), "no more at a time");
        assert!(!threads.contains(&current().id()));
        drop(held);
        for _ in MOST_CLOSERS..100 {
            assert!(threads.contains(&starts.recv().unwrap()), "no thread is started for them");
        }
    }
}
