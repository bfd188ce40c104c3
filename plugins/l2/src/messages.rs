//! Messages of the module `l2`: their fields.

use control::api::types::Address;
use control::api::{Fields, Message, Record, Text};
use net::InterfaceIndex;
use wire::MacAddr;

control::numbers! {
    /// Role of a port in its domain.
    pub enum L2PortType: u32 = "l2_port_type" in "vnet/l2/l2.api" {
        NORMAL = 0 => "L2_API_PORT_TYPE_NORMAL",
        BVI = 1 => "L2_API_PORT_TYPE_BVI",
        UU_FWD = 2 => "L2_API_PORT_TYPE_UU_FWD",
    }
    /// Features of a domain.
    pub enum BdFlags: u32 = "bd_flags" in "vnet/l2/l2.api" {
        NONE = 0 => "BRIDGE_API_FLAG_NONE",
        LEARN = 1 => "BRIDGE_API_FLAG_LEARN",
        FWD = 2 => "BRIDGE_API_FLAG_FWD",
        FLOOD = 4 => "BRIDGE_API_FLAG_FLOOD",
        UU_FLOOD = 8 => "BRIDGE_API_FLAG_UU_FLOOD",
        ARP_TERM = 16 => "BRIDGE_API_FLAG_ARP_TERM",
        ARP_UFWD = 32 => "BRIDGE_API_FLAG_ARP_UFWD",
    }
    /// Features of a port.
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

/// A port in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct BridgeDomainSwIf {
    /// nothing
    pub context: u32,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// its split horizon group
    pub shg: u8,
}

/// Owner of an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct BdIpMac {
    /// the domain
    pub bd_id: u32,
    /// the address
    pub ip: Address,
    /// its address of layer 2
    pub mac: MacAddr,
}

/// List the cross-connects.
#[derive(Message)]
#[details(L2XconnectDetails)]
pub struct L2XconnectDump {}

/// A cross-connect.
#[derive(Message)]
pub struct L2XconnectDetails {
    /// interface that frames come in by
    pub rx_sw_if_index: InterfaceIndex,
    /// interface that they leave by
    pub tx_sw_if_index: InterfaceIndex,
}

/// Switch features of a port on or off.
#[derive(Message)]
#[reply(L2FlagsReply)]
pub struct L2Flags {
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// on
    pub is_set: bool,
    /// bits of the features
    pub feature_bitmap: u32,
}

/// Flags that are on.
#[derive(Message)]
pub struct L2FlagsReply {
    /// all input features
    pub resulting_feature_bitmap: u32,
}

/// Ask for the features of an interface.
#[derive(Message)]
#[reply(L2FlagsGetReply)]
pub struct L2FlagsGet {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Flags that are on.
#[derive(Message)]
pub struct L2FlagsGetReply {
    /// features of received frames
    pub input_feature_bitmap: u32,
    /// features of sent frames
    pub output_feature_bitmap: u32,
}

/// Switch features of an interface on or off.
#[derive(Message)]
pub struct L2FlagsSet {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// on
    pub is_set: bool,
    /// features of received frames
    pub input_feature_bitmap: u32,
    /// features of sent frames
    pub output_feature_bitmap: u32,
}

/// Ask for the features of a port.
#[derive(Message)]
#[reply(L2InterfaceFeatFlagsGetReply)]
pub struct L2InterfaceFeatFlagsGet {
    /// the port
    pub sw_if_index: InterfaceIndex,
}

/// Flags that are on.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsGetReply {
    /// the features
    pub flags: L2IntfFeatFlags,
}

/// Switch features of a port on or off.
#[derive(Message)]
pub struct L2InterfaceFeatFlagsSet {
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// on
    pub is_set: bool,
    /// the features
    pub flags: L2IntfFeatFlags,
}

/// Set after how many minutes a domain forgets addresses.
#[derive(Message)]
pub struct BridgeDomainSetMacAge {
    /// the domain
    pub bd_id: u32,
    /// minutes; 0 for never
    pub mac_age: u8,
}

/// Set how many addresses new domains learn at most.
#[derive(Message)]
pub struct BridgeDomainSetDefaultLearnLimit {
    /// addresses
    pub learn_limit: u32,
}

/// Set how many addresses a domain learns at most.
#[derive(Message)]
pub struct BridgeDomainSetLearnLimit {
    /// the domain
    pub bd_id: u32,
    /// addresses
    pub learn_limit: u32,
}

/// What a bridge domain is made to be.
#[derive(Fields)]
pub struct DomainFields {
    /// flood broadcasts and multicasts
    pub flood: bool,
    /// flood frames to unknown addresses
    pub uu_flood: bool,
    /// forward frames to known addresses
    pub forward: bool,
    /// learn addresses
    pub learn: bool,
    /// answer ARP requests
    pub arp_term: bool,
    /// ARP requests go to the interface for unknown addresses
    pub arp_ufwd: bool,
    /// minutes after which addresses are forgotten
    pub mac_age: u8,
    /// tag of the operator
    pub bd_tag: Text<64>,
    /// make it
    #[preset("true")]
    pub is_add: bool,
}

/// Make or delete a bridge domain.
#[derive(Message)]
#[option("deprecated")]
#[reply(BridgeDomainAddDelReply)]
pub struct BridgeDomainAddDel {
    /// its number
    pub bd_id: u32,
    /// what it is
    #[flatten]
    pub domain: DomainFields,
}

/// It is done.
#[derive(Message)]
#[option("deprecated")]
pub struct BridgeDomainAddDelReply {}

/// Make or delete a bridge domain.
#[derive(Message)]
#[reply(BridgeDomainAddDelV2Reply)]
pub struct BridgeDomainAddDelV2 {
    /// its number; 4294967295 for the lowest free one
    pub bd_id: u32,
    /// what it is
    #[flatten]
    pub domain: DomainFields,
}

/// It is done.
#[derive(Message)]
pub struct BridgeDomainAddDelV2Reply {
    /// its number
    pub bd_id: u32,
}

/// List bridge domains.
#[derive(Message)]
#[details(BridgeDomainDetails)]
pub struct BridgeDomainDump {
    /// only this one
    #[preset(4294967295)]
    pub bd_id: u32,
    /// only that of this interface
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A bridge domain.
#[derive(Message)]
pub struct BridgeDomainDetails {
    /// its number
    pub bd_id: u32,
    /// floods broadcasts and multicasts
    pub flood: bool,
    /// floods frames to unknown addresses
    pub uu_flood: bool,
    /// forwards frames to known addresses
    pub forward: bool,
    /// learns addresses
    pub learn: bool,
    /// answers ARP requests
    pub arp_term: bool,
    /// sends ARP requests to the interface for unknown addresses
    pub arp_ufwd: bool,
    /// minutes after which addresses are forgotten
    pub mac_age: u8,
    /// tag of the operator
    pub bd_tag: Text<64>,
    /// the router's own port
    pub bvi_sw_if_index: InterfaceIndex,
    /// interface for frames to unknown addresses
    pub uu_fwd_sw_if_index: InterfaceIndex,
    /// its ports
    #[counted(n_sw_ifs: u32)]
    pub sw_if_details: Vec<BridgeDomainSwIf>,
}

/// Switch features of a domain on or off.
#[derive(Message)]
#[reply(BridgeFlagsReply)]
pub struct BridgeFlags {
    /// the domain
    pub bd_id: u32,
    /// on
    pub is_set: bool,
    /// the features
    pub flags: BdFlags,
}

/// Flags that are on.
#[derive(Message)]
pub struct BridgeFlagsReply {
    /// all features
    pub resulting_feature_bitmap: u32,
}

/// Rewrite the tags of an interface's frames.
#[derive(Message)]
pub struct L2InterfaceVlanTagRewrite {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// 0 for packets as they are
    pub vtr_op: u32,
    /// first tag of 802.1Q instead of 802.1ad
    pub push_dot1q: u32,
    /// first tag
    pub tag1: u32,
    /// second tag
    pub tag2: u32,
}

/// Put headers of provider backbone bridging before an interface's frames, or take them off.
#[derive(Message)]
pub struct L2InterfacePbbTagRewrite {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// 0 for none
    pub vtr_op: u32,
    /// VLAN of the outer tag
    pub outer_tag: u16,
    /// destination
    pub b_dmac: MacAddr,
    /// source
    pub b_smac: MacAddr,
    /// VLAN
    pub b_vlanid: u16,
    /// service
    pub i_sid: u32,
}

/// Send all frames of an interface out of another one, before anything else is done.
#[derive(Message)]
pub struct L2PatchAddDel {
    /// interface that frames come in by
    pub rx_sw_if_index: InterfaceIndex,
    /// interface that they leave by
    pub tx_sw_if_index: InterfaceIndex,
    /// do so
    #[preset("true")]
    pub is_add: bool,
}

/// Have what an interface receives pass a virtual path, or no longer. There is none.
#[derive(Message)]
pub struct SwInterfaceSetVpath {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// do so
    #[preset(4294967295)]
    pub enable: bool,
}

/// Send all frames of an interface out of another one.
#[derive(Message)]
pub struct SwInterfaceSetL2Xconnect {
    /// interface that frames come in by
    pub rx_sw_if_index: InterfaceIndex,
    /// interface that they leave by
    pub tx_sw_if_index: InterfaceIndex,
    /// do so
    #[preset("true")]
    pub enable: bool,
}

/// Put an interface into a bridge domain, or take it out.
#[derive(Message)]
pub struct SwInterfaceSetL2Bridge {
    /// the interface
    pub rx_sw_if_index: InterfaceIndex,
    /// the domain
    pub bd_id: u32,
    /// role of the port
    pub port_type: L2PortType,
    /// split horizon group; 0 for none
    pub shg: u8,
    /// put it in
    #[preset("true")]
    pub enable: bool,
}

/// Set the owner of an IP address in a bridge domain, or forget it.
#[derive(Message)]
pub struct BdIpMacAddDel {
    /// say so
    #[preset("true")]
    pub is_add: bool,
    /// the address
    pub entry: BdIpMac,
}

/// Forget the owners of all addresses of a bridge domain.
#[derive(Message)]
pub struct BdIpMacFlush {
    /// the domain
    pub bd_id: u32,
}

/// Owner of an address.
#[derive(Message)]
pub struct BdIpMacDetails {
    /// the address
    pub entry: BdIpMac,
}

/// List the owners of addresses.
#[derive(Message)]
#[details(BdIpMacDetails)]
pub struct BdIpMacDump {
    /// the domain; 4294967295 for all
    pub bd_id: u32,
}

/// Let out of an interface only frames that it would take in.
#[derive(Message)]
pub struct L2InterfaceEfpFilter {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// do so
    #[preset("true")]
    pub enable_disable: bool,
}

/// Register for events about questions for addresses in bridge domains, or withdraw.
#[derive(Message)]
#[events(L2ArpTermEvent)]
pub struct WantL2ArpTermEvents {
    /// register
    pub enable: bool,
    /// returned in each event
    pub pid: u32,
}

/// A question for an address.
#[derive(Debug, PartialEq, Message)]
pub struct L2ArpTermEvent {
    /// its own address
    pub ip: Address,
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// its address of layer 2
    pub mac: MacAddr,
}
