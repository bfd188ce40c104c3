//! Messages of the module `acl` about access lists.

use control::api::{Api, Message, Slice, Task, Text};
use net::{InterfaceIndex, Router};

use super::api_types::AclRule;
use super::{Applied, Direction, Error, Making, all, apply, apply_one, delete};

/// A number that stands for none or all.
pub(super) const NONE: u32 = u32::MAX;

/// Ask for the version of the feature.
#[derive(Message)]
#[reply(AclPluginGetVersionReply)]
pub struct AclPluginGetVersion {}

/// The version of the feature.
#[derive(Message)]
#[head(details)]
pub struct AclPluginGetVersionReply {
    /// that of what is incompatible with others
    pub major: u32,
    /// that of what was added
    pub minor: u32,
}

/// Ask for a sign of life.
#[derive(Message)]
#[reply(AclPluginControlPingReply)]
pub struct AclPluginControlPing {}

/// All that was asked before is answered.
#[derive(Message)]
pub struct AclPluginControlPingReply {
    /// the number of the client
    pub client_index: u32,
    /// the router's process
    pub vpe_pid: u32,
}

/// Ask how many sessions there may be.
#[derive(Message)]
#[reply(AclPluginGetConnTableMaxEntriesReply)]
pub struct AclPluginGetConnTableMaxEntries {}

/// The number of sessions there may be.
#[derive(Message)]
#[head(details)]
pub struct AclPluginGetConnTableMaxEntriesReply {
    /// sessions
    pub conn_table_max_entries: u64,
}

/// Make an access list or replace one.
#[derive(Message)]
#[reply(AclAddReplaceReply)]
pub struct AclAddReplace {
    /// the list; 4294967295 for a new one
    pub acl_index: u32,
    /// its identifier
    pub tag: Text<64>,
    /// its rules in order
    #[counted(count: u32)]
    pub r: Vec<AclRule>,
}

/// It is made.
#[derive(Message)]
#[head(details)]
pub struct AclAddReplaceReply {
    /// its number
    pub acl_index: u32,
    /// 0, or a negative error number
    pub retval: i32,
}

/// Delete an access list.
#[derive(Message)]
pub struct AclDel {
    /// the list
    pub acl_index: u32,
}

/// Put an access list behind those of an interface, or take it off.
#[derive(Message)]
pub struct AclInterfaceAddDel {
    /// put there, else taken off
    #[preset("true")]
    pub is_add: bool,
    /// for received packets, else for sent ones
    pub is_input: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the list
    pub acl_index: u32,
}

/// Have an interface's packets meet these lists and no others.
#[derive(Message)]
pub struct AclInterfaceSetAclList {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// how many of them are for received packets; the others are for sent ones
    pub n_input: u8,
    /// the lists
    #[counted(count: u8, before = n_input)]
    pub acls: Vec<u32>,
}

/// List access lists.
#[derive(Message)]
#[details(AclDetails)]
pub struct AclDump {
    /// only this one; 4294967295 for all
    pub acl_index: u32,
}

/// An access list.
#[derive(Message)]
pub struct AclDetails {
    /// its number
    pub acl_index: u32,
    /// its identifier
    pub tag: Text<64>,
    /// its rules in order
    #[counted(count: u32)]
    pub r: Vec<AclRule>,
}

/// List the access lists of interfaces.
#[derive(Message)]
#[details(AclInterfaceListDetails)]
pub struct AclInterfaceListDump {
    /// only those of this interface; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// The access lists of an interface.
#[derive(Message)]
pub struct AclInterfaceListDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// how many of them are for received packets
    pub n_input: u8,
    /// the lists
    #[counted(count: u8, before = n_input)]
    pub acls: Vec<u32>,
}

/// Have only frames of these types pass besides those of IP.
#[derive(Message)]
pub struct AclInterfaceSetEtypeWhitelist {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// how many of them are for received frames; the others are for sent ones
    pub n_input: u8,
    /// the types; all pass where there is none
    #[counted(count: u8, before = n_input)]
    pub whitelist: Vec<u16>,
}

/// List the types of frames that pass.
#[derive(Message)]
#[details(AclInterfaceEtypeWhitelistDetails)]
pub struct AclInterfaceEtypeWhitelistDump {
    /// only those of this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// The types of frames that pass on an interface.
#[derive(Message)]
pub struct AclInterfaceEtypeWhitelistDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// how many of them are for received frames
    pub n_input: u8,
    /// the types
    #[counted(count: u8, before = n_input)]
    pub whitelist: Vec<u16>,
}

/// Count packets by rule, or no longer.
#[derive(Message)]
pub struct AclStatsIntfCountersEnable {
    /// count them
    pub enable: bool,
}

/// Have lists be looked up by hash, or one rule after the other: they always are by hash.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AclPluginUseHashLookupSet {
    /// by hash
    pub enable: bool,
}

/// Ask whether lists are looked up by hash.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(AclPluginUseHashLookupGetReply)]
pub struct AclPluginUseHashLookupGet {}

/// Whether lists are looked up by hash, as was asked for.
#[derive(Message)]
#[option("status", "in_progress")]
#[head(details)]
pub struct AclPluginUseHashLookupGetReply {
    /// by hash
    pub enable: bool,
}

impl Task<Router> for Making {
    type Reply = AclAddReplaceReply;
    fn step(&mut self, router: &mut Router) -> Slice<AclAddReplaceReply> {
        if !Making::step(self) {
            return Slice::Again;
        }
        let made = self.finish(router);
        Slice::Done(
            made.map(|acl_index| AclAddReplaceReply { acl_index, retval: 0 }).map_err(Into::into),
        )
    }
}

/// The text of a tag; longer ones were refused.
pub(super) fn text<const N: usize>(tag: &str) -> Text<N> {
    Text::from(tag)
}

/// Interfaces, or one alone, as far as they are there when their turn comes.
pub(super) fn each_interface(
    router: &Router,
    only: InterfaceIndex,
) -> impl FnMut(&Router) -> Option<InterfaceIndex> + use<> {
    let all = router.interfaces.iter().map(|i| i.index);
    let meant: Vec<_> = all.filter(|i| only.0 == NONE || *i == only).collect();
    let mut meant = meant.into_iter();
    move |router| meant.find(|i| router.interfaces.at(*i).is_some())
}

/// Two parts of what messages have as one list.
fn parts<T: Clone>(all: &[T], n_input: u8) -> Result<[Vec<T>; 2], Error> {
    let (input, output) = all.split_at_checked(n_input.into()).ok_or(Error::Counts)?;
    Ok([input.to_vec(), output.to_vec()])
}

fn begin(router: &Router, m: AclAddReplace) -> Result<Making, Error> {
    let index = (m.acl_index != NONE).then_some(m.acl_index);
    let rules: Result<_, _> = (0..).zip(m.r).map(|(number, rule)| rule.native(number)).collect();
    Making::begin(router, index, false, m.tag.as_str(), rules?)
}

pub(super) fn register(api: &mut Api<Router>) {
    let mut module = api.plugin("acl", "2.0.1");
    module
        .call(|_, _: AclPluginGetVersion| Ok(AclPluginGetVersionReply { major: 1, minor: 4 }))
        .call_by(|_, caller, _: AclPluginControlPing| {
            let (client_index, vpe_pid) = (caller.client, std::process::id());
            Ok(AclPluginControlPingReply { client_index, vpe_pid })
        })
        .call(|_, _: AclPluginGetConnTableMaxEntries| {
            let conn_table_max_entries = super::MOST_SESSIONS as u64;
            Ok(AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries })
        })
        .task(|router, _, m: AclAddReplace| Ok(begin(router, m)?))
        .call(|router, m: AclDel| Ok(delete(router, m.acl_index)?))
        .call(|router, m: AclInterfaceAddDel| {
            let direction = if m.is_input { Direction::Input } else { Direction::Output };
            Ok(apply_one(router, m.sw_if_index, direction, m.acl_index, m.is_add)?)
        })
        .call(|router, m: AclInterfaceSetAclList| {
            Ok(apply(router, m.sw_if_index, parts(&m.acls, m.n_input)?)?)
        })
        .call(|router, m: AclInterfaceSetEtypeWhitelist| {
            Ok(super::set_types(router, m.sw_if_index, parts(&m.whitelist, m.n_input)?)?)
        })
        .call(|router, m: AclStatsIntfCountersEnable| {
            super::set_options(router, |options| options.counts = m.enable);
            Ok(())
        })
        .call(|router, m: AclPluginUseHashLookupSet| {
            super::set_options(router, |options| options.hash_lookup = m.enable);
            Ok(())
        })
        .call(|router, _: AclPluginUseHashLookupGet| {
            let enable = all(router).options().hash_lookup;
            Ok(AclPluginUseHashLookupGetReply { enable })
        });
    module
        .dump_each(|_: &mut Router, m: AclDump| {
            let mut next = if m.acl_index == NONE { Some(0) } else { Some(m.acl_index) };
            move |router: &mut Router| {
                let (acl_index, list) = all(router).iter_from(next?).next()?;
                if m.acl_index != NONE && m.acl_index != acl_index {
                    return None;
                }
                next = (m.acl_index == NONE).then_some(acl_index + 1);
                let r = list.rules.iter().map(AclRule::of).collect();
                Some(AclDetails { acl_index, tag: text(&list.tag), r })
            }
        })
        .dump_each(|router: &mut Router, m: AclInterfaceListDump| {
            let mut each = each_interface(router, m.sw_if_index);
            move |router: &mut Router| {
                let sw_if_index = each(router)?;
                let Applied { lists: [input, output], .. } = router.setting(sw_if_index);
                let (n_input, acls) = (input.len() as u8, [input, output].concat());
                Some(AclInterfaceListDetails { sw_if_index, n_input, acls })
            }
        })
        .dump_each(|router: &mut Router, m: AclInterfaceEtypeWhitelistDump| {
            let mut each = each_interface(router, m.sw_if_index);
            move |router: &mut Router| {
                let sw_if_index = each(router)?;
                let Applied { types: [input, output], .. } = router.setting(sw_if_index);
                let (n_input, whitelist) = (input.len() as u8, [input, output].concat());
                Some(AclInterfaceEtypeWhitelistDetails { sw_if_index, n_input, whitelist })
            }
        });
}
