//! Health of reassembly: whether fragments are dropped because as many packets as may be are
//! incomplete.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::place::PLACES;
use crate::health::{Check, Findings, Severity};
use crate::router::Router;

/// The counter of fragments that were dropped so.
const COUNTER: &str = "reass_limit_reached";

/// Counters of nodes at the last look.
#[derive(Default)]
struct Last(HashMap<String, u64>);

pub(super) fn register(router: &mut Router) {
    router.insert(Last::default());
    router.check_health(Check {
        name: "reassembly",
        about: "there was room for all fragments since the last look",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let is_ours = |node: &str| PLACES.iter().any(|place| place.nodes.contains(&node));
    let counters = router.engine.counters().filter(|c| c.2.name == COUNTER && is_ours(c.1));
    let now: HashMap<_, _> = counters.map(|(_, node, _, count)| (node.to_owned(), count)).collect();
    let before = std::mem::replace(&mut router.own_mut::<Last>().0, now.clone());
    let mut full: Vec<_> = now
        .into_iter()
        .map(|(node, count)| (count.saturating_sub(before.get(&node).copied().unwrap_or(0)), node))
        .filter(|(dropped, _)| *dropped > 0)
        .collect();
    full.sort();
    for (dropped, node) in full {
        let text = format!(
            "had no room for {dropped} fragments: as many packets as may be were incomplete"
        );
        found.add(Severity::Error, node, text);
    }
}
