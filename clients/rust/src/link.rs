//! The transport of bytes to the router and back: a socket, or memory shared with the router behind
//! it.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use control::socket::receive_with;
use infra::memory::lane::Lane;

/// Room for what is read at once.
const CHUNK: usize = 256 << 10;
/// Time that shared memory is polled for before a bell is waited for.
const LOOK: Duration = Duration::from_micros(50);

#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    lane: Option<Lane>,
    /// Descriptor received with the bytes read last.
    descriptor: Option<OwnedFd>,
    /// Whether looking again is worth while: the router runs beside us.
    looks: bool,
}

impl Link {
    pub fn new(socket: UnixStream) -> Self {
        let looks = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        Self { socket, lane: None, descriptor: None, looks }
    }

    /// The descriptor that came with the bytes read last.
    pub fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptor.take()
    }

    /// Goes on in shared memory.
    pub fn enter(&mut self, lane: Lane) {
        self.lane = Some(lane);
    }

    /// Sets how long [`Link::read`] waits; `None` forever.
    pub fn limit(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }

    /// Sends everything.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(lane) = &mut self.lane else { return self.socket.write_all(bytes) };
        while !bytes.is_empty() {
            let sent = lane.send(bytes)?;
            bytes = &bytes[sent..];
            ring(lane, &mut self.socket)?;
            if sent == 0 {
                wait(lane, &mut self.socket, true)?;
            }
        }
        Ok(())
    }

    /// Waits for bytes and appends them: at least one, and `room` or more at a time if they are
    /// there.
    pub fn read(&mut self, into: &mut Vec<u8>, room: usize) -> io::Result<()> {
        let room = room.max(CHUNK);
        let Some(lane) = &mut self.lane else {
            let old = into.len();
            into.resize(old + room, 0);
            let (read, descriptor) = match receive_with(&self.socket, &mut into[old..]) {
                Ok(got) => got,
                Err(rustix_error) => {
                    into.truncate(old);
                    return Err(rustix_error.into());
                }
            };
            into.truncate(old + read);
            self.descriptor = descriptor;
            return if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
        };
        let looks = self.looks;
        #[allow(clippy::disallowed_methods, reason = "how long to look is real time")]
        let start = Instant::now();
        while lane.receive(into, room)? == 0 {
            if looks && start.elapsed() < LOOK {
                std::hint::spin_loop();
            } else {
                wait(lane, &mut self.socket, false)?;
            }
        }
        ring(lane, &mut self.socket)
    }
}

/// Wakes the router, if it sleeps.
fn ring(lane: &mut Lane, bell: &mut UnixStream) -> io::Result<()> {
    if lane.must_ring() { bell.write_all(&[0]) } else { Ok(()) }
}

/// Waits until the router rings.
fn wait(lane: &mut Lane, bell: &mut UnixStream, wants_room: bool) -> io::Result<()> {
    if !lane.sleep(wants_room)? {
        return Ok(());
    }
    let rung = bell.read(&mut [0; 64]);
    lane.wake();
    if rung? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
