//! Sessions of the process, and their readiness.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use lanes::lane::{State as Line, state};
use lanes::options::TcpOptions;
use lanes::region::{Region, Word};
use lanes::stream::{In, Out};
use lanes::talk;

use super::attr::op;
use super::epoll::Epoll;
use super::link::Link;
use super::{Done, Errno};

/// Protocol number of TCP.
pub const TCP: u8 = 0;
/// Protocol number of UDP.
pub const UDP: u8 = 1;

/// Kinds of sessions.
pub enum Kind {
    /// Neither listening nor connected.
    Fresh,
    /// A listener.
    Listening,
    /// The connect request is pending.
    Connecting,
    /// Connected.
    Open,
    /// Failed, with the error until it is fetched.
    Failed(Errno),
    /// An epoll set.
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
    /// The local endpoint.
    pub local: Option<SocketAddr>,
    /// The peer.
    pub peer: Option<SocketAddr>,
    /// Its lines: one, or one per thread of the router for a session with datagrams of all peers.
    pub pipes: Vec<Pipe>,
    /// Number of its listener in the router.
    pub listener: Option<u32>,
    /// The listening session, if it was accepted.
    pub parent: Option<u32>,
    /// The session whose pipes it uses, if several are bound to the same endpoint.
    pub shares: Option<u32>,
    /// Sessions waiting to be accepted.
    pub accepted: VecDeque<u32>,
    /// Number of sessions it has been given.
    pub turns: u64,
    /// Number of changes announced by the router, for edge triggering.
    pub changes: u64,
    /// Epoll sets that contain it.
    pub sets: Vec<u32>,
    /// Attributes by the numbers that get them.
    pub options: BTreeMap<u32, u32>,
    /// The program's own value.
    pub cookie: u64,
    /// Whether reading has been shut down.
    pub is_deaf: bool,
    /// Whether each peer of a datagram listener gets its own session.
    pub is_by_peer: bool,
}

/// A line of a session.
pub struct Pipe {
    /// Its lane.
    pub lane: usize,
    /// Number of the line in the lane.
    pub line: u32,
    /// Generation of the line: how often it has been used.
    pub generation: u32,
    /// State bits set by this side.
    pub bits: u16,
    /// The router's last announced state.
    pub said: Line,
    /// Received bytes.
    pub rx: In,
    /// Bytes to send.
    pub tx: Out,
    /// Whether datagrams go through it.
    pub is_datagrams: bool,
}

/// The two endpoints of a line.
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
    /// Creates a pipe for a newly announced line.
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
    /// Whether the router has ended the session.
    pub fn is_dead(&self) -> bool {
        self.said.has(state::DEAD)
    }
    /// Number of readable bytes. The router's state is read first, so that an announced end comes
    /// after all data.
    pub fn available(&mut self, link: &Link) -> Done<usize> {
        let lane = &link.ends[self.lane].lane;
        let said = lane.state(self.line);
        if said.generation == self.generation {
            self.said = said;
        }
        self.rx.available(lane, self.line).map_err(|_| libc::EPROTO)
    }
    /// Free space for writing. If there is none, the router is asked to notify when there is.
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
    /// Publishes this side's state.
    pub fn publish(&self, link: &Link) {
        let state = Line { generation: self.generation, error: 0, bits: self.bits };
        link.ends[self.lane].lane.set_state(self.line, state);
    }
    /// Closes the pipe. Written data is still sent, unless `is_reset`.
    pub fn close(mut self, link: &mut Link, is_reset: bool) {
        self.bits |= state::CLOSE | if is_reset { state::RESET } else { 0 };
        self.publish(link);
        let end = &mut link.ends[self.lane];
        end.lines[self.line as usize].session = None;
        // If the router is gone, nothing reads it.
        let _ = end.post(self.line);
        end.bury(self.line, self.generation, self.tx);
    }
}

impl Session {
    /// Creates a new session.
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
    /// The value of a stored attribute.
    pub fn option(&self, key: u32) -> u32 {
        let default = match key {
            op::GET_TCP_KEEPIDLE => 7200,
            op::GET_TCP_KEEPINTVL => 75,
            _ => 0,
        };
        self.options.get(&key).copied().unwrap_or(default)
    }
    /// Publishes options for TCP.
    ///
    /// # Errors
    /// `EPROTO` if the router violates the protocol.
    pub fn publish_options(&self, link: &mut Link) -> Done<()> {
        let seconds = |key| u16::try_from(self.option(key).max(1)).unwrap_or(u16::MAX);
        let is_kept = self.option(op::GET_KEEPALIVE) != 0;
        let options = TcpOptions {
            is_undelayed: self.option(op::GET_TCP_NODELAY) != 0,
            keepalive_idle_s: if is_kept { seconds(op::GET_TCP_KEEPIDLE) } else { 0 },
            keepalive_interval_s: seconds(op::GET_TCP_KEEPINTVL),
        };
        for pipe in self.pipes.iter().filter(|pipe| !pipe.is_datagrams) {
            let end = &mut link.ends[pipe.lane];
            end.lane.own.set(pipe.line, Word::Options, options.word());
            end.post(pipe.line)?;
        }
        Ok(())
    }
    /// Whether it is a datagram session.
    pub fn is_udp(&self) -> bool {
        self.proto == UDP
    }
    /// Ends the session with an error.
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
    /// Records the router's state of a line.
    pub fn note(&mut self, (lane, line): (usize, u32), said: Line) {
        self.changes += 1;
        if let Some(pipe) = self.pipes.iter_mut().find(|p| p.lane == lane && p.line == line) {
            pipe.said = said;
        }
    }
}

/// Readiness of a session as epoll bits.
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
            // VPP's applications close a session on this event.
            mask |= if available == 0 { libc::EPOLLHUP } else { 0 };
        }
        if pipe.bits & state::SHUT == 0 && pipe.space(link).unwrap_or(0) > 0 {
            mask |= libc::EPOLLOUT;
        }
    }
    mask as u32
}
