//! The session handle for applications inside the daemon.

use std::net::{IpAddr, SocketAddr};

use tcp_machine::{Settings, Time};

use super::app::Ends;
use super::datagram::{self, HEADER};
use super::endpoint::Transport;
use super::session::{Inner, Life, Pending, SessionId};
use super::worker::Worker;

/// Bytes that all applications together may move in a turn.
const TURN: usize = 1 << 20;
/// Bytes that each may move, however many applications there are.
const LEAST: usize = 16 << 10;

/// The fate of an offered datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It will be sent.
    Taken,
    /// There is no room for it now.
    NoRoom,
    /// It can never be sent on this session.
    Unsendable,
}

/// A session, for the duration of one call of its application.
pub struct Stream<'w> {
    pub(super) worker: &'w mut Worker,
    pub(super) index: u32,
    pub(super) now: f64,
}

/// All sessions of an application on its thread, for one [turn](super::app::Application::on_turn).
pub struct Turn<'w> {
    pub(super) worker: &'w mut Worker,
    pub(super) part: u32,
}

impl Turn<'_> {
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.worker.now
    }
    /// The thread.
    pub fn thread(&self) -> usize {
        self.worker.thread
    }
    /// Bytes that the application may move in a turn, if moving them is all it does: all of them
    /// together take well below a millisecond.
    pub fn share(&self) -> usize {
        (TURN / self.worker.parts.len().max(1)).max(LEAST)
    }
    /// The session with the given ID, if the application still gets calls for it.
    pub fn stream(&mut self, id: SessionId) -> Option<Stream<'_>> {
        let session = self.worker.at(id.index, id.generation)?;
        let is_own = session.part == self.part && usize::from(id.thread) == self.worker.thread;
        if !is_own || !session.is_seen() {
            return None;
        }
        let now = self.worker.now;
        Some(Stream { worker: self.worker, index: id.index, now })
    }
    /// The session for all datagrams of a listener.
    pub fn listening(&mut self, listener: u32) -> Option<Stream<'_>> {
        let index = self.worker.listening(listener)?;
        self.stream(self.worker.id_of(index))
    }
}

impl Stream<'_> {
    fn session(&self) -> &super::session::Session {
        &self.worker.sessions[self.index as usize]
    }
    fn session_mut(&mut self) -> &mut super::session::Session {
        &mut self.worker.sessions[self.index as usize]
    }
    fn ask(&mut self, what: Pending) {
        self.worker.queue(self.index, what);
    }
    /// Its ID.
    pub fn id(&self) -> SessionId {
        self.worker.id_of(self.index)
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.now
    }
    /// Transport, addresses and ports.
    pub fn ends(&self) -> Ends {
        let session = self.session();
        let transport = match session.inner {
            Inner::Udp => Transport::Udp,
            Inner::Cut(_) => Transport::Ct,
            _ => Transport::Tcp,
        };
        let (local, peer, fib) = (session.key.local(), session.key.peer(), session.key.fib());
        Ends { transport, local, peer, fib, namespace: session.namespace }
    }
    /// Number of the listener that accepted it.
    pub fn listener(&self) -> u32 {
        self.session().listener
    }
    /// The application's own value: initially that of its request, or 0; all ones
    /// in sessions of all peers of a listener, which begin without a call.
    pub fn data(&self) -> u64 {
        self.session().data
    }
    /// Sets the application's own value.
    pub fn set_data(&mut self, data: u64) {
        self.session_mut().data = data;
    }
    /// Number of readable bytes.
    pub fn readable(&self) -> usize {
        self.session().rx.len()
    }
    /// The first contiguous bytes: all of a short message, seldom all of a long one.
    pub fn peek(&self) -> &[u8] {
        let rx = &self.session().rx;
        rx.piece(&self.worker.chunks, rx.start())
    }
    /// Copies bytes from an offset without consuming them; returns their number.
    pub fn copy(&self, at: usize, to: &mut [u8]) -> usize {
        let rx = &self.session().rx;
        rx.copy(&self.worker.chunks, rx.start() + at as u64, to)
    }
    /// Consumes the first bytes.
    pub fn consume(&mut self, n: usize) {
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        if session.rx.consume(chunks, n) == 0 {
            return;
        }
        match session.inner {
            Inner::Cut(peer) => self.worker.room_freed(peer),
            _ => self.ask(Pending::CONSUMED),
        }
    }
    /// Whether datagrams of all peers of a listener come to it.
    pub fn is_listening(&self) -> bool {
        self.session().life == Life::Listening
    }
    /// Whether the peer has finished sending.
    pub fn is_finished(&self) -> bool {
        self.session().is_finished
    }
    /// Number of bytes that [`Stream::write`] accepts now.
    pub fn space(&self) -> usize {
        match self.session().inner {
            Inner::Cut(peer) => self.worker.sessions.get(peer as usize).map_or(0, |p| p.rx.space()),
            Inner::Udp => self.session().tx.space().saturating_sub(HEADER),
            Inner::Over => 0,
            _ => self.session().tx.space(),
        }
    }
    /// Number of written bytes that the peer has not acknowledged or read.
    pub fn unsent(&self) -> usize {
        match self.session().inner {
            Inner::Cut(peer) => self.worker.sessions.get(peer as usize).map_or(0, |p| p.rx.len()),
            _ => self.session().tx.len(),
        }
    }
    /// Writes bytes and returns how many were accepted. If not all were,
    /// [`Application::on_writable`](super::app::Application::on_writable) is called when there is
    /// space. On a datagram session, the bytes are one datagram, accepted whole or not at all.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let inner = match self.session().inner {
            Inner::Udp => return if self.send(bytes, None) { bytes.len() } else { 0 },
            Inner::Cut(peer) => Some(peer),
            Inner::Over => return 0,
            _ => None,
        };
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let Some(fifo) = (match inner {
            Some(peer) => sessions.get_mut(peer as usize).map(|peer| &mut peer.rx),
            None => Some(&mut sessions[self.index as usize].tx),
        }) else {
            return 0;
        };
        let n = fifo.write(chunks, bytes);
        self.session_mut().wants_room = n < bytes.len();
        if n < bytes.len() && inner.is_none() && self.session().tx.is_empty() {
            // No chunk is free, and no acknowledgment will free one: retry later.
            self.wake_in(0.001);
        }
        if n > 0 {
            match inner {
                Some(peer) => self.worker.queue(peer, Pending::READABLE),
                None => self.ask(Pending::SEND),
            }
        }
        n
    }
    /// Sends a datagram to `to`, or to the peer of the session; returns whether it fit.
    pub fn send(&mut self, bytes: &[u8], to: Option<SocketAddr>) -> bool {
        self.offer(bytes, to) == Offered::Taken
    }
    /// The same, with the reason why it was not taken. One that finds no room may be offered again
    /// when [`Application::on_writable`](super::app::Application::on_writable) or
    /// [`Application::on_timer`](super::app::Application::on_timer) is called.
    pub fn offer(&mut self, bytes: &[u8], to: Option<SocketAddr>) -> Offered {
        let to = to.unwrap_or_else(|| self.session().key.peer());
        let is_sendable = matches!(self.session().inner, Inner::Udp)
            && to.is_ipv6() == self.session().key.is_ip6()
            && to.port() != 0
            && bytes.len() <= datagram::most(to.ip())
            && HEADER + bytes.len() <= self.session().tx.limit();
        if !is_sendable {
            return Offered::Unsendable;
        }
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        let is_taken = datagram::put(&mut session.tx, chunks, to, bytes);
        session.wants_room = !is_taken;
        if is_taken {
            self.ask(Pending::SEND);
            return Offered::Taken;
        }
        if self.session().tx.is_empty() {
            // No chunk is free, and nothing sent will free one: retry later.
            self.wake_in(0.001);
        }
        Offered::NoRoom
    }
    /// Copies as much of the first datagram as fits, which stays; returns its length and sender.
    pub fn peek_datagram(&self, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
        datagram::copy_first(&self.session().rx, &self.worker.chunks, to)
    }
    /// Removes the first datagram and copies as much of it as fits; returns its length and sender.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        datagram::take(&mut session.rx, chunks, to)
    }
    /// Changes settings of a TCP session; no others have any.
    pub fn set_tcp(&mut self, settings: Settings) {
        if let Inner::Tcp(connection) = &mut self.session_mut().inner {
            connection.set(settings);
            self.ask(Pending::SEND);
        }
    }
    /// Finishes sending, after all written data. Data from the peer is still received.
    pub fn shut(&mut self) {
        self.ask(Pending::SHUT);
    }
    /// Ends the session after all data is sent. The application gets no more calls for it.
    pub fn close(&mut self) {
        if self.session().life != Life::Closed {
            self.session_mut().life = Life::AppClosed;
            self.ask(Pending::CLOSE);
        }
    }
    /// Ends the session now. The application gets no more calls for it.
    pub fn reset(&mut self) {
        self.session_mut().life = Life::AppClosed;
        self.ask(Pending::RESET);
    }
    /// Asks for [`Application::on_readable`](super::app::Application::on_readable) to be called
    /// again soon, after other sessions.
    pub fn wake(&mut self) {
        self.ask(Pending::READABLE);
    }
    /// Asks for [`Application::on_timer`](super::app::Application::on_timer) to be called after the
    /// given seconds, replacing any earlier request. Infinity cancels the call.
    pub fn wake_in(&mut self, seconds: f64) {
        let at = self.now + seconds;
        let at = if at.is_finite() { Time::from_us((at * 1e6) as u64) } else { Time::NEVER };
        self.session_mut().alarm = at;
        self.worker.arm(self.index);
    }
    /// Whether an address has the IP version of the session.
    pub fn is_of_version(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.session().key.is_ip6()
    }
}
