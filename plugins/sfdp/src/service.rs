//! Services: nodes that the packets of a session pass, in the order of their bits.
//!
//! A node that sends packets to services has an edge to each. Services that end a chain have the
//! upper half of the bits: packets leave by the first of them.

use net::prelude::*;

use super::Sfdp;
use super::packet::Passing;

/// Services at most.
pub const MOST: usize = 64;
/// The first bit of services that end a chain.
const TERMINAL: u8 = 32;

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Node.
    pub node: &'static str,
    /// Bit.
    pub bit: u8,
}

impl Service {
    /// Whether a chain ends with it.
    pub fn is_terminal(self) -> bool {
        self.bit >= TERMINAL
    }
    /// Whether its node knows nothing of sessions.
    fn is_foreign(self) -> bool {
        matches!(self.node, "ip4-lookup" | "ip6-lookup")
    }
}

/// The service that drops, which is that of tenants without any.
pub const DROP: &str = "sfdp-drop";
/// Services of packets that are dropped.
pub const DROPPED: u64 = 1 << TERMINAL;

/// Names of services that are built in, with their bits.
pub const BUILT_IN: [Service; 8] = {
    const fn at(node: &'static str, bit: u8) -> Service {
        Service { node, bit }
    }
    [
        at("sfdp-nat-early-rewrite", 0),
        at("sfdp-l4-lifecycle", 4),
        at("sfdp-tcp-check", 8),
        at("sfdp-nat-late-rewrite", 28),
        at(DROP, TERMINAL),
        at("sfdp-nat-output", TERMINAL + 4),
        at("ip4-lookup", TERMINAL + 30),
        at("ip6-lookup", TERMINAL + 31),
    ]
};

/// The services that packets of a session visit: as in the original, TCP's are checked where others
/// have their lifecycle.
pub fn of_session(bits: u64, protocol: Protocol) -> u64 {
    let [lifecycle, check] = [1 << BUILT_IN[1].bit, 1 << BUILT_IN[2].bit];
    match protocol == Protocol::TCP && bits & lifecycle != 0 {
        true => bits & !lifecycle | check,
        false => bits,
    }
}

/// Bits of services of other plugins.
const OPEN: std::ops::Range<u8> = 12..28;

/// Edges to services.
#[derive(Clone, Debug, Default)]
pub struct ServiceEdges {
    /// By the number of the node that sends: edges by bit.
    from: Vec<[u32; MOST]>,
    /// Services whose nodes know nothing of sessions.
    foreign: u64,
    /// Services that end a chain and let packets pass.
    leaving: u64,
    /// The bit of the service that drops.
    drop: u8,
}

/// A packet's next service.
#[derive(Clone, Copy, Debug)]
pub struct NextService {
    /// The edge.
    pub slot: Slot,
    /// Whether the node knows nothing of sessions.
    pub is_foreign: bool,
    /// Whether the packet has passed all other services.
    pub leaves: bool,
}

impl ServiceEdges {
    /// The next service of a packet, which has then still to pass those behind it.
    #[inline(always)]
    pub fn next(&self, from: usize, passing: &mut Passing) -> NextService {
        let bit = match passing.services {
            0 => self.drop,
            services => services.trailing_zeros() as u8,
        };
        passing.services &= passing.services.wrapping_sub(1);
        let slot = self.from.get(from).map_or(0, |slots| slots[usize::from(bit) % MOST]);
        let is = |mask: u64| mask >> bit & 1 != 0;
        NextService { slot: Slot(slot), is_foreign: is(self.foreign), leaves: is(self.leaving) }
    }
}

/// Numbers of nodes that send packets to services.
pub const SENDERS: [&str; 8] = [
    "sfdp-lookup-ip4",
    "sfdp-lookup-ip6",
    "sfdp-lookup-ip4-icmp",
    "sfdp-lookup-ip6-icmp",
    "sfdp-l4-lifecycle",
    "sfdp-tcp-check",
    "sfdp-nat-early-rewrite",
    "sfdp-nat-late-rewrite",
];

/// The number of a node that sends packets to services.
pub const fn sender(name: &str) -> usize {
    let mut at = 0;
    while at < SENDERS.len() {
        let (a, b) = (SENDERS[at].as_bytes(), name.as_bytes());
        let mut same = a.len() == b.len();
        let mut i = 0;
        while same && i < a.len() {
            same = a[i] == b[i];
            i += 1;
        }
        if same {
            return at;
        }
        at += 1;
    }
    panic!("a node that sends to services is in their list");
}

/// The services and the nodes that send packets to them, as plugins registered them.
#[derive(Default)]
pub struct Registry {
    services: control::feature::Registered<Service>,
    senders: control::feature::Registered<(usize, &'static str)>,
}

impl Registry {
    /// All services, in the order that packets pass them.
    pub fn services(&self) -> Vec<Service> {
        let mut all: Vec<_> = self.services.iter().copied().collect();
        all.order_by_key(|service| service.bit);
        all
    }
    /// A service by the name of its node.
    pub fn named(&self, node: &str) -> Option<Service> {
        self.services.iter().find(|service| service.node == node).copied()
    }
    /// Names of services by their bits.
    pub fn names(&self, bits: u64) -> Vec<&'static str> {
        let all = self.services().into_iter();
        all.filter(|service| bits >> service.bit & 1 != 0).map(|service| service.node).collect()
    }
}

/// Adds the services that are built in, and the nodes that send to them.
pub(super) fn add_built_in(router: &mut Router) -> Result<(), BuildError> {
    let registry = &mut router.own_mut::<Sfdp>().registry;
    BUILT_IN.into_iter().for_each(|service| registry.services.push(service));
    SENDERS.into_iter().enumerate().for_each(|sender| registry.senders.push(sender));
    connect(router)
}

/// Adds a service of another plugin, whose node is in the graph; it does not end chains.
///
/// # Errors
/// No free bit, or a missing node.
pub fn add(router: &mut Router, node: &'static str) -> Result<(), BuildError> {
    let registry = &mut router.own_mut::<Sfdp>().registry;
    let is_free = |bit: &u8| registry.services.iter().all(|service| service.bit != *bit);
    let bit = OPEN.clone().find(is_free);
    let bit = bit.ok_or_else(|| BuildError::UnknownNode(format!("{node}: no bit left")))?;
    registry.services.push(Service { node, bit });
    connect(router)
}

/// The number that the next node gets which sends packets to services.
pub fn next_sender(router: &Router) -> usize {
    let registry = &router.own::<Sfdp>().registry;
    let is_free = |at: &usize| registry.senders.iter().all(|(used, _)| used != at);
    (SENDERS.len()..).find(is_free).unwrap_or(SENDERS.len())
}

/// Adds a node of another plugin that sends packets to services, under the next number.
///
/// # Errors
/// A missing node.
pub fn add_sender(router: &mut Router, node: &'static str) -> Result<(), BuildError> {
    let at = next_sender(router);
    router.own_mut::<Sfdp>().registry.senders.push((at, node));
    connect(router)
}

/// Connects all that send to all services.
fn connect(router: &mut Router) -> Result<(), BuildError> {
    let registry = &router.own::<Sfdp>().registry;
    let (services, senders) = (registry.services(), registry.senders.clone());
    let mut edges = ServiceEdges::default();
    for service in &services {
        let bit = 1 << service.bit;
        edges.foreign |= if service.is_foreign() { bit } else { 0 };
        let leaves = service.is_terminal() && service.node != DROP;
        edges.leaving |= if leaves { bit } else { 0 };
        if service.node == DROP {
            edges.drop = service.bit;
        }
    }
    for (at, node) in senders.iter().copied() {
        // What is no service any more drops.
        let mut slots = [router.engine.connect(node, DROP)?.0; MOST];
        for service in services.iter().filter(|service| service.node != node) {
            slots[usize::from(service.bit)] = router.engine.connect(node, service.node)?.0;
        }
        if edges.from.len() <= at {
            edges.from.resize(at + 1, [0; MOST]);
        }
        edges.from[at] = slots;
    }
    router.own_mut::<Sfdp>().edges.publish(edges);
    Ok(())
}
