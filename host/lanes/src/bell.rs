//! Bells of the router: it rings, and a program waits.
//!
//! A bell is a pair of connected sockets, not an eventfd: a process with a descriptor of an eventfd
//! can fill it and clear `O_NONBLOCK` for all who have it, and ringing it would then block a thread
//! of the router. The router's end is its alone, and no flag of the program's end touches it.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::read;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, send, shutdown, socketpair,
};

/// The end that rings.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// Creates one; returns it with the end of the waiting program, which is readable after a ring.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (here, there) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Nothing is ever sent to the router, descriptors neither.
        shutdown(&there, Shutdown::Write)?;
        Ok((Self(here), there))
    }
    /// Wakes the other end. Never waits: if the socket is full, a wakeup is pending anyway.
    pub fn ring(&self) {
        let _ = send(&self.0, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }
}

/// Clears pending wakeups at the program's end.
pub fn quiet(bell: impl AsFd) {
    // Remaining bytes cause another wakeup.
    let _ = read(bell, &mut [0; 64]);
}

#[cfg(test)]
mod tests {
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::io::write;

    use super::*;

    #[test]
    fn ringing_never_waits_and_nothing_is_sent_the_other_way() {
        let (bell, there) = Bell::new().unwrap();
        fcntl_setfl(&there, OFlags::empty()).unwrap();
        // Many more than fit.
        (0..100_000).for_each(|_| bell.ring());
        assert!(write(&there, &[1; 8]).is_err());
        fcntl_setfl(&there, OFlags::NONBLOCK).unwrap();
        assert!(read(&there, &mut [0; 8]).is_ok());
        drop(there);
        bell.ring();
    }
}
