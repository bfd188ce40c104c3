//! Bridge domains and their ports, as control knows them and as nodes read them.

use infra::table::exact::{Exact, ExactReader};
use infra::table::tally::Tally;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::interface::{EdgesReader, Flooding, MAX_INTERFACES, Mode};
use net::prelude::*;

use super::arcs::{self, BLOCKING, input};
use super::arp_term::Heard;
use super::macs::Gone;
use super::rewrite::Edit;
use super::scan;

/// Bridge domains there may be at one time; their numbers go up to [`MAX_ID`].
pub const MOST_DOMAINS: usize = 1 << 16;
/// Largest number of a domain.
pub const MAX_ID: u32 = 0x00ff_ffff;
/// Default learn limit, in all and per domain.
pub const DEFAULT_LIMIT: u32 = 1 << 24;
/// Room for addresses at first.
const FIRST_ROOM: usize = 1 << 14;

/// Addresses of IP and their owners.
pub type Owners = BTreeMap<IpAddr, MacAddr>;

/// The role of a port in its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A member like others.
    #[default]
    Normal,
    /// The bridge's virtual interface: the router's own port.
    Bvi,
    /// Gets what is for unknown addresses, and nothing else.
    Unknown,
}

/// The mode of an interface at layer 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into a domain, by number, as part of a split horizon group; 0 for none.
    Bridge(u32, Role, u8),
    /// To another interface.
    CrossConnect(InterfaceIndex),
    /// To so many features that have all its frames ([`super::domain::lend`]).
    Lent(u32),
}

/// An interface in layer 2, as control knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Place of its frames: a domain or a cross-connect.
    pub place: Place,
    /// Features of its own, of [`input::OWN`].
    pub input: u32,
    /// Bits that clients set for what is sent and that are no features.
    pub output: u32,
}

/// A bridge domain, as control knows it.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its place, a small number.
    pub index: u16,
    /// Features that its ports may have, of [`input::OWN`].
    pub bits: u32,
    /// Whether its frames may be rewritten.
    pub rewrites: bool,
    /// MAC age in minutes; 0 for no ageing.
    pub mac_age: u8,
    /// Its identifier, as operators give it.
    pub tag: String,
    /// Maximum learned addresses.
    pub limit: u32,
    /// Its virtual interface.
    pub bvi: Option<InterfaceIndex>,
    /// Unknown-unicast interface.
    pub unknown: Option<InterfaceIndex>,
    /// Its other ports, in the order they came, and their split horizon groups.
    pub members: Vec<(InterfaceIndex, u8)>,
    /// Owners of addresses.
    pub owners: Arc<Owners>,
}

/// A port, as nodes read it.
#[derive(Clone, Debug, Default)]
pub struct PortSeen {
    /// Place of its domain; 0 while it is cross-connected.
    pub domain: u16,
    /// Sequence numbers of domain and interface.
    pub sequence: u16,
    /// Split horizon group.
    pub group: u8,
    /// The router's own.
    pub is_bvi: bool,
    /// Interface that its frames go to while it is cross-connected.
    pub peer: u32,
    /// Features that frames for one address meet, and others, of those that are on.
    pub masks: [u64; 2],
    /// The same for ARP requests and neighbour solicitations, when they differ.
    pub asking: Option<[u64; 2]>,
    /// Features that a usual frame may meet: `l2-learn`, `l2-fwd`, `l2-output`.
    pub usual: [u64; 3],
    /// Edits of received frames.
    pub input: Vec<Edit>,
    /// Edits of frames to be sent.
    pub output: Vec<Edit>,
    /// Its frames are sent unchanged.
    pub is_plain: bool,
    /// Nothing is sent.
    pub is_blocked: bool,
    /// Only frames that it would accept itself are sent.
    pub is_filtered: bool,
}

/// A domain, as nodes read it.
#[derive(Clone, Debug, Default)]
pub struct DomainSeen {
    /// Members that get a copy of what is flooded, and their groups; the router's own port is the
    /// last.
    pub members: Vec<(u32, u8)>,
    /// Bridge virtual interface.
    pub bvi: Option<u32>,
    /// Unknown-unicast interface.
    pub unknown: Option<u32>,
    /// Addresses learned at most, in all and in the domain.
    pub limits: [u64; 2],
    /// Owners of addresses.
    pub owners: Arc<Owners>,
}

/// All of layer 2.
pub struct Bridging {
    /// Domains by number.
    pub domains: BTreeMap<u32, Domain>,
    /// Ports by interface.
    pub ports: BTreeMap<InterfaceIndex, Port>,
    /// Interfaces that send all that another one receives, by this.
    pub patches: BTreeMap<InterfaceIndex, InterfaceIndex>,
    /// Addresses.
    pub fib: Exact,
    /// Addresses learned: all of them at 0, those of each domain at its place.
    pub learned: Tally,
    /// Maximum learned addresses.
    pub limit: u32,
    /// Addresses that a new domain learns at most.
    pub default_limit: u32,
    /// Looking through the addresses.
    pub scan: scan::Scan,
    /// Numbers of domains by place.
    pub by_index: HashMap<u16, u32>,
    domain_sequences: HashMap<u16, u8>,
    port_sequences: HashMap<InterfaceIndex, u8>,
    seen_ports: SharedSlab<PortSeen>,
    seen_domains: SharedSlab<DomainSeen>,
    /// Edges of `l2-output` to the output of each interface, once the node is there.
    pub(crate) output_edges: Shared<Option<EdgesReader>>,
    /// The last host that was reported to clients, and when, by ARP and by neighbor discovery.
    pub(crate) heard: [Option<(Heard, f64)>; 2],
}

/// The tables, as nodes read them.
#[derive(Clone)]
pub struct Tables {
    /// Ports by interface.
    pub ports: SlabReader<PortSeen>,
    /// Domains by place.
    pub domains: SlabReader<DomainSeen>,
    /// Addresses.
    pub fib: ExactReader,
    /// Addresses learned.
    pub learned: Tally,
}

impl Bridging {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            domains: BTreeMap::new(),
            ports: BTreeMap::new(),
            patches: BTreeMap::new(),
            fib: Exact::new(FIRST_ROOM)?,
            learned: Tally::new(MOST_DOMAINS)?,
            limit: DEFAULT_LIMIT,
            default_limit: DEFAULT_LIMIT,
            scan: scan::Scan::default(),
            by_index: HashMap::new(),
            domain_sequences: HashMap::new(),
            port_sequences: HashMap::new(),
            seen_ports: SharedSlab::new(MAX_INTERFACES)?,
            seen_domains: SharedSlab::new(MOST_DOMAINS)?,
            output_edges: Shared::new(None),
            heard: [None; 2],
        })
    }
    pub(crate) fn tables(&self) -> Tables {
        Tables {
            ports: self.seen_ports.reader(),
            domains: self.seen_domains.reader(),
            fib: self.fib.reader(),
            learned: self.learned.clone(),
        }
    }
    /// A place for a new domain: the lowest that is free, from 1 on, and best one without addresses
    /// of a domain that is gone.
    pub(crate) fn free_index(&self) -> Option<u16> {
        let free = || (1..=u16::MAX).filter(|index| !self.by_index.contains_key(index));
        let is_clean = |index: &u16| !self.scan.gone.contains(&Gone::Domain(*index));
        free().find(is_clean).or_else(|| free().next())
    }
    /// Sequence number of a domain.
    pub fn domain_sequence(&self, index: u16) -> u8 {
        self.domain_sequences.get(&index).copied().unwrap_or(0)
    }
    /// Sequence number of an interface.
    pub fn port_sequence(&self, interface: InterfaceIndex) -> u8 {
        self.port_sequences.get(&interface).copied().unwrap_or(0)
    }
    /// Invalidates addresses learned in a domain.
    pub(crate) fn flush_domain(&mut self, index: u16) {
        let sequence = self.domain_sequences.entry(index).or_default();
        *sequence = sequence.wrapping_add(1);
    }
    /// Invalidates addresses learned on an interface.
    pub(crate) fn flush_port(&mut self, interface: InterfaceIndex) {
        let sequence = self.port_sequences.entry(interface).or_default();
        *sequence = sequence.wrapping_add(1);
    }
    /// The domain that an interface is in, and as what.
    pub fn domain_of(&self, interface: InterfaceIndex) -> Option<(u32, Role, u8)> {
        match self.ports.get(&interface)?.place {
            Place::Bridge(id, role, group) => Some((id, role, group)),
            Place::CrossConnect(_) | Place::Lent(_) => None,
        }
    }
    /// Features of a port that its domain has, too.
    pub fn effective(&self, port: &Port) -> u32 {
        match port.place {
            Place::CrossConnect(_) => input::XCONNECT,
            // Nothing is taken from where unknown addresses are.
            Place::Lent(_) | Place::Bridge(_, Role::Unknown, _) => 0,
            Place::Bridge(id, ..) => {
                let domain = self.domains.get(&id);
                domain.map_or(0, |domain| port.input & domain.shown_bits() & input::OWN)
            }
        }
    }
    fn sequence(&self, index: u16, interface: InterfaceIndex) -> u16 {
        u16::from_be_bytes([self.domain_sequence(index), self.port_sequence(interface)])
    }
}

impl Domain {
    /// Its features as clients see them: unknown addresses have an interface or they have none.
    pub fn shown_bits(&self) -> u32 {
        let unknown = if self.unknown.is_some() { input::UU_FWD } else { 0 };
        self.bits & !input::UU_FWD | unknown
    }
    /// All its ports, the router's own first.
    pub fn ports(&self) -> impl Iterator<Item = (InterfaceIndex, u8)> + '_ {
        let bvi = self.members.iter().filter(|m| Some(m.0) == self.bvi);
        let others = self.members.iter().filter(|m| Some(m.0) != self.bvi);
        bvi.chain(others).copied()
    }
}

/// Whether a member gets copies of what is flooded.
pub(crate) fn is_flooded(router: &Router, domain: &Domain, member: InterfaceIndex) -> bool {
    let is = |i, flooding| router.interfaces.at(i).is_some_and(|i| i.flooding == flooding);
    let has_master = || domain.members.iter().any(|m| is(m.0, Flooding::Master));
    !is(member, Flooding::WithoutMaster) || !has_master()
}

/// The addresses that a domain learns at most. Where neither limit was set it has half of what all
/// may learn, so that a port which makes up addresses leaves room to other domains.
pub fn share(of_all: u32, of_domain: u32) -> u32 {
    let is_set = of_all < DEFAULT_LIMIT || of_domain < DEFAULT_LIMIT;
    if is_set { of_domain } else { of_all / 2 }
}

/// Publishes a domain and its ports to nodes.
pub(crate) fn publish_domain(router: &mut Router, id: u32) {
    let Some(domain) = router.own::<Bridging>().domains.get(&id) else { return };
    let members = domain.members.iter().filter(|m| is_flooded(router, domain, m.0));
    let mut members: Vec<_> = members.map(|(i, group)| (i.0, *group)).collect();
    let bridging = router.own_mut::<Bridging>();
    let Some(domain) = bridging.domains.get(&id) else { return };
    members.order_by_key(|m| Some(m.0) == domain.bvi.map(|bvi| bvi.0));
    let seen = DomainSeen {
        members,
        bvi: domain.bvi.map(|i| i.0),
        unknown: domain.unknown.map(|i| i.0),
        limits: [bridging.limit.into(), share(bridging.limit, domain.limit).into()],
        owners: Arc::clone(&domain.owners),
    };
    let mut all: Vec<_> = domain.members.iter().map(|m| m.0).collect();
    all.extend(domain.unknown);
    bridging.seen_domains.put(domain.index.into(), Some(seen));
    all.into_iter().for_each(|port| publish_port(router, port));
}

/// Removes the domain at a place from nodes.
pub(crate) fn hide_domain(router: &mut Router, index: u16) {
    router.own_mut::<Bridging>().seen_domains.put(index.into(), None);
}

/// Publishes a port to nodes, and sets its features.
pub(crate) fn publish_port(router: &mut Router, interface: InterfaceIndex) {
    let bridging = router.own::<Bridging>();
    let Some(port) = bridging.ports.get(&interface).copied() else {
        return hide_port(router, interface);
    };
    let effective = bridging.effective(&port);
    let mut seen = match port.place {
        Place::CrossConnect(peer) => PortSeen { peer: peer.0, ..PortSeen::default() },
        Place::Lent(_) => PortSeen::default(),
        Place::Bridge(id, role, group) => {
            let index = bridging.domains.get(&id).map_or(0, |d| d.index);
            let sequence = bridging.sequence(index, interface);
            let is_bvi = role == Role::Bvi;
            PortSeen { domain: index, sequence, group, is_bvi, ..PortSeen::default() }
        }
    };
    let has_unknown = effective & input::UU_FWD != 0;
    let rewrite = super::rewrite_of(router, interface);
    (seen.input, seen.output) = (rewrite.input, rewrite.output);
    let filter = arcs::bits_on(router, &L2_OUTPUT, interface) & (1 << 6) != 0;
    (seen.is_filtered, seen.is_blocked) = (filter, port.output & BLOCKING != 0);
    seen.is_plain = seen.output.is_empty() && !seen.is_blocked;
    let rewrites = match port.place {
        Place::Bridge(id, ..) => bridging.domains.get(&id).is_none_or(|d| d.rewrites),
        Place::CrossConnect(_) | Place::Lent(_) => false,
    };
    masks(router, &mut seen, effective, has_unknown, rewrites);
    let mode = match port.place {
        Place::CrossConnect(_) | Place::Lent(_) => Mode::CrossConnect,
        Place::Bridge(..) => Mode::Bridge,
    };
    let (floods, asks) = (input::FLOOD | input::UU_FLOOD, input::UU_FWD | input::ARP_UFWD);
    let has = |bits: u32| effective & bits != 0;
    for (bit, on) in [
        (input::LEARN, has(input::LEARN)),
        (input::FWD, has(input::FWD)),
        (input::ARP_TERM, has(input::ARP_TERM)),
        (input::FLOOD, has(floods)),
        (input::UU_FWD, has_unknown && has(asks)),
        (input::XCONNECT, has(input::XCONNECT)),
        (1 << 11, !seen.input.is_empty()),
    ] {
        arcs::switch(router, &L2_INPUT, interface, bit, on);
    }
    router.own_mut::<Bridging>().seen_ports.put(interface.0, Some(seen));
    // It existed when it became a port, and its deletion removes it before.
    let _ = router.set_mode(interface, mode);
}

/// Features among those that are on that each kind of frame meets.
fn masks(router: &Router, seen: &mut PortSeen, effective: u32, has_unknown: bool, rewrites: bool) {
    let bit = |name| router.engine.feature_bit(&L2_INPUT, name);
    let [forward, terminate] = ["l2-fwd", "arp-term-l2bd"].map(bit);
    let [unknown, flood] = ["l2-uu-fwd", "l2-flood"].map(bit);
    let unless = |has: u32, bit: u64| if effective & has != 0 { 0 } else { bit };
    let rewrite = if rewrites { 0 } else { bit("l2-rw") };
    // Without a lookup, frames are flooded as those to groups are.
    let looked_up = effective & input::FWD != 0;
    let floods = if looked_up { input::UU_FLOOD } else { input::UU_FLOOD | input::FLOOD };
    let one = terminate | unless(floods, flood) | unless(input::UU_FWD, unknown) | rewrite;
    let many = forward | unless(input::FLOOD, flood) | rewrite;
    seen.masks = [!one, !(many | terminate | unknown)];
    seen.usual = ["l2-learn", "l2-fwd", "l2-output"].map(bit);
    let asks = effective & input::ARP_TERM != 0 || has_unknown && effective & input::ARP_UFWD != 0;
    let arp = many | unless(input::ARP_UFWD, unknown);
    seen.asking = asks.then_some([!arp, !(many | unknown)]);
}

fn hide_port(router: &mut Router, interface: InterfaceIndex) {
    let ours = input::OWN | input::XCONNECT | 1 << 11;
    arcs::switch(router, &L2_INPUT, interface, ours, false);
    router.own_mut::<Bridging>().seen_ports.put(interface.0, None);
    let _ = router.set_mode(interface, Mode::Layer3); // one that is gone has none
}
