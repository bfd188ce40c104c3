//! Messages of the module `ikev2`.

use control::Secret;
use control::api::{Message, Text};
use net::InterfaceIndex;

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

/// Set how long the process of timers sleeps.
#[derive(Message)]
pub struct Ikev2PluginSetSleepInterval {
    /// seconds
    pub timeout: f64,
}

/// Report how long the process of timers sleeps.
#[derive(Message)]
#[reply(Ikev2GetSleepIntervalReply)]
pub struct Ikev2GetSleepInterval {}

/// The sleep of the process of timers.
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

/// List the children of an association.
#[derive(Message)]
#[option("vat_help", "sa_index <index>")]
#[details(Ikev2ChildSaDetails)]
pub struct Ikev2ChildSaDump {
    /// the association
    pub sa_index: u32,
}

/// A child.
#[derive(Debug, Message)]
pub struct Ikev2ChildSaDetails {
    /// 0
    pub retval: i32,
    /// the child
    pub child_sa: Ikev2ChildSa,
}

/// List the children of an association, with their age.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "sa_index <index>")]
#[details(Ikev2ChildSaV2Details)]
#[name("ikev2_child_sa_v2_dump")]
pub struct Ikev2ChildSaV2Dump {
    /// the association
    pub sa_index: u32,
}

/// A child and its age.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
#[name("ikev2_child_sa_v2_details")]
pub struct Ikev2ChildSaV2Details {
    /// 0
    pub retval: i32,
    /// the child
    pub child_sa: Ikev2ChildSaV2,
}

/// Report a nonce of an association.
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

/// List the traffic selectors of a child.
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

/// Make or delete a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "name <profile_name> [del]")]
pub struct Ikev2ProfileAddDel {
    /// the profile
    pub name: Text<64>,
    /// make it, else delete it
    pub is_add: bool,
}

/// Set how the ends of a profile prove their identities.
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
    /// the key is written in base 16
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

/// Take the own private key from a file.
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

/// Set the responder of a profile by its name.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2SetResponderHostname {
    /// the profile
    pub name: Text<64>,
    /// its name
    pub hostname: Text<64>,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set the algorithms of IKE of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <crypto alg> <key size> <integrity alg> <DH group>")]
pub struct Ikev2SetIkeTransforms {
    /// the profile
    pub name: Text<64>,
    /// the algorithms
    pub tr: Ikev2IkeTransforms,
}

/// Set the algorithms of ESP of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <crypto alg> <key size> <integrity alg>")]
pub struct Ikev2SetEspTransforms {
    /// the profile
    pub name: Text<64>,
    /// the algorithms
    pub tr: Ikev2EspTransforms,
}

/// Set how long children of a profile are used.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<profile_name> <seconds> <jitter> <handover> <max bytes>")]
pub struct Ikev2SetSaLifetime {
    /// the profile
    pub name: Text<64>,
    /// seconds
    pub lifetime: u64,
    /// seconds of it left to chance
    pub lifetime_jitter: u32,
    /// seconds for which the previous keys still receive
    pub handover: u32,
    /// bytes
    pub lifetime_maxdata: u64,
}

/// Begin an association of a profile.
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
    /// SPI of the initiator, in the order of bytes of the wire
    pub ispi: u64,
}

/// Delete a child.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<ispi>")]
pub struct Ikev2InitiateDelChildSa {
    /// SPI of the initiator, in the order of bytes of the wire
    pub ispi: u32,
}

/// Replace the keys of a child.
#[derive(Message)]
#[option("status", "in_progress")]
#[option("vat_help", "<ispi>")]
pub struct Ikev2InitiateRekeyChildSa {
    /// SPI of the initiator, in the order of bytes of the wire
    pub ispi: u32,
}

/// Force UDP encapsulation of ESP for a profile.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetUdpEncap {
    /// the profile
    pub name: Text<64>,
}

/// Set the port of ESP over UDP of a profile.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetIpsecUdpPort {
    /// set it, else forget it
    pub is_set: u8,
    /// the port
    pub port: u16,
    /// the profile
    pub name: Text<64>,
}

/// Set when silent peers are asked for signs of life.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Ikev2ProfileSetLiveness {
    /// seconds of silence
    pub period: u32,
    /// requests until the peer is given up
    pub max_retries: u32,
}
