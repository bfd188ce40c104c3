//! Work on tables that takes long, done a slice at a time among control's other work.
//!
//! Emptying a table of a million routes takes seconds. The first slice is done at once, which is
//! all of it for most tables, the others on a timer. Who comes to the table meanwhile, to change it
//! or to look, has the rest done first: nobody meets a table that is half empty. So it is with the
//! routes over a deleted interface: their path lists lead elsewhere at once, the routes go later.

use std::collections::VecDeque;

use super::family::{Family, Ip4, Ip6};
use super::path::TableIndex;
use crate::adjacency::Link;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Routes changed between two looks at the rest of control.
pub const SLICE: usize = 500;
/// Seconds between two slices, for others.
const PAUSE: f64 = 0.0005;

impl Chores {
    /// The table of each, and the deleted interface that it is about.
    pub fn iter(&self) -> impl Iterator<Item = ((Link, TableIndex), Option<InterfaceIndex>)> + '_ {
        self.0.iter().map(|chore| (chore.table, chore.over))
    }
}

/// Work on a table of a family.
struct Chore {
    table: (Link, TableIndex),
    /// The deleted interface that the work is about.
    over: Option<InterfaceIndex>,
    /// Does a slice; says whether that was the last one.
    work: Box<dyn FnMut(&mut Router) -> bool>,
}

/// What is left to do; whether it waits until the operator has it go on.
#[derive(Default)]
pub struct Chores(VecDeque<Chore>, bool);

impl Router {
    /// Does work on a table in slices, the first one at once. `work` says when it is done. If it is
    /// about a deleted interface, that is said as `over`.
    pub(super) fn in_slices<F: Family>(
        &mut self,
        table: TableIndex,
        over: Option<InterfaceIndex>,
        mut work: impl FnMut(&mut Self) -> bool + 'static,
    ) {
        if work(self) {
            return;
        }
        if self.fib.chores.0.is_empty() && !self.fib.chores.1 {
            self.after(PAUSE, go_on, 0);
        }
        let work = Box::new(work);
        self.fib.chores.0.push_back(Chore { table: (F::LINK, table), over, work });
    }
    /// Has what is left to do at a table done now.
    #[inline]
    pub(super) fn finish_chores<F: Family>(&mut self, table: TableIndex) {
        if !self.fib.chores.0.is_empty() {
            self.finish_now(|chore| chore.table == (F::LINK, table));
        }
    }
    /// The same of the tables that the operator calls `id`.
    pub(super) fn finish_chores_of(&mut self, id: u32) {
        if let Some(table) = self.fib.table::<Ip4>(id) {
            self.finish_chores::<Ip4>(table);
        }
        if let Some(table) = self.fib.table::<Ip6>(id) {
            self.finish_chores::<Ip6>(table);
        }
    }
    /// The same of a deleted interface, before another one takes its number.
    pub(super) fn finish_chores_over(&mut self, interface: InterfaceIndex) {
        self.finish_now(|chore| chore.over == Some(interface));
    }
    #[cold]
    fn finish_now(&mut self, which: impl Fn(&Chore) -> bool) {
        while let Some(at) = self.fib.chores.0.iter().position(&which) {
            let Some(mut chore) = self.fib.chores.0.remove(at) else { return };
            while !(chore.work)(self) {}
        }
    }
    /// Has work wait, or go on. Who comes to a table has its work done all the same.
    pub(super) fn hold_chores(&mut self, is_held: bool) {
        let was_held = std::mem::replace(&mut self.fib.chores.1, is_held);
        if was_held && !is_held {
            self.after(PAUSE, go_on, 0);
        }
    }
    /// Whether work is left.
    #[cfg(test)]
    pub(super) fn has_chores(&self) -> bool {
        !self.fib.chores.0.is_empty()
    }
}

/// Does the next slice.
pub(super) fn go_on(router: &mut Router, _: u64) {
    if router.fib.chores.1 {
        return;
    }
    if let Some(mut chore) = router.fib.chores.0.pop_front()
        && !(chore.work)(router)
    {
        router.fib.chores.0.push_front(chore);
    }
    if !router.fib.chores.0.is_empty() {
        router.after(PAUSE, go_on, 0);
    }
}
