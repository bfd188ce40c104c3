//! "Steals the NIC" (STN): an interface that the router took from its host. Packets to an address
//! of a rule that no local protocol takes leave by the rule's interface for that host, unchanged
//! but for the addresses of their frame.
//!
//! While there are rules for an IP version, packets to ports without a listener are punted instead
//! of being answered with an ICMP error, and `stn-ip4-punt` or `stn-ip6-punt` sees them first.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use control::feature::Origin;
use net::prelude::*;
use net::punt::Port;

pub use api::{StnAddDelRule, StnRulesDetails, StnRulesDump};
pub use node::{Handing, ToInterface};

/// Rules, their commands, messages and nodes.
pub const FEATURE: Feature = Feature {
    name: "stn",
    about: "VPP Steals the NIC (STN) for Container Integration",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["punt"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The destination address.
    pub addr: IpAddr,
    /// The outgoing interface.
    pub interface: InterfaceIndex,
}

/// The rules and what follows from them.
struct Rules {
    /// By number.
    rules: BTreeMap<u32, Rule>,
    /// For the nodes.
    table: Shared<HashMap<IpAddr, u32>>,
    /// Ports that are punted because there are rules.
    punted: Vec<Port>,
}

/// Reasons why a rule is not made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no rule for {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(IpAddr),
}

/// Rules by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, Rule)> {
    router.own::<Rules>().rules.iter().map(|(number, rule)| (*number, *rule))
}

/// Makes a rule, in place of the one that the address has.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn add(router: &mut Router, rule: Rule) -> Result<(), Error> {
    router.interfaces.at(rule.interface).ok_or(Error::NoInterface)?;
    let number = number_of(router, rule.addr);
    let rules = &mut router.own_mut::<Rules>().rules;
    let free = || (0..).find(|number| !rules.contains_key(number)).unwrap_or_default();
    let number = number.unwrap_or_else(free);
    rules.insert(number, rule);
    apply(router);
    Ok(())
}

/// Deletes the rule of an address.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, addr: IpAddr) -> Result<(), Error> {
    let number = number_of(router, addr).ok_or(Error::Unknown(addr))?;
    router.own_mut::<Rules>().rules.remove(&number);
    apply(router);
    Ok(())
}

fn number_of(router: &Router, addr: IpAddr) -> Option<u32> {
    all(router).find(|(_, rule)| rule.addr == addr).map(|(number, _)| number)
}

/// Applies the rules to nodes, arcs and punted ports.
fn apply(router: &mut Router) {
    let state = router.own_mut::<Rules>();
    state.table.publish(state.rules.values().map(|rule| (rule.addr, rule.interface.0)).collect());
    let punted = std::mem::take(&mut state.punted);
    let is_used = uses(router);
    router.set_feature_everywhere(V4::ARC, V4::NODE, is_used[0]);
    router.set_feature_everywhere(V6::ARC, V6::NODE, is_used[1]);
    let wanted = |port: &Port| is_used[port.version as usize];
    for port in punted.iter().filter(|port| !wanted(port)) {
        // It was switched on when the first rule came; an operator may have switched it off.
        let _ = router.set_punt(*port, false);
    }
    let mut kept: Vec<_> = punted.into_iter().filter(wanted).collect();
    for port in ports().into_iter().filter(wanted) {
        let is_punted = router.punted_ports().any(|p| p == port);
        // Where a socket takes all of a protocol nothing is left to punt.
        if !is_punted && router.punt_for_feature(port).is_ok() {
            kept.push(port);
        }
    }
    router.own_mut::<Rules>().punted = kept;
}

/// All ports without a listener, of UDP and TCP in each version.
fn ports() -> [Port; 4] {
    use IpVersion::{V4, V6};
    [(V4, Protocol::UDP), (V4, Protocol::TCP), (V6, Protocol::UDP), (V6, Protocol::TCP)]
        .map(|(version, protocol)| Port { version, protocol, port: None })
}

/// Whether there are rules for IPv4 and for IPv6.
fn uses(router: &Router) -> [bool; 2] {
    IpVersion::ALL.map(|v| all(router).any(|(_, rule)| IpVersion::from(rule.addr) == v))
}

/// Forgets the rules of an interface that goes.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let gone = all(router).filter(|(_, rule)| rule.interface == interface);
    for (_, rule) in gone.filter(|_| change == Change::Deleting).collect::<Vec<_>>() {
        remove(router, rule.addr).expect("it was there just now");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let table = Shared::new(HashMap::new());
    router.engine.add_feature(V4::ARC, ToInterface::<V4>::new(table.reader())).map_err(refuse)?;
    router.engine.add_feature(V6::ARC, ToInterface::<V6>::new(table.reader())).map_err(refuse)?;
    router.insert(Rules { rules: BTreeMap::new(), table, punted: Vec::new() });
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
