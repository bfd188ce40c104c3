//! Reassembly: fragments put together again (RFC 791 section 3.2, RFC 8200 section 4.5), or held
//! back until the first one has passed, which is called shallow virtual reassembly.
//!
//! A packet's fragments meet on one thread, at each of seven places ([`place`]), and are held there
//! within limits; processes drop incomplete ones. Interfaces have it on request; fragments for this
//! router are reassembled unless that is disabled. Transmitted packets are held back when the
//! feature is enabled by name. Features send fragments to `ip4-full-reassembly-custom` and
//! `ip6-full-reassembly-custom`; a whole packet is looked up again, and the latter reassembles
//! fragments of IPv4 inside of IPv6 too. A whole packet at `ip4-full-reassembly-again` or
//! `ip6-full-reassembly-again` is received again.

mod api;
mod cli;
mod config;
mod full;
mod gather;
mod handoff;
mod health;
mod partial;
mod pieces;
mod place;
mod shallow;
mod shares;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod v4;
mod v6;
mod version;
mod walk;

use control::feature::{Refusal, Refused};
use graph::BuildError;
use infra::rcu::Shared;

use crate::events::Event;
use crate::interface::{AttachedAt, Change, InterfaceIndex, NoInterface};
use crate::ip::{V4, V6, Version};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};
use full::Full;
use place::{AGAIN, CUSTOM, GROUP, LOCAL, PLACES, Place, RECEIVED, SENT, UNICAST};
use shallow::Shallow;
use version::Reassemble;
use walk::{Gatherer, Task};

pub use config::{Config, Settings};

/// Maximum number of packets that a node may hold on each thread.
pub const MOST: u32 = 65_536;

/// Reassembly.
pub const FEATURE: Feature = Feature {
    name: "reassembly",
    about: "Reassembly",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Type of reassembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole packet is made.
    Full,
    /// Fragments follow the first one.
    Shallow,
}

/// Fragments wait for others: they are to be given up in time.
#[derive(Clone, Copy, Debug)]
pub struct Incomplete {
    /// 0 for IPv4, 1 for IPv6.
    pub family: usize,
    /// Kind of reassembly.
    pub kind: Kind,
}

impl Event for Incomplete {}

/// The state of control.
struct Reassembly {
    settings: Shared<Settings>,
    nodes: Vec<Gatherer>,
}

/// The versions whose fragments an interface puts together, or holds back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OnInterface {
    full: [bool; 2],
    shallow: [bool; 2],
}

impl OnInterface {
    fn of_mut(&mut self, kind: Kind) -> &mut [bool; 2] {
        match kind {
            Kind::Full => &mut self.full,
            Kind::Shallow => &mut self.shallow,
        }
    }
}

/// Fragments and packets that nodes hold.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The packets, a line each.
    pub contexts: Vec<String>,
    /// Fragments.
    pub fragments: usize,
}

/// Reasons why reassembly cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// at most {MOST} reassemblies
    #[retval(INVALID_VALUE)]
    TooMany,
}

impl Router {
    /// The limits of a kind; `family` is 0 for IPv4, 1 for IPv6.
    pub fn reassembly(&self, family: usize, kind: Kind) -> Config {
        self.reassembly_settings().of(family, kind)
    }
    /// Sets the limits of a kind; `family` is 0 for IPv4, 1 for IPv6. What is held stays, unless it
    /// is too old now: that is given up at once.
    ///
    /// # Errors
    /// More packets than [`MOST`].
    pub fn set_reassembly(
        &mut self,
        family: usize,
        kind: Kind,
        config: Config,
    ) -> Result<(), Error> {
        if config.most > MOST {
            return Err(Error::TooMany);
        }
        self.visit_reassembly(family, kind, Task::Grow(config.most as usize));
        self.change(|settings| *settings.of_mut(family, kind) = config);
        self.visit_reassembly(family, kind, Task::Walk { timeout: config.timeout });
        // A thread that does not answer gives up what is too old later.
        let _ = self.engine.fence();
        walk::start(self, Incomplete { family, kind });
        Ok(())
    }
    /// Whether fragments for this router are put together, of IPv4 and IPv6.
    pub fn local_reassembly(&self) -> [bool; 2] {
        self.reassembly_settings().local
    }
    /// Sets whether fragments for this router are put together, of IPv4 and IPv6.
    pub fn set_local_reassembly(&mut self, on: [bool; 2]) {
        self.change(|settings| settings.local = on);
    }
    /// Whether shallow reassembly is extended, of IPv4 and IPv6.
    pub fn extended_reassembly(&self) -> [bool; 2] {
        self.reassembly_settings().extended
    }
    /// Sets whether shallow reassembly is extended, of IPv4 and IPv6: fragments wait until the last
    /// of their packet has come too.
    pub fn set_extended_reassembly(&mut self, on: [bool; 2]) {
        self.change(|settings| settings.extended = on);
    }
    /// Sets which families' fragments an interface puts together, or holds back.
    ///
    /// # Errors
    /// A missing interface.
    pub fn enable_reassembly(
        &mut self,
        interface: InterfaceIndex,
        kind: Kind,
        on: [bool; 2],
    ) -> Result<(), Error> {
        let mut setting = self.setting::<OnInterface>(interface);
        *setting.of_mut(kind) = on;
        self.put(interface, setting).map_err(|NoInterface| Error::NoInterface)
    }
    /// Notes that one feature more needs the ports of all fragments that an interface receives, of
    /// a family (0 for IPv4, 1 for IPv6), or that it no longer does. Shallow reassembly is on while
    /// any of them needs it, whatever [`Router::enable_reassembly`] says.
    ///
    /// # Errors
    /// A missing interface.
    ///
    /// # Panics
    /// When more no longer need it than did.
    pub fn need_fragment_ports(
        &mut self,
        interface: InterfaceIndex,
        family: usize,
        is_needed: bool,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        for place in [UNICAST, GROUP].map(|place| &PLACES[place]) {
            let Some(arcs) = place.arcs else { continue };
            let (arc, node) = (arcs[family], place.nodes[family]);
            let done = match is_needed {
                true => self.engine.require_feature(arc, node, interface.0),
                false => self.engine.release_feature(arc, node, interface.0),
            };
            done.expect("the node is on the arc since the feature registered");
        }
        Ok(())
    }
    /// The nodes of a family and a kind.
    fn gatherers(&self, family: usize, kind: Kind) -> Vec<Gatherer> {
        let state = self.own::<Reassembly>();
        let is_meant = |n: &&Gatherer| n.family == family && n.place.kind == kind;
        state.nodes.iter().filter(is_meant).copied().collect()
    }
    fn visit_reassembly(&mut self, family: usize, kind: Kind, task: Task) {
        self.gatherers(family, kind).iter().for_each(|node| node.visit(self, task));
    }
    /// Usage of the nodes of a family and a kind, on all threads.
    fn reassembly_usage(&mut self, family: usize, kind: Kind) -> Usage {
        let mut sum = Usage::default();
        for node in self.gatherers(family, kind) {
            let found = node.usage(self);
            sum.contexts.extend(found.contexts);
            sum.fragments += found.fragments;
        }
        sum
    }
    fn reassembly_settings(&self) -> &Settings {
        self.own::<Reassembly>().settings.current()
    }
    fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        let state = self.own_mut::<Reassembly>();
        let mut settings = state.settings.current().clone();
        change(&mut settings);
        state.settings.publish(settings);
    }
}

/// A node holds fragments, as its event says.
fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    for node in router.state::<Reassembly>().map_or_else(Vec::new, |r| r.nodes.clone()) {
        node.visit(router, Task::Forget(interface.0));
    }
}

fn add<V: Reassemble>(
    router: &mut Router,
    settings: &Shared<Settings>,
) -> Result<[Gatherer; 7], BuildError> {
    Ok([
        Gatherer::add::<V, Full, RECEIVED>(router, settings)?,
        Gatherer::add::<V, Full, LOCAL>(router, settings)?,
        Gatherer::add::<V, Shallow, UNICAST>(router, settings)?,
        Gatherer::add::<V, Shallow, GROUP>(router, settings)?,
        Gatherer::add::<V, Shallow, SENT>(router, settings)?,
        Gatherer::add::<V, Full, CUSTOM>(router, settings)?,
        Gatherer::add::<V, Full, AGAIN>(router, settings)?,
    ])
}

/// Shows a place the packets of the interfaces where it is enabled.
fn attach(router: &mut Router, place: &Place, is_on: [fn(&OnInterface) -> bool; 2]) {
    let at = place.arcs.into_iter().flatten().zip(place.nodes).zip(is_on);
    for ((arc, node), is_on) in at {
        router.attach_at::<OnInterface, 1>([AttachedAt { arc, node, is_on }]);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let settings = Shared::new(Settings::default());
    let ip4 = add::<V4>(router, &settings).map_err(refuse)?;
    let ip6 = add::<V6>(router, &settings).map_err(refuse)?;
    for node in place::COUNTED4 {
        router.engine.add_counters::<<V4 as Version>::Error>(node).map_err(refuse)?;
    }
    for node in place::COUNTED6 {
        router.engine.add_counters::<<V6 as Version>::Error>(node).map_err(refuse)?;
    }
    router.insert(Reassembly { settings, nodes: [ip4, ip6].concat() });
    router.attach::<OnInterface>().map_err(refuse)?;
    attach(router, &PLACES[RECEIVED], [|on| on.full[0], |on| on.full[1]]);
    for place in [UNICAST, GROUP] {
        attach(router, &PLACES[place], [|on| on.shallow[0], |on| on.shallow[1]]);
    }
    router.interfaces.observe(interface_changed);
    router.events.handle(walk::start);
    walk::spawn(router);
    health::register(router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
