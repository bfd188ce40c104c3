//! All that one thread owns: sessions, their lookup, bytes, timers and the parts of applications.
//!
//! Nodes put segments in and note in [`Session::pending`] what is to follow; the queue of sessions
//! with something pending is worked off by `session-queue` ([`Worker::visit`]), which is the only
//! place that calls applications and sends.

use std::io;
use std::net::SocketAddr;

use infra::table::flows::Flows;
use infra::timer::Wheel;
use tcp_machine::{Config, Effects, Events, Machine, Outgoing, Time};

use super::app::Application;
use super::fifo::{Chunks, Fifo};
use super::key::Key;
use super::ports::{Ports, Share};
use super::queue::Unfinished;
use super::session::{Failure, Inner, Life, NONE, Pending, Session, SessionId};

/// Sessions of a thread at most.
pub const SESSIONS: usize = 1 << 17;
/// Chunks of a thread: 1 GB, used as it is needed.
const CHUNKS: usize = 1 << 18;
/// Connections of a thread that are being set up from outside.
pub const HALF_OPEN: u32 = 8192;
/// Sessions of a thread in TIME_WAIT.
pub const TIME_WAIT: u32 = 1 << 15;
/// Answers that wait to be sent, outside of sessions.
const REPLIES: usize = 1024;
/// Length of a tick in seconds.
const TICK: f64 = 0.0005;

/// The part of an application on this thread.
pub struct Part {
    /// Number of the application.
    pub app: u32,
    /// `None` while it is called.
    pub object: Option<Box<dyn Application>>,
    /// Whether it has turns of its own.
    pub has_turns: bool,
}

/// Counts of what was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// New sessions, for want of room.
    pub sessions: u64,
    /// Connections being set up, for want of room.
    pub half_open: u64,
    /// Answers that were not sent.
    pub replies: u64,
    /// Sessions that no port was free for.
    pub ports: u64,
}

/// A session about to be.
pub struct New {
    /// Common fields of its packets.
    pub key: Key,
    /// Its transport.
    pub inner: Inner,
    /// Number of the application.
    pub app: u32,
    /// Listener that it came to, or [`NONE`].
    pub listener: u32,
    /// Namespace.
    pub namespace: u32,
    /// State.
    pub life: Life,
    /// Bytes it keeps, received and to be sent.
    pub limits: [u32; 2],
    /// The application's word.
    pub data: u64,
}

/// State that a thread owns.
pub struct Worker {
    /// Number of the thread.
    pub thread: usize,
    /// Sessions by number, with free places.
    pub sessions: Vec<Session>,
    free: u32,
    count: u32,
    limit: usize,
    table: Flows,
    seed: u64,
    /// Bytes.
    pub chunks: Chunks,
    /// Parts of applications. Those with sessions from other threads come behind.
    pub parts: Vec<Part>,
    queue: (u32, u32),
    queued: u32,
    wheel: Wheel<(u32, u32)>,
    /// TCP's state of the thread.
    pub machine: Machine,
    /// Ports.
    pub ports: Ports,
    /// Connections that are being set up from outside.
    pub half_open: u32,
    /// Sessions in TIME_WAIT.
    pub waits: u32,
    /// Listeners to which datagrams of all peers come, and their sessions.
    pub listening: Vec<(u32, u32)>,
    /// Ends of sessions of datagrams that were opened from here, for control.
    pub freed: Vec<SocketAddr>,
    /// Connections that were not set up in time.
    pub unfinished: Vec<Unfinished>,
    /// Segments to send outside of sessions.
    pub replies: Vec<(Key, Outgoing)>,
    /// Hashes of sessions that came and went, for the directory of all threads.
    pub moves: Vec<(u64, bool)>,
    /// Whether there is another thread, for which the directory is kept.
    pub is_shared: bool,
    /// Counts of refusals.
    pub refusals: Refusals,
    /// Bytes of a packet at most, of layer 3.
    pub mtu: u16,
    /// Time of the frame or visit.
    pub now: f64,
}

/// A point of the router's clock.
pub fn time(now: f64) -> Time {
    Time::from_us((now * 1e6) as u64)
}

impl Worker {
    /// Of a thread, without sessions.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(thread: usize, seed: u64, secret: [u8; 16], config: Config) -> io::Result<Self> {
        Ok(Self {
            thread,
            sessions: Vec::with_capacity(SESSIONS),
            free: NONE,
            count: 0,
            limit: SESSIONS,
            table: Flows::new(4096)?,
            seed,
            chunks: Chunks::new(CHUNKS)?,
            parts: Vec::new(),
            queue: (NONE, NONE),
            queued: 0,
            wheel: Wheel::new(TICK),
            machine: Machine::new(config, secret, SESSIONS),
            ports: Ports::new(Share { place: 0, of: 1 }),
            half_open: 0,
            waits: 0,
            listening: Vec::new(),
            freed: Vec::new(),
            unfinished: Vec::new(),
            replies: Vec::with_capacity(REPLIES),
            moves: Vec::with_capacity(1024),
            is_shared: false,
            refusals: Refusals::default(),
            mtu: 1500,
            now: 0.0,
        })
    }
    /// Sessions there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }
    /// Sessions there may be.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(SESSIONS);
    }
    /// Timers that run.
    pub fn timers(&self) -> usize {
        self.wheel.len()
    }
    /// Seed of the hashes of keys.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// Payload that a segment carries at most.
    pub fn mss(&self, is_ip6: bool) -> u16 {
        self.mtu.saturating_sub(if is_ip6 { 60 } else { 40 }).max(self.machine.config.min_mss)
    }
    /// Name of a session.
    pub fn id_of(&self, index: u32) -> SessionId {
        let generation = self.sessions[index as usize].generation;
        SessionId { thread: self.thread as u16, index, generation }
    }
    /// The session of packets.
    #[inline(always)]
    pub fn find(&self, key: &Key) -> Option<u32> {
        let is = |at: u32| self.sessions.get(at as usize).is_some_and(|s| s.key == *key);
        self.table.find(key.hash(self.seed), is)
    }
    /// The session of a name, if it lives.
    pub fn at(&self, index: u32, generation: u32) -> Option<&Session> {
        let session = self.sessions.get(index as usize)?;
        let is = session.generation == generation && !matches!(session.inner, Inner::Free);
        is.then_some(session)
    }
    /// The part of an application that gets new sessions.
    pub fn part_of(&self, app: u32) -> Option<u32> {
        self.parts.iter().position(|part| part.app == app).map(|at| at as u32)
    }
    /// Makes a session; `None` and counted if there is no room, or no part of its application.
    /// Those of cut-through and listeners are not found by packets.
    pub fn insert(&mut self, new: New) -> Option<u32> {
        let part = match self.part_of(new.app) {
            None if new.life == Life::AppClosed => NONE,
            part => part?,
        };
        if self.count() >= self.limit {
            self.refusals.sessions += 1;
            return None;
        }
        let is_found = !matches!(new.inner, Inner::Cut(_)) && new.life != Life::Listening;
        let index = self.take_place(&new);
        if is_found {
            let hash = new.key.hash(self.seed);
            if !self.table.insert(hash, index) {
                self.refusals.sessions += 1;
                (self.sessions[index as usize].next, self.free) = (self.free, index);
                return None;
            }
            self.note_move(hash, true);
        }
        let session = &mut self.sessions[index as usize];
        (session.inner, session.part) = (new.inner, part);
        self.count += 1;
        let (sessions, seed) = (&self.sessions, self.seed);
        let hash = |at: u32| sessions.get(at as usize).map_or(0, |s| s.key.hash(seed));
        self.table.grow(hash, |_| ());
        Some(index)
    }
    /// The session that takes datagrams of all peers for a listener.
    pub fn listening(&self, listener: u32) -> Option<u32> {
        let found = self.listening.iter().find(|(of, _)| *of == listener);
        found.map(|(_, index)| *index)
    }
    pub(super) fn note_move(&mut self, hash: u64, is_here: bool) {
        if self.is_shared {
            self.moves.push((hash, is_here));
        }
    }
    /// A place with a fresh session in it, still marked as free.
    fn take_place(&mut self, new: &New) -> u32 {
        let fresh = |generation| Session {
            key: new.key,
            inner: Inner::Free,
            rx: Fifo::new(new.limits[0] as usize),
            tx: Fifo::new(new.limits[1] as usize),
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
    /// Ends a session: nothing of it remains.
    pub fn remove(&mut self, index: u32) {
        let Self { sessions, chunks, machine, wheel, .. } = self;
        let session = &mut sessions[index as usize];
        let mut inner = std::mem::take(&mut session.inner);
        match &mut inner {
            Inner::Free => return,
            Inner::Half(_) => self.half_open -= 1,
            Inner::Wait(_) => self.waits -= 1,
            Inner::Tcp(connection) => connection.release(machine),
            Inner::Udp | Inner::Cut(_) => {}
        }
        let is_found = !matches!(inner, Inner::Cut(_)) && session.life != Life::Listening;
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
        self.count -= 1;
        // One in the queue is given back when it leaves it.
        if !session.is_queued {
            (session.next, self.free) = (self.free, index);
        }
        if is_found {
            let hash = session.key.hash(self.seed);
            self.table.remove(hash, index);
            self.note_move(hash, false);
        }
    }
    /// Notes work for a session, which is visited soon.
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
    /// Sessions in the queue.
    #[inline(always)]
    pub fn queued(&self) -> usize {
        self.queued as usize
    }
    /// Takes the first session out of the queue; `None` also for one that has ended.
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
    /// The other end of a cut-through session has read.
    pub fn has_room(&mut self, index: u32) {
        if self.sessions.get(index as usize).is_some_and(|s| s.wants_room) {
            self.queue(index, Pending::WRITABLE);
        }
    }
    /// Sees to it that a session is visited at its deadline.
    pub fn arm(&mut self, index: u32) {
        let Self { sessions, wheel, .. } = self;
        let session = &mut sessions[index as usize];
        let deadline = session.deadline();
        let is_early = session.timer.is_some_and(|(_, at)| at <= deadline);
        if is_early || deadline.is_never() {
            return;
        }
        if let Some((handle, _)) = session.timer.take() {
            wheel.stop(handle);
        }
        let tick = wheel.deadline_at(deadline.us() as f64 / 1e6);
        let handle = wheel.start(tick, (index, session.generation));
        session.timer = Some((handle, deadline));
    }
    /// Queues sessions whose time has come, `most` at most.
    pub fn expire(&mut self, most: usize) {
        if self.wheel.is_empty() {
            return;
        }
        let (tick, now) = (self.wheel.tick_at(self.now), time(self.now));
        for _ in 0..most {
            let Some((index, generation)) = self.wheel.pop(tick) else { return };
            let Some(session) = self.sessions.get_mut(index as usize) else { continue };
            if session.generation != generation {
                continue;
            }
            session.timer = None;
            let mut due = Pending::default();
            if session.alarm <= now {
                session.alarm = Time::NEVER;
                due.add(Pending::ALARM);
            }
            if session.retry <= now {
                session.retry = Time::NEVER;
                due.add(Pending::SEND);
            }
            if session.deadline() <= now {
                due.add(Pending::TIMER);
            }
            if due == Pending::default() {
                self.arm(index);
            } else {
                self.queue(index, due);
            }
        }
    }
    /// Seconds until the next timer.
    pub fn until_next(&self) -> Option<f64> {
        let next = self.wheel.next_deadline()?;
        Some((self.wheel.seconds_at(next) - self.now).max(0.0))
    }
    /// Notes what the machine said about a connection.
    #[inline(always)]
    pub fn apply(&mut self, index: u32, effects: &Effects) {
        let Self { sessions, chunks, .. } = self;
        let session = &mut sessions[index as usize];
        let mut pending = Pending::default();
        if effects.acked > 0 {
            session.tx.consume(chunks, effects.acked as usize);
            // Half of it free is worth a call.
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
    /// Sends a segment that belongs to no session, or counts that there was no room for it.
    pub fn reply(&mut self, key: Key, out: &Outgoing) -> bool {
        let has_room = self.replies.len() < REPLIES;
        if has_room {
            self.replies.push((key, *out));
        } else {
            self.refusals.replies += 1;
        }
        has_room
    }
}
