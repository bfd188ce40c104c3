//! The handle of a session in the hands of an application inside the daemon.

use std::net::{IpAddr, SocketAddr};

use tcp_machine::Time;

use super::app::Ends;
use super::datagram::{self, HEADER};
use super::endpoint::Transport;
use super::session::{Inner, Life, Pending, SessionId};
use super::worker::Worker;

/// A session, for one call of its application.
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
    /// The session of a name, while the application is called for it.
    pub fn stream(&mut self, id: SessionId) -> Option<Stream<'_>> {
        let session = self.worker.at(id.index, id.generation)?;
        let is_own = session.part == self.part && usize::from(id.thread) == self.worker.thread;
        if !is_own || !session.is_seen() {
            return None;
        }
        let now = self.worker.now;
        Some(Stream { worker: self.worker, index: id.index, now })
    }
    /// The session to which all datagrams of a listener come.
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
    /// Its name.
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
    /// Number of the listener that it came to.
    pub fn listener(&self) -> u32 {
        self.session().listener
    }
    /// The word that the application keeps here: 0, or that of its request, to begin with.
    pub fn data(&self) -> u64 {
        self.session().data
    }
    /// Sets it.
    pub fn set_data(&mut self, data: u64) {
        self.session_mut().data = data;
    }
    /// Bytes to read.
    pub fn readable(&self) -> usize {
        self.session().rx.len()
    }
    /// The first bytes to read that lie in one piece: all of a short message, seldom of a long one.
    pub fn peek(&self) -> &[u8] {
        let rx = &self.session().rx;
        rx.piece(&self.worker.chunks, rx.start())
    }
    /// Copies bytes from a place behind the first one, which stay; how many there were.
    pub fn copy(&self, at: usize, to: &mut [u8]) -> usize {
        let rx = &self.session().rx;
        rx.copy(&self.worker.chunks, rx.start() + at as u64, to)
    }
    /// Forgets the first bytes.
    pub fn consume(&mut self, n: usize) {
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        if session.rx.consume(chunks, n) == 0 {
            return;
        }
        match session.inner {
            Inner::Cut(peer) => self.worker.has_room(peer),
            _ => self.ask(Pending::CONSUMED),
        }
    }
    /// Whether the peer sends no more than what is there.
    pub fn is_finished(&self) -> bool {
        self.session().is_finished
    }
    /// Bytes that [`Stream::write`] takes now.
    pub fn space(&self) -> usize {
        match self.session().inner {
            Inner::Cut(peer) => self.worker.sessions.get(peer as usize).map_or(0, |p| p.rx.space()),
            Inner::Udp => self.session().tx.space().saturating_sub(HEADER),
            _ => self.session().tx.space(),
        }
    }
    /// Bytes written that the peer has not acknowledged, or read.
    pub fn unsent(&self) -> usize {
        match self.session().inner {
            Inner::Cut(peer) => self.worker.sessions.get(peer as usize).map_or(0, |p| p.rx.len()),
            _ => self.session().tx.len(),
        }
    }
    /// Writes bytes; how many were taken. Where that is less than all,
    /// [`Application::on_writable`](super::app::Application::on_writable) is called when there is
    /// room. On a session of datagrams it is one, taken whole or not.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let inner = match self.session().inner {
            Inner::Udp => return if self.send(bytes, None) { bytes.len() } else { 0 },
            Inner::Cut(peer) => Some(peer),
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
            // No chunk, and nothing that an acknowledgment could free: it is tried again.
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
    /// Sends a datagram, to the peer of the session if no other is named; whether there was room.
    pub fn send(&mut self, bytes: &[u8], to: Option<SocketAddr>) -> bool {
        let to = to.unwrap_or_else(|| self.session().key.peer());
        let is_sendable = matches!(self.session().inner, Inner::Udp)
            && to.is_ipv6() == self.session().key.is_ip6()
            && to.port() != 0
            && bytes.len() <= datagram::most(to.ip());
        if !is_sendable {
            return false;
        }
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        let is_taken = datagram::put(&mut session.tx, chunks, to, bytes);
        session.wants_room = !is_taken;
        if is_taken {
            self.ask(Pending::SEND);
        }
        is_taken
    }
    /// Takes the first datagram: copies what fits of it, forgets it, and says its length and its
    /// sender.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let Worker { sessions, chunks, .. } = &mut *self.worker;
        let session = &mut sessions[self.index as usize];
        datagram::take(&mut session.rx, chunks, to)
    }
    /// Sends no more: the peer learns it behind the last byte. What it sends is still read.
    pub fn shut(&mut self) {
        self.ask(Pending::SHUT);
    }
    /// Ends the session when all is sent. The application is not called for it any more.
    pub fn close(&mut self) {
        if self.session().life != Life::Closed {
            self.session_mut().life = Life::AppClosed;
            self.ask(Pending::CLOSE);
        }
    }
    /// Ends the session now. The application is not called for it any more.
    pub fn reset(&mut self) {
        self.session_mut().life = Life::AppClosed;
        self.ask(Pending::RESET);
    }
    /// Asks for [`Application::on_readable`](super::app::Application::on_readable) to be called
    /// again soon, after other sessions.
    pub fn wake(&mut self) {
        self.ask(Pending::READABLE);
    }
    /// Asks for [`Application::on_timer`](super::app::Application::on_timer) to be called in so
    /// many seconds; of several requests the last counts. Infinity for no call.
    pub fn wake_in(&mut self, seconds: f64) {
        let at = self.now + seconds;
        let at = if at.is_finite() { Time::from_us((at * 1e6) as u64) } else { Time::NEVER };
        self.session_mut().alarm = at;
        self.worker.arm(self.index);
    }
    /// Whether an address is of the version of the session.
    pub fn is_of_version(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.session().key.is_ip6()
    }
}
