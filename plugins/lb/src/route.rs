//! Routes that lead packets for VIPs to the nodes, and UDP ports that do.

use net::fib::{NewKind, Object, ObjectKind, Path, Source};
use net::prelude::*;

use crate::nodeport::NODES;
use crate::packet::Spreadable;
use crate::state::Lb;
use crate::vip::{Error, NAT};

/// The source of routes to VIPs: an interface's own address counts more, other routes less.
const SOURCE: (&str, u8) = ("lb", 0x30);

/// Forwarding objects by kind of encapsulation and whether for a port, and the source of routes.
pub struct Routes {
    kinds: [[Option<ObjectKind>; 2]; 4],
    source: Source,
}

fn kind(router: &mut Router, how: usize, place: usize) -> Result<ObjectKind, BuildError> {
    let nodes = [(Link::Ip4, V4::NAMES[how][place]), (Link::Ip6, V6::NAMES[how][place])];
    let nodes = nodes.into_iter().filter(|(_, node)| !node.is_empty());
    let nodes = nodes.map(|(link, node)| (link, node.to_owned())).collect();
    router.add_object_kind(NewKind { nodes, describe: |_, index| format!("lb prefix {index}") })
}

impl Routes {
    /// None yet.
    ///
    /// # Errors
    /// No number for one more kind of object.
    pub fn new(router: &mut Router) -> Result<Self, BuildError> {
        let mut kinds = [[None; 2]; 4];
        for (how, places) in kinds.iter_mut().enumerate() {
            for (place, made) in places.iter_mut().enumerate() {
                if how != NAT || place == crate::core::PORT {
                    *made = Some(kind(router, how, place)?);
                }
            }
        }
        let (name, priority) = SOURCE;
        let source = router.fib.sources.add_own(name, priority);
        let source = source.expect("features have fewer sources than there are numbers");
        Ok(Self { kinds, source })
    }
}

/// Leads packets for a prefix to a node, by the prefix's number.
pub fn lead(
    router: &mut Router,
    prefix: Prefix,
    (how, place): (usize, usize),
    index: u32,
) -> Result<(), Error> {
    let routes = &router.own::<Lb>().routes;
    let (source, kind) = (routes.source, routes.kinds[how][place].ok_or(Error::NoPort)?);
    let path = Path::to(Target::Object(Object { kind, index }));
    let done = router.set_route(TableIndex(0), prefix, source, &[path]);
    done.map(drop).map_err(|_| Error::NoRoute)
}

/// Leads packets for a prefix here no longer.
pub fn unlead(router: &mut Router, prefix: Prefix) {
    let source = router.own::<Lb>().routes.source;
    router
        .remove_route(TableIndex(0), prefix, source, &[])
        .expect("the default table stays, with the routes of an existing VIP");
}

/// Routes a UDP port of the router's own addresses here, or stops.
pub fn lead_port(router: &mut Router, (is_ip6, port): (bool, u16), on: bool) -> Result<(), Error> {
    let at = if is_ip6 { V6::NODES.udp_lookup } else { V4::NODES.udp_lookup };
    let to = on.then_some(NODES[usize::from(is_ip6)]);
    router.redispatch(at, port, to).map_err(|_| Error::NodePort(port))
}
