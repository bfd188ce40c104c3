//! ARP (RFC 826): received messages. Requests are sent by [`crate::neighbor`].
//!
//! `arp-input` checks packets and starts the arc `arp`: [`ArpReply`] answers for the router and
//! learns, [`ArpProxy`] answers for others where the operator says so (RFC 1027), and
//! `arp-disabled` takes the packets of interfaces without IPv4. All nodes count the same reasons.

mod api;
mod cli;
mod disabled;
mod input;
mod proxy;
mod reason;
mod reply;
#[cfg(test)]
mod tests;

use control::feature::Refused;
use graph::Node;
use infra::rcu::Shared;

use crate::interface::{Change, InterfaceIndex};
use crate::neighbor::OnLink;
use proxy::Proxies;

use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use disabled::ArpDisabled;
pub use input::{ARP, ArpInput};
pub use proxy::{Answered, ArpProxy, ProxyError, Range};
pub use reason::{Count, Error};
pub(crate) use reply::as_made_here;
pub use reply::{ArpReply, answer, source_of};

/// ARP.
pub const FEATURE: Feature = Feature {
    name: "arp",
    about: "ARP and proxy ARP",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Follows an interface's IPv4: its ARP packets are answered, or dropped and counted as disabled.
fn follow_ip4(router: &mut Router, interface: InterfaceIndex) {
    let is_on = router.addresses.of(interface).has_ip4();
    set(router, interface, ArpReply::NAME, is_on);
    set(router, interface, ArpDisabled::NAME, !is_on);
}

/// Enables or disables one of our nodes on the arc of an interface.
fn set(router: &mut Router, interface: InterfaceIndex, node: &str, on: bool) {
    let done = router.engine.set_feature(&ARP, node, interface.0, on);
    done.expect("the node is on the arc since the feature registered");
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Added => follow_ip4(router, interface),
        Change::Deleting => {
            let done = router.set_interface_proxy_arp(interface, false);
            done.expect("the interface exists until all are notified");
            set(router, interface, ArpReply::NAME, false);
            set(router, interface, ArpDisabled::NAME, false);
        }
        _ => (),
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.engine.declare(&ARP);
    let (ports, addresses) = (router.interfaces.ports(), router.addresses.reader());
    let events = (router.events.sender(), router.events.sender());
    let on_link = OnLink::new(router);
    let answered = Shared::new(Answered::default());
    let counters = router.neighbors().counters[0].clone();
    let engine = &mut router.engine;
    engine.add(ArpInput).map_err(refuse)?;
    let replies = counters.tx.replies.clone();
    let proxy = ArpProxy { ports: ports.clone(), answered: answered.reader(), replies };
    let reply =
        ArpReply { ports, addresses, on_link, answered: answered.reader(), counters, events };
    engine.add_feature(&ARP, reply).map_err(refuse)?;
    engine.add_feature(&ARP, proxy).map_err(refuse)?;
    engine.add_feature(&ARP, ArpDisabled).map_err(refuse)?;
    router.insert(Proxies(answered));
    let there: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    there.into_iter().for_each(|i| follow_ip4(router, i));
    router.interfaces.observe(interface_changed);
    router.addresses.observe(|router, interface, _| follow_ip4(router, interface));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
