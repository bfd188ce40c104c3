//! Changing routes: which source of a prefix counts, and what follows from a change.

use std::net::IpAddr;
use std::str::FromStr;

use wire::Prefix;

use super::path::{Path, TableIndex, Target};
use super::source::Source;
use super::table::{Entry, Key};
use crate::adjacency::{AdjacencyIndex, Role};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::load_balance::COLUMNS;
use crate::fib::{Error, Fib};
use crate::router::Router;

/// Prefixes of a table that have a load balance each, with its counters, by default; later ones
/// share that of their path list.
pub const OWN_BALANCES: usize = 65_536;

/// The prefixes and labels that have counters of their own. Other prefixes share those of all with
/// the same paths, other labels are counted for their neighbours only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteCounting {
    /// All: memory grows with their number.
    On,
    /// None.
    Off,
    /// The first [`OWN_BALANCES`] of a table.
    #[default]
    Auto,
}

impl RouteCounting {
    /// Whether one more has counters of its own in a table that has so many.
    pub fn counts(self, entries: usize) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => entries < OWN_BALANCES,
        }
    }
}

impl FromStr for RouteCounting {
    type Err = UnknownCounting;
    fn from_str(text: &str) -> Result<Self, UnknownCounting> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => Err(UnknownCounting),
        }
    }
}

/// Neither `on`, `off` nor `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCounting;

impl Router {
    /// Adds paths to those a source has for a prefix; one that already exists takes the new
    /// weight and preference. Returns whether anything changed.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_route(
        &mut self,
        table: TableIndex,
        prefix: Prefix,
        source: Source,
        paths: &[Path],
    ) -> Result<bool, Error> {
        match prefix {
            Prefix::Ip4(_) => self.add_paths::<Ip4>(table, key::<Ip4>(prefix), source, paths),
            Prefix::Ip6(_) => self.add_paths::<Ip6>(table, key::<Ip6>(prefix), source, paths),
        }
    }
    /// Replaces the paths a source has for a prefix.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_route(
        &mut self,
        table: TableIndex,
        prefix: Prefix,
        source: Source,
        paths: &[Path],
    ) -> Result<bool, Error> {
        match prefix {
            Prefix::Ip4(_) => self.set_paths::<Ip4>(table, key::<Ip4>(prefix), source, paths),
            Prefix::Ip6(_) => self.set_paths::<Ip6>(table, key::<Ip6>(prefix), source, paths),
        }
    }
    /// Takes paths away from those a source has for a prefix, or all of them when `paths` is empty.
    /// Weights and preferences are not compared.
    ///
    /// # Errors
    /// [`Error::NoRoute`] if the source has no such path.
    pub fn remove_route(
        &mut self,
        table: TableIndex,
        prefix: Prefix,
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        match prefix {
            Prefix::Ip4(_) => self.remove_paths::<Ip4>(table, key::<Ip4>(prefix), source, paths),
            Prefix::Ip6(_) => self.remove_paths::<Ip6>(table, key::<Ip6>(prefix), source, paths),
        }
    }
    pub(in crate::fib) fn add_paths<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        paths: &[Path],
    ) -> Result<bool, Error> {
        let paths = self.to_host::<F>(key, paths);
        let paths = &*paths;
        self.finish_deferred::<F>(table);
        let entry = F::tables(&self.fib).at(table).ok_or(Error::NoTable)?.entries.get(&key);
        let (is_new, old) = (entry.is_none(), entry.and_then(|e| e.list_of(source)));
        let Some(old) = old else {
            // Most routes come with paths of others and are sought once: a search in a big table
            // costs much. A new list might bring an entry for its next hop, which may be this one.
            if is_new && let Some(list) = self.fib.lists.share(paths) {
                return self.add_entry::<F>(table, key, source, list).map(|()| true);
            }
            return self.change_paths::<F>(table, key, source, paths, None);
        };
        let mut all = self.fib.lists.at(old).paths.to_vec();
        for new in paths {
            match all.iter_mut().find(|p| p.target == new.target) {
                Some(same) => *same = new.clone(),
                None => all.push(new.clone()),
            }
        }
        self.change_paths::<F>(table, key, source, &all, Some(old))
    }
    pub(in crate::fib) fn set_paths<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        paths: &[Path],
    ) -> Result<bool, Error> {
        let paths = self.to_host::<F>(key, paths);
        let paths = &*paths;
        self.finish_deferred::<F>(table);
        let entry = F::tables(&self.fib).at(table).ok_or(Error::NoTable)?.entries.get(&key);
        let old = entry.and_then(|e| e.list_of(source));
        self.change_paths::<F>(table, key, source, paths, old)
    }
    /// Gives a source other paths than those of its list `old`.
    fn change_paths<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        paths: &[Path],
        old: Option<u32>,
    ) -> Result<bool, Error> {
        let t = F::tables_mut(&mut self.fib).at_mut(table).ok_or(Error::NoTable)?;
        if t.is_replacing
            && source == Source::API
            && let Some(e) = t.entries.at_mut(&key)
        {
            e.round = t.round;
        }
        if old.is_some_and(|old| *self.fib.lists.at(old).paths == *paths) {
            return Ok(false);
        }
        let list = self.hold_list(paths, old)?;
        self.put_source::<F>(table, key, source, list).map(|()| true)
    }
    pub(in crate::fib) fn remove_paths<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        let paths = self.to_host::<F>(key, paths);
        let paths = &*paths;
        self.finish_deferred::<F>(table);
        let entry = F::tables(&self.fib).at(table).ok_or(Error::NoTable)?.entries.get(&key);
        let old = entry.and_then(|e| e.list_of(source)).ok_or(Error::NoRoute)?;
        let had = &self.fib.lists.at(old).paths;
        if paths.iter().any(|gone| had.iter().all(|p| p.target != gone.target)) {
            return Err(Error::NoRoute);
        }
        let is_left = |p: &&Path| paths.iter().all(|gone| gone.target != p.target);
        let left: Vec<Path> = had.iter().filter(is_left).cloned().collect();
        if paths.is_empty() || left.is_empty() {
            if entry.is_some_and(|e| e.is_only(source)) {
                self.remove_entry::<F>(table, key);
            } else {
                self.take_source::<F>(table, key, source);
            }
            return Ok(());
        }
        let list = self.hold_list(&left, Some(old))?;
        self.put_source::<F>(table, key, source, list)
    }

    /// Uses the path list with these paths; a new one spreads flows as `like` does.
    pub(super) fn hold_list(&mut self, paths: &[Path], like: Option<u32>) -> Result<u32, Error> {
        if let Some(list) = self.fib.lists.share(paths) {
            return Ok(list);
        }
        let mut adjacencies = Vec::with_capacity(paths.len());
        for path in paths {
            match self.adjacency_of(&path.target) {
                Ok(adjacency) => adjacencies.push(adjacency),
                Err(e) => {
                    adjacencies.into_iter().for_each(|a| self.release_adjacency(a));
                    return Err(e);
                }
            }
        }
        let balances = match self.hold_labels(paths) {
            Ok(balances) => balances,
            Err(e) => {
                adjacencies.into_iter().for_each(|a| self.release_adjacency(a));
                return Err(e);
            }
        };
        let list = self.fib.lists.add(paths, adjacencies, balances, like);
        self.fib.enter_labels(list);
        self.tell_of_objects(paths, true);
        let recursions: Vec<_> = self.fib.lists.at(list).recursions().collect();
        for (n, to) in recursions.iter().enumerate() {
            if let Err(e) = self.track(*to, list) {
                recursions[..n].iter().for_each(|to| self.untrack(*to, list));
                self.forget_list(list);
                return Err(e);
            }
        }
        self.resolve(vec![list]);
        Ok(list)
    }
    /// The path list that is held for an address, or one that drops: without room for another
    /// adjacency it leads nowhere.
    pub(super) fn or_drop(&mut self, held: Result<u32, Error>, to: IpAddr) -> Option<u32> {
        let or_drop = held.or_else(|why| {
            let log = self.log.class("fib", "entry");
            log.error(format_args!("packets via {to} are dropped: {why}"));
            self.hold_list(&[Path::to(Target::Drop)], None)
        });
        or_drop.ok()
    }
    fn adjacency_of(&mut self, target: &Target) -> Result<AdjacencyIndex, Error> {
        let (interface, role, next_hop) = match *target {
            Target::Neighbor { interface, addr } => (interface, Role::Neighbor, addr),
            // Such packets are never sent here: the path is kept, and not used.
            Target::ForeignNeighbor { link, .. }
                if self.engine.index_of(link.rewrite_node()).is_none() =>
            {
                return Ok(AdjacencyIndex(0));
            }
            Target::ForeignNeighbor { link, interface, addr } => {
                let made = self.use_adjacency_for(link, interface, Role::Neighbor, addr);
                return made.map_err(Error::Adjacency);
            }
            Target::Attached { interface, own } => {
                let i = self.interfaces.at(interface);
                let is_single = i.is_some_and(|i| i.is_point_to_point());
                (interface, if is_single { Role::Neighbor } else { Role::Glean }, own)
            }
            _ => return Ok(AdjacencyIndex(0)),
        };
        self.use_adjacency(interface, role, next_hop).map_err(Error::Adjacency)
    }
    /// Gives a path list up.
    pub(super) fn release_list(&mut self, list: u32) {
        let l = self.fib.lists.at_mut(list);
        l.users -= 1;
        if l.users > 0 {
            // All who are left may be in the very table that it leads to.
            let unwanted = self.fib.lists.at(list).targets().filter_map(|target| target.table());
            let unwanted = unwanted.filter(|(link, table)| self.fib.is_unwanted(*link, *table));
            let unwanted: Vec<_> = unwanted.collect();
            unwanted.into_iter().for_each(|(link, table)| self.reap(link, table));
            return;
        }
        let recursions: Vec<_> = self.fib.lists.at(list).recursions().collect();
        recursions.into_iter().for_each(|to| self.untrack(to, list));
        self.forget_list(list);
    }
    fn forget_list(&mut self, list: u32) {
        let Some(gone) = self.fib.lists.remove(list) else { return };
        gone.adjacencies.iter().for_each(|a| self.release_adjacency(*a));
        gone.group.into_iter().for_each(|group| self.fib.balances.free_group(group));
        gone.shared.into_iter().for_each(|balance| self.fib.balances.free(balance));
        self.fib.unused_wraps.extend(gone.wraps.iter().copied());
        self.release_wraps();
        self.fib.leave_labels(list, &gone.balances);
        self.release_labels(&gone.paths);
        self.tell_of_objects(&gone.paths, false);
        let tables = gone.targets().filter_map(|target| target.table());
        tables.for_each(|(link, table)| self.reap(link, table));
    }

    /// Sets the path list of a source, which is held already.
    pub(super) fn put_source<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        list: u32,
    ) -> Result<(), Error> {
        let seen = |e: &Entry| (e.list, e.is_only(Source::RECURSIVE));
        let entry = F::tables(&self.fib).at(table).and_then(|t| t.entries.get(&key));
        let Some((before, own)) = entry.map(|e| (seen(e), e.own)) else {
            return self.add_entry::<F>(table, key, source, list);
        };
        if !own && self.balance_for(false, list).is_none() {
            self.release_list(list);
            return Err(Error::Full);
        }
        let t = F::tables_mut(&mut self.fib).at_mut(table).ok_or(Error::NoTable)?;
        let old = t.put(key, source, list);
        let entry = &t.entries[&key];
        if seen(entry) != before {
            // With the list as it was, what wants a route to the host itself now has one.
            let (balance, best) = (entry.balance, entry.list);
            self.lead::<F>(table, key, own, balance, best);
            self.after_change::<F>(table, key, Some(before.0), Some(best));
        }
        old.into_iter().for_each(|old| self.release_list(old));
        Ok(())
    }
    fn add_entry<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        list: u32,
    ) -> Result<(), Error> {
        let Some(t) = F::tables(&self.fib).at(table) else {
            self.release_list(list);
            return Err(Error::NoTable);
        };
        let is_counted = self.fib.counting.counts(t.entries.len());
        let own = is_counted || source == Source::RECURSIVE;
        let balance = if t.has_room() { self.balance_for(own, list) } else { None };
        let Some(balance) = balance else {
            self.release_list(list);
            return Err(Error::Full);
        };
        let tables = F::tables_mut(&mut self.fib);
        if let Some(t) = tables.at_mut(table) {
            t.add(key, source, list, balance, own);
        }
        if tables.set_leaf(table, key, balance).is_err() {
            if let Some(t) = tables.at_mut(table) {
                t.remove(key);
            }
            if own {
                self.fib.balances.free(balance);
            }
            self.release_list(list);
            return Err(Error::Full);
        }
        self.after_change::<F>(table, key, None, Some(list));
        Ok(())
    }
    /// A load balance that follows a path list: a new one, or the list's own.
    pub(super) fn balance_for(&mut self, own: bool, list: u32) -> Option<u32> {
        let l = self.fib.lists.at_mut(list);
        l.is_followed = true;
        let balance = match l.shared {
            Some(shared) if !own => return Some(shared),
            _ => self.fib.balances.make(list, l.word)?,
        };
        if !own {
            l.shared = Some(balance);
        }
        self.show_counters(balance);
        Some(balance)
    }
    /// Lets clients see what a load balance counts, while the statistics have room.
    fn show_counters(&mut self, balance: u32) {
        let len = (balance as usize + 1).next_power_of_two().max(1024);
        if self.stats.grow(COLUMNS, len).is_err() {
            // Routes are worth more than their counters, which count on unseen.
            self.log.class("stats", "routes").warn("not all routes have their counters");
        }
    }
    /// Makes an entry's packets follow another path list.
    fn lead<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        own: bool,
        balance: u32,
        list: u32,
    ) {
        if own {
            self.fib.follow_list(balance, list);
            return;
        }
        let balance = self.balance_for(false, list).expect("lists of such entries have one");
        let tables = F::tables_mut(&mut self.fib);
        let done = tables.set_leaf(table, key, balance);
        done.expect("another leaf for an existing prefix needs no room");
        if let Some(e) = tables.at_mut(table).and_then(|t| t.entries.at_mut(&key)) {
            e.balance = balance;
        }
    }
    /// Takes a source away; the next best one counts, and without one the prefix goes.
    pub(in crate::fib) fn take_source<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
    ) {
        let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) else { return };
        let Some(entry) = t.entries.get(&key) else { return };
        if entry.is_only(source) {
            self.remove_entry::<F>(table, key);
            return;
        }
        let seen = |e: &Entry| (e.list, e.is_only(Source::RECURSIVE));
        let before = seen(entry);
        let Some(gone) = t.take(key, source) else { return };
        let entry = &t.entries[&key];
        if seen(entry) != before {
            let (own, balance, best) = (entry.own, entry.balance, entry.list);
            self.lead::<F>(table, key, own, balance, best);
            self.after_change::<F>(table, key, Some(before.0), Some(best));
        }
        self.release_list(gone);
    }
    /// Takes a prefix that has one source out of its table.
    fn remove_entry<F: Family>(&mut self, table: TableIndex, key: Key<F>) {
        let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) else { return };
        let Some(gone) = t.remove(key) else { return };
        if gone.own {
            self.fib.balances.free(gone.balance);
        }
        self.after_change::<F>(table, key, Some(gone.list), None);
        self.release_list(gone.list);
    }
}

impl Fib {
    /// Makes a load balance follow another path list.
    pub(super) fn follow_list(&mut self, balance: u32, list: u32) {
        let l = self.lists.at_mut(list);
        l.is_followed = true;
        self.balances.follow(balance, list, l.word);
    }
}

/// A prefix as the key of a table.
pub(in crate::fib) fn key<F: Family>(prefix: Prefix) -> Key<F>
where
    Key<F>: FromPrefix,
{
    FromPrefix::from_prefix(prefix)
}

/// A prefix as the key of a table, host bits cut off.
pub(in crate::fib) trait FromPrefix {
    fn from_prefix(prefix: Prefix) -> Self;
}

impl FromPrefix for (u32, u8) {
    fn from_prefix(prefix: Prefix) -> Self {
        let len = prefix.prefix_len();
        (Ip4::bits(prefix.addr()).map_or(0, |bits| Ip4::masked(bits, len)), len)
    }
}

impl FromPrefix for (u128, u8) {
    fn from_prefix(prefix: Prefix) -> Self {
        let len = prefix.prefix_len();
        (Ip6::bits(prefix.addr()).map_or(0, |bits| Ip6::masked(bits, len)), len)
    }
}
