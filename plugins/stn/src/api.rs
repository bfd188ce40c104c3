//! Messages of the module `stn`.

use control::api::types::Address;
use net::prelude::*;

use super::Rule;

/// Add or delete a rule that sends punted packets to an address out of an interface unchanged.
#[derive(Message)]
pub struct StnAddDelRule {
    /// destination address
    pub ip_address: Address,
    /// outgoing interface
    pub sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List rules.
#[derive(Message)]
#[details(StnRulesDetails)]
pub struct StnRulesDump {}

/// A rule.
#[derive(Message)]
pub struct StnRulesDetails {
    /// destination address
    pub ip_address: Address,
    /// outgoing interface
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("stn", "2.0.0")
        .call(|router: &mut Router, m: StnAddDelRule| {
            let addr = m.ip_address.native()?;
            match m.is_add {
                true => Ok(super::add(router, Rule { addr, interface: m.sw_if_index })?),
                false => Ok(super::remove(router, addr)?),
            }
        })
        .dump(|router: &mut Router, _: StnRulesDump| {
            let row = |(_, Rule { addr, interface }): (u32, Rule)| StnRulesDetails {
                ip_address: addr.into(),
                sw_if_index: interface,
            };
            super::all(router).map(row).collect()
        });
}
