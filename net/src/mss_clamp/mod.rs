//! TCP MSS clamping: what hosts tell each other of their maximum segment size (RFC 9293 section
//! 3.7.1) is lowered where a way through is known to carry less.

mod api;
mod cli;
mod node;
#[cfg(test)]
mod tests;

use std::fmt;

use control::feature::Refused;
use graph::arc::FeatureArc;
use infra::rcu::Shared;

use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6};
use crate::ip4::{IP4_OUTPUT, IP4_UNICAST};
use crate::ip6::{IP6_OUTPUT, IP6_UNICAST};
use crate::router::{Feature, Parts, Router, refuse};

pub use node::{Clamp, Clamped};

/// MSS clamping.
pub const FEATURE: Feature =
    Feature { name: "mss_clamp", about: "TCP MSS clamping", default_enabled: true, register };

/// What one version's packets meet on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamping {
    /// Bytes of a segment at most.
    pub mss: u16,
    /// Those that come in.
    pub rx: bool,
    /// Those that go out.
    pub tx: bool,
}

impl Clamping {
    fn is_on(&self) -> bool {
        self.rx || self.tx
    }
}

/// By interface, of IPv4 and IPv6.
pub type Table = Vec<[Clamping; 2]>;

/// What control keeps.
struct MssClamps(Shared<Table>);

/// Arc and node by version and direction.
const PLACES: [[(&FeatureArc, &str); 2]; 2] = [
    [(&IP4_UNICAST, V4::NAMES[0]), (&IP4_OUTPUT, V4::NAMES[1])],
    [(&IP6_UNICAST, V6::NAMES[0]), (&IP6_OUTPUT, V6::NAMES[1])],
];

/// Why it cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The interface is not there.
    NoInterface,
    /// It is to be on, but nothing can be that small.
    Zero,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoInterface => "no such interface",
            Self::Zero => "the maximum segment size must not be 0",
        })
    }
}
impl std::error::Error for Error {}

impl Router {
    /// What is set on interfaces where something is, of IPv4 and IPv6.
    pub fn mss_clamps(&self) -> impl Iterator<Item = (InterfaceIndex, [Clamping; 2])> {
        let all = self.state::<MssClamps>().into_iter().flat_map(|c| c.0.current().iter());
        let numbered = all.enumerate().map(|(i, both)| (InterfaceIndex(i as u32), *both));
        numbered.filter(|(_, both)| both.iter().any(Clamping::is_on))
    }
    /// Sets what TCP hosts are told, of IPv4 and IPv6.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_mss_clamp(
        &mut self,
        interface: InterfaceIndex,
        both: [Clamping; 2],
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        if both.iter().any(|c| c.is_on() && c.mss == 0) {
            return Err(Error::Zero);
        }
        let clamps = self.state_mut::<MssClamps>().expect("the feature puts it in");
        let (mut table, at) = (clamps.0.current().clone(), interface.0 as usize);
        table.resize(table.len().max(at + 1), Default::default());
        table[at] = both;
        clamps.0.publish(table);
        for (places, clamping) in PLACES.iter().zip(both) {
            for ((arc, node), on) in places.iter().zip([clamping.rx, clamping.tx]) {
                let done = self.engine.set_feature(arc, node, interface.0, on);
                done.expect("the node is on the arc since the feature registered");
            }
        }
        Ok(())
    }
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        let done = router.set_mss_clamp(interface, Default::default());
        done.expect("an interface that is being deleted is still there");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let table = Shared::new(Table::new());
    node::add::<V4>(router, [&IP4_UNICAST, &IP4_OUTPUT], &table).map_err(refuse)?;
    node::add::<V6>(router, [&IP6_UNICAST, &IP6_OUTPUT], &table).map_err(refuse)?;
    router.insert(MssClamps(table));
    router.interfaces.observe(interface_changed);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
