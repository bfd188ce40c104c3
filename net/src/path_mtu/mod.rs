//! Path MTUs: maximum packet lengths to hosts, as discovered (RFC 1191, RFC 8201).
//!
//! A path MTU holds for the adjacency of its host, where the interface's own is not smaller.

mod api;
mod cli;

use std::collections::BTreeMap;
use std::net::IpAddr;

use control::feature::{Refusal, Refused};

use crate::adjacency::Role;
use crate::fib::TableIndex;
use crate::interface::InterfaceIndex;
use crate::router::{Configuration, Feature, Origin, Parts, Router};

/// Path MTUs.
pub const FEATURE: Feature = Feature {
    name: "path-mtu",
    about: "Path MTUs",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The table's identifier and the host.
pub type Key = (u32, IpAddr);

/// Known path MTUs.
#[derive(Default)]
struct PathMtus(BTreeMap<Key, PathMtu>);

struct PathMtu {
    /// Bytes, IP header included.
    mtu: u16,
    /// Not set again since a replacement began.
    is_stale: bool,
}

/// Reasons why a path MTU cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no table {0}
    #[retval(NO_SUCH_TABLE)]
    NoTable(u32),
}

impl Router {
    /// All path MTUs in bytes, in order of table and host.
    pub fn path_mtus(&self) -> impl Iterator<Item = (Key, u16)> {
        let known = self.state::<PathMtus>().into_iter();
        known.flat_map(|all| all.0.iter().map(|(key, path)| (*key, path.mtu)))
    }
    /// Sets the path MTU to a host in bytes, IP header included; 0 removes it.
    ///
    /// # Errors
    /// A missing table.
    pub fn set_path_mtu(&mut self, key: Key, mtu: u16) -> Result<(), Error> {
        self.fib.table_for(key.1, key.0).ok_or(Error::NoTable(key.0))?;
        let all = &mut self.path_mtus_mut().0;
        if mtu > 0 {
            all.insert(key, PathMtu { mtu, is_stale: false });
        } else {
            all.remove(&key);
        }
        self.apply(key.1);
        Ok(())
    }
    /// Begins to replace all: those not set until [`Router::end_path_mtus`] go.
    pub fn begin_path_mtus(&mut self) {
        self.path_mtus_mut().0.values_mut().for_each(|path| path.is_stale = true);
    }
    /// Ends what [`Router::begin_path_mtus`] began.
    pub fn end_path_mtus(&mut self) {
        let all = &mut self.path_mtus_mut().0;
        let stale = all.iter().filter(|(_, path)| path.is_stale);
        let stale: Vec<_> = stale.map(|(key, _)| *key).collect();
        for key in stale {
            self.path_mtus_mut().0.remove(&key);
            self.apply(key.1);
        }
    }
    /// The path MTU to a neighbour on an interface, if one is known.
    pub(crate) fn path_mtu(&self, interface: InterfaceIndex, next_hop: IpAddr) -> Option<u16> {
        let all = self.state::<PathMtus>().filter(|all| !all.0.is_empty())?;
        let on = self.addresses.of(interface);
        let table = self.fib.table_id_for(next_hop, on.table_for(next_hop))?;
        all.0.get(&(table, next_hop)).map(|path| path.mtu)
    }
    /// The path MTU to a host, if one is known.
    pub(crate) fn path_mtu_to(&self, table: TableIndex, host: IpAddr) -> Option<u16> {
        let all = self.state::<PathMtus>().filter(|all| !all.0.is_empty())?;
        all.0.get(&(self.fib.table_id_for(host, table)?, host)).map(|path| path.mtu)
    }
    fn path_mtus_mut(&mut self) -> &mut PathMtus {
        self.own_mut()
    }
    /// Updates the adjacencies of a host.
    fn apply(&mut self, host: IpAddr) {
        let of_host = self.adjacencies.iter().filter(|(_, a)| a.next_hop == host);
        let neighbors = of_host.filter(|(_, a)| a.role == Role::Neighbor);
        let interfaces: Vec<_> = neighbors.map(|(_, a)| a.interface).collect();
        interfaces.into_iter().for_each(|interface| self.refresh_adjacencies(interface));
        self.follow_path_mtu(host);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(PathMtus::default());
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
