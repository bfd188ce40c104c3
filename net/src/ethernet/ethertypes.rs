//! Which node gets the packets of a protocol that is not IP or ARP.

use graph::{BuildError, Slot};
use infra::rcu::{Reader, Shared};
use wire::ethernet::EtherType;

use super::EthernetInput;
use crate::router::Router;

/// Edges of [`EthernetInput`] by type, in order.
pub(super) type Edges = Vec<(EtherType, Slot)>;

/// All of them.
pub(super) struct EtherTypes(Shared<Edges>);

impl Default for EtherTypes {
    fn default() -> Self {
        Self(Shared::new(Edges::new()))
    }
}

impl EtherTypes {
    /// For the node.
    pub fn reader(&self) -> Reader<Edges> {
        self.0.reader()
    }
}

impl Router {
    /// Has frames of a type go to `node`, layer 2 header stripped; to nobody else from now on.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn register_ethertype(
        &mut self,
        ethertype: EtherType,
        node: &str,
    ) -> Result<(), BuildError> {
        let slot = self.engine.connect(<EthernetInput as graph::Node>::NAME, node)?;
        if let Some(types) = self.state_mut::<EtherTypes>() {
            let mut edges = types.0.current().clone();
            edges.retain(|e| e.0 != ethertype);
            edges.push((ethertype, slot));
            edges.sort_unstable();
            types.0.publish(edges);
        }
        Ok(())
    }
}
