//! `policer-input`, `policer-output`: received and sent packets of an interface are policed;
//! `l2-policer-input`, `l2-policer-output`: the frames of one that is bridged or cross-connected;
//! `ip4-punt-policer`, `ip6-punt-policer`: punted ones; `ip4-policer-classify`,
//! `ip6-policer-classify`, `l2-policer-classify`: received ones that a session of the classifier
//! names a policer for.

use classify::{Match, Moment, Tables};
use graph::arc::Along;
use graph::{Edge, HandOff, HandsOff};
use infra::meter::Color;
use net::adjacency::Adjacency;
use net::ethernet::{L2_INPUT, bridged_header};
use net::prelude::*;
use wire::ip;

use super::judge::{Judge, set_color};
use super::station::{Found, Front, OfInterface, POLICE, Punted, Sorted, Station};
use super::{Action, Applied};

/// Polices packets.
#[derive(Clone)]
pub struct Police<S> {
    station: PhantomData<S>,
    judge: Judge,
}

/// Edges of [`Police`].
#[derive(Clone, Copy)]
pub enum Next<S> {
    /// Another thread decides.
    HandOff(PhantomData<S>),
    /// Along the arc of IPv4 (0) or IPv6 (1).
    On(usize),
}

impl<S: Station> graph::Next for Next<S> {
    const EDGES: &'static [Edge] = &[Edge { to: S::NAMES[1], payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff(_) => 0,
            Self::On(version) => along.next_on(S::ARCS[version], p),
        }
    }
}

impl<S: Station> Node for Police<S> {
    const NAME: &'static str = S::NAMES[0];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<S>;
    type Error = S::Error;
    type Count = S::Count;
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (judge, at, epoch) = (&self.judge, Moment::of(frame), frame.epoch());
        let is_explained = frame.is_explained();
        let (mut passed, mut misses, mut hits, mut walked) = (0, 0, 0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let interface = if S::IS_OUTPUT { p.tx() } else { p.rx() };
                let (policer, hit) = match S::find(judge, p, epoch) {
                    Found::Here(policer) => (policer, None),
                    Found::Session(Match::Hit(hit)) => (Some(hit.session.hit_next), Some(hit)),
                    Found::Session(Match::Miss(table, _)) => {
                        misses += 1;
                        p.trace(|_| Policed { interface, table: Some(table), said: None });
                        return Ok(Next::On(0));
                    }
                    Found::Session(Match::Nothing) => return Ok(Next::On(0)),
                };
                let said = hit.as_ref().map_or(u32::MAX, |hit| hit.session.opaque);
                if let Some(color) = Color::ALL.get(said as usize) {
                    set_color(p, *color);
                }
                let bytes = p.total_len() + beside::<S>(judge, p, epoch);
                let action = judge.judge(policer, (&mut *p, bytes), &at, is_explained);
                p.trace(|_| {
                    let said = Some((policer.unwrap_or(u32::MAX), action));
                    Policed { interface, table: hit.as_ref().map(|hit| hit.table), said }
                });
                let Some(action) = action else { return Ok(Next::HandOff(PhantomData)) };
                if let Some(hit) = hit {
                    hit.count(&at);
                    hits += 1;
                    walked += u64::from(hit.is_walked);
                }
                if action == Action::Drop {
                    return Err(S::DROPPED);
                }
                passed += 1;
                let l3 = match S::FRONT {
                    Front::Nothing | Front::Received => Some(0),
                    Front::Adjacency => {
                        let adjacency = judge.adjacencies.read(p.adjacency(), epoch);
                        Some(adjacency.map_or(0, Adjacency::front))
                    }
                    Front::Frame => bridged_header(p).and_then(|(len, kind)| {
                        (kind == EtherType::IP4 || kind == EtherType::IP6).then_some(len)
                    }),
                };
                let rest = l3.and_then(|l3| p.bytes_mut().get_mut(l3..));
                let rest = rest.unwrap_or_default();
                if let (Action::Mark(dscp), Some(before)) = (action, ip::traffic_class(rest)) {
                    ip::set_traffic_class(rest, dscp.get() << 2 | before & 3);
                }
                Ok(Next::On(usize::from(rest.first().is_some_and(|b| b >> 4 == 6))))
            },
        );
        let packets = [passed, misses, hits, walked];
        S::COUNTS.into_iter().zip(packets).for_each(|(count, packets)| {
            count.into_iter().for_each(|count| frame.count(count, packets));
        });
    }
}

/// Bytes of a frame that count beside its packet: the header it was received with, or its tags.
#[inline(always)]
fn beside<S: Station>(judge: &Judge, p: &Buffer<'_>, epoch: Epoch<'_>) -> usize {
    let is_framed = p.flags().has(Flags::L2.with(Flags::L3)) && p.l3_offset() == p.offset();
    match S::FRONT {
        Front::Received if is_framed => (p.offset() - p.l2_offset()).max(0) as usize,
        Front::Adjacency => judge.ports.read(p.tx(), epoch).map_or(0, |port| port.tags.size()),
        _ => 0,
    }
}

/// Trace record of [`Police`].
struct Policed {
    interface: u32,
    /// The table of the classifier that was asked last, if one was.
    table: Option<u32>,
    /// A policer and what it says, where one is in charge; no action is that of another thread.
    said: Option<(u32, Option<Action>)>,
}

impl Record for Policed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interface = self.interface;
        match self.table {
            Some(table) => write!(f, "  POLICER_CLASSIFY: sw_if_index {interface} table {table} ")?,
            None => write!(f, "  VNET_POLICER: sw_if_index {interface} ")?,
        }
        match self.said {
            None => f.write_str("miss"),
            Some((policer, None)) => write!(f, "policer_index {policer} next handoff"),
            Some((policer, Some(action))) => write!(f, "policer_index {policer} next {action}"),
        }
    }
}

impl<S: Station> HandsOff for Police<S> {
    const NAME: &'static str = S::NAMES[1];
    const TO: &'static str = S::NAMES[0];
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, S, On> {
        let (at, judge) = (Moment::of(frame), &self.judge);
        move |p| {
            let policer = match S::find(judge, p, at.epoch) {
                Found::Here(policer) => policer,
                Found::Session(Match::Hit(hit)) => Some(hit.session.hit_next),
                Found::Session(_) => None,
            };
            let policer = policer.and_then(|policer| judge.policers.read(policer, at.epoch));
            policer.map_or(at.thread, |policer| judge.owner(policer, &at))
        }
    }
}

/// Adds the nodes of a station.
fn add<S: Station>(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    let node = Police::<S> { station: PhantomData, judge: judge.clone() };
    router.engine.add(HandOff(node.clone()))?;
    let [first, second] = S::ARCS;
    router.engine.add_feature(first, node)?;
    if std::ptr::eq(first, second) { Ok(()) } else { router.engine.place(second, S::NAMES[0]) }
}

/// Adds the nodes of a station of interfaces, switched by their setting.
fn add_to_interfaces<const PLACE: usize>(
    router: &mut Router,
    judge: &Judge,
) -> Result<(), BuildError> {
    add::<OfInterface<PLACE>>(router, judge)?;
    let (node, is_on) = (OfInterface::<PLACE>::NAMES[0], |a: &Applied| a.0[PLACE % 2].is_some());
    router.attach_at(OfInterface::<PLACE>::ARCS.map(|arc| AttachedAt { arc, node, is_on }));
    Ok(())
}

/// Adds the nodes for packets that have a session, switched by the tables of an interface.
fn add_sorted<const KIND: usize>(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    add::<Sorted<KIND>>(router, judge)?;
    let ([arc, _], [node, _]) = (Sorted::<KIND>::ARCS, Sorted::<KIND>::NAMES);
    router.attach_at([AttachedAt { arc, node, is_on: Tables::is_on::<POLICE, KIND> }]);
    Ok(())
}

/// Adds the nodes.
pub(super) fn register(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    add_to_interfaces::<0>(router, judge)?;
    add_to_interfaces::<1>(router, judge)?;
    add::<Punted<V4>>(router, judge)?;
    add::<Punted<V6>>(router, judge)?;
    add_sorted::<0>(router, judge)?;
    add_sorted::<1>(router, judge)?;
    // Without bridges there are no frames.
    if router.engine.index_of(L2_INPUT.starts[0]).is_some() {
        add_to_interfaces::<2>(router, judge)?;
        add_to_interfaces::<3>(router, judge)?;
        add_sorted::<2>(router, judge)?;
    }
    Ok(())
}
