//! Sessions: what lets answers pass of packets that a rule said `permit+reflect` of.
//!
//! A session belongs to an interface and a path (routed or bridged): it begins with a packet that
//! the interface received or sent, and lets pass what goes the other way there between the same
//! ends, errors of ICMP about it, and further packets, without asking lists again.

use graph::Ports;
use net::prelude::*;
use sessions::{
    Address, Affinity, Class, Counted, Direction, End, Flow, Kind, Lent, Look, New, Refused, Seen,
    SessionIndex, Sessions, Table,
};

use super::packet::Matched;
use super::tcp::Connection;

/// Timeouts in seconds: of everything but TCP, of established connections of TCP, of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Everything but TCP.
    pub udp_idle: u32,
    /// Connections that are established.
    pub tcp_idle: u32,
    /// Connections that are not established.
    pub tcp_transient: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { udp_idle: 600, tcp_idle: 86_400, tcp_transient: 120 }
    }
}

const OTHER: u8 = 0;
const ESTABLISHED: u8 = 1;
const TRANSITORY: u8 = 2;

impl Timeouts {
    /// The classes of sessions; those of connections that are established make no room for others.
    pub(super) fn classes(&self) -> [Class; 3] {
        let class = |timeout: u32, may_be_evicted| Class {
            timeout: timeout.into(),
            may_be_evicted,
            goes_first: false,
        };
        [class(self.udp_idle, true), class(self.tcp_idle, false), class(self.tcp_transient, true)]
    }
}

/// State of a session besides its flow.
#[derive(Clone, Copy, Debug, FromBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Origin {
    tcp: Connection,
    padding: [u8; 2],
    /// The list and rule that began it.
    pub list: u32,
    /// The rule's place in it.
    pub rule: u32,
    /// The state of all lists when it began.
    generation: u32,
}

impl Origin {
    /// The state of the connection, in a word.
    pub fn state(&self) -> &'static str {
        self.tcp.name()
    }
}

/// The sessions of a version.
pub type Of<A> = Sessions<Flow<A>, Flow<A>, Origin>;
/// The sessions of a version on one thread.
pub type Here<'t, A> = Lent<'t, Flow<A>, Flow<A>, Origin>;
/// A session.
pub type One<A> = Counted<Flow<A>, Flow<A>, Origin>;

/// A version whose packets have sessions.
pub trait Reflected: Matched {
    /// Addresses.
    type Address: Look + std::fmt::Debug + Sync;
    /// Its sessions among those of both.
    fn of(all: &Both) -> &Of<Self::Address>;
}

impl Reflected for V4 {
    type Address = [u8; 4];
    fn of(all: &Both) -> &Of<[u8; 4]> {
        &all.v4
    }
}

impl Reflected for V6 {
    type Address = [u8; 16];
    fn of(all: &Both) -> &Of<[u8; 16]> {
        &all.v6
    }
}

/// The sessions of both versions.
#[derive(Clone)]
pub struct Both {
    /// IPv4.
    pub v4: Of<[u8; 4]>,
    /// True for IPv6.
    pub v6: Of<[u8; 16]>,
}

impl Both {
    pub(super) fn new(router: &Router, limit: usize, timeouts: &Timeouts) -> io::Result<Self> {
        let classes = timeouts.classes();
        Ok(Self {
            v4: Sessions::new(router, limit, &classes)?,
            v6: Sessions::new(router, limit, &classes)?,
        })
    }
}

/// The scope of flows that an interface receives (0) or sends (1).
#[inline(always)]
fn scope(interface: u32, is_bridged: bool, direction: usize) -> u32 {
    interface << 2 | u32::from(is_bridged) << 1 | direction as u32
}

/// The interface, path and direction of a scope.
pub(super) fn of_scope(scope: u32) -> (u32, bool, usize) {
    (scope >> 2, scope & 2 != 0, (scope & 1) as usize)
}

/// A packet of an interface as sessions see it, from its IP header on; `None` of one that has no
/// flow.
#[inline(always)]
pub(super) fn look<A: Look>(
    packet: &[u8],
    ports: Option<Ports>,
    (interface, is_bridged, direction): (u32, bool, usize),
) -> Option<Seen<A>> {
    A::look(packet, ports, scope(interface, is_bridged, direction))
}

/// Threads at most that sessions are spread over.
const MOST_THREADS: usize = 64;

/// The threads that [`Frame::thread_of`] chooses from, in its order, for passes over the packets.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    all: [usize; MOST_THREADS],
    count: usize,
}

impl Threads {
    /// Sessions of a frame: each hash leads to one, in turns.
    #[inline(always)]
    pub fn of<N: Node, On>(frame: &Frame<'_, N, On>) -> Self {
        let first = frame.thread_of(0);
        let (mut all, mut count) = ([first; MOST_THREADS], 1);
        while count < MOST_THREADS {
            let next = frame.thread_of(count as u64);
            if next == first {
                break;
            }
            all[count] = next;
            count += 1;
        }
        Self { all, count }
    }
    /// Whether there is one only.
    #[inline(always)]
    pub fn are_one(&self) -> bool {
        self.count == 1
    }
    /// The thread of a hash.
    #[inline(always)]
    pub fn at(&self, hash: u64) -> usize {
        self.all[(hash % self.count as u64) as usize % MOST_THREADS]
    }
}

/// State that the packets of a frame share.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub now: f64,
    /// The state of all lists that sessions must be of; `None` for any.
    pub generation: Option<u32>,
}

/// Whether packets of a session may still pass.
#[inline(always)]
pub(super) fn is_current<A: Address>(
    table: &Table<Flow<A>, Flow<A>, Origin>,
    index: SessionIndex,
    at: &Moment,
) -> bool {
    let is_stale = match (at.generation, table.at(index)) {
        (Some(now), Some(session)) => session.data.generation != now,
        _ => false,
    };
    !is_stale && !table.is_over(index, at.now)
}

/// Whether a packet goes the way that it has in its session: queries of ICMP as the first did, and
/// replies against it.
#[inline(always)]
pub(super) fn goes_that_way<A>(seen: &Seen<A>, direction: Direction) -> bool {
    match seen.kind {
        Kind::Echo(is_reply) if seen.has_upper => is_reply == (direction == Direction::Reverse),
        _ => true,
    }
}

/// The session of a packet that may still pass.
#[inline(always)]
pub(super) fn find<A: Address>(
    table: &mut Table<Flow<A>, Flow<A>, Origin>,
    seen: &Seen<A>,
    at: &Moment,
) -> Option<(SessionIndex, Direction)> {
    let found = table.find_any(&seen.flow).filter(|(_, way)| goes_that_way(seen, *way));
    let (index, direction) = found?;
    if !is_current(table, index, at) {
        table.remove(index);
        return None;
    }
    Some((index, direction))
}

/// Notes that a packet of a session passed.
#[inline(always)]
pub(super) fn passed<A: Address>(
    table: &mut Table<Flow<A>, Flow<A>, Origin>,
    (index, direction): (SessionIndex, Direction),
    seen: &Seen<A>,
    (bytes, now): (usize, f64),
) {
    match seen.kind {
        Kind::Tcp(flags) => {
            if let Some(data) = table.data_mut(index) {
                let begins_anew = data.tcp.pass(flags, direction);
                let is_established = data.tcp.is_established();
                if !begins_anew {
                    return table.counted(index, bytes);
                }
                table.passed(index, bytes, now);
                table.set_class(index, if is_established { ESTABLISHED } else { TRANSITORY });
            }
            return;
        }
        // Errors keep nothing alive.
        Kind::Error(_) => return,
        _ => {}
    }
    table.passed(index, bytes, now);
}

/// Result for a packet that was to begin a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// It did.
    Session,
    /// It passes alone: nothing answers it that is known by its flow.
    Alone,
    /// There is no room.
    Full,
}

/// Begins a session with a packet, by a rule.
pub(super) fn begin<A: Address>(
    table: &mut Table<Flow<A>, Flow<A>, Origin>,
    seen: &Seen<A>,
    (list, rule, generation): (u32, u32, u32),
    (bytes, now): (usize, f64),
) -> Begun {
    // Only requests are answered; of others what comes back would be a request itself.
    let has_answers =
        matches!(seen.kind, Kind::Tcp(_) | Kind::Udp | Kind::Echo(false) | Kind::Other);
    if !has_answers {
        return Begun::Alone;
    }
    let forward = seen.flow;
    let reverse = forward.reversed().in_scope(forward.scope ^ 1);
    let class = if matches!(seen.kind, Kind::Tcp(_)) { TRANSITORY } else { OTHER };
    let data = Origin { tcp: Connection::default(), padding: [0; 2], list, rule, generation };
    let new = New { forward, reverse, data, class };
    match table.insert(new, now, |_: End, _: &One<A>| ()) {
        Ok(index) => {
            passed(table, (index, Direction::Forward), seen, (bytes, now));
            Begun::Session
        }
        // Its answers are those of another one.
        Err(Refused::Clash) => Begun::Alone,
        Err(Refused::Full) => Begun::Full,
    }
}

/// Other threads: sessions go over to the one that has their packets from now on.
pub(super) fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let all = super::all(router).sessions.clone();
    rehome(router, &all.v4, stay).and_then(|()| rehome(router, &all.v6, stay))
}

fn rehome<A: Address>(router: &mut Router, of: &Of<A>, stay: &Range<usize>) -> Result<(), String> {
    let seed = of.seed();
    let path = move |session: &One<A>| [Affinity::of(session.forward.meeting(seed))];
    of.rehome(router, stay, path, |_, _, _| ()).map_err(|e| e.to_string())?;
    Ok(())
}
