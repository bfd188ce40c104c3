//! One client and its socket.

use std::future::pending;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::super::dispatch::{Ignored, Job, dispatch};
use super::super::outgoing::HEADER;
use super::super::work::Progress;
use super::Server;
use super::handshake;

/// Longest time that one client is served while others wait.
const SLICE: Duration = Duration::from_millis(2);
/// Messages between two looks at the clock.
const BATCH: usize = 16;
/// Answers that may wait for a client before it has to read some.
const HIGH: usize = 1 << 20;
/// Room for what is read at once.
const CHUNK: usize = 64 << 10;
/// Longest message a client may send.
const MAX_MESSAGE: usize = 64 << 20;
/// Longest time a request that waits for a change goes without looking.
const LOOK: Duration = Duration::from_millis(10);
/// How long a client that sends nothing more may take to read the rest.
const LINGER: Duration = Duration::from_secs(5);

/// Dropping it disconnects the client and cancels what is in progress.
pub(super) struct Connection<C: 'static> {
    server: Server<C>,
    stream: UnixStream,
    /// The client's number.
    index: u32,
    /// Notified when something waits for the client.
    ready: Rc<Notify>,
    /// Read and not yet answered, from `taken` on.
    input: Vec<u8>,
    taken: usize,
    /// On its way out, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    job: Option<Job<C>>,
    /// When `job` wants to go on.
    due: Option<Instant>,
    /// When the client has said that it sends nothing more, or to disconnect: how long it may take
    /// to read the rest.
    end: Option<Instant>,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// More to read.
    Input,
    /// The others to have their turn.
    Turn,
    /// This time.
    Time(Instant),
    /// The client to read its answers.
    Room,
}

impl<C: 'static> Connection<C> {
    pub fn new(server: &Server<C>, stream: UnixStream) -> Self {
        let ready = Rc::new(Notify::new());
        let index = server.0.clients.connect(String::new(), Rc::clone(&ready));
        Self {
            server: server.clone(),
            stream,
            index,
            ready,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            sent: 0,
            job: None,
            due: None,
            end: None,
        }
    }

    /// Serves the client until either side has had enough.
    pub async fn run(mut self) {
        // An error means that the client is gone.
        let _ = self.serve().await;
    }

    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let mut next = self.work()?;
            self.write()?;
            if next == Next::Room && self.has_room() {
                next = Next::Turn;
            }
            let is_idle = next == Next::Input && self.sent == self.output.len();
            if self.end.is_some_and(|end| is_idle || now() >= end) {
                return Ok(());
            }
            let time = match next {
                Next::Time(time) => Some(time),
                _ => self.end,
            };
            let socket = self.interest(next);
            tokio::select! {
                () = yield_now(), if next == Next::Turn => {}
                () = async { sleep_until(time.unwrap_or_else(now)).await }, if time.is_some() => {}
                () = self.ready.notified() => {}
                ready = async {
                    match socket {
                        Some(interest) => self.stream.ready(interest).await,
                        None => pending().await,
                    }
                } => if ready?.is_readable() {
                    self.read()?;
                }
            }
        }
    }

    /// What the socket is watched for.
    fn interest(&self, next: Next) -> Option<Interest> {
        let reads = self.end.is_none()
            && match next {
                Next::Input => true,
                Next::Time(_) => self.input.len() - self.taken < CHUNK,
                Next::Turn | Next::Room => false,
            };
        match (reads, self.sent < self.output.len()) {
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (true, false) => Some(Interest::READABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    fn has_room(&self) -> bool {
        let waiting = self.server.0.clients.waiting(self.index);
        self.output.len() - self.sent + waiting < HIGH
    }

    fn read(&mut self) -> io::Result<()> {
        self.input.drain(..self.taken);
        self.taken = 0;
        self.input.reserve(CHUNK);
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => self.end = Some(now() + LINGER),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Gives the socket as much as it takes.
    fn write(&mut self) -> io::Result<()> {
        loop {
            if self.sent == self.output.len() {
                self.output = self.server.0.clients.take(self.index).bytes;
                self.sent = 0;
                if self.output.is_empty() {
                    return Ok(());
                }
            }
            match self.stream.try_write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers what was read, for at most one slice.
    fn work(&mut self) -> io::Result<Next> {
        let end = now() + SLICE;
        loop {
            for _ in 0..BATCH {
                if !self.has_room() {
                    return Ok(Next::Room);
                }
                let next = if self.job.is_some() { self.step() } else { self.message()? };
                if let Some(next) = next {
                    return Ok(next);
                }
            }
            if now() >= end {
                return Ok(Next::Turn);
            }
        }
    }

    /// Does a little of the request in progress.
    fn step(&mut self) -> Option<Next> {
        let job = self.job.as_mut()?;
        if let Some(due) = self.due.filter(|due| now() < *due) {
            return Some(Next::Time(due));
        }
        self.due = None;
        let shared = &self.server.0;
        match job.step(shared.around(), &mut shared.cx.borrow_mut()) {
            Progress::Again => return None,
            Progress::Done => {
                self.job = None;
                return None;
            }
            Progress::Sleep(time) => self.due = Some(now() + time),
            Progress::Wait => self.due = Some(now() + LOOK),
        }
        self.due.map(Next::Time)
    }

    /// Answers the next message.
    fn message(&mut self) -> io::Result<Option<Next>> {
        let rest = &self.input[self.taken..];
        let Some((header, rest)) = rest.split_at_checked(HEADER) else {
            self.forget_input();
            return Ok(Some(Next::Input));
        };
        let len = u32::from_be_bytes(header[8..12].try_into().expect("four bytes")) as usize;
        if len > MAX_MESSAGE {
            self.server.0.log.warn(format_args!("a client announced a message of {len} bytes"));
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(message) = rest.get(..len) else { return Ok(Some(Next::Input)) };
        self.taken += HEADER + len;
        let shared = &self.server.0;
        if let Some(answer) = handshake::answer(&shared.api, &shared.clients, self.index, message) {
            if answer.disconnects {
                self.end = Some(now() + LINGER);
            }
            shared.clients.put(self.index, answer.out);
            return Ok(None);
        }
        let mut cx = shared.cx.borrow_mut();
        match dispatch(shared.around(), &mut cx, self.index, message) {
            Ok(job) => self.job = job,
            Err(Ignored::Empty | Ignored::NoClient) => {}
            Err(why) => shared.log.warn(why),
        }
        Ok(None)
    }

    /// Gives memory back that a big message needed.
    fn forget_input(&mut self) {
        if self.taken == self.input.len() {
            self.input = Vec::new();
            self.taken = 0;
        }
    }
}

impl<C> Drop for Connection<C> {
    fn drop(&mut self) {
        self.server.0.clients.release(self.index);
        // The context is borrowed here only if a panic is on its way up from a handler.
        if let Some(job) = self.job.take()
            && let Ok(mut cx) = self.server.0.cx.try_borrow_mut()
        {
            job.cancel(&mut cx);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "clients and their slices live in real time")]
fn now() -> Instant {
    Instant::now()
}
