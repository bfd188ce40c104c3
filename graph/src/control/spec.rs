//! The description of the graph: nodes, edges, arcs; adding to it before and while threads run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use infra::counter::{Counter, Rows};
use infra::cpu::Variant;
use infra::table::names::Names;
use infra::time::Clock;

use super::BuildError;
use super::arcs::{ArcSpec, Pending};
use super::errors::Errors;
use super::metadata::Claims;
use super::run::Threads;
use crate::arc::FeatureArc;
use crate::buffer::Pool;
use crate::engine::{ArcEdges, Dispatch, InputAdapter, NodeAdapter, NodeRuntime, NodeStats};
use crate::node::{Count, CounterText, Edge, Input, InputState, Next, Node, Reason, Slot};
use crate::watch::{Filter, Watch};

/// Number of a node in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// Counters of a node, and the node under whose name they are if it is another one.
pub(super) struct Counted {
    pub at: &'static str,
    pub reasons: &'static [CounterText],
    pub counts: &'static [CounterText],
}

pub(super) type Make = Box<dyn Fn(Variant) -> Box<dyn Dispatch>>;

/// Target of an edge: a name until the graph is built, a number from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Name(&'static str),
    Node(NodeIndex),
}

/// Control-plane state of a node.
pub(super) struct Spec {
    pub name: Arc<str>,
    pub is_input: bool,
    /// Whether traces start here.
    pub starts_traces: bool,
    /// Whether it may be given packets that are only explained.
    pub is_explainable: bool,
    /// Whether it exists for fragments only.
    pub fragments_only: bool,
    pub state: InputState,
    pub make: Make,
    /// First the node's own edges, then the drop, then what was connected or arcs added.
    pub edges: Vec<Target>,
    /// The first edge to each node, or [`NO_SLOT`], once there are many.
    pub slots: Vec<u32>,
    /// Payload of each of the node's own edges.
    pub payloads: Vec<&'static str>,
    pub takes: &'static str,
    pub drop_slot: u32,
    pub error_base: u32,
    pub error_count: u32,
    pub reasons: &'static [CounterText],
    pub counts: &'static [CounterText],
    /// The first counter of what it counts besides reasons.
    pub count_base: u32,
    /// The first of its own counters and how many they are; `None` if all are another node's.
    pub own_counters: Option<(u32, u32)>,
    pub arcs: Vec<ArcEdges>,
    pub variant: Variant,
    /// Owner of the node.
    pub owner: u32,
}

/// The counters of a new node.
struct Numbers {
    reasons: u32,
    /// Reasons, what is counted besides where that follows them, and panics.
    count: u32,
    counts: u32,
    own: Option<(u32, u32)>,
}

/// No edge.
const NO_SLOT: u32 = u32::MAX;
/// More edges than these are not searched one by one.
const FEW_EDGES: usize = 32;

impl Spec {
    /// The first edge that leads to a node; those of arcs change with their features.
    fn slot_to(&mut self, target: NodeIndex, waiting: &[u32]) -> Option<u32> {
        let of_arcs: Vec<_> = self.arcs.iter().map(|a| a.base..a.base + a.room).collect();
        let is_own =
            |slot: &u32| !waiting.contains(slot) && !of_arcs.iter().any(|arc| arc.contains(slot));
        let slots = (0u32..).zip(&self.edges).filter_map(|(slot, edge)| match edge {
            Target::Node(node) => Some((*node, slot)),
            Target::Name(_) => None,
        });
        let slots = slots.filter(|(_, slot)| is_own(slot));
        if self.edges.len() <= FEW_EDGES {
            return slots.filter(|s| s.0 == target).map(|s| s.1).next();
        }
        if self.slots.is_empty() {
            let all: Vec<_> = slots.collect();
            all.into_iter().for_each(|(node, slot)| self.note_slot(node, slot));
        }
        self.slots.get(target.0 as usize).copied().filter(|slot| *slot != NO_SLOT)
    }
    /// Notes an edge to a node, unless there is one.
    fn note_slot(&mut self, node: NodeIndex, slot: u32) {
        let at = node.0 as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, NO_SLOT);
        }
        if self.slots[at] == NO_SLOT {
            self.slots[at] = slot;
        }
    }
}

/// Everything about the graph that control owns: nodes, arcs, counters, buffers and threads.
pub struct Engine {
    pub(super) specs: Vec<Spec>,
    pub(super) by_name: Names,
    pub(super) deleted: Vec<NodeIndex>,
    /// Arcs in use.
    pub(super) arcs: Vec<ArcSpec>,
    /// Features switched before the graph is built.
    pub(super) pending: Vec<Pending>,
    /// Starts of arcs among nodes made for one interface, until the graph is built.
    pub(super) starts: Vec<(NodeIndex, &'static FeatureArc)>,
    pub(super) errors: Errors,
    /// Counters at the time they were cleared.
    pub(super) cleared: Vec<u64>,
    pub(super) counters: Rows<Counter>,
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) threads: Threads,
    pub(super) poll_sleep: Duration,
    /// Whether no thread calls input nodes.
    pub(super) is_held: bool,
    /// Observers of packets on all threads.
    pub(crate) watches: Vec<Watch>,
    pub(crate) trace_filter: Option<Arc<dyn Filter>>,
    /// Subjects that all threads monitor.
    pub(super) monitored: [bool; 2],
    pub(super) variants: super::run::VariantChoice,
    /// Owner of the nodes that are being added.
    pub(super) owner: u32,
    /// Names that owners put on arcs, whether or not their nodes are there.
    pub(super) placed: Vec<(u32, &'static str)>,
    /// Metadata of packets.
    pub(super) claims: Claims,
    /// Edges without a next node, by the name of the missing node: their start node and number.
    /// Their packets are dropped there meanwhile.
    pub(super) waiting: HashMap<String, Vec<(NodeIndex, u32)>>,
}

impl Engine {
    /// Adds a node under its own name.
    ///
    /// # Errors
    /// A duplicate name; once threads run, also an edge with a payload that its end does not take.
    pub fn add<N: Node>(&mut self, node: N) -> Result<NodeIndex, BuildError> {
        self.add_named(N::NAME, node)
    }
    /// Adds a node under a name of its own: one of many made from the same type, `pg0-tx`.
    ///
    /// # Errors
    /// As [`Engine::add`].
    pub fn add_named<N: Node>(&mut self, name: &str, node: N) -> Result<NodeIndex, BuildError> {
        let make: Make = Box::new(move |v| Box::new(NodeAdapter::new(node.clone(), v)));
        let counted = Counted {
            at: N::COUNTED_AT,
            reasons: <N::Error as Reason>::TEXTS,
            counts: <N::Count as Count>::TEXTS,
        };
        let index = self.insert(name, None, make, N::Next::EDGES, N::DROP, counted, N::INPUT)?;
        let spec = &mut self.specs[index.0 as usize];
        (spec.starts_traces, spec.is_explainable) = (N::STARTS_TRACES, N::EXPLAINABLE);
        spec.fragments_only = N::FRAGMENTS_ONLY;
        Ok(index)
    }
    /// Adds the counters of reasons under a name that no node has: a process, or what clients know
    /// as a node of its own.
    ///
    /// # Errors
    /// As [`Engine::add`].
    pub fn add_counters<R: Reason>(&mut self, at: &str) -> Result<(), BuildError> {
        self.errors.add(&at.into(), (R::TEXTS, &[]))?;
        Ok(())
    }
    /// Adds an input node.
    ///
    /// # Errors
    /// As [`Engine::add`].
    pub fn add_input<N: Input>(&mut self, node: N) -> Result<NodeIndex, BuildError> {
        let make: Make = Box::new(move |v| Box::new(InputAdapter::new(node.clone(), v)));
        let counted = Counted {
            at: "",
            reasons: <N::Error as Reason>::TEXTS,
            counts: <N::Count as Count>::TEXTS,
        };
        let state = Some(N::STATE);
        let index = self.insert(N::NAME, state, make, N::Next::EDGES, N::DROP, counted, "")?;
        self.specs[index.0 as usize].starts_traces = true;
        Ok(index)
    }
    #[allow(clippy::too_many_arguments)]
    pub(super) fn insert(
        &mut self,
        name: &str,
        input: Option<InputState>,
        make: Make,
        own: &[Edge],
        drop: &'static str,
        counted: Counted,
        takes: &'static str,
    ) -> Result<NodeIndex, BuildError> {
        if self.index_of(name).is_some() {
            return Err(BuildError::DuplicateNode(name.to_owned()));
        }
        let name: Arc<str> = name.into();
        let edges = own.iter().map(|e| e.to).chain([drop]).map(Target::Name).collect();
        let numbers = self.counters_of(&name, &counted)?;
        let spec = Spec {
            is_input: input.is_some(),
            starts_traces: false,
            is_explainable: false,
            fragments_only: false,
            state: input.unwrap_or(InputState::Adaptive),
            variant: self.variants.of(&name),
            drop_slot: own.len() as u32,
            payloads: own.iter().map(|e| e.payload).collect(),
            arcs: Vec::new(),
            slots: Vec::new(),
            name: Arc::clone(&name),
            make,
            edges,
            takes,
            error_base: numbers.reasons,
            error_count: numbers.count,
            count_base: numbers.counts,
            own_counters: numbers.own,
            reasons: counted.reasons,
            counts: counted.counts,
            owner: self.owner,
        };
        let index = match self.deleted.pop() {
            Some(index) => {
                self.specs[index.0 as usize] = spec;
                index
            }
            None => {
                self.specs.push(spec);
                NodeIndex((self.specs.len() - 1) as u32)
            }
        };
        self.by_name.insert(index.0, |node| &self.specs[node as usize].name);
        if self.threads.are_running() {
            let checked = self.check_waiting(index).and_then(|()| self.check_targets(index));
            if let Err(e) = checked {
                self.forget(index);
                return Err(e);
            }
            self.hand_out(index);
            self.lead_back(index);
        }
        Ok(index)
    }
    /// Numbers for the counters of a new node: its own, or those of the node it is counted at as
    /// far as that has the same.
    fn counters_of(&mut self, name: &Arc<str>, counted: &Counted) -> Result<Numbers, BuildError> {
        if counted.at.is_empty() {
            let own = self.new_counters(name, (counted.reasons, counted.counts))?;
            let counts = own.0 + counted.reasons.len() as u32;
            return Ok(Numbers { reasons: own.0, count: own.1, counts, own: Some(own) });
        }
        let at = self.index_of(counted.at).map(|i| &self.specs[i.0 as usize]);
        let at = at.filter(|at| at.reasons == counted.reasons);
        let at = at.ok_or_else(|| BuildError::UnknownNode(counted.at.to_owned()))?;
        let (reasons, count, counts) = (at.error_base, at.error_count, at.count_base);
        if counted.counts.is_empty() || at.counts == counted.counts {
            return Ok(Numbers { reasons, count, counts, own: None });
        }
        let own = self.new_counters(name, (&[], counted.counts))?;
        Ok(Numbers { reasons, count, counts: own.0, own: Some(own) })
    }
    fn new_counters(
        &mut self,
        name: &Arc<str>,
        texts: (&[CounterText], &[CounterText]),
    ) -> Result<(u32, u32), BuildError> {
        let (base, count) = self.errors.add(name, texts)?;
        let range = base as usize..(base + count) as usize;
        if range.clone().any(|i| self.counters.sum(i) != 0) {
            // They were another node's. A thread that does not answer keeps their values.
            let _ = self.zero_counters(range);
        }
        Ok((base, count))
    }
    /// Removes a node that was made for something that is gone. Packets that still reach it are
    /// dropped and counted; its number is used again for the next node that is added.
    pub fn remove(&mut self, index: NodeIndex) {
        self.forget(index);
        if self.threads.are_running() {
            self.hand_out(index);
        }
    }
    /// Gives a node another name.
    ///
    /// # Errors
    /// A name that another node has.
    pub fn rename(&mut self, index: NodeIndex, name: &str) -> Result<(), BuildError> {
        if self.index_of(name).is_some_and(|i| i != index) {
            return Err(BuildError::DuplicateNode(name.to_owned()));
        }
        self.by_name.remove(index.0, |node| &self.specs[node as usize].name);
        self.specs[index.0 as usize].name = name.into();
        self.by_name.insert(index.0, |node| &self.specs[node as usize].name);
        let spec = &self.specs[index.0 as usize];
        if let Some((base, count)) = spec.own_counters {
            self.errors.rename(base, count, &spec.name);
        }
        Ok(())
    }
    pub(super) fn forget(&mut self, index: NodeIndex) {
        self.waiting.retain(|_, edges| {
            edges.retain(|(from, _)| *from != index);
            !edges.is_empty()
        });
        self.by_name.remove(index.0, |node| &self.specs[node as usize].name);
        let spec = &mut self.specs[index.0 as usize];
        if let Some((base, count)) = spec.own_counters.take() {
            self.errors.remove(base, count);
        }
        spec.name = format!("deleted-{}", index.0).into();
        spec.make = Box::new(|v| Box::new(NodeAdapter::new(super::build::Deleted, v)));
        (spec.is_input, spec.error_count) = (false, 0);
        (spec.is_explainable, spec.fragments_only) = (false, false);
        spec.edges = vec![spec.edges[spec.drop_slot as usize].clone()];
        (spec.drop_slot, spec.error_base) = (0, super::errors::DELETED);
        (spec.payloads, spec.arcs, spec.slots) = (Vec::new(), Vec::new(), Vec::new());
        spec.owner = 0;
        self.deleted.push(index);
    }
    /// Adds an edge between two nodes, or finds it. Nothing travels along it.
    ///
    /// # Errors
    /// A missing node, or one that accepts packets with a payload only.
    pub fn connect(&mut self, from: &str, to: &str) -> Result<Slot, BuildError> {
        let unknown = |n: &str| BuildError::UnknownNode(n.to_owned());
        let at = self.index_of(from).ok_or_else(|| unknown(from))?;
        let target = self.index_of(to).ok_or_else(|| unknown(to))?;
        if !self.takes(target, "") {
            return Err(BuildError::Payload { node: from.to_owned(), to: to.to_owned() });
        }
        let waiting = self.waiting.values().flatten().filter(|(from, _)| *from == at);
        let waiting: Vec<_> = waiting.map(|(_, slot)| *slot).collect();
        let spec = &mut self.specs[at.0 as usize];
        if let Some(slot) = spec.slot_to(target, &waiting) {
            return Ok(Slot(slot));
        }
        let slot = spec.edges.len() as u32;
        spec.edges.push(Target::Node(target));
        if !spec.slots.is_empty() {
            spec.note_slot(target, slot);
        }
        if self.threads.are_running() {
            self.hand_out_edge(at, target);
        }
        Ok(Slot(slot))
    }
    /// Name of the node at the end of an edge that [`Engine::connect`] gave out.
    pub fn end_of(&self, from: &str, slot: Slot) -> Option<&str> {
        self.target_of(from, slot).map(|node| self.name_of(node))
    }
    /// The node at the end of an edge that [`Engine::connect`] gave out.
    pub fn target_of(&self, from: &str, slot: Slot) -> Option<NodeIndex> {
        let edges = &self.specs[self.index_of(from)?.0 as usize].edges;
        match edges.get(slot.0 as usize)? {
            Target::Node(node) => Some(*node),
            Target::Name(name) => self.index_of(name),
        }
    }
    /// The number of a node, by name.
    pub fn index_of(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.find(name, |node| &self.specs[node as usize].name).map(NodeIndex)
    }
    /// The name of a node, by number.
    pub fn name_of(&self, index: NodeIndex) -> &str {
        self.specs.get(index.0 as usize).map_or("", |s| &s.name)
    }
    /// Nodes there are, deleted ones left out.
    pub fn node_names(&self) -> impl Iterator<Item = (NodeIndex, &str)> {
        let live = |i: &usize| self.index_of(&self.specs[*i].name).is_some();
        (0..self.specs.len()).filter(live).map(|i| (NodeIndex(i as u32), &*self.specs[i].name))
    }
    /// A node, as a thread needs it.
    pub(super) fn runtime(&self, index: NodeIndex) -> NodeRuntime {
        let s = &self.specs[index.0 as usize];
        NodeRuntime {
            dispatch: Some((s.make)(s.variant)),
            edges: self.edge_numbers(index),
            drop_slot: s.drop_slot,
            error_base: s.error_base,
            error_count: s.error_count.max(1),
            count_base: s.count_base,
            arcs: s.arcs.clone(),
            open: None,
            full: Default::default(),
            state: s.state,
            interrupt: false,
            to_trace: 0,
            filters_trace: false,
            fragments_only: s.fragments_only,
            stats: NodeStats::default(),
        }
    }
    /// A node for packets that are only explained; `None` for one that may not have them.
    pub(crate) fn runtime_to_explain(&self, index: NodeIndex) -> Option<NodeRuntime> {
        self.specs[index.0 as usize].is_explainable.then(|| self.runtime(index))
    }
    /// Names of the nodes that are run for packets that are only explained.
    pub(crate) fn explainable(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().filter(|s| s.is_explainable).map(|s| &*s.name)
    }
    /// Numbers that nodes have or had.
    pub(crate) fn node_count(&self) -> usize {
        self.specs.len()
    }
    /// Node numbers at the end of a node's edges.
    pub(super) fn edge_numbers(&self, index: NodeIndex) -> Vec<(u32, u64)> {
        let number = |t: &Target| match t {
            Target::Node(i) => (i.0, 0),
            Target::Name(name) => unreachable!("edge to {name} is not resolved"),
        };
        self.specs[index.0 as usize].edges.iter().map(number).collect()
    }
}
