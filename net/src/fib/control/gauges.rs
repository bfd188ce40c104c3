//! Numbers of routes, by table and source.

use control::stats::gauges::Gauges;

use crate::fib::family::{Family, Ip4, Ip6};
use crate::router::Router;

pub(in crate::fib) fn register(router: &mut Router) {
    router.gauges.push(|router, gauges| {
        routes::<Ip4>(router, "ip4", gauges);
        routes::<Ip6>(router, "ip6", gauges);
    });
}

fn routes<F: Family>(router: &Router, family: &str, gauges: &mut Gauges) {
    let sources: Vec<_> = router.fib.sources.iter().collect();
    for (_, table) in F::tables(&router.fib).iter() {
        let id = table.id.to_string();
        for (source, name) in &sources {
            let count = table.count(*source);
            if count > 0 {
                let labels = [("family", family), ("table", &*id), ("source", name)];
                let help =
                    "Routes of a table and a source; a prefix counts for each of its sources.";
                gauges.gauge("routes", help, &labels, count.into());
            }
        }
        let of = [("family", family), ("table", &*id)];
        let help = "Prefixes of a table.";
        gauges.gauge("prefixes", help, &of, table.entries.len() as f64);
    }
}
