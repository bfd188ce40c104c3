//! API messages for policies and protected tunnels.

use control::api::types::Address;
use control::api::{Message, Record, Text};
use net::InterfaceIndex;
use net::tunnel::TunnelMode;

use super::associations::CountedReply;
use super::types::*;

/// Security associations that protect a tunnel.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("")]
pub struct IpsecTunnelProtect {
    /// tunnel interface
    pub sw_if_index: InterfaceIndex,
    /// next hop; unspecified for point-to-point tunnels
    pub nh: Address,
    /// outbound security association
    pub sa_out: u32,
    /// inbound security associations
    #[counted(n_sa_in: u8)]
    pub sa_in: Vec<u32>,
}

/// An IPsec interface.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("")]
pub struct IpsecItf {
    /// instance number; 4294967295 for the first free one
    #[preset(4294967295)]
    pub user_instance: u32,
    /// point-to-point or multipoint
    pub mode: TunnelMode,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a security policy database.
#[derive(Message)]
pub struct IpsecSpdAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// index
    pub spd_id: u32,
}

/// Apply a security policy database to an interface, or remove it.
#[derive(Message)]
pub struct IpsecInterfaceAddDelSpd {
    /// true to apply, false to remove
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// security policy database
    pub spd_id: u32,
}

/// Add or delete a policy.
#[derive(Message)]
#[option("deprecated")]
#[replies(CountedReply)]
pub struct IpsecSpdEntryAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// policy
    pub entry: IpsecSpdEntry,
}

/// Add or delete a policy; protocol 0 is allowed.
#[derive(Message)]
#[replies(CountedReply)]
pub struct IpsecSpdEntryAddDelV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// policy
    pub entry: IpsecSpdEntryV2,
}

/// List security policy databases.
#[derive(Message)]
#[details(IpsecSpdsDetails)]
pub struct IpsecSpdsDump {}

/// A security policy database.
#[derive(Message)]
pub struct IpsecSpdsDetails {
    /// index
    pub spd_id: u32,
    /// number of policies
    pub npolicies: u32,
}

/// List the policies of a database.
#[derive(Message)]
#[details(IpsecSpdDetails)]
pub struct IpsecSpdDump {
    /// security policy database
    pub spd_id: u32,
    /// only this security association; 4294967295 for all
    pub sa_id: u32,
}

/// A policy.
#[derive(Message)]
pub struct IpsecSpdDetails {
    /// policy
    pub entry: IpsecSpdEntry,
}

/// Protect a tunnel, or replace its security associations.
#[derive(Message)]
pub struct IpsecTunnelProtectUpdate {
    /// tunnel interface
    pub tunnel: IpsecTunnelProtect,
}

/// Remove the protection of a tunnel.
#[derive(Message)]
pub struct IpsecTunnelProtectDel {
    /// tunnel interface
    pub sw_if_index: InterfaceIndex,
    /// next hop
    pub nh: Address,
}

/// List protected tunnels.
#[derive(Message)]
#[details(IpsecTunnelProtectDetails)]
pub struct IpsecTunnelProtectDump {
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A protected tunnel.
#[derive(Message)]
pub struct IpsecTunnelProtectDetails {
    /// tunnel interface
    pub tun: IpsecTunnelProtect,
}

/// List interfaces with a security policy database.
#[derive(Message)]
#[details(IpsecSpdInterfaceDetails)]
pub struct IpsecSpdInterfaceDump {
    /// security policy database
    pub spd_index: u32,
    /// only this database
    pub spd_index_valid: u8,
}

/// The security policy database of an interface.
#[derive(Message)]
pub struct IpsecSpdInterfaceDetails {
    /// security policy database
    pub spd_index: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Create an IPsec interface.
#[derive(Message)]
#[reply(IpsecItfCreateReply)]
pub struct IpsecItfCreate {
    /// interface index
    pub itf: IpsecItf,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct IpsecItfCreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete an IPsec interface.
#[derive(Message)]
pub struct IpsecItfDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List IPsec interfaces.
#[derive(Message)]
#[details(IpsecItfDetails)]
pub struct IpsecItfDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An IPsec interface.
#[derive(Message)]
pub struct IpsecItfDetails {
    /// interface index
    pub itf: IpsecItf,
}

/// List ESP and AH backends.
#[derive(Message)]
#[details(IpsecBackendDetails)]
pub struct IpsecBackendDump {}

/// A backend.
#[derive(Message)]
pub struct IpsecBackendDetails {
    /// name
    pub name: Text<128>,
    /// protocol
    pub protocol: IpsecProto,
    /// index
    pub index: u8,
    /// true if active
    pub active: bool,
}

/// Select a backend.
#[derive(Message)]
pub struct IpsecSelectBackend {
    /// protocol
    pub protocol: IpsecProto,
    /// index
    pub index: u8,
}

/// Enable or disable asynchronous crypto.
#[derive(Message)]
pub struct IpsecSetAsyncMode {
    /// true to enable, false to disable
    pub async_enable: bool,
}
