//! EtherTypes other than IP and ARP, and the nodes that get their packets.

use std::collections::HashSet;

use graph::{BuildError, Lent, NodeIndex, Part, Slot};
use infra::rcu::{Reader, Shared};
use wire::ethernet::EtherType;

use super::input::{self, Bridging, EthernetInput, FastPath};
use crate::router::Router;

/// Edges of [`EthernetInput`] by type, in order.
pub(super) type Edges = Vec<(EtherType, Slot)>;

/// All of them, and the edge that bridged frames take.
pub(super) struct EtherTypes {
    types: Shared<Edges>,
    layer2: Shared<Option<Slot>>,
}

impl Default for EtherTypes {
    fn default() -> Self {
        Self { types: Shared::new(Edges::new()), layer2: Shared::new(None) }
    }
}

impl EtherTypes {
    /// For the node.
    pub fn reader(&self) -> Reader<Edges> {
        self.types.reader()
    }
    /// The edge of bridged frames, for the node.
    pub fn layer2(&self) -> Reader<Option<Slot>> {
        self.layer2.reader()
    }
}

/// Forgets types whose nodes leave the graph.
pub(super) fn forget<F: FastPath>(router: &mut Router, gone: &HashSet<NodeIndex>) {
    let leads = |router: &Router, slot| {
        let to = router.engine.target_of(input::NAME, slot);
        to.is_some_and(|node| gone.contains(&node))
    };
    let Some(types) = router.state::<EtherTypes>() else { return };
    let mut edges = types.types.current().clone();
    edges.retain(|edge| !leads(router, edge.1));
    let layer2 = types.layer2.current().filter(|slot| !leads(router, *slot));
    let types = router.own_mut::<EtherTypes>();
    types.types.publish(edges);
    types.layer2.publish(layer2);
    if layer2.is_none() {
        router.own_mut::<Bridging<F>>().0.publish(None);
    }
}

/// Makes a part of Ethernet input process the frames of bridged or cross-connected interfaces
/// without sub-interfaces, before they go to the node of [`Router::register_layer2`].
pub fn lend_layer2<F: FastPath>(router: &mut Router, part: impl Part<EthernetInput<F>>) {
    if let Some(bridging) = router.state_mut::<Bridging<F>>() {
        bridging.0.publish(Some(Lent::new(part)));
    }
}

impl Router {
    /// Sends the frames of bridged or cross-connected interfaces ([`Mode`](crate::interface::Mode))
    /// to `node`, layer 2 header and tags kept: its length is the distance of the offsets of layers
    /// 2 and 3.
    ///
    /// # Errors
    /// A missing node.
    pub fn register_layer2(&mut self, node: &str) -> Result<(), BuildError> {
        let slot = self.engine.connect(input::NAME, node)?;
        if let Some(types) = self.state_mut::<EtherTypes>() {
            types.layer2.publish(Some(slot));
        }
        Ok(())
    }
    /// Unregisters the node of a frame type.
    pub fn release_ethertype(&mut self, ethertype: EtherType) {
        if let Some(types) = self.state_mut::<EtherTypes>() {
            let mut edges = types.types.current().clone();
            edges.retain(|e| e.0 != ethertype);
            types.types.publish(edges);
        }
    }
    /// Sends frames of a type to `node` alone, layer 2 header stripped.
    ///
    /// # Errors
    /// A missing node.
    pub fn register_ethertype(
        &mut self,
        ethertype: EtherType,
        node: &str,
    ) -> Result<(), BuildError> {
        let slot = self.engine.connect(input::NAME, node)?;
        if let Some(types) = self.state_mut::<EtherTypes>() {
            let mut edges = types.types.current().clone();
            edges.retain(|e| e.0 != ethertype);
            edges.push((ethertype, slot));
            edges.sort_unstable();
            types.types.publish(edges);
        }
        Ok(())
    }
}
