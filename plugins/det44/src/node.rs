//! `det44-in2out`, `det44-out2in` and the handing over in front of them.

use nat_log::Log;
use nat_log::Record::MaxOfHost;
use net::drops::Problem;
use net::ip::{ReversePath, ReversePaths};
use net::prelude::*;
use sessions::{Affinity, Direction, Flow4, Kind, Look, New, Seen, SessionIndex, Step, Strays};
use translation::handoff::Place;
use translation::rewrite::rewrite;
use translation::session::{
    Data, NatSession, NatSessions, NatTable, OUTSIDE, class_of, expires, pass,
};
use translation::users::{Counts, Host, Users, began, count_of, ended};
use translation::{EXPIRED, NO_SESSION, leads_outside};

use crate::MOST_SESSIONS;
use crate::state::Config;

/// State that the nodes share.
#[derive(Clone)]
pub struct Core {
    /// Configuration.
    pub config: Reader<Config>,
    /// Sessions; `None` while it is disabled.
    pub sessions: Reader<Option<NatSessions>>,
    /// Sessions by host.
    pub users: Users,
    /// Routes.
    pub paths: ReversePaths<Ip4>,
}

impl Core {
    /// Notes that a session went over to a thread, or left it.
    pub fn moved(&self, step: Step, thread: usize, session: &NatSession) {
        let Some(mut users) = self.users.lend(thread) else { return };
        match step {
            Step::Came => began(&mut users, host_of(session), false),
            Step::Left => ended(&mut users, host_of(session), false),
        }
    }
    /// Notes the end of a session on a thread.
    pub fn ended(&self, thread: usize, gone: &NatSession) {
        if let Some(mut users) = self.users.lend(thread) {
            ended(&mut users, host_of(gone), false);
        }
    }
}

fn host_of(session: &NatSession) -> Host {
    (session.data.in_fib, session.forward.src)
}

/// Drops of packets from inside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Outward {
    /// Unsupported protocol.
    #[name("Unsupported protocol")]
    Protocol,
    /// No translation.
    #[name("No translation")]
    NoTranslation,
    /// Out of ports.
    #[name("Out of ports")]
    OutOfPorts,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
}

/// Drops of packets from outside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Inward {
    /// Unsupported protocol.
    #[name("Unsupported protocol")]
    Protocol,
    /// No translation.
    #[name("No translation")]
    NoTranslation,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
}

/// Counters of packets from inside.
#[derive(Clone, Copy, graph::Count)]
pub enum Sent {
    /// Good in2out packets processed.
    #[name("Good in2out packets processed")]
    Good,
}

/// Counters of packets from outside.
#[derive(Clone, Copy, graph::Count)]
pub enum Received {
    /// Good out2in packets processed.
    #[name("Good out2in packets processed")]
    Good,
}

/// Translates what hosts inside send.
#[derive(Clone)]
pub struct In2Out(pub Core, pub Log);

/// Edges of [`In2Out`].
#[derive(Clone, Copy, graph::Next)]
pub enum NextOut {
    /// The sender gets an error.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
    /// Along the arc.
    #[along]
    Along,
}

/// Translates what comes from outside.
#[derive(Clone)]
pub struct Out2In(pub Core);

/// Edges of [`Out2In`].
#[derive(Clone, Copy, graph::Next)]
pub enum NextIn {
    /// The sender gets time exceeded.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
    /// Along the arc.
    #[along]
    Along,
}

fn look(p: &Buffer<'_>) -> Option<Seen<[u8; 4]>> {
    <[u8; 4]>::look(p.bytes(), p.ports(), p.fib().into())
}

impl Node for In2Out {
    const NAME: &'static str = "det44-in2out";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = NextOut;
    type Error = Outward;
    type Count = Sent;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let Self(core, log) = self;
        let config = core.config.read(epoch);
        let sessions = core.sessions.read(epoch).as_ref();
        let lent = sessions.and_then(|s| s.lend(thread)).zip(core.users.lend(thread));
        let Some((mut table, mut users)) = lent else {
            return frame.forward_all(NextOut::Along);
        };
        let (mut good, mut full) = (0, 0);
        frame.each(|p| {
            let seen = look(p).ok_or(Outward::NoTranslation)?;
            let flow = seen.flow.in_scope(p.fib().into());
            let found = table.find(&flow).filter(|at| !table.is_over(*at, now));
            let at = match found {
                Some(at) => at,
                None => {
                    let mut asking = Asking { core, config, table: &mut table, users: &mut users };
                    match asking.begin(&seen, p.fib(), now, epoch)? {
                        Verdict::Of(at) => at,
                        Verdict::AsItIs => return Ok(NextOut::Along),
                        Verdict::Full => {
                            full += 1;
                            if count_of(&users, (p.fib(), flow.src)) >= MOST_SESSIONS {
                                let full = MaxOfHost(MOST_SESSIONS, flow.src.into());
                                log.limit(full, now, epoch);
                            }
                            p.set_payload(NO_SESSION);
                            return Ok(NextOut::Icmp);
                        }
                    }
                }
            };
            if expires(p, 0, &table, at) {
                p.set_payload(EXPIRED);
                return Ok(NextOut::Icmp);
            }
            translate(p, &mut table, at, Direction::Forward, &seen, now)
                .ok_or(Outward::NoTranslation)?;
            good += 1;
            p.trace(|_| Translated { name: Self::NAME, flow });
            Ok(NextOut::Along)
        });
        frame.count(Sent::Good, good);
        frame.count_as(Outward::OutOfPorts, full);
    }
}

impl Node for Out2In {
    const NAME: &'static str = "det44-out2in";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = NextIn;
    type Error = Inward;
    type Count = Received;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let core = &self.0;
        let sessions = core.sessions.read(epoch).as_ref();
        let Some(mut table) = sessions.and_then(|s| s.lend(thread)) else {
            return frame.forward_all(NextIn::Along);
        };
        let mut good = 0;
        frame.each(|p| {
            let seen = look(p).ok_or(Inward::NoTranslation)?;
            let flow = seen.flow.in_scope(OUTSIDE);
            let found = table.find_reverse(&flow).filter(|at| !table.is_over(*at, now));
            let Some(at) = found else { return core.unknown(p, &seen, epoch) };
            if expires(p, 0, &table, at) {
                p.set_payload(EXPIRED);
                return Ok(NextIn::Icmp);
            }
            translate(p, &mut table, at, Direction::Reverse, &seen, now)
                .ok_or(Inward::NoTranslation)?;
            good += 1;
            p.trace(|_| Translated { name: Self::NAME, flow });
            Ok(NextIn::Along)
        });
        frame.count(Received::Good, good);
    }
}

/// Gives a packet of a session the other ends, and its table.
#[inline(always)]
fn translate(
    p: &mut Buffer<'_>,
    table: &mut NatTable,
    at: SessionIndex,
    direction: Direction,
    seen: &Seen<[u8; 4]>,
    now: f64,
) -> Option<()> {
    let new = pass(table, at, direction, seen, p.total_len(), now)?;
    rewrite(p, 0, seen, &new.flow, direction)?;
    p.set_fib(new.fib);
    Some(())
}

impl Core {
    /// A packet from outside that is of no session: what is for this router or for a group is its
    /// own.
    #[cold]
    fn unknown(
        &self,
        p: &Buffer<'_>,
        seen: &Seen<[u8; 4]>,
        epoch: Epoch<'_>,
    ) -> Result<NextIn, Inward> {
        let dst = seen.flow.dst;
        let is_mapped = self.config.read(epoch).maps.of_outside(dst.into()).is_some();
        let path = || self.paths.find(p.fib(), u32::from_be_bytes(dst), None, epoch);
        if !is_mapped && (dst[0] >= 224 || path() == ReversePath::Here) {
            return Ok(NextIn::Along);
        }
        Err(match (seen.flow.protocol(), seen.kind) {
            (_, Kind::Icmp) => Inward::IcmpType,
            (Protocol::TCP | Protocol::UDP | Protocol::ICMP, _) => Inward::NoTranslation,
            _ => Inward::Protocol,
        })
    }
}

/// Result for a packet that is of no session.
enum Verdict {
    Of(SessionIndex),
    AsItIs,
    /// Its host has no more ports or sessions.
    Full,
}

/// A packet from inside that is of no session.
struct Asking<'a> {
    core: &'a Core,
    config: &'a Config,
    table: &'a mut NatTable,
    users: &'a mut Counts,
}

impl Asking<'_> {
    #[cold]
    fn begin(
        &mut self,
        seen: &Seen<[u8; 4]>,
        fib: u16,
        now: f64,
        epoch: Epoch<'_>,
    ) -> Result<Verdict, Outward> {
        let Seen { flow, kind, .. } = *seen;
        let is_group = flow.dst[0] >= 224;
        let Config { maps, outside, outside_fib } = self.config;
        if is_group || !leads_outside(&self.core.paths, outside, fib, flow.dst, epoch) {
            return Ok(Verdict::AsItIs);
        }
        let map = maps.of_host(flow.src.into()).ok_or(Outward::NoTranslation)?;
        match (flow.protocol(), kind) {
            (_, Kind::Icmp) => return Err(Outward::IcmpType),
            (_, Kind::Error(_)) => return Err(Outward::NoTranslation),
            (Protocol::TCP | Protocol::UDP | Protocol::ICMP, _) => (),
            _ => return Err(Outward::Protocol),
        }
        let forward = flow.in_scope(fib.into());
        if let Some(over) = self.table.find(&forward) {
            self.end(over);
        }
        if count_of(self.users, (fib, flow.src)) >= MOST_SESSIONS {
            return Ok(Verdict::Full);
        }
        let range = map.forward(flow.src.into());
        let Some(reverse) = range.and_then(|(addr, ports)| {
            let (first, count) = (*ports.start(), ports.len() as u32);
            // The host's own port says where to begin: those of a host in use are few.
            let start = u32::from(flow.src_port) % count;
            let port = |step| first + ((start + step) % count) as u16;
            (0..count).find_map(|step| self.free(&flow, addr, port(step), now))
        }) else {
            return Ok(Verdict::Full);
        };
        let data = Data::new(fib, *outside_fib, 0);
        let new = New { forward, reverse, data, class: class_of(flow.protocol()) };
        let users = &mut *self.users;
        let gone = |_, s: &NatSession| ended(users, host_of(s), false);
        let Ok(at) = self.table.insert(new, now, gone) else { return Ok(Verdict::Full) };
        began(self.users, (fib, flow.src), false);
        Ok(Verdict::Of(at))
    }
    /// The flow from the far end to an address and a port, if no session has it.
    fn free(&mut self, flow: &Flow4, addr: Ipv4Addr, port: u16, now: f64) -> Option<Flow4> {
        let protocol = flow.protocol();
        let far = if protocol == Protocol::ICMP { port } else { flow.dst_port };
        let reverse = Flow4::new((flow.dst, far), (addr.octets(), port), protocol, OUTSIDE);
        if let Some(at) = self.table.find_reverse(&reverse) {
            if !self.table.is_over(at, now) {
                return None;
            }
            self.end(at);
        }
        Some(reverse)
    }
    fn end(&mut self, at: SessionIndex) {
        if let Some(gone) = self.table.remove(at) {
            ended(self.users, host_of(&gone), false);
        }
    }
}

/// The way of packets of a host, whose sessions are all on one thread.
pub fn affinity_of(host: [u8; 4], seed: u64) -> Affinity {
    Affinity::of(Flow4::new((host, 0), (host, 0), Protocol(0), 0).meeting(seed))
}

impl Core {
    fn seed(&self, epoch: Epoch<'_>) -> u64 {
        self.sessions.read(epoch).as_ref().map_or(0, |s| s.seed())
    }
}

impl Place for In2Out {
    const HANDOFF: &'static str = "det44-in2out-worker-handoff";
    const NODE: &'static str = <Self as Node>::NAME;
    fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Affinity> {
        Some(affinity_of(look(p)?.flow.src, self.0.seed(epoch)))
    }
    fn strays<'e>(&'e self, _: Epoch<'e>) -> Option<&'e Strays> {
        None
    }
}

impl Place for Out2In {
    const HANDOFF: &'static str = "det44-out2in-worker-handoff";
    const NODE: &'static str = <Self as Node>::NAME;
    fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Affinity> {
        let Flow4 { dst, dst_port, .. } = look(p)?.flow;
        let host = self.0.config.read(epoch).maps.host_of(dst.into(), dst_port);
        Some(affinity_of(host.map_or(dst, |host| host.octets()), self.0.seed(epoch)))
    }
    fn strays<'e>(&'e self, _: Epoch<'e>) -> Option<&'e Strays> {
        None
    }
}

/// Trace record of a node.
struct Translated {
    name: &'static str,
    flow: Flow4,
}

impl Record for Translated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flow4 { src, dst, src_port, dst_port, .. } = self.flow;
        let (src, dst) = (Ipv4Addr::from(src), Ipv4Addr::from(dst));
        write!(f, "  {}: session of {src}:{src_port} -> {dst}:{dst_port}", self.name)
    }
}
