//! Messages of the module `acl` about MACIP lists.

use net::prelude::*;

use super::Error;
use super::api::{NONE, each_interface, text};
use super::api_types::MacipAclRule;
use super::macip::{self, MacIp, MacRule};

/// Add a MACIP list.
#[derive(Message)]
#[reply(MacipAclAddReply)]
pub struct MacipAclAdd {
    /// tag
    pub tag: Text<64>,
    /// rules, in order
    #[counted(count: u32)]
    pub r: Vec<MacipAclRule>,
}

/// Reply: index of the new interface.
#[derive(Message)]
#[head(details)]
pub struct MacipAclAddReply {
    /// index
    pub acl_index: u32,
    /// 0, or a negative error number
    pub retval: i32,
}

/// Add or replace a MACIP list.
#[derive(Message)]
#[reply(MacipAclAddReplaceReply)]
pub struct MacipAclAddReplace {
    /// access list; 4294967295 for a new one
    #[preset(4294967295)]
    pub acl_index: u32,
    /// tag
    pub tag: Text<64>,
    /// rules, in order
    #[counted(count: u32)]
    pub r: Vec<MacipAclRule>,
}

/// Reply: index of the new interface.
#[derive(Message)]
#[head(details)]
pub struct MacipAclAddReplaceReply {
    /// index
    pub acl_index: u32,
    /// 0, or a negative error number
    pub retval: i32,
}

/// Delete a MACIP list.
#[derive(Message)]
pub struct MacipAclDel {
    /// access list
    pub acl_index: u32,
}

/// Apply a MACIP list to an interface, or remove it.
#[derive(Message)]
pub struct MacipAclInterfaceAddDel {
    /// true to apply, false to remove
    #[preset("true")]
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// access list
    pub acl_index: u32,
}

/// List MACIP lists.
#[derive(Message)]
#[details(MacipAclDetails)]
pub struct MacipAclDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub acl_index: u32,
}

/// A MACIP list.
#[derive(Message)]
pub struct MacipAclDetails {
    /// index
    pub acl_index: u32,
    /// tag
    pub tag: Text<64>,
    /// rules, in order
    #[counted(count: u32)]
    pub r: Vec<MacipAclRule>,
}

/// Get the MACIP lists of all interfaces.
#[derive(Message)]
#[reply(MacipAclInterfaceGetReply)]
pub struct MacipAclInterfaceGet {}

/// MACIP lists of interfaces, up to the highest interface index that ever had one.
#[derive(Message)]
#[head(details)]
pub struct MacipAclInterfaceGetReply {
    /// list by interface index; 4294967295 for none
    #[counted(count: u32)]
    pub acls: Vec<u32>,
}

/// List interfaces with MACIP lists.
#[derive(Message)]
#[details(MacipAclInterfaceListDetails)]
pub struct MacipAclInterfaceListDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An interface with a MACIP list.
#[derive(Message)]
pub struct MacipAclInterfaceListDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// MACIP list
    #[counted(count: u8)]
    pub acls: Vec<u32>,
}

fn native(rules: Vec<MacipAclRule>) -> Result<Vec<MacRule>, Error> {
    (0..).zip(rules).map(|(number, rule)| rule.native(number)).collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("acl", "2.0.1")
        .call(|router, m: MacipAclAdd| {
            let acl_index = macip::put(router, None, false, m.tag.as_str(), native(m.r)?)?;
            Ok(MacipAclAddReply { acl_index, retval: 0 })
        })
        .call(|router, m: MacipAclAddReplace| {
            let index = (m.acl_index != NONE).then_some(m.acl_index);
            let acl_index = macip::put(router, index, false, m.tag.as_str(), native(m.r)?)?;
            Ok(MacipAclAddReplaceReply { acl_index, retval: 0 })
        })
        .call(|router, m: MacipAclDel| Ok(macip::delete(router, m.acl_index)?))
        .call(|router, m: MacipAclInterfaceAddDel| -> Result<(), Retval> {
            match m.is_add {
                true => Ok(macip::apply(router, m.sw_if_index, m.acl_index)?),
                false => Ok(macip::take_off(router, m.sw_if_index)?),
            }
        })
        .call(|router, _: MacipAclInterfaceGet| {
            let list = |i| router.setting::<MacIp>(InterfaceIndex(i)).0.unwrap_or(NONE);
            let acls = (0..macip::all(router).told).map(list).collect();
            Ok(MacipAclInterfaceGetReply { acls })
        })
        .dump_each(|_: &mut Router, m: MacipAclDump| {
            let mut next = if m.acl_index == NONE { Some(0) } else { Some(m.acl_index) };
            move |router: &mut Router| {
                let (acl_index, list) = macip::all(router).iter_from(next?).next()?;
                if m.acl_index != NONE && m.acl_index != acl_index {
                    return None;
                }
                next = (m.acl_index == NONE).then_some(acl_index + 1);
                let r = list.rules.iter().map(MacipAclRule::of).collect();
                Some(MacipAclDetails { acl_index, tag: text(&list.tag), r })
            }
        })
        .dump_each(|router: &mut Router, m: MacipAclInterfaceListDump| {
            let mut each = each_interface(router, m.sw_if_index);
            move |router: &mut Router| {
                loop {
                    let sw_if_index = each(router)?;
                    if let Some(list) = router.setting::<MacIp>(sw_if_index).0 {
                        return Some(MacipAclInterfaceListDetails {
                            sw_if_index,
                            acls: vec![list],
                        });
                    }
                }
            }
        });
}
