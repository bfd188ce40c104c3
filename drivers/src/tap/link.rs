//! Notices, once a second, that the host has deleted a device: its interface has no link then.
#![forbid(unsafe_code)]

use net::Router;

use super::device;
use super::interface::Taps;

/// Seconds between two looks.
const PERIOD: f64 = 1.0;

/// Looks from now on, as long as there are interfaces.
pub(super) fn begin(router: &mut Router) {
    router.after(PERIOD, look, 0);
}

fn look(router: &mut Router, _: u64) {
    let looked = router.with(|taps: &mut Taps, router| {
        for tap in &mut taps.list {
            let is_gone = tap.queues.first().is_some_and(|queue| !device::is_there(queue));
            if is_gone && !std::mem::replace(&mut tap.is_gone, true) {
                // A queue without a device would keep its thread awake.
                tap.serving.unwatch(router);
                let name = router.interfaces.name(tap.index.0);
                let log = router.log.class("tap", "");
                log.warn(format_args!("the device of {name} was deleted"));
                router.set_link(tap.index, false);
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
