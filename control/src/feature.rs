//! What a feature of the router is: a name, what it requires, and a function that registers its
//! parts.

use std::fmt;

use crate::configuration::Configuration;

pub use control_derive::Refusal;

/// Whose something is that was registered: a number for each plugin that can be unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner(pub u32);

impl Owner {
    /// What stays as long as the router.
    pub const CORE: Self = Self(0);
}

/// One optional part of the router. `R` is what the feature registers its commands, nodes and
/// other parts with, `C` the router.
pub struct Feature<R, C> {
    /// Its name in `plugins { plugin NAME { enable } }`.
    pub name: &'static str,
    /// One line for `show plugins`.
    pub about: &'static str,
    /// What it is in the original.
    pub origin: Origin,
    /// Whether it is there without being asked for.
    pub default_enabled: bool,
    /// Features without which it cannot be: their state is asked for, or their nodes are at the end
    /// of its edges. In any order, and also of each other.
    pub requires: &'static [&'static str],
    /// Registers everything the feature brings. Nothing of it may run before this.
    pub register: fn(&mut R) -> Result<(), Refused>,
    /// What it was told, as the commands that make it again.
    pub configuration: Configuration<C>,
}

impl<R, C> Clone for Feature<R, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, C> Copy for Feature<R, C> {}

/// What a feature is in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A part of the program itself: off when it is named.
    Core,
    /// A plugin that brings interfaces: off when it is named, as nothing comes in without.
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

/// Why a feature could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
