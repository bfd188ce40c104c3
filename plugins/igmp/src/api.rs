//! Messages of the module `igmp`.

use std::net::Ipv4Addr;

use control::api::types::Prefix;
use control::api::{Api, Message, Record, Retval};
use net::{InterfaceIndex, Router};

use super::{Igmp, Mode, Range, Wanted};

control::numbers! {
    /// Meaning of a list of sources.
    pub enum FilterMode: u32 = "filter_mode" in "" {
        EXCLUDE = 0 => "EXCLUDE",
        INCLUDE = 1 => "INCLUDE",
    }
    /// Meaning of the groups of a prefix.
    pub enum GroupPrefixType: u32 = "group_prefix_type" in "" {
        ASM = 0 => "ASM",
        SSM = 1 => "SSM",
    }
}

/// A group and the sources that are wanted of it, or are not.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct IgmpGroup {
    /// meaning of the sources
    pub filter: FilterMode,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the group
    pub gaddr: Ipv4Addr,
    /// the sources
    #[counted(n_srcs: u8, before = sw_if_index)]
    pub saddrs: Vec<Ipv4Addr>,
}

/// A prefix of groups.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct GroupPrefix {
    /// meaning of its groups
    #[name("type")]
    pub kind: GroupPrefixType,
    /// the prefix
    pub prefix: Prefix,
}

/// Join a group on a host interface, change the sources that are wanted, or leave it.
#[derive(Message)]
pub struct IgmpListen {
    /// the group; it is left when no source is included
    pub group: IgmpGroup,
}

/// Take part in IGMP on an interface, or no longer.
#[derive(Message)]
pub struct IgmpEnableDisable {
    /// or no longer
    pub enable: bool,
    /// 1: as a host; 0: as a router
    pub mode: u8,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Make or delete the proxy of a table.
#[derive(Message)]
pub struct IgmpProxyDeviceAddDel {
    /// or delete it
    pub add: u8,
    /// number of the table
    pub vrf_id: u32,
    /// the host interface
    pub sw_if_index: InterfaceIndex,
}

/// Have the hosts of a router interface be served by a proxy, or no longer.
#[derive(Message)]
pub struct IgmpProxyDeviceAddDelInterface {
    /// or no longer
    pub add: bool,
    /// number of the table
    pub vrf_id: u32,
    /// the router interface
    pub sw_if_index: InterfaceIndex,
}

/// List groups and sources.
#[derive(Message)]
#[details(IgmpDetails)]
pub struct IgmpDump {
    /// only those of this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A source of a group.
#[derive(Message)]
pub struct IgmpDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the source; 0.0.0.0 for all
    pub saddr: Ipv4Addr,
    /// the group
    pub gaddr: Ipv4Addr,
}

/// Have an interface take part no longer, and forget its groups.
#[derive(Message)]
pub struct IgmpClearInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Get events about groups, or no longer.
#[derive(Message)]
#[events(IgmpEvent)]
pub struct WantIgmpEvents {
    /// 0 for no longer
    pub enable: u32,
    /// the caller's process
    pub pid: u32,
}

/// Hosts want a source of a group, or no longer.
#[derive(Message)]
#[head(bare)]
pub struct IgmpEvent {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// include: it is wanted; exclude: no longer
    pub filter: FilterMode,
    /// the source; 0.0.0.0 for all
    pub saddr: Ipv4Addr,
    /// the group
    pub gaddr: Ipv4Addr,
}

/// Say how the groups of a prefix are meant.
#[derive(Message)]
pub struct IgmpGroupPrefixSet {
    /// the prefix
    pub gp: GroupPrefix,
}

/// List prefixes of groups.
#[derive(Message)]
#[details(IgmpGroupPrefixDetails)]
pub struct IgmpGroupPrefixDump {}

/// A prefix of groups.
#[derive(Message)]
pub struct IgmpGroupPrefixDetails {
    /// the prefix
    pub gp: GroupPrefix,
}

fn rows(router: &Router, only: InterfaceIndex) -> Vec<IgmpDetails> {
    let igmp = router.own::<Igmp>();
    let chosen = igmp.ports.iter().filter(|(i, _)| only.0 == u32::MAX || **i == only);
    let mut rows = Vec::new();
    for (interface, on) in chosen {
        let row = |gaddr: &Ipv4Addr, saddr: Ipv4Addr| IgmpDetails {
            sw_if_index: *interface,
            saddr,
            gaddr: *gaddr,
        };
        for (group, wanted) in on.in_order() {
            match wanted.is_exclude {
                true => rows.push(row(&group, super::querier::ALL)),
                false => rows.extend(wanted.sources.iter().map(|source| row(&group, *source))),
            }
        }
        for (group, sources) in &on.heard {
            rows.extend(sources.keys().map(|source| row(group, *source)));
        }
    }
    rows
}

fn mode(number: u8) -> Result<Mode, Retval> {
    match number {
        0 => Ok(Mode::Router),
        1 => Ok(Mode::Host),
        _ => Err(Retval::INVALID_VALUE),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("igmp", "1.0.0")
        .call(|router: &mut Router, m: IgmpListen| {
            let IgmpGroup { filter, sw_if_index, gaddr, saddrs } = m.group;
            let is_exclude = match filter {
                FilterMode::EXCLUDE => true,
                FilterMode::INCLUDE => false,
                _ => return Err(Retval::INVALID_VALUE),
            };
            let wanted = Wanted { is_exclude, sources: saddrs.into_iter().collect() };
            Ok(super::listen(router, sw_if_index, gaddr, wanted)?)
        })
        .call(|router, m: IgmpEnableDisable| {
            let mode = mode(m.mode)?;
            let set = if m.enable { super::enable } else { super::disable };
            Ok(set(router, m.sw_if_index, mode)?)
        })
        .call(|router, m: IgmpProxyDeviceAddDel| {
            Ok(super::set_proxy(router, m.vrf_id, m.sw_if_index, m.add != 0)?)
        })
        .call(|router, m: IgmpProxyDeviceAddDelInterface| {
            Ok(super::set_proxy_interface(router, m.vrf_id, m.sw_if_index, m.add)?)
        })
        .dump(|router: &mut Router, m: IgmpDump| rows(router, m.sw_if_index))
        .call(|router, m: IgmpClearInterface| Ok(super::clear(router, m.sw_if_index)?))
        .call_by(|router: &mut Router, caller, m: WantIgmpEvents| {
            router.clients.want::<IgmpEvent>(caller.client, m.pid, m.enable != 0)
        })
        .call(|router, m: IgmpGroupPrefixSet| {
            let wire::Prefix::Ip4(prefix) = m.gp.prefix.native()? else {
                return Err(Retval::INVALID_ADDRESS_FAMILY);
            };
            let range = match m.gp.kind {
                GroupPrefixType::ASM => Range::Any,
                GroupPrefixType::SSM => Range::Specific,
                _ => return Err(Retval::INVALID_VALUE),
            };
            Ok(super::set_range(router, prefix, range)?)
        })
        .dump(|router: &mut Router, _: IgmpGroupPrefixDump| {
            let row = |(prefix, range): (&wire::prefix::Ip4Prefix, &Range)| {
                let kind = match range {
                    Range::Any => GroupPrefixType::ASM,
                    Range::Specific => GroupPrefixType::SSM,
                };
                let prefix = wire::Prefix::from(*prefix).into();
                IgmpGroupPrefixDetails { gp: GroupPrefix { kind, prefix } }
            };
            router.own::<Igmp>().ranges.iter().map(row).collect()
        });
}
