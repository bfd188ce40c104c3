//! `acl-plugin-in-ip4-fa`, `acl-plugin-out-ip6-l2` and their kin: packets meet the lists of an
//! interface.
//!
//! A block of packets is read, then all are looked up together, then those that pass go on. What is
//! dropped or traced is treated packet by packet.
//!
//! Where a list of the interface lets answers pass, a packet is first sought among the sessions.
//! They belong to threads by flow: what belongs to another one is handed over.

use graph::arc::FeatureArc;
use graph::{BLOCK, Passes};
use net::adjacency::Adjacency;
use net::ethernet::{L2_INPUT_IP4, L2_INPUT_IP6, L2_OUTPUT_IP4, L2_OUTPUT_IP6};
use net::fast_path::{Routable, Routed, Shares};
use net::fib::Headers;
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;
use sessions::Seen;
use wire::upper;

use super::handoff::BySession;
use super::list::{List, Verdict};
use super::meeting::{Meeting, Met};
use super::place::{handoff_name, name, path};
use super::rule::Action;
use super::session::{self, Both, Reflected, Threads};
use super::trace::Checked;
use super::{Applied, Lists, Options};

/// Edges of [`Access`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> {
    /// It passes.
    #[along]
    Continue,
    /// Its session belongs to another thread.
    #[to(handoff_name::<V>(path(BRIDGED), DIRECTION))]
    HandOff(PhantomData<V>),
}

/// Drops of [`Access`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ACL deny packets.
    #[name("ACL deny packets")]
    Deny,
    /// too many sessions to add new.
    #[name("too many sessions to add new")]
    TooManySessions,
}

/// Counters of [`Access`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ACL permit packets.
    #[name("ACL permit packets")]
    Permit,
    /// new sessions added.
    #[name("new sessions added")]
    NewSession,
    /// existing session packets.
    #[name("existing session packets")]
    ExistingSession,
    /// checked packets.
    #[name("checked packets")]
    Checked,
    /// restart session timer.
    #[name("restart session timer")]
    RestartTimer,
}

/// Share of a packet's clocks by node behind the lists, in thousandths.
const SHARES: Shares = Shares { lookup: 180, rewrite: 220, output: 90 };

/// Checks packets: those that are bridged or routed, and received (`DIRECTION` 0) or sent (1).
#[derive(Clone)]
pub struct Access<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> {
    pub(super) checks: Checks<V, BRIDGED, DIRECTION>,
    /// The path of received packets that are routed.
    routed: Routed<V>,
}

/// Lists and sessions that packets meet.
#[derive(Clone)]
pub(super) struct Checks<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> {
    version: PhantomData<V>,
    pub(super) sessions: Both,
    lists: SlabReader<List>,
    settings: SlabReader<Applied>,
    options: Reader<Options>,
    pub(super) adjacencies: SlabReader<Adjacency>,
}

/// The rule that decides about a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Its list; none where no rule is about the packet.
    pub list: u32,
    pub rule: u32,
    pub action: Action,
}

impl Found {
    const NOTHING: Self = Self { list: u32::MAX, rule: u32::MAX, action: Action::Deny };
}

/// The lists of the interface that was seen last.
pub(super) struct Known<'e> {
    interface: u32,
    numbers: &'e [u32],
    /// The first of them.
    first: Option<&'e List>,
    /// Whether one of its lists, received or sent, lets answers pass.
    is_stateful: bool,
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> Access<V, BRIDGED, DIRECTION> {
    fn new(router: &Router, lists: &Lists, settings: &SlabReader<Applied>) -> Self {
        let checks = Checks::new(router, lists, settings);
        Self { checks, routed: Routed::new(router, SHARES) }
    }
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> Checks<V, BRIDGED, DIRECTION> {
    fn new(router: &Router, lists: &Lists, settings: &SlabReader<Applied>) -> Self {
        Self {
            version: PhantomData,
            sessions: lists.sessions.clone(),
            lists: lists.reader(),
            settings: settings.clone(),
            options: lists.options_reader(),
            adjacencies: router.adjacencies.reader(),
        }
    }
    #[inline(always)]
    fn interface(p: &Buffer<'_>) -> u32 {
        if DIRECTION == 0 { p.rx() } else { p.tx() }
    }
    /// A packet from its IP header on.
    #[inline(always)]
    fn packet<'p>(
        adjacencies: &SlabReader<Adjacency>,
        p: &'p Buffer<'_>,
        epoch: Epoch<'_>,
    ) -> &'p [u8] {
        let bytes = p.bytes();
        if BRIDGED {
            let at = upper::payload(bytes).map_or(bytes.len(), |(_, at)| at);
            return &bytes[at..];
        }
        // On output the headers of the adjacency are in front.
        let at = match adjacencies.read(p.adjacency(), epoch) {
            Some(a) if DIRECTION == 1 => a.front(),
            _ => 0,
        };
        bytes.get(at..).unwrap_or(&[])
    }
    /// A packet as sessions see it.
    #[inline(always)]
    pub(super) fn seen(
        adjacencies: &SlabReader<Adjacency>,
        p: &Buffer<'_>,
        epoch: Epoch<'_>,
    ) -> Option<Seen<V::Address>> {
        let packet = Self::packet(adjacencies, p, epoch);
        session::look(packet, p.ports(), (Self::interface(p), BRIDGED, DIRECTION))
    }
    #[inline(always)]
    fn known<'e>(&'e self, interface: u32, epoch: Epoch<'e>) -> Known<'e> {
        let applied = self.settings.read(interface, epoch);
        let numbers = applied.map_or(&[][..], |applied| applied.lists[DIRECTION].as_slice());
        let read = |list: &u32| self.lists.read(*list, epoch);
        let first = numbers.first().and_then(read);
        let both = applied.map_or(&[][..], |applied| &applied.lists);
        let is_stateful = both.iter().flatten().filter_map(read).any(|list| list.is_stateful);
        Known { interface, numbers, first, is_stateful }
    }
    /// The first rules about packets.
    #[inline(always)]
    fn find(&self, known: &Known<'_>, tuples: &[V::Tuple], found: &mut [Found], epoch: Epoch<'_>) {
        if let (Some(first), [list, ..]) = (known.first, known.numbers) {
            V::find_all(
                first,
                tuples,
                #[inline(always)]
                |n, Verdict { rule, action }| found[n] = Found { list: *list, rule, action },
            );
        }
        if known.numbers.len() > 1 {
            for (tuple, found) in tuples.iter().zip(found) {
                if found.list == u32::MAX {
                    *found = self.find_behind(known, tuple, epoch);
                }
            }
        }
    }
    #[inline(never)]
    fn find_behind(&self, known: &Known<'_>, tuple: &V::Tuple, epoch: Epoch<'_>) -> Found {
        for list in known.numbers.iter().skip(1) {
            let found = self.lists.read(*list, epoch).and_then(|l| V::find(l, tuple));
            if let Some(Verdict { rule, action }) = found {
                return Found { list: *list, rule, action };
            }
        }
        Found::NOTHING
    }
    /// Counts a packet for the rule about it.
    #[inline(never)]
    fn count(&self, found: &Found, len: usize, at: (usize, Epoch<'_>)) {
        let Some(list) = self.lists.read(found.list, at.1) else { return };
        if list.matches.threads() <= at.0 {
            return;
        }
        if let Some(counter) = list.matches.row(at.0).get(found.rule as usize) {
            counter.add(1, len as u64);
        }
    }
}

/// Counters of a frame.
#[derive(Default)]
pub(super) struct Tally {
    denied: u64,
    full: u64,
    new: u64,
    pub(super) existing: u64,
}

/// State of a frame: what is the same for its packets, and results so far.
pub(super) struct Pass<'e, A: sessions::Address> {
    options: Options,
    thread: usize,
    pub(super) threads: Threads,
    now: f64,
    pub(super) epoch: Epoch<'e>,
    known: Known<'e>,
    pub(super) tally: Tally,
    pub(super) meeting: Option<Meeting<'e, A>>,
}

/// A block of packets.
pub(super) struct Block<T> {
    first: usize,
    tuples: [T; BLOCK],
    interfaces: [u32; BLOCK],
    found: [Found; BLOCK],
    /// A bit for each packet that sessions may know.
    stateful: u64,
    /// A bit for each packet of a session, which has been noted there.
    pub(super) met: u64,
    /// Whether the rules have been asked.
    is_judged: bool,
}

impl<T> Block<T> {
    #[inline(always)]
    pub(super) fn is_stateful(&self, place: usize) -> bool {
        self.stateful >> (place - self.first) & 1 == 1
    }
    #[inline(always)]
    fn is_met(&self, place: usize) -> bool {
        self.met >> (place - self.first) & 1 == 1
    }
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> Node
    for Access<V, BRIDGED, DIRECTION>
{
    const NAME: &'static str = name::<V>(path(BRIDGED), DIRECTION);
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V, BRIDGED, DIRECTION>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = if BRIDGED { "error-drop" } else { V::NODES.drop };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (checked, checks, routed) = (frame.len() as u64, &self.checks, &mut self.routed);
        let nothing = Known { interface: u32::MAX, numbers: &[], first: None, is_stateful: false };
        let mut pass = Pass {
            options: *checks.options.read(frame.epoch()),
            thread: frame.thread(),
            threads: Threads::of(frame),
            now: frame.now(),
            epoch: frame.epoch(),
            known: nothing,
            tally: Tally::default(),
            meeting: None,
        };
        let on = (frame.cpu(), frame.epoch(), frame.thread());
        frame.passes(
            #[inline(always)]
            |packets| {
                if !BRIDGED && DIRECTION == 0 {
                    return routed.follow(
                        packets,
                        on,
                        #[inline(always)]
                        |packets, places, routable| {
                            checks.check(packets, places, &mut pass, Some(routable));
                        },
                    );
                }
                let end = packets.all().end;
                for first in (0..end).step_by(BLOCK) {
                    checks.check(packets, first..(first + BLOCK).min(end), &mut pass, None);
                }
            },
        );
        let Pass { tally, .. } = pass;
        frame.count(Count::Checked, checked);
        frame.count(Count::Permit, checked - tally.denied - tally.full);
        frame.count(Count::NewSession, tally.new);
        frame.count(Count::ExistingSession, tally.existing);
    }
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> Checks<V, BRIDGED, DIRECTION> {
    /// Checks a block of packets.
    #[inline(always)]
    fn check<'e>(
        &'e self,
        packets: &mut Passes<'_, Access<V, BRIDGED, DIRECTION>>,
        places: Range<usize>,
        pass: &mut Pass<'e, V::Address>,
        mut routable: Option<&mut Routable<'_, V>>,
    ) {
        let (epoch, first) = (pass.epoch, places.start);
        let mut block = Block {
            first,
            tuples: [V::Tuple::default(); BLOCK],
            interfaces: [0; BLOCK],
            found: [Found::NOTHING; BLOCK],
            stateful: 0,
            met: 0,
            is_judged: true,
        };
        packets.look(
            places.clone(),
            #[inline(always)]
            |place, p| {
                let tuple = V::read(Self::packet(&self.adjacencies, p, epoch));
                let interface = Self::interface(p);
                if interface != pass.known.interface {
                    pass.known = self.known(interface, epoch);
                }
                (block.tuples[place - first], block.interfaces[place - first]) = (tuple, interface);
                block.stateful |= u64::from(pass.known.is_stateful) << (place - first);
            },
        );
        if block.stateful != 0 && pass.meeting.is_none() {
            pass.meeting = Some(self.meeting(pass.thread, pass.now, &pass.options));
        }
        if block.stateful != 0 {
            self.meet_block(packets, places.clone(), &mut block, pass);
        }
        block.is_judged = places.len() > block.met.count_ones() as usize;
        if block.is_judged {
            self.find_block(&mut block, places.len(), pass);
        }
        let (counts, at) = (pass.options.counts, (pass.thread, epoch));
        packets.usual_along(
            places.clone(),
            #[inline(always)]
            |place, p| {
                let found = &block.found[place - first];
                if !block.is_met(place) {
                    if found.action != Action::Permit || block.is_stateful(place) {
                        return None;
                    }
                    if counts {
                        self.count(found, p.total_len(), at);
                    }
                }
                if let Some(routable) = &mut routable {
                    routable.note(place, p.fib(), <V::Family as Headers>::destination(p));
                }
                Some(())
            },
        );
        packets.others(places, |place, p| self.judge(p, place, &block, pass));
    }
    /// Finds the rules about a block of packets: for those of one interface together.
    #[inline(always)]
    fn find_block<'e>(
        &'e self,
        block: &mut Block<V::Tuple>,
        count: usize,
        pass: &mut Pass<'e, V::Address>,
    ) {
        let mut from = 0;
        while let Some(&interface) = block.interfaces[..count].get(from) {
            let others = block.interfaces[from..count].iter().position(|i| *i != interface);
            let to = others.map_or(count, |len| from + len);
            if interface != pass.known.interface {
                pass.known = self.known(interface, pass.epoch);
            }
            let (tuples, found) = (&block.tuples[from..to], &mut block.found[from..to]);
            self.find(&pass.known, tuples, found, pass.epoch);
            from = to;
        }
    }
    /// Judges a packet that is denied, traced or may belong to a session.
    #[inline(never)]
    fn judge(
        &self,
        p: &mut Packet<'_, Access<V, BRIDGED, DIRECTION>>,
        place: usize,
        block: &Block<V::Tuple>,
        pass: &mut Pass<'_, V::Address>,
    ) -> Result<Next<V, BRIDGED, DIRECTION>, Error> {
        let at = place - block.first;
        let mut found = block.found[at];
        if !block.is_judged {
            let known = self.known(block.interfaces[at], pass.epoch);
            let of = std::slice::from_mut(&mut found);
            self.find(&known, &block.tuples[at..=at], of, pass.epoch);
        }
        let meeting = pass.meeting.as_mut().filter(|_| block.is_stateful(place));
        let met = meeting.map_or(Met::Nothing, |meeting| {
            self.meet(p, &found, meeting, (pass.epoch, &pass.threads))
        });
        p.trace(|_| Checked::of::<V>(block.interfaces[at], found, met, &block.tuples[at]));
        if pass.options.counts && !matches!(met, Met::Existing | Met::Elsewhere) {
            self.count(&found, p.total_len(), (pass.thread, pass.epoch));
        }
        match (met, found.action) {
            (Met::Elsewhere, _) => return Ok(Next::HandOff(PhantomData)),
            (Met::Existing, _) => pass.tally.existing += 1,
            (Met::Full, _) => {
                pass.tally.full += 1;
                return Err(Error::TooManySessions);
            }
            (_, Action::Deny) => {
                pass.tally.denied += 1;
                return Err(Error::Deny);
            }
            (Met::New, _) => pass.tally.new += 1,
            _ => {}
        }
        Ok(Next::Continue)
    }
}

/// Adds the nodes of routed packets.
pub(super) fn add(
    router: &mut Router,
    lists: &Lists,
    settings: &SlabReader<Applied>,
) -> Result<(), BuildError> {
    add_of::<V4, false>(router, lists, settings, [&IP4_UNICAST, &IP4_OUTPUT])?;
    add_of::<V6, false>(router, lists, settings, [&IP6_UNICAST, &IP6_OUTPUT])
}

/// Adds those of bridged frames.
pub(super) fn add_layer2(
    router: &mut Router,
    lists: &Lists,
    settings: &SlabReader<Applied>,
) -> Result<(), BuildError> {
    add_of::<V4, true>(router, lists, settings, [&L2_INPUT_IP4, &L2_OUTPUT_IP4])?;
    add_of::<V6, true>(router, lists, settings, [&L2_INPUT_IP6, &L2_OUTPUT_IP6])
}

fn add_of<V: Reflected, const BRIDGED: bool>(
    router: &mut Router,
    lists: &Lists,
    settings: &SlabReader<Applied>,
    arcs: [&'static FeatureArc; 2],
) -> Result<(), BuildError> {
    let input = Access::<V, BRIDGED, 0>::new(router, lists, settings);
    let output = Access::<V, BRIDGED, 1>::new(router, lists, settings);
    router.engine.add(graph::HandOff(BySession::<V, BRIDGED, 0>::of(&input)))?;
    router.engine.add(graph::HandOff(BySession::<V, BRIDGED, 1>::of(&output)))?;
    router.engine.add_feature(arcs[0], input)?;
    router.engine.add_feature(arcs[1], output)?;
    Ok(())
}
