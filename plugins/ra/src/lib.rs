//! Router advertisements and solicitations (RFC 4861 section 6): advertising this router, answering
//! solicitations, receiving advertisements of other routers, and soliciting them.
//!
//! An interface with IPv6 has an [`Advertiser`]; it sends nothing until
//! `ip6 nd INTERFACE no ra-suppress`.
#![forbid(unsafe_code)]

mod advertisement;
mod advertiser;
mod api;
mod cli;
mod config;
mod node;
mod process;
mod received;
mod show;
mod solicit;

use control::feature::Registered;
use graph::NodeIndex;
use net::interface::Kind;
use net::neighbor::OnLink;
use net::prelude::*;

pub use advertisement::RouterAdvertisement;
pub use advertiser::{Advertiser, Learned, Prefix, Tally};
pub use api::{
    Ip6RaEvent, Ip6RaPrefixInfo, Ip6ndRaPrefix, Ip6ndSendRouterSolicitation,
    SwInterfaceIp6ndRaConfig, SwInterfaceIp6ndRaDetails, SwInterfaceIp6ndRaDump,
    SwInterfaceIp6ndRaPrefix, WantIp6RaEvents,
};
pub use config::{
    Changes, Config, Error, MAX_PREFIXES, PrefixChange, configure, learn, remove_prefix,
    set_prefix, unlearn,
};
pub use node::{RouterSolicitation, Solicited};
pub use received::{Advertised, MOST_PREFIXES, ReceivedPrefix};
pub use solicit::{Retries, Soliciting, solicit};

/// Router advertisements and solicitations.
pub const FEATURE: Feature = Feature {
    name: "ra",
    about: "IPv6 router advertisements and solicitations",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["icmp", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Advertisers and solicitations.
pub struct Routers {
    advertisers: BTreeMap<InterfaceIndex, Advertiser>,
    /// Whether solicitations on an interface are to be answered, for the node.
    answers: Shared<Vec<bool>>,
    solicitations: NodeIndex,
    /// Called with each advertisement of another router.
    observers: Registered<fn(&mut Router, &Advertised)>,
    soliciting: BTreeMap<InterfaceIndex, Soliciting>,
}

/// Advertisers, by interface.
pub fn advertisers(router: &Router) -> impl Iterator<Item = (InterfaceIndex, &Advertiser)> {
    router.own::<Routers>().advertisers.iter().map(|(i, a)| (*i, a))
}

/// The advertiser of an interface; there is one while IPv6 is enabled.
pub fn advertiser(router: &Router, interface: InterfaceIndex) -> Option<&Advertiser> {
    router.own::<Routers>().advertisers.get(&interface)
}

/// Calls `observer` with each advertisement of another router.
pub fn observe(router: &mut Router, observer: fn(&mut Router, &Advertised)) {
    router.own_mut::<Routers>().observers.push(observer);
}

/// Follows an interface's IPv6: with it comes and goes its advertiser.
fn follow_ip6(router: &mut Router, interface: InterfaceIndex) {
    let is_on = router.addresses.of(interface).link_local.is_some();
    let is_ethernet = router.interfaces.at(interface).is_some_and(|i| i.kind == Kind::Ethernet);
    let now = router.now();
    let routers = router.own_mut::<Routers>();
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
    let Some(advertiser) = router.own_mut::<Routers>().advertisers.get_mut(&interface) else {
        return;
    };
    if change == Change::State && is_up {
        advertiser.restart(now);
        process::wake(router);
    }
}

/// Calls the observers of advertisements.
fn heard(router: &mut Router, advertised: Advertised) {
    let observers = router.own::<Routers>().observers.clone();
    observers.iter().for_each(|observer| observer(router, &advertised));
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
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
        observers: Registered::default(),
        soliciting: BTreeMap::new(),
    });
    router.events.handle(process::solicited);
    router.events.handle(heard);
    router.interfaces.observe(interface_changed);
    router.addresses.observe(|router, interface, _| follow_ip6(router, interface));
    router.addresses.show("advertiser", |router, interface| {
        let mtu = router.interfaces.at(interface)?.mtu.for_ip6();
        Some(Output::of(show::Shown::of(advertiser(router, interface)?, mtu, router.now())))
    });
    process::spawn(router);
    solicit::spawn(router);
    observe(router, api::heard);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
