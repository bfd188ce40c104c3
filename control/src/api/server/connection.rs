//! One client and its socket.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use infra::memory::lane::Lane;
use tokio::io::Interest;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::super::dispatch::{Ignored, Job, dispatch};
use super::super::lane;
use super::super::outgoing::HEADER;
use super::super::retval::Retval;
use super::super::work::Progress;
use super::transport::{CHUNK, Transport};
use super::{Server, handshake, now};
use crate::socket::Client;
use crate::turn::{TURN, Turn, pause};

/// Most messages between two looks at the clock, where those before were quick.
const BATCH: u32 = 8;
/// Longest time that a quick message takes.
const QUICK: Duration = Duration::from_micros(30);
/// Answers that may wait for a client before it has to read some.
const HIGH: usize = 1 << 20;
/// Longest message a client may send.
const MAX_MESSAGE: usize = 64 << 20;
/// Longest interval between checks of a request that waits for a change.
const LOOK: Duration = Duration::from_millis(10);
/// Longest time that a client which sends nothing more may take to read the rest.
const LINGER: Duration = Duration::from_secs(5);

/// Dropping it disconnects the client and cancels what is in progress.
pub(super) struct Connection<C: 'static> {
    server: Server<C>,
    transport: Transport,
    /// Client index.
    index: u32,
    /// Notified when something waits for the client.
    ready: Rc<Notify>,
    /// Read and not yet answered, from `taken` on.
    input: Vec<u8>,
    taken: usize,
    /// On its way out, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Requests of this turn.
    answered: usize,
    job: Option<Job<C>>,
    /// Time at which `job` goes on.
    due: Option<Instant>,
    /// Deadline for reading the rest, of a client that has disconnected or sends nothing more.
    end: Option<Instant>,
    turn: Turn,
}

/// Event that a connection waits for.
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
    pub fn new(server: &Server<C>, stream: Client) -> Self {
        let ready = Rc::new(Notify::new());
        let index = server.0.clients.connect(String::new(), Rc::clone(&ready));
        Self {
            server: server.clone(),
            transport: Transport::new(stream),
            index,
            ready,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            sent: 0,
            answered: 0,
            job: None,
            due: None,
            end: None,
            turn: Turn::new(),
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
            self.transport.ring()?;
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
            let wants_room = self.sent < self.output.len();
            if next != Next::Turn && socket.is_some() && !self.transport.may_wait(wants_room)? {
                next = Next::Turn;
            }
            if next == Next::Turn {
                // By itself: answers of this turn have notified `ready`, which would end the wait
                // before others had theirs.
                self.turn.pass().await;
                self.transport.wake();
                continue;
            }
            let Self { turn, ready, transport, .. } = self;
            let event = async {
                tokio::select! {
                    () = async { sleep_until(time.unwrap_or_else(now)).await }, if time.is_some() =>
                        Ok(false),
                    () = ready.notified() => Ok(false),
                    ready = transport.ready(socket) => ready.map(|ready| ready.is_readable()),
                }
            };
            if turn.wait(event).await? {
                self.read()?;
            }
            self.transport.wake();
        }
    }

    /// The events that the socket is watched for.
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
        self.forget_taken();
        if !self.transport.read(&mut self.input)? {
            self.linger();
        }
        Ok(())
    }

    /// Ends the connection once the rest is done and read, or after a while.
    fn linger(&mut self) {
        self.end.get_or_insert_with(|| now() + LINGER);
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
            match self.transport.write(&self.output[self.sent..])? {
                Some(count) => self.sent += count,
                None => return Ok(()),
            }
        }
    }

    /// Answers what was read, for at most one slice.
    fn work(&mut self) -> io::Result<Next> {
        self.answered = 0;
        let next = self.work_slice();
        self.server.0.clients.note_turn(self.answered);
        next
    }

    fn work_slice(&mut self) -> io::Result<Next> {
        let (mut last, mut count) = (now(), 1);
        let end = last + TURN;
        loop {
            for _ in 0..count {
                if !self.has_room() {
                    return Ok(Next::Room);
                }
                let next = if self.job.is_some() { self.step() } else { self.message()? };
                if let Some(next) = next {
                    return Ok(next);
                }
            }
            let time = now();
            if time >= end {
                return Ok(Next::Turn);
            }
            let is_quick = time - last < QUICK * count && self.job.is_none();
            (last, count) = (time, if is_quick { BATCH } else { 1 });
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
            Progress::Sleep(time) => self.due = Some(now() + pause(time)),
            Progress::Wait => self.due = Some(now() + LOOK),
        }
        self.due.map(Next::Time)
    }

    /// Answers the next message.
    fn message(&mut self) -> io::Result<Option<Next>> {
        let Some(len) = self.whole_message()? else {
            self.forget_taken();
            let has_come = self.transport.refill(&mut self.input)?;
            return Ok((!has_come).then_some(Next::Input));
        };
        let start = self.taken + HEADER;
        let message = &self.input[start..start + len];
        let shared = &self.server.0;
        self.taken = start + len;
        self.answered += 1;
        let answer = handshake::answer(&shared.api, &shared.clients, self.index, message);
        match answer {
            Some(handshake::Answer::Lane { context, size }) => {
                self.enter(context, size)?;
                return Ok(None);
            }
            Some(handshake::Answer::Reply { out, disconnects }) => {
                shared.clients.put(self.index, out);
                if disconnects {
                    self.linger();
                }
                return Ok(None);
            }
            None => {}
        }
        let mut cx = shared.cx.borrow_mut();
        match dispatch(shared.around(), &mut cx, self.index, message) {
            Ok(job) => self.job = job,
            Err(Ignored::Empty) => {}
            Err(why) => shared.log.warn(why),
        }
        Ok(None)
    }

    /// Length of the next message, if all of it is here.
    fn whole_message(&self) -> io::Result<Option<usize>> {
        let rest = &self.input[self.taken..];
        let Some((header, rest)) = rest.split_at_checked(HEADER) else { return Ok(None) };
        let len = u32::from_be_bytes(header[8..12].try_into().expect("four bytes")) as usize;
        if len > MAX_MESSAGE {
            self.server.0.log.warn(format_args!("a client announced a message of {len} bytes"));
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((rest.len() >= len).then_some(len))
    }

    /// Goes on in shared memory, if nothing else is under way.
    fn enter(&mut self, context: u32, size: u32) -> io::Result<()> {
        let shared = &self.server.0;
        let is_idle = self.taken == self.input.len()
            && self.sent == self.output.len()
            && shared.clients.waiting(self.index) == 0;
        let made = if !is_idle {
            Err(Retval::IN_USE)
        } else if size == 0 || size > lane::MOST_BYTES {
            Err(Retval::INVALID_VALUE)
        } else if shared.clients.lanes() >= lane::MOST {
            Err(Retval::LIMIT_EXCEEDED)
        } else {
            Lane::create(size as usize).map_err(|_| Retval::SYSCALL_ERROR_1)
        };
        let capacity = made.as_ref().map(|(lane, _)| lane.capacity());
        let reply = handshake::lane(&shared.api, context, capacity.map_err(|retval| *retval));
        match made {
            Ok((lane, file)) => {
                shared.clients.set_lane(self.index, lane.capacity());
                self.transport.enter(lane, &file, &reply.bytes)
            }
            Err(_) => {
                shared.clients.put(self.index, reply);
                Ok(())
            }
        }
    }

    /// Makes room for the next message, and frees the memory of a big one.
    fn forget_taken(&mut self) {
        if self.taken == self.input.len() && self.input.capacity() > 2 * CHUNK {
            self.input = Vec::new();
        } else {
            self.input.drain(..self.taken);
        }
        self.taken = 0;
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
