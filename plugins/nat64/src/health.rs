//! Health of NAT64: whether sessions that begin outside have room.

use net::health::{Check, Findings, Severity};
use net::prelude::*;

use crate::out2in::has_room;
use crate::state::Nat;

pub fn register(router: &mut Router) {
    router.check_health(Check {
        name: "nat64",
        about: "packets from outside may begin sessions",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let Some(all) = router.own::<Nat>().all.current().clone() else { return };
    for (thread, usage) in all.sessions.usage(router).unwrap_or_default().iter().enumerate() {
        if usage.sessions > 0 && !has_room(usage) {
            let text = format!(
                "thread {thread} has {} of {} sessions: packets from outside begin no others",
                usage.sessions, usage.limit
            );
            found.add(Severity::Warning, "NAT64", text);
        }
    }
}
