//! Questions that control has the nodes send: for next hops that routes lead to.
#![forbid(unsafe_code)]

use super::reach;
use super::resolve::NextHop;
use super::strict::Strict;
use super::table::Key;
use super::{Neighbors, Resolver};
use crate::adjacency::{AdjacencyIndex, Role};
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6};
use crate::router::Router;

/// Neighbours that wait for an address of ours to be asked from, at most.
const MOST_UNASKED: usize = 256;

/// Completes a new adjacency whose neighbour is known already. Another neighbour is asked for: that
/// a route leads there says that packets will.
pub fn adjacency_made(router: &mut Router, index: AdjacencyIndex) {
    let Some(a) = router.adjacencies.at(index) else { return };
    let key = (a.interface, a.next_hop);
    if a.role != Role::Neighbor || a.complete {
        return;
    }
    let Some(neighbors) = router.state_mut::<Neighbors>() else { return };
    let Some(mac) = neighbors.table.at(key).map(|n| n.mac) else { return ask_soon(router, key) };
    neighbors.known.push(key);
    router.complete_adjacency(index, mac);
}

/// Asks for a neighbour, now or when there is an address of ours in its network.
fn ask_soon(router: &mut Router, key: Key) {
    let on = router.addresses.of(key.0);
    if reach::covers(on, key.1) || on.borrowed.is_some() {
        return ask(router, &[key]);
    }
    let unasked = &mut router.neighbors_mut().unasked;
    if unasked.len() < MOST_UNASKED {
        unasked.push(key);
    }
}

/// Asks for those that are not known and that routes lead to.
pub(super) fn ask(router: &mut Router, keys: &[Key]) {
    let is_missing = |key: &&Key| {
        let mut all = router.adjacencies.of_neighbor(key.0, key.1);
        let is_up = router.interfaces.at(key.0).is_some_and(|i| i.admin_up && i.link_up);
        is_up && all.any(|index| router.adjacencies.at(index).is_some_and(|a| !a.complete))
    };
    let (ip4, ip6): (Vec<_>, Vec<_>) =
        keys.iter().filter(is_missing).partition(|(_, addr)| addr.is_ipv4());
    let (askers, thread) = (router.neighbors().askers, router.engine.data_threads().start);
    if !ip4.is_empty() {
        router.engine.visit::<Resolver<V4, NextHop>>(
            thread,
            askers.next_hop4,
            move |node, frame| {
                node.ask_for(frame, &ip4);
            },
        );
    }
    if !ip6.is_empty() {
        router.engine.visit::<Resolver<V6, NextHop>>(
            thread,
            askers.next_hop6,
            move |node, frame| {
                node.ask_for(frame, &ip6);
            },
        );
    }
}

/// Asks for those on an interface that waited for an address of ours.
pub(super) fn ask_waiting(router: &mut Router, interface: InterfaceIndex) {
    let unasked = std::mem::take(&mut router.neighbors_mut().unasked);
    let (here, elsewhere): (Vec<_>, _) = unasked.into_iter().partition(|key| key.0 == interface);
    router.neighbors_mut().unasked = elsewhere;
    ask(router, &here);
}

/// Asks for the next hops that routes lead to on an interface that has come up.
pub(super) fn ask_next_hops(router: &mut Router, interface: InterfaceIndex) {
    if router.setting::<Strict>(interface).0 {
        return;
    }
    let next_hops = router.adjacencies.neighbors_on(interface);
    let mut keys: Vec<_> = next_hops.map(|addr| (interface, addr)).collect();
    keys.dedup();
    ask(router, &keys);
}
