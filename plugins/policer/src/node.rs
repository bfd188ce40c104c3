//! `policer-input`, `policer-output`: received and sent packets of an interface are policed;
//! `l2-policer-input`, `l2-policer-output`: the frames of one that is bridged or cross-connected;
//! `ip4-punt-policer`, `ip6-punt-policer`: punted ones.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use classify::Moment;
use graph::arc::{Along, FeatureArc};
use graph::{Buffer, BuildError, Count, Edge, Frame, HandOff, Names, Node, Reason, Record};
use infra::rcu::{Epoch, SlabReader};
use net::Router;
use net::adjacency::Adjacency;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::interface::AttachedAt;
use net::ip::{V4, V6, Version};
use net::ip4::{IP4_OUTPUT, IP4_UNICAST};
use net::ip6::{IP6_OUTPUT, IP6_UNICAST};

use super::judge::{Judge, Polices, ToOwner, behind_ethernet, mark, shown};
use super::{Action, Applied};

/// A place where packets are policed.
pub trait Station: Copy + Send + Sync + 'static {
    /// The node that polices, and the one that hands packets to the policer's thread.
    const NAMES: [&'static str; 2];
    /// The arcs of IPv4 and IPv6; twice the same where there is one.
    const ARCS: [&'static FeatureArc; 2];
    /// The drop node.
    const DROP: &'static str = "error-drop";
    /// The header in front of that of IP.
    const FRONT: Front = Front::Nothing;
    /// Whether packets are sent ones.
    const IS_OUTPUT: bool = false;
    /// Drops.
    type Error: Reason;
    /// Counters besides drops.
    type Count: Count;
    /// Beyond the rate.
    const DROPPED: Self::Error;
    /// Within the rate.
    const PASSED: Option<Self::Count>;
    /// The policer of a packet.
    fn policer(judge: &Judge, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32>;
}

/// The header in front of a packet's IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// None.
    Nothing,
    /// That of the packet's adjacency.
    Adjacency,
    /// That of a frame as it was received.
    Frame,
}

/// Received packets.
#[derive(Clone, Copy)]
pub struct Input;

/// Sent packets.
#[derive(Clone, Copy)]
pub struct Output;

/// Received frames of layer 2.
#[derive(Clone, Copy)]
pub struct FrameInput;

/// Sent frames of layer 2.
#[derive(Clone, Copy)]
pub struct FrameOutput;

/// Punted packets of a version.
#[derive(Clone, Copy)]
pub struct Punted<V>(PhantomData<V>);

/// Drops of [`Police`] on interfaces.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Packets Dropped.
    #[name("Packets Dropped")]
    Dropped,
}

/// Counters of [`Police`] on interfaces besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Passed {
    /// Packets Transmitted.
    #[name("Packets Transmitted")]
    Transmitted,
}

/// Drops of [`Police`] for punted packets.
#[derive(Clone, Copy, graph::Reason)]
pub enum PuntError {
    /// ip punt policer drop.
    #[name("ip punt policer drop")]
    Dropped,
}

macro_rules! on_interfaces {
    ($($station:ident: $node:literal $handoff:literal $arcs:expr,
        $front:ident $is_out:literal;)*) => {$(
        impl Station for $station {
            const NAMES: [&'static str; 2] = [$node, $handoff];
            const ARCS: [&'static FeatureArc; 2] = $arcs;
            const FRONT: Front = Front::$front;
            const IS_OUTPUT: bool = $is_out;
            type Error = Error;
            type Count = Passed;
            const DROPPED: Error = Error::Dropped;
            const PASSED: Option<Passed> = Some(Passed::Transmitted);
            #[inline(always)]
            fn policer(judge: &Judge, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32> {
                let interface = if $is_out { p.tx() } else { p.rx() };
                judge.applied.read(interface, epoch)?.0[usize::from($is_out)]
            }
        }
    )*};
}

on_interfaces! {
    Input: "policer-input" "policer-input-handoff" [&IP4_UNICAST, &IP6_UNICAST], Nothing false;
    Output: "policer-output" "policer-output-handoff" [&IP4_OUTPUT, &IP6_OUTPUT], Adjacency true;
    FrameInput: "l2-policer-input" "l2-policer-input-handoff" [&L2_INPUT; 2], Frame false;
    FrameOutput: "l2-policer-output" "l2-policer-output-handoff" [&L2_OUTPUT; 2], Frame true;
}

/// The arcs and nodes for punted packets of IPv4 and IPv6.
pub(super) const PUNTS: [(&FeatureArc, &str); 2] =
    [(V4::PUNT_ARC, "ip4-punt-policer"), (V6::PUNT_ARC, "ip6-punt-policer")];

impl<V: Version> Station for Punted<V> {
    const NAMES: [&'static str; 2] =
        [PUNTS[V::INDEX].1, ["ip4-punt-policer-handoff", "ip6-punt-policer-handoff"][V::INDEX]];
    const ARCS: [&'static FeatureArc; 2] = [V::PUNT_ARC; 2];
    const DROP: &'static str = V::NODES.drop;
    type Error = PuntError;
    type Count = Infallible;
    const DROPPED: PuntError = PuntError::Dropped;
    const PASSED: Option<Infallible> = None;
    #[inline(always)]
    fn policer(judge: &Judge, _: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32> {
        judge.punts.read(epoch)[V::INDEX]
    }
}

/// Polices packets.
#[derive(Clone)]
pub struct Police<S> {
    station: PhantomData<S>,
    judge: Judge,
    adjacencies: SlabReader<Adjacency>,
}

impl<S: Station> Polices for Police<S> {
    const NAMES: [&'static str; 2] = S::NAMES;
    const DROP: &'static str = S::DROP;
    fn policer(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32> {
        S::policer(&self.judge, p, epoch)
    }
    fn judge(&self) -> &Judge {
        &self.judge
    }
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
    type Next = Next<S>;
    type Error = S::Error;
    type Count = S::Count;
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let mut passed = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let policer = S::policer(&self.judge, p, epoch);
                let action = self.judge.judge(policer, p, &at);
                let interface = if S::IS_OUTPUT { p.tx() } else { p.rx() };
                p.trace(|_| Policed { interface, policer: policer.unwrap_or(u32::MAX), action });
                match action {
                    None => return Ok(Next::HandOff(PhantomData)),
                    Some(Action::Drop) => return Err(S::DROPPED),
                    Some(_) => passed += 1,
                }
                let l3 = match S::FRONT {
                    Front::Nothing => Some(0),
                    Front::Adjacency => {
                        let adjacency = self.adjacencies.read(p.adjacency(), epoch);
                        Some(adjacency.map_or(0, |a| a.header_len.into()))
                    }
                    Front::Frame => behind_ethernet(p),
                };
                if let (Some(Action::Mark(dscp)), Some(l3)) = (action, l3) {
                    mark(p, l3, dscp);
                }
                let is_ip6 = l3.and_then(|l3| p.bytes().get(l3)).is_some_and(|b| b >> 4 == 6);
                Ok(Next::On(usize::from(is_ip6)))
            },
        );
        if let Some(count) = S::PASSED {
            frame.count(count, passed);
        }
    }
}

/// Trace record of the nodes.
struct Policed {
    interface: u32,
    policer: u32,
    action: Option<Action>,
}

impl Record for Policed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self { interface, policer, .. }, next) = (self, shown(self.action));
        write!(f, "  VNET_POLICER: sw_if_index {interface} policer_index {policer} next {next}")
    }
}

/// Whether there is a bridge.
pub(super) fn has_layer_2(router: &Router) -> bool {
    router.engine.index_of(L2_INPUT.starts[0]).is_some()
}

/// Adds the nodes of a station.
fn add<S: Station>(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    let (judge, adjacencies) = (judge.clone(), router.adjacencies.reader());
    let node = Police::<S> { station: PhantomData, judge, adjacencies };
    router.engine.add(HandOff(ToOwner(node.clone())))?;
    let [first, second] = S::ARCS;
    router.engine.add_feature(first, node)?;
    if std::ptr::eq(first, second) { Ok(()) } else { router.engine.place(second, S::NAMES[0]) }
}

/// Adds the nodes, and switches those of interfaces by their setting.
pub(super) fn register(router: &mut Router, judge: &Judge) -> Result<(), BuildError> {
    add::<Input>(router, judge)?;
    add::<Output>(router, judge)?;
    add::<Punted<V4>>(router, judge)?;
    add::<Punted<V6>>(router, judge)?;
    if has_layer_2(router) {
        add::<FrameInput>(router, judge)?;
        add::<FrameOutput>(router, judge)?;
    }
    attach(router);
    Ok(())
}

fn attach(router: &mut Router) {
    let at = |arc, node, is_on| AttachedAt::<Applied> { arc, node, is_on };
    let [input, output] = [Input::NAMES[0], Output::NAMES[0]];
    let is_in = |applied: &Applied| applied.0[0].is_some();
    let is_out = |applied: &Applied| applied.0[1].is_some();
    router.attach_at([
        at(Input::ARCS[0], input, is_in),
        at(Input::ARCS[1], input, is_in),
        at(Output::ARCS[0], output, is_out),
        at(Output::ARCS[1], output, is_out),
    ]);
    if has_layer_2(router) {
        let [input, output] = [FrameInput::NAMES[0], FrameOutput::NAMES[0]];
        router.attach_at([at(&L2_INPUT, input, is_in), at(&L2_OUTPUT, output, is_out)]);
    }
}
