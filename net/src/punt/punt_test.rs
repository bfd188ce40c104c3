//! `test punt`: packets that are punted for reasons of their own, and neighbours that get them, to
//! try punting out without a feature that punts.
//!
//! `ip4-punt-test` and `ip6-punt-test`, on the interfaces they are switched on for, punt what goes
//! from 1.1.1.1 to 1.1.1.2 and from 1::1 to 1::2, for the reasons `reason-v4` and `reason-v6`. What
//! is punted for them goes, as it is, to each neighbour that asked.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use control::cli::{Cli, Command, Error};
use graph::arc::FeatureArc;
use graph::{BuildError, Frame, Node, NodeIndex};
use infra::rcu::{Reader, Shared};

use super::reasons::Reason;
use super::redirect::{RedirectTo, Redirecting, use_way};
use crate::adjacency::AdjacencyIndex;
use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6, Version};
use crate::ip4::IP4_UNICAST;
use crate::ip6::IP6_UNICAST;
use crate::router::Router;

/// Name of the client that punts for the reasons made here.
pub(super) const TRIAL: &str = "punt-test";

/// A version that punting is tried out with.
pub(super) trait PuntTest: Redirecting {
    /// Name of the node that punts.
    const NODE: &'static str;
    /// Name of its reason.
    const REASON: &'static str;
    /// Its arc.
    const ARC: &'static FeatureArc;
    /// Place of the addresses in a packet, in bytes.
    const ADDRESSES: usize;
    /// Addresses of the packets that are punted.
    const PUNTED: &'static [u8];
}

impl PuntTest for V4 {
    const NODE: &'static str = "ip4-punt-test";
    const REASON: &'static str = "reason-v4";
    const ARC: &'static FeatureArc = &IP4_UNICAST;
    const ADDRESSES: usize = 12;
    const PUNTED: &'static [u8] = &[1, 1, 1, 1, 1, 1, 1, 2];
}

impl PuntTest for V6 {
    const NODE: &'static str = "ip6-punt-test";
    const REASON: &'static str = "reason-v6";
    const ARC: &'static FeatureArc = &IP6_UNICAST;
    const ADDRESSES: usize = 8;
    const PUNTED: &'static [u8] = &[
        0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
        0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
    ];
}

/// Punts certain packets.
#[derive(Clone)]
struct Punting<V> {
    reason: Reader<Reason>,
    version: PhantomData<V>,
}

/// Edges of [`Punting`].
#[derive(Clone, Copy, graph::Next)]
enum Next {
    /// Punted.
    #[to("punt-dispatch", payload = Reason)]
    Punt,
    /// Along the arc.
    #[along]
    On,
}

impl<V: PuntTest> Node for Punting<V> {
    const NAME: &'static str = V::NODE;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let reason = *self.reason.read(frame.epoch());
        frame.each(|p| {
            let addresses = p.bytes().get(V::ADDRESSES..V::ADDRESSES + V::PUNTED.len());
            if addresses != Some(V::PUNTED) {
                return Ok(Next::On);
            }
            p.set_payload(reason);
            Ok(Next::Punt)
        });
    }
}

/// Sends what is punted to a neighbour.
#[derive(Clone)]
struct ToNeighbor<V> {
    version: V,
    adjacency: u32,
}

/// Edges of [`ToNeighbor`].
#[derive(Clone, Copy, graph::Next)]
enum Sent<V: Version> {
    /// Over the adjacency.
    #[to(V::NODES.rewrite)]
    Rewrite(V),
}

impl<V: Version> Node for ToNeighbor<V> {
    /// Each has a name of its own.
    const NAME: &'static str = "";
    type Next = Sent<V>;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.set_adjacency(self.adjacency);
            p.add_flags(graph::Flags::LOCAL); // it goes as it is
            Ok(Sent::Rewrite(self.version))
        });
    }
}

/// One neighbour that gets what is punted.
struct TestTarget {
    interface: InterfaceIndex,
    name: String,
    node: NodeIndex,
    adjacency: AdjacencyIndex,
    reason: Reason,
}

/// The state of control; reasons are made when they are needed first.
struct TestState {
    reasons: [Shared<Reason>; 2],
    asked: Vec<TestTarget>,
}

/// Punt test traffic received from 1.1.1.1 to 1.1.1.2 or from 1::1 to 1::2, or redirect it to a
/// neighbor.
#[derive(Command)]
#[command("test punt")]
struct TestPunt {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// neighbor address
    #[positional]
    next_hop: Option<IpAddr>,
    /// disable both on the interface
    clear: bool,
}

impl Router {
    /// The reason of a version, made when there is none yet.
    fn tried_reason<V: PuntTest>(&mut self) -> Result<Reason, Error> {
        if let Some(reason) = self.punt_reason_named(V::REASON) {
            return Ok(reason);
        }
        let made = self.punt_reason(TRIAL, V::REASON, V::VERSION);
        let reason = made.map_err(|e| Error::new(e.to_string()))?;
        let trial = self.own_mut::<TestState>();
        trial.reasons[V::INDEX].publish(reason);
        Ok(reason)
    }
    fn punt_for_trial<V: PuntTest>(&mut self, interface: InterfaceIndex) -> Result<(), Error> {
        self.tried_reason::<V>()?;
        let done = self.engine.set_feature(V::ARC, V::NODE, interface.0, true);
        done.expect("the node is on the arc since the feature registered");
        Ok(())
    }
    fn ask_for_trial<V: PuntTest>(&mut self, to: RedirectTo) -> Result<(), Error> {
        let said = |e: &dyn fmt::Display| Error::new(e.to_string());
        let reason = self.tried_reason::<V>()?;
        let adjacency = use_way::<V>(self, to).map_err(|e| said(&e))?;
        let name = format!("{}-{}-{}", V::NODE, self.interfaces.name(to.tx.0), to.next_hop);
        let new = ToNeighbor { version: V::SELF, adjacency: adjacency.0 };
        let node = match self.engine.add_named(&name, new) {
            Ok(node) => node,
            Err(e) => {
                self.release_adjacency(adjacency);
                return Err(said(&e));
            }
        };
        self.give_to(reason, &name, true).map_err(|e| said(&e))?;
        let trial = self.own_mut::<TestState>();
        trial.asked.push(TestTarget { interface: to.tx, name, node, adjacency, reason });
        Ok(())
    }
}

fn try_out(router: &mut Router, test: &TestPunt) -> Result<(), Error> {
    let tx = test.interface;
    if test.clear {
        follow(router, tx, Change::Deleting);
        return Ok(());
    }
    match test.next_hop {
        None => {
            router.punt_for_trial::<V4>(tx)?;
            router.punt_for_trial::<V6>(tx)
        }
        Some(next_hop @ IpAddr::V4(_)) => router.ask_for_trial::<V4>(RedirectTo { tx, next_hop }),
        Some(next_hop @ IpAddr::V6(_)) => router.ask_for_trial::<V6>(RedirectTo { tx, next_hop }),
    }
}

/// Forgets an interface that goes.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let (Change::Deleting, Some(trial)) = (change, router.state_mut::<TestState>()) else { return };
    let gone = |asked: &mut TestTarget| asked.interface == interface;
    let gone: Vec<_> = trial.asked.extract_if(.., gone).collect();
    for TestTarget { name, node, adjacency, reason, .. } in gone {
        let taken = router.give_to(reason, &name, false);
        taken.expect("no edge is made");
        router.engine.remove(node);
        router.release_adjacency(adjacency);
    }
    let places: [(&FeatureArc, _); 2] = [(V4::ARC, V4::NODE), (V6::ARC, V6::NODE)];
    for (arc, node) in places {
        let done = router.engine.set_feature(arc, node, interface.0, false);
        done.expect("the node is on the arc since the feature registered");
    }
}

pub(super) fn add(router: &mut Router) -> Result<(), BuildError> {
    fn one<V: PuntTest>(router: &mut Router, reason: &Shared<Reason>) -> Result<(), BuildError> {
        let node = Punting::<V> { reason: reason.reader(), version: PhantomData };
        router.engine.add_feature(V::ARC, node)?;
        Ok(())
    }
    let reasons = [(); 2].map(|()| Shared::new(Reason(0)));
    one::<V4>(router, &reasons[0])?;
    one::<V6>(router, &reasons[1])?;
    router.insert(TestState { reasons, asked: Vec::new() });
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, test: TestPunt| try_out(router, &test));
}
