//! Rules as messages have them.

use control::api::Record;
use control::api::types::{IpProto, Prefix};
use wire::MacAddr;

use super::macip::MacRule;
use super::{Action, Error, Rule};

control::numbers! {
    /// Actions on packets that match a rule.
    pub enum AclAction: u8 = "acl_action" in "plugins/acl/acl_types.api" {
        DENY = 0 => "ACL_ACTION_API_DENY",
        PERMIT = 1 => "ACL_ACTION_API_PERMIT",
        PERMIT_REFLECT = 2 => "ACL_ACTION_API_PERMIT_REFLECT",
    }
}

/// A rule of an access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("plugins/acl/acl_types.api")]
pub struct AclRule {
    /// action
    pub is_permit: AclAction,
    /// source prefix
    pub src_prefix: Prefix,
    /// destination prefix
    pub dst_prefix: Prefix,
    /// protocol; 0 for any
    pub proto: IpProto,
    /// first source port or ICMP type
    pub srcport_or_icmptype_first: u16,
    /// last of the range
    pub srcport_or_icmptype_last: u16,
    /// first destination port or ICMP code
    pub dstport_or_icmpcode_first: u16,
    /// last of the range
    pub dstport_or_icmpcode_last: u16,
    /// TCP flags mask
    pub tcp_flags_mask: u8,
    /// TCP flags value
    pub tcp_flags_value: u8,
}

/// A rule of a MACIP list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("plugins/acl/acl_types.api")]
pub struct MacipAclRule {
    /// action
    pub is_permit: AclAction,
    /// source MAC address
    pub src_mac: MacAddr,
    /// MAC address mask
    pub src_mac_mask: MacAddr,
    /// source prefix
    pub src_prefix: Prefix,
}

impl AclAction {
    fn native(self, number: u32) -> Result<Action, Error> {
        match self {
            Self::DENY => Ok(Action::Deny),
            Self::PERMIT => Ok(Action::Permit),
            Self::PERMIT_REFLECT => Ok(Action::Reflect),
            _ => Err(Error::Action(number)),
        }
    }
}

impl AclRule {
    /// The rule with a place in a list.
    pub(super) fn native(self, number: u32) -> Result<Rule, Error> {
        Ok(Rule {
            action: self.is_permit.native(number)?,
            src: self.src_prefix.native().map_err(|_| Error::SourceLength(number))?,
            dst: self.dst_prefix.native().map_err(|_| Error::DestinationLength(number))?,
            protocol: self.proto.0,
            src_ports: (self.srcport_or_icmptype_first, self.srcport_or_icmptype_last),
            dst_ports: (self.dstport_or_icmpcode_first, self.dstport_or_icmpcode_last),
            tcp_flags: (self.tcp_flags_mask, self.tcp_flags_value),
        })
    }
    pub(super) fn of(rule: &Rule) -> Self {
        Self {
            is_permit: AclAction(rule.action as u8),
            src_prefix: rule.src.into(),
            dst_prefix: rule.dst.into(),
            proto: IpProto(rule.protocol),
            srcport_or_icmptype_first: rule.src_ports.0,
            srcport_or_icmptype_last: rule.src_ports.1,
            dstport_or_icmpcode_first: rule.dst_ports.0,
            dstport_or_icmpcode_last: rule.dst_ports.1,
            tcp_flags_mask: rule.tcp_flags.0,
            tcp_flags_value: rule.tcp_flags.1,
        }
    }
}

impl MacipAclRule {
    /// The rule with a place in a list.
    pub(super) fn native(self, number: u32) -> Result<MacRule, Error> {
        let action = self.is_permit.native(number)?;
        Ok(MacRule {
            permit: action != Action::Deny,
            mac: self.src_mac,
            mac_mask: self.src_mac_mask,
            src: self.src_prefix.native().map_err(|_| Error::SourceLength(number))?,
        })
    }
    pub(super) fn of(rule: &MacRule) -> Self {
        Self {
            is_permit: if rule.permit { AclAction::PERMIT } else { AclAction::DENY },
            src_mac: rule.mac,
            src_mac_mask: rule.mac_mask,
            src_prefix: rule.src.into(),
        }
    }
}
