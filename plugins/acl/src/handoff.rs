//! `acl-plugin-in-ip4-fa-handoff` and its kin: packets go on at the thread that has their session.

use std::convert::Infallible;
use std::marker::PhantomData;

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Node};
use infra::rcu::SlabReader;
use net::adjacency::Adjacency;

use super::node::{Access, Checks};
use super::place::{handoff_name, name, path};
use super::session::{Both, Reflected, Threads};

/// Hands packets to the thread of their session.
#[derive(Clone)]
pub struct HandOff<V, const BRIDGED: bool, const WAY: usize> {
    version: PhantomData<V>,
    sessions: Both,
    adjacencies: SlabReader<Adjacency>,
}

impl<V: Reflected, const BRIDGED: bool, const WAY: usize> HandOff<V, BRIDGED, WAY> {
    pub(super) fn of(access: &Access<V, BRIDGED, WAY>) -> Self {
        let checks = &access.checks;
        let (sessions, adjacencies) = (checks.sessions.clone(), checks.adjacencies.clone());
        Self { version: PhantomData, sessions, adjacencies }
    }
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy)]
pub enum Next<V, const BRIDGED: bool, const WAY: usize> {
    /// Back to the node that checks it.
    Access(PhantomData<V>),
}

/// Drops of [`HandOff`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

impl<V: Reflected, const BRIDGED: bool, const WAY: usize> graph::Next for Next<V, BRIDGED, WAY> {
    const EDGES: &'static [Edge] = &[Edge { to: name::<V>(path(BRIDGED), WAY), payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Access(_) = self;
        0
    }
}

impl<V: Reflected, const BRIDGED: bool, const WAY: usize> Node for HandOff<V, BRIDGED, WAY> {
    const NAME: &'static str = handoff_name::<V>(path(BRIDGED), WAY);
    type Next = Next<V, BRIDGED, WAY>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = if BRIDGED { "error-drop" } else { V::NODES.drop };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, threads) = (frame.epoch(), frame.thread(), Threads::of(frame));
        let seed = V::of(&self.sessions).seed();
        frame.hand_off(Error::Congestion, |p| {
            let seen = Checks::<V, BRIDGED, WAY>::seen(&self.adjacencies, p, epoch);
            let to = seen.map_or(thread, |seen| threads.at(seen.flow.meeting(seed)));
            Ok((to, Next::Access(PhantomData)))
        });
    }
}
