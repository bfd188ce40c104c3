//! Columns of counters that serve a new object.

use control::stats::Columns;
use infra::counter::{Rows, VolumeCounter};

use crate::router::Router;

impl Router {
    /// Makes the counters of a new object, which may have been another one's, start at zero where
    /// clients see them. `what` is the name of such objects in the log.
    pub fn count_from_zero(
        &mut self,
        counters: &Rows<VolumeCounter>,
        columns: Columns,
        index: u32,
        what: &'static str,
    ) {
        let (counters, at) = (counters.clone(), index as usize);
        let has_counted = counters.sum(at).packets > 0;
        let zero = move |thread| counters.zero(thread, at..at + 1);
        let is_lost = has_counted && self.engine.on_threads(zero).is_err();
        let len = (at + 1).next_power_of_two().max(64);
        if is_lost || self.stats.grow(columns, len).is_err() {
            let log = self.log.class("stats", what);
            log.warn(format_args!("some {what} lack counters"));
        }
    }
}
