//! Link layer discovery (IEEE 802.1AB): interfaces announce themselves, and learn their neighbors.
//!
//! An interface that takes part sends a frame when it is switched on and then every `tx-interval`;
//! what it says holds for `tx-hold` intervals. One that no longer takes part says so. What is heard
//! is kept until something else is heard, and is active while its time to live lasts.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod send;
mod show;

use std::collections::btree_map::Entry;

use net::interface::Kind;
use net::prelude::*;

pub use api::*;
pub use node::{Heard, Id, Input};

/// Settings of all interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name of the router; empty for none.
    pub system_name: String,
    /// Intervals for which it holds.
    pub tx_hold: u32,
    /// Transmit interval in seconds.
    pub tx_interval: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { system_name: String::new(), tx_hold: 4, tx_interval: 30 }
    }
}

impl Config {
    /// Seconds for which what is said holds.
    pub fn ttl(&self) -> u16 {
        u16::try_from(self.tx_hold * self.tx_interval).unwrap_or(u16::MAX)
    }
}

/// Descriptions that an interface sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The port in words; empty for nothing.
    pub port_desc: String,
    /// Address at which the router is managed.
    pub mgmt_ip4: Option<Ipv4Addr>,
    /// Address at which the router is managed.
    pub mgmt_ip6: Option<Ipv6Addr>,
    /// Identifier of the hardware or protocol there; empty for none.
    pub mgmt_oid: Vec<u8>,
}

/// An interface with the protocol enabled.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// Elements of its messages.
    pub described: Described,
    /// The last message received, and its time in seconds.
    pub heard: Option<(Heard, f64)>,
    /// Time of its last message, in seconds.
    pub sent: Option<f64>,
    /// Time of its next message, in seconds.
    next: f64,
}

impl Port {
    /// Whether what it heard holds.
    pub fn is_active(&self, now: f64) -> bool {
        self.heard.as_ref().is_some_and(|(heard, at)| now < at + f64::from(heard.ttl))
    }
}

/// State of an interface for threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadState {
    is_on: bool,
    /// Hash of the last message it received.
    last: u64,
}

/// All that control keeps.
#[derive(Default)]
pub struct Discovery {
    /// Settings of all interfaces.
    pub config: Config,
    /// Interfaces that take part.
    pub ports: BTreeMap<InterfaceIndex, Port>,
}

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// LLDP runs on Ethernet interfaces other than sub-interfaces
    #[retval(INVALID_VALUE)]
    NoEthernet,
    /// tx-hold must be 1 to 100
    #[retval(INVALID_VALUE)]
    Hold,
    /// tx-interval must be 1 to 3600
    #[retval(INVALID_VALUE)]
    Interval,
    /// names and descriptions have at most 255 bytes, identifiers 128
    #[retval(INVALID_VALUE)]
    Long,
}

/// The process that speaks.
const PROCESS: &str = "lldp-process";

/// Sets what all interfaces say.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn configure(router: &mut Router, config: Config) -> Result<(), Error> {
    if !(1..=100).contains(&config.tx_hold) {
        return Err(Error::Hold);
    }
    if !(1..=3600).contains(&config.tx_interval) {
        return Err(Error::Interval);
    }
    if config.system_name.len() > 255 {
        return Err(Error::Long);
    }
    let now = router.now();
    let all = router.own_mut::<Discovery>();
    all.config = config;
    all.ports.values_mut().for_each(|port| port.next = now);
    router.processes.signal(PROCESS, 0);
    Ok(())
}

/// Enables LLDP on an interface, or disables it (`None`). An enabled one keeps its settings:
/// disable it first.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    described: Option<Described>,
) -> Result<(), Error> {
    let of = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if of.kind != Kind::Ethernet || of.is_sub() {
        return Err(Error::NoEthernet);
    }
    let is_long = |d: &Described| d.port_desc.len() > 255 || d.mgmt_oid.len() > 128;
    if described.as_ref().is_some_and(is_long) {
        return Err(Error::Long);
    }
    let Some(described) = described else {
        if router.own_mut::<Discovery>().ports.remove(&interface).is_some() {
            send::goodbye(router, interface);
            router.put(interface, ThreadState::default())?;
        }
        return Ok(());
    };
    let now = router.now();
    let ports = &mut router.own_mut::<Discovery>().ports;
    if let Entry::Vacant(free) = ports.entry(interface) {
        free.insert(Port { described, next: now, ..Port::default() });
        router.put(interface, ThreadState { is_on: true, last: 0 })?;
        router.processes.signal(PROCESS, 0);
    }
    Ok(())
}

/// Sends due announcements; returns when to call this again.
fn say_due(router: &mut Router) -> Wake {
    let now = router.now();
    let all = router.own_mut::<Discovery>();
    let interval = f64::from(all.config.tx_interval);
    let mut due = Vec::new();
    for (interface, port) in all.ports.iter_mut().filter(|(_, port)| port.next <= now) {
        (port.next, port.sent) = (now + interval, Some(now));
        due.push(*interface);
    }
    let next = all.ports.values().map(|port| port.next).min_by(f64::total_cmp);
    due.into_iter().for_each(|interface| send::hello(router, interface));
    next.map_or(Wake::OnEvent, |next| {
        Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.0)))
    })
}

fn heard(router: &mut Router, heard: Heard) {
    let now = router.now();
    let interface = heard.interface;
    let Some(port) = router.own_mut::<Discovery>().ports.get_mut(&interface) else { return };
    port.heard = Some((heard, now));
    let _ = router.put(interface, ThreadState { is_on: true, last: heard.hash });
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.own_mut::<Discovery>().ports.remove(&interface);
    }
}

/// Link layer discovery.
pub const FEATURE: Feature = Feature {
    name: "lldp",
    about: "Link Layer Discovery Protocol (LLDP) Plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let ports = router.attach::<ThreadState>().map_err(refuse)?;
    let events = router.events.sender();
    router.engine.add(Input { ports, events }).map_err(refuse)?;
    router.register_ethertype(EtherType::LLDP, node::NAME).map_err(refuse)?;
    router.insert(Discovery::default());
    router.events.handle(heard);
    router.interfaces.observe(follow);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| say_due(router)));
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
