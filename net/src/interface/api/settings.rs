//! Changing interfaces.

use control::api::{Api, Message, Retval, Text};
use wire::MacAddr;

use super::super::{InterfaceIndex, Kind, Mtu};
use super::find;
use super::types::IfStatusFlags;
use crate::router::Router;

/// Set an interface up or down.
#[derive(Message)]
pub struct SwInterfaceSetFlags {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// administrative state
    pub flags: IfStatusFlags,
}

/// Enable or disable promiscuous mode.
#[derive(Message)]
pub struct SwInterfaceSetPromisc {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to accept frames to any address
    pub promisc_on: bool,
}

/// Set the MTU of the device.
#[derive(Message)]
pub struct HwInterfaceSetMtu {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// bytes
    pub mtu: u16,
}

/// Set the MTUs.
#[derive(Message)]
pub struct SwInterfaceSetMtu {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// MTUs: layer 3, IPv4, IPv6, MPLS
    pub mtu: [u32; 4],
}

/// Clear interface counters.
#[derive(Message)]
pub struct SwInterfaceClearStats {
    /// interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// Set or clear the tag of an interface.
#[derive(Message)]
pub struct SwInterfaceTagAddDel {
    /// true to set, false to clear
    pub is_add: bool,
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// operator-defined tag
    pub tag: Text<64>,
}

/// Add or delete a secondary MAC address of an interface.
#[derive(Message)]
pub struct SwInterfaceAddDelMacAddress {
    /// interface
    pub sw_if_index: u32,
    /// the address
    pub addr: MacAddr,
    /// true to add, false to delete
    pub is_add: u8,
}

/// Set the MAC address of an interface.
#[derive(Message)]
pub struct SwInterfaceSetMacAddress {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// MAC address
    pub mac_address: MacAddr,
}

/// Get the MAC address of an interface.
#[derive(Message)]
#[reply(SwInterfaceGetMacAddressReply)]
pub struct SwInterfaceGetMacAddress {
    /// interface
    pub sw_if_index: InterfaceIndex,
}

/// The address.
#[derive(Message)]
pub struct SwInterfaceGetMacAddressReply {
    /// zero if there is none
    pub mac_address: MacAddr,
}

/// Rename an interface.
#[derive(Message)]
pub struct SwInterfaceSetInterfaceName {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// name
    pub name: Text<64>,
}

/// Change the instance number in an interface name.
#[derive(Message)]
pub struct InterfaceNameRenumber {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// the number
    pub new_show_dev_instance: u32,
}

/// Set the link speed; unsupported if the device has a fixed one.
#[derive(Message)]
pub struct SwInterfaceSetLinkSpeed {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// kilobits per second
    pub link_speed: u32,
}

/// List the link speeds of a device.
#[derive(Message)]
#[reply(SwInterfaceGetSpeedCapaReply)]
pub struct SwInterfaceGetSpeedCapa {
    /// interface
    pub sw_if_index: InterfaceIndex,
}

/// Available speeds.
#[derive(Message)]
pub struct SwInterfaceGetSpeedCapaReply {
    /// kilobits per second
    #[counted(count: u32)]
    pub speeds: Vec<u32>,
}

/// A sub-interface has its parent's.
fn device_of(router: &Router, index: InterfaceIndex) -> Result<InterfaceIndex, Retval> {
    find(router, index).map(|i| i.sup)
}

pub(super) fn register(api: &mut Api<Router>) {
    state(api);
    names(api);
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceAddDelMacAddress| {
            let index = InterfaceIndex(m.sw_if_index);
            router.set_secondary_mac(index, m.addr, m.is_add != 0)?;
            Ok(())
        })
        .call(|router: &mut Router, m: SwInterfaceSetMacAddress| {
            let device = device_of(router, m.sw_if_index)?;
            if find(router, device)?.kind != Kind::Ethernet {
                return Err(Retval::UNSUPPORTED);
            }
            if m.mac_address.is_multicast() {
                return Err(Retval::INVALID_VALUE);
            }
            router.set_mac(device, m.mac_address);
            Ok(())
        })
        .call(|router: &mut Router, m: SwInterfaceGetMacAddress| {
            let i = find(router, m.sw_if_index)?;
            let has = i.kind == Kind::Ethernet;
            let mac_address = if has { i.mac } else { MacAddr::ZERO };
            Ok(SwInterfaceGetMacAddressReply { mac_address })
        })
        .call(|router: &mut Router, m: SwInterfaceSetLinkSpeed| {
            Ok(router.interfaces.choose_speed(m.sw_if_index, m.link_speed)?)
        })
        .call(|router: &mut Router, m: SwInterfaceGetSpeedCapa| {
            let speeds = router.interfaces.speeds(m.sw_if_index)?.to_vec();
            Ok(SwInterfaceGetSpeedCapaReply { speeds })
        });
}

fn state(api: &mut Api<Router>) {
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceSetFlags| {
            find(router, m.sw_if_index)?;
            router.set_admin(m.sw_if_index, m.flags.contains(IfStatusFlags::ADMIN_UP));
            Ok(())
        })
        .call(|router: &mut Router, m: SwInterfaceSetPromisc| {
            let device = device_of(router, m.sw_if_index)?;
            Ok(router.interfaces.set_promiscuous(device, m.promisc_on)?)
        })
        .call(|router: &mut Router, m: HwInterfaceSetMtu| {
            Ok(router.set_link_mtu(m.sw_if_index, m.mtu.into())?)
        })
        .call(|router: &mut Router, m: SwInterfaceSetMtu| {
            find(router, m.sw_if_index)?;
            let [l3, ip4, ip6, mpls] = m.mtu;
            if m.mtu.iter().any(|bytes| *bytes > u16::MAX.into()) {
                return Err(Retval::INVALID_VALUE);
            }
            router.set_mtu(m.sw_if_index, Mtu { l3, ip4, ip6, mpls });
            Ok(())
        })
        .call(|router: &mut Router, m: SwInterfaceClearStats| {
            let only = (m.sw_if_index.0 != u32::MAX).then_some(m.sw_if_index);
            if let Some(index) = only {
                find(router, index)?;
            }
            router.clear_interface_counters(only).map_err(|_| Retval::UNSPECIFIED)
        });
}

fn names(api: &mut Api<Router>) {
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceTagAddDel| {
            find(router, m.sw_if_index)?;
            if m.is_add && m.tag.is_empty() {
                return Err(Retval::INVALID_VALUE);
            }
            let tag = if m.is_add { m.tag.as_str() } else { "" };
            Ok(router.set_tag(m.sw_if_index, tag)?)
        })
        .call(|router: &mut Router, m: SwInterfaceSetInterfaceName| {
            Ok(router.rename_interface(m.sw_if_index, &m.name)?)
        })
        .call(|router: &mut Router, m: InterfaceNameRenumber| {
            Ok(router.renumber_interface(m.sw_if_index, m.new_show_dev_instance)?)
        });
}
