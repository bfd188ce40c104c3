//! Network policies, as Kubernetes has them: which packets an interface may receive and send.
//!
//! * A *rule* compares fields, prefixes, ports and sets of addresses, and says allow, deny, log or
//!   pass (`rule`).
//! * A *policy* is a list of rules, each for packets to the workload behind an interface (inbound)
//!   or from it.
//! * An interface has policies for either direction, and *profiles*: policies that are asked when
//!   a rule says pass, or when no rule decides and the default of the policies says so.
//!
//! Policies are asked by `npol match`.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod rule;
mod show;
mod words;

use net::prelude::*;

pub use api::*;
use rule::{Action, Member, Packet, Rule, Set, Sets, What};

/// Network policies.
pub const FEATURE: Feature = Feature {
    name: "npol",
    about: "Network policies",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Action on packets that no rule decides about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Verdict {
    /// They pass.
    #[default]
    Allow,
    /// They do not.
    Deny,
    /// Profiles decide.
    Pass,
}

/// Verdicts with their words, by number.
const VERDICTS: [(&str, Verdict); 3] =
    [("allow", Verdict::Allow), ("deny", Verdict::Deny), ("pass", Verdict::Pass)];

/// Of the two directions: rules for packets to the workload.
const RX: usize = 0;

/// A rule of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    /// Whether it is for packets to the workload.
    is_inbound: bool,
    /// The rule.
    rule: u32,
}

/// The policies of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Applied {
    /// Whether there are any, and be it none at all.
    is_set: bool,
    /// Policies of received and sent packets.
    policies: [Vec<u32>; 2],
    /// Policies that are asked behind those.
    profiles: Vec<u32>,
    /// Actions on packets that no policy decides about, in each direction.
    policy_defaults: [Verdict; 2],
    /// The same of profiles.
    profile_defaults: [Verdict; 2],
    /// Whether directions are those of the workload: what it receives, the router sends.
    is_inverted: bool,
}

/// The state of control.
#[derive(Default)]
struct Npol {
    sets: Sets,
    rules: BTreeMap<u32, Rule>,
    policies: BTreeMap<u32, Vec<Item>>,
}

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no set {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSet(u32),
    /// no rule {0}
    #[retval(NO_SUCH_ENTRY)]
    NoRule(u32),
    /// no policy {0}
    #[retval(NO_SUCH_ENTRY)]
    NoPolicy(u32),
    /// set {0} is of another type
    #[retval(INVALID_VALUE)]
    Kind(u32),
    /// set {0} has no such member
    #[retval(NO_SUCH_ENTRY)]
    NoMember(u32),
    /// in use by rule {0}
    #[retval(IN_USE)]
    SetInUse(u32),
    /// in use by policy {0}
    #[retval(IN_USE)]
    RuleInUse(u32),
    /// the port range ends before it begins
    #[retval(INVALID_VALUE)]
    Ports,
    /// profiles come last: their default is allow or deny
    #[retval(INVALID_VALUE)]
    LastPass,
}

/// The lowest number that is free.
fn free<T>(all: &BTreeMap<u32, T>) -> u32 {
    (0..).find(|id| !all.contains_key(id)).expect("there are more numbers than memory")
}

/// Makes a set; one of this number loses its members.
fn add_set(router: &mut Router, id: Option<u32>, set: Set) -> u32 {
    let sets = &mut router.own_mut::<Npol>().sets;
    let id = id.unwrap_or_else(|| free(sets));
    sets.insert(id, set);
    id
}

/// Adds members to a set, or takes them out. One that already exists stays.
fn change_set(router: &mut Router, id: u32, members: &[Member], is_add: bool) -> Result<(), Error> {
    let set = router.own_mut::<Npol>().sets.get_mut(&id).ok_or(Error::NoSet(id))?;
    if !members.iter().all(|member| set.takes(member)) {
        return Err(Error::Kind(id));
    }
    if !is_add && !members.iter().all(|member| set.has(member)) {
        return Err(Error::NoMember(id));
    }
    members.iter().for_each(|member| set.change(member, is_add));
    Ok(())
}

/// Deletes a set that no rule names.
fn remove_set(router: &mut Router, id: u32) -> Result<(), Error> {
    let npol = router.own_mut::<Npol>();
    let user = npol.rules.iter().find(|(_, rule)| rule.sets().any(|set| set == id));
    if let Some((rule, _)) = user {
        return Err(Error::SetInUse(*rule));
    }
    npol.sets.remove(&id).map(|_| ()).ok_or(Error::NoSet(id))
}

/// Makes a rule, or replaces the one of a number.
fn set_rule(router: &mut Router, id: Option<u32>, rule: Rule) -> Result<u32, Error> {
    let npol = router.own_mut::<Npol>();
    for entry in &rule.entries {
        let (set, wants_ports) = match entry.what {
            What::Ports(first, last) if first > last => return Err(Error::Ports),
            What::Ports(..) | What::Prefix(_) => continue,
            What::PortSet(set) => (set, true),
            What::Set(set) => (set, false),
        };
        let known = npol.sets.get(&set).ok_or(Error::NoSet(set))?;
        if matches!(known, Set::Ports(_)) != wants_ports {
            return Err(Error::Kind(set));
        }
    }
    let id = id.unwrap_or_else(|| free(&npol.rules));
    npol.rules.insert(id, rule);
    Ok(id)
}

/// Deletes a rule that no policy has.
fn remove_rule(router: &mut Router, id: u32) -> Result<(), Error> {
    let npol = router.own_mut::<Npol>();
    let user = npol.policies.iter().find(|(_, items)| items.iter().any(|item| item.rule == id));
    if let Some((policy, _)) = user {
        return Err(Error::RuleInUse(*policy));
    }
    npol.rules.remove(&id).map(|_| ()).ok_or(Error::NoRule(id))
}

/// Makes a policy, or replaces the one of a number.
fn set_policy(router: &mut Router, id: Option<u32>, items: Vec<Item>) -> Result<u32, Error> {
    let npol = router.own_mut::<Npol>();
    if let Some(item) = items.iter().find(|item| !npol.rules.contains_key(&item.rule)) {
        return Err(Error::NoRule(item.rule));
    }
    let id = id.unwrap_or_else(|| free(&npol.policies));
    npol.policies.insert(id, items);
    Ok(id)
}

/// Deletes a policy; interfaces no longer have it. One that loses its last policy so has nothing
/// set any more, and all packets pass there.
fn remove_policy(router: &mut Router, id: u32) -> Result<(), Error> {
    router.own_mut::<Npol>().policies.remove(&id).ok_or(Error::NoPolicy(id))?;
    let has = |applied: &Applied| {
        applied.policies.iter().chain([&applied.profiles]).flatten().any(|policy| *policy == id)
    };
    let met = router.settings::<Applied>().filter(|(_, applied)| has(applied));
    let met: Vec<_> = met.map(|(interface, applied)| (interface, applied.clone())).collect();
    for (interface, mut applied) in met {
        let Applied { policies: [rx, tx], profiles, .. } = &mut applied;
        let mut all = [rx, tx, profiles];
        all.iter_mut().for_each(|all| all.retain(|policy| *policy != id));
        let has_some = all.iter().any(|all| !all.is_empty());
        router.put(interface, if has_some { applied } else { Applied::default() })?;
    }
    Ok(())
}

/// Sets the policies of an interface; [`Applied::default`] takes them away.
fn apply(router: &mut Router, interface: InterfaceIndex, new: Applied) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let npol = router.own::<Npol>();
    let all = new.policies.iter().chain([&new.profiles]).flatten();
    let unknown = all.copied().find(|id| !npol.policies.contains_key(id));
    if let Some(unknown) = unknown {
        return Err(Error::NoPolicy(unknown));
    }
    if new.profile_defaults.contains(&Verdict::Pass) {
        return Err(Error::LastPass);
    }
    Ok(router.put(interface, new)?)
}

/// Whether a packet passes that the router receives on an interface, or sends, and the rule that
/// decides; `None` for a default.
fn judge(
    router: &Router,
    interface: InterfaceIndex,
    is_sent: bool,
    packet: &Packet,
) -> (bool, Option<u32>) {
    let applied = router.setting::<Applied>(interface);
    if !applied.is_set {
        return (true, None);
    }
    let npol = router.own::<Npol>();
    let direction = usize::from(is_sent != applied.is_inverted);
    // What decides among policies: a rule, if it does not pass on.
    let decide = |policies: &[u32]| {
        let items = policies.iter().filter_map(|id| npol.policies.get(id)).flatten();
        let of_direction = items.filter(|item| item.is_inbound == (direction == RX));
        let rules = of_direction.filter_map(|item| Some((item.rule, npol.rules.get(&item.rule)?)));
        let mut about = rules.filter(|(_, rule)| rule.is_about(packet, &npol.sets));
        about.find(|(_, rule)| rule.action != Action::Log).map(|(id, rule)| (id, rule.action))
    };
    let next = match decide(&applied.policies[direction]) {
        Some((id, Action::Allow)) => return (true, Some(id)),
        Some((_, Action::Pass)) => Verdict::Pass,
        Some((id, _)) => return (false, Some(id)),
        None => applied.policy_defaults[direction],
    };
    match next {
        Verdict::Allow => return (true, None),
        Verdict::Deny => return (false, None),
        Verdict::Pass => (),
    }
    match decide(&applied.profiles) {
        Some((id, Action::Allow)) => (true, Some(id)),
        Some((id, Action::Deny)) => (false, Some(id)),
        _ => (applied.profile_defaults[direction] == Verdict::Allow, None),
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Applied>().map_err(refuse)?;
    router.insert(Npol::default());
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
