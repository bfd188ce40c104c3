//! `dslite-in2out`: translates packets that come out of tunnels; `dslite-in2out-slowpath`: makes
//! sessions for those that have none.

use infra::random::Random;
use nat_log::Log;
use net::prelude::*;
use sessions::{Affinity, Direction, Flow4, Kind, Look, New, Seen, SessionIndex};
use translation::handoff::Threads;
use translation::ports::PortSet;
use translation::rewrite::rewrite;
use translation::session::class_of;

use crate::core::{
    Config, Core, Data, Elements, Error, NatTable, affinity_of_end, element, ended, has_ports,
    hash_of, host_end, note, outside_end, record,
};
use crate::tunnel::{Inside, inside, is_fragment, open};

/// Translates packets that come out of tunnels.
#[derive(Clone)]
pub struct In2Out(pub Core);

/// Edges of [`In2Out`] and [`Slow`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// Translated.
    #[to("ip4-lookup")]
    Lookup,
    /// No session is there.
    #[to("dslite-in2out-slowpath")]
    Slow,
    /// On the thread that has the B4.
    #[to("dslite-in2out")]
    Again,
    /// A message for this router.
    #[to("ip6-receive")]
    Local,
    /// Put together, and looked up again: a fragment of IPv6, or of IPv4 inside.
    #[to("ip6-full-reassembly-custom")]
    Reassemble,
}

/// The packet inside as sessions see it.
#[inline(always)]
fn look(p: &Buffer<'_>, offset: usize) -> Result<Seen<[u8; 4]>, Error> {
    let inner = p.bytes().get(offset..).ok_or(Error::Unknown)?;
    let seen = <[u8; 4]>::look(inner, None, 0).ok_or(Error::Unknown)?;
    match seen.kind {
        Kind::Icmp => Err(Error::IcmpType),
        _ if !has_ports(seen.flow.protocol()) => Err(Error::Protocol),
        _ => Ok(seen),
    }
}

/// Takes a packet of a session out of its tunnel and translates it.
#[inline(always)]
fn translate(
    p: &mut Buffer<'_>,
    offset: usize,
    table: &mut NatTable,
    at: SessionIndex,
    seen: &Seen<[u8; 4]>,
    now: f64,
) -> Result<Next, Error> {
    let near = table.at(at).ok_or(Error::NoTranslation)?.reverse;
    let flow = seen.flow;
    let far_port = if flow.protocol() == Protocol::ICMP { near.dst_port } else { flow.dst_port };
    let new = Flow4::new((near.dst, near.dst_port), (flow.dst, far_port), flow.protocol(), 0);
    let bytes = p.total_len();
    open(p, offset)?;
    note(table, at, Direction::Forward, seen, bytes, now);
    rewrite(p, 0, seen, &new, Direction::Forward).ok_or(Error::Unknown)?;
    Ok(Next::Lookup)
}

/// The end of the host that a packet is from.
#[inline(always)]
fn end_of(b4: Ipv6Addr, seen: &Seen<[u8; 4]>) -> sessions::Flow6 {
    host_end(b4, (seen.flow.src, seen.flow.src_port), seen.flow.protocol())
}

impl Node for In2Out {
    const NAME: &'static str = "dslite-in2out";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let all = self.0.all.read(epoch);
        let threads = Threads::of(frame);
        let Some(mut table) = all.sessions.lend(thread) else {
            return frame.forward_all(Next::Local);
        };
        let seed = table.seed();
        let mut translated = 0;
        frame.hand_off(Error::Unknown, |p| {
            let (b4, offset) = match inside(p)? {
                Inside::Packet(b4, offset) if !is_fragment(p, offset) => (b4, offset),
                // Those behind the first have no ports (RFC 6333 section 6.3).
                Inside::Packet(..) | Inside::Fragment => return Ok((thread, Next::Reassemble)),
                Inside::Message => return Ok((thread, Next::Local)),
            };
            let owner = threads.at(hash_of(b4, seed));
            if owner != thread {
                return Ok((owner, Next::Again));
            }
            let seen = look(p, offset)?;
            let found = table.find(&end_of(b4, &seen)).filter(|at| !table.is_over(*at, now));
            let Some(at) = found else { return Ok((thread, Next::Slow)) };
            translated += 1;
            Ok((thread, translate(p, offset, &mut table, at, &seen, now)?))
        });
        frame.count_as(Error::In2Out, translated);
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
    const NAME: &'static str = "dslite-in2out-slowpath";
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
        let (config, all) = (core.config.read(epoch), core.all.read(epoch));
        let strays = all.sessions.strays(epoch);
        let lent = all.sessions.lend(thread).zip(all.elements.lend(thread));
        let Some((mut table, mut elements)) = lent else {
            return frame.forward_all(Next::Local);
        };
        let mut translated = 0;
        for mut held in frame.take() {
            let done = {
                let is_own = |way| strays.thread(way, |hash| frame.thread_of(hash)) == thread;
                let (table, elements) = (&mut *table, &mut *elements);
                let p = &mut held.buffer();
                Making { config, table, elements, is_own: &is_own, random, log, epoch, now }.one(p)
            };
            match done {
                Ok(next) => {
                    translated += 1;
                    frame.send(held, next);
                }
                Err(error) => frame.discard(held, error),
            }
        }
        frame.count_as(Error::In2Out, translated);
        core.show_totals(thread, &table, &elements);
    }
}

/// State of a packet without a session.
struct Making<'a> {
    config: &'a Config,
    table: &'a mut NatTable,
    elements: &'a mut Elements,
    /// Whether packets come to this thread.
    is_own: &'a dyn Fn(Affinity) -> bool,
    random: &'a mut Random,
    log: &'a mut Log,
    epoch: Epoch<'a>,
    now: f64,
}

impl Making<'_> {
    fn one(&mut self, p: &mut Buffer<'_>) -> Result<Next, Error> {
        let Inside::Packet(b4, offset) = inside(p)? else { return Ok(Next::Local) };
        let seen = look(p, offset)?;
        let found = self.table.find(&end_of(b4, &seen));
        let at = match found.filter(|at| !self.table.is_over(*at, self.now)) {
            Some(at) => at,
            None => {
                if let Some(gone) = found.and_then(|at| self.table.remove(at)) {
                    self.log.send(self.epoch, || record(false, &gone));
                    ended(self.elements, &gone);
                }
                self.session(b4, &seen)?
            }
        };
        translate(p, offset, self.table, at, &seen, self.now)
    }
    fn session(&mut self, b4: Ipv6Addr, seen: &Seen<[u8; 4]>) -> Result<SessionIndex, Error> {
        // Errors belong to existing sessions.
        if matches!(seen.kind, Kind::Error(_)) {
            return Err(Error::NoTranslation);
        }
        let protocol = seen.flow.protocol();
        let end = self.free_end(b4, protocol).ok_or(Error::OutOfPorts)?;
        let of_element = element(b4.octets());
        let here = match self.elements.find(&of_element) {
            Some(at) => at,
            None => {
                let reverse = of_element.reversed();
                let new = New { forward: of_element, reverse, data: 0, class: 0 };
                let made = self.elements.insert(new, self.now, |_, _| ());
                made.map_err(|_| Error::OutOfPorts)?
            }
        };
        // Counted first: a session that is over and goes now may be of the same B4.
        if let Some(count) = self.elements.data_mut(here) {
            *count += 1;
        }
        let (forward, reverse) = (end_of(b4, seen), outside_end(end, protocol));
        let new = New { forward, reverse, data: Data::default(), class: class_of(protocol) };
        let Self { table, elements, log, epoch, .. } = self;
        let made = table.insert(new, self.now, |_, gone| {
            log.send(*epoch, || record(false, gone));
            ended(elements, gone);
        });
        let Ok(at) = made else {
            if let Some(count) = elements.data_mut(here) {
                *count -= 1;
                if *count == 0 {
                    elements.remove(here);
                }
            }
            return Err(Error::OutOfPorts);
        };
        if let Some(session) = table.with_counts(at) {
            log.send(*epoch, || record(true, &session));
        }
        Ok(at)
    }
    /// An unused outside end: first of the address that the B4 has for all its hosts.
    fn free_end(&mut self, b4: Ipv6Addr, protocol: Protocol) -> Option<([u8; 4], u16)> {
        let pool = &self.config.pool;
        let first = hash_of(b4, self.table.seed()) as usize;
        (0..pool.len()).find_map(|n| {
            let addr = pool[first.wrapping_add(n) % pool.len()].octets();
            let is_free = |port: &u16| {
                self.table.find_reverse(&outside_end((addr, *port), protocol)).is_none()
            };
            let mut ports = PortSet::All.in_some_order(self.random.number());
            let way = |port| affinity_of_end((addr, port), protocol, self.table.seed());
            Some((addr, ports.find(|port| (self.is_own)(way(*port)) && is_free(port))?))
        })
    }
}
