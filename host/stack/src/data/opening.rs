//! Sessions that begin here, parts of applications that come and go, and threads that join.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tcp_machine::{Connection, Settings, Time};
use wire::Protocol;

use super::app::Application;
use super::connecting::{Open, refused};
use super::endpoint::{Endpoint, Transport};
use super::key::Key;
use super::listeners::Listener;
use super::ports::{Ports, Share};
use super::session::{Failure, Inner, Life, NONE, Pending, Session};
use super::tcp::flow_of;
use super::worker::{New, Part, Worker, time};

/// Bytes that go over from thread to thread at a time.

impl Worker {
    /// Adds the part of an application.
    pub fn enter(&mut self, app: u32, object: Box<dyn Application>) {
        // A place whose sessions are all gone could be used again, but numbers of applications are
        // few.
        let has_turns = object.has_turns();
        self.parts.push(Part { app, object: Some(object), has_turns });
    }
    /// Takes the parts of an application out. Its sessions end with resets, but those that it has
    /// closed, which end in their time.
    pub fn leave(&mut self, app: u32) -> Vec<Box<dyn Application>> {
        let mut gone = Vec::new();
        for part in self.parts.iter_mut().filter(|part| part.app == app) {
            part.app = NONE;
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
    /// Makes the session to which datagrams of all peers come.
    pub fn open_listening(&mut self, listener: &Listener) {
        let local = listener.endpoint.socket();
        let index = self.insert(New {
            key: Key::of(local, any_like(local), Protocol::UDP, listener.fib),
            inner: Inner::Udp,
            app: listener.app,
            listener: listener.index,
            namespace: listener.namespace,
            life: Life::Listening,
            limits: [listener.rx_limit, listener.tx_limit],
            data: 0,
        });
        self.listening.extend(index.map(|index| (listener.index, index)));
    }
    /// Ends it.
    pub fn close_listening(&mut self, listener: u32) {
        if let Some(index) = self.listening(listener) {
            self.listening.retain(|(of, _)| *of != listener);
            self.remove(index);
        }
    }
    /// Makes a pair of sessions of two applications here.
    pub fn cut_through(
        &mut self,
        (app, opaque, limits): (u32, u64, [u32; 2]),
        listener: &Listener,
        to: &Endpoint,
    ) {
        let protocol = to.transport.protocol().unwrap_or(Protocol::TCP);
        // Ends of the client's are not taken from any host: its number stands for a port.
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
    /// Opens a session to a host. `is_elsewhere` says whether another thread has the session of a
    /// hash.
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
    /// Takes over all that another thread had.
    pub fn join(&mut self, mut other: Self) {
        let first = self.parts.len() as u32;
        self.parts.append(&mut other.parts);
        let mut places = vec![NONE; other.sessions.len()];
        for (at, place) in places.iter_mut().enumerate() {
            // A session without room here goes without a word: its application has no other.
            *place = self.adopt(&mut other, at, first).unwrap_or(NONE);
        }
        for place in places.iter().copied().filter(|place| *place != NONE) {
            if let Inner::Cut(peer) = &mut self.sessions[place as usize].inner {
                *peer = places.get(*peer as usize).copied().unwrap_or(NONE);
            }
        }
        for (listener, index) in other.listening {
            let place = places[index as usize];
            if self.listening(listener).is_none() && place != NONE {
                self.listening.push((listener, place));
            }
        }
        self.replies.append(&mut other.replies);
        self.freed.append(&mut other.freed);
        self.unfinished.append(&mut other.unfinished);
    }
    /// Takes over a session; its part of the application stands behind `first`. One whose bytes
    /// have no room here is reset.
    fn adopt(&mut self, other: &mut Self, at: usize, first: u32) -> Option<u32> {
        let session = &mut other.sessions[at];
        if matches!(session.inner, Inner::Free) {
            return None;
        }
        let index = self.insert(New {
            key: session.key,
            inner: std::mem::take(&mut session.inner),
            app: session.app,
            listener: session.listener,
            namespace: session.namespace,
            life: session.life,
            limits: [session.rx.limit() as u32, session.tx.limit() as u32],
            data: session.data,
        })?;
        let own = &mut self.sessions[index as usize];
        let mut is_whole = true;
        match &mut own.inner {
            Inner::Half(_) => self.half_open += 1,
            Inner::Wait(_) => self.waits += 1,
            Inner::Tcp(connection) => {
                is_whole = connection.change_thread(&mut other.machine, &mut self.machine);
            }
            Inner::Free | Inner::Udp | Inner::Cut(_) => {}
        }
        own.part = if session.part == NONE { NONE } else { first + session.part };
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
            // Its name has changed, which its application learns by a call.
            pending.add(Pending::READABLE);
        }
        self.queue(index, pending);
        if !is_whole {
            self.withdraw_at(index);
        }
        self.arm(index);
        Some(index)
    }
    /// Enters all sessions in the directory of all threads.
    pub fn announce_all(&mut self) {
        let seed = self.seed();
        let is_found = |s: &&Session| {
            !matches!(s.inner, Inner::Free | Inner::Cut(_)) && s.life != Life::Listening
        };
        let all = self.sessions.iter().filter(is_found).map(|s| s.key.hash(seed));
        let all: Vec<_> = all.collect();
        all.into_iter().for_each(|hash| self.note_move(hash, true));
    }
}

fn any_like(like: SocketAddr) -> SocketAddr {
    match like {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
