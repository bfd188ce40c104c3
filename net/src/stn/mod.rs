//! Rules of "steals the NIC": packets for an address that this router takes and nobody here listens
//! for leave by an interface as they came, for the host that the interface once belonged to.
//!
//! While there are rules for a version, what nobody listens for is punted instead of being answered
//! with an ICMP error, and `stn-ip4-punt` or `stn-ip6-punt` sees it first.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;

use control::feature::{Origin, Refused};
use infra::rcu::Shared;
use wire::Protocol;

use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6};
use crate::punting::Port;
use crate::router::{Feature, Parts, Router, refuse};

pub use node::{Handing, ToInterface};

/// Rules, their commands, messages and nodes.
pub const FEATURE: Feature = Feature {
    name: "stn",
    about: "VPP Steals the NIC (STN) for Container Integration",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["punt"],
    register,
};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whom packets are for.
    pub addr: IpAddr,
    /// Where they leave.
    pub interface: InterfaceIndex,
}

/// What control keeps.
struct Rules {
    /// By number.
    rules: BTreeMap<u32, Rule>,
    /// For the nodes.
    table: Shared<HashMap<IpAddr, u32>>,
    /// What is punted because there are rules.
    punted: Vec<Port>,
}

/// Why a rule is not made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The interface is not there.
    NoInterface,
    /// The address has no rule.
    Unknown(IpAddr),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::Unknown(addr) => write!(f, "no rule for {addr}"),
        }
    }
}
impl std::error::Error for Error {}

impl Router {
    /// Rules by number.
    pub fn stn_rules(&self) -> impl Iterator<Item = (u32, Rule)> {
        let all = self.state::<Rules>().into_iter().flat_map(|rules| rules.rules.iter());
        all.map(|(number, rule)| (*number, *rule))
    }
    /// Makes a rule, in place of the one that the address has.
    ///
    /// # Errors
    /// [`Error::NoInterface`].
    pub fn add_stn_rule(&mut self, rule: Rule) -> Result<(), Error> {
        self.interfaces.at(rule.interface).ok_or(Error::NoInterface)?;
        let rules = self.stn_rules_mut();
        let known = rules.iter().find(|(_, known)| known.addr == rule.addr).map(|(n, _)| *n);
        let free = || (0..).find(|number| !rules.contains_key(number)).unwrap_or_default();
        let number = known.unwrap_or_else(free);
        rules.insert(number, rule);
        self.follow_stn_rules();
        Ok(())
    }
    /// Deletes the rule of an address.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn remove_stn_rule(&mut self, addr: IpAddr) -> Result<(), Error> {
        let rules = self.stn_rules_mut();
        let number = rules.iter().find(|(_, rule)| rule.addr == addr).map(|(n, _)| *n);
        rules.remove(&number.ok_or(Error::Unknown(addr))?);
        self.follow_stn_rules();
        Ok(())
    }
    fn stn_rules_mut(&mut self) -> &mut BTreeMap<u32, Rule> {
        &mut self.state_mut::<Rules>().expect("the feature puts it in").rules
    }
    /// Has nodes, arcs and punting follow a change of the rules.
    fn follow_stn_rules(&mut self) {
        let state = self.state_mut::<Rules>().expect("the feature puts it in");
        let entries = state.rules.values().map(|rule| (rule.addr, rule.interface.0));
        state.table.publish(entries.collect());
        let punted = std::mem::take(&mut state.punted);
        let is_used = [false, true].map(|is_ip6| uses(self, is_ip6));
        self.set_feature_everywhere(V4::ARC, V4::NODE, is_used[0]);
        self.set_feature_everywhere(V6::ARC, V6::NODE, is_used[1]);
        let wanted = |port: &Port| is_used[usize::from(port.is_ip6)];
        for port in punted.iter().filter(|port| !wanted(port)) {
            // It was switched on when the first rule came; an operator may have switched it off.
            let _ = self.set_punt(*port, false);
        }
        let mut kept: Vec<_> = punted.into_iter().filter(wanted).collect();
        for port in ports().into_iter().filter(wanted) {
            let is_punted = self.punted_ports().any(|p| p == port);
            // Where somebody takes all of a protocol nothing is left to hand on.
            if !is_punted && self.set_punt(port, true).is_ok() {
                kept.push(port);
            }
        }
        self.state_mut::<Rules>().expect("the feature puts it in").punted = kept;
    }
}

/// What nobody listens for, of each version.
fn ports() -> [Port; 4] {
    let port = |is_ip6, protocol| Port { is_ip6, protocol, port: None };
    [(false, Protocol::UDP), (false, Protocol::TCP), (true, Protocol::UDP), (true, Protocol::TCP)]
        .map(|(is_ip6, protocol)| port(is_ip6, protocol))
}

fn uses(router: &Router, is_ip6: bool) -> bool {
    router.stn_rules().any(|(_, rule)| rule.addr.is_ipv6() == is_ip6)
}

/// Follows changes of interfaces: a new one has the features, a deleted one no rules.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let is_used = [false, true].map(|is_ip6| uses(router, is_ip6));
    let is_on = match change {
        Change::Added => is_used,
        Change::Deleting => {
            let gone = router.stn_rules().filter(|(_, rule)| rule.interface == interface);
            for (_, rule) in gone.collect::<Vec<_>>() {
                router.remove_stn_rule(rule.addr).expect("it was there just now");
            }
            [false, false]
        }
        _ => return,
    };
    for (arc, node, is_on) in [(V4::ARC, V4::NODE, is_on[0]), (V6::ARC, V6::NODE, is_on[1])] {
        let done = router.engine.set_feature(arc, node, interface.0, is_on);
        done.expect("the node is on the arc since the feature registered");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let table = Shared::new(HashMap::new());
    router.engine.add_feature(V4::ARC, ToInterface::<V4>::new(table.reader())).map_err(refuse)?;
    router.engine.add_feature(V6::ARC, ToInterface::<V6>::new(table.reader())).map_err(refuse)?;
    router.insert(Rules { rules: BTreeMap::new(), table, punted: Vec::new() });
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
