//! Routers and hosts that look for them (RFC 4861 section 6): advertising this router, answering
//! solicitations, hearing other routers, and soliciting them.
//!
//! An interface with IPv6 has an [`Advertiser`]; it is silent until the operator says
//! `ip6 nd INTERFACE no ra-suppress`.

mod advertisement;
mod advertiser;
mod api;
mod cli;
mod config;
mod heard;
mod node;
mod process;
mod show;
mod solicit;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use control::feature::Refused;
use graph::{Node, NodeIndex};
use infra::rcu::Shared;
use wire::icmp6;

use crate::interface::{Change, InterfaceIndex, Kind};
use crate::neighbor::OnLink;
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use advertisement::RouterAdvertisement;
pub(crate) use advertiser::on_link;
pub use advertiser::{Advertiser, Prefix, Tally};
pub use config::{Changes, Config, PrefixChange, Refusal};
pub use heard::{Advertised, MOST_PREFIXES, PrefixHeard};
pub use node::{RouterSolicitation, Solicited};
pub use show::Shown;
pub use solicit::{Retries, Soliciting};

/// Router advertisements and solicitations.
pub const FEATURE: Feature = Feature {
    name: "ra",
    about: "IPv6 router advertisements and solicitations",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["icmp", "neighbor"],
    register,
    configuration: Configuration::None("its commands do not print themselves yet"),
};

/// What control keeps.
pub struct Routers {
    advertisers: BTreeMap<InterfaceIndex, Advertiser>,
    /// Whether solicitations on an interface are to be answered, for the node.
    answers: Shared<Vec<bool>>,
    solicitations: NodeIndex,
    /// Called with each advertisement of another router.
    observers: Vec<fn(&mut Router, &Advertised)>,
    soliciting: BTreeMap<InterfaceIndex, Soliciting>,
}

impl Router {
    /// Advertisers, by interface.
    pub fn advertisers(&self) -> impl Iterator<Item = (InterfaceIndex, &Advertiser)> {
        self.routers().advertisers.iter().map(|(i, a)| (*i, a))
    }
    /// The advertiser of an interface; there is one while IPv6 is enabled.
    pub fn advertiser(&self, interface: InterfaceIndex) -> Option<&Advertiser> {
        self.state::<Routers>()?.advertisers.get(&interface)
    }
    /// Has `observer` called with each advertisement of another router.
    pub fn on_advertisement(&mut self, observer: fn(&mut Router, &Advertised)) {
        self.routers_mut().observers.push(observer);
    }
    fn routers(&self) -> &Routers {
        self.own()
    }
    fn routers_mut(&mut self) -> &mut Routers {
        self.own_mut()
    }
}

/// Follows an interface's IPv6: with it comes and goes its advertiser.
fn follow_ip6(router: &mut Router, interface: InterfaceIndex) {
    let is_on = router.addresses.of(interface).link_local.is_some();
    let is_ethernet = router.interfaces.at(interface).is_some_and(|i| i.kind == Kind::Ethernet);
    let now = router.now();
    let routers = router.routers_mut();
    if !is_on || !is_ethernet {
        routers.advertisers.remove(&interface);
        routers.soliciting.remove(&interface);
    } else {
        routers.advertisers.entry(interface).or_insert_with(|| Advertiser::new(now));
    }
    config::publish(router);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let is_up = router.interfaces.at(interface).is_some_and(|i| i.admin_up && i.link_up);
    let now = router.now();
    let Some(advertiser) = router.routers_mut().advertisers.get_mut(&interface) else { return };
    if change == Change::State && is_up {
        advertiser.restart(now);
        process::wake(router);
    }
}

/// Tells everybody concerned what other routers said.
fn heard(router: &mut Router, advertised: Advertised) {
    let observers = router.routers().observers.clone();
    observers.iter().for_each(|observer| observer(router, &advertised));
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let on_link = OnLink::new(router);
    let answers = Shared::new(Vec::new());
    let solicitation = RouterSolicitation {
        on_link,
        answers: answers.reader(),
        solicited: router.events.sender(),
        learned: router.events.sender(),
    };
    let advertisement =
        RouterAdvertisement { advertised: router.events.sender(), learned: router.events.sender() };
    let solicitations = router.engine.add(solicitation).map_err(refuse)?;
    router.engine.add(advertisement).map_err(refuse)?;
    let (rs, ra) = (icmp6::Type::ROUTER_SOLICITATION, icmp6::Type::ROUTER_ADVERTISEMENT);
    router.icmp6_type(rs, RouterSolicitation::NAME).map_err(refuse)?;
    router.icmp6_type(ra, RouterAdvertisement::NAME).map_err(refuse)?;
    router.insert(Routers {
        advertisers: BTreeMap::new(),
        answers,
        solicitations,
        observers: Vec::new(),
        soliciting: BTreeMap::new(),
    });
    router.events.handle(process::solicited);
    router.events.handle(heard);
    router.interfaces.observe(interface_changed);
    router.addresses.observe(|router, interface, _| follow_ip6(router, interface));
    process::spawn(router);
    solicit::spawn(router);
    router.on_advertisement(api::heard);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
