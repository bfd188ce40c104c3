//! `nat64-in2out`: translates packets of hosts inside; `nat64-in2out-slowpath`: makes sessions for
//! those that have none (RFC 6146 section 3.5).

use infra::random::Random;
use nat_log::Log;
use net::drops::Problem;
use net::ip::{FrameMtus, room_as_ip4};
use net::prelude::*;
use sessions::{Affinity, Direction, Flow4, Flow6, Kind, Look, Seen, SessionIndex};
use translation::pool::in_turn;
use translation::ports::PortSet;
use translation::{NO_SESSION6, leaves_over};

use crate::config::Config;
use crate::core::{
    All, Core, DROPS, Data, NatTable, OUTSIDE, affinity_of_end, counter_of, has_ports, host_end,
    host_hash, note, outside_end, protocol4,
};
use crate::tables::Tables;
use crate::translate::outward;

/// Translates packets of hosts inside.
#[derive(Clone)]
pub struct In2Out(pub Core);

/// Edges of [`In2Out`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// Translated.
    #[to("ip4-lookup")]
    Lookup,
    /// No session is there.
    #[to("nat64-in2out-slowpath")]
    Slow,
    /// Translated, and for a host inside.
    #[to("nat64-out2in-handoff")]
    Hairpin,
    /// An ICMP error to the sender: the packet has been on its way too long, is too long, or finds
    /// no session.
    #[to("ip6-icmp-error", payload = Problem)]
    Icmp,
    /// Not to IPv4.
    #[along]
    Along,
}

/// Drops of [`In2Out`] and [`Slow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// unknown.
    #[name("unknown")]
    Unknown,
}

/// A packet of a host, and the address that it is for.
#[inline(always)]
pub fn look(config: &Config, p: &Buffer<'_>) -> Option<(Ipv4Addr, Option<Seen<[u8; 16]>>)> {
    let header = p.header::<ip6::Header>()?;
    let fib = p.fib();
    let dst = config.extract(fib, header.dst_addr())?;
    Some((dst, <[u8; 16]>::look(p.bytes(), p.ports(), fib.into())))
}

/// Whether a packet may be translated. The checksum of a fragmented ICMP message, which has the
/// length of all of it, cannot be (RFC 7915 section 1.2).
fn check(p: &Buffer<'_>, seen: Option<Seen<[u8; 16]>>) -> Result<Seen<[u8; 16]>, Error> {
    let seen = seen.ok_or(Error::Unknown)?;
    let is_icmp = matches!(seen.kind, Kind::Echo(_) | Kind::Error(_));
    let is_fragment = || ip6::upper_layer(p.bytes()).is_some_and(|at| at.fragment.is_some());
    match seen.kind {
        Kind::Icmp => Err(Error::Protocol),
        _ if is_icmp && is_fragment() => Err(Error::Protocol),
        _ => Ok(seen),
    }
}

/// Translates a packet of a session, if it fits outside.
#[inline(always)]
fn translate(
    (core, config): (&Core, &Config),
    mtus: &mut FrameMtus<'_, Ip4>,
    p: &mut Buffer<'_>,
    table: &mut NatTable,
    at: SessionIndex,
    (seen, dst): (&Seen<[u8; 16]>, Ipv4Addr),
    (thread, now): (usize, f64),
) -> Result<Next, Error> {
    let session = table.at(at).ok_or(Error::NoTranslation)?;
    let (answers, fib) = (session.reverse, session.data.out_fib);
    if let Some(room) = room_as_ip4(p, || mtus.find(fib, dst.to_bits(), None)) {
        p.set_payload(Problem::too_big6(room));
        return Ok(Next::Icmp);
    }
    note(table, at, Direction::Forward, seen, p.total_len(), now);
    outward(p, seen, &answers, dst).ok_or(Error::Unknown)?;
    p.set_fib(fib);
    core.count(0, counter_of(seen), thread, p.rx());
    Ok(if config.is_outside(dst) { Next::Hairpin } else { Next::Lookup })
}

impl Node for In2Out {
    const NAME: &'static str = "nat64-in2out";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let core = &self.0;
        let config = core.config.read(epoch);
        let mut mtus = core.outside.in_frame(epoch);
        let all = core.all.read(epoch).as_ref();
        let Some(mut table) = all.and_then(|all| all.sessions.lend(thread)) else {
            return frame.forward_all(Next::Along);
        };
        frame.each(
            #[inline(always)]
            |p| {
                let Some((dst, seen)) = look(config, p) else { return Ok(Next::Along) };
                let mut one = |p: &mut Buffer<'_>| {
                    let seen = check(p, seen)?;
                    if p.header::<ip6::Header>().is_some_and(|h| h.hop_limit <= 1) {
                        let code = icmp6::code::HOP_LIMIT_EXCEEDED;
                        p.set_payload(Problem::ip6(icmp6::Type::TIME_EXCEEDED, code, 0));
                        return Ok(Next::Icmp);
                    }
                    let found = table.find(&seen.flow).filter(|at| !table.is_over(*at, now));
                    let Some(at) = found else { return Ok(Next::Slow) };
                    let (of, time) = ((core, config), (thread, now));
                    translate(of, &mut mtus, p, &mut table, at, (&seen, dst), time)
                };
                let rx = p.rx();
                let next = one(p).inspect_err(|_| core.count(0, DROPS, thread, rx))?;
                p.trace(|_| Translated { direction: "in2out", next });
                Ok(next)
            },
        );
    }
}

/// Makes sessions.
#[derive(Clone)]
pub struct Slow {
    core: Core,
    random: Random,
    log: Log,
}

impl Slow {
    /// With what the nodes share.
    pub fn new(core: &Core, log: Log) -> Self {
        Self { core: core.clone(), random: Random::new(), log }
    }
}

impl Node for Slow {
    const NAME: &'static str = "nat64-in2out-slowpath";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        self.work(frame);
    }
}

impl Slow {
    #[inline(never)]
    fn work<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let Self { core, random, log } = self;
        let config = core.config.read(epoch);
        let all = core.all.read(epoch).as_ref();
        let lent = all.and_then(|All { sessions, bindings }| {
            Some((sessions.lend(thread)?, bindings.lend(thread)?, bindings.strays(epoch)))
        });
        let Some((mut table, mut bindings, strays)) = lent else {
            return frame.forward_all(Next::Along);
        };
        for mut held in frame.take() {
            let rx = held.buffer().rx();
            let mut is_full = false;
            let next = {
                let is_own =
                    |affinity| strays.thread(affinity, |hash| frame.thread_of(hash)) == thread;
                let p = &mut held.buffer();
                let (table, bindings) = (&mut *table, &mut *bindings);
                let tables = Tables { table, bindings, log, epoch, now };
                let is_full = &mut is_full;
                Asking { core, config, tables, is_own: &is_own, random, is_full }.one(p, thread)
            };
            match next {
                Ok(next) => {
                    frame.packet_of(&mut held).trace(|_| Translated { direction: "in2out", next });
                    frame.send(held, next);
                }
                Err(error) => {
                    core.count(0, DROPS, thread, rx);
                    if is_full && !config.pool.is_empty() {
                        let mut p = frame.packet_of(&mut held);
                        p.set_payload(NO_SESSION6);
                        p.error(error);
                        frame.send(held, Next::Icmp);
                    } else {
                        frame.discard(held, error);
                    }
                }
            }
        }
        core.show_totals(thread, &table, &bindings, config.statics_of(thread));
    }
}

/// State of a packet without a session.
struct Asking<'a> {
    core: &'a Core,
    config: &'a Config,
    tables: Tables<'a>,
    /// Whether packets come to this thread.
    is_own: &'a dyn Fn(Affinity) -> bool,
    random: &'a mut Random,
    /// Set when there is no address and port, or no room.
    is_full: &'a mut bool,
}

impl Asking<'_> {
    fn one(&mut self, p: &mut Buffer<'_>, thread: usize) -> Result<Next, Error> {
        let (dst, seen) = look(self.config, p).ok_or(Error::Unknown)?;
        let seen = check(p, seen)?;
        let found = self.tables.table.find(&seen.flow);
        let at = match found.filter(|at| !self.tables.table.is_over(*at, self.tables.now)) {
            Some(at) => at,
            None => {
                self.tables.remove(found);
                self.session(&seen, dst, p.fib())?
            }
        };
        let (of, now) = ((self.core, self.config), self.tables.now);
        let mut mtus = self.core.outside.in_frame(self.tables.epoch);
        translate(of, &mut mtus, p, self.tables.table, at, (&seen, dst), (thread, now))
    }
    /// A new session.
    fn session(
        &mut self,
        seen: &Seen<[u8; 16]>,
        dst: Ipv4Addr,
        fib: u16,
    ) -> Result<SessionIndex, Error> {
        // Errors belong to existing sessions.
        if matches!(seen.kind, Kind::Error(_)) {
            return Err(Error::NoTranslation);
        }
        let (flow, protocol) = (seen.flow, protocol4(seen.flow.protocol()));
        let near = self.binding(&flow, protocol, (fib, dst))?;
        let far_port = if protocol == Protocol::ICMP { near.1 } else { flow.dst_port };
        let far = (dst.octets(), far_port);
        let out_fib = self.core.outside_fib(self.config, dst.octets(), self.tables.epoch);
        let reverse = Flow4::new(far, near, protocol, OUTSIDE);
        let made = self.tables.insert(flow, reverse, Data::new(fib, out_fib));
        *self.is_full |= made.is_none();
        made.ok_or(Error::NoTranslation)
    }
    /// The end outside of a host's end; it gets one if it has none.
    fn binding(
        &mut self,
        flow: &Flow6,
        protocol: Protocol,
        (fib, dst): (u16, Ipv4Addr),
    ) -> Result<([u8; 4], u16), Error> {
        let (host, port) = (flow.src, flow.src_port);
        if let Some(known) = self.config.of_host(host, port, protocol, fib) {
            return Ok((known.outside.octets(), known.outside_port));
        }
        let forward = host_end((host, port), protocol, fib.into());
        let bindings = &self.tables.bindings;
        if let Some(known) = bindings.find(&forward).and_then(|at| bindings.at(at)) {
            return Ok((known.reverse.dst, known.reverse.dst_port));
        }
        let free = self.free_end(host, protocol, (fib, dst));
        let end =
            free.filter(|end| self.tables.bind(forward, outside_end(*end, protocol)).is_some());
        *self.is_full |= end.is_none();
        end.ok_or(Error::NoTranslation)
    }
    /// An unused outside end, of those that belong to the interface that packets to a remote end
    /// leave by: first of the address that the host has for all its ports (RFC 6888 REQ-2), then of
    /// the others.
    fn free_end(
        &mut self,
        host: [u8; 16],
        protocol: Protocol,
        (fib, dst): (u16, Ipv4Addr),
    ) -> Option<([u8; 4], u16)> {
        let (core, config, far) = (self.core, self.config, dst.octets());
        let fibs = [core.outside_fib(config, far, self.tables.epoch); 2];
        let over = leaves_over(&core.paths, &config.interfaces, fibs, far, self.tables.epoch);
        let pool = config.pool.of_table(fib, over);
        let first = host_hash(host, self.tables.bindings.seed()) as u32;
        let of_host = config.address_of(host, fib).map(|addr| addr.octets());
        for addr in of_host.into_iter().chain(in_turn(pool, first.to_be_bytes())) {
            let is_free = |port: &u16| {
                let end = outside_end((addr, *port), protocol);
                self.config.of_outside(addr, *port, protocol).is_none()
                    && self.tables.bindings.find_reverse(&end).is_none()
            };
            let seed = self.tables.bindings.seed();
            let affinity =
                |port| affinity_of_end(self.config, &outside_end((addr, port), protocol), seed);
            let port = match has_ports(protocol) {
                true => {
                    let mut all = PortSet::All.in_some_order(self.random.number());
                    all.find(|port| (self.is_own)(affinity(*port)) && is_free(port))
                }
                false => Some(0).filter(is_free),
            };
            if let Some(port) = port {
                return Some((addr, port));
            }
        }
        None
    }
}

/// The trace record of the nodes.
pub struct Translated<N> {
    /// Direction.
    pub direction: &'static str,
    /// Next node of the packet.
    pub next: N,
}

impl<N: fmt::Debug + Send + Sync + 'static> Record for Translated<N> {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { direction, next } = self;
        write!(f, "  NAT64 {direction}: next {next:?}")
    }
}
