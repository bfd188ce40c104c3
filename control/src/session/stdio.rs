//! Standard input and output as one stream, without making the terminal non-blocking: that would
//! change it for every program that shares it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::thread;

use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// Starts two threads that copy bytes between the terminal and the stream; says when all has been
/// written that came before the stream's end.
pub(super) fn stream() -> io::Result<(UnixStream, oneshot::Receiver<()>)> {
    let (ours, theirs) = StdStream::pair()?;
    let from_terminal = theirs.try_clone()?;
    thread::Builder::new().name("stdin".into()).spawn(move || {
        // An error means that one side has ended; so does this thread.
        let _ = copy(io::stdin(), &from_terminal);
        let _ = from_terminal.shutdown(Shutdown::Write);
    })?;
    let (written, all) = oneshot::channel();
    thread::Builder::new().name("stdout".into()).spawn(move || {
        let _ = copy(&theirs, io::stdout());
        let _ = theirs.shutdown(Shutdown::Both);
        let _ = written.send(());
    })?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, all))
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
