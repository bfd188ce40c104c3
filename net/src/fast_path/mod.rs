//! The fast path: IP packets that need nothing but a route pass `ethernet-input`, the input, lookup
//! and rewrite of their version and the output of an interface in one go, and wait for its driver.
//!
//! It begins in the hands of `ethernet-input` and follows the edges of the graph as it is. A packet
//! takes it when no feature, trace or watcher is on its path, its header is plain, and one known
//! neighbour is where its route leads; another is left as it came, unchanged and uncounted, and
//! goes node by node. What nodes count is counted as if each had been called.
//!
//! Where features await it, it passes the nodes in front of the first of these in one go, and those
//! after the last one in the hands of that, if it offers so ([`Routed`]).
//!
//! The end of it, [`Outputs`], is that of other fast paths too, such as the one of bridged frames.

mod block;
mod entry;
mod few;
mod objects;
mod outputs;
mod routed;
mod through;
mod tunnels;
mod underlay;

use control::feature::Refused;
use graph::{Cpu, Edge, Node, Passes, Slot};
use infra::rcu::Epoch;
use wire::ethernet::{EtherType, Header};

use crate::ethernet::FastPath;
use crate::ip::{V4, V6};
use crate::ip4::{Input as Input4, VerifyChecksum};
use crate::ip6::Input as Input6;
use crate::router::{Configuration, Feature, Origin, Parts, Router};

pub use outputs::{Egress, Exit, Outputs, Pause};
pub use routed::{Routable, Routed, Shares};
use through::Through;
pub use underlay::{Lane, Neighbors, Underlay};

/// Ethernet input, with the fast path.
pub const FEATURE: Feature = Feature {
    name: "ethernet",
    about: "Ethernet input",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "arp", "ip4", "ip6"],
    register,
    configuration: Configuration::None("interface settings are saved with the interfaces"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let paths = FastPaths::new(parts.router);
    crate::ethernet::add(parts.router, paths)
}

/// The edge of a node to another one; static edges are numbered in order.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn edge(edges: &[Edge], to: &str) -> Slot {
    let at = edges.iter().position(|edge| edge.to == to);
    Slot(at.expect("nodes of the path have these edges") as u32)
}

/// Ethernet input as it is here.
pub type EthernetInput = crate::ethernet::EthernetInput<FastPaths>;

/// The fast paths of both versions.
#[derive(Clone)]
pub struct FastPaths {
    ip4: Through<V4>,
    ip6: Through<V6>,
}

impl FastPaths {
    fn new(router: &mut Router) -> Self {
        let ip4 = Through::new::<Input4<VerifyChecksum>>(router, EtherType::IP4);
        let ip6 = Through::new::<Input6>(router, EtherType::IP6);
        Self { ip4, ip6 }
    }
}

impl FastPath for FastPaths {
    #[inline(always)]
    fn take<N: Node, On: Cpu>(
        &mut self,
        packets: &mut Passes<'_, N>,
        on: (On, Epoch<'_>, usize),
    ) -> bool {
        if packets.are_watched() {
            return false;
        }
        // What the first packet is says which version most of them are of.
        let (mut first, mut rx) = (EtherType::LENGTH, u32::MAX);
        packets.look(0..packets.all().end.min(1), |_, p| {
            let header = p.header::<Header>();
            (first, rx) = (header.map_or(first, |header| header.ethertype), p.rx());
        });
        let at = (rx, on.1, on.2);
        match first {
            EtherType::IP4 if self.ip4.is_paused() => false,
            EtherType::IP4 if self.ip4.take_to_features(packets, at) => true,
            EtherType::IP4 => self.ip4.take(packets, on),
            EtherType::IP6 if self.ip6.is_paused() => false,
            EtherType::IP6 if self.ip6.take_to_features(packets, at) => true,
            EtherType::IP6 => self.ip6.take(packets, on),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
