//! Distributed virtual router: paths that lead out of an interface of a bridge without routing. A
//! packet leaves with the layer 2 header it came with, and no hop less.
//!
//! The number of such an object is that of its interface. While paths lead there, packets meet the
//! features of routed packets on the interface, the last of which gives them back to layer 2.
#![forbid(unsafe_code)]

mod node;

use control::cli::Word;
use net::adjacency::{AdjacencyIndex, Role};
use net::fib::types::{FibPath, FibPathType};
use net::fib::{NewKind, Object, ObjectKind, PathType, PathWord, RouteOf};
use net::interface::MAX_INTERFACES;
use net::prelude::*;

pub use node::{Bridged, Reinject, ToInterface};

/// The distributed virtual router.
pub const FEATURE: Feature = Feature {
    name: "dvr",
    about: "Distributed virtual router: routes that lead out of bridged interfaces",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "l2"],
    register,
    configuration: Configuration::None("its paths are those of routes"),
};

/// Adjacencies of an interface that features find the header's length by, for IPv4 and IPv6.
pub type Adjacencies = [u32; 2];

/// Interfaces that paths lead to.
struct Led {
    kind: ObjectKind,
    /// Number of paths that lead there; one that was deleted stays as long.
    users: BTreeMap<u32, u32>,
    seen: SharedSlab<Adjacencies>,
}

fn place(link: Link) -> usize {
    usize::from(link == Link::Ip6)
}

/// Follows paths that come to lead to an interface, and those that do no longer.
fn hold(router: &mut Router, index: u32, is_held: bool) {
    let users = router.own_mut::<Led>().users.entry(index).or_default();
    *users = if is_held { *users + 1 } else { users.saturating_sub(1) };
    match (*users, is_held) {
        (1, true) => begin(router, index),
        (0, _) => {
            router.own_mut::<Led>().users.remove(&index);
            end(router, index);
        }
        _ => (),
    }
}

fn begin(router: &mut Router, index: u32) {
    // Frames have lost their interface's own tags where features see them.
    let Some(sup) = router.interfaces.at(InterfaceIndex(index)).map(|i| i.sup) else { return };
    let mut adjacencies = Adjacencies::default();
    for link in [Link::Ip4, Link::Ip6] {
        let Ok(made) = router.use_adjacency(sup, Role::Glean, link.unspecified()) else { continue };
        adjacencies[place(link)] = made.0;
    }
    switch(router, index, true);
    router.own_mut::<Led>().seen.put(index, Some(adjacencies));
}

fn end(router: &mut Router, index: u32) {
    let led = router.own_mut::<Led>();
    let Some(adjacencies) = led.seen.at(index).copied() else { return };
    led.seen.put(index, None);
    switch(router, index, false);
    for adjacency in adjacencies.into_iter().filter(|a| *a != 0) {
        router.release_adjacency(AdjacencyIndex(adjacency));
    }
}

fn switch(router: &mut Router, index: u32, is_on: bool) {
    for (arc, node) in [(V4::OUTPUT_ARC, V4::REINJECT), (V6::OUTPUT_ARC, V6::REINJECT)] {
        let done = router.engine.set_feature(arc, node, index, is_on);
        done.expect("the node is on the arc since the feature registered");
    }
}

/// Disconnects paths to a deleted interface.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        end(router, interface.0);
    }
}

fn describe(router: &Router, index: u32) -> String {
    format!("dvr-{}", router.interfaces.name(index))
}

fn read(router: &Router, path: &FibPath, of: RouteOf) -> Result<Target, Retval> {
    if !matches!(of, RouteOf::Link(Link::Ip4 | Link::Ip6)) {
        return Err(Retval::INVALID_ADDRESS_FAMILY);
    }
    let index = path.sw_if_index;
    router.interfaces.at(InterfaceIndex(index)).ok_or(Retval::INVALID_SW_IF_INDEX)?;
    Ok(Target::Object(Object { kind: router.own::<Led>().kind, index }))
}

fn write(router: &Router, object: Object, path: &mut FibPath) -> bool {
    let is_one = object.kind == router.own::<Led>().kind;
    if is_one {
        path.sw_if_index = object.index;
    }
    is_one
}

fn parse(router: &Router, of: RouteOf, args: &mut Args<'_>) -> Result<Object, Error> {
    let name: Word = args.value("interface")?;
    let found = router.interfaces.named(&name).ok_or_else(|| name.unknown("interface"))?;
    let index = found.index.0;
    if !matches!(of, RouteOf::Link(Link::Ip4 | Link::Ip6)) {
        return Err(args.error("expected a route of IPv4 or IPv6 before"));
    }
    Ok(Object { kind: router.own::<Led>().kind, index })
}

fn print(router: &Router, index: u32) -> Option<String> {
    router.interfaces.at(InterfaceIndex(index)).map(|i| i.name.clone())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let seen = SharedSlab::new(MAX_INTERFACES).map_err(refuse)?;
    let reader = seen.reader();
    node::add::<V4>(router, &reader).map_err(refuse)?;
    node::add::<V6>(router, &reader).map_err(refuse)?;
    let nodes = [(Link::Ip4, V4::TO_INTERFACE), (Link::Ip6, V6::TO_INTERFACE)];
    let nodes = nodes.map(|(link, node)| (link, node.to_owned())).to_vec();
    let kind = router.add_object_kind(NewKind { nodes, describe }).map_err(refuse)?;
    router.fib.watch_objects(kind, hold);
    router.fib.add_path_type(PathType { number: FibPathType::DVR, read, write });
    router.fib.add_path_word(PathWord { kind, word: "dvr", parse, print });
    router.insert(Led { kind, users: BTreeMap::new(), seen });
    router.interfaces.observe(follow);
    Ok(())
}
