//! FIB tracking for tunnels, mirrors and other features: a load balance that follows the route to
//! an address, or paths of the feature's own, and a call when it changes.
//!
//! The number of the load balance stays while routes change, so that a feature's nodes send packets
//! to it (`ip4-load-balance` and its siblings follow it) and need not hear of every change. Who
//! wants to hear is called at the next turn of control, once for all that has changed since.

use std::net::IpAddr;

use wire::Prefix;

use super::path::{Gateway, Path, TableIndex, Target, Through};
use super::routes::key;
use super::table::Key;
use crate::adjacency::Link;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::{Error, Fib};
use crate::interface::{Change, InterfaceIndex};
use crate::router::Router;

/// A function that is called, with a number of its choice, when what is followed has changed.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    /// The function.
    pub call: fn(&mut Router, u64),
    /// The number.
    pub key: u64,
}

impl Follower {
    fn is(&self, other: &Self) -> bool {
        self.key == other.key && std::ptr::fn_addr_eq(self.call, other.call)
    }
}

/// Paths that are followed, until [`Router::unfollow`].
#[derive(Debug)]
#[must_use]
pub struct Followed {
    balance: u32,
}

impl Followed {
    /// The load balance that leads there.
    pub fn load_balance(&self) -> u32 {
        self.balance
    }
}

/// A [`Followed`], as the path list knows it that it follows.
pub(in crate::fib) struct Following {
    /// The load balance that leads there.
    pub balance: u32,
    follower: Option<Follower>,
    /// The interface whose packets all go there.
    pub carries: Option<InterfaceIndex>,
}

impl Router {
    /// Follows the route to an address, for packets of a kind.
    ///
    /// # Errors
    /// A missing table, no room.
    pub fn follow(
        &mut self,
        link: Link,
        table: TableIndex,
        addr: IpAddr,
        follower: Option<Follower>,
    ) -> Result<Followed, Error> {
        let to = Gateway { link, table, addr };
        let path = Path::to(Target::Recursive { to, through: Through::Any });
        self.follow_paths(&[path], follower)
    }
    /// Follows paths.
    ///
    /// # Errors
    /// As [`Router::follow`].
    pub fn follow_paths(
        &mut self,
        paths: &[Path],
        follower: Option<Follower>,
    ) -> Result<Followed, Error> {
        let list = self.hold_list(paths, None)?;
        let Some(balance) = self.balance_for(true, list) else {
            self.release_list(list);
            return Err(Error::Full);
        };
        let new = Following { balance, follower, carries: None };
        self.fib.lists.at_mut(list).followed.push(new);
        Ok(Followed { balance })
    }
    /// Makes the load balance of a [`Followed`] follow other paths from now on.
    ///
    /// # Errors
    /// As [`Router::follow`]; nothing has changed then.
    pub fn refollow(&mut self, balance: u32, paths: &[Path]) -> Result<(), Error> {
        let old = self.fib.balances.list_of(balance).ok_or(Error::NoRoute)?;
        let list = self.hold_list(paths, Some(old))?;
        let following = self.fib.leave_list(old, balance);
        self.fib.lists.at_mut(list).followed.extend(following);
        self.fib.follow_list(balance, list);
        self.resolve(self.fib.lists_behind_labels(list).collect());
        self.release_list(old);
        Ok(())
    }
    /// Follows no longer. The load balance leads where it did while packets may be on their way
    /// there.
    pub fn unfollow(&mut self, Followed { balance }: Followed) {
        let Some(list) = self.fib.balances.list_of(balance) else { return };
        let carried = self.fib.leave_list(list, balance).and_then(|gone| gone.carries);
        self.fib.balances.free(balance);
        if let Some(interface) = carried {
            self.adjacencies.set_carrier(interface, None);
        }
        self.release_list(list);
    }
    /// Says that all packets of an interface go where a [`Followed`] leads, as those of a tunnel
    /// whose output node puts the headers in front. Routes over the interface that lead there
    /// through the interface itself are not used.
    pub fn carry(&mut self, interface: InterfaceIndex, followed: &Followed) {
        let Some(list) = self.fib.balances.list_of(followed.balance) else { return };
        let all = self.fib.lists.at_mut(list).followed.iter_mut();
        for following in all.filter(|f| f.balance == followed.balance) {
            following.carries = Some(interface);
        }
        self.adjacencies.set_carrier(interface, Some(followed.balance));
        self.resolve(self.fib.lists.over(interface));
    }
    /// The paths of the best source of a prefix itself; `None` where it has no route.
    pub fn paths_of(&self, table: TableIndex, prefix: Prefix) -> Option<&[Path]> {
        let list = match prefix {
            Prefix::Ip4(_) => self.fib.ip4.at(table)?.entries.get(&key::<Ip4>(prefix))?.list,
            Prefix::Ip6(_) => self.fib.ip6.at(table)?.entries.get(&key::<Ip6>(prefix))?.list,
        };
        Some(&self.fib.lists.at(list).paths)
    }
    /// Calls a function when the paths of a prefix change, soon and once for all changes; or stops.
    pub fn watch_route(
        &mut self,
        table: TableIndex,
        prefix: Prefix,
        follower: Follower,
        is_on: bool,
    ) {
        match prefix {
            Prefix::Ip4(_) => self.fib.watch_key::<Ip4>(table, key::<Ip4>(prefix), follower, is_on),
            Prefix::Ip6(_) => self.fib.watch_key::<Ip6>(table, key::<Ip6>(prefix), follower, is_on),
        }
    }
    /// Calls, soon, the followers of lists that may lead elsewhere now.
    pub(super) fn call_followers(&mut self, lists: &[u32]) {
        let all = lists.iter().flat_map(|list| &self.fib.lists.at(*list).followed);
        self.call_soon(all.filter_map(|f| f.follower).collect());
    }
    /// Calls these at the next turn of control.
    pub(super) fn call_soon(&mut self, new: Vec<Follower>) {
        if new.is_empty() {
            return;
        }
        if self.fib.to_call.is_empty() {
            self.after(0.0, call_now, 0);
        }
        for follower in new {
            if !self.fib.to_call.iter().any(|f| f.is(&follower)) {
                self.fib.to_call.push(follower);
            }
        }
    }
}

impl Fib {
    fn watch_key<F: Family>(
        &mut self,
        table: TableIndex,
        key: Key<F>,
        follower: Follower,
        is_on: bool,
    ) {
        let Some(t) = F::tables_mut(self).at_mut(table) else { return };
        let all = t.watched.entry(key).or_default();
        match all.iter().position(|f| f.is(&follower)) {
            Some(at) if !is_on => drop(all.swap_remove(at)),
            None if is_on => all.push(follower),
            _ => (),
        }
        if all.is_empty() {
            t.watched.remove(&key);
        }
    }
    /// Whether packets get on to a neighbour there.
    pub fn leads_on(&self, followed: &Followed) -> bool {
        let list = self.balances.list_of(followed.balance);
        list.is_some_and(|list| self.lists.at(list).leads_on)
    }
    fn leave_list(&mut self, list: u32, balance: u32) -> Option<Following> {
        let followed = &mut self.lists.at_mut(list).followed;
        let at = followed.iter().position(|f| f.balance == balance)?;
        Some(followed.swap_remove(at))
    }
}

/// Paths that clients have given to objects of a feature, each with a key.
pub trait GivenPaths {
    /// Key of an object.
    type Key;
    /// All objects.
    fn all(router: &Router) -> impl Iterator<Item = (Self::Key, &[Path])>;
    /// Limits an object to some of its paths; false if that is refused.
    fn replace(router: &mut Router, key: &Self::Key, left: Vec<Path>) -> bool;
    /// Ends an object without paths.
    fn end(router: &mut Router, key: &Self::Key);
}

/// Takes paths over an interface that goes from the objects of a feature; those without others end.
pub fn forget_paths<G: GivenPaths>(router: &mut Router, gone: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let stays = |path: &&Path| path.target.interface() != Some(gone);
    let left = |paths: &[Path]| paths.iter().filter(stays).cloned().collect::<Vec<_>>();
    let met = G::all(router).filter(|(_, paths)| !paths.iter().all(|path| stays(&path)));
    let met: Vec<_> = met.map(|(key, paths)| (key, left(paths))).collect();
    for (key, left) in met {
        if left.is_empty() || !G::replace(router, &key, left) {
            G::end(router, &key);
        }
    }
}

fn call_now(router: &mut Router, _: u64) {
    let all = std::mem::take(&mut router.fib.to_call);
    all.into_iter().for_each(|follower| (follower.call)(router, follower.key));
}
