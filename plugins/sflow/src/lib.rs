//! sFlow (sFlow version 5): samples of packets and dropped packets, for an agent on the host.
//!
//! Nodes send headers to control as events, in bounded rings; control writes them to netlink.
#![forbid(unsafe_code)]

mod api;
mod channel;
mod cli;
mod message;
mod node;
mod report;

use std::ops::RangeInclusive;

use net::drops::ERROR_DROP;
use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::prelude::*;

pub use api::*;
pub use channel::Channel;
pub use message::{Counters, Group, Header, counters, dropped, sampled, status};

use report::Reporter;

/// sFlow.
pub const FEATURE: Feature = Feature {
    name: "sflow",
    about: "sFlow agent's packet samples, dropped packets and counters",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["drops"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Bytes of a header that make sense.
pub const HEADER_BYTES: RangeInclusive<u32> = 64..=256;
/// Header lengths are multiples of this, in bytes.
pub const HEADER_STEP: u32 = 32;

/// Settings of sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// One packet of so many is sampled; 0 for none.
    pub rate: u32,
    /// Bytes of a packet in a sample at most.
    pub header_bytes: u32,
    /// Seconds between two reports of counters; 0 for none.
    pub polling: u32,
    /// Whether received packets are sampled.
    pub rx: bool,
    /// Whether sent packets are sampled.
    pub tx: bool,
    /// Whether dropped packets are reported.
    pub drops: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let (rx, tx, drops) = (true, false, false);
        Self { rate: 10_000, header_bytes: 128, polling: 20, rx, tx, drops }
    }
}

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Watched {
    /// It was asked for. Not so of sub-interfaces, whose sent and dropped packets are their
    /// parent's.
    is_on: bool,
    rx: bool,
    tx: bool,
    drops: bool,
}

/// The state of control.
struct Sflow(Shared<Settings>);

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// sampling applies to the parent of a sub-interface
    #[retval(INVALID_SW_IF_INDEX)]
    SubInterface,
    /// the interface is sampled, or not, already
    #[retval(VALUE_EXIST)]
    Already,
    /// direction must be 1 (received), 2 (transmitted) or 3 (both), not {0}
    #[retval(INVALID_VALUE)]
    BadDirection(u32),
}

/// Settings of sampling now.
pub fn settings(router: &Router) -> Settings {
    *router.own::<Sflow>().0.current()
}

/// Changes what is sampled. Lengths of headers are rounded up to multiples of [`HEADER_STEP`], and
/// the nearest of [`HEADER_BYTES`] where they are none of these.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, change: impl FnOnce(&mut Settings)) -> Result<(), Error> {
    let old = settings(router);
    let mut new = old;
    change(&mut new);
    let bytes = new.header_bytes.clamp(*HEADER_BYTES.start(), *HEADER_BYTES.end());
    new.header_bytes = bytes.next_multiple_of(HEADER_STEP);
    router.own_mut::<Sflow>().0.publish(new);
    if new.polling != old.polling {
        report::repoll(router);
    }
    for interface in watched(router).collect::<Vec<_>>() {
        follow_parent(router, interface, true)?;
    }
    Ok(())
}

/// Enables or disables sampling on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn watch(router: &mut Router, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
    let found = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if found.is_sub() {
        return Err(Error::SubInterface);
    }
    if watched(router).any(|watched| watched == interface) == on {
        return Err(Error::Already);
    }
    follow_parent(router, interface, on)
}

/// Interfaces whose packets are sampled.
pub fn watched(router: &Router) -> impl Iterator<Item = InterfaceIndex> {
    router.settings::<Watched>().filter(|(_, w)| w.is_on).map(|(interface, _)| interface)
}

/// Puts the setting of an interface and of its sub-interfaces.
fn follow_parent(router: &mut Router, parent: InterfaceIndex, on: bool) -> Result<(), Error> {
    let Settings { rx, tx, drops, .. } = settings(router);
    let whole = if on { Watched { is_on: on, rx, tx, drops } } else { Watched::default() };
    let subs = router.interfaces.at(parent).ok_or(Error::NoInterface)?.subs.clone();
    for sub in subs {
        router.put(sub, Watched { is_on: false, rx: false, ..whole })?;
    }
    Ok(router.put(parent, whole)?)
}

/// Sub-interfaces are watched as their parent is.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let parent = router.interfaces.at(interface).filter(|i| i.is_sub()).map(|i| i.sup);
    if let Some(parent) = parent.filter(|_| change == Change::Added) {
        let whole: Watched = router.setting(parent);
        let done = router.put(interface, Watched { is_on: false, rx: false, ..whole });
        done.expect("an interface that was added is there");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Watched>().map_err(refuse)?;
    let settings = Shared::new(Settings::default());
    let (samples, drops) = (router.events.sender(), router.events.sender());
    let sampler = node::Sampler::new(settings.reader(), samples);
    let discards = node::Discards { settings: settings.reader(), discards: drops };
    let engine = &mut router.engine;
    let received = node::Received(sampler.clone());
    engine.add_feature(&DEVICE_INPUT, received).map_err(refuse)?;
    engine.add_feature(&INTERFACE_OUTPUT, node::Sent(sampler)).map_err(refuse)?;
    engine.add_feature(&ERROR_DROP, discards).map_err(refuse)?;
    router.attach_at::<Watched, _>([
        AttachedAt { arc: &DEVICE_INPUT, node: node::RECEIVED, is_on: |w| w.rx },
        AttachedAt { arc: &INTERFACE_OUTPUT, node: node::SENT, is_on: |w| w.tx },
        AttachedAt { arc: &ERROR_DROP, node: node::DROPPED, is_on: |w| w.drops },
    ]);
    router.interfaces.observe(follow);
    router.insert(Sflow(settings));
    router.insert(Reporter::default());
    report::register(router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
