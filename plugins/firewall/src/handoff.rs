//! Packets go on at the thread that has their session.

use std::convert::Infallible;

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Node};
use translation::handoff::Threads;

use super::node::{Firewalled, Guard, Sight};
use super::packet;
use super::place::{handoff_name, name};
use super::session::Both;

/// Hands packets to the thread of their session.
#[derive(Clone)]
pub struct HandOff<V, const AT: usize> {
    version: V,
    sight: Sight,
    sessions: Both,
}

impl<V: Guard, const AT: usize> HandOff<V, AT> {
    pub(super) fn of(node: &Firewalled<V, AT>) -> Self {
        let (sight, sessions) = (node.sight.clone(), node.sessions.clone());
        Self { version: V::SELF, sight, sessions }
    }
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy)]
pub enum Next<V, const AT: usize> {
    /// Back to the node that judges it.
    Judge(V),
}

impl<V: Guard, const AT: usize> graph::Next for Next<V, AT> {
    const EDGES: &'static [Edge] = &[Edge { to: name::<V>(AT), payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Judge(_) = self;
        0
    }
}

/// Drops of [`HandOff`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

impl<V: Guard, const AT: usize> Node for HandOff<V, AT> {
    const NAME: &'static str = handoff_name::<V>(AT);
    type Next = Next<V, AT>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, threads) = (frame.epoch(), frame.thread(), Threads::of(frame));
        let (seed, version) = (V::of(&self.sessions).seed(), self.version);
        frame.hand_off(Error::Congestion, |p| {
            let (pair, offset) = packet::place::<AT>(&self.sight, p, epoch);
            let packet = p.bytes().get(offset..).unwrap_or(&[]);
            let seen = packet::look::<V::Address>(packet, p.ports(), pair.scope());
            let to = seen.map_or(thread, |seen| threads.at(seen.flow.meeting(seed)));
            Ok((to, Next::Judge(version)))
        });
    }
}
