//! Sessions as the process sees them, and what can be done with one now.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use lanes::lane::{State as Line, state};
use lanes::region::{Region, Word};
use lanes::stream::{In, Out};
use lanes::talk;

use super::epoll::Epoll;
use super::link::Link;
use super::{Done, Errno};

/// Protocols by number.
pub const TCP: u8 = 0;
/// Datagrams.
pub const UDP: u8 = 1;

/// Kinds of sessions.
pub enum Kind {
    /// Neither listening nor connected.
    Fresh,
    /// A listener.
    Listening,
    /// The router has been asked to connect.
    Connecting,
    /// Bytes or datagrams go through its pipes.
    Open,
    /// It has failed: the error, until it is fetched.
    Failed(Errno),
    /// A set of other sessions.
    Epoll(Epoll),
}

/// A session.
pub struct Session {
    /// Protocol.
    pub proto: u8,
    /// Whether calls return at once.
    pub is_nonblocking: bool,
    /// Its kind.
    pub kind: Kind,
    /// Its own end.
    pub local: Option<SocketAddr>,
    /// The peer.
    pub peer: Option<SocketAddr>,
    /// Its lines: one, or for datagrams of all peers one on each thread of the router.
    pub pipes: Vec<Pipe>,
    /// The router's number of its listener.
    pub listener: Option<u32>,
    /// The session that listened, of one that was accepted.
    pub parent: Option<u32>,
    /// The session whose pipes it uses, when several have been bound to the same place.
    pub shares: Option<u32>,
    /// Sessions that wait to be accepted.
    pub accepted: VecDeque<u32>,
    /// Sessions that were given to it so far.
    pub turns: u64,
    /// Changes that the router has announced, for edges.
    pub changes: u64,
    /// Sets that it is in.
    pub sets: Vec<u32>,
    /// Attributes that only have to be remembered.
    pub options: BTreeMap<u32, u32>,
    /// The program's own word.
    pub cookie: u64,
    /// Whether reading has been shut.
    pub is_deaf: bool,
    /// Whether datagrams of each peer are to be a session.
    pub is_by_peer: bool,
}

/// A line of a session.
pub struct Pipe {
    /// Its lane.
    pub lane: usize,
    /// Its number there.
    pub line: u32,
    /// Uses of the line.
    pub generation: u32,
    /// State that this side announces.
    pub bits: u16,
    /// State that the router announced last.
    pub said: Line,
    /// Received bytes.
    pub rx: In,
    /// Bytes to send.
    pub tx: Out,
    /// Whether datagrams go through it.
    pub is_datagrams: bool,
}

/// Both ends of a line.
pub fn ends_of(region: &Region, line: u32) -> (SocketAddr, SocketAddr) {
    let (kind, ports) = (region.get(line, Word::Kind), region.get(line, Word::Ports));
    let address = |high, low| {
        let bits = u128::from(region.get(line, high)) << 64 | u128::from(region.get(line, low));
        talk::address_of(bits.to_be_bytes(), kind >> 40 & 1 != 0)
    };
    let local = SocketAddr::new(address(Word::Local, Word::LocalLow), (ports >> 16) as u16);
    (local, SocketAddr::new(address(Word::Peer, Word::PeerLow), ports as u16))
}

impl Pipe {
    /// Of a line that was just seen.
    pub fn new((lane, line): (usize, u32), said: Line, limit: usize, is_datagrams: bool) -> Self {
        let least = if is_datagrams { 3 * (talk::LONGEST + talk::DATAGRAM) } else { 1 };
        Self {
            lane,
            line,
            generation: said.generation,
            bits: 0,
            said,
            rx: In::default(),
            tx: Out::new(limit.max(least)),
            is_datagrams,
        }
    }
    /// Whether the session has ended from the other side.
    pub fn is_dead(&self) -> bool {
        self.said.has(state::DEAD)
    }
    /// Bytes there are; first looks at the router's state, so that an end that it announces is
    /// behind them.
    pub fn available(&mut self, link: &Link) -> Done<usize> {
        let lane = &link.ends[self.lane].lane;
        let said = lane.state(self.line);
        if said.generation == self.generation {
            self.said = said;
        }
        self.rx.available(lane, self.line).map_err(|_| libc::EPROTO)
    }
    /// Room for bytes to send. Without any, the router is asked to say when there is.
    pub fn space(&mut self, link: &mut Link) -> Done<usize> {
        let need = if self.is_datagrams { talk::LONGEST + talk::DATAGRAM } else { 1 };
        let lane = &mut link.ends[self.lane].lane;
        let broken = |_| libc::EPROTO;
        let mut space = self.tx.space(lane, self.line).map_err(broken)?;
        if space < need {
            self.bits |= state::WANTS_ROOM;
            self.publish(link);
            let lane = &mut link.ends[self.lane].lane;
            space = self.tx.space_after(lane, self.line).map_err(broken)?;
        }
        if space >= need && self.bits & state::WANTS_ROOM != 0 {
            self.bits &= !state::WANTS_ROOM;
            self.publish(link);
        }
        Ok(if space < need { 0 } else { space })
    }
    /// Shows the router this side's state.
    pub fn publish(&self, link: &Link) {
        let state = Line { generation: self.generation, error: 0, bits: self.bits };
        link.ends[self.lane].lane.set_state(self.line, state);
    }
    /// Closes it. What was written is still sent, unless `is_reset`.
    pub fn close(mut self, link: &mut Link, is_reset: bool) {
        self.bits |= state::CLOSE | if is_reset { state::RESET } else { 0 };
        self.publish(link);
        let end = &mut link.ends[self.lane];
        end.lines[self.line as usize].session = None;
        // Without the router it has no reader.
        let _ = end.post(self.line);
        end.bury(self.line, self.generation, self.tx);
    }
}

impl Session {
    /// A fresh one.
    pub fn new(proto: u8, is_nonblocking: bool) -> Self {
        Self {
            proto,
            is_nonblocking,
            kind: Kind::Fresh,
            local: None,
            peer: None,
            pipes: Vec::new(),
            listener: None,
            parent: None,
            shares: None,
            accepted: VecDeque::new(),
            turns: 0,
            changes: 0,
            sets: Vec::new(),
            options: BTreeMap::new(),
            cookie: 0,
            is_deaf: false,
            is_by_peer: false,
        }
    }
    /// Whether it is one of datagrams.
    pub fn is_udp(&self) -> bool {
        self.proto == UDP
    }
    /// Its end by an error.
    pub fn fail(&mut self, why: Errno) {
        self.changes += 1;
        match &self.kind {
            Kind::Connecting => self.kind = Kind::Failed(why),
            Kind::Open | Kind::Listening => {
                self.kind = Kind::Failed(why);
                self.pipes.iter_mut().for_each(|pipe| pipe.said.bits |= state::DEAD);
            }
            _ => {}
        }
    }
    /// Notes what the router says of a line.
    pub fn note(&mut self, (lane, line): (usize, u32), said: Line) {
        self.changes += 1;
        if let Some(pipe) = self.pipes.iter_mut().find(|p| p.lane == lane && p.line == line) {
            pipe.said = said;
        }
    }
}

/// Readiness of a session, as bits of epoll.
pub fn readiness(session: &mut Session, link: Option<&mut Link>) -> u32 {
    let all = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) as u32;
    match &session.kind {
        Kind::Listening if !session.accepted.is_empty() => libc::EPOLLIN as u32,
        Kind::Failed(_) => all,
        Kind::Open => link.map_or(all, |link| of_pipes(session, link)),
        _ => 0,
    }
}

fn of_pipes(session: &mut Session, link: &mut Link) -> u32 {
    let mut mask = 0;
    for pipe in &mut session.pipes {
        let available = pipe.available(link).unwrap_or(0);
        if available > 0 {
            mask |= libc::EPOLLIN;
        }
        if pipe.is_dead() {
            mask |= libc::EPOLLIN | libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP;
            continue;
        }
        if pipe.said.has(state::FINISHED) {
            mask |= libc::EPOLLIN | libc::EPOLLRDHUP;
            // Programs of this library close a session at this event.
            mask |= if available == 0 { libc::EPOLLHUP } else { 0 };
        }
        if pipe.bits & state::SHUT == 0 && pipe.space(link).unwrap_or(0) > 0 {
            mask |= libc::EPOLLOUT;
        }
    }
    mask as u32
}
