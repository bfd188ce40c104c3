//! Packets of virtual routers: advertisements, reports that the group has a member, announcements
//! of addresses.

use mld::RecordType;
use net::ip::Nodes;
use net::nd::{ALL_NODES, frame};
use net::neighbor;
use net::prelude::*;
use wire::nd::{LinkLayer, NeighborAdvertisement, OVERRIDE, ROUTER};
use wire::vrrp::{GROUP4, GROUP6, HOPS};
use wire::{arp, checksum, vrrp};

use super::table::Key;
use super::virtual_router;

/// Routers that hear reports of members (RFC 3376 section 4.2.14).
const REPORTS4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// IPv4 option: routers look at this packet (RFC 2113).
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// Internetwork control (RFC 3376 section 4).
const CONTROL: u8 = 0xc0;
/// Version 3 report of one record: from now on all that is sent to the group is wanted.
const REPORT: [u8; 12] = [0x22, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];

/// The address that a virtual router sends from: the first of its interface, or the link-local one.
pub(super) fn source(router: &Router, key: Key) -> Option<IpAddr> {
    let on = router.addresses.of(key.on);
    match key.version {
        IpVersion::V4 => on.first(key.version),
        IpVersion::V6 => on.link_local.map(IpAddr::V6),
    }
}

/// Sends an advertisement with this priority to the group, or to each peer.
pub(super) fn advertise(router: &mut Router, key: Key, priority: u8) {
    let Some(source) = source(router, key) else { return };
    let Some(of) = virtual_router(router, key) else { return };
    let (settings, peers) = (of.settings.clone(), of.peers.clone());
    let group = [IpAddr::V4(GROUP4), IpAddr::V6(GROUP6)][key.version as usize];
    let said = (key.id, priority, settings.interval);
    let packet =
        |to: IpAddr| packet(source, to, &vrrp::message((source, to), said, &settings.addrs)?);
    if settings.unicast {
        let peers: Vec<_> = peers.into_iter().filter_map(packet).collect();
        peers.into_iter().for_each(|packet| route(router, key, packet));
        return;
    }
    let Some(packet) = packet(group) else { return };
    let (to, kind) = match group {
        IpAddr::V4(group) => (MacAddr::for_ip4_group(group), EtherType::IP4),
        IpAddr::V6(group) => (MacAddr::for_ip6_group(group), EtherType::IP6),
    };
    let front = ethernet::Header::new(to, key.mac(), kind);
    neighbor::send(router, key.on, [front.as_bytes(), &packet].concat());
}

/// The packet with a message, whose receiver sees that it has passed no router.
fn packet(source: IpAddr, to: IpAddr, message: &[u8]) -> Option<Vec<u8>> {
    let len = message.len() as u16;
    Some(match (source, to) {
        (IpAddr::V4(source), IpAddr::V4(to)) => {
            let len = size_of::<ip4::Header>() as u16 + len;
            let mut header = ip4::Header::new(source, to, Protocol::VRRP, len);
            header.ttl = HOPS;
            [header.with_checksum().as_bytes(), message].concat()
        }
        (IpAddr::V6(source), IpAddr::V6(to)) => {
            let mut header = ip6::Header::new(source, to, Protocol::VRRP, len);
            header.hop_limit = HOPS;
            [header.as_bytes(), message].concat()
        }
        _ => return None,
    })
}

/// Sends a packet by the routes of the interface's table.
fn route(router: &mut Router, key: Key, packet: Vec<u8>) {
    let Some(table) = router.addresses.of(key.on).table(key.version) else { return };
    let Some(node) = router.engine.index_of(Nodes::of(key.version).lookup) else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_fib(table.0);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

/// Reports that the group has a member on the link; over IPv6 those that solicitations for the
/// addresses are sent to as well (RFC 9568 section 6.4.1).
pub(super) fn join(router: &mut Router, key: Key) {
    let Some(mac) = router.interfaces.at(key.on).map(|i| i.mac) else { return };
    let frames = match source(router, key) {
        Some(IpAddr::V4(source)) => vec![report4(mac, source)],
        Some(IpAddr::V6(source)) => {
            let Some(of) = virtual_router(router, key) else { return };
            let mut groups = vec![GROUP6];
            groups.extend(of.settings.addrs.iter().filter_map(|addr| match addr {
                IpAddr::V6(addr) => Some(ip6::solicited_node(*addr)),
                IpAddr::V4(_) => None,
            }));
            let records: Vec<_> =
                groups.into_iter().map(|group| (RecordType::Joined, group)).collect();
            mld::report_frames(mac, source, &records)
        }
        None => return,
    };
    frames.into_iter().for_each(|frame| neighbor::send(router, key.on, frame));
}

fn report4(mac: MacAddr, source: Ipv4Addr) -> Vec<u8> {
    let mut message = [&REPORT[..], &GROUP4.octets()].concat();
    let sum = checksum::Sum::default().add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let front = size_of::<ip4::Header>() + ROUTER_ALERT.len();
    let len = (front + message.len()) as u16;
    let mut header = ip4::Header::new(source, REPORTS4, Protocol::IGMP, len);
    header.version_ihl = 0x40 | (front / 4) as u8;
    (header.tos, header.ttl, header.checksum) = (CONTROL, 1, 0.into());
    let sum = checksum::Sum::default().add_bytes(header.as_bytes()).add_bytes(&ROUTER_ALERT);
    header.checksum = sum.checksum();
    let front = ethernet::Header::new(MacAddr::for_ip4_group(REPORTS4), mac, EtherType::IP4);
    [front.as_bytes(), header.as_bytes(), &ROUTER_ALERT, &message].concat()
}

/// Tells everybody on the link that the addresses are at the virtual router's MAC address.
pub(super) fn announce(router: &mut Router, key: Key) {
    let Some(of) = virtual_router(router, key) else { return };
    let (addrs, mac) = (of.settings.addrs.clone(), key.mac());
    let link_local = router.addresses.of(key.on).link_local;
    for addr in addrs.iter() {
        let frame = match addr {
            IpAddr::V4(addr) => {
                let front = ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::ARP);
                let arp = arp::Header::request(arp::Peer::new(mac, *addr), *addr);
                [front.as_bytes(), arp.as_bytes()].concat()
            }
            IpAddr::V6(addr) => {
                let Some(source) = link_local else { return };
                let head = NeighborAdvertisement {
                    icmp: icmp6::Header::new(icmp6::Type::NEIGHBOR_ADVERTISEMENT, 0),
                    flags: (ROUTER | OVERRIDE).into(),
                    target: addr.octets(),
                };
                let message = [head.as_bytes(), LinkLayer::target(mac).as_bytes()].concat();
                let to = (MacAddr::for_ip6_group(ALL_NODES), ALL_NODES);
                frame((mac, source), to, message)
            }
        };
        neighbor::send(router, key.on, frame);
    }
}
