//! What tunnels, mirrors and other features need of routing: a load balance that leads where the
//! route to an address does, or where paths of the feature's own do, and a call when that changes.
//!
//! The number of the load balance stays while routes change, so that a feature's nodes send packets
//! to it (`ip4-load-balance` and its siblings follow it) and need not hear of every change. Who
//! wants to hear is called at the next turn of control, once for all that has changed since.

use std::net::IpAddr;

use super::Error;
use super::path::{Gateway, Path, TableIndex, Target, Through};
use crate::adjacency::Link;
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
    list: u32,
    balance: u32,
    follower: Option<Follower>,
}

impl Followed {
    /// The load balance that leads there.
    pub fn load_balance(&self) -> u32 {
        self.balance
    }
}

impl Router {
    /// Follows the route to an address, for packets of a kind.
    ///
    /// # Errors
    /// A table that is not there, no room.
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
        self.fib.lists.at_mut(list).followers.extend(follower);
        Ok(Followed { list, balance, follower })
    }
    /// Follows other paths from now on, by the same load balance.
    ///
    /// # Errors
    /// As [`Router::follow`]; nothing has changed then.
    pub fn refollow(&mut self, followed: &mut Followed, paths: &[Path]) -> Result<(), Error> {
        let list = self.hold_list(paths, Some(followed.list))?;
        self.fib.lists.at_mut(list).followers.extend(followed.follower);
        self.follow_list(followed.balance, list);
        self.leave_list(followed.list, followed.follower);
        followed.list = list;
        Ok(())
    }
    /// Follows no longer. The load balance leads where it did while packets may be on their way
    /// there.
    pub fn unfollow(&mut self, followed: Followed) {
        self.fib.balances.free(followed.balance);
        self.leave_list(followed.list, followed.follower);
    }
    /// Whether packets get on to a neighbour there.
    pub fn leads_on(&self, followed: &Followed) -> bool {
        self.fib.lists.at(followed.list).leads_on
    }
    fn leave_list(&mut self, list: u32, follower: Option<Follower>) {
        let followers = &mut self.fib.lists.at_mut(list).followers;
        if let Some(at) = followers.iter().position(|f| follower.is_some_and(|own| own.is(f))) {
            followers.swap_remove(at);
        }
        self.release_list(list);
    }
    /// Has those called, soon, who follow lists that may lead elsewhere now.
    pub(super) fn call_followers(&mut self, lists: &[u32]) {
        let all = lists.iter().flat_map(|list| &self.fib.lists.at(*list).followers);
        let new: Vec<_> = all.copied().collect();
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

fn call_now(router: &mut Router, _: u64) {
    let all = std::mem::take(&mut router.fib.to_call);
    all.into_iter().for_each(|follower| (follower.call)(router, follower.key));
}
