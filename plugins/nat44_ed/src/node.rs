//! `nat44-ed-in2out`, `nat44-ed-out2in`, `nat44-ed-in2out-output`, `nat44-ed-classify` and their
//! slow paths.
//!
//! The fast path translates packets of sessions there are; all others go to the slow path, which
//! makes sessions. Where an interface is both inside and outside, the slow path is that from
//! outside when a mapping leads inside.

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Names, Node, Packet, Payload, Record};
use infra::random::Random;
use nat_log::Log;
use net::drops::Problem;
use net::fast_path::{Routed, Shares};
use net::prelude::*;
use sessions::{Direction, Flow4, Kind, Look, Seen, SessionIndex};
use translation::handoff::Threads;
use translation::mss;
use translation::rewrite::rewrite;
use translation::session::{DROPS, NatTable, Translation, counter_of, expires, pass};
use translation::{ARRIVED, EXPIRED, NO_SESSION, TRANSLATED};

use crate::config::Config;
use crate::core::{Core, Traffic, find};
use crate::place::Place;
use crate::slow::{Asking, Fault, Sent, Verdict};
use crate::usual::Tally;

/// Share of a packet's clocks by node behind the translation, in thousandths.
const SHARES: Shares = Shares { lookup: 120, rewrite: 150, output: 60 };

/// Translates packets of sessions.
#[derive(Clone)]
pub struct Fast<P> {
    place: P,
    core: Core,
    routed: Routed<V4>,
}

/// Edges of [`Fast`].
#[derive(Clone, Copy)]
pub enum Next<P> {
    /// No session is there.
    Slow(P),
    /// No session is there, but a mapping that leads inside.
    Inward(P),
    /// The sender gets time exceeded.
    Expired(P),
    /// Along the arc.
    On(P),
}

impl<P: Place> graph::Next for Next<P> {
    const EDGES: &'static [Edge] = &[
        Edge { to: P::SLOW, payload: "" },
        Edge { to: P::SLOW_INWARD, payload: "" },
        Edge { to: "ip4-icmp-error", payload: Problem::NAME },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Slow(_) => 0,
            Self::Inward(_) => 1,
            Self::Expired(_) => 2,
            Self::On(_) => along.next(p),
        }
    }
}

/// The start of the IP header, table and interface that count for a packet.
#[inline(always)]
pub fn place_of<P: Place>(core: &Core, p: &Buffer<'_>, epoch: Epoch<'_>) -> (usize, u32) {
    match P::TRAFFIC {
        // On output the headers of the adjacency are in front.
        Traffic::Output => (core.paths.front(p, epoch), p.tx()),
        _ => (0, p.rx()),
    }
}

/// The table of a packet's host: on output that of the packet's receive interface, whatever tables
/// it was looked up in.
#[inline(always)]
pub fn fib_of<P: Place>(core: &Core, p: &Buffer<'_>, epoch: Epoch<'_>) -> u16 {
    match P::TRAFFIC {
        Traffic::Output => {
            core.ports.read(p.rx(), epoch).and_then(|port| port.ip4).unwrap_or(p.fib())
        }
        _ => p.fib(),
    }
}

/// Whether a packet passes without a look at sessions.
#[inline(always)]
fn is_exempt<P: Place>(p: &Buffer<'_>, seen: Option<&Seen<[u8; 4]>>) -> bool {
    let is_multicast = seen.is_some_and(|seen| seen.flow.dst[0] >= 224);
    let is_done = P::TRAFFIC == Traffic::Output && p.flags().has(TRANSLATED);
    is_multicast || is_done
}

/// Direction that packets of a session are counted for.
pub fn traffic_of<P: Place>(direction: Direction) -> Traffic {
    match direction == Direction::Forward || P::TRAFFIC == Traffic::Output {
        true => Traffic::In2Out,
        false => Traffic::Out2In,
    }
}

/// State of a frame.
pub struct Work<'a> {
    /// Data shared by the nodes.
    pub core: &'a Core,
    config: &'a Config,
    /// The sessions of the thread.
    pub table: &'a mut NatTable,
    /// The thread.
    pub thread: usize,
    /// The time in seconds.
    pub now: f64,
    /// The right to read shared state.
    pub epoch: Epoch<'a>,
    /// Usual packets that are not counted yet.
    pub tally: Tally,
}

impl<P: Place> Node for Fast<P> {
    const NAME: &'static str = P::FAST;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<P>;
    type Error = P::Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let (core, routed) = (&self.core, &mut self.routed);
        let config = core.config.read(epoch);
        let sessions = core.sessions.read(epoch).as_ref();
        let Some(mut table) = sessions.and_then(|s| s.lend(thread)) else {
            return frame.forward_all(Next::On(self.place));
        };
        let tally = Tally::NONE;
        let mut work = Work { core, config, table: &mut table, thread, now, epoch, tally };
        let (place, cpu) = (self.place, frame.cpu());
        frame.passes(
            #[inline(always)]
            |packets| {
                routed.follow(
                    packets,
                    (cpu, epoch, thread),
                    #[inline(always)]
                    |packets, places, routable| {
                        work.translate_usual(packets, places.clone(), routable);
                        packets.others(places, |_, p| work.one(place, p));
                    },
                );
            },
        );
        work.settle::<P>(u32::MAX);
    }
}

impl Work<'_> {
    /// Translates one packet, if it is of a session.
    #[inline(never)]
    fn one<P: Place>(
        &mut self,
        place: P,
        p: &mut Packet<'_, Fast<P>>,
    ) -> Result<Next<P>, P::Error> {
        // The others still pass the node that hands over: it clears the mark for them.
        if P::TRAFFIC == Traffic::Either {
            p.clear_flags(ARRIVED);
        }
        let (l3, interface) = place_of::<P>(self.core, p, self.epoch);
        let seen = look(p, l3);
        if is_exempt::<P>(p, seen.as_ref()) {
            return Ok(Next::On(place));
        }
        let Some(seen) = seen else { return Ok(Next::Slow(place)) };
        let fib = fib_of::<P>(self.core, p, self.epoch);
        let found = find(self.table, &seen, fib, P::TRAFFIC);
        let Some((at, direction)) = found.filter(|(at, _)| !self.table.is_over(*at, self.now))
        else {
            let Flow4 { dst, dst_port, .. } = seen.flow;
            let leads_in = || {
                let mappings = &self.config.mappings;
                mappings.to_external(dst, dst_port, seen.flow.protocol()).is_some()
            };
            let is_inward = P::TRAFFIC == Traffic::Either && leads_in();
            return Ok(if is_inward { Next::Inward(place) } else { Next::Slow(place) });
        };
        if begins_again(self.table, at, &seen) {
            return Ok(Next::Slow(place));
        }
        if P::TRAFFIC != Traffic::Output && expires(p, l3, self.table, at) {
            p.set_payload(EXPIRED);
            return Ok(Next::Expired(place));
        }
        let bytes = p.total_len();
        if let Some(new) = pass(self.table, at, direction, &seen, bytes, self.now) {
            rewrite(p, l3, &seen, &new.flow, direction).ok_or(Fault::CannotTranslate)?;
            finish(p, l3, &seen, &new, self.config.mss);
            if new.is_hairpin {
                self.core.count_hairpin(self.thread, interface);
            }
        }
        let what = counter_of(&seen);
        let traffic = traffic_of::<P>(direction);
        self.core.count(traffic, false, (what, 1), self.thread, interface);
        p.trace(|_| Translated { name: P::FAST, session: true });
        Ok(Next::On(place))
    }
}

/// A packet as sessions see it.
#[inline(always)]
fn look(p: &Buffer<'_>, l3: usize) -> Option<Seen<[u8; 4]>> {
    let (fib, ports) = (p.fib(), p.ports());
    p.bytes().get(l3..).and_then(|bytes| <[u8; 4]>::look(bytes, ports, fib.into()))
}

/// Whether another connection of the same ends begins with a packet of a session.
#[inline(always)]
fn begins_again(table: &NatTable, at: SessionIndex, seen: &Seen<[u8; 4]>) -> bool {
    let begins = |flags| table.at(at).is_some_and(|s| s.data.tcp.begins_again(flags));
    matches!(seen.kind, Kind::Tcp(flags) if begins(flags))
}

/// Remaining work for a translated packet. One that is unchanged, by an identity mapping, may still
/// be translated on output.
#[inline(always)]
fn finish(
    p: &mut Buffer<'_>,
    l3: usize,
    seen: &Seen<[u8; 4]>,
    new: &Translation,
    mss: Option<u16>,
) {
    p.set_fib(new.fib);
    if new.flow.in_scope(0) != seen.flow.in_scope(0) {
        p.add_flags(TRANSLATED);
    }
    if let (Some(mss), Kind::Tcp(flags)) = (mss, seen.kind)
        && flags.contains(wire::tcp::Flags::SYN)
    {
        mss::clamp(p, l3 + seen.upper, mss);
    }
}

/// Makes sessions.
#[derive(Clone)]
pub struct Slow<P> {
    place: PhantomData<P>,
    core: Core,
    random: Random,
    exhausted: Option<(sessions::Flow4, f64)>,
    log: Log,
}

/// Edges of [`Slow`].
#[derive(Clone, Copy, graph::Next)]
pub enum Out {
    /// The sender gets an error: no session for its packet, or time exceeded.
    #[to("ip4-icmp-error", payload = Problem)]
    Told,
    /// Along the arc.
    #[along]
    On,
}

impl<P: Place> Node for Slow<P> {
    const NAME: &'static str = P::SLOW;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Out;
    type Error = P::Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<Cpu: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, Cpu>) {
        self.work(frame);
    }
}

impl<P: Place> Slow<P> {
    #[inline(never)]
    fn work<Cpu: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, Cpu>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let core = self.core.clone();
        let sessions = core.sessions.read(epoch).as_ref();
        let Some(mut table) = sessions.and_then(|s| s.lend(thread)) else {
            return frame.forward_all(Out::On);
        };
        let strays = sessions.map(|s| s.strays(epoch));
        let threads = Threads::among(frame, &core.config.read(epoch).workers);
        for mut held in frame.take() {
            held.buffer().clear_flags(ARRIVED);
            let interface = place_of::<P>(&core, &held.buffer(), epoch).1;
            let done = {
                let is_own = |hash: u64| threads.to(sessions::Affinity::of(hash), strays) == thread;
                self.one(
                    &core,
                    &mut held.buffer(),
                    &mut table,
                    (thread, &is_own),
                    frame.now(),
                    epoch,
                )
            };
            match done {
                Ok(Done::Expired) => {
                    frame.packet_of(&mut held).set_payload(EXPIRED);
                    frame.send(held, Out::Told);
                }
                Ok(Done::Passed(what)) => {
                    if let Some(what) = what {
                        core.count(P::TRAFFIC, true, (what, 1), thread, interface);
                    }
                    let name = P::SLOW;
                    let session = what.is_some();
                    frame.packet_of(&mut held).trace(|_| Translated { name, session });
                    frame.send(held, Out::On);
                }
                Err(fault) => {
                    core.count(P::TRAFFIC, true, (DROPS, 1), thread, interface);
                    let has_pool = !core.config.read(epoch).pool.is_empty();
                    let l3 = place_of::<P>(&core, &held.buffer(), epoch).0;
                    let is_told = P::TRAFFIC != Traffic::Out2In && has_pool && fault.is_told();
                    if is_told && held.buffer().advance(l3).is_some() {
                        let mut p = frame.packet_of(&mut held);
                        p.set_payload(NO_SESSION);
                        p.error(fault.into());
                        frame.send(held, Out::Told);
                    } else {
                        frame.discard(held, fault.into());
                    }
                }
            }
        }
        core.show_total(thread, &table);
    }
    /// Translates one packet.
    fn one(
        &mut self,
        core: &Core,
        p: &mut Buffer<'_>,
        table: &mut NatTable,
        (thread, is_own): (usize, &dyn Fn(u64) -> bool),
        now: f64,
        epoch: Epoch<'_>,
    ) -> Result<Done, Fault> {
        let config = core.config.read(epoch);
        let (l3, interface) = place_of::<P>(core, p, epoch);
        let fib = fib_of::<P>(core, p, epoch);
        let is_sent = P::TRAFFIC == Traffic::Output;
        let is_own_packet = is_sent && core.paths.sends_own(p, epoch);
        let Some(seen) = look(p, l3) else {
            let passes = config.is_forwarding && !is_sent || is_own_packet;
            return if passes { Ok(Done::Passed(None)) } else { Err(Fault::CannotTranslate) };
        };
        let sent = is_sent.then(|| Sent { over: p.tx(), fib: p.fib(), is_own: is_own_packet });
        let (random, exhausted) = (&mut self.random, &mut self.exhausted);
        let log = &mut self.log;
        let mut asking =
            Asking { core, config, table, sent, is_own, random, exhausted, log, epoch, now };
        let Verdict::Of(at, direction) = asking.ask(&seen, fib, P::TRAFFIC)? else {
            return Ok(Done::Passed(None));
        };
        if P::TRAFFIC != Traffic::Output && expires(p, l3, asking.table, at) {
            return Ok(Done::Expired);
        }
        if begins_again(asking.table, at, &seen) {
            asking.begin_again(at);
        }
        let bytes = p.total_len();
        if let Some(new) = pass(table, at, direction, &seen, bytes, now) {
            rewrite(p, l3, &seen, &new.flow, direction).ok_or(Fault::CannotTranslate)?;
            finish(p, l3, &seen, &new, config.mss);
            if new.is_hairpin {
                core.count_hairpin(thread, interface);
            }
        }
        Ok(Done::Passed(Some(counter_of(&seen))))
    }
}

/// Result of the slow path.
enum Done {
    /// It goes on; the counter of its kind if it is of a session.
    Passed(Option<usize>),
    /// It has been on its way too long.
    Expired,
}

/// The nodes of a place.
pub fn of<P: Place>(router: &Router, place: P, core: &Core, log: Log) -> (Fast<P>, Slow<P>) {
    let fast = Fast { place, core: core.clone(), routed: Routed::new(router, SHARES) };
    let (place, random, exhausted) = (PhantomData, Random::new(), None);
    (fast, Slow { place, core: core.clone(), random, exhausted, log })
}

/// Trace text of a node.
struct Translated {
    name: &'static str,
    session: bool,
}

impl Record for Translated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.session { "session found or made" } else { "not translated" };
        write!(f, "  {}: {what}", self.name)
    }
}
