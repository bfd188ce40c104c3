//! Messages of the module `npol`.

use control::api::types::{Address, Prefix};
use control::api::{Overlay, Record, Union};
use net::prelude::*;

use super::rule::{ACTIONS, Entry, FIELDS, Filter, KINDS, Member, Rule, Set, What};
use super::{Applied, Error, Item, Npol, VERDICTS, Verdict};

control::numbers! {
    /// Type of an IP set.
    pub enum NpolIpsetType: u8 = "npol_ipset_type" in "" {
        IP = 0 => "NPOL_IP",
        IP_AND_PORT = 1 => "NPOL_IP_AND_PORT",
        NET = 2 => "NPOL_NET",
    }
    /// Actions on packets that match a rule.
    pub enum NpolRuleAction: u8 = "npol_rule_action" in "" {
        ALLOW = 0 => "NPOL_ALLOW",
        DENY = 1 => "NPOL_DENY",
        LOG = 2 => "NPOL_LOG",
        PASS = 3 => "NPOL_PASS",
    }
    /// Type of values to compare a packet's source or destination with.
    pub enum NpolEntryType: u8 = "npol_entry_type" in "" {
        CIDR = 0 => "NPOL_CIDR",
        PORT_RANGE = 1 => "NPOL_PORT_RANGE",
        PORT_IP_SET = 2 => "NPOL_PORT_IP_SET",
        IP_SET = 3 => "NPOL_IP_SET",
    }
    /// Default action of policies.
    pub enum NpolPolicyDefault: u8 = "npol_policy_default" in "" {
        ALLOW = 0 => "NPOL_DEFAULT_ALLOW",
        DENY = 1 => "NPOL_DEFAULT_DENY",
        PASS = 2 => "NPOL_DEFAULT_PASS",
    }
    /// Type of a filter.
    pub enum NpolRuleFilterType: u8 = "npol_rule_filter_type" in "" {
        NONE = 0 => "NPOL_RULE_FILTER_NONE_TYPE",
        ICMP_TYPE = 1 => "NPOL_RULE_FILTER_ICMP_TYPE",
        ICMP_CODE = 2 => "NPOL_RULE_FILTER_ICMP_CODE",
        L4_PROTO = 3 => "NPOL_RULE_FILTER_L4_PROTO",
    }
}

/// An address, a protocol and a port.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct NpolThreeTuple {
    /// the address
    pub address: Address,
    /// protocol
    pub l4_proto: u8,
    /// port
    pub port: u16,
}

/// A member of an IP set, by the type of the set.
#[derive(Clone, Copy, Debug, Union)]
pub enum NpolIpsetMemberVal {
    #[case("NPOL_IP")]
    /// An address.
    Address(Address),
    #[case("NPOL_NET")]
    /// A prefix.
    Prefix(Prefix),
    #[case("NPOL_IP_AND_PORT")]
    /// An address, a protocol and a port.
    Tuple(NpolThreeTuple),
}

/// A member of an IP set.
#[derive(Clone, Debug, Record)]
#[file("")]
pub struct NpolIpsetMember {
    /// value, by the type of the set
    pub val: Overlay<NpolIpsetMemberVal>,
}

/// A port range.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct NpolPortRange {
    /// first
    pub start: u16,
    /// last
    pub end: u16,
}

/// An IP set reference.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct NpolEntrySetId {
    /// index
    pub set_id: u32,
}

/// Values to compare with, by type.
#[derive(Clone, Copy, Debug, Union)]
pub enum NpolEntryData {
    #[case("NPOL_CIDR")]
    /// A prefix.
    Cidr(Prefix),
    #[case("NPOL_PORT_RANGE")]
    /// Ports.
    PortRange(NpolPortRange),
    #[case("NPOL_PORT_IP_SET")]
    /// An IP set, with or without ports.
    SetId(NpolEntrySetId),
}

/// A match on source or destination.
#[derive(Clone, Debug, Record)]
#[file("")]
pub struct NpolRuleEntry {
    /// true for the source, false for the destination
    pub is_src: bool,
    /// true to negate the match
    pub is_not: bool,
    /// type of match
    #[name("type")]
    pub kind: NpolEntryType,
    /// value to match
    #[discriminator("type")]
    pub data: Overlay<NpolEntryData>,
}

/// A filter on a field.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct NpolRuleFilter {
    /// value
    pub value: u32,
    /// field; none for no filter
    #[name("type")]
    pub kind: NpolRuleFilterType,
    /// false to negate the filter
    pub should_match: u8,
}

/// A rule.
#[derive(Clone, Debug, Record)]
#[file("")]
pub struct NpolRule {
    /// action
    pub action: NpolRuleAction,
    /// filters, all of which must match
    pub filters: [NpolRuleFilter; 3],
    /// matches
    #[counted(num_entries: u32)]
    pub matches: Vec<NpolRuleEntry>,
}

/// A rule of a policy.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct NpolPolicyItem {
    /// true for packets to the workload, false for packets from it
    pub is_inbound: bool,
    /// index
    pub rule_id: u32,
}

/// Get the version of the module.
#[derive(Message)]
#[reply(NpolGetVersionReply)]
pub struct NpolGetVersion {}

/// Version of the module.
#[derive(Message)]
#[head(details)]
pub struct NpolGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// Create an empty IP set.
#[derive(Message)]
#[reply(NpolIpsetCreateReply)]
pub struct NpolIpsetCreate {
    /// kind
    #[name("type")]
    pub kind: NpolIpsetType,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct NpolIpsetCreateReply {
    /// index
    pub set_id: u32,
}

/// Add or delete members of an IP set.
#[derive(Message)]
pub struct NpolIpsetAddDelMembers {
    /// IP set
    pub set_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// members
    #[counted(len: u32)]
    pub members: Vec<NpolIpsetMember>,
}

/// Delete an IP set that no rule uses.
#[derive(Message)]
pub struct NpolIpsetDelete {
    /// index
    pub set_id: u32,
}

/// Create a rule.
#[derive(Message)]
#[reply(NpolRuleCreateReply)]
pub struct NpolRuleCreate {
    /// the rule
    pub rule: NpolRule,
}

/// Replace a rule.
#[derive(Message)]
pub struct NpolRuleUpdate {
    /// index
    pub rule_id: u32,
    /// the rule
    pub rule: NpolRule,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct NpolRuleCreateReply {
    /// index
    pub rule_id: u32,
}

/// Delete a rule that no policy uses.
#[derive(Message)]
pub struct NpolRuleDelete {
    /// index
    pub rule_id: u32,
}

/// Create a policy.
#[derive(Message)]
#[reply(NpolPolicyCreateReply)]
pub struct NpolPolicyCreate {
    /// rules, in order
    #[counted(num_items: u32)]
    pub rules: Vec<NpolPolicyItem>,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct NpolPolicyCreateReply {
    /// index
    pub policy_id: u32,
}

/// Replace a policy.
#[derive(Message)]
pub struct NpolPolicyUpdate {
    /// index
    pub policy_id: u32,
    /// rules, in order
    #[counted(num_items: u32)]
    pub rules: Vec<NpolPolicyItem>,
}

/// Delete a policy, and remove it from interfaces.
#[derive(Message)]
pub struct NpolPolicyDelete {
    /// index
    pub policy_id: u32,
}

/// Set the policies of an interface.
#[derive(Message)]
pub struct NpolConfigurePolicies {
    /// interface index
    pub sw_if_index: u32,
    /// number of policies for packets to the workload
    pub num_rx_policies: u32,
    /// number of the next ones, for packets from the workload; the rest are profiles
    pub num_tx_policies: u32,
    /// true if packets to the workload are those the router transmits, false if received
    pub invert_rx_tx: u8,
    /// default action of policies for packets to the workload
    pub policy_default_rx: NpolPolicyDefault,
    /// default action for packets from the workload
    pub policy_default_tx: NpolPolicyDefault,
    /// default action of profiles for packets to the workload
    pub profile_default_rx: NpolPolicyDefault,
    /// default action for packets from the workload
    pub profile_default_tx: NpolPolicyDefault,
    /// policies
    #[counted(total_ids: u32, before = invert_rx_tx)]
    pub policy_ids: Vec<u32>,
}

fn short<E>(_: E) -> Retval {
    Retval::INVALID_VALUE
}

impl NpolIpsetMember {
    fn native(&self, set: &Set) -> Result<Member, Retval> {
        Ok(match set {
            Set::Addresses(_) => {
                Member::Address(self.val.read::<Address>().map_err(short)?.native()?)
            }
            Set::Prefixes(_) => Member::Prefix(self.val.read::<Prefix>().map_err(short)?.native()?),
            Set::Ports(_) => {
                let tuple = self.val.read::<NpolThreeTuple>().map_err(short)?;
                Member::Port((tuple.address.native()?, Protocol(tuple.l4_proto), tuple.port))
            }
        })
    }
}

impl NpolRuleEntry {
    fn native(&self) -> Result<Entry, Retval> {
        let set = || self.data.read::<NpolEntrySetId>().map(|set| set.set_id).map_err(short);
        let what = match self.kind {
            NpolEntryType::CIDR => {
                What::Prefix(self.data.read::<Prefix>().map_err(short)?.native()?)
            }
            NpolEntryType::PORT_RANGE => {
                let NpolPortRange { start, end } = self.data.read().map_err(short)?;
                What::Ports(start, end)
            }
            NpolEntryType::PORT_IP_SET => What::PortSet(set()?),
            NpolEntryType::IP_SET => What::Set(set()?),
            _ => return Err(Retval::INVALID_VALUE),
        };
        Ok(Entry { is_src: self.is_src, is_not: self.is_not, what })
    }
}

impl NpolRule {
    fn native(&self) -> Result<Rule, Retval> {
        let action = ACTIONS.get(usize::from(self.action.0)).ok_or(Retval::INVALID_VALUE)?.1;
        let filters = self.filters.iter().filter(|f| f.kind != NpolRuleFilterType::NONE);
        let filter = |f: &NpolRuleFilter| {
            let (_, field) = *FIELDS.get(usize::from(f.kind.0 - 1))?;
            let is_byte = f.value <= u8::MAX.into();
            is_byte.then_some(Filter { field, value: f.value, is_equal: f.should_match != 0 })
        };
        let filters = filters.map(filter).collect::<Option<_>>().ok_or(Retval::INVALID_VALUE)?;
        let entries = self.matches.iter().map(NpolRuleEntry::native).collect::<Result<_, _>>()?;
        Ok(Rule { action, filters, entries })
    }
}

fn items(rules: &[NpolPolicyItem]) -> Vec<Item> {
    let item = |i: &NpolPolicyItem| Item { is_inbound: i.is_inbound, rule: i.rule_id };
    rules.iter().map(item).collect()
}

fn verdict(number: NpolPolicyDefault) -> Result<Verdict, Retval> {
    let found = VERDICTS.get(usize::from(number.0));
    found.map(|(_, verdict)| *verdict).ok_or(Retval::INVALID_VALUE)
}

fn configure(router: &mut Router, m: NpolConfigurePolicies) -> Result<(), Retval> {
    let mut rx = m.policy_ids;
    let (rx_len, tx_len) = (m.num_rx_policies as usize, m.num_tx_policies as usize);
    if rx_len.checked_add(tx_len).is_none_or(|len| len > rx.len()) {
        return Err(Retval::INVALID_VALUE);
    }
    let mut tx = rx.split_off(rx_len);
    let profiles = tx.split_off(tx_len);
    let applied = Applied {
        is_set: true,
        policies: [rx, tx],
        profiles,
        policy_defaults: [verdict(m.policy_default_rx)?, verdict(m.policy_default_tx)?],
        profile_defaults: [verdict(m.profile_default_rx)?, verdict(m.profile_default_tx)?],
        is_inverted: m.invert_rx_tx != 0,
    };
    Ok(super::apply(router, InterfaceIndex(m.sw_if_index), applied)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("npol", "0.1.0")
        .call(|_, _: NpolGetVersion| Ok(NpolGetVersionReply { major: 0, minor: 1 }))
        .call(|router: &mut Router, m: NpolIpsetCreate| {
            let place = [
                (NpolIpsetType::IP, "ip"),
                (NpolIpsetType::IP_AND_PORT, "ipport"),
                (NpolIpsetType::NET, "net"),
            ];
            let word = place.into_iter().find(|(kind, _)| *kind == m.kind);
            let (_, word) = word.ok_or(Retval::INVALID_VALUE)?;
            let make = KINDS.into_iter().find(|(known, _)| *known == word);
            let (_, make) = make.ok_or(Retval::INVALID_VALUE)?;
            Ok(NpolIpsetCreateReply { set_id: super::add_set(router, None, make()) })
        })
        .call(|router: &mut Router, m: NpolIpsetAddDelMembers| {
            let sets = &router.own::<Npol>().sets;
            let set = sets.get(&m.set_id).ok_or(Error::NoSet(m.set_id))?;
            let members = m.members.iter().map(|member| member.native(set));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            Ok(super::change_set(router, m.set_id, &members, m.is_add)?)
        })
        .call(|router: &mut Router, m: NpolIpsetDelete| Ok(super::remove_set(router, m.set_id)?))
        .call(|router: &mut Router, m: NpolRuleCreate| {
            let rule_id = super::set_rule(router, None, m.rule.native()?)?;
            Ok(NpolRuleCreateReply { rule_id })
        })
        .call(|router: &mut Router, m: NpolRuleUpdate| {
            router.own::<Npol>().rules.get(&m.rule_id).ok_or(Error::NoRule(m.rule_id))?;
            super::set_rule(router, Some(m.rule_id), m.rule.native()?)?;
            Ok(())
        })
        .call(|router: &mut Router, m: NpolRuleDelete| Ok(super::remove_rule(router, m.rule_id)?))
        .call(|router: &mut Router, m: NpolPolicyCreate| {
            let policy_id = super::set_policy(router, None, items(&m.rules))?;
            Ok(NpolPolicyCreateReply { policy_id })
        })
        .call(|router: &mut Router, m: NpolPolicyUpdate| {
            let id = m.policy_id;
            router.own::<Npol>().policies.get(&id).ok_or(Error::NoPolicy(id))?;
            super::set_policy(router, Some(id), items(&m.rules))?;
            Ok(())
        })
        .call(|router: &mut Router, m: NpolPolicyDelete| {
            Ok(super::remove_policy(router, m.policy_id)?)
        })
        .call(configure);
}
