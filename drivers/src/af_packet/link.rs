//! Follows what the host does to devices: up or down, away or back, another MTU, speed or name; and
//! counts what the kernel had to drop. The kernel tells what has changed (rtnetlink(7)) and wakes
//! the process; once a second all devices are looked at anyway.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use control::process::{Event, Wake};
use net::Router;
use rustix::net::sockopt::socket_error;

use super::interface::HostInterfaces;
use super::ring::take_lost;
use super::sockets::look;
use crate::host::netlink::{Link, LinkMonitor};

/// Name of the process.
const PROCESS: &str = "af-packet-link-process";
/// Pause between the first message and the look at it and what follows, so that what changes in one
/// go is looked at in one go; and between two looks at all devices while one is being opened.
const SOON: Duration = Duration::from_millis(50);

pub(super) fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(look_at_all));
}

/// Starts link polling; paused while there are no interfaces.
pub(super) fn begin(router: &mut Router) {
    let begun = router.with(|all: &mut HostInterfaces, router| {
        if all.news.is_none() && !all.list.is_empty() {
            let news = LinkMonitor::open()?;
            router.processes.watch(PROCESS, news.as_fd())?;
            all.news = Some(news);
        }
        Ok::<_, io::Error>(())
    });
    if let Some(Err(e)) = begun {
        let log = router.log.class("af_packet", "default");
        log.warn(format_args!("devices are polled only once a second: {e}"));
    }
    router.processes.signal(PROCESS, 0);
}

fn look_at_all(router: &mut Router, event: Event) -> Wake {
    if let Event::Signal(_) = event {
        return Wake::After(SOON);
    }
    let looked = router.with(|all: &mut HostInterfaces, router| {
        let news = all.news.as_mut().map(LinkMonitor::take).unwrap_or_default();
        let is_opening = |all: &HostInterfaces| all.list.iter().any(|i| i.reopening.is_some());
        let is_due = is_opening(all) || router.now() >= all.due;
        if is_due {
            all.due = router.now() + router.until_next_second();
        }
        for at in 0..all.list.len() {
            let i = &all.list[at];
            let is_it = |link: &Link| {
                link.number == i.number || link.name.as_ref() == Some(&i.wanted.device)
            };
            if is_due || news.iter().any(is_it) {
                look_at(all, router, at);
            }
        }
        let is_asking = all.news.as_ref().is_some_and(LinkMonitor::is_asking);
        let pause = Duration::from_secs_f64((all.due - router.now()).max(0.0));
        (!all.list.is_empty()).then_some(match () {
            () if is_opening(all) || is_asking => Wake::After(SOON),
            () => Wake::AfterOrEvent(pause),
        })
    });
    looked.flatten().unwrap_or(Wake::OnEvent)
}

/// Looks at the device of the interface with a number.
pub(super) fn look_now(router: &mut Router, number: u64) {
    router.with(|all: &mut HostInterfaces, router| {
        if let Some(at) = all.list.iter().position(|i| u64::from(i.index.0) == number) {
            look_at(all, router, at);
        }
    });
}

fn look_at(all: &mut HostInterfaces, router: &mut Router, at: usize) {
    let i = &mut all.list[at];
    for (_, socket) in &i.serving.queues {
        // Takes note of an error, as when the device went down: it would keep the thread awake.
        let _ = socket_error(socket);
    }
    let lost: u64 = i.serving.queues.iter().map(|(_, s)| take_lost(s)).sum();
    i.lost += lost;
    let (index, column) = (i.index, i.index.0 as usize);
    // Only control counts here, so any row will do.
    router.interfaces.counters().rx_miss.row(0)[column].add(lost);
    let result = i.reopening.as_ref().and_then(|opening| opening.result());
    if let Some(opened) = result {
        i.reopening = None;
        let name = i.wanted.device.clone();
        let log = router.log.class("af_packet", "default");
        let done = opened.map_err(Into::into).and_then(|sockets| sockets);
        match done.and_then(|sockets| all.replace(router, at, sockets)) {
            Ok(()) => log.notice(format_args!("{name} is a different device now: reopened")),
            Err(e) => log.warn(format_args!("cannot reopen {name}: {e}")),
        }
    }
    let i = &mut all.list[at];
    let Ok(now) = look(Some(i.number), &i.wanted.device) else {
        return router.lose_device(index);
    };
    if now.number != i.number {
        router.set_link(index, false);
        if i.reopening.is_none() {
            all.reopen(at);
        }
        return;
    }
    if now.name != i.name {
        let log = router.log.class("af_packet", "default");
        log.notice(format_args!("device {} was renamed to {}", i.name, now.name));
        i.name = now.name;
    }
    let (mtu, speed) = (now.device.mtu, now.device.speed_kbps);
    let before = std::mem::replace(&mut i.told, (mtu, speed));
    if mtu != before.0 {
        router.follow_device_mtu(index, mtu);
    }
    if speed != before.1 {
        router.interfaces.follow_device_speed(index, speed);
    }
    router.set_link(index, now.device.is_running);
}
