//! Duplicate address detection (RFC 4862 section 5.4), off until the operator says otherwise.
//!
//! An address that comes to an interface which is up is *tentative*: it is asked for, and nobody is
//! answered for it meanwhile. When nobody claims it within the configured time it is *preferred*;
//! when somebody does, or wants it too, it is a *duplicate*: the operator is told, and it stays
//! without answers until it is removed, by the operator or by [`autoremove`].
//!
//! As in the original, addresses that were there before detection was switched on are not asked
//! for, nor is the link-local address made of the interface's MAC address.

mod api;
pub mod autoremove;
mod cli;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use control::feature::Refused;
use control::process::Wake;
use wire::nd::NeighborSolicitation;
use wire::{MacAddr, ip6};
use zerocopy::IntoBytes;

use crate::address::{OnInterface, Standing};
use crate::interface::{Change, InterfaceIndex, Kind};
use crate::nd::{Duplicate, Tentative};
use crate::neighbor;
use crate::ra::on_link;
use crate::router::{Configuration, Feature, Origin, Parts, Router};

const PROCESS: &str = "ip6-dad-process";
/// Most questions about an address.
pub const MAX_TRANSMITS: u8 = 10;

/// Duplicate address detection.
pub const FEATURE: Feature = Feature {
    name: "ip6-dad",
    about: "IPv6 duplicate address detection",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["nd"],
    register,
    configuration: Configuration::None("its commands do not print themselves yet"),
};

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether at all.
    pub is_on: bool,
    /// Questions about an address, 1 to [`MAX_TRANSMITS`].
    pub transmits: u8,
    /// Seconds between two, and after the last one.
    pub delay: f64,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being asked for.
    Tentative,
    /// It is ours.
    Preferred,
    /// Somebody else has it.
    Duplicate,
}

/// An address that is, or was, asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// What is known.
    pub state: State,
    /// Questions sent.
    pub sent: u8,
    /// When the next one is due, or the end.
    next: f64,
}

/// What control keeps.
pub struct Detection {
    /// How it is done.
    pub config: Config,
    entries: BTreeMap<(InterfaceIndex, Ipv6Addr), Entry>,
    /// Called with each step of an address.
    observers: Vec<Observer>,
}

/// Called when an address becomes tentative, when it was asked for, and when it is known whether it
/// is ours.
pub type Observer = fn(&mut Router, InterfaceIndex, Ipv6Addr, &Entry);

/// Why a configuration is refused: a value is out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds(pub &'static str);

impl std::fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}
impl std::error::Error for OutOfBounds {}

impl Detection {
    /// Addresses that are or were asked for, by interface.
    pub fn iter(&self) -> impl Iterator<Item = (InterfaceIndex, Ipv6Addr, &Entry)> {
        self.entries.iter().map(|((interface, addr), entry)| (*interface, *addr, entry))
    }
}

/// Whether addresses are asked for.
pub fn is_on(router: &Router) -> bool {
    router.state::<Detection>().is_some_and(|dad| dad.config.is_on)
}

impl Router {
    /// Duplicate address detection as it stands.
    pub fn dad(&self) -> &Detection {
        self.own()
    }
    fn dad_mut(&mut self) -> &mut Detection {
        self.own_mut()
    }
    /// Configures it for addresses that come from now on; off, what is tentative is ours at once.
    ///
    /// # Errors
    /// [`OutOfBounds`]; nothing has changed then.
    pub fn configure_dad(&mut self, new: Config) -> Result<(), OutOfBounds> {
        if !(1..=MAX_TRANSMITS).contains(&new.transmits) {
            return Err(OutOfBounds("transmits is 1 to 10"));
        }
        if !(new.delay > 0.0 && new.delay <= 3600.0) {
            return Err(OutOfBounds("delay is more than 0 and at most 3600 seconds"));
        }
        self.dad_mut().config = new;
        if !new.is_on {
            self.dad_mut().entries.clear();
            publish(self);
        }
        Ok(())
    }
    /// Has `observer` called with each step of an address.
    pub fn on_dad(&mut self, observer: Observer) {
        self.dad_mut().observers.push(observer);
    }
}

/// The addresses of an interface that are asked for: all that the operator gave it.
fn asked_for(router: &Router, interface: InterfaceIndex, on: &OnInterface) -> Vec<Ipv6Addr> {
    let derived = router.interfaces.at(interface).map(|i| i.mac.link_local());
    let all = on.link_local.into_iter().chain(on.ip6.iter().map(|p| p.addr()));
    all.filter(|a| Some(*a) != derived && !a.is_loopback() && !a.is_multicast()).collect()
}

/// Follows the addresses of an interface, which had those of `before`: new ones are asked for,
/// those that went forgotten.
fn follow_addresses(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let now = asked_for(router, interface, router.addresses.of(interface));
    let before = asked_for(router, interface, before);
    let dad = router.dad_mut();
    let count = dad.entries.len();
    dad.entries.retain(|(on, addr), _| *on != interface || now.contains(addr));
    if dad.entries.len() != count {
        publish(router);
    }
    start(router, interface, now.into_iter().filter(|addr| !before.contains(addr)));
}

/// Begins to ask for addresses of an interface, if it is up.
fn start(
    router: &mut Router,
    interface: InterfaceIndex,
    addresses: impl Iterator<Item = Ipv6Addr>,
) {
    let is_up = router
        .interfaces
        .at(interface)
        .is_some_and(|i| i.admin_up && i.link_up && i.kind == Kind::Ethernet);
    if !router.dad().config.is_on || !is_up {
        return;
    }
    let new: Vec<_> = addresses.collect();
    let first = Entry { state: State::Tentative, sent: 0, next: router.now() };
    router.dad_mut().entries.extend(new.iter().map(|addr| ((interface, *addr), first)));
    if !new.is_empty() {
        publish(router);
        new.into_iter().for_each(|addr| tell(router, interface, addr));
        ask_due(router);
        router.processes.signal(PROCESS, 0);
    }
}

/// Takes note that somebody else has, or wants, an address.
fn duplicate(router: &mut Router, Duplicate { interface, addr }: Duplicate) {
    let Some(entry) = router.dad_mut().entries.get_mut(&(interface, addr)) else { return };
    if entry.state == State::Tentative {
        entry.state = State::Duplicate;
        let name = router.interfaces.name(interface.0).to_owned();
        let log = router.log.class("ip6", "dad");
        log.error(format_args!("{addr} on {name} is a duplicate: somebody else has it"));
        tell(router, interface, addr);
    }
}

fn tell(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) {
    let dad = router.dad();
    let Some(entry) = dad.entries.get(&(interface, addr)).copied() else { return };
    for observer in dad.observers.clone() {
        observer(router, interface, addr, &entry);
    }
}

/// Asks where it is time, and comes to an end where nobody has answered.
fn ask_due(router: &mut Router) {
    let now = router.now();
    let dad = router.dad_mut();
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
        tell(router, interface, addr);
    }
    if !ours.is_empty() {
        publish(router);
    }
    ours.into_iter().for_each(|(interface, addr)| tell(router, interface, addr));
}

/// Lets the nodes know which addresses are not to be answered for, nor sent from.
fn publish(router: &mut Router) {
    let entries = router.dad().entries.iter();
    let mut not_ours: Vec<_> =
        entries.filter(|(_, e)| e.state != State::Preferred).map(|(key, _)| *key).collect();
    not_ours.sort_unstable();
    let tentative: &mut Tentative = router.state_mut().expect("neighbour discovery puts it in");
    let before = tentative.0.current().clone();
    tentative.0.publish(not_ours.clone());
    for (interface, addr) in before.into_iter().filter(|key| !not_ours.contains(key)) {
        router.set_standing(interface, addr, None);
    }
    for (interface, addr) in not_ours {
        router.set_standing(interface, addr, Some(Standing::Tentative));
    }
}

/// Does anybody have this address? (RFC 4862 section 5.4.2)
fn send(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let group = ip6::solicited_node(addr);
    let message = NeighborSolicitation::new(addr).as_bytes().to_vec();
    let to = (MacAddr::for_ip6_group(group), group);
    neighbor::send(router, interface, on_link((mac, Ipv6Addr::UNSPECIFIED), to, message));
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::State {
        return;
    }
    // Somebody else may have come while the link was down: everything is asked anew.
    let is_down = router.interfaces.at(interface).is_none_or(|i| !i.admin_up || !i.link_up);
    if is_down {
        router.dad_mut().entries.retain(|(on, _), _| *on != interface);
        publish(router);
    } else {
        let all = asked_for(router, interface, router.addresses.of(interface));
        start(router, interface, all.into_iter());
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let config = Config { is_on: false, transmits: 1, delay: 1.0 };
    router.insert(Detection { config, entries: BTreeMap::new(), observers: Vec::new() });
    router.events.handle(duplicate);
    router.interfaces.observe(interface_changed);
    router.addresses.observe(follow_addresses);
    let body = |router: &mut Router, _| {
        ask_due(router);
        let now = router.now();
        let entries = router.dad().entries.values();
        let waiting = entries.filter(|e| e.state == State::Tentative).map(|e| e.next);
        match waiting.min_by(f64::total_cmp) {
            Some(next) => Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.0))),
            None => Wake::OnEvent,
        }
    };
    router.processes.spawn(PROCESS, Box::new(body));
    router.on_dad(api::stepped);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
