//! Sessions of packets: those there are, and new ones.

use infra::random::Random;
use nat_log::Record;
use net::ip::ReversePath;
use net::prelude::*;
use sessions::{Affinity as Path, Flow4, Kind, New, Refused, Seen, SessionIndex, Strays};
use translation::handoff::Threads;
use translation::pool::in_turn;
use translation::ports::PortSet;
use translation::session::{
    ANY_FAR_END, BYPASS, Data, NatSession, NatTable, STATIC, class_of, has_ports, outside_end,
};
use translation::users::{Counts, began, count_of, oldest};
use translation::{FIRST_PORT, leaves_over};

use crate::core::{Config, Core, affinity_of_end, affinity_of_host, host_of};
use crate::log::{FarEnd, Log};
use crate::node::Traffic;

/// Where clients of DHCP listen.
const DHCP_CLIENT: u16 = 68;

/// Reasons why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A protocol without ports, and no mapping of the address.
    Protocol,
    /// All ports of all addresses are in use, or there is no address.
    OutOfPorts,
    /// An ICMP message that belongs to no session.
    IcmpType,
    /// No mapping leads inside, or it is not complete.
    NoTranslation,
    /// There are as many sessions as there may be.
    MaxSessions,
    /// There are as many hosts as there may be.
    NoUser,
}

/// Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    AsItIs,
    /// Of this session.
    Of(SessionIndex),
}

/// Data of a node during a frame.
pub struct Work<'a> {
    /// Data shared by the nodes.
    pub core: &'a Core,
    /// Configuration.
    pub config: &'a Config,
    /// The sessions of this thread.
    pub table: &'a mut NatTable,
    /// The hosts of this thread.
    pub users: &'a mut Counts,
    /// All threads.
    pub threads: &'a Threads,
    /// Ends whose sessions are elsewhere.
    pub strays: &'a Strays,
    /// This thread.
    pub thread: usize,
    /// Random numbers.
    pub random: &'a mut Random,
    /// The log.
    pub log: &'a mut Log,
    /// The epoch of the frame.
    pub epoch: Epoch<'a>,
    /// The time in seconds.
    pub now: f64,
}

/// The flow of a host to whatever far end.
fn from_host(host: ([u8; 4], u16), protocol: Protocol, fib: u16) -> Flow4 {
    Flow4::new(host, ([0; 4], 0), protocol, fib.into())
}

impl Work<'_> {
    /// The session of a packet.
    #[inline(always)]
    pub fn find(&self, seen: &Seen<[u8; 4]>, fib: u16, traffic: Traffic) -> Option<SessionIndex> {
        let Flow4 { src, dst, src_port, dst_port, .. } = seen.flow;
        let protocol = seen.flow.protocol();
        let found = match traffic.is_outward() {
            true => self.table.find(&from_host((src, src_port), protocol, fib)),
            false => self.table.find_reverse(&outside_end((dst, dst_port), protocol)),
        };
        found.filter(|at| !self.table.is_over(*at, self.now))
    }
    /// Whether a packet from inside goes to an end that hosts inside have outside.
    #[inline(always)]
    pub fn leads_back(&self, seen: &Seen<[u8; 4]>, fib: u16) -> bool {
        self.config.is_external(&seen.flow) && self.is_of_host(seen, fib)
    }
    /// Whether there is a host behind an end outside, and not this router itself. What another
    /// thread has is not known here.
    #[cold]
    fn is_of_host(&self, seen: &Seen<[u8; 4]>, fib: u16) -> bool {
        let flow = &seen.flow;
        let path = self.core.paths.find(fib, u32::from_be_bytes(flow.dst), None, self.epoch);
        self.config.mapping_of(flow).is_some()
            || !matches!(path, ReversePath::Here | ReversePath::Proxied)
            || !self.is_own_end((flow.dst, flow.dst_port), flow.protocol())
            || self.find(seen, fib, Traffic::Hairpin).is_some()
    }
    /// Whether a packet from inside goes to a far end.
    #[inline(always)]
    pub fn leads_outside(&self, seen: &Seen<[u8; 4]>, fib: u16) -> bool {
        let (paths, outside) = (&self.core.paths, &self.config.outside);
        translation::leads_outside(paths, outside, fib, seen.flow.dst, self.epoch)
    }
    /// Whether a packet of a session goes to this router or another host inside.
    #[inline(always)]
    pub fn leads_inside(&self, seen: &Seen<[u8; 4]>, fib: u16) -> bool {
        let paths = &self.core.paths;
        let dst = u32::from_be_bytes(seen.flow.dst);
        match paths.find(fib, dst, None, self.epoch) {
            ReversePath::Here | ReversePath::Proxied => true,
            ReversePath::Nowhere => false,
            ReversePath::Away => self
                .config
                .inside
                .iter()
                .any(|over| paths.find(fib, dst, Some(*over), self.epoch) == ReversePath::Away),
        }
    }
    /// Notes a packet of a session whose packets pass as they are; whether it is one.
    #[inline(always)]
    pub fn note_bypass(&mut self, at: SessionIndex, bytes: usize) -> bool {
        let is_bypass = self.table.at(at).is_some_and(|s| s.data.is(BYPASS));
        if is_bypass {
            self.table.passed(at, bytes, self.now);
        }
        is_bypass
    }
    fn is_own(&self, path: Path) -> bool {
        self.threads.to(path, Some(self.strays)) == self.thread
    }
    fn is_own_end(&self, end: ([u8; 4], u16), protocol: Protocol) -> bool {
        self.is_own(affinity_of_end(end, protocol, self.table.seed()))
    }
    /// Notes that packets of an end of this router's own pass as they are, and so do those to it.
    pub fn note_own(&mut self, seen: &Seen<[u8; 4]>, fib: u16) -> Verdict {
        if matches!(seen.kind, Kind::Icmp | Kind::Error(_) | Kind::Echo(true)) {
            return Verdict::AsItIs;
        }
        self.note_as_it_is((seen.flow.src, seen.flow.src_port), seen.flow.protocol(), fib)
    }
    /// Begins the session of a packet that has none; `over` is the interface it leaves over, if it
    /// is known.
    #[inline(never)]
    pub fn begin(
        &mut self,
        seen: &Seen<[u8; 4]>,
        (fib, over): (u16, Option<u32>),
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        match traffic {
            Traffic::In2Out | Traffic::Output => self.outward(seen, (fib, over), traffic),
            Traffic::Out2In | Traffic::Hairpin => self.inward(seen, fib, traffic),
        }
    }
    fn outward(
        &mut self,
        seen: &Seen<[u8; 4]>,
        (fib, over): (u16, Option<u32>),
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        let flow = seen.flow;
        let protocol = flow.protocol();
        if traffic == Traffic::Output && self.config.pooled.contains(&flow.src) {
            return Ok(Verdict::AsItIs);
        }
        let from = self.config.mappings.of_local(flow.src, flow.src_port, protocol, fib);
        let from = from.and_then(|n| self.config.mappings.at(n)).map(|(m, _)| m);
        let has_outside = || self.config.mapping_of(&flow.reversed()).is_some();
        let is_done = match from {
            Some(m) => m.is_identity,
            None => traffic == Traffic::Output && has_outside(),
        };
        let passes = self.config.is_forwarding && traffic == Traffic::In2Out;
        // A host inside is reached by its address outside with forwarding, too.
        let is_bare = || from.is_none() && self.config.mapping_of(&flow).is_none();
        if is_done || passes && has_ports(protocol) && is_bare() {
            return Ok(Verdict::AsItIs);
        }
        if matches!(seen.kind, Kind::Icmp | Kind::Error(_)) {
            return if passes { Ok(Verdict::AsItIs) } else { Err(Fault::IcmpType) };
        }
        let host = (flow.src, flow.src_port);
        let reverse = match from {
            Some(m) => {
                let port = if m.is_of_address() { flow.src_port } else { m.port };
                outside_end((m.external.octets(), port), protocol)
            }
            None if self.config.is_static_only => return Err(Fault::NoTranslation),
            None => {
                self.admit(flow.src, fib)?;
                self.allocate(&flow, fib, over)?
            }
        };
        let flags = if from.is_some() { STATIC } else { 0 };
        let far = (flow.dst, flow.dst_port);
        let at =
            self.insert(from_host(host, protocol, fib), reverse, Data::new(fib, fib, flags), far)?;
        Ok(Verdict::Of(at))
    }
    fn inward(
        &mut self,
        seen: &Seen<[u8; 4]>,
        fib: u16,
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        let flow = seen.flow;
        let protocol = flow.protocol();
        let found = self.config.mapping_of(&flow).and_then(|n| self.config.mappings.at(n));
        let Some((mapping, fibs)) = found else { return self.unknown(seen, fib, traffic) };
        if matches!(seen.kind, Kind::Icmp | Kind::Error(_)) {
            let passes = self.config.is_forwarding;
            return if passes { Ok(Verdict::AsItIs) } else { Err(Fault::IcmpType) };
        }
        if mapping.is_identity {
            return Ok(Verdict::AsItIs);
        }
        let (Some(local), Some(&in_fib)) = (mapping.locals.first(), fibs.first()) else {
            return Err(Fault::NoTranslation);
        };
        let port = if mapping.is_of_address() { flow.dst_port } else { local.port };
        let forward = from_host((local.addr.octets(), port), protocol, in_fib);
        let reverse = outside_end((flow.dst, flow.dst_port), protocol);
        let far = (flow.src, flow.src_port);
        let at = self.insert(forward, reverse, Data::new(in_fib, in_fib, STATIC), far)?;
        Ok(Verdict::Of(at))
    }
    /// A packet to an unused outside end.
    fn unknown(
        &mut self,
        seen: &Seen<[u8; 4]>,
        fib: u16,
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        let flow = &seen.flow;
        let is_dhcp = seen.kind == Kind::Udp && flow.dst_port == DHCP_CLIENT;
        // Pings of this router's addresses, and the answers to its own.
        let is_ping = || {
            let dst = u32::from_be_bytes(flow.dst);
            matches!(seen.kind, Kind::Icmp | Kind::Error(_) | Kind::Echo(_))
                && self.core.paths.find(fib, dst, None, self.epoch) == ReversePath::Here
        };
        if traffic == Traffic::Out2In && (is_dhcp || is_ping()) {
            return Ok(Verdict::AsItIs);
        }
        if traffic == Traffic::Out2In && self.config.is_forwarding {
            return Ok(self.bypass(seen, fib));
        }
        Err(match (flow.protocol(), seen.kind) {
            (_, Kind::Icmp) => Fault::IcmpType,
            (Protocol::TCP | Protocol::UDP | Protocol::ICMP, _) => Fault::NoTranslation,
            _ => Fault::Protocol,
        })
    }
    /// Notes that a host is known outside by its own address, so that its answers pass as well.
    fn bypass(&mut self, seen: &Seen<[u8; 4]>, fib: u16) -> Verdict {
        let flow = &seen.flow;
        let (host, protocol) = ((flow.dst, flow.dst_port), flow.protocol());
        let own = affinity_of_host(flow.dst, self.table.seed());
        if matches!(seen.kind, Kind::Icmp | Kind::Error(_)) || !self.is_own(own) {
            return Verdict::AsItIs;
        }
        self.note_as_it_is(host, protocol, fib)
    }
    fn note_as_it_is(&mut self, host: ([u8; 4], u16), protocol: Protocol, fib: u16) -> Verdict {
        let forward = from_host(host, protocol, fib);
        if self.table.find(&forward).is_some() {
            return Verdict::AsItIs;
        }
        let data = Data::new(fib, fib, BYPASS);
        // Without room nothing is noted.
        let found = self.insert(forward, outside_end(host, protocol), data, ([0; 4], 0));
        found.map_or(Verdict::AsItIs, Verdict::Of)
    }
    /// Makes room for a session of a host that comes and goes: the oldest of its own goes when it
    /// has as many as it may have.
    fn admit(&mut self, host: [u8; 4], fib: u16) -> Result<(), Fault> {
        let user = (fib, host);
        let count = count_of(self.users, user);
        let Config { most_users, most_per_user, .. } = *self.config;
        if count == 0 && self.users.len() >= most_users as usize {
            self.core.count_user_limit(self.thread);
            return Err(Fault::NoUser);
        }
        if count >= most_per_user {
            let full = Record::MaxOfHost(most_per_user, host.into());
            self.log.log.limit(full, self.now, self.epoch);
            let at = oldest(self.users, user, self.table).ok_or(Fault::MaxSessions)?;
            self.end(at);
        }
        Ok(())
    }
    /// The end outside of a new session: of the address that the host has for all its sessions,
    /// else of another one. The host's own port is tried last: so no far end comes to count on
    /// ports that stay the same.
    fn allocate(&mut self, flow: &Flow4, fib: u16, over: Option<u32>) -> Result<Flow4, Fault> {
        let over = over.or_else(|| {
            let out_fib = self.core.outside_fib(self.config, fib, flow.dst, self.epoch);
            let (paths, outside) = (&self.core.paths, &self.config.outside);
            leaves_over(paths, outside, [fib, out_fib], flow.dst, self.epoch)
        });
        let pool = self.config.pool.of_table(fib, over);
        let (ports, protocol) = (self.config.ports, flow.protocol());
        let has_ports = has_ports(protocol);
        for addr in in_turn(pool, flow.src) {
            if !has_ports {
                // One host has an address for a protocol without ports.
                match self.free((addr, 0), protocol) {
                    Some(free) => return Ok(free),
                    None => continue,
                }
            }
            let random = self.random.number();
            let may_be = |port: &u16| *port >= FIRST_PORT || matches!(ports, PortSet::Range { .. });
            let others = ports.in_some_order(random).filter(|port| *port != flow.src_port);
            let others = others.filter(may_be);
            let own = Some(flow.src_port).filter(|port| ports.contains(*port) && may_be(port));
            for port in others.chain(own) {
                if self.is_own_end((addr, port), protocol)
                    && let Some(free) = self.free((addr, port), protocol)
                {
                    return Ok(free);
                }
            }
        }
        if !has_ports && pool.iter().any(|part| !part.is_empty()) {
            return Err(Fault::Protocol);
        }
        self.log.log.limit(Record::Exhausted(0), self.now, self.epoch);
        Err(Fault::OutOfPorts)
    }
    /// The flow to an end outside, if neither a session nor a mapping has it.
    fn free(&mut self, end: ([u8; 4], u16), protocol: Protocol) -> Option<Flow4> {
        if self.config.mappings.has_port(end.0, end.1, protocol) {
            return None;
        }
        let flow = outside_end(end, protocol);
        if let Some(at) = self.table.find_reverse(&flow) {
            if !self.table.is_over(at, self.now) {
                return None;
            }
            self.end(at);
        }
        Some(flow)
    }
    fn insert(
        &mut self,
        forward: Flow4,
        reverse: Flow4,
        mut data: Data,
        far: FarEnd,
    ) -> Result<SessionIndex, Fault> {
        data.flags |= ANY_FAR_END;
        // A mapping takes the place of a session that comes and goes; what is over gives way.
        for at in [self.table.find(&forward), self.table.find_reverse(&reverse)] {
            at.into_iter().for_each(|at| self.end(at));
        }
        let new = New { forward, reverse, data, class: class_of(forward.protocol()) };
        let (core, users, log, epoch) = (self.core, &mut *self.users, &mut *self.log, self.epoch);
        let gone = |_, s: &NatSession| {
            core.ended(users, s);
            log.session(None, s, epoch);
        };
        let at = self.table.insert(new, self.now, gone).map_err(|refused| match refused {
            Refused::Clash => Fault::NoTranslation,
            Refused::Full => Fault::MaxSessions,
        });
        if at == Err(Fault::MaxSessions) {
            let full = Record::MaxSessions(self.table.usage().limit as u32);
            self.log.log.limit(full, self.now, self.epoch);
        }
        let at = at?;
        if let Some(session) = self.table.with_counts(at) {
            self.log.session(Some(far), &session, self.epoch);
        }
        let host = (data.in_fib, forward.src);
        began(self.users, host, data.is(STATIC));
        if !data.is(STATIC) {
            translation::users::queue(self.users, host, forward, self.table);
        }
        Ok(at)
    }
    fn end(&mut self, at: SessionIndex) {
        if let Some(gone) = self.table.remove(at) {
            self.core.ended(self.users, &gone);
            self.log.session(None, &gone, self.epoch);
        }
    }
}

/// The path of packets from a host.
pub fn affinity_of_source(flow: &Flow4, seed: u64) -> Path {
    affinity_of_host(flow.src, seed)
}

/// The path of packets to an end outside: that of its host, if a mapping says so.
pub fn affinity_of_destination(config: &Config, flow: &Flow4, seed: u64) -> Path {
    let found = config.mapping_of(flow).and_then(|n| config.mappings.at(n));
    let local = found.and_then(|(mapping, _)| mapping.locals.first());
    match local {
        Some(local) => affinity_of_host(local.addr.octets(), seed),
        None => affinity_of_end((flow.dst, flow.dst_port), flow.protocol(), seed),
    }
}

/// The host of a session that ended, and whether it was of a mapping.
pub fn ended(users: &mut Counts, session: &NatSession) {
    translation::users::ended(users, host_of(session), session.data.is(STATIC));
}
