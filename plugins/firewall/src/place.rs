//! Where packets are judged, and the names of the nodes there.

use acl::Matched;
use graph::arc::{Beside, FeatureArc};
use net::prelude::*;

/// Where packets leave.
pub(super) const OUTPUT: usize = 0;
/// Where packets for the router are delivered.
pub(super) const LOCAL: usize = 1;

/// The name of a node.
pub(super) const fn name<V: Matched>(at: usize) -> &'static str {
    match (V::NUMBER, at) {
        (4, OUTPUT) => "firewall-ip4-output",
        (4, _) => "firewall-ip4-local",
        (_, OUTPUT) => "firewall-ip6-output",
        (_, _) => "firewall-ip6-local",
    }
}

/// The name of the node that hands packets of one to other threads.
pub(super) const fn handoff_name<V: Matched>(at: usize) -> &'static str {
    match (V::NUMBER, at) {
        (4, OUTPUT) => "firewall-ip4-output-handoff",
        (4, _) => "firewall-ip4-local-handoff",
        (_, OUTPUT) => "firewall-ip6-output-handoff",
        (_, _) => "firewall-ip6-local-handoff",
    }
}

/// Places the nodes on the output and local arcs: before output NAT, so that rules and sessions
/// have the addresses of hosts.
pub(super) fn place<V: Matched>(
    router: &mut Router,
    arcs: [&'static FeatureArc; 2],
) -> Result<(), BuildError> {
    let before = match V::NUMBER {
        4 => ["nat44-ed-in2out-output", "nat44-ei-hairpinning"],
        _ => ["acl-plugin-out-ip6-fa", "vrrp6-nd-input"],
    };
    for ((at, arc), before) in [OUTPUT, LOCAL].into_iter().zip(arcs).zip(before) {
        router.engine.place_beside(arc, name::<V>(at), Beside::Before(before))?;
    }
    Ok(())
}
