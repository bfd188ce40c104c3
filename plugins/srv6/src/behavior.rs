//! Behaviors of local SIDs that other plugins have.

use control::cli::Args;
use net::Router;
use net::fib::Object;

use super::{Error, Segments};

/// A behavior of another plugin.
#[derive(Clone, Copy)]
pub struct Behavior {
    /// Its word in commands, and how it is shown.
    pub keyword: &'static str,
    /// Usage behind the word.
    pub usage: &'static str,
    /// Description.
    pub about: &'static str,
    /// Its number in messages.
    pub number: u8,
    /// Makes an object of what stands behind the word.
    pub make: fn(&mut Router, &mut Args<'_>) -> Result<Object, Error>,
    /// Words behind that of the behavior, for an object.
    pub words: fn(&Router, u32) -> String,
    /// Gives an object up.
    pub end: fn(&mut Router, u32),
}

/// Adds a behavior.
pub fn add_behavior(router: &mut Router, behavior: Behavior) {
    router.own_mut::<Segments>().behaviors.push(behavior);
}

/// The behavior of this word.
pub(super) fn named(router: &Router, keyword: &str) -> Option<Behavior> {
    router.own::<Segments>().behaviors.iter().find(|b| b.keyword == keyword).copied()
}
