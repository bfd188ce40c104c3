//! Messages of the module `ikev2`.

use control::Secret;
use net::prelude::*;

use super::types::*;

/// Report the version of the messages.
#[derive(Message)]
#[reply(Ikev2PluginGetVersionReply)]
pub struct Ikev2PluginGetVersion {}

/// Version of the messages.
#[derive(Debug, Message)]
#[head(details)]
pub struct Ikev2PluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// Set the interval of the timer process.
#[derive(Message)]
pub struct Ikev2PluginSetSleepInterval {
    /// seconds
    pub timeout: f64,
}

/// Report the interval of the timer process.
#[derive(Message)]
#[reply(Ikev2GetSleepIntervalReply)]
pub struct Ikev2GetSleepInterval {}

/// Interval of the timer process.
#[derive(Debug, Message)]
pub struct Ikev2GetSleepIntervalReply {
    /// seconds
    pub sleep_interval: f64,
}

/// List the profiles.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(Ikev2ProfileDetails)]
pub struct Ikev2ProfileDump {}

/// A profile.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileDetails {
    /// the profile
    pub profile: Ikev2Profile,
}

/// List the associations.
#[derive(Message)]
#[details(Ikev2SaDetails)]
pub struct Ikev2SaDump {}

/// List the associations, with the names of their profiles.
#[derive(Message)]
#[details(Ikev2SaV2Details)]
#[name("ikev2_sa_v2_dump")]
pub struct Ikev2SaV2Dump {}

/// List the associations, with their age.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(Ikev2SaV3Details)]
#[name("ikev2_sa_v3_dump")]
pub struct Ikev2SaV3Dump {}

/// An association.
#[derive(Debug, Message)]
pub struct Ikev2SaDetails {
    /// 0
    pub retval: i32,
    /// the association
    pub sa: Ikev2Sa,
}

/// An association and its profile.
#[derive(Debug, Message)]
#[name("ikev2_sa_v2_details")]
pub struct Ikev2SaV2Details {
    /// 0
    pub retval: i32,
    /// the association
    pub sa: Ikev2SaV2,
}

/// An association, its profile and its age.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
#[name("ikev2_sa_v3_details")]
pub struct Ikev2SaV3Details {
    /// 0
    pub retval: i32,
    /// the association
    pub sa: Ikev2SaV3,
}

/// List the child SAs of an association.
#[derive(Message)]
#[option("vat_help", "sa_index <index>")]
#[details(Ikev2ChildSaDetails)]
pub struct Ikev2ChildSaDump {
    /// the association
    pub sa_index: u32,
}

/// A child SA.
#[derive(Debug, Message)]
pub struct Ikev2ChildSaDetails {
    /// 0
    pub retval: i32,
    /// the child
    pub child_sa: Ikev2ChildSa,
}

/// List the child SAs of an association, with their age.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "sa_index <index>")]
#[details(Ikev2ChildSaV2Details)]
#[name("ikev2_child_sa_v2_dump")]
pub struct Ikev2ChildSaV2Dump {
    /// the association
    pub sa_index: u32,
}

/// A child SA and its age.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
#[name("ikev2_child_sa_v2_details")]
pub struct Ikev2ChildSaV2Details {
    /// 0
    pub retval: i32,
    /// the child
    pub child_sa: Ikev2ChildSaV2,
}

/// Report the nonce of one end of an association.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "initiator|responder sa_index <index>")]
#[reply(Ikev2NonceGetReply)]
pub struct Ikev2NonceGet {
    /// of the initiator, else of the responder
    pub is_initiator: bool,
    /// the association
    pub sa_index: u32,
}

/// A nonce.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
pub struct Ikev2NonceGetReply {
    /// its bytes
    #[counted(data_len: u32)]
    pub nonce: Vec<u8>,
}

/// List the traffic selectors of a child SA.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "initiator|responder sa_index <index> child_sa_index <index>")]
#[details(Ikev2TrafficSelectorDetails)]
pub struct Ikev2TrafficSelectorDump {
    /// of the initiator, else of the responder
    pub is_initiator: bool,
    /// the association
    pub sa_index: u32,
    /// the child
    pub child_sa_index: u32,
}

/// A traffic selector.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
pub struct Ikev2TrafficSelectorDetails {
    /// 0
    pub retval: i32,
    /// the selector
    pub ts: Ikev2Ts,
}

/// Create or delete a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "name <profile_name> [del]")]
pub struct Ikev2ProfileAddDel {
    /// the profile
    pub name: Text<64>,
    /// true to create it, false to delete it
    pub is_add: bool,
}

/// Set the authentication method and credential of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option(
    "vat_help",
    "name <profile_name> auth_method <method> (auth_data 0x<data> | auth_data <data>)"
)]
pub struct Ikev2ProfileSetAuth {
    /// the profile
    pub name: Text<64>,
    /// 1 for signatures, 2 for a shared key
    pub auth_method: u8,
    /// true if the key is given in hexadecimal
    pub is_hex: bool,
    /// its bytes
    #[counted(data_len: u32)]
    pub data: Vec<Secret<u8>>,
}

/// Set an identity of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option(
    "vat_help",
    "name <profile_name> id_type <type> (id_data 0x<data> | id_data <data>) (local|remote)"
)]
pub struct Ikev2ProfileSetId {
    /// the profile
    pub name: Text<64>,
    /// own, else the peer's
    pub is_local: bool,
    /// type of the identity
    pub id_type: u8,
    /// its bytes
    #[counted(data_len: u32)]
    pub data: Vec<u8>,
}

/// Disable NAT detection for a profile.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileDisableNatt {
    /// the profile
    pub name: Text<64>,
}

/// Set a traffic selector of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option(
    "vat_help",
    "name <profile_name> protocol <proto> start_port <port> end_port <port> start_addr <ip> \
     end_addr <ip> (local|remote)"
)]
pub struct Ikev2ProfileSetTs {
    /// the profile
    pub name: Text<64>,
    /// the selector
    pub ts: Ikev2Ts,
}

/// Load the local private key from a file.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "file <absolute_file_path>")]
pub struct Ikev2SetLocalKey {
    /// the file
    pub key_file: Text<256>,
}

/// Set the tunnel that a profile protects.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2SetTunnelInterface {
    /// the profile
    pub name: Text<64>,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set the responder of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> interface <interface> address <addr>")]
pub struct Ikev2SetResponder {
    /// the profile
    pub name: Text<64>,
    /// the responder
    pub responder: Ikev2Responder,
}

/// Set the responder of a profile by host name.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2SetResponderHostname {
    /// the profile
    pub name: Text<64>,
    /// host name of the responder
    pub hostname: Text<64>,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set the IKE algorithms of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <crypto alg> <key size> <integrity alg> <DH group>")]
pub struct Ikev2SetIkeTransforms {
    /// the profile
    pub name: Text<64>,
    /// the algorithms
    pub tr: Ikev2IkeTransforms,
}

/// Set the ESP algorithms of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <crypto alg> <key size> <integrity alg>")]
pub struct Ikev2SetEspTransforms {
    /// the profile
    pub name: Text<64>,
    /// the algorithms
    pub tr: Ikev2EspTransforms,
}

/// Set the lifetime of child SAs of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <seconds> <jitter> <handover> <max bytes>")]
pub struct Ikev2SetSaLifetime {
    /// the profile
    pub name: Text<64>,
    /// seconds
    pub lifetime: u64,
    /// random part of it, in seconds
    pub lifetime_jitter: u32,
    /// seconds for which the previous keys still receive
    pub handover: u32,
    /// bytes
    pub lifetime_maxdata: u64,
}

/// Initiate an association with the peer of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name>")]
pub struct Ikev2InitiateSaInit {
    /// the profile
    pub name: Text<64>,
}

/// Delete an association.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<ispi>")]
pub struct Ikev2InitiateDelIkeSa {
    /// SPI of the initiator, in network byte order
    pub ispi: u64,
}

/// Delete a child SA.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<ispi>")]
pub struct Ikev2InitiateDelChildSa {
    /// SPI of the initiator, in network byte order
    pub ispi: u32,
}

/// Replace the keys of a child SA.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<ispi>")]
pub struct Ikev2InitiateRekeyChildSa {
    /// SPI of the initiator, in network byte order
    pub ispi: u32,
}

/// Force UDP encapsulation of ESP for a profile.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetUdpEncap {
    /// the profile
    pub name: Text<64>,
}

/// Set the UDP port for encapsulated ESP of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetIpsecUdpPort {
    /// nonzero to set it, zero for the default
    pub is_set: u8,
    /// the port
    pub port: u16,
    /// the profile
    pub name: Text<64>,
}

/// Set the interval and number of liveness checks.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetLiveness {
    /// seconds of silence
    pub period: u32,
    /// unanswered requests after which the peer is considered dead
    pub max_retries: u32,
}
