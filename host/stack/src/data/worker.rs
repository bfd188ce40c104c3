//! State owned by one thread: sessions and their lookup, FIFOs, timers, and parts of applications.
//!
//! The input nodes process segments and record further work in [`Session::pending`]; sessions with
//! pending work are queued, and `session-queue` processes them ([`Worker::visit`]). Only that node
//! calls applications and sends.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use infra::table::flows::Flows;
use infra::timer::Wheel;
use tcp_machine::{Config, Effects, Events, Machine, Outgoing, Time};

use super::app::Application;
use super::connecting::Request;
use super::fifo::{Chunks, Fifo};
use super::key::Key;
use super::listeners::Listener;
use super::peers::Peers;
use super::ports::{Ports, Share};
use super::queue::Unfinished;
use super::session::{Failure, Inner, Life, NONE, Pending, Session, SessionId};
use super::shares::Shares;

/// Limit of sessions of a thread.
pub const SESSIONS: usize = 1 << 17;
/// Limit of chunks of a thread: 1 GB, allocated as needed.
const CHUNKS: usize = 1 << 18;
/// Limit of half-open incoming connections of a thread.
pub const HALF_OPEN: u32 = 8192;
/// Limit of sessions of a thread in TIME_WAIT.
pub const TIME_WAIT: u32 = 1 << 15;
/// Limit of queued replies that belong to no session.
const REPLIES: usize = 1024;
/// Limit of connections that an application is opening at a time, per thread.
pub const UNDER_WAY: usize = 1 << 14;
/// Timer tick in seconds.
const TICK: f64 = 0.0005;

/// The part of an application on this thread.
pub struct Part {
    /// Number of the application.
    pub app: u32,
    /// The object; `None` during a call.
    pub object: Option<Box<dyn Application>>,
    /// Whether it gets turns.
    pub has_turns: bool,
    /// Whether it was moved from a thread that has ended: new sessions belong to another part.
    pub is_spare: bool,
    /// Number of its sessions.
    pub sessions: u32,
}

/// Places of parts, kept with every change of them.
#[derive(Debug, Default)]
pub struct Places {
    /// The part for new sessions of each application, or [`NONE`].
    pub by_app: Vec<u32>,
    /// Parts that get turns.
    pub turning: Vec<u32>,
}

/// Counts of refused requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Sessions refused at the limit.
    pub sessions: u64,
    /// Half-open connections refused at the limit.
    pub half_open: u64,
    /// Replies that were not sent.
    pub replies: u64,
    /// Sessions refused because no port was free.
    pub ports: u64,
}

/// Parameters of a new session.
pub struct New {
    /// Common fields of its packets.
    pub key: Key,
    /// Its transport.
    pub inner: Inner,
    /// Number of the application.
    pub app: u32,
    /// The listener that accepted it, or [`NONE`].
    pub listener: u32,
    /// Namespace.
    pub namespace: u32,
    /// State.
    pub life: Life,
    /// Sizes of the receive and the transmit FIFO in bytes.
    pub limits: [u32; 2],
    /// The application's value.
    pub data: u64,
}

impl New {
    /// A session that a listener accepts.
    pub fn accepted(listener: &Listener, key: Key, inner: Inner) -> Self {
        Self {
            key,
            inner,
            app: listener.app,
            listener: listener.index,
            namespace: listener.namespace,
            life: Life::Accepting,
            limits: [listener.rx_limit, listener.tx_limit],
            data: 0,
        }
    }
    /// A session that an application has requested.
    pub fn requested(of: &Request, key: Key, inner: Inner) -> Self {
        let Request { app, namespace, opaque, limits } = *of;
        let (listener, life) = (NONE, Life::Connecting);
        Self { key, inner, app, listener, namespace, life, limits, data: opaque }
    }
}

/// State owned by a thread.
pub struct Worker {
    /// Number of the thread.
    pub thread: usize,
    /// Sessions by index, including free entries.
    pub sessions: Vec<Session>,
    free: u32,
    count: u32,
    limit: usize,
    /// Number of sessions by application, and of those that are being opened.
    shares: [Shares; 2],
    table: Flows,
    seed: u64,
    /// Chunk pool of the FIFOs.
    pub chunks: Chunks,
    /// Parts of applications, with unused places.
    pub parts: Vec<Part>,
    /// Parts for new sessions by application, and parts that get turns.
    pub(super) places: Places,
    queue: (u32, u32),
    queued: u32,
    /// Deadlines of sessions.
    pub(super) wheel: Wheel<(u32, u32)>,
    /// TCP state of the thread.
    pub machine: Machine,
    /// Local port selection.
    pub ports: Ports,
    /// Number of half-open incoming connections.
    pub half_open: u32,
    /// Number of sessions in TIME_WAIT.
    pub waits: u32,
    /// Listeners for datagrams of all peers, and their sessions.
    pub listening: HashMap<u32, u32>,
    /// Sessions of peers by listener.
    pub peers: Peers,
    /// The session that is visited: of a visit that did not end, when the next one begins.
    pub visited: u32,
    /// Whether an application panicked, and so not the transport.
    pub is_panic_of_application: bool,
    /// Makes each lookup of a session panic.
    #[cfg(test)]
    pub is_faulty: bool,
    /// Local endpoints of outgoing datagram sessions that have ended, to be reported to the control
    /// thread.
    pub freed: Vec<SocketAddr>,
    /// Half-open connections that have timed out, to be reported to the control thread.
    pub unfinished: Vec<Unfinished>,
    /// Queued segments that belong to no session.
    pub replies: Vec<(Key, Outgoing)>,
    /// Hashes of added (true) and removed sessions, for the directory.
    pub moves: Vec<(u64, bool)>,
    /// Whether there are other threads, so that the directory is needed.
    pub is_shared: bool,
    /// Counts of refused requests.
    pub refusals: Refusals,
    /// Layer 3 MTU in bytes.
    pub mtu: u16,
    /// Current time, updated for each frame.
    pub now: f64,
    /// The most thread time that work of the control thread has taken between two loops.
    #[cfg(test)]
    pub longest: std::time::Duration,
}

/// Converts seconds on the router's clock.
pub fn time(now: f64) -> Time {
    Time::from_us((now * 1e6) as u64)
}

impl Worker {
    /// Creates the state of one thread; it has no sessions yet.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn new(thread: usize, seed: u64, secret: [u8; 16], config: Config) -> io::Result<Self> {
        Ok(Self {
            thread,
            sessions: Vec::with_capacity(SESSIONS),
            free: NONE,
            count: 0,
            limit: SESSIONS,
            shares: [Shares::new(), Shares::new()],
            table: Flows::new(4096)?,
            seed,
            chunks: Chunks::new(CHUNKS)?,
            parts: Vec::new(),
            places: Places::default(),
            queue: (NONE, NONE),
            queued: 0,
            wheel: Wheel::new(TICK),
            machine: Machine::new(config, secret, SESSIONS),
            ports: Ports::new(Share { place: 0, of: 1 }),
            half_open: 0,
            waits: 0,
            listening: HashMap::new(),
            peers: Peers::default(),
            visited: NONE,
            is_panic_of_application: false,
            #[cfg(test)]
            is_faulty: false,
            freed: Vec::new(),
            unfinished: Vec::new(),
            replies: Vec::with_capacity(REPLIES),
            moves: Vec::with_capacity(1024),
            is_shared: false,
            refusals: Refusals::default(),
            mtu: 1500,
            now: 0.0,
            #[cfg(test)]
            longest: std::time::Duration::ZERO,
        })
    }
    /// Number of sessions.
    pub fn count(&self) -> usize {
        self.count as usize
    }
    /// Sets the limit of sessions.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(SESSIONS);
    }
    /// Seed for hashes of keys.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// Maximum segment size.
    pub fn mss(&self, is_ip6: bool) -> u16 {
        self.mtu.saturating_sub(if is_ip6 { 60 } else { 40 }).max(self.machine.config.min_mss)
    }
    /// ID of a session.
    pub fn id_of(&self, index: u32) -> SessionId {
        let generation = self.sessions[index as usize].generation;
        SessionId { thread: self.thread as u16, index, generation }
    }
    /// The session with the given key.
    #[inline(always)]
    pub fn find(&self, key: &Key) -> Option<u32> {
        #[cfg(test)]
        assert!(!self.is_faulty, "as the test wants it");
        let is = |at: u32| self.sessions.get(at as usize).is_some_and(|s| s.key == *key);
        self.table.find(key.hash(self.seed), is)
    }
    /// The session with the given index and generation, if it still exists.
    pub fn at(&self, index: u32, generation: u32) -> Option<&Session> {
        let session = self.sessions.get(index as usize)?;
        let is = session.generation == generation && !matches!(session.inner, Inner::Free);
        is.then_some(session)
    }
    /// The part of an application for new sessions.
    #[inline(always)]
    pub fn part_of(&self, app: u32) -> Option<u32> {
        self.places.by_app.get(app as usize).copied().filter(|part| *part != NONE)
    }
    /// Makes a session one of a part.
    pub(super) fn join_part(&mut self, index: u32, part: u32) {
        let old = std::mem::replace(&mut self.sessions[index as usize].part, part);
        if let Some(old) = self.parts.get_mut(old as usize) {
            old.sessions -= 1;
        }
        if let Some(new) = self.parts.get_mut(part as usize) {
            new.sessions += 1;
        }
    }
    /// Adds a session. At the limit, or without a part of its application, it returns `None` and
    /// counts that. Cut-through sessions and those of listeners cannot be found by key.
    pub fn insert(&mut self, new: New) -> Option<u32> {
        let part = match self.part_of(new.app) {
            None if new.life == Life::AppClosed => NONE,
            part => part?,
        };
        let is_under_way = new.life == Life::Connecting && !matches!(new.inner, Inner::Cut(_));
        let free = self.limit.saturating_sub(self.count());
        if self.shares[0].left(new.app, free) == 0
            || is_under_way && self.shares[1].of(new.app) >= UNDER_WAY
        {
            self.refusals.sessions += 1;
            return None;
        }
        let index = self.take_place(&new);
        let session = &mut self.sessions[index as usize];
        (session.inner, session.is_under_way) = (new.inner, is_under_way);
        if session.is_found() {
            let hash = new.key.hash(self.seed);
            if !self.table.insert(hash, index) {
                self.refusals.sessions += 1;
                let session = &mut self.sessions[index as usize];
                session.inner = Inner::Free;
                (session.next, self.free) = (self.free, index);
                return None;
            }
            self.note_move(hash, true);
        }
        self.join_part(index, part);
        self.count += 1;
        self.shares[0].add(new.app);
        if is_under_way {
            self.shares[1].add(new.app);
        }
        let (sessions, seed) = (&self.sessions, self.seed);
        let hash = |at: u32| sessions.get(at as usize).map_or(0, |s| s.key.hash(seed));
        self.table.grow(hash, |_| ());
        Some(index)
    }
    /// The session for datagrams of all peers of a listener.
    pub fn listening(&self, listener: u32) -> Option<u32> {
        self.listening.get(&listener).copied()
    }
    pub(super) fn note_move(&mut self, hash: u64, is_here: bool) {
        if self.is_shared {
            self.moves.push((hash, is_here));
        }
    }
    /// Allocates an entry with a new session, still marked as free.
    fn take_place(&mut self, new: &New) -> u32 {
        let fresh = |generation| Session {
            key: new.key,
            inner: Inner::Free,
            rx: Fifo::new(new.limits[0] as usize, new.app),
            tx: Fifo::new(new.limits[1] as usize, new.app),
            app: new.app,
            part: NONE,
            listener: new.listener,
            namespace: new.namespace,
            data: new.data,
            life: new.life,
            pending: Pending::default(),
            is_queued: false,
            next: NONE,
            generation,
            wants_room: false,
            is_finished: false,
            failure: None,
            alarm: Time::NEVER,
            retry: Time::NEVER,
            timer: None,
            refused: 0,
            is_under_way: false,
            is_heard: false,
            reached_at: None,
        };
        if self.free == NONE {
            self.sessions.push(fresh(0));
            return self.sessions.len() as u32 - 1;
        }
        let index = self.free;
        let place = &mut self.sessions[index as usize];
        self.free = place.next;
        *place = fresh(place.generation.wrapping_add(1));
        index
    }
    /// Removes a session completely.
    pub fn remove(&mut self, index: u32) {
        let Self { sessions, chunks, machine, wheel, parts, .. } = self;
        let session = &mut sessions[index as usize];
        let is_found = session.is_found();
        let mut inner = std::mem::take(&mut session.inner);
        match &mut inner {
            Inner::Free => return,
            Inner::Half(_) => self.half_open -= 1,
            Inner::Wait(_) => self.waits -= 1,
            Inner::Tcp(connection) => connection.release(machine),
            Inner::Udp | Inner::Cut(_) | Inner::Over => {}
        }
        if matches!(inner, Inner::Udp) && session.listener == NONE {
            self.freed.push(session.key.local());
        }
        session.rx.clear(chunks);
        session.tx.clear(chunks);
        session.pending = Pending::default();
        session.life = Life::Closed;
        if let Some((handle, _)) = session.timer.take() {
            wheel.stop(handle);
        }
        if let Some(part) = parts.get_mut(std::mem::replace(&mut session.part, NONE) as usize) {
            part.sessions -= 1;
        }
        self.count -= 1;
        self.shares[0].sub(session.rx.app());
        if session.is_under_way {
            self.shares[1].sub(session.rx.app());
        }
        // The entry of a queued session is freed when it leaves the queue.
        if !session.is_queued {
            (session.next, self.free) = (self.free, index);
        }
        if is_found {
            let hash = session.key.hash(self.seed);
            self.table.remove(hash, index);
            self.note_move(hash, false);
        }
    }
    /// Counts a session that an application has requested as connected.
    pub fn connected(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        if std::mem::take(&mut session.is_under_way) {
            self.shares[1].sub(session.rx.app());
        }
    }
    /// Keeps a session whose transport has ended normally, with its unread data,
    /// until the application closes it.
    pub fn keep_until_closed(&mut self, index: u32) {
        let Self { sessions, chunks, machine, .. } = self;
        let session = &mut sessions[index as usize];
        if let Inner::Tcp(connection) = &mut session.inner {
            connection.release(machine);
        }
        (session.inner, session.is_finished) = (Inner::Over, true);
        session.tx.clear(chunks);
        let hash = session.key.hash(self.seed);
        self.table.remove(hash, index);
        self.note_move(hash, false);
    }
    /// Adds pending work to a session and queues it.
    #[inline(always)]
    pub fn queue(&mut self, index: u32, what: Pending) {
        let Some(session) = self.sessions.get_mut(index as usize) else { return };
        if matches!(session.inner, Inner::Free) {
            return;
        }
        session.pending.add(what);
        if session.is_queued {
            return;
        }
        (session.is_queued, session.next) = (true, NONE);
        match self.queue.1 {
            NONE => self.queue.0 = index,
            last => self.sessions[last as usize].next = index,
        }
        self.queue.1 = index;
        self.queued += 1;
    }
    /// Number of queued sessions.
    #[inline(always)]
    pub fn queued(&self) -> usize {
        self.queued as usize
    }
    /// Takes the first session out of the queue; also `None` if that one has ended.
    pub fn dequeue(&mut self) -> Option<u32> {
        let index = self.queue.0;
        let session = self.sessions.get_mut(index as usize)?;
        self.queue.0 = session.next;
        if self.queue.0 == NONE {
            self.queue.1 = NONE;
        }
        self.queued -= 1;
        session.is_queued = false;
        if matches!(session.inner, Inner::Free) {
            (session.next, self.free) = (self.free, index);
            return None;
        }
        Some(index)
    }
    /// Handles space freed by the other end of a cut-through session.
    pub fn room_freed(&mut self, index: u32) {
        if self.sessions.get(index as usize).is_some_and(|s| s.wants_room) {
            self.queue(index, Pending::WRITABLE);
        }
    }
    /// Records the machine's effects on a connection as pending work.
    #[inline(always)]
    pub fn apply(&mut self, index: u32, effects: &Effects) {
        let Self { sessions, chunks, .. } = self;
        let session = &mut sessions[index as usize];
        let mut pending = Pending::default();
        if effects.acked > 0 {
            session.tx.consume(chunks, effects.acked as usize);
            // Call the application only if half of the FIFO is free.
            let is_room = session.tx.space() * 2 >= session.tx.limit();
            if session.wants_room && is_room {
                pending.add(Pending::WRITABLE);
            }
            pending.add(Pending::SEND);
        }
        if effects.delivered > 0 {
            pending.add(Pending::READABLE);
        }
        for (event, what) in [
            (Events::SEND, Pending::SEND),
            (Events::CONNECTED, Pending::CONNECTED),
            (Events::FINISHED, Pending::FINISHED),
            (Events::TIME_WAIT, Pending::TIME_WAIT),
            (Events::ENDED, Pending::ENDED),
        ] {
            if effects.events.contains(event) {
                pending.add(what);
            }
        }
        if effects.events.contains(Events::FINISHED) {
            session.is_finished = true;
        }
        if effects.events.contains(Events::ENDED) {
            session.failure = effects.error.map(Failure::from);
        }
        if pending != Pending::default() {
            self.queue(index, pending);
        }
        self.arm(index);
    }
    /// Queues a segment, if there is one, that belongs to no session, or counts it as refused.
    pub fn reply(&mut self, key: Key, out: Option<Outgoing>) {
        let Some(out) = out else { return };
        if self.replies.len() < REPLIES {
            self.replies.push((key, out));
        } else {
            self.refusals.replies += 1;
        }
    }
}
