//! Data shared by the nodes: sessions, configuration, counters.

use std::slice;

use infra::counter::{Counter, Rows};
use infra::table::tally::Tally;
use net::interface::Port;
use net::ip::ReversePaths;
use net::prelude::*;
use sessions::{Direction, Flow4, Seen, SessionIndex};
use translation::session::{
    BYPASS, Counters, NatSession, NatSessions, NatTable, OUTSIDE, show_totals,
};

use crate::config::Config;

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Received from inside.
    In2Out,
    /// Received from outside.
    Out2In,
    /// Sent outside.
    Output,
    /// Received where both may be.
    Either,
}

/// Numbers of sessions by table. What nodes that explain a packet count changes none.
pub struct ByFib {
    tally: Tally,
    explains: bool,
}

impl ByFib {
    /// No sessions; any thread may count.
    pub fn new(tally: Tally) -> Self {
        Self { tally, explains: false }
    }
    /// Adds to the number of a table, or takes away; what it is then.
    pub fn add(&self, fib: u16, change: i64) -> u64 {
        match self.explains {
            true => self.tally.at(fib.into()).wrapping_add(change as u64),
            false => self.tally.add(fib.into(), change),
        }
    }
}

impl Clone for ByFib {
    fn clone(&self) -> Self {
        let explains = self.explains || graph::explain::is_explaining();
        Self { tally: self.tally.clone(), explains }
    }
}

/// State shared by the nodes.
#[derive(Clone)]
pub struct Core {
    /// Sessions; `None` while NAT is disabled.
    pub sessions: Reader<Option<NatSessions>>,
    /// Configuration.
    pub config: Reader<Config>,
    /// Routes.
    pub paths: ReversePaths<Ip4>,
    /// Interfaces.
    pub ports: SlabReader<Port>,
    /// Sessions by table.
    pub by_fib: ByFib,
    /// By direction (in to out, out to in) and path (fast, slow).
    pub counters: [[Counters; 2]; 2],
    /// Sessions, by thread.
    pub total: Rows<Counter>,
    /// Packets between hosts inside, by interface.
    pub hairpinning: Rows<Counter>,
}

impl Core {
    /// Notes the end of a session.
    pub fn ended(&self, session: &NatSession) {
        self.by_fib.add(session.data.in_fib, -1);
    }
    /// Ends a session; what it was.
    pub fn remove(&self, table: &mut NatTable, at: SessionIndex) -> Option<NatSession> {
        let gone = table.remove(at);
        gone.inspect(|gone| self.ended(gone))
    }
    /// Says how many sessions a thread has.
    pub fn show_total(&self, thread: usize, table: &NatTable) {
        show_totals(slice::from_ref(&self.total), thread, &[table.usage().sessions]);
    }
    /// Counts packets of an interface.
    #[inline(always)]
    pub fn count(
        &self,
        traffic: Traffic,
        is_slow: bool,
        (what, count): (usize, u64),
        thread: usize,
        interface: u32,
    ) {
        let rows =
            &self.counters[usize::from(traffic == Traffic::Out2In)][usize::from(is_slow)][what];
        if let Some(counter) = rows.row(thread).get(interface as usize) {
            counter.add(count);
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
        let fibs = config.routes.get(&fib).unwrap_or(&config.outside_fibs);
        translation::outside_fib(&self.paths, (&fibs[..], &config.outside[..]), fib, dst, epoch)
    }
}

/// The flow that the session of a packet has, where the packet takes its usual direction.
#[inline(always)]
pub fn usual_key(flow: &Flow4, fib: u16, traffic: Traffic) -> Flow4 {
    match traffic {
        Traffic::In2Out | Traffic::Output => flow.in_scope(fib.into()),
        Traffic::Out2In | Traffic::Either => flow.in_scope(OUTSIDE),
    }
}

/// The session of a packet, and the direction in which the packet goes.
#[inline(always)]
pub fn find(
    table: &NatTable,
    seen: &Seen<[u8; 4]>,
    fib: u16,
    traffic: Traffic,
) -> Option<(SessionIndex, Direction)> {
    let (inside, outside) = (seen.flow.in_scope(fib.into()), seen.flow.in_scope(OUTSIDE));
    let is_translated = |at: &SessionIndex| table.at(*at).is_some_and(|s| !s.data.is(BYPASS));
    match traffic {
        Traffic::In2Out | Traffic::Output => {
            if let Some(at) = table.find(&inside) {
                return Some((at, Direction::Forward));
            }
            let other = table.find_reverse(&outside).filter(|_| traffic == Traffic::In2Out);
            other.filter(is_translated).map(|at| (at, Direction::Reverse))
        }
        Traffic::Out2In | Traffic::Either => {
            if let Some(at) = table.find_reverse(&outside) {
                return Some((at, Direction::Reverse));
            }
            let other = table.find(&inside);
            let other = other.filter(|at| traffic == Traffic::Either || is_translated(at));
            other.map(|at| (at, Direction::Forward))
        }
    }
}
