//! Feature arcs as control sees them: which features there are, in which order, and where they are
//! on.
//!
//! A feature is on for an interface while its own switch is, or while others require it: these are
//! counted, so that none of them switches it off for another.

use std::collections::HashMap;

use infra::order::Order;

use super::BuildError;
use super::spec::{Engine, NodeIndex, Target};
use crate::arc::{Beside, Enabled, FeatureArc, MOST_INTERFACES, Side};
use crate::engine::ArcEdges;
use crate::node::Node;

/// An arc and its features.
pub(super) struct ArcSpec {
    pub arc: &'static FeatureArc,
    /// Names with a place on it, in order, built or not; the last one is the end.
    pub order: Vec<&'static str>,
    /// Built features, in order.
    pub features: Vec<&'static str>,
    /// The features as nodes and interfaces number them.
    pub laid_out: Vec<&'static str>,
    /// Enabled features; made when the graph is built.
    pub enabled: Option<Enabled>,
    /// Features that others require, by interface.
    pub required: HashMap<u32, Vec<Required>>,
}

/// A feature that others require on an interface.
pub(super) struct Required {
    pub feature: &'static str,
    /// Number of features that require it.
    count: u32,
    /// Whether its own switch is on.
    own: bool,
}

/// A change of what is on.
#[derive(Clone, Copy)]
pub(super) enum FeatureChange {
    Switch(bool),
    Require,
    Release,
}

/// A change that waits for the graph to be built.
pub(super) type Pending = (&'static FeatureArc, String, u32, FeatureChange);

impl ArcSpec {
    fn new(arc: &'static FeatureArc) -> Self {
        Self {
            arc,
            order: arc.order.iter().chain([&arc.end]).copied().collect(),
            features: Vec::new(),
            laid_out: Vec::new(),
            enabled: None,
            required: HashMap::new(),
        }
    }
    fn place(&self, name: &str) -> Option<usize> {
        self.order.iter().position(|n| *n == name)
    }
    /// The node where packets go when no feature is left.
    pub fn end(&self) -> &'static str {
        self.arc.end
    }
    fn is_on(&self, interface: u32, position: usize) -> bool {
        self.enabled.as_ref().is_some_and(|enabled| enabled.is_on(interface, position))
    }
    fn change(&mut self, position: usize, interface: u32, change: FeatureChange) {
        let (feature, is_on) = (self.laid_out[position], self.is_on(interface, position));
        let required = self.required.entry(interface).or_default();
        let at = required.iter().position(|r| r.feature == feature);
        let on = match (change, at) {
            (FeatureChange::Switch(on), None) => on,
            (FeatureChange::Switch(on), Some(at)) => {
                required[at].own = on;
                true
            }
            (FeatureChange::Require, None) => {
                required.push(Required { feature, count: 1, own: is_on });
                true
            }
            (FeatureChange::Require, Some(at)) => {
                required[at].count += 1;
                true
            }
            (FeatureChange::Release, None) => {
                panic!("{feature} is released more often than required")
            }
            (FeatureChange::Release, Some(at)) => {
                required[at].count -= 1;
                required[at].count > 0 || required.swap_remove(at).own
            }
        };
        if required.is_empty() {
            self.required.remove(&interface);
        }
        if let Some(enabled) = &mut self.enabled {
            enabled.set(interface, position, on);
        }
    }
}

impl Engine {
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
    /// Puts a node that exists (or will be) on a feature arc.
    ///
    /// # Errors
    /// A name that the arc's catalogue does not have.
    pub fn place(
        &mut self,
        arc: &'static FeatureArc,
        node: &'static str,
    ) -> Result<(), BuildError> {
        let number = self.arc_number(arc);
        let spec = &mut self.arcs[number];
        if !arc.order.contains(&node) {
            return Err(BuildError::NotOnArc { node: node.to_owned(), arc: arc.name });
        }
        spec.features.push(node);
        self.sort_features(number);
        if self.owner != 0 {
            self.placed.push((self.owner, node));
        }
        Ok(())
    }
    /// Puts a node that exists (or will be) on a feature arc whose catalogue does not know it,
    /// beside another one: a name of the catalogue, built or not, one that was placed so before, or
    /// the arc's end.
    ///
    /// # Errors
    /// Another node that the arc does not have, or this one when it has a place already.
    pub fn place_beside(
        &mut self,
        arc: &'static FeatureArc,
        node: &'static str,
        beside: Beside,
    ) -> Result<(), BuildError> {
        let number = self.arc_number(arc);
        let spec = &mut self.arcs[number];
        let (other, behind) = match beside {
            Beside::Before(other) => (other, 0),
            Beside::After(other) => (other, 1),
        };
        let at = spec.place(other).map(|at| at + behind).filter(|at| *at < spec.order.len());
        let not_there = || BuildError::NotOnArc { node: other.to_owned(), arc: arc.name };
        let at = at.ok_or_else(not_there)?;
        if spec.place(node).is_some() {
            return Err(BuildError::DuplicateNode(node.to_owned()));
        }
        spec.order.insert(at, node);
        spec.features.push(node);
        self.sort_features(number);
        if self.owner != 0 {
            self.placed.push((self.owner, node));
        }
        Ok(())
    }
    fn sort_features(&mut self, number: usize) {
        let ArcSpec { order, features, .. } = &mut self.arcs[number];
        features.order_by_key(|name| order.iter().position(|n| n == name));
    }
    /// Number of an arc; a new one is added.
    fn arc_number(&mut self, arc: &'static FeatureArc) -> usize {
        self.arcs.iter().position(|a| std::ptr::eq(a.arc, arc)).unwrap_or_else(|| {
            self.arcs.push(ArcSpec::new(arc));
            self.arcs.len() - 1
        })
    }
    /// Numbers the features of all arcs, and gives the nodes their edges.
    pub(super) fn lay_out_arcs(&mut self) -> Result<(), BuildError> {
        for number in 0..self.arcs.len() {
            let spec = &mut self.arcs[number];
            let is_carried = spec.arc.side == Side::Carried;
            assert!(!is_carried || spec.features.len() < 64, "a packet carries 64 bits");
            let enabled = Enabled::new(spec.features.len());
            spec.enabled = Some(enabled.map_err(|_| BuildError::NoMemory(spec.arc.name))?);
            spec.laid_out.clone_from(&spec.features);
        }
        // A node's first entry must be the arc it is on, so features come before starts.
        for number in 0..self.arcs.len() {
            let (arc, features) = (self.arcs[number].arc, self.arcs[number].laid_out.clone());
            for (position, name) in features.into_iter().enumerate() {
                let index = self.index_of(name);
                let index = index.ok_or_else(|| BuildError::UnknownNode(name.to_owned()))?;
                self.add_arc_edges(index, arc, position as u32 + 1)?;
            }
        }
        for number in 0..self.arcs.len() {
            let spec = &self.arcs[number];
            let (arc, features) = (spec.arc, spec.laid_out.clone());
            let starts = arc.starts.iter().filter(|s| !features.contains(s));
            for start in starts.filter(|_| !features.is_empty()) {
                if let Some(index) = self.index_of(start) {
                    self.add_arc_edges(index, arc, 0)?;
                }
            }
        }
        for (index, arc) in std::mem::take(&mut self.starts) {
            self.add_arc_edges(index, arc, 0)?;
        }
        for (arc, feature, interface, change) in std::mem::take(&mut self.pending) {
            self.change_feature(arc, &feature, interface, change)?;
        }
        Ok(())
    }
    /// Gives a node the edges to every feature of an arc, in order, and to the arc's end. `after`
    /// is the position after its own, if it is one of them.
    pub(super) fn add_arc_edges(
        &mut self,
        index: NodeIndex,
        arc: &'static FeatureArc,
        after: u32,
    ) -> Result<(), BuildError> {
        let number = self.arc_number(arc);
        let spec = &mut self.arcs[number];
        if spec.enabled.is_none() {
            let enabled = Enabled::new(0).map_err(|_| BuildError::NoMemory(arc.name))?;
            spec.enabled = Some(enabled);
        }
        let Some(features) = spec.enabled.as_ref().map(Enabled::reader) else { return Ok(()) };
        let targets = self.targets_of(number)?;
        let spec = &mut self.specs[index.0 as usize];
        let (base, room) = (spec.edges.len() as u32, targets.len() as u32);
        spec.edges.extend(targets.into_iter().map(Target::Node));
        spec.slots.clear();
        spec.arcs.push(ArcEdges { arc, features, base, end: room - 1, room, after });
        Ok(())
    }
    /// The features of an arc, and after these its end.
    pub(super) fn targets_of(&self, number: usize) -> Result<Vec<NodeIndex>, BuildError> {
        let ArcSpec { arc, laid_out, .. } = &self.arcs[number];
        let index = |n: &&str| self.index_of(n).ok_or_else(|| BuildError::UnknownNode((*n).into()));
        laid_out.iter().chain([&arc.end]).map(index).collect()
    }
    /// Says that node `node`, made for one interface, is a start of `arc`. Call before it is in
    /// use.
    ///
    /// # Errors
    /// A missing node.
    pub fn starts(&mut self, node: NodeIndex, arc: &'static FeatureArc) -> Result<(), BuildError> {
        if !self.threads.are_running() {
            self.starts.push((node, arc)); // the arc's features are not known yet
            return Ok(());
        }
        self.add_arc_edges(node, arc, 0)?;
        self.hand_out_edges(node);
        Ok(())
    }
    /// Switches a feature of an arc on or off for one interface; other interfaces' packets notice
    /// nothing. It stays on while others require it.
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
        self.change_feature(arc, feature, interface, FeatureChange::Switch(on))
    }
    /// Enables a feature on one interface, whatever its switch says, until it is released as often
    /// as required.
    ///
    /// # Errors
    /// A feature that is not on the arc.
    pub fn require_feature(
        &mut self,
        arc: &'static FeatureArc,
        feature: &str,
        interface: u32,
    ) -> Result<(), BuildError> {
        self.change_feature(arc, feature, interface, FeatureChange::Require)
    }
    /// Takes back what [`Engine::require_feature`] said once.
    ///
    /// # Errors
    /// A feature that is not on the arc.
    ///
    /// # Panics
    /// When it was not required.
    pub fn release_feature(
        &mut self,
        arc: &'static FeatureArc,
        feature: &str,
        interface: u32,
    ) -> Result<(), BuildError> {
        self.change_feature(arc, feature, interface, FeatureChange::Release)
    }
    pub(super) fn change_feature(
        &mut self,
        arc: &'static FeatureArc,
        feature: &str,
        interface: u32,
        change: FeatureChange,
    ) -> Result<(), BuildError> {
        assert!((interface as usize) < MOST_INTERFACES, "interfaces have numbers below the most");
        let number = self.arc_number(arc);
        let spec = &mut self.arcs[number];
        let not_there = || BuildError::NotOnArc { node: feature.to_owned(), arc: arc.name };
        if !spec.features.contains(&feature) {
            return Err(not_there());
        }
        if spec.enabled.is_none() || !spec.laid_out.contains(&feature) {
            // Its number is not known yet.
            self.pending.push((arc, feature.to_owned(), interface, change));
            return Ok(());
        }
        let position = spec.laid_out.iter().position(|f| *f == feature).ok_or_else(not_there)?;
        spec.change(position, interface, change);
        Ok(())
    }
    /// Disables everything on a deleted interface, even if required.
    pub fn forget_interface(&mut self, interface: u32) {
        for spec in &mut self.arcs {
            spec.required.remove(&interface);
            spec.enabled.iter_mut().for_each(|enabled| enabled.clear(interface));
        }
    }
    /// The bit of a feature on an arc of [`Side::Carried`](crate::arc::Side); 0 when it is not
    /// there.
    pub fn feature_bit(&self, arc: &'static FeatureArc, feature: &str) -> u64 {
        let spec = self.arcs.iter().find(|spec| std::ptr::eq(spec.arc, arc));
        let at = spec.and_then(|spec| spec.laid_out.iter().position(|f| *f == feature));
        at.map_or(0, |at| 1 << at)
    }
    /// The arc of this name, if it is known.
    pub fn arc_named(&self, name: &str) -> Option<&'static FeatureArc> {
        self.arcs.iter().map(|spec| spec.arc).find(|arc| arc.name == name)
    }
    /// Says that there is an arc, whether or not a feature is built for it.
    pub fn declare(&mut self, arc: &'static FeatureArc) {
        self.arc_number(arc);
    }
    /// The arcs: name, existing features in order, and the node at the end.
    pub fn arcs(&self) -> impl Iterator<Item = (&'static str, &[&'static str], &'static str)> {
        self.arcs.iter().map(|spec| (spec.arc.name, spec.features.as_slice(), spec.arc.end))
    }
    /// Features that are on for an interface, arc by arc: name of the arc, its features.
    pub fn features_of(&self, interface: u32) -> Vec<(&'static str, Vec<&'static str>)> {
        let on = |spec: &ArcSpec| {
            let all = spec.laid_out.iter().copied().enumerate();
            let on = all.filter(|(position, _)| spec.is_on(interface, *position));
            (spec.arc.name, on.map(|(_, name)| name).collect())
        };
        self.arcs.iter().map(on).collect()
    }
}
