//! Event counters (eventfd(2)) that wake the other end.
//!
//! The peer made most of them, and shares their flags: it can make one blocking again at any time
//! and fill it, and a writer then waits for as long as the peer likes. Checking before writing does
//! not help, since the peer may be faster, and eventfds accept no non-blocking write (`RWF_NOWAIT`:
//! EOPNOTSUPP). So nothing is written. The kernel raises them itself when an asynchronous operation
//! ends (io_submit(2) with `IOCB_FLAG_RESFD`), as it does for virtual machines: a counter at its
//! maximum is unchanged. The operation is a read of no bytes from `/dev/null`, which ends at once.
//! It takes a microsecond instead of a third of one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use control::socket::close_of_others;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Mode, OFlags, open};

/// Operations that the kernel remembers until they are reaped.
const OPERATIONS: libc::c_long = 512;
/// Attempts: others may use up what was reaped.
const ATTEMPTS: usize = 8;
const PREAD: u16 = 0;
const RESFD: u32 = 1;

/// One operation, as the kernel lays it out where numbers are little endian.
#[repr(C)]
#[derive(Default)]
struct Operation {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result: u32,
}

/// One result.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Done([u64; 4]);

const _: () = assert!(size_of::<Operation>() == 64 && size_of::<Done>() == 32);

/// The kernel's list of operations, one for all bells and threads.
struct Ringer {
    context: libc::c_ulong,
    null: OwnedFd,
}

impl Ringer {
    fn new() -> io::Result<Self> {
        let null = open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word to where it is said.
        let done = unsafe { libc::syscall(libc::SYS_io_setup, OPERATIONS, &raw mut context) };
        if done == 0 { Ok(Self { context, null }) } else { Err(io::Error::last_os_error()) }
    }
    fn the() -> Result<&'static Self, io::Error> {
        static RINGER: OnceLock<Result<Ringer, i32>> = OnceLock::new();
        let made = RINGER
            .get_or_init(|| Self::new().map_err(|e| e.raw_os_error().unwrap_or(libc::ENOSYS)));
        made.as_ref().map_err(|code| io::Error::from_raw_os_error(*code))
    }
    fn raise(&self, counter: BorrowedFd<'_>) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            let mut operation = Operation {
                opcode: PREAD,
                file: self.null.as_raw_fd() as u32,
                flags: RESFD,
                result: counter.as_raw_fd() as u32,
                ..Operation::default()
            };
            let mut list = [&raw mut operation];
            let one: libc::c_long = 1;
            // SAFETY: the list and what it points to live until the call returns, which is when
            // the kernel is done with them; the operation has no buffer.
            let done =
                unsafe { libc::syscall(libc::SYS_io_submit, self.context, one, list.as_mut_ptr()) };
            if done == 1 {
                return Ok(());
            }
            let failed = io::Error::last_os_error();
            if failed.kind() != io::ErrorKind::WouldBlock {
                return Err(failed);
            }
            self.reap();
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
    #[cold]
    fn reap(&self) {
        let mut results = [Done::default(); 256];
        let most = results.len() as libc::c_long;
        let (least, at_once) = (0 as libc::c_long, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: the kernel writes so many results at most to where they have room, and reads a
        // time; it does not wait.
        unsafe {
            let to = results.as_mut_ptr();
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least,
                most,
                to,
                &raw const at_once,
            );
        }
    }
}

/// Wakeup of one end of a ring.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A new one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Self::of(eventfd(0, flags)?)
    }
    /// One that the peer made. It is rung once, which shows that it is one.
    ///
    /// # Errors
    /// It is no eventfd, or the kernel's.
    pub fn of(counter: OwnedFd) -> io::Result<Self> {
        let raised = Ringer::the().and_then(|ringer| ringer.raise(counter.as_fd()));
        if let Err(e) = raised {
            // It may be anything, and take long to close.
            close_of_others(counter);
            let is_none = matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EBADF));
            return Err(if is_none { super::refuse("interrupt is no eventfd") } else { e });
        }
        Ok(Self(Arc::new(counter)))
    }
    /// Wakes the other end. Never waits.
    pub fn ring(&self) {
        // It was one when it was made, and a counter at its end is as loud as it gets.
        let _ = Ringer::the().and_then(|ringer| ringer.raise(self.0.as_fd()));
    }
    /// Its descriptor, to wait for it or to hand it over.
    pub fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.0
    }
}
