//! Follows what the host does to devices: switched on or off, deleted, another MTU or name. The
//! kernel tells what has changed (rtnetlink(7)), in each network namespace with some, and
//! so wakes the process; whether a device is still there is looked at once a second.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::time::Duration;

use control::process::{Event, Wake};
use net::Router;

use super::device;
use super::interface::{Tap, Taps};
use crate::host::netlink::{Link, LinkMonitor};

/// Name of the process.
pub(super) const PROCESS: &str = "tap-link-process";
/// Pause between the first message and the look at it and what follows: what changes in one go, as
/// when a device is switched off and deleted, is looked at in one go.
const SOON: Duration = Duration::from_millis(50);

pub(super) fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(look));
}

fn look(router: &mut Router, event: Event) -> Wake {
    if let Event::Signal(_) = event {
        return Wake::After(SOON);
    }
    let looked = router.with(|taps: &mut Taps, router| {
        let list = &mut taps.list;
        taps.news.retain(|news| list.iter().any(|tap| tap.namespace == news.namespace()));
        let told = |news: &mut LinkMonitor| (news.namespace(), news.take());
        let told: Vec<_> = taps.news.iter_mut().map(told).collect();
        let is_full = router.now() >= taps.due;
        if is_full {
            taps.due = router.now() + router.until_next_second();
        }
        // The last that was said of each device.
        let mut lasts = HashMap::new();
        for (namespace, links) in &told {
            lasts.extend(links.iter().map(|link| ((*namespace, link.number), link)));
        }
        for tap in list {
            let last = lasts.get(&(tap.namespace, tap.device)).copied();
            if is_full || last.is_some_and(|link| link.is_gone) {
                look_whether_there(tap, router);
            }
            if let Some(link) = last.filter(|link| !link.is_gone && !tap.is_gone) {
                follow(tap, link, router);
            }
        }
        let pause = Duration::from_secs_f64((taps.due - router.now()).max(0.0));
        (!taps.list.is_empty()).then_some(match () {
            () if taps.news.iter().any(LinkMonitor::is_asking) => Wake::After(SOON),
            () => Wake::AfterOrEvent(pause),
        })
    });
    looked.flatten().unwrap_or(Wake::OnEvent)
}

fn look_whether_there(tap: &mut Tap, router: &mut Router) {
    let is_gone = tap.queues.first().is_some_and(|queue| !device::is_there(queue));
    if is_gone && !std::mem::replace(&mut tap.is_gone, true) {
        // A queue without a device would keep its thread awake.
        tap.serving.unwatch(router);
        let name = router.interfaces.name(tap.index.0);
        let log = router.log.class("tap", "default");
        log.warn(format_args!("the device of {name} was deleted"));
        router.lose_device(tap.index);
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
