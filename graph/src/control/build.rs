//! Resolving edges: each leads to a node that takes its payload, or waits for one of that name and
//! drops its packets until then.

use std::convert::Infallible;
use std::fmt;

use super::arcs::ArcSpec;
use super::spec::{Engine, NodeIndex, Target};
use crate::engine::Frame;
use crate::node::Node;

/// Reasons why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// Two nodes have this name.
    DuplicateNode(String),
    /// No node has this name.
    UnknownNode(String),
    /// No node takes the packets that a node drops.
    NoDrop(String),
    /// A feature that the arc does not know.
    NotOnArc {
        /// The feature.
        node: String,
        /// The arc.
        arc: &'static str,
    },
    /// An edge carries another type than the node at its end takes.
    Payload {
        /// The node at the start of the edge.
        node: String,
        /// Its target.
        to: String,
    },
    /// The graph has as many counters as it can.
    TooManyCounters(String),
    /// Two features want the same metadata of packets.
    Metadata {
        /// Purpose of the second claim.
        name: &'static str,
        /// Its purpose.
        other: &'static str,
    },
    /// There is no metadata left for a feature.
    NoMetadata(&'static str),
    /// There is no memory for the features of an arc.
    NoMemory(&'static str),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateNode(name) => write!(f, "duplicate node name {name}"),
            Self::UnknownNode(name) => write!(f, "no node {name}"),
            Self::NoDrop(node) => write!(f, "no drop node for the packets of {node}"),
            Self::NotOnArc { node, arc } => write!(f, "{node} is not placed on arc {arc}"),
            Self::Payload { node, to } => {
                write!(f, "{node} sends {to} another payload than it accepts")
            }
            Self::TooManyCounters(node) => write!(f, "no room for the counters of {node}"),
            Self::Metadata { name, other } => {
                write!(f, "{name} uses packet metadata of {other}")
            }
            Self::NoMetadata(name) => write!(f, "no packet metadata left for {name}"),
            Self::NoMemory(arc) => write!(f, "no memory for the features of arc {arc}"),
        }
    }
}
impl std::error::Error for BuildError {}

/// Node where packets end whose next node is missing, if even the node's own drop is.
const DROP: &str = "error-drop";

/// A sink takes whatever arrives.
const ANYTHING: &str = "*";

/// Stands in for a node that was removed.
#[derive(Clone)]
pub(super) struct Deleted;

/// Reasons of [`Deleted`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum DeletedError {
    /// Interface deleted.
    Deleted,
}

impl Node for Deleted {
    const NAME: &'static str = "deleted";
    type Next = Infallible;
    type Error = DeletedError;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(DeletedError::Deleted));
    }
}

impl Engine {
    /// Resolves and checks everything that was added. An edge to a missing node drops its packets
    /// until the node exists.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn build(&mut self) -> Result<(), BuildError> {
        for at in 0..self.specs.len() {
            self.check_targets(NodeIndex(at as u32))?;
        }
        self.lay_out_arcs()
    }
    /// Names that edges or arcs lead to and no node has: what a test ends in sinks.
    pub(crate) fn open_names(&self) -> Vec<&'static str> {
        let edges = self.specs.iter().flat_map(|s| &s.edges).filter_map(|e| match e {
            Target::Name(name) => Some(*name),
            Target::Node(_) => None,
        });
        let starts = self.starts.iter().map(|(_, arc)| arc.end);
        let ends = self.arcs.iter().map(ArcSpec::end).chain(starts);
        let mut names: Vec<_> = edges.chain(ends).filter(|n| self.index_of(n).is_none()).collect();
        names.sort_unstable();
        names.dedup();
        // What a sink itself would drop to.
        if !names.contains(&"error-drop") && self.index_of("error-drop").is_none() {
            names.push("error-drop");
        }
        names
    }
    /// Whether a node takes packets with this payload.
    pub(super) fn takes(&self, index: NodeIndex, payload: &str) -> bool {
        let takes = self.specs[index.0 as usize].takes;
        takes == ANYTHING || takes == payload
    }
    /// Lets a node take packets with any payload: a sink of a test.
    pub(crate) fn take_anything(&mut self, index: NodeIndex) {
        self.specs[index.0 as usize].takes = ANYTHING;
    }
    /// Resolves the edges of one node; those to missing nodes wait.
    pub(super) fn check_targets(&mut self, index: NodeIndex) -> Result<(), BuildError> {
        let spec = &self.specs[index.0 as usize];
        let (mut edges, mut waiting) = (spec.edges.clone(), Vec::new());
        let drop = match edges[spec.drop_slot as usize] {
            Target::Name(name) => self.index_of(name).or_else(|| self.index_of(DROP)),
            Target::Node(node) => Some(node),
        };
        let drop = drop.ok_or_else(|| BuildError::NoDrop(spec.name.to_string()))?;
        for (slot, edge) in edges.iter_mut().enumerate() {
            let Target::Name(to) = *edge else { continue };
            let Some(target) = self.index_of(to) else {
                waiting.push((to, slot as u32));
                *edge = Target::Node(drop);
                continue;
            };
            self.check_payload(index, slot as u32, target)?;
            *edge = Target::Node(target);
        }
        self.specs[index.0 as usize].edges = edges;
        for (to, slot) in waiting {
            self.waiting.entry(to.to_owned()).or_default().push((index, slot));
        }
        Ok(())
    }
    /// Checks the payloads of edges that wait for a node.
    pub(super) fn check_waiting(&self, to: NodeIndex) -> Result<(), BuildError> {
        let edges = self.waiting.get(self.name_of(to)).into_iter().flatten();
        edges.clone().try_for_each(|(from, slot)| self.check_payload(*from, *slot, to))
    }
    fn check_payload(&self, from: NodeIndex, slot: u32, to: NodeIndex) -> Result<(), BuildError> {
        let payloads = &self.specs[from.0 as usize].payloads;
        if self.takes(to, payloads.get(slot as usize).copied().unwrap_or("")) {
            return Ok(());
        }
        let (node, to) = (self.name_of(from).to_owned(), self.name_of(to).to_owned());
        Err(BuildError::Payload { node, to })
    }
}
