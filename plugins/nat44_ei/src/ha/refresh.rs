//! Packets and bytes of sessions, as they are sent to the standby.

use net::prelude::*;
use sessions::Walked;
use translation::session::NatSession;

use super::format::{Change, REFRESH};
use super::{Ha, changes_of};
use crate::state::Nat;

/// Sessions that are looked at before others have their turn.
const SLICE: usize = 2048;

/// Notes what has passed of sessions since the last time. Of a single packet the standby knows.
pub(super) fn refresh(router: &mut Router) {
    let now = router.now();
    let ha = router.own_mut::<Ha>();
    let since = std::mem::replace(&mut ha.refreshed, now);
    if !*ha.is_wanted.current() || ha.failover.is_some_and(|f| f.refresh_interval == 0) {
        return;
    }
    let all = changes_of(router, REFRESH, move |s| s.heard() > since && s.packets > 1);
    router.own_mut::<Ha>().waiting.extend(all);
}

/// Notes what has passed of some sessions; whether there are more.
pub(super) fn refresh_some(router: &mut Router) -> bool {
    let ha = router.own_mut::<Ha>();
    let (Some((from, since)), true) = (ha.refreshing.take(), *ha.is_wanted.current()) else {
        return false;
    };
    let Some(sessions) = router.own::<Nat>().sessions.current().clone() else { return false };
    let look = move |_, s: &mut NatSession| {
        let is_meant = s.heard() > since && s.packets > 1;
        Walked::keep(is_meant.then(|| Change::of(REFRESH, s)).flatten())
    };
    // Those of a thread that does not answer are noted the next time.
    let (some, next) = sessions.walk_some(router, from, SLICE, look).unwrap_or_default();
    let ha = router.own_mut::<Ha>();
    ha.waiting.extend(some);
    ha.refreshing = next.map(|place| (place, since));
    next.is_some()
}
