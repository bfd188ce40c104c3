//! Messages about security associations.

use control::api::{Fields, Message};
use net::InterfaceIndex;

use super::types::*;

/// Place of the counters of an association or policy.
#[derive(Fields)]
pub struct CountedReply {
    /// place of its counters in `/net/ipsec/sa` or `/net/ipsec/policy`
    pub stat_index: u32,
}

/// Make or delete an association.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDel {
    /// made, else deleted
    pub is_add: bool,
    /// the association
    pub entry: IpsecSadEntry,
}

/// Make or delete an association.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDelV2 {
    /// made, else deleted
    pub is_add: bool,
    /// the association
    pub entry: IpsecSadEntryV2,
}

/// Make or delete an association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDelV3 {
    /// made, else deleted
    pub is_add: bool,
    /// the association
    pub entry: IpsecSadEntryV3,
}

/// Make an association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAdd {
    /// the association
    pub entry: IpsecSadEntryV3,
}

/// Make an association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddV2 {
    /// the association
    pub entry: IpsecSadEntryV4,
}

/// Delete an association.
#[derive(Message)]
pub struct IpsecSadEntryDel {
    /// its number
    pub id: u32,
}

/// Bind an association to a worker.
#[derive(Message)]
pub struct IpsecSadBind {
    /// the association
    pub sa_id: u32,
    /// the worker, counted from 0
    pub worker: u32,
}

/// Bind an association to the first thread that has a packet for it.
#[derive(Message)]
pub struct IpsecSadUnbind {
    /// the association
    pub sa_id: u32,
}

/// Change tunnel and ports of an association.
#[derive(Message)]
pub struct IpsecSadEntryUpdate {
    /// the association
    pub sad_id: u32,
    /// the tunnel is changed
    pub is_tun: bool,
    /// the tunnel
    pub tunnel: TunnelRecord,
    /// source port of UDP; 65535 for none other
    #[preset(65535)]
    pub udp_src_port: u16,
    /// destination port of UDP; 65535 for none other
    #[preset(65535)]
    pub udp_dst_port: u16,
}

/// List the associations.
#[derive(Message)]
#[option("deprecated")]
#[details(IpsecSaDetails)]
pub struct IpsecSaDump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// An association.
#[derive(Message)]
#[option("deprecated")]
pub struct IpsecSaDetails {
    /// the association
    pub entry: IpsecSadEntry,
    /// the interface that it protects; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// bytes in front of initialization vectors
    pub salt: u32,
    /// last number sent
    pub seq_outbound: u64,
    /// newest number received
    pub last_seq_inbound: u64,
    /// the newest numbers that were received
    pub replay_window: u64,
    /// place of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List the associations.
#[derive(Message)]
#[option("deprecated")]
#[details(IpsecSaV2Details)]
pub struct IpsecSaV2Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// An association.
#[derive(Message)]
#[option("deprecated")]
pub struct IpsecSaV2Details {
    /// the association
    pub entry: IpsecSadEntryV2,
    /// the interface that it protects; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// bytes in front of initialization vectors
    pub salt: u32,
    /// last number sent
    pub seq_outbound: u64,
    /// newest number received
    pub last_seq_inbound: u64,
    /// the newest numbers that were received
    pub replay_window: u64,
    /// place of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List the associations.
#[derive(Message)]
#[details(IpsecSaV3Details)]
pub struct IpsecSaV3Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// An association.
#[derive(Message)]
pub struct IpsecSaV3Details {
    /// the association
    pub entry: IpsecSadEntryV3,
    /// the interface that it protects; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last number sent
    pub seq_outbound: u64,
    /// newest number received
    pub last_seq_inbound: u64,
    /// the newest numbers that were received
    pub replay_window: u64,
    /// place of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List the associations.
#[derive(Message)]
#[details(IpsecSaV4Details)]
pub struct IpsecSaV4Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// An association.
#[derive(Message)]
pub struct IpsecSaV4Details {
    /// the association
    pub entry: IpsecSadEntryV3,
    /// the interface that it protects; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last number sent
    pub seq_outbound: u64,
    /// newest number received
    pub last_seq_inbound: u64,
    /// the newest numbers that were received
    pub replay_window: u64,
    /// the thread that works with it; 65535 for none
    pub thread_index: u32,
    /// place of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List the associations.
#[derive(Message)]
#[details(IpsecSaV5Details)]
pub struct IpsecSaV5Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// An association.
#[derive(Message)]
pub struct IpsecSaV5Details {
    /// the association
    pub entry: IpsecSadEntryV4,
    /// the interface that it protects; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last number sent
    pub seq_outbound: u64,
    /// newest number received
    pub last_seq_inbound: u64,
    /// the newest numbers that were received
    pub replay_window: u64,
    /// the thread that works with it; 65535 for none
    pub thread_index: u32,
    /// place of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}
