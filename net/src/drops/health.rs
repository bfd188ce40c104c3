//! Whether packets are being dropped.

use super::show::State;
use crate::health::{Check, Findings, Severity};
use crate::router::Router;

/// Seconds for which a drop counts as one of now.
const NOW: f64 = 5.0;

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "drops",
        about: "no packet was dropped in the last five seconds",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let now = router.now();
    let lately = router.own::<State>().samples.iter().filter_map(|(error, samples)| {
        let last = samples.back().filter(|sample| now - sample.at < NOW)?;
        let (node, text) = router.engine.counter_text(*error)?;
        let on = router.interfaces.name(last.rx);
        let text = format!("drops packets, among them some from {on}: {}", text.text);
        Some((node.to_owned(), text))
    });
    let mut lately: Vec<_> = lately.collect();
    lately.sort();
    for (node, text) in lately {
        found.add(Severity::Warning, node, text + " (see `show drops')");
    }
}
