//! Messages of the module `acl` about access lists.

use control::api::{Api, Message, Slice, Task, Text};
use net::{InterfaceIndex, Router};

use super::api_types::AclRule;
use super::{Applied, Direction, Error, Making, all, apply, apply_one, delete};

/// A number that stands for none or all.
pub(super) const NONE: u32 = u32::MAX;

/// Get the version of the feature.
#[derive(Message)]
#[reply(AclPluginGetVersionReply)]
pub struct AclPluginGetVersion {}

/// The version of the feature.
#[derive(Message)]
#[head(details)]
pub struct AclPluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// Ping the plugin.
#[derive(Message)]
#[reply(AclPluginControlPingReply)]
pub struct AclPluginControlPing {}

/// Reply to a ping: all earlier requests have been answered.
#[derive(Message)]
pub struct AclPluginControlPingReply {
    /// client index
    pub client_index: u32,
    /// process ID of the router
    pub vpe_pid: u32,
}

/// Get the maximum number of sessions.
#[derive(Message)]
#[reply(AclPluginGetConnTableMaxEntriesReply)]
pub struct AclPluginGetConnTableMaxEntries {}

/// Maximum number of sessions.
#[derive(Message)]
#[head(details)]
pub struct AclPluginGetConnTableMaxEntriesReply {
    /// sessions
    pub conn_table_max_entries: u64,
}

/// Add or replace an access list.
#[derive(Message)]
#[reply(AclAddReplaceReply)]
pub struct AclAddReplace {
    /// access list; 4294967295 for a new one
    pub acl_index: u32,
    /// tag
    pub tag: Text<64>,
    /// rules, in order
    #[counted(count: u32)]
    pub r: Vec<AclRule>,
}

/// Reply: index of the new interface.
#[derive(Message)]
#[head(details)]
pub struct AclAddReplaceReply {
    /// index
    pub acl_index: u32,
    /// 0, or a negative error number
    pub retval: i32,
}

/// Delete an access list.
#[derive(Message)]
pub struct AclDel {
    /// access list
    pub acl_index: u32,
}

/// Add or remove an access list of an interface.
#[derive(Message)]
pub struct AclInterfaceAddDel {
    /// true to add, false to remove
    #[preset("true")]
    pub is_add: bool,
    /// true for received packets, false for transmitted ones
    pub is_input: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// access list
    pub acl_index: u32,
}

/// Set the access lists of an interface.
#[derive(Message)]
pub struct AclInterfaceSetAclList {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// number of them for received packets; the rest are for transmitted ones
    pub n_input: u8,
    /// access lists
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
    /// index
    pub acl_index: u32,
    /// tag
    pub tag: Text<64>,
    /// rules, in order
    #[counted(count: u32)]
    pub r: Vec<AclRule>,
}

/// List the access lists of interfaces.
#[derive(Message)]
#[details(AclInterfaceListDetails)]
pub struct AclInterfaceListDump {
    /// only this interface; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// The access lists of an interface.
#[derive(Message)]
pub struct AclInterfaceListDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// number of them for received packets
    pub n_input: u8,
    /// access lists
    #[counted(count: u8, before = n_input)]
    pub acls: Vec<u32>,
}

/// Set the non-IP EtherTypes allowed on an interface.
#[derive(Message)]
pub struct AclInterfaceSetEtypeWhitelist {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// number of them for received frames; the rest are for transmitted ones
    pub n_input: u8,
    /// EtherTypes; if empty, all pass
    #[counted(count: u8, before = n_input)]
    pub whitelist: Vec<u16>,
}

/// List allowed EtherTypes of interfaces.
#[derive(Message)]
#[details(AclInterfaceEtypeWhitelistDetails)]
pub struct AclInterfaceEtypeWhitelistDump {
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// Allowed EtherTypes of an interface.
#[derive(Message)]
pub struct AclInterfaceEtypeWhitelistDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// number of them for received frames
    pub n_input: u8,
    /// EtherTypes
    #[counted(count: u8, before = n_input)]
    pub whitelist: Vec<u16>,
}

/// Enable or disable per-rule counters.
#[derive(Message)]
pub struct AclStatsIntfCountersEnable {
    /// enable
    pub enable: bool,
}

/// Choose hash or linear lookup; lookups always use the hash.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AclPluginUseHashLookupSet {
    /// use the hash
    pub enable: bool,
}

/// Get whether lookups use the hash.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(AclPluginUseHashLookupGetReply)]
pub struct AclPluginUseHashLookupGet {}

/// Whether hash lookup was requested.
#[derive(Message)]
#[option("status", "in_progress")]
#[head(details)]
pub struct AclPluginUseHashLookupGetReply {
    /// use the hash
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
