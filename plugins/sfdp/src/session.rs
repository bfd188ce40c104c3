//! Sessions: what is remembered of the packets of both directions, the tables that they are in, and
//! which thread has a flow.
//!
//! A session belongs to the thread of its first packet. All threads share a table with the thread
//! of each flow, so that packets received elsewhere are handed over.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use infra::counter::{Counter, Rows};
use infra::table::exact::{Change, Exact, ExactReader, Missed, View};
use net::prelude::*;
use sessions::{Class, Counted, Direction, Flow, Lent, Look, SessionIndex, Sessions, Table};
use translation::rewrite::Ends;
use zerocopy::FromZeros;

use super::packet::Found;
use super::service::ServiceEdges;
use super::tcp::Connection;
use super::tenant::Tenant;

/// Number of attempts of a thread to lock a table that another one changes.
const PATIENCE: usize = 256;

/// Nothing has come back yet.
pub const FSOL: u8 = 0;
/// Packets have passed in both directions.
pub const ESTABLISHED: u8 = 1;

/// Data of a session besides its flows.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// Its id: unique, with kind and thread in its low bits.
    pub id: u64,
    /// Services of its packets, by direction.
    pub services: [u64; 2],
    /// Packets and bytes of answers.
    pub reverse: [u64; 2],
    /// TCP state.
    pub tcp: Connection,
    /// The number of its tenant.
    pub tenant: u32,
    /// Tables that translated packets go on in, by direction.
    pub fibs: [u16; 2],
    /// State.
    pub state: u8,
    /// Not 0 when its packets are translated.
    pub is_translated: u8,
    rest: [u8; 2],
    /// Its number among all sessions that there are.
    pub number: u32,
}

impl Data {
    /// Of a session that begins.
    pub fn new(id: u64, tenant: u32, services: [u64; 2]) -> Self {
        Self {
            id,
            services,
            reverse: [0; 2],
            tcp: Connection::default(),
            tenant,
            fibs: [0; 2],
            state: FSOL,
            is_translated: 0,
            rest: [0; 2],
            number: 0,
        }
    }
}

/// Bits of an id below its number: kind and thread.
const ID_SHIFT: u32 = 10;

/// The id of the session that a table makes next.
pub fn next_id<F: Family>(table: &Here<F::Address>, thread: usize) -> u64 {
    table.usage().made << ID_SHIFT | u64::from(F::KIND) << 8 | thread as u64 & 0xff
}

/// The number of a session that has a place in its table.
pub fn number_of(at: SessionIndex, id: u64) -> u32 {
    at.number() << ID_SHIFT | (id as u32 & ((1 << ID_SHIFT) - 1))
}

/// The thread of an id.
pub fn thread_of(id: u64) -> usize {
    (id & 0xff) as usize
}

/// Sessions between addresses.
pub type Of<A> = Sessions<Flow<A>, Flow<A>, Data>;
/// Those on a thread.
pub type Here<A> = Table<Flow<A>, Flow<A>, Data>;
/// A session.
pub type One<A> = Counted<Flow<A>, Flow<A>, Data>;
type Borrowed<'t, A> = Lent<'t, Flow<A>, Flow<A>, Data>;

/// A kind of sessions, with a table of its own.
pub trait Family: Clone + Copy + Send + 'static {
    /// Addresses.
    type Address: Look + Ends + Debug + Sync + Into<IpAddr>;
    /// Index.
    const KIND: u8;
    /// The node that looks its packets up.
    const LOOKUP: &'static str;
    /// The node that drops its packets.
    const DROP: &'static str;
    /// The first of its detours.
    const DETOURS: usize;
    /// Its table among all.
    fn of(core: &Core) -> &Of<Self::Address>;
}

/// Sessions over IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Ip4;
/// Sessions over IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Ip6;

impl Family for Ip4 {
    type Address = [u8; 4];
    const KIND: u8 = 0;
    const LOOKUP: &'static str = "sfdp-lookup-ip4";
    const DROP: &'static str = "ip4-drop";
    const DETOURS: usize = 0;
    fn of(core: &Core) -> &Of<[u8; 4]> {
        &core.v4
    }
}

impl Family for Ip6 {
    type Address = [u8; 16];
    const KIND: u8 = 1;
    const LOOKUP: &'static str = "sfdp-lookup-ip6";
    const DROP: &'static str = "ip6-drop";
    const DETOURS: usize = 1;
    fn of(core: &Core) -> &Of<[u8; 16]> {
        &core.v6
    }
}

/// Counters by tenant.
#[derive(Clone)]
pub struct Counters {
    /// Sessions that began.
    pub created: Rows<Counter>,
    /// Sessions that ended.
    pub removed: Rows<Counter>,
    /// Packets that were looked up.
    pub incoming: Rows<VolumeCounter>,
    /// Packets that have passed all services.
    pub outgoing: Rows<VolumeCounter>,
}

/// Data shared by nodes.
#[derive(Clone)]
pub struct Core {
    v4: Of<[u8; 4]>,
    v6: Of<[u8; 16]>,
    /// Sessions of parsers of plugins.
    pub(super) user: Of<[u8; 4]>,
    owners: ExactReader,
    /// Tenants by number.
    pub tenants: SlabReader<Tenant>,
    /// Edges to services.
    pub edges: Reader<ServiceEdges>,
    /// Counters by tenant.
    pub counters: Counters,
}

impl Core {
    /// Empty tables of `limit` sessions on each thread, and the table that says where flows are.
    pub fn new(
        router: &Router,
        limit: usize,
        classes: &[Class],
        (tenants, edges): (SlabReader<Tenant>, Reader<ServiceEdges>),
        counters: Counters,
    ) -> io::Result<(Self, Exact)> {
        // Two flows of a session, and a table that is used by half.
        let owners = Exact::new(limit.saturating_mul(4))?;
        let core = Self {
            v4: Sessions::new(router, limit, classes)?,
            v6: Sessions::new(router, limit, classes)?,
            user: Sessions::new(router, limit, classes)?,
            owners: owners.reader(),
            tenants,
            edges,
            counters,
        };
        Ok((core, owners))
    }
    /// The table that says where flows are, for a frame.
    #[inline(always)]
    pub fn owners<'e>(&'e self, epoch: infra::rcu::Epoch<'e>) -> View<'e> {
        self.owners.read(epoch)
    }
    /// The tables of a thread.
    #[inline(always)]
    pub fn tables(&self, thread: usize) -> Tables<'_> {
        let (v4, v6) = (self.v4.lend(thread), self.v6.lend(thread));
        Tables { v4, v6, user: self.user.lend(thread) }
    }
    /// Counts the end of a session on a thread.
    pub fn count_end(&self, thread: usize, data: &Data) {
        add(&self.counters.removed, thread, data.tenant);
    }
}

/// Counts one of a tenant.
#[inline(always)]
pub fn add(rows: &Rows<Counter>, thread: usize, tenant: u32) {
    if let Some(counter) = rows.row(thread).get(tenant as usize) {
        counter.add(1);
    }
}

/// Counts a packet of a tenant.
#[inline(always)]
pub fn add_volume(rows: &Rows<VolumeCounter>, thread: usize, tenant: u32, bytes: usize) {
    if let Some(counter) = rows.row(thread).get(tenant as usize) {
        counter.add(1, bytes as u64);
    }
}

/// The key of both directions of a flow in the table of threads.
#[inline(always)]
pub fn owner_key<F: Family>(flow: &Flow<F::Address>, seed: u64) -> u64 {
    let scope = u64::from(flow.scope) << 2 | u64::from(F::KIND);
    (flow.meeting(seed) ^ scope.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1)
}

/// The thread of a flow, if any has it.
#[inline(always)]
pub fn owner_of(owners: &View<'_>, key: u64) -> Option<usize> {
    Some(thread_of(owners.find(key).checked_sub(1)?))
}

/// Reasons why a flow is not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// This thread has it.
    By(usize),
    /// There is no room, or others change the table all the time.
    No,
}

/// Assigns a flow to the thread of a session, unless another thread has it.
///
/// # Errors
/// [`Taken`].
pub fn claim(owners: &View<'_>, key: u64, id: u64) -> Result<(), Taken> {
    claim_unless(owners, key, id, |now| now != thread_of(id))
}

/// The same, unless any thread has it.
///
/// # Errors
/// [`Taken`].
pub fn claim_free(owners: &View<'_>, key: u64, id: u64) -> Result<(), Taken> {
    claim_unless(owners, key, id, |_| true)
}

fn claim_unless(
    owners: &View<'_>,
    key: u64,
    id: u64,
    is_taken: impl Fn(usize) -> bool,
) -> Result<(), Taken> {
    for _ in 0..PATIENCE {
        let mut other = None;
        let done = owners.try_change(key, |now| {
            other = now.checked_sub(1).map(thread_of).filter(|now| is_taken(*now));
            if other.is_some() { Change::Nothing } else { Change::Set(id + 1) }
        });
        match (done, other) {
            (Ok(()), None) => return Ok(()),
            (Ok(()), Some(thread)) => return Err(Taken::By(thread)),
            (Err(Missed::Busy), _) => std::hint::spin_loop(),
            (Err(Missed::Full), _) => break,
        }
    }
    Err(Taken::No)
}

/// Frees a flow, if it is still that of a session. One that is missed is detected by the next
/// packet: it is handed to the thread, which creates a session again.
pub fn release(owners: &View<'_>, key: u64, id: u64) {
    let keep = |now| if now == id + 1 { Change::Remove } else { Change::Nothing };
    for _ in 0..PATIENCE {
        if owners.try_change(key, keep) != Err(Missed::Busy) {
            return;
        }
        std::hint::spin_loop();
    }
}

/// The keys of a session in the table of threads.
pub fn owner_keys<F: Family>(session: &One<F::Address>, seed: u64) -> [u64; 2] {
    [owner_key::<F>(&session.forward, seed), owner_key::<F>(&session.reverse, seed)]
}

/// Notes the end of a session in a node.
pub fn ended<F: Family>(
    core: &Core,
    (owners, seed): (&View<'_>, u64),
    thread: usize,
    session: &One<F::Address>,
) {
    core.count_end(thread, &session.data);
    for key in owner_keys::<F>(session, seed) {
        release(owners, key, session.data.id);
    }
}

/// Sessions that ended while control waited: their keys and ids.
#[derive(Clone, Default)]
pub struct Gone(Arc<Mutex<Vec<Ended>>>);

/// The keys of a session in the table of threads, and its id.
pub type Ended = ([u64; 2], u64);

/// Frees the flows of sessions that ended.
pub fn release_all(owners: &mut Exact, all: &[Ended]) {
    for (keys, id) in all {
        for key in keys {
            let keep = |now| if now == id + 1 { Change::Remove } else { Change::Nothing };
            // Taking out needs no room.
            let _ = owners.change(*key, keep);
        }
    }
}

impl Gone {
    /// Notes one.
    pub fn push<F: Family>(&self, seed: u64, session: &One<F::Address>) {
        let entry = (owner_keys::<F>(session, seed), session.data.id);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
    /// Frees their flows; returns the number of sessions.
    pub fn release(self, owners: &mut Exact) -> usize {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        release_all(owners, &all);
        all.len()
    }
}

/// Change of a session's timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// It goes on.
    Keep,
    /// Restarted, as that of a class.
    Renew(u8),
}

/// The tables of a thread, for a frame.
pub struct Tables<'t> {
    v4: Option<Borrowed<'t, [u8; 4]>>,
    v6: Option<Borrowed<'t, [u8; 16]>>,
    user: Option<Borrowed<'t, [u8; 4]>>,
}

impl Tables<'_> {
    /// Records a packet in its session by a service; `None` if it was deleted.
    #[inline(always)]
    pub fn update<R>(
        &mut self,
        found: &Found,
        now: f64,
        work: impl FnOnce(&mut Data, Protocol) -> (Timer, R),
    ) -> Option<R> {
        match found.kind {
            0 => update(self.v4.as_deref_mut()?, found, now, work),
            1 => update(self.v6.as_deref_mut()?, found, now, work),
            _ => update(self.user.as_deref_mut()?, found, now, work),
        }
    }
    /// The flow that the packets of a session over IPv4 get in its other context.
    #[inline(always)]
    pub fn translation(&self, found: &Found) -> Option<(Flow<[u8; 4]>, u16)> {
        let table = match found.kind {
            0 => self.v4.as_deref()?,
            2 => self.user.as_deref()?,
            _ => return None,
        };
        let session = table.at(at(table, found)?)?;
        let flow = match found.direction {
            Direction::Forward => session.reverse.reversed(),
            Direction::Reverse => session.forward.reversed(),
        };
        let fib = session.data.fibs[found.direction as usize];
        (session.data.is_translated != 0).then_some((flow, fib))
    }
}

#[inline(always)]
fn at<A: sessions::Address>(table: &Here<A>, found: &Found) -> Option<SessionIndex> {
    let at = table.numbered(found.number)?;
    (table.at(at)?.data.id as u32 == found.version).then_some(at)
}

#[inline(always)]
fn update<A: sessions::Address, R>(
    table: &mut Here<A>,
    found: &Found,
    now: f64,
    work: impl FnOnce(&mut Data, Protocol) -> (Timer, R),
) -> Option<R> {
    let at = at(table, found)?;
    let protocol = table.at(at)?.forward.protocol();
    let (timer, said) = work(table.data_mut(at)?, protocol);
    if let Timer::Renew(class) = timer {
        table.renew(at, class, now);
    }
    Some(said)
}
