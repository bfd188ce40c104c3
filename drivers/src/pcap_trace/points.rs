//! Packets where they come in, go out or are dropped.

use std::sync::Arc;

use graph::{Buffer, Filter, Flags, NodeIndex, PacketContext, Watcher};
use net::InterfaceIndex;

use super::store::Store;

/// Keeps packets at the chosen places.
pub struct Points {
    /// Node of received packets, if those are chosen.
    pub rx: Option<NodeIndex>,
    /// Nodes of dropped packets, or those answered by an ICMP error, if those are chosen.
    pub drops: Vec<NodeIndex>,
    /// Sent packets, on all interfaces.
    pub tx: bool,
    /// Only those of this interface.
    pub interface: Option<InterfaceIndex>,
    /// Only those dropped for the reason that this counter counts.
    pub error: Option<u32>,
    /// Only those that it chooses.
    pub filter: Option<Arc<dyn Filter>>,
    /// Those so far; of a dropped one the number of its reason.
    pub store: Store<Option<u32>>,
}

impl Watcher for Points {
    fn see(&self, node: NodeIndex, p: &Buffer<'_>, context: PacketContext<'_>) {
        let is_received = Some(node) == self.rx;
        let is_dropped = self.drops.contains(&node);
        let interface = if is_received || is_dropped { p.rx() } else { p.tx() };
        if self.interface.is_some_and(|only| only.0 != interface) {
            return;
        }
        if is_dropped && self.error.is_some_and(|only| only != p.error()) {
            return;
        }
        // Nodes may have taken headers off: what is dropped is shown as it came in.
        let start = if p.flags().has(Flags::L2) { p.l2_offset() } else { 0 };
        let start = if is_dropped { start.min(p.offset()) } else { p.offset() };
        let is_chosen = |f: &Arc<dyn Filter>| f.chooses(interface, p.bytes_from(start), context);
        if !self.filter.as_ref().is_none_or(is_chosen) {
            return;
        }
        let len = p.total_len() + usize::from(p.offset().abs_diff(start));
        let parts = std::iter::once(p.bytes_from(start)).chain(p.segments().skip(1));
        self.store.keep(context.now, is_dropped.then(|| p.error()), len, parts);
    }
}
