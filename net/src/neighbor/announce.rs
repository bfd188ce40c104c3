//! Messages that control itself sends to neighbours: announcements (RFC 5227 section 3, RFC 4861
//! section 7.2.6) and questions to those not heard of for long.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::Flags;
use infra::counter::{Counter, Rows};
use wire::{IpVersion, MacAddr, nd};
use zerocopy::IntoBytes;

use super::counters::count;
use super::family::{Family, NdFrame};
use super::table::Key;
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6};
use crate::nd::ALL_NODES;
use crate::router::Router;

/// Tells everybody on an interface which addresses are at its address of layer 2.
pub fn all(router: &mut Router, interface: InterfaceIndex) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let on = router.addresses.of(interface);
    let ip4: Vec<_> = on.ip4.iter().map(|p| announcement4(mac, p.addr())).collect();
    let ip6 = on.link_local.into_iter().chain(on.ip6.iter().map(|p| p.addr()));
    let ip6: Vec<_> = ip6.map(|addr| announcement6(mac, addr)).collect();
    for (of, frames) in [ip4, ip6].into_iter().enumerate() {
        let counter = router.neighbors().counters[of].tx.gratuitous.clone();
        frames.into_iter().for_each(|frame| send_counted(router, interface, frame, &counter));
    }
}

/// Asks a neighbour whether it is still there.
pub(super) fn probe(router: &mut Router, (interface, addr): Key) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let on = router.addresses.of(interface);
    let frame = match addr {
        IpAddr::V4(target) => {
            let ours = on.ip4.iter().find(|p| p.contains(target));
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
