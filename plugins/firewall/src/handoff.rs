//! Packets go on at the thread that has their session.

use std::marker::PhantomData;

use graph::{Buffer, Frame, HandOff, HandsOff};
use translation::handoff::Threads;

use super::node::{Firewalled, Guard, Sight};
use super::packet;
use super::place::{handoff_name, name};
use super::session::Both;

/// Hands packets to the thread of their session.
#[derive(Clone)]
pub struct BySession<V, const AT: usize> {
    version: PhantomData<V>,
    sight: Sight,
    sessions: Both,
}

impl<V: Guard, const AT: usize> BySession<V, AT> {
    pub(super) fn of(node: &Firewalled<V, AT>) -> Self {
        let (sight, sessions) = (node.sight.clone(), node.sessions.clone());
        Self { version: PhantomData, sight, sessions }
    }
}

impl<V: Guard, const AT: usize> HandsOff for BySession<V, AT> {
    const NAME: &'static str = handoff_name::<V>(AT);
    const TO: &'static str = name::<V>(AT);
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, V, On, AT> {
        let (epoch, thread, threads) = (frame.epoch(), frame.thread(), Threads::of(frame));
        let seed = V::of(&self.sessions).seed();
        move |p| {
            let (pair, offset) = packet::place::<AT>(&self.sight, p, epoch);
            let packet = p.bytes().get(offset..).unwrap_or(&[]);
            let seen = packet::look::<V::Address>(packet, p.ports(), pair.scope());
            seen.map_or(thread, |seen| threads.at(seen.flow.meeting(seed)))
        }
    }
}
