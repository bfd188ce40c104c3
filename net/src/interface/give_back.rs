//! Memory of many interfaces that are gone.

use infra::memory;

use super::counters;
use crate::router::Router;

/// Deletions that are worth the work.
const MANY: u64 = 500;
/// Seconds without a deletion after which memory is given back.
const REST_S: f64 = 1.0;

impl Router {
    /// Notes that an interface was deleted.
    pub(super) fn note_deleted(&mut self) {
        let interfaces = &mut self.interfaces;
        interfaces.deleted += 1;
        let deleted = interfaces.deleted;
        if deleted - interfaces.given_back == MANY {
            self.after(REST_S, give_back, deleted);
        }
    }
}

/// Gives memory back, unless interfaces were deleted meanwhile: then later.
fn give_back(router: &mut Router, deleted: u64) {
    let now = router.interfaces.deleted;
    if now != deleted {
        router.after(REST_S, give_back, now);
        return;
    }
    router.interfaces.given_back = now;
    step(router, 0);
}

/// Parts of the work, each done by itself so that others get their turn between.
const STEPS: [fn(&mut Router); 4] = [
    |router| {
        router.interfaces.give_back();
        let end = router.interfaces.end();
        counters::give_back(&mut router.stats, end);
    },
    |router| router.engine.give_back(),
    Router::give_back_counters,
    |_| memory::trim(),
];

fn step(router: &mut Router, number: u64) {
    let Some(work) = STEPS.get(number as usize) else { return };
    work(router);
    router.after(0.0, step, number + 1);
}
