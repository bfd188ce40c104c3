//! `ip4-policer-classify`, `ip6-policer-classify`, `l2-policer-classify`: received packets that a
//! session of the classifier names a policer for are policed by it.

use std::fmt;
use std::marker::PhantomData;

use classify::{Headers, Hit, Match, NAMES, NONE, Table, Tables, Use};
use graph::arc::{Along, FeatureArc};
use graph::{Buffer, BuildError, Edge, Flags, Frame, Names, Node, Record};
use infra::meter::Color;
use infra::rcu::{Epoch, SlabReader};
use net::Router;
use net::ethernet::L2_INPUT;
use net::interface::AttachedAt;
use net::ip::{V4, V6};
use net::ip4::IP4_UNICAST;
use net::ip6::IP6_UNICAST;

use super::judge::{Judge, Moment, Verdict, behind_ethernet, mark, set_color};

/// Bridged and cross-connected frames.
#[derive(Clone, Copy)]
pub struct Layer2;

/// A kind of packets that tables choose policers for.
pub trait Kind: Copy + Send + Sync + 'static {
    /// Its place among those of an interface's tables.
    const KIND: usize;
    /// Arc of its node.
    const ARC: &'static FeatureArc;
    /// The node that hands packets to the thread of their policer.
    const HANDOFF: &'static str;
    /// Offset of the IP header from a packet's start; `None` where there is none.
    fn l3(p: &Buffer<'_>) -> Option<usize>;
}

impl Kind for V4 {
    const KIND: usize = 0;
    const ARC: &'static FeatureArc = &IP4_UNICAST;
    const HANDOFF: &'static str = "ip4-policer-classify-handoff";
    fn l3(_: &Buffer<'_>) -> Option<usize> {
        Some(0)
    }
}

impl Kind for V6 {
    const KIND: usize = 1;
    const ARC: &'static FeatureArc = &IP6_UNICAST;
    const HANDOFF: &'static str = "ip6-policer-classify-handoff";
    fn l3(_: &Buffer<'_>) -> Option<usize> {
        Some(0)
    }
}

impl Kind for Layer2 {
    const KIND: usize = 2;
    const ARC: &'static FeatureArc = &L2_INPUT;
    const HANDOFF: &'static str = "l2-policer-classify-handoff";
    fn l3(p: &Buffer<'_>) -> Option<usize> {
        behind_ethernet(p)
    }
}

/// Finds the policer of a packet.
#[derive(Clone)]
struct Sorter<K> {
    kind: PhantomData<K>,
    judge: Judge,
    tables: SlabReader<Table>,
    interfaces: SlabReader<Tables>,
}

impl<K: Kind> Sorter<K> {
    #[inline(always)]
    fn sort<'e>(&'e self, p: &Buffer<'_>, epoch: Epoch<'e>) -> Match<'e> {
        let first = self.interfaces.read(p.rx(), epoch);
        let first = first.map_or(NONE, |tables| tables.0[Use::Police as usize][K::KIND]);
        let current = p.offset();
        let is_framed = K::KIND != Layer2::KIND && p.flags().has(Flags::L2);
        let l2 = if is_framed { p.l2_offset() } else { current };
        classify::seek(&self.tables, first, epoch, |table| table.bytes(p, Headers { l2, current }))
    }
}

/// Polices packets that have a session.
#[derive(Clone)]
pub struct Sorted<K>(Sorter<K>);

/// Drops of [`Sorted`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Policer classify action drop.
    #[name("Policer classify action drop")]
    Dropped,
}

/// Counters of [`Sorted`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Policer classify misses.
    #[name("Policer classify misses")]
    Misses,
    /// Policer classify hits.
    #[name("Policer classify hits")]
    Hits,
    /// Policer classify hits after chain walk.
    #[name("Policer classify hits after chain walk")]
    Walked,
}

/// Edges of [`Sorted`].
#[derive(Clone, Copy)]
pub enum Next<K> {
    /// Another thread decides.
    HandOff(PhantomData<K>),
    /// On along the features.
    On,
}

impl<K: Kind> graph::Next for Next<K> {
    const EDGES: &'static [Edge] = &[Edge { to: K::HANDOFF, payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff(_) => 0,
            Self::On => along.next(p),
        }
    }
}

/// The colour that a session says a packet has.
#[inline(always)]
fn color_of(opaque: u32) -> Option<Color> {
    match opaque {
        0 => Some(Color::Green),
        1 => Some(Color::Yellow),
        2 => Some(Color::Red),
        _ => None,
    }
}

impl<K: Kind> Node for Sorted<K> {
    const NAME: &'static str = NAMES[Use::Police as usize][K::KIND];
    type Next = Next<K>;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let counted = classify::Moment { thread: frame.thread(), now: frame.now(), epoch };
        let (mut misses, mut hits, mut walked) = (0, 0, 0);
        let Self(sorter) = self;
        frame.each(
            #[inline(always)]
            |p| {
                let interface = p.rx();
                let hit: Hit<'_> = match sorter.sort(p, epoch) {
                    Match::Hit(hit) => hit,
                    Match::Miss(table, _) => {
                        misses += 1;
                        p.trace(|_| Met { interface, table, policer: NONE, verdict: None });
                        return Ok(Next::On);
                    }
                    Match::Nothing => return Ok(Next::On),
                };
                let (session, table) = (hit.session, hit.table);
                if let Some(color) = color_of(session.opaque) {
                    set_color(p, color);
                }
                let policer = session.hit_next;
                let verdict = sorter.judge.judge(Some(policer), p, &at);
                p.trace(|_| Met { interface, table, policer, verdict: Some(verdict) });
                if verdict == Verdict::Elsewhere {
                    return Ok(Next::HandOff(PhantomData));
                }
                hit.count(&counted);
                hits += 1;
                walked += u64::from(hit.is_walked);
                match verdict {
                    Verdict::Drop => return Err(Error::Dropped),
                    Verdict::Pass(Some(dscp)) => {
                        let l3 = K::l3(p);
                        l3.into_iter().for_each(|l3| mark(p, l3, dscp));
                    }
                    _ => (),
                }
                Ok(Next::On)
            },
        );
        frame.count(Count::Misses, misses);
        frame.count(Count::Hits, hits);
        frame.count(Count::Walked, walked);
    }
}

/// Hands packets to the thread that their policer belongs to.
#[derive(Clone)]
pub struct HandOff<K>(Sorter<K>);

/// Edges of [`HandOff`].
#[derive(Clone, Copy)]
pub struct Back<K>(PhantomData<K>);

impl<K: Kind> graph::Next for Back<K> {
    const EDGES: &'static [Edge] =
        &[Edge { to: NAMES[Use::Police as usize][K::KIND], payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

impl<K: Kind> Node for HandOff<K> {
    const NAME: &'static str = K::HANDOFF;
    type Next = Back<K>;
    type Error = super::judge::Error;
    type Count = std::convert::Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let Self(sorter) = self;
        frame.hand_off(super::judge::Error::Congestion, |p| {
            let policer = match sorter.sort(p, epoch) {
                Match::Hit(hit) => Some(hit.session.hit_next),
                _ => None,
            };
            Ok((sorter.judge.thread(policer, &at), Back(PhantomData)))
        });
    }
}

/// The trace record of the nodes.
struct Met {
    interface: u32,
    table: u32,
    policer: u32,
    verdict: Option<Verdict>,
}

impl Record for Met {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, table, policer, verdict } = self;
        write!(f, "  POLICER_CLASSIFY: sw_if_index {interface} table {table} ")?;
        match verdict {
            None => f.write_str("miss"),
            Some(verdict) => write!(f, "policer_index {policer} next {verdict}"),
        }
    }
}

fn add<K: Kind>(
    router: &mut Router,
    judge: &Judge,
    interfaces: &SlabReader<Tables>,
) -> Result<(), BuildError> {
    let sorter = Sorter::<K> {
        kind: PhantomData,
        judge: judge.clone(),
        tables: classify::reader(router),
        interfaces: interfaces.clone(),
    };
    router.engine.add(HandOff(sorter.clone()))?;
    router.engine.add_feature(K::ARC, Sorted(sorter))?;
    Ok(())
}

/// Adds the nodes and says when they act.
pub(super) fn register(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    let interfaces = classify::interfaces(router);
    add::<V4>(router, judge, &interfaces)?;
    add::<V6>(router, judge, &interfaces)?;
    let [ip4, ip6, layer2] = NAMES[Use::Police as usize];
    const POLICE: usize = Use::Police as usize;
    router.attach_at::<Tables, 2>([
        AttachedAt { arc: V4::ARC, node: ip4, is_on: Tables::is_on::<POLICE, 0> },
        AttachedAt { arc: V6::ARC, node: ip6, is_on: Tables::is_on::<POLICE, 1> },
    ]);
    if super::node::has_layer_2(router) {
        add::<Layer2>(router, judge, &interfaces)?;
        router.attach_at::<Tables, 1>([AttachedAt {
            arc: Layer2::ARC,
            node: layer2,
            is_on: Tables::is_on::<POLICE, 2>,
        }]);
    }
    classify::name_policers(router, super::named);
    Ok(())
}
