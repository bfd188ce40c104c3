//! What the nodes share: sessions, configuration, counters.

use infra::counter::{Counter, Rows};
use infra::rcu::{Epoch, Reader};
use infra::table::tally::Tally;
use net::fib::Ip4;
use net::ip::{ReversePath, ReversePaths};
use sessions::{Class, Direction, End, Flow4, Kind, Seen, Session, SessionIndex, Sessions, Table};
use wire::Protocol;
use zerocopy::FromZeros;

use crate::config::{Config, Timeouts};

/// The scope of flows outside; inside it is the table.
pub const OUTSIDE: u32 = 1 << 31;

/// Classes of sessions.
pub const UDP: u8 = 0;
/// TCP, established.
pub const ESTABLISHED: u8 = 1;
/// TCP, otherwise.
pub const TRANSITORY: u8 = 2;
/// ICMP echoes.
pub const ICMP: u8 = 3;

/// The classes, with their timeouts.
pub fn classes(timeouts: Timeouts) -> Vec<Class> {
    let class = |timeout: u32, may_be_evicted| Class { timeout: timeout.into(), may_be_evicted };
    vec![
        class(timeouts.udp, false),
        class(timeouts.established, false),
        class(timeouts.transitory, true),
        class(timeouts.icmp, true),
    ]
}

/// A session follows from a mapping that stays.
pub const STATIC: u8 = 1;
/// Its far end is translated too.
pub const TWICE: u8 = 1 << 1;
/// It only notes that its packets pass as they are.
pub const BYPASS: u8 = 1 << 2;
/// Its host shares the load with others.
pub const BALANCED: u8 = 1 << 3;
/// Both ends are inside.
pub const HAIRPIN: u8 = 1 << 4;

/// What NAT knows of a session. Its forward flow is that of packets from inside as they come, in
/// their table, the reverse one that of packets from outside as they come: the translation of
/// either is the other one reversed.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// The table of the host.
    pub in_fib: u16,
    /// The table of the far end.
    pub out_fib: u16,
    /// TCP.
    pub tcp: sessions::tcp::State,
    /// [`STATIC`] and the like.
    pub flags: u8,
    rest: [u8; 2],
}

impl Data {
    /// Of a session between two tables.
    pub fn new(in_fib: u16, out_fib: u16, flags: u8) -> Self {
        Self { in_fib, out_fib, tcp: sessions::tcp::State::NEW, flags, rest: [0; 2] }
    }
    /// Whether one of these is set.
    #[inline(always)]
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// A session.
pub type NatSession = Session<Flow4, Flow4, Data>;
/// The sessions of a thread.
pub type NatTable = Table<Flow4, Flow4, Data>;
/// All sessions.
pub type NatSessions = Sessions<Flow4, Flow4, Data>;

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Received from inside.
    In2Out,
    /// Received from outside.
    Out2In,
    /// Sent outside.
    Output,
    /// Received where both may be.
    Either,
}

/// Packets by interface: TCP, UDP, ICMP, other, dropped.
pub type Counters = [Rows<Counter>; 5];
/// Position of what is dropped.
pub const DROPS: usize = 4;

/// The counter of a kind of packet.
#[inline(always)]
pub fn counter_of(protocol: Protocol) -> usize {
    match protocol {
        Protocol::TCP => 0,
        Protocol::UDP => 1,
        Protocol::ICMP => 2,
        _ => 3,
    }
}

/// What the nodes share.
#[derive(Clone)]
pub struct Core {
    /// Sessions; `None` while NAT is disabled.
    pub sessions: Reader<Option<NatSessions>>,
    /// Configuration.
    pub config: Reader<Config>,
    /// Routes.
    pub paths: ReversePaths<Ip4>,
    /// Sessions by table.
    pub by_fib: Tally,
    /// By way (in to out, out to in) and path (fast, slow).
    pub counters: [[Counters; 2]; 2],
    /// Sessions, by thread.
    pub total: Rows<Counter>,
    /// Packets between hosts inside, by interface.
    pub hairpinning: Rows<Counter>,
}

impl Core {
    /// Notes the end of a session.
    pub fn ended(by_fib: &Tally, _: End, session: &NatSession) {
        by_fib.add(session.data.in_fib.into(), -1);
    }
    /// Ends a session.
    pub fn remove(&self, table: &mut NatTable, at: SessionIndex) {
        if let Some(gone) = table.remove(at) {
            Self::ended(&self.by_fib, End::Removed, &gone);
        }
    }
    /// Says how many sessions a thread has.
    pub fn show_total(&self, thread: usize, table: &NatTable) {
        if let Some(total) = self.total.row(thread).first() {
            total.set(table.usage().sessions as u64);
        }
    }
    /// Counts a packet of an interface.
    #[inline(always)]
    pub fn count(&self, way: Way, is_slow: bool, what: usize, thread: usize, interface: u32) {
        let rows = &self.counters[usize::from(way == Way::Out2In)][usize::from(is_slow)][what];
        if let Some(counter) = rows.row(thread).get(interface as usize) {
            counter.add(1);
        }
    }
    /// Counts a packet between hosts inside.
    pub fn count_hairpin(&self, thread: usize, interface: u32) {
        if let Some(counter) = self.hairpinning.row(thread).get(interface as usize) {
            counter.add(1);
        }
    }
    /// The table in which packets to an address outside are looked up.
    pub fn outside_fib(&self, config: &Config, fib: u16, dst: [u8; 4], epoch: Epoch<'_>) -> u16 {
        let leads = |table: &u16| {
            self.paths.find(*table, u32::from_be_bytes(dst), None, epoch) == ReversePath::Away
        };
        let fibs = config.routes.get(&fib).unwrap_or(&config.outside_fibs);
        let own = fibs.iter().find(|table| **table == fib);
        match fibs.as_slice() {
            [only] => *only,
            _ => *own.into_iter().chain(fibs).find(|table| leads(table)).unwrap_or(&fib),
        }
    }
    /// Whether packets from inside to an address are to be translated: what is for this router or
    /// goes inside is not.
    pub fn leads_outside(&self, config: &Config, fib: u16, dst: [u8; 4], epoch: Epoch<'_>) -> bool {
        let dst = u32::from_be_bytes(dst);
        match self.paths.find(fib, dst, None, epoch) {
            ReversePath::Here | ReversePath::Proxied => false,
            ReversePath::Nowhere => true,
            ReversePath::Away => config
                .outside
                .iter()
                .any(|over| self.paths.find(fib, dst, Some(*over), epoch) == ReversePath::Away),
        }
    }
}

/// The session of a packet, and the direction in which the packet goes.
#[inline(always)]
pub fn find(
    table: &NatTable,
    seen: &Seen<[u8; 4]>,
    fib: u16,
    way: Way,
) -> Option<(SessionIndex, Direction)> {
    let (inside, outside) = (seen.flow.in_scope(fib.into()), seen.flow.in_scope(OUTSIDE));
    let is_translated = |at: &SessionIndex| table.at(*at).is_some_and(|s| !s.data.is(BYPASS));
    match way {
        Way::In2Out | Way::Output => {
            if let Some(at) = table.find(&inside) {
                return Some((at, Direction::Forward));
            }
            let other = table.find_reverse(&outside).filter(|_| way == Way::In2Out);
            other.filter(is_translated).map(|at| (at, Direction::Reverse))
        }
        Way::Out2In | Way::Either => {
            if let Some(at) = table.find_reverse(&outside) {
                return Some((at, Direction::Reverse));
            }
            let other = table.find(&inside);
            let other = other.filter(|at| way == Way::Either || is_translated(at));
            other.map(|at| (at, Direction::Forward))
        }
    }
}

/// The translation of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// Its flow.
    pub flow: Flow4,
    /// The table for it.
    pub fib: u16,
    /// Whether both ends are inside.
    pub is_hairpin: bool,
}

/// Notes a packet of a session; its translation, or `None` when it passes as it is.
#[inline(always)]
pub fn pass(
    table: &mut NatTable,
    at: SessionIndex,
    direction: Direction,
    seen: &Seen<[u8; 4]>,
    bytes: usize,
    now: f64,
) -> Option<Translation> {
    let session = table.at(at)?;
    let Data { in_fib, out_fib, .. } = session.data;
    let (flow, fib) = match direction {
        Direction::Forward => (session.reverse.reversed(), out_fib),
        Direction::Reverse => (session.forward.reversed(), in_fib),
    };
    let new = Translation { flow, fib, is_hairpin: session.data.is(HAIRPIN) };
    let is_bypass = session.data.is(BYPASS);
    if let Kind::Tcp(flags) = seen.kind
        && let Some(data) = table.data_mut(at)
    {
        data.tcp = data.tcp.after(flags, direction);
        let class = if data.tcp.is_established() { ESTABLISHED } else { TRANSITORY };
        table.set_class(at, class);
    }
    // An error does not keep alive what it is about.
    if !matches!(seen.kind, Kind::Error(_)) {
        table.passed(at, bytes, now);
    }
    (!is_bypass).then_some(new)
}
