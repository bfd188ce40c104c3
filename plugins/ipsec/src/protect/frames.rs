//! Protected tunnels for Ethernet frames (GRE, RFC 2784): frames have no adjacency of the tunnel,
//! so they are led to the nodes that seal under a number behind those of adjacencies.

use net::adjacency::{Link, MAX_ADJACENCIES};
use net::fib::Followed;
use net::interface::Kind;
use net::tunnel::Outer;
use net::{InterfaceIndex, Router};

use super::{Protect, Sealing, sealing_node};
use crate::{Error, sa};

/// Hardware of the tunnels for frames whose header the nodes that open know.
pub const GRE: &str = "GRE";

/// The number that frames of a protected tunnel have in place of an adjacency's.
pub fn mark(number: u32) -> u32 {
    MAX_ADJACENCIES as u32 + number
}

/// The route to the far end of a tunnel for frames; `None` for other tunnels.
pub fn follow(
    router: &mut Router,
    interface: InterfaceIndex,
    outer: Option<&Outer>,
) -> Result<Option<Followed>, Error> {
    let is_for_frames = router.interfaces.at(interface).is_some_and(|i| i.kind == Kind::Ethernet);
    let Some(outer) = outer.filter(|_| is_for_frames) else { return Ok(None) };
    if outer.dst.is_multicast() {
        return Err(Error::Frames);
    }
    router.follow(outer.link(), outer.table, outer.dst, None).map(Some).map_err(Error::Fib)
}

/// Encrypts frames of a tunnel, if protected.
pub fn lead(router: &mut Router, interface: InterfaceIndex) {
    let Some(outer) = router.outer_of_tunnel(interface) else { return };
    let found = super::all(router).find(|t| t.interface == interface).cloned();
    let Some(t) = found else {
        router.lead_frames(interface, None);
        return;
    };
    let protect = router.own_mut::<Protect>();
    let hop = sa::hop(Some(&outer), protect.followed.get(&t.number));
    let sealing = Sealing { sa: t.sa_out, is_bare: false, hop: Some(hop) };
    protect.by_adjacency.put(mark(t.number), Some(sealing));
    let node = sealing_node(router, interface, Link::Ip4);
    router.lead_frames(interface, Some((node, mark(t.number))));
}
