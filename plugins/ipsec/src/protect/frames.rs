//! Protected tunnels for Ethernet frames (GRE, RFC 2784): frames have no adjacency, so the
//! encryption nodes find their SA by a number above those of adjacencies.

use net::adjacency::{Link, MAX_ADJACENCIES};
use net::fib::Followed;
use net::interface::Kind;
use net::tunnel::Outer;
use net::{InterfaceIndex, Router};

use super::{MOST, Protect, Sealing, sealing_node};
use crate::{Error, sa};

/// Hardware class of tunnels for frames that can be protected.
pub const GRE: &str = "GRE";

/// The number that frames of a protected tunnel have instead of an adjacency index.
pub fn mark(number: u32) -> u32 {
    MAX_ADJACENCIES as u32 + number
}

/// The route to the remote endpoint of a tunnel for frames; `None` for other tunnels.
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
        // What is held has a number without an association: it is dropped there.
        let is_held = router.own::<Protect>().is_sealed(interface);
        let node = sealing_node(router, interface, Link::Ip4);
        router.lead_frames(interface, is_held.then_some((node, mark(MOST as u32))));
        return;
    };
    let protect = router.own_mut::<Protect>();
    let hop = sa::hop(Some(&outer), protect.followed.get(&t.number));
    let sealing = Sealing { sa: t.sa_out, is_bare: false, hop: Some(hop) };
    protect.by_adjacency.put(mark(t.number), Some(sealing));
    let node = sealing_node(router, interface, Link::Ip4);
    router.lead_frames(interface, Some((node, mark(t.number))));
}
