//! Kernel messages that the router follows.

use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHop,
    RouteNextHopFlags, RouteProtocol, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use net::prelude::*;

/// A table, as Linux numbers it, and a prefix.
pub type Key = (u32, Prefix);

/// The table that Linux uses without rules.
pub const MAIN: u32 = RouteHeader::RT_TABLE_MAIN as u32;

/// The table of the kernel's own addresses (`rtnetlink.h`).
const LOCAL: u32 = 255;

/// A next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Device index.
    pub device: u32,
    /// The neighbour there; none when each destination is one.
    pub gateway: Option<IpAddr>,
    /// Weight.
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

/// How Linux wraps the packets of a route (`lwtunnel.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation(u16);

impl Encapsulation {
    /// Its name in `ip route`.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 11] =
            ["", "mpls", "ip", "ila", "ip6", "seg6", "bpf", "seg6local", "rpl", "ioam6", "xfrm"];
        NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown")
    }
    /// That of a route or of a next hop.
    fn of(attributes: &[RouteAttribute]) -> Option<Self> {
        attributes.iter().find_map(|attribute| match attribute {
            RouteAttribute::EncapType(kind) => Some(u16::from(*kind)).filter(|n| *n > 0).map(Self),
            _ => None,
        })
    }
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The table, as Linux numbers it.
    pub table: u32,
    /// The destination.
    pub prefix: Prefix,
    /// Of several routes to a prefix that with the least one counts.
    pub metric: u32,
    /// A routing daemon set it, no operator.
    pub is_dynamic: bool,
    /// Where it leads.
    pub to: To,
    /// The nexthop object that says so; the kernel takes the route away with it.
    pub object: Option<u32>,
    /// The encapsulation of its packets, or of those of some of its next hops.
    pub encapsulation: Option<Encapsulation>,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Device index.
    pub device: u32,
    /// MAC address.
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
    /// A neighbor was added or deleted.
    Neighbor(Neighbor),
    /// A route is there, instead of one with the same prefix and metric.
    Route(Route),
    /// A route is gone; of IPv6, these next hops of it.
    NoRoute(Route),
    /// A nexthop object is made or changed, or gone.
    Object {
        /// Index.
        id: u32,
        /// It exists.
        is_there: bool,
    },
    /// Start of a complete reading of routes and neighbors.
    Begin,
    /// That was all.
    End,
    /// Some news was lost.
    Lost,
}

impl Route {
    /// Table and prefix.
    pub fn key(&self) -> Key {
        (self.table, self.prefix)
    }
}

impl News {
    /// The content of a message; `None` for state that the router does not follow.
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

/// Messages about nexthop objects, and the attribute with their number (`nexthop.h`).
const NEW_OBJECT: u16 = 104;
const GONE_OBJECT: u16 = 105;
const OBJECT_ID: u16 = 1;
/// Bytes of netlink's header, and of that of a nexthop object.
const HEADER: usize = 16;
const OBJECT_HEADER: usize = 8;

/// Messages about nexthop objects.
pub fn objects(mut bytes: &[u8]) -> impl Iterator<Item = News> + '_ {
    std::iter::from_fn(move || {
        loop {
            let (message, rest) = cut(bytes, u32_at(bytes, 0)? as usize, HEADER)?;
            bytes = rest;
            let kind = u16_at(message, 4)?;
            if kind != NEW_OBJECT && kind != GONE_OBJECT {
                continue;
            }
            let mut attributes = message.get(HEADER + OBJECT_HEADER..).unwrap_or_default();
            while let Some(len) = u16_at(attributes, 0)
                && let Some((attribute, rest)) = cut(attributes, len.into(), 4)
            {
                attributes = rest;
                if u16_at(attribute, 2) == Some(OBJECT_ID)
                    && let Some(id) = u32_at(attribute, 4)
                {
                    return Some(News::Object { id, is_there: kind == NEW_OBJECT });
                }
            }
        }
    })
}

/// The first `len` bytes, at least so many, and what stands behind them and their padding.
fn cut(bytes: &[u8], len: usize, least: usize) -> Option<(&[u8], &[u8])> {
    let first = bytes.get(..len).filter(|_| len >= least)?;
    Some((first, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
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
    let (mut device, mut hops, mut object) = (None, Vec::new(), None);
    let mut encapsulation = Encapsulation::of(&message.attributes);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Destination(destination) => addr = addr_of(destination)?,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::Oif(number) => device = Some(*number),
            RouteAttribute::NhId(number) => object = Some(*number),
            RouteAttribute::MultiPath(all) => {
                hops.extend(all.iter().filter_map(hop));
                let of_hop = |next: &RouteNextHop| Encapsulation::of(&next.attributes);
                encapsulation = encapsulation.or_else(|| all.iter().find_map(of_hop));
            }
            _ => (),
        }
    }
    if table == LOCAL {
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
    Some(Route { table, prefix, metric, is_dynamic, to, object, encapsulation })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message about an object, with an attribute in front of its number.
    fn about(kind: u16, id: u32) -> Vec<u8> {
        let attributes = [&[6, 0, 2, 0, 9, 9, 0, 0, 8, 0, 1, 0][..], &id.to_ne_bytes()].concat();
        let len = (HEADER + OBJECT_HEADER + attributes.len()) as u32;
        let front = [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10 + OBJECT_HEADER]];
        [front.concat(), attributes].concat()
    }

    #[test]
    fn nexthop_objects_are_found_among_other_messages() {
        let all = [about(24, 1), about(NEW_OBJECT, 2), about(GONE_OBJECT, 3)].concat();
        let found: Vec<_> = objects(&all).collect();
        let object = |id, is_there| News::Object { id, is_there };
        assert_eq!(found, [object(2, true), object(3, false)]);
        for len in 0..all.len() {
            assert!(objects(&all[..len]).count() < 2, "{len} bytes");
        }
    }
}
