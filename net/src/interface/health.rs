//! Health of interfaces: no link, packets lost at the device.

use std::collections::HashMap;

use super::InterfaceIndex;
use crate::health::{Check, Findings, Severity};
use crate::router::Router;

/// Counters of interfaces at the last look.
#[derive(Default)]
struct Lost(HashMap<(InterfaceIndex, usize), u64>);

pub(super) fn register(router: &mut Router) {
    router.insert(Lost::default());
    router.check_health(Check {
        name: "interfaces",
        about: "interfaces that are up have a link",
        look: links,
    });
    router.check_health(Check {
        name: "rings",
        about: "no packet was lost at a device since the last look",
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
    let mut counts = Vec::new();
    for interface in router.interfaces.iter() {
        let values = router.interfaces.values(interface.index);
        for (at, value) in
            [values.rx_no_buf, values.rx_miss, values.tx_error].into_iter().enumerate()
        {
            counts.push(((interface.index, at), interface.name.clone(), value));
        }
    }
    let before = std::mem::take(&mut router.own_mut::<Lost>().0);
    for (key, name, value) in &counts {
        let lost = value.saturating_sub(before.get(key).copied().unwrap_or(0));
        if lost > 0 {
            let (severity, text) = texts[key.1];
            found.add(severity, name, format!("{lost} {text}"));
        }
    }
    router.own_mut::<Lost>().0 = counts.into_iter().map(|(key, _, value)| (key, value)).collect();
}
