//! Numbers of neighbours, and how many there may be.

use control::stats::gauges::Gauges;

use crate::router::Router;

pub(super) fn register(router: &mut Router) {
    router.gauges.push(add);
}

fn add(router: &mut Router, gauges: &mut Gauges) {
    let all = &router.neighbors().table;
    for (at, family) in ["ip4", "ip6"].into_iter().enumerate() {
        let of = [("family", family)];
        gauges.gauge("neighbors", "Neighbours known.", &of, all.count(at) as f64);
        let limit = all.configs[at].limit as f64;
        gauges.gauge("neighbors_limit", "Neighbours at most; 0 for any number.", &of, limit);
        if all.refused[at] > 0 {
            let help = "Neighbours not learned for want of room.";
            gauges.counter("neighbors_refused", help, &of, all.refused[at] as f64);
        }
    }
}
