//! Messages of the module `l2`: their fields.

use control::api::types::Address;
use control::api::{Fields, Record};
use net::prelude::*;

control::numbers! {
    /// Role of a port in its domain.
    pub enum L2PortType: u32 = "l2_port_type" in "vnet/l2/l2.api" {
        NORMAL = 0 => "L2_API_PORT_TYPE_NORMAL",
        BVI = 1 => "L2_API_PORT_TYPE_BVI",
        UU_FWD = 2 => "L2_API_PORT_TYPE_UU_FWD",
    }
    /// Bridge domain features.
    pub enum BdFlags: u32 = "bd_flags" in "vnet/l2/l2.api" {
        NONE = 0 => "BRIDGE_API_FLAG_NONE",
        LEARN = 1 => "BRIDGE_API_FLAG_LEARN",
        FWD = 2 => "BRIDGE_API_FLAG_FWD",
        FLOOD = 4 => "BRIDGE_API_FLAG_FLOOD",
        UU_FLOOD = 8 => "BRIDGE_API_FLAG_UU_FLOOD",
        ARP_TERM = 16 => "BRIDGE_API_FLAG_ARP_TERM",
        ARP_UFWD = 32 => "BRIDGE_API_FLAG_ARP_UFWD",
    }
    /// Port features.
    pub enum L2IntfFeatFlags: u32 = "l2_intf_feat_flags" in "vnet/l2/l2.api" {
        NONE = 0 => "L2_INTF_FEAT_NONE",
        LEARN = 1 => "L2_INTF_FEAT_LEARN",
        FWD = 2 => "L2_INTF_FEAT_FWD",
        FLOOD = 4 => "L2_INTF_FEAT_FLOOD",
        UU_FLOOD = 8 => "L2_INTF_FEAT_UU_FLOOD",
        ARP_TERM = 16 => "L2_INTF_FEAT_ARP_TERM",
        ARP_UFWD = 32 => "L2_INTF_FEAT_ARP_UFWD",
    }
}

/// A port of a bridge domain.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct BridgeDomainSwIf {
    /// nothing
    pub context: u32,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// split horizon group
    pub shg: u8,
}

/// MAC address of an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct BdIpMac {
    /// bridge domain
    pub bd_id: u32,
    /// the address
    pub ip: Address,
    /// MAC address
    pub mac: MacAddr,
}

/// List cross-connects.
#[derive(Message)]
#[details(L2XconnectDetails)]
pub struct L2XconnectDump {}

/// A cross-connect.
#[derive(Message)]
pub struct L2XconnectDetails {
    /// receive interface
    pub rx_sw_if_index: InterfaceIndex,
    /// transmit interface
    pub tx_sw_if_index: InterfaceIndex,
}

/// Enable or disable port features.
#[derive(Message)]
#[reply(L2FlagsReply)]
pub struct L2Flags {
    /// port
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub is_set: bool,
    /// feature bits
    pub feature_bitmap: u32,
}

/// Flags that are set.
#[derive(Message)]
pub struct L2FlagsReply {
    /// all input features
    pub resulting_feature_bitmap: u32,
}

/// Get the features of an interface.
#[derive(Message)]
#[reply(L2FlagsGetReply)]
pub struct L2FlagsGet {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Flags that are set.
#[derive(Message)]
pub struct L2FlagsGetReply {
    /// input features
    pub input_feature_bitmap: u32,
    /// output features
    pub output_feature_bitmap: u32,
}

/// Enable or disable interface features.
#[derive(Message)]
pub struct L2FlagsSet {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub is_set: bool,
    /// input features
    pub input_feature_bitmap: u32,
    /// output features
    pub output_feature_bitmap: u32,
}

/// Get the features of a port.
#[derive(Message)]
#[reply(L2InterfaceFeatFlagsGetReply)]
pub struct L2InterfaceFeatFlagsGet {
    /// port
    pub sw_if_index: InterfaceIndex,
}

/// Flags that are set.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsGetReply {
    /// features
    pub flags: L2IntfFeatFlags,
}

/// Enable or disable port features.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsSet {
    /// port
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub is_set: bool,
    /// features
    pub flags: L2IntfFeatFlags,
}

/// Set the MAC age of a bridge domain.
#[derive(Message)]
pub struct BridgeDomainSetMacAge {
    /// bridge domain
    pub bd_id: u32,
    /// minutes; 0 for no ageing
    pub mac_age: u8,
}

/// Set the MAC learn limit of new bridge domains.
#[derive(Message)]
pub struct BridgeDomainSetDefaultLearnLimit {
    /// addresses
    pub learn_limit: u32,
}

/// Set the MAC learn limit of a bridge domain.
#[derive(Message)]
pub struct BridgeDomainSetLearnLimit {
    /// bridge domain
    pub bd_id: u32,
    /// addresses
    pub learn_limit: u32,
}

/// Fields of a bridge domain.
#[derive(Fields)]
pub struct DomainFields {
    /// flood broadcast and multicast frames
    pub flood: bool,
    /// flood unknown unicast
    pub uu_flood: bool,
    /// forward known unicast
    pub forward: bool,
    /// learn MAC addresses
    pub learn: bool,
    /// answer ARP requests
    pub arp_term: bool,
    /// Send ARP requests to the unknown-unicast interface
    pub arp_ufwd: bool,
    /// MAC age in minutes
    pub mac_age: u8,
    /// operator-defined tag
    pub bd_tag: Text<64>,
    /// true to create, false to delete
    #[preset("true")]
    pub is_add: bool,
}

/// Create or delete a bridge domain.
#[derive(Message)]
#[option("deprecated")]
#[reply(BridgeDomainAddDelReply)]
pub struct BridgeDomainAddDel {
    /// index
    pub bd_id: u32,
    /// domain
    #[flatten]
    pub domain: DomainFields,
}

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
pub struct BridgeDomainAddDelReply {}

/// Create or delete a bridge domain.
#[derive(Message)]
#[reply(BridgeDomainAddDelV2Reply)]
pub struct BridgeDomainAddDelV2 {
    /// bridge domain ID; 4294967295 for the lowest free one
    pub bd_id: u32,
    /// domain
    #[flatten]
    pub domain: DomainFields,
}

/// Reply: success.
#[derive(Message)]
pub struct BridgeDomainAddDelV2Reply {
    /// index
    pub bd_id: u32,
}

/// List bridge domains.
#[derive(Message)]
#[details(BridgeDomainDetails)]
pub struct BridgeDomainDump {
    /// only this one
    #[preset(4294967295)]
    pub bd_id: u32,
    /// only this interface
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A bridge domain.
#[derive(Message)]
pub struct BridgeDomainDetails {
    /// index
    pub bd_id: u32,
    /// broadcast and multicast flooding
    pub flood: bool,
    /// unknown-unicast flooding
    pub uu_flood: bool,
    /// unicast forwarding
    pub forward: bool,
    /// MAC learning enabled
    pub learn: bool,
    /// ARP termination
    pub arp_term: bool,
    /// ARP requests to the unknown-unicast interface
    pub arp_ufwd: bool,
    /// MAC age in minutes
    pub mac_age: u8,
    /// operator-defined tag
    pub bd_tag: Text<64>,
    /// bridge virtual interface
    pub bvi_sw_if_index: InterfaceIndex,
    /// unknown-unicast interface
    pub uu_fwd_sw_if_index: InterfaceIndex,
    /// ports
    #[counted(n_sw_ifs: u32)]
    pub sw_if_details: Vec<BridgeDomainSwIf>,
}

/// Enable or disable bridge domain features.
#[derive(Message)]
#[reply(BridgeFlagsReply)]
pub struct BridgeFlags {
    /// bridge domain
    pub bd_id: u32,
    /// true to enable, false to disable
    pub is_set: bool,
    /// features
    pub flags: BdFlags,
}

/// Flags that are set.
#[derive(Message)]
pub struct BridgeFlagsReply {
    /// all features
    pub resulting_feature_bitmap: u32,
}

/// Set the VLAN tag rewrite of an interface.
#[derive(Message)]
pub struct L2InterfaceVlanTagRewrite {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// operation; 0 for none
    pub vtr_op: u32,
    /// true if the first tag is 802.1Q, false for 802.1ad
    pub push_dot1q: u32,
    /// first tag
    pub tag1: u32,
    /// second tag
    pub tag2: u32,
}

/// Set the provider backbone bridging rewrite of an interface.
#[derive(Message)]
pub struct L2InterfacePbbTagRewrite {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// 0 for none
    pub vtr_op: u32,
    /// Outer VLAN ID
    pub outer_tag: u16,
    /// destination address
    pub b_dmac: MacAddr,
    /// source address
    pub b_smac: MacAddr,
    /// VLAN ID
    pub b_vlanid: u16,
    /// service identifier
    pub i_sid: u32,
}

/// Add or delete a patch: transmit all frames of an interface on another, without further
/// processing.
#[derive(Message)]
pub struct L2PatchAddDel {
    /// receive interface
    pub rx_sw_if_index: InterfaceIndex,
    /// transmit interface
    pub tx_sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    #[preset("true")]
    pub is_add: bool,
}

/// Accepted: there are no virtual paths.
#[derive(Message)]
pub struct SwInterfaceSetVpath {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    #[preset(4294967295)]
    pub enable: bool,
}

/// Cross-connect an interface with another.
#[derive(Message)]
pub struct SwInterfaceSetL2Xconnect {
    /// receive interface
    pub rx_sw_if_index: InterfaceIndex,
    /// transmit interface
    pub tx_sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    #[preset("true")]
    pub enable: bool,
}

/// Add an interface to a bridge domain, or remove it.
#[derive(Message)]
pub struct SwInterfaceSetL2Bridge {
    /// interface index
    pub rx_sw_if_index: InterfaceIndex,
    /// bridge domain
    pub bd_id: u32,
    /// port type
    pub port_type: L2PortType,
    /// split horizon group; 0 for none
    pub shg: u8,
    /// true to add, false to remove
    #[preset("true")]
    pub enable: bool,
}

/// Add or delete an ARP termination entry of a bridge domain.
#[derive(Message)]
pub struct BdIpMacAddDel {
    /// true to add, false to delete
    #[preset("true")]
    pub is_add: bool,
    /// the address
    pub entry: BdIpMac,
}

/// Delete all ARP termination entries of a bridge domain.
#[derive(Message)]
pub struct BdIpMacFlush {
    /// bridge domain
    pub bd_id: u32,
}

/// An ARP termination entry.
#[derive(Message)]
pub struct BdIpMacDetails {
    /// the address
    pub entry: BdIpMac,
}

/// List ARP termination entries.
#[derive(Message)]
#[details(BdIpMacDetails)]
pub struct BdIpMacDump {
    /// bridge domain; 4294967295 for all
    pub bd_id: u32,
}

/// Enable or disable the egress filter: transmit only frames the interface would accept.
#[derive(Message)]
pub struct L2InterfaceEfpFilter {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    #[preset("true")]
    pub enable_disable: bool,
}

/// Register or unregister for ARP termination events.
#[derive(Message)]
#[events(L2ArpTermEvent)]
pub struct WantL2ArpTermEvents {
    /// true to register, false to unregister
    pub enable: bool,
    /// process ID, echoed in events
    pub pid: u32,
}

/// An ARP request or neighbor solicitation in a bridge domain.
#[derive(Debug, PartialEq, Message)]
pub struct L2ArpTermEvent {
    /// own address
    pub ip: Address,
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// MAC address
    pub mac: MacAddr,
}
