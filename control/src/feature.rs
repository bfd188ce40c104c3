//! What a feature of the router is: a name and a function that registers its parts.

use std::fmt;

pub use control_derive::Refusal;

/// One optional part of the router. `R` is what the feature registers its commands, nodes and
/// other parts with.
pub struct Feature<R> {
    /// Its name in `plugins { plugin NAME { enable } }`.
    pub name: &'static str,
    /// One line for `show plugins`.
    pub about: &'static str,
    /// Whether it is there without being asked for.
    pub default_enabled: bool,
    /// Registers everything the feature brings. Nothing of it may run before this.
    pub register: fn(&mut R) -> Result<(), Refused>,
}

impl<R> Clone for Feature<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Feature<R> {}

/// Why a feature could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
