//! "Steals the NIC" (STN): an interface that the router took from its host. Packets to an address
//! of a rule that no local protocol takes leave by the rule's interface unchanged, for that host.
//!
//! While there are rules for an IP version, packets to ports without a listener are punted instead
//! of being answered with an ICMP error, and `stn-ip4-punt` or `stn-ip6-punt` sees them first.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use control::feature::{Origin, Refusal, Refused};
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
    /// The destination address.
    pub addr: IpAddr,
    /// The outgoing interface.
    pub interface: InterfaceIndex,
}

/// What control keeps.
struct Rules {
    /// By number.
    rules: BTreeMap<u32, Rule>,
    /// For the nodes.
    table: Shared<HashMap<IpAddr, u32>>,
    /// Ports that are punted because there are rules.
    punted: Vec<Port>,
}

/// Why a rule is not made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no rule for {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(IpAddr),
}

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
        &mut self.own_mut::<Rules>().rules
    }
    /// Has nodes, arcs and punting follow a change of the rules.
    fn follow_stn_rules(&mut self) {
        let state = self.own_mut::<Rules>();
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
        self.own_mut::<Rules>().punted = kept;
    }
}

/// All ports without a listener, of UDP and TCP in each version.
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
