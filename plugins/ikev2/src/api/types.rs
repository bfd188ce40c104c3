//! Types used in messages (`ikev2_types`).

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
    /// the bytes, or an address as text
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

/// Authentication method and credential.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Auth {
    /// 1 for signatures, 2 for a shared key
    pub method: u8,
    /// nonzero if the key is given in hexadecimal
    pub hex: u8,
    /// the key, or the name of a file with certificates
    #[counted(data_len: u32)]
    pub data: Vec<Secret<u8>>,
}

/// A responder.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Responder {
    /// interface towards it
    pub sw_if_index: InterfaceIndex,
    /// its address
    pub addr: Address,
}

/// IKE algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2IkeTransforms {
    /// the cipher
    pub crypto_alg: u8,
    /// bits of its key
    pub crypto_key_size: u32,
    /// the keyed hash
    pub integ_alg: u8,
    /// the pseudorandom function; 0 for the recommended ones
    pub prf_alg: u8,
    /// the group
    pub dh_group: u8,
}

/// ESP algorithms.
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
    /// local identity
    pub loc_id: Ikev2Id,
    /// identity of the peer
    pub rem_id: Ikev2Id,
    /// local traffic selector
    pub loc_ts: Ikev2Ts,
    /// traffic selector of the peer
    pub rem_ts: Ikev2Ts,
    /// the responder
    pub responder: Ikev2Responder,
    /// IKE algorithms
    pub ike_ts: Ikev2IkeTransforms,
    /// ESP algorithms
    pub esp_ts: Ikev2EspTransforms,
    /// lifetime of child SAs in seconds
    pub lifetime: u64,
    /// lifetime of child SAs in bytes
    pub lifetime_maxdata: u64,
    /// random part of the lifetime, in seconds
    pub lifetime_jitter: u32,
    /// seconds for which the previous keys still receive
    pub handover: u32,
    /// UDP port for encapsulated ESP
    pub ipsec_over_udp_port: u16,
    /// the protected tunnel interface
    pub tun_itf: u32,
    /// true to always encapsulate ESP in UDP
    pub udp_encap: bool,
    /// true if NAT detection is disabled
    pub natt_disabled: bool,
    /// authentication
    pub auth: Ikev2Auth,
}

/// A negotiated algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaTransform {
    /// transform type
    pub transform_type: u8,
    /// transform ID
    pub transform_id: u16,
    /// key length in bytes
    pub key_len: u16,
    /// length of its output on the wire, in bytes
    pub key_trunc: u16,
    /// block size in bytes
    pub block_size: u16,
    /// the group
    pub dh_group: u8,
}

/// Keys, each with its length.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Keys {
    /// key for deriving child SA keys
    pub sk_d: Secret<[u8; 64]>,
    /// its length
    pub sk_d_len: u8,
    /// integrity key of the initiator
    pub sk_ai: Secret<[u8; 64]>,
    /// its length
    pub sk_ai_len: u8,
    /// integrity key of the responder
    pub sk_ar: Secret<[u8; 64]>,
    /// its length
    pub sk_ar_len: u8,
    /// encryption key of the initiator
    pub sk_ei: Secret<[u8; 64]>,
    /// its length
    pub sk_ei_len: u8,
    /// encryption key of the responder
    pub sk_er: Secret<[u8; 64]>,
    /// its length
    pub sk_er_len: u8,
    /// authentication key of the initiator
    pub sk_pi: Secret<[u8; 64]>,
    /// its length
    pub sk_pi_len: u8,
    /// authentication key of the responder
    pub sk_pr: Secret<[u8; 64]>,
    /// its length
    pub sk_pr_len: u8,
}

/// A child SA.
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

/// A child SA and its age.
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

/// Message counts of an association.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2SaStats {
    /// liveness checks
    pub n_keepalives: u16,
    /// rekey requests
    pub n_rekey_req: u16,
    /// IKE_SA_INIT requests
    pub n_sa_init_req: u16,
    /// IKE_AUTH requests
    pub n_sa_auth_req: u16,
    /// retransmitted requests
    pub n_retransmit: u16,
    /// retransmitted IKE_SA_INIT requests
    pub n_init_sa_retransmit: u16,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Record)]
#[file("plugins/ikev2/ikev2_types.api")]
pub struct Ikev2Sa {
    /// its number
    pub sa_index: u32,
    /// index of its profile
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
