//! Messages of the module `stn`.

use control::api::types::Address;
use control::api::{Api, Message, Retval};

use super::{Error, Rule};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Hand packets for an address that nobody here listens for to an interface, or no longer.
#[derive(Message)]
pub(super) struct StnAddDelRule {
    pub ip_address: Address,
    pub sw_if_index: InterfaceIndex,
    pub is_add: bool,
}

/// Ask for the rules.
#[derive(Message)]
#[details(StnRulesDetails)]
pub(super) struct StnRulesDump {}

/// A rule.
#[derive(Message)]
pub(super) struct StnRulesDetails {
    pub ip_address: Address,
    pub sw_if_index: InterfaceIndex,
}

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::NoInterface => Self::INVALID_SW_IF_INDEX,
            Error::Unknown(_) => Self::NO_SUCH_ENTRY,
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("stn", "2.0.0")
        .call(|router: &mut Router, m: StnAddDelRule| {
            let addr = m.ip_address.native()?;
            match m.is_add {
                true => Ok(router.add_stn_rule(Rule { addr, interface: m.sw_if_index })?),
                false => Ok(router.remove_stn_rule(addr)?),
            }
        })
        .dump(|router: &mut Router, _: StnRulesDump| {
            let row = |(_, Rule { addr, interface }): (u32, Rule)| StnRulesDetails {
                ip_address: addr.into(),
                sw_if_index: interface,
            };
            router.stn_rules().map(row).collect()
        });
}
