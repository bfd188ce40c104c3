//! `sfdp-lookup-ip4`, `sfdp-lookup-ip6` and what is like them: packets find their session or begin
//! one, and pass its services.

use infra::table::exact::View;
use net::prelude::*;
use sessions::{Direction, Kind, Look, New, Refused, Seen, SessionIndex};
use translation::handoff::Threads;

use super::nat::Translator;
use super::packet::{PLACE, Passing, leave};
use super::service::{ServiceEdges, sender};
use super::session::{
    Core, Data, Family, Here, Ip4, Ip6, Taken, add, add_volume, claim, ended, next_id, number_of,
    owner_key, owner_of, release,
};
use super::tenant::{EMBRYONIC, FRAGMENTS, ICMP_ERRORS, OVERFLOW, Tenant, UNKNOWN_PROTOCOL};

/// The nodes of ICMP errors.
pub const ICMP4: &str = "sfdp-lookup-ip4-icmp";
/// The same for IPv6.
pub const ICMP6: &str = "sfdp-lookup-ip6-icmp";

/// The nodes that look sessions up, by kind.
pub const NODES: [&str; 2] = [Ip4::LOOKUP, Ip6::LOOKUP];

/// Looks sessions up.
#[derive(Clone)]
pub struct Lookup<F> {
    family: PhantomData<F>,
    core: Core,
    translator: Translator,
    from: usize,
}

/// Edges of [`Lookup`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Another thread has the session.
    #[to("sfdp-handoff")]
    HandOff,
    /// A service, or the node that its tenant has such packets go to.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Lookup`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// handoff drop.
    #[name("handoff drop")]
    HandOff,
    /// hash add collision.
    #[name("hash add collision")]
    Collision,
    /// table overflow.
    #[name("table overflow")]
    Overflow,
    /// unknown protocol.
    #[name("unknown protocol")]
    Protocol,
    /// upper layer not readable.
    #[name("upper layer not readable")]
    Unreadable,
    /// no tenant.
    #[name("no tenant")]
    NoTenant,
    /// no address and port to translate to.
    #[name("no address and port to translate to")]
    NoPort,
}

/// Counters of [`Lookup`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// flow miss.
    #[name("flow miss")]
    Miss,
    /// local flow.
    #[name("local flow")]
    Local,
    /// remote flow.
    #[name("remote flow")]
    Remote,
}

#[derive(Default)]
struct Tally {
    miss: u64,
    local: u64,
    remote: u64,
}

/// Common data for the packets of a frame.
struct Pass<'f, F: Family> {
    core: &'f Core,
    translator: &'f mut Translator,
    edges: &'f ServiceEdges,
    owners: View<'f>,
    table: &'f mut Here<F::Address>,
    from: usize,
    thread: usize,
    now: f64,
    epoch: Epoch<'f>,
    is_alone: bool,
    tally: Tally,
}

impl<F: Family> Node for Lookup<F> {
    const NAME: &'static str = F::LOOKUP;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = F::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let is_alone = Threads::of(frame).is_alone();
        let Self { core, translator, from, .. } = self;
        let Some(mut table) = F::of(core).lend(thread) else {
            return frame.each(|p| {
                leave(p);
                Err(Error::Overflow)
            });
        };
        let mut pass = Pass::<F> {
            core,
            translator,
            edges: core.edges.read(epoch),
            owners: core.owners(epoch),
            table: &mut table,
            from: *from,
            thread,
            now,
            epoch,
            is_alone,
            tally: Tally::default(),
        };
        frame.each(|p| {
            let passing = p.metadata(&PLACE).ok_or(Error::NoTenant)?;
            pass.packet(p, passing).inspect_err(|_| leave(p))
        });
        let Tally { miss, local, remote } = pass.tally;
        frame.count(Count::Miss, miss);
        frame.count(Count::Local, local);
        frame.count(Count::Remote, remote);
    }
}

/// A packet that begins a session.
struct Beginning<'p, A> {
    seen: &'p Seen<A>,
    tenant: &'p Tenant,
    number: u32,
    /// The table of its packets on receive.
    fib: u16,
    is_handed: bool,
}

/// Result for a packet without a session here.
enum Begun {
    /// It began one.
    At(SessionIndex),
    /// This thread has its session.
    On(usize),
}

impl<F: Family> Pass<'_, F> {
    #[inline(always)]
    fn packet(&mut self, p: &mut Packet<'_, Lookup<F>>, passing: Passing) -> Result<Next, Error> {
        let core = self.core;
        let tenant = core.tenants.read(passing.tenant, self.epoch).ok_or(Error::NoTenant)?;
        let is_handed = passing.handed().is_some();
        if !is_handed {
            add_volume(&core.counters.incoming, self.thread, passing.tenant, p.total_len());
        }
        let seen = F::Address::look(p.bytes(), p.ports(), tenant.context);
        let Some(seen) = seen.filter(|seen| has_sessions(seen.kind)) else {
            return detour::<F>(p, tenant, seen.map(|seen| seen.kind));
        };
        let found = match find::<F>(self, &seen) {
            Some(found) => {
                self.tally.local += u64::from(!is_handed);
                found
            }
            None => {
                let (number, fib) = (passing.tenant, p.fib());
                let begun = Beginning { seen: &seen, tenant, number, fib, is_handed };
                let begun = self.begin(begun);
                let begun = match (begun, tenant.detour::<F>(OVERFLOW)) {
                    (Err(Error::Overflow), Some(slot)) => {
                        leave(p);
                        return Ok(Next::To(slot));
                    }
                    (begun, _) => begun?,
                };
                match begun {
                    Begun::At(at) => (at, Direction::Forward),
                    Begun::On(thread) => {
                        self.tally.remote += 1;
                        p.set_metadata(&PLACE, passing.to_thread(thread, F::KIND));
                        return Ok(Next::HandOff);
                    }
                }
            }
        };
        let upper = Some(if seen.has_upper { seen.upper } else { 0 });
        let edges = (self.edges, self.from, self.thread);
        send::<F, Lookup<F>>(p, (core, self.table), edges, passing, found, upper)
            .map(Next::To)
            .ok_or(Error::Overflow)
    }
    /// Begins a session, unless another thread has it.
    #[inline(never)]
    fn begin(&mut self, new: Beginning<'_, F::Address>) -> Result<Begun, Error> {
        let (core, owners, thread) = (self.core, &self.owners, self.thread);
        let (flow, seed) = (new.seen.flow, self.table.seed());
        let key = owner_key::<F>(&flow, seed);
        if !self.is_alone
            && let Some(other) = owner_of(owners, key).filter(|other| *other != thread)
        {
            // What was handed over once does not go round in circles.
            return if new.is_handed { Err(Error::HandOff) } else { Ok(Begun::On(other)) };
        }
        let id = next_id::<F>(self.table, thread);
        match claim(owners, key, id) {
            Ok(()) => {}
            Err(Taken::By(other)) if !new.is_handed => return Ok(Begun::On(other)),
            Err(Taken::By(_)) => return Err(Error::HandOff),
            Err(Taken::No) => return Err(Error::Collision),
        }
        let mut data = Data::new(id, new.number, new.tenant.services);
        let mut reverse = flow.reversed();
        if let Some(snat) = &new.tenant.snat {
            let found = self.translator.reverse::<F>(&flow, snat, (owners, seed), id, self.epoch);
            let Some(found) = found else {
                release(owners, key, id);
                return Err(Error::NoPort);
            };
            if let Some(translated) = found {
                (reverse, data.is_translated) = (translated, 1);
                data.fibs = [snat.fib, new.fib];
            }
        }
        let class = new.tenant.classes[EMBRYONIC];
        let entry = New { forward: flow, reverse, data, class };
        let gone = |_, gone: &_| ended::<F>(core, (owners, seed), thread, gone);
        let made = self.table.insert(entry, self.now, gone);
        let at = made.map_err(|why| {
            release(owners, key, id);
            release(owners, owner_key::<F>(&reverse, seed), id);
            match why {
                Refused::Full => Error::Overflow,
                Refused::Clash => Error::Collision,
            }
        })?;
        if let Some(data) = self.table.data_mut(at) {
            data.number = number_of(at, id);
        }
        add(&core.counters.created, thread, new.number);
        self.tally.miss += 1;
        Ok(Begun::At(at))
    }
}

/// Whether packets of a kind have sessions of their own.
#[inline(always)]
fn has_sessions(kind: Kind) -> bool {
    matches!(kind, Kind::Tcp(_) | Kind::Udp | Kind::Echo(_))
}

/// A packet that has no session: it goes where its tenant says, or is dropped.
#[cold]
fn detour<F: Family>(
    p: &mut Packet<'_, Lookup<F>>,
    tenant: &Tenant,
    kind: Option<Kind>,
) -> Result<Next, Error> {
    let (why, error) = match kind {
        Some(Kind::Error(_)) => (ICMP_ERRORS, Error::Protocol),
        None if is_icmp::<F>(p.bytes()) => (ICMP_ERRORS, Error::Unreadable),
        None => (FRAGMENTS, Error::Unreadable),
        Some(_) => (UNKNOWN_PROTOCOL, Error::Protocol),
    };
    let slot = tenant.detour::<F>(why).ok_or(error)?;
    if why != ICMP_ERRORS {
        leave(p);
    }
    Ok(Next::To(slot))
}

/// Whether a packet is one of ICMP.
fn is_icmp<F: Family>(packet: &[u8]) -> bool {
    let upper = <F::Address as translation::rewrite::Ends>::upper(packet);
    upper.is_some_and(|(protocol, _)| matches!(protocol, Protocol::ICMP | Protocol::ICMP6))
}

/// The session of a packet on this thread, unless it is over.
#[inline(always)]
fn find<F: Family>(
    pass: &mut Pass<'_, F>,
    seen: &Seen<F::Address>,
) -> Option<(SessionIndex, Direction)> {
    let (at, direction) = pass.table.find_any(&seen.flow)?;
    if pass.table.is_over(at, pass.now) {
        let gone = pass.table.remove(at)?;
        let seed = pass.table.seed();
        ended::<F>(pass.core, (&pass.owners, seed), pass.thread, &gone);
        return None;
    }
    Some((at, direction))
}

/// Counts a packet of a session and has it go to the first service; `None` when there is no such
/// session. `upper` is where its upper layer is, `None` for an ICMP error.
#[inline(always)]
fn send<F: Family, N: Node>(
    p: &mut Packet<'_, N>,
    (core, table): (&Core, &mut Here<F::Address>),
    (edges, from, thread): (&ServiceEdges, usize, usize),
    passing: Passing,
    found: (SessionIndex, Direction),
    upper: Option<usize>,
) -> Option<Slot> {
    let (at, direction) = found;
    let bytes = p.total_len();
    table.counted(at, bytes);
    let data = table.data_mut(at)?;
    if direction == Direction::Reverse {
        data.reverse[0] += 1;
        data.reverse[1] += bytes as u64;
    }
    let (services, tenant, id) = (data.services[direction as usize], data.tenant, data.id);
    let mut passing = passing.with(found, (F::KIND, id), upper);
    (passing.services, passing.tenant) = (services, tenant);
    p.trace(|_| Looked { node: N::NAME, id, direction, tenant });
    Some(go_on(p, core, (edges, from, thread), &mut passing))
}

/// Sends a packet to its next service.
#[inline(always)]
pub(super) fn go_on<N: Node>(
    p: &mut Packet<'_, N>,
    core: &Core,
    (edges, from, thread): (&ServiceEdges, usize, usize),
    passing: &mut Passing,
) -> Slot {
    let next = edges.next(from, passing);
    if next.leaves {
        add_volume(&core.counters.outgoing, thread, passing.tenant, p.total_len());
    }
    if next.is_foreign {
        leave(p);
    } else {
        p.set_metadata(&PLACE, *passing);
    }
    next.slot
}

/// Looks up the sessions that ICMP errors are about.
#[derive(Clone)]
pub struct LookupIcmp<F> {
    family: PhantomData<F>,
    core: Core,
}

/// Drops of [`LookupIcmp`].
#[derive(Clone, Copy, graph::Reason)]
pub enum IcmpError {
    /// invalid inner packet.
    #[name("invalid inner packet")]
    Invalid,
    /// no session.
    #[name("no session")]
    NoSession,
}

impl<F: Family> Node for LookupIcmp<F> {
    const NAME: &'static str = [ICMP4, ICMP6][F::KIND as usize];
    const HOT: bool = true;
    type Next = Next;
    type Error = IcmpError;
    type Count = std::convert::Infallible;
    const DROP: &'static str = F::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let core = &self.core;
        let (edges, owners) = (core.edges.read(epoch), core.owners(epoch));
        let mut table = F::of(core).lend(thread);
        let from = const { sender([ICMP4, ICMP6][F::KIND as usize]) };
        frame.each(|p| {
            let passing = p.metadata(&PLACE).ok_or(IcmpError::NoSession)?;
            let mut find = || {
                let table = table.as_deref_mut().ok_or(IcmpError::NoSession)?;
                let tenant = core.tenants.read(passing.tenant, epoch);
                let context = tenant.ok_or(IcmpError::NoSession)?.context;
                let seen = F::Address::look(p.bytes(), p.ports(), context);
                let seen = seen.ok_or(IcmpError::Invalid)?;
                let found = table.find_any(&seen.flow).filter(|(at, _)| !table.is_over(*at, now));
                let Some(found) = found else {
                    let key = owner_key::<F>(&seen.flow, table.seed());
                    let other = owner_of(&owners, key).filter(|other| *other != thread);
                    let other = other.filter(|_| passing.handed().is_none());
                    let to = other.ok_or(IcmpError::NoSession)?;
                    p.set_metadata(&PLACE, passing.to_thread(to, F::KIND));
                    return Ok(Next::HandOff);
                };
                let edges = (edges, from, thread);
                send::<F, Self>(p, (core, table), edges, passing, found, None)
                    .map(Next::To)
                    .ok_or(IcmpError::NoSession)
            };
            find().inspect_err(|_| leave(p))
        });
    }
}

/// The trace record of a packet that has a session.
struct Looked {
    node: &'static str,
    id: u64,
    direction: Direction,
    tenant: u32,
}

impl Record for Looked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, id, direction, tenant } = self;
        let direction = if *direction == Direction::Forward { "forward" } else { "reverse" };
        write!(f, "  {node}: session 0x{id:x} {direction} tenant index {tenant}")
    }
}

/// Adds the nodes of both versions of IP.
pub(super) fn add_nodes(
    router: &mut Router,
    core: &Core,
    translator: &Translator,
) -> Result<(), BuildError> {
    add_of::<Ip4>(router, core, translator, const { sender(Ip4::LOOKUP) })?;
    add_of::<Ip6>(router, core, translator, const { sender(Ip6::LOOKUP) })?;
    router.engine.add(LookupIcmp::<Ip4> { family: PhantomData, core: core.clone() })?;
    router.engine.add(LookupIcmp::<Ip6> { family: PhantomData, core: core.clone() })?;
    Ok(())
}

/// Adds the node that looks up a kind of sessions, with its number as a sender.
pub(super) fn add_of<F: Family>(
    router: &mut Router,
    core: &Core,
    translator: &Translator,
    from: usize,
) -> Result<(), BuildError> {
    let (core, translator) = (core.clone(), translator.clone());
    router.engine.add(Lookup::<F> { family: PhantomData, core, translator, from })?;
    Ok(())
}
