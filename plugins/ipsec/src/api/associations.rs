//! API messages for security associations.

use control::api::{Fields, Message};
use net::InterfaceIndex;

use super::types::*;

/// Reply: the index of the counters of an association or policy.
#[derive(Fields)]
pub struct CountedReply {
    /// index of its counters in `/net/ipsec/sa` or `/net/ipsec/policy`
    pub stat_index: u32,
}

/// Add or delete a security association.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// security association
    pub entry: IpsecSadEntry,
}

/// Add or delete a security association.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDelV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// security association
    pub entry: IpsecSadEntryV2,
}

/// Add or delete a security association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddDelV3 {
    /// true to add, false to delete
    pub is_add: bool,
    /// security association
    pub entry: IpsecSadEntryV3,
}

/// Add a security association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAdd {
    /// security association
    pub entry: IpsecSadEntryV3,
}

/// Add a security association.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSadEntryAddV2 {
    /// security association
    pub entry: IpsecSadEntryV4,
}

/// Delete a security association.
#[derive(Message)]
pub struct IpsecSadEntryDel {
    /// index
    pub id: u32,
}

/// Bind a security association to a worker.
#[derive(Message)]
pub struct IpsecSadBind {
    /// security association
    pub sa_id: u32,
    /// worker, from 0
    pub worker: u32,
}

/// Unbind a security association: the first thread with a packet for it takes it.
#[derive(Message)]
pub struct IpsecSadUnbind {
    /// security association
    pub sa_id: u32,
}

/// Change the tunnel and ports of a security association.
#[derive(Message)]
pub struct IpsecSadEntryUpdate {
    /// security association
    pub sad_id: u32,
    /// true to change the tunnel
    pub is_tun: bool,
    /// tunnel interface
    pub tunnel: TunnelRecord,
    /// UDP source port; 65535 for the default
    #[preset(65535)]
    pub udp_src_port: u16,
    /// UDP destination port; 65535 for the default
    #[preset(65535)]
    pub udp_dst_port: u16,
}

/// List security associations.
#[derive(Message)]
#[option("deprecated")]
#[details(IpsecSaDetails)]
pub struct IpsecSaDump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// A security association.
#[derive(Message)]
#[option("deprecated")]
pub struct IpsecSaDetails {
    /// security association
    pub entry: IpsecSadEntry,
    /// protected interface; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// salt
    pub salt: u32,
    /// last sequence number sent
    pub seq_outbound: u64,
    /// highest sequence number received
    pub last_seq_inbound: u64,
    /// anti-replay window
    pub replay_window: u64,
    /// index of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List security associations.
#[derive(Message)]
#[option("deprecated")]
#[details(IpsecSaV2Details)]
pub struct IpsecSaV2Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// A security association.
#[derive(Message)]
#[option("deprecated")]
pub struct IpsecSaV2Details {
    /// security association
    pub entry: IpsecSadEntryV2,
    /// protected interface; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// salt
    pub salt: u32,
    /// last sequence number sent
    pub seq_outbound: u64,
    /// highest sequence number received
    pub last_seq_inbound: u64,
    /// anti-replay window
    pub replay_window: u64,
    /// index of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List security associations.
#[derive(Message)]
#[details(IpsecSaV3Details)]
pub struct IpsecSaV3Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// A security association.
#[derive(Message)]
pub struct IpsecSaV3Details {
    /// security association
    pub entry: IpsecSadEntryV3,
    /// protected interface; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last sequence number sent
    pub seq_outbound: u64,
    /// highest sequence number received
    pub last_seq_inbound: u64,
    /// anti-replay window
    pub replay_window: u64,
    /// index of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List security associations.
#[derive(Message)]
#[details(IpsecSaV4Details)]
pub struct IpsecSaV4Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// A security association.
#[derive(Message)]
pub struct IpsecSaV4Details {
    /// security association
    pub entry: IpsecSadEntryV3,
    /// protected interface; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last sequence number sent
    pub seq_outbound: u64,
    /// highest sequence number received
    pub last_seq_inbound: u64,
    /// anti-replay window
    pub replay_window: u64,
    /// thread; 65535 for none
    pub thread_index: u32,
    /// index of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}

/// List security associations.
#[derive(Message)]
#[details(IpsecSaV5Details)]
pub struct IpsecSaV5Dump {
    /// only this one; 4294967295 for all
    pub sa_id: u32,
}

/// A security association.
#[derive(Message)]
pub struct IpsecSaV5Details {
    /// security association
    pub entry: IpsecSadEntryV4,
    /// protected interface; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// last sequence number sent
    pub seq_outbound: u64,
    /// highest sequence number received
    pub last_seq_inbound: u64,
    /// anti-replay window
    pub replay_window: u64,
    /// thread; 65535 for none
    pub thread_index: u32,
    /// index of its counters in `/net/ipsec/sa`
    pub stat_index: u32,
}
