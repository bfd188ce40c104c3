//! Forwarding objects: what paths and buckets lead to beyond what every router has.
//!
//! A feature registers a *kind* of object, with its node for each [`Link`]; a path or a bucket then
//! holds kind and number ([`Object`]), and the node finds the number as the packet's adjacency. All
//! nodes that forward packets of a link have an edge to each kind's node, those that come later
//! too. Packets of a link that a kind has no node for are dropped.

use graph::{BuildError, Node, NodeIndex, Slot};
use infra::rcu::{Epoch, Reader, Shared};

use crate::adjacency::Link;
use crate::router::Router;

/// Number of a kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind(pub u16);

/// An object of a feature: where a path or a bucket leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its number among those of its kind.
    pub index: u32,
}

/// What a kind of objects is made of.
pub struct NewKind {
    /// The node for packets of each link.
    pub nodes: Vec<(Link, String)>,
    /// An object as `show ip fib` says it.
    pub describe: fn(&Router, u32) -> String,
}

type Slots = Vec<Option<Slot>>;

/// Edges of a node to the nodes of all kinds of objects.
#[derive(Clone, Debug)]
pub struct ObjectEdges(Reader<Slots>);

impl ObjectEdges {
    /// The edge to the node of a kind; `None` for one without a node.
    #[inline(always)]
    pub fn slot(&self, kind: ObjectKind, epoch: Epoch<'_>) -> Option<Slot> {
        self.0.read(epoch).get(usize::from(kind.0)).copied().flatten()
    }
}

/// A node that forwards packets of a link.
struct Forwarder {
    link: Link,
    name: String,
    edges: Shared<Slots>,
}

/// All kinds, and the nodes that lead to objects.
pub(super) struct Objects {
    kinds: Vec<NewKind>,
    forwarders: Vec<Forwarder>,
    /// For nodes that lead to none.
    none: Shared<Slots>,
}

impl Objects {
    pub fn new() -> Self {
        Self { kinds: Vec::new(), forwarders: Vec::new(), none: Shared::new(Vec::new()) }
    }
    /// The edges of a node that leads to no objects.
    pub fn none(&self) -> ObjectEdges {
        ObjectEdges(self.none.reader())
    }
}

impl Router {
    /// Registers a kind of forwarding objects; its nodes are in the graph already.
    ///
    /// # Errors
    /// A node that is not there, or takes packets with a payload only.
    pub fn add_object_kind(&mut self, kind: NewKind) -> Result<ObjectKind, BuildError> {
        let Self { engine, fib, .. } = self;
        let number = ObjectKind(fib.objects.kinds.len() as u16);
        for forwarder in &mut fib.objects.forwarders {
            let node = kind.nodes.iter().find(|(link, _)| *link == forwarder.link);
            let slot = node.map(|(_, to)| engine.connect(&forwarder.name, to)).transpose()?;
            let mut slots = forwarder.edges.current().clone();
            slots.resize(usize::from(number.0), None);
            slots.push(slot);
            forwarder.edges.publish(slots);
        }
        fib.objects.kinds.push(kind);
        Ok(number)
    }
    /// Adds a node that forwards packets of a link, with edges to the objects of all kinds there
    /// are and will be.
    ///
    /// # Errors
    /// As [`Engine::add_named`](graph::Engine::add_named).
    pub fn add_forwarder<N: Node>(
        &mut self,
        link: Link,
        name: &str,
        make: impl FnOnce(&Self, ObjectEdges) -> N,
    ) -> Result<NodeIndex, BuildError> {
        let edges = Shared::new(Vec::new());
        let node = make(self, ObjectEdges(edges.reader()));
        let index = self.engine.add_named(name, node)?;
        let Self { engine, fib, .. } = self;
        let slot = |kind: &NewKind| {
            let node = kind.nodes.iter().find(|(of, _)| *of == link);
            node.map(|(_, to)| engine.connect(name, to)).transpose()
        };
        let slots = fib.objects.kinds.iter().map(slot).collect::<Result<Slots, _>>()?;
        let mut new = Forwarder { link, name: name.to_owned(), edges };
        new.edges.publish(slots);
        fib.objects.forwarders.push(new);
        Ok(index)
    }
    /// An object in words.
    pub fn describe_object(&self, object: Object) -> String {
        let kind = self.fib.objects.kinds.get(usize::from(object.kind.0));
        kind.map_or_else(|| "dpo-drop".to_owned(), |kind| (kind.describe)(self, object.index))
    }
}
