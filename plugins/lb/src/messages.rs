//! Messages of the module `lb`, as they are on the wire.

use control::api::types::{Address, AddressWithPrefix, IpDscp, IpProto};
use control::api::{Fields, Record};
use net::prelude::*;

control::numbers! {
    /// Encapsulation to servers.
    pub enum LbEncapType: u32 = "lb_encap_type" in "plugins/lb/lb_types.api" {
        GRE4 = 0 => "LB_API_ENCAP_TYPE_GRE4",
        GRE6 = 1 => "LB_API_ENCAP_TYPE_GRE6",
        L3DSR = 2 => "LB_API_ENCAP_TYPE_L3DSR",
        NAT4 = 3 => "LB_API_ENCAP_TYPE_NAT4",
        NAT6 = 4 => "LB_API_ENCAP_TYPE_NAT6",
        N_TYPES = 5 => "LB_API_ENCAP_N_TYPES",
    }
    /// Service type of a NAT VIP.
    pub enum LbSrvType: u32 = "lb_srv_type" in "plugins/lb/lb_types.api" {
        CLUSTERIP = 0 => "LB_API_SRV_TYPE_CLUSTERIP",
        NODEPORT = 1 => "LB_API_SRV_TYPE_NODEPORT",
        N_TYPES = 2 => "LB_API_SRV_N_TYPES",
    }
}

/// Range of prefix lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct PrefixMatcher {
    /// maximum length; 0 for no limit
    pub le: u8,
    /// minimum length; 0 for no limit
    pub ge: u8,
}

/// A VIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("plugins/lb/lb_types.api")]
pub struct LbVip {
    /// prefix
    pub pfx: AddressWithPrefix,
    /// protocol; 255 for all
    pub protocol: IpProto,
    /// port; 0 for all
    pub port: u16,
}

/// Set the global load balancer parameters.
#[derive(Message)]
pub struct LbConf {
    /// source address of GRE over IPv4
    pub ip4_src_address: Ipv4Addr,
    /// source address of GRE over IPv6
    pub ip6_src_address: Ipv6Addr,
    /// sticky buckets of four flows per thread, a power of 2; 4294967295 to leave unchanged
    #[preset(4294967295)]
    pub sticky_buckets_per_core: u32,
    /// flow timeout in seconds; 4294967295 to leave unchanged
    #[preset(4294967295)]
    pub flow_timeout: u32,
}

/// Get the global parameters.
#[derive(Message)]
#[reply(LbConfGetReply)]
pub struct LbConfGet {}

/// Global parameters.
#[derive(Message)]
pub struct LbConfGetReply {
    /// source address of GRE over IPv4
    pub ip4_src_address: Ipv4Addr,
    /// source address of GRE over IPv6
    pub ip6_src_address: Ipv6Addr,
    /// sticky buckets of four flows per thread
    pub sticky_buckets_per_core: u32,
    /// inactive timeout in seconds
    pub flow_timeout: u32,
}

/// Fields of a VIP that is added or deleted.
#[derive(Clone, Copy, Fields)]
pub struct VipFields {
    /// prefix
    pub pfx: AddressWithPrefix,
    /// protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// port; 0 for all
    pub port: u16,
    /// encapsulation to servers
    pub encap: LbEncapType,
    /// DSCP of L3DSR
    pub dscp: u8,
    /// service type of a NAT VIP
    #[name("type")]
    pub kind: LbSrvType,
    /// server port, for NAT
    pub target_port: u16,
    /// node port; 0 for the port of the VIP
    pub node_port: u16,
    /// length of the new-flows table, a power of 2
    #[preset(1024)]
    pub new_flows_table_length: u32,
}

/// Add a VIP, or delete it with its servers.
#[derive(Message)]
pub struct LbAddDelVip {
    /// VIP
    #[flatten]
    pub vip: VipFields,
    /// true to delete
    pub is_del: bool,
}

/// Add a VIP, or delete it with its servers.
#[derive(Message)]
pub struct LbAddDelVipV2 {
    /// VIP
    #[flatten]
    pub vip: VipFields,
    /// send all flows of a source to one server
    pub src_ip_sticky: bool,
    /// true to delete
    pub is_del: bool,
}

/// Add or delete a server of a VIP.
#[derive(Message)]
pub struct LbAddDelAs {
    /// VIP prefix
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
    /// server
    pub as_address: Address,
    /// true to delete
    pub is_del: bool,
    /// delete its known flows
    pub is_flush: bool,
}

/// Add or delete a weighted server of a VIP.
#[derive(Message)]
pub struct LbAddDelAsV2 {
    /// VIP prefix
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
    /// server
    pub as_address: Address,
    /// weight: share of new flows, 0 to 100
    #[preset(100)]
    pub weight: u8,
    /// true to delete
    pub is_del: bool,
    /// delete its known flows
    pub is_flush: bool,
}

/// Set the weight of a server.
#[derive(Message)]
pub struct LbAsSetWeight {
    /// VIP prefix
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
    /// server
    pub as_address: Address,
    /// weight: share of new flows, 0 to 100
    pub weight: u8,
    /// delete known flows
    pub is_flush: bool,
}

/// Delete the known flows of a VIP.
#[derive(Message)]
pub struct LbFlushVip {
    /// VIP prefix
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 0 or 255 for all
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
}

/// List VIPs.
#[derive(Message)]
#[details(LbVipDetails)]
pub struct LbVipDump {
    /// prefix; all zero for any
    pub pfx: AddressWithPrefix,
    /// include more specific prefixes of these lengths
    pub pfx_matcher: PrefixMatcher,
    /// protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// port; 0 for all
    pub port: u16,
}

/// A VIP.
#[derive(Message)]
pub struct LbVipDetails {
    /// VIP
    pub vip: LbVip,
    /// encapsulation to servers
    pub encap: LbEncapType,
    /// DSCP of L3DSR
    pub dscp: IpDscp,
    /// service type of a NAT VIP
    pub srv_type: LbSrvType,
    /// server port, for NAT
    pub target_port: u16,
    /// length of the new-flows table; 65535 for more
    pub flow_table_length: u16,
}

/// List servers.
#[derive(Message)]
#[details(LbAsDetails)]
pub struct LbAsDump {
    /// VIP prefix; all zero for any
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 0 or 255 for all
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
}

/// A server of a VIP.
#[derive(Message)]
pub struct LbAsDetails {
    /// VIP
    pub vip: LbVip,
    /// server
    pub app_srv: Address,
    /// 1 if it receives new flows, 0 if it is draining
    pub flags: u8,
    /// seconds since it was added
    pub in_use_since: u32,
}

/// List servers with weights.
#[derive(Message)]
#[details(LbAsV2Details)]
pub struct LbAsV2Dump {
    /// VIP prefix; all zero for any
    pub pfx: AddressWithPrefix,
    /// VIP protocol; 0 or 255 for all
    pub protocol: u8,
    /// VIP port; 0 for all
    pub port: u16,
}

/// A server of a VIP with its weight.
#[derive(Message)]
pub struct LbAsV2Details {
    /// VIP
    pub vip: LbVip,
    /// server
    pub app_srv: Address,
    /// 1 if it receives new flows, 0 if it is draining
    pub flags: u8,
    /// seconds since it was added
    pub in_use_since: u32,
    /// weight: share of new flows, 0 to 100
    pub weight: u8,
    /// buckets in the new-flows table
    pub num_buckets: u32,
}

/// Enable or disable translation of server replies on an interface.
#[derive(Message)]
pub struct LbAddDelIntfNat4 {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable translation of IPv6 server replies on an interface.
#[derive(Message)]
pub struct LbAddDelIntfNat6 {
    /// true to add, false to delete
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}
