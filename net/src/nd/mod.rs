//! IPv6 neighbor discovery: messages of neighbors (RFC 4861 section 7), and answering
//! for others (section 7.2.8). Solicitations are sent by [`crate::neighbor`], routers
//! are the plugin `ra`'s. Redirects are ignored: routers choose next hops by their routes.
//!
//! What the nodes count is found at `ip6-icmp-input`.

mod advertisement;
mod api;
mod cli;
mod message;
mod mirror;
mod proxy;
mod solicitation;
#[cfg(test)]
mod tests;

use std::net::Ipv6Addr;

use control::feature::Refused;
use graph::Node;
use infra::rcu::Shared;
use wire::icmp6;

use crate::events::Event;
use crate::interface::{Change, InterfaceIndex};
use crate::ip6::{IP6_MULTICAST, IP6_UNICAST};
use crate::neighbor::OnLink;
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use advertisement::NeighborAdvertisement;
pub use message::{ALL_NODES, answer_for, frame};
pub use mirror::{Mirror, Multicast, Unicast};
pub use proxy::{Answered, Proxied, ProxyError};
pub use solicitation::NeighborSolicitation;

use proxy::Proxies;

/// Neighbour discovery.
pub const FEATURE: Feature = Feature {
    name: "nd",
    about: "IPv6 neighbour discovery and its proxy",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["icmp", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Added => proxy::follow(router, interface),
        Change::Deleting => router.forget_nd_proxies(interface),
        _ => (),
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (ports, addresses) = (router.interfaces.ports(), router.addresses.reader());
    let on_link = OnLink::new(router);
    let (learned, duplicates) = (router.events.sender(), router.events.sender());
    let counters = router.neighbors().counters[1].clone();
    let answered = Shared::new(Answered::default());
    let tentative = Shared::new(Vec::new());
    let advertisement = NeighborAdvertisement {
        addresses: addresses.clone(),
        on_link: on_link.clone(),
        tentative: tentative.reader(),
        heard: counters.rx.clone(),
        learned: learned.clone(),
        duplicates: duplicates.clone(),
    };
    let solicitation = NeighborSolicitation {
        ports: ports.clone(),
        addresses: addresses.clone(),
        on_link: on_link.clone(),
        answered: answered.reader(),
        tentative: tentative.reader(),
        counters: counters.clone(),
        learned: learned.clone(),
        duplicates: duplicates.clone(),
    };
    let engine = &mut router.engine;
    engine.add(solicitation).map_err(refuse)?;
    engine.add(advertisement).map_err(refuse)?;
    let answered_here = answered.reader();
    let readers =
        mirror::Readers { ports, addresses, on_link, answered: answered_here, counters, learned };
    let mirror = Mirror::<Unicast>::new(readers.clone());
    engine.add_feature(&IP6_UNICAST, mirror).map_err(refuse)?;
    let mirror = Mirror::<Multicast>::new(readers);
    engine.add_feature(&IP6_MULTICAST, mirror).map_err(refuse)?;
    let (ns, na) = (icmp6::Type::NEIGHBOR_SOLICITATION, icmp6::Type::NEIGHBOR_ADVERTISEMENT);
    router.icmp6_type(ns, NeighborSolicitation::NAME).map_err(refuse)?;
    router.icmp6_type(na, NeighborAdvertisement::NAME).map_err(refuse)?;
    router.insert(Proxies(answered));
    router.insert(Tentative(tentative));
    router.interfaces.observe(interface_changed);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// Another node has, or wants, an IPv6 address that we ask for ourselves.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate {
    /// The interface we want it on.
    pub interface: InterfaceIndex,
    /// The address.
    pub addr: Ipv6Addr,
}

impl Event for Duplicate {}

/// Addresses whose uniqueness is not yet known, or known to be violated, sorted: they are not
/// answered for (RFC 4862 section 5.4).
pub struct Tentative(
    /// The addresses, with their interfaces.
    pub Shared<Vec<(InterfaceIndex, Ipv6Addr)>>,
);
