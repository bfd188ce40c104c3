//! Making and deleting tables.

use std::collections::HashMap;
use std::io;

use super::Error;
use super::family::{Family, Ip6};
use super::path::{Path, Source, TableIndex, Target};
use crate::adjacency::Link;
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Adds a table that the operator calls `id`.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::Full`].
    pub fn add_table<F: Family>(&mut self, id: u32) -> Result<TableIndex, Error> {
        if F::tables(&self.fib).named(id).is_some() {
            return Err(Error::TableExists);
        }
        let no_memory = |_: io::Error| Error::Full;
        let table = F::tables_mut(&mut self.fib).add(id, None).map_err(no_memory)?;
        for &(bits, len, target) in F::DEFAULTS {
            let paths = [Path::to(target)];
            if let Err(e) = self.set_paths::<F>(table, (bits, len), Source::Default, &paths) {
                self.drop_table::<F>(table);
                return Err(e);
            }
        }
        Ok(table)
    }
    /// Deletes a table and the routes in it.
    ///
    /// # Errors
    /// [`Error::NoTable`]; [`Error::TableInUse`] for table 0 and while interfaces or routes of
    /// other tables look up there.
    pub fn remove_table<F: Family>(&mut self, id: u32) -> Result<(), Error> {
        let table = F::tables(&self.fib).named(id).ok_or(Error::NoTable)?;
        if table == TableIndex::DEFAULT || self.is_needed::<F>(table) {
            return Err(Error::TableInUse);
        }
        self.drop_table::<F>(table);
        Ok(())
    }
    fn drop_table<F: Family>(&mut self, table: TableIndex) {
        // Routes first, so that what recursion brought here is gone with them.
        for source in
            [Source::Interface, Source::Api, Source::Cli, Source::Adjacency, Source::Default]
        {
            let Some(t) = F::tables(&self.fib).at(table) else { return };
            let has = t.entries.iter().filter(|(_, e)| e.list_of(source).is_some());
            let keys: Vec<_> = has.map(|(key, _)| *key).collect();
            keys.into_iter().for_each(|key| self.take_source::<F>(table, key, source));
        }
        F::tables_mut(&mut self.fib).remove(table);
    }
    /// Whether an interface or a route of another table looks up in a table.
    fn is_needed<F: Family>(&self, table: TableIndex) -> bool {
        let Some(t) = F::tables(&self.fib).at(table) else { return false };
        let mut inside = HashMap::<u32, u32>::new();
        for (_, list) in t.entries.values().flat_map(|e| e.sources()) {
            *inside.entry(list).or_default() += 1;
        }
        let leads_here = |p: &Path| match p.target {
            Target::Recursive { table: to, addr } => to == table && Link::of(addr) == F::LINK,
            Target::Lookup { table: to, link } => to == table && link == F::LINK,
            _ => false,
        };
        let mut users = self.fib.lists.iter().filter(|(_, l)| l.paths.iter().any(leads_here));
        t.interfaces > 0 || users.any(|(i, l)| l.users > inside.get(&i).copied().unwrap_or(0))
    }
    /// Counts an interface that looks up in a table, or no longer does.
    pub(crate) fn use_table<F: Family>(&mut self, table: TableIndex, uses: bool) {
        if let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) {
            t.interfaces = if uses { t.interfaces + 1 } else { t.interfaces.saturating_sub(1) };
        }
    }

    /// Adds the table for the link-local addresses of an interface, where packets to unknown ones
    /// are resolved on that interface.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::Adjacency`].
    pub(crate) fn add_link_local(
        &mut self,
        interface: InterfaceIndex,
        own: std::net::Ipv6Addr,
    ) -> Result<TableIndex, Error> {
        let tables = &mut self.fib.ip6;
        let table = tables.add(interface.0, Some(interface)).map_err(|_| Error::Full)?;
        let glean = [Path::to(Target::Attached { interface, own: own.into() })];
        if let Err(e) = self.set_paths::<Ip6>(table, (0, 0), Source::Default, &glean) {
            self.fib.ip6.remove(table);
            return Err(e);
        }
        self.point_link_local(interface, table.0);
        Ok(table)
    }
    /// Deletes it.
    pub(crate) fn remove_link_local(&mut self, interface: InterfaceIndex) {
        if let Some(table) = self.fib.link_local_of(interface) {
            self.point_link_local(interface, 0);
            self.drop_table::<Ip6>(table);
        }
    }
    fn point_link_local(&mut self, interface: InterfaceIndex, table: u16) {
        let mut all = self.fib.link_local.current().clone();
        let at = interface.0 as usize;
        all.resize(all.len().max(at + 1), 0);
        all[at] = table;
        self.fib.link_local.publish(all);
    }
}

impl super::Fib {
    /// The table of an interface's link-local addresses.
    pub fn link_local_of(&self, interface: InterfaceIndex) -> Option<TableIndex> {
        let table = *self.link_local.current().get(interface.0 as usize)?;
        (table != 0).then_some(TableIndex(table))
    }
}
