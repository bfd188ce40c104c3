//! Changing multicast routes.

use std::net::IpAddr;

use super::kind::Multicast;
use super::table::{Copy, Entry, MKey, MRoute, SourceRoute};
use super::{COLUMNS, EntryFlags, Error, ItfFlags, MPath, MPrefix};
use crate::adjacency::{AdjacencyIndex, Role};
use crate::fib::{self, Family, Ip4, Ip6, Path, Source, TableIndex, Target};
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Sets the flags of a route, which is created if necessary. Returns its number.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_mroute(
        &mut self,
        table: TableIndex,
        prefix: MPrefix,
        source: Source,
        flags: EntryFlags,
        rpf_id: u32,
    ) -> Result<u32, Error> {
        self.change_any(table, prefix, source, |route| {
            (route.flags, route.rpf_id) = (flags, rpf_id);
            Ok(())
        })
    }
    /// Adds paths to a route, which is created if necessary; an existing one gets the new flags.
    /// Returns its number.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_mroute_paths(
        &mut self,
        table: TableIndex,
        prefix: MPrefix,
        source: Source,
        paths: &[MPath],
    ) -> Result<u32, Error> {
        self.change_any(table, prefix, source, |route| {
            route.add(paths);
            Ok(())
        })
    }
    /// Both at once: sets what holds for all packets, and adds paths to those there are.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn update_mroute(
        &mut self,
        table: TableIndex,
        prefix: MPrefix,
        source: Source,
        (flags, rpf_id): (EntryFlags, u32),
        paths: &[MPath],
    ) -> Result<u32, Error> {
        self.change_any(table, prefix, source, |route| {
            (route.flags, route.rpf_id) = (flags, rpf_id);
            route.add(paths);
            Ok(())
        })
    }
    /// Removes paths from a route, which ends with its last one; or the whole route when `paths`
    /// is empty.
    ///
    /// # Errors
    /// [`Error::NoRoute`] when the source has no such route.
    pub fn remove_mroute(
        &mut self,
        table: TableIndex,
        prefix: MPrefix,
        source: Source,
        paths: &[MPath],
    ) -> Result<(), Error> {
        match prefix.group {
            IpAddr::V4(_) => {
                self.remove_mroute_of::<Ip4>(table, key::<Ip4>(prefix)?, source, paths)
            }
            IpAddr::V6(_) => {
                self.remove_mroute_of::<Ip6>(table, key::<Ip6>(prefix)?, source, paths)
            }
        }
    }
    /// Makes an interface listen to the groups that every router listens to, or stop.
    pub(crate) fn listen_to_groups<F: Multicast>(
        &mut self,
        table: TableIndex,
        interface: InterfaceIndex,
        is_on: bool,
    ) {
        let table = self.multicast_table::<F>(table);
        let own = F::LINK.unspecified();
        let target = Target::Attached { interface, own };
        let path = MPath { path: Path::to(target), flags: ItfFlags::ACCEPT };
        for (group, len) in F::OURS {
            let key = (*group, *len, None);
            if is_on {
                let paths = |route: &mut SourceRoute| {
                    route.paths.retain(|p| p.path.target != target);
                    route.paths.push(path.clone());
                    Ok(())
                };
                // Without room the interface does not listen; there is no caller to inform.
                let _ = self.change_mroute::<F>(table, key, Source::SPECIAL, paths);
            } else {
                // It was put there when the interface began to listen.
                let _ = self.remove_mroute_of::<F>(
                    table,
                    key,
                    Source::SPECIAL,
                    std::slice::from_ref(&path),
                );
            }
        }
    }
    /// The table that interfaces of a unicast table use for multicast: its twin, or the first one
    /// when it has none.
    fn multicast_table<F: Multicast>(&self, unicast: TableIndex) -> TableIndex {
        if self.has_mtable::<F>(unicast) { unicast } else { TableIndex::DEFAULT }
    }
    /// Whether a unicast table has a multicast twin.
    pub(crate) fn has_mtable<F: Multicast>(&self, unicast: TableIndex) -> bool {
        F::mtables(&self.mfib).at(unicast).is_some()
    }
    /// Gives a unicast table its multicast twin, unless it has one. Interfaces that look up there
    /// listen in the twin from then on.
    ///
    /// # Errors
    /// [`Error::Full`]; there is no twin then.
    pub(crate) fn add_mtable<F: Multicast>(&mut self, table: TableIndex) -> Result<(), Error> {
        if self.has_mtable::<F>(table) {
            return Ok(());
        }
        let all = self.addresses.iter().filter(|(_, on)| on.table(F::LINK) == Some(table));
        let listening: Vec<_> = all.map(|(index, _)| index).collect();
        let move_over = |router: &mut Self, is_on| {
            listening.iter().for_each(|on| router.listen_to_groups::<F>(table, *on, is_on));
        };
        move_over(self, false);
        let made = F::mtables_mut(&mut self.mfib).make(table).map_err(|_| Error::Full);
        let filled = made.and_then(|()| self.fill_mtable::<F>(table));
        if filled.is_err() {
            self.drop_mtable::<F>(table);
        }
        move_over(self, true);
        filled
    }
    /// Makes the entries that every table has.
    fn fill_mtable<F: Multicast>(&mut self, table: TableIndex) -> Result<(), Error> {
        let (bits, len) = F::ALL;
        self.change_mroute::<F>(table, (bits, len, None), Source::DEFAULT, |route| {
            route.flags = EntryFlags::DROP;
            Ok(())
        })?;
        let target = Target::Receive { interface: None, addr: None };
        let local = MPath { path: Path::to(target), flags: ItfFlags::FORWARD };
        for (group, len) in F::OURS {
            self.change_mroute::<F>(table, (*group, *len, None), Source::SPECIAL, |route| {
                route.paths.push(local.clone());
                Ok(())
            })?;
        }
        Ok(())
    }
    /// Takes all entries out of a table, and the table away.
    pub(crate) fn drop_mtable<F: Multicast>(&mut self, table: TableIndex) {
        let Some(t) = F::mtables(&self.mfib).at(table) else { return };
        let each = t.entries.iter().flat_map(|(k, e)| e.sources.iter().map(|w| (*k, w.0)));
        let all: Vec<_> = each.collect();
        for (key, source) in all {
            // It was there just now.
            let _ = self.remove_mroute_of::<F>(table, key, source, &[]);
        }
        F::mtables_mut(&mut self.mfib).forget(table);
    }
    /// Takes out of a table what one source put in.
    pub(crate) fn flush_mtable<F: Multicast>(&mut self, table: TableIndex, of: Source) {
        self.flush_mroutes::<F>(table, of, |_| true);
    }
    fn flush_mroutes<F: Multicast>(
        &mut self,
        table: TableIndex,
        of: Source,
        which: impl Fn(&Entry) -> bool,
    ) {
        let Some(t) = F::mtables(&self.mfib).at(table) else { return };
        let has = |e: &Entry| e.sources.iter().any(|w| w.0 == of) && which(e);
        let all: Vec<_> = t.entries.iter().filter(|(_, e)| has(e)).map(|(k, _)| *k).collect();
        for key in all {
            // It was there just now.
            let _ = self.remove_mroute_of::<F>(table, key, of, &[]);
        }
    }
    /// Marks the routes of [`Source::API`] in a table: those not added again are deleted by
    /// [`Router::sweep_mtable`].
    pub(crate) fn mark_mtable<F: Multicast>(&mut self, table: TableIndex) {
        let Some(t) = F::mtables_mut(&mut self.mfib).at_mut(table) else { return };
        for entry in t.entries.values_mut() {
            entry.is_stale = entry.sources.iter().any(|w| w.0 == Source::API);
        }
    }
    /// Takes what is still marked out of a table.
    pub(crate) fn sweep_mtable<F: Multicast>(&mut self, table: TableIndex) {
        self.flush_mroutes::<F>(table, Source::API, |entry| entry.is_stale);
    }
    /// Takes all paths over an interface away.
    pub(super) fn mfib_forget_interface(&mut self, interface: InterfaceIndex) {
        self.forget_mroutes::<Ip4>(interface);
        self.forget_mroutes::<Ip6>(interface);
    }
    fn forget_mroutes<F: Multicast>(&mut self, interface: InterfaceIndex) {
        let uses = |p: &&MPath| p.path.target.interface() == Some(interface);
        let mut gone = Vec::new();
        for (table, t) in F::mtables(&self.mfib).iter() {
            for (key, entry) in &t.entries {
                for (source, route) in &entry.sources {
                    let paths: Vec<MPath> = route.paths.iter().filter(uses).cloned().collect();
                    if !paths.is_empty() {
                        gone.push((table, *key, *source, paths));
                    }
                }
            }
        }
        for (table, key, source, paths) in gone {
            // They were there just now.
            let _ = self.remove_mroute_of::<F>(table, key, source, &paths);
        }
    }

    fn change_any(
        &mut self,
        table: TableIndex,
        prefix: MPrefix,
        source: Source,
        change: impl FnOnce(&mut SourceRoute) -> Result<(), Error>,
    ) -> Result<u32, Error> {
        match prefix.group {
            IpAddr::V4(_) => self.change_mroute::<Ip4>(table, key::<Ip4>(prefix)?, source, change),
            IpAddr::V6(_) => self.change_mroute::<Ip6>(table, key::<Ip6>(prefix)?, source, change),
        }
    }
    /// Changes what a source wants of a route.
    fn change_mroute<F: Multicast>(
        &mut self,
        table: TableIndex,
        key: MKey<F>,
        source: Source,
        change: impl FnOnce(&mut SourceRoute) -> Result<(), Error>,
    ) -> Result<u32, Error> {
        let t = F::mtables(&self.mfib).at(table).ok_or(Error::NoTable)?;
        let old = t.entries.get(&key);
        let route = old.and_then(|e| e.sources.iter().find(|w| w.0 == source));
        let mut route = route.map(|w| w.1.clone()).unwrap_or_default();
        change(&mut route)?;
        let mut sources = old.map(|e| e.sources.clone()).unwrap_or_default();
        match sources.binary_search_by_key(&source, |w| w.0) {
            Ok(at) => sources[at].1 = route,
            Err(at) => sources.insert(at, (source, route)),
        }
        self.put_mroute::<F>(table, key, sources)
    }
    fn remove_mroute_of<F: Multicast>(
        &mut self,
        table: TableIndex,
        key: MKey<F>,
        source: Source,
        paths: &[MPath],
    ) -> Result<(), Error> {
        let t = F::mtables(&self.mfib).at(table).ok_or(Error::NoRoute)?;
        let entry = t.entries.get(&key).ok_or(Error::NoRoute)?;
        let mut sources = entry.sources.clone();
        let at = sources.iter().position(|w| w.0 == source).ok_or(Error::NoRoute)?;
        let route = &mut sources[at].1;
        let had = |gone: &MPath| route.paths.iter().any(|p| p.path.target == gone.path.target);
        if !paths.iter().all(had) {
            return Err(Error::NoRoute);
        }
        let is_gone = |p: &MPath| paths.iter().any(|gone| gone.path.target == p.path.target);
        route.paths.retain(|p| !is_gone(p));
        if paths.is_empty() || route.paths.is_empty() {
            sources.remove(at);
        }
        if !sources.is_empty() {
            return self.put_mroute::<F>(table, key, sources).map(drop);
        }
        let tables = F::mtables_mut(&mut self.mfib);
        let gone = tables.at_mut(table).and_then(|t| t.entries.remove(&key));
        tables.refresh(table, key.0, key.1);
        if let Some(gone) = gone {
            self.mfib.routes.remove(gone.route);
            gone.adjacencies.into_iter().for_each(|a| self.release_adjacency(a));
        }
        Ok(())
    }
    /// Makes a route what its sources want.
    fn put_mroute<F: Multicast>(
        &mut self,
        table: TableIndex,
        key: MKey<F>,
        sources: Vec<(Source, SourceRoute)>,
    ) -> Result<u32, Error> {
        let (route, adjacencies) = self.mroute_of::<F>(table, &sources[0].1)?;
        let t = F::mtables_mut(&mut self.mfib).at_mut(table);
        if let Some(entry) = t.and_then(|t| t.entries.get_mut(&key)) {
            entry.sources = sources;
            entry.is_stale = false;
            let old = std::mem::replace(&mut entry.adjacencies, adjacencies);
            let index = entry.route;
            self.mfib.routes.replace(index, route);
            old.into_iter().for_each(|a| self.release_adjacency(a));
            return Ok(index);
        }
        let Ok(index) = self.mfib.routes.insert(route) else {
            adjacencies.into_iter().for_each(|a| self.release_adjacency(a));
            return Err(Error::Full);
        };
        let entry = Entry { sources, route: index, adjacencies, is_stale: false };
        let tables = F::mtables_mut(&mut self.mfib);
        if let Some(t) = tables.at_mut(table) {
            t.entries.insert(key, entry);
        }
        if !tables.refresh(table, key.0, key.1) {
            let gone = tables.at_mut(table).and_then(|t| t.entries.remove(&key));
            self.mfib.routes.remove(index);
            let adjacencies = gone.into_iter().flat_map(|e| e.adjacencies);
            adjacencies.for_each(|a| self.release_adjacency(a));
            return Err(Error::Full);
        }
        let counters = self.mfib.counters.clone();
        self.count_from_zero(&counters, COLUMNS, index, "multicast routes");
        Ok(index)
    }
    /// The route that a route makes, with the adjacencies it uses.
    fn mroute_of<F: Multicast>(
        &mut self,
        table: TableIndex,
        route: &SourceRoute,
    ) -> Result<(MRoute, Vec<AdjacencyIndex>), Error> {
        let mut interfaces: Vec<(u32, ItfFlags)> = Vec::new();
        let (mut copies, mut adjacencies) = (Vec::new(), Vec::new());
        for MPath { path, flags } in &route.paths {
            if let Some(interface) = path.target.interface() {
                match interfaces.binary_search_by_key(&interface.0, |i| i.0) {
                    Ok(at) => interfaces[at].1 = interfaces[at].1.with(*flags),
                    Err(at) => interfaces.insert(at, (interface.0, *flags)),
                }
            }
            if !flags.has(ItfFlags::FORWARD) {
                continue;
            }
            let (interface, role, next_hop) = match path.target {
                Target::Receive { .. } => {
                    copies.push(Copy::Receive);
                    continue;
                }
                Target::Neighbor { interface, addr } => (interface, Role::Neighbor, addr),
                Target::Attached { interface, .. } => {
                    (interface, Role::Multicast, F::LINK.unspecified())
                }
                Target::Object(object) => {
                    copies.push(Copy::Object(object));
                    continue;
                }
                _ => continue,
            };
            match self.use_adjacency(interface, role, next_hop) {
                Ok(adjacency) => adjacencies.push(adjacency),
                Err(e) => {
                    adjacencies.into_iter().for_each(|a| self.release_adjacency(a));
                    return Err(Error::Path(fib::Error::Adjacency(e)));
                }
            }
            let adjacency = adjacencies[adjacencies.len() - 1];
            // Into a tunnel there is one way.
            let role = self.adjacencies.at(adjacency).map(|a| a.role);
            let is_group = role == Some(Role::Multicast);
            copies.push(if is_group {
                Copy::Multicast(adjacency)
            } else {
                Copy::Neighbor(adjacency, interface)
            });
        }
        if route.flags.has(EntryFlags::DROP) {
            copies.clear();
        }
        let (interfaces, copies) = (interfaces.into(), copies.into());
        let (flags, rpf_id) = (route.flags, route.rpf_id);
        Ok((MRoute { flags, rpf_id, interfaces, copies, table }, adjacencies))
    }
}

/// A prefix as the key of a table.
fn key<F: Family>(prefix: MPrefix) -> Result<MKey<F>, Error> {
    let group = F::bits(prefix.group).ok_or(Error::Prefix)?;
    let source = prefix.source.map(|s| F::bits(s).ok_or(Error::Prefix)).transpose()?;
    if prefix.len > F::BITS || (source.is_some() && prefix.len != F::BITS) {
        return Err(Error::Prefix);
    }
    Ok((F::masked(group, prefix.len), prefix.len, source))
}

/// A key as a prefix.
pub(super) fn prefix<F: Family>(key: MKey<F>) -> MPrefix {
    MPrefix { group: F::addr(key.0), len: key.1, source: key.2.map(F::addr) }
}
