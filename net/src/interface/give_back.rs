//! Memory of many interfaces that are gone.

use infra::memory;

use crate::router::Router;

/// So many are worth the work.
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
    router.interfaces.give_back();
    router.engine.give_back();
    memory::trim();
}
