//! Policies: ordered rules for what goes from one zone to another.

use net::prelude::*;

use super::Error;
use super::object::{Addresses, Member, Name, Objects, Service};

/// Policies at most.
pub const MOST_POLICIES: usize = 4000;
/// Rules at most, of all policies.
pub const MOST_RULES: usize = 60_000;

/// Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Action {
    /// They pass, and so do their answers.
    Permit,
    /// Drop with an error: a TCP reset, or an ICMP error.
    Reject,
    /// Drop.
    Drop,
}

/// A rule: a match and an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Action.
    pub action: Action,
    /// Their sources; all if empty.
    pub from: Vec<Member<Addresses>>,
    /// Their destinations; all if empty.
    pub to: Vec<Member<Addresses>>,
    /// Their services; all if empty.
    pub services: Vec<Member<Service>>,
    /// Whether it is logged.
    pub log: bool,
    /// A text for people.
    pub description: String,
}

/// Settings of a policy besides its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Action for packets that match no rule.
    pub default: Action,
    /// True to log them.
    pub log: bool,
    /// Maximum sessions; 0 for no limit.
    pub limit: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self { default: Action::Drop, log: false, limit: 0 }
    }
}

/// A policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its number: that of its counters.
    pub number: u16,
    /// The counter of what no rule is about.
    pub counter: u32,
    /// Settings.
    pub terms: Terms,
    /// Rules by their place.
    pub rules: BTreeMap<u32, Entry>,
}

/// A rule in its policy.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The rule.
    pub rule: Rule,
    /// Its counter.
    pub counter: u32,
    /// Combinations of addresses and services that it stands for.
    pub patterns: usize,
}

impl Policy {
    /// Combinations of addresses and services of all rules.
    pub fn patterns(&self) -> usize {
        self.rules.values().map(|entry| entry.patterns).sum()
    }
}

/// The objects of both kinds.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Of addresses.
    pub addresses: Objects<Addresses>,
    /// Of services.
    pub services: Objects<Service>,
}

impl Rule {
    /// Whether it names an object of addresses, or a group with it.
    pub fn names_address(&self, known: &Known, name: &Name) -> bool {
        let mut members = self.from.iter().chain(&self.to);
        members.any(|member| known.addresses.leads_to(member, name))
    }
    /// Whether it names an object of services, or a group with it.
    pub fn names_service(&self, known: &Known, name: &Name) -> bool {
        self.services.iter().any(|member| known.services.leads_to(member, name))
    }
    /// Checks what it names.
    pub(super) fn check(&self, known: &Known) -> Result<(), Error> {
        known.addresses.check(&self.from)?;
        known.addresses.check(&self.to)?;
        known.services.check(&self.services)?;
        if !control::cli::is_printable(&self.description) {
            return Err(Error::BadText);
        }
        Ok(())
    }
}
