//! Messages of the module `nat66`.

use net::prelude::*;

use super::{Mapping, Sides};

control::numbers! {
    /// NAT flags.
    pub enum NatConfigFlags: u8 = "nat_config_flags" in "plugins/nat/lib/nat_types.api" {
        NONE = 0 => "NAT_IS_NONE",
        TWICE_NAT = 1 => "NAT_IS_TWICE_NAT",
        SELF_TWICE_NAT = 2 => "NAT_IS_SELF_TWICE_NAT",
        OUT2IN_ONLY = 4 => "NAT_IS_OUT2IN_ONLY",
        ADDR_ONLY = 8 => "NAT_IS_ADDR_ONLY",
        OUTSIDE = 16 => "NAT_IS_OUTSIDE",
        INSIDE = 32 => "NAT_IS_INSIDE",
        STATIC = 64 => "NAT_IS_STATIC",
        EXT_HOST_VALID = 128 => "NAT_IS_EXT_HOST_VALID",
    }
}

/// Enable or disable NAT66.
#[derive(Message)]
pub struct Nat66PluginEnableDisable {
    /// outside table
    pub outside_vrf: u32,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Set an interface as inside or outside, or remove it.
#[derive(Message)]
pub struct Nat66AddDelInterface {
    /// true to add, false to delete
    pub is_add: bool,
    /// inside, or outside by default
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List inside and outside interfaces.
#[derive(Message)]
#[details(Nat66InterfaceDetails)]
pub struct Nat66InterfaceDump {}

/// An inside or outside interface.
#[derive(Message)]
pub struct Nat66InterfaceDetails {
    /// inside and outside flags
    pub flags: NatConfigFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a mapping of an inside address to an outside address.
#[derive(Message)]
pub struct Nat66AddDelStaticMapping {
    /// true to add, false to delete
    pub is_add: bool,
    /// inside address
    pub local_ip_address: Ipv6Addr,
    /// outside address
    pub external_ip_address: Ipv6Addr,
    /// inside table
    pub vrf_id: u32,
}

/// List mappings.
#[derive(Message)]
#[details(Nat66StaticMappingDetails)]
pub struct Nat66StaticMappingDump {}

/// A mapping.
#[derive(Message)]
pub struct Nat66StaticMappingDetails {
    /// inside address
    pub local_ip_address: Ipv6Addr,
    /// outside address
    pub external_ip_address: Ipv6Addr,
    /// inside table
    pub vrf_id: u32,
    /// bytes translated
    pub total_bytes: u64,
    /// packets translated
    pub total_pkts: u64,
}

fn mapping(router: &mut Router, m: &Nat66AddDelStaticMapping) -> Result<(), Retval> {
    let change = if m.is_add { super::add } else { super::remove };
    Ok(change(router, m.local_ip_address, m.external_ip_address, m.vrf_id)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat66", "1.0.0")
        .call(|router: &mut Router, m: Nat66PluginEnableDisable| {
            let done = match m.enable {
                true => super::enable(router, m.outside_vrf),
                false => super::disable(router),
            };
            Ok(done?)
        })
        .call(|router: &mut Router, m: Nat66AddDelInterface| {
            let is_inside = m.flags.contains(NatConfigFlags::INSIDE);
            Ok(super::set_side(router, m.sw_if_index, is_inside, m.is_add)?)
        })
        .dump(|router: &mut Router, _: Nat66InterfaceDump| {
            let row = |(sw_if_index, sides): (_, &Sides)| Nat66InterfaceDetails {
                flags: NatConfigFlags::NONE
                    .with(NatConfigFlags::INSIDE, sides.inside)
                    .with(NatConfigFlags::OUTSIDE, sides.outside),
                sw_if_index,
            };
            router.settings::<Sides>().map(row).collect()
        })
        .call(|router: &mut Router, m: Nat66AddDelStaticMapping| mapping(router, &m))
        .dump(|router: &mut Router, _: Nat66StaticMappingDump| {
            let row = |(m, volume): (&Mapping, infra::counter::Volume)| Nat66StaticMappingDetails {
                local_ip_address: m.local,
                external_ip_address: m.external,
                vrf_id: m.vrf,
                total_bytes: volume.bytes,
                total_pkts: volume.packets,
            };
            super::mappings(router).map(row).collect()
        });
}
