//! Next hops that a protocol found out of reach (RFC 5882 section 4): paths over them are not used,
//! although neighbour, interface and link know nothing of it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::path::{Gateway, Path, TableIndex, Target};
use crate::adjacency::Link;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// All of them.
#[derive(Default)]
pub(in crate::fib) struct Failed {
    neighbors: BTreeSet<(InterfaceIndex, IpAddr)>,
    hosts: BTreeSet<(TableIndex, IpAddr)>,
}

impl Failed {
    /// Whether a path is not used because of one.
    pub fn stops(&self, path: &Path) -> bool {
        match path.target {
            Target::Neighbor { interface, addr }
            | Target::ForeignNeighbor { interface, addr, .. } => {
                !self.neighbors.is_empty() && self.neighbors.contains(&(interface, addr))
            }
            Target::Recursive { to, .. } => {
                !self.hosts.is_empty() && self.hosts.contains(&(to.table, to.addr))
            }
            _ => false,
        }
    }
}

/// Adds or takes away; whether that changed anything.
fn set<T: Ord>(all: &mut BTreeSet<T>, one: T, is_in: bool) -> bool {
    if is_in { all.insert(one) } else { all.remove(&one) }
}

impl Router {
    /// Stops paths from using a neighbor, or resumes.
    pub fn set_neighbor_failed(&mut self, on: InterfaceIndex, neighbor: IpAddr, is_failed: bool) {
        if set(&mut self.fib.failed.neighbors, (on, neighbor), is_failed) {
            self.resolve_interface(on);
        }
    }
    /// Stops paths from leading through an address whose route they follow, or resumes.
    pub fn set_host_failed(&mut self, table: TableIndex, host: IpAddr, is_failed: bool) {
        if set(&mut self.fib.failed.hosts, (table, host), is_failed) {
            let to = Gateway::of(table, host);
            let lists = Link::ALL.map(|link| self.fib.lists_behind(to.with_link(link)).to_vec());
            let mut lists = lists.concat();
            lists.sort_unstable();
            lists.dedup();
            self.resolve(lists);
        }
    }
}
