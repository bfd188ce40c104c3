//! The end of the program with its terminal.
//!
//! SIGHUP tells only those whose controlling terminal it is, and only where it is not ignored; a
//! terminal that is gone gives reads of nothing forever, and key readers try again. So a thread
//! asks the kernel.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest delay where the kernel sends no wake-up.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Exit status of a program that SIGHUP ended, as shells show it.
const STATUS: i32 = 128 + 1;

/// Ends this program when the terminal goes away that it reads from, else the one it prints on.
pub fn watch() -> io::Result<()> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let terminal: BorrowedFd<'_> = match (stdin.is_terminal(), stdout.is_terminal()) {
        (true, _) => stdin.as_fd(),
        (false, true) => stdout.as_fd(),
        _ => return Ok(()),
    };
    let terminal = terminal.try_clone_to_owned()?;
    let watch = move || {
        while !is_gone(&terminal) {}
        std::process::exit(STATUS)
    };
    thread::Builder::new().name("hangup".to_owned()).spawn(watch).map(drop)
}

/// Waits a while; whether the terminal is gone.
fn is_gone(terminal: &OwnedFd) -> bool {
    // No events are requested: only those that are always reported end the wait.
    let mut one = [PollFd::new(terminal, PollFlags::empty())];
    let came = poll(&mut one, Some(&LOOK));
    came.is_ok_and(|count| count > 0)
}
