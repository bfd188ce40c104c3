//! `ip4-policer-classify`, `ip6-policer-classify`, `l2-policer-classify`: received packets that a
//! session of the classifier names a policer for are policed by it.

use std::fmt;

use classify::{Headers, Match, Moment, NAMES, NONE, Table, Tables, Use};
use graph::arc::FeatureArc;
use graph::{Buffer, BuildError, Flags, Frame, HandOff, Names, Node, Record};
use infra::meter::Color;
use infra::rcu::{Epoch, SlabReader};
use net::Router;
use net::ethernet::L2_INPUT;
use net::interface::AttachedAt;
use net::ip4::IP4_UNICAST;
use net::ip6::IP6_UNICAST;

use super::Action;
use super::judge::{Judge, Polices, ToOwner, behind_ethernet, mark, set_color, shown};

/// Arcs of the nodes, by kind: IPv4, IPv6, frames.
const ARCS: [&FeatureArc; 3] = [&IP4_UNICAST, &IP6_UNICAST, &L2_INPUT];
/// The nodes that hand packets to the thread of their policer, by kind.
const HANDOFFS: [&str; 3] =
    ["ip4-policer-classify-handoff", "ip6-policer-classify-handoff", "l2-policer-classify-handoff"];
/// The kind that is no version of IP.
const LAYER2: usize = 2;
/// The use of the tables.
const POLICE: usize = Use::Police as usize;

/// Polices packets that have a session.
#[derive(Clone)]
pub struct Sorted<const KIND: usize> {
    judge: Judge,
    tables: SlabReader<Table>,
    interfaces: SlabReader<Tables>,
}

impl<const KIND: usize> Sorted<KIND> {
    #[inline(always)]
    fn sort<'e>(&'e self, p: &Buffer<'_>, epoch: Epoch<'e>) -> Match<'e> {
        let first = self.interfaces.read(p.rx(), epoch);
        let first = first.map_or(NONE, |tables| tables.0[POLICE][KIND]);
        let current = p.offset();
        let is_framed = KIND != LAYER2 && p.flags().has(Flags::L2);
        let l2 = if is_framed { p.l2_offset() } else { current };
        classify::seek(&self.tables, first, epoch, |table| table.bytes(p, Headers { l2, current }))
    }
}

impl<const KIND: usize> Polices for Sorted<KIND> {
    const NAMES: [&'static str; 2] = [NAMES[POLICE][KIND], HANDOFFS[KIND]];
    fn policer(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32> {
        match self.sort(p, epoch) {
            Match::Hit(hit) => Some(hit.session.hit_next),
            _ => None,
        }
    }
    fn judge(&self) -> &Judge {
        &self.judge
    }
}

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
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const KIND: usize> {
    /// Another thread decides.
    #[to(HANDOFFS[KIND])]
    HandOff,
    /// On along the features.
    #[along]
    On,
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

impl<const KIND: usize> Node for Sorted<KIND> {
    const NAME: &'static str = <Self as Polices>::NAMES[0];
    type Next = Next<KIND>;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let (mut misses, mut hits, mut walked) = (0, 0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let interface = p.rx();
                let hit = match self.sort(p, epoch) {
                    Match::Hit(hit) => hit,
                    Match::Miss(table, _) => {
                        misses += 1;
                        p.trace(|_| Met { interface, table, policer: None, action: None });
                        return Ok(Next::On);
                    }
                    Match::Nothing => return Ok(Next::On),
                };
                let (session, table) = (hit.session, hit.table);
                if let Some(color) = color_of(session.opaque) {
                    set_color(p, color);
                }
                let policer = session.hit_next;
                let action = self.judge.judge(Some(policer), p, &at);
                p.trace(|_| Met { interface, table, policer: Some(policer), action });
                let Some(action) = action else { return Ok(Next::HandOff) };
                hit.count(&at);
                hits += 1;
                walked += u64::from(hit.is_walked);
                match action {
                    Action::Drop => return Err(Error::Dropped),
                    Action::Mark(dscp) if KIND == LAYER2 => {
                        behind_ethernet(p).into_iter().for_each(|l3| mark(p, l3, dscp));
                    }
                    Action::Mark(dscp) => mark(p, 0, dscp),
                    Action::Transmit => (),
                }
                Ok(Next::On)
            },
        );
        frame.count(Count::Misses, misses);
        frame.count(Count::Hits, hits);
        frame.count(Count::Walked, walked);
    }
}

/// The trace record of the nodes.
struct Met {
    interface: u32,
    table: u32,
    /// `None` where no session was found.
    policer: Option<u32>,
    action: Option<Action>,
}

impl Record for Met {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, table, policer, action } = self;
        write!(f, "  POLICER_CLASSIFY: sw_if_index {interface} table {table} ")?;
        match policer {
            None => f.write_str("miss"),
            Some(policer) => write!(f, "policer_index {policer} next {}", shown(*action)),
        }
    }
}

fn add<const KIND: usize>(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    let (judge, tables) = (judge.clone(), classify::reader(router));
    let node = Sorted::<KIND> { judge, tables, interfaces: classify::interfaces(router) };
    router.engine.add(HandOff(ToOwner(node.clone())))?;
    router.engine.add_feature(ARCS[KIND], node)?;
    router.attach_at::<Tables, 1>([AttachedAt {
        arc: ARCS[KIND],
        node: NAMES[POLICE][KIND],
        is_on: Tables::is_on::<POLICE, KIND>,
    }]);
    Ok(())
}

/// Adds the nodes and says when they act.
pub(super) fn register(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    add::<0>(router, judge)?;
    add::<1>(router, judge)?;
    if super::node::has_layer_2(router) {
        add::<LAYER2>(router, judge)?;
    }
    classify::name_policers(router, super::named);
    Ok(())
}
