//! The nodes that translate: `cnat-lookup-ip4` packets of known sessions, `cnat-input-ip4` those
//! that begin one with a service, `cnat-snat-ip4` those that get another source;
//! `cnat-snat-ip4-return` as the first. Routes lead packets for services to `ip4-cnat-tx` and those
//! for sources that packets got to `ip4-cnat-return`: there none passes that is not translated. The
//! same of IPv6.
//!
//! A session is on the thread that its client's end leads to. Which end of a packet is the client's
//! follows from the settings: the source of what goes to a service, the destination of what comes
//! from a backend or goes to a source that packets got, else the source.

use infra::random::Random;
use net::drops::Problem;
use net::icmp::Restore;
use net::prelude::*;
use sessions::{Address, Affinity, Direction, Flow, Kind, Refused, Seen, SessionIndex, Strays};
use translation::TRANSLATED;
use translation::handoff::Threads;
use translation::ports::PortSet;

use crate::config::{Config, HOST, OnInterface, POD, Policy, Sources};
use crate::log::Log;
use crate::packet::{look, translate};
use crate::service::{Backend, Service, ServiceReader};
use crate::session::{Both, Data, Keeper, NOWHERE, One, has_ports};
use crate::version::Translated;

/// Packets of known sessions.
pub const LOOKUP: usize = 0;
/// Packets that begin a session with a service.
pub const INPUT: usize = 1;
/// Packets subject to source NAT.
pub const SNAT: usize = 2;
/// Answers to those.
pub const SNAT_RETURN: usize = 3;
/// Packets that routes lead to a service.
pub const TX: usize = 4;
/// Packets that routes lead to a source that others got.
pub const RETURN: usize = 5;

/// Ports that are tried for a session.
const TRIES: u32 = 128;
/// Translations of a packet in one node: of its source and of its destination.
const MOST: usize = 2;

/// State that the nodes share.
#[derive(Clone)]
pub struct Core {
    /// Sessions.
    pub sessions: Both,
    /// Translations.
    pub services: ServiceReader,
    /// Policy.
    pub config: Reader<Config>,
    /// Settings of interfaces.
    pub interfaces: SlabReader<OnInterface>,
    /// Sessions at most, and those of one table.
    pub limits: [usize; 2],
    /// Sessions by thread, as clients see them.
    pub total: infra::counter::Rows<infra::counter::Counter>,
}

/// A node, for one version at one place.
#[derive(Clone)]
pub struct Translate<V, const AT: usize> {
    version: PhantomData<V>,
    core: Core,
    random: Random,
    log: Log,
}

impl<V: Translated, const AT: usize> Translate<V, AT> {
    /// Node.
    pub fn new(core: &Core, log: &Log) -> Self {
        Self { version: PhantomData, core: core.clone(), random: Random::new(), log: log.clone() }
    }
}

/// Edges of [`Translate`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next<V: Translated, const AT: usize> {
    /// On along the arc.
    #[along]
    On,
    /// To where the route of its new ends leads.
    #[to(V::LOOKUP)]
    Lookup(PhantomData<V>),
    /// On the thread that has its session.
    #[to(V::NAMES[AT])]
    Again,
    /// The sender gets time exceeded.
    #[to(V::NODES.icmp_error, payload = Problem)]
    Icmp,
    /// As it is, by a load balance.
    #[to(V::LINK.load_balance_node())]
    Balance,
}

impl<V: Translated, const AT: usize> Next<V, AT> {
    const LOOKUP: Self = Self::Lookup(PhantomData);
}

/// Drops of [`Translate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// no more free ports.
    #[name("no more free ports")]
    NoPorts,
    /// session allocation failure.
    #[name("session allocation failure")]
    NoRoom,
    /// unknown session.
    #[name("unknown session")]
    Unknown,
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

/// Further counters of [`Translate`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// no error.
    #[name("no error")]
    Translated,
    /// port allocation retries.
    #[name("port allocation retries")]
    Retries,
}

/// State of a node during a frame.
struct Visit<'a, V: Translated> {
    core: &'a Core,
    config: &'a Config,
    keeper: Keeper<'a, V::Address>,
    threads: &'a Threads,
    strays: &'a Strays,
    thread: usize,
    seed: u64,
    epoch: Epoch<'a>,
    random: &'a mut Random,
    retries: u64,
}

impl<V: Translated, const AT: usize> Node for Translate<V, AT> {
    const NAME: &'static str = V::NAMES[AT];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V, AT>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let threads = Threads::of(frame);
        let Self { core, random, log, .. } = self;
        let all = &core.sessions;
        let others = match V::INDEX {
            0 => all.v6.lend(thread).map(|table| table.usage().sessions),
            _ => all.v4.lend(thread).map(|table| table.usage().sessions),
        };
        let (Some(mut table), Some(mut counts), Some(others)) =
            (V::of(all).lend(thread), all.counts.lend(thread), others)
        else {
            return frame.hand_off(Error::Unknown, |_| Ok((thread, Next::On)));
        };
        let seed = table.seed();
        let (limits, table, counts) = (core.limits, &mut *table, &mut *counts);
        let mut visit = Visit::<V> {
            core,
            config: core.config.read(epoch),
            keeper: Keeper { table, others, counts, limits, now, log: log.during(epoch) },
            threads: &threads,
            strays: V::of(all).strays(epoch),
            thread,
            seed,
            epoch,
            random,
            retries: 0,
        };
        let mut translated = 0;
        frame.hand_off(Error::Congestion, |p| {
            let (to, next) = visit.one::<AT>(p)?;
            translated += u64::from(!matches!(next, Next::On | Next::Again | Next::Icmp));
            p.trace(|_| Traced { next: format!("{next:?}"), version: V::INDEX });
            Ok((to, next))
        });
        frame.count(Count::Translated, translated);
        frame.count(Count::Retries, visit.retries);
        if let Some(total) = visit.core.total.row(thread).first() {
            total.set((visit.keeper.table.usage().sessions + others) as u64);
        }
    }
}

impl<V: Translated> Visit<'_, V> {
    /// Translation of one packet.
    #[inline(always)]
    fn one<const AT: usize>(&mut self, p: &mut Buffer<'_>) -> Result<(usize, Next<V, AT>), Error> {
        let here = self.thread;
        let otherwise = if AT < TX { Ok((here, Next::On)) } else { Err(Error::Unknown) };
        if matches!(AT, INPUT | SNAT) && p.flags().has(TRANSLATED) {
            return Ok((here, Next::On));
        }
        let Some(mut seen) = look::<V>(p) else { return otherwise };
        if seen.kind == Kind::Icmp || !has_ports(seen.flow.protocol()) {
            return otherwise;
        }
        if !self.threads.is_alone() {
            let affinity = Affinity::new(seen.flow.meeting(self.seed), self.owner(&seen.flow));
            let owner = self.threads.to(affinity, Some(self.strays));
            if owner != here {
                return Ok((owner, Next::Again));
            }
        }
        let mut found = self.keeper.find(&seen.flow);
        if found.is_none() {
            found = self.begin::<AT>(p, &seen)?.map(|at| (at, Direction::Forward));
        }
        if found.is_none() {
            return otherwise;
        }
        if let Some(hops @ 0..=1) = V::hops(p) {
            if hops > 0 {
                V::spend_hop(p); // as in VPP, where forwarding finds it expired
            }
            p.set_payload(V::EXPIRED_PROBLEM);
            return Ok((here, Next::Icmp));
        }
        for _ in 0..MOST {
            let Some((at, direction)) = found else { break };
            if let Some(balance) = self.apply(p, &mut seen, at, direction)? {
                p.set_adjacency(balance);
                return Ok((here, Next::Balance));
            }
            found = self.keeper.find(&seen.flow);
        }
        Ok((here, if AT < TX { Next::On } else { Next::LOOKUP }))
    }
    /// Translates a packet of a session, or says by which load balance it goes on as it is.
    #[inline(always)]
    fn apply(
        &mut self,
        p: &mut Buffer<'_>,
        seen: &mut Seen<V::Address>,
        at: SessionIndex,
        direction: Direction,
    ) -> Result<Option<u32>, Error> {
        let session = self.keeper.table.at(at).ok_or(Error::Unknown)?;
        let balance = session.data.balance;
        let (mut new, scope) = match direction {
            Direction::Forward => (session.reverse.reversed(), seen.flow.scope),
            Direction::Reverse => (session.forward.reversed(), session.forward.scope),
        };
        new.scope = scope;
        self.keeper.pass(at, direction, seen, p.total_len());
        if balance != 0 {
            return Ok((direction == Direction::Forward).then_some(balance));
        }
        translate(p, seen, &new, direction).ok_or(Error::Unknown)?;
        if direction == Direction::Reverse {
            p.add_flags(TRANSLATED);
            p.set_fib(scope as u16);
        }
        seen.flow = new;
        Ok(None)
    }
    /// A hash of the client's end of a flow.
    fn owner(&self, flow: &Flow<V::Address>) -> u64 {
        let (src, dst, protocol) = (V::any(flow.src), V::any(flow.dst), flow.protocol());
        let services = &self.core.services;
        let is_for_service = || services.find(dst, flow.dst_port, protocol, self.epoch).is_some();
        let comes_back = || {
            self.config.own.contains(&dst)
                || services.is_backend(src, flow.src_port, protocol, self.epoch)
        };
        match !is_for_service() && comes_back() {
            true => self.end_hash(flow.dst, flow.dst_port),
            false => self.end_hash(flow.src, flow.src_port),
        }
    }
    fn end_hash(&self, addr: V::Address, port: u16) -> u64 {
        hash_of_end(addr, port, self.seed)
    }
    /// Whether answers come to this thread.
    fn is_own(&self, answer: &Flow<V::Address>) -> bool {
        let hash = self.end_hash(answer.dst, answer.dst_port);
        let affinity = Affinity::new(answer.meeting(self.seed), hash);
        self.threads.is_alone() || self.threads.to(affinity, Some(self.strays)) == self.thread
    }
    /// Makes a session for a packet that none is known of; `None` when it needs none.
    #[cold]
    #[inline(never)]
    fn begin<const AT: usize>(
        &mut self,
        p: &Buffer<'_>,
        seen: &Seen<V::Address>,
    ) -> Result<Option<SessionIndex>, Error> {
        if matches!(seen.kind, Kind::Error(_)) {
            return Ok(None);
        }
        let (flow, rx) = (&seen.flow, self.core.interfaces.read(p.rx(), self.epoch));
        match AT {
            INPUT | TX => {
                let (core, epoch) = (self.core, self.epoch);
                let dst = V::any(flow.dst);
                let found = core.services.find(dst, flow.dst_port, flow.protocol(), epoch);
                let has_feature = rx.is_some_and(|on| on.feature);
                let found = found.filter(|service| match service.is_local {
                    true => has_feature,
                    false => flow.scope == 0,
                });
                let Some(service) = found else { return Ok(None) };
                let backend = service.choose(p.bytes()).ok_or(Error::Unknown)?;
                self.serve(flow, service, backend).map(Some)
            }
            SNAT => {
                let config = self.config;
                let sources = config.sources_of(V::INDEX, flow.scope as u16);
                let addr = sources.and_then(|s| Some((s, V::address(s.addrs[V::INDEX]?)?)));
                let Some((sources, addr)) = addr else { return Ok(None) };
                if flow.src == addr || !self.is_wanted(flow, rx.copied().unwrap_or_default()) {
                    return Ok(None);
                }
                self.hide(flow, sources, addr).map(Some)
            }
            _ => Ok(None),
        }
    }
    /// Whether the policy has the source of a flow translated.
    fn is_wanted(&self, flow: &Flow<V::Address>, on: OnInterface) -> bool {
        let is_excluded = || self.config.excluded.contains(V::any(flow.dst));
        let is_served = || self.keeper.table.find_reverse(&flow.reversed()).is_some();
        match self.config.policy {
            Policy::None => true,
            Policy::Interfaces => on.included[V::INDEX] && !is_excluded(),
            Policy::Kubernetes => {
                (on.included[POD] && !is_excluded()) || (on.included[HOST] && is_served())
            }
            Policy::Services => is_served(),
        }
    }
    /// A session with a backend of a service.
    fn serve(
        &mut self,
        flow: &Flow<V::Address>,
        service: &Service,
        backend: &Backend,
    ) -> Result<SessionIndex, Error> {
        let dst = V::address(backend.addr).ok_or(Error::Unknown)?;
        let scope = flow.scope | if service.is_one_way { NOWHERE } else { 0 };
        let data = Data::new(service.id + 1, backend.balance);
        let src = match backend.src {
            Some(src) => V::address(src).ok_or(Error::Unknown)?,
            None => flow.src,
        };
        if backend.balance != 0 {
            let reverse = flow.reversed().in_scope(flow.scope | NOWHERE);
            return self.insert(*flow, reverse, data);
        }
        let answer =
            |port: u16| Flow::new((dst, backend.port), (src, port), flow.protocol(), scope);
        let has_own_src = backend.src.is_some();
        if (has_own_src && backend.src_port == 0) || service.allocates_port {
            return self.with_free_port(flow, answer, data);
        }
        let port = if backend.src_port == 0 { flow.src_port } else { backend.src_port };
        let reverse = answer(port);
        // The client's end has a connection with the backend by another service: this one is newer.
        if let Some((other, _)) = self.keeper.table.find_any(&reverse) {
            self.keeper.remove(other);
        }
        self.insert(*flow, reverse, data)
    }
    /// A session that gives packets another source.
    fn hide(
        &mut self,
        flow: &Flow<V::Address>,
        sources: &Sources,
        addr: V::Address,
    ) -> Result<SessionIndex, Error> {
        let protocol = flow.protocol();
        let is_echo = matches!(protocol, Protocol::ICMP | Protocol::ICMP6);
        let is_own = sources.table[V::INDEX] == flow.scope as u16;
        let scope = if is_own { sources.answers[V::INDEX].into() } else { flow.scope };
        let answer = |port: u16| {
            let far_port = if is_echo { port } else { flow.dst_port };
            Flow::new((flow.dst, far_port), (addr, port), protocol, scope)
        };
        self.with_free_port(flow, answer, Data::new(0, 0))
    }
    /// A session whose answers come to a port that is free, and to this thread:
    /// the packet's own port, if it may be.
    fn with_free_port(
        &mut self,
        flow: &Flow<V::Address>,
        answer: impl Fn(u16) -> Flow<V::Address>,
        data: Data,
    ) -> Result<SessionIndex, Error> {
        let others = PortSet::All.in_some_order(self.random.number());
        let mut tries = 0;
        for port in std::iter::once(flow.src_port).chain(others) {
            let answer = answer(port);
            if !self.is_own(&answer) {
                continue;
            }
            match self.keeper.insert(*flow, answer, data) {
                Ok(at) => return Ok(at),
                Err(Refused::Full) => return Err(Error::NoRoom),
                Err(Refused::Clash) => self.retries += 1,
            }
            tries += 1;
            if tries == TRIES {
                break;
            }
        }
        Err(Error::NoPorts)
    }
    fn insert(
        &mut self,
        forward: Flow<V::Address>,
        reverse: Flow<V::Address>,
        data: Data,
    ) -> Result<SessionIndex, Error> {
        self.keeper.insert(forward, reverse, data).map_err(|_| Error::NoRoom)
    }
}

/// Gives packets the ends back that they came with, when an error is about them.
pub fn restore<V: Translated>(sessions: &Both) -> Restore {
    let sessions = sessions.clone();
    Arc::new(move |p, thread, _| {
        if p.bytes().first().is_none_or(|byte| byte >> 4 != [4, 6][V::INDEX]) {
            return;
        }
        let Some(table) = V::of(&sessions).lend(thread) else { return };
        for _ in 0..MOST {
            let Some(seen) = look::<V>(p) else { return };
            let Some((at, direction)) = table.find_any(&seen.flow.reversed()) else { return };
            let Some(session) = table.at(at).filter(|s| s.data.balance == 0) else { return };
            let (mut before, was) = match direction {
                Direction::Forward => (session.reverse, Direction::Reverse),
                Direction::Reverse => (session.forward, Direction::Forward),
            };
            before.scope = seen.flow.scope;
            if matches!(seen.kind, Kind::Error(_)) || translate(p, &seen, &before, was).is_none() {
                return;
            }
            p.clear_flags(TRANSLATED);
        }
    })
}

/// The hash of the client's end of a flow.
fn hash_of_end<A: Address>(addr: A, port: u16, seed: u64) -> u64 {
    Flow::new((addr, port), (addr, port), Protocol(0), 0).meeting(seed)
}

/// The affinities of a session's packets. Its client is the sender; which end of a packet is the
/// client's also depends on the settings.
pub fn affinities<A: Address>(session: &One<A>, seed: u64) -> [Affinity; 2] {
    let (forward, reverse) = (&session.forward, &session.reverse);
    [
        Affinity::new(forward.meeting(seed), hash_of_end(forward.src, forward.src_port, seed)),
        Affinity::new(reverse.meeting(seed), hash_of_end(reverse.dst, reverse.dst_port, seed)),
    ]
    .map(Affinity::unsure)
}

/// The trace record of the nodes.
struct Traced {
    version: usize,
    next: String,
}

impl Record for Traced {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  cnat ip{}: next {}", [4, 6][self.version], self.next)
    }
}
