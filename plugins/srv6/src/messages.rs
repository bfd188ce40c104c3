//! Types of the messages of the module `sr`.

use std::net::Ipv6Addr;

use control::api::schema::Type;
use control::api::types::{Address, Prefix};
use control::api::{Field, Fields, Message, Reader, Record, Short};
use net::InterfaceIndex;

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
    /// Kind of steered traffic.
    pub enum SrSteer: u8 = "sr_steer" in "vnet/srv6/sr_types.api" {
        L2 = 2 => "SR_STEER_API_L2",
        IPV4 = 4 => "SR_STEER_API_IPV4",
        IPV6 = 6 => "SR_STEER_API_IPV6",
    }
    /// Use of a policy's lists.
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
    /// share of the load
    pub weight: u32,
    /// the segments, first to last
    pub sids: [Segment; MOST_SEGMENTS],
}

/// A segment list with its number.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("")]
pub struct Srv6SidListWithSlIndex {
    /// number of segments
    pub num_sids: u8,
    /// share of the load
    pub weight: u32,
    /// its number
    pub sl_index: u32,
    /// the segments, first to last
    pub sids: [Segment; MOST_SEGMENTS],
}

/// A local SID that is added or deleted.
#[derive(Fields)]
pub struct LocalSidFields {
    /// deleted
    #[preset(false)]
    pub is_del: bool,
    /// its address
    pub localsid: Ipv6Addr,
    /// whether the routing header goes with the last but one segment
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// the interface of the neighbour, or the table to look up in
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// the VLAN of frames
    pub vlan_index: u32,
    /// the table that it is in
    pub fib_table: u32,
    /// the neighbour
    pub nh_addr: Address,
}

/// Add or delete a local SID.
#[derive(Message)]
pub struct SrLocalsidAddDel {
    /// the SID
    #[flatten]
    pub sid: LocalSidFields,
}

/// Add or delete a local SID, with the lengths of its parts.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrLocalsidAddDelV2Reply)]
pub struct SrLocalsidAddDelV2 {
    /// the SID
    #[flatten]
    pub sid: LocalSidFields,
    /// bits of the block
    pub locator_block_len: u8,
    /// bits of the node
    pub locator_node_len: u8,
    /// bits of the function
    pub function_len: u8,
}

/// Add a policy with one segment list.
#[derive(Message)]
pub struct SrPolicyAdd {
    /// its binding SID
    pub bsid_addr: Ipv6Addr,
    /// share of the list in the load
    pub weight: u32,
    /// whether headers are put in front, else a routing header is put in
    pub is_encap: bool,
    /// whether all lists get a copy
    pub is_spray: bool,
    /// the table of the binding SID
    pub fib_table: u32,
    /// the segments
    pub sids: Srv6SidList,
}

/// Add a policy with one segment list and a source address.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrPolicyAddV2Reply)]
pub struct SrPolicyAddV2 {
    /// its binding SID
    pub bsid_addr: Ipv6Addr,
    /// share of the list in the load
    pub weight: u32,
    /// whether headers are put in front, else a routing header is put in
    pub is_encap: bool,
    /// use of its lists: balance, copies to all, or TEF
    #[name("type")]
    #[preset(0)]
    pub kind: SrPolicyType,
    /// the table of the binding SID
    pub fib_table: u32,
    /// the segments
    pub sids: Srv6SidList,
    /// source of headers that are put in front; :: for that of the router
    pub encap_src: Ipv6Addr,
}

/// Change a policy.
#[derive(Message)]
pub struct SrPolicyMod {
    /// its binding SID; :: for its number
    pub bsid_addr: Ipv6Addr,
    /// its number
    pub sr_policy_index: u32,
    /// not used
    pub fib_table: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// the list that is deleted or gets another share
    pub sl_index: u32,
    /// share of the list in the load
    pub weight: u32,
    /// the segments of a new list
    pub sids: Srv6SidList,
}

/// Change a policy, its source address too.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(SrPolicyModV2Reply)]
pub struct SrPolicyModV2 {
    /// its binding SID; :: for its number
    pub bsid_addr: Ipv6Addr,
    /// its number
    pub sr_policy_index: u32,
    /// not used
    pub fib_table: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// the list that is deleted or gets another share
    pub sl_index: u32,
    /// share of the list in the load
    pub weight: u32,
    /// the segments of a new list
    pub sids: Srv6SidList,
    /// source of headers that are put in front; :: to leave it
    pub encap_src: Ipv6Addr,
}

/// Delete a policy.
#[derive(Message)]
pub struct SrPolicyDel {
    /// its binding SID; :: for its number
    pub bsid_addr: Ipv6Addr,
    /// its number
    pub sr_policy_index: u32,
}

/// Set the source address of headers that are put in front.
#[derive(Message)]
pub struct SrSetEncapSource {
    /// the address
    pub encaps_source: Ipv6Addr,
}

/// Set the hop limit of headers that are put in front.
#[derive(Message)]
pub struct SrSetEncapHopLimit {
    /// the limit
    pub hop_limit: u8,
}

/// Steer packets or frames into a policy, or no longer.
#[derive(Message)]
pub struct SrSteeringAddDel {
    /// no longer
    #[preset(false)]
    pub is_del: bool,
    /// the binding SID of the policy; :: for its number
    pub bsid_addr: Ipv6Addr,
    /// the number of the policy
    pub sr_policy_index: u32,
    /// the table of the prefix
    pub table_id: u32,
    /// the prefix
    pub prefix: Prefix,
    /// the interface whose frames are steered
    pub sw_if_index: InterfaceIndex,
    /// kind of traffic
    pub traffic_type: SrSteer,
}

/// List local SIDs.
#[derive(Message)]
#[details(SrLocalsidsDetails)]
pub struct SrLocalsidsDump {}

/// A local SID.
#[derive(Message)]
pub struct SrLocalsidsDetails {
    /// its address
    pub addr: Ipv6Addr,
    /// whether the routing header goes with the last but one segment
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// the table that it is in
    pub fib_table: u32,
    /// the VLAN of frames
    pub vlan_index: u32,
    /// the neighbour
    pub xconnect_nh_addr: Address,
    /// its interface, or the table that is looked up in
    pub xconnect_iface_or_vrf_table: u32,
}

/// List local SIDs with what they counted.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(SrLocalsidsWithPacketStatsDetails)]
pub struct SrLocalsidsWithPacketStatsDump {}

/// A local SID and what it counted.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrLocalsidsWithPacketStatsDetails {
    /// its address
    pub addr: Ipv6Addr,
    /// whether the routing header goes with the last but one segment
    pub end_psp: bool,
    /// behavior
    pub behavior: SrBehavior,
    /// the table that it is in
    pub fib_table: u32,
    /// the VLAN of frames
    pub vlan_index: u32,
    /// the neighbour
    pub xconnect_nh_addr: Address,
    /// its interface, or the table that is looked up in
    pub xconnect_iface_or_vrf_table: u32,
    /// bytes of packets that went on
    pub good_traffic_bytes: u64,
    /// packets that went on
    pub good_traffic_pkt_count: u64,
    /// bytes of packets that were dropped
    pub bad_traffic_bytes: u64,
    /// packets that were dropped
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
    /// its binding SID
    pub bsid: Ipv6Addr,
    /// whether all lists get a copy
    pub is_spray: bool,
    /// whether headers are put in front
    pub is_encap: bool,
    /// its table
    pub fib_table: u32,
    /// its lists
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
    /// its binding SID
    pub bsid: Ipv6Addr,
    /// source of headers that are put in front
    pub encap_src: Ipv6Addr,
    /// use of its lists: balance, copies to all, or TEF
    #[name("type")]
    pub kind: SrPolicyType,
    /// whether headers are put in front
    pub is_encap: bool,
    /// its table
    pub fib_table: u32,
    /// its lists
    #[counted(num_sid_lists: u8)]
    pub sid_lists: Vec<Srv6SidList>,
}

/// List policies with the numbers of their lists.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(SrPoliciesWithSlIndexDetails)]
pub struct SrPoliciesWithSlIndexDump {}

/// A policy with the numbers of its lists.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPoliciesWithSlIndexDetails {
    /// its binding SID
    pub bsid: Ipv6Addr,
    /// whether all lists get a copy
    pub is_spray: bool,
    /// whether headers are put in front
    pub is_encap: bool,
    /// its table
    pub fib_table: u32,
    /// its lists
    #[counted(num_sid_lists: u8)]
    pub sid_lists: Vec<Srv6SidListWithSlIndex>,
}

/// List what is steered.
#[derive(Message)]
#[details(SrSteeringPolDetails)]
pub struct SrSteeringPolDump {}

/// Traffic steered into a policy.
#[derive(Message)]
pub struct SrSteeringPolDetails {
    /// kind of traffic
    pub traffic_type: SrSteer,
    /// the table of the prefix
    pub fib_table: u32,
    /// the prefix
    pub prefix: Prefix,
    /// the interface whose frames are steered
    pub sw_if_index: InterfaceIndex,
    /// the binding SID of the policy
    pub bsid: Ipv6Addr,
}

/// It is done.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrLocalsidAddDelV2Reply {}

/// It is done.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPolicyAddV2Reply {}

/// It is done.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct SrPolicyModV2Reply {}
