//! Subscriptions to changes of neighbours: clients of the binary API, each about all or about some.

use std::net::IpAddr;

use super::api;
use super::table::{Key, Neighbor};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// One client's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watcher {
    /// Client index.
    pub client: u32,
    /// Number given back with each event.
    pub pid: u32,
    /// The neighbour; `None` for all.
    pub addr: Option<IpAddr>,
    /// The interface; `None` for all.
    pub interface: Option<InterfaceIndex>,
    /// Whether it understands that neighbours go, too.
    pub is_v2: bool,
}

impl Watcher {
    fn wants(&self, (interface, addr): Key) -> bool {
        self.addr.is_none_or(|a| a == addr) && self.interface.is_none_or(|i| i == interface)
    }
    fn is_same_but_pid(&self, other: &Self) -> bool {
        Self { pid: other.pid, ..*self } == *other
    }
}

impl Router {
    /// Registers or unregisters a client for neighbor events.
    pub fn watch_neighbors(&mut self, new: Watcher, enable: bool) {
        let watchers = &mut self.neighbors_mut().watchers;
        watchers.retain(|w| !w.is_same_but_pid(&new));
        if enable {
            watchers.push(new);
        }
    }
    /// Clients that get events about neighbours.
    pub fn neighbor_watchers(&self) -> &[Watcher] {
        &self.neighbors().watchers
    }
}

/// Notifies subscribers that a neighbor was resolved, changed or deleted.
pub(super) fn tell(router: &mut Router, key: Key, neighbor: &Neighbor, is_known: bool) {
    let (addr, name) = (key.1, router.interfaces.name(key.0.0));
    match is_known {
        true => router.note(format_args!("neighbor {addr} on {name}: {}", neighbor.mac)),
        false => router.note(format_args!("neighbor {addr} on {name}: deleted")),
    }
    if router.neighbors().watchers.is_empty() {
        return;
    }
    let watchers = router.neighbors().watchers.clone();
    for watcher in watchers.iter().filter(|w| w.wants(key)) {
        if !api::send(router, watcher, key, neighbor, is_known) {
            router.neighbors_mut().watchers.retain(|w| w.client != watcher.client);
        }
    }
}
