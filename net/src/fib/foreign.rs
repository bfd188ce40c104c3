//! Next hops of the other family (RFC 8950): IPv4 routes that resolve through an IPv6 address, and
//! the other way round.
//!
//! What an entry's load balance leads to is for packets of the entry's family. Beside it an address
//! that routes of the other family lead to has one for theirs: it follows the entry's paths as they
//! are [for others](super::path::Target::for_others), to the same neighbours by adjacencies of
//! their own, on through the same addresses. It comes with the first path that leads there and goes
//! with the last.

use super::path::{Gateway, Path, Target};
use super::{Error, Fib};
use crate::router::Router;

/// Where packets of the other family go that follow the route to an address.
pub(super) struct Foreign {
    /// The paths of the address's entry, for them.
    pub list: u32,
    pub balance: u32,
    /// Paths that lead there.
    users: u32,
}

impl Fib {
    /// The paths of the route to an address, for packets of the other family.
    fn paths_for_others(&self, to: Gateway) -> Vec<Path> {
        let Some(entry) = self.entry_of(to) else { return vec![Path::to(Target::Drop)] };
        let paths = self.lists.at(entry.list).paths.iter();
        paths.map(|p| Path { target: p.target.for_others(), ..p.clone() }).collect()
    }
}

impl Router {
    /// Notes that one more path leads packets of the other family to an address, which has an
    /// entry.
    pub(super) fn track_foreign(&mut self, to: Gateway) -> Result<(), Error> {
        if let Some(foreign) = self.fib.foreign.get_mut(&to) {
            foreign.users += 1;
            return Ok(());
        }
        let paths = self.fib.paths_for_others(to);
        let list = self.hold_list(&paths, None)?;
        // These paths may have led here themselves.
        if let Some(foreign) = self.fib.foreign.get_mut(&to) {
            foreign.users += 1;
            self.release_list(list);
            return Ok(());
        }
        let Some(balance) = self.balance_for(true, list) else {
            self.release_list(list);
            return Err(Error::Full);
        };
        self.fib.foreign.insert(to, Foreign { list, balance, users: 1 });
        self.fib.move_host(to, None, Some(list));
        Ok(())
    }
    /// Notes that one path fewer does.
    pub(super) fn untrack_foreign(&mut self, to: Gateway) {
        let Some(foreign) = self.fib.foreign.get_mut(&to) else { return };
        foreign.users -= 1;
        if foreign.users > 0 {
            return;
        }
        let Foreign { list, balance, .. } = *foreign;
        self.fib.foreign.remove(&to);
        self.fib.move_host(to, Some(list), None);
        self.fib.balances.free(balance);
        self.release_list(list);
    }
    /// Follows a change of the route to an address, if packets of the other family follow it.
    pub(super) fn follow_foreign(&mut self, to: Gateway) {
        let Some(before) = self.fib.foreign.get(&to).map(|f| f.list) else { return };
        let paths = self.fib.paths_for_others(to);
        let held = self.hold_list(&paths, Some(before));
        let Some(list) = self.or_drop(held, to.addr) else { return };
        if let Some(foreign) = self.fib.foreign.get_mut(&to) {
            foreign.list = list;
            let balance = foreign.balance;
            self.follow_list(balance, list);
            self.fib.move_host(to, Some(before), Some(list));
        }
        self.release_list(before);
    }
}
