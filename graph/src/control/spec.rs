//! The description of the graph: nodes, edges, arcs; adding to it before and while threads run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use infra::counter::{Counter, Rows};
use infra::cpu::Variant;
use infra::rcu::Shared;
use infra::time::Clock;

use super::BuildError;
use super::errors::Errors;
use super::run::Threads;
use crate::arc::{ArcTable, FeatureArc};
use crate::buffer::Pool;
use crate::engine::{ArcEdges, Dispatch, InputAdapter, NodeAdapter, NodeRuntime, NodeStats};
use crate::node::{Count, CounterText, Edge, Input, InputState, Next, Node, Reason, Slot};
use crate::watch::Watch;

/// Number of a node in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u16);

/// What a node counts, and under which node's name if not its own.
struct Counted {
    at: &'static str,
    reasons: &'static [CounterText],
    counts: &'static [CounterText],
}

type Make = Box<dyn Fn(Variant) -> Box<dyn Dispatch>>;

/// Where an edge leads: a name until the graph is built, a number from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Name(&'static str),
    Node(NodeIndex),
}

/// One node as control knows it.
pub(super) struct Spec {
    pub name: Arc<str>,
    pub is_input: bool,
    /// Whether traces start here.
    pub starts_traces: bool,
    pub state: InputState,
    pub make: Make,
    /// First the node's own edges, then the drop, then what was connected or arcs added.
    pub edges: Vec<Target>,
    /// Payload of each of the node's own edges.
    pub payloads: Vec<&'static str>,
    pub takes: &'static str,
    pub drop_slot: u16,
    pub error_base: u16,
    pub error_count: u16,
    pub reasons: &'static [CounterText],
    pub counts: &'static [CounterText],
    /// Whether its counters are another node's.
    pub shares: bool,
    pub arcs: Vec<ArcEdges>,
    pub variant: Variant,
}

/// Everything about the graph that control owns: nodes, arcs, counters, buffers and threads.
pub struct Engine {
    pub(super) specs: Vec<Spec>,
    pub(super) by_name: HashMap<Arc<str>, NodeIndex>,
    pub(super) deleted: Vec<NodeIndex>,
    /// Arcs in use, each with its built features in order.
    pub(super) arcs: Vec<(&'static FeatureArc, Vec<&'static str>)>,
    /// Starts of arcs among nodes made for one interface, until the graph is built.
    pub(super) starts: Vec<(NodeIndex, &'static FeatureArc)>,
    pub(super) table: Shared<ArcTable>,
    pub(super) errors: Errors,
    pub(super) counters: Rows<Counter>,
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) threads: Threads,
    pub(super) poll_sleep: Duration,
    /// Who sees packets on all threads.
    pub(crate) watches: Vec<Watch>,
    pub(super) variants: super::run::VariantChoice,
}

impl Engine {
    /// Adds a node under its own name.
    ///
    /// # Errors
    /// A duplicate name; once the graph is built, also an unknown target.
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
        self.specs[usize::from(index.0)].starts_traces = N::STARTS_TRACES;
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
        self.specs[usize::from(index.0)].starts_traces = true;
        Ok(index)
    }
    /// Adds a node and puts it on a feature arc, where the arc's catalogue has its name.
    ///
    /// # Errors
    /// As [`Engine::add`], and a name that the catalogue does not have.
    pub fn add_feature<N: Node>(
        &mut self,
        arc: &'static FeatureArc,
        node: N,
    ) -> Result<NodeIndex, BuildError> {
        self.place(arc, N::NAME)?;
        self.add(node)
    }
    /// Puts a node that is there (or will be) on a feature arc.
    ///
    /// # Errors
    /// A name that the arc's catalogue does not have.
    pub fn place(
        &mut self,
        arc: &'static FeatureArc,
        node: &'static str,
    ) -> Result<(), BuildError> {
        let position = |n: &str| arc.order.iter().position(|o| *o == n);
        if position(node).is_none() {
            return Err(BuildError::NotOnArc { node: node.to_owned(), arc: arc.name });
        }
        let at = self.arc_number(arc);
        let features = &mut self.arcs[at].1;
        features.push(node);
        features.sort_by_key(|n| position(n));
        Ok(())
    }
    /// Number of an arc; a new one is added.
    pub(super) fn arc_number(&mut self, arc: &'static FeatureArc) -> usize {
        self.arcs.iter().position(|(a, _)| std::ptr::eq(*a, arc)).unwrap_or_else(|| {
            self.arcs.push((arc, Vec::new()));
            self.arcs.len() - 1
        })
    }
    #[allow(clippy::too_many_arguments)]
    fn insert(
        &mut self,
        name: &str,
        input: Option<InputState>,
        make: Make,
        own: &'static [Edge],
        drop: &'static str,
        counted: Counted,
        takes: &'static str,
    ) -> Result<NodeIndex, BuildError> {
        if self.by_name.contains_key(name) {
            return Err(BuildError::DuplicateNode(name.to_owned()));
        }
        let name: Arc<str> = name.into();
        let edges = own.iter().map(|e| e.to).chain([drop]).map(Target::Name).collect();
        let (error_base, error_count) = self.counters_of(&name, &counted)?;
        let spec = Spec {
            is_input: input.is_some(),
            starts_traces: false,
            state: input.unwrap_or(InputState::Adaptive),
            variant: self.variants.of(&name),
            drop_slot: own.len() as u16,
            payloads: own.iter().map(|e| e.payload).collect(),
            arcs: Vec::new(),
            name: Arc::clone(&name),
            make,
            edges,
            takes,
            error_base,
            error_count,
            reasons: counted.reasons,
            counts: counted.counts,
            shares: !counted.at.is_empty(),
        };
        let index = match self.deleted.pop() {
            Some(index) => {
                self.specs[usize::from(index.0)] = spec;
                index
            }
            None => {
                self.specs.push(spec);
                NodeIndex((self.specs.len() - 1) as u16)
            }
        };
        self.by_name.insert(name, index);
        if self.threads.are_running() {
            if let Err(e) = self.check_targets(index) {
                self.forget(index);
                return Err(e);
            }
            self.hand_out(index);
        }
        Ok(index)
    }
    /// Numbers for the counters of a new node: its own, or those of the node it is counted at.
    fn counters_of(
        &mut self,
        name: &Arc<str>,
        counted: &Counted,
    ) -> Result<(u16, u16), BuildError> {
        if counted.at.is_empty() {
            let texts = (counted.reasons, counted.counts);
            let (base, count) = self.errors.add(name, texts)?;
            let range = usize::from(base)..usize::from(base) + usize::from(count);
            if range.clone().any(|i| self.counters.sum(i) != 0) {
                // They were another node's. A thread that does not answer keeps their values.
                let _ = self.zero_counters(range);
            }
            return Ok((base, count));
        }
        let at = self.index_of(counted.at).map(|i| &self.specs[usize::from(i.0)]);
        let same = |at: &&Spec| {
            let counts = counted.counts.is_empty() || at.counts == counted.counts;
            at.reasons == counted.reasons && counts
        };
        match at.filter(same) {
            Some(at) => Ok((at.error_base, at.error_count)),
            None => Err(BuildError::UnknownNode(counted.at.to_owned())),
        }
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
        if self.by_name.get(name).is_some_and(|i| *i != index) {
            return Err(BuildError::DuplicateNode(name.to_owned()));
        }
        let spec = &mut self.specs[usize::from(index.0)];
        let old = std::mem::replace(&mut spec.name, name.into());
        self.by_name.remove(&old);
        self.by_name.insert(Arc::clone(&spec.name), index);
        if !spec.shares {
            self.errors.rename(spec.error_base, spec.error_count, &spec.name);
        }
        Ok(())
    }
    fn forget(&mut self, index: NodeIndex) {
        let spec = &mut self.specs[usize::from(index.0)];
        self.by_name.remove(&spec.name);
        if !spec.shares {
            self.errors.remove(spec.error_base, spec.error_count);
        }
        spec.name = format!("deleted-{}", index.0).into();
        spec.make = Box::new(|v| Box::new(NodeAdapter::new(super::build::Deleted, v)));
        (spec.is_input, spec.error_count) = (false, 0);
        spec.edges = vec![spec.edges[usize::from(spec.drop_slot)].clone()];
        (spec.drop_slot, spec.error_base) = (0, super::errors::DELETED);
        spec.payloads.clear();
        spec.arcs.clear();
        self.deleted.push(index);
    }
    /// Adds an edge between two nodes, or finds it. Nothing travels along it.
    ///
    /// # Errors
    /// A node that is not there, or one that takes packets with a payload only.
    pub fn connect(&mut self, from: &str, to: &str) -> Result<Slot, BuildError> {
        let unknown = |n: &str| BuildError::UnknownNode(n.to_owned());
        let at = self.index_of(from).ok_or_else(|| unknown(from))?;
        let target = self.index_of(to).ok_or_else(|| unknown(to))?;
        if !self.takes(target, "") {
            return Err(BuildError::Payload { node: from.to_owned(), to: to.to_owned() });
        }
        let edges = &mut self.specs[usize::from(at.0)].edges;
        let slot = edges.iter().position(|e| *e == Target::Node(target)).unwrap_or_else(|| {
            edges.push(Target::Node(target));
            edges.len() - 1
        });
        if self.threads.are_running() {
            self.hand_out_edges(at);
        }
        Ok(Slot(slot as u16))
    }
    /// Name of the node at the end of an edge that [`Engine::connect`] gave out.
    pub fn end_of(&self, from: &str, slot: Slot) -> Option<&str> {
        let edges = &self.specs[usize::from(self.index_of(from)?.0)].edges;
        match edges.get(usize::from(slot.0))? {
            Target::Node(node) => Some(self.name_of(*node)),
            Target::Name(name) => Some(name),
        }
    }
    /// Says that node `node`, made for one interface, is a start of `arc`; or that it hands packets
    /// on the arc to another thread, where they go on. Call before it is in use.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn starts(&mut self, node: NodeIndex, arc: &'static FeatureArc) -> Result<(), BuildError> {
        if !self.threads.are_running() {
            self.starts.push((node, arc)); // the arc's features are not known yet
            return Ok(());
        }
        self.add_arc_edges(node, arc)?;
        self.hand_out_edges(node);
        Ok(())
    }
    /// The number of a node, by name.
    pub fn index_of(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }
    /// The name of a node, by number.
    pub fn name_of(&self, index: NodeIndex) -> &str {
        self.specs.get(usize::from(index.0)).map_or("", |s| &s.name)
    }
    /// Nodes there are, deleted ones left out.
    pub fn node_names(&self) -> impl Iterator<Item = (NodeIndex, &str)> {
        let live = |i: &usize| self.by_name.contains_key(&self.specs[*i].name);
        (0..self.specs.len()).filter(live).map(|i| (NodeIndex(i as u16), &*self.specs[i].name))
    }
    /// What a thread needs of a node.
    pub(super) fn runtime(&self, index: NodeIndex) -> NodeRuntime {
        let s = &self.specs[usize::from(index.0)];
        NodeRuntime {
            dispatch: Some((s.make)(s.variant)),
            edges: self.edge_numbers(index),
            drop_slot: s.drop_slot,
            error_base: s.error_base,
            error_count: s.error_count.max(1),
            arcs: s.arcs.clone(),
            open: None,
            full: Default::default(),
            state: s.state,
            interrupt: false,
            to_trace: 0,
            stats: NodeStats::default(),
        }
    }
    /// Node numbers at the end of a node's edges.
    pub(super) fn edge_numbers(&self, index: NodeIndex) -> Vec<(u16, u64)> {
        let number = |t: &Target| match t {
            Target::Node(i) => (i.0, 0),
            Target::Name(name) => unreachable!("edge to {name} is not resolved"),
        };
        self.specs[usize::from(index.0)].edges.iter().map(number).collect()
    }
}
