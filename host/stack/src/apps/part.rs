//! The part of an attached program on one thread: it copies data between streams and a lane.
//!
//! The program may change its region at any time, so the lane validates everything read from it. An
//! invalid line ends its session; several invalid lines, or an invalid ring, end the attachment.
//! Data to send is copied before it is examined.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use lanes::Broken;
use lanes::bell::Bell;
use lanes::lane::{Lane, State, state};
use lanes::options::TcpOptions;
use lanes::region::{CHUNK, LINES, Word};
use lanes::stream::{In, Out};
use lanes::talk;
use rustix::io::write;
use tcp_machine::Settings;

use super::errno;
use super::moves::{leave, move_in, move_out};
use crate::data::app::{Application, Stream, Turn};
use crate::data::endpoint::Transport;
use crate::data::session::{Failure, SessionId};

/// Limit of lines processed in a turn.
const LOOKS: usize = 256;
/// Seconds without events after which the thread waits for its bell.
const IDLE: f64 = 50e-6;
/// Number of invalid sessions after which the attachment ends.
const PATIENCE: u32 = 16;
/// EPROTO.
const PROTOCOL: u16 = 71;

/// The part of a program.
pub struct Program {
    /// Index of its lane.
    pub number: usize,
    lane: Option<Lane>,
    /// The program's bell.
    bell: Arc<Bell>,
    /// Notified when the attachment is to end.
    alarm: Arc<OwnedFd>,
    lines: Vec<Line>,
    free: Vec<u32>,
    /// Datagram listeners without a line, and the program's opaque values.
    wanted: BTreeMap<u32, u64>,
    /// Bytes that may still be moved in this turn.
    budget: usize,
    rx_limit: usize,
    /// Number of invalid sessions.
    broken: u32,
    is_over: bool,
    /// Whether the program has ended: only sessions that it had closed continue.
    is_orphan: bool,
    is_asleep: bool,
    busy_at: f64,
    scratch: Vec<u8>,
}

/// A session of the program.
pub struct Line {
    /// State announced by the router.
    pub state: State,
    /// The session; `None` after it has ended.
    pub session: Option<SessionId>,
    /// Received data.
    pub rx: Out,
    /// Data to send.
    pub tx: In,
    is_used: bool,
    is_shut: bool,
    /// Whether the line carries datagrams.
    pub is_datagrams: bool,
    /// The program's options.
    options: TcpOptions,
}

/// Settings of a connection with a program's options.
fn settings(options: TcpOptions) -> Settings {
    Settings {
        is_undelayed: options.is_undelayed,
        keepalive_idle_s: options.keepalive_idle_s,
        keepalive_interval_s: options.keepalive_interval_s,
        ..Settings::default().with_keepalive()
    }
}

/// Endpoints and origin of a session.
struct Origin {
    bits: u16,
    opaque: u64,
    listener: u32,
}

impl Program {
    /// Creates the part without sessions. Without a lane it accepts none.
    pub fn new(
        number: usize,
        lane: Option<Lane>,
        (bell, alarm): (Arc<Bell>, Arc<OwnedFd>),
        rx_limit: usize,
    ) -> Self {
        Self {
            number,
            lane,
            bell,
            alarm,
            lines: Vec::new(),
            free: Vec::new(),
            wanted: BTreeMap::new(),
            budget: 0,
            rx_limit,
            broken: 0,
            is_over: false,
            is_orphan: false,
            is_asleep: true,
            busy_at: 0.0,
            scratch: vec![0; talk::LONGEST + talk::DATAGRAM],
        }
    }
    /// Accepts the datagrams of a listener.
    pub fn want(&mut self, listener: u32, opaque: u64) {
        self.wanted.insert(listener, opaque);
    }
    /// Handles the end of the program; returns the number of closed sessions that still have to
    /// send.
    pub fn orphan(&mut self) -> usize {
        self.is_orphan = true;
        let Some(lane) = &self.lane else { return 0 };
        let is_closing = |(at, line): (u32, &Line)| {
            let said = lane.state(at);
            let is_said = said.generation == line.state.generation && said.has(state::CLOSE);
            line.is_used && line.session.is_some() && is_said
        };
        if self.is_over { 0 } else { (0..).zip(&self.lines).filter(|l| is_closing(*l)).count() }
    }
    fn ring(&mut self) {
        if self.lane.as_mut().is_some_and(Lane::must_ring) {
            self.bell.ring();
        }
    }
    fn post(&mut self, at: u32) {
        let posted = self.lane.as_mut().map_or(Ok(()), |lane| lane.post(at));
        match posted {
            Ok(()) => self.ring(),
            Err(Broken) => self.ruin(),
        }
    }
    /// Requests that the control thread end the attachment.
    fn ruin(&mut self) {
        self.is_over = true;
        let _ = write(&*self.alarm, &1u64.to_ne_bytes());
    }
    /// The opaque value of a session: generation and number of its line.
    fn word(&self, at: u32) -> u64 {
        u64::from(self.lines[at as usize].state.generation) << 32 | u64::from(at)
    }
    /// The line of an opaque value, while it belongs to that session.
    fn line_of(&self, word: u64) -> Option<u32> {
        let line = self.lines.get(word as u32 as usize)?;
        (line.is_used && u64::from(line.state.generation) == word >> 32).then_some(word as u32)
    }
    /// Allocates a line for a session; `None` if all are in use.
    fn open(&mut self, stream: Option<&Stream<'_>>, origin: &Origin) -> Option<u32> {
        if self.is_over || self.is_orphan {
            return None;
        }
        let lane = self.lane.as_mut()?;
        let ends = stream.map(Stream::ends);
        let is_datagrams = ends.is_some_and(|ends| ends.transport == Transport::Udp);
        // The longest datagram has to fit.
        let least = if is_datagrams { 3 * (talk::LONGEST + talk::DATAGRAM) } else { CHUNK };
        let rx = Out::new(self.rx_limit.max(least));
        let fresh = Line {
            state: State { generation: 1, error: 0, bits: origin.bits },
            session: stream.map(Stream::id),
            rx,
            tx: In::default(),
            is_used: true,
            is_shut: false,
            is_datagrams,
            options: TcpOptions::default(),
        };
        let at = match self.free.pop() {
            Some(at) => {
                let line = &mut self.lines[at as usize];
                let generation = line.state.generation.wrapping_add(1).max(1);
                *line = fresh;
                line.state.generation = generation;
                at
            }
            None if self.lines.len() < LINES as usize => {
                self.lines.push(fresh);
                self.lines.len() as u32 - 1
            }
            None => return None,
        };
        lane.own.set(at, Word::Written, 0);
        lane.own.set(at, Word::Taken, 0);
        lane.own.set(at, Word::Opaque, origin.opaque);
        let mut kind = u64::from(origin.listener);
        if let Some(ends) = ends {
            kind |= u64::from(ends.transport.number()) << 32;
            kind |= u64::from(ends.local.is_ipv6()) << 40;
            let halves = |address| {
                let bits = u128::from_be_bytes(talk::octets(address));
                [(bits >> 64) as u64, bits as u64]
            };
            let ([local, local_low], [peer, peer_low]) =
                (halves(ends.local.ip()), halves(ends.peer.ip()));
            lane.own.set(at, Word::Local, local);
            lane.own.set(at, Word::LocalLow, local_low);
            lane.own.set(at, Word::Peer, peer);
            lane.own.set(at, Word::PeerLow, peer_low);
            let ports = u64::from(ends.local.port()) << 16 | u64::from(ends.peer.port());
            lane.own.set(at, Word::Ports, ports);
        }
        lane.own.set(at, Word::Kind, kind);
        lane.set_state(at, self.lines[at as usize].state);
        Some(at)
    }
    /// Frees a line that the program has closed.
    fn free(&mut self, at: u32) {
        let Some(lane) = &mut self.lane else { return };
        let line = &mut self.lines[at as usize];
        if line.is_used {
            line.rx.clear(lane);
            (line.is_used, line.session) = (false, None);
            // DEAD returns the program's chunks to it.
            let state = State { bits: state::DEAD, ..line.state };
            lane.set_state(at, state);
            self.free.push(at);
        }
    }
    /// Notifies the program that a session has failed or ended.
    fn end(&mut self, at: u32, error: u16) {
        let Some(lane) = &self.lane else { return };
        let line = &mut self.lines[at as usize];
        line.session = None;
        line.state.error = error;
        line.state.bits |= state::DEAD;
        lane.set_state(at, line.state);
        let said = lane.state(at);
        let is_said = said.generation == line.state.generation;
        if self.is_orphan || is_said && said.has(state::CLOSE | state::RESET) {
            self.free(at);
        } else {
            self.post(at);
        }
    }
    /// Synchronizes a line and its stream.
    fn settle(&mut self, stream: &mut Stream<'_>) {
        let Some(at) = self.line_of(stream.data()) else {
            if stream.is_listening() {
                stream.set_data(u64::MAX);
            } else {
                // The program has closed it while it moved.
                stream.reset();
            }
            return;
        };
        let line = &mut self.lines[at as usize];
        line.session = Some(stream.id());
        let Some(lane) = &mut self.lane else { return };
        let said = lane.state(at);
        // Its state belongs to another session until the program has seen this one.
        if self.is_over || said.generation != line.state.generation {
            return;
        }
        if said.has(state::RESET) || self.is_orphan && !said.has(state::CLOSE) {
            leave(line, stream, true);
            return self.free(at);
        }
        let options = TcpOptions::of(lane.other.get(at, Word::Options));
        if options != std::mem::replace(&mut line.options, options) {
            stream.set_tcp(settings(options));
        }
        let (scratch, budget) = (&mut self.scratch[..], &mut self.budget);
        let moved = move_out(lane, at, line, stream, (&mut *scratch, &mut *budget));
        let moved = moved.and_then(|is_news| {
            if said.has(state::CLOSE) {
                return Ok(is_news);
            }
            Ok(move_in(lane, at, line, stream, (scratch, budget))? | is_news)
        });
        let Ok(is_news) = moved else {
            leave(line, stream, true);
            self.broken += 1;
            if self.broken >= PATIENCE {
                self.ruin();
            }
            return self.end(at, PROTOCOL);
        };
        let is_sent = line.tx.available(lane, at) == Ok(0);
        if said.has(state::CLOSE) && (is_sent || line.is_datagrams) {
            let has_unread = line.rx.space(lane, at).is_err() || !line.rx.is_empty();
            leave(line, stream, has_unread && !line.is_datagrams);
            return self.free(at);
        }
        if said.has(state::SHUT) && is_sent && !line.is_shut {
            line.is_shut = true;
            stream.shut();
        }
        if is_news {
            self.post(at);
        }
    }
    /// Processes a line that the program has announced.
    fn look(&mut self, at: u32, turn: &mut Turn<'_>) {
        let Some(line) = self.lines.get(at as usize).filter(|line| line.is_used) else { return };
        if let Some(session) = line.session {
            if let Some(mut stream) = turn.stream(session) {
                return self.settle(&mut stream);
            }
            // One that has moved to this thread is looked at when its new name is known.
            if usize::from(session.thread) != turn.thread() {
                return;
            }
        }
        let said = self.lane.as_ref().map(|lane| lane.state(at)).unwrap_or_default();
        let is_said = said.generation == line.state.generation;
        if is_said && said.has(state::CLOSE | state::RESET) {
            self.free(at);
        }
    }
    fn begin_datagrams(&mut self, turn: &mut Turn<'_>) {
        while let Some((&listener, &opaque)) = self.wanted.first_key_value() {
            let origin = Origin { bits: state::DATAGRAMS, opaque, listener };
            if let Some(mut stream) = turn.listening(listener)
                && self.line_of(stream.data()).is_none()
            {
                // It waits for a line.
                let Some(at) = self.open(Some(&stream), &origin) else { return };
                stream.set_data(self.word(at));
                self.post(at);
            }
            self.wanted.remove(&listener);
        }
    }
    /// Ends the sessions of a program that has ended, except those that it had closed.
    fn end_orphans(&mut self, turn: &mut Turn<'_>) {
        for at in 0..self.lines.len() {
            if let Some(session) = self.lines[at].session
                && let Some(mut stream) = turn.stream(session)
            {
                self.settle(&mut stream);
            }
        }
    }
}

impl Application for Program {
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool {
        let origin = Origin { bits: state::ACCEPTED, opaque: 0, listener: stream.listener() };
        let Some(at) = self.open(Some(stream), &origin) else { return false };
        stream.set_data(self.word(at));
        self.post(at);
        true
    }
    fn on_connected(&mut self, stream: &mut Stream<'_>) {
        let origin = Origin { bits: state::CONNECTED, opaque: stream.data(), listener: u32::MAX };
        match self.open(Some(stream), &origin) {
            Some(at) => {
                stream.set_data(self.word(at));
                self.post(at);
            }
            None => stream.reset(),
        }
    }
    fn on_refused(&mut self, opaque: u64, why: Failure) {
        let origin = Origin { bits: state::CONNECTED, opaque, listener: u32::MAX };
        if let Some(at) = self.open(None, &origin) {
            self.end(at, errno::of_failure(why));
        }
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_timer(&mut self, stream: &mut Stream<'_>) {
        self.settle(stream);
    }
    fn on_reset(&mut self, _: SessionId, data: u64, why: Failure) {
        if let Some(at) = self.line_of(data) {
            self.end(at, errno::of_failure(why));
        }
    }
    fn has_turns(&self) -> bool {
        true
    }
    fn on_turn(&mut self, turn: &mut Turn<'_>) -> bool {
        if self.is_over {
            return false;
        }
        self.budget = turn.share();
        if self.is_orphan {
            self.end_orphans(turn);
            return false;
        }
        if !self.wanted.is_empty() {
            self.begin_datagrams(turn);
        }
        let mut looks = 0;
        while looks < LOOKS {
            let Some(lane) = &mut self.lane else { return false };
            match lane.take() {
                Ok(Some(line)) => self.look(line, turn),
                Ok(None) => break,
                Err(Broken) => {
                    self.ruin();
                    return false;
                }
            }
            looks += 1;
        }
        let Some(lane) = &mut self.lane else { return false };
        if looks > 0 {
            self.busy_at = turn.now();
            if self.is_asleep {
                self.is_asleep = false;
                lane.wake();
            }
            return true;
        }
        if !self.is_asleep && turn.now() - self.busy_at > IDLE {
            self.is_asleep = lane.sleep();
        }
        !self.is_asleep
    }
}
