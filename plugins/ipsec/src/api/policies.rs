//! Messages about policies and protected tunnels.

use control::api::types::Address;
use control::api::{Message, Record, Text};
use net::InterfaceIndex;
use net::tunnel::TunnelMode;

use super::associations::CountedReply;
use super::types::*;

/// Which policies and associations protect a tunnel.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("")]
pub struct IpsecTunnelProtect {
    /// the tunnel's interface
    pub sw_if_index: InterfaceIndex,
    /// the next hop that it is about, unspecified where there is one
    pub nh: Address,
    /// the association that seals
    pub sa_out: u32,
    /// those that open
    #[counted(n_sa_in: u8)]
    pub sa_in: Vec<u32>,
}

/// An interface all of whose packets are protected.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("")]
pub struct IpsecItf {
    /// number in its name; 4294967295 for the first that is free
    #[preset(4294967295)]
    pub user_instance: u32,
    /// one far end or several
    pub mode: TunnelMode,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Make or delete a database of policies.
#[derive(Message)]
pub struct IpsecSpdAddDel {
    /// made, else deleted
    pub is_add: bool,
    /// its number
    pub spd_id: u32,
}

/// Apply a database to an interface, or no longer.
#[derive(Message)]
pub struct IpsecInterfaceAddDelSpd {
    /// applied, else no longer
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the database
    pub spd_id: u32,
}

/// Add or delete a policy.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSpdEntryAddDel {
    /// added, else deleted
    pub is_add: bool,
    /// the policy
    pub entry: IpsecSpdEntry,
}

/// Add or delete a policy, whose protocol may be 0.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSpdEntryAddDelV2 {
    /// added, else deleted
    pub is_add: bool,
    /// the policy
    pub entry: IpsecSpdEntryV2,
}

/// List the databases.
#[derive(Message)]
#[details(IpsecSpdsDetails)]
pub struct IpsecSpdsDump {}

/// A database.
#[derive(Message)]
pub struct IpsecSpdsDetails {
    /// its number
    pub spd_id: u32,
    /// its policies
    pub npolicies: u32,
}

/// List the policies of a database.
#[derive(Message)]
#[details(IpsecSpdDetails)]
pub struct IpsecSpdDump {
    /// the database
    pub spd_id: u32,
    /// only those of this association; 4294967295 for all
    pub sa_id: u32,
}

/// A policy.
#[derive(Message)]
pub struct IpsecSpdDetails {
    /// the policy
    pub entry: IpsecSpdEntry,
}

/// Protect a tunnel, by other associations than before.
#[derive(Message)]
pub struct IpsecTunnelProtectUpdate {
    /// the tunnel
    pub tunnel: IpsecTunnelProtect,
}

/// Protect a tunnel no longer.
#[derive(Message)]
pub struct IpsecTunnelProtectDel {
    /// the tunnel's interface
    pub sw_if_index: InterfaceIndex,
    /// the next hop
    pub nh: Address,
}

/// List the protected tunnels.
#[derive(Message)]
#[details(IpsecTunnelProtectDetails)]
pub struct IpsecTunnelProtectDump {
    /// only that of this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A protected tunnel.
#[derive(Message)]
pub struct IpsecTunnelProtectDetails {
    /// the tunnel
    pub tun: IpsecTunnelProtect,
}

/// List the interfaces that databases are applied to.
#[derive(Message)]
#[details(IpsecSpdInterfaceDetails)]
pub struct IpsecSpdInterfaceDump {
    /// the database
    pub spd_index: u32,
    /// only those of this database
    pub spd_index_valid: u8,
}

/// A database of an interface.
#[derive(Message)]
pub struct IpsecSpdInterfaceDetails {
    /// the database
    pub spd_index: u32,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Make an interface all of whose packets are protected.
#[derive(Message)]
#[reply(IpsecItfCreateReply)]
pub struct IpsecItfCreate {
    /// the interface
    pub itf: IpsecItf,
}

/// It is made.
#[derive(Message)]
pub struct IpsecItfCreateReply {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Delete such an interface.
#[derive(Message)]
pub struct IpsecItfDelete {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List such interfaces.
#[derive(Message)]
#[details(IpsecItfDetails)]
pub struct IpsecItfDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// Such an interface.
#[derive(Message)]
pub struct IpsecItfDetails {
    /// the interface
    pub itf: IpsecItf,
}

/// List what computes ESP and AH.
#[derive(Message)]
#[details(IpsecBackendDetails)]
pub struct IpsecBackendDump {}

/// What computes a protocol.
#[derive(Message)]
pub struct IpsecBackendDetails {
    /// its name
    pub name: Text<128>,
    /// the protocol
    pub protocol: IpsecProto,
    /// its number
    pub index: u8,
    /// whether it is used
    pub active: bool,
}

/// Choose what computes a protocol.
#[derive(Message)]
pub struct IpsecSelectBackend {
    /// the protocol
    pub protocol: IpsecProto,
    /// its number
    pub index: u8,
}

/// Have work wait for others to do it, or not.
#[derive(Message)]
pub struct IpsecSetAsyncMode {
    /// it may wait
    pub async_enable: bool,
}
