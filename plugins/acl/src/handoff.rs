//! `acl-plugin-in-ip4-fa-handoff` and its kin: packets go on at the thread that has their session.

use graph::{HandOff, HandsOff};
use net::adjacency::Adjacency;
use net::prelude::*;

use super::node::{Access, Checks};
use super::place::{handoff_name, name, path};
use super::session::{Both, Reflected, Threads};

/// Hands packets to the thread of their session.
#[derive(Clone)]
pub struct BySession<V, const BRIDGED: bool, const DIRECTION: usize> {
    version: PhantomData<V>,
    sessions: Both,
    adjacencies: SlabReader<Adjacency>,
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> BySession<V, BRIDGED, DIRECTION> {
    pub(super) fn of(access: &Access<V, BRIDGED, DIRECTION>) -> Self {
        let checks = &access.checks;
        let (sessions, adjacencies) = (checks.sessions.clone(), checks.adjacencies.clone());
        Self { version: PhantomData, sessions, adjacencies }
    }
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> HandsOff
    for BySession<V, BRIDGED, DIRECTION>
{
    const NAME: &'static str = handoff_name::<V>(path(BRIDGED), DIRECTION);
    const TO: &'static str = name::<V>(path(BRIDGED), DIRECTION);
    const DROP: &'static str = if BRIDGED { "error-drop" } else { V::NODES.drop };

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, V, On, BRIDGED, DIRECTION> {
        let (epoch, thread, threads) = (frame.epoch(), frame.thread(), Threads::of(frame));
        let seed = V::of(&self.sessions).seed();
        move |p| {
            let seen = Checks::<V, BRIDGED, DIRECTION>::seen(&self.adjacencies, p, epoch);
            seen.map_or(thread, |seen| threads.at(seen.flow.meeting(seed)))
        }
    }
}
