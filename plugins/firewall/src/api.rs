//! Messages of the module `firewall`. Members of objects and rules are in the words of commands.

use net::prelude::*;

use super::object::{Name, Objects, Plain};
use super::policy::{Action, Terms};
use super::rule_cli;
use super::show::Words;
use super::zone::{Pair, Settings, Zone};
use super::{Error, state};

/// Add or delete a zone.
#[derive(Message)]
pub struct FirewallZoneAddDel {
    /// true to add, false to delete
    #[preset("true")]
    pub is_add: bool,
    /// permit traffic between its interfaces unless a policy says otherwise
    #[preset("true")]
    pub intra_zone_permit: bool,
    /// name
    pub name: Text<64>,
}

/// List zones.
#[derive(Message)]
#[details(FirewallZoneDetails)]
pub struct FirewallZoneDump {}

/// A zone.
#[derive(Message)]
pub struct FirewallZoneDetails {
    /// permit traffic between its interfaces unless a policy says otherwise
    pub intra_zone_permit: bool,
    /// name
    pub name: Text<64>,
}

/// Add or remove an interface of a zone.
#[derive(Message)]
pub struct FirewallInterfaceAddDel {
    /// true to add, false to remove
    #[preset("true")]
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// zone
    pub zone: Text<64>,
}

/// List interfaces in zones.
#[derive(Message)]
#[details(FirewallInterfaceDetails)]
pub struct FirewallInterfaceDump {}

/// An interface in a zone.
#[derive(Message)]
pub struct FirewallInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// zone
    pub zone: Text<64>,
}

/// Add or delete an address or service object.
#[derive(Message)]
pub struct FirewallObjectAddDel {
    /// true to add or replace, false to delete
    #[preset("true")]
    pub is_add: bool,
    /// true for services, false for addresses
    pub is_service: bool,
    /// name
    pub name: Text<64>,
    /// members, in command syntax
    pub members: String,
}

/// List address and service objects.
#[derive(Message)]
#[details(FirewallObjectDetails)]
pub struct FirewallObjectDump {}

/// An address or service object.
#[derive(Message)]
pub struct FirewallObjectDetails {
    /// true for services, false for addresses
    pub is_service: bool,
    /// name
    pub name: Text<64>,
    /// members, in command syntax
    pub members: String,
}

control::numbers! {
    /// Action.
    pub enum FirewallAction: u8 = "firewall_action" in "" {
        PERMIT = 0 => "FIREWALL_ACTION_API_PERMIT",
        REJECT = 1 => "FIREWALL_ACTION_API_REJECT",
        DROP = 2 => "FIREWALL_ACTION_API_DROP",
    }
}

impl FirewallAction {
    fn native(self) -> Result<Action, Retval> {
        match self {
            Self::PERMIT => Ok(Action::Permit),
            Self::REJECT => Ok(Action::Reject),
            Self::DROP => Ok(Action::Drop),
            _ => Err(Retval::INVALID_VALUE),
        }
    }
    fn of(action: Action) -> Self {
        match action {
            Action::Permit => Self::PERMIT,
            Action::Reject => Self::REJECT,
            Action::Drop => Self::DROP,
        }
    }
}

/// Add or delete a policy.
#[derive(Message)]
pub struct FirewallPolicyAddDel {
    /// true to add or change, false to delete it and its rules
    #[preset("true")]
    pub is_add: bool,
    /// source zone
    pub from_zone: Text<64>,
    /// destination zone
    pub to_zone: Text<64>,
    /// action for packets that match no rule
    pub default_action: FirewallAction,
    /// true to log them
    pub log: bool,
    /// maximum sessions; 0 for no limit
    pub session_limit: u32,
}

/// List policies.
#[derive(Message)]
#[details(FirewallPolicyDetails)]
pub struct FirewallPolicyDump {}

/// A policy.
#[derive(Message)]
pub struct FirewallPolicyDetails {
    /// source zone
    pub from_zone: Text<64>,
    /// destination zone
    pub to_zone: Text<64>,
    /// action for packets that match no rule
    pub default_action: FirewallAction,
    /// true to log them
    pub log: bool,
    /// maximum sessions; 0 for no limit
    pub session_limit: u32,
    /// column in `/firewall/policies` and `/firewall/sessions`
    pub counter_index: u32,
    /// number of rules
    pub n_rules: u32,
}

/// Add or delete a rule of a policy.
#[derive(Message)]
pub struct FirewallRuleAddDel {
    /// true to add or replace, false to delete
    #[preset("true")]
    pub is_add: bool,
    /// source zone
    pub from_zone: Text<64>,
    /// destination zone
    pub to_zone: Text<64>,
    /// position
    pub place: u32,
    /// rule from the action on, in command syntax
    pub rule: String,
}

/// List rules.
#[derive(Message)]
#[details(FirewallRuleDetails)]
pub struct FirewallRuleDump {
    /// only policies from this zone; empty for all
    pub from_zone: Text<64>,
    /// only policies to this zone; empty for all
    pub to_zone: Text<64>,
}

/// A rule.
#[derive(Message)]
pub struct FirewallRuleDetails {
    /// source zone
    pub from_zone: Text<64>,
    /// destination zone
    pub to_zone: Text<64>,
    /// position
    pub place: u32,
    /// column in `/firewall/rules`
    pub counter_index: u32,
    /// rule from the action on, in command syntax
    pub rule: String,
}

fn name(text: &Text<64>) -> Result<Name, Error> {
    text.as_str().parse()
}

fn pair(router: &Router, from: &Text<64>, to: &Text<64>) -> Result<Pair, Error> {
    super::pair(router, &name(from)?, &name(to)?)
}

fn zone(router: &Router, zone: Zone) -> Text<64> {
    Text::from(state(router).zones.name(zone).as_str())
}

fn set_zone(router: &mut Router, m: &FirewallZoneAddDel) -> Result<(), Error> {
    let name = name(&m.name)?;
    if !m.is_add {
        return super::remove_zone(router, &name);
    }
    super::put_zone(router, &name, Settings { permits_within: m.intra_zone_permit })
}

fn set_object(router: &mut Router, m: &FirewallObjectAddDel) -> Result<(), Error> {
    let name = name(&m.name)?;
    match (m.is_add, m.is_service) {
        (true, true) => super::put_services(router, &name, members(&m.members)?),
        (true, false) => super::put_addresses(router, &name, members(&m.members)?),
        (false, true) => super::remove_services(router, &name),
        (false, false) => super::remove_addresses(router, &name),
    }
}

fn members<T: Plain>(words: &str) -> Result<Vec<super::object::Member<T>>, Error> {
    words.split_whitespace().map(str::parse).collect()
}

fn set_policy(router: &mut Router, m: &FirewallPolicyAddDel) -> Result<(), Retval> {
    let pair = pair(router, &m.from_zone, &m.to_zone)?;
    if !m.is_add {
        return Ok(super::remove_policy(router, pair)?);
    }
    let (default, log, limit) = (m.default_action.native()?, m.log, m.session_limit);
    Ok(super::put_policy(router, pair, Terms { default, log, limit })?)
}

fn set_rule(router: &mut Router, m: &FirewallRuleAddDel) -> Result<(), Retval> {
    let pair = pair(router, &m.from_zone, &m.to_zone)?;
    if !m.is_add {
        return Ok(super::remove_rule(router, pair, m.place)?);
    }
    let rule = rule_cli::rule(&mut Args::new(&m.rule)).map_err(|_| Retval::INVALID_VALUE)?;
    Ok(super::put_rule(router, pair, m.place, rule)?)
}

fn objects<T: Plain>(all: &Objects<T>, is_service: bool) -> Vec<FirewallObjectDetails> {
    let row = |name: &Name| {
        let members = all.at(name).into_iter().flatten().map(ToString::to_string);
        let members = members.collect::<Vec<_>>().join(" ");
        FirewallObjectDetails { is_service, name: Text::from(name.as_str()), members }
    };
    all.in_order().into_iter().map(row).collect()
}

fn policies(router: &Router) -> Vec<FirewallPolicyDetails> {
    let row = |(pair, policy): (&Pair, &super::policy::Policy)| FirewallPolicyDetails {
        from_zone: zone(router, pair.from),
        to_zone: zone(router, pair.to),
        default_action: FirewallAction::of(policy.terms.default),
        log: policy.terms.log,
        session_limit: policy.terms.limit,
        counter_index: policy.number.into(),
        n_rules: policy.rules.len() as u32,
    };
    state(router).policies.iter().map(row).collect()
}

/// The rule of a policy from a place on, or the first of a later policy.
fn next_rule(
    router: &Router,
    m: &FirewallRuleDump,
    (pair, place): (Pair, u32),
) -> Option<((Pair, u32), FirewallRuleDetails)> {
    let is_meant = |text: &Text<64>, of| text.as_str().is_empty() || *text == zone(router, of);
    state(router).policies.range(pair..).find_map(|(at, policy)| {
        if !is_meant(&m.from_zone, at.from) || !is_meant(&m.to_zone, at.to) {
            return None;
        }
        let first = if *at == pair { place } else { 0 };
        let (place, entry) = policy.rules.range(first..).next()?;
        let description = match entry.rule.description.as_str() {
            "" => String::new(),
            text => format!(" description {text}"),
        };
        let details = FirewallRuleDetails {
            from_zone: zone(router, at.from),
            to_zone: zone(router, at.to),
            place: *place,
            counter_index: entry.counter,
            rule: format!("{}{description}", Words(&entry.rule)),
        };
        Some(((*at, *place), details))
    })
}

pub(super) fn register(api: &mut Api<Router>) {
    let mut module = api.plugin("firewall", "1.0.0");
    module
        .call(|router: &mut Router, m: FirewallZoneAddDel| Ok(set_zone(router, &m)?))
        .call(|router: &mut Router, m: FirewallInterfaceAddDel| {
            let zone = name(&m.zone)?;
            Ok(super::set_interface(router, m.sw_if_index, &zone, m.is_add)?)
        })
        .call(|router: &mut Router, m: FirewallObjectAddDel| Ok(set_object(router, &m)?))
        .call(|router: &mut Router, m: FirewallPolicyAddDel| set_policy(router, &m))
        .call(|router: &mut Router, m: FirewallRuleAddDel| set_rule(router, &m))
        .dump(|router: &mut Router, _: FirewallZoneDump| {
            let row = |(name, _, settings): (&Name, _, Settings)| FirewallZoneDetails {
                intra_zone_permit: settings.permits_within,
                name: Text::from(name.as_str()),
            };
            state(router).zones.iter().map(row).collect()
        })
        .dump(|router: &mut Router, _: FirewallInterfaceDump| {
            let all = router.settings::<super::Member>().filter(|(_, m)| m.zone != Zone::NONE);
            let row = |(sw_if_index, member): (InterfaceIndex, &super::Member)| {
                FirewallInterfaceDetails { sw_if_index, zone: zone(router, member.zone) }
            };
            all.map(row).collect()
        })
        .dump(|router: &mut Router, _: FirewallObjectDump| {
            let known = &state(router).known;
            let mut rows = objects(&known.addresses, false);
            rows.extend(objects(&known.services, true));
            rows
        })
        .dump(|router: &mut Router, _: FirewallPolicyDump| policies(router))
        .dump_each(|_: &mut Router, m: FirewallRuleDump| {
            let mut next = Some((Pair { from: Zone(0), to: Zone(0) }, 0));
            move |router: &mut Router| {
                let ((pair, place), details) = next_rule(router, &m, next?)?;
                next = place.checked_add(1).map(|place| (pair, place));
                Some(details)
            }
        });
}
