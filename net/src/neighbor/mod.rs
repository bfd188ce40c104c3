//! Neighbours: which address of layer 2 belongs to which IP address (ARP: RFC 826, ND: RFC 4861).
//!
//! A packet whose neighbour is not known reaches one of the nodes of [`Resolver`], which holds it
//! and asks. Answers reach the nodes of [`crate::arp`] and [`crate::nd`]; they tell control
//! ([`learned`]), which keeps the [`Table`], completes adjacencies, adds the neighbour's host
//! route, and at last has the held packets looked up again ([`release`]). Control ticks the nodes
//! as long as packets wait; a node asks again each second and gives up after three questions.
//!
//! A neighbor has its host route where the network around its address is connected to its interface
//! ([`reach`]): packets of another link cannot be attracted to an interface.

mod allowance;
mod announce;
mod answers;
mod api;
mod asking;
mod cli;
mod counters;
mod family;
mod gauges;
mod health;
mod learn;
mod on_link;
mod process;
mod reach;
mod resolve;
mod show;
mod strict;
mod table;
pub mod testing;
#[cfg(test)]
mod tests;
mod waiting;
mod watch;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use control::feature::{Refusal, Refused};
use graph::{Frame, Node, NodeIndex};
use infra::rcu::SlabReader;
use wire::{IpVersion, MacAddr};

use crate::events::Event;
use crate::fib;
use crate::interface::{Change, InterfaceIndex, Kind};
use crate::ip::{V4, V6};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};
use crate::tunnel::L3_MAC;

pub use announce::{all as announce, announcement6, send, some as announce_addresses};
pub use answers::Answered;
pub use counters::{Counters, Messages, count};
pub use family::{ArpFrame, Family, NdFrame};
pub use learn::{Heard, Learned, learned};
pub use on_link::OnLink;
pub use resolve::{Destination, NextHop, Resolver};
pub use strict::Strict;
pub use table::{Config, Evidence, Key, LIMIT, Neighbor, Outcome, Table};
pub use watch::Watcher;

use resolve::Readers;

/// The neighbor table, and the resolution of addresses.
pub const FEATURE: Feature = Feature {
    name: "neighbor",
    about: "The neighbour table and resolution of next hops",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The neighbours, as control keeps them.
pub struct Neighbors {
    /// Known neighbors.
    pub table: Table,
    /// Messages received and sent, IPv4 and IPv6.
    pub counters: [Counters; 2],
    /// Interfaces that are strict, for nodes.
    strict: SlabReader<Strict>,
    askers: ResolverNodes,
    watchers: Vec<Watcher>,
    /// Became known; held packets are not yet sent on.
    known: Vec<Key>,
    /// Became known by a question of theirs, at a time, while packets waited for an answer.
    heard: Vec<(Key, f64)>,
    /// Routes lead to them, but there was no address of ours to ask from.
    unasked: Vec<Key>,
    /// New addresses of ours that are to be announced.
    unannounced: Vec<Key>,
    /// Whether packets wait and the nodes are being ticked.
    is_ticking: bool,
    /// Events of the data plane lost so far.
    lost: u64,
}

/// The nodes that hold packets.
#[derive(Clone, Copy)]
struct ResolverNodes {
    next_hop4: NodeIndex,
    destination4: NodeIndex,
    next_hop6: NodeIndex,
    destination6: NodeIndex,
}

/// Reasons why a neighbour cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// the interface has no neighbors
    #[retval(INVALID_SW_IF_INDEX)]
    NoNeighbors,
    /// not a valid neighbor address
    #[retval(INVALID_VALUE)]
    Invalid,
    /// a static neighbor is replaced by static ones only
    #[retval(INVALID_SW_IF_INDEX)]
    Static,
    /// at most {0} neighbors
    #[retval(LIMIT_EXCEEDED)]
    Full(usize),
    /// no such neighbor
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// {0}
    #[retval(TABLE_TOO_BIG)]
    Route(fib::Error),
}

impl Router {
    /// The known neighbours.
    pub fn neighbors(&self) -> &Neighbors {
        self.own()
    }
    pub(self) fn neighbors_mut(&mut self) -> &mut Neighbors {
        self.own_mut()
    }
    /// Sets a neighbour for the operator. Packets that wait for it go on with [`release`].
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_neighbor(
        &mut self,
        (interface, addr): Key,
        mac: MacAddr,
        is_static: bool,
        has_route: bool,
    ) -> Result<(), Error> {
        if !has_neighbors(self, interface) {
            return Err(Error::NoNeighbors);
        }
        let is_broadcast = addr == IpAddr::V4(Ipv4Addr::BROADCAST);
        let is_one = !addr.is_multicast() && !addr.is_unspecified() && !is_broadcast;
        // Clusters may be at the address of a group.
        if !is_one {
            return Err(Error::Invalid);
        }
        let key = (interface, addr);
        let new = Neighbor::new(mac, is_static, has_route, self.now());
        let old = self.neighbors().table.at(key).copied();
        if old.is_some_and(|old| old.is_static && !is_static && old.mac != mac) {
            return Err(Error::Static);
        }
        let outcome = self.with_room(key, |table| table.set(key, new))?;
        if old.is_some_and(|old| old.has_route) && !has_route {
            self.fib_remove_neighbor(interface, addr);
        }
        self.settle(key, new, outcome)?;
        self.neighbors_mut().known.push(key);
        Ok(())
    }
    /// Works at the table; where it is full, once more with the neighbour gone that is to give
    /// way, if any is.
    fn with_room(
        &mut self,
        (interface, addr): Key,
        work: impl Fn(&mut Table) -> Result<Outcome, table::Full>,
    ) -> Result<Outcome, Error> {
        let of = IpVersion::from(addr) as usize;
        let table = &mut self.neighbors_mut().table;
        let limit = table.configs[of].limit;
        if let Ok(outcome) = work(table) {
            return Ok(outcome);
        }
        if let Some(gone) = table.giving_way(of, interface) {
            self.remove_neighbor(gone)?;
        }
        work(&mut self.neighbors_mut().table).map_err(|table::Full| Error::Full(limit))
    }
    /// Forgets a neighbour.
    ///
    /// # Errors
    /// When it is not known.
    pub fn remove_neighbor(&mut self, key: Key) -> Result<(), Error> {
        let gone = self.neighbors_mut().table.remove(key).ok_or(Error::Unknown)?;
        if gone.has_route {
            self.fib_remove_neighbor(key.0, key.1);
        }
        for index in self.adjacencies.of_neighbor(key.0, key.1) {
            self.forget_adjacency(index);
        }
        watch::tell(self, key, &gone, false);
        Ok(())
    }
    /// Asks for a neighbour, unless it is known or its interface is down.
    pub fn ask_neighbor(&mut self, key: Key) {
        asking::ask(self, &[key]);
    }
    /// Starts to replace all neighbors: those neither set nor heard until
    /// [`Router::end_neighbor_replacement`] are deleted then.
    pub fn begin_neighbor_replacement(&mut self) {
        self.neighbors_mut().table.mark();
    }
    /// Deletes neighbors neither set nor heard since the replacement began.
    pub fn end_neighbor_replacement(&mut self) {
        for key in self.neighbors().table.stale() {
            // It was there just now.
            let _ = self.remove_neighbor(key);
        }
    }
    /// Forgets all neighbours of a family, static ones too, on one interface or on all.
    pub fn flush_neighbors(&mut self, version: IpVersion, only: Option<InterfaceIndex>) {
        let table = &self.neighbors().table;
        let gone = table.iter(None).map(|(key, _)| key).filter(|(on, addr)| {
            IpVersion::from(*addr) == version && only.is_none_or(|only| only == *on)
        });
        for key in gone.collect::<Vec<_>>() {
            // It was there just now.
            let _ = self.remove_neighbor(key);
        }
    }
    /// Limits the table of one family, without deleting entries at once.
    pub fn configure_neighbors(&mut self, version: IpVersion, config: Config) {
        self.neighbors_mut().table.configs[version as usize] = config;
        process::configured(self, version as usize);
    }
    /// Makes route and adjacency follow the table, which has changed at `key`.
    fn settle(&mut self, key: Key, now: Neighbor, outcome: Outcome) -> Result<(), Error> {
        if now.has_route
            && reach::is_reachable(self, key)
            && let Err(e) = self.fib_add_neighbor(key.0, key.1)
        {
            // Without its route, packets to it would be held again and again.
            let _ = self.remove_neighbor(key);
            return Err(Error::Route(e));
        }
        if matches!(outcome, Outcome::New | Outcome::Changed) {
            for index in self.adjacencies.of_neighbor(key.0, key.1) {
                self.complete_adjacency(index, now.mac);
            }
            watch::tell(self, key, &now, true);
        }
        Ok(())
    }
}

/// Packets wait for a neighbour's answer: they are to be asked for again and given up in time.
#[derive(Clone, Copy, Debug)]
pub struct Pending;

impl Event for Pending {}

/// Looks held packets up again whose neighbors were resolved.
pub fn release(router: &mut Router) {
    let lost = router.events.lost();
    let Some(neighbors) = router.state_mut::<Neighbors>() else { return };
    // What was lost may have been the news that packets wait.
    if std::mem::replace(&mut neighbors.lost, lost) != lost {
        packets_wait(router);
    }
    let known = std::mem::take(&mut router.neighbors_mut().known);
    if !known.is_empty() {
        let known: std::sync::Arc<[Key]> = known.into();
        visit(router, &Released(known));
    }
}

/// Packets wait for neighbours: the nodes that hold them are to be ticked.
fn packets_wait(router: &mut Router) {
    let Some(neighbors) = router.state_mut::<Neighbors>() else { return };
    if !std::mem::replace(&mut neighbors.is_ticking, true) {
        process::start_ticking(router);
    }
}

/// Something to be done at each node that holds packets, on each thread.
trait Work: Clone + Send + 'static {
    fn work<F: Family, W: resolve::ResolveTarget>(
        self,
        node: &mut Resolver<F, W>,
        frame: &mut Frame<'_, Resolver<F, W>>,
    );
}

fn visit(router: &mut Router, work: &impl Work) {
    fn one<F: Family, W: resolve::ResolveTarget>(
        router: &mut Router,
        node: NodeIndex,
        work: &impl Work,
    ) where
        Resolver<F, W>: Node,
    {
        for thread in router.engine.data_threads() {
            let work = work.clone();
            router
                .engine
                .visit::<Resolver<F, W>>(thread, node, |node, frame| work.work(node, frame));
        }
    }
    let askers = router.neighbors().askers;
    one::<V4, NextHop>(router, askers.next_hop4, work);
    one::<V4, Destination>(router, askers.destination4, work);
    one::<V6, NextHop>(router, askers.next_hop6, work);
    one::<V6, Destination>(router, askers.destination6, work);
}

#[derive(Clone)]
struct Released(Arc<[Key]>);

impl Work for Released {
    fn work<F: Family, W: resolve::ResolveTarget>(
        self,
        node: &mut Resolver<F, W>,
        frame: &mut Frame<'_, Resolver<F, W>>,
    ) {
        node.release(frame, &self.0);
    }
}

fn has_neighbors(router: &Router, interface: InterfaceIndex) -> bool {
    router.interfaces.at(interface).is_some_and(|i| i.kind != Kind::Local)
}

/// Forgets the neighbours of an interface that `which` names.
fn flush(router: &mut Router, on: InterfaceIndex, which: impl Fn(&Router, Key, &Neighbor) -> bool) {
    let table = &router.neighbors().table;
    let gone = table.on(on).filter(|(key, n)| which(router, *key, n));
    let gone: Vec<_> = gone.map(|(key, _)| key).collect();
    for key in gone {
        // It was there just now.
        let _ = router.remove_neighbor(key);
    }
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(interface) else { return };
    let is_up = i.admin_up && i.link_up;
    if i.kind != Kind::Ethernet {
        return;
    }
    match change {
        Change::Added => {
            let is_l3_tunnel = i.mac == L3_MAC;
            counters::start(router, interface);
            if is_l3_tunnel {
                let done = router.put(interface, Strict(true));
                done.expect("it was added just now");
            }
        }
        Change::Deleting => {
            flush(router, interface, |_, _, _| true);
            visit(router, &reach::Forgotten(interface, None));
        }
        Change::State if !i.admin_up => {
            flush(router, interface, |_, _, n| !n.is_static);
            visit(router, &reach::Forgotten(interface, None));
        }
        Change::State if !i.link_up => reach::follow_link(router, interface, false),
        Change::State => {
            reach::follow_link(router, interface, true);
            announce::all(router, interface);
            asking::ask_next_hops(router, interface);
        }
        Change::Mac if is_up => announce::all(router, interface),
        _ => (),
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let arp = Counters::new(&mut router.stats, "arp").map_err(refuse)?;
    let nd = Counters::new(&mut router.stats, "ip6-nd").map_err(refuse)?;
    let strict = router.attach::<Strict>().map_err(refuse)?;
    let readers = Readers {
        adjacencies: router.adjacencies.reader(),
        ports: router.interfaces.ports(),
        addresses: router.addresses.reader(),
        events: router.events.sender(),
        asked: [arp.tx.requests.clone(), nd.tx.requests.clone()],
        strict: strict.clone(),
    };
    let engine = &mut router.engine;
    let askers = ResolverNodes {
        next_hop4: engine
            .add(Resolver::<V4, NextHop>::new(readers.clone(), router.fib.forwarding()))
            .map_err(refuse)?,
        destination4: engine
            .add(Resolver::<V4, Destination>::new(readers.clone(), router.fib.forwarding()))
            .map_err(refuse)?,
        next_hop6: engine
            .add(Resolver::<V6, NextHop>::new(readers.clone(), router.fib.forwarding()))
            .map_err(refuse)?,
        destination6: engine
            .add(Resolver::<V6, Destination>::new(readers.clone(), router.fib.forwarding()))
            .map_err(refuse)?,
    };
    router.events.handle(|router, _: Pending| packets_wait(router));
    router.events.handle(learned);
    router.events.handle(learn::heard);
    router.events.afterwards(release);
    router.insert(Neighbors {
        table: Table::default(),
        counters: [arp, nd],
        strict,
        askers,
        watchers: Vec::new(),
        known: Vec::new(),
        heard: Vec::new(),
        unasked: Vec::new(),
        unannounced: Vec::new(),
        is_ticking: false,
        lost: 0,
    });
    router.on_adjacency.push(asking::adjacency_made);
    router.interfaces.observe(interface_changed);
    router.addresses.observe(reach::follow_addresses);
    router.addresses.observe(|router, interface, _| asking::ask_waiting(router, interface));
    router.addresses.observe(announce::follow_addresses);
    gauges::register(router);
    health::register(router);
    answers::register(router);
    process::spawn(router);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
