//! Health of reassembly: whether fragments are dropped because as many packets as may be are
//! incomplete.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use infra::order::Order;

use super::place::PLACES;
use crate::health::{Check, Findings, Lately, Severity};
use crate::router::Router;

/// The counter of fragments that were dropped so.
const COUNTER: &str = "reass_limit_reached";

/// Counters of nodes at the last look, and what was dropped lately.
#[derive(Default)]
struct Last(HashMap<String, (u64, Lately)>);

pub(super) fn register(router: &mut Router) {
    router.insert(Last::default());
    router.check_health(Check {
        name: "reassembly",
        about: "there was room for all fragments in the last minute",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let is_ours = |node: &str| PLACES.iter().any(|place| place.nodes.contains(&node));
    let counters = router.engine.counters().filter(|c| c.2.name == COUNTER && is_ours(c.1));
    let now: Vec<_> = counters.map(|(_, node, _, count)| (node.to_owned(), count)).collect();
    let time = router.now();
    let Last(last) = router.own_mut::<Last>();
    let mut full = Vec::new();
    for (node, count) in now {
        let (before, lately) = last.entry(node.clone()).or_default();
        let dropped = lately.add(count.saturating_sub(*before), time);
        *before = count;
        if dropped > 0 {
            full.push((dropped, node));
        }
    }
    full.order();
    for (dropped, node) in full {
        let text = format!("had no room for {dropped} fragments: the reassembly table was full");
        found.add(Severity::Error, node, text);
    }
}
