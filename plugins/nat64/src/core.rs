//! State that the nodes share: sessions, bindings (RFC 6146 section 3.1), configuration, counters.

use infra::counter::{Counter, Rows};
use net::ip::{ReversePath, ReversePaths, WayMtus};
use net::prelude::*;
use sessions::{Affinity, Class, Counted, Flow4, Flow6, Sessions, Table, tcp};
use translation::session::{self, Timeouts};
pub use translation::session::{
    Counters, DROPS, OUTSIDE, class_of, counter_of, has_ports, note, outside_end,
};
use zerocopy::FromZeros;

use crate::config::Config;

/// The classes, with their timeouts. None is evicted: a limit is one.
pub fn classes(timeouts: Timeouts) -> Vec<Class> {
    let stays = |class: Class| Class { may_be_evicted: false, ..class };
    timeouts.classes().into_iter().map(stays).collect()
}

/// State of a session. Its forward flow is that of the host's packets as they come, the
/// reverse one that of answers as they come.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// Table of the host.
    pub in_fib: u16,
    /// The table outside.
    pub out_fib: u16,
    /// TCP.
    pub tcp: tcp::State,
    rest: [u8; 3],
}

impl Data {
    /// Of a session between two tables.
    pub fn new(in_fib: u16, out_fib: u16) -> Self {
        Self { in_fib, out_fib, tcp: tcp::State::NEW, rest: [0; 3] }
    }
}

impl AsMut<tcp::State> for Data {
    fn as_mut(&mut self) -> &mut tcp::State {
        &mut self.tcp
    }
}

/// A session.
pub type NatSession = Counted<Flow6, Flow4, Data>;
/// The sessions of a thread.
pub type NatTable = Table<Flow6, Flow4, Data>;
/// A binding: the end of a host, and its end outside, as flows without a far end; the data is how
/// many sessions there are.
pub type Binding = Counted<Flow6, Flow4, u32>;
/// The bindings of a thread.
pub type Bindings = Table<Flow6, Flow4, u32>;

/// All sessions and bindings.
#[derive(Clone)]
pub struct All {
    /// Sessions.
    pub sessions: Sessions<Flow6, Flow4, Data>,
    /// Bindings.
    pub bindings: Sessions<Flow6, Flow4, u32>,
}

/// A protocol as IPv4 names it.
#[inline(always)]
pub fn protocol4(protocol: Protocol) -> Protocol {
    if protocol == Protocol::ICMP6 { Protocol::ICMP } else { protocol }
}

/// A host's end as a flow without a far end.
pub fn host_end(host: ([u8; 16], u16), protocol: Protocol, fib: u32) -> Flow6 {
    Flow6::new(host, ([0; 16], 0), protocol, fib)
}

/// The hash that a host goes by.
#[inline(always)]
pub fn host_hash(host: [u8; 16], seed: u64) -> u64 {
    Flow6::new((host, 0), (host, 0), Protocol(0), 0).meeting(seed)
}

/// The affinity of packets of a host, of a protocol as IPv4 names it.
#[inline(always)]
pub fn affinity_of_host(host: [u8; 16], protocol: Protocol, seed: u64) -> Affinity {
    Affinity::of(if has_ports(protocol) { host_hash(host, seed) } else { 0 })
}

/// The affinity of packets to an end outside: that of its host, if a mapping says so.
#[inline(always)]
pub fn affinity_of_end(config: &Config, flow: &Flow4, seed: u64) -> Affinity {
    let (end, protocol) = ((flow.dst, flow.dst_port), flow.protocol());
    match config.of_outside(end.0, end.1, protocol) {
        _ if !has_ports(protocol) => Affinity::of(0),
        Some((known, _)) => affinity_of_host(known.host.octets(), protocol, seed),
        None => Affinity::of(outside_end(end, protocol).meeting(seed)),
    }
}

/// State that the nodes share.
#[derive(Clone)]
pub struct Core {
    /// Sessions; `None` while NAT64 is disabled.
    pub all: Reader<Option<All>>,
    /// Configuration.
    pub config: Reader<Config>,
    /// Routes.
    pub paths: ReversePaths<Ip4>,
    /// MTUs of ways outside.
    pub outside: WayMtus<Ip4>,
    /// MTUs of ways inside.
    pub inside: WayMtus<Ip6>,
    /// From inside, and from outside.
    pub counters: [Counters; 2],
    /// Bindings and sessions, by thread.
    pub totals: [Rows<Counter>; 2],
}

impl Core {
    /// Counts a packet of an interface, from inside (0) or outside (1).
    #[inline(always)]
    pub fn count(&self, direction: usize, what: usize, thread: usize, interface: u32) {
        if let Some(counter) = self.counters[direction][what].row(thread).get(interface as usize) {
            counter.add(1);
        }
    }
    /// Says how many bindings and sessions a thread has; `statics` belong to none.
    pub fn show_totals(
        &self,
        thread: usize,
        sessions: &NatTable,
        bindings: &Bindings,
        statics: usize,
    ) {
        let counts = [bindings.usage().sessions + statics, sessions.usage().sessions];
        session::show_totals(&self.totals, thread, &counts);
    }
    /// The table in which packets to a far end are looked up.
    pub fn outside_fib(&self, config: &Config, far: [u8; 4], epoch: Epoch<'_>) -> u16 {
        let leads = |table: &&u16| {
            let addr = u32::from_be_bytes(far);
            self.paths.find(**table, addr, None, epoch) == ReversePath::Away
        };
        match config.fibs.as_slice() {
            [only] => *only,
            fibs => fibs.iter().find(leads).copied().unwrap_or(0),
        }
    }
}

/// Notes the end of a session: a binding goes with its last one, unless it stays.
pub fn ended(bindings: &mut Bindings, session: &NatSession) -> Option<Binding> {
    let end = (session.reverse.dst, session.reverse.dst_port);
    let at = bindings.find_reverse(&outside_end(end, session.reverse.protocol()))?;
    let count = bindings.data_mut(at)?;
    *count = count.saturating_sub(1);
    if *count > 0 { None } else { bindings.remove(at) }
}
