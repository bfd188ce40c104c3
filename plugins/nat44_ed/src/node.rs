//! `nat44-ed-in2out`, `nat44-ed-out2in`, `nat44-ed-in2out-output`, `nat44-ed-classify` and their
//! slow paths.
//!
//! The fast path translates packets of sessions there are; all others go to the slow path, which
//! makes sessions. Where an interface is both inside and outside, the slow path is that from
//! outside when a mapping leads inside.

use std::fmt;
use std::marker::PhantomData;

use graph::arc::Along;
use graph::{Buffer, Edge, Flags, Frame, Names, Node, Record};
use infra::rcu::Epoch;
use net::drops::Problem;
use sessions::{Look, Seen};
use translation::mss;
use translation::rewrite::rewrite;
use translation::session::{DROPS, NatTable, Translation, counter_of, pass};
use translation::{ARRIVED, NO_SESSION, TRANSLATED};

use crate::core::{Core, Way, find};
use crate::log::Log;
use crate::slow::{Asking, Fault, Verdict};

/// A place of the nodes.
pub trait Place: Copy + Send + 'static {
    /// Which.
    const WAY: Way;
    /// The node of the fast path.
    const FAST: &'static str;
    /// The node of the slow path.
    const SLOW: &'static str;
    /// The slow path where a mapping leads inside.
    const SLOW_INWARD: &'static str;
    /// Drops.
    type Error: graph::Reason + From<Fault>;
}

/// Received from inside.
#[derive(Clone, Copy)]
pub struct In2Out;
/// Received from outside.
#[derive(Clone, Copy)]
pub struct Out2In;
/// Sent outside.
#[derive(Clone, Copy)]
pub struct Output;
/// Received where both may be.
#[derive(Clone, Copy)]
pub struct Either;

impl Place for In2Out {
    const WAY: Way = Way::In2Out;
    const FAST: &'static str = "nat44-ed-in2out";
    const SLOW: &'static str = "nat44-ed-in2out-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-in2out-slowpath";
    type Error = Outward;
}
impl Place for Out2In {
    const WAY: Way = Way::Out2In;
    const FAST: &'static str = "nat44-ed-out2in";
    const SLOW: &'static str = "nat44-ed-out2in-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-out2in-slowpath";
    type Error = Inward;
}
impl Place for Output {
    const WAY: Way = Way::Output;
    const FAST: &'static str = "nat44-ed-in2out-output";
    const SLOW: &'static str = "nat44-ed-in2out-output-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-in2out-output-slowpath";
    type Error = Outward;
}
impl Place for Either {
    const WAY: Way = Way::Either;
    const FAST: &'static str = "nat44-ed-classify";
    const SLOW: &'static str = "nat44-ed-in2out-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-out2in-slowpath";
    type Error = Classified;
}

/// Drops of packets from inside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Outward {
    #[expect(dead_code, reason = "clients know the counter; such packets are translated")]
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
    /// maximum sessions exceeded.
    #[name("maximum sessions exceeded")]
    MaxSessions,
    /// non-SYN packet try to create session.
    #[name("non-SYN packet try to create session")]
    NonSyn,
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Outward {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfPorts => Self::OutOfPorts,
            Fault::IcmpType => Self::IcmpType,
            Fault::MaxSessions => Self::MaxSessions,
            Fault::NonSyn => Self::NonSyn,
            Fault::CannotTranslate | Fault::NoTranslation | Fault::HashAddFailed => {
                Self::CannotTranslate
            }
        }
    }
}

/// Drops of packets from outside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Inward {
    #[expect(dead_code, reason = "clients know the counter; such packets are translated")]
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// maximum sessions exceeded.
    #[name("maximum sessions exceeded")]
    MaxSessions,
    /// non-SYN packet try to create session.
    #[name("non-SYN packet try to create session")]
    NonSyn,
    #[expect(dead_code, reason = "clients know the counter; such packets count as non-SYN")]
    /// drops due to TCP in transitory timeout.
    #[name("drops due to TCP in transitory timeout")]
    Transitory,
    /// hash table add failed.
    #[name("hash table add failed")]
    HashAddFailed,
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Inward {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfPorts => Self::OutOfPorts,
            Fault::IcmpType => Self::IcmpType,
            Fault::MaxSessions => Self::MaxSessions,
            Fault::NonSyn => Self::NonSyn,
            Fault::NoTranslation => Self::NoTranslation,
            Fault::HashAddFailed => Self::HashAddFailed,
            Fault::CannotTranslate => Self::CannotTranslate,
        }
    }
}

/// Drops where packets of both kinds come: the slow paths have them.
#[derive(Clone, Copy, graph::Reason)]
pub enum Classified {
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Classified {
    fn from(_: Fault) -> Self {
        Self::CannotTranslate
    }
}

/// Translates packets of sessions.
#[derive(Clone)]
pub struct Fast<P> {
    place: P,
    core: Core,
}

/// Edges of [`Fast`].
#[derive(Clone, Copy)]
pub enum Next<P> {
    /// No session is there.
    Slow(P),
    /// No session is there, but a mapping that leads inside.
    Inward(P),
    /// Along the arc.
    On(P),
}

impl<P: Place> graph::Next for Next<P> {
    const EDGES: &'static [Edge] =
        &[Edge { to: P::SLOW, payload: "" }, Edge { to: P::SLOW_INWARD, payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Slow(_) => 0,
            Self::Inward(_) => 1,
            Self::On(_) => along.next(p),
        }
    }
}

/// The start of the IP header, table and interface that count for a packet.
#[inline(always)]
fn place_of<P: Place>(core: &Core, p: &Buffer<'_>, epoch: Epoch<'_>) -> (usize, u32) {
    match P::WAY {
        // On the way out the layer 2 header of the adjacency is in front.
        Way::Output => (core.paths.header_len(p.adjacency(), epoch), p.tx()),
        _ => (0, p.rx()),
    }
}

/// Whether a packet passes without a look at sessions.
#[inline(always)]
fn is_exempt<P: Place>(p: &Buffer<'_>, seen: Option<&Seen<[u8; 4]>>) -> bool {
    let is_multicast = seen.is_some_and(|seen| seen.flow.dst[0] >= 224);
    let is_done = P::WAY == Way::Output && p.flags().has(TRANSLATED.with(Flags::LOCAL));
    is_multicast || is_done
}

impl<P: Place> Node for Fast<P> {
    const NAME: &'static str = P::FAST;
    type Next = Next<P>;
    type Error = P::Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let core = &self.core;
        let config = core.config.read(epoch);
        let sessions = core.sessions.read(epoch).as_ref();
        let Some(mut table) = sessions.and_then(|s| s.lend(thread)) else {
            return frame.forward_all(Next::On(self.place));
        };
        let place = self.place;
        frame.each(
            #[inline(always)]
            |p| {
                // The others still pass the node that hands over: it clears the mark for them.
                if P::WAY == Way::Either {
                    p.clear_flags(ARRIVED);
                }
                let (l3, interface) = place_of::<P>(core, p, epoch);
                let (fib, ports) = (p.fib(), p.ports());
                let seen = p.bytes().get(l3..).and_then(|b| <[u8; 4]>::look(b, ports, fib.into()));
                if is_exempt::<P>(p, seen.as_ref()) {
                    return Ok(Next::On(place));
                }
                let Some(seen) = seen else { return Ok(Next::Slow(place)) };
                let found = find(&table, &seen, fib, P::WAY);
                let Some((at, direction)) = found.filter(|(at, _)| !table.is_over(*at, now)) else {
                    let flow = &seen.flow;
                    let leads_in = || {
                        config
                            .mappings
                            .to_external(flow.dst, flow.dst_port, flow.protocol())
                            .is_some()
                    };
                    let is_inward = P::WAY == Way::Either && leads_in();
                    return Ok(if is_inward { Next::Inward(place) } else { Next::Slow(place) });
                };
                let bytes = p.total_len() - l3.min(p.total_len());
                if let Some(new) = pass(&mut table, at, direction, &seen, bytes, now) {
                    rewrite(p, l3, &seen, &new.flow, direction).ok_or(Fault::CannotTranslate)?;
                    finish(p, l3, &seen, &new, config.mss);
                    if new.is_hairpin {
                        core.count_hairpin(thread, interface);
                    }
                }
                let way = if direction == sessions::Direction::Forward || P::WAY == Way::Output {
                    Way::In2Out
                } else {
                    Way::Out2In
                };
                core.count(way, false, counter_of(seen.flow.protocol()), thread, interface);
                p.trace(|_| Translated { name: P::FAST, session: true });
                Ok(Next::On(place))
            },
        );
    }
}

/// What is left to do for a translated packet. One that stays as it is, by an identity, may still
/// be translated when it is sent.
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
    if let (Some(mss), sessions::Kind::Tcp(flags)) = (mss, seen.kind)
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
    random: u64,
    exhausted: Option<(sessions::Flow4, f64)>,
    log: Log,
}

/// Edges of [`Slow`].
#[derive(Clone, Copy, graph::Next)]
pub enum Out {
    /// The sender is told that there is no session for its packet.
    #[to("ip4-icmp-error", payload = Problem)]
    Told,
    /// Along the arc.
    #[along]
    On,
}

impl<P: Place> Node for Slow<P> {
    const NAME: &'static str = P::SLOW;
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
        for mut held in frame.take() {
            held.buffer().clear_flags(ARRIVED);
            let interface = place_of::<P>(&core, &held.buffer(), epoch).1;
            let done = {
                let is_own = |hash: u64| {
                    let at = |hash| frame.thread_of(hash);
                    strays.is_some_and(|s| s.thread(sessions::Way::of(hash), at) == thread)
                };
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
                Ok(what) => {
                    if let Some(what) = what {
                        core.count(P::WAY, true, what, thread, interface);
                    }
                    let name = P::SLOW;
                    let session = what.is_some();
                    frame.packet_of(&mut held).trace(|_| Translated { name, session });
                    frame.send(held, Out::On);
                }
                Err(fault) => {
                    core.count(P::WAY, true, DROPS, thread, interface);
                    let has_pool = !core.config.read(epoch).pool.is_empty();
                    let l3 = place_of::<P>(&core, &held.buffer(), epoch).0;
                    let is_told = P::WAY != Way::Out2In && has_pool && fault.is_told();
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
    /// Translates one packet; the counter of its kind if it is of a session.
    fn one(
        &mut self,
        core: &Core,
        p: &mut Buffer<'_>,
        table: &mut NatTable,
        (thread, is_own): (usize, &dyn Fn(u64) -> bool),
        now: f64,
        epoch: Epoch<'_>,
    ) -> Result<Option<usize>, Fault> {
        let config = core.config.read(epoch);
        let (l3, interface) = place_of::<P>(core, p, epoch);
        let (fib, ports) = (p.fib(), p.ports());
        let seen = p.bytes().get(l3..).and_then(|b| <[u8; 4]>::look(b, ports, fib.into()));
        let Some(seen) = seen else {
            return if config.is_forwarding { Ok(None) } else { Err(Fault::CannotTranslate) };
        };
        let (random, exhausted) = (&mut self.random, &mut self.exhausted);
        let log = &mut self.log;
        let mut asking = Asking { core, config, table, is_own, random, exhausted, log, epoch, now };
        let Verdict::Of(at, direction) = asking.ask(&seen, fib, P::WAY)? else { return Ok(None) };
        let bytes = p.total_len() - l3.min(p.total_len());
        if let Some(new) = pass(table, at, direction, &seen, bytes, now) {
            rewrite(p, l3, &seen, &new.flow, direction).ok_or(Fault::CannotTranslate)?;
            finish(p, l3, &seen, &new, config.mss);
            if new.is_hairpin {
                core.count_hairpin(thread, interface);
            }
        }
        Ok(Some(counter_of(seen.flow.protocol())))
    }
}

/// The nodes of a place.
pub fn of<P: Place>(place: P, core: &Core, seed: u64, log: Log) -> (Fast<P>, Slow<P>) {
    let fast = Fast { place, core: core.clone() };
    let (place, random, exhausted) = (PhantomData, seed | 1, None);
    (fast, Slow { place, core: core.clone(), random, exhausted, log })
}

/// What a node says of a traced packet.
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
