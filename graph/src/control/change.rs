//! Nodes and features that come and go while packets flow.
//!
//! A thread gets all that changes on an arc in one job between two of its loops, when no frame
//! waits: so it sees the arc before the change or after it. Nodes that go are off their arcs first,
//! then nothing leads to them, then what they hold is dropped and counted, and only then they are
//! deleted.

use std::collections::{HashMap, HashSet};

use super::BuildError;
use super::spec::{Counted, Engine, Make, NodeIndex, Target};
use crate::arc::{Enabled, FeatureArc};
use crate::engine::{ArcEdges, Foreign, ForeignAdapter};
use crate::node::{CounterText, Edge};
use crate::worker::NoAnswer;

/// A node's edges and arcs as they are to be.
type Edges = (NodeIndex, Vec<(u32, u64)>, Vec<ArcEdges>);

impl Engine {
    /// Says whose the nodes are that are added from now on; 0 for those that stay.
    pub fn set_owner(&mut self, owner: u32) {
        self.owner = owner;
    }
    /// Owner of nodes added from now on.
    pub fn owner(&self) -> u32 {
        self.owner
    }
    /// Adds a node whose code was not compiled with this program; `node` makes the one of a thread.
    /// What it drops goes to `drop`.
    ///
    /// # Errors
    /// As [`Engine::add`].
    pub fn add_foreign(
        &mut self,
        name: &str,
        (edges, drop): (&[Edge], &'static str),
        (reasons, counts): (&'static [CounterText], &'static [CounterText]),
        node: impl Fn() -> Box<dyn Foreign> + 'static,
    ) -> Result<NodeIndex, BuildError> {
        let make: Make = Box::new(move |_| Box::new(ForeignAdapter::new(node())));
        let counted = Counted { at: "", reasons, counts };
        self.insert(name, None, make, edges, drop, counted, "")
    }
    /// The nodes of an owner.
    pub fn nodes_of(&self, owner: u32) -> Vec<NodeIndex> {
        let all = (0u32..).zip(&self.specs);
        all.filter(|(_, spec)| spec.owner == owner).map(|(at, _)| NodeIndex(at)).collect()
    }
    /// Gives the arcs whose features have changed since the graph was built the edges to them. The
    /// features' nodes are there.
    ///
    /// # Errors
    /// A feature without a node, or no memory: nothing has changed then.
    pub fn lay_out_changed_arcs(&mut self) -> Result<(), BuildError> {
        if !self.threads.are_running() {
            return Ok(()); // they are laid out when the graph is built
        }
        let changed = |n: &usize| self.arcs[*n].features != self.arcs[*n].laid_out;
        let changed: Vec<_> = (0..self.arcs.len()).filter(changed).collect();
        let mut moved = Vec::new();
        for &number in &changed {
            moved.push(self.moved(number)?);
        }
        let mut touched = HashSet::new();
        for (&number, enabled) in changed.iter().zip(moved) {
            let spec = &mut self.arcs[number];
            spec.enabled = Some(enabled);
            spec.laid_out.clone_from(&spec.features);
            self.lay_out_again(number, &mut touched)?;
        }
        self.hand_out_changes(touched);
        for (arc, feature, interface, change) in std::mem::take(&mut self.pending) {
            self.change_feature(arc, &feature, interface, change)?;
        }
        Ok(())
    }
    /// Enabled features, by their new positions.
    fn moved(&self, number: usize) -> Result<Enabled, BuildError> {
        let spec = &self.arcs[number];
        for name in &spec.features {
            self.index_of(name).ok_or_else(|| BuildError::UnknownNode((*name).to_owned()))?;
        }
        let old = |name: &&str| spec.laid_out.iter().position(|f| f == name);
        let from: Vec<_> = spec.features.iter().map(old).collect();
        let enabled = match &spec.enabled {
            Some(enabled) => enabled.moved(&from),
            None => Enabled::new(from.len()),
        };
        enabled.map_err(|_| BuildError::NoMemory(spec.arc.name))
    }
    /// Lays out the edges of all nodes of an arc again.
    fn lay_out_again(
        &mut self,
        number: usize,
        touched: &mut HashSet<NodeIndex>,
    ) -> Result<(), BuildError> {
        let (arc, laid_out) = (self.arcs[number].arc, self.arcs[number].laid_out.clone());
        let targets = self.targets_of(number)?;
        let Some(reader) = self.arcs[number].enabled.as_ref().map(Enabled::reader) else {
            return Ok(());
        };
        let place = |name: &str| laid_out.iter().position(|f| *f == name);
        for at in 0..self.specs.len() {
            let spec = &mut self.specs[at];
            let position = place(&spec.name);
            let is_start = arc.starts.contains(&&*spec.name) && !laid_out.is_empty();
            let known = spec.arcs.iter().position(|a| std::ptr::eq(a.arc, arc));
            if known.is_none() && position.is_none() && !is_start {
                continue;
            }
            let known = known.unwrap_or_else(|| {
                // A feature's own arc stands before those that start at it.
                let (base, features) = (spec.edges.len() as u32, reader.clone());
                let first = if position.is_some() { 0 } else { spec.arcs.len() };
                let new = ArcEdges { arc, features, base, end: 0, room: 0, after: 0 };
                spec.arcs.insert(first, new);
                first
            });
            let edges = &mut spec.arcs[known];
            let (base, len) = (edges.base as usize, targets.len());
            if len > edges.room as usize {
                if base + edges.room as usize != spec.edges.len() {
                    edges.base = spec.edges.len() as u32;
                }
                edges.room = len as u32;
                spec.edges.resize(edges.base as usize + len, Target::Node(targets[len - 1]));
            }
            edges.features = reader.clone();
            edges.end = len as u32 - 1;
            edges.after = position.map_or(0, |at| at as u32 + 1);
            let (base, room) = (edges.base as usize, edges.room as usize);
            let padding = std::iter::repeat(&targets[len - 1]);
            let new = targets.iter().chain(padding).map(|node| Target::Node(*node));
            spec.edges[base..base + room].iter_mut().zip(new).for_each(|(edge, new)| *edge = new);
            spec.slots.clear();
            touched.insert(NodeIndex(at as u32));
        }
        Ok(())
    }
    /// Gives threads the edges of some nodes, all at once.
    fn hand_out_changes(&mut self, nodes: HashSet<NodeIndex>) {
        if nodes.is_empty() {
            return;
        }
        self.post_all(|this| {
            let of = |node: &NodeIndex| -> Edges {
                (*node, this.edge_numbers(*node), this.specs[node.0 as usize].arcs.clone())
            };
            let changes: Vec<_> = nodes.iter().map(of).collect();
            Box::new(move |core| {
                for (node, edges, arcs) in changes {
                    let n = &mut core.nodes[node.0 as usize];
                    let counted = n.edges.iter().map(|e| e.1).chain(std::iter::repeat(0));
                    n.edges = edges.into_iter().zip(counted).map(|(e, c)| (e.0, c)).collect();
                    n.arcs = arcs;
                }
            })
        });
    }
    /// Takes all nodes of an owner out of the graph; what they hold is dropped and counted. When it
    /// returns no thread has anything of them left.
    ///
    /// # Errors
    /// When a thread does not answer: then it may still have something.
    pub fn remove_all_of(&mut self, owner: u32) -> Result<(), NoAnswer> {
        let gone = self.nodes_of(owner);
        self.claims.remove_all_of(owner);
        let placed = self.placed.extract_if(.., |(whose, _)| *whose == owner);
        let mut names: HashSet<String> = placed.map(|(_, name)| name.to_owned()).collect();
        names.extend(gone.iter().map(|n| self.name_of(*n).to_owned()));
        for spec in &mut self.arcs {
            let arc: &'static FeatureArc = spec.arc;
            spec.features.retain(|name| !names.contains(*name));
            spec.order.retain(|name| arc.order.contains(name) || !names.contains(*name));
            for required in spec.required.values_mut() {
                required.retain(|r| !names.contains(r.feature));
            }
            spec.required.retain(|_, required| !required.is_empty());
        }
        self.pending.retain(|(_, feature, ..)| !names.contains(feature));
        let laid_out = self.lay_out_changed_arcs();
        laid_out.map_err(|why| NoAnswer(why.to_string()))?;
        self.lead_elsewhere(&gone);
        self.fence()?;
        let numbers: Vec<_> = gone.iter().map(|node| node.0).collect();
        for thread in self.data_threads() {
            let numbers = numbers.clone();
            self.ask(thread, move |core| core.end_nodes(&numbers))?;
        }
        gone.into_iter().for_each(|node| self.remove(node));
        self.fence()
    }
    /// Edges to missing nodes: the names of both ends.
    pub fn open_edges(&self) -> impl Iterator<Item = (&str, &str)> {
        self.open().map(|(from, to)| (self.name_of(from), to))
    }
    /// The first of these that starts at a node of an owner.
    pub fn open_edge_of(&self, owner: u32) -> Option<(&str, &str)> {
        let first = self.open().find(|(from, _)| self.specs[from.0 as usize].owner == owner);
        first.map(|(from, to)| (self.name_of(from), to))
    }
    fn open(&self) -> impl Iterator<Item = (NodeIndex, &str)> {
        let of = |(to, edges)| {
            let (to, edges): (&String, &Vec<(NodeIndex, u32)>) = (to, edges);
            edges.iter().map(move |(from, _)| (*from, to.as_str()))
        };
        self.waiting.iter().flat_map(of)
    }
    /// A feature of another owner on an arc that ends at a node of this one.
    pub fn guest_on_arcs_of(&self, owner: u32) -> Option<&'static str> {
        let of = |name: &str| self.index_of(name).map(|node| self.specs[node.0 as usize].owner);
        let mut arcs = self.arcs.iter().filter(|spec| of(spec.end()) == Some(owner));
        arcs.find_map(|spec| spec.features.iter().copied().find(|name| of(name) != Some(owner)))
    }
    /// Connects edges that wait for a node of this name.
    pub(super) fn lead_back(&mut self, to: NodeIndex) {
        if self.waiting.is_empty() {
            return;
        }
        let name = self.name_of(to).to_owned();
        let Some(edges) = self.waiting.remove(&name) else { return };
        let mut touched = HashSet::new();
        for (from, slot) in edges {
            let spec = &mut self.specs[from.0 as usize];
            spec.edges[slot as usize] = Target::Node(to);
            spec.slots.clear();
            touched.insert(from);
        }
        self.hand_out_changes(touched);
    }
    /// Redirects all edges to some nodes to where their nodes drop packets, until nodes of the same
    /// names exist again.
    fn lead_elsewhere(&mut self, gone: &[NodeIndex]) {
        let gone: HashSet<_> = gone.iter().copied().collect();
        let is_gone = |edge: &Target| matches!(edge, Target::Node(to) if gone.contains(to));
        let names: HashMap<_, _> =
            gone.iter().map(|node| (*node, self.name_of(*node).to_owned())).collect();
        let mut touched = HashSet::new();
        for (at, spec) in (0u32..).zip(&mut self.specs) {
            if gone.contains(&NodeIndex(at)) || !spec.edges.iter().any(is_gone) {
                continue;
            }
            let drop = spec.edges[spec.drop_slot as usize].clone();
            for (slot, edge) in (0u32..).zip(&mut spec.edges) {
                let Target::Node(to) = edge else { continue };
                let Some(name) = names.get(to) else { continue };
                self.waiting.entry(name.clone()).or_default().push((NodeIndex(at), slot));
                *edge = drop.clone();
            }
            spec.slots.clear();
            touched.insert(NodeIndex(at));
        }
        if self.threads.are_running() {
            self.hand_out_changes(touched);
        }
    }
}
