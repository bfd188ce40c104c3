//! Follows what the host does to devices: switched on or off, deleted, another MTU or name. The
//! kernel tells what has changed (rtnetlink(7)), in each network namespace where there are some.
#![forbid(unsafe_code)]

use net::Router;

use super::device;
use super::interface::{Tap, Taps};
use crate::host::netlink::{Link, LinkMonitor};

/// Seconds between two looks at what the kernel tells.
const PERIOD: f64 = 0.2;
/// Number of these between two checks that all devices are there.
const FULL: u32 = 5;

/// Looks from now on, as long as there are interfaces.
pub(super) fn begin(router: &mut Router) {
    router.after(PERIOD, look, 0);
}

fn look(router: &mut Router, _: u64) {
    let looked = router.with(|taps: &mut Taps, router| {
        let list = &mut taps.list;
        taps.news.retain(|news| list.iter().any(|tap| tap.namespace == news.namespace()));
        let told = |news: &mut LinkMonitor| (news.namespace(), news.take());
        let told: Vec<_> = taps.news.iter_mut().map(told).collect();
        taps.looks = taps.looks.wrapping_add(1);
        let is_full = taps.looks.is_multiple_of(FULL);
        for tap in list {
            let here = told.iter().filter(|(namespace, _)| *namespace == tap.namespace);
            let mut links = here.flat_map(|(_, links)| links);
            let last = links.rfind(|link| link.number == tap.device);
            if is_full || last.is_some_and(|link| link.is_gone) {
                look_whether_there(tap, router);
            }
            if let Some(link) = last.filter(|link| !link.is_gone && !tap.is_gone) {
                follow(tap, link, router);
            }
        }
        taps.list.is_empty()
    });
    match looked {
        Some(true) | None => {
            if let Some(taps) = router.state_mut::<Taps>() {
                taps.is_watching = false;
            }
        }
        Some(false) => begin(router),
    }
}

fn look_whether_there(tap: &mut Tap, router: &mut Router) {
    let is_gone = tap.queues.first().is_some_and(|queue| !device::is_there(queue));
    if is_gone && !std::mem::replace(&mut tap.is_gone, true) {
        // A queue without a device would keep its thread awake.
        tap.serving.unwatch(router);
        let name = router.interfaces.name(tap.index.0);
        let log = router.log.class("tap", "default");
        log.warn(format_args!("the device of {name} was deleted"));
        router.set_link(tap.index, false);
    }
}

/// The kernel takes nothing for a device that is switched off. That it has no carrier says only
/// that its interface is down.
fn follow(tap: &mut Tap, link: &Link, router: &mut Router) {
    if let Some(mtu) = link.mtu
        && mtu != std::mem::replace(&mut tap.mtu, mtu)
    {
        router.follow_device_mtu(tap.index, mtu);
    }
    if link.name.is_some() && link.name != tap.wanted.host.name {
        tap.wanted.host.name.clone_from(&link.name);
    }
    router.set_link(tap.index, link.is_up);
}
