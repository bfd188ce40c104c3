//! The part of the application of sockets on one thread.
//!
//! It waits for all of its sockets with one epoll descriptor, edge-triggered, which wakes the
//! thread. All calls on sockets return at once, and are bounded by the bytes that an application
//! may move in a turn.

use std::collections::{BTreeMap, VecDeque};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use lanes::socket::Answer;
use rustix::event::{Timespec, epoll};
use rustix::io::write as ring;

use super::doors::Doors;
use super::flow::{AT_ONCE, DATAGRAM, Flow, LONGEST, Link, Offered};
use super::link::{Closer, Door, Got, Socket, offer, pair, write, write_datagram};
use crate::apps::errno::of_failure;
use crate::data::app::{Application, Stream, Turn};
use crate::data::endpoint::Transport;
use crate::data::session::{Failure, SessionId};

/// Events looked at in a turn.
const EVENTS: usize = 64;
/// Connections of listeners that wait until a program has room for them.
const OFFERS: usize = 4096;
/// Marks doors among the numbers of sockets.
const DOOR: u64 = 1 << 63;

/// A socket that connects.
pub struct Waiting {
    /// The socket.
    pub socket: Socket,
    /// Filling bytes that follow the request.
    pub filling: usize,
}

/// State that all parts share.
#[derive(Clone)]
pub struct Common {
    /// Rung when a program has closed a door.
    pub alarm: Arc<OwnedFd>,
    /// Closes sockets.
    pub closer: Closer,
    /// Clones of it are with sockets.
    pub ticket: Arc<()>,
    /// Limit of sockets.
    pub most: usize,
}

/// The part.
pub struct Sockets {
    /// Its number: parts keep it when they move to other threads.
    pub number: usize,
    /// Its epoll descriptor.
    poll: Arc<OwnedFd>,
    common: Common,
    links: Vec<(u32, Option<Link>)>,
    free: Vec<u32>,
    doors: Doors,
    waiting: BTreeMap<u64, Waiting>,
    /// Sockets with more to move.
    again: VecDeque<u64>,
    /// Connections that no program has taken.
    offers: VecDeque<u64>,
    /// Whether to offer them again.
    must_offer: bool,
    budget: usize,
    scratch: Vec<u8>,
}

impl Sockets {
    /// Creates the part without sockets.
    pub fn new(number: usize, poll: Arc<OwnedFd>, common: Common) -> Self {
        Self {
            number,
            poll,
            common,
            links: Vec::new(),
            free: Vec::new(),
            doors: Doors::default(),
            waiting: BTreeMap::new(),
            again: VecDeque::new(),
            offers: VecDeque::new(),
            must_offer: false,
            budget: 0,
            scratch: vec![0; LONGEST],
        }
    }
    /// Keeps a socket until its connection is established.
    pub fn wait(&mut self, opaque: u64, waiting: Waiting) {
        self.waiting.insert(opaque, waiting);
    }
    /// Answers a socket whose request has failed.
    pub fn fail(&mut self, opaque: u64, error: u32) {
        if let Some(Waiting { socket, .. }) = self.waiting.remove(&opaque) {
            // The program may be gone.
            write(socket.fd(), &Answer::failed(error).to_bytes());
        }
    }
    /// Adds a door. One part reads what programs send from doors for datagrams.
    pub fn open_door(&mut self, door: &Arc<Door>) {
        let reads = door.is_udp && self.number == 0;
        if self.doors.add(door, reads) {
            let events = if reads { epoll::EventFlags::IN } else { epoll::EventFlags::OUT };
            self.watch(door.socket.fd(), DOOR | u64::from(door.number), events);
        }
    }
    /// Removes a door.
    pub fn shut_door(&mut self, door: &Arc<Door>) {
        self.doors.remove(door.number);
        self.must_offer = true;
        // It may not be there.
        let _ = epoll::delete(&*self.poll, door.socket.fd());
    }
    fn watch(&self, fd: BorrowedFd<'_>, word: u64, events: epoll::EventFlags) -> bool {
        let events = events | epoll::EventFlags::ET;
        epoll::add(&*self.poll, fd, epoll::EventData::new_u64(word), events).is_ok()
    }
    fn link(&mut self, word: u64) -> Option<&mut Link> {
        let (generation, link) = self.links.get_mut(word as u32 as usize)?;
        link.as_mut().filter(|_| u64::from(*generation) == word >> 32)
    }
    /// Removes a session's socket.
    fn remove(&mut self, word: u64) -> Option<Link> {
        self.link(word)?;
        let (generation, link) = &mut self.links[word as u32 as usize];
        *generation = (*generation + 1) & (u32::MAX >> 1);
        self.free.push(word as u32);
        link.take()
    }
    /// Gives a session a socket; `None` if it cannot be waited for.
    fn add(&mut self, stream: &mut Stream<'_>, socket: Socket) -> Option<u64> {
        let at = self.free.pop().unwrap_or_else(|| {
            self.links.push((1, None));
            self.links.len() as u32 - 1
        });
        let word = u64::from(self.links[at as usize].0) << 32 | u64::from(at);
        let events = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP;
        if !self.watch(socket.fd(), word, events) {
            self.free.push(at);
            return None;
        }
        let is_udp = stream.ends().transport == Transport::Udp;
        self.links[at as usize].1 = Some(Link::new(socket, stream.id(), is_udp));
        stream.set_data(word);
        Some(word)
    }
    /// Moves bytes between a session and its socket.
    fn settle(&mut self, stream: &mut Stream<'_>) {
        let word = stream.data();
        let Self { scratch, budget, links, .. } = self;
        let link = links.get_mut(word as u32 as usize);
        let link = link.filter(|(generation, _)| u64::from(*generation) == word >> 32);
        let Some(link) = link.and_then(|(_, link)| link.as_mut()) else {
            // The session has moved here while it ended.
            return stream.reset();
        };
        link.session = stream.id();
        let flow = link.move_out(stream, (&mut *scratch, &mut *budget));
        match flow {
            Flow::More => self.again.push_back(word),
            Flow::Waits => {}
            Flow::Closed => {
                stream.close();
                return self.remove(word).map_or((), Link::close_now);
            }
            Flow::Broken => {
                stream.reset();
                self.remove(word);
                return;
            }
        }
        link.move_in(stream, (scratch, budget));
    }
    /// Offers a connection to the programs that listen; false if none does.
    fn offer(&mut self, word: u64, listener: u32) -> bool {
        let Self { links, doors, .. } = self;
        let Some((_, Some(link))) = links.get_mut(word as u32 as usize) else { return false };
        let Some(Offered { end, answer }) = &link.offered else { return true };
        let mut is_open = false;
        for door in doors.in_turn(listener) {
            match offer(door, end, *answer) {
                Got::Bytes(_) => {
                    link.offered = None;
                    return true;
                }
                Got::Nothing => is_open = true,
                _ => {}
            }
        }
        is_open
    }
    /// Offers connections again that no program had room for.
    fn offer_again(&mut self, turn: &mut Turn<'_>) {
        self.must_offer = self.offers.len() > EVENTS;
        for _ in 0..self.offers.len().min(EVENTS) {
            let Some(word) = self.offers.pop_front() else { return };
            let Some(session) = self.link(word).map(|link| link.session) else { continue };
            let Some(mut stream) = turn.stream(session) else { continue };
            if !self.offer(word, stream.listener()) {
                stream.reset();
                self.remove(word);
            } else if self.link(word).is_some_and(|link| link.offered.is_some()) {
                self.must_offer = false;
                return self.offers.push_front(word);
            }
        }
    }
    /// Notes an event; the session to look at.
    fn note(&mut self, word: u64, flags: epoll::EventFlags) -> Option<SessionId> {
        let is_closed = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if word & DOOR != 0 {
            self.doors.note(word as u32);
            if is_closed {
                // Full of rings is as loud as it gets.
                let _ = ring(&*self.common.alarm, &1u64.to_ne_bytes());
            }
            return None;
        }
        let link = self.link(word)?;
        link.is_closed |= is_closed;
        if flags.contains(epoll::EventFlags::OUT) {
            link.is_full = false;
        }
        let end = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP;
        link.is_ending |= flags.intersects(end);
        link.has_input |= flags.intersects(end | epoll::EventFlags::IN);
        Some(link.session)
    }
    /// Takes events; whether there may be more.
    fn listen(&mut self, turn: &mut Turn<'_>) -> bool {
        let mut space = [MaybeUninit::uninit(); EVENTS];
        let (poll, at_once) = (Arc::clone(&self.poll), Timespec::default());
        // It fails for a signal at most.
        let events = epoll::wait(&*poll, &mut space, Some(&at_once)).map(|(events, _)| events);
        let events = events.unwrap_or_default();
        let count = events.len();
        for event in events {
            let word = event.data.u64();
            self.must_offer |= word & DOOR != 0;
            if let Some(session) = self.note(word, event.flags)
                && let Some(mut stream) = turn.stream(session)
            {
                self.settle(&mut stream);
            }
        }
        if self.must_offer {
            self.offer_again(turn);
        }
        count == EVENTS
    }
    /// Sends what programs have written to doors for datagrams; whether there is more.
    fn send_datagrams(&mut self, turn: &mut Turn<'_>) -> bool {
        let Self { doors, scratch, budget, .. } = self;
        let mut send = |door: &Door, to: SocketAddr, bytes: &[u8]| {
            for listener in &door.listeners {
                if let Some(mut stream) = turn.listening(*listener)
                    && stream.is_of_version(to.ip())
                {
                    // One that cannot be sent is dropped.
                    return stream.send(bytes, Some(to)) || stream.space() >= bytes.len();
                }
            }
            true
        };
        let mut is_more = false;
        for place in doors.ready() {
            is_more |= place.send(scratch, budget, &mut send);
        }
        is_more
    }
    /// Gives datagrams of a listener to the programs that have a door for them.
    fn receive_datagrams(&mut self, stream: &mut Stream<'_>) {
        let Self { doors, scratch, budget, .. } = self;
        let (listener, most, mut moved) = (stream.listener(), AT_ONCE.min(*budget), 0);
        while stream.readable() > 0 {
            if moved >= most {
                stream.wake();
                break;
            }
            let Some((len, from)) = stream.receive(scratch) else { break };
            if let Some(door) = doors.of_peer(listener, from) {
                // One for which there is no room is lost, as all datagrams may be.
                write_datagram(door.socket.fd(), from, &scratch[..len.min(scratch.len())]);
            }
            moved += len + DATAGRAM;
        }
        *budget = budget.saturating_sub(moved);
    }
    fn answer(stream: &Stream<'_>) -> Answer {
        let ends = stream.ends();
        Answer { error: 0, local: ends.local, peer: ends.peer }
    }
}

impl Application for Sockets {
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool {
        let is_full = Arc::strong_count(&self.common.ticket) > self.common.most;
        if is_full || self.offers.len() >= OFFERS || !self.doors.has(stream.listener()) {
            return false;
        }
        let Ok((here, end)) = pair() else { return false };
        let Common { closer, ticket, .. } = self.common.clone();
        let Some(word) = self.add(stream, Socket::new(here, closer, ticket)) else { return false };
        let answer = Self::answer(stream);
        if let Some(link) = self.link(word) {
            link.offered = Some(Offered { end, answer });
        }
        if !self.offer(word, stream.listener()) {
            self.remove(word);
            return false;
        }
        if self.link(word).is_some_and(|link| link.offered.is_some()) {
            self.offers.push_back(word);
        }
        true
    }
    fn on_connected(&mut self, stream: &mut Stream<'_>) {
        let Some(Waiting { socket, filling }) = self.waiting.remove(&stream.data()) else {
            return stream.reset();
        };
        if !matches!(write(socket.fd(), &Self::answer(stream).to_bytes()), Got::Bytes(_)) {
            return stream.reset();
        }
        let Some(word) = self.add(stream, socket) else { return stream.reset() };
        if let Some(link) = self.link(word) {
            link.filling = filling;
        }
        self.settle(stream);
    }
    fn on_refused(&mut self, opaque: u64, why: Failure) {
        self.fail(opaque, of_failure(why).into());
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        if stream.is_listening() {
            return self.receive_datagrams(stream);
        }
        self.settle(stream);
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        // Datagrams of doors are sent in each turn.
        if !stream.is_listening() {
            self.settle(stream);
        }
    }
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_timer(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_reset(&mut self, _: SessionId, data: u64, _: Failure) {
        self.remove(data);
    }
    fn has_turns(&self) -> bool {
        true
    }
    fn on_turn(&mut self, turn: &mut Turn<'_>) -> bool {
        self.budget = turn.share();
        let mut more = self.listen(turn);
        for _ in 0..self.again.len() {
            let Some(word) = self.again.pop_front() else { break };
            let session = self.link(word).map(|link| link.session);
            if let Some(mut stream) = session.and_then(|session| turn.stream(session)) {
                self.settle(&mut stream);
            }
        }
        more |= self.send_datagrams(turn);
        more || !self.again.is_empty() || self.must_offer
    }
}
