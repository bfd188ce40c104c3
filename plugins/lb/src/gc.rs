//! Flows by server, and servers that are forgotten when their last flow is over.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use net::Router;

use crate::servers::forget;
use crate::state::Lb;
use crate::vip::Key;

/// How often somebody looks.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// Entries of a thread's table that are looked at in one visit.
const VISIT: usize = 16_384;

/// Flows by number and generation of their server.
type Counted = BTreeMap<(u32, u32), u64>;

/// How many flows each server has, by number; those of a thread that does not answer are missing.
pub fn count_flows(router: &mut Router) -> BTreeMap<u32, u64> {
    let (flows, now) = (router.own::<Lb>().tables.flows.current().clone(), router.now() as u32);
    let counted = Arc::new(Mutex::new((Counted::new(), false)));
    let mut from = 0;
    loop {
        let (flows, to) = (flows.clone(), Arc::clone(&counted));
        let visited = router.engine.on_threads(move |thread| {
            let Some(table) = flows.lend(thread) else { return };
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            let (counts, is_more) = &mut *to;
            let show = |server, generation| *counts.entry((server, generation)).or_default() += 1;
            *is_more |= table.walk(from, VISIT, now, show).is_some();
        });
        let mut all = counted.lock().unwrap_or_else(PoisonError::into_inner);
        if visited.is_err() || !std::mem::take(&mut all.1) {
            break;
        }
        from += VISIT;
    }
    let all = counted.lock().unwrap_or_else(PoisonError::into_inner);
    let servers = &router.own::<Lb>().tables.servers;
    let is_current = |at, generation| servers.at(at).is_some_and(|s| s.generation == generation);
    let current = all.0.iter().filter(|((at, generation), _)| is_current(*at, *generation));
    current.map(|((at, _), count)| (*at, *count)).collect()
}

/// Forgets servers that left and whose last flow is over.
pub fn collect(router: &mut Router) {
    let leaving = |lb: &Lb| -> Vec<(Key, IpAddr, u32)> {
        let all = lb.vips.iter().flat_map(|(key, declared)| {
            declared.servers.iter().map(move |(addr, server)| (key, addr, server))
        });
        let left = all.filter(|(_, _, server)| !server.is_used);
        left.map(|(key, addr, server)| (*key, *addr, server.number)).collect()
    };
    let left = leaving(router.own::<Lb>());
    if left.is_empty() {
        return;
    }
    let flows = count_flows(router);
    for (key, addr, number) in left {
        if flows.contains_key(&number) {
            continue;
        }
        let Ok(declared) = router.own_mut::<Lb>().vip_mut(&key) else { continue };
        let vip = declared.vip;
        if let Some(server) = declared.servers.remove(&addr) {
            forget(router, &vip, addr, server);
        }
    }
}
