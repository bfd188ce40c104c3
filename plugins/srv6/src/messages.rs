//! Types of the messages of the module `sr`.

use control::api::schema::Type;
use control::api::types::{Address, Prefix};
use control::api::{Field, Fields, Reader, Record, Short};
use net::prelude::*;

use super::policy::MOST_SEGMENTS;

control::numbers! {
    /// Behavior of a local SID.
    pub enum SrBehavior: u8 = "sr_behavior" in "vnet/srv6/sr_types.api" {
        END = 1 => "SR_BEHAVIOR_API_END",
        X = 2 => "SR_BEHAVIOR_API_X",
        T = 3 => "SR_BEHAVIOR_API_T",
        D_FIRST = 4 => "SR_BEHAVIOR_API_D_FIRST",
        DX2 = 5 => "SR_BEHAVIOR_API_DX2",
        DX6 = 6 => "SR_BEHAVIOR_API_DX6",
        DX4 = 7 => "SR_BEHAVIOR_API_DX4",
        DT6 = 8 => "SR_BEHAVIOR_API_DT6",
        DT4 = 9 => "SR_BEHAVIOR_API_DT4",
        LAST = 10 => "SR_BEHAVIOR_API_LAST",
        END_UN_PERF = 11 => "SR_BEHAVIOR_API_END_UN_PERF" later,
        END_UN = 12 => "SR_BEHAVIOR_API_END_UN" later,
        UA = 13 => "SR_BEHAVIOR_API_UA" later,
    }
    /// Operation on a policy.
    pub enum SrPolicyOp: u8 = "sr_policy_op" in "vnet/srv6/sr_types.api" {
        NONE = 0 => "SR_POLICY_OP_API_NONE",
        ADD = 1 => "SR_POLICY_OP_API_ADD",
        DEL = 2 => "SR_POLICY_OP_API_DEL",
        MOD = 3 => "SR_POLICY_OP_API_MOD",
    }
    /// Type of steered traffic.
    pub enum SrSteer: u8 = "sr_steer" in "vnet/srv6/sr_types.api" {
        L2 = 2 => "SR_STEER_API_L2",
        IPV4 = 4 => "SR_STEER_API_IPV4",
        IPV6 = 6 => "SR_STEER_API_IPV6",
    }
    /// Type of a policy.
    pub enum SrPolicyType: u8 = "sr_policy_type" in "" {
        DEFAULT = 0 => "SR_API_POLICY_TYPE_DEFAULT",
        SPRAY = 1 => "SR_API_POLICY_TYPE_SPRAY",
        TEF = 2 => "SR_API_POLICY_TYPE_TEF",
    }
}

/// A segment in a list of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment(pub [u8; 16]);

impl Field for Segment {
    const TYPE: Type = Ipv6Addr::TYPE;
    const SIZE: usize = 16;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        from.array().map(Self)
    }
}

/// A segment list.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("")]
pub struct Srv6SidList {
    /// number of segments
    pub num_sids: u8,
    /// weight
    pub weight: u32,
    /// segments, first to last
    pub sids: [Segment; MOST_SEGMENTS],
}

/// A segment list with its index.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("")]
pub struct Srv6SidListWithSlIndex {
    /// number of segments
    pub num_sids: u8,
    /// weight
    pub weight: u32,
    /// index
    pub sl_index: u32,
    /// segments, first to last
    pub sids: [Segment; MOST_SEGMENTS],
}

/// A local SID that is added or deleted.
#[derive(Fields)]
pub struct LocalSidFields {
    /// delete
    #[preset(false)]
    pub is_del: bool,
    /// MAC address
    pub localsid: Ipv6Addr,
    /// true for penultimate segment pop (PSP)
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// interface of the neighbor, or lookup table
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// VLAN ID
    pub vlan_index: u32,
    /// table
    pub fib_table: u32,
    /// neighbor
    pub nh_addr: Address,
}

/// Add or delete a local SID.
#[derive(Message)]
pub struct SrLocalsidAddDel {
    /// the SID
    #[flatten]
    pub sid: LocalSidFields,
}

/// Add or delete a local SID, with its block, node and function lengths.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrLocalsidAddDelV2Reply)]
pub struct SrLocalsidAddDelV2 {
    /// the SID
    #[flatten]
    pub sid: LocalSidFields,
    /// block length in bits
    pub locator_block_len: u8,
    /// node length in bits
    pub locator_node_len: u8,
    /// function length in bits
    pub function_len: u8,
}

/// Add a policy with one segment list.
#[derive(Message)]
pub struct SrPolicyAdd {
    /// binding SID
    pub bsid_addr: Ipv6Addr,
    /// weight of the segment list
    pub weight: u32,
    /// true to encapsulate, false to insert a routing header
    pub is_encap: bool,
    /// true to replicate packets to all segment lists
    pub is_spray: bool,
    /// table of the binding SID
    pub fib_table: u32,
    /// segments
    pub sids: Srv6SidList,
}

/// Add a policy with one segment list and a source address.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrPolicyAddV2Reply)]
pub struct SrPolicyAddV2 {
    /// binding SID
    pub bsid_addr: Ipv6Addr,
    /// weight of the segment list
    pub weight: u32,
    /// true to encapsulate, false to insert a routing header
    pub is_encap: bool,
    /// type: load balance, spray or TEF
    #[name("type")]
    #[preset(0)]
    pub kind: SrPolicyType,
    /// table of the binding SID
    pub fib_table: u32,
    /// segments
    pub sids: Srv6SidList,
    /// encapsulation source; :: for the router's default
    pub encap_src: Ipv6Addr,
}

/// Change a policy.
#[derive(Message)]
pub struct SrPolicyMod {
    /// binding SID; :: to use the index
    pub bsid_addr: Ipv6Addr,
    /// index
    pub sr_policy_index: u32,
    /// ignored
    pub fib_table: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// segment list to delete or change
    pub sl_index: u32,
    /// weight of the segment list
    pub weight: u32,
    /// segments of the new list
    pub sids: Srv6SidList,
}

/// Change a policy, including its source address.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrPolicyModV2Reply)]
pub struct SrPolicyModV2 {
    /// binding SID; :: to use the index
    pub bsid_addr: Ipv6Addr,
    /// index
    pub sr_policy_index: u32,
    /// ignored
    pub fib_table: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// segment list to delete or change
    pub sl_index: u32,
    /// weight of the segment list
    pub weight: u32,
    /// segments of the new list
    pub sids: Srv6SidList,
    /// encapsulation source; :: to leave unchanged
    pub encap_src: Ipv6Addr,
}

/// Delete a policy.
#[derive(Message)]
pub struct SrPolicyDel {
    /// binding SID; :: to use the index
    pub bsid_addr: Ipv6Addr,
    /// index
    pub sr_policy_index: u32,
}

/// Set the default encapsulation source address.
#[derive(Message)]
pub struct SrSetEncapSource {
    /// the address
    pub encaps_source: Ipv6Addr,
}

/// Set the default encapsulation hop limit.
#[derive(Message)]
pub struct SrSetEncapHopLimit {
    /// hop limit
    pub hop_limit: u8,
}

/// Steer traffic into a policy, or stop.
#[derive(Message)]
pub struct SrSteeringAddDel {
    /// disable
    #[preset(false)]
    pub is_del: bool,
    /// binding SID of the policy; :: to use the index
    pub bsid_addr: Ipv6Addr,
    /// policy index
    pub sr_policy_index: u32,
    /// table of the prefix
    pub table_id: u32,
    /// prefix
    pub prefix: Prefix,
    /// interface whose frames are steered
    pub sw_if_index: InterfaceIndex,
    /// type of traffic
    pub traffic_type: SrSteer,
}

/// List local SIDs.
#[derive(Message)]
#[details(SrLocalsidsDetails)]
pub struct SrLocalsidsDump {}

/// A local SID.
#[derive(Message)]
pub struct SrLocalsidsDetails {
    /// MAC address
    pub addr: Ipv6Addr,
    /// true for penultimate segment pop (PSP)
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// table
    pub fib_table: u32,
    /// VLAN ID
    pub vlan_index: u32,
    /// neighbor
    pub xconnect_nh_addr: Address,
    /// interface, or lookup table
    pub xconnect_iface_or_vrf_table: u32,
}

/// List local SIDs with counters.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(SrLocalsidsWithPacketStatsDetails)]
pub struct SrLocalsidsWithPacketStatsDump {}

/// A local SID with counters.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrLocalsidsWithPacketStatsDetails {
    /// MAC address
    pub addr: Ipv6Addr,
    /// true for penultimate segment pop (PSP)
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// table
    pub fib_table: u32,
    /// VLAN ID
    pub vlan_index: u32,
    /// neighbor
    pub xconnect_nh_addr: Address,
    /// interface, or lookup table
    pub xconnect_iface_or_vrf_table: u32,
    /// bytes processed
    pub good_traffic_bytes: u64,
    /// packets processed
    pub good_traffic_pkt_count: u64,
    /// bytes dropped
    pub bad_traffic_bytes: u64,
    /// packets dropped
    pub bad_traffic_pkt_count: u64,
}

/// List policies.
#[derive(Message)]
#[option("deprecated")]
#[details(SrPoliciesDetails)]
pub struct SrPoliciesDump {}

/// A policy.
#[derive(Message)]
pub struct SrPoliciesDetails {
    /// binding SID
    pub bsid: Ipv6Addr,
    /// true to replicate packets to all segment lists
    pub is_spray: bool,
    /// true if it encapsulates
    pub is_encap: bool,
    /// table
    pub fib_table: u32,
    /// segment lists
    #[counted(num_sid_lists: u8)]
    pub sid_lists: Vec<Srv6SidList>,
}

/// List policies with their source addresses.
#[derive(Message)]
#[details(SrPoliciesV2Details)]
pub struct SrPoliciesV2Dump {}

/// A policy and its source address.
#[derive(Message)]
pub struct SrPoliciesV2Details {
    /// binding SID
    pub bsid: Ipv6Addr,
    /// encapsulation source
    pub encap_src: Ipv6Addr,
    /// type: load balance, spray or TEF
    #[name("type")]
    pub kind: SrPolicyType,
    /// true if it encapsulates
    pub is_encap: bool,
    /// table
    pub fib_table: u32,
    /// segment lists
    #[counted(num_sid_lists: u8)]
    pub sid_lists: Vec<Srv6SidList>,
}

/// List policies with the indexes of their segment lists.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(SrPoliciesWithSlIndexDetails)]
pub struct SrPoliciesWithSlIndexDump {}

/// A policy with the indexes of its segment lists.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPoliciesWithSlIndexDetails {
    /// binding SID
    pub bsid: Ipv6Addr,
    /// true to replicate packets to all segment lists
    pub is_spray: bool,
    /// true if it encapsulates
    pub is_encap: bool,
    /// table
    pub fib_table: u32,
    /// segment lists
    #[counted(num_sid_lists: u8)]
    pub sid_lists: Vec<Srv6SidListWithSlIndex>,
}

/// List steering policies.
#[derive(Message)]
#[details(SrSteeringPolDetails)]
pub struct SrSteeringPolDump {}

/// A steering policy.
#[derive(Message)]
pub struct SrSteeringPolDetails {
    /// type of traffic
    pub traffic_type: SrSteer,
    /// table of the prefix
    pub fib_table: u32,
    /// prefix
    pub prefix: Prefix,
    /// interface whose frames are steered
    pub sw_if_index: InterfaceIndex,
    /// binding SID of the policy
    pub bsid: Ipv6Addr,
}

/// Reply: success.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrLocalsidAddDelV2Reply {}

/// Reply: success.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPolicyAddV2Reply {}

/// Reply: success.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPolicyModV2Reply {}
