//! Resolution of routes: recursive paths follow the routes they resolve through.
//!
//! A recursive path leads to an address. Its host prefix gets an entry in the table with the source
//! `recursive-resolution`, whose path list is that of the covering prefix, and the path continues
//! through that entry's load balance. So when the route to a next hop changes, one load balance
//! does, not those of the million prefixes behind it. Only when a route appears or vanishes do path
//! lists that lead there choose their buckets again.
//!
//! A path that leads back to its own list is not used, whatever else it leads to: dropping every
//! path on a cycle leaves no cycle for packets to run in.

use std::collections::HashSet;
use std::net::IpAddr;

use super::load_balance_map::fill_buckets;
use super::path::{Gateway, Path, TableIndex, Target, Through};
use super::source::Source;
use super::table::{Entry, Key, Table};
use crate::adjacency::{AdjacencyIndex, Role};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::load_balance::{Via, Word};
use crate::fib::{Error, Fib};
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Notes that a path of `list` leads to an address.
    pub(super) fn track(&mut self, to: Gateway, list: u32) -> Result<(), Error> {
        match to.addr {
            IpAddr::V4(a) => self.track_in::<Ip4>(to.table, a.to_bits(), list),
            IpAddr::V6(a) => self.track_in::<Ip6>(to.table, a.to_bits(), list),
        }?;
        let done = if to.is_foreign() { self.track_foreign(to) } else { Ok(()) };
        if done.is_err() {
            self.untrack_native(to, list);
        }
        done
    }
    fn track_in<F: Family>(
        &mut self,
        table: TableIndex,
        bits: F::Bits,
        list: u32,
    ) -> Result<(), Error> {
        let t = F::tables_mut(&mut self.fib).at_mut(table).ok_or(Error::NoTable)?;
        let lists = t.vias.entry(bits).or_default();
        lists.push(list);
        if lists.len() > 1 {
            return Ok(());
        }
        let host = (bits, F::BITS);
        let done = self.cover_list::<F>(table, bits);
        let done =
            done.and_then(|cover| self.put_source::<F>(table, host, Source::RECURSIVE, cover));
        let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) else { return done };
        if done.is_err() {
            t.vias.remove(&bits);
        } else if let Some(list) = t.entries.get(&host).map(|entry| entry.list) {
            let to = Gateway::of(table, F::addr(bits));
            let hosts = &mut self.fib.lists.at_mut(list).hosts;
            if !hosts.contains(&to) {
                hosts.push(to);
            }
        }
        done
    }
    /// Notes that no path of `list` leads to an address any longer.
    pub(super) fn untrack(&mut self, to: Gateway, list: u32) {
        if to.is_foreign() {
            self.untrack_foreign(to);
        }
        self.untrack_native(to, list);
    }
    fn untrack_native(&mut self, to: Gateway, list: u32) {
        match to.addr {
            IpAddr::V4(a) => self.untrack_in::<Ip4>(to.table, a.to_bits(), list),
            IpAddr::V6(a) => self.untrack_in::<Ip6>(to.table, a.to_bits(), list),
        }
    }
    fn untrack_in<F: Family>(&mut self, table: TableIndex, bits: F::Bits, list: u32) {
        let Some(t) = F::tables_mut(&mut self.fib).at_mut(table) else { return };
        let Some(lists) = t.vias.get_mut(&bits) else { return };
        if let Some(at) = lists.iter().position(|l| *l == list) {
            lists.swap_remove(at);
        }
        if !lists.is_empty() {
            return;
        }
        t.vias.remove(&bits);
        let host = (bits, F::BITS);
        if let Some(list) = t.entries.get(&host).map(|entry| entry.list) {
            let to = Gateway::of(table, F::addr(bits));
            self.fib.lists.at_mut(list).hosts.retain(|h| *h != to);
        }
        self.take_source::<F>(table, host, Source::RECURSIVE);
    }
    /// The path list of the prefix around an address, held once more. Where that is a connected
    /// network, the address is a neighbour there.
    fn cover_list<F: Family>(&mut self, table: TableIndex, bits: F::Bits) -> Result<u32, Error> {
        let t = F::tables(&self.fib).at(table).ok_or(Error::NoTable)?;
        let Some((_, cover)) = t.cover((bits, F::BITS)) else {
            return self.hold_list(&[Path::to(Target::Drop)], None);
        };
        let list = cover.list;
        let attached = self.fib.lists.at(list).paths.iter().find_map(|p| match p.target {
            Target::Attached { interface, .. } => Some(interface),
            _ => None,
        });
        if let Some(interface) = attached {
            let addr = F::addr(bits);
            return self.hold_list(&[Path::to(Target::Neighbor { interface, addr })], None);
        }
        self.fib.lists.at_mut(list).users += 1;
        Ok(list)
    }
    /// Follows a change of what an entry leads to; `None` is no entry.
    pub(super) fn after_change<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        before: Option<u32>,
        after: Option<u32>,
    ) {
        self.follow_exports::<F>(table, key, before, after);
        let Some(t) = F::tables(&self.fib).at(table) else { return };
        if let Some(watching) = t.watched.get(&key) {
            self.call_soon(watching.clone());
        }
        let Some(t) = F::tables(&self.fib).at(table).filter(|t| !t.vias.is_empty()) else { return };
        let is_host = key.1 == F::BITS;
        let is_via = is_host && t.vias.contains_key(&key.0);
        let inside = t.vias.range(key.0..=F::last(key.0, key.1)).map(|(bits, _)| *bits);
        let inside: Vec<_> = inside.filter(|_| !is_host).collect();
        if is_via {
            let to = Gateway::of(table, F::addr(key.0));
            self.fib.move_host(to, before, after);
            // This may give up lists that lead here.
            self.follow_foreign(to);
            self.resolve(self.fib.lists_behind(to).to_vec());
        }
        for bits in inside {
            self.follow_cover::<F>(table, bits);
        }
    }
    /// Gives the entry of an address that paths lead to the path list of what now is around it.
    fn follow_cover<F: Family>(&mut self, table: TableIndex, bits: F::Bits) {
        let t = F::tables(&self.fib).at(table);
        if !t.is_some_and(|t| t.vias.contains_key(&bits)) {
            return;
        }
        let host = (bits, F::BITS);
        let cover = self.cover_list::<F>(table, bits);
        let Some(cover) = self.or_drop(cover, F::addr(bits)) else { return };
        let entry = F::tables(&self.fib).at(table).and_then(|t| t.entries.get(&host));
        if entry.and_then(|e| e.list_of(Source::RECURSIVE)) == Some(cover) {
            self.release_list(cover);
        } else if self.put_source::<F>(table, host, Source::RECURSIVE, cover).is_err() {
            debug_assert!(false, "an address that paths lead to has an entry");
        }
    }
    /// Resolves path lists again, and all lists that lead to these.
    pub(in crate::fib) fn resolve(&mut self, lists: Vec<u32>) {
        let lists = self.upstream(lists);
        // Without cycles this is over after as many rounds as lists lead through each other.
        while lists.iter().map(|list| self.evaluate(*list)).filter(|changed| *changed).count() > 0 {
        }
        let words = lists.iter().filter_map(|list| Some((*list, self.publish_list(*list)?)));
        let words: Vec<_> = words.collect();
        if !words.is_empty() {
            self.fib.balances.rewrite(&words);
        }
        let unused = std::mem::take(&mut self.fib.unused_groups);
        unused.into_iter().for_each(|group| self.fib.balances.free_group(group));
        self.release_wraps();
        self.follow_mtus(&lists);
        self.call_followers(&lists);
    }
    pub(super) fn upstream(&self, mut waiting: Vec<u32>) -> Vec<u32> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        while let Some(list) = waiting.pop() {
            if seen.insert(list) {
                all.push(list);
                let l = self.fib.lists.at(list);
                waiting.extend(l.hosts.iter().flat_map(|to| self.fib.lists_behind(*to)));
                waiting.extend(self.lists_over_chains(&l.chains));
                let carried = l.followed.iter().filter_map(|f| f.carries);
                waiting.extend(carried.flat_map(|interface| self.fib.lists.over(interface)));
                waiting.extend(self.fib.lists_behind_labels(list));
            }
        }
        all
    }
    /// Whether paths of a list can be used. Returns whether that changed.
    fn evaluate(&mut self, list: u32) -> bool {
        let l = self.fib.lists.at(list);
        let at =
            |i: &InterfaceIndex| self.interfaces.at(*i).filter(|_| self.fib.leaving != Some(*i));
        let is_on = |i: &InterfaceIndex| at(i).is_some_and(|i| i.admin_up);
        let is_up = |i: &InterfaceIndex| is_on(i) && at(i).is_some_and(|i| i.link_up);
        let is_single = |i: &InterfaceIndex| at(i).is_some_and(|i| i.is_point_to_point());
        let is_usable = |((p, a), balance): ((&Path, &AdjacencyIndex), &u32)| match p.target {
            _ if p.is_wrapped() && self.fib.switching.is_none() => false,
            // No neighbor has such an address.
            Target::ForeignNeighbor { interface, addr, .. }
                if addr.is_unspecified() && !is_single(&interface) =>
            {
                false
            }
            // Without a link there are no neighbors, and senders are informed.
            Target::Attached { interface, .. } if self.is_alone(list, *a) => is_on(&interface),
            Target::Neighbor { .. } | Target::ForeignNeighbor { .. } | Target::Recursive { .. }
                if self.fib.failed.stops(p) =>
            {
                false
            }
            Target::Neighbor { interface, .. }
            | Target::ForeignNeighbor { interface, .. }
            | Target::Attached { interface, .. }
            | Target::InterfaceRx { interface } => {
                is_up(&interface) && self.is_chain_usable(*a, list)
            }
            Target::Recursive { to, through } => {
                let next = self.fib.host(to).map(|(_, list)| list);
                let leads_on = next.filter(|next| self.fib.lists.at(*next).leads_on);
                leads_on.is_some_and(|next| {
                    self.fib.is_through(to, next, through) && !self.reaches(next, list)
                })
            }
            // Packets are dropped where no other path is usable.
            Target::Drop => false,
            Target::Object(_) if *balance == 0 => true,
            Target::Label { .. } | Target::Object(_) => {
                let next = self.fib.balances.list_of(*balance);
                let leads_on = next.filter(|next| self.fib.lists.at(*next).leads_on);
                leads_on.is_some_and(|next| !self.reaches(next, list))
            }
            _ => true,
        };
        let usable: Box<[bool]> =
            l.paths.iter().zip(&l.adjacencies).zip(&l.balances).map(is_usable).collect();
        let leads = |p: &Path| {
            matches!(
                p.target,
                Target::Neighbor { .. }
                    | Target::ForeignNeighbor { .. }
                    | Target::Attached { .. }
                    | Target::Recursive { .. }
                    | Target::Lookup { .. }
                    | Target::SourceLookup { .. }
                    | Target::InterfaceRx { .. }
                    | Target::Object(_)
                    | Target::Label { .. }
            )
        };
        let leads_on = l.paths.iter().zip(&usable).any(|(p, usable)| *usable && leads(p));
        let l = self.fib.lists.at_mut(list);
        let changed = l.usable != usable || l.leads_on != leads_on;
        (l.usable, l.leads_on) = (usable, leads_on);
        changed
    }
    /// Whether an adjacency is the only way to a connected network, and no tunnel.
    fn is_alone(&self, list: u32, to: AdjacencyIndex) -> bool {
        let is_chain = self.adjacencies.at(to).is_none_or(|a| a.role == Role::Midchain);
        !is_chain && self.fib.lists.at(list).paths.len() == 1
    }
    /// Whether a path of a list leads back to the list.
    pub(in crate::fib) fn is_loop(&self, list: u32, path: &Path) -> bool {
        let Target::Recursive { to, .. } = path.target else { return false };
        self.fib.host(to).is_some_and(|(_, next)| self.reaches(next, list))
    }
    /// Whether recursive paths and tunnels lead from one list to another.
    pub(in crate::fib) fn reaches(&self, from: u32, goal: u32) -> bool {
        let (mut waiting, mut seen) = (vec![from], HashSet::new());
        while let Some(list) = waiting.pop() {
            if list == goal {
                return true;
            }
            if seen.insert(list) {
                let l = self.fib.lists.at(list);
                let next = l.recursions();
                waiting.extend(next.filter_map(|to| Some(self.fib.host(to)?.1)));
                waiting.extend(l.adjacencies.iter().filter_map(|a| self.list_below(*a)));
                let labels = l.balances.iter().filter(|balance| **balance != 0);
                waiting.extend(labels.filter_map(|b| self.fib.balances.list_of(*b)));
            }
        }
        false
    }
    /// Makes ready what a list leads to. Returns the word for its load balances, if it is another
    /// one than they have.
    fn publish_list(&mut self, list: u32) -> Option<Word> {
        let paths = 0..self.fib.lists.at(list).paths.len();
        let mut vias: Vec<Via> = paths.map(|path| self.via_of(list, path)).collect();
        self.wrap_paths(list, &mut vias);
        let l = self.fib.lists.at(list);
        let via = |i: &u16| vias[usize::from(*i)];
        let buckets: Box<[Via]> = fill_buckets(&l.weights(), &l.layout).iter().map(via).collect();
        let (old, old_group, is_followed) = (l.word, l.group, l.is_followed);
        let balances = &mut self.fib.balances;
        let group = match (&*buckets, old_group) {
            ([] | [_], _) => None,
            (_, Some(group)) => {
                if *balances.group(group) != *buckets {
                    balances.replace_group(group, buckets.clone());
                }
                Some(group)
            }
            (_, None) => balances.make_group(buckets.clone()),
        };
        // Packets of a neighbour that failed are heard: how else would it come back?
        let is_failed = l.paths.iter().any(|p| self.fib.failed.stops(p));
        let none = if is_failed { Word::one(Via::Exempt) } else { Word::DROP };
        let first = buckets.first().map_or(none, |via| Word::one(*via));
        let word = group.map_or(first, Word::group);
        self.fib.unused_groups.extend(old_group.filter(|_| group.is_none()));
        let l = self.fib.lists.at_mut(list);
        (l.word, l.group) = (word, group);
        (word != old && is_followed).then_some(word)
    }
    /// The target of one path.
    fn via_of(&self, list: u32, path: usize) -> Via {
        let l = self.fib.lists.at(list);
        let adjacency = l.adjacencies[path];
        match l.paths[path].target {
            Target::Neighbor { .. } | Target::ForeignNeighbor { .. } | Target::Attached { .. } => {
                let a = self.adjacencies.at(adjacency);
                let is_up = |i| self.interfaces.at(i).is_some_and(|i| i.link_up);
                match a.map(|a| a.role) {
                    Some(Role::Glean) => Via::Glean(adjacency),
                    // Without neighbors none can be asked.
                    Some(Role::Neighbor) if !a.is_some_and(|a| is_up(a.interface)) => {
                        Via::Unreachable
                    }
                    Some(Role::Midchain) => Via::Midchain(adjacency),
                    _ => Via::Adjacency(adjacency),
                }
            }
            Target::Recursive { to, .. } => {
                self.fib.host(to).map_or(Via::Drop, |(balance, _)| Via::LoadBalance(balance))
            }
            Target::Receive { interface, .. } => {
                Via::Receive(interface.map_or(u32::MAX, |interface| interface.0))
            }
            Target::Lookup { table, .. } => Via::Lookup(table.0),
            Target::SourceLookup { table, .. } => Via::SourceLookup(table.0),
            Target::InterfaceRx { interface } => Via::InterfaceRx(interface.0),
            Target::LinkLocal => Via::LinkLocal,
            Target::Drop => Via::Drop,
            Target::Exempt => Via::Exempt,
            Target::Unreachable => Via::Unreachable,
            Target::Prohibit => Via::Prohibit,
            Target::Punt => Via::Punt,
            Target::Object(object) => Via::Object(object),
            Target::Label { .. } => Via::LoadBalance(l.balances[path]),
        }
    }

    /// Follows a change of an interface's state.
    pub(crate) fn resolve_interface(&mut self, interface: InterfaceIndex) {
        self.resolve(self.fib.lists.over(interface));
    }
    /// Takes all paths over an interface away, and the routes that have no other: in slices, but
    /// nothing goes there any more from now on.
    pub(in crate::fib) fn forget_interface(&mut self, interface: InterfaceIndex) {
        self.adjacencies.forget_encapsulation(interface);
        self.fib.leaving = Some(interface);
        self.resolve_interface(interface);
        self.forget_in::<Ip4>(interface);
        self.forget_in::<Ip6>(interface);
    }
    fn forget_in<F: Family>(&mut self, interface: InterfaceIndex) {
        if self.fib.lists.over(interface).is_empty() {
            return;
        }
        // What recursion brought here goes when the covering prefix does.
        let is_over = move |fib: &Fib, _: &Table<F>, source, entry: &Entry| {
            source != Source::RECURSIVE
                && entry.list_of(source).is_some_and(|l| fib.lists.at(l).is_over(interface))
        };
        let tables: Vec<_> = F::tables(&self.fib).every().map(|(table, _)| table).collect();
        for table in tables {
            let strip = move |router: &mut Self, table, key, source| {
                router.strip_paths::<F>(table, key, source, interface);
            };
            self.each_in_slices::<F>(table, Some(interface), is_over, strip, |_, _| ());
        }
    }
    /// Takes the paths over an interface away from those of a source.
    fn strip_paths<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        source: Source,
        interface: InterfaceIndex,
    ) {
        let entry = F::tables(&self.fib).at(table).and_then(|t| t.entries.get(&key));
        let Some(list) = entry.and_then(|e| e.list_of(source)) else { return };
        let paths = self.fib.lists.at(list).paths.iter();
        let gone: Vec<_> = paths.filter(|p| p.target.names(interface)).cloned().collect();
        if !gone.is_empty() && self.remove_paths::<F>(table, key, source, &gone).is_err() {
            self.take_source::<F>(table, key, source);
        }
    }
    /// Follows the arrival of an interface, which may have the number of one that was deleted.
    pub(in crate::fib) fn welcome_interface(&mut self, interface: InterfaceIndex) {
        self.finish_deferred_over(interface);
        self.fib.leaving.take_if(|leaving| *leaving == interface);
    }
}

impl Fib {
    /// Whether the route to an address, whose path list is `next`, is what a path wants to go
    /// through.
    fn is_through(&self, to: Gateway, next: u32, through: Through) -> bool {
        match through {
            Through::Any => true,
            Through::Host => self.has_own_route(to),
            Through::Attached => self.lists.at(next).recursions().next().is_none(),
        }
    }
}
