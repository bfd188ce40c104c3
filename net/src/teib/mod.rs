//! Tunnel endpoint information base (TEIB): by which address of the network below a tunnel with
//! several far ends reaches each of its peers.
#![forbid(unsafe_code)]

mod api;
mod cli;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use control::feature::{Refusal, Refused};

use crate::address::OnInterface;
use crate::adjacency::Link;
use crate::fib::TableIndex;
use crate::interface::{Change, InterfaceIndex};
use crate::router::{Configuration, Feature, Origin, Parts, Router};

/// A peer: the tunnel's interface, and the peer's address.
pub type Peer = (InterfaceIndex, IpAddr);
/// The table and address that a peer is reached by.
pub type Far = (TableIndex, IpAddr);

/// All peers. Clones are the same table.
#[derive(Clone, Default)]
pub struct Peers(Rc<RefCell<BTreeMap<Peer, Far>>>);

impl Peers {
    /// Far end of a peer.
    pub fn find(&self, interface: InterfaceIndex, peer: IpAddr) -> Option<Far> {
        self.0.borrow().get(&(interface, peer)).copied()
    }
    fn all(&self) -> Vec<(Peer, Far)> {
        self.0.borrow().iter().map(|(peer, far)| (*peer, *far)).collect()
    }
}

/// Reasons why an entry is not set or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// peer {0} exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    Exists(IpAddr),
    /// no peer {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(IpAddr),
    /// no room for the route to {0}
    #[retval(TABLE_TOO_BIG)]
    NoRoute(IpAddr),
}

impl Router {
    /// Says by which address a peer is reached.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_peer(&mut self, peer: Peer, nh: IpAddr, table_id: u32) -> Result<(), Error> {
        let (interface, addr) = peer;
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let table = self.fib.table_for(Link::of(nh), table_id).ok_or(Error::NoTable(table_id))?;
        if self.own::<Peers>().find(interface, addr).is_some() {
            return Err(Error::Exists(addr));
        }
        self.own::<Peers>().0.borrow_mut().insert(peer, (table, nh));
        if self.fib_add_neighbor(interface, addr).is_err() {
            self.own::<Peers>().0.borrow_mut().remove(&peer);
            return Err(Error::NoRoute(addr));
        }
        self.use_table_of(Link::of(nh), table, true);
        self.change_far_end(interface, nh, true);
        self.encapsulate_anew(interface, Some(addr));
        self.announce(peer);
        Ok(())
    }
    /// Forgets by which address a peer is reached.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn remove_peer(&mut self, peer: Peer) -> Result<(), Error> {
        let (interface, addr) = peer;
        let mut peers = self.own::<Peers>().0.borrow_mut();
        let (table, nh) = peers.remove(&peer).ok_or(Error::Unknown(addr))?;
        let first = (interface, IpAddr::from([0; 4]));
        let mine = peers.range(first..).take_while(|(peer, _)| peer.0 == interface);
        let is_left = mine.map(|(_, far)| far).any(|far| far.1 == nh);
        drop(peers);
        if !is_left {
            self.change_far_end(interface, nh, false);
        }
        self.use_table_of(Link::of(nh), table, false);
        self.fib_remove_neighbor(interface, addr);
        self.encapsulate_anew(interface, Some(addr));
        self.announce(peer);
        Ok(())
    }
    fn announce(&mut self, peer: Peer) {
        for hear in self.on_peer.clone().iter() {
            hear(self, peer);
        }
    }
    /// Forgets all peers of an interface.
    pub(crate) fn forget_peers(&mut self, interface: InterfaceIndex) {
        let all = self.own::<Peers>().all();
        for (peer, _) in all.into_iter().filter(|(peer, _)| peer.0 == interface) {
            self.remove_peer(peer).expect("it was there just now");
        }
    }
    /// All peers, with the number of the table that each is reached in.
    pub fn peers(&self) -> Vec<(Peer, IpAddr, u32)> {
        let id = |(table, nh): Far| self.fib.table_id_for(nh, table).unwrap_or_default();
        let all = self.own::<Peers>().all().into_iter();
        all.map(|(peer, far)| (peer, far.1, id(far))).collect()
    }
}

/// Follows an interface into another table with the routes to its peers.
fn follow_table(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let now = router.addresses.of(interface);
    let [old, new] = [(before.table4, before.table6), (now.table4, now.table6)];
    if old == new {
        return;
    }
    for ((on, addr), _) in router.own::<Peers>().all() {
        if on == interface {
            let from = if addr.is_ipv4() { old.0 } else { old.1 };
            router.fib_remove_neighbor_from(from, on, addr);
            // Without room in the new table the peer is reached by routes that name it only.
            let _ = router.fib_add_neighbor(on, addr);
        }
    }
}

/// Peers of tunnels.
pub const FEATURE: Feature = Feature {
    name: "teib",
    about: "Tunnel endpoint information base: peers of multipoint tunnels",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["tunnel", "address"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Peers::default());
    parts.router.addresses.observe(follow_table);
    parts.router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting {
            router.forget_peers(interface);
        }
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
