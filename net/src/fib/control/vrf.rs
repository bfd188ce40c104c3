//! Making and deleting tables.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;

use super::deferred::SLICE;
use super::path::{Path, TableIndex, Target};
use super::source::Source;
use super::table::{Entry, Key, Table};
use crate::adjacency::Link;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::{Error, Fib};
use crate::flow_hash::FlowHash;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Does to the multicast table of the same number and family what is done to a unicast table.
macro_rules! twin {
    ($family:ident, $router:ident.$method:ident($($arg:expr),*)) => {
        match $family::LINK {
            Link::Ip4 => $router.$method::<Ip4>($($arg),*),
            _ => $router.$method::<Ip6>($($arg),*),
        }
    };
}

/// Public functions on tables of a family, compiled here for each one: what is generic over
/// families would be compiled by every crate that calls it, with all that it calls.
macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident = $inner:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        impl Router {
            $(
                $(#[$doc])*
                pub fn $name<F: Family>(&mut self, $($arg: $type),*) -> $out {
                    fn once(link: Link, router: &mut Router, $($arg: $type),*) -> $out {
                        match link {
                            Link::Ip4 => router.$inner::<Ip4>($($arg),*),
                            _ => router.$inner::<Ip6>($($arg),*),
                        }
                    }
                    once(F::LINK, self, $($arg),*)
                }
            )*
        }
    };
}

gates! {
    /// Adds a table that the operator calls `id`, for unicast and multicast. One that exists for
    /// unicast only gets its multicast part.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::Full`].
    add_table = add_table_of(id: u32) -> Result<TableIndex, Error>;
    /// Adds a table for unicast only. Interfaces that look up there use table 0 for multicast.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::Full`].
    add_unicast_table = add_unicast_of(id: u32) -> Result<TableIndex, Error>;
    /// Deletes a table and the routes that clients and the operator put in. While interfaces or
    /// routes of other tables look up there it stays with what it has from others; it goes with the
    /// last of those.
    ///
    /// # Errors
    /// [`Error::NoTable`]; [`Error::TableInUse`] for table 0.
    remove_table = remove_table_of(id: u32) -> Result<(), Error>;
    /// As [`remove_table`](Self::remove_table), but while others look up there its routes stay.
    ///
    /// # Errors
    /// [`Error::NoTable`]; [`Error::TableInUse`] for table 0.
    give_up_table = give_up_of(id: u32) -> Result<(), Error>;
    /// Takes out of a table what some sources put in.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    flush_table = flush_of(table: TableIndex, of: &[Source]) -> Result<(), Error>;
    /// Starts to replace the routes of [`Source::API`] in a table: those not added again are
    /// deleted by [`Router::end_replace`].
    ///
    /// # Errors
    /// [`Error::NoTable`].
    begin_replace = begin_replace_of(table: TableIndex) -> Result<(), Error>;
    /// Ends it.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    end_replace = end_replace_of(table: TableIndex) -> Result<(), Error>;
    /// Finds or creates a table, and adds a user; it is deleted with its last user.
    ///
    /// # Errors
    /// [`Error::Full`].
    hold_table = hold_of(id: u32) -> Result<TableIndex, Error>;
    /// Ends a use.
    release_table = release_of(table: TableIndex) -> ();
    /// Counts an interface as user of a table, or as former user.
    use_table = count_use(table: TableIndex, uses: bool) -> ();
}

impl Router {
    fn add_table_of<F: Family>(&mut self, id: u32) -> Result<TableIndex, Error> {
        let added = match self.add_unicast_of::<F>(id) {
            Err(e) if e != Error::TableExists => return Err(e),
            added => added,
        };
        let table = F::tables(&self.fib).named(id).expect("it exists");
        let lacks_multicast = !twin!(F, self.has_mtable(table));
        if twin!(F, self.add_mtable(table)).is_err() {
            if added.is_ok() {
                self.drop_table::<F>(table);
            }
            return Err(Error::Full);
        }
        if lacks_multicast { Ok(table) } else { added }
    }
    fn add_unicast_of<F: Family>(&mut self, id: u32) -> Result<TableIndex, Error> {
        if let Some(table) = F::tables(&self.fib).named(id) {
            self.finish_deferred::<F>(table);
        }
        if let Some(table) = F::tables(&self.fib).named(id) {
            let t = F::tables_mut(&mut self.fib).at_mut(table);
            let was_wanted = t.is_none_or(|t| std::mem::replace(&mut t.is_wanted, true));
            return if was_wanted { Err(Error::TableExists) } else { Ok(table) };
        }
        let no_memory = |_: io::Error| Error::Full;
        let table = F::tables_mut(&mut self.fib).add(id, None).map_err(no_memory)?;
        for &(bits, len, target, source) in F::DEFAULTS {
            if let Err(e) = self.set_paths::<F>(table, (bits, len), source, &[Path::to(target)]) {
                self.drop_table::<F>(table);
                return Err(e);
            }
        }
        self.note_table::<F>(table, "added");
        Ok(table)
    }
    fn remove_table_of<F: Family>(&mut self, id: u32) -> Result<(), Error> {
        let table = self.fib.removable_table::<F>(id)?;
        self.finish_deferred::<F>(table);
        self.sweep::<F>(table, |_, _, source, _| source.is_client(), Self::unwant_table::<F>);
        Ok(())
    }
    fn give_up_of<F: Family>(&mut self, id: u32) -> Result<(), Error> {
        let table = self.fib.removable_table::<F>(id)?;
        self.unwant_table::<F>(table);
        Ok(())
    }
    fn unwant_table<F: Family>(&mut self, table: TableIndex) {
        if let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) {
            t.is_wanted = false;
        }
        self.reap_table::<F>(table);
    }
    /// Deletes a table without sources and users.
    pub(super) fn reap_table<F: Family>(&mut self, table: TableIndex) {
        if self.fib.is_unwanted(F::LINK, table) && !self.fib.is_needed::<F>(table) {
            self.drop_table::<F>(table);
        }
    }
    /// The same of a table of a family.
    pub(in crate::fib) fn reap(&mut self, link: Link, table: TableIndex) {
        match link {
            Link::Ip4 => self.reap_table::<Ip4>(table),
            Link::Ip6 => self.reap_table::<Ip6>(table),
            Link::Mpls | Link::Ethernet => (),
        }
    }
    fn flush_of<F: Family>(&mut self, table: TableIndex, of: &[Source]) -> Result<(), Error> {
        F::tables(&self.fib).at(table).ok_or(Error::NoTable)?;
        self.finish_deferred::<F>(table);
        for source in of {
            twin!(F, self.flush_mtable(table, *source));
        }
        let of = of.to_vec();
        self.sweep::<F>(table, move |_, _, source, _| of.contains(&source), |_, _| ());
        Ok(())
    }
    /// Takes out of a table, in slices, what `is_gone` says; then does what is to be done `then`.
    fn sweep<F: Family>(
        &mut self,
        table: TableIndex,
        is_gone: impl Fn(&Fib, &Table<F>, Source, &Entry) -> bool + 'static,
        then: fn(&mut Self, TableIndex),
    ) {
        self.each_in_slices::<F>(table, None, is_gone, Self::take_source::<F>, then);
    }
    /// Does something in slices `with` what `is_meant` says of a table; then what is to be done
    /// `then`. If all that is about a deleted interface, it is said as `over`.
    pub(super) fn each_in_slices<F: Family>(
        &mut self,
        table: TableIndex,
        over: Option<InterfaceIndex>,
        is_meant: impl Fn(&Fib, &Table<F>, Source, &Entry) -> bool + 'static,
        with: impl Fn(&mut Self, TableIndex, Key<F>, Source) + 'static,
        then: fn(&mut Self, TableIndex),
    ) {
        let (mut last, mut count) = (None, 0);
        self.in_slices::<F>(table, over, move |router| {
            let Some(t) = F::tables(&router.fib).at(table) else { return true };
            let some = t.entries.after(last).take(SLICE);
            let (mut meant, mut seen) = (Vec::new(), 0);
            for (key, e) in some {
                (last, seen) = (Some(*key), seen + 1);
                let of = e.sources().map(|s| s.0);
                let of = of.filter(|source| is_meant(&router.fib, t, *source, e));
                meant.extend(of.map(|source| (*key, source)));
            }
            count += meant.len();
            meant.into_iter().for_each(|(key, source)| with(router, table, key, source));
            if seen == SLICE {
                return false;
            }
            if count > 0 {
                router.note_table::<F>(table, format_args!("{count} routes swept"));
            }
            then(router, table);
            true
        });
    }
    fn begin_replace_of<F: Family>(&mut self, table: TableIndex) -> Result<(), Error> {
        self.finish_deferred::<F>(table);
        let t = F::tables_mut(&mut self.fib).at_mut(table).ok_or(Error::NoTable)?;
        (t.is_replacing, t.round) = (true, t.round.wrapping_add(1));
        self.note_table::<F>(table, "replacement begins");
        twin!(F, self.mark_mtable(table));
        Ok(())
    }
    fn end_replace_of<F: Family>(&mut self, table: TableIndex) -> Result<(), Error> {
        self.finish_deferred::<F>(table);
        let t = F::tables_mut(&mut self.fib).at_mut(table).ok_or(Error::NoTable)?;
        let was_replacing = std::mem::replace(&mut t.is_replacing, false);
        twin!(F, self.sweep_mtable(table));
        self.note_table::<F>(table, "replacement ends");
        if was_replacing {
            let is_stale = |_: &Fib, t: &Table<F>, source, e: &Entry| {
                source == Source::API && e.round != t.round
            };
            self.sweep::<F>(table, is_stale, |_, _| ());
        }
        Ok(())
    }
    /// Notes what happens to a table.
    fn note_table<F: Family>(&self, table: TableIndex, what: impl Display) {
        if let Some(t) = F::tables(&self.fib).at(table) {
            self.note(format_args!("{} table {}: {what}", F::NAME, t.id));
        }
    }
    fn drop_table<F: Family>(&mut self, table: TableIndex) {
        self.note_table::<F>(table, "deleted");
        if let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) {
            // What is given up with it is not to delete it once more.
            t.is_wanted = true;
        }
        // Other routes first, so that what recursion brought here is gone with them, but for what
        // leads to a list that is being given up.
        for is_recursive in [false, true] {
            let is_meant = |source| (source == Source::RECURSIVE) == is_recursive;
            let all = self.fib.keys_of::<F>(table, is_meant);
            all.into_iter().for_each(|(key, source)| self.take_source::<F>(table, key, source));
        }
        twin!(F, self.drop_mtable(table));
        self.fib.hashes::<F>().set(table.0, FlowHash::DEFAULT);
        F::tables_mut(&mut self.fib).remove(table);
    }
    /// Says what of a packet counts for the flow hashes of a table.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn set_flow_hash<F: Family>(
        &mut self,
        table: TableIndex,
        what: FlowHash,
    ) -> Result<(), Error> {
        F::tables(&self.fib).at(table).ok_or(Error::NoTable)?;
        self.fib.hashes::<F>().set(table.0, what);
        Ok(())
    }
    /// Gives all flow hashes another seed.
    pub fn set_flow_hash_seed(&mut self, seed: u32) {
        self.fib.hashes4.set_seed(seed);
        self.fib.hashes6.set_seed(seed);
    }
    fn hold_of<F: Family>(&mut self, id: u32) -> Result<TableIndex, Error> {
        let table = match F::tables(&self.fib).named(id) {
            Some(table) => table,
            None => {
                let table = self.add_table_of::<F>(id)?;
                if let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) {
                    t.is_wanted = false;
                }
                table
            }
        };
        self.count_use::<F>(table, true);
        Ok(table)
    }
    /// As [`hold_table`](Self::hold_table), of the family of a link.
    ///
    /// # Errors
    /// As there.
    pub fn hold_table_of(&mut self, link: impl Into<Link>, id: u32) -> Result<TableIndex, Error> {
        match link.into() {
            Link::Ip6 => self.hold_table::<Ip6>(id),
            _ => self.hold_table::<Ip4>(id),
        }
    }
    fn release_of<F: Family>(&mut self, table: TableIndex) {
        self.count_use::<F>(table, false);
    }
    /// Counts a use of a table of the family of a link, or its end.
    pub fn use_table_of(&mut self, link: impl Into<Link>, table: TableIndex, uses: bool) {
        match link.into() {
            Link::Ip6 => self.use_table::<Ip6>(table, uses),
            _ => self.use_table::<Ip4>(table, uses),
        }
    }
    fn count_use<F: Family>(&mut self, table: TableIndex, uses: bool) {
        if let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) {
            t.interfaces = if uses { t.interfaces + 1 } else { t.interfaces.saturating_sub(1) };
        }
        self.reap_table::<F>(table);
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
        if let Err(e) = self.set_paths::<Ip6>(table, (0, 0), Source::DEFAULT, &glean) {
            self.fib.ip6.remove(table);
            return Err(e);
        }
        self.fib.point_link_local(interface, table.0);
        Ok(table)
    }
    /// Deletes it.
    pub(crate) fn remove_link_local(&mut self, interface: InterfaceIndex) {
        if let Some(table) = self.fib.link_local_of(interface) {
            self.fib.point_link_local(interface, 0);
            self.drop_table::<Ip6>(table);
        }
    }
}

impl Fib {
    /// Gives a table a name, instead of one made of its number.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn name_table<F: Family>(&mut self, table: TableIndex, name: &str) -> Result<(), Error> {
        let t = F::tables_mut(self).at_mut(table).ok_or(Error::NoTable)?;
        t.name = name.to_owned();
        Ok(())
    }
    fn removable_table<F: Family>(&self, id: u32) -> Result<TableIndex, Error> {
        let table = F::tables(self).named(id).ok_or(Error::NoTable)?;
        if table == TableIndex::DEFAULT { Err(Error::TableInUse) } else { Ok(table) }
    }
    fn keys_of<F: Family>(
        &self,
        table: TableIndex,
        which: impl Fn(Source) -> bool,
    ) -> Vec<(Key<F>, Source)> {
        let Some(t) = F::tables(self).at(table) else { return Vec::new() };
        let each = t.entries.iter().flat_map(|(key, e)| e.sources().map(|s| (*key, s.0)));
        each.filter(|(_, source)| which(*source)).collect()
    }
    /// Whether an interface or a route of another table looks up in a table.
    fn is_needed<F: Family>(&self, table: TableIndex) -> bool {
        let Some(t) = F::tables(self).at(table) else { return false };
        let mut inside = HashMap::<u32, u32>::new();
        for (_, list) in t.entries.iter().flat_map(|(_, e)| e.sources()) {
            *inside.entry(list).or_default() += 1;
        }
        for (to, foreign) in &self.foreign {
            if to.table == table && Link::of(to.addr) == F::LINK {
                *inside.entry(foreign.list).or_default() += 1;
            }
        }
        let leads_here = |p: &Path| p.target.table() == Some((F::LINK, table));
        let mut users = self.lists.iter().filter(|(_, l)| l.paths.iter().any(leads_here));
        t.interfaces > 0 || users.any(|(i, l)| l.users > inside.get(&i).copied().unwrap_or(0))
    }
    fn point_link_local(&mut self, interface: InterfaceIndex, table: u16) {
        let mut all = self.link_local.current().clone();
        let at = interface.0 as usize;
        all.resize(all.len().max(at + 1), 0);
        all[at] = table;
        self.link_local.publish(all);
    }
}

impl Fib {
    /// Whether a table exists without sources.
    pub(super) fn is_unwanted(&self, link: Link, table: TableIndex) -> bool {
        match link {
            Link::Ip4 => self.ip4.at(table).is_some_and(|t| !t.is_wanted),
            Link::Ip6 => self.ip6.at(table).is_some_and(|t| !t.is_wanted),
            Link::Mpls | Link::Ethernet => false,
        }
    }
    /// The table of an interface's link-local addresses.
    pub fn link_local_of(&self, interface: InterfaceIndex) -> Option<TableIndex> {
        let table = *self.link_local.current().get(interface.0 as usize)?;
        (table != 0).then_some(TableIndex(table))
    }
}
