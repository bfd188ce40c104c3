//! `firewall-ip4-output`, `firewall-ip6-local` and their kin: packets meet the policy between their
//! zones.
//!
//! What the router forwards and sends itself is judged where it leaves, when both zones are known;
//! what is for the router itself where it is delivered.

use infra::counter::{Counter, Rows};
use net::adjacency::Adjacency;
use net::drops::Problem;
use net::icmp::Limit;
use net::ip4::{IP4_LOCAL, IP4_OUTPUT};
use net::ip6::{IP6_LOCAL, IP6_OUTPUT};
use net::prelude::*;
use translation::handoff::Threads;

use super::handoff::BySession;
use super::log::Entry;
use super::pass::{Pass, Tally};
use super::place::{LOCAL, OUTPUT, handoff_name, name};
use super::reset::Reset;
use super::ruleset::Ruleset;
use super::session::{Both, Guarded};
use super::{Firewall, Member};

/// Edges of [`Guard`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Guard, const AT: usize> {
    /// It passes.
    #[along]
    Continue,
    /// Another thread has its session.
    #[to(handoff_name::<V>(AT))]
    HandOff(V),
    /// Rejected: an ICMP error to its sender.
    #[to(V::NODES.icmp_error, payload = Problem)]
    IcmpError,
    /// Rejected: it has become a TCP reset.
    #[to(V::LOOKUP)]
    Reset,
}

/// Drops.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// dropped by policy.
    #[name("dropped by policy")]
    Dropped,
    /// rejected by policy.
    #[name("rejected by policy")]
    Rejected,
    /// no policy between the zones.
    #[name("no policy between the zones")]
    NoPolicy,
    /// an interface is in no zone.
    #[name("one of the interfaces is in no zone")]
    NoZone,
    /// ICMP error without a matching session.
    #[name("ICMP error about no session")]
    NoSession,
    /// TCP without a session, and not a SYN.
    #[name("TCP without a session that does not begin one")]
    NoStart,
    /// upper layer not readable.
    #[name("upper layer not readable")]
    Unreadable,
    /// policy session limit reached.
    #[name("policy has as many sessions as it may have")]
    PolicyFull,
    /// session table full.
    #[name("no room for a session")]
    Full,
    /// session table busy.
    #[name("sessions cannot be read now")]
    Busy,
}

/// Counters besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets of existing sessions.
    #[name("packets of sessions")]
    Known,
    /// sessions created.
    #[name("sessions begun")]
    Begun,
    /// packets permitted without a session.
    #[name("packets permitted without a session")]
    Alone,
    /// sessions ended by rule changes.
    #[name("sessions ended by other rules")]
    Ended,
}

/// A version of IP that is guarded.
pub trait Guard: Guarded + Version + Reset {
    /// The node that resets are sent by.
    const LOOKUP: &'static str;
    /// The error for senders of rejected packets (RFC 1812 section 5.2.7.1, RFC 4443 section 3.1).
    const PROHIBITED: Problem;
}

impl Guard for V4 {
    const LOOKUP: &'static str = "ip4-lookup";
    const PROHIBITED: Problem = Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, 13, 0);
}

impl Guard for V6 {
    const LOOKUP: &'static str = "ip6-lookup";
    const PROHIBITED: Problem = Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, 1, 0);
}

/// Counters in the statistics segment.
#[derive(Clone)]
pub(super) struct Counters {
    pub rules: Rows<VolumeCounter>,
    pub policies: Rows<VolumeCounter>,
    pub sessions: Rows<Counter>,
}

/// Where packets are met.
#[derive(Clone)]
pub(super) struct Sight {
    pub zones: SlabReader<Member>,
    pub adjacencies: SlabReader<Adjacency>,
}

/// Judges packets.
#[derive(Clone)]
pub struct Firewalled<V: Guard, const AT: usize> {
    version: V,
    pub(super) sight: Sight,
    pub(super) sessions: Both,
    rules: Reader<Ruleset>,
    counters: Counters,
    log: EventSender<Entry>,
    /// Of resets; ICMP errors have their own.
    limit: Limit,
}

impl<V: Guard, const AT: usize> Node for Firewalled<V, AT> {
    const NAME: &'static str = name::<V>(AT);
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V, AT>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let threads = Threads::of(frame);
        let Self { version, sight, sessions, rules, counters, log, limit } = self;
        limit.fill(now);
        let mut pass = Pass {
            version: *version,
            sight,
            rules: rules.read(epoch),
            counters,
            table: V::of(sessions).lend(thread),
            log,
            limit,
            threads,
            thread,
            now,
            epoch,
            tally: Tally::default(),
        };
        frame.each(|p| pass.judge::<AT>(p));
        let Tally { known, begun, alone, ended } = pass.tally;
        frame.count(Count::Known, known);
        frame.count(Count::Begun, begun);
        frame.count(Count::Alone, alone);
        frame.count(Count::Ended, ended);
    }
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    firewall: &Firewall,
    zones: &SlabReader<Member>,
) -> Result<(), BuildError> {
    let sight = Sight { zones: zones.clone(), adjacencies: router.adjacencies.reader() };
    add_of::<V4>(router, firewall, &sight)?;
    add_of::<V6>(router, firewall, &sight)
}

fn add_of<V: Guard>(
    router: &mut Router,
    firewall: &Firewall,
    sight: &Sight,
) -> Result<(), BuildError> {
    let arcs = if V::NUMBER == 4 { [&IP4_OUTPUT, &IP4_LOCAL] } else { [&IP6_OUTPUT, &IP6_LOCAL] };
    add_at::<V, OUTPUT>(router, firewall, sight)?;
    add_at::<V, LOCAL>(router, firewall, sight)?;
    super::place::place::<V>(router, arcs)
}

fn add_at<V: Guard, const AT: usize>(
    router: &mut Router,
    firewall: &Firewall,
    sight: &Sight,
) -> Result<(), BuildError> {
    let node = Firewalled::<V, AT> {
        version: V::SELF,
        sight: sight.clone(),
        sessions: firewall.sessions.clone(),
        rules: firewall.ruleset.reader(),
        counters: firewall.counters.clone(),
        log: router.events.sender(),
        limit: Limit::new(),
    };
    router.engine.add(graph::HandOff(BySession::of(&node)))?;
    router.engine.add(node)?;
    Ok(())
}
