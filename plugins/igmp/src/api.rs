//! Messages of the module `igmp`.

use control::api::Record;
use control::api::types::Prefix;
use net::prelude::*;

use super::{Igmp, Mode, Range, Wanted};

control::numbers! {
    /// Source filter mode.
    pub enum FilterMode: u32 = "filter_mode" in "" {
        EXCLUDE = 0 => "EXCLUDE",
        INCLUDE = 1 => "INCLUDE",
    }
    /// Group prefix type.
    pub enum GroupPrefixType: u32 = "group_prefix_type" in "" {
        ASM = 0 => "ASM",
        SSM = 1 => "SSM",
    }
}

/// A group and its included or excluded sources.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct IgmpGroup {
    /// filter mode
    pub filter: FilterMode,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// group
    pub gaddr: Ipv4Addr,
    /// sources
    #[counted(n_srcs: u8, before = sw_if_index)]
    pub saddrs: Vec<Ipv4Addr>,
}

/// A group prefix.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct GroupPrefix {
    /// type
    #[name("type")]
    pub kind: GroupPrefixType,
    /// prefix
    pub prefix: Prefix,
}

/// Join or leave a group on a host interface, or change its sources.
#[derive(Message)]
pub struct IgmpListen {
    /// group; leave it if no source is included
    pub group: IgmpGroup,
}

/// Enable or disable IGMP on an interface.
#[derive(Message)]
pub struct IgmpEnableDisable {
    /// true to enable, false to disable
    pub enable: bool,
    /// 1 for host, 0 for router
    pub mode: u8,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete the proxy device of a table.
#[derive(Message)]
pub struct IgmpProxyDeviceAddDel {
    /// true to add, false to delete
    pub add: u8,
    /// table ID
    pub vrf_id: u32,
    /// host interface (upstream)
    pub sw_if_index: InterfaceIndex,
}

/// Add or remove a router interface of a proxy.
#[derive(Message)]
pub struct IgmpProxyDeviceAddDelInterface {
    /// true to enable, false to disable
    pub add: bool,
    /// table ID
    pub vrf_id: u32,
    /// router interface (downstream)
    pub sw_if_index: InterfaceIndex,
}

/// List groups and sources.
#[derive(Message)]
#[details(IgmpDetails)]
pub struct IgmpDump {
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A source of a group.
#[derive(Message)]
pub struct IgmpDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// source; 0.0.0.0 for all
    pub saddr: Ipv4Addr,
    /// group
    pub gaddr: Ipv4Addr,
}

/// Disable IGMP on an interface and delete its groups.
#[derive(Message)]
pub struct IgmpClearInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Register or unregister for IGMP events.
#[derive(Message)]
#[events(IgmpEvent)]
pub struct WantIgmpEvents {
    /// 0 to disable
    pub enable: u32,
    /// client process ID
    pub pid: u32,
}

/// Membership changed for a source of a group.
#[derive(Message)]
#[head(bare)]
pub struct IgmpEvent {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// include: joined; exclude: left
    pub filter: FilterMode,
    /// source; 0.0.0.0 for all
    pub saddr: Ipv4Addr,
    /// group
    pub gaddr: Ipv4Addr,
}

/// Set the type of a group prefix.
#[derive(Message)]
pub struct IgmpGroupPrefixSet {
    /// prefix
    pub gp: GroupPrefix,
}

/// List group prefixes.
#[derive(Message)]
#[details(IgmpGroupPrefixDetails)]
pub struct IgmpGroupPrefixDump {}

/// A group prefix.
#[derive(Message)]
pub struct IgmpGroupPrefixDetails {
    /// prefix
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
