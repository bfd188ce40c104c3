//! Processing of sessions with pending work: callbacks of their applications, and transmission.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tcp_machine::{Connection, Effects, Events, Outgoing, State, Time};

use super::app::Application;
use super::datagram;
use super::fifo::{Chunks, Fifo};
use super::key::Key;
use super::queue::Unfinished;
use super::session::{Failure, Inner, Life, NONE, Pending};
use super::stream::{Stream, Turn};
use super::worker::{TIME_WAIT, Worker, time};

/// Delay before sending is retried when no buffer was free, in microseconds.
const AGAIN: u64 = 1000;

/// Limit of packets that a session sends before other sessions get their turn.
const AT_ONCE: u32 = 4;
/// The same for datagrams, which are short.
const DATAGRAMS: usize = 32;

/// Payload of a packet, in a FIFO.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    fifo: &'a Fifo,
    chunks: &'a Chunks,
    at: u64,
    len: usize,
}

impl<'a> Payload<'a> {
    /// Creates a payload of `len` bytes at position `at`.
    pub fn new(fifo: &'a Fifo, chunks: &'a Chunks, at: u64, len: usize) -> Self {
        Self { fifo, chunks, at, len }
    }
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Iterates over the contiguous pieces; the data may be shorter than the length.
    pub fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let (mut at, end) = (self.at, self.at + self.len as u64);
        std::iter::from_fn(move || {
            let piece = self.fifo.piece(self.chunks, at);
            let piece = &piece[..piece.len().min((end - at) as usize)];
            at += piece.len() as u64;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

/// Transmission of packets.
pub trait Wire {
    /// Sends a segment; false if no buffer is free.
    fn segment(&mut self, key: &Key, out: &Outgoing, payload: Option<Payload<'_>>) -> bool;
    /// Sends a datagram; false if no buffer is free.
    fn datagram(&mut self, key: &Key, payload: Payload<'_>) -> bool;
    /// Number of packets that may still be sent now.
    fn budget(&self) -> u32;
}

impl Worker {
    /// Calls the part of an application for a session; `None` without one. A panic leaves the part
    /// where it was.
    fn call<R>(
        &mut self,
        index: u32,
        work: impl FnOnce(&mut dyn Application, &mut Stream<'_>) -> R,
    ) -> Option<R> {
        let part = self.sessions[index as usize].part as usize;
        let mut object = self.parts.get_mut(part)?.object.take()?;
        let now = self.now;
        let mut stream = Stream { worker: self, index, now };
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut *object, &mut stream)));
        self.parts[part].object = Some(object);
        self.is_panic_of_application = done.is_err();
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }
    /// Gives applications their turns; returns whether one wants another turn soon.
    pub fn turns(&mut self) -> bool {
        let mut again = false;
        for at in 0..self.places.turning.len() {
            let part = self.places.turning[at] as usize;
            let Some(mut object) = self.parts[part].object.take() else { continue };
            let mut turn = Turn { worker: self, part: part as u32 };
            let done = catch_unwind(AssertUnwindSafe(|| object.on_turn(&mut turn)));
            self.parts[part].object = Some(object);
            self.is_panic_of_application = done.is_err();
            again |= done.unwrap_or_else(|panic| resume_unwind(panic));
        }
        again
    }
    /// Ends the session in whose visit its application panicked, as it would again.
    #[cold]
    pub fn abandon(&mut self) {
        let index = std::mem::replace(&mut self.visited, NONE);
        let session = &self.sessions[index as usize];
        let (part, data) = (session.part, session.data);
        let (is_connecting, is_seen) = (session.life == Life::Connecting, session.is_seen());
        let id = self.id_of(index);
        self.remove(index);
        let part = self.parts.get_mut(part as usize).filter(|_| is_seen);
        let Some(object) = part.and_then(|part| part.object.as_mut()) else { return };
        // A second panic has no further effect.
        let _ = catch_unwind(AssertUnwindSafe(|| match is_connecting {
            true => object.on_refused(data, Failure::Withdrawn),
            false => object.on_reset(id, data, Failure::Withdrawn),
        }));
    }
    /// Processes the pending work of a session.
    pub fn visit(&mut self, index: u32, wire: &mut impl Wire) {
        self.tell(index);
        self.obey(index, wire);
        let session = &mut self.sessions[index as usize];
        if session.pending.take(Pending::TIMER) {
            self.timer(index, wire);
        }
        let session = &mut self.sessions[index as usize];
        if session.pending.take(Pending::SEND) {
            self.send(index, wire);
        }
        let session = &mut self.sessions[index as usize];
        if session.pending.take(Pending::TIME_WAIT) {
            self.begin_time_wait(index);
        }
        let session = &mut self.sessions[index as usize];
        if session.pending.take(Pending::ENDED) {
            self.end(index);
        }
        let session = &mut self.sessions[index as usize];
        if matches!(session.inner, Inner::Free) {
            return;
        }
        if session.pending != Pending::default() {
            self.queue(index, Pending::default());
        }
        self.arm(index);
    }
    /// Notifies the application of events.
    fn tell(&mut self, index: u32) {
        let at = index as usize;
        if self.sessions[at].pending.take(Pending::ACCEPT) {
            self.sessions[at].life = Life::Ready;
            let is_taken = self.call(index, |app, stream| app.on_accept(stream));
            if is_taken != Some(true) {
                self.sessions[at].life = Life::AppClosed;
                self.sessions[at].pending.add(Pending::RESET);
            }
        }
        if self.sessions[at].pending.take(Pending::CONNECTED)
            && self.sessions[at].life == Life::Connecting
        {
            self.sessions[at].life = Life::Ready;
            self.connected(index);
            self.call(index, |app, stream| app.on_connected(stream));
        }
        for (what, tell) in TOLD {
            let session = &mut self.sessions[at];
            // An application that has closed is not called again.
            let is_left = session.pending.has(Pending::CLOSE | Pending::RESET);
            let is_told = session.is_seen() && session.life != Life::Connecting && !is_left;
            if session.pending.has(*what) && is_told {
                session.pending.take(*what);
                if *what == Pending::FINISHED {
                    session.life = Life::TransportClosing;
                }
                if *what == Pending::WRITABLE {
                    session.wants_room = false;
                }
                self.call(index, tell);
            }
        }
        let session = &mut self.sessions[at];
        if !session.is_seen() {
            TOLD.iter().for_each(|(what, _)| {
                session.pending.take(*what);
            });
        }
    }
    /// Performs the application's requests.
    fn obey(&mut self, index: u32, wire: &mut impl Wire) {
        let now = time(self.now);
        let Self { sessions, chunks, machine, .. } = self;
        let session = &mut sessions[index as usize];
        let pending = session.pending;
        let asked = Pending::CONSUMED | Pending::SHUT | Pending::CLOSE | Pending::RESET;
        if !session.pending.take(asked) {
            return;
        }
        match &mut session.inner {
            Inner::Tcp(connection) => {
                let mut out = |out: &Outgoing| {
                    let at = session.tx.start() + u64::from(out.ahead);
                    let len = out.segment.len as usize;
                    let payload = (len > 0).then(|| Payload::new(&session.tx, chunks, at, len));
                    wire.segment(&session.key, out, payload)
                };
                let mut effects = Effects::default();
                if pending.has(Pending::RESET) {
                    effects.add(&connection.abort(machine, now, &mut out));
                } else if pending.has(Pending::CLOSE) {
                    let unread = session.rx.len() as u32;
                    effects.add(&connection.close(machine, now, unread, &mut out));
                    if connection.state() == State::TimeWait {
                        effects.events |= Events::TIME_WAIT;
                    }
                } else {
                    if pending.has(Pending::CONSUMED) {
                        let rx = super::tcp::Received::nothing(&mut session.rx, chunks);
                        effects.add(&connection.consumed(machine, now, &rx));
                    }
                    if pending.has(Pending::SHUT) {
                        effects.add(&connection.shut_down(machine, now));
                    }
                }
                if pending.has(Pending::CLOSE) {
                    session.rx.clear(chunks);
                }
                // A FIN may have to be sent, regardless of the effects.
                session.pending.add(Pending::SEND);
                self.apply(index, &effects);
            }
            Inner::Cut(peer) => {
                let peer = *peer;
                self.close_cut(index, peer, pending);
            }
            Inner::Udp if pending.has(Pending::RESET) => self.remove(index),
            Inner::Udp => session.pending.add(Pending::SEND),
            Inner::Over if pending.has(Pending::CLOSE | Pending::RESET) => self.remove(index),
            Inner::Free | Inner::Half(_) | Inner::Wait(_) | Inner::Over => {}
        }
    }
    fn close_cut(&mut self, index: u32, peer: u32, pending: Pending) {
        if pending.has(Pending::SHUT) || pending.has(Pending::CLOSE) {
            if let Some(other) = self.sessions.get_mut(peer as usize) {
                other.is_finished = true;
            }
            self.queue(peer, Pending::FINISHED);
        }
        let is_over = |worker: &Self, at: u32| {
            worker.sessions.get(at as usize).is_none_or(|s| s.life == Life::AppClosed)
        };
        if pending.has(Pending::RESET) {
            if let Some(Inner::Cut(back)) =
                self.sessions.get_mut(peer as usize).map(|s| &mut s.inner)
            {
                *back = NONE;
            }
            if let Some(other) = self.sessions.get_mut(peer as usize) {
                other.failure.get_or_insert(Failure::Reset);
            }
            self.queue(peer, Pending::ENDED);
            if pending.has(Pending::ENDED) {
                // It is withdrawn, which its application learns.
                self.end(index);
            } else {
                self.remove(index);
            }
        } else if pending.has(Pending::CLOSE) && is_over(self, peer) {
            if peer != NONE {
                self.remove(peer);
            }
            self.remove(index);
        }
    }
    /// Handles expired deadlines of the transport.
    fn timer(&mut self, index: u32, wire: &mut impl Wire) {
        let now = time(self.now);
        let Self { sessions, machine, .. } = self;
        let session = &mut sessions[index as usize];
        let key = session.key;
        match &mut session.inner {
            Inner::Tcp(connection) => {
                let available = session.tx.len() as u32;
                let effects = connection.timer(machine, now, available);
                self.apply(index, &effects);
            }
            Inner::Half(half) => {
                let space = session.rx.limit() as u32;
                let mut out = |out: &Outgoing| wire.segment(&key, out, None);
                if half.deadline() <= now && !half.timer(machine, now, space, &mut out) {
                    self.unfinished.push(Unfinished { fib: key.fib(), peer: key.peer().ip() });
                    self.remove(index);
                }
            }
            Inner::Wait(wait) if wait.deadline() <= now => self.remove(index),
            _ => {}
        }
    }
    fn send(&mut self, index: u32, wire: &mut impl Wire) {
        let now = time(self.now);
        let Self { sessions, chunks, machine, .. } = self;
        let session = &mut sessions[index as usize];
        match &mut session.inner {
            Inner::Tcp(connection) => {
                let (mut failed, budget) = (false, wire.budget().min(AT_ONCE));
                if budget == 0 {
                    session.pending.add(Pending::SEND);
                    return;
                }
                let is_more = send_some(
                    connection,
                    (machine, now, budget),
                    (&session.key, &session.tx, chunks),
                    wire,
                    &mut failed,
                );
                if failed {
                    session.retry = now + AGAIN;
                } else if is_more {
                    session.pending.add(Pending::SEND);
                }
            }
            Inner::Udp => self.send_datagrams(index, wire),
            _ => {}
        }
    }
    fn send_datagrams(&mut self, index: u32, wire: &mut impl Wire) {
        let Self { sessions, chunks, now, .. } = self;
        let session = &mut sessions[index as usize];
        let mut sent = 0;
        while let Some((len, to)) = datagram::first(&session.tx, chunks) {
            sent += 1;
            if wire.budget() == 0 || sent > DATAGRAMS {
                session.pending.add(Pending::SEND);
                break;
            }
            let mut local = session.key.local();
            if local.ip().is_unspecified() {
                local.set_ip(session.reached_at.unwrap_or(local.ip()));
            }
            let key = Key::of(local, to, session.key.protocol(), session.key.fib());
            let at = session.tx.start() + datagram::HEADER as u64;
            if !wire.datagram(&key, Payload::new(&session.tx, chunks, at, len)) {
                session.retry = time(*now) + AGAIN;
                break;
            }
            session.tx.consume(chunks, datagram::HEADER + len);
        }
        if session.wants_room && session.tx.space() * 2 >= session.tx.limit() {
            session.pending.add(Pending::WRITABLE);
        }
        if session.life == Life::AppClosed && session.tx.is_empty() {
            self.remove(index);
        }
    }
    fn begin_time_wait(&mut self, index: u32) {
        let now = time(self.now);
        let Self { sessions, chunks, machine, .. } = self;
        let session = &mut sessions[index as usize];
        let Inner::Tcp(connection) = &mut session.inner else { return };
        if session.life != Life::AppClosed {
            // The application has shut its direction and is still to read: it comes here when
            // that has closed it, unless its time is over before.
            session.is_finished = true;
            return;
        }
        let wait = connection.time_wait(machine, now);
        connection.release(machine);
        session.inner = Inner::Wait(wait);
        session.rx.clear(chunks);
        session.tx.clear(chunks);
        self.waits += 1;
        if self.waits > TIME_WAIT {
            self.remove(index);
        }
    }
    /// Ends a session whose transport has ended. After an orderly end, the application closes it.
    fn end(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        let is_in_order = session.failure.is_none() && matches!(session.inner, Inner::Tcp(_));
        if is_in_order && session.is_seen() && session.life != Life::Connecting {
            return self.keep_until_closed(index);
        }
        let (is_connecting, is_seen) = (session.life == Life::Connecting, session.is_seen());
        let (data, why) = (session.data, session.failure);
        let is_orderly = why.is_none();
        let id = self.id_of(index);
        if is_connecting {
            let why = why.unwrap_or(Failure::Refused);
            self.call(index, |app, _| app.on_refused(data, why));
        } else if is_seen && !is_orderly {
            self.call(index, |app, _| app.on_reset(id, data, why.unwrap_or(Failure::Reset)));
        }
        self.remove(index);
    }
    /// Resets a session; returns whether it exists.
    pub fn withdraw_at(&mut self, index: u32) -> bool {
        let session = &mut self.sessions[index as usize];
        let pending = match session.inner {
            Inner::Free => return false,
            Inner::Tcp(_) | Inner::Cut(_) => Pending::RESET | Pending::ENDED,
            _ => Pending::ENDED,
        };
        session.failure = Some(Failure::Withdrawn);
        self.queue(index, pending);
        true
    }
}

type Tell = fn(&mut dyn Application, &mut Stream<'_>);

/// Notifications in their order.
const TOLD: &[(Pending, Tell)] = &[
    (Pending::READABLE, |app, stream| app.on_readable(stream)),
    (Pending::FINISHED, |app, stream| app.on_close(stream)),
    (Pending::WRITABLE, |app, stream| app.on_writable(stream)),
    (Pending::ALARM, |app, stream| app.on_timer(stream)),
];

/// Sends data of a connection; returns whether there is more than the budget allowed.
fn send_some(
    connection: &mut Connection,
    (machine, now, budget): (&mut tcp_machine::Machine, Time, u32),
    (key, tx, chunks): (&Key, &Fifo, &Chunks),
    wire: &mut impl Wire,
    failed: &mut bool,
) -> bool {
    let mut out = |out: &Outgoing| {
        let (at, len) = (tx.start() + u64::from(out.ahead), out.segment.len as usize);
        let payload = (len > 0).then(|| Payload::new(tx, chunks, at, len));
        let is_sent = wire.segment(key, out, payload);
        *failed |= !is_sent;
        is_sent
    };
    connection.send(machine, now, tx.len() as u32, budget, &mut out)
}
