//! Health of interfaces: no link, packets lost at the device.

use std::collections::HashMap;

use super::InterfaceIndex;
use crate::health::{Check, Findings, Lately, Severity};
use crate::router::Router;

/// Counters of interfaces at the last look, and what was lost lately.
#[derive(Default)]
struct Lost(HashMap<(InterfaceIndex, usize), (u64, Lately)>);

pub(super) fn register(router: &mut Router) {
    router.insert(Lost::default());
    router.check_health(Check {
        name: "interfaces",
        about: "interfaces that are up have a link",
        look: links,
    });
    router.check_health(Check {
        name: "rings",
        about: "no packet was lost at a device in the last minute",
        look: rings,
    });
}

fn links(router: &mut Router, found: &mut Findings) {
    for interface in router.interfaces.iter() {
        let is_alone = match interface.is_sub() {
            true => router.interfaces.at(interface.sup).is_none_or(|parent| parent.link_up),
            false => true,
        };
        // A sub-interface without a link is its parent's trouble.
        if interface.admin_up && !interface.link_up && is_alone {
            let text = "is up, but has no link: is something at the other end, and is it up?";
            found.add(Severity::Error, &interface.name, text);
        }
        if interface.is_sub() && interface.admin_up {
            let parent = router.interfaces.at(interface.sup).filter(|parent| !parent.admin_up);
            if let Some(parent) = parent {
                let text = format!("is up, but {}, which carries it, is not", parent.name);
                found.add(Severity::Error, &interface.name, text);
            }
        }
    }
}

fn rings(router: &mut Router, found: &mut Findings) {
    let texts = [
        (Severity::Error, "received packets were lost for want of buffers"),
        (Severity::Warning, "received packets were lost before they were taken: a full ring"),
        (Severity::Warning, "packets could not be sent: a full ring, or a device that is down"),
    ];
    let time = router.now();
    let mut before = std::mem::take(&mut router.own_mut::<Lost>().0);
    let mut now = HashMap::new();
    for interface in router.interfaces.iter() {
        let values = router.interfaces.values(interface.index);
        for (at, value) in
            [values.rx_no_buf, values.rx_miss, values.tx_error].into_iter().enumerate()
        {
            let key = (interface.index, at);
            let (counted, mut lately) = before.remove(&key).unwrap_or_default();
            let lost = lately.add(value.saturating_sub(counted), time);
            now.insert(key, (value, lately));
            if lost > 0 {
                let (severity, text) = texts[at];
                found.add(severity, &interface.name, format!("{lost} {text}"));
            }
        }
    }
    router.own_mut::<Lost>().0 = now;
}
