//! Outgoing sessions, adding and removing parts of applications, and merging of threads.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tcp_machine::{Connection, Settings, Time};
use wire::Protocol;

use super::app::Application;
use super::connecting::{Open, Request, refused};
use super::endpoint::{Endpoint, Transport};
use super::key::Key;
use super::listeners::Listener;
use super::ports::{Ports, Share};
use super::session::{Failure, Inner, Life, NONE, Pending, Session, SessionId};
use super::tcp::flow_of;
use super::version::unspecified;
use super::worker::{New, Part, Worker, time};

/// A part of an application that has no thread.
pub struct Spare {
    /// Number of the application.
    pub app: u32,
    /// The part.
    pub object: Box<dyn Application>,
    /// Listeners, and its words in their sessions.
    pub words: Vec<(u32, u64)>,
}

impl Part {
    /// Whether its place is free.
    fn is_unused(&self) -> bool {
        self.app == NONE && self.sessions == 0
    }
    /// Takes the object out, and leaves the place to its sessions.
    fn vacate(&mut self) -> Option<Box<dyn Application>> {
        (self.app, self.is_spare) = (NONE, false);
        self.object.take()
    }
}

impl Worker {
    /// Adds the part of an application.
    pub fn enter(&mut self, app: u32, object: Box<dyn Application>) {
        let has_turns = object.has_turns();
        let object = Some(object);
        self.place(Part { app, object, has_turns, is_spare: false, sessions: 0 });
    }
    /// Puts a part into an unused place to which no session refers.
    fn place(&mut self, part: Part) -> u32 {
        let at = match self.parts.iter().position(Part::is_unused) {
            Some(at) => {
                self.parts[at] = part;
                at
            }
            None => {
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        self.find_places();
        at as u32
    }
    /// Notes the places of parts after a change of them.
    fn find_places(&mut self) {
        let Self { places, parts, .. } = self;
        places.by_app.fill(NONE);
        for (at, part) in (0..).zip(&*parts).filter(|(_, part)| part.app != NONE && !part.is_spare)
        {
            let app = part.app as usize;
            places.by_app.resize(places.by_app.len().max(app + 1), NONE);
            places.by_app[app] = at;
        }
        let turning = (0..).zip(&*parts).filter(|(_, part)| part.has_turns && part.app != NONE);
        places.turning = turning.map(|(at, _)| at).collect();
    }
    /// Takes spare parts out that have no sessions left but those of all peers of listeners, as
    /// many of an application as `may_take` says: with the latter's numbers and their words.
    pub fn take_spares(&mut self, mut may_take: impl FnMut(u32) -> bool) -> Vec<Spare> {
        if !self.parts.iter().any(|part| part.is_spare) {
            return Vec::new();
        }
        // Sessions of all peers that do not keep their parts here, by part.
        let mut idle = BTreeMap::<u32, Vec<u32>>::new();
        for (index, session) in (0..).zip(&self.sessions) {
            if session.life == Life::Listening && self.listening(session.listener) != Some(index) {
                idle.entry(session.part).or_default().push(index);
            }
        }
        let mut spares = Vec::new();
        for at in 0..self.parts.len() {
            let (part, own) = (&self.parts[at], idle.remove(&(at as u32)).unwrap_or_default());
            let is_idle = part.sessions as usize == own.len();
            let (app, is_spare) = (part.app, part.is_spare && part.object.is_some());
            if !is_spare || !is_idle || !may_take(app) {
                continue;
            }
            let word = |index: &u32| {
                let session = &self.sessions[*index as usize];
                (session.listener, session.data)
            };
            let words = own.iter().map(word).collect();
            own.iter().for_each(|index| self.remove(*index));
            let object = self.parts[at].vacate();
            spares.extend(object.map(|object| Spare { app, object, words }));
        }
        self.find_places();
        spares
    }
    /// Removes the parts of an application, which then gets no new sessions; the others are for
    /// [`Worker::leave_at`].
    pub fn leave(&mut self, app: u32) -> Vec<Box<dyn Application>> {
        let mut gone = Vec::new();
        for part in self.parts.iter_mut().filter(|part| part.app == app) {
            gone.extend(part.vacate());
        }
        while self.parts.last().is_some_and(Part::is_unused) {
            self.parts.pop();
        }
        self.find_places();
        gone
    }
    /// Resets a session if it is one of an application that has left. One that the application had
    /// closed ends normally.
    pub fn leave_at(&mut self, index: u32, app: u32) {
        let session = &mut self.sessions[index as usize];
        if session.app != app || matches!(session.inner, Inner::Free) {
            return;
        }
        if session.life == Life::AppClosed {
            session.app = NONE;
            return;
        }
        if session.life != Life::Listening {
            session.life = Life::AppClosed;
        }
        self.withdraw_at(index);
    }
    /// Creates the session for datagrams of all peers, with the application's value.
    pub fn open_listening(&mut self, listener: &Listener, data: u64) {
        let local = listener.endpoint.socket();
        let key = Key::of(local, any_like(local), Protocol::UDP, listener.fib);
        let new = New::accepted(listener, key, Inner::Udp);
        let index = self.insert(New { life: Life::Listening, data, ..new });
        let Some(index) = index else { return };
        self.listening.insert(listener.index, index);
        if data != u64::MAX {
            // Its ID is new, of which a call notifies the application.
            self.queue(index, Pending::READABLE);
        }
    }
    /// Moves it to the table that its listener is in now.
    pub fn move_listening(&mut self, listener: &Listener) {
        let Some(index) = self.listening(listener.index) else {
            return self.open_listening(listener, u64::MAX);
        };
        let local = listener.endpoint.socket();
        // Packets do not find it by its key.
        self.sessions[index as usize].key =
            Key::of(local, any_like(local), Protocol::UDP, listener.fib);
    }
    /// Ends the session for datagrams of all peers.
    pub fn close_listening(&mut self, listener: u32) {
        self.peers.remove(&listener);
        if let Some(index) = self.listening.remove(&listener) {
            self.remove(index);
        }
    }
    /// Changes the number of the thread, and with it the IDs of its sessions.
    pub fn rename(&mut self, thread: usize) {
        self.thread = thread;
        for index in 0..self.sessions.len() as u32 {
            let session = &self.sessions[index as usize];
            if session.is_seen() && session.life != Life::Connecting {
                self.queue(index, Pending::READABLE);
            }
        }
    }
    /// Creates a pair of cut-through sessions.
    pub fn cut_through(&mut self, of: &Request, listener: &Listener, to: &Endpoint) {
        let protocol = to.transport.protocol().unwrap_or(Protocol::TCP);
        // The client has neither an address of its own nor a port.
        let client = SocketAddr::new(any_like(to.socket()).ip(), 0);
        let back = Key::of(to.socket(), client, protocol, listener.fib);
        let Some(server) = self.insert(New::accepted(listener, back, Inner::Cut(NONE))) else {
            return refused(self, of, Failure::Full);
        };
        let key = Key::of(client, to.socket(), protocol, listener.fib);
        let Some(client) = self.insert(New::requested(of, key, Inner::Cut(server))) else {
            self.remove(server);
            return refused(self, of, Failure::Full);
        };
        self.sessions[server as usize].inner = Inner::Cut(client);
        self.queue(server, Pending::ACCEPT);
        self.queue(client, Pending::CONNECTED);
    }
    /// Opens a session to a host. `is_taken` returns whether a local end has a listener, or another
    /// thread a session with the given hash.
    pub fn open(&mut self, request: &Open, is_taken: impl Fn(SocketAddr, u64) -> bool) {
        let (of, port) = (&request.of, request.port);
        let seed = self.seed();
        let key = if port > 0 {
            Some(request.key(port))
        } else {
            let fresh = Ports::new(Share { place: 0, of: 1 });
            let mut ports = std::mem::replace(&mut self.ports, fresh);
            let is_free = |port| {
                let key = request.key(port);
                // A session of an address of the router to itself would be its own peer.
                key.local() != request.to.socket()
                    && self.find(&key).is_none()
                    && !is_taken(key.local(), key.hash(seed))
            };
            let port = ports.choose(request.key(0).hash(seed), is_free);
            self.ports = ports;
            port.map(|port| request.key(port))
        };
        let Some(key) = key else {
            self.refusals.ports += 1;
            return refused(self, of, Failure::NoPort);
        };
        let (now, mss) = (time(self.now), self.mss(key.is_ip6()));
        let inner = match request.to.transport {
            Transport::Udp => Inner::Udp,
            Transport::Tcp | Transport::Ct => {
                let (flow, space) = (flow_of(&key), of.limits[0]);
                let settings = Settings::default();
                Inner::Tcp(Connection::open(&mut self.machine, now, &flow, mss, space, settings))
            }
        };
        let is_ready = matches!(inner, Inner::Udp);
        let Some(index) = self.insert(New::requested(of, key, inner)) else {
            if is_ready {
                self.freed.push(key.local());
            }
            return refused(self, of, Failure::Full);
        };
        self.queue(index, if is_ready { Pending::CONNECTED } else { Pending::SEND });
    }
    /// Takes over the state of another thread.
    pub fn join(&mut self, mut other: Self) {
        let mut parts = Vec::with_capacity(other.parts.len());
        for part in std::mem::take(&mut other.parts) {
            let is_there = part.app != NONE;
            let place = is_there.then(|| self.place(Part { is_spare: true, sessions: 0, ..part }));
            parts.push(place.unwrap_or(NONE));
        }
        let mut places = vec![NONE; other.sessions.len()];
        for (at, place) in places.iter_mut().enumerate() {
            *place = self.adopt(&mut other, at, &parts).unwrap_or(NONE);
        }
        for place in places.iter().copied().filter(|place| *place != NONE) {
            if let Inner::Cut(peer) = &mut self.sessions[place as usize].inner {
                *peer = places.get(*peer as usize).copied().unwrap_or(NONE);
            }
        }
        for (listener, index) in other.listening {
            let place = places[index as usize];
            if place != NONE {
                self.listening.entry(listener).or_insert(place);
            }
        }
        self.replies.append(&mut other.replies);
        self.freed.append(&mut other.freed);
        self.unfinished.append(&mut other.unfinished);
    }
    /// Takes over a session; `parts` are the places that parts of applications have here. One
    /// whose bytes have no room here is reset.
    fn adopt(&mut self, other: &mut Self, at: usize, parts: &[u32]) -> Option<u32> {
        let session = &mut other.sessions[at];
        if matches!(session.inner, Inner::Free) {
            return None;
        }
        let part = parts.get(session.part as usize).copied().unwrap_or(NONE);
        let index = self.insert(New {
            key: session.key,
            inner: std::mem::take(&mut session.inner),
            app: session.app,
            listener: session.listener,
            namespace: session.namespace,
            life: session.life,
            limits: [session.rx.limit() as u32, session.tx.limit() as u32],
            data: session.data,
        });
        let Some(index) = index else {
            let old = &other.sessions[at];
            if let Some(object) = self.parts.get_mut(part as usize).and_then(|p| p.object.as_mut())
            {
                lost(&mut **object, other.id_of(at as u32), old);
            }
            return None;
        };
        let own = &mut self.sessions[index as usize];
        let mut is_whole = true;
        match &mut own.inner {
            Inner::Half(_) => self.half_open += 1,
            Inner::Wait(_) => self.waits += 1,
            Inner::Tcp(connection) => {
                is_whole = connection.change_thread(&mut other.machine, &mut self.machine);
            }
            Inner::Free | Inner::Udp | Inner::Cut(_) | Inner::Over => {}
        }
        own.wants_room = session.wants_room;
        own.is_finished = session.is_finished;
        own.failure = session.failure;
        own.alarm = session.alarm;
        own.refused = session.refused;
        own.reached_at = session.reached_at;
        for (from, to) in [(&session.rx, &mut own.rx), (&session.tx, &mut own.tx)] {
            is_whole &= to.copy_from(&mut self.chunks, from, &other.chunks);
        }
        own.retry = Time::default();
        let mut pending = session.pending;
        pending.add(Pending::SEND);
        if own.is_seen() && own.life != Life::Connecting {
            // Its ID has changed; a call notifies the application.
            pending.add(Pending::READABLE);
        }
        self.queue(index, pending);
        self.join_part(index, part);
        let own = &self.sessions[index as usize];
        if matches!(own.inner, Inner::Udp) && own.life != Life::Listening {
            self.note_peer(index);
        }
        if !is_whole {
            self.withdraw_at(index);
        }
        self.arm(index);
        Some(index)
    }
    /// Adds all sessions to the directory.
    pub fn announce_all(&mut self) {
        let seed = self.seed();
        let all = self.sessions.iter().filter(|s| s.is_found()).map(|s| s.key.hash(seed));
        let all: Vec<_> = all.collect();
        all.into_iter().for_each(|hash| self.note_move(hash, true));
    }
}

/// Notifies an application that a session did not fit on another thread.
fn lost(object: &mut dyn Application, id: SessionId, session: &Session) {
    if session.life == Life::Connecting {
        object.on_refused(session.data, Failure::Full);
    } else if session.is_seen() {
        object.on_reset(id, session.data, Failure::Full);
    }
}

fn any_like(like: SocketAddr) -> SocketAddr {
    SocketAddr::new(unspecified(like.ip()), 0)
}
