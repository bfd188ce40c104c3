//! Routes to single hosts on a link: those of known neighbours, and those that the operator gives
//! an interface without a next hop.

use std::borrow::Cow;
use std::net::IpAddr;

use wire::Prefix;

use super::path::{Path, TableIndex, Target};
use super::routes::key;
use super::source::Source;
use super::table::Key;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::{Error, Fib};
use crate::interface::Kind;
use crate::router::Router;

impl Router {
    /// Paths of a prefix; where it is a host, one to an interface without a next hop leads to that
    /// host, as a neighbour there.
    pub(super) fn to_host<'p, F: Family>(&self, key: Key<F>, paths: &'p [Path]) -> Cow<'p, [Path]> {
        let host_on = |path: &Path| match path.target {
            Target::Attached { interface, own } if own.is_unspecified() => {
                let kind = self.interfaces.at(interface)?.kind;
                (kind == Kind::Ethernet).then_some(interface)
            }
            _ => None,
        };
        if key.1 < F::BITS || paths.iter().all(|path| host_on(path).is_none()) {
            return Cow::Borrowed(paths);
        }
        let addr = F::addr(key.0);
        let each = paths.iter().map(|path| match host_on(path) {
            Some(interface) => {
                Path { target: Target::Neighbor { interface, addr }, ..path.clone() }
            }
            None => path.clone(),
        });
        Cow::Owned(each.collect())
    }
    /// Routes the address of a known neighbour to it.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn fib_add_neighbor(
        &mut self,
        interface: crate::InterfaceIndex,
        addr: IpAddr,
    ) -> Result<(), Error> {
        let Some((table, prefix)) = self.neighbor_route(interface, addr) else { return Ok(()) };
        let path = Path::to(Target::Neighbor { interface, addr });
        self.set_route(table, prefix, Source::ADJACENCY, &[path]).map(drop)
    }
    /// Whether the prefix around an address, as the operator and addresses of interfaces have it,
    /// is connected to one of these interfaces.
    pub(crate) fn is_connected(
        &self,
        (table, host): (TableIndex, Prefix),
        to: &[crate::InterfaceIndex],
    ) -> bool {
        match host {
            Prefix::Ip4(_) => self.fib.cover_is_connected::<Ip4>(table, key::<Ip4>(host), to),
            Prefix::Ip6(_) => self.fib.cover_is_connected::<Ip6>(table, key::<Ip6>(host), to),
        }
    }
    /// Takes the route to a neighbour away.
    pub fn fib_remove_neighbor(&mut self, interface: crate::InterfaceIndex, addr: IpAddr) {
        if let Some((table, _)) = self.neighbor_route(interface, addr) {
            self.fib_remove_neighbor_from(table, interface, addr);
        }
    }
    /// Takes the route to a neighbour out of a table that its interface may have left.
    pub(crate) fn fib_remove_neighbor_from(
        &mut self,
        table: TableIndex,
        interface: crate::InterfaceIndex,
        addr: IpAddr,
    ) {
        let Some((_, host)) = self.neighbor_route(interface, addr) else { return };
        let path = Path::to(Target::Neighbor { interface, addr });
        // Another interface's neighbour with this address, or none: then there is nothing to
        // remove.
        let _ = self.remove_route(table, host, Source::ADJACENCY, &[path]);
    }
}

impl Fib {
    fn cover_is_connected<F: Family>(
        &self,
        table: TableIndex,
        mut key: Key<F>,
        to: &[crate::InterfaceIndex],
    ) -> bool {
        let Some(table) = F::tables(self).at(table) else { return false };
        while let Some((cover, entry)) = table.cover(key) {
            key = cover;
            let follows = [
                Source::ADJACENCY,
                Source::ATTACHED_EXPORT,
                Source::RECURSIVE,
                Source::URPF_EXEMPT,
            ];
            let Some((_, list)) = entry.sources().find(|s| !follows.contains(&s.0)) else {
                continue;
            };
            return self.lists.at(list).paths.iter().any(|path| match path.target {
                Target::Attached { interface, .. } => to.contains(&interface),
                _ => false,
            });
        }
        false
    }
}
