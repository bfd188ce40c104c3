//! New sessions: which translation a packet gets that has none.

use infra::random::Random;
use nat_log::{Log, Record};
use net::ip::ReversePath;
use net::prelude::*;
use sessions::{Direction, Flow4, Kind, New, Refused, Seen, SessionIndex};
use translation::mapping::{Mapping, Twice};
use translation::pool::{Parts, in_turn};
use translation::ports::stride;
use translation::session::{
    BALANCED, BYPASS, Data, HAIRPIN, NatSession, NatTable, OUTSIDE, STATIC, TWICE, class_of,
    has_ports,
};
use translation::{FIRST_PORT, leads_outside, leaves_over};
use wire::tcp::Flags;

use crate::config::Config;
use crate::core::{Core, Traffic};
use crate::log;

/// Where clients of DHCP listen.
const DHCP_CLIENT: u16 = 68;

/// Reasons why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All ports of all addresses are in use to its far end, or there is no address.
    OutOfPorts,
    /// An ICMP message that belongs to no session.
    IcmpType,
    /// There are as many sessions as there may be.
    MaxSessions,
    /// TCP that does not begin a connection.
    NonSyn,
    /// Incomplete, or without a session.
    CannotTranslate,
    /// No mapping leads inside.
    NoTranslation,
    /// A flow of the session is another one's.
    HashAddFailed,
}

impl Fault {
    /// Whether the sending host gets an error: the packet itself is valid.
    pub fn is_told(self) -> bool {
        matches!(self, Self::OutOfPorts | Self::MaxSessions)
    }
}

/// Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    AsItIs,
    /// Of this session.
    Of(SessionIndex, Direction),
}

/// The way out of a packet that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Interface index.
    pub over: u32,
    /// The table that it was looked up in last.
    pub fib: u16,
    /// Whether this router sends it itself.
    pub is_own: bool,
}

/// A packet on the slow path.
pub struct Asking<'a> {
    /// Data shared by the nodes.
    pub core: &'a Core,
    /// Configuration.
    pub config: &'a Config,
    /// The sessions of this thread.
    pub table: &'a mut NatTable,
    /// The way out, for packets that are sent.
    pub sent: Option<Sent>,
    /// Whether what goes by a hash is this thread's.
    pub is_own: &'a dyn Fn(u64) -> bool,
    /// Random numbers.
    pub random: &'a mut Random,
    /// The latest flow without a port, and its time.
    pub exhausted: &'a mut Option<(Flow4, f64)>,
    /// Access to the log.
    pub log: &'a mut Log,
    /// The epoch of the frame.
    pub epoch: Epoch<'a>,
    /// The time in seconds.
    pub now: f64,
}

/// Seconds for which ports that are all in use are not looked for again.
const RETRY: f64 = 0.1;

impl Asking<'_> {
    /// Action.
    pub fn ask(
        &mut self,
        seen: &Seen<[u8; 4]>,
        fib: u16,
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        if let Some((at, direction)) = crate::core::find(self.table, seen, fib, traffic) {
            if !self.table.is_over(at, self.now) {
                return Ok(Verdict::Of(at, direction));
            }
            self.end(at);
        }
        match traffic {
            Traffic::Out2In => self.inward(seen, fib),
            _ => self.outward(seen, fib, traffic),
        }
    }
    /// Whether packets of this kind create sessions. A fragment may precede the first one of its
    /// packet: its flags are unknown.
    fn begins(&self, seen: &Seen<[u8; 4]>) -> Result<(), Fault> {
        match seen.kind {
            Kind::Tcp(flags) if seen.has_upper && !is_first(flags) => Err(Fault::NonSyn),
            Kind::Icmp | Kind::Error(_) => Err(Fault::IcmpType),
            _ => Ok(()),
        }
    }
    fn outward(
        &mut self,
        seen: &Seen<[u8; 4]>,
        fib: u16,
        traffic: Traffic,
    ) -> Result<Verdict, Fault> {
        let Seen { flow, .. } = *seen;
        if self.sent.is_some_and(|sent| sent.is_own) {
            return Ok(self.note_own(seen, fib));
        }
        let leads_in = || {
            let mappings = &self.config.mappings;
            mappings.to_external(flow.dst, flow.dst_port, flow.protocol()).is_some()
        };
        let is_outward =
            || leads_outside(&self.core.paths, &self.config.outside, fib, flow.dst, self.epoch);
        if traffic != Traffic::Output && !is_outward() && !leads_in() {
            return Ok(Verdict::AsItIs);
        }
        if traffic == Traffic::Output && self.config.is_pooled(flow.src) {
            return Ok(Verdict::AsItIs);
        }
        let from = self.config.mappings.of_local(flow.src, flow.src_port, flow.protocol(), fib);
        let from = from.and_then(|n| self.config.mappings.at(n).map(|(m, _)| m));
        let from = from.filter(|m| !m.is_out2in_only);
        let passes = self.config.is_forwarding && traffic != Traffic::Output;
        // A host inside is reached by its address outside with forwarding, too.
        if from.is_none() && passes && has_ports(flow.protocol()) && !leads_in() {
            return Ok(Verdict::AsItIs);
        }
        let unless_forwarding = |fault| match fault {
            Fault::IcmpType if passes => Ok(Verdict::AsItIs),
            fault => Err(fault),
        };
        if let Err(fault) = self.begins(seen) {
            return unless_forwarding(fault);
        }
        let mut flags = if from.is_some() { STATIC } else { 0 };
        let (mut far, mut out_fib) = ((flow.dst, flow.dst_port), None);
        if let Some((host, fib)) = self.config.hairpin(&flow, traffic) {
            (far, out_fib, flags) = (host, Some(fib), flags | HAIRPIN);
        }
        let reverse = match from {
            Some(m) => {
                let port = if m.is_of_address() { flow.src_port } else { m.port };
                let near = (m.external.octets(), port);
                self.free(to_near(far, near, flow.protocol(), OUTSIDE))
                    .ok_or(Fault::HashAddFailed)?
            }
            None => self.allocate(&flow, far, fib)?,
        };
        let out_fib = out_fib.unwrap_or_else(|| self.outside_fib(fib, flow.dst));
        let at = self.insert(flow.in_scope(fib.into()), reverse, Data::new(fib, out_fib, flags))?;
        Ok(Verdict::Of(at, Direction::Forward))
    }
    /// The table for what answers are looked up from, or packets to a far end.
    fn outside_fib(&self, fib: u16, dst: [u8; 4]) -> u16 {
        match self.sent {
            Some(sent) => sent.fib,
            None => self.core.outside_fib(self.config, fib, dst, self.epoch),
        }
    }
    /// Notes that a flow of this router's own passes as it is, so that its answers do as well.
    fn note_own(&mut self, seen: &Seen<[u8; 4]>, fib: u16) -> Verdict {
        if matches!(seen.kind, Kind::Icmp | Kind::Error(_) | Kind::Echo(true)) {
            return Verdict::AsItIs;
        }
        let (forward, reverse) = (seen.flow.in_scope(fib.into()), seen.flow.reversed());
        let data = Data::new(fib, fib, BYPASS);
        // Without room nothing is noted.
        match self.insert(forward, reverse.in_scope(OUTSIDE), data) {
            Ok(at) => Verdict::Of(at, Direction::Forward),
            Err(_) => Verdict::AsItIs,
        }
    }
    fn inward(&mut self, seen: &Seen<[u8; 4]>, fib: u16) -> Result<Verdict, Fault> {
        let Seen { flow, .. } = *seen;
        let protocol = flow.protocol();
        let found = self.config.mappings.to_external(flow.dst, flow.dst_port, protocol);
        let Some((mapping, fibs)) = found.and_then(|n| self.config.mappings.at(n)) else {
            return self.unknown(seen, fib);
        };
        match self.begins(seen) {
            Err(Fault::IcmpType) if self.config.is_forwarding => return Ok(Verdict::AsItIs),
            begins => begins?,
        }
        let n = self.choose(mapping, &flow);
        let (Some(local), Some(&in_fib)) = (mapping.locals.get(n), fibs.get(n)) else {
            return Err(Fault::NoTranslation);
        };
        let port = if mapping.is_of_address() { flow.dst_port } else { local.port };
        let host = (local.addr.octets(), port);
        let mut flags = STATIC | if mapping.is_balanced { BALANCED } else { 0 };
        let is_twice = match mapping.twice {
            Twice::No => false,
            Twice::Always => true,
            Twice::ToItself => flow.src == local.addr.octets(),
        };
        let scope = in_fib.into();
        let forward = match is_twice {
            false => self
                .free_inside(to_far(host, (flow.src, flow.src_port), protocol, scope))
                .ok_or(Fault::HashAddFailed)?,
            true => {
                flags |= TWICE;
                self.allocate_far_end(&flow, host, mapping.pool, scope)?
            }
        };
        let reverse = flow.in_scope(OUTSIDE);
        let at = self.insert(forward, reverse, Data::new(in_fib, fib, flags))?;
        Ok(Verdict::Of(at, Direction::Reverse))
    }
    /// A packet from outside for which there is no mapping.
    fn unknown(&mut self, seen: &Seen<[u8; 4]>, fib: u16) -> Result<Verdict, Fault> {
        let Seen { flow, .. } = *seen;
        if self.config.is_forwarding {
            // Answers pass as well, if there is room to note that.
            if self.begins(seen).is_ok() {
                let forward = flow.reversed().in_scope(fib.into());
                let data = Data::new(fib, fib, BYPASS);
                if let Ok(at) = self.insert(forward, flow.in_scope(OUTSIDE), data) {
                    return Ok(Verdict::Of(at, Direction::Reverse));
                }
            }
            return Ok(Verdict::AsItIs);
        }
        let is_dhcp = seen.kind == Kind::Udp && flow.dst_port == DHCP_CLIENT;
        // Pings of this router's addresses, and the answers to its own.
        let is_ping = || {
            let dst = u32::from_be_bytes(flow.dst);
            matches!(seen.kind, Kind::Icmp | Kind::Error(_) | Kind::Echo(_))
                && self.core.paths.find(fib, dst, None, self.epoch) == ReversePath::Here
        };
        if is_dhcp || is_ping() { Ok(Verdict::AsItIs) } else { Err(Fault::NoTranslation) }
    }
    /// The host of a mapping that a new session goes to: by their parts of the load, and with
    /// affinity the same for all sessions of a client for as long as there are the same hosts.
    fn choose(&mut self, mapping: &Mapping, flow: &Flow4) -> usize {
        let sum: u32 = mapping.locals.iter().map(|l| u32::from(l.probability)).sum();
        if mapping.locals.len() < 2 || sum == 0 {
            return 0;
        }
        let number = match mapping.affinity {
            0 => self.random.number(),
            _ => Flow4::new((flow.src, 0), (flow.dst, 0), Protocol(0), 0).meeting(1),
        };
        let mut at = number % u64::from(sum);
        for (n, local) in mapping.locals.iter().enumerate() {
            match at.checked_sub(local.probability.into()) {
                Some(rest) => at = rest,
                None => return n,
            }
        }
        0
    }
    fn insert(
        &mut self,
        forward: Flow4,
        reverse: Flow4,
        data: Data,
    ) -> Result<SessionIndex, Fault> {
        let class = class_of(forward.protocol());
        // What only notes that packets pass is no reason not to translate others.
        for at in [self.table.find(&forward), self.table.find_reverse(&reverse)] {
            let Some(at) = at else { continue };
            if !data.is(BYPASS) && self.table.at(at).is_some_and(|s| s.data.is(BYPASS)) {
                self.end(at);
            }
        }
        let new = New { forward, reverse, data, class };
        let (core, log, epoch) = (self.core, &mut *self.log, self.epoch);
        // Several threads may make the last ones that a table may have.
        let limit = self.config.limits.get(&data.in_fib).filter(|_| !data.is(BYPASS));
        let of_table = core.by_fib.add(data.in_fib, 1);
        if limit.is_some_and(|most| of_table > *most) {
            core.by_fib.add(data.in_fib, -1);
            return Err(Fault::MaxSessions);
        }
        let gone = |_, session: &NatSession| {
            core.ended(session);
            log::session(log, false, session, epoch);
        };
        let at = self.table.insert(new, self.now, gone).map_err(|refused| match refused {
            Refused::Clash => Fault::HashAddFailed,
            Refused::Full => Fault::MaxSessions,
        });
        if at == Err(Fault::MaxSessions) {
            let full = Record::MaxSessions(self.table.usage().limit as u32);
            self.log.limit(full, self.now, epoch);
        }
        let at = at.inspect_err(|_| {
            core.by_fib.add(data.in_fib, -1);
        })?;
        if let Some(session) = self.table.with_counts(at) {
            log::session(self.log, true, &session, epoch);
        }
        Ok(at)
    }
    /// A session continues with another connection of the same ends: it is counted and logged
    /// again.
    pub fn begin_again(&mut self, at: SessionIndex) {
        for is_new in [false, true] {
            if is_new {
                self.table.note(at, 0, 0, self.now);
            }
            if let Some(session) = self.table.with_counts(at) {
                log::session(self.log, is_new, &session, self.epoch);
            }
        }
    }
    fn end(&mut self, at: SessionIndex) {
        if let Some(gone) = self.core.remove(self.table, at) {
            log::session(self.log, false, &gone, self.epoch);
        }
    }
    /// The flow, if no session outside has it, or one that is over.
    fn free(&mut self, flow: Flow4) -> Option<Flow4> {
        if let Some(at) = self.table.find_reverse(&flow) {
            if !self.table.is_over(at, self.now) {
                return None;
            }
            self.end(at);
        }
        Some(flow)
    }
    /// As [`Asking::free`], of sessions inside.
    fn free_inside(&mut self, flow: Flow4) -> Option<Flow4> {
        if let Some(at) = self.table.find(&flow) {
            let is_bypass = self.table.at(at).is_some_and(|s| s.data.is(BYPASS));
            if !is_bypass && !self.table.is_over(at, self.now) {
                return None;
            }
            self.end(at);
        }
        Some(flow)
    }
    /// A flow from a far end to an address of the pool and a port that no session has: of those
    /// that belong to the interface which its packets leave over, first of the address that the
    /// host has for all its sessions, then of the others. The host's own port is tried first.
    fn allocate(&mut self, flow: &Flow4, far: ([u8; 4], u16), fib: u16) -> Result<Flow4, Fault> {
        let out_fib = self.outside_fib(fib, flow.dst);
        let (core, outside) = (self.core, &self.config.outside);
        let over = self
            .sent
            .map(|sent| sent.over)
            .or_else(|| leaves_over(&core.paths, outside, [fib, out_fib], flow.dst, self.epoch));
        let pool = self.config.pool.of_table(fib, over);
        let far_end = Flow4::new(far, ([0; 4], 0), flow.protocol(), fib.into());
        let make = |addr: [u8; 4], port| to_near(far, (addr, port), flow.protocol(), OUTSIDE);
        self.search(pool, flow, Some(flow.src_port), far_end, make, Self::free)
    }
    /// A flow from a host to an address for far ends and a port that no session has.
    fn allocate_far_end(
        &mut self,
        flow: &Flow4,
        host: ([u8; 4], u16),
        only: Option<Ipv4Addr>,
        scope: u32,
    ) -> Result<Flow4, Fault> {
        let all = self.config.twice.iter().filter(|addr| only.is_none_or(|only| only == **addr));
        let pool: Vec<Ipv4Addr> = all.copied().collect();
        let far_end = Flow4::new(host, ([0; 4], 1), flow.protocol(), scope);
        let make = |addr: [u8; 4], port| to_far(host, (addr, port), flow.protocol(), scope);
        self.search([&pool, &[]], flow, None, far_end, make, Self::free_inside)
    }
    fn search(
        &mut self,
        pool: Parts<'_>,
        flow: &Flow4,
        wish: Option<u16>,
        far_end: Flow4,
        make: impl Fn([u8; 4], u16) -> Flow4,
        free: impl Fn(&mut Self, Flow4) -> Option<Flow4>,
    ) -> Result<Flow4, Fault> {
        let is_retry = |(what, when): (Flow4, f64)| what == far_end && self.now - when < RETRY;
        if self.exhausted.is_some_and(is_retry) {
            return Err(Fault::OutOfPorts);
        }
        let has_ports = has_ports(flow.protocol());
        let count = if has_ports { u32::from(u16::MAX - FIRST_PORT) + 1 } else { 1 };
        for addr in in_turn(pool, flow.src) {
            let (start, stride) =
                (self.random.number() as u32 % count, stride(self.random.number(), count));
            let any = |step| FIRST_PORT + ((start + step * stride) % count) as u16;
            let wish = wish.filter(|port| has_ports && *port >= FIRST_PORT);
            let all = (0..count).map(|step| if has_ports { any(step) } else { 0 });
            for port in wish.into_iter().chain(all) {
                let candidate = make(addr, port);
                // Protocols without ports have the thread of their far end.
                let seed = self.table.seed();
                if has_ports && !(self.is_own)(candidate.meeting(seed)) {
                    continue;
                }
                if let Some(found) = free(self, candidate) {
                    return Ok(found);
                }
            }
        }
        *self.exhausted = Some((far_end, self.now));
        // One host has an address for a protocol without ports and a far end: others are left.
        if has_ports || pool.iter().all(|part| part.is_empty()) {
            self.log.limit(Record::Exhausted(0), self.now, self.epoch);
        }
        Err(Fault::OutOfPorts)
    }
}

/// Whether a segment begins a connection: an answer does not.
fn is_first(flags: Flags) -> bool {
    flags.contains(Flags::SYN) && !flags.contains(Flags::ACK)
}

/// The flow from a far end to an address outside. An echo has one identifier: that outside.
pub fn to_near(far: ([u8; 4], u16), near: ([u8; 4], u16), protocol: Protocol, scope: u32) -> Flow4 {
    let port = if protocol == Protocol::ICMP { near.1 } else { far.1 };
    Flow4::new((far.0, port), near, protocol, scope)
}

/// The flow from a host to a far end. An echo has one identifier: the host's.
fn to_far(host: ([u8; 4], u16), far: ([u8; 4], u16), protocol: Protocol, scope: u32) -> Flow4 {
    let port = if protocol == Protocol::ICMP { host.1 } else { far.1 };
    Flow4::new(host, (far.0, port), protocol, scope)
}
