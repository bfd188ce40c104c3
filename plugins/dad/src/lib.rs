//! Duplicate address detection (RFC 4862 section 5.4), off until the operator says otherwise.
//!
//! An address that comes to an interface which is up is *tentative*: solicitations are sent for it,
//! and solicitations of others are not answered meanwhile. When no other node claims it within the
//! configured time it is *preferred*; when one does, or wants it too, it is a *duplicate*: this is
//! logged, and it stays without answers until it is removed, by the operator or by [`autoremove`].
//!
//! As in the original, addresses that were there before detection was switched on are exempt, and
//! so is the link-local address made of the interface's MAC address.
#![forbid(unsafe_code)]

mod api;
pub mod autoremove;
mod cli;

use control::feature::Registered;
use net::address::{AddressState, OnInterface};
use net::interface::Kind;
use net::nd::{Duplicate, Tentative, frame};
use net::neighbor;
use net::prelude::*;
use wire::nd::NeighborSolicitation;

pub use api::{
    Ip6DadDetails, Ip6DadDump, Ip6DadEnableDisable, Ip6DadEvent, Ip6DadState, WantIp6DadEvents,
};

const PROCESS: &str = "ip6-dad-process";
/// Most solicitations for an address.
pub const MAX_TRANSMITS: u8 = 10;

/// Duplicate address detection.
pub const FEATURE: Feature = Feature {
    name: "ip6-dad",
    about: "IPv6 duplicate address detection",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["nd"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether it is on.
    pub is_on: bool,
    /// Solicitations for an address, 1 to [`MAX_TRANSMITS`].
    pub transmits: u8,
    /// Seconds between two, and after the last one.
    pub delay: f64,
}

/// To begin with.
const FIRST: Config = Config { is_on: false, transmits: 1, delay: 1.0 };

/// State of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Under detection.
    Tentative,
    /// Unique.
    Preferred,
    /// In use by another node.
    Duplicate,
}

/// An address under detection, or after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// State.
    pub state: State,
    /// Solicitations sent.
    pub sent: u8,
    /// Time of the next one, or of the end.
    next: f64,
}

/// The configuration and the addresses under detection.
pub struct Detection {
    /// Configuration.
    pub config: Config,
    /// The default configuration.
    first: Config,
    entries: BTreeMap<(InterfaceIndex, Ipv6Addr), Entry>,
    /// Called with each step of an address.
    observers: Registered<Observer>,
}

/// Called when an address becomes tentative, when a solicitation was sent, and with the outcome.
pub type Observer = fn(&mut Router, InterfaceIndex, Ipv6Addr, &Entry);

/// Reasons why a configuration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// transmits must be 1 to {MAX_TRANSMITS}
    #[retval(INVALID_VALUE)]
    Transmits,
    /// delay must be more than 0 and at most 3600 seconds
    #[retval(INVALID_VALUE)]
    Delay,
}

impl Detection {
    /// Addresses under detection or after it, by interface.
    pub fn iter(&self) -> impl Iterator<Item = (InterfaceIndex, Ipv6Addr, &Entry)> {
        self.entries.iter().map(|((interface, addr), entry)| (*interface, *addr, entry))
    }
}

/// The configuration and the addresses under detection.
pub fn detection(router: &Router) -> &Detection {
    router.own()
}

/// Configures detection of addresses that come from now on; off, tentative addresses are used at
/// once.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn configure(router: &mut Router, new: Config) -> Result<(), Error> {
    if !(1..=MAX_TRANSMITS).contains(&new.transmits) {
        return Err(Error::Transmits);
    }
    if !(new.delay > 0.0 && new.delay <= 3600.0) {
        return Err(Error::Delay);
    }
    let dad = router.own_mut::<Detection>();
    dad.config = new;
    if !new.is_on {
        dad.entries.clear();
        publish(router);
    }
    Ok(())
}

/// Calls `observer` with each step of an address.
pub fn observe(router: &mut Router, observer: Observer) {
    router.own_mut::<Detection>().observers.push(observer);
}

/// The addresses of an interface that are detected: all that were configured.
fn detected(router: &Router, interface: InterfaceIndex, on: &OnInterface) -> Vec<Ipv6Addr> {
    let derived = router.interfaces.at(interface).map(|i| i.mac.link_local());
    let all = on.link_local.into_iter().chain(on.ip6.iter().map(|p| p.addr()));
    all.filter(|a| Some(*a) != derived && !a.is_loopback() && !a.is_multicast()).collect()
}

/// Follows the addresses of an interface, which had those of `before`: begins for new ones, and
/// forgets those that went.
fn follow_addresses(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let now = detected(router, interface, router.addresses.of(interface));
    let before = detected(router, interface, before);
    let dad = router.own_mut::<Detection>();
    let count = dad.entries.len();
    dad.entries.retain(|(on, addr), _| *on != interface || now.contains(addr));
    if dad.entries.len() != count {
        publish(router);
    }
    start(router, interface, now.into_iter().filter(|addr| !before.contains(addr)));
}

/// Begins detection of addresses of an interface, if it is up.
fn start(
    router: &mut Router,
    interface: InterfaceIndex,
    addresses: impl Iterator<Item = Ipv6Addr>,
) {
    let is_up = router
        .interfaces
        .at(interface)
        .is_some_and(|i| i.admin_up && i.link_up && i.kind == Kind::Ethernet);
    if !detection(router).config.is_on || !is_up {
        return;
    }
    let new: Vec<_> = addresses.collect();
    let first = Entry { state: State::Tentative, sent: 0, next: router.now() };
    router
        .own_mut::<Detection>()
        .entries
        .extend(new.iter().map(|addr| ((interface, *addr), first)));
    if !new.is_empty() {
        publish(router);
        new.into_iter().for_each(|addr| notify(router, interface, addr));
        send_due(router);
        router.processes.signal(PROCESS, 0);
    }
}

/// Marks an address as a duplicate.
fn duplicate(router: &mut Router, Duplicate { interface, addr }: Duplicate) {
    let Some(entry) = router.own_mut::<Detection>().entries.get_mut(&(interface, addr)) else {
        return;
    };
    if entry.state == State::Tentative {
        entry.state = State::Duplicate;
        let name = router.interfaces.name(interface.0).to_owned();
        let log = router.log.class("ip6", "dad");
        log.error(format_args!("{addr} on {name} is a duplicate: another host uses it"));
        notify(router, interface, addr);
    }
}

fn notify(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) {
    let dad = detection(router);
    let Some(entry) = dad.entries.get(&(interface, addr)).copied() else { return };
    for observer in dad.observers.clone().iter() {
        observer(router, interface, addr, &entry);
    }
}

/// Sends solicitations that are due, and ends detection where none was answered.
fn send_due(router: &mut Router) {
    let now = router.now();
    let dad = router.own_mut::<Detection>();
    let Config { transmits, delay, .. } = dad.config;
    let (mut ask, mut ours) = (Vec::new(), Vec::new());
    let tentative = dad.entries.iter_mut().filter(|(_, e)| e.state == State::Tentative);
    for (key, entry) in tentative.filter(|(_, e)| now >= e.next) {
        if entry.sent >= transmits {
            entry.state = State::Preferred;
            ours.push(*key);
        } else {
            (entry.sent, entry.next) = (entry.sent + 1, now + delay);
            ask.push(*key);
        }
    }
    for (interface, addr) in ask {
        send(router, interface, addr);
        notify(router, interface, addr);
    }
    if !ours.is_empty() {
        publish(router);
    }
    for (interface, addr) in ours {
        neighbor::announce_addresses(router, interface, &[addr.into()]);
        notify(router, interface, addr);
    }
}

/// Publishes to the nodes which addresses are neither answered for nor sent from.
fn publish(router: &mut Router) {
    let entries = detection(router).entries.iter();
    let mut not_ours: Vec<_> =
        entries.filter(|(_, e)| e.state != State::Preferred).map(|(key, _)| *key).collect();
    not_ours.sort_unstable();
    let tentative = router.own_mut::<Tentative>();
    let before = tentative.0.current().clone();
    tentative.0.publish(not_ours.clone());
    for (interface, addr) in before.into_iter().filter(|key| !not_ours.contains(key)) {
        router.set_standing(interface, addr, None);
    }
    for (interface, addr) in not_ours {
        router.set_standing(interface, addr, Some(AddressState::Tentative));
    }
}

/// Sends a solicitation (RFC 4862 section 5.4.2).
fn send(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let group = ip6::solicited_node(addr);
    let message = NeighborSolicitation::new(addr).as_bytes().to_vec();
    let to = (MacAddr::for_ip6_group(group), group);
    neighbor::send(router, interface, frame((mac, Ipv6Addr::UNSPECIFIED), to, message));
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::State {
        return;
    }
    // Another node may have appeared while the link was down: detection restarts.
    let is_down = router.interfaces.at(interface).is_none_or(|i| !i.admin_up || !i.link_up);
    if is_down {
        router.own_mut::<Detection>().entries.retain(|(on, _), _| *on != interface);
        publish(router);
    } else {
        let all = detected(router, interface, router.addresses.of(interface));
        start(router, interface, all.into_iter());
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(Detection {
        config: FIRST,
        first: FIRST,
        entries: BTreeMap::new(),
        observers: Registered::default(),
    });
    router.events.handle(duplicate);
    router.interfaces.observe(interface_changed);
    router.addresses.observe(follow_addresses);
    let body = |router: &mut Router, _| {
        send_due(router);
        let now = router.now();
        let entries = detection(router).entries.values();
        let waiting = entries.filter(|e| e.state == State::Tentative).map(|e| e.next);
        match waiting.min_by(f64::total_cmp) {
            Some(next) => Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.0))),
            None => Wake::OnEvent,
        }
    };
    router.processes.spawn(PROCESS, Box::new(body));
    observe(router, api::stepped);
    router.addresses.show("duplicate_detection", |router, _| {
        let is_on = detection(router).config.is_on;
        let state = if is_on { "enabled" } else { "disabled" };
        Some(Output::both(format!("    ND DAD is {state}"), is_on))
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
