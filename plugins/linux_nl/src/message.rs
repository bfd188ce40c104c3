//! What the kernel tells, as far as the router follows it.

use std::net::IpAddr;

use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHop,
    RouteNextHopFlags, RouteProtocol, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use wire::{MacAddr, Prefix};

/// A next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Number of the device.
    pub device: u32,
    /// The neighbour there; none when each destination is one.
    pub gateway: Option<IpAddr>,
    /// Share of the load.
    pub weight: u16,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Next hops that can be used; none when their devices are down.
    Hops(Vec<Hop>),
    /// Nowhere.
    Drop,
    /// Nowhere: senders hear that it is unreachable.
    Unreachable,
    /// Nowhere: senders hear that it is prohibited.
    Prohibit,
}

/// A route of the main table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destination.
    pub prefix: Prefix,
    /// Of several routes to a prefix that with the least one counts.
    pub metric: u32,
    /// A routing daemon set it, no operator.
    pub is_dynamic: bool,
    /// Where it leads.
    pub to: To,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Number of the device.
    pub device: u32,
    /// Its address.
    pub addr: IpAddr,
    /// Its address of layer 2, while that is known.
    pub mac: Option<MacAddr>,
    /// An operator set it.
    pub is_static: bool,
}

/// A piece of news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Something about devices or addresses has changed.
    Look,
    /// A neighbour is known, or no longer.
    Neighbor(Neighbor),
    /// A route is there, instead of one with the same prefix and metric.
    Route(Route),
    /// A route is gone; of IPv6, these next hops of it.
    NoRoute(Route),
    /// All routes and neighbours are told from here on.
    Begin,
    /// That was all.
    End,
    /// Some news was lost.
    Lost,
}

impl News {
    /// What a message says; `None` for what the router does not follow.
    pub fn of(message: &RouteNetlinkMessage) -> Option<Self> {
        match message {
            RouteNetlinkMessage::NewLink(_)
            | RouteNetlinkMessage::DelLink(_)
            | RouteNetlinkMessage::NewAddress(_)
            | RouteNetlinkMessage::DelAddress(_) => Some(Self::Look),
            RouteNetlinkMessage::NewNeighbour(n) => neighbor(n, true).map(Self::Neighbor),
            RouteNetlinkMessage::DelNeighbour(n) => neighbor(n, false).map(Self::Neighbor),
            RouteNetlinkMessage::NewRoute(r) => route(r).map(Self::Route),
            RouteNetlinkMessage::DelRoute(r) => route(r).map(Self::NoRoute),
            _ => None,
        }
    }
}

/// A device's address, with its number, that is in use.
pub fn address(message: &AddressMessage) -> Option<(u32, Prefix)> {
    let unfit = AddressHeaderFlags::Tentative.union(AddressHeaderFlags::Dadfailed);
    if message.header.flags.intersects(unfit) {
        return None;
    }
    let find = |of: fn(&AddressAttribute) -> Option<IpAddr>| message.attributes.iter().find_map(of);
    let local = find(|a| if let AddressAttribute::Local(addr) = a { Some(*addr) } else { None });
    let other = find(|a| if let AddressAttribute::Address(addr) = a { Some(*addr) } else { None });
    let prefix = Prefix::new(local.or(other)?, message.header.prefix_len).ok()?;
    Some((message.header.index, prefix))
}

fn neighbor(message: &NeighbourMessage, is_there: bool) -> Option<Neighbor> {
    let state = message.header.state;
    if state == NeighbourState::Noarp {
        return None;
    }
    let (mut addr, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(a)) => addr = Some((*a).into()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(a)) => addr = Some((*a).into()),
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                mac = bytes.first_chunk().map(|bytes| MacAddr(*bytes));
            }
            _ => (),
        }
    }
    let addr: IpAddr = addr?;
    let is_known = matches!(
        state,
        NeighbourState::Reachable
            | NeighbourState::Stale
            | NeighbourState::Delay
            | NeighbourState::Probe
            | NeighbourState::Permanent
    );
    let is_static = state == NeighbourState::Permanent;
    let mac = mac.filter(|_| is_there && is_known);
    let is_one = !addr.is_multicast() && !addr.is_unspecified();
    is_one.then_some(Neighbor { device: message.header.ifindex, addr, mac, is_static })
}

fn addr_of(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(addr) => Some((*addr).into()),
        RouteAddress::Inet6(addr) => Some((*addr).into()),
        _ => None,
    }
}

/// The next hop that attributes describe.
fn gateway(attributes: &[RouteAttribute]) -> Option<IpAddr> {
    attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(gateway) => addr_of(gateway),
        RouteAttribute::Via(RouteVia::Inet(addr)) => Some((*addr).into()),
        RouteAttribute::Via(RouteVia::Inet6(addr)) => Some((*addr).into()),
        _ => None,
    })
}

fn hop(next: &RouteNextHop) -> Option<Hop> {
    let is_dead = next.flags.contains(RouteNextHopFlags::Dead);
    let (device, weight) = (next.interface_index, u16::from(next.hops) + 1);
    (!is_dead).then(|| Hop { device, gateway: gateway(&next.attributes), weight })
}

fn route(message: &RouteMessage) -> Option<Route> {
    let header = &message.header;
    let unspecified: IpAddr = match header.address_family {
        AddressFamily::Inet => std::net::Ipv4Addr::UNSPECIFIED.into(),
        AddressFamily::Inet6 => std::net::Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    // What the kernel adds with an address the router adds with it, too.
    let is_own = [RouteProtocol::Kernel, RouteProtocol::IcmpRedirect].contains(&header.protocol);
    if is_own || header.flags.contains(RouteFlags::Cloned) || header.source_prefix_length > 0 {
        return None;
    }
    let (mut table, mut addr, mut metric) = (u32::from(header.table), unspecified, 0);
    let (mut device, mut hops) = (None, Vec::new());
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Destination(destination) => addr = addr_of(destination)?,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::Oif(number) => device = Some(*number),
            RouteAttribute::MultiPath(all) => hops.extend(all.iter().filter_map(hop)),
            _ => (),
        }
    }
    if table != u32::from(RouteHeader::RT_TABLE_MAIN) {
        return None;
    }
    let to = match header.kind {
        RouteType::Unicast => {
            let is_dead = header.flags.contains(RouteFlags::Dead);
            if let Some(device) = device.filter(|_| hops.is_empty() && !is_dead) {
                hops.push(Hop { device, gateway: gateway(&message.attributes), weight: 1 });
            }
            To::Hops(hops)
        }
        RouteType::BlackHole => To::Drop,
        RouteType::Unreachable => To::Unreachable,
        RouteType::Prohibit => To::Prohibit,
        _ => return None,
    };
    let prefix = Prefix::new(addr, header.destination_prefix_length).ok()?;
    let is_dynamic = u8::from(header.protocol) > u8::from(RouteProtocol::Static);
    Some(Route { prefix, metric, is_dynamic, to })
}
