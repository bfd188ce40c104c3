//! `ip4-punt-policer`, `ip6-punt-policer`: what is punted is policed.

use std::convert::Infallible;

use graph::arc::{Along, FeatureArc};
use graph::{Buffer, BuildError, Edge, Frame, Node};

use super::judge::{HandOff, Judge, Moment, Station, Verdict, mark};
use super::node::Policed;
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6, Version};
use crate::router::Router;

/// What is punted of a version.
#[derive(Clone, Copy)]
pub struct Punted<V>(V);

/// A version whose punted packets may be policed.
pub trait PuntPolicing: Version {
    /// Names of the node and of the one that hands over.
    const NAMES: [&'static str; 2];
}

impl PuntPolicing for V4 {
    const NAMES: [&'static str; 2] = ["ip4-punt-policer", "ip4-punt-policer-handoff"];
}

impl PuntPolicing for V6 {
    const NAMES: [&'static str; 2] = ["ip6-punt-policer", "ip6-punt-policer-handoff"];
}

impl<V: PuntPolicing> Station for Punted<V> {
    const NAME: &'static str = V::NAMES[0];
    const HAND_OFF: &'static str = V::NAMES[1];
    const DROP: &'static str = V::NODES.drop;
    #[inline(always)]
    fn place(_: &Buffer<'_>) -> u32 {
        0
    }
}

/// Polices what is punted.
#[derive(Clone)]
pub struct PolicePunted<V> {
    station: Punted<V>,
    judge: Judge,
}

/// Edges of [`PolicePunted`].
#[derive(Clone, Copy)]
pub enum Next<V> {
    /// Another thread decides.
    HandOff(V),
    /// Along the arc.
    On,
}

/// Drops of [`PolicePunted`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ip punt policer drop.
    #[name("ip punt policer drop")]
    Dropped,
}

impl<V: PuntPolicing> graph::Next for Next<V> {
    const EDGES: &'static [Edge] = &[Edge { to: V::NAMES[1], payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff(_) => 0,
            Self::On => along.next(p),
        }
    }
}

impl<V: PuntPolicing> Node for PolicePunted<V> {
    const NAME: &'static str = V::NAMES[0];
    type Next = Next<V>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        frame.each(|p| {
            let policer = self.judge.policer::<Punted<V>>(p, epoch);
            let verdict = self.judge.judge(policer, p, &at);
            p.trace(|p| Policed { interface: p.rx(), policer, verdict });
            match verdict {
                Verdict::Elsewhere => return Ok(Next::HandOff(self.station.0)),
                Verdict::Drop => return Err(Error::Dropped),
                Verdict::Pass(Some(dscp)) => mark(p, 0, dscp),
                Verdict::Pass(None) => (),
            }
            Ok(Next::On)
        });
    }
}

/// Adds the nodes of a version.
pub(super) fn add<V: PuntPolicing>(router: &mut Router, judge: Judge) -> Result<(), BuildError> {
    let station = Punted(V::SELF);
    router.engine.add(HandOff { station, judge: judge.clone() })?;
    router.engine.add_feature(V::PUNT_ARC, PolicePunted { station, judge })?;
    Ok(())
}

/// Switches the feature on all interfaces.
pub(super) fn switch<V: PuntPolicing>(router: &mut Router, on: bool) {
    router.set_feature_everywhere(V::PUNT_ARC, V::NAMES[0], on);
}

/// Switches the features in use on an interface that comes or goes.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, comes: bool) {
    let places: [(&FeatureArc, _); 2] =
        [(V4::PUNT_ARC, V4::NAMES[0]), (V6::PUNT_ARC, V6::NAMES[0])];
    for (is_ip6, (arc, node)) in [false, true].into_iter().zip(places) {
        if router.punt_policer(is_ip6).is_some() {
            let done = router.engine.set_feature(arc, node, interface.0, comes);
            done.expect("the node is on the arc since the feature registered");
        }
    }
}
