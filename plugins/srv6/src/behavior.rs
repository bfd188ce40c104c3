//! Behaviors of local SIDs and of policies that other plugins have.

use net::fib::Object;
use net::prelude::*;

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
    /// Whether `fib-table` behind the word is one of its own words, not the table of the SID.
    pub has_table: bool,
    /// Makes an object of what stands behind the word.
    pub make: fn(&mut Router, &Making, &mut Args<'_>) -> Result<Object, Error>,
    /// Words behind that of the behavior, for an object.
    pub words: fn(&Router, u32) -> String,
    /// Gives an object up.
    pub end: fn(&mut Router, u32),
}

/// The local SID or policy that an object is made for.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// The word of the behavior.
    pub keyword: &'static str,
    /// The prefix of the SID, or the binding SID.
    pub prefix: Ip6Prefix,
    /// Number of its table.
    pub table: u32,
    /// Source address of headers that are put in front, for a policy that has its own.
    pub source: Option<Ipv6Addr>,
}

/// A behavior of policies that another plugin has: they have no segment lists.
#[derive(Clone, Copy)]
pub struct PolicyBehavior {
    /// Packets that may be steered into them.
    pub carries: Link,
    /// Fields that it has in common with local SIDs. Its number is not used.
    pub common: Behavior,
}

/// Adds a behavior of local SIDs.
pub fn add_behavior(router: &mut Router, behavior: Behavior) {
    router.own_mut::<Segments>().behaviors.push(behavior);
}

/// Adds a behavior of policies.
pub fn add_policy_behavior(router: &mut Router, behavior: PolicyBehavior) {
    router.own_mut::<Segments>().policy_behaviors.push(behavior);
}

/// The behavior of local SIDs of this word.
pub(super) fn named(router: &Router, keyword: &str) -> Option<Behavior> {
    router.own::<Segments>().behaviors.iter().find(|b| b.keyword == keyword).copied()
}

/// The behavior of policies of this word.
pub(super) fn of_policies(router: &Router, keyword: &str) -> Option<PolicyBehavior> {
    let mut all = router.own::<Segments>().policy_behaviors.iter();
    all.find(|b| b.common.keyword == keyword).copied()
}
