//! Tunnels as control sees them: headers in front of packets to a next hop, and how packets go on
//! after these. [Mid-chain adjacencies](crate::adjacency::chain) are stacked on that.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use super::lead_output;
use crate::adjacency::chain::{Fixup, Hop, MAX_HEADER, Stacked, TRANSMIT};
use crate::adjacency::{Adjacencies, AdjacencyIndex, Link, Role};
use crate::fib::{Gateway, Path, TableIndex, Target, Through};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// The headers of a tunnel for packets to one next hop.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The headers, outermost first, with everything in them that is the same for all packets.
    /// At most [`MAX_HEADER`] bytes.
    pub header: Box<[u8]>,
    /// The fixup of each packet.
    pub fixup: Fixup,
    /// Whether what is to be done for a packet can wait until the headers are in front: whether
    /// they differ from segment to segment in nothing but lengths, identification and checksums of
    /// an outer IP and UDP header.
    pub carries_offloads: bool,
    /// Next hop of the encapsulated packet.
    pub to: Underlay,
}

/// The underlay of a tunnel: the next hop of its outer headers.
#[derive(Clone, Debug)]
pub enum Underlay {
    /// As the route to the far end leads, in this table; the outer header is of the address's
    /// family.
    Route(TableIndex, IpAddr),
    /// Over paths of the tunnel's own, as packets of this kind.
    Paths(Link, Box<[Path]>),
}

impl From<(TableIndex, IpAddr)> for Underlay {
    fn from((table, addr): (TableIndex, IpAddr)) -> Self {
        Self::Route(table, addr)
    }
}

/// A kind of tunnel, as its adjacencies need it.
pub trait Encapsulation {
    /// Headers in front of packets of a family to a next hop, which is unspecified for routes that
    /// name none; `None` while the far end is not known: packets are dropped then.
    fn chain(&self, link: Link, next_hop: IpAddr) -> Option<Chain>;
}

impl Router {
    /// Makes an interface a tunnel, before routes lead over it; or requests its headers again,
    /// because they changed.
    pub fn encapsulate(&mut self, interface: InterfaceIndex, tunnel: Rc<dyn Encapsulation>) {
        let by = Rc::new(move |router: &mut Self, index| stack(router, index, &*tunnel));
        if self.adjacencies.add_encapsulation(interface, by) {
            lead_output(self, interface, TRANSMIT);
        }
        self.encapsulate_anew(interface, None);
    }
    /// Passes packets over an adjacency of a tunnel through a node between the tunnel's headers and
    /// the route to the remote address, which sends them on to `adj-midchain-tx`; `None` for no
    /// such node. Those that features of the interface have seen are led by
    /// [`Router::lead_tunnel`].
    pub fn lead_adjacency(&mut self, index: AdjacencyIndex, node: Option<&str>) {
        let Some(a) = self.adjacencies.at(index).filter(|a| a.role == Role::Midchain) else {
            return;
        };
        let midchain = a.link.midchain_node();
        let Ok(slot) = self.engine.connect(midchain, node.unwrap_or(TRANSMIT)) else { return };
        self.adjacencies.lead(index, slot, node.is_some());
    }
    /// As [`Router::lead_adjacency`], for packets after the features of a tunnel's interface.
    pub fn lead_tunnel(&mut self, interface: InterfaceIndex, node: Option<&str>) {
        lead_output(self, interface, node.unwrap_or(TRANSMIT));
    }
    /// Requests the headers of a tunnel again: for packets to a next hop, or all.
    pub fn encapsulate_anew(&mut self, interface: InterfaceIndex, next_hop: Option<IpAddr>) {
        Adjacencies::stack(self, interface, next_hop);
        self.resolve_interface(interface);
    }
}

/// Asks a tunnel for what an adjacency puts in front, and stacks it on the route to the far end.
fn stack(router: &mut Router, index: AdjacencyIndex, tunnel: &dyn Encapsulation) {
    let Some(a) = router.adjacencies.at(index) else { return };
    let chain = tunnel.chain(a.link, a.next_hop);
    let chain = chain.filter(|c| c.header.len() <= MAX_HEADER);
    let new = chain.and_then(|chain| {
        let Chain { header, fixup, carries_offloads, to } = chain;
        let (link, table, paths) = match to {
            Underlay::Route(table, addr) => {
                let (to, through) = (Gateway::of(table, addr), Through::Any);
                (to.link, table, [Path::to(Target::Recursive { to, through })].into())
            }
            Underlay::Paths(link, paths) => (link, TableIndex::DEFAULT, paths),
        };
        let rewrite = router.engine.connect(TRANSMIT, link.rewrite_node()).ok()?;
        let balance = router.engine.connect(TRANSMIT, link.load_balance_node()).ok()?;
        let (list, stacked) = router.stack_list(index, &paths)?;
        let fib = table.0;
        let hop = Hop { header, fixup, carries_offloads, stacked, fib, rewrite, balance };
        Some((Arc::new(hop), Stacked { list, release }))
    });
    let now = new.as_ref().map(|(_, stacked)| stacked.list);
    if let Some(old) = router.adjacencies.set_hop(index, new) {
        router.unstack_list(index, old.list, now);
    }
    router.refresh_mtu(index);
}

fn release(router: &mut Router, index: AdjacencyIndex, list: u32) {
    router.unstack_list(index, list, None);
}
