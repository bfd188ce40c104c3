//! Sub-interfaces.

use control::api::{Api, Message, Retval};

use super::super::{Error, InterfaceIndex, SubInterface};
use super::InterfaceReply;
use super::types::SubIfFlags;
use crate::router::Router;

/// Create a sub-interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct CreateSubif {
    /// parent interface
    pub sw_if_index: InterfaceIndex,
    /// sub-interface ID
    pub sub_id: u32,
    /// tags and frames to match
    pub sub_if_flags: SubIfFlags,
    /// Outer VLAN ID
    pub outer_vlan_id: u16,
    /// Inner VLAN ID
    pub inner_vlan_id: u16,
}

/// Create a sub-interface for one VLAN.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct CreateVlanSubif {
    /// parent interface
    pub sw_if_index: InterfaceIndex,
    /// VLAN ID, also the sub-interface ID
    pub vlan_id: u32,
}

/// Delete a sub-interface.
#[derive(Message)]
pub struct DeleteSubif {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

impl CreateSubif {
    fn wanted(&self) -> SubInterface {
        let has = |flag| self.sub_if_flags.contains(flag);
        let tags = match (has(SubIfFlags::TWO_TAGS), has(SubIfFlags::ONE_TAG)) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        };
        let vlan = |any, vlan, of| (tags >= of && !has(any)).then_some(vlan);
        SubInterface {
            id: self.sub_id,
            tags,
            is_dot1ad: has(SubIfFlags::DOT1AD),
            is_exact: has(SubIfFlags::EXACT_MATCH),
            is_default: has(SubIfFlags::DEFAULT),
            outer: vlan(SubIfFlags::OUTER_VLAN_ID_ANY, self.outer_vlan_id, 1),
            inner: vlan(SubIfFlags::INNER_VLAN_ID_ANY, self.inner_vlan_id, 2),
            sender: None,
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    super::module(api)
        .call(|router: &mut Router, m: CreateSubif| {
            let sw_if_index = router.add_sub_interface(m.sw_if_index, m.wanted())?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: CreateVlanSubif| {
            super::find(router, m.sw_if_index)?;
            let vlan = u16::try_from(m.vlan_id).map_err(|_| Retval::INVALID_VLAN)?;
            let sub = SubInterface::dot1q(m.vlan_id, vlan);
            let made = router.add_sub_interface(m.sw_if_index, sub).map_err(|e| match e {
                Error::SubExists(_) => Retval::VLAN_ALREADY_EXISTS,
                e => e.into(),
            });
            Ok(InterfaceReply { sw_if_index: made? })
        })
        .call(|router: &mut Router, m: DeleteSubif| {
            router.remove_sub_interface(m.sw_if_index).map_err(|e| match e {
                Error::Unfit => Retval::INVALID_SW_IF_INDEX,
                e => e.into(),
            })
        });
}
