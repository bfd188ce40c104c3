//! Types of messages (`ikev2_types`).

use control::Secret;
use control::api::types::Address;
use control::api::{Record, Text};
use net::InterfaceIndex;

control::numbers! {
    /// States of an association.
    pub enum Ikev2State: u32 = "ikev2_state" in "plugins/ikev2/ikev2_types.api" {
        UNKNOWN = 0 => "UNKNOWN",
        SA_INIT = 1 => "SA_INIT",
        DELETED = 2 => "DELETED",
        AUTH_FAILED = 3 => "AUTH_FAILED",
        AUTHENTICATED = 4 => "AUTHENTICATED",
        NOTIFY_AND_DELETE = 5 => "NOTIFY_AND_DELETE",
        TS_UNACCEPTABLE = 6 => "TS_UNACCEPTABLE",
        NO_PROPOSAL_CHOSEN = 7 => "NO_PROPOSAL_CHOSEN",
    }
}

/// An identity.
#[derive(Clone, Debug, Default, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Id {
    /// its type
    #[name("type")]
    pub kind: u8,
    /// its bytes
    pub data_len: u8,
    /// the bytes, or an address in words
    pub data: Text<64>,
}

/// A traffic selector.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Ts {
    /// the association
    pub sa_index: u32,
    /// the child
    pub child_sa_index: u32,
    /// own, else the peer's
    pub is_local: bool,
    /// the protocol; 0 for any
    pub protocol_id: u8,
    /// first port
    pub start_port: u16,
    /// last port
    pub end_port: u16,
    /// first address
    pub start_addr: Address,
    /// last address
    pub end_addr: Address,
}

/// Proofs of identity.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Auth {
    /// 1 for signatures, 2 for a shared key
    pub method: u8,
    /// the key is written in base 16
    pub hex: u8,
    /// the key, or the name of a file with certificates
    #[counted(data_len: u32)]
    pub data: Vec<Secret<u8>>,
}

/// A responder.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Responder {
    /// the interface on the way to it
    pub sw_if_index: InterfaceIndex,
    /// its address
    pub addr: Address,
}

/// Algorithms of IKE.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2IkeTransforms {
    /// the cipher
    pub crypto_alg: u8,
    /// bits of its key
    pub crypto_key_size: u32,
    /// the keyed hash
    pub integ_alg: u8,
    /// the pseudorandom function; 0 for those that are recommended
    pub prf_alg: u8,
    /// the group
    pub dh_group: u8,
}

/// Algorithms of ESP.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2EspTransforms {
    /// the cipher
    pub crypto_alg: u8,
    /// bits of its key
    pub crypto_key_size: u32,
    /// the keyed hash
    pub integ_alg: u8,
}

/// A profile.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Profile {
    /// its name
    pub name: Text<64>,
    /// own identity
    pub loc_id: Ikev2Id,
    /// the peer's
    pub rem_id: Ikev2Id,
    /// own traffic
    pub loc_ts: Ikev2Ts,
    /// the peer's
    pub rem_ts: Ikev2Ts,
    /// the responder
    pub responder: Ikev2Responder,
    /// algorithms of IKE
    pub ike_ts: Ikev2IkeTransforms,
    /// algorithms of ESP
    pub esp_ts: Ikev2EspTransforms,
    /// seconds for which children are used
    pub lifetime: u64,
    /// bytes for which children are used
    pub lifetime_maxdata: u64,
    /// seconds of that left to chance
    pub lifetime_jitter: u32,
    /// seconds for which the previous keys still receive
    pub handover: u32,
    /// port of ESP over UDP
    pub ipsec_over_udp_port: u16,
    /// the tunnel
    pub tun_itf: u32,
    /// ESP is over UDP in any case
    pub udp_encap: bool,
    /// NAT detection is disabled
    pub natt_disabled: bool,
    /// proofs of identity
    pub auth: Ikev2Auth,
}

/// An algorithm in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaTransform {
    /// its kind
    pub transform_type: u8,
    /// its number
    pub transform_id: u16,
    /// bytes of its key
    pub key_len: u16,
    /// bytes that are sent of what it makes
    pub key_trunc: u16,
    /// bytes of a block
    pub block_size: u16,
    /// the group
    pub dh_group: u8,
}

/// Keys, each with its length.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Keys {
    /// for keys of children
    pub sk_d: Secret<[u8; 64]>,
    /// its bytes
    pub sk_d_len: u8,
    /// of the initiator's hash
    pub sk_ai: Secret<[u8; 64]>,
    /// its bytes
    pub sk_ai_len: u8,
    /// of the responder's hash
    pub sk_ar: Secret<[u8; 64]>,
    /// its bytes
    pub sk_ar_len: u8,
    /// of the initiator's cipher
    pub sk_ei: Secret<[u8; 64]>,
    /// its bytes
    pub sk_ei_len: u8,
    /// of the responder's cipher
    pub sk_er: Secret<[u8; 64]>,
    /// its bytes
    pub sk_er_len: u8,
    /// for the initiator's proof
    pub sk_pi: Secret<[u8; 64]>,
    /// its bytes
    pub sk_pi_len: u8,
    /// for the responder's proof
    pub sk_pr: Secret<[u8; 64]>,
    /// its bytes
    pub sk_pr_len: u8,
}

/// A child.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2ChildSa {
    /// the association
    pub sa_index: u32,
    /// its number
    pub child_sa_index: u32,
    /// SPI of the initiator
    pub i_spi: u32,
    /// SPI of the responder
    pub r_spi: u32,
    /// its keys
    pub keys: Ikev2Keys,
    /// the cipher
    pub encryption: Ikev2SaTransform,
    /// the keyed hash
    pub integrity: Ikev2SaTransform,
    /// sequence numbers
    pub esn: Ikev2SaTransform,
}

/// A child and its age.
#[derive(Clone, Debug, PartialEq, Record)]
#[name("ikev2_child_sa_v2")]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2ChildSaV2 {
    /// the association
    pub sa_index: u32,
    /// its number
    pub child_sa_index: u32,
    /// SPI of the initiator
    pub i_spi: u32,
    /// SPI of the responder
    pub r_spi: u32,
    /// its keys
    pub keys: Ikev2Keys,
    /// the cipher
    pub encryption: Ikev2SaTransform,
    /// the keyed hash
    pub integrity: Ikev2SaTransform,
    /// sequence numbers
    pub esn: Ikev2SaTransform,
    /// seconds since it was made
    pub uptime: f64,
}

/// Numbers of messages of an association.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaStats {
    /// signs of life
    pub n_keepalives: u16,
    /// requests to replace keys
    pub n_rekey_req: u16,
    /// first requests
    pub n_sa_init_req: u16,
    /// requests with a proof of identity
    pub n_sa_auth_req: u16,
    /// requests that came again
    pub n_retransmit: u16,
    /// first requests that came again
    pub n_init_sa_retransmit: u16,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Sa {
    /// its number
    pub sa_index: u32,
    /// place of its profile among all
    pub profile_index: u32,
    /// number of the initiator
    pub ispi: u64,
    /// number of the responder
    pub rspi: u64,
    /// address of the initiator
    pub iaddr: Address,
    /// address of the responder
    pub raddr: Address,
    /// its keys
    pub keys: Ikev2Keys,
    /// identity of the initiator
    pub i_id: Ikev2Id,
    /// identity of the responder
    pub r_id: Ikev2Id,
    /// the cipher
    pub encryption: Ikev2SaTransform,
    /// the keyed hash
    pub integrity: Ikev2SaTransform,
    /// the pseudorandom function
    pub prf: Ikev2SaTransform,
    /// the group
    pub dh: Ikev2SaTransform,
    /// numbers of its messages
    pub stats: Ikev2SaStats,
}

/// An association and its profile.
#[derive(Clone, Debug, PartialEq, Record)]
#[name("ikev2_sa_v2")]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaV2 {
    /// its number
    pub sa_index: u32,
    /// its profile
    pub profile_name: Text<64>,
    /// its state
    pub state: Ikev2State,
    /// number of the initiator
    pub ispi: u64,
    /// number of the responder
    pub rspi: u64,
    /// address of the initiator
    pub iaddr: Address,
    /// address of the responder
    pub raddr: Address,
    /// its keys
    pub keys: Ikev2Keys,
    /// identity of the initiator
    pub i_id: Ikev2Id,
    /// identity of the responder
    pub r_id: Ikev2Id,
    /// the cipher
    pub encryption: Ikev2SaTransform,
    /// the keyed hash
    pub integrity: Ikev2SaTransform,
    /// the pseudorandom function
    pub prf: Ikev2SaTransform,
    /// the group
    pub dh: Ikev2SaTransform,
    /// numbers of its messages
    pub stats: Ikev2SaStats,
}

/// An association, its profile and its age.
#[derive(Clone, Debug, PartialEq, Record)]
#[name("ikev2_sa_v3")]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaV3 {
    /// its number
    pub sa_index: u32,
    /// its profile
    pub profile_name: Text<64>,
    /// its state
    pub state: Ikev2State,
    /// number of the initiator
    pub ispi: u64,
    /// number of the responder
    pub rspi: u64,
    /// address of the initiator
    pub iaddr: Address,
    /// address of the responder
    pub raddr: Address,
    /// its keys
    pub keys: Ikev2Keys,
    /// identity of the initiator
    pub i_id: Ikev2Id,
    /// identity of the responder
    pub r_id: Ikev2Id,
    /// the cipher
    pub encryption: Ikev2SaTransform,
    /// the keyed hash
    pub integrity: Ikev2SaTransform,
    /// the pseudorandom function
    pub prf: Ikev2SaTransform,
    /// the group
    pub dh: Ikev2SaTransform,
    /// numbers of its messages
    pub stats: Ikev2SaStats,
    /// seconds since it was made
    pub uptime: f64,
}
