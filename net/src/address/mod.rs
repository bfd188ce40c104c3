//! Addresses of interfaces, and what follows from them: connected networks, packets for this
//! router, and IPv6's link-local addresses and multicast groups (RFC 4291, RFC 4862 section 5.3).

mod api;
mod broadcast;
mod change;
mod cli;
mod configuration;
pub(crate) mod interface_api;
mod reader;
mod show;
#[cfg(test)]
mod tests;
mod unnumbered;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use control::cli::Output;
use control::feature::Registered;
use infra::rcu::SharedSlab;
use wire::{Ip4Prefix, Ip6Prefix, IpVersion, Prefix};

use crate::adjacency::Link;
use crate::fib::{self, TableIndex};
use crate::interface::{Change, InterfaceIndex, MAX_INTERFACES};
use crate::router::{Configuration, Feature, Origin, Parts, Router};

pub use reader::AddressReader;
pub use unnumbered::Borrowed;

/// The addresses of one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnInterface {
    /// IPv4 addresses in the order they came, with their networks.
    pub ip4: Vec<Ip4Prefix>,
    /// IPv6 addresses but the link-local one.
    pub ip6: Vec<Ip6Prefix>,
    /// The link-local address; there is one while IPv6 is enabled.
    pub link_local: Option<Ipv6Addr>,
    /// Whether IPv4 was enabled without an address.
    pub wants_ip4: bool,
    /// Whether IPv6 was enabled without an address.
    pub wants_ip6: bool,
    /// Number of features that need IPv4 on it, and of those that need IPv6.
    pub held: [u16; 2],
    /// Whether packets for all hosts of its IPv4 networks go to them.
    pub directed_broadcast: bool,
    /// Whether a feature takes packets for all hosts of its IPv4 networks, which are punted then
    /// unless they go to the hosts.
    pub punts_broadcast: bool,
    /// The addresses of another interface that it uses, having none itself.
    pub borrowed: Option<Borrowed>,
    /// IPv6 addresses that packets are not to come from, or rather not.
    pub standing: Vec<(Ipv6Addr, AddressState)>,
    /// Whether its addresses bring routes: while it is up.
    pub is_routed: bool,
    /// The table for IPv4.
    pub table4: TableIndex,
    /// The table for IPv6.
    pub table6: TableIndex,
}

impl OnInterface {
    /// The first address of a version, but a link-local one.
    pub fn first(&self, version: IpVersion) -> Option<IpAddr> {
        match version {
            IpVersion::V4 => self.ip4.first().map(|p| p.addr().into()),
            IpVersion::V6 => self.ip6.first().map(|p| p.addr().into()),
        }
    }
    /// The table for a version.
    pub fn table_for(&self, version: impl Into<IpVersion>) -> TableIndex {
        match version.into() {
            IpVersion::V4 => self.table4,
            IpVersion::V6 => self.table6,
        }
    }
}

/// Reasons why packets of our own should not come from an address (RFC 4862 sections 5.4 and
/// 5.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressState {
    /// Its time is nearly over: another one is better.
    Deprecated,
    /// Not known to be unique.
    Tentative,
}

impl OnInterface {
    /// State of an address that speaks against it as a source of packets; `None` if nothing does.
    pub fn standing(&self, addr: Ipv6Addr) -> Option<AddressState> {
        self.standing.iter().find(|(a, _)| *a == addr).map(|(_, standing)| *standing)
    }
    /// Forgets what was known against addresses that it no longer has.
    fn forget_standing(&mut self) {
        let (ip6, link_local) = (&self.ip6, self.link_local);
        let has = |addr| link_local == Some(addr) || ip6.iter().any(|p| p.addr() == addr);
        self.standing.retain(|(addr, _)| has(*addr));
    }
    fn may_send_from(&self, addr: Ipv6Addr) -> bool {
        !addr.is_multicast() && self.standing(addr) != Some(AddressState::Tentative)
    }
    /// All addresses but the link-local one.
    pub fn iter(&self) -> impl Iterator<Item = Prefix> {
        let ip4 = self.ip4.iter().map(|p| Prefix::Ip4(*p));
        ip4.chain(self.ip6.iter().map(|p| Prefix::Ip6(*p)))
    }
    /// Whether IPv4 packets are accepted.
    pub fn has_ip4(&self) -> bool {
        self.wants_ip4 || self.held[0] > 0 || self.borrowed.is_some() || !self.ip4.is_empty()
    }
    /// Whether IPv6 packets are accepted.
    pub fn has_ip6(&self) -> bool {
        self.is_ip6_configured() || self.held[1] > 0
    }
    /// Whether IPv6 packets are accepted without a feature that needs them.
    fn is_ip6_configured(&self) -> bool {
        self.wants_ip6 || self.borrowed.is_some() || !self.ip6.is_empty()
    }
    /// The table that its packets of a version are looked up in; `None` if they are not accepted.
    pub fn table(&self, link: impl Into<Link>) -> Option<TableIndex> {
        match link.into() {
            Link::Ip4 => self.has_ip4().then_some(self.table4),
            Link::Ip6 => self.has_ip6().then_some(self.table6),
            Link::Mpls | Link::Ethernet => None,
        }
    }
    /// IPv6 groups it is a member of: all nodes, all routers, MLDv2 reports, and one for each
    /// address.
    pub fn groups6(&self) -> Vec<Ipv6Addr> {
        if self.link_local.is_none() {
            return Vec::new();
        }
        let all = [0x1, 0x2, 0x16].map(|group| Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, group));
        [&all[..], &self.solicited_nodes()].concat()
    }
    /// The groups in which its IPv6 addresses are asked for, each once.
    fn solicited_nodes(&self) -> Vec<Ipv6Addr> {
        let own = self.ip6.iter().map(|p| p.addr()).filter(|a| !a.is_multicast());
        let mut groups = Vec::new();
        let mut known = BTreeSet::new();
        for addr in self.link_local.into_iter().chain(own) {
            let group = wire::ip6::solicited_node(addr);
            groups.extend(Some(group).filter(|group| known.insert(*group)));
        }
        groups
    }
}

/// The addresses of all interfaces.
#[derive(Debug)]
pub struct Addresses {
    all: SharedSlab<OnInterface>,
    /// Interfaces that borrow addresses, by lender: its number, theirs.
    borrowers: BTreeSet<(InterfaceIndex, InterfaceIndex)>,
    /// Learned addresses, which are not configured.
    learned: BTreeSet<(InterfaceIndex, Prefix)>,
    nothing: OnInterface,
    observers: Registered<Observer>,
    /// Sections of `show ip6 interface`, with their names in JSON.
    sections: Registered<(&'static str, Section)>,
    /// Texts of layer 2 in `show interface address`.
    layer2: Registered<Layer2Text>,
}

/// Makes the section of a feature in `show ip6 interface`, for an interface that has one.
pub type Section = fn(&Router, InterfaceIndex) -> Option<Output>;

/// Says what an interface is to layer 2, if it is anything.
pub type Layer2Text = fn(&Router, InterfaceIndex) -> Option<String>;

/// Called after the addresses of an interface changed, with those it had before.
pub type Observer = fn(&mut Router, InterfaceIndex, &OnInterface);

impl Addresses {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            all: SharedSlab::new(MAX_INTERFACES)?,
            borrowers: BTreeSet::new(),
            learned: BTreeSet::new(),
            nothing: OnInterface::default(),
            observers: Registered::default(),
            sections: Registered::default(),
            layer2: Registered::default(),
        })
    }
    /// Adds a section to `show ip6 interface`; `name` is its key in JSON.
    pub fn show(&mut self, name: &'static str, section: Section) {
        self.sections.push((name, section));
    }
    /// Adds lines of layer 2 to `show interface address`.
    pub fn show_layer2(&mut self, text: Layer2Text) {
        self.layer2.push(text);
    }
    /// The addresses of an interface.
    pub fn of(&self, interface: InterfaceIndex) -> &OnInterface {
        self.all.at(interface.0).unwrap_or(&self.nothing)
    }
    /// Every interface that has something.
    pub fn iter(&self) -> impl Iterator<Item = (InterfaceIndex, &OnInterface)> {
        self.all.iter().map(|(index, on)| (InterfaceIndex(index), on))
    }
    /// The interfaces that use the addresses of another one.
    fn borrowers(&self, from: InterfaceIndex) -> Vec<InterfaceIndex> {
        let all = (from, InterfaceIndex(0))..=(from, InterfaceIndex(u32::MAX));
        self.borrowers.range(all).map(|(_, interface)| *interface).collect()
    }
    /// Calls `observer` whenever the addresses of an interface change.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }
    /// For nodes.
    pub fn reader(&self) -> AddressReader {
        AddressReader::new(self.all.reader())
    }
    fn put(&mut self, interface: InterfaceIndex, new: OnInterface) {
        let lender = |on: &OnInterface| on.borrowed.as_ref().map(|b| b.from);
        let (before, after) = (lender(self.of(interface)), lender(&new));
        if before != after {
            before.map(|from| self.borrowers.remove(&(from, interface)));
            after.map(|from| self.borrowers.insert((from, interface)));
        }
        let is_something = new != self.nothing;
        if is_something || self.all.at(interface.0).is_some() {
            self.all.put(interface.0, is_something.then_some(new));
        }
    }
}

/// Reasons why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No such interface.
    NoInterface,
    /// No interface can have this address.
    Invalid(Prefix),
    /// It overlaps with another address in the same table.
    Conflict {
        /// The existing address.
        with: Prefix,
        /// The interface that has it.
        interface: InterfaceIndex,
    },
    /// Not an address of a link only.
    NotLinkLocal(Ipv6Addr),
    /// A link-local address is of no network.
    LinkLocalLen(Prefix),
    /// The link-local address, which only goes with IPv6.
    NotDeletable(Prefix),
    /// The interface does not have it.
    NotFound(Prefix),
    /// The interface has addresses, so its table stays, and it cannot use another's.
    HasAddresses,
    /// The interface whose addresses are to be used has none to give.
    NoLender,
    /// Others use the addresses of the interface, so that it cannot use another's.
    Lends,
    /// Its routes cannot be made.
    Route(fib::Error),
}

impl From<fib::Error> for Error {
    fn from(e: fib::Error) -> Self {
        Self::Route(e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::Invalid(p) => write!(f, "{p} cannot be an interface's address"),
            Self::Conflict { with, .. } => write!(f, "conflicts with {with}"),
            Self::NotLinkLocal(a) => write!(f, "{a} is not a link-local address"),
            Self::LinkLocalLen(p) => {
                write!(f, "prefix length of {p}, a link-local address, is 128")
            }
            Self::NotDeletable(p) => write!(f, "{p} goes with IPv6 on the interface only"),
            Self::NotFound(p) => write!(f, "no address {p}"),
            Self::HasAddresses => f.write_str("interface has addresses"),
            Self::NoLender => f.write_str("no interface to use the addresses of"),
            Self::Lends => f.write_str("others use the addresses of this interface"),
            Self::Route(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

/// Addresses and their commands.
pub const FEATURE: Feature = Feature {
    name: "address",
    about: "Addresses of interfaces",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["fib", "mfib"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    parts.router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    unnumbered::register(&mut parts.cli);
    broadcast::register(&mut parts.cli);
    api::register(&mut parts.api);
    interface_api::register(&mut parts.api);
    Ok(())
}

/// Follows changes of interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => {
            router.lend(interface, None);
            router.forget_addresses(interface);
        }
        Change::Mac => router.renew_link_local(interface),
        Change::State => router.follow_admin(interface),
        Change::Added | Change::Mtu | Change::Name | Change::Segments => (),
    }
}
