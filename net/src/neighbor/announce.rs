//! Messages that control itself sends to neighbors: announcements (RFC 5227 section 3, RFC 4861
//! section 7.2.6) and probes of silent ones.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::Flags;
use infra::counter::{Counter, Rows};
use wire::{IpVersion, MacAddr, nd};
use zerocopy::IntoBytes;

use super::counters::count;
use super::family::{Family, NdFrame};
use super::process;
use super::strict::Strict;
use super::table::Key;
use crate::address::{AddressState, OnInterface};
use crate::interface::{InterfaceIndex, Kind, Mode};
use crate::ip::{V4, V6};
use crate::nd::ALL_NODES;
use crate::router::Router;
use crate::tunnel::L3_MAC;

/// Tells everybody on an interface which addresses are at its address of layer 2.
pub fn all(router: &mut Router, interface: InterfaceIndex) {
    let addresses: Vec<_> = own(router.addresses.of(interface)).collect();
    some(router, interface, &addresses);
}

/// The same of some of its addresses.
pub fn some(router: &mut Router, interface: InterfaceIndex, addresses: &[IpAddr]) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    for addr in addresses {
        let frame = match *addr {
            IpAddr::V4(addr) => announcement4(mac, addr),
            IpAddr::V6(addr) => announcement6(mac, addr),
        };
        let of = IpVersion::from(*addr) as usize;
        let counter = router.neighbors().counters[of].tx.gratuitous.clone();
        send_counted(router, interface, frame, &counter);
    }
}

/// Addresses of an interface in the order in which they are announced.
fn own(on: &OnInterface) -> impl Iterator<Item = IpAddr> {
    let ip4 = on.ip4.iter().map(|p| IpAddr::V4(p.addr()));
    let ip6 = on.link_local.into_iter().chain(on.ip6.iter().map(|p| p.addr()));
    ip4.chain(ip6.map(IpAddr::V6))
}

/// Announces the addresses that an interface gets while it is up (RFC 5227 section 2.3), once all
/// features are notified: an address that is not known to be unique waits for that. A known remote
/// end needs no address resolution.
pub(super) fn follow_addresses(
    router: &mut Router,
    interface: InterfaceIndex,
    before: &OnInterface,
) {
    if !is_announced_on(router, interface) || router.setting::<Strict>(interface).0 {
        return;
    }
    let had: Vec<_> = own(before).collect();
    let new = own(router.addresses.of(interface)).filter(|addr| !had.contains(addr));
    let new: Vec<_> = new.map(|addr| (interface, addr)).collect();
    let unannounced = &mut router.neighbors_mut().unannounced;
    unannounced.extend(new);
    if !unannounced.is_empty() {
        process::announce_soon(router);
    }
}

/// Announces the addresses that interfaces got.
pub(super) fn announce_new(router: &mut Router) {
    for (interface, addr) in std::mem::take(&mut router.neighbors_mut().unannounced) {
        let on = router.addresses.of(interface);
        let is_tentative = match addr {
            IpAddr::V4(_) => false,
            IpAddr::V6(addr) => on.standing(addr) == Some(AddressState::Tentative),
        };
        let is_there = own(on).any(|own| own == addr);
        if is_there && !is_tentative && is_announced_on(router, interface) {
            some(router, interface, &[addr]);
        }
    }
}

/// Whether an interface is up, and its link one of neighbours that ask for addresses. A port of a
/// bridge has none of its own, unless it is the domain's way to the router, a loopback; the far end
/// of a tunnel asks when it needs to, and counts what is sent through it, as in the original.
fn is_announced_on(router: &Router, interface: InterfaceIndex) -> bool {
    let port = router.interfaces.port(interface);
    router.interfaces.at(interface).is_some_and(|i| {
        let has_neighbors = i.kind == Kind::Ethernet && i.mac != L3_MAC && !i.is_point_to_point();
        let is_routed = port.is_some_and(|port| port.mode == Mode::Layer3);
        i.admin_up
            && i.link_up
            && has_neighbors
            && (is_routed || i.hardware == "Loopback")
            && router.outer_of_tunnel(interface).is_none()
    })
}

/// Asks a neighbour whether it is still there.
pub(super) fn probe(router: &mut Router, (interface, addr): Key) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let on = router.addresses.of(interface);
    let frame = match addr {
        IpAddr::V4(target) => {
            let borrowed = on.borrowed.iter().flat_map(|b| &b.ip4);
            let ours = on.ip4.iter().chain(borrowed).find(|p| p.contains(target));
            ours.map(|p| V4::question(mac, p.addr(), target).as_bytes().to_vec())
        }
        IpAddr::V6(target) => {
            on.link_local.map(|ours| V6::question(mac, ours, target).as_bytes().to_vec())
        }
    };
    if let Some(frame) = frame {
        let counter =
            router.neighbors().counters[IpVersion::from(addr) as usize].tx.requests.clone();
        send_counted(router, interface, frame, &counter);
    }
}

fn announcement4(mac: MacAddr, addr: Ipv4Addr) -> Vec<u8> {
    V4::question(mac, addr, addr).as_bytes().to_vec()
}

/// The frame that tells everybody on a link that `addr` is at `mac`.
pub fn announcement6(mac: MacAddr, addr: Ipv6Addr) -> Vec<u8> {
    let to = MacAddr::for_ip6_group(ALL_NODES);
    let flags = nd::ROUTER | nd::OVERRIDE;
    NdFrame::advertisement(mac, to, addr, ALL_NODES, flags).as_bytes().to_vec()
}

fn send_counted(
    router: &mut Router,
    interface: InterfaceIndex,
    frame: Vec<u8>,
    counter: &Rows<Counter>,
) {
    let (counter, at) = (counter.clone(), interface.0);
    let thread = router.engine.data_threads().start;
    // On the thread that sends: a counter has one writer.
    send_after(router, interface, frame, move || count(&counter, thread, at));
}

/// Sends a frame, with its layer 2 header, out of an interface.
pub fn send(router: &mut Router, interface: InterfaceIndex, frame: Vec<u8>) {
    send_after(router, interface, frame, || ());
}

fn send_after(
    router: &mut Router,
    interface: InterfaceIndex,
    frame: Vec<u8>,
    before: impl FnOnce() + Send + 'static,
) {
    let Some(output) = router.interfaces.at(interface).map(|i| i.output) else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, output, frame, move |p| {
        before();
        p.set_tx(interface.0);
        p.add_flags(Flags::LOCAL);
    });
}
