//! The end of sessions: those that are over, and those that make room for others.

use net::prelude::*;
use sessions::Usage;

use super::Sfdp;
use super::session::{Family, Gone, Ip4, Ip6, One};
use super::user::User;

/// Time until the next round while there is more to end.
const SOON: Duration = Duration::from_millis(1);

/// A round of the process.
pub(super) fn round(router: &mut Router, interval: Duration) -> Wake {
    let sfdp = router.own::<Sfdp>();
    if sfdp.by_id.is_empty() {
        return Wake::AfterOrEvent(Duration::from_secs(1).max(interval));
    }
    let gone = Gone::default();
    let more = [
        expire_of::<Ip4>(router, &gone),
        expire_of::<Ip6>(router, &gone),
        expire_of::<User>(router, &gone),
    ];
    gone.release(&mut router.own_mut::<Sfdp>().owners);
    Wake::AfterOrEvent(if more.contains(&true) { SOON } else { interval })
}

fn expire_of<F: Family>(router: &mut Router, gone: &Gone) -> bool {
    let sfdp = router.own::<Sfdp>();
    let (core, margin, gone) = (sfdp.core.clone(), sfdp.limits.margin, gone.clone());
    let of = F::of(&core).clone();
    let seed = of.seed();
    of.expire_after(router, 0.0, margin, move |thread, _, session: &One<F::Address>| {
        core.count_end(thread, &session.data);
        gone.push::<F>(seed, session);
    })
}

/// Totals of the tables of all threads.
pub(super) fn usage(router: &mut Router) -> Vec<Usage> {
    let core = router.own::<Sfdp>().core.clone();
    let mut rows = Ip4::of(&core).usage(router).unwrap_or_default();
    for others in [Ip6::of(&core).usage(router), User::of(&core).usage(router)] {
        for (row, other) in rows.iter_mut().zip(others.unwrap_or_default()) {
            *row += other;
        }
    }
    rows
}
