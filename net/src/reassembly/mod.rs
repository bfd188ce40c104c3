//! Reassembly: fragments put together again (RFC 791 section 3.2, RFC 8200 section 4.5), or held
//! back until the first one has passed, which is called shallow virtual reassembly.
//!
//! Each node holds on each thread what it needs, within limits; processes give up what stays
//! incomplete. Interfaces have it when asked to; fragments for this router are put together unless
//! that is switched off.

mod api;
mod cli;
mod config;
mod full;
mod partial;
mod pieces;
mod shallow;
mod table;
#[cfg(test)]
mod tests;
mod v4;
mod v6;
mod version;
mod walk;

use std::fmt;

use control::feature::Refused;
use graph::NodeIndex;
use graph::arc::FeatureArc;
use infra::rcu::Shared;

use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6};
use crate::ip4::IP4_UNICAST;
use crate::ip6::IP6_UNICAST;
use crate::router::{Feature, Parts, Router, refuse};

pub use config::{Config, Settings};
pub use full::Full;
pub use shallow::Shallow;
pub use v4::Key4;
pub use v6::Key6;
pub use version::{Fragment, Names, Reassemble};

/// Packets at the same time that a node may be told to hold on each thread.
pub const MOST: u32 = 65_536;

/// Reassembly.
pub const FEATURE: Feature =
    Feature { name: "reassembly", about: "Reassembly", default_enabled: true, register };

/// A kind of reassembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole packet is made.
    Full,
    /// Fragments follow the first one.
    Shallow,
}

/// What control keeps.
struct Reassembly {
    settings: Shared<Settings>,
    /// Of IPv4 and IPv6.
    nodes: [Nodes; 2],
}

#[derive(Clone, Copy)]
struct Nodes {
    full: NodeIndex,
    local: NodeIndex,
    shallow: NodeIndex,
}

/// What nodes hold.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The packets, a line each.
    pub contexts: Vec<String>,
    /// Fragments.
    pub fragments: usize,
}

/// Why reassembly cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The interface is not there.
    NoInterface,
    /// More packets than [`MOST`].
    TooMany,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::TooMany => write!(f, "no more than {MOST} reassemblies"),
        }
    }
}
impl std::error::Error for Error {}

impl Router {
    /// The limits of a kind; `family` is 0 for IPv4, 1 for IPv6.
    pub fn reassembly(&self, family: usize, kind: Kind) -> Config {
        let settings = self.reassembly_settings();
        match kind {
            Kind::Full => settings.full[family],
            Kind::Shallow => settings.shallow[family],
        }
    }
    /// Sets the limits of a kind; `family` is 0 for IPv4, 1 for IPv6. What is held stays, unless it
    /// is too old now.
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
        walk::visit(self, family, kind, &walk::Grow(config.most as usize));
        self.change(|settings| match kind {
            Kind::Full => settings.full[family] = config,
            Kind::Shallow => settings.shallow[family] = config,
        });
        walk::start(self, family, kind);
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
    /// Sets which families' fragments an interface puts together, or holds back.
    ///
    /// # Errors
    /// An interface that is not there.
    pub fn enable_reassembly(
        &mut self,
        interface: InterfaceIndex,
        kind: Kind,
        on: [bool; 2],
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        for ((arc, feature), on) in features(kind).into_iter().zip(on) {
            let done = self.engine.set_feature(arc, feature, interface.0, on);
            done.expect("the node is on the arc since the feature registered");
        }
        Ok(())
    }
    fn reassembly_settings(&self) -> &Settings {
        self.state::<Reassembly>().expect("the feature puts it in").settings.current()
    }
    fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        let state = self.state_mut::<Reassembly>().expect("the feature puts it in");
        let mut settings = state.settings.current().clone();
        change(&mut settings);
        state.settings.publish(settings);
    }
}

/// The features of a kind, of IPv4 and IPv6.
fn features(kind: Kind) -> [(&'static FeatureArc, &'static str); 2] {
    let name = |names: Names| match kind {
        Kind::Full => names.full,
        Kind::Shallow => names.shallow,
    };
    [(&IP4_UNICAST, name(V4::REASSEMBLY)), (&IP6_UNICAST, name(V6::REASSEMBLY))]
}

/// A node holds fragments, as its event says.
pub fn fragments_wait(router: &mut Router, family: u8, kind: u8) {
    let kind = if kind == Kind::Full as u8 { Kind::Full } else { Kind::Shallow };
    walk::start(router, family.into(), kind);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        for kind in [Kind::Full, Kind::Shallow] {
            let done = router.enable_reassembly(interface, kind, [false; 2]);
            done.expect("an interface that is being deleted is still there");
        }
    }
}

fn add<V: Reassemble>(
    router: &mut Router,
    arc: &'static FeatureArc,
    settings: &Shared<Settings>,
) -> Result<Nodes, Refused> {
    let events = router.events.sender();
    let engine = &mut router.engine;
    let full = Full::<V, false>::new(settings.reader(), events.clone());
    let local = Full::<V, true>::new(settings.reader(), events.clone());
    let shallow = Shallow::<V>::new(settings.reader(), events);
    Ok(Nodes {
        full: engine.add_feature(arc, full).map_err(refuse)?,
        local: engine.add(local).map_err(refuse)?,
        shallow: engine.add_feature(arc, shallow).map_err(refuse)?,
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let settings = Shared::new(Settings::default());
    let nodes =
        [add::<V4>(router, &IP4_UNICAST, &settings)?, add::<V6>(router, &IP6_UNICAST, &settings)?];
    router.insert(Reassembly { settings, nodes });
    router.interfaces.observe(interface_changed);
    walk::spawn(router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
