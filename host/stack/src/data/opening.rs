//! Outgoing sessions, adding and removing parts of applications, and merging of threads.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tcp_machine::{Connection, Settings, Time};
use wire::Protocol;

use super::app::Application;
use super::connecting::{Open, refused};
use super::endpoint::{Endpoint, Transport};
use super::key::Key;
use super::listeners::Listener;
use super::ports::{Ports, Share};
use super::session::{Failure, Inner, Life, NONE, Pending, Session, SessionId};
use super::tcp::flow_of;
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

impl Worker {
    /// Adds the part of an application.
    pub fn enter(&mut self, app: u32, object: Box<dyn Application>) {
        let has_turns = object.has_turns();
        self.place(Part { app, object: Some(object), has_turns, is_spare: false });
    }
    /// Puts a part where there is none, and no session is left of one.
    fn place(&mut self, part: Part) -> u32 {
        let is_unused = |at: &usize| self.parts[*at].app == NONE && !self.is_used(*at as u32);
        if let Some(at) = (0..self.parts.len()).find(is_unused) {
            self.parts[at] = part;
            return at as u32;
        }
        self.parts.push(part);
        self.parts.len() as u32 - 1
    }
    /// Takes spare parts out that have no sessions left but those of all peers of listeners, as
    /// many of an application as `may_take` says: with the latter's numbers and their words.
    pub fn take_spares(&mut self, mut may_take: impl FnMut(u32) -> bool) -> Vec<Spare> {
        let mut spares = Vec::new();
        for at in 0..self.parts.len() {
            let Part { app, is_spare, object, .. } = &self.parts[at];
            if !is_spare || object.is_none() {
                continue;
            }
            let app = *app;
            let is_own = |s: &&Session| s.part == at as u32 && !matches!(s.inner, Inner::Free);
            let own = (0..).zip(&self.sessions).filter(|(_, s)| is_own(s));
            let own: Vec<_> = own.map(|(n, s)| (n, s.life, s.listener, s.data)).collect();
            let is_idle = own.iter().all(|(n, life, listener, _)| {
                *life == Life::Listening && self.listening(*listener) != Some(*n)
            });
            if !is_idle || !may_take(app) {
                continue;
            }
            own.iter().for_each(|(index, ..)| self.remove(*index));
            let words = own.iter().map(|(_, _, listener, data)| (*listener, *data)).collect();
            let part = &mut self.parts[at];
            (part.app, part.is_spare) = (NONE, false);
            let object = part.object.take();
            spares.extend(object.map(|object| Spare { app, object, words }));
        }
        spares
    }
    /// Removes the parts of an application. Its sessions are reset, except those that it has
    /// closed, which end normally.
    pub fn leave(&mut self, app: u32) -> Vec<Box<dyn Application>> {
        let mut gone = Vec::new();
        for part in self.parts.iter_mut().filter(|part| part.app == app) {
            (part.app, part.is_spare) = (NONE, false);
            gone.extend(part.object.take());
        }
        for session in self.sessions.iter_mut().filter(|session| session.app == app) {
            if session.life == Life::AppClosed {
                session.app = NONE;
            } else if !matches!(session.inner, Inner::Free | Inner::Wait(_)) {
                session.life = match session.life {
                    Life::Listening => Life::Listening,
                    _ => Life::AppClosed,
                };
            }
        }
        self.withdraw(|session| session.app == app);
        while self.parts.last().is_some_and(|part| part.app == NONE)
            && !self.is_used(self.parts.len() as u32 - 1)
        {
            self.parts.pop();
        }
        gone
    }
    fn is_used(&self, part: u32) -> bool {
        self.sessions.iter().any(|s| s.part == part && !matches!(s.inner, Inner::Free))
    }
    /// Makes the session to which datagrams of all peers come, with a word of its application.
    pub fn open_listening(&mut self, listener: &Listener, data: u64) {
        let local = listener.endpoint.socket();
        let index = self.insert(New {
            key: Key::of(local, any_like(local), Protocol::UDP, listener.fib),
            inner: Inner::Udp,
            app: listener.app,
            listener: listener.index,
            namespace: listener.namespace,
            life: Life::Listening,
            limits: [listener.rx_limit, listener.tx_limit],
            data,
        });
        let Some(index) = index else { return };
        self.listening.insert(listener.index, index);
        if data != u64::MAX {
            // Its name is new, which its application learns by a call.
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
    /// The thread has another number: all names of its sessions change with it.
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
    pub fn cut_through(
        &mut self,
        (app, opaque, limits): (u32, u64, [u32; 2]),
        listener: &Listener,
        to: &Endpoint,
    ) {
        let protocol = to.transport.protocol().unwrap_or(Protocol::TCP);
        // The client has no address of its own; its session number serves as the port.
        let client = SocketAddr::new(any_like(to.socket()).ip(), 0);
        let key = Key::of(client, to.socket(), protocol, listener.fib);
        let new = |app, key, listener: u32, life, limits, data| New {
            key,
            inner: Inner::Cut(NONE),
            app,
            listener,
            namespace: 0,
            life,
            limits,
            data,
        };
        let back = Key::of(to.socket(), client, protocol, listener.fib);
        let limits_there = [listener.rx_limit, listener.tx_limit];
        let there = new(listener.app, back, listener.index, Life::Accepting, limits_there, 0);
        let Some(server) = self.insert(there) else {
            return refused(self, app, opaque, Failure::Full);
        };
        let here = new(app, key, NONE, Life::Connecting, limits, opaque);
        let Some(client) = self.insert(here) else {
            self.remove(server);
            return refused(self, app, opaque, Failure::Full);
        };
        for (one, other) in [(server, client), (client, server)] {
            let session = &mut self.sessions[one as usize];
            session.inner = Inner::Cut(other);
            session.namespace = listener.namespace;
        }
        self.queue(server, Pending::ACCEPT);
        self.queue(client, Pending::CONNECTED);
    }
    /// Opens a session to a host. `is_elsewhere` returns whether another thread has a session with
    /// the given hash.
    pub fn open(&mut self, request: &Open, is_elsewhere: impl Fn(u64) -> bool) {
        let Open { app, opaque, port, .. } = *request;
        let seed = self.seed();
        let key = if port > 0 {
            Some(request.key(port))
        } else {
            let fresh = Ports::new(Share { place: 0, of: 1 });
            let mut ports = std::mem::replace(&mut self.ports, fresh);
            let is_free = |port| {
                let key = request.key(port);
                self.find(&key).is_none() && !is_elsewhere(key.hash(seed))
            };
            let port = ports.choose(request.key(0).hash(seed), is_free);
            self.ports = ports;
            port.map(|port| request.key(port))
        };
        let Some(key) = key else {
            self.refusals.ports += 1;
            return refused(self, app, opaque, Failure::NoPort);
        };
        let (now, mss) = (time(self.now), self.mss(key.is_ip6()));
        let inner = match request.to.transport {
            Transport::Udp => Inner::Udp,
            Transport::Tcp | Transport::Ct => {
                let (flow, space) = (flow_of(&key), request.limits[0]);
                let settings = Settings::default();
                Inner::Tcp(Connection::open(&mut self.machine, now, &flow, mss, space, settings))
            }
        };
        let is_ready = matches!(inner, Inner::Udp);
        let new = New {
            key,
            inner,
            app,
            listener: NONE,
            namespace: request.namespace,
            life: Life::Connecting,
            limits: request.limits,
            data: opaque,
        };
        let Some(index) = self.insert(new) else {
            if is_ready {
                self.freed.push(key.local());
            }
            return refused(self, app, opaque, Failure::Full);
        };
        self.queue(index, if is_ready { Pending::CONNECTED } else { Pending::SEND });
    }
    /// Takes over the state of another thread.
    pub fn join(&mut self, mut other: Self) {
        let mut parts = Vec::with_capacity(other.parts.len());
        for part in std::mem::take(&mut other.parts) {
            let is_there = part.app != NONE;
            let place = is_there.then(|| self.place(Part { is_spare: true, ..part }));
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
        own.part = part;
        own.wants_room = session.wants_room;
        own.is_finished = session.is_finished;
        own.failure = session.failure;
        own.alarm = session.alarm;
        own.refused = session.refused;
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

/// Tells an application that a session found no room on another thread.
fn lost(object: &mut dyn Application, id: SessionId, session: &Session) {
    if session.life == Life::Connecting {
        object.on_refused(session.data, Failure::Full);
    } else if session.is_seen() {
        object.on_reset(id, session.data, Failure::Full);
    }
}

fn any_like(like: SocketAddr) -> SocketAddr {
    match like {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
