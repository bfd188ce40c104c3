//! Adjacencies: prepared rewrites for sending packets to one neighbor.
//!
//! An adjacency keeps its number while it is completed, changed or lost again, so routes over it
//! need no change when its neighbour does. Each packet over it reads one object: the header to put
//! in front, the interface, the MTU. One that is not complete sends its packets to be held until
//! ARP or ND answers. Those of tunnels are [mid-chain](chain): after what they put in front,
//! packets follow another route.

pub mod chain;
mod cli;
mod cut_behind;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use control::feature::Refusal;
use control::stats::{Columns, Segment};
use graph::{BuildError, Slot};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::{SharedSlab, SlabReader};
use serde::Serialize;
use wire::ethernet::{EtherType, Header};
use wire::{IpVersion, MacAddr};
use zerocopy::IntoBytes;

use crate::interface::{InterfaceIndex, Kind, Mtu};
use crate::router::Router;

use chain::{Encapsulations, Hop};
pub use cli::describe;
pub(crate) use cli::register;

/// Most adjacencies there may be.
pub const MAX_ADJACENCIES: usize = 1 << 20;
/// Counters by number of the adjacency.
pub const COLUMNS: Columns = Columns::growing("adjacency", MAX_ADJACENCIES);
/// Longest header put in front: Ethernet with two VLAN tags.
const REWRITE: usize = 22;

/// Number of an adjacency. 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct AdjacencyIndex(pub u32);

/// The kind of packets of an adjacency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Link {
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// Labelled packets (RFC 3032).
    Mpls,
    /// Ethernet frames: into tunnels that carry them.
    Ethernet,
}

impl From<IpVersion> for Link {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => Self::Ip4,
            IpVersion::V6 => Self::Ip6,
        }
    }
}

impl From<IpAddr> for Link {
    fn from(addr: IpAddr) -> Self {
        IpVersion::from(addr).into()
    }
}

impl Link {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ip4, Self::Ip6, Self::Mpls, Self::Ethernet];

    /// As adjacencies and traces name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ip4 => "ipv4",
            Self::Ip6 => "ipv6",
            Self::Mpls => "mpls",
            Self::Ethernet => "ethernet",
        }
    }
    /// Its word in commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
            Self::Mpls => "mpls",
            Self::Ethernet => "ethernet",
        }
    }
    /// The node that puts the header in front.
    pub fn rewrite_node(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4-rewrite",
            Self::Ip6 => "ip6-rewrite",
            Self::Mpls => "mpls-output",
            Self::Ethernet => "adj-l2-rewrite",
        }
    }
    /// The node that puts the headers of a tunnel in front.
    pub fn midchain_node(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4-midchain",
            Self::Ip6 => "ip6-midchain",
            Self::Mpls => "mpls-midchain",
            Self::Ethernet => "adj-l2-midchain",
        }
    }
    /// The node that forwards packets by a load balance.
    pub const fn load_balance_node(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4-load-balance",
            Self::Ip6 => "ip6-load-balance",
            Self::Mpls => "mpls-load-balance",
            Self::Ethernet => "l2-load-balance",
        }
    }
    fn ethertype(self) -> EtherType {
        match self {
            Self::Ip4 => EtherType::IP4,
            Self::Ip6 => EtherType::IP6,
            Self::Mpls | Self::Ethernet => EtherType::MPLS,
        }
    }
    /// The family of an address.
    pub fn of(addr: IpAddr) -> Self {
        if addr.is_ipv4() { Self::Ip4 } else { Self::Ip6 }
    }
    /// `::` for IPv6, otherwise `0.0.0.0`.
    pub fn unspecified(self) -> IpAddr {
        match self {
            Self::Ip6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        }
    }
}

/// The role of an adjacency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Role {
    /// One neighbour.
    Neighbor,
    /// A connected subnet: each packet's destination is to be asked for.
    Glean,
    /// Multicast groups: the destination address is computed from the packet's.
    Multicast,
    /// The far end of a tunnel.
    Midchain,
}

/// One adjacency, as nodes read it.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Adjacency {
    /// Bytes of [`Adjacency::header`] that count.
    pub header_len: u8,
    /// Whether the header is known; otherwise packets are held and the neighbour is asked for.
    pub complete: bool,
    /// Whether packets over it are counted.
    pub is_counted: bool,
    /// Whether a node stands between a tunnel's headers and the way to its far end.
    pub is_led: bool,
    /// Whether a feature of the output cuts what is too big, and may make it longer before.
    pub is_cut_behind: bool,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Edge of the rewrite node to `<interface>-output`.
    pub output: Slot,
    /// The layer 2 header to put in front.
    pub header: [u8; REWRITE],
    /// The interface packets leave by.
    pub interface: InterfaceIndex,
    /// Its target.
    pub role: Role,
    /// The kind of its packets.
    pub link: Link,
    /// The neighbour, or the connected network's own address for [`Role::Glean`].
    pub next_hop: IpAddr,
    /// The headers of a tunnel, for [`Role::Midchain`] when its far end is known.
    pub hop: Option<Arc<Hop>>,
}

impl Adjacency {
    /// The layer 2 header to put in front.
    #[inline(always)]
    pub fn header(&self) -> &[u8] {
        self.header.get(..usize::from(self.header_len)).unwrap_or(&[])
    }
}

/// The key of an adjacency.
type Key = (InterfaceIndex, Link, Role, IpAddr);

/// All adjacencies.
pub struct Adjacencies {
    slab: SharedSlab<Adjacency>,
    by_key: BTreeMap<Key, AdjacencyIndex>,
    users: HashMap<AdjacencyIndex, u32>,
    encapsulations: Encapsulations,
    /// `/net/adjacency`.
    counters: Rows<VolumeCounter>,
    are_counted: bool,
    /// Interfaces a feature of whose output cuts packets.
    cut_behind: BTreeSet<InterfaceIndex>,
    /// Most adjacencies there may be, up to [`MAX_ADJACENCIES`].
    pub budget: usize,
}

/// Reasons why an adjacency cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// at most {0} adjacencies
    #[retval(LIMIT_EXCEEDED)]
    Full(usize),
    /// {0}
    #[retval(UNSPECIFIED)]
    Graph(BuildError),
}

impl Adjacencies {
    pub(crate) fn new(stats: &mut Segment) -> std::io::Result<Self> {
        let counters = stats.combined("/net/adjacency", COLUMNS).map_err(std::io::Error::other)?;
        let mut slab = SharedSlab::new(MAX_ADJACENCIES)?;
        // Number 0 means none.
        let none = Adjacency {
            header_len: 0,
            complete: false,
            is_counted: false,
            is_led: false,
            is_cut_behind: false,
            mtu: 0,
            output: Slot(0),
            header: [0; REWRITE],
            interface: InterfaceIndex(0),
            role: Role::Neighbor,
            link: Link::Ip4,
            next_hop: Link::Ip4.unspecified(),
            hop: None,
        };
        slab.insert(none).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        let (by_key, users) = (BTreeMap::new(), HashMap::new());
        let encapsulations = Encapsulations::default();
        let (are_counted, budget) = (false, MAX_ADJACENCIES);
        let cut_behind = BTreeSet::new();
        Ok(Self { slab, by_key, users, encapsulations, counters, are_counted, cut_behind, budget })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<Adjacency> {
        self.slab.reader()
    }
    /// Packets and bytes by adjacency, for the nodes that count them.
    pub fn counters(&self) -> Rows<VolumeCounter> {
        self.counters.clone()
    }
    /// One adjacency.
    pub fn at(&self, index: AdjacencyIndex) -> Option<&Adjacency> {
        self.slab.at(index.0).filter(|_| index.0 != 0)
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (AdjacencyIndex, &Adjacency)> {
        self.slab.iter().skip(1).map(|(i, a)| (AdjacencyIndex(i), a))
    }
    /// The adjacency for these, if in use.
    pub fn find(
        &self,
        interface: InterfaceIndex,
        role: Role,
        next_hop: IpAddr,
    ) -> Option<AdjacencyIndex> {
        self.by_key.get(&(interface, Link::of(next_hop), role, next_hop)).copied()
    }
    /// All adjacencies of a neighbour, one for each link.
    pub fn of_neighbor(
        &self,
        interface: InterfaceIndex,
        next_hop: IpAddr,
    ) -> impl Iterator<Item = AdjacencyIndex> + use<> {
        let of = |link| self.by_key.get(&(interface, link, Role::Neighbor, next_hop)).copied();
        Link::ALL.map(of).into_iter().flatten()
    }
    /// All adjacencies of an interface.
    fn on(&self, interface: InterfaceIndex) -> impl Iterator<Item = (&Key, &AdjacencyIndex)> {
        let first = (interface, Link::Ip4, Role::Neighbor, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.by_key.range(first..).take_while(move |(key, _)| key.0 == interface)
    }
    /// The neighbours on an interface that routes lead to.
    pub fn neighbors_on(&self, interface: InterfaceIndex) -> impl Iterator<Item = IpAddr> {
        let mine = self.on(interface).filter(|((_, _, role, _), _)| *role == Role::Neighbor);
        mine.map(|(key, _)| key.3)
    }
    /// Number of users of an adjacency.
    pub fn users(&self, index: AdjacencyIndex) -> u32 {
        self.users.get(&index).copied().unwrap_or(0)
    }
    fn change(&mut self, index: AdjacencyIndex, change: impl FnOnce(&mut Adjacency)) {
        if let Some(old) = self.at(index) {
            let mut new = old.clone();
            change(&mut new);
            self.slab.replace(index.0, new);
        }
    }
}

impl Router {
    /// Uses the adjacency for these, creating it if necessary: complete where no MAC address is
    /// needed, otherwise after [`Router::complete_adjacency`]. Its traffic is of the next hop's
    /// family. Release it with [`Router::release_adjacency`].
    ///
    /// # Errors
    /// No such interface; too many.
    pub fn use_adjacency(
        &mut self,
        interface: InterfaceIndex,
        role: Role,
        next_hop: IpAddr,
    ) -> Result<AdjacencyIndex, Error> {
        self.use_adjacency_for(Link::of(next_hop), interface, role, next_hop)
    }
    /// As [`Router::use_adjacency`], for packets of a family that need not be the next hop's.
    ///
    /// # Errors
    /// As there.
    pub fn use_adjacency_for(
        &mut self,
        link: Link,
        interface: InterfaceIndex,
        role: Role,
        next_hop: IpAddr,
    ) -> Result<AdjacencyIndex, Error> {
        let stack = self.adjacencies.encapsulations.of(interface);
        let role = if stack.is_some() { Role::Midchain } else { role };
        let key = (interface, link, role, next_hop);
        if let Some(index) = self.adjacencies.by_key.get(&key) {
            *self.adjacencies.users.entry(*index).or_default() += 1;
            return Ok(*index);
        }
        let new = self.new_adjacency(link, interface, role, next_hop)?;
        let most = self.adjacencies.budget;
        if self.adjacencies.by_key.len() >= most {
            return Err(Error::Full(most));
        }
        let index = self.adjacencies.slab.insert(new).map_err(|_| Error::Full(most))?;
        let index = AdjacencyIndex(index);
        self.adjacencies.by_key.insert(key, index);
        self.adjacencies.users.insert(index, 1);
        let counters = self.adjacencies.counters();
        self.count_from_zero(&counters, COLUMNS, index.0, "adjacencies");
        if let Some(stack) = stack {
            stack(self, index);
        }
        for made in self.on_adjacency.clone().iter() {
            made(self, index);
        }
        Ok(index)
    }
    fn new_adjacency(
        &mut self,
        link: Link,
        interface: InterfaceIndex,
        role: Role,
        next_hop: IpAddr,
    ) -> Result<Adjacency, Error> {
        let i = self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let mut new = Adjacency {
            header_len: 0,
            complete: i.is_point_to_point() && role != Role::Glean,
            is_counted: self.adjacencies.are_counted,
            is_led: false,
            is_cut_behind: role != Role::Midchain
                && self.adjacencies.cut_behind.contains(&interface),
            mtu: self.mtu_to(link, interface, role, next_hop),
            output: Slot(0),
            header: [0; REWRITE],
            interface,
            role,
            link,
            next_hop,
            hop: None,
        };
        let is_everybody = next_hop == IpAddr::V4(Ipv4Addr::BROADCAST);
        let has_header = matches!(role, Role::Glean | Role::Multicast) || is_everybody;
        if i.kind == Kind::Ethernet && has_header {
            // Multicast writes the group's address over this one, packet by packet.
            new.set_header(&Header::new(MacAddr::BROADCAST, i.mac, link.ethertype()));
            new.complete = role != Role::Glean;
        }
        if let Some(far_end) = i.far_end.filter(|_| !has_header) {
            new.set_header(&Header::new(far_end, i.mac, link.ethertype()));
        }
        let (node, to) = match role {
            Role::Midchain => (link.midchain_node(), chain::TRANSMIT.to_owned()),
            _ => (link.rewrite_node(), self.engine.name_of(i.output).to_owned()),
        };
        new.complete |= role == Role::Midchain;
        new.output = self.engine.connect(node, &to).map_err(Error::Graph)?;
        Ok(new)
    }
    /// Gives up one use of an adjacency; the last one frees it.
    pub fn release_adjacency(&mut self, index: AdjacencyIndex) {
        let all = &mut self.adjacencies;
        let Some(users) = all.users.get_mut(&index) else { return };
        *users -= 1;
        if *users > 0 {
            return;
        }
        all.users.remove(&index);
        if let Some(a) = all.slab.at(index.0) {
            all.by_key.remove(&(a.interface, a.link, a.role, a.next_hop));
        }
        all.slab.remove(index.0);
        if let Some(stacked) = all.encapsulations.remove(index) {
            (stacked.release)(self, index, stacked.list);
        }
    }
    /// Enables or disables counting of packets over each adjacency.
    pub fn count_adjacencies(&mut self, is_on: bool) {
        self.adjacencies.are_counted = is_on;
        let all: Vec<_> = self.adjacencies.iter().map(|(index, _)| index).collect();
        for index in all {
            self.adjacencies.change(index, |a| a.is_counted = is_on);
        }
    }
    /// Sets the MAC address of a neighbour, but for the only other station of an interface.
    pub fn complete_adjacency(&mut self, index: AdjacencyIndex, mac: MacAddr) {
        let Some(a) = self.adjacencies.at(index) else { return };
        let i = self.interfaces.at(a.interface).filter(|i| !i.is_point_to_point());
        let Some(own) = i.map(|i| i.mac) else { return };
        self.adjacencies.change(index, |a| {
            a.set_header(&Header::new(mac, own, a.link.ethertype()));
            a.complete = true;
        });
    }
    /// Marks the neighbor of an adjacency as unresolved.
    pub fn forget_adjacency(&mut self, index: AdjacencyIndex) {
        let on = self.adjacencies.at(index).and_then(|a| self.interfaces.at(a.interface));
        if on.is_some_and(|i| !i.is_point_to_point()) {
            self.adjacencies.change(index, |a| (a.complete, a.header_len) = (false, 0));
        }
    }
    fn mtu_over(&self, interface: InterfaceIndex, link: Link) -> u16 {
        let of = match link {
            Link::Ip4 => Mtu::for_ip4,
            Link::Ip6 => Mtu::for_ip6,
            Link::Mpls => Mtu::for_mpls,
            Link::Ethernet => |mtu: &Mtu| mtu.l3,
        };
        self.interfaces.mtu_of(interface, of).min(u32::from(u16::MAX)) as u16
    }
    fn mtu_to(&self, link: Link, interface: InterfaceIndex, role: Role, next_hop: IpAddr) -> u16 {
        let mtu = self.mtu_over(interface, link);
        let path = self.path_mtu(interface, next_hop).filter(|_| role == Role::Neighbor);
        path.map_or(mtu, |path| path.min(mtu))
    }
    /// Follows a change of an interface's own address or MTU, or of a path MTU.
    pub(super) fn refresh_adjacencies(&mut self, interface: InterfaceIndex) {
        let Some(i) = self.interfaces.at(interface) else { return };
        let mac = i.mac;
        let mine = self.adjacencies.on(interface);
        let mine: Vec<_> = mine.map(|(key, index)| (*key, *index)).collect();
        for ((_, link, role, next_hop), index) in mine {
            let mtu = self.mtu_to(link, interface, role, next_hop);
            let hop = self.adjacencies.at(index).and_then(|a| a.hop.clone());
            let mtu = hop.map_or(mtu, |hop| self.mtu_in_chain(&hop, link, mtu));
            self.adjacencies.change(index, |a| {
                a.mtu = mtu;
                if a.header_len > 0 {
                    a.header[6..12].copy_from_slice(&mac.0);
                }
            });
        }
        self.follow_mtu_over(interface);
    }
    /// Updates the MTU of a tunnel's adjacency from the route to the remote address; returns
    /// whether it changed.
    pub(crate) fn refresh_mtu(&mut self, index: AdjacencyIndex) -> bool {
        let Some(a) = self.adjacencies.at(index) else { return false };
        let (link, hop, old) = (a.link, a.hop.clone(), a.mtu);
        let own = self.mtu_to(link, a.interface, a.role, a.next_hop);
        let new = hop.map_or(own, |hop| self.mtu_in_chain(&hop, link, own));
        if new != old {
            self.adjacencies.change(index, |a| a.mtu = new);
        }
        new != old
    }
}

impl Adjacency {
    fn set_header(&mut self, header: &Header) {
        self.header[..size_of::<Header>()].copy_from_slice(header.as_bytes());
        self.header_len = size_of::<Header>() as u8;
    }
}

#[cfg(test)]
mod tests;
