//! Faults in mapped files (SIGBUS): a file that another program truncates, or whose pages the
//! kernel cannot provide, takes the memory away. Zeroes replace it, and the region is marked; its
//! user continues and ends the connection.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// Mappings at a time.
const MOST: usize = 4096;

/// A mapping that is looked after; free when it ends at 0.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
    is_taken: AtomicBool,
    has_faulted: AtomicBool,
}

static RANGES: [Range; MOST] = [const {
    Range {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        is_taken: AtomicBool::new(false),
        has_faulted: AtomicBool::new(false),
    }
}; MOST];

/// Raised at each fault in a mapping.
static RAISED: OnceLock<OwnedFd> = OnceLock::new();

/// Action of the signal before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A mapping that is looked after until [`Watch::end`].
#[derive(Debug)]
pub(super) struct Watch(usize);

impl Watch {
    /// Looks after a mapping.
    pub(super) fn new(start: usize, len: usize) -> io::Result<Self> {
        install()?;
        let is_free = |range: &Range| !range.is_taken.swap(true, Ordering::AcqRel);
        let number = RANGES.iter().position(is_free);
        let why = "too many shared regions";
        let number = number.ok_or_else(|| io::Error::new(io::ErrorKind::OutOfMemory, why))?;
        let range = &RANGES[number];
        range.has_faulted.store(false, Ordering::Relaxed);
        range.start.store(start, Ordering::Relaxed);
        range.end.store(start + len, Ordering::Release);
        Ok(Self(number))
    }
    pub(super) fn has_faulted(&self) -> bool {
        RANGES[self.0].has_faulted.load(Ordering::Relaxed)
    }
    /// No longer does, before the memory is unmapped.
    pub(super) fn end(&mut self) {
        let range = &RANGES[self.0];
        range.end.store(0, Ordering::Relaxed);
        range.start.store(0, Ordering::Relaxed);
        range.is_taken.store(false, Ordering::Release);
    }
}

/// A descriptor at which something comes when memory of a mapping is lost.
///
/// # Errors
/// The kernel's.
pub fn losses() -> io::Result<OwnedFd> {
    let raised = match RAISED.get() {
        Some(raised) => raised,
        None => {
            let new = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
            RAISED.get_or_init(|| new)
        }
    };
    raised.try_clone()
}

/// Installs the signal handler, once.
fn install() -> io::Result<()> {
    static DONE: OnceLock<Option<i32>> = OnceLock::new();
    let failed = DONE.get_or_init(|| {
        // SAFETY: both structs are plain and all zeroes are one of each; the handler does nothing
        // but what a signal handler may: atomics, mmap(2), write(2) and sigaction(2).
        let done = unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            let mut old: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = on_fault as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut new.sa_mask);
            // Before the handler may run.
            libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut old);
            let _ = BEFORE.set(old);
            libc::sigaction(libc::SIGBUS, &raw const new, std::ptr::null_mut())
        };
        (done != 0).then(|| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
    });
    failed.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
}

/// Number by which the counter is raised.
static ONE: u64 = 1;

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes the signal's own information, and this signal has an address.
    let at = unsafe { (*info).si_addr() } as usize;
    let is_there = |range: &&Range| {
        let end = range.end.load(Ordering::Acquire);
        at < end && at >= range.start.load(Ordering::Relaxed)
    };
    if let Some(range) = RANGES.iter().find(is_there) {
        let (start, end) = (range.start.load(Ordering::Relaxed), range.end.load(Ordering::Relaxed));
        range.has_faulted.store(true, Ordering::Relaxed);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is a mapping that its region owns: the thread that faulted borrows it.
        // Memory of the same length takes its place, and all that is done with it is copying and
        // atomic.
        let done = unsafe { libc::mmap(start as *mut _, end - start, prot, flags, -1, 0) };
        if done != libc::MAP_FAILED {
            if let Some(raised) = RAISED.get() {
                // SAFETY: eight bytes that live until the call returns. It never waits.
                unsafe {
                    libc::write(raised.as_raw_fd(), (&raw const ONE).cast(), size_of::<u64>())
                };
            }
            return;
        }
    }
    if let Some(before) = BEFORE.get() {
        // Not ours: the access happens again, and what was there before has it.
        // SAFETY: puts back what the kernel said was there.
        unsafe { libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()) };
    }
}
