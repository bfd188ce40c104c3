//! Notices, once a second, that a device went up or down, away or came back, and what the kernel
//! had to drop.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event, Wake};
use net::Router;
use rustix::net::sockopt::socket_error;

use super::interface::HostInterfaces;
use super::ring::take_lost;
use super::sockets::look;

/// Name of the process.
const PROCESS: &str = "af-packet-link-process";
/// Time between two looks.
const USUALLY: Duration = Duration::from_secs(1);
/// The same while a device is being opened.
const SOON: Duration = Duration::from_millis(50);

pub(super) fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(look_at_all));
}

/// Has the process look from now on; it rests while there are no interfaces.
pub(super) fn begin(router: &mut Router) {
    router.processes.signal(PROCESS, 0);
}

fn look_at_all(router: &mut Router, _: Event) -> Wake {
    let looked = router.with(|all: &mut HostInterfaces, router| {
        for at in 0..all.list.len() {
            look_at(all, router, at);
        }
        let is_opening = all.list.iter().any(|i| i.reopening.is_some());
        (!all.list.is_empty()).then_some(if is_opening { SOON } else { USUALLY })
    });
    looked.flatten().map_or(Wake::OnEvent, Wake::After)
}

fn look_at(all: &mut HostInterfaces, router: &mut Router, at: usize) {
    let i = &mut all.list[at];
    let now = look(&i.wanted.device);
    for (_, socket) in &i.serving.queues {
        // Takes note of an error, as when the device went down: it would keep the thread awake.
        let _ = socket_error(socket);
    }
    let lost: u64 = i.serving.queues.iter().map(|(_, s)| take_lost(s)).sum();
    i.lost += lost;
    let (index, column) = (i.index, i.index.0 as usize);
    // Nobody but control counts here, so the row is as good as any.
    router.interfaces.counters().rx_miss.row(0)[column].add(lost);
    let result = i.reopening.as_ref().and_then(|opening| opening.result());
    if let Some(opened) = result {
        i.reopening = None;
        let name = i.wanted.device.clone();
        let log = router.log.class("af_packet", "");
        let done = opened.map_err(Into::into).and_then(|sockets| sockets);
        match done.and_then(|sockets| all.replace(router, at, sockets)) {
            Ok(()) => log.notice(format_args!("{name} is another device now: opened again")),
            Err(e) => log.warn(format_args!("cannot open {name} again: {e}")),
        }
    }
    let i = &mut all.list[at];
    let is_same = now.as_ref().is_ok_and(|(_, number)| *number == i.number);
    let is_opened = i.reopening.is_some();
    let running = is_same && now.as_ref().is_ok_and(|(device, _)| device.is_running);
    router.set_link(index, running);
    if let Ok((device, _)) = now {
        if device.speed_kbps != std::mem::replace(&mut i.told.1, device.speed_kbps) {
            // Only a sub-interface refuses it.
            let _ = router.set_link_speed(index, device.speed_kbps);
        }
        if !is_same && !is_opened {
            all.reopen(at);
        }
    }
}
