//! Whether packets are being dropped.

use super::show::State;
use crate::health::{Check, Findings, Severity};
use crate::interface::InterfaceIndex;
use crate::router::Router;
use infra::order::Order;

/// Seconds for which a drop counts as one of now.
const NOW: f64 = 5.0;

/// Traffic that every host on a link receives: names of nodes and counters.
const NOISE: &[(&str, &str)] = &[
    ("arp-input", "gratuitous_arp"),
    ("arp-input", "l3_dst_address_not_local"),
    ("arp-reply", "gratuitous_arp"),
    ("arp-reply", "l3_dst_address_not_local"),
    ("ethernet-input", "l3 mac mismatch"),
    ("cdp-input", "cdp packets received on disabled interfaces"),
    ("lacp-input", "lacp packets received on disabled interfaces"),
    ("lldp-input", "lldp packets received on disabled interfaces"),
];

/// Whether nothing is wrong when a node drops packets for this reason.
fn is_noise(node: &str, reason: &str) -> bool {
    NOISE.contains(&(node, reason))
}

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "drops",
        about: "no packet was lost in the last five seconds but what every host on a link gets",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let now = router.now();
    let lately = router.own::<State>().samples.iter().filter_map(|(error, samples)| {
        let last = samples.back().filter(|sample| now - sample.at < NOW)?;
        let (node, text) = router.engine.counter_text(*error)?;
        // A loopback hears what the router says on it.
        let hardware = router.interfaces.at(InterfaceIndex(last.rx)).map(|i| i.hardware);
        let is_echo = text.name == "l3_src_address_is_local" && hardware == Some("Loopback");
        if text.severity != "error" || is_echo || is_noise(node, text.name) {
            return None;
        }
        let on = router.interfaces.name(last.rx);
        let text = format!("drops packets, some of them from {on}: {}", text.text);
        Some((node.to_owned(), text))
    });
    let mut lately: Vec<_> = lately.collect();
    lately.order();
    for (node, text) in lately {
        found.add(Severity::Warning, node, text + " (see `show drops')");
    }
}
