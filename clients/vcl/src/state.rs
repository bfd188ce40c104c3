//! State of the process.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanes::lane::{State as Line, state};
use lanes::region::Word;

use super::link::{Known, Link};
use super::session::{Kind, Pipe, Session, ends_of};
use super::{Done, wait};
use lanes::settings::Config;

static STATE: Mutex<State> = Mutex::new(State::new());

/// The sessions and the connection of the process.
pub struct State {
    /// The process that owns the state; a child process does not inherit it.
    pid: u32,
    /// Settings.
    pub config: Option<Config>,
    /// The connection.
    pub link: Option<Link>,
    sessions: Vec<Option<Session>>,
    free: Vec<u32>,
    /// Sessions by the opaque values that the router repeats.
    pub words: Option<HashMap<u64, u32>>,
    /// The last opaque value.
    pub word: u64,
    /// Whether a thread polls.
    pub is_polled: bool,
    /// Number of threads that wait for that one.
    pub waiters: u32,
    /// An epoll descriptor with the bell, if the program has asked for one.
    pub outside: Option<OwnedFd>,
    /// Number of registered workers.
    pub workers: u32,
    /// Whether a thread waits for a listener.
    pub is_starting: bool,
}

/// The locked state.
pub type Guard = MutexGuard<'static, State>;

/// Locks the state for one call.
pub fn lock() -> Guard {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if guard.pid != pid {
        // Child processes do not inherit the state; they attach themselves.
        *guard = State::new();
        guard.pid = pid;
    }
    guard
}

impl State {
    const fn new() -> Self {
        Self {
            pid: 0,
            config: None,
            link: None,
            sessions: Vec::new(),
            free: Vec::new(),
            words: None,
            word: 0,
            is_polled: false,
            waiters: 0,
            outside: None,
            workers: 0,
            is_starting: false,
        }
    }
    /// Attaches the process.
    ///
    /// # Errors
    /// `EEXIST` if it is attached, the kernel's and the router's errors.
    pub fn attach(&mut self, name: &str, config: Config) -> Done<()> {
        if self.link.as_ref().is_some_and(|link| !link.is_dead) {
            return Err(libc::EEXIST);
        }
        let link = Link::new(name, &config);
        if let Err(e) = &link
            && config.is_verbose
        {
            let why = std::io::Error::from_raw_os_error(*e);
            eprintln!("vppcom: cannot attach to {}: {why}", config.socket.display());
        }
        self.link = Some(link?);
        self.config = Some(config);
        self.workers = self.workers.max(1);
        Ok(())
    }
    /// Detaches the process and ends all sessions.
    pub fn detach(&mut self) {
        let (pid, is_polled, waiters) = (self.pid, self.is_polled, self.waiters);
        *self = Self { pid, is_polled, waiters, ..Self::new() };
        wait::wake_all();
    }
    /// The connection.
    ///
    /// # Errors
    /// `ENOTCONN` if the process is not attached.
    pub fn link(&mut self) -> Done<&mut Link> {
        self.link.as_mut().filter(|link| !link.is_dead).ok_or(libc::ENOTCONN)
    }
    /// Adds a session and returns its handle.
    pub fn add(&mut self, session: Session) -> u32 {
        if let Some(at) = self.free.pop() {
            self.sessions[at as usize] = Some(session);
            return at;
        }
        self.sessions.push(Some(session));
        self.sessions.len() as u32 - 1
    }
    /// Removes a session.
    pub fn remove(&mut self, handle: u32) -> Option<Session> {
        let gone = self.sessions.get_mut(handle as usize)?.take()?;
        self.free.push(handle);
        Some(gone)
    }
    /// A session.
    ///
    /// # Errors
    /// `EBADFD`.
    pub fn at(&mut self, handle: u32) -> Done<&mut Session> {
        self.find(handle).ok_or(libc::EBADFD)
    }
    /// A session, if it exists.
    pub fn find(&mut self, handle: u32) -> Option<&mut Session> {
        self.sessions.get_mut(handle as usize)?.as_mut()
    }
    /// A session and the connection.
    ///
    /// # Errors
    /// `EBADFD`, `ENOTCONN`.
    pub fn both(&mut self, handle: u32) -> Done<(&mut Session, &mut Link)> {
        let session = self.sessions.get_mut(handle as usize).and_then(Option::as_mut);
        let session = session.ok_or(libc::EBADFD)?;
        Ok((session, self.link.as_mut().ok_or(libc::ENOTCONN)?))
    }
    /// Handles of all sessions.
    pub fn handles(&self) -> impl Iterator<Item = (u32, &Session)> {
        (0..).zip(&self.sessions).filter_map(|(at, s)| s.as_ref().map(|s| (at, s)))
    }
    /// Allocates an opaque value for a session.
    pub fn name(&mut self, handle: u32) -> u64 {
        self.word += 1;
        self.words.get_or_insert_default().insert(self.word, handle);
        self.word
    }

    /// Processes all events in the rings.
    pub fn pump(&mut self) {
        let mut count = 0;
        let Some(link) = &self.link else { return };
        if self.outside.is_some() && !self.is_polled {
            link.quiet();
        }
        for lane in 0..link.ends.len() {
            while let Some(line) = self.next(lane) {
                self.look(lane, line);
                count += 1;
            }
        }
        if self.link.as_ref().is_some_and(|link| link.is_dead && !link.is_mourned) {
            self.mourn();
            count += 1;
        }
        if count > 0 {
            self.tell_others();
        }
        self.rearm();
    }
    fn next(&mut self, lane: usize) -> Option<u32> {
        let link = self.link.as_mut().filter(|link| !link.is_dead)?;
        let next = link.ends[lane].lane.take();
        if next.is_err() {
            link.is_dead = true;
        }
        next.ok().flatten()
    }
    /// Wakes waiting threads: the events may be theirs.
    pub fn tell_others(&mut self) {
        if self.waiters > 0 {
            wait::wake_all();
        }
        if self.is_polled
            && let Some(link) = &self.link
        {
            link.nudge();
        }
    }
    /// Announces in all lanes that the process waits for its bell; `None` if there are events.
    pub fn fall_asleep(&mut self) -> Option<[Arc<OwnedFd>; 3]> {
        let link = self.link.as_mut()?;
        let is_quiet = link.is_dead || link.ends.iter_mut().all(|end| end.lane.sleep());
        let socket = if link.is_dead { &link.bell } else { &link.socket };
        is_quiet.then(|| [&link.bell, &link.nudge, socket].map(Arc::clone))
    }
    /// Announces that it no longer waits. `has_news` means that the socket is readable.
    pub fn wake_up(&mut self, has_news: bool) {
        let Some(link) = &mut self.link else { return };
        link.ends.iter_mut().for_each(|end| end.lane.wake());
        link.quiet();
        if has_news {
            link.hear();
        }
        self.rearm();
    }
    /// Rings the bell again for a program that waits for its descriptor.
    fn rearm(&mut self) {
        let Some(link) = self.link.as_mut().filter(|_| self.outside.is_some()) else { return };
        // All lanes are marked as asleep, even after one that has events.
        let news = link.ends.iter_mut().filter_map(|end| (!end.lane.sleep()).then_some(()));
        if news.count() > 0 {
            link.nudge();
        }
    }
    /// Ends all sessions after the connection to the router is lost.
    fn mourn(&mut self) {
        if let Some(link) = &mut self.link {
            link.is_mourned = true;
        }
        let all: Vec<u32> = self.handles().map(|(handle, _)| handle).collect();
        for handle in all {
            if let Some(session) = self.find(handle)
                && !matches!(session.kind, Kind::Epoll(_))
            {
                session.fail(libc::ECONNRESET);
                self.notify(handle);
            }
        }
    }

    /// Processes a line that the router has announced.
    fn look(&mut self, lane: usize, line: u32) {
        let Some(link) = &mut self.link else { return };
        let end = &mut link.ends[lane];
        let said = end.lane.state(line);
        let known = &mut end.lines[line as usize];
        if known.generation == said.generation {
            if let Some(handle) = known.session
                && let Some(session) = self.find(handle)
            {
                session.note((lane, line), said);
                self.notify(handle);
            }
            return;
        }
        *known = Known { generation: said.generation, session: None };
        for word in [Word::Written, Word::Taken, Word::Options] {
            end.lane.own.set(line, word, 0);
        }
        let own = Line { generation: said.generation, ..Line::default() };
        end.lane.set_state(line, own);
        let session = self.begin(lane, line, said);
        if let Some(Ok((session, link))) = session.map(|handle| self.both(handle)) {
            link.is_dead |= session.publish_options(link).is_err();
        }
        let Some(link) = &mut self.link else { return };
        let end = &mut link.ends[lane];
        end.lines[line as usize].session = session;
        if session.is_none() {
            let bits = state::RESET | state::CLOSE;
            end.lane.set_state(line, Line { bits, ..own });
        }
        // The router moves no data until the line is acknowledged.
        if end.post(line).is_err() {
            link.is_dead = true;
        }
    }
    /// Finds or creates the session of a new line.
    fn begin(&mut self, lane: usize, line: u32, said: Line) -> Option<u32> {
        let limit = self.config.as_ref()?.tx_fifo as usize;
        let region = &self.link.as_ref()?.ends[lane].lane.other;
        let (opaque, kind) = (region.get(line, Word::Opaque), region.get(line, Word::Kind));
        let (local, peer) = ends_of(region, line);
        let pipe = |is_datagrams| Pipe::new((lane, line), said, limit, is_datagrams);
        if said.has(state::ACCEPTED) {
            return self.begin_accepted(kind as u32, |parent| Session {
                kind: Kind::Open,
                local: Some(local),
                peer: Some(peer),
                pipes: vec![pipe(parent.is_udp())],
                options: parent.options.clone(),
                ..Session::new(parent.proto, false)
            });
        }
        let handle = *self.words.as_ref()?.get(&opaque)?;
        if said.has(state::DATAGRAMS) {
            self.find(handle)?.pipes.push(pipe(true));
            return Some(handle);
        }
        self.words.as_mut()?.remove(&opaque);
        let session = self.find(handle)?;
        if said.has(state::DEAD) {
            session.fail(i32::from(said.error));
            self.notify(handle);
            return None;
        }
        session.kind = Kind::Open;
        (session.local, session.peer) = (Some(local), Some(peer));
        let pipe = pipe(session.is_udp());
        session.pipes.push(pipe);
        session.changes += 1;
        self.notify(handle);
        Some(handle)
    }
    /// Creates the session of an accepted connection, for one of the listening sessions.
    fn begin_accepted(
        &mut self,
        listener: u32,
        make: impl FnOnce(&Session) -> Session,
    ) -> Option<u32> {
        // The session that has had the fewest turns.
        let listening = self.handles().filter(|(_, s)| s.listener == Some(listener));
        let (parent, _) = listening.min_by_key(|(_, s)| s.turns)?;
        let session = make(self.find(parent)?);
        let handle = self.add(Session { parent: Some(parent), ..session });
        let parent_session = self.find(parent)?;
        parent_session.accepted.push_back(handle);
        parent_session.turns += 1;
        parent_session.changes += 1;
        self.notify(parent);
        Some(handle)
    }
}
