//! Sessions: NAT's data of them, and its changes with each packet.

use infra::counter::{Counter, Rows};
use net::interface::COLUMNS;
use net::prelude::*;
use sessions::{
    Class, Counted, Direction, Flow4, Key, Kind, Seen, SessionIndex, Sessions, Table, tcp,
};
use zerocopy::FromZeros;

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

/// Timeouts in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// UDP, and protocols without ports.
    pub udp: u32,
    /// TCP, established.
    pub established: u32,
    /// TCP, otherwise.
    pub transitory: u32,
    /// ICMP echoes.
    pub icmp: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { udp: 300, established: 7440, transitory: 240, icmp: 60 }
    }
}

impl Timeouts {
    /// The classes with these timeouts.
    pub fn classes(self) -> Vec<Class> {
        let class = |timeout: u32, may_be_evicted| Class {
            timeout: timeout.into(),
            may_be_evicted,
            goes_first: false,
        };
        vec![
            class(self.udp, false),
            class(self.established, false),
            class(self.transitory, true),
            class(self.icmp, true),
        ]
    }
    /// Seconds of silence after which a session is over.
    pub fn of(self, session: &NatSession) -> u32 {
        match session.class() {
            UDP => self.udp,
            ICMP => self.icmp,
            _ if session.data.tcp.is_established() => self.established,
            _ => self.transitory,
        }
    }
}

/// Whether a protocol has ports or identifiers.
#[inline(always)]
pub fn has_ports(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::TCP | Protocol::UDP | Protocol::ICMP)
}

/// An end outside as a flow without a far end.
#[inline(always)]
pub fn outside_end(end: ([u8; 4], u16), protocol: Protocol) -> Flow4 {
    Flow4::new(([0; 4], 0), end, protocol, OUTSIDE)
}

/// The class of a new session.
pub fn class_of(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::TCP => TRANSITORY,
        Protocol::ICMP => ICMP,
        _ => UDP,
    }
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
/// For all remote ends: theirs are 0 in its flows.
pub const ANY_FAR_END: u8 = 1 << 5;
/// The other router of a pair made it.
pub const OF_PEER: u8 = 1 << 6;

/// State of a session of NAT. Its forward flow is that of packets from inside as received, in their
/// table, the reverse one that of packets from outside as received: the translation of either is
/// the other one reversed.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// The table of the host.
    pub in_fib: u16,
    /// The table of the far end.
    pub out_fib: u16,
    /// TCP.
    pub tcp: tcp::State,
    /// [`STATIC`] and the like.
    pub flags: u8,
    rest: [u8; 2],
}

impl Data {
    /// Of a session between two tables.
    pub fn new(in_fib: u16, out_fib: u16, flags: u8) -> Self {
        Self { in_fib, out_fib, tcp: tcp::State::NEW, flags, rest: [0; 2] }
    }
    /// Whether one of these is set.
    #[inline(always)]
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

impl AsMut<tcp::State> for Data {
    fn as_mut(&mut self) -> &mut tcp::State {
        &mut self.tcp
    }
}

/// A session.
pub type NatSession = Counted<Flow4, Flow4, Data>;
/// The sessions of a thread.
pub type NatTable = Table<Flow4, Flow4, Data>;
/// All sessions.
pub type NatSessions = Sessions<Flow4, Flow4, Data>;

/// Whether a packet of a session has been on its way too long to be translated. One that stays as
/// it is may be for this router.
#[inline(always)]
pub fn expires(p: &Buffer<'_>, l3: usize, table: &NatTable, at: SessionIndex) -> bool {
    const TTL: usize = 8;
    p.bytes().get(l3 + TTL).is_some_and(|ttl| *ttl <= 1) && is_changed(table, at)
}

#[cold]
fn is_changed(table: &NatTable, at: SessionIndex) -> bool {
    table.at(at).is_some_and(|s| {
        !s.data.is(BYPASS) && s.reverse.reversed().in_scope(0) != s.forward.in_scope(0)
    })
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
    let (mut flow, fib) = match direction {
        Direction::Forward => (session.reverse.reversed(), out_fib),
        Direction::Reverse => (session.forward.reversed(), in_fib),
    };
    if session.data.is(ANY_FAR_END) {
        flow = with_far_end(flow, &seen.flow, direction);
    }
    let new = Translation { flow, fib, is_hairpin: session.data.is(HAIRPIN) };
    let is_bypass = session.data.is(BYPASS);
    note(table, at, direction, seen, bytes, now);
    (!is_bypass).then_some(new)
}

/// Notes a packet of a session of any kind.
#[inline(always)]
pub fn note<F: Key, R: Key, D: AsMut<tcp::State> + Copy + FromZeros, A>(
    table: &mut Table<F, R, D>,
    at: SessionIndex,
    direction: Direction,
    seen: &Seen<A>,
    bytes: usize,
    now: f64,
) {
    if let Kind::Tcp(flags) = seen.kind
        && let Some(state) = table.data_mut(at).map(AsMut::as_mut)
    {
        *state = state.after(flags, direction);
        // While it is opened again usual packets are not passed by: one of them begins the next.
        let lasts = state.is_established() && !state.is_opened_again();
        table.set_class(at, if lasts { ESTABLISHED } else { TRANSITORY });
    }
    // An error does not keep alive what it is about.
    if !matches!(seen.kind, Kind::Error(_)) {
        table.passed(at, bytes, now);
    }
}

/// A translation for all far ends, with that of a packet. An echo has one identifier.
#[inline(always)]
pub(crate) fn with_far_end(new: Flow4, seen: &Flow4, direction: Direction) -> Flow4 {
    let (protocol, scope) = (new.protocol(), new.scope);
    let is_echo = protocol == Protocol::ICMP;
    match direction {
        Direction::Forward => {
            let port = if is_echo { new.src_port } else { seen.dst_port };
            Flow4::new((new.src, new.src_port), (seen.dst, port), protocol, scope)
        }
        Direction::Reverse => {
            let port = if is_echo { new.dst_port } else { seen.src_port };
            Flow4::new((seen.src, port), (new.dst, new.dst_port), protocol, scope)
        }
    }
}

/// Packets by interface: TCP, UDP, ICMP, other, dropped.
pub type Counters = [Rows<Counter>; 5];
/// Position of what is dropped.
pub const DROPS: usize = 4;

/// Position of ICMP.
pub const ICMPS: usize = 2;

/// The counter of a packet: an ICMP error counts as ICMP, whatever it is about.
#[inline(always)]
pub fn counter_of<A: sessions::Address>(seen: &Seen<A>) -> usize {
    match (seen.kind, seen.flow.protocol()) {
        (Kind::Error(_), _) | (_, Protocol::ICMP | Protocol::ICMP6) => ICMPS,
        (_, Protocol::TCP) => 0,
        (_, Protocol::UDP) => 1,
        _ => 3,
    }
}

/// Sets counters of the first interfaces to zero, while no thread counts: there is memory for many
/// more, which is not to be touched.
pub fn zero<'a>(all: impl IntoIterator<Item = &'a Rows<Counter>>, interfaces: usize) {
    for rows in all {
        for thread in 0..rows.threads() {
            rows.zero(thread, 0..rows.row(thread).len().min(interfaces));
        }
    }
}

/// Says how many of some things a thread has.
pub fn show_totals(totals: &[Rows<Counter>], thread: usize, counts: &[usize]) {
    for (total, count) in totals.iter().zip(counts) {
        if let Some(total) = total.row(thread).first() {
            total.set(*count as u64);
        }
    }
}

/// The counters below a name in the statistics segment.
///
/// # Errors
/// The names are taken.
pub fn counters(router: &mut Router, name: &str) -> io::Result<Counters> {
    let mut rows = |kind: &str| {
        router.stats.simple(&format!("{name}/{kind}"), COLUMNS).map_err(io::Error::other)
    };
    Ok([rows("tcp")?, rows("udp")?, rows("icmp")?, rows("other")?, rows("drops")?])
}

/// Those of a kind, by direction (in to out, out to in) and path (fast, slow).
///
/// # Errors
/// The names are taken.
pub fn counters_of(router: &mut Router, kind: &str) -> io::Result<[[Counters; 2]; 2]> {
    let mut of = |path: &str| counters(router, &format!("{kind}/{path}"));
    let inside = [of("in2out/fastpath")?, of("in2out/slowpath")?];
    Ok([inside, [of("out2in/fastpath")?, of("out2in/slowpath")?]])
}
