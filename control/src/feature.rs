//! Features of the router: a name, what it requires, and a function that registers its parts.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use crate::configuration::Configuration;

pub use control_derive::Refusal;

/// The owner of what was registered: a number for each plugin that can be unloaded, given once.
///
/// Control has one thread, and what it registers belongs to the owner that was last entered
/// ([`Owner::enter`]); so no list of hooks asks whose they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner(pub u32);

thread_local! {
    static CURRENT: Cell<Owner> = const { Cell::new(Owner::CORE) };
    static LAST: Cell<u32> = const { Cell::new(0) };
    static GONE: RefCell<HashSet<Owner>> = RefCell::default();
}

impl Owner {
    /// Owner of what stays as long as the router.
    pub const CORE: Self = Self(0);

    /// An owner that nothing belongs to yet.
    pub fn next() -> Self {
        LAST.set(LAST.get() + 1);
        Self(LAST.get())
    }

    /// The owner of what is registered now.
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Makes this the owner of everything registered until the guard is dropped.
    #[must_use = "it is left again when this is dropped"]
    pub fn enter(self) -> Entered {
        Entered(CURRENT.replace(self), PhantomData)
    }

    /// Ends everything that belongs to this owner: its hooks are no longer called.
    pub fn end(self) {
        assert_ne!(self, Self::CORE, "the core stays");
        GONE.with_borrow_mut(|gone| gone.insert(self));
    }

    /// Whether it has not ended.
    pub fn is_there(self) -> bool {
        self == Self::CORE || GONE.with_borrow(|gone| !gone.contains(&self))
    }
}

/// Makes an owner own registrations during its lifetime; then the previous one does.
#[derive(Debug)]
pub struct Entered(Owner, PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// A list that features register in: each entry is there as long as its owner.
#[derive(Clone, Debug)]
pub struct Registered<T>(Vec<(Owner, T)>);

impl<T> Default for Registered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Registered<T> {
    /// Adds an entry of the current owner.
    pub fn push(&mut self, entry: T) {
        self.0.retain(|(owner, _)| owner.is_there());
        self.0.push((Owner::current(), entry));
    }

    /// The entries, in the order of registration.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.0.iter().filter(|(owner, _)| owner.is_there()).map(|(_, entry)| entry)
    }

    /// The entries, for changing.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().filter(|(owner, _)| owner.is_there()).map(|(_, entry)| entry)
    }

    /// The entries of an owner.
    pub fn of(&self, owner: Owner) -> impl Iterator<Item = &T> {
        self.0.iter().filter(move |(of, _)| *of == owner).map(|(_, entry)| entry)
    }
}

/// One optional part of the router. `R` is the function that registers its commands, nodes and
/// other parts, `C` the router.
pub struct Feature<R, C> {
    /// Its name in `plugins { plugin NAME { enable } }`.
    pub name: &'static str,
    /// One line for `show plugins`.
    pub about: &'static str,
    /// Its kind in the original.
    pub origin: Origin,
    /// Whether it is enabled by default.
    pub default_enabled: bool,
    /// Features without which it cannot be: their state is asked for, or their nodes are at the end
    /// of its edges. In any order, and also of each other.
    pub requires: &'static [&'static str],
    /// Registers everything the feature brings. Nothing of it may run before this.
    pub register: R,
    /// Its configuration, as commands that recreate it.
    pub configuration: Configuration<C>,
}

impl<R: Copy, C> Clone for Feature<R, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Copy, C> Copy for Feature<R, C> {}

/// The kind of a feature in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A part of the program itself: off when it is named.
    Core,
    /// A plugin with interfaces: disabled when it is named, as no packets arrive without it.
    Driver,
    /// A plugin: off when it is named, and by `plugin default { disable }`.
    Plugin,
}

impl<R, C> Feature<R, C> {
    /// The file that it is in, in the original, under which operators know it.
    pub fn file(&self) -> String {
        format!("{}_plugin.so", self.name.replace('-', "_"))
    }
}

/// The first of `features` that requires one which is not among them, and that one.
pub fn unmet<R, C>(features: &[&Feature<R, C>]) -> Option<(&'static str, &'static str)> {
    let is_there = |name: &str| features.iter().any(|f| f.name == name);
    features.iter().find_map(|f| {
        let missing = f.requires.iter().find(|name| !is_there(name));
        missing.map(|missing| (f.name, *missing))
    })
}

/// The reason why a feature could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_with_their_owner() {
        let mut list = Registered::default();
        list.push("core");
        let (first, second) = (Owner::next(), Owner::next());
        {
            let _first = first.enter();
            list.push("first");
            {
                let _second = second.enter();
                list.push("second");
            }
            list.push("first again");
        }
        list.push("core again");
        first.end();
        assert_eq!(list.iter().collect::<Vec<_>>(), [&"core", &"second", &"core again"]);
        assert_eq!(list.of(second).collect::<Vec<_>>(), [&"second"]);
        assert!(second.is_there() && Owner::CORE.is_there() && !first.is_there());
        assert_eq!(Owner::current(), Owner::CORE);
    }
}
