//! The edges over which the nodes of this folder send what they make: one to each interface's output.
#![forbid(unsafe_code)]

use graph::Slot;
use infra::rcu::{Epoch, Reader, Shared};

use crate::interface::{InterfaceIndex, Kind};
use crate::router::Router;

/// The nodes that send, in the order of their edges in [`Edges`].
pub(super) const SENDERS: [&str; 6] = [
    "ip4-arp",
    "ip4-glean",
    "ip6-discover-neighbor",
    "ip6-glean",
    "arp-reply",
    "icmp6-neighbor-solicitation",
];

/// For each interface that has neighbours, the edges to it.
type Edges = Vec<Option<[Slot; SENDERS.len()]>>;

/// Control's side.
pub(super) struct Outputs(Shared<Edges>);

/// One node's side.
#[derive(Clone)]
pub(super) struct Output {
    edges: Reader<Edges>,
    sender: usize,
}

impl Output {
    /// The node's edge to the output of an interface; `None` where there are no neighbours.
    pub(super) fn to(&self, interface: u32, epoch: Epoch<'_>) -> Option<Slot> {
        let edges = self.edges.read(epoch).get(interface as usize)?;
        edges.as_ref().map(|e| e[self.sender])
    }
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self(Shared::new(Vec::new()))
    }
    /// For the sender of this name.
    pub(super) fn of(&self, sender: &str) -> Output {
        let sender = SENDERS.iter().position(|s| *s == sender).expect("it is listed above");
        Output { edges: self.0.reader(), sender }
    }
    /// An interface was added: connects it, when it is one with neighbours.
    pub(super) fn add(&mut self, router: &mut Router, interface: InterfaceIndex) {
        let Some(i) = router.interfaces.at(interface) else { return };
        if i.kind != Kind::Ethernet {
            return;
        }
        let output = format!("{}-output", i.name);
        let edge = |from: &str| {
            router.engine.connect(from, &output).expect("both nodes are there by now")
        };
        self.publish(interface, Some(SENDERS.map(edge)));
    }
    /// An interface goes.
    pub(super) fn remove(&mut self, interface: InterfaceIndex) {
        self.publish(interface, None);
    }
    fn publish(&mut self, interface: InterfaceIndex, edges: Option<[Slot; SENDERS.len()]>) {
        let mut all = self.0.current().clone();
        let at = interface.0 as usize;
        all.resize(all.len().max(at + 1), None);
        all[at] = edges;
        self.0.publish(all);
    }
}
