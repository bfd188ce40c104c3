//! `policer-input`, `policer-output`: what comes in on an interface or goes out of it is policed.

use std::fmt;

use graph::arc::{Along, FeatureArc};
use graph::{Buffer, BuildError, Edge, Frame, Names, Node, Record};
use infra::rcu::SlabReader;

use super::judge::{HandOff, Judge, Moment, Station, Verdict, mark};
use crate::adjacency::Adjacency;
use crate::ip4::{IP4_OUTPUT, IP4_UNICAST};
use crate::ip6::{IP6_OUTPUT, IP6_UNICAST};
use crate::router::Router;

/// What comes in.
#[derive(Clone, Copy)]
pub struct Input;

/// What goes out.
#[derive(Clone, Copy)]
pub struct Output;

/// A station on interfaces.
pub trait OnInterface: Station {
    /// Whether packets have the layer 2 header of their adjacency in front.
    const IS_FRAMED: bool;
    /// The arcs of IPv4 and IPv6.
    const ARCS: [&'static FeatureArc; 2];
}

impl Station for Input {
    const NAME: &'static str = "policer-input";
    const HAND_OFF: &'static str = "policer-input-handoff";
    const DROP: &'static str = "error-drop";
    #[inline(always)]
    fn place(p: &Buffer<'_>) -> u32 {
        p.rx()
    }
}

impl OnInterface for Input {
    const IS_FRAMED: bool = false;
    const ARCS: [&'static FeatureArc; 2] = [&IP4_UNICAST, &IP6_UNICAST];
}

impl Station for Output {
    const NAME: &'static str = "policer-output";
    const HAND_OFF: &'static str = "policer-output-handoff";
    const DROP: &'static str = "error-drop";
    #[inline(always)]
    fn place(p: &Buffer<'_>) -> u32 {
        p.tx()
    }
}

impl OnInterface for Output {
    const IS_FRAMED: bool = true;
    const ARCS: [&'static FeatureArc; 2] = [&IP4_OUTPUT, &IP6_OUTPUT];
}

/// Polices what passes an interface.
#[derive(Clone)]
pub struct Police<S> {
    station: S,
    judge: Judge,
    adjacencies: SlabReader<Adjacency>,
}

/// Edges of [`Police`].
#[derive(Clone, Copy)]
pub enum Next<S> {
    /// Another thread decides.
    HandOff(S),
    /// Along the arc of IPv4 (0) or IPv6 (1).
    On(usize),
}

/// Drops of [`Police`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Packets Dropped.
    #[name("Packets Dropped")]
    Dropped,
}

/// What [`Police`] counts besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets Transmitted.
    #[name("Packets Transmitted")]
    Transmitted,
}

impl<S: OnInterface> graph::Next for Next<S> {
    const EDGES: &'static [Edge] = &[Edge { to: S::HAND_OFF, payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff(_) => 0,
            Self::On(version) => along.next_on(S::ARCS[version], p),
        }
    }
}

impl<S: OnInterface> Node for Police<S> {
    const NAME: &'static str = S::NAME;
    type Next = Next<S>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let mut passed = 0;
        frame.each(|p| {
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if S::IS_FRAMED => a.header_len.into(),
                _ => 0,
            };
            let policer = self.judge.policer::<S>(p, epoch);
            let verdict = self.judge.judge(policer, p, &at);
            p.trace(|p| Policed { interface: S::place(p), policer, verdict });
            match verdict {
                Verdict::Elsewhere => return Ok(Next::HandOff(self.station)),
                Verdict::Drop => return Err(Error::Dropped),
                Verdict::Pass(Some(dscp)) => mark(p, l3, dscp),
                Verdict::Pass(None) => (),
            }
            passed += 1;
            let is_ip6 = p.bytes().get(l3).is_some_and(|b| b >> 4 == 6);
            Ok(Next::On(usize::from(is_ip6)))
        });
        frame.count(Count::Transmitted, passed);
    }
}

/// What a policing node says of a traced packet.
pub(super) struct Policed {
    pub interface: u32,
    pub policer: u32,
    pub verdict: Verdict,
}

impl Record for Policed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, policer, verdict } = self;
        write!(f, "  VNET_POLICER: sw_if_index {interface} policer_index {policer} next ")?;
        match verdict {
            Verdict::Pass(None) => f.write_str("transmit"),
            Verdict::Pass(Some(dscp)) => write!(f, "mark-and-transmit {dscp}"),
            Verdict::Drop => f.write_str("drop"),
            Verdict::Elsewhere => f.write_str("handoff"),
        }
    }
}

/// Adds the nodes of a station.
pub(super) fn add<S: OnInterface>(
    router: &mut Router,
    station: S,
    judge: &Judge,
) -> Result<(), BuildError> {
    let (judge, adjacencies) = (judge.clone(), router.adjacencies.reader());
    router.engine.add(HandOff { station, judge: judge.clone() })?;
    router.engine.add_feature(S::ARCS[0], Police { station, judge, adjacencies })?;
    router.engine.place(S::ARCS[1], S::NAME)
}
