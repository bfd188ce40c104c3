//! Sessions: flows that are translated, one for each connection and translation of it.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use graph::explain::Copied;
use graph::{Engine, NoAnswer};
use net::prelude::*;
use sessions::tcp::State;
use sessions::{
    Address, Class, Counted, Direction, End, Flow, Kind, Refused, Seen, SessionIndex, Sessions,
    Table, Usage,
};
use zerocopy::FromZeros;

use crate::config::Startup;
use crate::log::{Noted, Noting};

/// Everything but established connections of TCP.
const OTHER: u8 = 0;
/// Connections of TCP that are established.
const ESTABLISHED: u8 = 1;
/// Sessions without an answer, and connections of TCP that never were established: anybody makes
/// them, from addresses of others.
const UNCONFIRMED: u8 = 2;
/// Seconds of silence after which one of these makes room for a new session.
const SILENCE: f64 = 3.0;

/// Sessions that are looked at when a limit is met.
const SOME: usize = 32;

/// The bit of a scope without packets: a flow without replies.
pub const NOWHERE: u32 = 1 << 31;

/// State of a session besides its flows. Forward packets get the ends of the reverse flow
/// exchanged, answers those of the forward one.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// The translation that it belongs to; 0 when its source was translated by the policy.
    pub translation: u32,
    /// A number that tells sessions apart.
    pub number: u32,
    /// The load balance by which its packets go on as they are; 0 when they are translated.
    pub balance: u32,
    /// TCP.
    pub tcp: State,
    rest: [u8; 3],
}

impl Data {
    /// Of a session of a translation, or of none (0).
    pub fn new(translation: u32, balance: u32) -> Self {
        Self { translation, number: 0, balance, tcp: State::NEW, rest: [0; 3] }
    }
}

/// The sessions of a version.
pub type Of<A> = Sessions<Flow<A>, Flow<A>, Data>;
/// The sessions of a version on one thread.
pub type Here<A> = Table<Flow<A>, Flow<A>, Data>;
/// A session.
pub type One<A> = Counted<Flow<A>, Flow<A>, Data>;

/// The sessions of both versions.
#[derive(Clone)]
pub struct Both {
    /// IPv4.
    pub v4: Of<[u8; 4]>,
    /// True for IPv6.
    pub v6: Of<[u8; 16]>,
    /// Number of sessions by table.
    pub counts: Counts,
}

/// The classes: none expires without scans (`scans`).
fn classes(startup: &Startup, scans: bool) -> Vec<Class> {
    let age = |seconds| if scans { seconds } else { f64::INFINITY };
    let class = |seconds| Class { timeout: age(seconds), may_be_evicted: false, goes_first: false };
    vec![class(startup.max_age), class(startup.tcp_max_age), class(startup.max_age)]
}

impl Both {
    /// Enables or disables expiry of sessions.
    pub fn scan(
        &self,
        router: &mut Router,
        startup: &Startup,
        scans: bool,
    ) -> Result<(), NoAnswer> {
        self.v4.set_classes(router, classes(startup, scans))?;
        self.v6.set_classes(router, classes(startup, scans))
    }
    /// None yet.
    pub fn new(router: &Router, startup: &Startup) -> io::Result<Self> {
        let classes = classes(startup, startup.scans);
        let threads = router.engine.thread_rows();
        Ok(Self {
            v4: Sessions::new(router, startup.most_sessions, &classes)?,
            v6: Sessions::new(router, startup.most_sessions, &classes)?,
            counts: Counts::new(threads),
        })
    }
    /// Usage of both, by thread.
    pub fn usage(&self, router: &mut Router) -> Vec<Usage> {
        let mut rows = self.v4.usage(router).unwrap_or_default();
        for (row, v6) in rows.iter_mut().zip(self.v6.usage(router).unwrap_or_default()) {
            // The limit is that of either.
            *row += Usage { limit: 0, ..v6 };
        }
        rows
    }
}

/// A routing table: whether it is of IPv6, and its number.
type Vrf = (bool, u32);

/// Numbers of sessions by routing table, on each thread.
#[derive(Clone)]
pub struct Counts {
    all: Arc<Vec<Mutex<HashMap<Vrf, usize>>>>,
    /// Those of the thread that has most, for explanations of packets.
    copy: Arc<Copied<HashMap<Vrf, usize>>>,
}

impl Counts {
    fn new(threads: usize) -> Self {
        let all = Arc::new((0..threads).map(|_| Mutex::default()).collect());
        Self { all, copy: Arc::new(Copied::new(HashMap::new())) }
    }
    /// Tables of the thread that asks, which alone takes the lock; so does control for threads that
    /// do not run. A packet that is only explained, which is on no thread, has a copy.
    pub fn lend(&self, thread: usize) -> Option<MutexGuard<'_, HashMap<Vrf, usize>>> {
        let Some(counts) = self.all.get(thread) else {
            let counts = self.clone();
            return self.copy.lend(move |engine| counts.copy(engine));
        };
        match counts.try_lock() {
            Ok(lent) => Some(lent),
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    fn copy(&self, engine: &mut Engine) -> Option<HashMap<Vrf, usize>> {
        let (counts, all) = (self.clone(), Arc::new(Mutex::new(HashMap::new())));
        let most = Arc::clone(&all);
        let visit = move |thread| {
            for (vrf, count) in counts.lend(thread).iter().flat_map(|counts| counts.iter()) {
                let mut most = most.lock().unwrap_or_else(PoisonError::into_inner);
                let known: &mut usize = most.entry(*vrf).or_default();
                *known = (*known).max(*count);
            }
        };
        engine.on_threads(visit).ok()?;
        Some(std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn vrf<A: Address>(flow: &Flow<A>) -> Vrf {
    (size_of::<A>() == 16, flow.scope)
}

/// Notes a session that there is.
pub fn began<A: Address>(counts: &mut HashMap<Vrf, usize>, new: &One<A>) {
    *counts.entry(vrf(&new.forward)).or_default() += 1;
}

/// Notes the end of a session.
pub fn ended<A: Address>(counts: &mut HashMap<Vrf, usize>, gone: &One<A>) {
    if let Some(count) = counts.get_mut(&vrf(&gone.forward)) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&vrf(&gone.forward));
        }
    }
}

/// Tables in which a thread makes and ends sessions.
pub struct Keeper<'a, A: Address> {
    /// Its sessions of a version.
    pub table: &'a mut Here<A>,
    /// Number of its sessions that are of the other version.
    pub others: usize,
    /// Number of sessions by table.
    pub counts: &'a mut HashMap<Vrf, usize>,
    /// Sessions at most, and those of one table.
    pub limits: [usize; 2],
    /// The time, in seconds.
    pub now: f64,
    /// The log.
    pub log: Noting<'a>,
}

impl<A: Address> Keeper<'_, A> {
    /// The session of a flow, unless it is over.
    #[inline(always)]
    pub fn find(&mut self, flow: &Flow<A>) -> Option<(SessionIndex, Direction)> {
        let (at, direction) = self.table.find_any(flow)?;
        if self.table.is_over(at, self.now) {
            self.remove(at);
            return None;
        }
        Some((at, direction))
    }
    /// Ends a session.
    pub fn remove(&mut self, at: SessionIndex) {
        if let Some(gone) = self.table.remove(at) {
            ended(self.counts, &gone);
            self.log.note(|| Noted::gone(&gone));
        }
    }
    /// Makes a session.
    ///
    /// # Errors
    /// Another one has one of its flows, or there is no room.
    pub fn insert(
        &mut self,
        forward: Flow<A>,
        reverse: Flow<A>,
        mut data: Data,
    ) -> Result<SessionIndex, Refused> {
        let Self { table, others, counts, limits: [most, most_of_vrf], now, log } = self;
        let vrf = vrf(&forward);
        let is_full = |table: &Here<A>, counts: &HashMap<Vrf, usize>| {
            table.usage().sessions + *others >= *most
                || counts.get(&vrf).is_some_and(|count| *count >= *most_of_vrf)
        };
        if is_full(table, counts) {
            table.expire(*now, SOME, |_: End, gone| {
                ended(counts, gone);
                log.note(|| Noted::gone(gone));
            });
        }
        if table.usage().sessions + *others >= *most {
            table.evict_silent(UNCONFIRMED, *now - SILENCE, |_: End, gone| {
                ended(counts, gone);
                log.note(|| Noted::gone(gone));
            });
        }
        if is_full(table, counts) {
            return Err(Refused::Full);
        }
        data.number = table.usage().made as u32;
        let new = sessions::New { forward, reverse, data, class: UNCONFIRMED };
        let at = table.insert(new, *now, |_, gone| {
            ended(counts, gone);
            log.note(|| Noted::gone(gone));
        })?;
        *counts.entry(vrf).or_default() += 1;
        log.note(|| Noted::new(true, [&forward, &reverse], data.translation));
        Ok(at)
    }
    /// Notes a packet of a session. An error does not keep alive what it is about.
    #[inline(always)]
    pub fn pass(&mut self, at: SessionIndex, way: Direction, seen: &Seen<A>, bytes: usize) {
        if let Kind::Tcp(flags) = seen.kind
            && let Some(data) = self.table.data_mut(at)
        {
            let was_established = data.tcp.is_established();
            data.tcp = data.tcp.after(flags, way);
            match (data.tcp.is_established(), was_established) {
                (true, _) => self.table.set_class(at, ESTABLISHED),
                (false, true) => self.table.set_class(at, OTHER),
                (false, false) => (),
            }
        } else if way == Direction::Reverse && !matches!(seen.kind, Kind::Error(_)) {
            self.table.set_class(at, OTHER);
        }
        if !matches!(seen.kind, Kind::Error(_)) {
            self.table.passed(at, bytes, self.now);
        }
    }
}

/// Whether a protocol has ports or identifiers that can be translated.
#[inline(always)]
pub fn has_ports(protocol: Protocol) -> bool {
    matches!(
        protocol,
        Protocol::TCP | Protocol::UDP | Protocol::SCTP | Protocol::ICMP | Protocol::ICMP6
    )
}
