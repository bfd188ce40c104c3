//! Policies on their way to nodes: what changed is made ready, at once where it is small and in
//! slices where it is large, and published together with the rest.

use std::time::Instant;

use net::prelude::*;

use super::list::{Preparing, Ready};
use super::ruleset::Between;
use super::zone::{Pair, Zone};
use super::{Firewall, PROCESS};

/// Combinations of a policy that is made ready at once.
const AT_ONCE: usize = 512;
/// How long a slice may take.
const SLICE: Duration = Duration::from_millis(2);

/// Pending work.
#[derive(Default)]
pub(super) struct Work {
    ready: BTreeMap<Pair, Arc<Ready>>,
    changed: BTreeSet<Pair>,
    now: Option<(Pair, Preparing)>,
}

impl Work {
    /// Whether nodes do not have everything that was set yet.
    pub fn is_pending(&self) -> bool {
        self.now.is_some() || !self.changed.is_empty()
    }
}

/// Publishes changes between these zones, and global parameters, to nodes.
pub(super) fn refresh(router: &mut Router, changed: impl IntoIterator<Item = Pair>) {
    let firewall = router.own_mut::<Firewall>();
    for pair in changed {
        firewall.work.changed.insert(pair);
        // One that is being made ready is out of date.
        firewall.work.now.take_if(|(now, _)| *now == pair);
    }
    let is_small =
        |pair: &Pair| firewall.policies.get(pair).is_none_or(|policy| policy.patterns() <= AT_ONCE);
    if firewall.work.now.is_none() && firewall.work.changed.iter().all(is_small) {
        while firewall.step() {}
        publish(router);
    } else {
        router.processes.signal(PROCESS, 0);
    }
}

/// Goes on with what is to be made ready; whether there is more to do.
pub(super) fn go_on(router: &mut Router) -> bool {
    let firewall = router.own_mut::<Firewall>();
    if !firewall.work.is_pending() {
        return false;
    }
    let begun = Instant::now();
    while begun.elapsed() < SLICE {
        if !firewall.step() {
            publish(router);
            return false;
        }
    }
    true
}

impl Firewall {
    /// Does a slice of what is to be made ready; `false` when all of it is.
    fn step(&mut self) -> bool {
        let Self { work, policies, known, .. } = self;
        if let Some((_, now)) = &mut work.now {
            if now.step()
                && let Some((pair, done)) = work.now.take()
            {
                work.ready.insert(pair, Arc::new(done.finish()));
            }
            return true;
        }
        let Some(pair) = work.changed.pop_first() else { return false };
        match policies.get(&pair) {
            Some(policy) => work.now = Some((pair, Preparing::of(policy, known))),
            None => drop(work.ready.remove(&pair)),
        }
        true
    }
}

/// Publishes everything.
fn publish(router: &mut Router) {
    let firewall = router.own_mut::<Firewall>();
    let mut next = firewall.ruleset.current().next();
    next.options = firewall.options;
    next.clear();
    for (name, zone, settings) in firewall.zones.iter() {
        next.add_zone(zone, name.as_str());
        let within = if settings.permits_within { Between::All } else { Between::Nothing };
        next.set(Pair { from: zone, to: zone }, within);
    }
    next.add_zone(Zone::LOCAL, super::zone::LOCAL);
    for (pair, ready) in &firewall.work.ready {
        next.set(*pair, Between::Policy(Arc::clone(ready)));
    }
    firewall.ruleset.publish(next);
}
