//! Messages of the module `lb`, as they are on the wire.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::types::{Address, AddressWithPrefix, IpDscp, IpProto};
use control::api::{Fields, Message, Record};
use net::InterfaceIndex;

control::numbers! {
    /// How packets get to servers.
    pub enum LbEncapType: u32 = "lb_encap_type" in "plugins/lb/lb_types.api" {
        GRE4 = 0 => "LB_API_ENCAP_TYPE_GRE4",
        GRE6 = 1 => "LB_API_ENCAP_TYPE_GRE6",
        L3DSR = 2 => "LB_API_ENCAP_TYPE_L3DSR",
        NAT4 = 3 => "LB_API_ENCAP_TYPE_NAT4",
        NAT6 = 4 => "LB_API_ENCAP_TYPE_NAT6",
        N_TYPES = 5 => "LB_API_ENCAP_N_TYPES",
    }
    /// Where a VIP that translates is met.
    pub enum LbSrvType: u32 = "lb_srv_type" in "plugins/lb/lb_types.api" {
        CLUSTERIP = 0 => "LB_API_SRV_TYPE_CLUSTERIP",
        NODEPORT = 1 => "LB_API_SRV_TYPE_NODEPORT",
        N_TYPES = 2 => "LB_API_SRV_N_TYPES",
    }
}

/// The lengths of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct PrefixMatcher {
    /// at most; 0 for no such limit
    pub le: u8,
    /// at least; 0 for no such limit
    pub ge: u8,
}

/// A VIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("plugins/lb/lb_types.api")]
pub struct LbVip {
    /// the prefix
    pub pfx: AddressWithPrefix,
    /// the protocol; 255 for all
    pub protocol: IpProto,
    /// the port; 0 for all
    pub port: u16,
}

/// Set what holds for all VIPs.
#[derive(Message)]
pub struct LbConf {
    /// source of packets in GRE over IPv4
    pub ip4_src_address: Ipv4Addr,
    /// source of packets in GRE over IPv6
    pub ip6_src_address: Ipv6Addr,
    /// buckets of four known flows on each thread, a power of two; 4294967295 for those there are
    #[preset(4294967295)]
    pub sticky_buckets_per_core: u32,
    /// seconds of silence after which a flow is over; 4294967295 for what there is
    #[preset(4294967295)]
    pub flow_timeout: u32,
}

/// Ask for what holds for all VIPs.
#[derive(Message)]
#[reply(LbConfGetReply)]
pub struct LbConfGet {}

/// What holds for all VIPs.
#[derive(Message)]
pub struct LbConfGetReply {
    /// source of packets in GRE over IPv4
    pub ip4_src_address: Ipv4Addr,
    /// source of packets in GRE over IPv6
    pub ip6_src_address: Ipv6Addr,
    /// buckets of four known flows on each thread
    pub sticky_buckets_per_core: u32,
    /// seconds of silence after which a flow is over
    pub flow_timeout: u32,
}

/// Fields of a VIP that is added or deleted.
#[derive(Clone, Copy, Fields)]
pub struct VipFields {
    /// the prefix
    pub pfx: AddressWithPrefix,
    /// the protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// the port; 0 for all
    pub port: u16,
    /// how packets get to servers
    pub encap: LbEncapType,
    /// the DSCP of L3DSR
    pub dscp: u8,
    /// where a VIP that translates is met
    #[name("type")]
    pub kind: LbSrvType,
    /// the port of servers, where packets are translated
    pub target_port: u16,
    /// the port of the router's own addresses; 0 for that of the VIP
    pub node_port: u16,
    /// places of the table of new flows, a power of two
    #[preset(1024)]
    pub new_flows_table_length: u32,
}

/// Add a VIP, or delete it with its servers.
#[derive(Message)]
pub struct LbAddDelVip {
    /// the VIP
    #[flatten]
    pub vip: VipFields,
    /// or deleted
    pub is_del: bool,
}

/// Add a VIP, or delete it with its servers.
#[derive(Message)]
pub struct LbAddDelVipV2 {
    /// the VIP
    #[flatten]
    pub vip: VipFields,
    /// all flows of a source go to one server
    pub src_ip_sticky: bool,
    /// or deleted
    pub is_del: bool,
}

/// Add a server to a VIP, or delete it.
#[derive(Message)]
pub struct LbAddDelAs {
    /// the prefix of the VIP
    pub pfx: AddressWithPrefix,
    /// its protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
    /// the server
    pub as_address: Address,
    /// or deleted
    pub is_del: bool,
    /// with its known flows
    pub is_flush: bool,
}

/// Add a server to a VIP with a weight, or delete it.
#[derive(Message)]
pub struct LbAddDelAsV2 {
    /// the prefix of the VIP
    pub pfx: AddressWithPrefix,
    /// its protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
    /// the server
    pub as_address: Address,
    /// its share of new flows, 0 to 100
    #[preset(100)]
    pub weight: u8,
    /// or deleted
    pub is_del: bool,
    /// with its known flows
    pub is_flush: bool,
}

/// Set the share of a server in new flows.
#[derive(Message)]
pub struct LbAsSetWeight {
    /// the prefix of the VIP
    pub pfx: AddressWithPrefix,
    /// its protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
    /// the server
    pub as_address: Address,
    /// its share of new flows, 0 to 100
    pub weight: u8,
    /// known flows end
    pub is_flush: bool,
}

/// End the known flows of a VIP.
#[derive(Message)]
pub struct LbFlushVip {
    /// the prefix of the VIP
    pub pfx: AddressWithPrefix,
    /// its protocol; 0 or 255 for all
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
}

/// List VIPs.
#[derive(Message)]
#[details(LbVipDetails)]
pub struct LbVipDump {
    /// the prefix; none of its bits for all
    pub pfx: AddressWithPrefix,
    /// prefixes in it of these lengths, too
    pub pfx_matcher: PrefixMatcher,
    /// the protocol; 255 for all
    #[preset(255)]
    pub protocol: u8,
    /// the port; 0 for all
    pub port: u16,
}

/// A VIP.
#[derive(Message)]
pub struct LbVipDetails {
    /// the VIP
    pub vip: LbVip,
    /// how packets get to servers
    pub encap: LbEncapType,
    /// the DSCP of L3DSR
    pub dscp: IpDscp,
    /// where it is met, if it translates
    pub srv_type: LbSrvType,
    /// the port of servers, where packets are translated
    pub target_port: u16,
    /// places of the table of new flows; 65535 for more
    pub flow_table_length: u16,
}

/// List servers.
#[derive(Message)]
#[details(LbAsDetails)]
pub struct LbAsDump {
    /// the prefix of the VIP; none of its bits for all
    pub pfx: AddressWithPrefix,
    /// its protocol; 0 or 255 for all
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
}

/// A server of a VIP.
#[derive(Message)]
pub struct LbAsDetails {
    /// the VIP
    pub vip: LbVip,
    /// the server
    pub app_srv: Address,
    /// 1 for one that gets new flows, 0 for one that is leaving
    pub flags: u8,
    /// seconds since it came
    pub in_use_since: u32,
}

/// List servers with their shares.
#[derive(Message)]
#[details(LbAsV2Details)]
pub struct LbAsV2Dump {
    /// the prefix of the VIP; none of its bits for all
    pub pfx: AddressWithPrefix,
    /// its protocol; 0 or 255 for all
    pub protocol: u8,
    /// its port; 0 for all
    pub port: u16,
}

/// A server of a VIP with its share.
#[derive(Message)]
pub struct LbAsV2Details {
    /// the VIP
    pub vip: LbVip,
    /// the server
    pub app_srv: Address,
    /// 1 for one that gets new flows, 0 for one that is leaving
    pub flags: u8,
    /// seconds since it came
    pub in_use_since: u32,
    /// its share of new flows, 0 to 100
    pub weight: u8,
    /// places that it has in the table of new flows
    pub num_buckets: u32,
}

/// Have answers of servers that an interface receives translated, or no longer.
#[derive(Message)]
pub struct LbAddDelIntfNat4 {
    /// or no longer
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Have answers of IPv6 servers that an interface receives translated, or no longer.
#[derive(Message)]
pub struct LbAddDelIntfNat6 {
    /// or no longer
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}
