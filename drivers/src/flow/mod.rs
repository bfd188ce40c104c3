//! Rules by which a network card sorts packets before the router sees them: `flow add`, `flow
//! enable`.
//!
//! Rules are kept here by number and asked of a card when they are enabled on its interface. None
//! of the drivers has a card that sorts, so enabling is refused with the name of the interface.
#![forbid(unsafe_code)]

mod api;
mod commands;
mod rule;

use std::collections::BTreeMap;

use control::api::Retval;
use control::configuration::{Lines, Stage};
use control::feature::{Refusal, Refused};
use net::{Configuration, Feature, InterfaceIndex, Origin, Parts, Router};

pub use api::*;
pub use rule::{Action, Match, Rule, Tunnel};

/// Rules for cards.
pub const FEATURE: Feature = Feature {
    name: "flow",
    about: "Rules by which network cards sort packets",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Rules at most.
pub const MOST: usize = 65536;

/// All rules.
#[derive(Debug, Default)]
pub struct Rules(BTreeMap<u32, Rule>);

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no flow {0}
    #[retval(NO_SUCH_ENTRY)]
    NoRule(u32),
    /// flow {0} exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    Taken(u32),
    /// at most {0} flows
    #[retval(LIMIT_EXCEEDED)]
    Full(usize),
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// {0} has no NIC with flow support
    #[retval(UNSUPPORTED)]
    NoCard(String),
    /// flow {0} is not enabled on an interface
    #[retval(NO_SUCH_ENTRY)]
    NotEnabled(u32),
}

impl Rules {
    /// Keeps a rule under a number, or under the lowest free one; the number.
    ///
    /// # Errors
    /// [`Error::Taken`], [`Error::Full`].
    pub fn add(&mut self, number: Option<u32>, rule: Rule) -> Result<u32, Error> {
        if self.0.len() == MOST {
            return Err(Error::Full(MOST));
        }
        let free = || (0..).find(|n| !self.0.contains_key(n)).expect("fewer rules than numbers");
        let number = number.unwrap_or_else(free);
        if self.0.contains_key(&number) {
            return Err(Error::Taken(number));
        }
        self.0.insert(number, rule);
        Ok(number)
    }
    /// Forgets a rule.
    ///
    /// # Errors
    /// [`Error::NoRule`].
    pub fn delete(&mut self, number: u32) -> Result<(), Error> {
        self.0.remove(&number).map(drop).ok_or(Error::NoRule(number))
    }
    /// All, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Rule)> {
        self.0.iter().map(|(number, rule)| (*number, rule))
    }
    fn expect(&self, number: u32) -> Result<&Rule, Error> {
        self.0.get(&number).ok_or(Error::NoRule(number))
    }
}

/// Enables a rule on the NIC of an interface.
fn enable(router: &Router, number: u32, interface: InterfaceIndex) -> Result<(), Error> {
    rules(router).expect(number)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    Err(Error::NoCard(router.interfaces.name(interface.0).to_owned()))
}

/// Disables a rule on NICs.
fn disable(router: &Router, number: u32) -> Result<(), Error> {
    rules(router).expect(number)?;
    Err(Error::NotEnabled(number))
}

fn rules(router: &Router) -> &Rules {
    router.state().expect("made when the feature was registered")
}

/// Lets `work` at the rules.
fn with<R>(
    router: &mut Router,
    work: impl FnOnce(&mut Rules) -> Result<R, Error>,
) -> Result<R, Error> {
    work(router.state_mut().expect("made when the feature was registered"))
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (number, rule) in rules(router).all() {
        let command = format!("flow add index {number}{rule}");
        lines.push_undone(Stage::Objects, &command, &format!("flow del index {number}"));
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Rules::default());
    commands::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// The number of a refusal.
fn retval(e: Error) -> Retval {
    e.into()
}

#[cfg(test)]
mod tests;
