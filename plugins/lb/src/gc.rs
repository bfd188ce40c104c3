//! Flows of all threads: those of each server, those that go over when threads change, and servers
//! that are forgotten when their last flow is over.

use std::sync::{Mutex, PoisonError};

use net::prelude::*;

use crate::servers::forget;
use crate::state::Lb;
use crate::sticky::Entry;
use crate::vip::Key;

/// Interval of checks.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// Entries of a thread's table that are looked at in one visit.
const VISIT: usize = 16_384;

/// Goes over all flows, each with the thread that saw it last; those of a thread that does not
/// answer are missing.
fn walk<T: Default + Send + 'static>(
    router: &mut Router,
    show: impl Fn(&mut T, usize, &Entry) + Clone + Send + 'static,
) -> T {
    let (flows, now) = (router.own::<Lb>().tables.flows.current().clone(), router.now() as u32);
    let all = Arc::new(Mutex::new((T::default(), false)));
    let mut from = 0;
    loop {
        let (flows, to, show) = (flows.clone(), Arc::clone(&all), show.clone());
        let visited = router.engine.on_threads(move |thread| {
            let Some(table) = flows.lend(thread) else { return };
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            let (all, is_more) = &mut *to;
            *is_more |= table.walk(from, VISIT, now, |entry| show(all, thread, entry)).is_some();
        });
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if visited.is_err() || !std::mem::take(&mut all.1) {
            return std::mem::take(&mut all.0);
        }
        from += VISIT;
    }
}

/// How many flows each server has, by number; those of a thread that does not answer are missing.
pub fn count_flows(router: &mut Router) -> BTreeMap<u32, u64> {
    let all = walk(router, |all: &mut BTreeMap<_, u64>, _, entry| {
        *all.entry((entry.server, entry.generation)).or_default() += 1;
    });
    let servers = &router.own::<Lb>().tables.servers;
    let is_current = |at, generation| servers.at(at).is_some_and(|s| s.generation == generation);
    let current = all.into_iter().filter(|((at, generation), _)| is_current(*at, *generation));
    current.map(|((at, _), count)| (at, count)).collect()
}

/// Gives all remaining threads the flows of all, as far as there is room: their new threads are
/// unknown. Flows of ended threads go to the first one.
///
/// # Errors
/// Threads that do not answer.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let all = walk(router, |all: &mut Vec<_>, thread, entry| all.push((thread, *entry)));
    if all.is_empty() {
        return Ok(());
    }
    let (flows, now) = (router.own::<Lb>().tables.flows.current().clone(), router.now() as u32);
    let (all, stay) = (Arc::new(all), stay.clone());
    for from in (0..all.len()).step_by(VISIT) {
        let (flows, all, stay) = (flows.clone(), Arc::clone(&all), stay.clone());
        let visited = router.engine.on_threads(move |thread| {
            let Some(mut table) = flows.lend(thread) else { return };
            if !stay.contains(&thread) {
                return table.clear();
            }
            for (of, entry) in all[from..].iter().take(VISIT).filter(|(of, _)| *of != thread) {
                let is_heir = thread == stay.start && !stay.contains(of);
                table.adopt(entry, now, !is_heir);
            }
        });
        visited.map_err(|e| e.to_string())?;
    }
    Ok(())
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
