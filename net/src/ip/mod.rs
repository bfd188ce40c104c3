//! Nodes of IPv4 and IPv6: the path of packets that are for this router, sent on, dropped or
//! punted.
//!
//! `ip4-input` checks a packet, a lookup (in `fib`) chooses its way: `ip4-rewrite` sends it on,
//! `ip4-receive` passes it to the node of its protocol, `ip4-drop` and `ip4-punt` end it. Each node
//! here is written once and is there twice, for each [`Version`].

mod balanced;
mod dispatch;
mod encapsulation;
mod ends;
mod local;
pub(crate) mod midchain;
mod outputs;
mod own;
mod reverse_path;
mod rewrite;
mod rewrite_multicast;
pub mod testing;
#[cfg(test)]
mod tests;
mod trace;
mod udp;
mod version;
mod way_mtu;

use control::feature::Refused;
use graph::Node;
use infra::counter::Counter;
use infra::rcu::Reader;
use wire::Protocol;

use crate::router::{Router, refuse};

pub use crate::ip4::V4;
pub use crate::ip6::V6;
pub use balanced::{Balanced, Linked};
pub use dispatch::{Edges, Error};
pub use encapsulation::{Chain, Encapsulation, Underlay};
pub use ends::{DropPacket, Error as NotEnabledError, NotEnabled, Punt};
pub use local::{Delivery, Local, Receive};
pub(crate) use midchain::with_hop;
pub use midchain::{Midchain, Onward, Stacked, Transmit};
pub(crate) use outputs::lead_output;
pub use outputs::{OutputArcEnd, add as add_with_outputs};
pub use own::{DATAGRAM_HEADERS, datagram, send_own};
pub use reverse_path::{ReversePath, ReversePaths, SourceFamily};
pub use rewrite::Rewrite;
pub(crate) use rewrite::{fits_made, is_usual, may_go, send_over};
pub use rewrite_multicast::RewriteMulticast;
pub use trace::{Forwarding, Headers};
pub use udp::UdpLookup;
pub use version::{Nodes, Upper, Version};
pub use way_mtu::{FrameMtus, WayMtus, room_as_ip4, room_in_ip6};

/// Protocols there may be.
const PROTOCOLS: usize = 1 << 8;
/// Ports there may be.
const PORTS: usize = 1 << 16;

/// Adds the nodes of one version that both have.
pub(crate) fn add_nodes<V: Version>(router: &mut Router) -> Result<(), Refused> {
    let version = V::SELF;
    let engine = &mut router.engine;
    engine.add(DropPacket(version)).map_err(refuse)?;
    engine.add(Punt(version)).map_err(refuse)?;
    engine.add(NotEnabled(version)).map_err(refuse)?;
    let adjacencies = router.adjacencies.reader();
    let counters = router.adjacencies.counters();
    engine.add(Rewrite { version, adjacencies, counters }).map_err(refuse)?;
    let adjacencies = router.adjacencies.reader();
    let counters = router.adjacencies.counters();
    engine
        .add(Midchain::<V>::new(&router.adjacencies, router.interfaces.ports()))
        .map_err(refuse)?;
    let group = |outputs| RewriteMulticast { version, adjacencies, counters, outputs };
    outputs::add(router, group)?;
    if router.engine.index_of(OutputArcEnd::NAME).is_none() {
        outputs::add(router, OutputArcEnd::new)?;
        router.engine.add(Transmit::new(router)).map_err(refuse)?;
    }

    let (protocols, ports, reverse_paths) = takers::<V>(router, V::NODES.receive);
    router.engine.add(Receive { version, protocols, ports, reverse_paths }).map_err(refuse)?;
    let (protocols, ports, reverse_paths) = takers::<V>(router, V::NODES.local_end);
    let end = Receive { version, protocols, ports, reverse_paths };
    router.engine.add_named(V::NODES.local_end, end).map_err(refuse)?;
    let (protocols, ports, reverse_paths) = takers::<V>(router, V::NODES.local);
    router.engine.add(Local { version, protocols, ports, reverse_paths }).map_err(refuse)?;
    if !V::LOCAL_COUNTED_AT.is_empty() {
        // Clients know them under the node's own name, too.
        router.engine.add_counters::<V::Error>(V::NODES.local).map_err(refuse)?;
    }
    let ports = router.dispatch_table(V::NODES.udp_lookup, PORTS);
    router.engine.add(UdpLookup { version, ports }).map_err(refuse)?;
    router.local_protocol::<V>(Protocol::UDP, V::NODES.udp_lookup).map_err(refuse)
}

/// Table of the nodes registered for protocols, for dispatching packets.
fn takers<V: Version>(
    router: &mut Router,
    node: &'static str,
) -> (Reader<Edges>, Reader<Edges>, ReversePaths<V::Family>) {
    let protocols = router.dispatch_table(node, PROTOCOLS);
    let ports = router.dispatch_table(V::NODES.udp_lookup, PORTS);
    (protocols, ports, ReversePaths::new(router))
}

/// Counts a run of packets of one interface.
#[inline(always)]
pub(crate) fn count(row: &[Counter], interface: u32, packets: u64) {
    if let Some(counter) = row.get(interface as usize) {
        counter.add(packets);
    }
}
