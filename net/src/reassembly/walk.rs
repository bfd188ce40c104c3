//! Giving up what stayed incomplete: processes that visit the nodes while these hold something.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event as Woken, Wake};
use graph::{Frame, Node, NodeIndex};

use super::full::Full;
use super::shallow::Shallow;
use super::version::Reassemble;
use super::{Kind, Reassembly, Usage};
use crate::ip::{V4, V6};
use crate::punt::{Event, EventSender};
use crate::router::Router;

/// A node that control visits.
pub(super) trait Walked: Node {
    /// Gives up what is too old.
    fn walk(&mut self, frame: &mut Frame<'_, Self>);
    /// Makes room for so many packets.
    fn set_capacity(&mut self, most: usize);
    /// What it holds.
    fn usage(&self) -> Usage;
}

/// Says to control that a node holds something: once until the next walk.
pub(super) struct Reporter {
    events: EventSender,
    kind: u8,
    is_reported: bool,
}

impl Reporter {
    pub(super) fn new(events: EventSender, kind: u8) -> Self {
        Self { events, kind, is_reported: false }
    }
    pub(super) fn events(&self) -> EventSender {
        self.events.clone()
    }
    pub(super) fn report(&mut self, family: usize, held: usize) {
        if !self.is_reported && held > 0 {
            let event = Event::Fragments { family: family as u8, kind: self.kind };
            self.is_reported = self.events.send(event);
        }
    }
    pub(super) fn walked(&mut self) {
        self.is_reported = false;
    }
}

/// Something done at each node of a family and a kind, on each thread.
pub(super) trait Work: Clone + Send + 'static {
    fn work<N: Walked>(self, node: &mut N, frame: &mut Frame<'_, N>);
}

#[derive(Clone)]
struct Walk;

impl Work for Walk {
    fn work<N: Walked>(self, node: &mut N, frame: &mut Frame<'_, N>) {
        node.walk(frame);
    }
}

/// Makes room for so many packets.
#[derive(Clone)]
pub(super) struct Grow(pub usize);

impl Work for Grow {
    fn work<N: Walked>(self, node: &mut N, _: &mut Frame<'_, N>) {
        node.set_capacity(self.0);
    }
}

pub(super) fn visit(router: &mut Router, family: usize, kind: Kind, work: &impl Work) {
    fn one<N: Walked>(router: &mut Router, node: NodeIndex, work: &impl Work) {
        for thread in router.engine.data_threads() {
            let work = work.clone();
            router.engine.visit::<N>(thread, node, |node, frame| work.work(node, frame));
        }
    }
    fn all<V: Reassemble>(router: &mut Router, kind: Kind, work: &impl Work) {
        let Some(nodes) = router.state::<Reassembly>().map(|r| r.nodes[V::FAMILY]) else { return };
        match kind {
            Kind::Full => {
                one::<Full<V, false>>(router, nodes.full, work);
                one::<Full<V, true>>(router, nodes.local, work);
            }
            Kind::Shallow => one::<Shallow<V>>(router, nodes.shallow, work),
        }
    }
    if family == V4::FAMILY {
        all::<V4>(router, kind, work);
    } else {
        all::<V6>(router, kind, work);
    }
}

/// What the nodes of a family and a kind hold, on all threads.
pub(super) fn usage(router: &mut Router, family: usize, kind: Kind) -> Usage {
    fn one<N: Walked>(router: &mut Router, node: NodeIndex, sum: &mut Usage) {
        for thread in router.engine.data_threads() {
            if let Ok(found) = router.engine.with_node(thread, node, |n: &mut N| n.usage()) {
                sum.contexts.extend(found.contexts);
                sum.fragments += found.fragments;
            }
        }
    }
    fn all<V: Reassemble>(router: &mut Router, kind: Kind, sum: &mut Usage) {
        let Some(nodes) = router.state::<Reassembly>().map(|r| r.nodes[V::FAMILY]) else { return };
        match kind {
            Kind::Full => {
                one::<Full<V, false>>(router, nodes.full, sum);
                one::<Full<V, true>>(router, nodes.local, sum);
            }
            Kind::Shallow => one::<Shallow<V>>(router, nodes.shallow, sum),
        }
    }
    let mut sum = Usage::default();
    if family == V4::FAMILY {
        all::<V4>(router, kind, &mut sum);
    } else {
        all::<V6>(router, kind, &mut sum);
    }
    sum
}

fn name(family: usize, kind: Kind) -> &'static str {
    let walks = if family == V4::FAMILY { V4::REASSEMBLY } else { V6::REASSEMBLY }.walks;
    walks[kind as usize]
}

/// A node holds something: the process is to look after it.
pub(super) fn start(router: &mut Router, family: usize, kind: Kind) {
    router.processes.signal(name(family, kind), 0);
}

/// Starts the processes.
pub(super) fn spawn(router: &mut Router) {
    for family in [V4::FAMILY, V6::FAMILY] {
        for kind in [Kind::Full, Kind::Shallow] {
            let body = move |router: &mut Router, event| match event {
                Woken::Start => Wake::OnEvent,
                Woken::Signal(_) => {
                    let walk = router.reassembly(family, kind).walk;
                    Wake::AfterOrEvent(Duration::from_secs_f64(walk))
                }
                Woken::Timeout => {
                    // A node that goes on holding something says so again.
                    visit(router, family, kind, &Walk);
                    Wake::OnEvent
                }
            };
            router.processes.spawn(name(family, kind), Box::new(body));
        }
    }
}
