//! `nat44-ei-in2out`, `nat44-ei-out2in` and the like.
//!
//! Packets from inside that have no session go to a slow path, which makes one. What hosts inside
//! send to an address outside goes on, with its new source, to the node that translates its
//! destination, on the thread that has it.

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Names, Node, Payload, Record};
use infra::random::Random;
use net::drops::Problem;
use net::prelude::*;
use sessions::{Direction, Kind, Look, Seen, SessionIndex};
use translation::handoff::Threads;
use translation::mss;
use translation::rewrite::rewrite;
use translation::session::{DROPS, ICMPS, counter_of, expires, pass};
use translation::{EXPIRED, NO_SESSION, TRANSLATED};

use crate::core::{Config, Core};
use crate::log::Log;
use crate::slow::{Fault, Verdict, Work};

/// The node that hands packets between hosts inside over.
pub const HAIRPINNING: &str = "nat44-ei-in2out-hairpinning-handoff-ip4-lookup";

/// The packets of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Received from inside.
    In2Out,
    /// Received from outside.
    Out2In,
    /// Sent outside.
    Output,
    /// From inside to an address outside.
    Hairpin,
}

impl Traffic {
    /// Whether sources are translated.
    pub fn is_outward(self) -> bool {
        matches!(self, Self::In2Out | Self::Output)
    }
}

/// A place of the nodes.
pub trait Place: Copy + Send + 'static {
    /// Node.
    const NAME: &'static str;
    /// Its packets.
    const TRAFFIC: Traffic;
    /// The slow path; without one the node is its own.
    const SLOW: Option<&'static str>;
    /// Whether it is a slow path.
    const IS_SLOW: bool;
    /// Where packets go on, if it is not along the arc.
    const ON: Option<&'static str> = None;
    /// Drops.
    type Error: graph::Reason + From<Fault>;
}

macro_rules! places {
    ($($(#[$doc:meta])* $place:ident $name:literal $traffic:ident $slow:expr, $is_slow:literal,
        $on:expr, $error:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $place;
        impl Place for $place {
            const NAME: &'static str = $name;
            const TRAFFIC: Traffic = Traffic::$traffic;
            const SLOW: Option<&'static str> = $slow;
            const IS_SLOW: bool = $is_slow;
            const ON: Option<&'static str> = $on;
            type Error = $error;
        }
    )*};
}

places! {
    /// Received from inside.
    In2Out "nat44-ei-in2out" In2Out Some(In2OutSlow::NAME), false, None, Outward;
    /// Received from inside, without a session.
    In2OutSlow "nat44-ei-in2out-slowpath" In2Out None, true, None, Outward;
    /// Sent outside.
    Output "nat44-ei-in2out-output" Output Some(OutputSlow::NAME), false, None, Outward;
    /// Sent outside, without a session.
    OutputSlow "nat44-ei-in2out-output-slowpath" Output None, true, None, Outward;
    /// Received from outside.
    Out2In "nat44-ei-out2in" Out2In None, false, None, Inward;
    /// From inside to an address outside, its source translated.
    Finish "nat44-ei-in2out-hairpinning-finish-ip4-lookup" Hairpin None, false,
        Some("ip4-lookup"), Outward;
}

/// Drops of packets from inside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Outward {
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    #[expect(dead_code, reason = "clients know the counter; tables are checked when they are set")]
    /// outside VRF ID not found.
    #[name("outside VRF ID not found")]
    NoTable,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// maximum sessions exceeded.
    #[name("maximum sessions exceeded")]
    MaxSessions,
    /// cannot create NAT user.
    #[name("cannot create NAT user")]
    NoUser,
}

/// Drops of packets from outside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Inward {
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
    /// cannot create NAT user.
    #[name("cannot create NAT user")]
    NoUser,
}

macro_rules! from_fault {
    ($($error:ident)*) => {$(
        impl From<Fault> for $error {
            fn from(fault: Fault) -> Self {
                match fault {
                    Fault::Protocol => Self::Protocol,
                    Fault::OutOfPorts => Self::OutOfPorts,
                    Fault::IcmpType => Self::IcmpType,
                    Fault::NoTranslation => Self::NoTranslation,
                    Fault::MaxSessions => Self::MaxSessions,
                    Fault::NoUser => Self::NoUser,
                }
            }
        }
    )*};
}
from_fault!(Outward Inward);

/// Translates packets.
#[derive(Clone)]
pub struct Translate<P> {
    place: PhantomData<P>,
    core: Core,
    random: Random,
    log: Log,
}

impl<P: Place> Translate<P> {
    /// For a place; `random` is any number but 0.
    pub fn new(_: P, core: &Core, log: Log) -> Self {
        Self { place: PhantomData, core: core.clone(), random: Random::new(), log }
    }
}

/// Edges of [`Translate`].
pub enum Next<P> {
    /// To the slow path.
    Slow(PhantomData<P>),
    /// To a host inside.
    Hairpin,
    /// True to enable, false to disable.
    On,
    /// The sender gets an error: no session for its packet, or time exceeded.
    Told,
}

impl<P> Clone for Next<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Next<P> {}

impl<P: Place> graph::Next for Next<P> {
    const EDGES: &'static [Edge] = &[
        Edge { to: if let Some(slow) = P::SLOW { slow } else { "ip4-drop" }, payload: "" },
        Edge { to: HAIRPINNING, payload: "" },
        Edge { to: if let Some(on) = P::ON { on } else { "ip4-drop" }, payload: "" },
        Edge { to: "ip4-icmp-error", payload: Problem::NAME },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Slow(_) => 0,
            Self::Hairpin => 1,
            Self::On if P::ON.is_some() => 2,
            Self::Told => 3,
            Self::On => along.next(p),
        }
    }
}

/// The start of the IP header and the interface that count for a packet.
#[inline(always)]
pub fn place_of(traffic: Traffic, core: &Core, p: &Buffer<'_>, epoch: Epoch<'_>) -> (usize, u32) {
    match traffic {
        // On output the headers of the adjacency are in front.
        Traffic::Output => (core.paths.front(p, epoch), p.tx()),
        _ => (0, p.rx()),
    }
}

/// The table of a packet's host: on output that of the packet's receive interface, whatever tables
/// it was looked up in.
#[inline(always)]
fn fib_of(traffic: Traffic, core: &Core, p: &Buffer<'_>, epoch: Epoch<'_>) -> u16 {
    match traffic {
        Traffic::Output => {
            core.ports.read(p.rx(), epoch).and_then(|port| port.ip4).unwrap_or(p.fib())
        }
        _ => p.fib(),
    }
}

/// Whether a transmitted packet has been translated. One that leaves by its receive interface has a
/// host as destination, which its own host may know by the outside address only.
#[inline(always)]
pub fn is_done(p: &Buffer<'_>) -> bool {
    p.flags().has(TRANSLATED) && p.rx() != p.tx()
}

/// A packet as sessions see it.
#[inline(always)]
pub fn look(p: &Buffer<'_>, l3: usize) -> Option<Seen<[u8; 4]>> {
    p.bytes().get(l3..).and_then(|b| <[u8; 4]>::look(b, p.ports(), p.fib().into()))
}

impl<P: Place> Node for Translate<P> {
    const NAME: &'static str = P::NAME;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<P>;
    type Error = P::Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let core = self.core.clone();
        let config = core.config.read(epoch);
        let sessions = core.sessions.read(epoch).as_ref();
        let lent = sessions.and_then(|s| Some((s.strays(epoch), s.lend(thread)?)));
        let Some(((strays, mut table), mut users)) = lent.zip(core.users.lend(thread)) else {
            return frame.forward_all(Next::On);
        };
        let threads = Threads::among(frame, &config.workers);
        let mut work = Work {
            core: &core,
            config,
            table: &mut table,
            users: &mut users,
            threads: &threads,
            strays,
            thread,
            random: &mut self.random,
            log: &mut self.log,
            epoch,
            now,
        };
        frame.each(
            #[inline(always)]
            |p| {
                let (l3, interface) = place_of(P::TRAFFIC, &core, p, epoch);
                let step = one::<P>(&mut work, p, l3).inspect_err(|_| {
                    // Packets of sessions there are pass.
                    core.count(P::TRAFFIC, true, DROPS, thread, interface);
                });
                if let Err(fault) = step
                    && is_told(P::TRAFFIC, config, fault)
                    && p.advance(l3).is_some()
                {
                    p.set_payload(NO_SESSION);
                    p.error(fault.into());
                    return Ok(Next::Told);
                }
                let (next, done) = match step? {
                    Step::Slow => return Ok(Next::Slow(PhantomData)),
                    Step::AsItIs => return Ok(Next::On),
                    Step::Expired => {
                        p.set_payload(EXPIRED);
                        return Ok(Next::Told);
                    }
                    Step::Hairpin(done) => {
                        core.count_hairpin(thread, interface);
                        (Next::Hairpin, done)
                    }
                    Step::On(done) => (Next::On, done),
                };
                // Packets from outside have one node only, which is the slow one in the original.
                let is_slow = P::IS_SLOW || done.is_slow || !P::TRAFFIC.is_outward();
                core.count(P::TRAFFIC, is_slow, done.counter, thread, interface);
                p.trace(|_| Translated { name: P::NAME });
                Ok(next)
            },
        );
        if P::IS_SLOW || P::SLOW.is_none() {
            core.show_totals(thread, &table, &users);
        }
    }
}

/// Whether the sending host gets an error for a missing session: the packet itself is valid.
fn is_told(traffic: Traffic, config: &Config, fault: Fault) -> bool {
    let is_short = matches!(fault, Fault::OutOfPorts | Fault::MaxSessions | Fault::NoUser);
    traffic.is_outward() && is_short && !config.pool.is_empty()
}

/// A packet that was translated: the number of its counter, and whether it counts as slow.
struct Done {
    counter: usize,
    is_slow: bool,
}

/// Where a packet goes.
enum Step {
    Slow,
    AsItIs,
    Expired,
    Hairpin(Done),
    On(Done),
}

/// Translates one packet.
#[inline(always)]
fn one<P: Place>(work: &mut Work<'_>, p: &mut Buffer<'_>, l3: usize) -> Result<Step, Fault> {
    let is_sent = P::TRAFFIC == Traffic::Output;
    let seen = look(p, l3);
    if is_sent && is_done(p) || seen.as_ref().is_some_and(|seen| seen.flow.dst[0] >= 224) {
        return Ok(Step::AsItIs);
    }
    let Some(seen) = seen else {
        let is_own = is_sent && work.core.paths.sends_own(p, work.epoch);
        let passes = work.config.is_forwarding && !is_sent || is_own;
        return if passes { Ok(Step::AsItIs) } else { Err(Fault::NoTranslation) };
    };
    let fib = fib_of(P::TRAFFIC, work.core, p, work.epoch);
    let is_hairpin = P::TRAFFIC == Traffic::In2Out && work.leads_back(&seen, fib);
    let found = work.find(&seen, fib, P::TRAFFIC);
    let is_outward = || match found {
        Some(_) => !work.leads_inside(&seen, fib),
        None => work.leads_outside(&seen, fib),
    };
    if P::TRAFFIC == Traffic::In2Out && !is_hairpin && !is_outward() {
        return Ok(Step::AsItIs);
    }
    let at = match found {
        Some(at) => at,
        None if P::SLOW.is_some() => return Ok(Step::Slow),
        None if is_sent && work.core.paths.sends_own(p, work.epoch) => {
            match work.note_own(&seen, fib) {
                Verdict::Of(at) => at,
                Verdict::AsItIs => return Ok(Step::AsItIs),
            }
        }
        None => match work.begin(&seen, (fib, is_sent.then(|| p.tx())), P::TRAFFIC)? {
            Verdict::Of(at) => at,
            Verdict::AsItIs => return Ok(Step::AsItIs),
        },
    };
    if work.note_bypass(at, p.total_len()) {
        return Ok(Step::AsItIs);
    }
    if P::TRAFFIC != Traffic::Output && expires(p, l3, work.table, at) {
        return Ok(Step::Expired);
    }
    let direction = if P::TRAFFIC.is_outward() { Direction::Forward } else { Direction::Reverse };
    translate(work, p, l3, at, direction, &seen).ok_or(Fault::NoTranslation)?;
    let counter = counter_of(&seen);
    // The original has no fast path for ICMP.
    let done = Done { counter, is_slow: found.is_none() || counter == ICMPS };
    Ok(if is_hairpin { Step::Hairpin(done) } else { Step::On(done) })
}

/// Gives a packet of a session the other ends, and its table.
#[inline(always)]
fn translate(
    work: &mut Work<'_>,
    p: &mut Buffer<'_>,
    l3: usize,
    at: SessionIndex,
    direction: Direction,
    seen: &Seen<[u8; 4]>,
) -> Option<()> {
    let bytes = p.total_len();
    let new = pass(work.table, at, direction, seen, bytes, work.now)?;
    rewrite(p, l3, seen, &new.flow, direction)?;
    let fib = match direction {
        Direction::Forward => {
            work.core.outside_fib(work.config, new.fib, seen.flow.dst, work.epoch)
        }
        Direction::Reverse => new.fib,
    };
    p.set_fib(fib);
    // One that stays as it is, by an identity, may still be translated when it is sent.
    if new.flow.in_scope(0) != seen.flow.in_scope(0) {
        p.add_flags(TRANSLATED);
    }
    if let (Some(mss), Kind::Tcp(flags)) = (work.config.mss, seen.kind)
        && flags.contains(wire::tcp::Flags::SYN)
    {
        mss::clamp(p, l3 + seen.upper, mss);
    }
    Some(())
}

/// Trace text of a node.
struct Translated {
    name: &'static str,
}

impl Record for Translated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}: translated", self.name)
    }
}
