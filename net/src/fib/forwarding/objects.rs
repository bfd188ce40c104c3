//! Forwarding objects: what paths and buckets lead to beyond what every router has.
//!
//! A feature registers a *kind* of object, with its node for each [`Link`]; a path or a bucket then
//! holds kind and number ([`Object`]), and the node finds the number as the packet's adjacency. All
//! nodes that forward packets of a link have an edge to each kind's node, those that come later
//! too. Packets of a link that a kind has no node for are dropped.

use std::collections::HashMap;

use control::api::Retval;
use control::cli::{Args, Error};
use control::feature::{Owner, Registered};
use graph::{BuildError, Node, NodeIndex, Slot};
use infra::rcu::{Epoch, Reader, Shared};

use crate::adjacency::Link;
use crate::fib::types::{FibPath, FibPathType};
use crate::fib::{Fib, Path, RouteOf, Target};
use crate::router::Router;

/// Number of a kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind(pub u16);

impl ObjectKind {
    /// The kinds of single and several labels to put on, with a time to live of their own and with
    /// that of the packet: always these, so that a word can say more of them.
    pub const LABELS: [Self; 2] = [Self(0), Self(1)];
}

/// An object of a feature: where a path or a bucket leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Kind.
    pub kind: ObjectKind,
    /// Its number among those of its kind.
    pub index: u32,
}

/// Parameters of a new kind of objects.
pub struct NewKind {
    /// The node for packets of each link.
    pub nodes: Vec<(Link, String)>,
    /// An object as `show ip fib` says it.
    pub describe: fn(&Router, u32) -> String,
}

type Slots = Vec<Option<Slot>>;

/// Paths that messages name by a type of a feature's own.
#[derive(Clone, Copy)]
pub struct PathType {
    /// Type.
    pub number: FibPathType,
    /// Target of such a path of a route.
    pub read: fn(&Router, &FibPath, RouteOf) -> Result<Target, Retval>,
    /// Says what an object is, for paths that lead there; false for one of another kind.
    pub write: fn(&Router, Object, &mut FibPath) -> bool,
}

/// Paths that commands name by a word of a feature's own.
#[derive(Clone, Copy)]
pub struct PathWord {
    /// The kind of object they lead to.
    pub kind: ObjectKind,
    /// The word.
    pub word: &'static str,
    /// The object that the words after it name, for a route of a kind.
    pub parse: fn(&Router, RouteOf, &mut Args<'_>) -> Result<Object, Error>,
    /// An object as those words; `None` where they name none any more.
    pub print: fn(&Router, u32) -> Option<String>,
}

/// A function that is called when paths come to lead to an object, with whether they do: once for
/// every set of paths and each of them that leads there.
pub type WatchObject = fn(&mut Router, u32, bool);

/// A function that returns the load balance for packets of an object; `None` for a missing object.
/// It is constant during the lifetime of the object.
pub type StackOf = fn(&Router, u32) -> Option<u32>;

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
pub(in crate::fib) struct Objects {
    /// With their owners; a free number is reused.
    kinds: Vec<Option<(Owner, NewKind)>>,
    forwarders: Registered<Forwarder>,
    /// Edges of forwarders to come.
    awaited: HashMap<String, Shared<Slots>>,
    path_types: Registered<PathType>,
    path_words: Registered<PathWord>,
    watching: Registered<(ObjectKind, WatchObject)>,
    stacks: Registered<(ObjectKind, StackOf)>,
    /// For nodes that lead to none.
    none: Shared<Slots>,
}

impl Objects {
    pub fn new() -> Self {
        Self {
            kinds: vec![None, None],
            forwarders: Registered::default(),
            awaited: HashMap::new(),
            path_types: Registered::default(),
            path_words: Registered::default(),
            watching: Registered::default(),
            stacks: Registered::default(),
            none: Shared::new(Vec::new()),
        }
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
    /// A missing node, or one that accepts packets with a payload only.
    pub fn add_object_kind(&mut self, kind: NewKind) -> Result<ObjectKind, BuildError> {
        let mut kinds = self.fib.objects.kinds.iter().enumerate().skip(ObjectKind::LABELS.len());
        let free = kinds.find(|(_, kind)| kind.as_ref().is_none_or(|(owner, _)| !owner.is_there()));
        let number = free.map_or(self.fib.objects.kinds.len(), |(number, _)| number);
        self.set_object_kind(ObjectKind(number as u16), kind)
    }
    /// The same for labels to put on.
    ///
    /// # Errors
    /// As [`Router::add_object_kind`].
    pub fn add_label_kind(
        &mut self,
        is_uniform: bool,
        kind: NewKind,
    ) -> Result<ObjectKind, BuildError> {
        self.set_object_kind(ObjectKind::LABELS[usize::from(is_uniform)], kind)
    }
    fn set_object_kind(
        &mut self,
        number: ObjectKind,
        kind: NewKind,
    ) -> Result<ObjectKind, BuildError> {
        let Self { engine, fib, .. } = self;
        let (kinds, at) = (&mut fib.objects.kinds, usize::from(number.0));
        for forwarder in fib.objects.forwarders.iter_mut() {
            let node = kind.nodes.iter().find(|(link, _)| *link == forwarder.link);
            let slot = node.map(|(_, to)| engine.connect(&forwarder.name, to)).transpose()?;
            let mut slots = forwarder.edges.current().clone();
            slots.resize(slots.len().max(at + 1), None);
            slots[at] = slot;
            forwarder.edges.publish(slots);
        }
        kinds.resize_with(kinds.len().max(at + 1), || None);
        kinds[at] = Some((Owner::current(), kind));
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
        let awaited = self.fib.objects.awaited.remove(name);
        let edges = awaited.unwrap_or_else(|| Shared::new(Vec::new()));
        let node = make(self, ObjectEdges(edges.reader()));
        let index = self.engine.add_named(name, node)?;
        let Self { engine, fib, .. } = self;
        let slot = |kind: &Option<(Owner, NewKind)>| {
            let kind = kind.as_ref().filter(|(owner, _)| owner.is_there());
            let mut nodes = kind.into_iter().flat_map(|(_, kind)| &kind.nodes);
            let node = nodes.find(|(of, _)| *of == link);
            node.map(|(_, to)| engine.connect(name, to)).transpose()
        };
        let slots = fib.objects.kinds.iter().map(slot).collect::<Result<Slots, _>>()?;
        let mut new = Forwarder { link, name: name.to_owned(), edges };
        new.edges.publish(slots);
        fib.objects.forwarders.push(new);
        Ok(index)
    }
    /// The object that words name, the first of which was taken; `None` if it is no feature's.
    pub(in crate::fib) fn parse_object(
        &self,
        of: RouteOf,
        word: &str,
        args: &mut Args<'_>,
    ) -> Result<Option<Target>, Error> {
        let known = self.fib.objects.path_words.iter().find(|w| w.word == word);
        let object = known.map(|w| (w.parse)(self, of, args)).transpose()?;
        Ok(object.map(Target::Object))
    }
    /// An object as commands name it.
    pub(in crate::fib) fn print_object(&self, object: Object) -> Option<String> {
        let known = self.fib.objects.path_words.iter().find(|w| w.kind == object.kind)?;
        Some(format!("{} {}", known.word, (known.print)(self, object.index)?))
    }
    /// The load balance that packets of an object go on by, if its kind says so.
    pub(in crate::fib) fn stack_of_object(&self, object: Object) -> Option<u32> {
        let known = self.fib.objects.stacks.iter().find(|(kind, _)| *kind == object.kind)?;
        (known.1)(self, object.index)
    }
    /// Tells features of paths to their objects.
    pub(in crate::fib) fn tell_of_objects(&mut self, paths: &[Path], is_held: bool) {
        for path in paths {
            let Target::Object(Object { kind, index }) = path.target else { continue };
            let watching = &self.fib.objects.watching;
            let called: Vec<_> = watching.iter().filter(|w| w.0 == kind).map(|w| w.1).collect();
            called.into_iter().for_each(|watch| watch(self, index, is_held));
        }
    }
    /// Target of a path of a feature's type.
    pub(in crate::fib) fn read_path(&self, path: &FibPath, of: RouteOf) -> Result<Target, Retval> {
        let known = self.fib.objects.path_types.iter().find(|t| t.number == path.kind);
        known.map_or(Err(Retval::UNIMPLEMENTED), |t| (t.read)(self, path, of))
    }
    /// Says in a path which object it leads to.
    pub(in crate::fib) fn write_path(&self, object: Object, path: &mut FibPath) {
        let mut all = self.fib.objects.path_types.iter();
        if let Some(t) = all.find(|t| (t.write)(self, object, path)) {
            path.kind = t.number;
        }
    }
    /// An object in words.
    pub fn describe_object(&self, object: Object) -> String {
        let kind = self.fib.objects.kinds.get(usize::from(object.kind.0)).and_then(Option::as_ref);
        let kind = kind.filter(|(owner, _)| owner.is_there());
        kind.map_or_else(|| "dpo-drop".to_owned(), |(_, kind)| (kind.describe)(self, object.index))
    }
    /// A path that leads to an object of this owner, in words: the feature cannot go before it.
    pub fn path_to_objects_of(&self, owner: Owner) -> Option<String> {
        let is_of = |object: &Object| -> bool {
            let kinds = &self.fib.objects.kinds;
            let kind = kinds.get(usize::from(object.kind.0)).and_then(Option::as_ref);
            kind.is_some_and(|(of, _)| *of == owner)
        };
        self.fib.lists.objects().find(is_of).map(|object| self.describe_object(object))
    }
}

impl Fib {
    /// The edges to the objects of all kinds of a node that forwards packets, or will.
    pub fn edges_to_objects(&mut self, name: &str) -> ObjectEdges {
        let Objects { forwarders, awaited, .. } = &mut self.objects;
        let edges = forwarders.iter().find(|f| f.name == name).map(|f| &f.edges);
        let edges = edges.unwrap_or_else(|| {
            awaited.entry(name.to_owned()).or_insert_with(|| Shared::new(Vec::new()))
        });
        ObjectEdges(edges.reader())
    }
    /// Gives a feature's objects a word in commands.
    pub fn add_path_word(&mut self, new: PathWord) {
        self.objects.path_words.push(new);
    }
    /// Notifies a feature of the paths that lead to its objects.
    pub fn watch_objects(&mut self, kind: ObjectKind, watch: WatchObject) {
        self.objects.watching.push((kind, watch));
    }
    /// Uses paths to objects of a kind only where packets reach a neighbor by the load balance that
    /// the object sends them to, and do not loop back.
    pub fn stack_objects(&mut self, kind: ObjectKind, stack: StackOf) {
        self.objects.stacks.push((kind, stack));
    }
    /// Gives a feature's objects a type of path in messages.
    pub fn add_path_type(&mut self, new: PathType) {
        self.objects.path_types.push(new);
    }
}
