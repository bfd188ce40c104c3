//! Standard input and output as one stream, without making the terminal non-blocking: that would
//! change it for every program that shares it.

use std::io::{self, IsTerminal, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// Standard input and output.
pub(super) struct Stdio {
    /// Both as one.
    pub stream: UnixStream,
    /// Sent when all output before the stream's end is written.
    pub written: oneshot::Receiver<()>,
    /// Sent when the terminal is closed: the command in progress has no reader.
    pub gone: oneshot::Receiver<()>,
}

/// Starts two threads that copy bytes between the terminal and the stream.
pub(super) fn open() -> io::Result<Stdio> {
    let (ours, theirs) = StdStream::pair()?;
    let from_terminal = theirs.try_clone()?;
    thread::Builder::new().name("stdin".into()).spawn(move || {
        // An error means that one side has ended; so does this thread.
        let _ = copy(io::stdin(), &from_terminal);
        let _ = from_terminal.shutdown(Shutdown::Write);
    })?;
    let (hang_up, gone) = oneshot::channel();
    if io::stdin().is_terminal() {
        thread::Builder::new().name("hangup".into()).spawn(move || {
            while !is_hung_up() {}
            let _ = hang_up.send(());
        })?;
    }
    let (written, all) = oneshot::channel();
    thread::Builder::new().name("stdout".into()).spawn(move || {
        let _ = copy(&theirs, io::stdout());
        let _ = theirs.shutdown(Shutdown::Both);
        let _ = written.send(());
    })?;
    ours.set_nonblocking(true)?;
    Ok(Stdio { stream: UnixStream::from_std(ours)?, written: all, gone })
}

/// Waits up to a second; whether the terminal has gone away.
fn is_hung_up() -> bool {
    let stdin = io::stdin();
    let mut one = [PollFd::new(&stdin, PollFlags::empty())];
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    poll(&mut one, Some(&second)).is_ok_and(|count| count > 0)
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
