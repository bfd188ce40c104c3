//! Health of session tables: whether there is room for new sessions.
#![forbid(unsafe_code)]

use net::Router;
use net::health::{Check, Findings, Severity};

use super::Listed;

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "session-tables",
        about: "there is room for new sessions",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    for (table, count) in router.own::<Listed>().0.clone() {
        for (thread, usage) in count(router).into_iter().enumerate() {
            let (sessions, refused) = (usage.sessions, usage.refused);
            if sessions == 0 || sessions < usage.limit || refused == 0 {
                continue;
            }
            let text = format!(
                "thread {thread} has {sessions} sessions, as many as it may, and refused {refused} \
                 new ones (see `show session tables')"
            );
            found.add(Severity::Error, table, text);
        }
    }
}
