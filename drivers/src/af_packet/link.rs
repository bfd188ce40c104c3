//! Notices, once a second, that a device went up or down or away, and what the kernel had to drop.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event, Wake};
use net::Router;
use rustix::net::sockopt::socket_error;

use super::interface::HostInterfaces;
use super::ring::{Device, take_lost};

/// Name of the process.
const PROCESS: &str = "af-packet-link-process";

pub(super) fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(look));
}

/// Has the process look from now on; it rests while there are no interfaces.
pub(super) fn begin(router: &mut Router) {
    router.processes.signal(PROCESS, 0);
}

fn look(router: &mut Router, _: Event) -> Wake {
    let looked = router.with(|all: &mut HostInterfaces, router| {
        let counters = router.interfaces.counters();
        for i in &mut all.list {
            let probe = i.senders.first();
            let is_running = |s| Device::named(s, &i.device).is_ok_and(|d| d.is_running);
            let running = probe.is_some_and(is_running);
            for (_, socket) in &i.receivers {
                // Takes note of an error, as when the device went down: it would keep the thread
                // awake.
                let _ = socket_error(socket);
            }
            let lost: u64 = i.receivers.iter().map(|(_, s)| take_lost(s)).sum();
            i.lost += lost;
            // Nobody but control counts here, so the row is as good as any.
            counters.rx_miss.row(0)[i.index.0 as usize].add(lost);
            router.set_link(i.index, running);
        }
        !all.list.is_empty()
    });
    match looked {
        Some(true) => Wake::After(Duration::from_secs(1)),
        _ => Wake::OnEvent,
    }
}
