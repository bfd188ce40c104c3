//! Deferred work on tables (FIB walks), run slice by slice among control's other work.
//!
//! Emptying a table of a million routes takes seconds. The first slice runs at once, which is all
//! of it for most tables, the others on a timer. Any access to the table meanwhile finishes the
//! rest first: no table is seen half empty. The same holds for routes over a deleted interface:
//! their path lists lead elsewhere at once, the routes are removed later.

use std::collections::VecDeque;

use super::path::TableIndex;
use crate::adjacency::Link;
use crate::fib::Fib;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Routes changed between two looks at the rest of control.
pub const SLICE: usize = 500;
/// Seconds between two slices, for others.
const PAUSE: f64 = 0.0005;

impl Deferred {
    /// The table of each walk, and the deleted interface that it is for.
    pub fn iter(&self) -> impl Iterator<Item = ((Link, TableIndex), Option<InterfaceIndex>)> + '_ {
        self.0.iter().map(|work| (work.table, work.over))
    }
}

/// Work on a table of a family.
struct DeferredWork {
    table: (Link, TableIndex),
    /// The deleted interface that the work is about.
    over: Option<InterfaceIndex>,
    /// Runs a slice; returns whether it was the last one.
    work: Box<dyn FnMut(&mut Router) -> bool>,
}

/// Deferred work; whether it is held until the operator has it go on.
#[derive(Default)]
pub struct Deferred(VecDeque<DeferredWork>, bool);

impl Router {
    /// Does work on a table in slices, the first one at once. `work` says when it is done. If it is
    /// about a deleted interface, that is said as `over`.
    pub(in crate::fib) fn in_slices<F: Family>(
        &mut self,
        table: TableIndex,
        over: Option<InterfaceIndex>,
        mut work: impl FnMut(&mut Self) -> bool + 'static,
    ) {
        if work(self) {
            return;
        }
        if self.fib.deferred.0.is_empty() && !self.fib.deferred.1 {
            self.after(PAUSE, next_slice, 0);
        }
        let work = Box::new(work);
        self.fib.deferred.0.push_back(DeferredWork { table: (F::LINK, table), over, work });
    }
    /// Finishes the deferred work on a table now.
    #[inline]
    pub(in crate::fib) fn finish_deferred<F: Family>(&mut self, table: TableIndex) {
        if !self.fib.deferred.0.is_empty() {
            self.finish_now(|work| work.table == (F::LINK, table));
        }
    }
    /// The same of the tables that the operator calls `id`.
    pub(in crate::fib) fn finish_deferred_of(&mut self, id: u32) {
        if let Some(table) = self.fib.table::<Ip4>(id) {
            self.finish_deferred::<Ip4>(table);
        }
        if let Some(table) = self.fib.table::<Ip6>(id) {
            self.finish_deferred::<Ip6>(table);
        }
    }
    /// The same of a deleted interface, before another one takes its number.
    pub(super) fn finish_deferred_over(&mut self, interface: InterfaceIndex) {
        self.finish_now(|work| work.over == Some(interface));
    }
    #[cold]
    fn finish_now(&mut self, which: impl Fn(&DeferredWork) -> bool) {
        while let Some(at) = self.fib.deferred.0.iter().position(&which) {
            let Some(mut work) = self.fib.deferred.0.remove(at) else { return };
            while !(work.work)(self) {}
        }
    }
    /// Holds deferred work, or lets it go on. An access to a table finishes its work all the same.
    pub(in crate::fib) fn hold_deferred(&mut self, is_held: bool) {
        let was_held = std::mem::replace(&mut self.fib.deferred.1, is_held);
        if was_held && !is_held {
            self.after(PAUSE, next_slice, 0);
        }
    }
}

impl Fib {
    /// Whether work is left.
    #[cfg(test)]
    pub(in crate::fib) fn has_deferred(&self) -> bool {
        !self.deferred.0.is_empty()
    }
}

/// Runs the next slice.
pub(in crate::fib) fn next_slice(router: &mut Router, _: u64) {
    if router.fib.deferred.1 {
        return;
    }
    if let Some(mut work) = router.fib.deferred.0.pop_front()
        && !(work.work)(router)
    {
        router.fib.deferred.0.push_front(work);
    }
    if !router.fib.deferred.0.is_empty() {
        router.after(PAUSE, next_slice, 0);
    }
}
