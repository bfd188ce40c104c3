//! Connections that control listens to. Unlike other descriptors of a process, they may leave
//! while they are open.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{Timespec, epoll};

/// Events taken at a time.
const EVENTS: usize = 64;

/// An epoll descriptor, which control waits for.
pub struct Calls(Option<Arc<OwnedFd>>);

impl Default for Calls {
    fn default() -> Self {
        Self(epoll::create(epoll::CreateFlags::CLOEXEC).ok().map(Arc::new))
    }
}

impl Calls {
    /// The descriptor that control waits for.
    pub fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.0.clone()
    }
    /// Adds a connection until it is closed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add(&self, connection: BorrowedFd<'_>) -> io::Result<()> {
        let poll = self.0.as_ref().ok_or(io::ErrorKind::OutOfMemory)?;
        let events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        Ok(epoll::add(&**poll, connection, epoll::EventData::new_u64(0), events)?)
    }
    /// Removes one that stays open.
    pub fn remove(&self, connection: BorrowedFd<'_>) {
        if let Some(poll) = &self.0 {
            // It may not be there.
            let _ = epoll::delete(&**poll, connection);
        }
    }
    /// Takes what has come: all connections are looked at then.
    pub fn hear(&self) {
        let Some(poll) = &self.0 else { return };
        let mut space = [MaybeUninit::uninit(); EVENTS];
        loop {
            let got = epoll::wait(&**poll, &mut space, Some(&Timespec::default()));
            if got.map_or(0, |(events, _)| events.len()) < EVENTS {
                return;
            }
        }
    }
}
