//! Checking the graph as a whole: every edge must lead somewhere, with the payload the other end
//! takes.

use std::convert::Infallible;
use std::fmt;

use super::spec::{Engine, NodeIndex, Target};
use crate::arc::FeatureArc;
use crate::engine::{ArcEdges, Frame};
use crate::node::Node;

/// Why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// Two nodes have this name.
    DuplicateNode(String),
    /// No node has this name.
    UnknownNode(String),
    /// An edge leads nowhere.
    UnknownTarget {
        /// Where the edge starts.
        node: String,
        /// The name no node has.
        to: String,
    },
    /// A feature that the arc's catalogue does not know.
    NotOnArc {
        /// The feature.
        node: String,
        /// The arc.
        arc: &'static str,
    },
    /// What travels along an edge is not what the node at its end takes.
    Payload {
        /// Where the edge starts.
        node: String,
        /// Where it leads.
        to: String,
    },
    /// The graph has as many counters as it can.
    TooManyCounters(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateNode(name) => write!(f, "two nodes are named {name}"),
            Self::UnknownNode(name) => write!(f, "no node is named {name}"),
            Self::UnknownTarget { node, to } => {
                write!(f, "{node} sends packets to {to}, which no feature registers")
            }
            Self::NotOnArc { node, arc } => write!(f, "{node} has no place on arc {arc}"),
            Self::Payload { node, to } => {
                write!(f, "{node} does not send {to} the payload that it takes")
            }
            Self::TooManyCounters(node) => write!(f, "no room for the counters of {node}"),
        }
    }
}
impl std::error::Error for BuildError {}

/// A sink takes whatever arrives.
const ANYTHING: &str = "*";

/// Stands in for a node that was removed.
#[derive(Clone)]
pub(super) struct Deleted;

/// Reasons of [`Deleted`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum Gone {
    /// Interface deleted.
    Deleted,
}

impl Node for Deleted {
    const NAME: &'static str = "deleted";
    type Next = Infallible;
    type Error = Gone;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(Gone::Deleted));
    }
}

impl Engine {
    /// Resolves and checks everything that was added. From here on, adding checks at once.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn build(&mut self) -> Result<(), BuildError> {
        for at in 0..self.specs.len() {
            self.check_targets(NodeIndex(at as u16))?;
        }
        // A node's first entry must be the arc it is on, so features come before starts.
        for (arc, features) in self.arcs.clone() {
            for node in features {
                let index = self.index_of(node);
                let index = index.ok_or_else(|| BuildError::UnknownNode(node.to_owned()))?;
                self.add_arc_edges(index, arc)?;
            }
        }
        let used = |(_, features): &(_, Vec<_>)| !features.is_empty();
        for (arc, features) in self.arcs.clone().into_iter().filter(used) {
            for start in arc.starts.iter().filter(|s| !features.contains(s)) {
                if let Some(index) = self.index_of(start) {
                    self.add_arc_edges(index, arc)?;
                }
            }
        }
        for (index, arc) in std::mem::take(&mut self.starts) {
            self.add_arc_edges(index, arc)?;
        }
        Ok(())
    }
    /// Names that edges or arcs lead to and no node has: what a test ends in sinks.
    pub(crate) fn open_names(&self) -> Vec<&'static str> {
        let edges = self.specs.iter().flat_map(|s| &s.edges).filter_map(|e| match e {
            Target::Name(name) => Some(*name),
            Target::Node(_) => None,
        });
        let starts = self.starts.iter().map(|(_, arc)| *arc);
        let ends = self.arcs.iter().map(|(arc, _)| *arc).chain(starts).map(|arc| arc.end);
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
        let takes = self.specs[usize::from(index.0)].takes;
        takes == ANYTHING || takes == payload
    }
    /// Lets a node take packets with any payload: a sink of a test.
    pub(crate) fn take_anything(&mut self, index: NodeIndex) {
        self.specs[usize::from(index.0)].takes = ANYTHING;
    }
    /// Resolves the edges of one node.
    pub(super) fn check_targets(&mut self, index: NodeIndex) -> Result<(), BuildError> {
        let spec = &self.specs[usize::from(index.0)];
        let mut edges = spec.edges.clone();
        for (slot, edge) in edges.iter_mut().enumerate() {
            let Target::Name(to) = *edge else { continue };
            let names = || (spec.name.to_string(), to.to_owned());
            let target = self.index_of(to).ok_or_else(|| {
                let (node, to) = names();
                BuildError::UnknownTarget { node, to }
            })?;
            if !self.takes(target, spec.payloads.get(slot).copied().unwrap_or("")) {
                let (node, to) = names();
                return Err(BuildError::Payload { node, to });
            }
            *edge = Target::Node(target);
        }
        self.specs[usize::from(index.0)].edges = edges;
        Ok(())
    }
    /// Gives a node the edges to every feature of an arc, in order, and to the arc's end.
    pub(super) fn add_arc_edges(
        &mut self,
        index: NodeIndex,
        arc: &'static FeatureArc,
    ) -> Result<(), BuildError> {
        let number = self.arc_number(arc);
        let names = self.arcs[number].1.iter().chain([&arc.end]);
        let targets: Vec<_> = names
            .map(|n| self.index_of(n).ok_or_else(|| BuildError::UnknownNode((*n).to_owned())))
            .collect::<Result<_, _>>()?;
        let spec = &mut self.specs[usize::from(index.0)];
        let (base, end) = (spec.edges.len() as u16, targets.len() as u16 - 1);
        spec.edges.extend(targets.into_iter().map(Target::Node));
        spec.arcs.push(ArcEdges { arc, number, base, end });
        Ok(())
    }
    /// Switches a feature of an arc on or off for one interface; other interfaces' packets notice
    /// nothing.
    ///
    /// # Errors
    /// A feature that is not on the arc.
    pub fn set_feature(
        &mut self,
        arc: &'static FeatureArc,
        feature: &str,
        interface: u32,
        on: bool,
    ) -> Result<(), BuildError> {
        let number = self.arc_number(arc);
        let features = &self.arcs[number].1;
        let Some(position) = features.iter().position(|f| *f == feature) else {
            return Err(BuildError::NotOnArc { node: feature.to_owned(), arc: arc.name });
        };
        let (position, end) = (position as u8, features.len() as u8);
        let mut table = self.table.current().clone();
        let at = interface as usize;
        table.arcs.resize(table.arcs.len().max(number + 1), Vec::new());
        let chains = &mut table.arcs[number];
        chains.resize(chains.len().max(at + 1), None);
        let old = chains[at].as_deref().unwrap_or(&[]);
        let mut chain: Vec<u8> =
            old.iter().copied().filter(|p| *p != position && *p != end).collect();
        if on {
            chain.push(position);
            chain.sort_unstable();
        }
        chains[at] = (!chain.is_empty()).then(|| chain.into_iter().chain([end]).collect());
        while chains.last().is_some_and(Option::is_none) {
            chains.pop(); // an arc nobody uses costs its start nothing
        }
        self.table.publish(table);
        Ok(())
    }
    /// The arc of this name, if it is known.
    pub fn arc_named(&self, name: &str) -> Option<&'static FeatureArc> {
        self.arcs.iter().map(|(arc, _)| *arc).find(|arc| arc.name == name)
    }
    /// Says that there is an arc, whether or not a feature is built for it.
    pub fn declare(&mut self, arc: &'static FeatureArc) {
        self.arc_number(arc);
    }
    /// Arcs there are: name, features that are there in order, and the node at the end.
    pub fn arcs(&self) -> impl Iterator<Item = (&'static str, &[&'static str], &'static str)> {
        self.arcs.iter().map(|(arc, features)| (arc.name, features.as_slice(), arc.end))
    }
    /// Features that are on for an interface, arc by arc: name of the arc, its features.
    pub fn features_of(&self, interface: u32) -> Vec<(&'static str, Vec<&'static str>)> {
        let on = |(number, (arc, features)): (usize, &(&'static FeatureArc, Vec<&'static str>))| {
            let chain = self.table.current().chains(Some(number)).get(interface as usize);
            let chain = chain.and_then(Option::as_deref).unwrap_or(&[]);
            let name = |p: &u8| features.get(usize::from(*p)).copied();
            (arc.name, chain.iter().filter_map(name).collect())
        };
        self.arcs.iter().enumerate().map(on).collect()
    }
}
