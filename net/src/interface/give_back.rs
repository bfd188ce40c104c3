//! Memory of many interfaces that are gone.

use infra::memory;

use super::counters;
use crate::router::{BY_COUNTER, Router};

/// Deletions that are worth the work.
const MANY: u64 = 500;
/// Deletions after which the heap is trimmed: the sooner, the less there is to do in one go.
const FEW: u64 = 64;
/// Seconds without a deletion after which memory is given back.
const REST_S: f64 = 1.0;

impl Router {
    /// Notes that an interface was deleted.
    pub(super) fn note_deleted(&mut self) {
        let interfaces = &mut self.interfaces;
        interfaces.deleted += 1;
        let deleted = interfaces.deleted;
        let since = deleted - interfaces.given_back;
        if since == MANY {
            self.after(REST_S, give_back, deleted);
        }
        if since.is_multiple_of(FEW) {
            self.after(0.0, |_, _| memory::trim(), 0);
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

/// Parts of the work, each done in slices so that others get their turn between: called with the
/// number of the slice, they say whether there is another.
const PARTS: [fn(&mut Router, usize) -> bool; 7] = [
    |router, _| {
        router.interfaces.give_back();
        false
    },
    |router, _| counters::shrink(&mut router.stats, router.interfaces.end()),
    |router, slice| router.stats.give_back(counters::COLUMNS, slice),
    |router, _| {
        router.engine.give_back();
        false
    },
    |router, _| {
        router.shrink_counters();
        false
    },
    |router, slice| router.stats.give_back(BY_COUNTER, slice),
    |_, _| {
        memory::trim();
        false
    },
];

/// Does a slice of a part: `key` is the number of the part, and below of the slice.
fn step(router: &mut Router, key: u64) {
    let (part, slice) = (key >> 32, key & u64::from(u32::MAX));
    let Some(work) = PARTS.get(part as usize) else { return };
    let next = if work(router, slice as usize) { key + 1 } else { (part + 1) << 32 };
    router.after(0.0, step, next);
}
