//! The transport of a connection: its socket, or memory that both sides share
//! ([`lane`](super::super::lane)).

use std::cell::RefCell;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use infra::memory::lane::Lane;
use tokio::io::{Interest, Ready};
use tokio::time::Instant;

use crate::socket::{Client, send_with};

/// Room for what is read at once.
pub(super) const CHUNK: usize = 64 << 10;
/// Time that shared memory is polled for before a bell is waited for.
const LOOK: Duration = Duration::from_micros(20);

thread_local! {
    /// Room for what is read, of all connections.
    static ROOM: RefCell<Vec<u8>> = RefCell::new(vec![0; CHUNK]);
}

pub(super) struct Transport {
    stream: Client,
    lane: Option<Shared>,
}

struct Shared {
    lane: Lane,
    /// Time of the last message.
    busy: Instant,
    /// Whether looking again is worth while: the client runs beside us.
    looks: bool,
    /// The reader of replies is gone, though some of the requests may wait.
    is_gone: bool,
}

impl Transport {
    pub fn new(stream: Client) -> Self {
        Self { stream, lane: None }
    }

    /// Answers with `reply` and `file`, and goes on in shared memory.
    pub fn enter(&mut self, lane: Lane, file: &OwnedFd, reply: &[u8]) -> io::Result<()> {
        // The socket is empty, so it takes a few bytes.
        if send_with(&self.stream, reply, file)? != reply.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let looks = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        self.lane = Some(Shared { lane, busy: super::now(), looks, is_gone: false });
        Ok(())
    }

    /// Appends what has come through the socket; false when the client sends nothing more.
    pub fn read(&mut self, input: &mut Vec<u8>) -> io::Result<bool> {
        let read = match &mut self.lane {
            // Bells.
            Some(shared) => {
                let read = self.stream.try_read(&mut [0; 64]);
                shared.is_gone |= matches!(read, Ok(0));
                read
            }
            None => {
                let stream = &self.stream;
                ROOM.with_borrow_mut(|room| {
                    let read = stream.try_read(room)?;
                    input.extend_from_slice(&room[..read]);
                    Ok(read)
                })
            }
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            read => Ok(read? > 0),
        }
    }

    /// Appends what has come through shared memory; whether anything has.
    pub fn refill(&mut self, input: &mut Vec<u8>) -> io::Result<bool> {
        let Some(shared) = &mut self.lane else { return Ok(false) };
        let has_come = shared.lane.receive(input, CHUNK)? > 0;
        if has_come {
            shared.busy = super::now();
        }
        Ok(has_come)
    }

    /// Sends as much as there is room for; `None` when there is none. What a client that is gone
    /// would have got is dropped.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let sent = match &mut self.lane {
            Some(shared) if shared.is_gone => return Ok(Some(bytes.len())),
            Some(shared) => Ok(shared.lane.send(bytes)?),
            None => self.stream.try_write(bytes),
        };
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            sent => sent.map(|sent| (sent > 0).then_some(sent)),
        }
    }

    /// Wakes the client, if it sleeps.
    pub fn ring(&mut self) -> io::Result<()> {
        let lane = self.lane.as_mut().filter(|shared| !shared.is_gone);
        if lane.is_some_and(|shared| shared.lane.must_ring()) {
            match self.stream.try_write(&[0]) {
                // It has bells enough then.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                rung => drop(rung?),
            }
        }
        Ok(())
    }

    /// Whether there is nothing to do but to wait; to be asked before [`Transport::ready`] when the
    /// connection wants to read, or to write what had no room.
    pub fn may_wait(&mut self, wants_room: bool) -> io::Result<bool> {
        let Some(Shared { lane, busy, looks, is_gone }) = &mut self.lane else { return Ok(true) };
        if *is_gone {
            return Ok(true);
        }
        if *looks && super::now() - *busy < LOOK {
            return Ok(false);
        }
        Ok(lane.sleep(wants_room)?)
    }

    /// Waits until the socket is as wanted. In shared memory that means a bell, of which there are
    /// none from a client that is gone.
    pub async fn ready(&self, wanted: Option<Interest>) -> io::Result<Ready> {
        match (wanted, &self.lane) {
            (Some(_), Some(shared)) if shared.is_gone => pending().await,
            (Some(_), Some(_)) => self.stream.ready(Interest::READABLE).await,
            (Some(interest), None) => self.stream.ready(interest).await,
            (None, _) => pending().await,
        }
    }

    /// Waiting is over.
    pub fn wake(&mut self) {
        if let Some(shared) = &mut self.lane {
            shared.lane.wake();
        }
    }
}
