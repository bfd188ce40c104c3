//! Giving up what stayed incomplete: processes that visit the nodes while these hold something.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event as Woken, Wake};
use graph::{BuildError, NodeIndex};
use infra::rcu::Shared;

use super::config::Settings;
use super::gather::{Gather, Method};
use super::handoff::ToOwner;
use super::place::{PLACES, Place};
use super::version::Reassemble;
use super::{Incomplete, Kind, Usage};
use crate::events::EventSender;
use crate::router::Router;

/// Names of the processes, of full and of shallow reassembly, each of IPv4 and IPv6.
const WALKS: [[&str; 2]; 2] = [
    ["ip4-full-reassembly-expire-walk", "ip6-full-reassembly-expire-walk"],
    ["ip4-sv-reassembly-expire-walk", "ip6-sv-reassembly-expire-walk"],
];

/// Work requested of a node by control.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// Give up what is older than this, in seconds.
    Walk { timeout: f64 },
    /// Make room for so many packets.
    Grow(usize),
    /// Drop packets received on, or to be sent on, a deleted interface.
    Forget(u32),
}

/// Says to control that a node holds something: once until the next walk.
pub(super) struct Reporter {
    events: EventSender<Incomplete>,
    kind: Kind,
    is_reported: bool,
}

impl Reporter {
    pub(super) fn new(events: EventSender<Incomplete>, kind: Kind) -> Self {
        Self { events, kind, is_reported: false }
    }
    pub(super) fn events(&self) -> EventSender<Incomplete> {
        self.events.clone()
    }
    pub(super) fn report(&mut self, family: usize, held: usize) {
        if !self.is_reported && held > 0 {
            self.is_reported = self.events.send(Incomplete { family, kind: self.kind });
        }
    }
    pub(super) fn walked(&mut self) {
        self.is_reported = false;
    }
}

/// Control-plane state of a node.
#[derive(Clone, Copy)]
pub(super) struct Gatherer {
    pub family: usize,
    pub place: &'static Place,
    node: NodeIndex,
    visit: fn(&mut Router, NodeIndex, Task),
    usage: fn(&mut Router, NodeIndex) -> Usage,
}

impl Gatherer {
    /// Adds the node of a place, and the one that hands over to other threads.
    pub(super) fn add<V: Reassemble, M: Method<V>, const PLACE: usize>(
        router: &mut Router,
        settings: &Shared<Settings>,
    ) -> Result<Self, BuildError> {
        let place = &PLACES[PLACE];
        let most = settings.current().of(V::INDEX, place.kind).most as usize;
        let (adjacencies, events) = (router.adjacencies.reader(), router.events.sender());
        let new = Gather::<V, M, PLACE>::new(settings.reader(), adjacencies, events, most);
        let engine = &mut router.engine;
        let node = engine.add(new)?;
        let handoff = engine.add(graph::HandOff(ToOwner::<V, PLACE>(V::SELF)))?;
        if let Some(arcs) = place.arcs {
            engine.place(arcs[V::INDEX], place.nodes[V::INDEX])?;
            engine.starts(handoff, arcs[V::INDEX])?;
        }
        Ok(Self {
            family: V::INDEX,
            place,
            node,
            visit: visit::<V, M, PLACE>,
            usage: usage::<V, M, PLACE>,
        })
    }
    /// Makes it do something, on all threads.
    pub(super) fn visit(&self, router: &mut Router, task: Task) {
        (self.visit)(router, self.node, task);
    }
    /// Usage, on all threads.
    pub(super) fn usage(&self, router: &mut Router) -> Usage {
        (self.usage)(router, self.node)
    }
}

fn visit<V: Reassemble, M: Method<V>, const PLACE: usize>(
    router: &mut Router,
    node: NodeIndex,
    task: Task,
) {
    for thread in router.engine.data_threads() {
        router.engine.visit::<Gather<V, M, PLACE>>(thread, node, move |n, frame| {
            n.work(frame, task);
        });
    }
}

fn usage<V: Reassemble, M: Method<V>, const PLACE: usize>(
    router: &mut Router,
    node: NodeIndex,
) -> Usage {
    let mut sum = Usage::default();
    for thread in router.engine.data_threads() {
        let look = |node: &mut Gather<V, M, PLACE>| node.usage();
        if let Ok(found) = router.engine.with_node(thread, node, look) {
            sum.contexts.extend(found.contexts);
            sum.fragments += found.fragments;
        }
    }
    sum
}

/// A node holds something: the process is to look after it.
pub(super) fn start(router: &mut Router, Incomplete { family, kind }: Incomplete) {
    router.processes.signal(WALKS[kind as usize][family], 0);
}

/// Starts the processes.
pub(super) fn spawn(router: &mut Router) {
    for kind in [Kind::Full, Kind::Shallow] {
        for (family, name) in WALKS[kind as usize].into_iter().enumerate() {
            let body = move |router: &mut Router, event| match event {
                Woken::Start => Wake::OnEvent,
                Woken::Signal(_) => {
                    let walk = router.reassembly(family, kind).walk;
                    Wake::AfterOrEvent(Duration::from_secs_f64(walk))
                }
                Woken::Timeout => {
                    // A node that goes on holding something says so again.
                    let timeout = router.reassembly(family, kind).timeout;
                    router.visit_reassembly(family, kind, Task::Walk { timeout });
                    Wake::OnEvent
                }
            };
            router.processes.spawn(name, Box::new(body));
        }
    }
}
