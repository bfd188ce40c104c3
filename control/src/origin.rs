//! The origin of the running command: a session of the command line, a client of the binary API, or
//! the router itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::rc::Rc;

/// Most origins that are remembered as having changed something.
const MOST: usize = 64;

thread_local! {
    static CURRENT: RefCell<Option<Rc<str>>> = const { RefCell::new(None) };
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    static CHANGED: RefCell<BTreeSet<Rc<str>>> = const { RefCell::new(BTreeSet::new()) };
}

/// The name of the current origin; `the router` by default.
pub fn current() -> Rc<str> {
    CURRENT.with_borrow(|current| current.clone().unwrap_or_else(|| "the router".into()))
}

/// Makes `origin` the current one until the guard is dropped.
#[must_use = "it is left again when this is dropped"]
pub fn enter(origin: &Rc<str>) -> Entered {
    Entered(CURRENT.replace(Some(Rc::clone(origin))), PhantomData)
}

/// The name of a user of this machine, or the number of one without.
pub(crate) fn user(uid: u32) -> String {
    let number = uid.to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&number)).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

/// Notes that the current origin may have changed something.
pub(crate) fn note_change() {
    CHANGES.set(CHANGES.get() + 1);
    CHANGED.with_borrow_mut(|changed| {
        let current = current();
        if changed.len() < MOST && !changed.contains(&current) {
            changed.insert(current);
        }
    });
}

/// Number of commands and requests so far that may have changed something.
pub fn changes() -> u64 {
    CHANGES.get()
}

/// Runs commands of another router: they change nothing here.
pub fn elsewhere<T>(work: impl FnOnce() -> T) -> T {
    let (count, changed) = (CHANGES.get(), CHANGED.take());
    let result = work();
    CHANGES.set(count);
    CHANGED.set(changed);
    result
}

/// The origins that may have changed something since the last call.
pub fn take_changes() -> BTreeSet<Rc<str>> {
    CHANGED.take()
}

/// Makes an origin the current one during its lifetime.
#[derive(Debug)]
pub struct Entered(Option<Rc<str>>, PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}
