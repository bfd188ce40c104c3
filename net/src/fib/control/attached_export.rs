//! Attached export: an operator's route to a network on an interface, in another table than the
//! interface's, takes along the hosts that the interface's table knows there: its neighbours and
//! our own addresses, but no more specific routes of anybody else.
//!
//! The hosts follow the entries of the interface's table. Their source is a weak one: any other
//! route to the host in the other table has priority.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use wire::Prefix;

use super::path::{TableIndex, Target};
use super::source::Source;
use super::table::Key;
use crate::fib::Fib;
use crate::fib::family::Family;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Operators' routes to networks on interfaces, whatever table they are in.
pub(in crate::fib) type Attached = HashMap<InterfaceIndex, Vec<(TableIndex, Prefix)>>;

impl Router {
    /// Follows a change of the path list of an entry; `None` is no entry.
    pub(super) fn follow_exports<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        before: Option<u32>,
        after: Option<u32>,
    ) {
        if key.1 == F::BITS {
            return self.export_host::<F>(key.0, [before, after]);
        }
        let [was, is] = [before, after].map(|list| self.fib.attached_to(list?));
        for interface in [was.filter(|_| was != is), is.filter(|_| was != is)] {
            let Some(interface) = interface else { continue };
            let prefix = F::prefix(key);
            let attached = self.fib.attached.entry(interface).or_default();
            attached.retain(|one| *one != (table, prefix));
            if is == Some(interface) {
                attached.push((table, prefix));
            }
            if attached.is_empty() {
                self.fib.attached.remove(&interface);
            }
            let on = self.addresses.of(interface);
            let ip4 = on.ip4.iter().map(|own| IpAddr::from(own.addr()));
            let own = ip4.chain(on.ip6.iter().map(|own| own.addr().into()));
            let hosts = own.chain(self.adjacencies.neighbors_on(interface));
            let hosts: Vec<_> = hosts.filter(|host| prefix.contains(*host)).collect();
            for bits in hosts.into_iter().filter_map(F::bits) {
                self.import::<F>(interface, table, bits);
            }
        }
    }
    fn export_host<F: Family>(&mut self, host: F::Bits, lists: [Option<u32>; 2]) {
        if self.fib.attached.is_empty() {
            return;
        }
        let on: BTreeSet<_> =
            lists.into_iter().filter_map(|list| self.fib.host_on(list?)).collect();
        for interface in on {
            let addr = F::addr(host);
            let tables: BTreeSet<_> = self.fib.attached_around(interface, addr).collect();
            tables.into_iter().for_each(|table| self.import::<F>(interface, table, host));
        }
    }
    /// Makes a table follow the entry of an interface's own table for a host.
    fn import<F: Family>(&mut self, interface: InterfaceIndex, into: TableIndex, host: F::Bits) {
        let (key, addr) = ((host, F::BITS), F::addr(host));
        let is_wanted = self.fib.attached_around(interface, addr).any(|table| table == into);
        let from = self.neighbor_route(interface, addr).map(|(table, _)| table);
        let from = from.filter(|from| is_wanted && *from != into);
        let at = |table| F::tables(&self.fib).at(table)?.entries.get(&key);
        let own = from.and_then(at).and_then(|entry| {
            let wanted = [Source::INTERFACE, Source::ADJACENCY];
            let mut lists = wanted.into_iter().filter_map(|source| entry.list_of(source));
            lists.find(|list| self.fib.host_on(*list) == Some(interface))
        });
        let imported = at(into).and_then(|entry| entry.list_of(Source::ATTACHED_EXPORT));
        match (own, imported) {
            (Some(list), imported) if imported != Some(list) => {
                self.fib.lists.at_mut(list).users += 1;
                let done = self.put_source::<F>(into, key, Source::ATTACHED_EXPORT, list);
                if let Err(why) = done {
                    let log = self.log.class("fib", "attached-export");
                    log.error(format_args!("{addr} is not in table {}: {why}", into.0));
                }
            }
            (None, Some(list)) if self.fib.host_on(list) == Some(interface) => {
                self.take_source::<F>(into, key, Source::ATTACHED_EXPORT);
            }
            _ => (),
        }
    }
}

impl Fib {
    /// The interface that a list of an operator's leads to as to a network.
    fn attached_to(&self, list: u32) -> Option<InterfaceIndex> {
        self.lists.at(list).paths.iter().find_map(|path| match path.target {
            Target::Attached { interface, own } if own.is_unspecified() => Some(interface),
            _ => None,
        })
    }
    /// The interface that a list leads to as to a host.
    fn host_on(&self, list: u32) -> Option<InterfaceIndex> {
        match self.lists.at(list).paths.first()?.target {
            Target::Neighbor { interface, .. } => Some(interface),
            Target::Receive { interface, .. } => interface,
            _ => None,
        }
    }
    /// The tables with routes to networks on an interface that an address is in.
    fn attached_around(
        &self,
        interface: InterfaceIndex,
        addr: IpAddr,
    ) -> impl Iterator<Item = TableIndex> {
        let on = self.attached.get(&interface).into_iter().flatten();
        on.filter(move |(_, prefix)| prefix.contains(addr)).map(|(table, _)| *table)
    }
}
