//! Next hops for packets of another kind than their address: IPv4 routes that resolve through an
//! IPv6 address, and the other way round (RFC 8950); labelled packets, frames into tunnels.
//!
//! What an entry's load balance leads to is for packets of the entry's family. Beside it an address
//! has one for each other [link](crate::adjacency::Link) that paths lead there with: it follows the
//! entry's paths as they are [for that](super::path::Target::with_link), to the same neighbours by
//! adjacencies of their own, on through the same addresses. It comes with the first path that leads
//! there and goes with the last.

use super::path::{Gateway, Path, Target};
use crate::adjacency::Link;
use crate::fib::{Error, Fib};
use crate::router::Router;

/// The load balance for packets of another kind that follow the route to an address.
pub(in crate::fib) struct Foreign {
    /// The paths of the address's entry, for them.
    pub list: u32,
    pub balance: u32,
    /// Paths that lead there.
    users: u32,
}

impl Fib {
    /// The paths of the route to an address, for packets of another kind.
    fn foreign_paths(&self, to: Gateway) -> Vec<Path> {
        let Some(entry) = self.entry_of(to) else { return vec![Path::to(Target::Drop)] };
        let paths = self.lists.at(entry.list).paths.iter();
        paths.map(|p| p.with_link(to.link)).collect()
    }
}

impl Router {
    /// Notes that one more path leads packets of another kind to an address, which has an
    /// entry.
    pub(super) fn track_foreign(&mut self, to: Gateway) -> Result<(), Error> {
        if let Some(foreign) = self.fib.foreign.get_mut(&to) {
            foreign.users += 1;
            return Ok(());
        }
        let paths = self.fib.foreign_paths(to);
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
    /// Follows a change of the route to an address, as packets of other kinds follow it.
    pub(super) fn follow_foreign(&mut self, to: Gateway) {
        for link in Link::ALL.into_iter().filter(|link| *link != to.link) {
            self.follow_foreign_link(to.with_link(link));
        }
    }
    fn follow_foreign_link(&mut self, to: Gateway) {
        let Some(before) = self.fib.foreign.get(&to).map(|f| f.list) else { return };
        let paths = self.fib.foreign_paths(to);
        let held = self.hold_list(&paths, Some(before));
        let Some(list) = self.or_drop(held, to.addr) else { return };
        if let Some(foreign) = self.fib.foreign.get_mut(&to) {
            foreign.list = list;
            let balance = foreign.balance;
            self.fib.follow_list(balance, list);
            self.fib.move_host(to, Some(before), Some(list));
        }
        self.release_list(before);
    }
}
