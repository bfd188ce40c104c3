//! Wakeups of a sleeping thread by others: control that left a job, a thread that handed packets
//! over.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// The bell of one thread.
///
/// The sleeper announces that it sleeps, then checks once more for work; a producer adds work, then
/// checks whether the thread sleeps. With a full fence between the two steps of each side, at least
/// one of them sees the other.
#[derive(Debug)]
pub(crate) struct Doorbell {
    is_sleeping: AtomicBool,
    event: OwnedFd,
    requests: AtomicU64,
}

impl Doorbell {
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { is_sleeping: AtomicBool::new(false), event, requests: AtomicU64::new(0) })
    }
    /// Wakes the thread if it sleeps, after something was put down for it.
    #[inline]
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.is_sleeping.load(Ordering::SeqCst) {
            self.wake();
        }
    }
    #[cold]
    fn wake(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        // It can only be full of wake-ups already.
        let _ = write(&self.event, &1u64.to_ne_bytes());
    }
    /// The thread is about to sleep; it looks for work once more after this.
    pub fn falls_asleep(&self) {
        self.is_sleeping.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }
    /// The thread is awake again.
    pub fn is_awake(&self) {
        self.is_sleeping.store(false, Ordering::SeqCst);
    }
    /// Readable when rung.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
    /// The thread has heard it.
    pub fn silence(&self) {
        // What it says is in the mailbox and the rings.
        let _ = read(&self.event, &mut [0u8; 8]);
    }
    /// Times a sleeping thread was woken.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}
